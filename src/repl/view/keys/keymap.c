/*
 * keymap - keys.def with what bind_key changed. A key that is bound anew hides what it
 * asked for before, in that pane; a binding of a pane goes before one of all panes. Source:
 * interaction 10.
 */
#include "repl/view/keys/keymap.h"

#include "moonloop/core/base/arena.h"
#include "moonloop/core/base/utf8.h"

const ml_KeyInfo ml_key_info[ML_N_REQUESTS] = {
#define ML_KEY(id, pane, keys, label, help, ...)                                           \
    [ML_REQ_##id] = {#id, ML_PANE_##pane, keys, label, help},
#include "repl/view/keys/keys.def"
#undef ML_KEY
};

const char *const ml_pane_names[ML_N_PANES] = {
#define ML_PANE(id, name, ...) [ML_PANE_##id] = (name),
#include "repl/view/keys/panes.def"
#undef ML_PANE
};

typedef struct Binding {
    ml_PaneId pane;
    char key[16];
    ml_Request r; /* ML_REQ_NONE: nothing */
} Binding;

struct ml_Keymap {
    Binding *v;
    size_t n;
};

/* ---- keys as text */

static const char *const NAMED[] = {
    "up",          "down", "left", "right", "pgup", "pgdn",    "home",   "end",
    "enter",       "esc",  "tab",  "S-tab", "S-up", "S-down",  "S-left", "S-right",
    "backspace",   "del",  "ins",  "f1",    "f2",   "f3",      "f4",     "f5",
    "f6",          "f7",   "f8",   "f9",    "f10",  "f11",     "f12",    "C-a",
    "C-b",         "C-c",  "C-d",  "C-e",   "C-f",  "C-g",     "C-h",    "C-j",
    "C-k",         "C-l",  "C-n",  "C-o",   "C-p",  "C-q",     "C-r",    "C-s",
    "C-t",         "C-u",  "C-v",  "C-w",   "C-x",  "C-y",     "C-z",    "M-0",
    "M-1",         "M-2",  "M-3",  "M-4",   "M-5",  "M-6",     "M-7",    "M-8",
    "M-9",         "M-b",  "M-f",  "M-d",   "M-x",  "M-enter", "C-left", "C-right",
    "M-backspace",
};

bool ml_key_read(const char *text, ml_Key *out)
{
    size_t n = strlen(text), k;

    *out = (ml_Key){{0}, NULL};
    for (k = 0; k < ML_COUNT(NAMED); k++)
        if (ml_streq(NAMED[k], text)) {
            out->name = NAMED[k];
            return true;
        }
    if (ml_streq(text, "space"))
        text = " ", n = 1;
    if (n == 0 || n > 4 || ml_utf8_length(text, text + n) != n ||
        (unsigned char)*text < 0x20 || *text == 0x7f)
        return false;
    memcpy(out->ch, text, n + 1);
    return true;
}

const char *ml_key_text(const ml_Key *k)
{
    return k->name ? k->name : ml_streq(k->ch, " ") ? "space" : k->ch;
}

bool ml_key_is(const ml_Key *k, const char *text)
{
    return k->name ? ml_streq(k->name, text) : ml_streq(k->ch, text);
}

/* Whether `key` is among words separated by blanks. */
static bool among(const char *words, const char *key)
{
    size_t n = strlen(key);

    for (; *words; words += strspn(words, " ")) {
        size_t k = strcspn(words, " ");

        if (k == n && memcmp(words, key, n) == 0)
            return true;
        words += k;
    }
    return false;
}

bool ml_key_among(const ml_Key *k, const char *texts)
{
    return among(texts, k->name ? k->name : k->ch);
}

/* ---- finding */

static const Binding *bound(const ml_Keymap *m, ml_PaneId pane, const char *key)
{
    for (size_t k = m ? m->n : 0; k > 0; k--)
        if (m->v[k - 1].pane == pane && ml_streq(m->v[k - 1].key, key))
            return &m->v[k - 1];
    return NULL;
}

static ml_Request usual(ml_PaneId pane, const char *key)
{
    for (int r = 0; r < ML_N_REQUESTS; r++)
        if (ml_key_info[r].pane == pane && among(ml_key_info[r].keys, key))
            return (ml_Request)r;
    return ML_REQ_NONE;
}

ml_Request ml_keymap_find(const ml_Keymap *m, ml_PaneId in, const ml_Key *k)
{
    const char *key = ml_key_text(k);
    const ml_PaneId panes[2] = {in, ML_PANE_NONE};

    for (int p = 0; p < 2; p++) {
        const Binding *b = bound(m, panes[p], key);
        ml_Request r = b ? b->r : usual(panes[p], key);

        if (b || r != ML_REQ_NONE)
            return r;
    }
    return ML_REQ_NONE;
}

ml_Request ml_keymap_anywhere(const ml_Keymap *m, const ml_Key *k)
{
    for (int id = 1; id < ML_N_PANES; id++) {
        ml_Request r = ml_keymap_find(m, (ml_PaneId)id, k);

        if (r != ML_REQ_NONE)
            return r;
    }
    return ML_REQ_NONE;
}

void ml_keymap_keys(const ml_Keymap *m, ml_Request r, ml_Text *out)
{
    const ml_KeyInfo *info = &ml_key_info[r];
    size_t from = out->n;

    for (size_t k = 0; m && k < m->n; k++) {
        const Binding *b = &m->v[k];

        if (b->r == r && bound(m, b->pane, b->key) == b)
            ml_text_fmt(out, "%s%s", out->n > from ? " " : "", b->key);
    }
    for (const char *p = info->keys; *p;) {
        size_t n = strcspn(p, " ");
        char key[16];

        memcpy(key, p, n);
        key[n] = '\0';
        if (!bound(m, info->pane, key))
            ml_text_fmt(out, "%s%s", out->n > from ? " " : "", key);
        p += n;
        p += strspn(p, " ");
    }
}

bool ml_keymap_first(const ml_Keymap *m, ml_Request r, ml_Text *out)
{
    ml_Text all = {0};

    ml_keymap_keys(m, r, &all);
    size_t n = strcspn(ml_text_z(&all), " ");

    ml_text_addn(out, ml_text_z(&all), n);
    ml_text_free(&all);
    return n > 0;
}

/* ---- binding */

static char folded(char c)
{
    return c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_name(const char *a, const char *b)
{
    while (*a && folded(*a) == folded(*b))
        a++, b++;
    return *a == '\0' && *b == '\0';
}

/* ML_N_PANES: none of that name. */
static ml_PaneId pane_by_name(const char *name)
{
    if (same_name(name, "all"))
        return ML_PANE_NONE;
    for (int id = 1; id < ML_N_PANES; id++)
        if (ml_pane_names[id] && same_name(ml_pane_names[id], name))
            return (ml_PaneId)id;
    return ML_N_PANES;
}

bool ml_keymap_bind(ml_Keymap **m, const char *pane, const char *key, const char *request,
                    ml_Text *why)
{
    ml_PaneId id = pane_by_name(pane);
    ml_Key k;
    int r = 0;

    while (r < ML_N_REQUESTS && !same_name(ml_key_info[r].name, request))
        r++;
    if (id == ML_N_PANES) {
        ml_text_fmt(why, "bind_key: there is no pane %s; there are all", pane);
        for (int p = 1; p < ML_N_PANES; p++)
            if (ml_pane_names[p])
                ml_text_fmt(why, ", %s", ml_pane_names[p]);
        return false;
    }
    if (!ml_key_read(key, &k)) {
        ml_text_fmt(why,
                    "bind_key: there is no key %s; keys are characters, and names like "
                    "C-r, M-1, S-up, f5, enter, space",
                    key);
        return false;
    }
    if (r == ML_N_REQUESTS && !same_name(request, "none")) {
        ml_text_fmt(why, "bind_key: there is no request %s; ? in the visualiser lists them",
                    request);
        return false;
    }
    if (!*m)
        *m = ml_heap_zalloc(sizeof **m);
    (*m)->v = ml_heap_grow((*m)->v, ((*m)->n + 1) * sizeof *(*m)->v);
    Binding *b = &(*m)->v[(*m)->n++];

    *b = (Binding){.pane = id, .r = (ml_Request)r};
    memcpy(b->key, ml_key_text(&k), strlen(ml_key_text(&k)) + 1);
    return true;
}

void ml_keymap_free(ml_Keymap *m)
{
    if (m)
        ml_heap_free(m->v);
    ml_heap_free(m);
}
