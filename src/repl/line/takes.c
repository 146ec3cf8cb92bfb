/*
 * takes - the arguments of a command as data (takes.h).
 *
 * A group is what stands between blanks, in brackets when it may be left out; of its
 * alternatives, between bars, one is chosen by the first word that fits it. Options stand in
 * any order, each once, but --shape.
 */
#include "repl/line/takes.h"

typedef struct Alternative {
    size_t group;
    ml_Str words;       /* `drop NUMBER`; of an option none */
    const char *option; /* or NULL */
    bool value, needed; /* the option has one; it cannot be left out */
    size_t with;        /* 1 + the place of the option that it goes with; 0: none */
    bool given;
} Alternative;

typedef struct Reader {
    ml_Ctx *cx;
    ML_VEC(Alternative) all;
    size_t n_groups;
    size_t chosen[32]; /* of each group: 1 + the place in `all`; 0: none yet */
} Reader;

/* Bytes up to the first of `stops` that stands in no bracket. */
static size_t up_to(const char *p, size_t n, const char *stops)
{
    int depth = 0;

    for (size_t k = 0; k < n; k++) {
        if (depth == 0 && strchr(stops, p[k]))
            return k;
        depth += p[k] == '[' ? 1 : p[k] == ']' ? -1 : 0;
    }
    return n;
}

static void add_alternative(Reader *r, const char *p, size_t n, size_t with)
{
    Alternative a = {.group = r->n_groups, .words = {p, n}, .with = with};
    size_t name = up_to(p, n, " ");

    if (n > 2 && p[0] == '-' && p[1] == '-') {
        const char *rest = p + name;
        size_t left = n - name;

        a.option = ml_strdup(r->cx, (ml_Str){p, name});
        for (; left > 0 && *rest == ' '; left--)
            rest++;
        a.value = left > 0 && !(left > 1 && memcmp(rest, "[-", 2) == 0);
        a.needed = a.value && *rest != '[';
        a.words.n = 0;
        ml_push(r->cx, &r->all, a);
        size_t value = a.needed ? up_to(rest, left, " ") : 0;

        rest += value;
        left -= value;
        for (; left > 0 && *rest == ' '; left--)
            rest++;
        if (left > 2 && rest[0] == '[' && rest[1] == '-') /* one that goes with it */
            add_alternative(r, rest + 1, left - 2, r->all.n);
        return;
    }
    ml_push(r->cx, &r->all, a);
}

static void read_groups(Reader *r, const char *args)
{
    size_t n = strlen(args);

    while (n > 0 && r->n_groups < ML_COUNT(r->chosen)) {
        size_t len = up_to(args, n, " ");
        const char *p = args;
        size_t left = len;

        if (*p == '[' && p[len - 1] == ']') {
            p++;
            left -= 2;
        }
        while (left > 0) {
            size_t one = up_to(p, left, "|");

            add_alternative(r, p, one, 0);
            one += one < left;
            p += one;
            left -= one;
        }
        r->n_groups++;
        len += len < n;
        args += len;
        n -= len;
    }
}

static bool is_literal(char c)
{
    return c >= 'a' && c <= 'z';
}

/* The first group that a word may stand for and that nothing is chosen of: its number + 1. */
static size_t next_group(const Reader *r)
{
    for (size_t k = 0; k < r->all.n; k++)
        if (!r->all.v[k].option && !r->chosen[r->all.v[k].group])
            return r->all.v[k].group + 1;
    return 0;
}

/* Chooses what the word stands for, and gives how many further words belong to it. */
static size_t take_word(Reader *r, ml_Str word)
{
    enum { ALL = 1000 };
    size_t group = next_group(r), best = 0;

    for (size_t k = 0; group && k < r->all.n; k++) {
        const Alternative *a = &r->all.v[k];
        size_t n = up_to(a->words.p, a->words.n, " ");
        bool literal = a->words.n && is_literal(*a->words.p);

        if (a->option || a->group != group - 1)
            continue;
        if (literal ? ml_str_eq(word, (ml_Str){a->words.p, n}) : !best)
            best = k + 1;
        if (literal && best == k + 1)
            break;
    }
    if (!group)
        return 0;
    r->chosen[group - 1] = best ? best : r->all.n + 1; /* a wrong word */
    if (!best)
        return 0;
    ml_Str w = r->all.v[best - 1].words;

    if (ml_str_eq(w, ml_str("CODE")) || ml_str_eq(w, ml_str("COMMAND")) || *w.p == ':')
        return ALL;
    size_t more = 0;

    for (size_t k = 0; k < w.n; k++)
        more += w.p[k] == ' ';
    return more;
}

/* The option of that name; NULL: there is none. */
static Alternative *find_option(Reader *r, ml_Str name)
{
    for (size_t k = 0; k < r->all.n; k++)
        if (r->all.v[k].option && ml_str_eq(name, ml_str(r->all.v[k].option)))
            return &r->all.v[k];
    return NULL;
}

/* Whether what is chosen of its group leaves room for the option. */
static bool may_follow(const Reader *r, size_t k)
{
    const Alternative *a = &r->all.v[k];
    size_t c = r->chosen[a->group];

    if (a->given && !ml_streq(a->option, "--shape"))
        return false;
    return a->with ? c == a->with : c == 0 || c == k + 1;
}

ml_Takes ml_command_takes(ml_Ctx *cx, const ml_Command *c, ml_Str typed)
{
    Reader r = {.cx = cx};
    ml_Takes t = {0};
    Alternative *waits = NULL; /* for its value */
    size_t inside = 0, n_words = 0;

    read_groups(&r, c->args);
    for (size_t k = 0; k < typed.n;) {
        size_t from = k + strspn(typed.p + k, " \t");
        size_t n = from < typed.n ? strcspn(typed.p + from, " \t") : 0;

        n = from + n > typed.n ? typed.n - from : n;
        k = from + n;
        if (n == 0)
            break;
        ml_Str word = {typed.p + from, n};
        const char *is = memchr(word.p, '=', n);
        Alternative *o = find_option(&r, (ml_Str){word.p, is ? (size_t)(is - word.p) : n});

        if (inside > 0) {
            inside--;
            n_words++;
        } else if (o) {
            o->given = true;
            r.chosen[o->group] = o->with ? o->with : (size_t)(o - r.all.v) + 1;
            waits = o->value && !is ? o : NULL;
            continue;
        } else if (!waits) {
            inside = take_word(&r, word);
            n_words++;
        }
        waits = NULL;
    }
    if (find_option(&r, ml_str("--list")) && find_option(&r, ml_str("--list"))->given)
        return t; /* it tells what there is, and does nothing else */
    if (waits) {
        t.option = waits->option;
        t.optional = !waits->needed;
    }
    size_t group = inside ? 0 : next_group(&r);

    t.number = group || inside ? n_words + 1 : 0;
    for (size_t k = 0; k < r.all.n; k++) {
        Alternative *a = &r.all.v[k];

        if (a->option && !inside && may_follow(&r, k))
            ml_push(cx, &t.options, a->option);
        if (!a->option && a->group + 1 == group && is_literal(*a->words.p) &&
            !strchr(c->args, '=')) /* `peak=GFLOPs|auto` is one word */
            ml_push(
                cx, &t.words,
                ml_strdup(cx, (ml_Str){a->words.p, up_to(a->words.p, a->words.n, " ")}));
    }
    return t;
}
