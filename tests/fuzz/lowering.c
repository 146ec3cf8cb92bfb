/*
 * lowering - a version lowered pass by pass, every result verified, printed, and run by the
 * interpreter on the arguments of the version. See trial.h.
 */
#include "trial.h"

#include "moonloop/codegen/interp/interp.h"
#include "moonloop/codegen/lower/lower.h"
#include "moonloop/core/binary/binary.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/primitives/call/render.h"

#include <stdio.h>

typedef struct Lowering {
    FzLower *l;
    const ml_Func *before; /* what the pass got */
    ml_Signature sig;
    const char *kind; /* of a failure */
    bool gpu;         /* thread-bound loops: the pipeline of CPUs will refuse it */
} Lowering;

static bool thread_bound(const ml_Stmt *s, void *user)
{
    bool *found = user;

    *found |= s->kind == ML_STMT_FOR && ml_as_for(s)->kind == ML_FOR_THREAD;
    return !*found;
}

static void set_detail(FzLower *l, const char *pass, const char *what)
{
    const ml_Error *e = ml_error(l->cx);
    ml_Failure *f = e ? ml_failure_from(e) : NULL;

    ml_text_fmt(&l->detail, "after pass %s: %s%s%s", pass, what, f ? ": " : "",
                f ? ml_failure_message(f) : "");
    for (uint32_t k = 0; e && k < e->n_notes; k++)
        ml_text_fmt(&l->detail, "\n  %s", e->notes[k]);
    ml_failure_free(f);
}

/* The arguments of a body: sizes follow. */
static const ml_RunArg *arguments(Lowering *w, const ml_Pass *p, uint32_t *n)
{
    ml_RunArg *args = ML_ARRAY(w->l->cx, ml_RunArg, w->l->n_args + w->sig.n_sizes + 1u);

    *n = w->l->n_args;
    if (*n)
        memcpy(args, w->l->args, *n * sizeof *args);
    for (uint32_t k = 0; p->out == ML_STAGE_BODY && k < w->sig.n_sizes; k++)
        args[(*n)++].i = fz_scalar(w->l->sizes, w->sig.sizes[k]->hint);
    return args;
}

/* Whether bytes of the function give it back: equal, and printed alike. */
static bool survives_bytes(FzLower *l, const ml_Func *f)
{
    const ml_Module *m = ml_module_new(l->cx, &f, 1, NULL);
    ml_Ctx *to = ml_ctx_new(0);
    ml_BinaryRead r;
    ml_Text a = {0}, b = {0};
    bool ok = ml_binary_read(to, ml_binary_write(l->cx, m, false), "", &r) &&
              ml_equal_module(to, m, r.mod, NULL, NULL);

    if (ok) {
        ml_print_module(l->cx, &a, m, NULL);
        ml_print_module(to, &b, r.mod, NULL);
        ok = ml_streq(ml_text_z(&a), ml_text_z(&b));
    }
    ml_text_free(&a);
    ml_text_free(&b);
    ml_ctx_unref(to);
    return ok;
}

static bool after_pass(const ml_Pass *p, const ml_Func *f, void *user)
{
    static const ml_InterpOpts opts = {.max_iterations = 2000000};
    Lowering *w = user;
    FzLower *l = w->l;
    const ml_RunArg *args;
    ml_InterpReport report;
    uint32_t n;

    if (f == w->before || w->gpu)
        return true;
    w->before = f;
    if (l->stats)
        l->stats->passes++;
    if (!survives_bytes(l, f)) {
        set_detail(l, p->name, "other bytes");
        w->kind = "lowered-bytes";
        return false;
    }
    l->reset(l->user);
    args = arguments(w, p, &n);
    if (!ml_interpret(l->cx, NULL, f, args, n, &opts, &report)) {
        if (ml_error(l->cx)->code == ML_E_TOO_LARGE ||
            ml_error(l->cx)->code == ML_E_THREADS_COOPERATE) {
            ml_error_clear(l->cx);
            return true;
        }
        set_detail(l, p->name, "does not run");
        w->kind = "lowered-run";
    } else if (!l->same(l->user)) {
        set_detail(l, p->name, "another output");
        w->kind = "lowered-output";
    }
    if (w->kind)
        ml_print_func(l->cx, &l->program, f, NULL);
    return w->kind == NULL;
}

static bool says(const ml_Error *e, const char *word)
{
    for (uint32_t k = 0; e && k < e->n_facts; k++)
        if (e->facts[k].kind == ML_FACT_TEXT && strstr(e->facts[k].as.text, word))
            return true;
    return false;
}

bool fz_may_refuse(const ml_Error *e, const ml_Func *f, FzStats *stats)
{
    bool gpu = false;

    ml_stmt_visit(f->body, thread_bound, &gpu);
    gpu = gpu && says(e, "for a GPU");
    if (gpu && stats)
        stats->for_gpu++;
    return gpu;
}

const char *fz_lower(FzLower *l)
{
    ml_Target target = {.vector_bits = 256, .registers = 16, .cores = 2};
    ml_Lower lo = {.cx = l->cx};
    Lowering w = {.l = l};
    ml_Parsed parsed = ml_parse(l->cx, ml_str(l->text), NULL);
    const ml_Func *f = parsed.mod ? ml_module_find(parsed.mod, "main") : NULL;

    if (!f) {
        ml_text_add(&l->detail, "the printed program is not read");
        return "lowered-parse";
    }
    lo.module = parsed.mod;
    lo.opts = ml_lower_defaults(&target);
    lo.opts.debug_verify = true;
    ml_stmt_visit(f->body, thread_bound, &w.gpu);
    if (l->stats)
        l->stats->lowered++;
    if (!ml_signature_of(l->cx, f, &w.sig)) {
        set_detail(l, "signature", "refused");
        return "lowered-signature";
    }
    if (!survives_bytes(l, f)) {
        set_detail(l, "none", "other bytes");
        return "lowered-bytes";
    }
    if (ml_lower(&lo, f, l->stop_after, after_pass, &w))
        return w.kind;
    if (fz_may_refuse(ml_error(l->cx), f, l->stats))
        return NULL;
    set_detail(
        l, ml_error(l->cx) && ml_error(l->cx)->primitive ? ml_error(l->cx)->primitive : "?",
        "refused");
    ml_print_func(l->cx, &l->program, w.before ? w.before : f, NULL);
    return "lowered-refused";
}
