/* reuse - the stack of lines by last use: a short list above a row of bits. */
#include "moonloop/codegen/trace/reuse.h"

enum { FIRST_PLACES = 1 << 12 };

static void new_row(ml_Reuse *r, uint32_t cap)
{
    r->cap = cap;
    r->line_at = ML_ARRAY(r->cx, uint32_t, cap);
    r->bits = ML_ARRAY(r->cx, uint64_t, cap / 64);
    r->tree = ML_ARRAY(r->cx, uint32_t, cap / 64 + 1);
}

void ml_reuse_init(ml_Reuse *r, ml_Ctx *cx)
{
    *r = (ml_Reuse){.cx = cx};
    new_row(r, FIRST_PLACES);
    r->used = 1; /* place 0 means none */
}

void ml_reuse_reserve(ml_Reuse *r, uint32_t n)
{
    uint32_t cap = r->n_lines ? r->n_lines : 1024;
    uint32_t *slot;

    if (n <= r->n_lines)
        return;
    while (cap < n)
        cap = cap > UINT32_MAX / 2 ? UINT32_MAX : cap * 2;
    slot = ML_ARRAY(r->cx, uint32_t, cap);
    if (r->n_lines)
        memcpy(slot, r->slot, r->n_lines * sizeof *slot);
    r->slot = slot;
    r->n_lines = cap;
}

static void count(ml_Reuse *r, uint32_t word, uint32_t by)
{
    for (uint32_t w = word + 1; w <= r->cap / 64; w += w & (0 - w))
        r->tree[w] += by;
}

static void set(ml_Reuse *r, uint32_t place)
{
    r->bits[place / 64] |= UINT64_C(1) << (place % 64);
    count(r, place / 64, 1);
    r->live++;
}

static void clear(ml_Reuse *r, uint32_t place)
{
    r->bits[place / 64] &= ~(UINT64_C(1) << (place % 64));
    count(r, place / 64, UINT32_MAX);
    r->live--;
}

/* Lines last used after that place. */
static uint32_t above(const ml_Reuse *r, uint32_t place)
{
    uint32_t word = place / 64, n = 0;
    uint64_t upto = r->bits[word] & (UINT64_MAX >> (63 - place % 64));

    for (uint32_t w = word; w > 0; w &= w - 1)
        n += r->tree[w];
    return r->live - n - (uint32_t)__builtin_popcountll(upto);
}

/* The row is full: the lines in it move together, keeping their order. */
static void gather(ml_Reuse *r)
{
    const uint32_t *line = r->line_at;
    const uint64_t *bits = r->bits;
    uint32_t end = r->used;

    if (r->live > r->cap / 2)
        new_row(r, r->cap * 2);
    r->used = 1;
    for (uint32_t p = 1; p < end; p++)
        if (bits[p / 64] >> (p % 64) & 1) {
            r->line_at[r->used] = line[p];
            r->slot[line[p]] = r->used++;
        }
    if (r->bits == bits) {
        memset(r->bits, 0, r->cap / 8);
        memset(r->tree, 0, (r->cap / 64 + 1) * sizeof *r->tree);
    }
    r->live = 0;
    for (uint32_t p = 1; p < r->used; p++)
        set(r, p);
}

static void lower(ml_Reuse *r, uint32_t line)
{
    if (r->used == r->cap)
        gather(r);
    r->line_at[r->used] = line;
    r->slot[line] = r->used;
    set(r, r->used++);
}

static void raise(ml_Reuse *r, uint32_t line)
{
    if (r->n_top == ML_REUSE_TOP)
        lower(r, r->top[ML_REUSE_TOP - 1]);
    else
        r->n_top++;
    for (uint32_t k = r->n_top - 1; k > 0; k--)
        r->top[k] = r->top[k - 1];
    r->top[0] = line;
    r->slot[line] = UINT32_MAX;
}

uint64_t ml_reuse_touch(ml_Reuse *r, uint32_t line)
{
    uint32_t place = r->slot[line], n;

    if (place == UINT32_MAX) {
        for (n = 0; r->top[n] != line; n++)
            ;
        for (uint32_t k = n; k > 0; k--)
            r->top[k] = r->top[k - 1];
        r->top[0] = line;
        return n;
    }
    if (place == 0) {
        raise(r, line);
        return ML_REUSE_COLD;
    }
    n = r->n_top + above(r, place);
    clear(r, place);
    raise(r, line);
    return n;
}
