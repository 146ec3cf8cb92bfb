/* work - the text that is shown is the text that is compiled. */
#include "moonloop/work/work.h"

#include "moonloop/codegen/params/count.h"
#include "moonloop/codegen/params/param_roles.h"
#include "moonloop/core/vec.h"
#include "moonloop/core/walk.h"
#include "moonloop/work/on_threads.h"

/* The GPU that a version of the schedule is for: that of its target, or of no particular
 * kind where loops are bound to threads; NULL: it is for a processor. */
static const ml_TargetKind *device_of(const ml_Schedule *s, const ml_Func *f)
{
    const ml_TargetKind *kind = ml_target_row(ml_schedule_opts(s)->target);

    if (kind && kind->pipeline == ML_PIPE_GPU)
        return kind;
    return ml_work_bound(f) ? ml_target_kind("cuda-sim") : NULL;
}

ml_Work ml_work_of(ml_Ctx *cx, ml_Schedule *s, int version, uint32_t at)
{
    ml_PrintOpts o = {.spelling = -1, .no_header = true, .regions_auto = true};
    ml_Program p = ml_version_program(s, version);
    ml_Work w = {.mod = p.mod, .func = p.mod->funcs[at]};
    ml_Text t = {0};

    ml_schedule_print(s, version, &t, &o);
    w.text = ml_strdup(cx, ml_str(ml_text_z(&t)));
    w.device = device_of(s, w.func);
    ml_text_free(&t);
    return w;
}

const ml_Func *ml_work_read(ml_Ctx *cx, ml_Engine *e, const ml_Work *w, ml_Lower *lo)
{
    const ml_ParseOpts po = {.file = "the program", .spelling = -1};
    ml_Parsed p = ml_parse(cx, ml_str(w->text), &po);

    *lo = (ml_Lower){
        .cx = cx, .opts = ml_lower_defaults(ml_engine_target(e)), .module = p.mod};
    if (w->device)
        lo->opts.target.kind = (uint32_t)(w->device - ml_target_kinds);
    return p.mod ? ml_module_find(p.mod, w->func->name) : NULL;
}

ml_Job ml_work_job(const ml_Engine *e, const ml_Work *w, const char *text, bool lines)
{
    return (ml_Job){.program = w->text,
                    .func = w->func->name,
                    .target = *ml_engine_target(e),
                    .code = {.threads = ml_engine_threads(e), .lines = lines},
                    .want = ML_WANT_TEXT,
                    .text = text};
}

/* -1: not known, or more than a run could have. */
static int64_t elements_of(const ml_Buffer *b, const ml_CheckOpts *o)
{
    int64_t n = 1, extent;

    for (uint16_t d = 0; d < b->rank; d++)
        if (!ml_eval_size(b->shape[d], o->sizes, o->n_sizes, &extent) ||
            __builtin_mul_overflow(n, extent, &n))
            return -1;
    return n;
}

/* Which function it was, its outputs, and how many elements they have. */
static void name_outputs(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *o,
                         ml_CheckResult *r)
{
    ml_ParamRole *roles = ML_ARRAY(cx, ml_ParamRole, f->n_params);

    r->function = f->name;
    r->written = "";
    r->elements = 0;
    ml_param_roles(cx, f, o->sizes, o->n_sizes, roles);
    for (size_t k = 0; k < f->n_params; k++) {
        if (!roles[k].written || !f->params[k].buffer)
            continue;
        int64_t m = elements_of(f->params[k].buffer, o);

        r->written = ml_format(cx, "%s%s%s", r->written, *r->written ? ", " : "",
                               f->params[k].buffer->name);
        r->elements = m < 0 || r->elements < 0 ? -1 : r->elements + m;
    }
}

static bool compare(ml_Ctx *cx, ml_Engine *e, const ml_Work *ref, const ml_Work *got,
                    const ml_CheckOpts *opts, ml_CheckResult *r, ml_CheckRuns *runs)
{
    const char *why = NULL;
    ml_Worker *w = NULL;

    if (opts && opts->limit) { /* an interpreter's limit was asked for */
        *runs = (ml_CheckRuns){.got_interpreted = true, .not_compiled = "by request"};
        return ml_check(cx, ref->mod, ref->func, got->mod, got->func, opts, r);
    }
    if (ml_work_has_threads(got->func))
        return ml_check_on_threads(cx, e, ref, got, opts, r, runs);
    if (ml_code_find(ml_engine_target(e)) == NULL)
        why = "LLVM 19 was not found (Debian: libllvm19)";
    else if ((w = ml_engine_worker(e, cx, 0)) == NULL) {
        why = "the program moonloop, which serves as worker, was not found";
        ml_error_clear(cx);
    }
    return ml_check_compiled(cx, w, why, ml_engine_target(e), ref, got, opts,
                             ml_engine_reference(e), r, runs);
}

bool ml_work_check(ml_Ctx *cx, ml_Engine *e, const ml_Work *ref, const ml_Work *got,
                   const ml_CheckOpts *opts, ml_CheckResult *r, ml_CheckRuns *runs)
{
    static const ml_CheckOpts none = {.seed = 0};

    if (!compare(cx, e, ref, got, opts, r, runs))
        return false;
    name_outputs(cx, ref->func, opts ? opts : &none, r);
    r->refused = runs->refused ? runs->not_compiled : "";
    return true;
}

static bool see_thread(const ml_Stmt *s, void *user)
{
    const ml_For **found = user;

    if (s->kind == ML_STMT_FOR && ml_as_for(s)->kind == ML_FOR_THREAD && *found == NULL)
        *found = ml_as_for(s);
    return *found == NULL;
}

const ml_For *ml_work_bound(const ml_Func *f)
{
    const ml_For *found = NULL;

    ml_stmt_visit(f->body, see_thread, &found);
    return found;
}

const char *ml_work_for_gpu(ml_Ctx *cx, const ml_Func *f)
{
    const ml_For *found = ml_work_bound(f);

    return found ? ml_format(cx,
                             "loop %s is bound to %s: this is a program for a GPU, code "
                             "for which comes with a later version",
                             found->var->hint, found->thread.name)
                 : NULL;
}

const char *ml_work_foreign(ml_Ctx *cx, const ml_Schedule *s)
{
    const ml_Value *t = ml_schedule_opts(s)->target,
                   *kind = t ? ml_dict_get(t, "kind") : NULL;
    const ml_TargetKind *known;

    if (!kind || kind->kind != ML_VAL_STRING || ml_streq(kind->as.s, "native"))
        return NULL;
    known = ml_target_kind(kind->as.s);
    if (known && known->backend)
        return NULL;
    return ml_format(cx,
                     "the schedule's target is %s; code for it comes with a later version",
                     kind->as.s);
}

/* ---------------------------------------------------------------- checks */

bool ml_checking_wants(const ml_Schedule *s, const ml_Module *start, uint32_t at)
{
    const ml_Module *now = ml_schedule_program(s).mod;

    if (start->funcs[at] != now->funcs[at])
        return true;
    for (uint32_t k = 0; k < start->n; k++)
        if (start->funcs[k] != now->funcs[k])
            return false;
    return !ml_schedule_func(s) || at == ml_schedule_func_pos(s);
}

typedef struct Sizes {
    ml_Ctx *cx;
    ML_VEC(const char *) names;
} Sizes;

static bool has(const Sizes *z, const char *name)
{
    for (size_t k = 0; k < z->names.n; k++)
        if (ml_streq(z->names.v[k], name))
            return true;
    return false;
}

static void add(Sizes *z, const ml_Var *v)
{
    if (v->hint && !has(z, v->hint))
        ml_push(z->cx, &z->names, v->hint);
}

static bool add_variable(const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_VAR)
        add(user, e->as.var);
    return true;
}

static void add_func(Sizes *z, const ml_Func *f)
{
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        if (!b && f->params[k].var)
            add(z, f->params[k].var);
        for (uint16_t d = 0; b && d < b->rank; d++)
            ml_expr_visit(b->shape[d], add_variable, z);
    }
}

const char *ml_checking_bad_size(ml_Ctx *cx, const ml_Module *m, const ml_Func *f,
                                 const ml_Size *sizes, size_t n)
{
    Sizes z = {.cx = cx};
    ml_Text known = {0};
    const char *why = NULL;

    if (f)
        add_func(&z, f);
    for (uint32_t k = 0; !f && k < m->n; k++)
        add_func(&z, m->funcs[k]);
    for (size_t k = 0; k < z.names.n; k++)
        ml_text_fmt(&known, "%s%s", k ? ", " : "", z.names.v[k]);
    for (size_t k = 0; k < n && !why; k++) {
        const char *name = sizes[k].name;

        if (z.names.n == 0)
            why = ml_format(
                cx, "there is no size %s: every size of the program is a number", name);
        else if (!has(&z, name))
            why = ml_format(cx, "there is no size %s; the program has %s", name,
                            ml_text_z(&known));
        for (size_t j = 0; j < k && !why; j++)
            if (ml_streq(sizes[j].name, name))
                why = ml_format(cx, "the size %s is given twice", name);
    }
    ml_text_free(&known);
    return why;
}

bool ml_checking_is_verdict(const ml_Error *e)
{
    switch (e->code) {
    case ML_E_TOO_LARGE:
    case ML_E_BAD_RUN_ARGUMENT:
    case ML_E_NOT_SUPPORTED:
    case ML_E_INTERRUPTED:
    case ML_E_OUT_OF_MEMORY: return false;
    default: break;
    }
    for (uint32_t k = 0; k < e->n_notes; k++)
        if (ml_streq(e->notes[k], "in the start version"))
            return false;
    return true;
}
