/*
 * facts - the memory of scope questions: answers keyed by the very nodes they depend on.
 *
 * Nodes are immutable and shared between versions, so an answer stays right as long as the
 * nodes live. Source: ir-and-analysis 8.3, 8.4.
 */
#include "moonloop/verify/facts.h"

typedef struct Entry {
    uint64_t hash;
    size_t n;
    const void *const *key;
    bool answer;
} Entry;

enum { CHILD_SLOTS = 8, SHOWN_SLOTS = 4, MAX_BYTES = 16 << 20 };

struct ml_Facts {
    ml_Ctx *cx; /* own memory */
    size_t count;
    size_t n, cap; /* of the open-addressing table; cap is a power of two */
    Entry *table;
    struct Slot {
        ml_Uid scope;
        const ml_Stmt *body;
        ml_Children children;
        const uint32_t *first; /* per statement of the body: its first child block */
    } slots[CHILD_SLOTS];
    size_t newest; /* slot that was filled last */
    struct {
        ml_Uid scope;
        const ml_Stmt *body;
    } shown[ML_SHOWN_KINDS][SHOWN_SLOTS];
    size_t next_shown;
    ml_FactCounts counts;
};

static const char ASKED[ML_QUESTIONS]; /* the address of its place tells a question */

static void start(ml_Facts *f)
{
    f->n = 0;
    f->cap = 64;
    f->table = ML_ARRAY(f->cx, Entry, f->cap);
    memset(f->slots, 0, sizeof f->slots);
    memset(f->shown, 0, sizeof f->shown);
}

ml_Facts *ml_facts_new(ml_Ctx *cx)
{
    ml_Ctx *own = ml_ctx_new(0);
    ml_Facts *f = ML_NEW(own, ml_Facts);

    (void)cx;
    /* The struct stays in `own`; the tables live in a child that can be emptied. */
    f->cx = ml_ctx_fork(own);
    ml_ctx_unref(own);
    start(f);
    return f;
}

void ml_facts_free(ml_Facts *f)
{
    if (f)
        ml_ctx_unref(f->cx);
}

size_t ml_facts_count(const ml_Facts *f)
{
    return f->count;
}

const char *ml_question_name(ml_Question q)
{
    static const char *const NAMES[ML_QUESTIONS] = {
        "affine bindings",    "region cover", "values produced",   "stage pipeline",
        "pipeline of values", "child blocks", "order of instances"};

    return NAMES[q];
}

ml_FactCounts ml_facts_counts(const ml_Facts *f)
{
    return f->counts;
}

void ml_facts_forget(ml_Facts *f)
{
    ml_ctx_reset(f->cx);
    start(f);
    f->count++;
}

/* ---- keys */

void ml_key_add(ml_Ctx *cx, ml_FactKey *k, const void *p)
{
    ml_push(cx, &k->v, p);
}

void ml_key_ask(ml_Ctx *cx, ml_FactKey *k, ml_Question q)
{
    k->question = (uint8_t)q;
    ml_key_add(cx, k, &ASKED[q]);
}

void ml_key_nest(ml_Ctx *cx, ml_FactKey *k, ml_Program p, const ml_Block *b, ml_Uid stop)
{
    ml_key_add(cx, k, b->iters);
    ml_key_add(cx, k, b->predicate);
    for (ml_Up u = ml_index_up(p.index, b->tag);
         u.node && u.uid != stop && u.node->kind != ML_STMT_BLOCK; ml_index_next(&u)) {
        const ml_For *f = ml_as_for(u.node);

        ml_key_add(cx, k, f->var);
        ml_key_add(cx, k, f->min);
        ml_key_add(cx, k, f->extent);
        ml_key_add(cx, k, f->thread.name);
    }
    ml_key_add(cx, k, NULL);
}

static uint64_t key_hash(const ml_FactKey *k)
{
    uint64_t h = 0x9e3779b97f4a7c15u;

    for (size_t j = 0; j < k->v.n; j++) {
        h ^= (uint64_t)(uintptr_t)k->v.v[j];
        h *= 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

static Entry *find(const ml_Facts *f, const ml_FactKey *k, uint64_t hash)
{
    for (size_t at = hash & (f->cap - 1);; at = (at + 1) & (f->cap - 1)) {
        Entry *e = &f->table[at];

        if (!e->key)
            return e;
        if (e->hash == hash && e->n == k->v.n &&
            memcmp(e->key, k->v.v, e->n * sizeof *e->key) == 0)
            return e;
    }
}

bool ml_fact_get(ml_Facts *f, const ml_FactKey *k, bool *answer)
{
    const Entry *e = find(f, k, key_hash(k));

    f->counts.asked[k->question]++;
    if (e->key)
        *answer = e->answer;
    return e->key != NULL;
}

static void grow(ml_Facts *f)
{
    const Entry *old = f->table;
    size_t n = f->cap;

    f->cap *= 2;
    f->table = ML_ARRAY(f->cx, Entry, f->cap);
    for (size_t k = 0; k < n; k++) {
        if (!old[k].key)
            continue;
        size_t at = old[k].hash & (f->cap - 1);

        while (f->table[at].key)
            at = (at + 1) & (f->cap - 1);
        f->table[at] = old[k];
    }
}

void ml_fact_put(ml_Facts *f, const ml_FactKey *k, bool answer)
{
    uint64_t hash = key_hash(k);

    f->counts.computed[k->question]++;
    if (ml_ctx_bytes(f->cx) > MAX_BYTES)
        ml_facts_forget(f);
    if (f->n * 2 >= f->cap)
        grow(f);
    Entry *e = find(f, k, hash);

    if (!e->key) {
        const void **copy = ML_ARRAY(f->cx, const void *, k->v.n);

        memcpy(copy, k->v.v, k->v.n * sizeof *copy);
        *e = (Entry){hash, k->v.n, copy, answer};
        f->n++;
        f->count++;
    }
}

/* ---- children */

const ml_Stmt *const *ml_statements(const ml_Stmt *const *body, size_t *n)
{
    if ((*body)->kind == ML_STMT_SEQ) {
        *n = ml_as_seq(*body)->n;
        return ml_as_seq(*body)->stmts;
    }
    *n = 1;
    return body;
}

static void gather(ml_Ctx *cx, const ml_Stmt *s, ml_StmtVec *out)
{
    if (s->kind == ML_STMT_BLOCK)
        ml_push(cx, out, s);
    else
        ml_child_blocks(cx, s, out);
}

/* A new version shares most statements of the body with an earlier one: only the blocks of
 * the others are looked for. */
static void fill_slot(ml_Facts *f, ml_Uid scope, const ml_Stmt *body,
                      const struct Slot *from, struct Slot *to)
{
    ml_StmtVec v = {0};
    size_t n, n_old = 0, head = 0, tail = 0;
    const ml_Stmt *const *st = ml_statements(&body, &n);
    const ml_Stmt *const *old = from->body ? ml_statements(&from->body, &n_old) : NULL;
    uint32_t *first = ML_ARRAY(f->cx, uint32_t, n + 1);

    if (old && from->scope == scope)
        ml_common_ends(old, n_old, st, n, &head, &tail);
    for (size_t k = head; k < n - tail; k++) {
        first[k] = (uint32_t)v.n;
        gather(f->cx, st[k], &v);
    }
    size_t before = head ? from->first[head] : 0;
    size_t after = tail ? from->children.n - from->first[n_old - tail] : 0;
    size_t total = before + v.n + after;
    const ml_Block **blocks = ML_ARRAY(f->cx, const ml_Block *, total);

    if (before)
        memcpy(blocks, from->children.v, before * sizeof *blocks);
    for (size_t k = 0; k < v.n; k++)
        blocks[before + k] = ml_as_block(v.v[k]);
    if (after)
        memcpy(blocks + before + v.n, from->children.v + from->children.n - after,
               after * sizeof *blocks);
    for (size_t k = 0; k < n; k++) {
        if (k < head)
            first[k] = from->first[k];
        else if (k < n - tail)
            first[k] += (uint32_t)before;
        else
            first[k] = from->first[n_old - (n - k)] - from->first[n_old - tail] +
                       (uint32_t)(before + v.n);
    }
    first[n] = (uint32_t)total;
    *to = (struct Slot){scope, body, {total, blocks}, first};
}

ml_Children ml_scope_children(ml_Facts *f, ml_Program p, ml_Uid scope)
{
    const ml_Stmt *body = ml_node_body(ml_index_node(p.index, scope));

    f->counts.asked[ML_ASK_CHILDREN]++;
    for (size_t k = 0; k < CHILD_SLOTS; k++)
        if (f->slots[k].body == body)
            return f->slots[k].children;
    f->counts.computed[ML_ASK_CHILDREN]++;
    if (ml_ctx_bytes(f->cx) > MAX_BYTES)
        ml_facts_forget(f);
    struct Slot made;

    fill_slot(f, scope, body, &f->slots[f->newest], &made);
    f->newest = (f->newest + 1) % CHILD_SLOTS;
    f->slots[f->newest] = made;
    f->count++;
    return made.children;
}

const ml_Stmt *ml_last_shown(const ml_Facts *f, ml_Shown what, ml_Uid scope)
{
    for (size_t k = 0; k < SHOWN_SLOTS; k++)
        if (f->shown[what][k].scope == scope)
            return f->shown[what][k].body;
    return NULL;
}

void ml_set_shown(ml_Facts *f, ml_Shown what, ml_Uid scope, const ml_Stmt *body)
{
    size_t k = 0;

    while (k < SHOWN_SLOTS && f->shown[what][k].scope != scope)
        k++;
    if (k == SHOWN_SLOTS)
        k = f->next_shown++ % SHOWN_SLOTS;
    f->shown[what][k].scope = scope;
    f->shown[what][k].body = body;
    f->count++;
}

bool ml_has_views(ml_Program p, ml_Uid scope)
{
    for (ml_Uid u = scope; u; u = ml_index_scope(p.index, u))
        if (ml_as_block(ml_index_node(p.index, u))->n_matches > 0)
            return true;
    return false;
}

const ml_Buffer *ml_canonical_buffer(ml_Program p, ml_Uid scope, const ml_Buffer *b)
{
    for (ml_Uid u = scope; u; u = ml_index_scope(p.index, u)) {
        const ml_Block *root = ml_as_block(ml_index_node(p.index, u));

        for (size_t k = 0; k < root->n_matches; k++)
            if (root->matches[k].target->uid == b->uid) {
                b = root->matches[k].source.buffer;
                break;
            }
    }
    return b;
}

static bool has_buffer(ml_Program p, ml_Uid scope, const ml_Region *v, size_t n,
                       const ml_Buffer *buf)
{
    if (ml_region_of(v, n, buf))
        return true;
    /* Views are rare: look for them only where there are any. */
    for (ml_Uid u = scope; u && n > 0; u = ml_index_scope(p.index, u))
        if (ml_as_block(ml_index_node(p.index, u))->n_matches > 0) {
            for (size_t k = 0; k < n; k++)
                if (ml_canonical_buffer(p, scope, v[k].buffer)->uid == buf->uid)
                    return true;
            return false;
        }
    return false;
}

bool ml_block_writes(ml_Program p, ml_Uid scope, const ml_Block *b, const ml_Buffer *buf)
{
    return has_buffer(p, scope, b->writes, b->n_writes, buf);
}

bool ml_block_reads(ml_Program p, ml_Uid scope, const ml_Block *b, const ml_Buffer *buf)
{
    return has_buffer(p, scope, b->reads, b->n_reads, buf);
}

/* ---- texts of reasons */

const char *ml_expr_text(ml_Ctx *cx, const ml_Expr *e)
{
    ml_Text t = {0};

    ml_Names names = {ml_ctx_names(cx)};

    ml_print_expr(cx, &t, e,
                  &(ml_PrintOpts){.spelling = -1, .plain = true, .names = &names});
    const char *z = ml_strdup(cx, (ml_Str){ml_text_z(&t), t.n});

    ml_text_free(&t);
    return z;
}

const char *ml_interval_text(ml_Ctx *cx, ml_Interval i)
{
    if (i.nothing)
        return "nothing";
    return ml_format(cx, "[%s, %s]", i.min ? ml_expr_text(cx, i.min) : "-inf",
                     i.max ? ml_expr_text(cx, i.max) : "inf");
}
