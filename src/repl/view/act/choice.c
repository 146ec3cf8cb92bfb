/*
 * choice - picking nodes where they stand: the legal ones light up, the cursor goes over
 * them, each is tried when the cursor is on it.
 *
 * One node is chosen (compute_at, decompose_reduction, rfactor), or several one after the
 * other (reorder), or one on which another is dropped. The cursor is the view's selected
 * node, so that a click picks as well. Source: interaction 10.
 */
#include "repl/view/act/act_impl.h"

enum { EAGER_MS = 40 };

static void begin(ml_View *v, ml_ActOpen what, ml_Request r, const char *title)
{
    ml_act_start(v, what, r);
    v->act->title = title;
}

/* A node, and the call when it is taken (prim NULL: there is none yet). */
static ml_ActItem *add(ml_View *v, ml_Uid node, ml_ActCall call)
{
    ml_ActItem *it = ml_act_menu_add(v, "", NULL);

    it->uid = node;
    if (call.prim)
        ml_act_item_call(v, it, call);
    return it;
}

static ml_ActItem *item_at(ml_Act *a, ml_Uid uid)
{
    for (size_t k = 0; uid && k < a->items.n; k++)
        if (a->items.v[k].uid == uid)
            return &a->items.v[k];
    return NULL;
}

static ml_ActItem *taken_at(ml_Act *a, uint8_t place)
{
    for (size_t k = 0; k < a->items.n; k++)
        if (a->items.v[k].place == place)
            return &a->items.v[k];
    return NULL;
}

/* reorder("k", "i"): the marked loops in their order. Without a primitive: too few. */
static ml_ActCall order_now(ml_Act *a)
{
    ml_ActCall c = {.prim = a->n_taken > 1 ? "reorder" : NULL};

    for (uint8_t place = 1; place <= a->n_taken; place++)
        ml_act_arg_node(a->cx, &c, taken_at(a, place)->uid, ML_H_LOOP);
    return c;
}

/* What is chosen by now; without a primitive: nothing yet. */
static ml_ActCall call_now(ml_View *v)
{
    ml_Act *a = v->act;
    ml_ActItem *it = item_at(a, a->open == ML_ACT_DRAG ? a->onto : v->node);

    if (a->open == ML_ACT_ORDER)
        return order_now(a);
    if (it && it->also.prim && !it->tried)
        ml_act_try_item(v, it);
    return it ? it->call : (ml_ActCall){0};
}

/* Its line, or NULL. */
static const char *line_now(ml_View *v)
{
    ml_ActCall c = call_now(v);

    return c.prim ? ml_act_print(v, v->act->cx, &c) : NULL;
}

static void look(ml_View *v)
{
    const char *line = line_now(v);

    ml_act_forget_trial(v->act);
    if (line)
        ml_act_try(v, line);
}

/* The next candidate from the cursor on; legal: only those not known to be illegal. */
static void step(ml_View *v, int by, bool legal)
{
    ml_Act *a = v->act;
    size_t n = a->items.n, at = 0;

    while (at < n && a->items.v[at].uid != v->node)
        at++;
    if (at == n)
        at = by > 0 ? n - 1 : 0;
    for (size_t k = 0; k < n; k++) {
        at = (at + (by > 0 ? 1 : n - 1)) % n;
        if (!legal || a->items.v[at].state != ML_TRIAL_FAILS)
            break;
    }
    ml_view_select(v, a->items.v[at].uid);
    look(v);
}

static void edge(ml_View *v, bool last)
{
    ml_Act *a = v->act;
    size_t n = a->items.n, k = 0;

    while (k + 1 < n && a->items.v[last ? n - 1 - k : k].state == ML_TRIAL_FAILS)
        k++;
    ml_view_select(v, a->items.v[last ? n - 1 - k : k].uid);
    look(v);
}

static void show(ml_View *v, const char *nothing)
{
    ml_Act *a = v->act;
    size_t illegal = 0;

    ml_act_try_items(v, ml_loop_now() + ml_act_ms(v, EAGER_MS));
    for (size_t k = 0; k < a->items.n; k++)
        illegal += a->items.v[k].state == ML_TRIAL_FAILS;
    if (illegal == a->items.n) { /* the reason is that of the first */
        const char *why = illegal ? a->items.v[0].note : "";

        ml_view_say(v, "%s%s%s", nothing, illegal ? ": " : "", why);
        ml_act_close(v);
        return;
    }
    const ml_ActItem *here = item_at(a, v->node);

    if (here && here->state != ML_TRIAL_FAILS)
        look(v);
    else
        step(v, 1, true);
}

/* ---- what is chosen for what */

/* The block that a request is about; NULL: it was said why there is none. */
static const ml_Block *the_block(ml_View *v)
{
    const ml_Block *b = ml_act_block_here(v, v->node, &v->act->why);

    if (!b)
        ml_view_say(v, "%s", ml_text_z(&v->act->why));
    return b;
}

/* prim("C", "i") */
static ml_ActCall of_block(ml_View *v, const char *prim, ml_Uid block, ml_Uid loop)
{
    ml_ActCall c = ml_act_call(v->act->cx, prim, block, ML_H_BLOCK);

    ml_act_arg_node(v->act->cx, &c, loop, ML_H_LOOP);
    return c;
}

void ml_act_compute_at(ml_View *v)
{
    const ml_Block *b = the_block(v);
    ml_Ctx *tmp = v->act->tmp;
    const char *prim = v->row->prim;
    ml_UidVec all = {0};

    if (!b)
        return;
    ml_Uid tag = b->tag;

    begin(v, ML_ACT_CHOICE, v->row->req,
          ml_format(tmp, "%s %s under: ", prim, ml_act_shown(v, tmp, tag)));
    ml_act_all_nodes(v, tmp, true, false, &all);
    for (size_t k = 0; k < all.n; k++)
        if (!ml_index_is_above(ml_act_program(v).index, all.v[k], tag))
            add(v, all.v[k], of_block(v, prim, tag, all.v[k]));
    show(v,
         ml_format(tmp, "no loop will do for %s of %s", prim, ml_act_shown(v, tmp, tag)));
}

/* One of the loops above the block. */
static void choose_above(ml_View *v, ml_Uid block, const char *title, const char *nothing)
{
    ml_Act *a = v->act;
    const char *prim = v->row->prim;
    ml_StmtVec above = {0};

    begin(v, ML_ACT_CHOICE, v->row->req, title);
    ml_index_loops(a->tmp, ml_act_program(v).index, block, &above);
    for (size_t k = 0; k < above.n; k++) {
        ml_Uid loop = ml_stmt_uid(above.v[k]);
        ml_ActCall at_first = ml_act_call(a->cx, prim, loop, ML_H_LOOP);

        ml_act_arg(a->cx, &at_first, "0");
        add(v, loop, a->req == ML_REQ_RFACTOR ? at_first : of_block(v, prim, block, loop));
    }
    show(v, nothing);
}

void ml_act_decompose(ml_View *v)
{
    const ml_Block *b = the_block(v);
    ml_Ctx *tmp = v->act->tmp;

    if (!b)
        return;
    const char *name = ml_act_shown(v, tmp, b->tag);

    choose_above(v, b->tag, ml_format(tmp, "init of %s before: ", name),
                 ml_format(tmp, "the reduction of %s cannot be decomposed", name));
}

/* At a loop its position is asked for at once; at a block the loop first. */
void ml_act_rfactor(ml_View *v)
{
    ml_Ctx *tmp = v->act->tmp;
    const ml_Block *b;

    if (ml_act_for(v, v->node)) {
        ml_ActAsk ask = {.text = "0",
                         .tail = ")",
                         .hint = "dimension of the new buffer that the loop becomes"};

        ask.label =
            ml_format(tmp, "rfactor %s as dimension: ", ml_act_shown(v, tmp, v->node));
        ask.call = ml_act_call(tmp, "rfactor", v->node, ML_H_LOOP);
        ml_act_ask(v, ML_REQ_RFACTOR, &ask);
    } else if ((b = the_block(v)) != NULL) {
        const char *name = ml_act_shown(v, tmp, b->tag);

        choose_above(v, b->tag, ml_format(tmp, "rfactor %s over: ", name),
                     ml_format(tmp, "no loop of %s can be factored", name));
    }
}

/* ---- reorder: several */

void ml_act_order(ml_View *v)
{
    ml_Ctx *tmp = v->act->tmp;
    ml_UidVec chain = {0};
    const ml_Block *b = ml_act_block_here(v, v->node, NULL);

    ml_act_chain(v, tmp, ml_act_for(v, v->node), &chain);
    if (chain.n < 2 && b) { /* loops with something beside them count, too */
        ml_StmtVec above = {0};

        ml_index_loops(tmp, ml_act_program(v).index, b->tag, &above);
        chain.n = 0;
        for (size_t k = 0; k < above.n; k++)
            ml_push(tmp, &chain, ml_stmt_uid(above.v[k]));
    }
    if (chain.n < 2) {
        ml_view_say(v, "loop %s is alone: there is nothing to reorder",
                    ml_name_of(v->ss->focus, v->node));
        return;
    }
    begin(v, ML_ACT_ORDER, ML_REQ_REORDER, "reorder: ");
    for (size_t k = 0; k < chain.n; k++)
        add(v, chain.v[k], (ml_ActCall){0});
}

static void mark_here(ml_View *v)
{
    ml_Act *a = v->act;
    ml_ActItem *it = item_at(a, v->node);

    if (!it)
        return;
    if (it->place == 0) {
        it->place = ++a->n_taken;
    } else {
        for (size_t k = 0; k < a->items.n; k++)
            if (a->items.v[k].place > it->place)
                a->items.v[k].place--;
        it->place = 0;
        a->n_taken--;
    }
    look(v);
}

/* ---- keys */

static void take(ml_View *v)
{
    ml_Act *a = v->act;
    ml_Uid node = a->node, at = v->node;
    bool order = a->open == ML_ACT_ORDER, ok;
    const ml_ActItem *it = item_at(a, v->node);

    if (order && a->n_taken == 1 && it && it->place == 0)
        mark_here(v); /* Enter on the second marks it */
    const char *line = line_now(v);

    if (!line) {
        ml_view_say(v, order
                           ? "mark two loops or more with the space bar, in their new order"
                           : "this loop is none of those that could be taken");
        return;
    }
    if (a->req == ML_REQ_RFACTOR) { /* now the dimension */
        ml_act_close(v);
        ml_act_begin(v, ML_REQ_RFACTOR, 1);
        return;
    }
    ml_ActCall c = call_now(v);

    ml_view_select(v, node); /* what was moved stays selected */
    ok = order ? ml_act_do(v, &c) : ml_act_run_at(v, a->req, line, &c, node);
    if (ok)
        ml_act_close(v);
    else
        ml_view_select(v, at);
}

void ml_act_choice_key(ml_View *v, const ml_Key *k)
{
    bool order = v->act->open == ML_ACT_ORDER;

    if (ml_key_among(k, "up k"))
        step(v, -1, !order);
    else if (ml_key_among(k, "down j tab"))
        step(v, 1, !order);
    else if (ml_key_is(k, "left"))
        step(v, -1, false);
    else if (ml_key_is(k, "right"))
        step(v, 1, false);
    else if (ml_key_among(k, "home pgup"))
        edge(v, false);
    else if (ml_key_among(k, "end pgdn"))
        edge(v, true);
    else if (order && (ml_key_is(k, " ") || ml_key_is(k, "o")))
        mark_here(v);
    else if (ml_key_is(k, "enter"))
        take(v);
    else if (ml_key_is(k, "q"))
        ml_act_cancel(v);
}

/* ---- how it looks */

ml_Choice ml_act_choice(const ml_View *v, ml_Uid node, int *place)
{
    ml_Act *a = v->act;
    const ml_ActItem *it = item_at(a, node);

    if (place)
        *place = it ? it->place : 0;
    if (a->open == ML_ACT_MENU || !it)
        return ML_CHOICE_NONE;
    if (it->place > 0)
        return ML_CHOICE_TAKEN;
    return it->tried && it->state == ML_TRIAL_FAILS ? ML_CHOICE_ILLEGAL : ML_CHOICE_LEGAL;
}

/* What is chosen by now: the loop at the cursor, the marked ones in their order. */
static void chosen(ml_View *v, ml_Text *out)
{
    ml_Act *a = v->act;
    ml_Uid at = a->open == ML_ACT_DRAG ? a->onto : v->node;

    if (a->open != ML_ACT_ORDER && item_at(a, at))
        ml_text_add(out, ml_name_of(v->ss->focus, at));
    for (uint8_t place = 1; place <= a->n_taken; place++)
        ml_text_fmt(out, "%s%s", out->n ? ", " : "",
                    ml_name_of(v->ss->focus, taken_at(a, place)->uid));
}

void ml_act_choice_line(ml_View *v, ml_Rows *r)
{
    ml_Act *a = v->act;
    const char *keys = a->open == ML_ACT_ORDER  ? "space marks  ⏎ apply  Esc leave"
                       : a->open == ML_ACT_DRAG ? ""
                                                : "↑ ↓ choose  ⏎ apply  Esc leave";
    ml_Text what = {0};
    ml_ActLine l;

    if (a->open == ML_ACT_CHOICE) { /* a click may have moved the cursor */
        const char *line = line_now(v);

        if (line && !ml_streq(line, ml_text_z(&a->line)))
            look(v);
    }
    chosen(v, &what);
    l = ml_act_line_begin(v, r);
    ml_act_put(&l, ML_ROLE_STRONG, a->title, l.w);
    ml_act_put(&l, ML_ROLE_TEXT, ml_text_z(&what), l.w);
    ml_act_put_check(v, &l, 0);
    ml_act_line_end(&l, keys);
    ml_text_free(&what);
}

/* ---- dragging */

/* Loop chain[from] where loop chain[to] stands: those between move over by one. */
static ml_ActCall move_to(ml_View *v, const ml_UidVec *chain, size_t from, size_t to)
{
    ml_Ctx *cx = v->act->cx;
    ml_ActCall c = {.prim = "reorder"};

    if (from > to)
        ml_act_arg_node(cx, &c, chain->v[from], ML_H_LOOP);
    for (size_t k = from < to ? from + 1 : to; k < (from < to ? to + 1 : from); k++)
        ml_act_arg_node(cx, &c, chain->v[k], ML_H_LOOP);
    if (from < to)
        ml_act_arg_node(cx, &c, chain->v[from], ML_H_LOOP);
    return c;
}

static void begin_drag(ml_View *v, ml_Uid a)
{
    ml_Act *act = v->act;
    ml_UidVec all = {0};
    size_t from = 0;

    begin(v, ML_ACT_DRAG, ML_REQ_REORDER,
          ml_format(act->tmp, "move %s to: ", ml_act_shown(v, act->tmp, a)));
    act->node = a;
    if (ml_act_for(v, a))
        ml_act_chain(v, act->tmp, ml_act_for(v, a), &all);
    else
        ml_act_all_nodes(v, act->tmp, true, false, &all);
    while (from < all.n && all.v[from] != a)
        from++;
    for (size_t k = 0; k < all.n; k++)
        if (ml_act_for(v, a) && k != from) {
            add(v, all.v[k], move_to(v, &all, from, k));
        } else if (k != from) { /* the block under a loop */
            add(v, all.v[k], of_block(v, "compute_at", a, all.v[k]))->also =
                of_block(v, "reverse_compute_at", a, all.v[k]);
        }
    ml_act_try_items(v, ml_loop_now() + ml_act_ms(v, EAGER_MS));
}

static void let_go(ml_View *v, ml_Uid a, ml_Uid b)
{
    ml_Act *act = v->act;
    ml_ActCall c = act->onto ? call_now(v) : (ml_ActCall){0};

    if (!c.prim && b && b != a)
        ml_view_say(v, "%s cannot be moved there: %s", ml_name_of(v->ss->focus, a),
                    ml_act_for(v, a) ? "that is no loop of its own nest"
                                     : "a block goes under a loop");
    ml_act_close(v); /* what was open is there until the end of the key */
    if (c.prim)
        ml_act_do(v, &c);
}

void ml_act_drag(ml_View *v, ml_Uid a, ml_Uid b, bool drop)
{
    ml_Act *act = ml_act_enter(v);

    if (ml_view_stmt(v, a) && !ml_act_in_reach(v, a, &act->why)) {
        ml_view_say(v, "%s", ml_text_z(&act->why));
    } else if (ml_view_stmt(v, a)) {
        if (act->open != ML_ACT_DRAG || act->node != a) {
            ml_act_cancel(v);
            begin_drag(v, a);
        }
        if (act->onto != b || drop) {
            act->onto = item_at(act, b) ? b : 0;
            look(v);
        }
        if (drop)
            let_go(v, a, b);
    }
    ml_act_leave(v);
}
