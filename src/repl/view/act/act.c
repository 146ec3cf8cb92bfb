/*
 * act - requests that schedule: from a key to a call on the focus.
 *
 * What needs no choice is done at once; the rest opens a prompt, a menu or a choice. A call
 * is applied as it is, its line is printed for the log: undo, trace and echo are those of a
 * typed line. Source: interaction 10.
 */
#include "repl/view/act/act.h"

#include "moonloop/core/base/arena.h"
#include "repl/view/act/act_impl.h"

/* ---- what is open */

static void drop_open(ml_Act *a)
{
    if (a->depth == 0 || a->gone)
        ml_ctx_unref(a->cx);
    else
        a->gone = a->cx;
    a->cx = NULL;
    a->open = ML_ACT_NONE;
    a->ask = (ml_ActAsk){0};
    memset(&a->items, 0, sizeof a->items);
    a->offering = false;
    a->item = 0;
    a->n_taken = 0;
    a->onto = 0;
    a->title = NULL;
    ml_text_clear(&a->filter);
    ml_act_forget_trial(a);
}

void ml_act_start(ml_View *v, ml_ActOpen what, ml_Request r)
{
    ml_Act *a = v->act;
    bool chained = a->open != ML_ACT_NONE; /* a menu leads on: same node */

    drop_open(a);
    a->cx = ml_ctx_ref(a->tmp);
    a->open = what;
    a->req = r;
    if (!chained)
        a->node = v->node;
}

void ml_act_close(ml_View *v)
{
    drop_open(v->act);
}

ml_Act *ml_act_enter(ml_View *v)
{
    ml_Act *a = v->act;

    if (a->depth++ == 0) {
        a->tmp = ml_ctx_new(0);
        ml_text_clear(&a->why);
    }
    return a;
}

void ml_act_leave(ml_View *v)
{
    ml_Act *a = v->act;

    if (--a->depth > 0)
        return;
    ml_ctx_unref(a->tmp);
    ml_ctx_unref(a->gone);
    a->tmp = a->gone = NULL;
}

/* ---- running */

bool ml_act_run(ml_View *v, const char *line)
{
    ml_act_forget_trial(v->act);
    return ml_view_run(v, line, NULL);
}

/* A call with its line; one whose arguments are more than data is read by Lua. */
static bool apply(ml_View *v, const char *line, const ml_ActCall *c)
{
    ml_RunCall call;

    if (!ml_act_read(v, v->act->tmp, c, &call))
        return ml_act_run(v, line);
    ml_act_forget_trial(v->act);
    return ml_view_run(v, line, &call);
}

bool ml_act_do(ml_View *v, const ml_ActCall *c)
{
    const char *line = ml_act_print(v, v->act->tmp, c);

    if (!line)
        ml_view_say(v, "%s has no name that means it alone", ml_view_name(v, v->node));
    return line && apply(v, line, c);
}

static void forget_last(ml_Act *a)
{
    ml_ctx_unref(a->last_cx);
    a->last_cx = NULL;
    a->last = ML_REQ_NONE;
}

static size_t arg_of(const ml_ActCall *c, ml_Uid node)
{
    size_t k = 0;

    while (k < c->args.n && c->args.v[k].node != node)
        k++;
    return k;
}

/* A copy in which one argument is a node yet, the others are what they are called now. */
static ml_ActCall fixed(const ml_View *v, ml_Ctx *cx, const ml_ActCall *c, size_t at)
{
    ml_ActCall out = {.prim = ml_strdup(cx, ml_str(c->prim))};

    for (size_t k = 0; k < c->args.n; k++) {
        ml_ActArg g = c->args.v[k];

        if (g.node && k != at) {
            g.lua = ml_act_name(v, cx, g.node, (ml_HandleKind)g.want);
            g.node = 0;
        } else if (g.lua) {
            g.lua = ml_strdup(cx, ml_str(g.lua));
        }
        ml_push(cx, &out.args, g);
    }
    return out;
}

bool ml_act_run_at(ml_View *v, ml_Request r, const char *line, const ml_ActCall *c,
                   ml_Uid node)
{
    ml_Act *a = v->act;
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Block *b = ml_act_block_here(v, node, NULL);
    size_t at = arg_of(c, node);

    if (at == c->args.n && b)
        at = arg_of(c, b->tag);
    bool about = at < c->args.n;
    bool is_block = about && ml_act_block(v, c->args.v[at].node);
    ml_ActCall call = fixed(v, cx, c, at);
    const char *kept = ml_strdup(cx, ml_str(line));
    bool ok = apply(v, kept, c);

    if (!ok || !about) {
        ml_ctx_unref(cx);
        return ok;
    }
    forget_last(a);
    a->last = r;
    a->last_count = v->count;
    a->last_cx = cx;
    a->last_call = call;
    a->last_line = kept;
    a->last_at = at;
    a->last_block = is_block;
    return true;
}

/* The last call with this node instead of the one that it was about. */
static void repeat_call(ml_View *v)
{
    ml_Act *a = v->act;
    ml_ActArg *arg = &a->last_call.args.v[a->last_at];
    const ml_Block *b = a->last_block ? ml_act_block_here(v, v->node, &a->why) : NULL;
    ml_ActArg was = *arg;

    arg->want = a->last_block ? ML_H_BLOCK : ML_H_LOOP;
    arg->node = b ? b->tag : !a->last_block && ml_act_for(v, v->node) ? v->node : 0;
    const char *line = arg->node ? ml_act_print(v, a->tmp, &a->last_call) : NULL;

    if (line)
        apply(v, line, &a->last_call);
    else if (a->last_block && !b)
        ml_view_say(v, "%s", ml_text_z(&a->why));
    else
        ml_view_say(v, "%s was about a loop: select one", a->last_line);
    *arg = was;
}

void ml_act_again(ml_View *v)
{
    ml_Act *a = v->act;

    if (a->last == ML_REQ_NONE)
        ml_view_say(v, "nothing to repeat yet");
    else if (!a->last_cx)
        ml_act_begin(v, a->last, a->last_count);
    else
        repeat_call(v);
}

/* ---- beginning */

ml_Request ml_act_request_of(const ml_View *v, const char *primitive)
{
    ml_Request found = ML_REQ_NONE;

    for (int r = 0; r < ML_N_REQUESTS; r++) { /* one that asks, where there are several */
        const ml_RequestRow *row = &v->requests[r];

        if (row->prim && ml_streq(row->prim, primitive) &&
            (found == ML_REQ_NONE || (!row->again && v->requests[found].again)))
            found = (ml_Request)r;
    }
    return found;
}

bool ml_act_suits(ml_View *v, ml_Request r, ml_Text *why)
{
    const ml_RequestRow *row = &v->requests[r];
    const ml_Stmt *st = ml_view_stmt(v, v->node);
    const char *what = row->prim ? row->prim : "this";

    if (!v->ss->focus && r != ML_REQ_COMMAND && r != ML_REQ_EXPLAIN) {
        ml_text_add(why, "no program is open: :open FILE, or schedule(…) behind :");
        return false;
    }
    if (row->on & ML_ON_ANYWHERE)
        return true;
    if (!st && !ml_act_no_blocks(v, why))
        ml_text_fmt(why, "%s works on a %s: select one", what,
                    row->on == ML_ON_LOOP ? "loop" : "loop or block");
    else if (!st || !ml_act_in_reach(v, v->node, why))
        return false;
    else if (st->kind == ML_STMT_FOR && !st->has_block)
        ml_text_fmt(
            why,
            "loop %s is inside a block, a part of what it computes: primitives do not "
            "reach it",
            ml_view_name(v, v->node));
    else if (row->on == ML_ON_LOOP && st->kind != ML_STMT_FOR)
        ml_text_fmt(why, "%s works on a loop; %s is a block", what,
                    ml_view_name(v, v->node));
    else
        return true;
    return false;
}

bool ml_act_begin(ml_View *v, ml_Request r, int count)
{
    const ml_RequestRow *row = &v->requests[r];
    ml_Act *a = ml_act_enter(v);

    if (row->on && a->open != ML_ACT_NONE)
        ml_act_cancel(v);
    v->count = count;
    v->row = row;
    ml_text_clear(&a->why);
    if (row->on && !ml_act_suits(v, r, &a->why))
        ml_view_say(v, "%s", ml_text_z(&a->why));
    else if (row->on) {
        int before = v->ss->focus ? ml_schedule_n_versions(v->ss->focus) : 0;

        row->fn(v);
        if (row->again && v->ss->focus && ml_schedule_n_versions(v->ss->focus) > before) {
            forget_last(a);
            a->last = r;
            a->last_count = count;
        }
    }
    ml_act_leave(v);
    return row->on;
}

/* ---- keys, drawing: whatever is open */

bool ml_act_open(const ml_View *v)
{
    return v->act && v->act->open != ML_ACT_NONE;
}

void ml_act_cancel(ml_View *v)
{
    ml_Act *a = v->act;
    bool back = a->open == ML_ACT_CHOICE || a->open == ML_ACT_ORDER;
    ml_Uid node = a->node;

    drop_open(a);
    if (back && ml_view_stmt(v, node))
        ml_view_select(v, node);
}

void ml_act_key(ml_View *v, const ml_Key *k)
{
    ml_Act *a = ml_act_enter(v);

    if (a->open != ML_ACT_NONE && k->name && ml_key_among(k, "esc C-c"))
        ml_act_cancel(v);
    else if (a->open == ML_ACT_PROMPT)
        ml_act_prompt_key(v, k);
    else if (a->open == ML_ACT_MENU)
        ml_act_menu_key(v, k);
    else if (a->open == ML_ACT_CHOICE || a->open == ML_ACT_ORDER)
        ml_act_choice_key(v, k);
    ml_act_leave(v);
}

void ml_act_line(ml_View *v, ml_Rows *r, int *cursor)
{
    *cursor = -1;
    switch (v->act->open) {
    case ML_ACT_PROMPT: ml_act_prompt_line(v, r, cursor); return;
    case ML_ACT_MENU: ml_act_menu_line(v, r, cursor); return;
    case ML_ACT_CHOICE:
    case ML_ACT_ORDER:
    case ML_ACT_DRAG: ml_act_choice_line(v, r); return;
    case ML_ACT_NONE: return;
    }
}

void ml_act_menu(ml_View *v, ml_Rows *r, int *at)
{
    *at = -1;
    if (v->act->open == ML_ACT_MENU)
        ml_act_menu_rows(v, r, at);
    else if (v->act->open == ML_ACT_PROMPT)
        ml_act_prompt_offers(v, r, at);
}

bool ml_act_idle(ml_View *v, int ms)
{
    int64_t end = ml_loop_now() + ms;
    ml_Act *a = ml_act_enter(v);
    bool more = false;

    if (a->open == ML_ACT_MENU || a->open == ML_ACT_CHOICE)
        more = ml_act_try_items(v, end);
    else if (a->open == ML_ACT_NONE && v->ss->focus)
        more = ml_act_find_out(v, end);
    ml_act_leave(v);
    return more;
}

int ml_act_ms(const ml_View *v, int ms)
{
    enum { PATIENCE = 600000 };

    return v->ss->patient ? PATIENCE : ms;
}

/* ---- life */

ml_Act *ml_act_new(void)
{
    ml_Act *a = ml_heap_zalloc(sizeof *a);

    a->last = ML_REQ_NONE;
    return a;
}

void ml_act_free(ml_Act *a)
{
    if (!a)
        return;
    drop_open(a);
    forget_last(a);
    ml_act_prompt_free(a);
    ml_act_facts_free(a);
    ml_text_free(&a->why);
    ml_text_free(&a->line);
    ml_text_free(&a->filter);
    ml_text_free(&a->preview);
    ml_text_free(&a->now);
    ml_rows_free(&a->rows);
    ml_heap_free(a->clip);
    ml_heap_free(a);
}
