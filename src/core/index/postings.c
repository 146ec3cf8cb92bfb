/*
 * postings - which blocks use a buffer, which define it, and which bear a name, kept beside
 * the index.
 *
 * A block is listed under every buffer that its signature names, under every buffer that it
 * allocates or matches, and under its stored name; blocks of an init are not, as they are
 * not in the index. Lists hold numbers, so that they
 * stay right while loops and bodies around a block change: a step touches only the lists of
 * blocks that it made, dropped, or gave another signature. Nothing is said about order.
 * Source: ir-and-analysis 2.2, 8.2.
 */
#include "moonloop/core/index/index_pages.h"

/* The blocks of a posting of more than two. */
typedef struct ml_TagList {
    const ml_Index *owner; /* the edit that may change it */
    uint32_t cap;
    ml_Uid tags[];
} TagList;

enum { FEW = 2, MIN_NAME_BITS = 4, MAX_NAME_BITS = 16 };

/* ---- one posting */

static ml_Tags tags_of(const ml_Cell *c)
{
    if (!c || c->posting.n == 0)
        return (ml_Tags){0, NULL};
    if (c->posting.n <= FEW)
        return (ml_Tags){c->posting.n, c->posting.as.few};
    return (ml_Tags){c->posting.n, c->posting.as.many->tags};
}

static TagList *new_list(ml_Ctx *cx, const ml_Index *owner, ml_Tags from)
{
    uint32_t cap = (uint32_t)from.n + (uint32_t)from.n / 2 + 2;
    TagList *l = ml_alloc(cx, sizeof(*l) + cap * sizeof(l->tags[0]));

    l->owner = owner;
    l->cap = cap;
    memcpy(l->tags, from.v, from.n * sizeof(*from.v));
    return l;
}

static void add(ml_Ctx *cx, ml_Pages *t, const ml_Index *ix, uint32_t key, ml_Uid tag)
{
    ml_Posting *p = &ml_pages_own(cx, t, ix, key)->posting;

    if (p->n < FEW) {
        p->as.few[p->n++] = tag;
        return;
    }
    if (p->n == FEW) {
        p->as.many = new_list(cx, ix, (ml_Tags){FEW, p->as.few});
    } else if (p->as.many->owner != ix || p->n == p->as.many->cap) {
        p->as.many = new_list(cx, ix, (ml_Tags){p->n, p->as.many->tags});
    }
    p->as.many->tags[p->n++] = tag;
}

static void drop(ml_Ctx *cx, ml_Pages *t, const ml_Index *ix, uint32_t key, ml_Uid tag)
{
    ml_Posting *p = &ml_pages_own(cx, t, ix, key)->posting;
    ml_Tags was = tags_of((const ml_Cell *)(const void *)p);
    uint32_t n = 0;

    for (size_t k = 0; k < was.n; k++)
        n += was.v[k] != tag;
    if (n == was.n)
        return;
    ml_Uid few[FEW] = {0}, *to = few;

    if (n > FEW) {
        if (p->as.many->owner != ix)
            p->as.many = new_list(cx, ix, was);
        to = p->as.many->tags; /* no place is read after it was written */
    }
    p->n = n;
    n = 0;
    for (size_t k = 0; k < was.n; k++)
        if (was.v[k] != tag)
            to[n++] = was.v[k];
    if (n <= FEW)
        memcpy(p->as.few, few, sizeof few);
}

/* ---- blocks */

static uint32_t name_key(const ml_Index *ix, const char *z)
{
    uint32_t h = (uint32_t)ml_fnv(ML_FNV, z, strlen(z));

    return (h ^ h >> 16) & ix->name_mask;
}

void ml_index_expect(ml_Index *ix, size_t n_blocks)
{
    unsigned bits = MIN_NAME_BITS;

    while (bits < MAX_NAME_BITS && ((size_t)1 << bits) < n_blocks)
        bits++;
    ix->name_mask = (1U << bits) - 1;
}

static const ml_Region *region(const ml_Block *b, size_t k)
{
    return k < b->n_reads ? &b->reads[k] : &b->writes[k - b->n_reads];
}

/* Whether one of the first n regions is of the buffer. */
static bool has(const ml_Block *b, size_t n, const ml_Buffer *buf)
{
    for (size_t k = 0; b && k < n; k++)
        if (region(b, k)->buffer->uid == buf->uid)
            return true;
    return false;
}

static size_t n_regions(const ml_Block *b)
{
    return b ? (size_t)b->n_reads + b->n_writes : 0;
}

static void add_once(ml_Ctx *cx, ml_Pages *t, const ml_Index *ix, uint32_t key, ml_Uid tag)
{
    ml_Tags now = tags_of(ml_pages_find(t, key));

    for (size_t k = 0; k < now.n; k++)
        if (now.v[k] == tag)
            return;
    add(cx, t, ix, key, tag);
}

/* The buffers that the block defines; of allocations only those that differ. */
static void sign_homes(ml_Ctx *cx, ml_Index *ix, const ml_Block *a, const ml_Block *b)
{
    size_t na = a ? a->n_allocs : 0, nb = b ? b->n_allocs : 0, head = 0;
    bool same = a && b && a->matches == b->matches && a->n_matches == b->n_matches;

    if (a && b && a->allocs == b->allocs)
        head = na < nb ? na : nb;
    while (head < na && head < nb && a->allocs[head] == b->allocs[head])
        head++;
    while (na > head && nb > head && a->allocs[na - 1] == b->allocs[nb - 1]) {
        na--;
        nb--;
    }
    for (size_t k = head; k < na; k++)
        drop(cx, &ix->homes, ix, a->allocs[k]->uid, a->tag);
    for (size_t k = 0; a && !same && k < a->n_matches; k++)
        drop(cx, &ix->homes, ix, a->matches[k].target->uid, a->tag);
    for (size_t k = head; k < nb; k++)
        add_once(cx, &ix->homes, ix, b->allocs[k]->uid, b->tag);
    for (size_t k = 0; b && !same && k < b->n_matches; k++)
        add_once(cx, &ix->homes, ix, b->matches[k].target->uid, b->tag);
}

void ml_index_sign(ml_Ctx *cx, ml_Index *ix, const ml_Stmt *old, const ml_Stmt *new)
{
    const ml_Block *a = old && old->kind == ML_STMT_BLOCK ? ml_as_block(old) : NULL;
    const ml_Block *b = new &&new->kind == ML_STMT_BLOCK ? ml_as_block(new) : NULL;
    size_t na = n_regions(a), nb = n_regions(b);
    bool same_regions = a && b && a->reads == b->reads && a->writes == b->writes &&
                        a->n_reads == b->n_reads && a->n_writes == b->n_writes;
    bool same_name = a && b && (a->name == b->name || ml_streq(a->name, b->name));

    if (a && !same_name)
        drop(cx, &ix->names, ix, name_key(ix, a->name), a->tag);
    if (b && !same_name)
        add(cx, &ix->names, ix, name_key(ix, b->name), b->tag);
    if (a || b)
        sign_homes(cx, ix, a, b);
    if (same_regions)
        return;
    for (size_t k = 0; k < na; k++) {
        const ml_Buffer *buf = region(a, k)->buffer;

        if (!has(b, nb, buf))
            drop(cx, &ix->users, ix, buf->uid, a->tag);
    }
    for (size_t k = 0; k < nb; k++) {
        const ml_Buffer *buf = region(b, k)->buffer;
        ml_Tags now = a ? (ml_Tags){0, NULL} : ml_index_users(ix, buf);

        /* A new block's additions come one after the other: it is the last, if at all. */
        if (a ? !has(a, na, buf) && !has(b, k, buf)
              : now.n == 0 || now.v[now.n - 1] != b->tag)
            add(cx, &ix->users, ix, buf->uid, b->tag);
    }
}

ml_Tags ml_index_users(const ml_Index *ix, const ml_Buffer *b)
{
    return tags_of(ml_pages_find(&ix->users, b->uid));
}

ml_Tags ml_index_homes(const ml_Index *ix, const ml_Buffer *b)
{
    return tags_of(ml_pages_find(&ix->homes, b->uid));
}

size_t ml_index_named(const ml_Index *ix, uint32_t func, const char *name, ml_Uid *one)
{
    ml_Tags t = tags_of(ml_pages_find(&ix->names, name_key(ix, name)));
    size_t n = 0;

    for (size_t k = 0; k < t.n; k++) {
        const ml_IndexEntry *e = ml_index_find(ix, t.v[k]);

        if (e->func != func || !ml_streq(ml_as_block(e->node)->name, name))
            continue;
        if (n++ == 0 && one)
            *one = t.v[k];
    }
    return n;
}

/* ---- self-check */

typedef struct Same {
    ml_Ctx *cx;
    const ml_Index *have, *want;
    const ml_Pages *other; /* what the table at hand is compared with */
    const char *table;
    size_t names; /* listed in `have` */
    const char *what;
} Same;

static size_t count_tag(ml_Tags t, ml_Uid tag)
{
    size_t n = 0;

    for (size_t k = 0; k < t.n; k++)
        n += t.v[k] == tag;
    return n;
}

static void compare_cell(uint32_t key, const ml_Cell *cell, void *user)
{
    Same *s = user;
    ml_Tags here = tags_of(cell), there = tags_of(ml_pages_find(s->other, key));

    for (size_t k = 0; k < here.n && !s->what; k++)
        if (count_tag(there, here.v[k]) != 1)
            s->what =
                ml_format(s->cx, "%s of buffer %u: block %u is listed %zu times", s->table,
                          (unsigned)key, (unsigned)here.v[k], count_tag(there, here.v[k]));
}

static void compare_tables(Same *s, const char *table, const ml_Pages *have,
                           const ml_Pages *want)
{
    s->table = table;
    s->other = have;
    ml_pages_each(want, compare_cell, s);
    s->other = want;
    ml_pages_each(have, compare_cell, s);
}

static void compare_name(ml_Uid uid, const ml_Stmt *node, void *user)
{
    Same *s = user;

    if (node->kind != ML_STMT_BLOCK || s->what)
        return;
    uint32_t key = name_key(s->have, ml_as_block(node)->name);

    s->names--;
    if (count_tag(tags_of(ml_pages_find(&s->have->names, key)), uid) != 1)
        s->what = ml_format(s->cx, "block %u is not listed under its name", (unsigned)uid);
}

static void count_names(uint32_t key, const ml_Cell *cell, void *user)
{
    (void)key;
    ((Same *)user)->names += cell->posting.n;
}

bool ml_index_same_postings(ml_Ctx *cx, const ml_Index *have, const ml_Index *want,
                            const char **what)
{
    Same s = {.cx = cx, .have = have, .want = want};

    compare_tables(&s, "users", &have->users, &want->users);
    compare_tables(&s, "homes", &have->homes, &want->homes);
    ml_pages_each(&have->names, count_names, &s);
    ml_index_each(want, compare_name, &s);
    if (!s.what && s.names > 0)
        s.what = ml_format(cx, "%zu names of blocks that are gone are listed", s.names);
    *what = s.what;
    return !s.what;
}
