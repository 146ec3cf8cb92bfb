/*
 * specialize - a copy of the program for sizes that are known, used where they are these.
 *
 *     if n == 16:                  # the copy: a block of its own, sizes are constants
 *         with T.block("n_16"): ...
 *     else:                        # what there was
 *         with T.block("otherwise"): ...
 *
 * The copy is made by substitution and scheduled apart, by a trace that is replayed on it
 * with every check; parameters whose shapes hold a size are views there. Each call adds an
 * arm before the general one, which the next call copies again.
 * Source: auto-scheduler 18; ir-and-analysis 8.2.
 */
#include "moonloop/primitives/schedule/schedule_impl.h"

#include "moonloop/core/specialize.h"
#include "moonloop/primitives/call/render.h"

enum { SIZES, STEPS };

typedef struct Special {
    ml_Call *c;
    ml_Ctx *cx;
    const ml_Func *f;
    const ml_Block *root;
    const ml_Block *general; /* the arm for all other sizes; root: there are no arms yet */
    ml_VarVec symbols;       /* of f */
    ml_Constant sizes[ML_MOST_CONSTANTS];
    size_t n;
} Special;

/* ---- the arms that are there */

/* Whether the arm is taken for all of the sizes that are asked for, whatever else is. */
static bool takes(const Special *sp, const ml_Arm *arm)
{
    size_t same = 0;

    for (size_t k = 0; k < arm->n; k++)
        for (size_t m = 0; m < sp->n; m++)
            same += ml_streq(arm->sizes[k].name, sp->sizes[m].name) &&
                    arm->sizes[k].value == sp->sizes[m].value;
    return same == arm->n;
}

/* The general arm. false: an arm has the sizes already. */
static bool find_general(Special *sp)
{
    ml_Arms arms;

    ml_func_arms(sp->cx, sp->f, &arms);
    sp->root = arms.root;
    sp->general = arms.general;
    if (sp->root == NULL)
        return ml_fail_unchosen(sp->cx, sp->c->p.mod);
    for (size_t k = 0; k < arms.v.n; k++)
        if (sp->n > 0 && takes(sp, &arms.v.v[k]))
            return ml_fail(sp->cx, ML_E_BAD_ARGUMENT,
                           ML_TEXT(ml_format(sp->cx, "sizes: block %s is for them already",
                                             arms.v.v[k].block->name)));
    return true;
}

/* ---- the copy, scheduled */

/* The general arm as a function of its own, for the sizes. NULL: error set. */
static const ml_Func *make_start(const Special *sp)
{
    ml_Block b = *sp->general;

    b.name = "root";
    b.n_reads = b.n_writes = 0;
    return ml_func_specialize(sp->cx,
                              ml_func_with_body(sp->cx, sp->f, ml_block_from(sp->cx, &b)),
                              sp->sizes, sp->n);
}

static bool fail_steps(const Special *sp, ml_Schedule *s, size_t done)
{
    ml_Failure *why = ml_failure_take(s);
    const char *prim = ml_failure_primitive(why);
    ml_ErrorCode code = ml_failure_code(why);

    if (code == ML_E_INTERRUPTED || code == ML_E_OUT_OF_MEMORY)
        ml_fail(sp->cx, code);
    else
        ml_fail(sp->cx, ML_E_BAD_TRACE,
                ML_TEXT(ml_format(sp->cx, "steps: instruction %zu%s%s: %s", done + 1,
                                  prim ? ", " : "", prim ? prim : "",
                                  ml_failure_message(why))));
    ml_failure_free(why);
    return false;
}

/* What callers pass stays as it is. */
static bool keeps_params(const Special *sp, const ml_Func *from, const ml_Func *to)
{
    for (uint32_t k = 0; k < from->n_params; k++)
        if (from->params[k].buffer != to->params[k].buffer)
            return ml_fail(
                sp->cx, ML_E_NOT_SUPPORTED,
                ML_TEXT(ml_format(sp->cx, "steps: they change what callers pass as %s",
                                  from->params[k].buffer->name)));
    return true;
}

/* Replays the steps on a schedule of its own. NULL: error set; else the result, in cx, with
 * identities of its own. */
static const ml_Func *schedule_apart(const Special *sp, const ml_Func *start)
{
    ml_Ctx *own = ml_ctx_new(0);
    const ml_ScheduleOpts *as = ml_schedule_opts(sp->c->sched);
    const ml_Func *f = ml_import_func(ml_import_begin(own), start), *out = NULL;
    const char *steps = sp->c->args[STEPS].s;
    ml_ScheduleOpts opts = {.render = ML_RENDER_NONE,
                            .no_check = as->no_check,
                            .unchecked = as->unchecked,
                            .intrins = sp->c->sched->space->intrins};
    ml_Trace trace = {0};
    ml_Schedule *s = NULL;
    size_t done = 0;

    ml_ctx_limits_of(own, sp->cx);
    if ((!steps || !*steps || ml_trace_from_json(own, ml_str(steps), &trace)) &&
        (s = ml_schedule_new(own, ml_module_new(own, &f, 1, NULL), &opts, NULL)) != NULL) {
        if (!ml_trace_apply(s, &trace, false, NULL, NULL, &done))
            fail_steps(sp, s, done);
        else if (keeps_params(sp, f, ml_schedule_func(s)))
            out = ml_import_func(ml_import_begin_apart(sp->cx), ml_schedule_func(s));
        ml_schedule_unref(s);
    } else {
        ml_error_move(sp->cx, own);
    }
    ml_ctx_unref(own);
    return out;
}

/* ---- the arm */

static const ml_Expr *condition(const Special *sp)
{
    ml_Ctx *cx = sp->cx;
    const ml_Expr *all = NULL;

    for (size_t k = 0; k < sp->n; k++)
        for (size_t m = 0; m < sp->symbols.n; m++) {
            const ml_Var *v = sp->symbols.v[m];

            if (!ml_streq(v->hint, sp->sizes[k].name))
                continue;
            const ml_Expr *e =
                ml_eq(cx, ml_var(cx, v), ml_int(cx, v->type, sp->sizes[k].value));

            all = all ? ml_and(cx, all, e) : e;
        }
    return all;
}

static const ml_Range *whole(ml_Ctx *cx, const ml_Buffer *b)
{
    ml_Range *r = ML_ARRAY(cx, ml_Range, b->rank + 1u);

    for (uint16_t d = 0; d < b->rank; d++)
        r[d] = (ml_Range){ml_int(cx, b->shape[d]->type, 0), b->shape[d]};
    return r;
}

/* Whether the parameter has a shape of its own here, which is that of a view. Strides and an
 * offset that callers choose stay where they are named. */
static bool is_view(const Special *sp, const ml_Buffer *from, const ml_Buffer *to)
{
    bool differs = false;

    if (from->n_strides || !ml_is_int(from->elem_offset, 0))
        return false;
    for (uint16_t d = 0; d < from->rank; d++)
        differs |= from->shape[d]->kind != ML_EXPR_INT && to->shape[d]->kind == ML_EXPR_INT;
    return differs && sp->n > 0;
}

/* Regions end where their buffers do: what is inferred of a loop with a guard may not. */
static const ml_Region *inside(const Special *sp, ml_Arith *ar, const ml_Region *v,
                               size_t n)
{
    ml_Ctx *cx = sp->cx;
    ml_Region *out = ML_ARRAY(cx, ml_Region, n + 1);

    for (size_t k = 0; k < n; k++) {
        const ml_Buffer *b = v[k].buffer;
        ml_Range *r = ML_ARRAY(cx, ml_Range, b->rank + 1u);

        memcpy(r, v[k].ranges, b->rank * sizeof *r);
        for (uint16_t d = 0; d < b->rank; d++) {
            const ml_Expr *min = r[d].min, *end = b->shape[d], *extent = r[d].extent;

            if (!ml_promote(cx, &min, &extent) || !ml_promote(cx, &min, &end) ||
                !ml_prove_ge(ar, min, 0) ||
                !ml_prove(ar, ml_le(cx, ml_add(cx, min, extent), end)))
                r[d] = (ml_Range){ml_int(cx, b->shape[d]->type, 0), b->shape[d]};
        }
        out[k] = (ml_Region){b, r};
    }
    return out;
}

/* The block with what it reads and writes, where the sizes are these. NULL: error set. */
static const ml_Block *with_regions(const Special *sp, const ml_Stmt *arm,
                                    const ml_Expr *where)
{
    const ml_Block *b = ml_block_reinfer(sp->cx, sp->f, ml_as_block(arm));
    ml_Arith *ar = ml_arith_new(sp->cx);

    if (!b)
        return NULL;
    ml_Block to = *b;

    ml_arith_bind_params(ar, sp->f);
    if (where)
        ml_arith_assume(ar, where);
    to.reads = inside(sp, ar, b->reads, b->n_reads);
    to.writes = inside(sp, ar, b->writes, b->n_writes);
    return ml_as_block(ml_block_from(sp->cx, &to));
}

/* The symbol of f that the k-th of those left is: by its name, and of several that are called
 * so by its place among them. */
static const ml_Var *symbol_again(const Special *sp, const ml_VarVec *left, size_t k)
{
    size_t m = 0;

    for (size_t j = 0; j <= k; j++)
        if (ml_streq(left->v[j]->hint, left->v[k]->hint)) {
            while (!ml_streq(sp->symbols.v[m]->hint, left->v[k]->hint))
                m++;
            m += j < k;
        }
    return sp->symbols.v[m];
}

/* The body of the scheduled function as an arm: its parameters are those of f again. */
static const ml_Block *make_arm(const Special *sp, const ml_Func *from, const char *name)
{
    ml_Ctx *cx = sp->cx;
    const ml_Block *r = ml_func_root(from);
    ml_Match *views = ML_ARRAY(cx, ml_Match, r->n_matches + from->n_params + 1u);
    ml_VarVec left = {0};
    ml_Subst s = {0};
    ml_Block b = *r;

    memcpy(views, r->matches, r->n_matches * sizeof *views);
    ml_func_symbols(cx, from, false, &left);
    for (size_t k = 0; k < left.n; k++)
        ml_subst_var(cx, &s, left.v[k], ml_var(cx, symbol_again(sp, &left, k)));
    for (uint32_t k = 0; k < from->n_params; k++) {
        const ml_FuncParam *to = &sp->f->params[k], *p = &from->params[k];

        if (p->var->uid != to->var->uid && !(s.vars && ml_map_has(s.vars, p->var->uid)))
            ml_subst_var(cx, &s, p->var, ml_var(cx, to->var));
        if (!p->buffer)
            continue;
        if (is_view(sp, to->buffer, p->buffer)) {
            views[b.n_matches].target = p->buffer;
            views[b.n_matches++].source = (ml_Region){to->buffer, whole(cx, p->buffer)};
        } else {
            ml_subst_buffer(cx, &s, p->buffer, to->buffer);
        }
    }
    b.name = name;
    b.matches = views;
    const ml_Stmt *arm = ml_stmt_subst(cx, ml_block_from(cx, &b), &s);

    return arm && ml_ok_or_fail(cx) ? with_regions(sp, arm, condition(sp)) : NULL;
}

static const char *arm_name(const Special *sp)
{
    ml_Text t = {0};
    const char *name;

    ml_constants_text(&t, sp->sizes, sp->n, "_", "_");
    name = sp->n ? ml_strdup(sp->cx, ml_str(ml_text_z(&t))) : "otherwise";
    ml_text_free(&t);
    return name;
}

/* The general arm as it is, if it is one already. */
static const ml_Stmt *general_arm(const Special *sp)
{
    ml_Block b = *sp->general;

    if (sp->general != sp->root)
        return &sp->general->base;
    b.tag = ml_fresh_uid(sp->cx);
    b.name = "otherwise";
    const ml_Block *made = with_regions(sp, ml_block_from(sp->cx, &b), NULL);

    return made ? &made->base : NULL;
}

static bool check_given(Special *sp)
{
    const char *text = sp->c->args[SIZES].s;
    const char *why =
        text && *text ? ml_constants_read(sp->cx, text, sp->sizes, &sp->n) : NULL;

    if (why)
        return ml_fail(sp->cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT(ml_format(sp->cx, "sizes: %s", why)));
    ml_func_symbols(sp->cx, sp->f, false, &sp->symbols);
    if (!find_general(sp))
        return false;
    if (sp->n == 0 && sp->general == sp->root)
        return ml_fail(sp->cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT("sizes: none are given, and no sizes have an arm yet: "
                               "\"n=16\" makes one for n = 16"));
    return true;
}

static bool specialize(ml_Call *c)
{
    Special sp = {.c = c, .cx = c->cx};
    const ml_Func *start, *done;
    const ml_Block *arm;
    const ml_Stmt *general;

    if (!ml_schedule_func(c->sched))
        return ml_fail_unchosen(c->cx, c->p.mod);
    sp.f = ml_call_func(c);
    if (!check_given(&sp) || !(start = make_start(&sp)) ||
        !(done = schedule_apart(&sp, start)) || !(arm = make_arm(&sp, done, arm_name(&sp))))
        return false;
    if (sp.n == 0) {
        ml_call_replace(c, sp.general->tag, &arm->base);
    } else if ((general = general_arm(&sp)) == NULL) {
        return false;
    } else {
        const ml_Stmt *both = ml_if(c->cx, condition(&sp), &arm->base, general);

        if (sp.general == sp.root) {
            ml_Block root = *sp.root;

            root.body = both;
            root.n_allocs = root.n_matches = 0;
            root.annotations = NULL;
            ml_call_replace(c, sp.root->tag, ml_block_from(c->cx, &root));
        } else {
            ml_call_replace(c, sp.general->tag, both);
        }
    }
    ml_call_return_block(c, arm->tag);
    return ml_ok_or_fail(c->cx);
}

/* ---- the entry */

static size_t count_steps(const ml_Call *c)
{
    ml_Ctx *own = ml_ctx_new(0);
    ml_Trace trace = {0};
    const char *steps = c->args[STEPS].s;
    size_t n = 0;

    if (steps && *steps && ml_trace_from_json(own, ml_str(steps), &trace))
        for (size_t k = 0; k < trace.n; k++)
            n += !trace.insts[k]->prim->no_version;
    ml_ctx_unref(own);
    return n;
}

static void describe(const ml_Call *c, ml_Program before, ml_Text *out)
{
    size_t n = count_steps(c);

    (void)before;
    if (c->args[SIZES].s && *c->args[SIZES].s)
        ml_text_fmt(out, "if %s", c->args[SIZES].s);
    else
        ml_text_add(out, "otherwise");
    if (n > 0)
        ml_text_fmt(out, ": %zu step%s", n, n == 1 ? "" : "s");
}

static const ml_Param params[] = {
    ML_PARAM_ATTR("sizes", ML_P_STRING,
                  "\"n=16\" or \"n=16,m=64\"; \"\": the arm of all other sizes"),
    {.name = "steps",
     .kind = ML_P_STRING,
     .optional = true,
     .attr = true,
     .def_s = "",
     .doc = "a trace as JSON, replayed on the copy: s:trace():json()"},
};

const ml_Primitive ml_prim_specialize = {
    ML_PRIM(specialize, "Specialize"),
    .group = "blocks",
    .summary = "a copy of the program for given sizes, used where they are these",
    .help =
        "The program becomes `if n == 16: copy else: program`: in the copy, a block named "
        "n_16, the\n"
        "size is a constant. steps schedule the copy, as a program of its own "
        "(moon.specialize),\n"
        "with every check; they may not change what callers pass. Further calls add arms; "
        "sizes \"\"\n"
        "schedules the one of all other sizes. :tune --shape makes such a program.",
    ML_PARAMS(params),
    .result = ML_R_BLOCK,
    .one_order = true,
    .describe = describe,
    .errors = (const ml_ErrorCode[]){ML_E_BAD_ARGUMENT, ML_E_BAD_TRACE, ML_E_NO_FUNCTION,
                                     ML_E_NO_BLOCKS, ML_E_NOT_SUPPORTED, ML_E_OK},
};
