/*
 * stmt - constructors of statements and the summaries that every node carries.
 *
 * All constructors end in ml_stmt_from, which copies the node into the arena and computes
 * has_block, has_loop, has_view, depth and n_blocks from the children, so that no node
 * exists without them. A list does not count as a level of nesting. Source:
 * ir-and-analysis 1.5, 8.2.
 */
#include "moonloop/core/stmt.h"

enum { ML_MAX_STMT_DEPTH = 500 };

static const size_t node_sizes[ML_STMT_KINDS] = {
#define ML_STMT(NAME, type, shape, word) [ML_STMT_##NAME] = sizeof(type),
#include "moonloop/core/stmt.def"
};

static const char *const words[ML_STMT_KINDS] = {
#define ML_STMT(NAME, type, shape, word) [ML_STMT_##NAME] = (word),
#include "moonloop/core/stmt.def"
};

const char *ml_stmt_word(ml_StmtKind k)
{
    return k < ML_STMT_KINDS ? words[k] : "";
}

/* Adds a child to the summary of its parent; `below` is the number of levels it is down. */
static void add_child(ml_Stmt *s, const ml_Stmt *child, unsigned below)
{
    unsigned depth = child->depth + below;

    s->has_block |= child->has_block;
    s->has_loop |= child->has_loop;
    s->has_view |= child->has_view;
    s->n_blocks += child->n_blocks;
    if (depth > s->depth)
        s->depth = (uint16_t)(depth > UINT16_MAX ? UINT16_MAX : depth);
}

/* What stands below an init is not counted. */
static void summarise(ml_Stmt *s)
{
    s->has_block = s->kind == ML_STMT_BLOCK;
    s->has_loop = s->kind == ML_STMT_FOR;
    s->has_view = false;
    s->depth = 1;
    s->n_blocks = s->has_block;
    switch ((ml_StmtKind)s->kind) {
#define ML_STMT(NAME, type, shape, word)                                                   \
    case ML_STMT_##NAME: {                                                                 \
        const type *at = (const type *)(const void *)s;                                    \
        (void)at;
#define ML_F_LIST(f, n)                                                                    \
    for (size_t k = 0; k < at->n; k++)                                                     \
        add_child(s, at->f[k], 0);
#define ML_F_BLOCK                                                                         \
    s->has_view = at->n_matches > 0;                                                       \
    if (at->init) {                                                                        \
        add_child(s, at->init, 1);                                                         \
        s->n_blocks = 1;                                                                   \
    }
#define ML_F_BODY(f) add_child(s, at->f, 1);
#define ML_F_ELSE(f)                                                                       \
    if (at->f)                                                                             \
        add_child(s, at->f, 1);
#define ML_STMT_END                                                                        \
    break;                                                                                 \
    }
#include "moonloop/core/stmt.def"
    case ML_STMT_KINDS: break;
    }
}

bool ml_stmt_summary_holds(const ml_Stmt *s)
{
    ml_AnyStmt copy;

    memcpy(&copy, s, node_sizes[s->kind]);
    summarise(&copy.base);
    return copy.base.has_block == s->has_block && copy.base.has_loop == s->has_loop &&
           copy.base.has_view == s->has_view && copy.base.depth == s->depth &&
           copy.base.n_blocks == s->n_blocks;
}

const ml_Stmt *ml_stmt_from(ml_Ctx *cx, const ml_Stmt *fields)
{
    ml_Stmt *s;

    ML_ASSERT(fields->kind < ML_STMT_KINDS);
    s = ml_alloc(cx, node_sizes[fields->kind]);
    memcpy(s, fields, node_sizes[fields->kind]);
    summarise(s);
    if (s->depth > ML_MAX_STMT_DEPTH)
        ml_ctx_mark_too_deep(cx);
    return s;
}

const ml_Stmt *ml_stmt_at(ml_Ctx *cx, const ml_Stmt *s, const ml_Span *span)
{
    ml_Stmt *copy = ml_alloc(cx, node_sizes[s->kind]);

    memcpy(copy, s, node_sizes[s->kind]);
    copy->span = span;
    return copy;
}

/* ---- loops, blocks and other nodes with a body */

#define AT_LEAF(type)   0
#define AT_LIST(type)   0
#define AT_BRANCH(type) 0
#define AT_BODY(type)   offsetof(type, body)
#define AT_BLOCK(type)  offsetof(type, body)
static const uint8_t body_at[ML_STMT_KINDS] = {
#define ML_STMT(NAME, type, shape, word) [ML_STMT_##NAME] = AT_##shape(type),
#include "moonloop/core/stmt.def"
};

const ml_Stmt *ml_stmt_body(const ml_Stmt *s)
{
    const ml_Stmt *body = NULL;

    if (body_at[s->kind])
        memcpy(&body, (const char *)s + body_at[s->kind], sizeof(body));
    return body;
}

const ml_Stmt *ml_stmt_with_body(ml_Ctx *cx, const ml_Stmt *s, const ml_Stmt *body)
{
    ml_AnyStmt copy;

    ML_ASSERT(body_at[s->kind] && body);
    memcpy(&copy, s, node_sizes[s->kind]);
    memcpy((char *)&copy + body_at[s->kind], &body, sizeof(body));
    return ml_stmt_from(cx, &copy.base);
}

/* A literal of another integer dtype that fits is taken in the variable's. */
static const ml_Expr *fitted(ml_Ctx *cx, ml_Dtype t, const ml_Expr *e)
{
    if (e && ml_is_const_int(e) && ml_dtype_is_int(e->type) && ml_dtype_is_int(t) &&
        !ml_dtype_eq(e->type, t) && t.lanes == 1 && ml_dtype_fits(t, e->as.i))
        return ml_int(cx, t, e->as.i);
    return e;
}

const ml_Stmt *ml_for_from(ml_Ctx *cx, const ml_For *fields)
{
    ml_For f = *fields;

    ML_ASSERT(f.var && f.min && f.extent && f.body);
    f.min = fitted(cx, f.var->type, f.min);
    f.extent = fitted(cx, f.var->type, f.extent);
    f.step = fitted(cx, f.var->type, f.step);
    ML_ASSERT((f.kind == ML_FOR_THREAD) == (f.thread.axis != ML_AXIS_NONE));
    f.base.kind = ML_STMT_FOR;
    return ml_stmt_from(cx, &f.base);
}

const ml_Stmt *ml_block_from(ml_Ctx *cx, const ml_Block *fields)
{
    ml_Block b = *fields;

    ML_ASSERT(b.tag && b.name && b.predicate && b.body);
    b.base.kind = ML_STMT_BLOCK;
    return ml_stmt_from(cx, &b.base);
}

const ml_Stmt *ml_attr_from(ml_Ctx *cx, const ml_Attr *fields)
{
    ml_Attr a = *fields;

    ML_ASSERT(a.key && a.node && a.value && a.body);
    a.base.kind = ML_STMT_ATTR;
    return ml_stmt_from(cx, &a.base);
}

const ml_Stmt *ml_assert_from(ml_Ctx *cx, const ml_Assert *fields)
{
    ml_Assert a = *fields;

    ML_ASSERT(a.cond && a.error);
    a.base.kind = ML_STMT_ASSERT;
    return ml_stmt_from(cx, &a.base);
}

const ml_Stmt *ml_serial(ml_Ctx *cx, const ml_Var *var, const ml_Expr *min,
                         const ml_Expr *extent, const ml_Stmt *body)
{
    ml_For f = {
        .kind = ML_FOR_SERIAL, .var = var, .min = min, .extent = extent, .body = body};

    return ml_for_from(cx, &f);
}

const ml_Stmt *ml_if(ml_Ctx *cx, const ml_Expr *cond, const ml_Stmt *then,
                     const ml_Stmt *other)
{
    ml_If s = {.base.kind = ML_STMT_IF, .cond = cond, .then = then, .other = other};

    ML_ASSERT(cond && then);
    return ml_stmt_from(cx, &s.base);
}

const ml_Stmt *ml_while(ml_Ctx *cx, const ml_Expr *cond, const ml_Stmt *body)
{
    ml_While s = {.base.kind = ML_STMT_WHILE, .cond = cond, .body = body};

    ML_ASSERT(cond && body);
    return ml_stmt_from(cx, &s.base);
}

/* ---- lists */

static bool is_evaluate_0(const ml_Stmt *s)
{
    return s->kind == ML_STMT_EVALUATE && ml_is_int(ml_as_evaluate(s)->value, 0);
}

const ml_Stmt *ml_seq_at(ml_Ctx *cx, const ml_Stmt *const *stmts, size_t n,
                         const ml_Span *span)
{
    const ml_Stmt **flat, *noop = NULL;
    size_t cap = 0, m = 0;
    ml_Seq seq;

    for (size_t k = 0; k < n; k++)
        cap += stmts[k]->kind == ML_STMT_SEQ ? ml_as_seq(stmts[k])->n : 1;
    flat = ML_ARRAY(cx, const ml_Stmt *, cap ? cap : 1);
    for (size_t k = 0; k < n; k++) {
        if (stmts[k]->kind == ML_STMT_SEQ) {
            const ml_Seq *inner = ml_as_seq(stmts[k]);

            memcpy(flat + m, inner->stmts, inner->n * sizeof(*flat));
            m += inner->n;
        } else if (is_evaluate_0(stmts[k])) {
            noop = noop ? noop : stmts[k];
        } else {
            flat[m++] = stmts[k];
        }
    }
    if (m == 0)
        return noop ? noop : ml_evaluate(cx, ml_i32(cx, 0));
    if (m == 1)
        return flat[0];
    ML_ASSERT(m <= UINT32_MAX);
    seq = (ml_Seq){.base = {.kind = ML_STMT_SEQ, .span = span}, .n = (uint32_t)m};
    seq.stmts = flat;
    return ml_stmt_from(cx, &seq.base);
}

const ml_Stmt *ml_seq(ml_Ctx *cx, const ml_Stmt *const *stmts, size_t n)
{
    return ml_seq_at(cx, stmts, n, NULL);
}

/* The summary of a list in which `old` is gone and `new` (or nothing) has come; it holds
 * that of the list before. What perhaps only `old` gave is looked for until it is found. */
static void resummarise(ml_Seq *s, const ml_Stmt *old, const ml_Stmt *new)
{
    ml_Stmt *b = &s->base;
    const ml_Stmt was = *b;
    uint32_t n_blocks = b->n_blocks - old->n_blocks + (new ? new->n_blocks : 0);

    b->has_block &= !old->has_block;
    b->has_loop &= !old->has_loop;
    b->has_view &= !old->has_view;
    b->depth = old->depth == was.depth ? 1 : was.depth;
    if (new)
        add_child(b, new, 0);
    for (size_t k = 0;
         k < s->n && (b->has_block < was.has_block || b->has_loop < was.has_loop ||
                      b->has_view < was.has_view || b->depth < was.depth);
         k++)
        add_child(b, s->stmts[k], 0);
    b->n_blocks = n_blocks;
}

/* One plain statement by another or by nothing: copies the pointers and updates the
 * summary. */
const ml_Stmt *ml_seq_with(ml_Ctx *cx, const ml_Seq *seq, size_t pos, const ml_Stmt *child)
{
    const ml_Stmt *old = seq->stmts[pos], **list;
    uint32_t n = seq->n;
    ml_Seq *s;

    ML_ASSERT(pos < seq->n);
    if (child == old)
        return &seq->base;
    list = ml_alloc(cx, n * sizeof(*list));
    if (child && child->kind == ML_STMT_SEQ) {
        memcpy(list, seq->stmts, n * sizeof(*list));
        list[pos] = child;
        return ml_seq_at(cx, list, n, seq->base.span);
    }
    if (child && !is_evaluate_0(child)) {
        memcpy(list, seq->stmts, n * sizeof(*list));
        list[pos] = child;
    } else {
        child = NULL;
        n--;
        if (n == 1)
            return seq->stmts[1 - pos];
        memcpy(list, seq->stmts, pos * sizeof(*list));
        memcpy(list + pos, seq->stmts + pos + 1, (n - pos) * sizeof(*list));
    }
    s = ml_alloc(cx, sizeof(*s));
    *s = *seq;
    s->n = n;
    s->stmts = list;
    resummarise(s, old, child);
    return &s->base;
}

/* ---- leaves */

const ml_Stmt *ml_store(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *value,
                        const ml_Expr *const *idx, size_t n, const ml_Expr *mask)
{
    ml_Store s = {.base.kind = ML_STMT_STORE, .buffer = b, .value = value, .mask = mask};
    const ml_Expr **copy = ML_ARRAY(cx, const ml_Expr *, n ? n : 1);

    ML_ASSERT(b && value && n == b->rank);
    if (n)
        memcpy(copy, idx, n * sizeof(*copy));
    s.n = (uint32_t)n;
    s.indices = copy;
    return ml_stmt_from(cx, &s.base);
}

const ml_Stmt *ml_bind(ml_Ctx *cx, const ml_Var *v, const ml_Expr *value)
{
    ml_Bind s = {.base.kind = ML_STMT_BIND, .var = v, .value = value};

    ML_ASSERT(v && value);
    return ml_stmt_from(cx, &s.base);
}

const ml_Stmt *ml_evaluate(ml_Ctx *cx, const ml_Expr *value)
{
    ml_Evaluate s = {.base.kind = ML_STMT_EVALUATE, .value = value};

    ML_ASSERT(value);
    return ml_stmt_from(cx, &s.base);
}

const ml_Stmt *ml_alloc_stmt(ml_Ctx *cx, const ml_Buffer *b, const ml_Value *annotations)
{
    ml_Alloc s = {.base.kind = ML_STMT_ALLOC, .buffer = b, .annotations = annotations};

    ML_ASSERT(b);
    return ml_stmt_from(cx, &s.base);
}

const ml_Stmt *ml_decl_stmt(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *data)
{
    ml_Alloc s = {.base.kind = ML_STMT_DECL, .buffer = b, .data = data};

    ML_ASSERT(b && data);
    return ml_stmt_from(cx, &s.base);
}

const ml_Stmt *ml_return(ml_Ctx *cx, const ml_Expr *value)
{
    ml_Return s = {.base.kind = ML_STMT_RETURN, .value = value};

    return ml_stmt_from(cx, &s.base);
}

const ml_Stmt *ml_break(ml_Ctx *cx)
{
    return ml_stmt_from(cx, &(ml_Stmt){.kind = ML_STMT_BREAK});
}

const ml_Stmt *ml_continue(ml_Ctx *cx)
{
    return ml_stmt_from(cx, &(ml_Stmt){.kind = ML_STMT_CONTINUE});
}

/* ---- questions */

bool ml_is_noop(const ml_Stmt *s)
{
    const ml_Expr *e;

    if (s->kind != ML_STMT_EVALUATE)
        return false;
    e = ml_as_evaluate(s)->value;
    return e->kind == ML_EXPR_INT || e->kind == ML_EXPR_FLOAT || e->kind == ML_EXPR_STRING;
}

ml_Uid ml_stmt_uid(const ml_Stmt *s)
{
    if (s->kind == ML_STMT_FOR)
        return ml_as_for(s)->var->uid;
    return s->kind == ML_STMT_BLOCK ? ml_as_block(s)->tag : 0;
}

bool ml_attr_is_launch(const ml_Attr *a)
{
    return ml_streq(a->key, "thread_extent") || ml_streq(a->key, "virtual_thread");
}

const ml_Var *ml_attr_defines(const ml_Attr *a)
{
    return a->node->kind == ML_VAL_VAR && ml_attr_is_launch(a) ? a->node->as.var : NULL;
}

const char *ml_for_kind_name(ml_ForKind k)
{
    switch (k) {
    case ML_FOR_SERIAL: return "serial";
    case ML_FOR_PARALLEL: return "parallel";
    case ML_FOR_VECTORIZED: return "vectorized";
    case ML_FOR_UNROLLED: return "unrolled";
    case ML_FOR_THREAD: return "thread_binding";
    case ML_FOR_KINDS: break;
    }
    return "";
}

const char *ml_iter_kind_name(ml_IterKind k)
{
    switch (k) {
    case ML_ITER_SPATIAL: return "spatial";
    case ML_ITER_REDUCE: return "reduce";
    case ML_ITER_ORDERED: return "scan";
    case ML_ITER_OPAQUE: return "opaque";
    case ML_ITER_KINDS: break;
    }
    return "";
}
