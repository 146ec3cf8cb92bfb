/*
 * act - requests that schedule: from a key to a line of Lua on the focus.
 *
 * The table says for each request what it works on and what it does. What needs no choice
 * is run at once; the rest opens a prompt, a menu or a choice. Every line goes through
 * ml_view_run, so that undo, trace and echo are those of a typed line. Source: interaction
 * 10.
 */
#include "repl/view/act/act.h"

#include "core/base/arena.h"
#include "repl/view/act/act_impl.h"

/* ---- what is open */

static void drop_open(ml_Act *a)
{
    if (a->cx)
        ml_ctx_unref(a->cx);
    a->cx = NULL;
    a->open = ML_ACT_NONE;
    a->ask = (ml_ActAsk){0};
    a->offers.v = NULL;
    a->offers.n = a->offers.cap = 0;
    a->offer_notes.v = NULL;
    a->offer_notes.n = a->offer_notes.cap = 0;
    a->offering = false;
    a->items.v = NULL;
    a->items.n = a->items.cap = 0;
    a->item = 0;
    a->nodes.v = NULL;
    a->nodes.n = a->nodes.cap = 0;
    a->n_taken = 0;
    a->onto = 0;
    a->menu_label = a->choice_label = NULL;
    a->choice_line = NULL;
    ml_text_clear(&a->filter);
    ml_act_forget_trial(a);
}

void ml_act_start_in(ml_View *v, ml_ActOpen what, ml_Request r, ml_Ctx *cx)
{
    ml_Act *a = v->act;
    bool chained = a->open != ML_ACT_NONE; /* a menu leads on: same node */

    drop_open(a);
    a->cx = cx;
    a->open = what;
    a->req = r;
    if (!chained)
        a->node = v->node;
    a->version = v->ss->focus ? ml_schedule_version(v->ss->focus) : 0;
}

void ml_act_start(ml_View *v, ml_ActOpen what, ml_Request r)
{
    ml_act_start_in(v, what, r, ml_ctx_new(0));
}

void ml_act_close(ml_View *v)
{
    drop_open(v->act);
}

/* ---- running */

bool ml_act_run(ml_View *v, const char *line)
{
    bool ok;

    ml_act_forget_trial(v->act);
    ok = ml_view_run(v, line);
    ml_view_follow(v);
    return ok;
}

static char *own(const char *z)
{
    size_t n = strlen(z) + 1;

    return memcpy(ml_heap_zalloc(n), z, n);
}

static void forget_last(ml_Act *a)
{
    ml_heap_free(a->last_line);
    ml_heap_free(a->last_name);
    a->last_line = a->last_name = NULL;
    a->last = ML_REQ_NONE;
}

bool ml_act_run_at(ml_View *v, ml_Request r, const char *line, ml_Uid node)
{
    ml_Act *a = v->act;
    ml_Ctx *tmp = ml_ctx_new(0);
    bool is_block = ml_act_block(v, node) != NULL, ok;
    const char *name = ml_act_name(v, tmp, node, is_block ? ML_H_BLOCK : ML_H_LOOP);

    if (!name || !strstr(line, name)) {
        const ml_Block *b = ml_act_block_here(v, node, NULL);

        name = b ? ml_act_name(v, tmp, b->tag, ML_H_BLOCK) : NULL;
        is_block = b != NULL;
    }
    ok = ml_act_run(v, line);
    if (ok && name && strstr(line, name)) {
        forget_last(a);
        a->last = r;
        a->last_line = own(line);
        a->last_name = own(name);
        a->last_is_block = is_block;
        a->last_count = a->count;
    }
    ml_ctx_unref(tmp);
    return ok;
}

/* The last line with this node instead of the one that it was about; in cx. NULL: *why. */
static const char *line_again(ml_View *v, ml_Ctx *cx, ml_Text *why)
{
    ml_Act *a = v->act;
    const char *at = strstr(a->last_line, a->last_name), *name = NULL;

    if (a->last_is_block) {
        const ml_Block *b = ml_act_block_here(v, v->node, why);

        if (!b)
            return NULL;
        name = ml_act_name(v, cx, b->tag, ML_H_BLOCK);
    } else if (ml_act_for(v, v->node))
        name = ml_act_name(v, cx, v->node, ML_H_LOOP);
    if (!name) {
        ml_text_fmt(why, "%s was about a loop: select one", a->last_line);
        return NULL;
    }
    return ml_format(cx, "%.*s%s%s", (int)(at - a->last_line), a->last_line, name,
                     at + strlen(a->last_name));
}

static void again(ml_View *v, int count)
{
    ml_Act *a = v->act;
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Text why = {0};
    const char *line;

    (void)count;
    if (a->last == ML_REQ_NONE)
        ml_view_say(v, "nothing to repeat yet");
    else if (!a->last_line)
        ml_act_begin(v, a->last, a->last_count);
    else if ((line = line_again(v, tmp, &why)) != NULL)
        ml_act_run(v, line);
    else
        ml_view_say(v, "%s", ml_text_z(&why));
    ml_text_free(&why);
    ml_ctx_unref(tmp);
}

/* ---- the table */

enum { ON_LOOP = 1, ON_BLOCK = 2, ON_BOTH = 3, ANYWHERE = 4 };

typedef struct Kind {
    ml_Request req;
    const char *prim; /* what it comes to, or NULL */
    uint8_t on;
    bool again; /* `.` begins it anew */
    void (*begin)(ml_View *v, int count);
} Kind;

static void compute_at(ml_View *v, int count)
{
    (void)count;
    ml_act_compute_at(v, false);
}

static void reverse_compute_at(ml_View *v, int count)
{
    (void)count;
    ml_act_compute_at(v, true);
}

static void cache_read(ml_View *v, int count)
{
    (void)count;
    ml_act_cache(v, false);
}

static void cache_write(ml_View *v, int count)
{
    (void)count;
    ml_act_cache(v, true);
}

static const Kind KINDS[] = {
    {ML_REQ_SPLIT, "split", ON_LOOP, false, ml_act_split},
    {ML_REQ_SPLIT_NEXT, "split", ON_LOOP, true, ml_act_split_next},
    {ML_REQ_FUSE, "fuse", ON_LOOP, true, ml_act_fuse},
    {ML_REQ_MOVE_DOWN, "reorder", ON_LOOP, true, ml_act_move_down},
    {ML_REQ_MOVE_UP, "reorder", ON_LOOP, true, ml_act_move_up},
    {ML_REQ_REORDER, "reorder", ON_LOOP, false, ml_act_order},
    {ML_REQ_PARALLEL, "parallel", ON_LOOP, true, ml_act_parallel},
    {ML_REQ_VECTORIZE, "vectorize", ON_LOOP, true, ml_act_vectorize},
    {ML_REQ_UNROLL, "unroll", ON_LOOP, true, ml_act_unroll},
    {ML_REQ_BIND, "bind", ON_LOOP, false, ml_act_bind},
    {ML_REQ_ANNOTATE, "annotate", ON_BOTH, false, ml_act_annotate},
    {ML_REQ_COMPUTE_AT, "compute_at", ON_BOTH, false, compute_at},
    {ML_REQ_REVERSE_COMPUTE_AT, "reverse_compute_at", ON_BOTH, false, reverse_compute_at},
    {ML_REQ_INLINE, "compute_inline", ON_BOTH, true, ml_act_compute_inline},
    {ML_REQ_REVERSE_INLINE, "reverse_compute_inline", ON_BOTH, true, ml_act_reverse_inline},
    {ML_REQ_CACHE_READ, "cache_read", ON_BOTH, false, cache_read},
    {ML_REQ_CACHE_WRITE, "cache_write", ON_BOTH, false, cache_write},
    {ML_REQ_LAYOUT, "transform_layout", ON_BOTH, false, ml_act_layout},
    {ML_REQ_DECOMPOSE, "decompose_reduction", ON_BOTH, false, ml_act_decompose},
    {ML_REQ_RFACTOR, "rfactor", ON_BOTH, false, ml_act_rfactor},
    {ML_REQ_BLOCKIZE, "blockize", ON_BOTH, true, ml_act_blockize},
    {ML_REQ_TENSORIZE, "tensorize", ON_BOTH, false, ml_act_tensorize},
    {ML_REQ_ALL, NULL, ON_BOTH, false, ml_act_all},
    {ML_REQ_REPEAT, NULL, ON_BOTH, false, again},
    {ML_REQ_UNDO, NULL, ANYWHERE, false, ml_act_undo},
    {ML_REQ_REDO, NULL, ANYWHERE, false, ml_act_redo},
    {ML_REQ_MARK, NULL, ANYWHERE, false, ml_act_mark},
    {ML_REQ_GOTO_MARK, NULL, ANYWHERE, false, ml_act_goto_mark},
    {ML_REQ_TIME, NULL, ANYWHERE, false, ml_act_time_it},
    {ML_REQ_CHECK, NULL, ANYWHERE, false, ml_act_check},
    {ML_REQ_TUNE, NULL, ANYWHERE, false, ml_act_tune},
    {ML_REQ_TUNE_SUBTREE, NULL, ANYWHERE, false, ml_act_tune_subtree},
    {ML_REQ_PICTURE, NULL, ANYWHERE, false, ml_act_picture},
    {ML_REQ_EXPLAIN, NULL, ANYWHERE, false, ml_act_explain},
    {ML_REQ_COMMAND, NULL, ANYWHERE, false, ml_act_command},
    {ML_REQ_COPY, NULL, ANYWHERE, false, ml_act_copy},
};

static const Kind *kind_of(ml_Request r)
{
    for (size_t k = 0; k < ML_COUNT(KINDS); k++)
        if (KINDS[k].req == r)
            return &KINDS[k];
    return NULL;
}

const char *ml_act_primitive_of(ml_Request r)
{
    const Kind *k = kind_of(r);

    return k ? k->prim : NULL;
}

bool ml_act_asks(ml_Request r)
{
    const Kind *k = kind_of(r);

    return k && !k->again;
}

ml_Request ml_act_request_of(const char *primitive)
{
    for (size_t k = 0; k < ML_COUNT(KINDS); k++)
        if (KINDS[k].prim && ml_streq(KINDS[k].prim, primitive))
            return KINDS[k].req == ML_REQ_MOVE_DOWN ? ML_REQ_REORDER : KINDS[k].req;
    return ML_REQ_NONE;
}

bool ml_act_suits(ml_View *v, ml_Request r, ml_Text *why)
{
    const Kind *k = kind_of(r);
    const ml_Stmt *st = ml_act_stmt(v, v->node);
    const char *what = k && k->prim ? k->prim : "this";

    if (!k)
        return false;
    if (!v->ss->focus && r != ML_REQ_COMMAND && r != ML_REQ_EXPLAIN) {
        ml_text_add(why, "no program is open: :open FILE, or schedule(…) behind :");
        return false;
    }
    if (k->on & ANYWHERE)
        return true;
    if (!st && ml_act_no_blocks(v, why))
        return false;
    if (!st) {
        ml_text_fmt(why, "%s works on a %s: select one", what,
                    k->on == ON_LOOP ? "loop" : "loop or block");
        return false;
    }
    if (!ml_act_in_reach(v, v->node, why))
        return false;
    if (st->kind == ML_STMT_FOR && !st->has_block) {
        ml_text_fmt(
            why,
            "loop %s is inside a block, a part of what it computes: primitives do not "
            "reach it",
            ml_view_name(v, v->node));
        return false;
    }
    if (k->on == ON_LOOP && st->kind != ML_STMT_FOR) {
        ml_text_fmt(why, "%s works on a loop; %s is a block", what,
                    ml_view_name(v, v->node));
        return false;
    }
    return true;
}

bool ml_act_begin(ml_View *v, ml_Request r, int count)
{
    const Kind *k = kind_of(r);
    ml_Act *a = v->act;
    ml_Text why = {0};

    if (!k)
        return false;
    if (a->open != ML_ACT_NONE)
        ml_act_cancel(v);
    a->count = count;
    if (!ml_act_suits(v, r, &why))
        ml_view_say(v, "%s", ml_text_z(&why));
    else {
        int before = v->ss->focus ? ml_schedule_n_versions(v->ss->focus) : 0;

        k->begin(v, count);
        if (k->again && v->ss->focus && ml_schedule_n_versions(v->ss->focus) > before) {
            forget_last(a);
            a->last = r;
            a->last_count = count;
        }
    }
    ml_text_free(&why);
    return true;
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
    if (back && ml_act_stmt(v, node))
        ml_view_select(v, node);
}

void ml_act_key(ml_View *v, const ml_Key *k)
{
    ml_Act *a = v->act;

    if (a->open == ML_ACT_NONE)
        return;
    if (k->name && (ml_streq(k->name, "esc") || ml_streq(k->name, "C-c"))) {
        ml_act_cancel(v);
        return;
    }
    switch (a->open) {
    case ML_ACT_PROMPT: ml_act_prompt_key(v, k); return;
    case ML_ACT_MENU: ml_act_menu_key(v, k); return;
    case ML_ACT_CHOICE:
    case ML_ACT_ORDER: ml_act_choice_key(v, k); return;
    case ML_ACT_DRAG:
    case ML_ACT_NONE: return;
    }
}

void ml_act_line(ml_View *v, ml_Rows *r, int *cursor)
{
    *cursor = -1;
    switch (v->act->open) {
    case ML_ACT_PROMPT: ml_act_prompt_line(v, r, cursor); return;
    case ML_ACT_MENU: ml_act_menu_line(v, r, cursor); return;
    case ML_ACT_CHOICE:
    case ML_ACT_ORDER:
    case ML_ACT_DRAG: ml_act_choice_line(v, r, cursor); return;
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

ml_Act *ml_act_new(ml_View *v)
{
    ml_Act *a = ml_heap_zalloc(sizeof *a);

    (void)v;
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
    ml_text_free(&a->line);
    ml_text_free(&a->filter);
    ml_text_free(&a->preview);
    ml_text_free(&a->now);
    ml_rows_free(&a->rows);
    ml_heap_free(a->clip);
    ml_heap_free(a);
}
