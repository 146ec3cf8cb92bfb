/* cmd_export - :save of a kernel: what the focus compiles to, for other programs.
 * Source: interaction 4; lowering-and-codegen 7.7. */
#include "repl/cmd/export.h"

#include "moonloop/codegen/kernel/kernel.h"
#include "moonloop/core/json/data.h"
#include "moonloop/work/work.h"
#include "repl/host/host.h"
#include "repl/session/progress.h"

bool ml_export_suffix(const char *dot)
{
    static const char *const forms[] = {".o", ".so", ".s", ".ll", ".c", ".h"};

    for (size_t k = 0; k < ML_COUNT(forms); k++)
        if (ml_streq(forms[k], dot))
            return true;
    return false;
}

/* The function worked on, or the only one; false: cx's error. */
static bool work_of(ml_Ctx *cx, ml_Schedule *s, ml_Work *w)
{
    ml_Program p = ml_schedule_program(s);
    bool one = ml_schedule_func(s) || p.mod->n == 1;
    const char *why;

    if (!one) {
        ml_fail_no_function(cx, p.mod);
        return false;
    }
    *w = ml_work_of(cx, s, ml_schedule_version(s),
                    ml_schedule_func(s) ? ml_schedule_func_pos(s) : 0);
    why = ml_work_foreign(cx, s);
    why = why ? why : ml_work_for_gpu(cx, w->func);
    return why == NULL || ml_fail(cx, ML_E_NO_DEVICE, ML_TEXT(why));
}

static void say(ml_Session *ss, const ml_Export *x, const char *name)
{
    ml_Data *d = ml_session_data(ss);
    ml_Text t = {0};

    ml_data_one(d);
    ml_data_str(d, "file", x->file);
    ml_data_str(d, "schedule", ml_schedule_name(ss->focus));
    ml_data_int(d, "version", ml_schedule_version(ss->focus));
    ml_data_str(d, "name", name);
    ml_text_fmt(&t, "saved %s: %s_body, v%d of %s", x->file, name,
                ml_schedule_version(ss->focus), ml_schedule_name(ss->focus));
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

bool ml_export(ml_Session *ss, const ml_Export *x)
{
    ml_Engine *e = ml_host_engine(ss->host);
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(ss->focus));
    ml_BuildOpts o = {.target = *ml_engine_target(e)};
    ml_Built *b = NULL;
    ml_Work work;
    bool ok;

    ml_ctx_set_limit(cx, 0);
    ml_session_guard(ss, cx);
    ok = work_of(cx, ss->focus, &work) &&
         (x->target == NULL || ml_target_read(cx, x->target, &o.target)) &&
         (b = ml_build(cx, e, &work, &o)) != NULL && ml_built_save(b, cx, x->file, x->name);
    if (ok)
        say(ss, x, x->name ? x->name : ml_built_name(b));
    else
        ml_session_ctx_error(ss, cx);
    ml_built_free(b);
    ml_ctx_unref(cx);
    return ok;
}
