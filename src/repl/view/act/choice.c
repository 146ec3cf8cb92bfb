/*
 * act_choice - picking nodes where they stand: the legal ones light up, the cursor goes
 * over them, each is tried when the cursor is on it.
 *
 * One node is chosen (compute_at, decompose_reduction, rfactor), or several one after the
 * other (reorder). The cursor is the view's selected node, so that a click picks as well.
 * Source: interaction 10.
 */
#include "repl/out/loop.h"
#include "repl/view/act/act_impl.h"

enum { EAGER_MS = 40, ONE_MS = 10 };

/* ---- one node */

void ml_act_choose(ml_View *v, ml_Request r, const char *label,
                   const char *(*line)(ml_View *v, ml_Uid node))
{
    ml_Act *a = v->act;

    ml_act_start(v, ML_ACT_CHOICE, r);
    a->choice_label = ml_strdup(a->cx, ml_str(label));
    a->choice_line = line;
}

void ml_act_choose_add(ml_View *v, ml_Uid node)
{
    ml_Act *a = v->act;

    ml_push(a->cx, &a->nodes, ((ml_ActNode){.uid = node}));
}

static ml_ActNode *node_at(ml_Act *a, ml_Uid uid)
{
    for (size_t k = 0; k < a->nodes.n; k++)
        if (a->nodes.v[k].uid == uid)
            return &a->nodes.v[k];
    return NULL;
}

static void judge(ml_View *v, ml_ActNode *n)
{
    const char *line = v->act->choice_line(v, n->uid);
    ml_Trial t = {0};

    if (line)
        ml_trial(v->ss, line, ml_act_ms(v, ONE_MS), false, &t);
    n->state = line ? (uint8_t)t.kind : ML_TRIAL_FAILS;
    n->tried = true;
    ml_trial_free(&t);
}

/* reorder("k", "i"): the marked loops in their order; in cx. NULL: too few. */
static const char *order_line(ml_View *v)
{
    ml_Act *a = v->act;
    ml_Text t = {0};
    const char *z = NULL;

    ml_text_add(&t, "reorder(");
    for (uint8_t place = 1; place <= a->n_taken; place++)
        for (size_t k = 0; k < a->nodes.n; k++) {
            const char *name;

            if (a->nodes.v[k].place != place)
                continue;
            name = ml_act_name(v, a->cx, a->nodes.v[k].uid, ML_H_LOOP);
            ml_text_fmt(&t, "%s%s", place > 1 ? ", " : "", name ? name : "?");
        }
    ml_text_char(&t, ')');
    if (a->n_taken > 1)
        z = ml_strdup(a->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

/* The call at the cursor; NULL: none yet. */
static const char *line_now(ml_View *v)
{
    ml_Act *a = v->act;

    if (a->open == ML_ACT_ORDER)
        return order_line(v);
    if (a->open == ML_ACT_DRAG)
        return a->onto ? a->choice_line(v, a->onto) : NULL;
    return node_at(a, v->node) ? a->choice_line(v, v->node) : NULL;
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
    size_t n = a->nodes.n, at = 0;

    while (at < n && a->nodes.v[at].uid != v->node)
        at++;
    if (at == n)
        at = by > 0 ? n - 1 : 0;
    for (size_t k = 0; k < n; k++) {
        at = (at + (by > 0 ? 1 : n - 1)) % n;
        if (!legal || a->nodes.v[at].state != ML_TRIAL_FAILS)
            break;
    }
    ml_view_select(v, a->nodes.v[at].uid);
    look(v);
}

static void edge(ml_View *v, bool last)
{
    ml_Act *a = v->act;

    for (size_t k = 0; k < a->nodes.n; k++) {
        const ml_ActNode *n = &a->nodes.v[last ? a->nodes.n - 1 - k : k];

        if (n->state == ML_TRIAL_FAILS && k + 1 < a->nodes.n)
            continue;
        ml_view_select(v, n->uid);
        break;
    }
    look(v);
}

void ml_act_choose_show(ml_View *v, const char *nothing)
{
    ml_Act *a = v->act;
    int64_t end = ml_loop_now() + ml_act_ms(v, EAGER_MS);
    size_t illegal = 0;

    for (size_t k = 0; k < a->nodes.n && ml_loop_now() < end; k++) {
        judge(v, &a->nodes.v[k]);
        illegal += a->nodes.v[k].state == ML_TRIAL_FAILS;
    }
    if (a->nodes.n == 0) {
        ml_view_say(v, "%s", nothing);
        ml_act_close(v);
        return;
    }
    if (illegal == a->nodes.n) { /* the reason is that of the first */
        ml_act_try(v, a->choice_line(v, a->nodes.v[0].uid));
        ml_view_say(v, "%s: %.*s", nothing, (int)strcspn(ml_text_z(&a->trial.says), "\n"),
                    ml_text_z(&a->trial.says));
        ml_act_close(v);
        return;
    }
    const ml_ActNode *here = node_at(a, v->node);

    if (here && here->state != ML_TRIAL_FAILS)
        look(v);
    else
        step(v, 1, true);
}

bool ml_act_choice_idle(ml_View *v, int64_t end)
{
    ml_Act *a = v->act;

    for (size_t k = 0; k < a->nodes.n; k++) {
        if (a->nodes.v[k].tried)
            continue;
        if (ml_loop_now() >= end)
            return true;
        judge(v, &a->nodes.v[k]);
    }
    return false;
}

/* ---- what is chosen for what */

static const char *of_block(ml_View *v, const char *prim, ml_Uid node)
{
    ml_Act *a = v->act;
    const ml_Block *b = ml_act_block_here(v, a->node, NULL);
    const char *block = b ? ml_act_name(v, a->cx, b->tag, ML_H_BLOCK) : NULL;
    const char *loop = ml_act_name(v, a->cx, node, ML_H_LOOP);

    return block && loop ? ml_format(a->cx, "%s(%s, %s)", prim, block, loop) : NULL;
}

static const char *compute_at_line(ml_View *v, ml_Uid node)
{
    return of_block(v, "compute_at", node);
}

static const char *reverse_compute_at_line(ml_View *v, ml_Uid node)
{
    return of_block(v, "reverse_compute_at", node);
}

static const char *decompose_line(ml_View *v, ml_Uid node)
{
    return of_block(v, "decompose_reduction", node);
}

static const char *rfactor_line(ml_View *v, ml_Uid node)
{
    ml_Act *a = v->act;
    const char *loop = ml_act_name(v, a->cx, node, ML_H_LOOP);

    return loop ? ml_format(a->cx, "rfactor(%s, 0)", loop) : NULL;
}

/* The block that a request is about; NULL: it was said why there is none. */
static const ml_Block *the_block(ml_View *v)
{
    ml_Text why = {0};
    const ml_Block *b = ml_act_block_here(v, v->node, &why);

    if (!b)
        ml_view_say(v, "%s", ml_text_z(&why));
    ml_text_free(&why);
    return b;
}

static void add_loops_above(ml_View *v, ml_Uid block)
{
    ml_StmtVec above = {0};

    ml_index_loops(v->act->cx, ml_act_program(v).index, block, &above);
    for (size_t k = 0; k < above.n; k++)
        ml_act_choose_add(v, ml_stmt_uid(above.v[k]));
}

void ml_act_compute_at(ml_View *v, bool reverse)
{
    const ml_Block *b = the_block(v);
    ml_Ctx *tmp = ml_ctx_new(0);
    const char *name = reverse ? "reverse_compute_at" : "compute_at";
    ml_UidVec all = {0};

    if (b) {
        ml_Uid tag = b->tag;

        ml_act_choose(v, reverse ? ML_REQ_REVERSE_COMPUTE_AT : ML_REQ_COMPUTE_AT,
                      ml_format(tmp, "%s %s under: ", name, ml_act_shown(v, tmp, tag)),
                      reverse ? reverse_compute_at_line : compute_at_line);
        ml_act_all_nodes(v, tmp, true, false, &all);
        for (size_t k = 0; k < all.n; k++)
            if (!ml_index_is_above(ml_act_program(v).index, all.v[k], tag))
                ml_act_choose_add(v, all.v[k]);
        ml_act_choose_show(v, ml_format(tmp, "no loop will do for %s of %s", name,
                                        ml_act_shown(v, tmp, tag)));
    }
    ml_ctx_unref(tmp);
}

void ml_act_decompose(ml_View *v, int count)
{
    const ml_Block *b = the_block(v);
    ml_Ctx *tmp = ml_ctx_new(0);

    (void)count;
    if (b) {
        const char *name = ml_act_shown(v, tmp, b->tag);

        ml_act_choose(v, ML_REQ_DECOMPOSE, ml_format(tmp, "init of %s before: ", name),
                      decompose_line);
        add_loops_above(v, b->tag);
        ml_act_choose_show(
            v, ml_format(tmp, "the reduction of %s cannot be decomposed", name));
    }
    ml_ctx_unref(tmp);
}

/* At a loop its position is asked for at once; at a block the loop first. */
void ml_act_rfactor(ml_View *v, int count)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    const ml_Block *b;

    (void)count;
    if (ml_act_for(v, v->node)) {
        const char *name = ml_act_name(v, tmp, v->node, ML_H_LOOP);
        ml_ActAsk ask = {.text = "0",
                         .tail = ")",
                         .hint = "dimension of the new buffer that the loop becomes"};

        ask.label =
            ml_format(tmp, "rfactor %s as dimension: ", ml_act_shown(v, tmp, v->node));
        ask.head = ml_format(tmp, "rfactor(%s, ", name ? name : "?");
        ml_act_ask(v, ML_REQ_RFACTOR, &ask);
    } else if ((b = the_block(v)) != NULL) {
        const char *name = ml_act_shown(v, tmp, b->tag);

        ml_act_choose(v, ML_REQ_RFACTOR, ml_format(tmp, "rfactor %s over: ", name),
                      rfactor_line);
        add_loops_above(v, b->tag);
        ml_act_choose_show(v, ml_format(tmp, "no loop of %s can be factored", name));
    }
    ml_ctx_unref(tmp);
}

/* ---- reorder: several */

void ml_act_order(ml_View *v, int count)
{
    const ml_For *f = ml_act_for(v, v->node);
    ml_Act *a = v->act;
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_UidVec chain = {0};
    const ml_Block *b;

    (void)count;
    ml_act_chain(v, tmp, f, &chain);
    b = ml_act_block_here(v, v->node,
                          NULL); /* loops with something beside them count, too */
    if (chain.n < 2 && b) {
        ml_StmtVec above = {0};

        ml_index_loops(tmp, ml_act_program(v).index, b->tag, &above);
        chain.n = 0;
        for (size_t k = 0; k < above.n; k++)
            ml_push(tmp, &chain, ml_stmt_uid(above.v[k]));
    }
    if (chain.n < 2)
        ml_view_say(v, "loop %s is alone: there is nothing to reorder",
                    ml_name_of(v->ss->focus, v->node));
    else {
        ml_act_start(v, ML_ACT_ORDER, ML_REQ_REORDER);
        a->choice_label = "reorder: ";
        for (size_t k = 0; k < chain.n; k++)
            ml_act_choose_add(v, chain.v[k]);
    }
    ml_ctx_unref(tmp);
}

static void mark_here(ml_View *v)
{
    ml_Act *a = v->act;
    ml_ActNode *n = node_at(a, v->node);

    if (!n)
        return;
    if (n->place == 0) {
        n->place = ++a->n_taken;
    } else {
        for (size_t k = 0; k < a->nodes.n; k++)
            if (a->nodes.v[k].place > n->place)
                a->nodes.v[k].place--;
        n->place = 0;
        a->n_taken--;
    }
    look(v);
}

/* ---- keys */

static void take(ml_View *v)
{
    ml_Act *a = v->act;
    ml_Text line = {0};
    ml_Request r = a->req;
    ml_Uid node = a->node, at = v->node;
    const char *z;

    if (a->open == ML_ACT_ORDER && a->n_taken == 1 && node_at(a, v->node) &&
        node_at(a, v->node)->place == 0)
        mark_here(v); /* Enter on the second marks it */
    z = line_now(v);
    if (!z) {
        ml_view_say(v, a->open == ML_ACT_ORDER
                           ? "mark two loops or more with the space bar, in their new order"
                           : "this loop is none of those that could be taken");
        return;
    }
    if (r == ML_REQ_RFACTOR) { /* now the dimension */
        ml_act_close(v);
        ml_act_begin(v, ML_REQ_RFACTOR, 1);
        return;
    }
    ml_text_add(&line, z);
    ml_view_select(v, node); /* what was moved stays selected */
    if (a->open == ML_ACT_ORDER ? ml_act_run(v, ml_text_z(&line))
                                : ml_act_run_at(v, r, ml_text_z(&line), node))
        ml_act_close(v);
    else
        ml_view_select(v, at);
    ml_text_free(&line);
}

void ml_act_choice_key(ml_View *v, const ml_Key *k)
{
    bool order = v->act->open == ML_ACT_ORDER;

    if (ml_act_is(k, "up") || ml_act_is(k, "k"))
        step(v, -1, !order);
    else if (ml_act_is(k, "down") || ml_act_is(k, "j") || ml_act_is(k, "tab"))
        step(v, 1, !order);
    else if (ml_act_is(k, "left"))
        step(v, -1, false);
    else if (ml_act_is(k, "right"))
        step(v, 1, false);
    else if (ml_act_is(k, "home") || ml_act_is(k, "pgup"))
        edge(v, false);
    else if (ml_act_is(k, "end") || ml_act_is(k, "pgdn"))
        edge(v, true);
    else if (order && (ml_act_is(k, " ") || ml_act_is(k, "o")))
        mark_here(v);
    else if (ml_act_is(k, "enter"))
        take(v);
    else if (ml_act_is(k, "q"))
        ml_act_cancel(v);
}

ml_Choice ml_act_choice(const ml_View *v, ml_Uid node, int *place)
{
    ml_Act *a = v->act;
    const ml_ActNode *n;

    if (place)
        *place = 0;
    if (a->open != ML_ACT_CHOICE && a->open != ML_ACT_ORDER && a->open != ML_ACT_DRAG)
        return ML_CHOICE_NONE;
    n = node_at(a, node);
    if (!n)
        return ML_CHOICE_NONE;
    if (place)
        *place = n->place;
    if (n->place > 0)
        return ML_CHOICE_TAKEN;
    return n->tried && n->state == ML_TRIAL_FAILS ? ML_CHOICE_ILLEGAL : ML_CHOICE_LEGAL;
}

/* What is chosen by now: the loop at the cursor, the marked ones in their order. */
static void chosen(ml_View *v, ml_Text *out)
{
    ml_Act *a = v->act;
    const ml_Schedule *s = v->ss->focus;

    if (a->open == ML_ACT_CHOICE && node_at(a, v->node))
        ml_text_add(out, ml_name_of(v->ss->focus, v->node));
    if (a->open == ML_ACT_DRAG && a->onto)
        ml_text_add(out, ml_name_of(v->ss->focus, a->onto));
    for (uint8_t place = 1; s && place <= a->n_taken; place++)
        for (size_t k = 0; k < a->nodes.n; k++)
            if (a->nodes.v[k].place == place)
                ml_text_fmt(out, "%s%s", out->n ? ", " : "",
                            ml_name_of(v->ss->focus, a->nodes.v[k].uid));
}

void ml_act_choice_line(ml_View *v, ml_Rows *r, int *cursor)
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
    ml_act_put(&l, ML_ROLE_STRONG, a->choice_label, l.w);
    ml_act_put(&l, ML_ROLE_TEXT, ml_text_z(&what), l.w);
    ml_act_put_check(v, &l, 0);
    ml_act_line_end(&l, keys);
    ml_text_free(&what);
    *cursor = -1;
}

/* ---- dragging */

static bool in_chain(const ml_UidVec *c, ml_Uid uid, size_t *at)
{
    for (*at = 0; *at < c->n; (*at)++)
        if (c->v[*at] == uid)
            return true;
    return false;
}

/* Loop a where loop b stands: those between move over by one. Block a: under loop b. */
static const char *drag_line(ml_View *v, ml_Uid b)
{
    ml_Act *act = v->act;
    ml_Uid a = act->node;
    const ml_For *f = ml_act_for(v, a);
    ml_UidVec chain = {0};
    size_t from, to;
    ml_Text t = {0};
    const char *z = NULL;

    if (ml_act_block(v, a) && ml_act_for(v, b)) {
        const char *line = compute_at_line(v, b);
        ml_Trial trial = {0};

        if (line)
            ml_trial(v->ss, line, ml_act_ms(v, ONE_MS), false, &trial);
        if (trial.kind != ML_TRIAL_WORKS && reverse_compute_at_line(v, b)) {
            ml_trial_free(&trial);
            trial = (ml_Trial){0};
            ml_trial(v->ss, reverse_compute_at_line(v, b), ml_act_ms(v, ONE_MS), false,
                     &trial);
            line = trial.kind == ML_TRIAL_WORKS ? reverse_compute_at_line(v, b) : line;
        }
        ml_trial_free(&trial);
        return line;
    }
    if (!f || a == b)
        return NULL;
    ml_act_chain(v, act->cx, f, &chain);
    if (!in_chain(&chain, a, &from) || !in_chain(&chain, b, &to))
        return NULL;
    ml_text_add(&t, "reorder(");
    if (from > to)
        ml_text_fmt(&t, "%s, ", ml_act_name(v, act->cx, a, ML_H_LOOP));
    for (size_t k = from < to ? from + 1 : to; k < (from < to ? to + 1 : from); k++)
        ml_text_fmt(&t, "%s%s", k > (from < to ? from + 1 : to) ? ", " : "",
                    ml_act_name(v, act->cx, chain.v[k], ML_H_LOOP));
    if (from < to)
        ml_text_fmt(&t, ", %s", ml_act_name(v, act->cx, a, ML_H_LOOP));
    ml_text_char(&t, ')');
    z = ml_strdup(act->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

static void begin_drag(ml_View *v, ml_Uid a)
{
    ml_Act *act = v->act;
    ml_UidVec all = {0};

    ml_act_start(v, ML_ACT_DRAG, ML_REQ_REORDER);
    act->node = a;
    act->choice_label = ml_format(act->cx, "move %s to: ", ml_act_shown(v, act->cx, a));
    act->choice_line = drag_line;
    if (ml_act_for(v, a))
        ml_act_chain(v, act->cx, ml_act_for(v, a), &all);
    else
        ml_act_all_nodes(v, act->cx, true, false, &all);
    for (size_t k = 0; k < all.n; k++)
        if (all.v[k] != a)
            ml_act_choose_add(v, all.v[k]);
    int64_t end = ml_loop_now() + ml_act_ms(v, EAGER_MS);

    for (size_t k = 0; k < act->nodes.n && ml_loop_now() < end; k++)
        judge(v, &act->nodes.v[k]);
}

void ml_act_drag(ml_View *v, ml_Uid a, ml_Uid b, bool drop)
{
    ml_Act *act = v->act;
    ml_Text line = {0};

    ml_Text why = {0};

    if (!ml_act_stmt(v, a))
        return;
    if (!ml_act_in_reach(v, a, &why)) {
        ml_view_say(v, "%s", ml_text_z(&why));
        ml_text_free(&why);
        return;
    }
    if (act->open != ML_ACT_DRAG || act->node != a) {
        ml_act_cancel(v);
        begin_drag(v, a);
    }
    if (act->onto != b || drop) {
        act->onto = node_at(act, b) ? b : 0;
        look(v);
    }
    if (!drop)
        return;
    if (act->onto && line_now(v))
        ml_text_add(&line, line_now(v));
    else if (b && b != a)
        ml_view_say(v, "%s cannot be moved there: %s", ml_name_of(v->ss->focus, a),
                    ml_act_for(v, a) ? "that is no loop of its own nest"
                                     : "a block goes under a loop");
    ml_act_close(v);
    if (line.n)
        ml_act_run(v, ml_text_z(&line));
    ml_text_free(&line);
}
