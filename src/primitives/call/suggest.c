/*
 * suggest - ways out of an error, each executed on a scratch copy before it is shown.
 *
 * The primitive proposes calls; wrong names are tried with the nearest right ones, ended
 * handles with what came of them; last the same call on earlier versions, with the later
 * steps repeated. At most three that work are kept, found within 50 ms.
 * Source: interaction 7.
 */
#include "moonloop/primitives/call/failure.h"

#include <stdarg.h>

#include "moonloop/core/base/own_clock.h"

enum { MAX_SHOWN = 3, BUDGET_MS = 50, MAX_TRIES = 16 };

typedef struct Try {
    const char *text, *remark;
} Try;

struct ml_Tries {
    ml_Ctx *cx;
    ML_VEC(Try) list;
    bool plain; /* no remarks are made for these */
};

void ml_try(ml_Tries *t, const char *remark, const char *fmt, ...)
{
    ml_Text text = {0};
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&text, fmt, ap);
    va_end(ap);
    if (t->list.n < MAX_TRIES) {
        Try one = {ml_strdup(t->cx, (ml_Str){ml_text_z(&text), text.n}),
                   remark ? ml_strdup(t->cx, ml_str(remark)) : NULL};

        ml_push(t->cx, &t->list, one);
    }
    ml_text_free(&text);
}

/* ---- the same call with something replaced */

typedef struct Swap {
    ml_Schedule *s;
    ml_Uid uid;       /* the handle, or */
    const char *text; /* the string that is replaced, also before a / or @ */
    const char *by;
    bool done;
    ml_Ctx *tmp;
} Swap;

static void swap_string(Swap *w, ml_Text *out, const char *z)
{
    size_t n = w->text ? strlen(w->text) : 0;

    if (!w->text || strncmp(z, w->text, n) != 0 ||
        !(z[n] == '\0' || z[n] == '/' || z[n] == '@')) {
        ml_text_quote(out, z);
        return;
    }
    w->done = true;
    ml_text_quote(out, z[n] ? ml_format(w->tmp, "%s%s", w->by, z + n) : w->by);
}

static void raw_text(Swap *w, ml_Text *out, const ml_Arg *a)
{
    int64_t v;

    switch ((ml_ArgKind)a->kind) {
    case ML_A_ABSENT: ml_text_add(out, "nil"); return;
    case ML_A_NONE: ml_text_add(out, "auto"); return;
    case ML_A_BOOL: ml_text_add(out, a->as.b ? "true" : "false"); return;
    case ML_A_INT: ml_text_int(out, a->as.i); return;
    case ML_A_FLOAT: ml_text_double(out, a->as.f); return;
    case ML_A_STRING: swap_string(w, out, a->as.s); return;
    case ML_A_HANDLE:
        if (w->uid && a->as.h.uid == w->uid && a->as.h.kind != ML_H_EXPR) {
            w->done = true;
            ml_text_quote(out, w->by);
        } else if (ml_handle_value(w->s, a->as.h, &v))
            ml_text_int(out, v);
        else if (a->as.h.kind == ML_H_NONE)
            ml_text_add(out, "auto");
        else
            ml_text_quote(out, ml_name_of(w->s, a->as.h.uid));
        return;
    case ML_A_LIST:
    case ML_A_DICT:
        ml_text_char(out, '{');
        for (uint32_t k = 0; k < a->n; k++) {
            if (k)
                ml_text_add(out, ", ");
            if (a->kind == ML_A_DICT)
                ml_text_lua_key(out, a->keys[k]);
            raw_text(w, out, &a->as.list[k]);
        }
        ml_text_char(out, '}');
        return;
    case ML_A_EXPR:
    case ML_A_BUFFER:
    case ML_A_MAP: ml_text_add(out, "?"); return;
    }
}

/* Loops of a variadic primitive stand bare: fuse("a", "b"). */
static void raw_call(Swap *w, ml_Text *out, const ml_Failure *f)
{
    size_t last = 0;

    for (size_t k = 0; k < f->n_args; k++)
        if (f->raw[k].kind != ML_A_ABSENT)
            last = k + 1;
    ml_text_fmt(out, "%s(", f->prim->name);
    for (size_t k = 0; k < last; k++) {
        const ml_Arg *a = &f->raw[k];
        bool bare =
            f->prim->params[k].kind == ML_P_LOOPS && a->kind == ML_A_LIST && last == 1;

        if (k)
            ml_text_add(out, ", ");
        for (uint32_t m = 0; bare && m < a->n; m++) {
            if (m)
                ml_text_add(out, ", ");
            raw_text(w, out, &a->as.list[m]);
        }
        if (!bare)
            raw_text(w, out, a);
    }
    ml_text_char(out, ')');
}

static void try_swapped(ml_Failure *f, ml_Schedule *s, ml_Tries *t, ml_Uid uid,
                        const char *text, const char *by)
{
    Swap w = {s, uid, text, by, false, t->cx};
    ml_Text out = {0};

    raw_call(&w, &out, f);
    if (w.done)
        ml_try(t, NULL, "%s", ml_text_z(&out));
    ml_text_free(&out);
}

static void propose(ml_Failure *f, ml_Schedule *s, ml_Tries *t)
{
    ml_Uid expired = ml_failure_expired(f), heirs[8];
    ml_ErrorCode code = f->e.code;

    if (expired) {
        size_t n = ml_failure_heirs(f, expired, heirs, ML_COUNT(heirs));

        t->plain = true;
        for (size_t k = 0; k < n; k++)
            try_swapped(f, s, t, expired, NULL, ml_name_of(s, heirs[k]));
        return;
    }
    bool loop = code == ML_E_NO_SUCH_LOOP || code == ML_E_AMBIGUOUS_LOOP;
    bool several = code == ML_E_AMBIGUOUS_LOOP || code == ML_E_AMBIGUOUS_BLOCK;

    if ((loop || several || code == ML_E_NO_SUCH_BLOCK) && f->e.n_facts > 0 &&
        f->e.facts[0].kind == ML_FACT_TEXT) {
        const char *names[MAX_TRIES], *text = f->e.facts[0].as.text;
        size_t n = several ? ml_candidate_names(s, text, loop ? ML_H_LOOP : ML_H_BLOCK,
                                                names, MAX_TRIES)
                           : ml_nearest_names(s, text, loop ? ML_H_LOOP : ML_H_NONE, names,
                                              MAX_SHOWN);

        if (several && n == 0) /* where a loop may stand too */
            n = ml_candidate_names(s, text, ML_H_NONE, names, MAX_TRIES);
        t->plain = true;
        for (size_t k = 0; k < n; k++)
            try_swapped(f, s, t, 0, text, names[k]);
        return;
    }
    if (f->prim->suggest)
        f->prim->suggest(s, f->args, &f->e, t);
}

/* ---- trying */

static const ml_Block *first_block(ml_Ctx *cx, ml_Program p, ml_Uid loop)
{
    const ml_Stmt *st = ml_index_node(p.index, loop);
    ml_StmtVec blocks = {0};

    if (!st)
        return NULL;
    ml_child_blocks(cx, st, &blocks);
    return blocks.n > 0 ? ml_as_block(blocks.v[0]) : NULL;
}

static bool has_auto(const ml_Arg *a)
{
    if (a->kind == ML_A_NONE)
        return true;
    for (uint32_t k = 0; a->kind == ML_A_LIST && k < a->n; k++)
        if (has_auto(&a->as.list[k]))
            return true;
    return false;
}

/* What a cut of a loop gave: extents where they were worked out, the guard or "exact". */
static const char *describe_cut(ml_Failure *f, ml_Schedule *s, const ml_CallText *call,
                                const ml_Results *r)
{
    ml_Program p = ml_schedule_program(s), was = ml_failure_program(f);
    ml_PrintOpts o = {.spelling = -1, .plain = true, .names = ml_schedule_names(s)};
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Text t = {0};
    bool any_auto = false;
    const char *z;

    for (size_t k = 0; k < call->n; k++)
        any_auto |= call->prim->params[k].kind == ML_P_FACTORS &&
                    (has_auto(&call->args[k]) || call->args[k].kind == ML_A_INT);
    for (size_t k = 0; any_auto && k < r->n && k < ML_MAX_RESULTS; k++) {
        const ml_Stmt *st = ml_index_node(p.index, r->v[k].uid);

        if (k)
            ml_text_add(&t, " × ");
        if (st && st->kind == ML_STMT_FOR)
            ml_print_expr(tmp, &t, ml_as_for(st)->extent, &o);
    }
    const ml_Block *b = first_block(tmp, p, r->v[0].uid);
    const ml_Stmt *old = b ? ml_index_node(was.index, b->tag) : NULL;
    const ml_Expr *before =
        old && old->kind == ML_STMT_BLOCK ? ml_as_block(old)->predicate : NULL;

    if (t.n > 0)
        ml_text_add(&t, ", ");
    if (b && !ml_is_true(b->predicate) && b->predicate != before) {
        const ml_Expr *guard =
            b->predicate->kind == ML_EXPR_AND ? b->predicate->args[1] : b->predicate;

        ml_text_add(&t, "guarded by ");
        ml_print_expr(tmp, &t, guard, &o);
    } else
        ml_text_add(&t, "exact");
    z = ml_strdup(f->cx, (ml_Str){ml_text_z(&t), t.n});
    ml_text_free(&t);
    ml_ctx_unref(tmp);
    return z;
}

static const char *outcome(ml_Failure *f, ml_Schedule *s, const ml_CallTexts *calls,
                           const ml_Results *r)
{
    const ml_CallText *last = &calls->v[calls->n - 1];
    const char *const *notes;

    for (size_t k = 0; k < last->prim->n_params; k++)
        if (last->prim->params[k].kind == ML_P_FACTORS && r->n > 0)
            return describe_cut(f, s, last, r);
    if (ml_schedule_notes(s, &notes) > 0)
        return ml_strdup(f->cx, ml_str(notes[0]));
    return NULL;
}

/* Runs the calls on a fork of the version and, where `later` is given, the steps of that
 * trace from `step` on again; false: one of them fails. *remark (or NULL): the outcome. */
static bool works(ml_Failure *f, int version, const char *text, const ml_Trace *later,
                  int step, const char **remark)
{
    ml_Schedule *s = ml_schedule_fork_at(f->s, version);
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_CallTexts calls = {0};
    ml_Results r = {0};
    bool ok = ml_parse_calls(tmp, ml_str(text), &calls) && calls.n > 0;

    for (size_t k = 0; ok && k < calls.n; k++)
        ok = ml_apply_prim(s, calls.v[k].prim, calls.v[k].args, calls.v[k].n, &r);
    if (ok && later)
        ok = ml_trace_continue(s, later, ml_trace_before(f->s, step), NULL, 0, NULL);
    if (ok && remark)
        *remark = outcome(f, s, &calls, &r);
    ml_ctx_unref(tmp);
    ml_schedule_unref(s);
    return ok;
}

/* The way out, kept if it works. */
static void keep_working(ml_Failure *f, const Try *t, bool plain)
{
    ml_Suggestion *to = &f->suggestions[f->n_suggestions];

    to->remark = NULL;
    if (!works(f, f->version, t->text, NULL, 0, t->remark || plain ? NULL : &to->remark))
        return;
    to->call = ml_strdup(f->cx, ml_str(t->text));
    if (t->remark)
        to->remark = ml_strdup(f->cx, ml_str(t->remark));
    f->n_suggestions++;
}

static int64_t now_ms(void)
{
    return ml_own_ns() / 1000000;
}

/* ---- the same step earlier */

enum { MAX_EARLIER = 24 }; /* versions tried, from the newest on */

/* The call as it was written, made before an earlier step. */
static void try_earlier(ml_Failure *f, int64_t end)
{
    const ml_Schedule *s = f->s;
    Swap w = {.s = f->s};
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Text call = {0};
    int tried = 0;

    /* A trace is that of the current version. */
    if (!f->in_call && f->version == s->cur) {
        ml_Trace trace = ml_schedule_trace(f->s, tmp);

        raw_call(&w, &call, f);
        for (int v = f->version; v > 0 && tried < MAX_EARLIER && now_ms() <= end;
             v = s->v[v].parent) {
            if (s->v[v].parent < 0 || !ml_version_ok(s, s->v[v].parent))
                break;
            tried++;
            if (!works(f, s->v[v].parent, ml_text_z(&call), &trace, v, NULL))
                continue;
            ml_Suggestion *to = &f->suggestions[f->n_suggestions++];

            to->call = ml_format(f->cx, ":before %d %s", v, ml_text_z(&call));
            to->remark = ml_format(f->cx, "the later step%s repeated",
                                   v == f->version ? " is" : "s are");
            break;
        }
    }
    ml_text_free(&call);
    ml_ctx_unref(tmp);
}

static bool known_already(const ml_Failure *f, const char *call)
{
    for (size_t k = 0; k < f->n_suggestions; k++)
        if (ml_streq(f->suggestions[k].call, call))
            return true;
    return false;
}

size_t ml_failure_suggestions(ml_Failure *f, const ml_Suggestion **out)
{
    if (!f->tried && f->prim && ml_failure_has_program(f) && !f->s->space->in_call) {
        int64_t end = now_ms() + BUDGET_MS;
        ml_Tries t = {.cx = f->cx};
        ml_Schedule *s = ml_schedule_fork_at(f->s, f->version);

        f->tried = true;
        propose(f, s, &t);
        ml_schedule_unref(s);
        for (size_t k = 0; k < t.list.n && f->n_suggestions < MAX_SHOWN; k++) {
            if (k > 0 && now_ms() > end)
                break;
            if (!known_already(f, t.list.v[k].text))
                keep_working(f, &t.list.v[k], t.plain);
        }
        if (f->n_suggestions < MAX_SHOWN && now_ms() <= end)
            try_earlier(f, end);
    }
    if (out)
        *out = f->suggestions;
    return f->n_suggestions;
}
