/*
 * prompt - a line that is being completed: arguments as a Lua fragment, or a line of
 * the prompt. Each key tries the whole call and shows what it would do.
 *
 * The text is UTF-8, the cursor a byte position at the begin of a character. Source:
 * interaction 4, 10.
 */
#include "moonloop/core/base/arena.h"
#include "moonloop/core/base/utf8.h"
#include "moonloop/primitives/tokens.h"
#include "repl/keep/history.h"
#include "repl/line/complete.h"
#include "repl/view/act/act_impl.h"

/* ---- the text */

static const char *text_of(ml_Act *a)
{
    return ml_text_z(&a->text);
}

/* Replaces bytes [from, to) and leaves the cursor behind what is new. */
static void splice(ml_Act *a, size_t from, size_t to, const char *with, size_t n)
{
    ml_Text t = {0};

    ml_text_fmt(&t, "%.*s%.*s%s", (int)from, text_of(a), (int)n, with, text_of(a) + to);
    ml_text_free(&a->text);
    a->text = t;
    a->at = from + n;
}

static void set_text(ml_Act *a, const char *z)
{
    splice(a, 0, a->text.n, z, strlen(z));
}

static size_t after(ml_Act *a, size_t at)
{
    const char *z = text_of(a);
    size_t n = ml_utf8_length(z + at, z + a->text.n);

    return at + (n ? n : 1);
}

static size_t before(ml_Act *a, size_t at)
{
    size_t k = at;

    do
        k--;
    while (k > 0 && ((unsigned char)text_of(a)[k] & 0xc0) == 0x80);
    return k;
}

static bool in_word(char c)
{
    return ml_in_word(c) || (unsigned char)c >= 0x80;
}

static size_t word_begin(ml_Act *a)
{
    size_t k = a->at;

    while (k > 0 && !in_word(text_of(a)[k - 1]))
        k--;
    while (k > 0 && in_word(text_of(a)[k - 1]))
        k--;
    return k;
}

/* for, local ...; goto is a command. */
static bool begins_lua(ml_Str word)
{
    return ml_is_lua_keyword(word) && !ml_str_eq(word, ml_str("goto"));
}

/* The line of the prompt that the text behind the colon of the panes means: a command, or
 * Lua where no command could go on like that: a call, a field, an assignment, a keyword. */
static const char *free_line(ml_Act *a)
{
    const char *rest = text_of(a), *end;

    if (*rest != ':')
        return rest;
    rest += strspn(rest, ": "); /* who types a colon of their own means the same */
    end = rest +
          strspn(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    if (begins_lua((ml_Str){rest, (size_t)(end - rest)}) ||
        (end > rest && (*end && strchr("({[.:,", *end))))
        return rest;
    end += strspn(end, " ");
    if (end > rest && *end == '=')
        return rest;
    return ml_format(a->cx, ":%s", rest);
}

/* One number alone is the last factor. */
static const char *lone(ml_Act *a)
{
    bool one =
        a->ask.factors && a->text.n > 0 && strspn(text_of(a), "0123456789") == a->text.n;

    return one ? "auto, " : "";
}

static const char *whole_line(ml_Act *a)
{
    if (a->ask.free)
        return free_line(a);
    return ml_format(a->cx, "%s%s%s%s", a->ask.head, lone(a), text_of(a), a->ask.tail);
}

/* The call that the line is. */
static ml_ActCall whole_call(ml_View *v)
{
    ml_Act *a = v->act;
    ml_ActCall c = a->ask.call;

    if (c.args.n == 0)
        ml_act_arg_typed(v, a->cx, &c, text_of(a), a->node);
    else /* behind what is known of it; the tail closes the call, too */
        ml_act_arg(a->cx, &c,
                   ml_format(a->cx, "%s%s%s%.*s", a->ask.open ? a->ask.open : "", lone(a),
                             text_of(a), (int)strlen(a->ask.tail) - 1, a->ask.tail));
    return c;
}

/* ---- the live check */

static void check(ml_View *v)
{
    ml_Act *a = v->act;

    ml_act_forget_trial(a);
    if (a->text.n > 0 && !(a->ask.free && free_line(a)[0] == ':') &&
        ml_setting_bool(&v->ss->set, ML_SET_preview))
        ml_act_try(v, whole_line(a));
}

/* ---- history */

static size_t past_count(ml_View *v)
{
    ml_Act *a = v->act;

    if (a->ask.free)
        return v->ss->history ? ml_history_count(v->ss->history) : 0;
    return a->past[a->req].n;
}

static const char *past_entry(ml_View *v, size_t k)
{
    ml_Act *a = v->act;

    return a->ask.free ? ml_history_at(v->ss->history, k) : a->past[a->req].v[k];
}

static void go_past(ml_View *v, int by)
{
    ml_Act *a = v->act;
    size_t n = past_count(v);

    if ((by < 0 && a->past_at == 0) || (by > 0 && a->past_at >= n))
        return;
    if (a->past_at == n) {
        ml_text_clear(&a->kept);
        ml_text_add(&a->kept, text_of(a));
    }
    a->past_at = by < 0 ? a->past_at - 1 : a->past_at + 1;
    if (a->past_at >= n)
        set_text(a, ml_text_z(&a->kept));
    else {
        const char *z = past_entry(v, a->past_at);

        if (strchr(z, '\n')) /* entries of several lines do not fit here */
            go_past(v, by);
        else
            set_text(a, z);
    }
}

static void remember(ml_View *v)
{
    ml_Act *a = v->act;
    ml_ActPast *p = &a->past[a->req];
    ml_Text why = {0};

    if (a->ask.free) {
        if (v->ss->history)
            ml_history_add(v->ss->history, text_of(a), &why);
        ml_text_free(&why);
        return;
    }
    if (p->n > 0 && ml_streq(p->v[p->n - 1], text_of(a)))
        return;
    if (p->n == ML_ACT_HISTORY) {
        ml_heap_free(p->v[0]);
        memmove(p->v, p->v + 1, (p->n - 1) * sizeof *p->v);
        p->n--;
    }
    p->v[p->n++] = ml_heap_text(text_of(a));
}

/* ---- Tab */

static void offer(const char *text, const char *note, void *user)
{
    enum { MOST = 400 };
    ml_View *v = user;

    if (v->act->items.n < MOST)
        ml_act_menu_add(v, text, note);
}

static void drop_offers(ml_Act *a)
{
    a->offering = false;
    a->items.n = 0;
}

static size_t common_part(const ml_Act *a)
{
    size_t n = strlen(a->items.v[0].text);

    for (size_t k = 1; k < a->items.n; k++) {
        size_t m = 0;

        while (m < n && a->items.v[k].text[m] == a->items.v[0].text[m])
            m++;
        n = m;
    }
    while (n > 0 && ((unsigned char)a->items.v[0].text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

static void put_offer(ml_Act *a)
{
    const char *z = a->items.v[a->offer_at].text;

    splice(a, a->offer_from, a->offer_to, z, strlen(z));
    a->offer_to = a->at;
}

static bool is_proposal(ml_Act *a)
{
    for (size_t k = 0; k < a->ask.n_proposals; k++)
        if (ml_streq(a->ask.proposals[k], text_of(a)))
            return true;
    return a->text.n == 0;
}

static void begin_offers(ml_View *v, bool back)
{
    ml_Act *a = v->act;

    drop_offers(a);
    if (a->ask.n_proposals && is_proposal(a)) {
        for (size_t k = 0; k < a->ask.n_proposals; k++)
            offer(a->ask.proposals[k], a->ask.notes[k], v);
        a->offer_from = 0;
        a->offer_to = a->text.n;
        a->offer_at = back ? a->items.n - 1 : 0;
        for (size_t k = 0; k < a->items.n; k++)
            if (a->text.n && ml_streq(a->items.v[k].text, text_of(a)))
                a->offer_at = (k + (back ? a->items.n - 1 : 1)) % a->items.n;
        a->offering = true;
        put_offer(a);
        return;
    }
    size_t head = strlen(a->ask.head), cursor = head + a->at;
    const char *line = ml_format(a->cx, "%s%s%s", a->ask.head, text_of(a), a->ask.tail);
    ml_CompletionPlace at = ml_completions(v->ss, line, cursor, offer, v);

    if (a->items.n == 0 || at.start < head || at.start > cursor) {
        drop_offers(a);
        return;
    }
    size_t n = common_part(a), have = cursor - at.start;

    a->offer_from = at.start - head;
    a->offer_to = a->at;
    a->offer_at = 0;
    if (a->items.n == 1) { /* the only one is taken */
        put_offer(a);
        if (at.after && text_of(a)[a->at] != at.after)
            splice(a, a->at, a->at, &at.after, 1);
        else if (at.after)
            a->at++;
        drop_offers(a);
        return;
    }
    if (n > have) { /* what they share, and they are shown */
        splice(a, a->offer_from, a->offer_to, a->items.v[0].text, n);
        a->offer_to = a->at;
        a->offer_at = a->items.n;
    } else {
        a->offer_at = back ? a->items.n - 1 : 0;
        put_offer(a);
    }
    a->offering = true;
}

static void next_offer(ml_View *v, bool back)
{
    ml_Act *a = v->act;
    size_t n = a->items.n;

    if (!a->offering || n == 0) {
        begin_offers(v, back);
        return;
    }
    if (a->offer_at >= n)
        a->offer_at = back ? n - 1 : 0;
    else
        a->offer_at = (a->offer_at + (back ? n - 1 : 1)) % n;
    put_offer(a);
}

/* ---- opening, keys */

/* What stands before the text: split("k", { */
static const char *head_of(const ml_View *v, ml_Ctx *cx, const ml_ActAsk *ask)
{
    const char *call = ask->call.prim ? ml_act_print(v, cx, &ask->call) : NULL;

    if (!call)
        return ask->head ? ask->head : "";
    return ml_format(cx, "%.*s%s%s", (int)strlen(call) - 1, call,
                     ask->call.args.n ? ", " : "", ask->open ? ask->open : "");
}

void ml_act_ask(ml_View *v, ml_Request r, const ml_ActAsk *ask)
{
    ml_Act *a = v->act;

    ml_act_start(v, ML_ACT_PROMPT, r);
    a->ask = *ask;
    a->ask.head = head_of(v, a->cx, ask);
    a->ask.tail = ask->tail ? ask->tail : "";
    set_text(a, ask->text ? ask->text : "");
    a->past_at = past_count(v);
    check(v);
}

static void enter(ml_View *v)
{
    ml_Act *a = v->act;
    const char *line;

    if (a->text.n == 0 && !a->ask.may_be_empty) {
        ml_act_close(v);
        return;
    }
    line = whole_line(a);
    remember(v);
    if (a->ask.free) { /* done with, whatever comes of it */
        ml_act_close(v);
        (void)ml_act_run(v, line);
        return;
    }
    ml_ActCall c = whole_call(v);
    bool ok = c.prim ? ml_act_run_at(v, a->req, line, &c, a->node) : ml_act_run(v, line);

    if (ok && a->open == ML_ACT_PROMPT)
        ml_act_close(v);
}

/* false: the text is as it was, and so is its check. */
static bool edit(ml_View *v, const ml_Key *k)
{
    ml_Act *a = v->act;
    size_t n = a->text.n;

    if (!k->name) {
        if ((unsigned char)k->ch[0] < 0x20)
            return false;
        splice(a, a->at, a->at, k->ch, strlen(k->ch));
    } else if (ml_key_is(k, "backspace") && a->at > 0)
        splice(a, before(a, a->at), a->at, "", 0);
    else if (ml_key_is(k, "del") && a->at < n)
        splice(a, a->at, after(a, a->at), "", 0);
    else if (ml_key_is(k, "C-u"))
        splice(a, 0, a->at, "", 0);
    else if (ml_key_is(k, "C-k"))
        splice(a, a->at, n, "", 0);
    else if (ml_key_is(k, "C-w"))
        splice(a, word_begin(a), a->at, "", 0);
    else if (ml_key_among(k, "up C-p"))
        go_past(v, -1);
    else if (ml_key_among(k, "down C-n"))
        go_past(v, 1);
    else
        return false;
    return true;
}

static bool move(ml_Act *a, const ml_Key *k)
{
    if (ml_key_among(k, "left C-b"))
        a->at = a->at > 0 ? before(a, a->at) : 0;
    else if (ml_key_among(k, "right C-f"))
        a->at = a->at < a->text.n ? after(a, a->at) : a->at;
    else if (ml_key_among(k, "home C-a"))
        a->at = 0;
    else if (ml_key_among(k, "end C-e"))
        a->at = a->text.n;
    else
        return false;
    return true;
}

void ml_act_prompt_key(ml_View *v, const ml_Key *k)
{
    ml_Act *a = v->act;

    if (k->name && (ml_key_among(k, "tab S-tab"))) {
        next_offer(v, ml_key_is(k, "S-tab"));
        check(v);
        return;
    }
    drop_offers(a);
    if (k->name && ml_key_is(k, "enter"))
        enter(v);
    else if (k->name && ml_key_is(k, "backspace") && a->text.n == 0)
        ml_act_close(v);
    else if (!(k->name && move(a, k)) && edit(v, k))
        check(v);
}

bool ml_act_proposes(const ml_View *v)
{
    return v->act && v->act->open == ML_ACT_PROMPT;
}

/* ---- how it looks */

/* What the parameter at the cursor is, of a call that is typed whole. */
static const char *parameter_hint(ml_Act *a)
{
    const ml_Primitive *p = a->ask.prim;
    size_t pos = 0;

    if (!p)
        return a->ask.hint;
    for (size_t k = 0; (k += ml_act_arg_length(text_of(a) + k)) < a->at; k++)
        pos++;
    if (pos >= p->n_params)
        return a->ask.hint;
    return ml_format(a->cx, "%s: %s", p->params[pos].name,
                     p->params[pos].doc ? p->params[pos].doc : "");
}

void ml_act_prompt_line(ml_View *v, ml_Rows *r, int *cursor)
{
    enum { COLUMN = 37 }; /* where checks stand one below the other */
    ml_Act *a = v->act;
    const char *z = text_of(a), *hint = parameter_hint(a);
    bool tried = a->tried && a->trial.kind != ML_TRIAL_NONE;
    ml_ActLine l = ml_act_line_begin(v, r);
    size_t from = 0;
    int room;

    ml_act_put(&l, ML_ROLE_STRONG, a->ask.label, l.w / 2);
    room = l.w - l.used - 1;
    while (from < a->at && ml_text_columns(z + from, a->at - from) > room)
        from = after(a, from); /* the cursor stays in sight */
    *cursor = l.used + ml_text_columns(z + from, a->at - from);
    ml_act_put(&l, ML_ROLE_TEXT, z + from, room);
    if (tried)
        ml_act_put_check(v, &l, COLUMN);
    else if (hint) {
        int wide = ml_text_columns(hint, strlen(hint));

        ml_act_pad(&l, l.used + 4 < COLUMN && COLUMN + wide <= l.w ? COLUMN : l.used + 3);
        ml_act_put(&l, ML_ROLE_HINT, hint, l.w);
    }
    ml_act_line_end(&l, "⏎ apply  Esc leave");
}

void ml_act_prompt_offers(ml_View *v, ml_Rows *r, int *at)
{
    enum { WIDE = 30 };
    ml_Act *a = v->act;
    int wide = 0;

    if (!a->offering || a->items.n < 2)
        return;
    for (size_t k = 0; k < a->items.n; k++)
        wide = ml_wider(wide, a->items.v[k].text, WIDE);
    for (size_t k = 0; k < a->items.n; k++)
        ml_act_put_item(r, a->items.v[k].text, a->items.v[k].note, wide, false);
    *at = a->offer_at < a->items.n ? (int)a->offer_at : -1;
}

void ml_act_prompt_free(ml_Act *a)
{
    for (size_t k = 0; k < ML_N_REQUESTS; k++)
        for (size_t i = 0; i < a->past[k].n; i++)
            ml_heap_free(a->past[k].v[i]);
    ml_text_free(&a->text);
    ml_text_free(&a->kept);
}
