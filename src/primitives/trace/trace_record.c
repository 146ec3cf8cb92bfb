/*
 * trace_record - an accepted call as an instruction behind the trace.
 *
 * What the trace cannot name yet is looked up first: a block by its stored name when that
 * is unique in its function, else as a child of the nearest enclosing block; a loop as one
 * of the loops of the first block below it. All lookups are made in the program before the
 * call, so that a replay finds the same things. Source: primitives 1.2, 12.
 */
#include "moonloop/primitives/call/args.h"

#include "moonloop/core/shown.h"

typedef struct Recorder {
    ml_Schedule *s;
    ml_Ctx *cx;
    ml_Program p; /* before the call */
    int version;
} Recorder;

typedef ML_VEC(ml_TV) TVs;

static ml_TV var_tv(uint32_t num)
{
    return (ml_TV){.kind = ML_TV_VAR, .var = num};
}

static ml_TV value_tv(const ml_Value *v)
{
    return (ml_TV){.kind = ML_TV_VALUE, .value = v};
}

static bool find_var(const ml_TraceNode *t, ml_Uid uid, uint32_t *num)
{
    for (; t; t = t->prev)
        for (uint32_t k = 0; k < t->inst->n_outputs; k++)
            if (t->inst->outputs[k].kind != ML_H_NONE && t->inst->outputs[k].uid == uid) {
                *num = t->inst->outputs[k].num;
                return true;
            }
    return false;
}

static void append(Recorder *r, const ml_Primitive *prim, const TVs *inputs,
                   const TVs *attrs, const ml_Handle *outputs, size_t n,
                   const ml_Value *decision)
{
    ml_Space *sp = r->s->space;
    ml_TraceNode *t = ML_NEW(sp->home, ml_TraceNode);
    ml_Inst *in = ML_NEW(r->cx, ml_Inst);
    ml_TVar *out = ML_ARRAY(r->cx, ml_TVar, n + 1);

    t->prev = r->s->trace;
    t->n = t->prev ? t->prev->n + 1 : 1;
    t->next_var = t->prev ? t->prev->next_var : 0;
    t->serial = sp->nodes ? sp->nodes->serial + 1 : 0;
    for (size_t k = 0; k < n; k++) {
        out[k] = (ml_TVar){.kind = outputs[k].kind, .uid = outputs[k].uid};
        if (outputs[k].kind != ML_H_NONE)
            out[k].num = t->next_var++;
    }
    in->prim = prim;
    in->n_inputs = (uint32_t)inputs->n;
    in->inputs = inputs->v;
    in->n_attrs = (uint32_t)attrs->n;
    in->attrs = attrs->v;
    in->n_outputs = (uint32_t)n;
    in->outputs = out;
    in->decision = decision;
    in->version = r->version;
    t->inst = in;
    t->older = sp->nodes;
    sp->nodes = t;
    r->s->trace = t;
}

/* ---- lookups */

extern const ml_Primitive ml_prim_get_block, ml_prim_get_loops, ml_prim_get_child_blocks;

static const ml_Func *func_of_node(const Recorder *r, ml_Uid uid)
{
    return r->p.mod->funcs[ml_index_func(r->p.index, uid)];
}

static void record_get_block(Recorder *r, const ml_Func *f, ml_Uid tag, const char *name)
{
    TVs inputs = {0}, attrs = {0};

    ml_push(r->cx, &attrs, value_tv(ml_val_string(r->cx, ml_str(name))));
    ml_push(r->cx, &attrs, value_tv(ml_val_string(r->cx, ml_str(f->name))));
    append(r, &ml_prim_get_block, &inputs, &attrs, &(ml_Handle){ML_H_BLOCK, tag}, 1, NULL);
}

static bool record_node(Recorder *r, ml_Uid uid, uint32_t *num);

static void record_list(Recorder *r, const ml_Primitive *prim, uint32_t input,
                        const ml_StmtVec *nodes, ml_HandleKind kind)
{
    TVs inputs = {0}, attrs = {0};
    ml_Handle *h = ML_ARRAY(r->cx, ml_Handle, nodes->n + 1);

    for (size_t k = 0; k < nodes->n; k++)
        h[k] = (ml_Handle){(uint8_t)kind, ml_stmt_uid(nodes->v[k])};
    ml_push(r->cx, &inputs, var_tv(input));
    append(r, prim, &inputs, &attrs, h, nodes->n, NULL);
}

static bool record_block(Recorder *r, const ml_Block *b)
{
    size_t count =
        ml_index_named(r->p.index, ml_index_func(r->p.index, b->tag), b->name, NULL);
    ml_Uid scope = ml_index_scope(r->p.index, b->tag);
    ml_StmtVec children = {0};
    uint32_t above;

    if (count == 1) {
        record_get_block(r, func_of_node(r, b->tag), b->tag, b->name);
        return true;
    }
    if (!scope) {
        ml_fail(r->cx, ML_E_AMBIGUOUS_BLOCK, ML_TEXT(b->name), ML_NUMBER("count", count));
        ml_error_note(r->cx,
                      "the step cannot be recorded: the root block has no name of its own");
        return false;
    }
    if (!record_node(r, scope, &above))
        return false;
    ml_child_blocks(r->cx, ml_index_node(r->p.index, scope), &children);
    record_list(r, &ml_prim_get_child_blocks, above, &children, ML_H_BLOCK);
    return true;
}

static bool record_loop(Recorder *r, const ml_Stmt *loop)
{
    ml_StmtVec below = {0}, loops = {0};
    uint32_t block;

    ml_child_blocks(r->cx, loop, &below);
    if (below.n == 0) {
        ml_bad_argument(r->cx, "loop %s lies inside the body of a block",
                        ml_shown(r->cx, ml_as_for(loop)->var));
        return false;
    }
    if (!record_node(r, ml_stmt_uid(below.v[0]), &block))
        return false;
    ml_index_loops(r->cx, r->p.index, ml_stmt_uid(below.v[0]), &loops);
    record_list(r, &ml_prim_get_loops, block, &loops, ML_H_LOOP);
    return true;
}

/* The variable that denotes a loop or block, by an earlier instruction or a lookup. */
static bool record_node(Recorder *r, ml_Uid uid, uint32_t *num)
{
    if (find_var(r->s->trace, uid, num))
        return true;
    const ml_Stmt *st = ml_index_node(r->p.index, uid);

    ML_ASSERT(st);
    if (st->kind == ML_STMT_BLOCK ? !record_block(r, ml_as_block(st)) : !record_loop(r, st))
        return false;
    bool found = find_var(r->s->trace, uid, num);

    ML_ASSERT(found);
    return found;
}

/* ---- arguments */

static bool record_symbol(Recorder *r, ml_Uid uid, uint32_t *num)
{
    if (find_var(r->s->trace, uid, num))
        return true;
    return ml_fail(r->cx, ML_E_EXPIRED_HANDLE,
                   ML_TEXT("the number was sampled by an instruction that was taken back"));
}

typedef struct Symbols {
    Recorder *r;
    bool ok;
} Symbols;

static bool check_symbol(const ml_Expr *e, void *user)
{
    Symbols *sy = user;
    uint32_t num;

    if (e->kind == ML_EXPR_VAR)
        sy->ok = sy->ok && record_symbol(sy->r, e->as.var->uid, &num);
    return sy->ok;
}

static bool raw_tv(Recorder *r, const ml_Arg *a, ml_TV *out)
{
    switch ((ml_ArgKind)a->kind) {
    case ML_A_HANDLE:
        *out = (ml_TV){.kind = ML_TV_VAR};
        if (a->as.h.kind == ML_H_NONE) {
            out->kind = ML_TV_NONE;
            return true;
        }
        return record_symbol(r, a->as.h.uid, &out->var);
    case ML_A_EXPR: {
        Symbols sy = {r, true};

        ml_expr_visit(a->as.e, check_symbol, &sy);
        if (!sy.ok)
            return false;
        if (a->as.e->kind == ML_EXPR_VAR) {
            *out = (ml_TV){.kind = ML_TV_VAR};
            return record_symbol(r, a->as.e->as.var->uid, &out->var);
        }
        *out = (ml_TV){.kind = ML_TV_EXPR,
                       .expr = ml_import_expr(ml_import_begin(r->cx), a->as.e)};
        return true;
    }
    case ML_A_LIST: {
        ml_TV *list = ML_ARRAY(r->cx, ml_TV, a->n + 1);

        for (uint32_t k = 0; k < a->n; k++)
            if (!raw_tv(r, &a->as.list[k], &list[k]))
                return false;
        *out = (ml_TV){.kind = ML_TV_LIST, .n = a->n, .list = list};
        return true;
    }
    case ML_A_FLOAT: *out = value_tv(ml_val_float(r->cx, a->as.f)); return true;
    case ML_A_INT: *out = value_tv(ml_val_int(r->cx, a->as.i)); return true;
    case ML_A_BOOL: *out = value_tv(ml_val_bool(r->cx, a->as.b)); return true;
    case ML_A_STRING: *out = value_tv(ml_val_string(r->cx, ml_str(a->as.s))); return true;
    case ML_A_DICT: {
        const ml_Value *v = ml_arg_value(r->s, "value", a);

        *out = value_tv(v);
        return v != NULL;
    }
    case ML_A_ABSENT:
    case ML_A_NONE: *out = (ml_TV){.kind = ML_TV_NONE}; return true;
    case ML_A_BUFFER:
    case ML_A_MAP: break;
    }
    return ml_bad_argument(r->cx, "%s cannot be recorded here", ml_arg_kind_name(a));
}

static bool push_node(Recorder *r, TVs *to, ml_Uid uid)
{
    uint32_t num;

    if (!record_node(r, uid, &num))
        return false;
    ml_push(r->cx, to, var_tv(num));
    return true;
}

static bool push_factors(Recorder *r, TVs *to, const ml_Arg *a)
{
    bool lone = a->kind != ML_A_LIST;

    if (lone)
        ml_push(r->cx, to, ((ml_TV){.kind = ML_TV_NONE}));
    for (size_t k = 0; k < (lone ? 1 : a->n); k++) {
        const ml_Arg *one = lone ? a : &a->as.list[k];
        ml_TV tv = {.kind = ML_TV_NONE};

        if (one->kind == ML_A_FLOAT)
            tv = value_tv(ml_val_int(r->cx, (int64_t)one->as.f));
        else if (one->kind != ML_A_BOOL && !raw_tv(r, one, &tv))
            return false;
        ml_push(r->cx, to, tv);
    }
    return true;
}

static bool push_arg(Recorder *r, TVs *to, const ml_Param *pa, const ml_Given *g,
                     const ml_Arg *raw)
{
    ml_Ctx *cx = r->cx;
    ml_TV tv = {.kind = ML_TV_NONE};

    switch ((ml_ParamKind)pa->kind) {
    case ML_P_LOOP_OR_MARK:
        if (g->h.kind == ML_H_INLINE_MARK || g->h.kind == ML_H_ROOT_MARK) {
            if (!find_var(r->s->trace, g->h.uid, &tv.var))
                return ml_fail(
                    cx, ML_E_EXPIRED_HANDLE,
                    ML_TEXT("the mark was sampled by an instruction that was taken "
                            "back"));
            ml_push(cx, to, var_tv(tv.var));
            return true;
        }
        return push_node(r, to, g->uid);
    case ML_P_BLOCK:
    case ML_P_LOOP:
    case ML_P_BLOCK_OR_LOOP: return push_node(r, to, g->uid);
    case ML_P_LOOPS:
        for (size_t k = 0; k < g->n; k++)
            if (!push_node(r, to, g->uids[k]))
                return false;
        return true;
    case ML_P_LOOP_BLOCKS:
    case ML_P_BLOCKS: {
        if (pa->kind == ML_P_LOOP_BLOCKS && g->n == 0)
            return push_node(r, to, g->uid);
        if (pa->input_if_given && !g->given)
            return true;
        TVs list = {0};

        for (size_t k = 0; k < g->n; k++)
            if (!push_node(r, &list, g->uids[k]))
                return false;
        tv = (ml_TV){.kind = ML_TV_LIST, .n = (uint32_t)list.n, .list = list.v};
        break;
    }
    case ML_P_FACTORS: return push_factors(r, to, raw);
    case ML_P_BUFFER: /* two: position, side */
        ml_push(cx, to, value_tv(ml_val_int(cx, g->i)));
        tv = value_tv(ml_val_int(cx, g->b));
        break;
    case ML_P_READ_BUFFER:
    case ML_P_WRITE_BUFFER:
    case ML_P_INT: tv = value_tv(ml_val_int(cx, g->i)); break;
    case ML_P_BOOL: tv = value_tv(ml_val_bool(cx, g->b)); break;
    case ML_P_STRING:
    case ML_P_SCOPE:
    case ML_P_THREAD:
    case ML_P_KEY:
    case ML_P_NAME:
        if (g->s)
            tv = value_tv(ml_val_string(cx, ml_str(g->s)));
        break;
    case ML_P_VALUE:
        if (!raw_tv(r, raw, &tv))
            return false;
        break;
    case ML_P_INTS:
    case ML_P_FLOATS:
        if (g->value)
            tv = value_tv(g->value);
        break;
    case ML_P_DECISION: return true;
    case ML_P_PAD:
    case ML_P_MAP:
        if (pa->kind == ML_P_PAD && g->value)
            tv = value_tv(g->value);
        if (g->map)
            tv = (ml_TV){.kind = ML_TV_MAP, .map = g->map};
        break;
    }
    ml_push(cx, to, tv);
    return true;
}

bool ml_record(ml_Schedule *s, const ml_Call *c, const ml_Arg *const *raw, int version)
{
    Recorder r = {.s = s, .cx = c->cx, .p = s->v[s->cur].p, .version = version};
    const ml_Results *res = &c->results;
    TVs inputs = {0}, attrs = {0};

    if (c->prim == &ml_prim_get_block) { /* recorded with the names in the program */
        const ml_Block *b = ml_as_block(ml_index_node(r.p.index, res->v[0].uid));
        uint32_t num;

        if (ml_index_named(r.p.index, ml_index_func(r.p.index, b->tag), b->name, NULL) != 1)
            return record_node(&r, b->tag, &num);
        record_get_block(&r, func_of_node(&r, b->tag), b->tag, b->name);
        return true;
    }
    for (size_t k = 0; k < c->prim->n_params; k++) {
        const ml_Param *pa = &c->prim->params[k];

        if (!push_arg(&r, pa->attr ? &attrs : &inputs, pa, &c->args[k], raw[k]))
            return false;
    }
    append(&r, c->prim, &inputs, &attrs, res->more ? res->more : res->v, res->n,
           c->decision);
    return true;
}
