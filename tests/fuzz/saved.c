/* saved - see saved.h. */
#include "saved.h"

#include "moonloop/core/script/script.h"
#include "moonloop/primitives/names.h"
#include "moonloop/primitives/trace.h"

/* "matmul: C i j k ...": what steps and lookups can name, in program order. */
static void add_names(ml_Ctx *cx, ml_Text *out, const ml_Func *f)
{
    ml_NamedItems it = {.cx = cx};

    ml_named_items(&it, f);
    ml_text_fmt(out, "%s:", f->name);
    for (size_t k = 0; k < it.list.n; k++)
        ml_text_fmt(out, " %s", it.list.v[k].hint);
    ml_text_char(out, '\n');
}

bool fz_same_names(FzRun *r, const char *kind, ml_Schedule *again)
{
    const ml_Module *was = ml_schedule_program(r->s).mod,
                    *now = ml_schedule_program(again).mod;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text a = {0}, b = {0};

    for (uint32_t k = 0; k < was->n; k++) { /* printed, what is called comes first */
        const ml_Func *f = ml_module_find(now, was->funcs[k]->name);

        add_names(cx, &a, was->funcs[k]);
        if (f)
            add_names(cx, &b, f);
    }
    bool ok = ml_streq(ml_text_z(&a), ml_text_z(&b)) ||
              fz_fail(r, kind, "other names:\n%swere\n%s", ml_text_z(&b), ml_text_z(&a));

    ml_text_free(&a);
    ml_text_free(&b);
    ml_ctx_unref(cx);
    return ok;
}

static bool replays(FzRun *r, ml_Ctx *cx, const ml_Saved *saved, uint64_t hash)
{
    ml_ScheduleOpts opts = {.intrins = fz_intrins(), .func = saved->func};
    ml_Parsed start = ml_parse(cx, ml_str(saved->program), NULL);
    const ml_Error *e = NULL;
    size_t done;

    if (!start.mod)
        return fz_fail(r, "saved", "its program: %s", start.diags[0].message);
    ml_Schedule *again = ml_schedule_new(cx, start.mod, &opts, &e);

    if (!again)
        return fz_fail_error(r, "saved", e);
    bool ok = ml_trace_apply(again, &saved->trace, false, NULL, NULL, &done) ||
              fz_fail_error(r, "saved", ml_schedule_error(again));

    ok = ok && (ml_schedule_hash(again) == hash || fz_fail(r, "saved", "another hash")) &&
         fz_same_names(r, "saved", again);
    ml_schedule_unref(again);
    return ok;
}

bool fz_saved_is_the_same(FzRun *r, uint64_t hash)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text text = {0};
    ml_Saved saved;
    bool ok;

    ml_saved_write(r->s, &text);
    ok = ml_saved_read(cx, (ml_Str){ml_text_z(&text), text.n}, &saved) ||
         fz_fail_error(r, "saved", ml_error(cx));
    ok = ok && replays(r, cx, &saved, hash);
    if (!ok)
        ml_text_fmt(&r->t->detail, "\n%s", ml_text_z(&text));
    ml_text_free(&text);
    ml_ctx_unref(cx);
    return ok;
}
