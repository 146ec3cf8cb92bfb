/*
 * menu - a list to choose from: items with their effect, illegal ones dimmed with the
 * reason.
 *
 * Arrows (and j, k while nothing is typed) move, characters narrow the list, Enter takes an
 * item. Items that are a whole call are tried: at once as far as time allows, the rest
 * while nothing else is to do. Source: interaction 10.
 */
#include "repl/view/act/act_impl.h"

enum { EAGER_MS = 40, ITEM_MS = 10 };

void ml_act_menu_begin(ml_View *v, ml_Request r, const char *label)
{
    ml_act_start(v, ML_ACT_MENU, r);
    v->act->title = label;
}

ml_ActItem *ml_act_menu_add(ml_View *v, const char *text, const char *note)
{
    ml_Act *a = v->act;
    ml_ActItem it = {.text = ml_strdup(a->cx, ml_str(text)),
                     .note = note ? ml_strdup(a->cx, ml_str(note)) : ""};

    ml_push(a->cx, &a->items, it);
    return &a->items.v[a->items.n - 1];
}

void ml_act_item_call(ml_View *v, ml_ActItem *it, ml_ActCall call)
{
    it->call = call;
    it->line = ml_act_print(v, v->act->cx, &call);
}

/* ---- trying them */

static const char *first_line(ml_Ctx *cx, const char *z)
{
    return ml_strdup(cx, (ml_Str){z, strcspn(z, "\n")});
}

/* More than that the call works. */
static bool tells_more(const ml_Trial *t)
{
    static const char WORKS[] = " works";
    size_t n = sizeof WORKS - 1;

    return t->kind == ML_TRIAL_WORKS && t->says.n > 0 &&
           (t->says.n < n || memcmp(t->says.p + t->says.n - n, WORKS, n) != 0);
}

/* Arguments that work are looked for, and what they do is the effect. */
static void try_primitive(ml_View *v, ml_ActItem *it)
{
    ml_Act *a = v->act;
    ml_Text why = {0};
    ml_Trial t = {0};
    ml_ActCall call;

    it->state = (uint8_t)ml_act_probe(v, it->prim, a->node, a->cx, &call, &why);
    if (it->state == ML_TRIAL_FAILS && why.n)
        it->note = first_line(a->cx, ml_text_z(&why));
    if (it->state == ML_TRIAL_WORKS && call.prim)
        ml_act_item_call(v, it, call); /* for the preview */
    if (it->state == ML_TRIAL_WORKS && it->line) {
        ml_trial(v->ss, it->line, ml_act_ms(v, ITEM_MS), false, &t);
        it->note =
            ml_format(a->cx, "%s  %s", it->line,
                      tells_more(&t) ? first_line(a->cx, ml_text_z(&t.says)) : it->note);
        ml_trial_free(&t);
    }
    ml_text_free(&why);
}

void ml_act_try_item(ml_View *v, ml_ActItem *it)
{
    ml_Act *a = v->act;
    ml_Trial t = {0};

    it->tried = true;
    if (it->prim) {
        try_primitive(v, it);
        return;
    }
    const char *also = it->also.prim ? ml_act_print(v, a->cx, &it->also) : NULL;

    it->state = ML_TRIAL_FAILS;
    for (const char *line = it->line; line;
         line = t.kind != ML_TRIAL_WORKS && line != also ? also : NULL) {
        ml_trial_free(&t);
        ml_trial(v->ss, line, ml_act_ms(v, ITEM_MS), false, &t);
        it->state = (uint8_t)t.kind;
        if (line == also && t.kind == ML_TRIAL_WORKS) {
            it->line = line;
            it->call = it->also;
        }
    }
    if (t.kind == ML_TRIAL_FAILS || tells_more(&t)) {
        const char *says = first_line(a->cx, ml_text_z(&t.says));

        it->note = t.kind == ML_TRIAL_FAILS || !*it->note
                       ? says
                       : ml_format(a->cx, "%s: %s", it->note, says);
    }
    ml_trial_free(&t);
}

bool ml_act_try_items(ml_View *v, int64_t end)
{
    ml_Act *a = v->act;

    for (size_t k = 0; k < a->items.n; k++) {
        ml_ActItem *it = &a->items.v[k];

        if (it->tried || !(it->prim || it->uid || (it->line && it->line[0] != ':')))
            continue;
        if (ml_loop_now() >= end)
            return true;
        ml_act_try_item(v, it);
    }
    return false;
}

/* ---- the items that are shown */

static bool holds(const char *z, const char *part)
{
    size_t at;

    return !*part || ml_find_text(z, part, 0, true, &at);
}

static bool passes(ml_Act *a, const ml_ActItem *it)
{
    const char *part = ml_text_z(&a->filter);

    return holds(it->text, part) || (it->key && holds(it->key, part));
}

/* The item at a place; NULL: there are fewer. */
static ml_ActItem *shown_at(ml_Act *a, size_t place)
{
    for (size_t k = 0; k < a->items.n; k++)
        if (passes(a, &a->items.v[k]) && place-- == 0)
            return &a->items.v[k];
    return NULL;
}

/* Tries what the cursor is on, for the check and the preview. */
static void look(ml_View *v)
{
    ml_Act *a = v->act;
    const ml_ActItem *it = shown_at(a, a->item);

    ml_act_forget_trial(a);
    if (it && it->line && it->line[0] != ':' &&
        ml_setting_bool(&v->ss->set, ML_SET_preview))
        ml_act_try(v, it->line);
}

static int rank_of(const ml_ActItem *it)
{
    return it->state == ML_TRIAL_FAILS ? 255 : it->rank;
}

static void legal_first(ml_Act *a)
{
    for (size_t k = 1; k < a->items.n; k++) {
        ml_ActItem it = a->items.v[k];
        size_t at = k;

        for (; at > 0 && rank_of(&a->items.v[at - 1]) > rank_of(&it); at--)
            a->items.v[at] = a->items.v[at - 1];
        a->items.v[at] = it;
    }
}

void ml_act_menu_show(ml_View *v, const char *nothing)
{
    ml_Act *a = v->act;

    if (a->items.n == 0) {
        ml_view_say(v, "%s", nothing);
        ml_act_close(v);
        return;
    }
    ml_act_try_items(v, ml_loop_now() + ml_act_ms(v, EAGER_MS));
    legal_first(a);
    a->item = 0;
    look(v);
}

/* ---- keys */

static void take(ml_View *v)
{
    ml_Act *a = v->act;
    const ml_ActItem *it = shown_at(a, a->item);

    if (!it)
        return;
    if (it->pick) { /* it opens something else, or closes */
        it->pick(v, it);
    } else if (!it->line) {
        ml_view_say(v, "%s: %s", it->text, it->note);
    } else if (it->line[0] == ':') {
        ml_act_close(v);
        ml_act_run(v, it->line);
    } else if (ml_act_run_at(v, a->req, it->line, &it->call, a->node) &&
               a->open == ML_ACT_MENU) {
        ml_act_close(v);
    }
}

/* What is called so, else what begins so, else the first of those that hold it. */
static void narrow(ml_View *v)
{
    ml_Act *a = v->act;
    const char *part = ml_text_z(&a->filter);
    const ml_ActItem *it;
    int best = 0;

    a->item = 0;
    for (size_t k = 0; a->filter.n > 0 && (it = shown_at(a, k)) != NULL; k++) {
        int fits = ml_streq(it->text, part)                    ? 2
                   : strncmp(it->text, part, a->filter.n) == 0 ? 1
                                                               : 0;

        if (fits > best) {
            best = fits;
            a->item = k;
        }
    }
    look(v);
}

void ml_act_menu_key(ml_View *v, const ml_Key *k)
{
    enum { PAGE = 8 };
    ml_Act *a = v->act;
    size_t n = 0, was = a->item;
    bool typed = a->filter.n > 0;

    while (shown_at(a, n))
        n++;
    if (ml_key_is(k, "enter")) {
        take(v);
        return;
    }
    if (!typed && ml_key_is(k, "q")) {
        ml_act_cancel(v);
        return;
    }
    if (ml_key_among(k, typed ? "up S-tab C-p" : "up S-tab C-p k"))
        a->item = a->item > 0 ? a->item - 1 : n ? n - 1 : 0;
    else if (ml_key_among(k, typed ? "down tab C-n" : "down tab C-n j"))
        a->item = a->item + 1 < n ? a->item + 1 : 0;
    else if (ml_key_is(k, "pgup"))
        a->item -= a->item > PAGE ? PAGE : a->item;
    else if (ml_key_is(k, "pgdn"))
        a->item = a->item + PAGE < n ? a->item + PAGE : n ? n - 1 : 0;
    else if (ml_key_is(k, "home"))
        a->item = 0;
    else if (ml_key_is(k, "end"))
        a->item = n ? n - 1 : 0;
    else if ((ml_key_is(k, "backspace") && typed) || ml_key_is(k, "C-u") ||
             (!k->name && (unsigned char)k->ch[0] >= 0x20)) {
        if (!k->name)
            ml_text_add(&a->filter, k->ch);
        else if (ml_key_is(k, "C-u"))
            ml_text_clear(&a->filter);
        else
            ml_text_drop_last(&a->filter);
        narrow(v);
        return;
    }
    if (a->item != was)
        look(v);
}

/* ---- how it looks */

void ml_act_menu_line(ml_View *v, ml_Rows *r, int *cursor)
{
    ml_Act *a = v->act;
    const ml_ActItem *it = shown_at(a, a->item);
    ml_ActLine l = ml_act_line_begin(v, r);

    ml_act_put(&l, ML_ROLE_STRONG, a->title, l.w);
    ml_act_put(&l, ML_ROLE_TEXT, ml_text_z(&a->filter), l.w);
    *cursor = l.used < l.w ? l.used : l.w - 1;
    if (!it)
        ml_act_put(&l, ML_ROLE_ERROR, "   nothing here is called that", l.w);
    else if (a->filter.n == 0)
        ml_act_put(&l, ML_ROLE_TEXT, it->text, l.w);
    if (it)
        ml_act_put_check(v, &l, 0);
    ml_act_line_end(&l, "⏎ take  Esc leave");
}

/* Behind `block C does not compute NAME: `, which stands there already. */
static const char *reason_of(const ml_ActItem *it)
{
    size_t at, n = strlen(it->text);

    return ml_find_text(it->note, it->text, 0, false, &at) && it->note[at + n] == ':' &&
                   it->note[at + n + 1] == ' '
               ? it->note + at + n + 2
               : it->note;
}

void ml_act_put_item(ml_Rows *r, const char *text, const char *note, int column, bool fails)
{
    int w = ml_text_columns(text, strlen(text));

    ml_rows_put(r, fails ? ML_ROLE_DIM : ML_ROLE_TEXT, "%s", text);
    if (*note)
        ml_rows_put(r, ML_ROLE_DIM, "%*s  %s%s", w < column ? column - w : 0, "",
                    fails ? "✗ " : "", note);
    ml_rows_end(r)->dim = fails;
}

void ml_act_menu_rows(ml_View *v, ml_Rows *r, int *at)
{
    enum { WIDE = 26 };
    ml_Act *a = v->act;
    int wide = 0;

    for (size_t k = 0; k < a->items.n; k++)
        wide = ml_wider(wide, a->items.v[k].text, WIDE);
    for (size_t k = 0; k < a->items.n; k++) {
        const ml_ActItem *it = &a->items.v[k];
        bool fails = it->state == ML_TRIAL_FAILS;

        if (!passes(a, it))
            continue;
        if (r->v.n == a->item)
            *at = (int)r->v.n;
        ml_act_put_item(r, it->text, fails ? reason_of(it) : it->note, wide, fails);
    }
}
