/*
 * resolve - names as a person types them, made into handles; what to say when they do not
 * fit.
 *
 * A displayed name stands for what it is displayed on; a hint or pattern that fits several
 * is never guessed. Source: interaction 3.
 */
#include "moonloop/primitives/names.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

#include <stdlib.h>

/* `*` stands for any letters; on a mismatch the last star takes one more. */
static bool matches(const char *pattern, const char *z)
{
    const char *star = NULL, *from = NULL;

    while (*z) {
        if (*pattern == '*') {
            star = ++pattern;
            from = z;
        } else if (*pattern == *z) {
            pattern++;
            z++;
        } else if (star) {
            pattern = star;
            z = ++from;
        } else
            return false;
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

typedef struct Found {
    ml_Ctx *tmp;
    ml_NamedItems items; /* of the function worked on */
    ml_UidVec hits;
} Found;

static bool is_kind(uint8_t kind, ml_HandleKind want)
{
    if (want == ML_H_BLOCK)
        return kind == ML_BEARS_BLOCK;
    if (want == ML_H_LOOP)
        return kind == ML_BEARS_LOOP;
    return kind != ML_BEARS_BUFFER;
}

typedef enum How { BY_NAME, BY_HINT, BY_PATTERN } How;

static void search(ml_Schedule *s, Found *f, const char *text, ml_HandleKind want, How how)
{
    f->hits.n = 0;
    for (size_t k = 0; k < f->items.list.n; k++) {
        const ml_NamedItem *it = &f->items.list.v[k];

        if (!is_kind(it->kind, want))
            continue;
        const char *name = ml_name_known(s->space, it->uid);
        bool hit = how == BY_NAME   ? ml_streq(name, text)
                   : how == BY_HINT ? ml_streq(it->hint, text)
                                    : matches(text, name);

        if (hit)
            ml_push(f->tmp, &f->hits, it->uid);
    }
}

bool ml_fail_no_function(ml_Ctx *cx, const ml_Module *m)
{
    enum { SHOWN = 8 };
    ml_Text t = {0};

    ml_text_fmt(&t, "%u function%s", m->n, m->n == 1 ? "" : "s");
    for (uint32_t k = 0; k < m->n && k < SHOWN; k++)
        ml_text_fmt(&t, "%s%s", k ? ", " : " (", m->funcs[k]->name);
    if (m->n > 0)
        ml_text_add(&t, m->n > SHOWN ? ", …)" : ")");
    ml_fail(cx, ML_E_NO_FUNCTION, ML_TEXT(ml_text_z(&t)));
    ml_text_free(&t);
    return false;
}

static bool fail_no_blocks(ml_Ctx *cx, const char *func)
{
    return ml_fail(cx, ML_E_NO_BLOCKS,
                   ML_TEXT(func ? ml_format(cx, "function %s", func) : "the module"));
}

bool ml_fail_unchosen(ml_Ctx *cx, const ml_Module *m)
{
    for (uint32_t k = 0; k < m->n; k++)
        if (ml_func_root(m->funcs[k]))
            return ml_fail_no_function(cx, m);
    return fail_no_blocks(cx, m->n == 1 ? m->funcs[0]->name : NULL);
}

bool ml_fail_unknown_function(ml_Ctx *cx, const ml_Module *m, const char *name)
{
    return ml_module_find(m, name) ? fail_no_blocks(cx, name)
                                   : ml_fail(cx, ML_E_UNKNOWN_FUNCTION, ML_TEXT(name));
}

static bool begin_search(ml_Schedule *s, Found *f)
{
    const ml_Func *func = ml_schedule_func(s);

    *f = (Found){0};
    if (!func)
        return ml_fail_unchosen(s->space->cx, s->v[s->cur].p.mod);
    ml_names_ensure(s, s->cur);
    f->tmp = ml_ctx_new(0);
    f->items.cx = f->tmp;
    ml_named_items(&f->items, func);
    return true;
}

static size_t distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);

    if (n >= ML_COUNT(row) || strlen(a) >= ML_COUNT(row))
        return SIZE_MAX;
    for (size_t k = 0; k <= n; k++)
        row[k] = k;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t k = 1; k <= n; k++) {
            size_t up = row[k], best = corner + (a[i - 1] != b[k - 1]);

            if (up + 1 < best)
                best = up + 1;
            if (row[k - 1] + 1 < best)
                best = row[k - 1] + 1;
            corner = up;
            row[k] = best;
        }
    }
    return row[n];
}

static bool wants_item(const ml_NamedItem *it, ml_HandleKind kind, bool buffers)
{
    return buffers ? it->kind == ML_BEARS_BUFFER : is_kind(it->kind, kind);
}

static size_t nearest(ml_Schedule *s, const Found *f, const char *text, ml_HandleKind kind,
                      bool buffers, const char **out, size_t n)
{
    size_t dist[8], have = 0;

    if (n > ML_COUNT(dist))
        n = ML_COUNT(dist);
    for (size_t k = 0; k < f->items.list.n; k++) {
        const ml_NamedItem *it = &f->items.list.v[k];
        const char *name = ml_name_known(s->space, it->uid);

        if (!wants_item(it, kind, buffers))
            continue;
        size_t d = distance(text, name), at = have;

        if (d == SIZE_MAX)
            continue;
        while (at > 0 && dist[at - 1] > d)
            at--;
        if (at >= n)
            continue;
        if (have < n)
            have++;
        for (size_t m = have - 1; m > at; m--) {
            dist[m] = dist[m - 1];
            out[m] = out[m - 1];
        }
        dist[at] = d;
        out[at] = name;
    }
    return have;
}

size_t ml_nearest_names(ml_Schedule *s, const char *text, ml_HandleKind kind,
                        const char **out, size_t n)
{
    Found f;
    size_t have = 0;

    if (!ml_schedule_func(s) || !begin_search(s, &f))
        return 0;
    have = nearest(s, &f, text, kind, false, out, n);
    ml_ctx_unref(f.tmp);
    return have;
}

/* ---- the errors of a lookup */

static void add_nearest(ml_Schedule *s, const Found *f, const char *text,
                        ml_HandleKind kind, bool buffers)
{
    const char *near[3];
    size_t n = nearest(s, f, text, kind, buffers, near, 3);
    ml_Text t = {0};

    for (size_t k = 0; k < n; k++)
        ml_text_fmt(&t, "%s\"%s\"", k ? ", " : "", near[k]);
    if (n > 0)
        ml_error_note(s->space->cx, "nearest: %s", ml_text_z(&t));
    ml_text_free(&t);
}

/* A loop as "C/k" when its block is told apart by that, else as its display name. */
static void add_candidates(ml_Schedule *s, const Found *f)
{
    enum { SHOWN = 12 };
    ml_Text t = {0};

    for (size_t k = 0; k < f->hits.n && k < SHOWN; k++)
        ml_text_fmt(&t, "%s\"%s\"", k ? ", " : "", ml_name_known(s->space, f->hits.v[k]));
    if (f->hits.n > SHOWN)
        ml_text_fmt(&t, ", … %zu more", f->hits.n - SHOWN);
    ml_error_note(s->space->cx, "candidates: %s", ml_text_z(&t));
    ml_text_free(&t);
}

/* Whether the name belonged to something that a step on the current line ended. */
static void add_history(ml_Schedule *s, const char *text, ml_HandleKind want)
{
    for (int v = s->cur; v > 0; v = s->v[v].parent) {
        for (uint32_t k = 0; k < s->v[v].n_ended; k++) {
            ml_Uid uid = s->v[v].ended[k];
            const char *name = ml_name_known(s->space, uid);
            const ml_Stmt *was = s->v[s->v[v].parent].known
                                     ? ml_index_node(s->v[s->v[v].parent].p.index, uid)
                                     : NULL;

            if (!name || !ml_streq(name, text) || !was)
                continue;
            if (want != ML_H_NONE && (want == ML_H_LOOP) != (was->kind == ML_STMT_FOR))
                continue;
            ml_error_note(s->space->cx, "%s %s ended at step %d, %s",
                          was->kind == ML_STMT_FOR ? "loop" : "block", text, v,
                          ml_step_line(s, v));
            return;
        }
    }
}

static bool not_found(ml_Schedule *s, const Found *f, const char *text, ml_HandleKind want)
{
    ml_fail(s->space->cx, want == ML_H_LOOP ? ML_E_NO_SUCH_LOOP : ML_E_NO_SUCH_BLOCK,
            ML_TYPED(text));
    if (want == ML_H_NONE)
        ml_error_note(s->space->cx, "no loop, either");
    add_history(s, text, want);
    add_nearest(s, f, text, want, false);
    return false;
}

static bool ambiguous(ml_Schedule *s, const Found *f, const char *text, ml_HandleKind want)
{
    ml_fail(s->space->cx, want == ML_H_LOOP ? ML_E_AMBIGUOUS_LOOP : ML_E_AMBIGUOUS_BLOCK,
            ML_TEXT(text), ML_NUMBER("count", f->hits.n));
    add_candidates(s, f);
    return false;
}

static bool one_hit(ml_Schedule *s, Found *f, const char *text, ml_HandleKind want,
                    ml_Uid *out)
{
    search(s, f, text, want, BY_NAME);
    if (f->hits.n == 0 && want != ML_H_LOOP) {
        search(s, f, text, ML_H_BLOCK, BY_HINT);
    }
    if (f->hits.n == 0 && want == ML_H_LOOP) {
        search(s, f, text, want,
               BY_HINT); /* a hint is no name, but several are a question */
        if (f->hits.n == 1)
            f->hits.n = 0;
    }
    if (f->hits.n == 0 && strchr(text, '*'))
        search(s, f, text, want, BY_PATTERN);
    if (f->hits.n == 0)
        return not_found(s, f, text, want);
    if (f->hits.n > 1)
        return ambiguous(s, f, text, want);
    *out = f->hits.v[0];
    return true;
}

/* Loops above the block inside its scope, outermost first, into f->hits. */
static void loops_above(ml_Schedule *s, Found *f, ml_Uid block)
{
    const ml_Index *ix = s->v[s->cur].p.index;
    ml_StmtVec loops = {0};

    f->hits.n = 0;
    ml_index_loops(f->tmp, ix, block, &loops);
    for (size_t k = 0; k < loops.n; k++)
        ml_push(f->tmp, &f->hits, ml_stmt_uid(loops.v[k]));
}

static void keep_hits(ml_Schedule *s, Found *f, const char *text, How how)
{
    size_t n = 0;

    for (size_t k = 0; k < f->hits.n; k++) {
        ml_Uid uid = f->hits.v[k];
        const ml_For *loop = ml_as_for(ml_index_node(s->v[s->cur].p.index, uid));
        const char *z = how == BY_HINT ? loop->var->hint : ml_name_known(s->space, uid);

        if (how == BY_PATTERN ? matches(text, z) : ml_streq(text, z))
            f->hits.v[n++] = uid;
    }
    f->hits.n = n;
}

/* What follows BLOCK/ or BLOCK@. */
static bool resolve_above(ml_Schedule *s, Found *f, const char *text, const char *sep,
                          ml_Uid *out)
{
    ml_Ctx *cx = s->space->cx;
    char *block = ml_strdup(f->tmp, (ml_Str){text, (size_t)(sep - text)});
    const char *rest = sep + 1;
    ml_Uid b;

    if (!one_hit(s, f, block, ML_H_BLOCK, &b))
        return false;
    loops_above(s, f, b);
    size_t n = f->hits.n;

    if (*sep == '@') {
        char *end = NULL;
        long k = strtol(rest, &end, 10);

        if (!*rest || *end || k == 0)
            return ml_bad_argument(cx, "%s: a position after @ is 1, 2, ... or -1, -2, ...",
                                   text);
        if (k < 0)
            k += (long)n + 1;
        if (k < 1 || k > (long)n) {
            ml_fail(cx, ML_E_NO_SUCH_LOOP, ML_TYPED(text));
            ml_error_note(cx, "block %s has %zu loop%s above it", block, n,
                          n == 1 ? "" : "s");
            return false;
        }
        *out = f->hits.v[k - 1];
        return true;
    }
    keep_hits(s, f, rest, BY_NAME);
    if (f->hits.n == 0) {
        loops_above(s, f, b);
        keep_hits(s, f, rest, BY_HINT);
    }
    if (f->hits.n == 0 && strchr(rest, '*')) {
        loops_above(s, f, b);
        keep_hits(s, f, rest, BY_PATTERN);
    }
    if (f->hits.n > 1)
        return ambiguous(s, f, text, ML_H_LOOP);
    if (f->hits.n == 1) {
        *out = f->hits.v[0];
        return true;
    }
    ml_Text t = {0};

    loops_above(s, f, b);
    for (size_t k = 0; k < f->hits.n; k++)
        ml_text_fmt(&t, "%s%s", k ? ", " : "", ml_name_known(s->space, f->hits.v[k]));
    ml_fail(cx, ML_E_NO_SUCH_LOOP, ML_TYPED(text));
    if (t.n > 0)
        ml_error_note(cx, "above block %s: %s", block, ml_text_z(&t));
    ml_text_free(&t);
    return false;
}

static bool resolve_in(ml_Schedule *s, Found *f, const char *text, ml_HandleKind want,
                       ml_Uid *out)
{
    const char *sep = want == ML_H_BLOCK ? NULL : strrchr(text, '/');

    if (!sep && want != ML_H_BLOCK)
        sep = strrchr(text, '@');
    return sep ? resolve_above(s, f, text, sep, out) : one_hit(s, f, text, want, out);
}

size_t ml_candidate_names(ml_Schedule *s, const char *text, ml_HandleKind want,
                          const char **out, size_t n)
{
    Found f;
    ml_Uid uid = 0;
    size_t have = 0;

    ml_schedule_begin(s);
    if (!ml_schedule_func(s) || !begin_search(s, &f))
        return 0;
    if (!resolve_in(s, &f, text, want, &uid) && f.hits.n > 1)
        for (; have < n && have < f.hits.n; have++)
            out[have] = ml_name_known(s->space, f.hits.v[have]);
    ml_ctx_unref(f.tmp);
    return have;
}

bool ml_resolve(ml_Schedule *s, const char *text, ml_HandleKind want, ml_Handle *out)
{
    Found f;
    ml_Uid uid = 0;

    ml_schedule_begin(s);
    if (!begin_search(s, &f))
        return false;
    bool ok = resolve_in(s, &f, text, want, &uid);

    ml_ctx_unref(f.tmp);
    if (ok) {
        const ml_Stmt *st = ml_index_node(s->v[s->cur].p.index, uid);

        *out = (ml_Handle){st->kind == ML_STMT_FOR ? ML_H_LOOP : ML_H_BLOCK, uid};
    }
    return ok;
}

bool ml_resolve_loops(ml_Schedule *s, const char *text, ml_UidVec *out)
{
    size_t n = strlen(text);
    Found f;
    ml_Uid uid = 0;

    ml_schedule_begin(s);
    if (!begin_search(s, &f))
        return false;
    bool ok;

    if (n > 2 && ml_streq(text + n - 2, "/*")) {
        ok = one_hit(s, &f, ml_strdup(f.tmp, (ml_Str){text, n - 2}), ML_H_BLOCK, &uid);
        if (ok)
            loops_above(s, &f, uid);
        for (size_t k = 0; ok && k < f.hits.n; k++)
            ml_push(s->space->cx, out, f.hits.v[k]);
    } else {
        ok = resolve_in(s, &f, text, ML_H_LOOP, &uid);
        if (ok)
            ml_push(s->space->cx, out, uid);
    }
    ml_ctx_unref(f.tmp);
    return ok;
}

/* ---- buffers */

typedef struct BufferSearch {
    ml_Uid uid;
    const ml_Buffer *hit;
} BufferSearch;

static bool buffer_visit(const ml_Stmt *st, void *user)
{
    BufferSearch *bs = user;

    if (st->kind == ML_STMT_ALLOC || st->kind == ML_STMT_DECL) {
        if (ml_as_alloc(st)->buffer->uid == bs->uid)
            bs->hit = ml_as_alloc(st)->buffer;
    } else if (st->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(st);

        for (uint32_t k = 0; k < b->n_allocs; k++)
            if (b->allocs[k]->uid == bs->uid)
                bs->hit = b->allocs[k];
        for (uint32_t k = 0; k < b->n_matches; k++)
            if (b->matches[k].target->uid == bs->uid)
                bs->hit = b->matches[k].target;
    }
    return !bs->hit;
}

const ml_Buffer *ml_resolve_buffer(ml_Schedule *s, const char *text)
{
    Found f;
    BufferSearch bs = {0};
    size_t n = 0;

    ml_schedule_begin(s);
    if (!begin_search(s, &f))
        return NULL;
    for (int by_hint = 0; by_hint < 2 && n == 0; by_hint++)
        for (size_t k = 0; k < f.items.list.n; k++) {
            const ml_NamedItem *it = &f.items.list.v[k];
            const char *z = by_hint ? it->hint : ml_name_known(s->space, it->uid);

            if (it->kind == ML_BEARS_BUFFER && ml_streq(z, text)) {
                bs.uid = it->uid;
                ml_push(f.tmp, &f.hits, it->uid);
                n++;
            }
        }
    const ml_Func *func = ml_schedule_func(s);

    if (n == 0) {
        ml_fail_as(s->space->cx, ML_E_BUFFER_NOT_FOUND,
                   "function {0} has no buffer named {1}", ML_TEXT(func->name),
                   ML_TYPED(text));
        add_nearest(s, &f, text, ML_H_NONE, true);
    } else if (n > 1) {
        ml_fail_as(s->space->cx, ML_E_BUFFER_AMBIGUOUS,
                   "{1} names several buffers of function {0}", ML_TEXT(func->name),
                   ML_TYPED(text));
        add_candidates(s, &f);
    }
    ml_ctx_unref(f.tmp);
    if (n != 1)
        return NULL;
    for (uint32_t k = 0; k < func->n_params; k++)
        if (func->params[k].buffer && func->params[k].buffer->uid == bs.uid)
            return func->params[k].buffer;
    ml_stmt_visit(func->body, buffer_visit, &bs);
    return bs.hit;
}
