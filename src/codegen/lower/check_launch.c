/*
 * check_launch - refuses kernels that their target cannot run: threads of a block, blocks,
 * bytes of shared memory, widths of vectors beyond its limits; and reductions across
 * threads, which no pass splits yet. Nothing is changed. Source: lowering-and-codegen 4.8.
 */
#include "moonloop/codegen/lower/lower_impl.h"
#include "moonloop/verify/findings.h"
#include "moonloop/verify/verify.h"

typedef struct OfThread { /* a variable that differs between threads, and why */
    const ml_Var *var;
    const ml_For *loop;
} OfThread;

typedef struct Across { /* loops over threads around, and iters bound to them */
    ml_Lower *lo;
    ML_VEC(OfThread) vars;
    bool failed;
} Across;

static void refuse(Across *a, const ml_Block *b, const ml_For *f)
{
    if (!a->failed)
        ml_lower_fail(a->lo, "check_launch", &b->base,
                      "%s reduces over loop %s, which is bound to %s; kernels that reduce "
                      "across threads come with a later version",
                      ml_lower_name(a->lo->cx, &b->base), f->var->hint, f->thread.name);
    a->failed = true;
}

/* Reductions over threadIdx: to be split into partial ones (lowering-and-codegen 2). */
static void find_across(const ml_Stmt *s, bool in_init, void *user)
{
    Across *a = user;
    size_t n = a->vars.n;

    (void)in_init;
    if (s->kind == ML_STMT_FOR && ml_as_for(s)->thread.axis == ML_AXIS_THREAD &&
        !ml_is_int(ml_as_for(s)->extent, 1))
        ml_push(a->lo->cx, &a->vars, ((OfThread){ml_as_for(s)->var, ml_as_for(s)}));
    if (s->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(s);

        for (uint32_t k = 0; k < b->n_iters; k++)
            for (size_t j = 0; j < n; j++) {
                const ml_Iter *it = &b->iters[k];
                OfThread of = {it->var, a->vars.v[j].loop};

                if (!ml_expr_uses_var(it->value, a->vars.v[j].var))
                    continue;
                if (b->init && it->kind == ML_ITER_REDUCE)
                    refuse(a, b, of.loop);
                ml_push(a->lo->cx, &a->vars, of);
                break;
            }
    }
    ml_stmt_children(s, find_across, a);
    a->vars.n = n;
}

const ml_Func *ml_pass_check_launch(ml_Lower *lo, const ml_Func *f)
{
    ml_Ctx *cx = lo->cx;
    const char *kind = ml_target_kinds[lo->opts.target.kind].name;
    const ml_Value *target =
        ml_dict_with(cx, NULL, "kind", ml_val_string(cx, ml_str(kind)));
    ml_Findings all = {0}, limits = {0};
    ml_Program p = {.mod = ml_module_new(cx, &f, 1, NULL)};

    p.index = ml_index_build(cx, p.mod);
    ml_verify_threads(cx, p, target, false, &all);
    for (size_t k = 0; k < all.n; k++) {
        ml_ErrorCode code = all.v[k].error->code;

        if (all.v[k].severity == ML_SEV_ERROR &&
            (code == ML_E_LAUNCH_LIMIT || code == ML_E_MEMORY_LIMIT))
            ml_push(cx, &limits, all.v[k]);
    }
    if (limits.n > 0) {
        ml_findings_fail(cx, &limits, 0);
        return NULL;
    }
    Across across = {.lo = lo};

    find_across(f->body, false, &across);
    return across.failed ? NULL : f;
}
