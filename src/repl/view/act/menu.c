/*
 * act_menu - a list to choose from: items with their effect, illegal ones dimmed with the
 * reason.
 *
 * Arrows (and j, k while nothing is typed) move, characters narrow the list, Enter takes an
 * item. Items that are a whole call are tried: at once as far as time allows, the rest
 * while nothing else is to do. Source: interaction 10.
 */
#include "repl/out/loop.h"
#include "repl/view/act/act_impl.h"

enum { EAGER_MS = 40, ITEM_MS = 10 };

void ml_act_menu_begin(ml_View *v, ml_Request r, const char *label)
{
    ml_Ctx *cx = ml_ctx_new(0);

    label = ml_strdup(cx, ml_str(label)); /* it may be of what is open now */
    ml_act_start_in(v, ML_ACT_MENU, r, cx);
    v->act->menu_label = label;
}

ml_ActItem *ml_act_menu_add(ml_View *v, const char *text, const char *note)
{
    ml_Act *a = v->act;
    ml_ActItem it = {.text = ml_strdup(a->cx, ml_str(text)),
                     .note = note ? ml_strdup(a->cx, ml_str(note)) : ""};

    ml_push(a->cx, &a->items, it);
    return &a->items.v[a->items.n - 1];
}

static const char *first_line(ml_Ctx *cx, const char *z)
{
    return ml_strdup(cx, (ml_Str){z, strcspn(z, "\n")});
}

/* More than that the call works. */
static bool tells_more(const ml_Text *says)
{
    static const char WORKS[] = " works";
    size_t n = sizeof WORKS - 1;

    return says->n > 0 && (says->n < n || memcmp(says->p + says->n - n, WORKS, n) != 0);
}

/* Arguments that work are looked for, and what they do is the effect. */
static void try_primitive(ml_View *v, ml_ActItem *it)
{
    ml_Act *a = v->act;
    ml_Text why = {0};
    ml_Trial t = {0};
    const char *call;

    it->tried = true;
    it->state = (uint8_t)ml_act_probe(v, it->prim, a->node, a->cx, &call, &why);
    if (it->state == ML_TRIAL_FAILS && why.n)
        it->note = first_line(a->cx, ml_text_z(&why));
    if (it->state == ML_TRIAL_WORKS && call) {
        it->line = call; /* for the preview */
        ml_trial(v->ss, call, ml_act_ms(v, ITEM_MS), false, &t);
        bool tells = t.kind == ML_TRIAL_WORKS && tells_more(&t.says);

        it->note = ml_format(a->cx, "%s  %s", call,
                             tells ? first_line(a->cx, ml_text_z(&t.says)) : it->note);
        ml_trial_free(&t);
    }
    ml_text_free(&why);
}

static void try_item(ml_View *v, ml_ActItem *it)
{
    ml_Act *a = v->act;
    ml_Trial t = {0};

    if (it->prim) {
        try_primitive(v, it);
        return;
    }
    ml_trial(v->ss, it->line, ml_act_ms(v, ITEM_MS), false, &t);
    it->state = (uint8_t)t.kind;
    it->tried = true;
    if (t.kind == ML_TRIAL_FAILS || (t.kind == ML_TRIAL_WORKS && tells_more(&t.says)))
        it->note = t.kind == ML_TRIAL_FAILS || !*it->note
                       ? first_line(a->cx, ml_text_z(&t.says))
                       : ml_format(a->cx, "%s: %s", it->note,
                                   first_line(a->cx, ml_text_z(&t.says)));
    ml_trial_free(&t);
}

static bool waits(const ml_ActItem *it)
{
    return !it->tried && (it->prim || (it->line && it->line[0] != ':'));
}

/* ---- the items that are shown */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static bool holds(const char *z, const char *part)
{
    for (; z && *z; z++) {
        size_t k = 0;

        while (part[k] && lower(z[k]) == lower(part[k]))
            k++;
        if (!part[k])
            return true;
    }
    return !*part;
}

static bool passes(ml_Act *a, const ml_ActItem *it)
{
    const char *part = ml_text_z(&a->filter);

    return holds(it->text, part) || (it->key && holds(it->key, part));
}

static size_t n_shown(ml_Act *a)
{
    size_t n = 0;

    for (size_t k = 0; k < a->items.n; k++)
        n += passes(a, &a->items.v[k]);
    return n;
}

static ml_ActItem *shown_at(ml_Act *a, size_t pos)
{
    for (size_t k = 0; k < a->items.n; k++)
        if (passes(a, &a->items.v[k]) && pos-- == 0)
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

static void legal_first(ml_Act *a)
{
    enum { LAST_RANK = 255 };
    ML_VEC(ml_ActItem) out = {0};

    for (int rank = 0; rank <= LAST_RANK; rank++)
        for (size_t k = 0; k < a->items.n; k++) {
            const ml_ActItem *it = &a->items.v[k];

            if ((it->state == ML_TRIAL_FAILS ? LAST_RANK : it->rank) == rank)
                ml_push(a->cx, &out, *it);
        }
    for (size_t k = 0; k < out.n; k++)
        a->items.v[k] = out.v[k];
}

void ml_act_menu_show(ml_View *v, const char *nothing)
{
    ml_Act *a = v->act;
    int64_t end = ml_loop_now() + ml_act_ms(v, EAGER_MS);

    if (a->items.n == 0) {
        ml_view_say(v, "%s", nothing);
        ml_act_close(v);
        return;
    }
    for (size_t k = 0; k < a->items.n && ml_loop_now() < end; k++)
        if (waits(&a->items.v[k]))
            try_item(v, &a->items.v[k]);
    legal_first(a);
    a->item = 0;
    look(v);
}

bool ml_act_menu_idle(ml_View *v, int64_t end)
{
    ml_Act *a = v->act;

    for (size_t k = 0; k < a->items.n; k++) {
        if (!waits(&a->items.v[k]))
            continue;
        if (ml_loop_now() >= end)
            return true;
        try_item(v, &a->items.v[k]);
    }
    return false;
}

/* ---- keys */

static void take(ml_View *v)
{
    ml_Act *a = v->act;
    const ml_ActItem *it = shown_at(a, a->item);
    ml_Text line = {0};
    ml_Request r = a->req;
    ml_Uid node = a->node;

    if (!it)
        return;
    if (it->pick) { /* it opens something else, or closes */
        it->pick(v, it);
        return;
    }
    if (!it->line) {
        ml_view_say(v, "%s: %s", it->text, it->note);
        return;
    }
    ml_text_add(&line, it->line);
    if (line.p[0] == ':') {
        ml_act_close(v);
        ml_act_run(v, ml_text_z(&line));
    } else if (ml_act_run_at(v, r, ml_text_z(&line), node) && a->open == ML_ACT_MENU)
        ml_act_close(v);
    ml_text_free(&line);
}

/* What is called so, else what begins so, else the first of those that hold it. */
static void narrow(ml_View *v)
{
    ml_Act *a = v->act;
    const char *part = ml_text_z(&a->filter);
    const ml_ActItem *it;

    a->item = 0;
    for (size_t k = 0; a->filter.n > 0 && (it = shown_at(a, k)) != NULL; k++) {
        if (ml_streq(it->text, part)) {
            a->item = k;
            break;
        }
        if (strncmp(it->text, part, a->filter.n) == 0 &&
            strncmp(shown_at(a, a->item)->text, part, a->filter.n) != 0)
            a->item = k;
    }
    look(v);
}

void ml_act_menu_key(ml_View *v, const ml_Key *k)
{
    ml_Act *a = v->act;
    size_t n = n_shown(a), was = a->item;
    bool typed = a->filter.n > 0;

    if (k->name && ml_streq(k->name, "enter")) {
        take(v);
        return;
    }
    if (k->name && ml_streq(k->name, "backspace") && typed) {
        do
            a->filter.p[--a->filter.n] = '\0';
        while (a->filter.n > 0 && ((unsigned char)a->filter.p[a->filter.n] & 0xc0) == 0x80);
        narrow(v);
        return;
    }
    if (k->name && ml_streq(k->name, "C-u")) {
        ml_text_clear(&a->filter);
        narrow(v);
        return;
    }
    if (ml_act_is(k, "up") || ml_act_is(k, "S-tab") || ml_act_is(k, "C-p") ||
        (!typed && ml_act_is(k, "k")))
        a->item = a->item > 0 ? a->item - 1 : n ? n - 1 : 0;
    else if (ml_act_is(k, "down") || ml_act_is(k, "tab") || ml_act_is(k, "C-n") ||
             (!typed && ml_act_is(k, "j")))
        a->item = a->item + 1 < n ? a->item + 1 : 0;
    else if (ml_act_is(k, "pgup"))
        a->item -= a->item > 8 ? 8 : a->item;
    else if (ml_act_is(k, "pgdn"))
        a->item = a->item + 8 < n ? a->item + 8 : n ? n - 1 : 0;
    else if (ml_act_is(k, "home"))
        a->item = 0;
    else if (ml_act_is(k, "end"))
        a->item = n ? n - 1 : 0;
    else if (!k->name && !typed && ml_streq(k->ch, "q")) {
        ml_act_cancel(v);
        return;
    } else if (!k->name && (unsigned char)k->ch[0] >= 0x20) {
        ml_text_add(&a->filter, k->ch);
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

    ml_act_put(&l, ML_ROLE_STRONG, a->menu_label, l.w);
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
    const char *at = strstr(it->note, it->text);
    size_t n = strlen(it->text);

    return at && at[n] == ':' && at[n + 1] == ' ' ? at + n + 2 : it->note;
}

void ml_act_menu_rows(ml_View *v, ml_Rows *r, int *at)
{
    ml_Act *a = v->act;
    int wide = 0, place = 0;

    *at = -1;
    for (size_t k = 0; k < a->items.n; k++) {
        int w = ml_text_columns(a->items.v[k].text, strlen(a->items.v[k].text));

        wide = w > wide && w <= 26 ? w : wide;
    }
    for (size_t k = 0; k < a->items.n; k++) {
        const ml_ActItem *it = &a->items.v[k];
        int w = ml_text_columns(it->text, strlen(it->text));
        bool fails = it->state == ML_TRIAL_FAILS;

        if (!passes(a, it))
            continue;
        ml_rows_begin(r);
        ml_rows_put(r, fails ? ML_ROLE_DIM : ML_ROLE_TEXT, "%s", it->text);
        if (*it->note)
            ml_rows_put(r, ML_ROLE_DIM, "%*s  %s%s", w < wide ? wide - w : 0, "",
                        fails ? "✗ " : "", fails ? reason_of(it) : it->note);
        ml_rows_end(r)->dim = fails;
        if ((size_t)place == a->item)
            *at = place;
        place++;
    }
}
