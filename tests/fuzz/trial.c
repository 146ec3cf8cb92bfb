/* trial - see trial.h. */
#include "compiled.h"
#include "reexamine.h"

#include "codegen/check.h"
#include "core/equal.h"
#include "primitives/render.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Args { /* of one function */
    uint32_t n;
    ml_RunArg *start, *ref, *got; /* before, and after the start version and another */
    bool judged; /* the start version ran, so that ref holds what must come */
} Args;

enum { MAIN, OTHER, FUNCS };
static const char *const func_names[FUNCS] = {"main", "other"};

typedef struct Run {
    FzTrial *t;
    FzProgram prog;
    ml_Ctx *module_cx, *tmp;
    ml_Schedule *s;
    Args args[FUNCS];
    int at; /* the function whose arguments are looked at */
    ml_Size sizes[2];
    FzStats *stats;
    bool declared;   /* by a step: regions that are more than what is touched */
    bool partial;    /* blocks of the start version leave out some of their domains */
    uint64_t chosen; /* which versions are compiled, and how */
    FzFocus focus;
    ml_Handle samples[ML_MAX_RESULTS];
} Run;

static bool fail(Run *r, const char *kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool fail(Run *r, const char *kind, const char *fmt, ...)
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
static bool fail_error(Run *r, const char *kind, const ml_Error *e)
{
    ml_Failure *f = e ? ml_failure_from(e) : NULL;

    fail(r, kind, "%s: %s", e ? ml_error_code(e->code) : "no error set",
         f ? ml_failure_message(f) : "");
    ml_failure_free(f);
    return false;
}

/* ---- arguments */

static bool is_input(const ml_Func *f, uint32_t k)
{
    return f->params[k].var->hint[0] == 'A';
}

static ml_Tensor *tensor_for(Run *r, const ml_Func *f, uint32_t k)
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
    if (!is_input(f, k)) {
        ml_tensor_fill(t, ML_FILL_POISON, "out", k, 1, 0, 0);
        ml_tensor_track(r->tmp, t, 0);
    }
    return t;
}

static Args *args_of(Run *r)
{
    return &r->args[r->at];
}

/* The function whose arguments are looked at, in the current version; NULL: there is none.
 */
static const ml_Func *func_of(const Run *r)
{
    return ml_module_find(ml_schedule_program(r->s).mod, func_names[r->at]);
}

static bool make_arguments(Run *r)
{
    for (r->at = MAIN; r->at < FUNCS; r->at++) {
        const ml_Func *f = func_of(r);
        Args *a = args_of(r);

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
                return fail(r, "generator", "no tensor for %s", f->params[k].var->hint);
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

static void free_arguments(Run *r)
{
    for (int m = 0; m < FUNCS; m++) {
        Args *a = &r->args[m];

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

static bool same_output(Run *r, const ml_Func *f)
{
    for (uint32_t k = 0; k < args_of(r)->n; k++) {
        const ml_Tensor *a = args_of(r)->ref[k].tensor, *b = args_of(r)->got[k].tensor;
        if (a == NULL)
            continue;
        if (!ml_tensor_guards_intact(b))
            return fail(r, "output", "memory beside %s was written",
                        f->params[k].var->hint);
        for (int64_t l = 0; l < a->n_lanes; l++) {
            int da = a->defined ? a->defined[l] : 1, db = b->defined ? b->defined[l] : 1;
            double x = ml_tensor_get(a, l), y = ml_tensor_get(b, l);
            /* An element copied from an undefined one may hold anything. */
            if (da == 2 || (da == db && (da == 0 || x == y)))
                continue;
            ml_Text place = {0};
            ml_tensor_place(&place, a, l);
            fail(r, "output", "%s%s is %g (%d), was %g (%d)", f->params[k].var->hint,
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

static bool runs_the_same(Run *r, ml_Ctx *cx, ml_Program p, bool start)
{
    static const ml_InterpOpts opts = {.max_iterations = 2000000};
    const ml_Func *f = func_of(r);
    Args *own = args_of(r);
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
        return fail_error(r, start ? "start" : e ? ml_error_code(e->code) : "run", e);
    }
    own->judged = own->judged || start;
    for (uint32_t k = 0; start && k < own->n; k++)
        r->partial |= args[k].tensor && leaves_out(args[k].tensor);
    return start || !own->judged || same_output(r, f);
}

static bool survives_text(Run *r, ml_Ctx *cx, ml_Program p)
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
        ok = fail(r, "parse", "%s", ml_text_z(&t));
        ml_text_free(&t);
        ml_error_clear(fresh);
    } else if (!ml_equal_module(fresh, p.mod, again.mod, NULL, &diff)) {
        ok = fail(r, "print-parse", "%s at %s", diff.reason, diff.path_a);
    } else {
        ml_print_module(fresh, &two, again.mod, NULL);
        if (!ml_streq(ml_text_z(&one), ml_text_z(&two)))
            ok = fail(r, "print-parse-print", "the second print differs:\n%s",
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

/* Errors that a later step may mend: the extent of a vectorized loop; a buffer private to
 * threads that is still read outside of their loops. What the start version does not do
 * either: all of a block's domain. And reads that were declared by hand. */
static bool may_wait(const Run *r, const ml_Error *e)
{
    const ml_Buffer *b = buffer_of(e);

    switch (e->code) {
    case ML_E_LOOP_DYNAMIC: return true;
    case ML_E_NOT_REGION_COVERED:
        return r->declared || (b && !ml_streq(b->scope, "global"));
    case ML_E_DOMAIN_NOT_EQUAL:
    case ML_E_NOT_INDEPENDENT: return r->partial;
    default: return false;
    }
}

static bool well_formed(Run *r, ml_Ctx *cx, ml_Program p, bool start)
{
    ml_Findings found = {0};
    const char *what = NULL;

    if (!ml_index_verify(cx, p, &what))
        return fail(r, "index", "%s", what);
    ml_verify_well_formed(cx, p.mod, &found);
    for (size_t k = 0; k < found.n; k++)
        if (found.v[k].severity == ML_SEV_ERROR)
            return fail_error(r, "well-formed", found.v[k].error);
    found.n = 0;
    ml_verify_nests(cx, p, &found);
    for (size_t k = 0; k < found.n && start; k++)
        r->partial |= found.v[k].error->code == ML_E_DOMAIN_NOT_EQUAL ||
                      found.v[k].error->code == ML_E_NOT_INDEPENDENT;
    for (size_t k = 0; k < found.n; k++)
        if (found.v[k].severity == ML_SEV_ERROR && !may_wait(r, found.v[k].error))
            return fail_error(r, "nests", found.v[k].error);
    ml_error_clear(cx);
    return true;
}

static void reset_got(void *user)
{
    Run *r = user;

    const Args *a = args_of(r);

    for (uint32_t k = 0; k < a->n; k++)
        if (a->got[k].tensor)
            reset_argument(a->got[k].tensor, a->start[k].tensor);
}

static bool same_got(void *user)
{
    Run *r = user;

    return same_output(r, func_of(r));
}

/* Lowered, the version computes the same at every stage. */
static bool lowers_the_same(Run *r, ml_Ctx *cx, ml_Program p)
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
        fail(r, kind, "%s", ml_text_z(&l.detail));
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

/* As same_output, of arguments that only data is known of: what the start version does not
 * write must be as it was. */
static bool same_compiled(Run *r, const ml_Func *f)
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
            if (da == 2 || (da == 1 && ml_tensor_get(a, l) == ml_tensor_get(b, l)) ||
                (da == 0 && same))
                continue;
            ml_tensor_place(&place, a, l);
            fail(r, "compiled-output", "%s%s is %g%s, was %g%s", f->params[k].var->hint,
                 ml_text_z(&place), ml_tensor_get(b, l), same ? " (as before)" : "",
                 ml_tensor_get(a, l), da ? "" : " (never written)");
            ml_text_free(&place);
            return false;
        }
    }
    return true;
}

/* Which pass it was, if the interpreter can tell. */
static void blame(Run *r, const char *text)
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
static bool compiles_the_same(Run *r, ml_Ctx *cx, ml_Program p, uint32_t pick)
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
        fail(r, kind, "%s", ml_text_z(&c.detail));
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
static bool chosen(Run *r, bool last, uint32_t *pick)
{
    int every = r->t->plan.compile;
    int odds = last ? every : 10 * every;

    *pick = 1 + (uint32_t)(fz_next(&r->chosen) >> 40);
    if (every == 1)
        return !last; /* all of them, as they come */
    return every > 0 && fz_below(&r->chosen, odds) == 0;
}

static bool version_holds(Run *r, bool start)
{
    ml_Program p = ml_schedule_program(r->s);
    ml_Ctx *cx;
    uint32_t pick;
    bool ok, compiled = chosen(r, false, &pick);

    cx = ml_ctx_fork(ml_schedule_ctx(r->s));
    ok = well_formed(r, cx, p, start);
    for (int k = 0; k < FUNCS && ok; k++) {
        r->at = k;
        ok = runs_the_same(r, cx, p, start);
    }
    r->at = MAIN;
    ok = ok && survives_text(r, cx, p) && lowers_the_same(r, cx, p) &&
         (!compiled || compiles_the_same(r, cx, p, pick));
    if (!ok && r->t->program.n == 0)
        ml_print_module(cx, &r->t->program, p.mod, NULL);
    ml_ctx_unref(cx);
    ml_ctx_reset(r->tmp);
    return ok;
}

/* ---- steps */

static const ml_Arg *real_arg(Run *r, const ml_Arg *a, bool handles, ml_ParamKind kind)
{
    ml_Arg *b = ML_NEW(r->tmp, ml_Arg);

    *b = *a;
    if (a->kind == ML_A_LIST) {
        ml_Arg *list = ML_ARRAY(r->tmp, ml_Arg, a->n + 1);
        for (uint32_t k = 0; k < a->n; k++)
            list[k] = *real_arg(r, &a->as.list[k], handles, kind);
        b->as.list = list;
    } else if (a->kind == ML_A_INT && a->as.i >= FZ_SAMPLE &&
               a->as.i < FZ_SAMPLE + r->focus.n_samples) {
        *b = ML_ARG_HANDLE(r->samples[a->as.i - FZ_SAMPLE]);
    } else if (a->kind == ML_A_STRING && handles) {
        bool either = kind == ML_P_BLOCK_OR_LOOP;
        ml_Handle h;
        if ((kind == ML_P_BLOCK || kind == ML_P_LOOP || kind == ML_P_LOOPS || either ||
             kind == ML_P_LOOP_OR_MARK) &&
            ml_resolve(r->s, a->as.s,
                       either               ? ML_H_NONE
                       : kind == ML_P_BLOCK ? ML_H_BLOCK
                                            : ML_H_LOOP,
                       &h))
            *b = ML_ARG_HANDLE(h);
    }
    return b;
}

typedef struct Before {
    ml_State state;
    ml_Program p;
    uint64_t hash;
    int n_versions;
} Before;

static bool unchanged(Run *r, const Before *b)
{
    ml_State now = ml_schedule_state(r->s);
    ml_Program p = ml_schedule_program(r->s);

    if (now.version != b->state.version || ml_schedule_n_versions(r->s) != b->n_versions)
        return fail(r, "refused-changed", "the version changed");
    if (now.trace != b->state.trace)
        return fail(r, "refused-changed", "the trace changed");
    if (now.random != b->state.random)
        return fail(r, "refused-changed", "the random state changed");
    if (p.mod != b->p.mod || p.index != b->p.index)
        return fail(r, "refused-changed", "the program changed");
    if (ml_schedule_hash(r->s) != b->hash)
        return fail(r, "refused-changed", "the hash changed");
    return true;
}

/* What the next steps are about. */
static void look_at(Run *r, const ml_Primitive *prim, const ml_Arg *args, size_t n,
                    const ml_Results *res)
{
    const ml_Handle *h = res->more ? res->more : res->v;
    ml_Handle first;

    r->focus.last = prim->name;
    if (res->n && h[0].kind == ML_H_EXPR) {
        r->focus.n_samples = res->is_list ? (int)res->n : 1;
        memcpy(r->samples, h, res->n * sizeof *h);
    } else if (ml_streq(prim->name, "sample_compute_location")) {
        r->focus.n_samples = 1; /* a place: a loop or a mark */
        r->samples[0] = h[0];
    } else if (res->n && h[0].kind == ML_H_BLOCK) {
        r->focus.made = h[0].uid;
    } else if (res->n && h[0].kind == ML_H_LOOP) {
        r->focus.n_loops = 0;
        for (size_t k = 0; k < res->n && k < 4; k++)
            r->focus.loops[r->focus.n_loops++] = h[k].uid;
    }
    if (n && prim->params[0].kind == ML_P_BLOCK) {
        if (args[0].kind == ML_A_HANDLE)
            r->focus.block = args[0].as.h.uid;
        else if (args[0].kind == ML_A_STRING &&
                 ml_resolve(r->s, args[0].as.s, ML_H_BLOCK, &first))
            r->focus.block = first.uid;
    }
}

/* Whether the refusal was needed. FZ_SHOW=CODE tells of those that were not. */
static void refused(Run *r, FzCount *count, ml_ErrorCode code, const ml_Module *m,
                    const char *text)
{
    const char *show = getenv("FZ_SHOW");
    ml_Text t = {0};
    FzVerdict v;

    if (strstr(text, "90000")) /* a sample is known to the schedule that drew it only */
        return;
    if (code == ML_E_NO_SUCH_BLOCK || code == ML_E_NO_SUCH_LOOP)
        return; /* a name that another version has */
    v = fz_reexamine(m, text, &r->prog, show ? &t : NULL);
    count->applied[code] += v != FZ_NOT_APPLIED;
    count->right[code] += v == FZ_RIGHT;
    if (show && v == FZ_RIGHT && (!*show || ml_streq(ml_error_code(code), show))) {
        ml_Failure *f = ml_failure_take(r->s);
        ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(r->s));
        ml_Text was = {0};

        ml_print_module(cx, &was, m, NULL);
        printf("---- seed %llu: %s\n%s\n%s\nwould be\n%s\n",
               (unsigned long long)r->t->plan.seed, text, ml_failure_message(f),
               ml_text_z(&was), ml_text_z(&t));
        ml_text_free(&was);
        ml_ctx_unref(cx);
        ml_failure_free(f);
    }
    ml_text_free(&t);
}

static bool one_step(Run *r, const char *text, uint64_t *hash)
{
    Before before = {ml_schedule_state(r->s), ml_schedule_program(r->s), *hash,
                     ml_schedule_n_versions(r->s)};
    ml_CallTexts calls = {0};
    ml_Results res = {0};
    ml_Arg args[8];
    FzCount *count = NULL;

    for (int k = 0; k < FUNCS; k++)
        if (strncmp(text, "work_on", 7) == 0 && strstr(text, func_names[k])) {
            ml_schedule_work_on(r->s, func_names[k]); /* there may be no other one */
            return true;
        }
    if (!ml_parse_calls(r->tmp, ml_str(text), &calls) || calls.n != 1) {
        fail_error(r, "call-text", ml_error(r->tmp));
        ml_error_clear(r->tmp);
        return false;
    }
    const ml_Primitive *prim = calls.v[0].prim;
    bool handles = strlen(text) % 2;

    for (size_t k = 0; k < calls.v[0].n && k < ML_COUNT(args); k++)
        args[k] =
            *real_arg(r, &calls.v[0].args[k], handles, (ml_ParamKind)prim->params[k].kind);
    if (r->stats) {
        for (size_t k = 0; k < ml_n_primitives; k++)
            if (ml_primitives[k] == prim)
                count = &r->stats->prims[k];
        ML_ASSERT(count);
        r->stats->steps++;
        count->tried++;
    }
    if (!ml_apply_prim(r->s, prim, args, calls.v[0].n, &res)) {
        ml_ErrorCode code = ml_schedule_error(r->s)->code;
        if (count)
            count->refused[code]++;
        if (code == ML_E_SELF_CHECK)
            return fail_error(r, "self-check", ml_schedule_error(r->s));
        if (r->stats && r->stats->reexamine)
            refused(r, count, code, before.p.mod, text);
        return unchanged(r, &before);
    }
    if (count)
        count->accepted++;
    r->declared |= ml_streq(prim->name, "annotate_buffer_access");
    look_at(r, prim, args, calls.v[0].n, &res);
    ml_ctx_reset(r->tmp);
    if (ml_schedule_version(r->s) == before.state.version)
        return true; /* a query or a sample */
    *hash = ml_schedule_hash(r->s);
    return version_holds(r, false);
}

/* ---- the end */

static bool replays(Run *r, uint64_t hash)
{
    ml_Ctx *cx = ml_ctx_fork(r->module_cx);
    ml_ScheduleOpts opts = {.func = "main", .intrins = fz_intrins()};
    bool ok = true;

    for (int json = 0; json < 2 && ok; json++) {
        const ml_Error *e = NULL;
        ml_Text text = {0};
        ml_Schedule *again =
            ml_schedule_new(r->module_cx, ml_version_program(r->s, 0).mod, &opts, &e);
        ml_Trace t = ml_schedule_trace(r->s, ml_schedule_ctx(r->s));
        size_t done = 0;
        if (json) {
            ml_trace_json(cx, &text, &t);
            if (!ml_trace_from_json(cx, ml_str(ml_text_z(&text)), &t)) {
                fail_error(r, "json", ml_error(cx));
                ml_error_clear(cx);
                ok = false;
            }
        }
        if (ok && !ml_trace_apply(again, &t, false, NULL, NULL, &done)) {
            fail_error(r, json ? "replay-json" : "replay", ml_schedule_error(again));
            ok = false;
        } else if (ok && ml_schedule_hash(again) != hash) {
            ok = fail(r, json ? "replay-json" : "replay", "another hash");
        }
        if (!ok && json)
            ml_text_fmt(&r->t->detail, "\n%s", ml_text_z(&text));
        ml_text_free(&text);
        ml_schedule_unref(again);
    }
    ml_ctx_unref(cx);
    return ok;
}

static bool all_steps(Run *r, bool make)
{
    uint64_t hash = ml_schedule_hash(r->s);
    FzTrial *t = r->t;
    uint32_t pick;

    for (t->at = 0; t->at < t->n_steps; t->at++) {
        if (make) {
            ml_Text text = {0};
            fz_step(&t->rnd, r->s, &r->focus, r->tmp, &text);
            ml_ctx_reset(r->tmp);
            if (text.n == 0) {
                t->n_steps = t->at;
                break;
            }
            t->steps[t->at] = strdup(ml_text_z(&text));
            ml_text_free(&text);
        }
        if (!one_step(r, t->steps[t->at], &hash)) {
            t->at++;
            return false;
        }
        ml_ctx_reset(r->tmp);
    }
    t->hash = hash;
    if (chosen(r, true, &pick)) {
        ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(r->s));
        bool ok = compiles_the_same(r, cx, ml_schedule_program(r->s), pick);

        ml_ctx_unref(cx);
        if (!ok)
            return false;
    }
    return replays(r, hash);
}

FzTrial fz_trial(uint64_t seed, int64_t k)
{
    /* Numbers of programs must not repeat between seeds 1, 2, 3 ... */
    uint64_t plan = seed * 1000003U + (uint64_t)k, rnd = plan ^ 0x5deece66dU;
    FzTrial t = {.plan = {.seed = plan, .stages = 9, .cap = 12}};

    fz_next(&rnd);
    if (fz_chance(&rnd, 50)) /* half of the programs are tiny */
        t.plan.cap = 2 + fz_below(&rnd, 6);
    t.n_steps = 4 + fz_below(&rnd, 12);
    t.rnd = rnd;
    return t;
}

void fz_run(FzTrial *t, bool make, FzStats *stats)
{
    /* every fourth trial checks after each step what is remembered of the program */
    ml_ScheduleOpts opts = {.func = "main",
                            .intrins = fz_intrins(),
                            .debug_mask = t->plan.seed % 4 ? 0 : UINT32_MAX};
    Run r = {.t = t, .stats = stats, .chosen = t->plan.seed, .focus = {.last = ""}};
    uint64_t theme = t->plan.seed ^ 0x6a09e667f3bcc909U;
    const ml_Error *e = NULL;
    ml_Parsed parsed;

    r.focus.swarm = fz_next(&theme);
    t->failed = false;
    t->at = 0;
    ml_text_clear(&t->program);
    fz_watch(t);
    fz_program(&t->plan, &r.prog);
    r.sizes[0] = (ml_Size){"n", r.prog.n};
    r.sizes[1] = (ml_Size){"m", r.prog.m};
    r.module_cx = ml_ctx_new(0);
    r.tmp = ml_ctx_new(0);
    parsed = ml_parse(r.module_cx, ml_str(ml_text_z(&r.prog.text)), NULL);
    if (stats)
        stats->programs++;
    if (parsed.mod == NULL) {
        fail(&r, "start", "%s: %s", parsed.diags[0].code, parsed.diags[0].message);
    } else if ((r.s = ml_schedule_new(r.module_cx, parsed.mod, &opts, &e)) == NULL) {
        fail_error(&r, "start", e);
    } else if (make_arguments(&r) && version_holds(&r, true)) {
        all_steps(&r, make);
    } else if (!ml_streq(t->kind, "generator") && strncmp(t->kind, "compiled", 8) != 0 &&
               strncmp(t->kind, "lowered", 7) != 0) {
        memcpy(t->kind, "start", 6);
    }
    fz_watch(NULL);
    if (stats && t->failed && ml_streq(t->kind, "start"))
        stats->start_refused++;
    free_arguments(&r);
    if (r.s)
        ml_schedule_unref(r.s);
    ml_ctx_unref(r.tmp);
    ml_ctx_unref(r.module_cx);
    ml_text_free(&r.prog.text);
}

void fz_trial_clear(FzTrial *t)
{
    for (int k = 0; k < FZ_MAX_STEPS; k++)
        free(t->steps[k]);
    ml_text_free(&t->detail);
    ml_text_free(&t->program);
    *t = (FzTrial){0};
}
