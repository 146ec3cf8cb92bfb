/* trial_version - what must hold of an accepted version (fz_version_holds). */
#include "compiled.h"
#include "traced.h"
#include "trial_impl.h"

#include "moonloop/codegen/measure/check.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/primitives/call/render.h"

#include <stdio.h>
#include <stdlib.h>

const char *const fz_func_names[FUNCS] = {"main", "other"};

bool fz_fail(FzRun *r, const char *kind, const char *fmt, ...)
{
    va_list ap;

    r->t->failed = true;
    ml_text_clear(&r->t->detail);
    memcpy(r->t->kind, kind, strlen(kind) + 1);
    va_start(ap, fmt);
    ml_text_vfmt(&r->t->detail, fmt, ap);
    va_end(ap);
    return false;
}

/* Fails with an error of cx. */
bool fz_fail_error(FzRun *r, const char *kind, const ml_Error *e)
{
    ml_Failure *f = e ? ml_failure_from(e) : NULL;

    fz_fail(r, kind, "%s: %s", e ? ml_error_code(e->code) : "no error set",
            f ? ml_failure_message(f) : "");
    ml_failure_free(f);
    return false;
}

/* ---- arguments */

static bool is_input(const ml_Func *f, uint32_t k)
{
    return f->params[k].var->hint[0] == 'A';
}

static ml_Tensor *tensor_for(FzRun *r, const ml_Func *f, uint32_t k)
{
    const ml_Buffer *b = f->params[k].buffer;
    int64_t shape[8];
    ml_Tensor *t;
    uint64_t rnd = r->t->plan.seed + (uint64_t)77 * k;

    for (size_t d = 0; d < b->rank; d++)
        if (!ml_eval_size(b->shape[d], r->sizes, ML_COUNT(r->sizes), &shape[d]))
            return NULL;
    t = ml_tensor_new(r->tmp, b->type, shape, b->rank);
    if (t == NULL)
        return NULL;
    for (int64_t l = 0; l < t->n_lanes && is_input(f, k); l++)
        ml_tensor_set_int(t, l, (int64_t)fz_below(&rnd, 5) - 2);
    if (r->prog.extreme && is_input(f, k))
        fz_extreme_fill(t, &rnd);
    if (!is_input(f, k)) {
        ml_tensor_fill(t, ML_FILL_POISON, "out", k, 1, 0, 0);
        ml_tensor_track(r->tmp, t, 0);
    }
    return t;
}

static FzArgs *args_of(FzRun *r)
{
    return &r->args[r->at];
}

/* The function whose arguments are looked at, in the current version; NULL: there is none.
 */
static const ml_Func *func_of(const FzRun *r)
{
    return ml_module_find(ml_schedule_program(r->s).mod, fz_func_names[r->at]);
}

bool fz_make_arguments(FzRun *r)
{
    for (r->at = MAIN; r->at < FUNCS; r->at++) {
        const ml_Func *f = func_of(r);
        FzArgs *a = args_of(r);

        if (!f)
            continue;
        a->n = f->n_params;
        a->start = calloc(3 * ((size_t)f->n_params + 1), sizeof *a->start);
        a->ref = a->start + f->n_params + 1;
        a->got = a->ref + f->n_params + 1;
        for (uint32_t k = 0; k < f->n_params; k++) {
            if (f->params[k].buffer == NULL)
                a->start[k].i = fz_scalar(&r->prog, f->params[k].var->hint);
            else if ((a->start[k].tensor = tensor_for(r, f, k)) == NULL)
                return fz_fail(r, "generator", "no tensor for %s", f->params[k].var->hint);
            a->ref[k] = a->got[k] = a->start[k];
            if (a->start[k].tensor) {
                a->ref[k].tensor = ml_tensor_copy(r->tmp, a->start[k].tensor);
                a->got[k].tensor = ml_tensor_copy(r->tmp, a->start[k].tensor);
            }
        }
    }
    r->at = MAIN;
    return true;
}

void fz_free_arguments(FzRun *r)
{
    for (int m = 0; m < FUNCS; m++) {
        FzArgs *a = &r->args[m];

        for (uint32_t k = 0; k < a->n; k++) {
            ml_tensor_free(a->start[k].tensor);
            ml_tensor_free(a->ref[k].tensor);
            ml_tensor_free(a->got[k].tensor);
        }
        free(a->start);
    }
}

static void reset_argument(ml_Tensor *to, const ml_Tensor *from)
{
    memcpy(to->data, from->data, from->bytes);
    if (from->defined)
        memcpy(to->defined, from->defined, (size_t)from->n_lanes);
}

/* ---- what must hold of an accepted version */

static bool same_output(FzRun *r, const ml_Func *f)
{
    for (uint32_t k = 0; k < args_of(r)->n; k++) {
        const ml_Tensor *a = args_of(r)->ref[k].tensor, *b = args_of(r)->got[k].tensor;
        if (a == NULL)
            continue;
        if (!ml_tensor_guards_intact(b))
            return fz_fail(r, "output", "memory beside %s was written",
                           f->params[k].var->hint);
        for (int64_t l = 0; l < a->n_lanes; l++) {
            int da = a->defined ? a->defined[l] : 1, db = b->defined ? b->defined[l] : 1;
            double x = ml_tensor_get(a, l), y = ml_tensor_get(b, l);
            /* An element copied from an undefined one may hold anything; one that is
             * not written may be copied onto itself. */
            bool same = fz_same_lane(a, b, l, r->prog.extreme);

            if (da == 2 || (da == db && (da == 0 || same)) || (da == 0 && db == 2 && same))
                continue;
            ml_Text place = {0};
            ml_tensor_place(&place, a, l);
            fz_fail(r, "output", "%s%s is %g (%d), was %g (%d)", f->params[k].var->hint,
                    ml_text_z(&place), y, db, x, da);
            ml_text_free(&place);
            return false;
        }
    }
    return true;
}

/* Whether some element was not written. */
static bool leaves_out(const ml_Tensor *t)
{
    return t->defined && memchr(t->defined, 0, (size_t)t->n_lanes) != NULL;
}

static bool is_trusting(ml_Ctx *cx, ml_Program p)
{
    ml_Text t = {0};
    bool yes;

    ml_print_module(cx, &t, p.mod, NULL);
    yes = strstr(ml_text_z(&t), "\"trusted_") != NULL;
    ml_text_free(&t);
    return yes;
}

static bool runs_the_same(FzRun *r, ml_Ctx *cx, ml_Program p, bool start)
{
    static const ml_InterpOpts opts = {.max_iterations = 2000000};
    const ml_Func *f = func_of(r);
    FzArgs *own = args_of(r);
    ml_RunArg *args = start ? own->ref : own->got;
    ml_InterpReport report;

    if (!f)
        return true;
    if (r->stats)
        r->stats->runs++;
    for (uint32_t k = 0; k < own->n; k++)
        if (args[k].tensor)
            reset_argument(args[k].tensor, own->start[k].tensor);
    if (!ml_interpret(cx, p.mod, f, args, own->n, &opts, &report)) {
        const ml_Error *e = ml_error(cx);
        if (e && (e->code == ML_E_THREADS_COOPERATE || e->code == ML_E_TOO_LARGE)) {
            if (r->stats)
                r->stats->not_judged++;
            ml_error_clear(cx);
            return true;
        }
        if (e && e->code == ML_E_OUTSIDE_REGION && is_trusting(cx, p)) {
            r->misplaced = true;
            ml_error_clear(cx);
            return true;
        }
        return fz_fail_error(r, start ? "start" : e ? ml_error_code(e->code) : "run", e);
    }
    own->judged = own->judged || start;
    for (uint32_t k = 0; start && k < own->n; k++)
        r->partial |= args[k].tensor && leaves_out(args[k].tensor);
    return start || !own->judged || same_output(r, f);
}

static bool survives_text(FzRun *r, ml_Ctx *cx, ml_Program p)
{
    ml_Text one = {0}, two = {0};
    ml_Ctx *fresh = r->tmp;
    ml_Parsed again;
    ml_Difference diff;
    bool ok = true;

    ml_print_module(cx, &one, p.mod, NULL);
    again = ml_parse(fresh, ml_str(ml_text_z(&one)), NULL);
    if (again.mod == NULL) {
        ml_Text t = {0};
        ml_diag_print(&t, &again.diags[0], ml_str(ml_text_z(&one)));
        ok = fz_fail(r, "parse", "%s", ml_text_z(&t));
        ml_text_free(&t);
        ml_error_clear(fresh);
    } else if (!ml_equal_module(fresh, p.mod, again.mod, NULL, &diff)) {
        ok = fz_fail(r, "print-parse", "%s at %s", diff.reason, diff.path_a);
    } else {
        ml_print_module(fresh, &two, again.mod, NULL);
        if (!ml_streq(ml_text_z(&one), ml_text_z(&two)))
            ok = fz_fail(r, "print-parse-print", "the second print differs:\n%s",
                         ml_text_z(&two));
    }
    if (!ok) {
        ml_text_clear(&r->t->program);
        ml_text_add(&r->t->program, ml_text_z(&one));
    }
    ml_text_free(&one);
    ml_text_free(&two);
    return ok;
}

static const ml_Buffer *buffer_of(const ml_Error *e)
{
    for (uint32_t k = 0; k < e->n_facts; k++)
        if (e->facts[k].kind == ML_FACT_BUFFER)
            return e->facts[k].as.buffer;
    return NULL;
}

/* Errors that a later step may mend: the extent of a vectorized loop; where a loop starts,
 * which lowering mends; loops of one axis, bound one after the other; what stands beside a
 * reduction across threads; a buffer private to threads that is still read outside of their
 * loops. What the start version does not do
 * either: all of a block's domain. And reads that were declared by hand. */
static bool may_wait(const FzRun *r, const ml_Error *e)
{
    const ml_Buffer *b = buffer_of(e);

    switch (e->code) {
    case ML_E_LOOP_DYNAMIC:
    case ML_E_LOOP_NOT_ZERO_BASED:
    case ML_E_CROSS_THREAD:
    case ML_E_THREAD_EXTENTS: return true;
    case ML_E_LAUNCH_LIMIT: return strncmp(e->facts[0].as.text, "vthread", 7) == 0;
    case ML_E_NOT_REGION_COVERED:
        return r->declared || (b && !ml_is_scope(b->scope, ML_SCOPE_GLOBAL));
    case ML_E_DOMAIN_NOT_EQUAL:
    case ML_E_NOT_INDEPENDENT: return r->partial;
    default: return false;
    }
}

static bool well_formed(FzRun *r, ml_Ctx *cx, ml_Program p, bool start)
{
    ml_Findings found = {0};
    const char *what = NULL;

    if (!ml_index_verify(cx, p, &what))
        return fz_fail(r, "index", "%s", what);
    ml_verify_well_formed(cx, p.mod, &found);
    for (size_t k = 0; k < found.n; k++)
        if (found.v[k].severity == ML_SEV_ERROR)
            return fz_fail_error(r, "well-formed", found.v[k].error);
    found.n = 0;
    ml_verify_nests(cx, p, &found);
    ml_verify_threads(cx, p, NULL, false, &found);
    for (size_t k = 0; k < found.n && start; k++)
        r->partial |= found.v[k].error->code == ML_E_DOMAIN_NOT_EQUAL ||
                      found.v[k].error->code == ML_E_NOT_INDEPENDENT;
    for (size_t k = 0; k < found.n; k++)
        if (found.v[k].severity == ML_SEV_ERROR && !may_wait(r, found.v[k].error))
            return fz_fail_error(r, "nests", found.v[k].error);
    ml_error_clear(cx);
    return true;
}

static void reset_got(void *user)
{
    FzRun *r = user;

    const FzArgs *a = args_of(r);

    for (uint32_t k = 0; k < a->n; k++)
        if (a->got[k].tensor)
            reset_argument(a->got[k].tensor, a->start[k].tensor);
}

static bool same_got(void *user)
{
    FzRun *r = user;

    return same_output(r, func_of(r));
}

/* Lowered, the version computes the same at every stage. */
static bool lowers_the_same(FzRun *r, ml_Ctx *cx, ml_Program p)
{
    ml_Text text = {0};
    FzLower l = {.args = r->args[MAIN].got,
                 .n_args = r->args[MAIN].n,
                 .sizes = &r->prog,
                 .reset = reset_got,
                 .same = same_got,
                 .user = r,
                 .stats = r->stats};
    const char *kind;

    if (!r->t->plan.lower)
        return true;
    ml_print_module(cx, &text, p.mod, NULL);
    l.cx = ml_ctx_new(0);
    l.stop_after = *r->t->plan.lower ? r->t->plan.lower : NULL;
    l.text = ml_text_z(&text);
    kind = fz_lower(&l);
    if (kind && !r->t->failed)
        fz_fail(r, kind, "%s", ml_text_z(&l.detail));
    else if (kind) /* the comparison said what */
        ml_text_fmt(&r->t->detail, "\n%s", ml_text_z(&l.detail));
    if (kind) {
        memcpy(r->t->kind, kind, strlen(kind) + 1);
        ml_text_clear(&r->t->program);
        ml_text_fmt(&r->t->program, "%s\n# lowered:\n%s", l.text, ml_text_z(&l.program));
    }
    ml_text_free(&l.detail);
    ml_text_free(&l.program);
    ml_text_free(&text);
    ml_ctx_unref(l.cx);
    return kind == NULL;
}

static bool traces_the_same(FzRun *r, ml_Ctx *cx, ml_Program p)
{
    const ml_Func *f = func_of(r);
    ml_Text why = {0};
    bool ok = !r->t->plan.trace || !f ||
              fz_traces_the_same(cx, p.mod, f, r->sizes, ML_COUNT(r->sizes), &why) ||
              fz_fail(r, "trace", "%s", ml_text_z(&why));

    ml_text_free(&why);
    return ok;
}

/* As same_output, of arguments that only data is known of: what the start version does not
 * write must be as it was. */
static bool same_compiled(FzRun *r, const ml_Func *f)
{
    for (uint32_t k = 0; k < args_of(r)->n; k++) {
        const ml_Tensor *a = args_of(r)->ref[k].tensor, *b = args_of(r)->got[k].tensor;
        const ml_Tensor *was = args_of(r)->start[k].tensor;
        ml_Text place = {0};

        for (int64_t l = 0; a && l < a->n_lanes; l++) {
            int da = a->defined ? a->defined[l] : 1;
            size_t at = (size_t)l * a->lane;
            bool same =
                memcmp((uint8_t *)b->data + at, (uint8_t *)was->data + at, a->lane) == 0;
            if (da == 2 || (da == 1 && fz_same_lane(a, b, l, r->prog.extreme)) ||
                (da == 0 && same))
                continue;
            ml_tensor_place(&place, a, l);
            fz_fail(r, "compiled-output", "%s%s is %g%s, was %g%s", f->params[k].var->hint,
                    ml_text_z(&place), ml_tensor_get(b, l), same ? " (as before)" : "",
                    ml_tensor_get(a, l), da ? "" : " (never written)");
            ml_text_free(&place);
            return false;
        }
    }
    return true;
}

/* Which pass it was, if the interpreter can tell. */
static void blame(FzRun *r, const char *text)
{
    FzLower l = {.args = r->args[MAIN].got,
                 .n_args = r->args[MAIN].n,
                 .sizes = &r->prog,
                 .reset = reset_got,
                 .same = same_got,
                 .user = r,
                 .text = text};
    FzTrial *t = r->t;
    ml_Text detail = t->detail;
    char kind[sizeof t->kind];

    memcpy(kind, t->kind, sizeof kind);
    t->detail = (ml_Text){0};
    l.cx = ml_ctx_new(0);
    if (fz_lower(&l))
        ml_text_fmt(&detail, "\n%s (%s)\n%s", ml_text_z(&l.detail), ml_text_z(&t->detail),
                    ml_text_z(&l.program));
    else
        ml_text_add(&detail, "\nno pass of lowering is to blame");
    ml_text_free(&t->detail);
    ml_text_free(&l.detail);
    ml_text_free(&l.program);
    t->detail = detail;
    memcpy(t->kind, kind, sizeof kind);
    t->failed = true;
    ml_ctx_unref(l.cx);
}

/* Compiled, the version computes the same. */
bool fz_compiles_the_same(FzRun *r, ml_Ctx *cx, ml_Program p, uint32_t pick)
{
    ml_Text text = {0};
    FzCompile c = {.args = r->args[MAIN].got,
                   .n_args = r->args[MAIN].n,
                   .sizes = &r->prog,
                   .pick = r->t->plan.code ? r->t->plan.code : pick,
                   .stats = r->stats};
    const char *kind;
    bool ran;

    if (!r->args[MAIN].judged)
        return true;
    if (r->stats)
        r->stats->to_compile++;
    ml_print_module(cx, &text, p.mod, NULL);
    c.cx = ml_ctx_new(0);
    c.text = ml_text_z(&text);
    reset_got(r);
    kind = fz_compile(&c, &ran);
    if (kind)
        fz_fail(r, kind, "%s", ml_text_z(&c.detail));
    else if (ran && !same_compiled(r, func_of(r)))
        kind = "compiled-output";
    if (kind) {
        ml_Text how = {0};
        fz_code_text(fz_code(c.pick), &how);
        ml_text_fmt(&r->t->detail, "\n(%s)", ml_text_z(&how));
        ml_text_free(&how);
        r->t->plan.code = c.pick;
        blame(r, c.text);
        ml_text_clear(&r->t->program);
        ml_text_fmt(&r->t->program, "%s\n# lowered:\n", c.text);
        if (c.lowered)
            ml_print_func(c.cx, &r->t->program, c.lowered, NULL);
    }
    ml_text_free(&c.detail);
    ml_text_free(&text);
    ml_ctx_unref(c.cx);
    return kind == NULL;
}

/* Whether this version is one of those compiled: by numbers of the plan alone. */
bool fz_chosen(FzRun *r, bool last, uint32_t *pick)
{
    int every = r->t->plan.compile;
    int odds = last ? every : 10 * every;

    *pick = 1 + (uint32_t)(fz_next(&r->chosen) >> 40);
    if (every == 1)
        return !last; /* all of them, as they come */
    return every > 0 && fz_below(&r->chosen, odds) == 0;
}

bool fz_version_holds(FzRun *r, bool start)
{
    ml_Program p = ml_schedule_program(r->s);
    ml_Ctx *cx;
    uint32_t pick;
    bool ok, compiled = fz_chosen(r, false, &pick);

    cx = ml_ctx_fork(ml_schedule_ctx(r->s));
    ok = well_formed(r, cx, p, start);
    for (int k = 0; k < FUNCS && ok; k++) {
        r->at = k;
        ok = runs_the_same(r, cx, p, start);
    }
    r->at = MAIN;
    ok = ok && traces_the_same(r, cx, p) && survives_text(r, cx, p) &&
         lowers_the_same(r, cx, p) && (!compiled || fz_compiles_the_same(r, cx, p, pick));
    if (!ok && r->t->program.n == 0)
        ml_print_module(cx, &r->t->program, p.mod, NULL);
    ml_ctx_unref(cx);
    ml_ctx_reset(r->tmp);
    return ok;
}
