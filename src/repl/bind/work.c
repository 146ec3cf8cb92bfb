/* work - the text that is shown is the text that is compiled. */
#include "repl/bind/work.h"

ml_Work ml_work_of(ml_Ctx *cx, ml_Schedule *s, int version, uint32_t at)
{
    ml_PrintOpts o = {.spelling = -1, .no_header = true, .regions_auto = true};
    ml_Program p = ml_version_program(s, version);
    ml_Work w = {.mod = p.mod, .func = p.mod->funcs[at]};
    ml_Text t = {0};

    ml_schedule_print(s, version, &t, &o);
    w.text = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return w;
}

const ml_Func *ml_work_read(ml_Ctx *cx, ml_Engine *e, const ml_Work *w, ml_Lower *lo)
{
    const ml_ParseOpts po = {.file = "the program", .spelling = -1};
    ml_Parsed p = ml_parse(cx, ml_str(w->text), &po);

    *lo = (ml_Lower){
        .cx = cx, .opts = ml_lower_defaults(ml_engine_target(e)), .module = p.mod};
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

bool ml_work_check(ml_Ctx *cx, ml_Engine *e, const ml_Work *ref, const ml_Work *got,
                   const ml_CheckOpts *opts, ml_CheckResult *r, ml_CheckRuns *runs)
{
    const char *why = NULL;
    ml_Worker *w = NULL;

    if (opts && opts->limit) { /* an interpreter's limit was asked for */
        *runs = (ml_CheckRuns){.got_interpreted = true, .not_compiled = "by request"};
        return ml_check(cx, ref->mod, ref->func, got->mod, got->func, opts, r);
    }
    if (ml_code_find(ml_engine_target(e)) == NULL)
        why = "LLVM 19 was not found (Debian: libllvm19)";
    else if ((w = ml_engine_worker(e, cx, 0)) == NULL) {
        why = "the program moonloop, which serves as worker, was not found";
        ml_error_clear(cx);
    }
    return ml_check_compiled(cx, w, why, ml_engine_target(e), ref, got, opts,
                             ml_engine_reference(e), r, runs);
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
