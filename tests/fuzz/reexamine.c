/* reexamine - see reexamine.h. */
#include "reexamine.h"

#include "moonloop/codegen/measure/check.h"
#include "moonloop/core/script/script.h"
#include "moonloop/primitives/call/render.h"

#include <stdlib.h>

enum { INPUTS = 3, MAX_PARAMS = 16 };

typedef struct Again {
    ml_Ctx *module_cx, *cx;
    ml_Schedule *s;
    const FzProgram *sizes;
} Again;

/* The same values for both versions: they go by the position alone. */
static bool fill(Again *a, const ml_Func *f, int input, ml_RunArg *args)
{
    const ml_Size sizes[] = {{"n", a->sizes->n}, {"m", a->sizes->m}};

    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;
        uint64_t rnd = (uint64_t)(131 * input + 77 * (int)k + 5);
        int64_t shape[8];

        args[k] = (ml_RunArg){.i = fz_scalar(a->sizes, f->params[k].var->hint)};
        if (b == NULL)
            continue;
        for (size_t d = 0; d < b->rank; d++)
            if (!ml_eval_size(b->shape[d], sizes, ML_COUNT(sizes), &shape[d]))
                return false;
        args[k].tensor = ml_tensor_new(a->cx, b->type, shape, b->rank);
        if (args[k].tensor == NULL)
            return false;
        for (int64_t l = 0; l < args[k].tensor->n_lanes; l++)
            ml_tensor_set_int(args[k].tensor, l, (int64_t)fz_below(&rnd, 41) - 20);
        if (f->params[k].var->hint[0] != 'A') {
            ml_tensor_fill(args[k].tensor, ML_FILL_POISON, "out", k, 1, 0, 0);
            ml_tensor_track(a->cx, args[k].tensor, 0);
        }
    }
    return true;
}

static bool same(const ml_Tensor *a, const ml_Tensor *b)
{
    for (int64_t l = 0; l < a->n_lanes; l++) {
        int da = a->defined ? a->defined[l] : 1, db = b->defined ? b->defined[l] : 1;

        if (da != 2 && (da != db || (da && ml_tensor_get(a, l) != ml_tensor_get(b, l))))
            return false;
    }
    return true;
}

/* Both versions of main for one input. */
static bool runs_alike(Again *a, const ml_Module *was, const ml_Module *is, int input)
{
    static const ml_InterpOpts opts = {.max_iterations = 500000};
    const ml_Module *mods[2] = {was, is};
    ml_RunArg args[2][MAX_PARAMS] = {{{0}}};
    uint32_t n = 0;
    bool ok = true;

    for (int v = 0; v < 2 && ok; v++) {
        const ml_Func *f = ml_module_find(mods[v], "main");

        n = f->n_params;
        ok = n <= MAX_PARAMS && fill(a, f, input, args[v]) &&
             ml_interpret(a->cx, mods[v], f, args[v], n, &opts, NULL);
    }
    for (uint32_t k = 0; k < n && k < MAX_PARAMS; k++) {
        if (ok && args[0][k].tensor)
            ok = same(args[0][k].tensor, args[1][k].tensor);
        ml_tensor_free(args[0][k].tensor);
        ml_tensor_free(args[1][k].tensor);
    }
    return ok;
}

static bool in_order(Again *a)
{
    ml_Findings found = {0};
    ml_Program p = ml_schedule_program(a->s);

    ml_verify_well_formed(a->cx, p.mod, &found);
    ml_verify_nests(a->cx, p, &found);
    for (size_t k = 0; k < found.n; k++)
        if (found.v[k].severity == ML_SEV_ERROR)
            return false;
    return true;
}

/* The loop as primitives want it that take no others: from 0, without annotations and
 * threads, which mean nothing to what is computed. */
static const ml_Stmt *plain_loop(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    ml_Mapper m = {.stmt = plain_loop, .user = user};
    ml_Subst sub = {0};

    s = ml_stmt_map(cx, s, &m);
    if (s->kind != ML_STMT_FOR)
        return s;
    ml_For f = *ml_as_for(s);
    bool shifted = !ml_is_int(f.min, 0);

    if (!shifted && f.kind != ML_FOR_THREAD && !f.annotations)
        return s;
    if (shifted) {
        ml_subst_var(cx, &sub, f.var, ml_add(cx, ml_var(cx, f.var), f.min));
        f.body = ml_stmt_subst(cx, f.body, &sub);
        f.min = ml_int(cx, f.var->type, 0);
    }
    if (f.kind == ML_FOR_THREAD)
        f.kind = ML_FOR_SERIAL;
    f.thread = (ml_Thread){0};
    f.thread_var = NULL;
    f.annotations = NULL;
    return ml_for_from(cx, &f);
}

static const ml_Module *with_plain_loops(ml_Ctx *cx, const ml_Module *m)
{
    const ml_Func *f = ml_module_find(m, "main");

    return ml_module_with(cx, m, ml_func_with_body(cx, f, plain_loop(cx, f->body, NULL)));
}

static FzVerdict judge(Again *a, const char *step)
{
    ml_CallTexts calls = {0};
    const ml_Module *was = ml_schedule_program(a->s).mod;
    int version = ml_schedule_version(a->s);
    ml_Results res;

    if (!ml_parse_calls(a->cx, ml_str(step), &calls) || calls.n != 1 ||
        !ml_apply_prim(a->s, calls.v[0].prim, calls.v[0].args, calls.v[0].n, &res) ||
        ml_schedule_version(a->s) == version)
        return FZ_NOT_APPLIED;
    ml_ctx_unref(a->cx);
    a->cx = ml_ctx_fork(ml_schedule_ctx(a->s));
    if (!in_order(a))
        return FZ_WRONG;
    for (int k = 0; k < INPUTS; k++)
        if (!runs_alike(a, was, ml_schedule_program(a->s).mod, k))
            return FZ_WRONG;
    return FZ_RIGHT;
}

static FzVerdict examine(const ml_Module *m, const char *step, const FzProgram *sizes,
                         bool plain, ml_Text *after)
{
    ml_ScheduleOpts opts = {
        .func = "main", .unchecked = true, .no_check = true, .intrins = fz_intrins()};
    Again a = {.module_cx = ml_ctx_new(0), .cx = ml_ctx_new(0), .sizes = sizes};
    FzVerdict v = FZ_NOT_APPLIED;
    const ml_Error *e = NULL;
    ml_Text text = {0};
    ml_Parsed parsed;

    ml_print_module(a.cx, &text, m, NULL);
    parsed = ml_parse(a.module_cx, ml_str(ml_text_z(&text)), NULL);
    if (parsed.mod && plain)
        parsed.mod = with_plain_loops(a.module_cx, parsed.mod);
    if (parsed.mod)
        a.s = ml_schedule_new(a.module_cx, parsed.mod, &opts, &e);
    if (a.s)
        v = judge(&a, step);
    if (after && v != FZ_NOT_APPLIED)
        ml_print_module(a.cx, after, ml_schedule_program(a.s).mod, NULL);
    ml_text_free(&text);
    ml_ctx_unref(a.cx);
    if (a.s)
        ml_schedule_unref(a.s);
    ml_ctx_unref(a.module_cx);
    return v;
}

FzVerdict fz_reexamine(const ml_Module *m, const char *step, const FzProgram *sizes,
                       ml_Text *after)
{
    FzVerdict v = examine(m, step, sizes, false, after);

    return v == FZ_NOT_APPLIED ? examine(m, step, sizes, true, after) : v;
}
