/*
 * keymap - keys.def with what bind_key changed. A key that is bound anew hides what it
 * asked for before, in that pane; a binding of a pane goes before one of all panes. Source:
 * interaction 10.
 */
#include "repl/view/keymap.h"

#include "core/base/arena.h"
#include "core/base/utf8.h"
#include "repl/view/frame.h"

const ml_KeyInfo ml_key_info[ML_N_REQUESTS] = {
#define ML_KEY(id, pane, keys, label, help)                                                \
    [ML_REQ_##id] = {#id, ML_PANE_##pane, keys, label, help},
#include "repl/view/keys.def"
#undef ML_KEY
};

typedef struct Entry {
    ml_Request r;
    const char *head;
} Entry;
static const Entry ORDER[] = {
#define ML_KEY_HEAD(text) {ML_REQ_NONE, text},
#define ML_KEY(id, ...)   {ML_REQ_##id, NULL},
#include "repl/view/keys.def"
#undef ML_KEY
#undef ML_KEY_HEAD
};

const char *ml_key_head(ml_Request r)
{
    for (size_t k = 1; k < ML_COUNT(ORDER); k++)
        if (ORDER[k].r == r)
            return ORDER[k - 1].head;
    return NULL;
}

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

/* Whether `key` is among words separated by blanks. */
static bool among(const char *words, const char *key)
{
    size_t n = strlen(key);

    while (*words) {
        size_t k = strcspn(words, " ");

        if (k == n && memcmp(words, key, n) == 0)
            return true;
        words += k;
        words += strspn(words, " ");
    }
    return false;
}

/* ---- finding */

static const Binding *bound(const ml_Session *ss, ml_PaneId pane, const char *key)
{
    for (size_t k = ss->keymap ? ss->keymap->n : 0; k > 0; k--)
        if (ss->keymap->v[k - 1].pane == pane && ml_streq(ss->keymap->v[k - 1].key, key))
            return &ss->keymap->v[k - 1];
    return NULL;
}

static ml_Request usual(ml_PaneId pane, const char *key)
{
    for (int r = 0; r < ML_N_REQUESTS; r++)
        if (ml_key_info[r].pane == pane && among(ml_key_info[r].keys, key))
            return (ml_Request)r;
    return ML_REQ_NONE;
}

ml_Request ml_keymap_find(const ml_Session *ss, ml_PaneId in, const ml_Key *k)
{
    const char *key = ml_key_text(k);
    const ml_PaneId panes[2] = {in, ML_PANE_NONE};

    for (int p = 0; p < 2; p++) {
        const Binding *b = bound(ss, panes[p], key);
        ml_Request r = b ? b->r : usual(panes[p], key);

        if (b || r != ML_REQ_NONE)
            return r;
    }
    return ML_REQ_NONE;
}

ml_Request ml_keymap_anywhere(const ml_Session *ss, const ml_Key *k)
{
    for (int id = 1; id < ML_N_PANES; id++) {
        ml_Request r = ml_keymap_find(ss, (ml_PaneId)id, k);

        if (r != ML_REQ_NONE)
            return r;
    }
    return ML_REQ_NONE;
}

void ml_keymap_keys(const ml_Session *ss, ml_Request r, ml_Text *out)
{
    const ml_KeyInfo *info = &ml_key_info[r];
    size_t from = out->n;

    for (size_t k = 0; ss->keymap && k < ss->keymap->n; k++) {
        const Binding *b = &ss->keymap->v[k];

        if (b->r == r && bound(ss, b->pane, b->key) == b)
            ml_text_fmt(out, "%s%s", out->n > from ? " " : "", b->key);
    }
    for (const char *p = info->keys; *p;) {
        size_t n = strcspn(p, " ");
        char key[16];

        memcpy(key, p, n);
        key[n] = '\0';
        if (!bound(ss, info->pane, key))
            ml_text_fmt(out, "%s%s", out->n > from ? " " : "", key);
        p += n;
        p += strspn(p, " ");
    }
}

bool ml_keymap_first(const ml_Session *ss, ml_Request r, ml_Text *out)
{
    ml_Text all = {0};

    ml_keymap_keys(ss, r, &all);
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

ml_PaneId ml_pane_by_name(const char *name)
{
    if (same_name(name, "all"))
        return ML_PANE_NONE;
    for (int id = 1; id < ML_N_PANES; id++)
        if (ml_panes[id].name && same_name(ml_panes[id].name, name))
            return (ml_PaneId)id;
    return ML_N_PANES;
}

static void end_keymap(void *user, ml_Session *ss)
{
    (void)user;
    ml_heap_free(ss->keymap->v);
    ml_heap_free(ss->keymap);
    ss->keymap = NULL;
}

static const ml_Observer OBSERVER = {.name = "keymap", .on_end = end_keymap};

bool ml_keymap_bind(ml_Session *ss, const char *pane, const char *key, const char *request,
                    ml_Text *why)
{
    ml_PaneId id = ml_pane_by_name(pane);
    ml_Key k;
    int r = 0;

    while (r < ML_N_REQUESTS && !same_name(ml_key_info[r].name, request))
        r++;
    if (id == ML_N_PANES) {
        ml_text_fmt(why, "bind_key: there is no pane %s; there are all", pane);
        for (int p = 1; p < ML_N_PANES; p++)
            if (ml_panes[p].name)
                ml_text_fmt(why, ", %s", ml_panes[p].name);
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
    if (!ss->keymap)
        ss->keymap = ml_heap_zalloc(sizeof *ss->keymap);
    ml_session_observe(ss, &OBSERVER);
    ss->keymap->v =
        ml_heap_grow(ss->keymap->v, (ss->keymap->n + 1) * sizeof *ss->keymap->v);
    Binding *b = &ss->keymap->v[ss->keymap->n++];

    *b = (Binding){.pane = id, .r = (ml_Request)r};
    memcpy(b->key, ml_key_text(&k), strlen(ml_key_text(&k)) + 1);
    return true;
}
