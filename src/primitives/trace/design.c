/*
 * design - what of a program was chosen: the steps of the current line that use a sampled
 * value or give the program its shape, each in a few words. A split is the loop and its
 * parts, `j=2×4×16`.
 * Source: interaction 11.
 */
#include "moonloop/primitives/trace/trace_impl.h"

#include "moonloop/core/walk.h"

typedef struct Chosen {
    ml_Schedule *s;
    ml_Ctx *tmp;
    const ml_TVar *vars; /* by number */
    ml_Map *nums,
        *symbols; /* of what was sampled: variables, and those inside expressions */
    bool found;
} Chosen;

static bool see(const ml_Expr *e, void *user)
{
    Chosen *c = user;

    c->found |= e->kind == ML_EXPR_VAR && ml_map_has(c->symbols, e->as.var->uid);
    return !c->found;
}

static bool uses(Chosen *c, const ml_TV *v, size_t n)
{
    c->found = false;
    for (size_t k = 0; k < n && !c->found; k++)
        switch ((ml_TVKind)v[k].kind) {
        case ML_TV_VAR: c->found = ml_map_has(c->nums, v[k].var); break;
        case ML_TV_EXPR: ml_expr_visit(v[k].expr, see, c); break;
        case ML_TV_LIST: uses(c, v[k].list, v[k].n); break;
        case ML_TV_NONE:
        case ML_TV_VALUE:
        case ML_TV_MAP: break;
        }
    return c->found;
}

static bool samples(const ml_Inst *in)
{
    for (size_t k = 0; k < in->prim->n_params; k++)
        if (in->prim->params[k].kind == ML_P_DECISION)
            return true;
    return false;
}

/* What tells designs apart that chose the same parts: copies, and what runs in parallel. */
static bool shapes(const ml_Inst *in)
{
    return ml_streq(in->prim->group, "caching") || ml_streq(in->prim->name, "parallel");
}

/* An arm for some sizes: those; false: it is no such step. */
static bool add_arm(const ml_Inst *in, ml_Text *out)
{
    const ml_Value *sizes = in->n_attrs > 0 ? in->attrs[0].value : NULL;

    if (!ml_streq(in->prim->name, "specialize") || !sizes || sizes->kind != ML_VAL_STRING)
        return false;
    ml_text_add(out, *sizes->as.s ? sizes->as.s : "others");
    return true;
}

static void add_sampled(Chosen *c, const ml_Inst *in)
{
    for (uint32_t k = 0; k < in->n_outputs; k++) {
        if (in->outputs[k].kind == ML_H_NONE)
            continue;
        ml_map_set(c->tmp, c->nums, in->outputs[k].num, in);
        ml_map_set(c->tmp, c->symbols, in->outputs[k].uid, in);
    }
}

/* `j=2×4×16`, as the version had it; false: that is not what the step does. */
static bool add_parts(Chosen *c, const ml_Inst *in, ml_Text *out)
{
    ml_PrintOpts o = {.spelling = -1, .plain = true};
    bool factors = false;

    for (size_t k = 0; k < in->prim->n_params; k++)
        factors |= in->prim->params[k].kind == ML_P_FACTORS;
    if (!factors || in->n_outputs == 0 || in->n_inputs == 0 ||
        in->inputs[0].kind != ML_TV_VAR)
        return false;
    o.names = ml_version_names(c->s, in->version);
    ml_text_fmt(out, "%s=", ml_name_of(c->s, c->vars[in->inputs[0].var].uid));
    for (uint32_t k = 0; k < in->n_outputs; k++) {
        const ml_Stmt *st =
            ml_index_node(ml_version_program(c->s, in->version).index, in->outputs[k].uid);

        ml_text_add(out, k ? "×" : "");
        if (!st || st->kind != ML_STMT_FOR)
            ml_text_add(out, "?");
        else if (ml_is_const_int(ml_as_for(st)->extent))
            ml_text_int(out, ml_as_for(st)->extent->as.i);
        else
            ml_print_expr(c->tmp, out, ml_as_for(st)->extent, &o);
    }
    return true;
}

void ml_schedule_design(ml_Schedule *s, ml_Text *out)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Trace t = ml_schedule_trace(s, tmp);
    Chosen c = {.s = s,
                .tmp = tmp,
                .vars = ml_trace_vars(tmp, &t),
                .nums = ml_map_new(tmp),
                .symbols = ml_map_new(tmp)};
    size_t n = 0;

    for (size_t k = 0; k < t.n; k++) {
        const ml_Inst *in = t.insts[k];

        if (samples(in)) {
            add_sampled(&c, in);
            continue;
        }
        if (in->prim->no_version || in->version <= 0 ||
            !(shapes(in) || ml_streq(in->prim->name, "specialize") ||
              uses(&c, in->inputs, in->n_inputs) || uses(&c, in->attrs, in->n_attrs)))
            continue;
        ml_text_add(out, n++ ? ", " : "");
        if (!add_arm(in, out) && !add_parts(&c, in, out))
            ml_text_add(out, ml_step_plain_line(s, in->version));
    }
    ml_ctx_unref(tmp);
}
