/*
 * intrin_map - see intrin_map.h.
 *
 * Bodies are compared node by node; where the description's node commutes, both orders are
 * tried. An iter is characterised by its kind and the set of operands whose indices it is
 * in: iters of the same character can stand for each other once each operand is indexed by
 * iters alone (reindex), and several such, fused, for one. Source: auto-scheduler 9.
 */
#include "moonloop/primitives/intrin/intrin_map.h"

#include "moonloop/core/shown.h"
#include "moonloop/core/walk.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

enum { MAX_OPERANDS = 16, MAX_SWAPS = 8, MAX_FUSED = 4, MAX_ITERS = 64 };

typedef struct Pair {
    ml_IntrinOperand op;
    const ml_Expr *const *own_index;
    size_t rank, own_rank;
} Pair;

typedef struct Maps {
    ml_Ctx *cx;
    const ml_Block *b, *d;
    unsigned swapped; /* a bit for each commuting node of the description, in its order */
    unsigned n_seen;
    Pair pairs[MAX_OPERANDS];
    size_t n_pairs;
    size_t progress,
        best; /* nodes that were found equal; of the attempt that `why` is of */
    const char *why;
    /* of one match of the bodies */
    uint32_t *block_bits, *desc_bits;
    int64_t *choice; /* for each iter of the block; -1: outside */
    const ml_IntrinOperand *operands;
    ML_VEC(ml_IntrinMap) found;
    bool cut;
} Maps;

static bool differ(Maps *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool differ(Maps *m, const char *fmt, ...)
{
    ml_Text t = {0};
    va_list ap;

    if (m->why && m->progress <= m->best)
        return false;
    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    m->why = ml_strdup(m->cx, (ml_Str){ml_text_z(&t), t.n});
    m->best = m->progress;
    ml_text_free(&t);
    return false;
}

/* ---- the bodies */

/* What a node does, as the verb of a sentence. */
static const char *deed(const ml_Expr *e)
{
    switch ((int)e->kind) {
    case ML_EXPR_ADD: return "adds";
    case ML_EXPR_SUB: return "subtracts";
    case ML_EXPR_MUL: return "multiplies";
    case ML_EXPR_DIV:
    case ML_EXPR_FLOORDIV: return "divides";
    case ML_EXPR_MIN: return "takes the smaller";
    case ML_EXPR_MAX: return "takes the larger";
    case ML_EXPR_CAST: return "converts";
    case ML_EXPR_LOAD: return "loads an element";
    case ML_EXPR_SELECT: return "selects";
    case ML_EXPR_INT:
    case ML_EXPR_FLOAT: return "has a constant";
    case ML_EXPR_CALL: return e->as.op->name;
    }
    return "computes something else";
}

static bool match_access(Maps *m, const ml_Buffer *d, const ml_Expr *const *d_index,
                         size_t d_n, const ml_Buffer *w, const ml_Expr *const *w_index,
                         size_t w_n)
{
    if (!ml_dtype_eq(d->type, w->type))
        return differ(m, "%s is of %s, the intrinsic's %s of %s", ml_shown(m->cx, w),
                      ml_dtype_name(m->cx, w->type), d->name,
                      ml_dtype_name(m->cx, d->type));
    for (size_t k = 0; k < m->n_pairs; k++) {
        const Pair *p = &m->pairs[k];
        bool same = d->uid == p->op.desc->uid;

        if (same != (w->uid == p->op.own->uid))
            return differ(m, "%s would stand for %s and %s of the intrinsic",
                          ml_shown(m->cx, same ? p->op.own : w), p->op.desc->name, d->name);
        if (!same)
            continue;
        for (size_t i = 0; i < d_n; i++)
            if (d_index[i] != p->op.index[i])
                return differ(m, "the intrinsic uses two elements of its %s", d->name);
        for (size_t i = 0; i < w_n; i++)
            if (w_index[i] != p->own_index[i])
                return differ(m, "it uses two elements of %s at once", ml_shown(m->cx, w));
        return true;
    }
    if (m->n_pairs == MAX_OPERANDS)
        return differ(m, "the intrinsic has more than %d operands", MAX_OPERANDS);
    m->pairs[m->n_pairs++] =
        (Pair){{.desc = d, .own = w, .index = d_index}, w_index, d_n, w_n};
    return true;
}

static bool commutes(const ml_Expr *e)
{
    return e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_MUL || e->kind == ML_EXPR_MIN ||
           e->kind == ML_EXPR_MAX;
}

static bool match_expr(Maps *m, const ml_Expr *d, const ml_Expr *w)
{
    if (d->kind != w->kind ||
        (d->kind == ML_EXPR_CALL && !ml_streq(d->as.op->name, w->as.op->name)))
        return differ(m, "the block %s: the intrinsic %s", deed(w), deed(d));
    if (!ml_dtype_eq(d->type, w->type))
        return differ(m, "the block %s in %s: the intrinsic in %s", deed(w),
                      ml_dtype_name(m->cx, w->type), ml_dtype_name(m->cx, d->type));
    m->progress++;
    if (d->kind == ML_EXPR_LOAD)
        return match_access(m, d->as.buffer, d->args, ml_load_rank(d), w->as.buffer,
                            w->args, ml_load_rank(w));
    if (d->kind == ML_EXPR_INT)
        return d->as.i == w->as.i ||
               differ(m, "a constant is %lld: the intrinsic's is %lld", (long long)w->as.i,
                      (long long)d->as.i);
    if (d->kind == ML_EXPR_FLOAT)
        return d->as.f == w->as.f ||
               differ(m, "a constant is %g: the intrinsic's is %g", w->as.f, d->as.f);
    if (d->n_args == 0 || d->n_args != w->n_args || d->kind == ML_EXPR_LET)
        return differ(m, "the block %s in another way than the intrinsic", deed(w));
    bool swap = commutes(d) && m->n_seen < MAX_SWAPS && (m->swapped >> m->n_seen & 1u);

    m->n_seen += commutes(d);
    for (uint32_t k = 0; k < d->n_args; k++)
        if (!match_expr(m, d->args[k], w->args[swap ? 1 - k : k]))
            return false;
    return true;
}

static const ml_Store *only_store(const ml_Block *b)
{
    if (b->body->kind != ML_STMT_STORE || ml_as_store(b->body)->mask || b->n_allocs ||
        b->n_matches)
        return NULL;
    return ml_as_store(b->body);
}

static bool match_bodies(Maps *m)
{
    const ml_Store *d = only_store(m->d), *w = only_store(m->b);

    m->n_pairs = m->n_seen = 0;
    m->progress = 0;
    if (!w)
        return differ(m, "the body of the block is more than one store");
    return match_expr(m, d->value, w->value) &&
           match_access(m, d->buffer, d->indices, d->n, w->buffer, w->indices, w->n);
}

static bool is_swappable(const ml_Expr *e, void *user)
{
    *(unsigned *)user += commutes(e);
    return true;
}

/* ---- characters of iters */

static bool uses(const ml_Expr *const *index, size_t n, const ml_Var *v)
{
    for (size_t k = 0; k < n; k++)
        if (ml_expr_uses_var(index[k], v))
            return true;
    return false;
}

static void find_characters(Maps *m)
{
    m->block_bits = ML_ARRAY(m->cx, uint32_t, m->b->n_iters + 1u);
    m->desc_bits = ML_ARRAY(m->cx, uint32_t, m->d->n_iters + 1u);
    for (size_t p = 0; p < m->n_pairs; p++) {
        const Pair *at = &m->pairs[p];

        for (uint32_t k = 0; k < m->b->n_iters; k++)
            if (uses(at->own_index, at->own_rank, m->b->iters[k].var))
                m->block_bits[k] |= 1u << p;
        for (uint32_t k = 0; k < m->d->n_iters; k++)
            if (uses(at->op.index, at->rank, m->d->iters[k].var))
                m->desc_bits[k] |= 1u << p;
    }
}

static bool is_alike(const Maps *m, uint32_t own, uint32_t desc)
{
    const ml_Iter *it = &m->b->iters[own];

    return it->kind == m->d->iters[desc].kind && ml_is_const_int(it->extent) &&
           it->extent->as.i > 0 && m->block_bits[own] == m->desc_bits[desc];
}

static bool is_unit(const ml_Iter *it)
{
    return ml_is_int(it->extent, 1);
}

/* What an iter of the intrinsic is like, for those that look for one. */
static bool no_iter_like(Maps *m, uint32_t desc)
{
    ml_Text t = {0};

    ml_text_fmt(&t, "no %s iter of the block is in",
                ml_iter_kind_name((ml_IterKind)m->d->iters[desc].kind));
    for (size_t p = 0, n = 0; p < m->n_pairs; p++)
        if (m->desc_bits[desc] >> p & 1u)
            ml_text_fmt(&t, "%s %s", n++ ? " and" : "",
                        ml_shown(m->cx, m->pairs[p].op.own));
    ml_text_fmt(&t, " alone, as the intrinsic's %s is", m->d->iters[desc].var->hint);
    m->progress = SIZE_MAX - 1;
    differ(m, "%s", ml_text_z(&t));
    ml_text_free(&t);
    return false;
}

/* ---- mappings of one match */

static void add_map(Maps *m, uint32_t *const *lists, const size_t *n_of)
{
    size_t n = m->d->n_iters;
    const uint32_t **of = ML_ARRAY(m->cx, const uint32_t *, n + 1);
    size_t *counts = ML_ARRAY(m->cx, size_t, n + 1);
    int64_t *extents = ML_ARRAY(m->cx, int64_t, n + 1);

    if (m->found.n == ML_INTRIN_MAPS_MOST) {
        m->cut = true;
        return;
    }
    for (size_t k = 0; k < n; k++) {
        uint32_t *list = ML_ARRAY(m->cx, uint32_t, n_of[k] + 1);

        counts[k] = n_of[k];
        extents[k] = 1;
        for (size_t i = 0; i < n_of[k]; i++) {
            list[i] = lists[k][i];
            if (__builtin_mul_overflow(extents[k], m->b->iters[list[i]].extent->as.i,
                                       &extents[k]))
                return; /* no index counts so far */
        }
        of[k] = list;
    }
    ml_push(m->cx, &m->found,
            ((ml_IntrinMap){m->n_pairs, m->operands, counts, of, extents}));
}

/* The next order of a list, as words are in a dictionary; false: it was the last, and the
 * first stands there again. */
static bool next_order(uint32_t *v, size_t n)
{
    size_t k = n, j = n;

    while (k-- > 1 && v[k - 1] > v[k])
        ;
    if (n > MAX_FUSED)
        return false;
    bool more = n > 1 && k > 0;

    if (more) {
        while (v[--j] < v[k - 1])
            ;
        uint32_t x = v[j];

        v[j] = v[k - 1];
        v[k - 1] = x;
    } else {
        k = 0;
    }
    for (size_t a = k, z = n; a + 1 < z; a++) {
        uint32_t x = v[a];

        v[a] = v[--z];
        v[z] = x;
    }
    return more;
}

/* Each order in which those that are chosen can be fused. */
static void add_orders(Maps *m)
{
    size_t n = m->d->n_iters, k;
    uint32_t **lists = ML_ARRAY(m->cx, uint32_t *, n + 1);
    size_t *n_of = ML_ARRAY(m->cx, size_t, n + 1);

    for (k = 0; k < n; k++) {
        lists[k] = ML_ARRAY(m->cx, uint32_t, m->b->n_iters + 1u);
        n_of[k] = 0;
        for (uint32_t i = 0; i < m->b->n_iters; i++)
            if (m->choice[i] == (int64_t)k)
                lists[k][n_of[k]++] = i;
        if (n_of[k] == 0)
            return;
    }
    do {
        add_map(m, lists, n_of);
        for (k = n; k > 0 && !next_order(lists[k - 1], n_of[k - 1]); k--)
            ;
    } while (k > 0 && !m->cut);
}

/* From the i-th iter on: each of the intrinsic's that it is like, then outside. */
static void choose(Maps *m, uint32_t i)
{
    if (m->cut)
        return;
    if (i == m->b->n_iters) {
        add_orders(m);
        return;
    }
    if (m->choice[i] >= 0) { /* an iter of extent 1 that no other can replace */
        choose(m, i + 1);
        return;
    }
    for (uint32_t k = 0; k < m->d->n_iters && !is_unit(&m->b->iters[i]); k++)
        if (is_alike(m, i, k)) {
            m->choice[i] = (int64_t)k;
            choose(m, i + 1);
        }
    m->choice[i] = -1;
    choose(m, i + 1);
}

static ml_IntrinOperand operand(const Maps *m, size_t p, bool write)
{
    ml_IntrinOperand o = m->pairs[p].op;

    o.write = write;
    for (uint32_t k = 0; k < m->b->n_iters; k++)
        o.iters |= (uint64_t)(m->block_bits[k] >> p & 1u) << k;
    return o;
}

/* false: an iter of the intrinsic has none. */
static bool map_iters(Maps *m)
{
    ml_IntrinOperand *ops = ML_ARRAY(m->cx, ml_IntrinOperand, m->n_pairs + 1);
    size_t n = 0;

    find_characters(m);
    m->choice = ML_ARRAY(m->cx, int64_t, m->b->n_iters + 1u);
    for (uint32_t i = 0; i < m->b->n_iters; i++)
        m->choice[i] = -1;
    for (uint32_t k = 0; k < m->d->n_iters; k++) {
        uint32_t unit = m->b->n_iters, other = unit;

        for (uint32_t i = m->b->n_iters; i-- > 0;)
            if (is_alike(m, i, k) && m->choice[i] < 0)
                *(is_unit(&m->b->iters[i]) ? &unit : &other) = i;
        if (other == m->b->n_iters && unit == other)
            return no_iter_like(m, k);
        if (other == m->b->n_iters)
            m->choice[unit] = (int64_t)k;
    }
    for (int write = 1; write >= 0; write--)
        for (size_t p = 0; p < m->n_pairs; p++)
            if ((m->pairs[p].op.desc->uid == only_store(m->d)->buffer->uid) == write)
                ops[n++] = operand(m, p, write);
    m->operands = ops;
    choose(m, 0);
    return true;
}

/* Buffers stand for the same as in a match that was found before. */
static bool is_known(const Maps *m, size_t n_before)
{
    for (size_t k = 0; k < n_before; k++) {
        const ml_IntrinMap *f = &m->found.v[k];
        bool same = true;

        for (size_t a = 0; a < f->n_operands; a++)
            for (size_t p = 0; p < m->n_pairs; p++)
                same = same && (m->pairs[p].op.desc->uid != f->operands[a].desc->uid ||
                                m->pairs[p].op.own->uid == f->operands[a].own->uid);
        if (same)
            return true;
    }
    return false;
}

/* ---- the whole */

/* The description's block: the only one, a store under loops of known extents. */
static const ml_Block *described(const ml_Func *desc)
{
    const ml_Block *root = ml_func_root(desc);
    const ml_Stmt *st = root ? root->body : NULL;

    for (; st && st->kind == ML_STMT_FOR; st = ml_as_for(st)->body)
        ;
    const ml_Block *b = st && st->kind == ML_STMT_BLOCK ? ml_as_block(st) : NULL;

    if (!b || !only_store(b) || b->n_iters > MAX_ITERS)
        return NULL;
    for (uint32_t k = 0; k < b->n_iters; k++)
        if (!ml_is_int(b->iters[k].min, 0) || !ml_is_const_int(b->iters[k].extent))
            return NULL;
    return b;
}

static const char *no_candidate(ml_Ctx *cx, const ml_Block *b)
{
    if (b->n_iters > MAX_ITERS)
        return ml_format(cx, "the block has more than %d iters", MAX_ITERS);
    for (uint32_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];

        if (it->kind != ML_ITER_SPATIAL && it->kind != ML_ITER_REDUCE)
            return ml_format(cx, "iter %s is %s: its order counts", it->var->hint,
                             ml_iter_kind_name((ml_IterKind)it->kind));
    }
    return ml_is_true(b->predicate) ? NULL : "the block runs under a condition";
}

bool ml_intrin_maps(ml_Schedule *s, ml_Handle block, const char *name, ml_Ctx *cx,
                    ml_IntrinMaps *out)
{
    *out = (ml_IntrinMaps){0};
    ml_schedule_begin(s);
    const ml_Stmt *node = ml_handle_node(s, block, ML_H_BLOCK);

    if (!node)
        return false;
    const ml_Intrin *in = ml_intrin_find(s->space->intrins, name);

    if (!in)
        return ml_fail(s->space->cx, ML_E_NO_SUCH_INTRIN, ML_TYPED(name));
    Maps m = {.cx = cx, .b = ml_as_block(node), .d = described(in->desc)};

    out->block = m.b;
    out->desc = m.d;
    out->why = m.d ? no_candidate(cx, m.b)
                   : "the intrinsic's description is not one store under loops";
    if (out->why)
        return true;
    unsigned n_swaps = 0;

    ml_expr_visit(only_store(m.d)->value, is_swappable, &n_swaps);
    n_swaps = n_swaps < MAX_SWAPS ? n_swaps : MAX_SWAPS;
    for (; m.swapped < 1u << n_swaps && !m.cut; m.swapped++)
        if (match_bodies(&m) && !is_known(&m, m.found.n))
            map_iters(&m);
    out->n = m.found.n;
    out->v = m.found.v;
    out->cut = m.cut;
    out->why = out->n ? NULL : m.why;
    return true;
}

const char *ml_intrin_map_text(ml_Ctx *cx, const ml_IntrinMaps *all, const ml_IntrinMap *m)
{
    ml_Text t = {0};

    for (uint32_t k = 0; k < all->desc->n_iters; k++) {
        const ml_Iter *it = &all->desc->iters[k];
        int64_t tile = it->extent->as.i, n = m->extents[k];

        ml_text_fmt(&t, "%s%s = %s", k ? ", " : "", it->var->hint,
                    m->n_of[k] > 1 ? "fuse(" : "");
        for (size_t i = 0; i < m->n_of[k]; i++)
            ml_text_fmt(&t, "%s%s", i ? ", " : "",
                        all->block->iters[m->of[k][i]].var->hint);
        ml_text_add(&t, m->n_of[k] > 1 ? ")" : "");
        if (tile > 0 && n % tile != 0)
            ml_text_fmt(&t, " (%lld padded to %lld)", (long long)n,
                        (long long)((n + tile - 1) / tile * tile));
    }
    const char *z = ml_strdup(cx, (ml_Str){ml_text_z(&t), t.n});

    ml_text_free(&t);
    return z;
}
