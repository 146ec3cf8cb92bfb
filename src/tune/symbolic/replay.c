/*
 * replay - the instructions of a trace on a nest whose numbers are forms.
 *
 * Instructions before the first decision are left to the primitives; their results are
 * found in the nest by identity. Source: auto-scheduler 13; primitives 12.
 */
#include "moonloop/tune/symbolic/symbolic_impl.h"

bool ml_sym_no(Sym *s, const char *why)
{
    if (s->why == NULL)
        s->why = ml_format(s->f->cx, "%s: %s",
                           s->in     ? s->in->prim->name
                           : s->post ? s->post
                                     : "replay",
                           why);
    return false;
}

/* ---------------------------------------------------------------- arguments */

static bool num_of_expr(Sym *s, const ml_Expr *e, ml_Num *out)
{
    static const struct {
        uint8_t kind, op;
    } ops[] = {{ML_EXPR_ADD, ML_FORM_ADD},      {ML_EXPR_SUB, ML_FORM_SUB},
               {ML_EXPR_MUL, ML_FORM_MUL},      {ML_EXPR_FLOORDIV, ML_FORM_FLOORDIV},
               {ML_EXPR_FLOORMOD, ML_FORM_MOD}, {ML_EXPR_MIN, ML_FORM_MIN},
               {ML_EXPR_MAX, ML_FORM_MAX}};
    ml_Num a, b;
    uintptr_t num;

    if (e->kind == ML_EXPR_INT) {
        *out = ml_form_const(s->f, (double)e->as.i);
        return true;
    }
    if (e->kind == ML_EXPR_CAST)
        return num_of_expr(s, e->args[0], out);
    if (e->kind == ML_EXPR_VAR) {
        num = (uintptr_t)ml_map_get(s->symbols, e->as.var->uid);
        if (num == 0 || s->vars[num - 1].kind != ML_H_EXPR)
            return ml_sym_no(s, "a symbol that nobody made");
        *out = s->vars[num - 1].num;
        return true;
    }
    for (size_t k = 0; k < ML_COUNT(ops); k++)
        if (ops[k].kind == e->kind) {
            if (!num_of_expr(s, e->args[0], &a) || !num_of_expr(s, e->args[1], &b))
                return false;
            *out = ml_form(s->f, (ml_FormOp)ops[k].op, a, b, 0);
            return true;
        }
    return ml_sym_no(s, "an expression of that kind");
}

bool ml_sym_num(Sym *s, const ml_TV *v, ml_Num *out)
{
    if (v->kind == ML_TV_VALUE && v->value->kind == ML_VAL_INT) {
        *out = ml_form_const(s->f, (double)v->value->as.i);
        return true;
    }
    if (v->kind == ML_TV_VAR && s->vars[v->var].kind == ML_H_EXPR) {
        *out = s->vars[v->var].num;
        return true;
    }
    return v->kind == ML_TV_EXPR ? num_of_expr(s, v->expr, out) : ml_sym_no(s, "no number");
}

static const SymValue *value_at(Sym *s, size_t param, uint8_t kind)
{
    const ml_TVArg *a = &s->args[param];

    if (a->n != 1 || a->v->kind != ML_TV_VAR || s->vars[a->v->var].kind != kind)
        return NULL;
    return &s->vars[a->v->var];
}

bool ml_sym_loop(Sym *s, size_t param, ml_NestNode **out)
{
    const SymValue *v = value_at(s, param, ML_H_LOOP);

    *out = v ? ml_sym_node_of(s->n.root, v->axis) : NULL;
    return *out || ml_sym_no(s, "a loop that is not there");
}

bool ml_sym_block(Sym *s, size_t param, ml_NestNode **out)
{
    const SymValue *v = value_at(s, param, ML_H_BLOCK);

    *out = v ? v->block : NULL;
    return *out || ml_sym_no(s, "a block that is not there");
}

bool ml_sym_flag(const Sym *s, size_t param, bool otherwise)
{
    const ml_TVArg *a = &s->args[param];

    if (a->n == 0 || a->v->kind != ML_TV_VALUE)
        return otherwise;
    return a->v->value->as.i != 0;
}

static SymValue *output(Sym *s, size_t k)
{
    static SymValue nobody;
    const ml_TVar *o = k < s->in->n_outputs ? &s->in->outputs[k] : NULL;

    return o == NULL || o->kind == ML_H_NONE ? &nobody : &s->vars[o->num];
}

void ml_sym_out_loop(Sym *s, size_t k, uint32_t axis)
{
    if (k < s->in->n_outputs)
        *output(s, k) = (SymValue){.kind = ML_H_LOOP, .axis = axis};
}

void ml_sym_out_mark(Sym *s, size_t k, uint8_t kind)
{
    if (k < s->in->n_outputs)
        *output(s, k) = (SymValue){.kind = kind};
}

void ml_sym_out_block(Sym *s, size_t k, ml_NestNode *b)
{
    if (k < s->in->n_outputs)
        *output(s, k) = (SymValue){.kind = ML_H_BLOCK, .block = b};
}

static void out_num(Sym *s, size_t k, ml_Num v)
{
    if (k < s->in->n_outputs)
        *output(s, k) = (SymValue){.kind = ML_H_EXPR, .num = v};
}

/* ---------------------------------------------------------------- queries, decisions */

static ml_NestNode *block_named(ml_NestNode *node, const char *name, size_t *n)
{
    ml_NestNode *found = NULL;

    if (node->kind == ML_NEST_BLOCK && ml_streq(node->block->name, name)) {
        found = node;
        ++*n;
    }
    for (size_t k = 0; k < node->kids.n; k++) {
        ml_NestNode *x = block_named(node->kids.v[k], name, n);

        found = x ? x : found;
    }
    return found;
}

static bool get_block(Sym *s)
{
    const ml_TVArg *a = &s->args[0];
    size_t n = 0;
    ml_NestNode *b = NULL;

    if (a->n == 1 && a->v->kind == ML_TV_VALUE && a->v->value->kind == ML_VAL_STRING)
        b = block_named(s->n.root, a->v->value->as.s, &n);
    if (n != 1)
        return ml_sym_no(s, "no block of that name, or several");
    ml_sym_out_block(s, 0, b);
    return true;
}

static bool get_loops(Sym *s)
{
    uint32_t axes[64];
    ml_NestNode *b;

    if (!ml_sym_block(s, 0, &b))
        return false;
    size_t n = ml_nest_loops(b, axes, ML_COUNT(axes));

    if (n != s->in->n_outputs)
        return ml_sym_no(s, "another number of loops");
    for (size_t k = 0; k < n; k++)
        ml_sym_out_loop(s, k, axes[k]);
    return true;
}

void ml_sym_child_blocks(ml_NestNode *node, ml_NestNode **v, size_t cap, size_t *n)
{
    for (size_t k = 0; k < node->kids.n; k++) {
        ml_NestNode *kid = node->kids.v[k];

        if (kid->kind != ML_NEST_BLOCK)
            ml_sym_child_blocks(kid, v, cap, n);
        else if ((*n)++ < cap)
            v[*n - 1] = kid;
    }
}

/* Of a loop or a block. */
static bool get_child_blocks(Sym *s)
{
    ml_NestNode *node, *v[64];
    bool loop = s->args[0].n == 1 && s->args[0].v->kind == ML_TV_VAR &&
                s->vars[s->args[0].v->var].kind == ML_H_LOOP;
    size_t n = 0;

    if (loop ? !ml_sym_loop(s, 0, &node) : !ml_sym_block(s, 0, &node))
        return false;
    ml_sym_child_blocks(node, v, ML_COUNT(v), &n);
    if (n != s->in->n_outputs || n > ML_COUNT(v))
        return ml_sym_no(s, "another number of blocks");
    for (size_t k = 0; k < n; k++)
        ml_sym_out_block(s, k, v[k]);
    return true;
}

static bool sample_categorical(Sym *s)
{
    const ml_TV *v = s->args[0].v;
    uint32_t n = 0;
    double *list;

    if (s->args[0].n == 1 && v->kind == ML_TV_LIST)
        n = v->n;
    else if (s->args[0].n == 1 && v->kind == ML_TV_VALUE && v->value->kind == ML_VAL_LIST)
        n = v->value->n;
    if (n == 0)
        return ml_sym_no(s, "no candidates");
    list = ML_ARRAY(s->cx, double, n);
    for (uint32_t k = 0; k < n; k++) {
        const ml_Value *x = v->kind == ML_TV_LIST ? v->list[k].value : v->value->as.list[k];

        if (x == NULL || x->kind != ML_VAL_INT)
            return ml_sym_no(s, "a candidate that is no number");
        list[k] = (double)x->as.i;
    }
    ml_Num at = ml_form_input(s->f, s->at, 0, n - 1);

    out_num(s, 0, ml_form_pick(s->f, at, list, n));
    return true;
}

/* From the innermost factor outwards: what does not divide takes all that is left. */
static bool sample_perfect_tile(Sym *s)
{
    ml_Forms *f = s->f;
    ml_NestNode *loop;
    uint32_t n = s->in->n_outputs;
    ml_Num *tile = ML_ARRAY(s->cx, ml_Num, n + 1), rest;

    if (!ml_sym_loop(s, 0, &loop))
        return false;
    rest = s->n.axes.v[loop->axis].extent;
    ml_push(s->cx, &s->tiles, ((SymTile){rest, n, tile}));
    for (uint32_t k = n; k-- > 1;) {
        ml_Num x = ml_form_input(f, s->at + k, 1, HUGE_VAL);
        ml_Num left = ml_form_mod(f, rest, x);

        tile[k] = ml_form_holds(f, ml_form_eq(f, left, ml_form_const(f, 0))) ? x : rest;
        rest = ml_form_floordiv(f, rest, tile[k]);
    }
    tile[0] = rest;
    for (uint32_t k = 0; k < n; k++)
        out_num(s, k, tile[k]);
    return true;
}

bool ml_sym_is_place(const ml_Inst *in)
{
    return ml_streq(in->prim->name, "sample_compute_location");
}

uint32_t ml_sym_numbers(const ml_Inst *in)
{
    if (!in->prim->has_decision)
        return 0;
    return ml_streq(in->prim->name, "sample_categorical") ? 1 : in->n_outputs;
}

static bool set_scope(Sym *s)
{
    const ml_TVArg *a = &s->args[2];
    ml_NestNode *b;

    if (!ml_sym_block(s, 0, &b))
        return false;
    for (size_t k = 0; k < b->kids.n; k++)
        if (b->kids.v[k]->kind == ML_NEST_STORE && a->n == 1) {
            ml_NestBuffer *nb = &s->n.buffers.v[b->kids.v[k]->store->to.buffer];

            if (nb->param)
                return ml_sym_no(s, "a parameter");
            nb->name = ml_format(s->cx, "%s_%s", nb->name, a->v->value->as.s);
            return true;
        }
    return ml_sym_no(s, "no store in the block");
}

/* ---------------------------------------------------------------- the trace */

static const struct {
    const char *name;
    bool (*step)(Sym *s);
} steps[] = {
    {"get_block", get_block},
    {"get_loops", get_loops},
    {"sample_categorical", sample_categorical},
    {"sample_perfect_tile", sample_perfect_tile},
    {"get_child_blocks", get_child_blocks},
    {"get_producers", ml_sym_get_producers},
    {"get_consumers", ml_sym_get_consumers},
    {"sample_compute_location", ml_sym_sample_compute_location},
    {"split", ml_sym_split},
    {"fuse", ml_sym_fuse},
    {"reorder", ml_sym_reorder},
    {"parallel", ml_sym_kind},
    {"vectorize", ml_sym_kind},
    {"unroll", ml_sym_kind},
    {"bind", ml_sym_bind},
    {"annotate", ml_sym_annotate},
    {"unannotate", ml_sym_annotate},
    {"set_scope", set_scope},
    {"compute_at", ml_sym_compute_at},
    {"reverse_compute_at", ml_sym_reverse_compute_at},
    {"decompose_reduction", ml_sym_decompose_reduction},
    {"rfactor", ml_sym_rfactor},
    {"cache_write", ml_sym_cache_write},
    {"cache_read", ml_sym_cache_read},
};

static bool step(Sym *s)
{
    for (size_t k = 0; k < ML_COUNT(steps); k++)
        if (ml_streq(steps[k].name, s->in->prim->name)) {
            if (!ml_inst_args(s->in, s->args))
                return ml_sym_no(s, "its arguments are not as they should be");
            return steps[k].step(s);
        }
    return ml_sym_no(s, "has no forms");
}

static ml_NestNode *block_of_uid(ml_NestNode *node, ml_Uid uid)
{
    if (node->kind == ML_NEST_BLOCK && node->block->uid == uid)
        return node;
    for (size_t k = 0; k < node->kids.n; k++) {
        ml_NestNode *x = block_of_uid(node->kids.v[k], uid);

        if (x)
            return x;
    }
    return NULL;
}

/* What the prefix made: its outputs in the schedule are nodes here. */
static void take_outputs(Sym *s, const ml_Trace *done, size_t n)
{
    for (size_t k = 0; k < n; k++)
        for (uint32_t m = 0; m < s->t->insts[k]->n_outputs; m++) {
            const ml_TVar *v = &done->insts[k]->outputs[m];
            SymValue *to = &s->vars[s->t->insts[k]->outputs[m].num];

            if (v->kind == ML_H_BLOCK) {
                to->block = block_of_uid(s->n.root, v->uid);
                to->kind = to->block ? ML_H_BLOCK : ML_H_NONE;
            }
            for (uint32_t a = 0; v->kind == ML_H_LOOP && a < s->n.axes.n; a++)
                if (!s->n.axes.v[a].iter && s->n.axes.v[a].uid == v->uid)
                    *to = (SymValue){.kind = ML_H_LOOP, .axis = a};
        }
}

static void find_symbols(Sym *s)
{
    s->symbols = ml_map_new(s->cx);
    for (size_t k = 0; k < s->t->n; k++)
        for (uint32_t m = 0; m < s->t->insts[k]->n_outputs; m++) {
            const ml_TVar *v = &s->t->insts[k]->outputs[m];

            if (v->kind == ML_H_EXPR)
                ml_map_set(s->cx, s->symbols, v->uid,
                           (const void *)((uintptr_t)v->num + 1));
        }
}

bool ml_sym_replay(Sym *s, ml_Ctx *cx, ml_Forms *f, ml_Schedule *start, const ml_Trace *t,
                   const ml_FormPost *post, ml_Schedule **fork)
{
    ml_Trace prefix = {0, t->insts}, done;

    *s = (Sym){.cx = cx, .f = f, .t = t};
    while (prefix.n < t->n && !t->insts[prefix.n]->prim->has_decision)
        prefix.n++;
    *fork = ml_schedule_fork_at(start, 0);
    if (!ml_trace_apply(*fork, &prefix, true, NULL, NULL, NULL))
        return ml_sym_no(s, "the steps before the first decision are not legal");
    ml_nest_read(&s->n, cx, f, ml_schedule_func(*fork), true);
    if (s->n.open)
        return ml_sym_no(s, "sizes that are no numbers");
    s->vars = ML_ARRAY(cx, SymValue, ml_trace_n_vars(t) + 1u);
    find_symbols(s);
    done = ml_schedule_trace(*fork, cx);
    if (done.n != prefix.n)
        return ml_sym_no(s, "the steps before the first decision are recorded otherwise");
    take_outputs(s, &done, prefix.n);
    for (size_t k = prefix.n; k < t->n; k++) {
        s->in = t->insts[k];
        if (ml_is_enter_postproc(s->in->prim))
            break;
        if (!step(s))
            return false;
        s->at += ml_sym_numbers(s->in);
    }
    return ml_sym_post(s, ml_schedule_func(*fork), post->names, post->n);
}
