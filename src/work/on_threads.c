/*
 * on_threads - a check of a program for a GPU: its kernels as lowering leaves them, their
 * threads side by side in the interpreter.
 *
 * What cannot be lowered yet is run loop by loop, before lowering, and why is kept in the
 * facts of the check. Source: lowering-and-codegen 11.
 */
#include "moonloop/work/on_threads.h"

#include "moonloop/codegen/measure/check.h"
#include "moonloop/core/script/script.h"
#include "moonloop/primitives/call/failure.h"
#include "moonloop/work/work.h"

static bool see_thread(const ml_Stmt *s, void *user)
{
    bool *found = user;

    *found |= (s->kind == ML_STMT_FOR && ml_as_for(s)->kind == ML_FOR_THREAD) ||
              (s->kind == ML_STMT_ATTR && ml_attr_defines(ml_as_attr(s)));
    return !*found;
}

bool ml_work_has_threads(const ml_Func *f)
{
    bool found = false;

    ml_stmt_visit(f->body, see_thread, &found);
    return found;
}

/* Places are lines of a text: of the one that is shown, or of one that is made. */
static ml_Work with_text(ml_Ctx *cx, const ml_Work *got)
{
    ml_Work w = *got;
    ml_Text t = {0};

    if (!w.device)
        w.device = ml_target_kind("cuda-sim");
    if (w.text)
        return w;
    ml_print_module(cx, &t, w.mod, NULL);
    w.text = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return w;
}

/* Its kernels: lowered up to the parameters, which stay as they are. NULL: cx's error. */
static const ml_Func *lower_kernels(ml_Ctx *cx, ml_Engine *e, const ml_Work *got,
                                    ml_Lower *lo)
{
    const ml_Work w = with_text(cx, got);
    const ml_Func *f = ml_work_read(cx, e, &w, lo);

    return f ? ml_lower(lo, f, "lower_intrinsics", NULL, NULL) : NULL;
}

bool ml_check_on_threads(ml_Ctx *cx, ml_Engine *e, const ml_Work *ref, const ml_Work *got,
                         const ml_CheckOpts *opts, ml_CheckResult *r, ml_CheckRuns *runs)
{
    ml_CheckOpts o = opts ? *opts : (ml_CheckOpts){.extremes = true};
    const ml_Func *f;
    ml_Lower lo;

    *runs = (ml_CheckRuns){.got_interpreted = true, .not_compiled = "its threads run here"};
    f = lower_kernels(cx, e, got, &lo);
    if (!f && ml_error(cx)->code == ML_E_LOWERING_FAILED) {
        ml_Failure *why = ml_failure_from(ml_error(cx));

        runs->loop_by_loop =
            ml_format(cx, "checked loop by loop, threads not side by side: %s",
                      ml_failure_message(why));
        ml_failure_free(why);
        ml_error_clear(cx);
        return ml_check(cx, ref->mod, ref->func, got->mod, got->func, opts, r);
    }
    o.side_by_side = true;
    return f && ml_check(cx, ref->mod, ref->func, lo.module, f, &o, r);
}
