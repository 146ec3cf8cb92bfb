/*
 * grows - keys that grow as the loops run: the cheap answer to whether an order is another
 * one at all, at least for instances that touch one element.
 *
 * The values of a key are gone through beside the loops. What depends on loops that the
 * values before have told apart already, or on none, is the same where these are equal. The
 * next value must be a sum over the loops that follow, each weighing more than all that
 * comes behind it in the sum (so i_0 * 16 + i_1 where i_1 < 16): of two iterations the one
 * whose first different loop is ahead has the larger sum, and equal sums mean equal loops.
 * By induction the first value of the key that differs between two iterations is larger in
 * the later one; where the key ends before the loops do, the rest are equal in it.
 */
#include "moonloop/verify/order/self_deps.h"

enum { MAX_LOOPS = 24 };

typedef struct Sum {
    const ml_Dom *loops;
    size_t n, first; /* loops before the first one are told apart */
    int64_t weight[MAX_LOOPS];
    bool ok;
} Sum;

static void add_var(Sum *s, const ml_Var *v, int64_t times)
{
    for (size_t k = s->first; k < s->n; k++)
        if (s->loops[k].var == v)
            s->ok &= !__builtin_add_overflow(s->weight[k], times, &s->weight[k]);
}

static void add_terms(Sum *s, const ml_Expr *e, int64_t times)
{
    bool by_number = e->kind == ML_EXPR_MUL && ml_is_const_int(e->args[1]);

    if (e->kind == ML_EXPR_VAR) {
        add_var(s, e->as.var, times);
    } else if (e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB) {
        add_terms(s, e->args[0], times);
        add_terms(s, e->args[1], e->kind == ML_EXPR_SUB ? -times : times);
    } else if (by_number) {
        s->ok &= !__builtin_mul_overflow(times, e->args[1]->as.i, &times);
        add_terms(s, e->args[0], times);
    } else if (e->kind != ML_EXPR_INT) {
        s->ok &= !(e->flags & (ML_X_HAS_LOAD | ML_X_READ_OP | ML_X_EFFECT));
        for (size_t k = s->first; s->ok && k < s->n; k++)
            s->ok = !ml_expr_uses_var(e, s->loops[k].var);
    }
}

/* The loops in the sum are those that come next, each heavier than what is behind it; *end:
 * behind them. */
static bool is_ordered(const Sum *s, size_t *end)
{
    int64_t behind = 0; /* what the loops behind add at most */

    *end = s->n;
    while (*end > s->first && s->weight[*end - 1] == 0)
        --*end;
    for (size_t k = *end; k-- > s->first;) {
        const ml_Dom *f = &s->loops[k];
        int64_t most;

        if (ml_is_int(f->extent, 1))
            continue;
        if (s->weight[k] <= behind)
            return false;
        if (!ml_is_const_int(f->extent) || !ml_is_const_int(f->min) ||
            __builtin_mul_overflow(s->weight[k], f->extent->as.i - 1, &most) ||
            __builtin_add_overflow(behind, most, &behind))
            behind = INT64_MAX;
    }
    return true;
}

bool ml_key_grows(const ml_Dom *loops, size_t n, const ml_Expr *const *key, size_t n_key)
{
    Sum s = {.loops = loops, .n = n, .ok = n <= MAX_LOOPS};

    for (size_t k = 0; s.ok && k < n_key && s.first < n; k++) {
        size_t end;

        memset(s.weight, 0, n * sizeof s.weight[0]);
        add_terms(&s, key[k], 1);
        if (!s.ok || !is_ordered(&s, &end))
            return false;
        s.first = end;
    }
    return s.ok;
}

/* ---- loops that an element tells */

/* What the block reads of the memory it writes is the element that it writes. */
static bool touches_one_element(const ml_Block *b)
{
    for (size_t w = 0; w < b->n_writes; w++) {
        const ml_Buffer *buf = b->writes[w].buffer;
        const ml_Range *at = b->writes[w].ranges;

        for (size_t k = w + 1; k < b->n_writes; k++)
            if (b->writes[k].buffer->data == buf->data)
                return false;
        for (size_t k = 0; k < b->n_reads; k++)
            if (b->reads[k].buffer->data == buf->data &&
                (b->reads[k].buffer != buf ||
                 !ml_same_ranges(b->reads[k].ranges, at, buf->rank)))
                return false;
    }
    return true;
}

/* v, or as far from it everywhere. */
static bool is_at(const ml_Range *r, const ml_Var *v)
{
    const ml_Expr *e = r->min;

    if (e->kind == ML_EXPR_ADD && ml_is_const_int(e->args[1]))
        e = e->args[0];
    return e->kind == ML_EXPR_VAR && e->as.var == v && ml_is_int(r->extent, 1);
}

/* The variable is an index of all that the block writes. */
static bool is_index(const ml_Block *b, const ml_Var *v)
{
    for (size_t w = 0; w < b->n_writes; w++) {
        const ml_Region *r = &b->writes[w];
        bool found = false;

        for (size_t k = 0; k < r->buffer->rank && !found; k++)
            found = is_at(&r->ranges[k], v);
        if (!found)
            return false;
    }
    return true;
}

bool ml_elements_tell(const ml_Block *b, bool spatial)
{
    bool all = touches_one_element(b);

    for (size_t k = 0; all && k < b->n_iters; k++)
        all = (spatial && b->iters[k].kind != ML_ITER_SPATIAL) ||
              ml_is_int(b->iters[k].extent, 1) || is_index(b, b->iters[k].var);
    return all;
}

static int64_t size_of(int64_t w)
{
    return w < 0 ? -w : w;
}

/* Equal sums mean equal loops: each weighs more than all lighter ones together, so the
 * heaviest one that differed would not be made up for. */
static bool tells_all(const Sum *s)
{
    size_t by[MAX_LOOPS], n = 0; /* the lightest one first */
    int64_t lighter = 0, most;

    for (size_t k = 0; k < s->n; k++) {
        if (s->weight[k] == 0 || ml_is_int(s->loops[k].extent, 1))
            continue;
        if (s->weight[k] == INT64_MIN)
            return false;
        size_t at = n++;

        for (; at > 0 && size_of(s->weight[by[at - 1]]) > size_of(s->weight[k]); at--)
            by[at] = by[at - 1];
        by[at] = k;
    }
    for (size_t m = 0; m < n; m++) {
        const ml_Dom *f = &s->loops[by[m]];
        int64_t w = size_of(s->weight[by[m]]);

        if (w <= lighter)
            return false;
        if (!ml_is_const_int(f->extent) || !ml_is_const_int(f->min) ||
            __builtin_mul_overflow(w, f->extent->as.i - 1, &most) ||
            __builtin_add_overflow(lighter, most, &lighter))
            lighter = INT64_MAX;
    }
    return true;
}

void ml_loops_told(const ml_Block *b, const ml_Dom *loops, size_t n, bool all, bool *told)
{
    memset(told, 0, n * sizeof *told);
    if (n > MAX_LOOPS || !touches_one_element(b))
        return;
    for (size_t m = 0; m < b->n_iters; m++) {
        const ml_Expr *e = b->iters[m].value;

        if (!is_index(b, b->iters[m].var))
            continue;
        for (size_t k = 0; e->kind == ML_EXPR_VAR && k < n; k++)
            told[k] |= loops[k].var == e->as.var;
        if (e->kind == ML_EXPR_VAR || !all)
            continue;
        Sum s = {.loops = loops, .n = n, .ok = true};

        add_terms(&s, e, 1);
        if (!s.ok || !tells_all(&s))
            continue;
        for (size_t k = 0; k < n; k++)
            told[k] |= s.weight[k] != 0;
    }
}

bool ml_order_stays(const ml_Block *b, const ml_Dom *loops, size_t n,
                    const ml_Expr *const *key, size_t n_key)
{
    ml_Dom open[MAX_LOOPS];
    bool told[MAX_LOOPS];
    size_t n_open = 0;

    if (n > MAX_LOOPS)
        return false;
    ml_loops_told(b, loops, n, true, told);
    for (size_t k = 0; k < n; k++)
        if (!told[k])
            open[n_open++] = loops[k];
    return ml_key_grows(open, n_open, key, n_key);
}
