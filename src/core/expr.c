/*
 * expr - interning of expressions, and the constructors that do not fold.
 *
 * Invariant: two nodes reachable from one context are equal exactly when they are one
 * pointer. Hashes are made from numbers, bits and names, never from addresses. No node is
 * deeper than 1,000 levels: past that a fresh variable of the type stands for the node and
 * the context is marked, so that walks may recurse. Source: ir-and-analysis 1.2, 8.2.
 */
#include "moonloop/core/expr.h"

#include "moonloop/core/expr_impl.h"
#include "moonloop/core/stmt.h"

enum { MAX_DEPTH = 1000 };

static const char *const kind_names[] = {
#define ML_EXPR(NAME, cls, op, class, swapped) [ML_EXPR_##NAME] = (cls),
#include "moonloop/core/expr.def"
#undef ML_EXPR
};

const char *ml_expr_kind_name(ml_ExprKind k)
{
    ML_ASSERT(k < ML_EXPR_KINDS);
    return kind_names[k];
}

/* ---- interning */

typedef struct Key {
    const ml_Expr *head;
    const ml_Expr *const *args;
    size_t n;
} Key;

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

static uint64_t mix_text(uint64_t h, const char *z)
{
    for (; *z; z++)
        h = mix(h, (unsigned char)*z);
    return h;
}

static uint64_t mix_payload(uint64_t h, const ml_Expr *e)
{
    uint64_t bits;
    if (e->kind == ML_EXPR_INT || e->kind == ML_EXPR_SHUFFLE)
        return mix(h, (uint64_t)e->as.i);
    if (e->kind == ML_EXPR_FLOAT) {
        memcpy(&bits, &e->as.f, sizeof(bits));
        return mix(h, bits);
    }
    if (e->kind == ML_EXPR_STRING)
        return mix_text(h, e->as.s);
    if (e->kind == ML_EXPR_VAR || e->kind == ML_EXPR_LET)
        return mix(h, e->as.var->uid);
    if (e->kind == ML_EXPR_LOAD)
        return mix(h, e->as.buffer->uid);
    return e->kind == ML_EXPR_CALL ? mix_text(h, e->as.op->name) : h;
}

static uint32_t hash_of(const ml_Expr *head, const ml_Expr *const *args, size_t n)
{
    uint64_t h =
        mix(head->kind, (uint64_t)head->type.code | (uint64_t)head->type.bits << 8 |
                            (uint64_t)head->type.lanes << 16 |
                            (uint64_t)(head->flags & ML_X_MASKED) << 32);
    h = mix_payload(h, head);
    for (size_t k = 0; k < n; k++)
        h = mix(h, args[k]->hash);
    return (uint32_t)(h ^ (h >> 32));
}

static bool same_payload(const ml_Expr *a, const ml_Expr *b)
{
    if (a->kind == ML_EXPR_INT || a->kind == ML_EXPR_SHUFFLE)
        return a->as.i == b->as.i;
    if (a->kind == ML_EXPR_FLOAT)
        return memcmp(&a->as.f, &b->as.f, sizeof(double)) == 0;
    if (a->kind == ML_EXPR_STRING)
        return ml_streq(a->as.s, b->as.s);
    if (a->kind == ML_EXPR_VAR || a->kind == ML_EXPR_LET)
        return a->as.var->uid == b->as.var->uid;
    if (a->kind == ML_EXPR_LOAD)
        return a->as.buffer->uid == b->as.buffer->uid;
    if (a->kind == ML_EXPR_CALL)
        return a->as.op == b->as.op || ml_streq(a->as.op->name, b->as.op->name);
    return true;
}

static bool same(const ml_Expr *e, const void *key)
{
    const Key *k = key;
    return e->kind == k->head->kind && e->n_args == k->n &&
           ml_dtype_eq(e->type, k->head->type) &&
           (e->flags & ML_X_MASKED) == (k->head->flags & ML_X_MASKED) &&
           same_payload(e, k->head) &&
           (k->n == 0 || memcmp(e->args, k->args, k->n * sizeof(k->args[0])) == 0);
}

uint64_t ml_uid_bloom(ml_Uid uid)
{
    return (uint64_t)1 << ((uid * 0x9E3779B97F4A7C15u) >> 58);
}

/* The flags of the node itself, without those of its children. */
static uint8_t own_flags(const ml_Expr *e)
{
    unsigned flags = ML_X_VAR_FREE | (e->flags & ML_X_MASKED);
    if (e->kind == ML_EXPR_VAR || e->kind == ML_EXPR_LET)
        flags &= ~(unsigned)ML_X_VAR_FREE;
    if (e->kind == ML_EXPR_LOAD)
        flags |= ML_X_HAS_LOAD;
    if (e->kind == ML_EXPR_CALL) {
        flags |= ML_X_HAS_CALL;
        if (e->as.op->effect == ML_EFFECT_READ)
            flags |= ML_X_READ_OP;
        if (e->as.op->effect >= ML_EFFECT_UPDATE)
            flags |= ML_X_EFFECT;
        if (e->as.op->effect == ML_EFFECT_OPAQUE)
            flags |= ML_X_OPAQUE;
    }
    return (uint8_t)flags;
}

/* Fills in what is known from the children. */
static void summarise(ml_Expr *e)
{
    const unsigned up =
        ML_X_HAS_LOAD | ML_X_HAS_CALL | ML_X_EFFECT | ML_X_READ_OP | ML_X_OPAQUE;
    unsigned flags = own_flags(e);
    unsigned depth = 0;
    uint64_t size = 1;
    uint64_t bloom = 0;

    if (e->kind == ML_EXPR_VAR || e->kind == ML_EXPR_LET)
        bloom = ml_uid_bloom(e->as.var->uid);
    for (size_t k = 0; k < e->n_args; k++) {
        const ml_Expr *a = e->args[k];
        flags |= a->flags & up;
        if (!(a->flags & ML_X_VAR_FREE))
            flags &= ~(unsigned)ML_X_VAR_FREE;
        depth = a->depth > depth ? a->depth : depth;
        size += a->size;
        bloom |= a->bloom;
    }
    e->flags = (uint8_t)flags;
    e->depth = (uint16_t)(depth + 1);
    e->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
    e->bloom = bloom;
}

static bool too_deep(const ml_Expr *const *args, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (args[k]->depth >= MAX_DEPTH)
            return true;
    return n > UINT16_MAX;
}

const ml_Expr *ml_expr_intern(ml_Ctx *cx, const ml_Expr *head, const ml_Expr *const *args,
                              size_t n)
{
    if (too_deep(args, n)) {
        ml_ctx_mark_too_deep(cx);
        return ml_var(cx, ml_var_new(cx, "too_deep", head->type));
    }
    const Key key = {head, args, n};
    uint32_t hash = hash_of(head, args, n);
    const ml_Expr *found = ml_ctx_find_expr(cx, hash, same, &key);
    if (found)
        return found;

    ml_Expr *e = ml_alloc(cx, sizeof(ml_Expr) + n * sizeof(e->args[0]));
    *e = *head;
    if (n > 0)
        memcpy(e->args, args, n * sizeof(args[0]));
    if (e->kind == ML_EXPR_STRING)
        e->as.s = ml_strdup(cx, ml_str(head->as.s));
    e->n_args = (uint16_t)n;
    e->hash = hash;
    summarise(e);
    ml_ctx_add_expr(cx, e);
    return e;
}

static const ml_Expr *make_node(ml_Ctx *cx, ml_ExprKind kind, ml_Dtype type,
                                const ml_Expr *const *args, size_t n)
{
    const ml_Expr head = {.kind = (uint8_t)kind, .type = type};
    return ml_expr_intern(cx, &head, args, n);
}

/* ---- variables */

static ml_Var *new_var(ml_Ctx *cx, const char *hint, ml_Dtype type)
{
    ml_Var *v = ML_NEW(cx, ml_Var);
    v->uid = ml_fresh_uid(cx);
    v->type = type;
    v->elem = ML_DT_VOID;
    v->hint = ml_strdup(cx, ml_str(hint));
    return v;
}

const ml_Var *ml_var_new(ml_Ctx *cx, const char *hint, ml_Dtype type)
{
    return new_var(cx, hint, type);
}

const ml_Var *ml_var_new_part(ml_Ctx *cx, const ml_Var *whole, size_t part, ml_Dtype type)
{
    ml_Var *v = new_var(cx, ml_numbered(cx, whole->hint, "_", part), type);

    v->whole = whole->uid;
    v->part = (uint32_t)part;
    return v;
}

const ml_Var *ml_var_new_handle(ml_Ctx *cx, const char *hint, ml_Dtype elem,
                                const char *scope)
{
    ml_Var *v = new_var(cx, hint, ML_DT_HANDLE);
    v->elem = elem;
    v->scope = scope ? ml_strdup(cx, ml_str(scope)) : NULL;
    return v;
}

const ml_Var *ml_var_new_size(ml_Ctx *cx, const char *hint, ml_Dtype type)
{
    ml_Var *v = new_var(cx, hint, type);
    v->is_size = true;
    return v;
}

const ml_Var *ml_var_fresh(ml_Ctx *cx, const ml_Var *v)
{
    ml_Var *w = ML_NEW(cx, ml_Var);
    *w = *v;
    w->uid = ml_fresh_uid(cx);
    w->whole = 0; /* a copy is no part */
    return w;
}

/* ---- leaves */

/* Most variables and integers are found where the last one of their key was. */
static const ml_Expr *new_leaf(ml_Ctx *cx, const ml_Expr *head, uint64_t key)
{
    const ml_Expr *e = ml_expr_intern(cx, head, NULL, 0);
    ml_ctx_set_recent(cx, key, e);
    return e;
}

const ml_Expr *ml_var(ml_Ctx *cx, const ml_Var *v)
{
    uint64_t key = ~(uint64_t)v->uid;
    const ml_Expr *e = ml_ctx_recent(cx, key);
    if (e && e->kind == ML_EXPR_VAR && e->as.var->uid == v->uid &&
        ml_dtype_eq(e->type, v->type))
        return e;
    const ml_Expr head = {.kind = ML_EXPR_VAR, .type = v->type, .as.var = v};
    return new_leaf(cx, &head, key);
}

static const ml_Expr *spread(ml_Ctx *cx, const ml_Expr *e, unsigned lanes)
{
    return lanes > 1 ? ml_broadcast(cx, e, lanes) : e;
}

const ml_Expr *ml_int(ml_Ctx *cx, ml_Dtype t, int64_t v)
{
    const ml_Expr *e = ml_ctx_recent(cx, (uint64_t)v);
    if (e && e->kind == ML_EXPR_INT && e->as.i == v && ml_dtype_eq(e->type, t))
        return e;
    ML_ASSERT(ml_dtype_is_int(t) || ml_dtype_is_bool(t));
    ml_Dtype scalar = ml_dtype_lanes(t, 1);
    int64_t wrapped = ml_dtype_wrap(scalar, v);
    if (wrapped != v && ml_dtype_is_index(scalar))
        ml_ctx_mark_overflow(cx, v);
    const ml_Expr head = {.kind = ML_EXPR_INT, .type = scalar, .as.i = wrapped};
    return spread(cx, new_leaf(cx, &head, (uint64_t)wrapped), t.lanes);
}

const ml_Expr *ml_i32(ml_Ctx *cx, int64_t v)
{
    return ml_int(cx, ML_DT_I32, v);
}

const ml_Expr *ml_bool(ml_Ctx *cx, bool b)
{
    return ml_int(cx, ML_DT_BOOL, b);
}

const ml_Expr *ml_float(ml_Ctx *cx, ml_Dtype t, double v)
{
    static const uint64_t one_nan = 0x7FF8000000000000u;
    ML_ASSERT(ml_dtype_is_float(t));
    ml_Dtype scalar = ml_dtype_lanes(t, 1);
    if (v != v)
        memcpy(&v, &one_nan, sizeof(v));
    else if (t.code == ML_FLOAT && t.bits == 32)
        v = (double)(float)v;
    const ml_Expr head = {.kind = ML_EXPR_FLOAT, .type = scalar, .as.f = v};
    return spread(cx, ml_expr_intern(cx, &head, NULL, 0), t.lanes);
}

const ml_Expr *ml_string(ml_Ctx *cx, ml_Str s)
{
    ml_Text copy = {0};
    ml_text_addn(&copy, s.p, s.n);
    const ml_Expr head = {
        .kind = ML_EXPR_STRING, .type = ML_DT_VOID, .as.s = ml_text_z(&copy)};
    const ml_Expr *e = ml_expr_intern(cx, &head, NULL, 0);
    ml_text_free(&copy);
    return e;
}

const ml_Expr *ml_const(ml_Ctx *cx, ml_Dtype t, double v)
{
    if (ml_dtype_is_float(t))
        return ml_float(cx, t, v);
    if (ml_dtype_is_bool(t))
        return ml_int(cx, t, v != 0);
    if (v >= 0x1p63) /* of uint64: the bits */
        return ml_int(cx, t, v < 0x1p64 ? (int64_t)(uint64_t)v : -1);
    return ml_int(cx, t, v >= -0x1p63 ? (int64_t)v : v < 0 ? INT64_MIN : 0);
}

/* ---- nodes without folding */

const ml_Expr *ml_raw_binary(ml_Ctx *cx, ml_ExprKind kind, const ml_Expr *a,
                             const ml_Expr *b)
{
    ML_ASSERT(ml_kind_is_binary(kind) && ml_dtype_eq(a->type, b->type));
    ML_ASSERT(ml_kind_class(kind) != ML_CLASS_LOGIC || ml_dtype_is_bool(a->type));
    ml_Dtype t = a->type;
    if (ml_kind_compares(kind))
        t = ml_dtype_lanes(ML_DT_BOOL, t.lanes);
    return make_node(cx, kind, t, (const ml_Expr *[]){a, b}, 2);
}

const ml_Expr *ml_raw_not(ml_Ctx *cx, const ml_Expr *a)
{
    ML_ASSERT(ml_dtype_is_bool(a->type));
    return make_node(cx, ML_EXPR_NOT, a->type, &a, 1);
}

const ml_Expr *ml_raw_cast(ml_Ctx *cx, ml_Dtype t, const ml_Expr *e)
{
    return make_node(cx, ML_EXPR_CAST, t, &e, 1);
}

static bool is_condition(const ml_Expr *c, const ml_Expr *t)
{
    return ml_dtype_is_bool(c->type) &&
           (c->type.lanes == 1 || c->type.lanes == t->type.lanes);
}

const ml_Expr *ml_select(ml_Ctx *cx, const ml_Expr *c, const ml_Expr *t, const ml_Expr *f)
{
    ML_ASSERT(is_condition(c, t) && ml_dtype_eq(t->type, f->type));
    return make_node(cx, ML_EXPR_SELECT, t->type, (const ml_Expr *[]){c, t, f}, 3);
}

/* The dtype of a load: the element's, times the lanes of the last index. */
static ml_Dtype load_type(const ml_Buffer *b, const ml_Expr *const *idx, size_t n)
{
    unsigned lanes = n > 0 ? idx[n - 1]->type.lanes : 1u;
    ML_ASSERT(n == b->rank && (uint32_t)b->type.lanes * lanes <= UINT16_MAX);
    return ml_dtype_lanes(b->type, b->type.lanes * lanes);
}

const ml_Expr *ml_load(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *const *idx, size_t n)
{
    const ml_Expr head = {
        .kind = ML_EXPR_LOAD, .type = load_type(b, idx, n), .as.buffer = b};
    return ml_expr_intern(cx, &head, idx, n);
}

const ml_Expr *ml_load_masked(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *const *idx,
                              size_t n, const ml_Expr *mask)
{
    const ml_Expr head = {.kind = ML_EXPR_LOAD,
                          .flags = ML_X_MASKED,
                          .type = load_type(b, idx, n),
                          .as.buffer = b};
    ML_ASSERT(mask && ml_dtype_is_bool(mask->type));
    const ml_Expr **args = ML_ARRAY(cx, const ml_Expr *, n + 1);
    for (size_t k = 0; k < n; k++)
        args[k] = idx[k];
    args[n] = mask;
    return ml_expr_intern(cx, &head, args, n + 1);
}

const ml_Expr *ml_ramp(ml_Ctx *cx, const ml_Expr *base, const ml_Expr *stride,
                       unsigned lanes)
{
    ML_ASSERT(base->type.lanes == 1 && stride->type.lanes == 1);
    ML_ASSERT(lanes > 1 && lanes <= UINT16_MAX);
    stride = ml_cast(cx, base->type, stride);
    return make_node(cx, ML_EXPR_RAMP, ml_dtype_lanes(base->type, lanes),
                     (const ml_Expr *[]){base, stride}, 2);
}

const ml_Expr *ml_broadcast(ml_Ctx *cx, const ml_Expr *e, unsigned lanes)
{
    ML_ASSERT(e->type.lanes == 1 && lanes > 1 && lanes <= UINT16_MAX);
    return make_node(cx, ML_EXPR_BROADCAST, ml_dtype_lanes(e->type, lanes), &e, 1);
}

const ml_Expr *ml_shuffle(ml_Ctx *cx, const ml_Expr *const *vectors, size_t n_vec,
                          const ml_Expr *const *idx, size_t n_idx)
{
    ML_ASSERT(n_vec > 0 && n_idx > 0 && n_idx <= UINT16_MAX);
    const ml_Expr **args = ML_ARRAY(cx, const ml_Expr *, n_vec + n_idx);
    ml_Dtype elem = ml_dtype_lanes(vectors[0]->type, 1);
    for (size_t k = 0; k < n_vec; k++) {
        ML_ASSERT(ml_dtype_eq(ml_dtype_lanes(vectors[k]->type, 1), elem));
        args[k] = vectors[k];
    }
    for (size_t k = 0; k < n_idx; k++)
        args[n_vec + k] = idx[k];
    const ml_Expr head = {.kind = ML_EXPR_SHUFFLE,
                          .type = ml_dtype_lanes(elem, (unsigned)n_idx),
                          .as.i = (int64_t)n_vec};
    return ml_expr_intern(cx, &head, args, n_vec + n_idx);
}

const ml_Expr *ml_shuffle_picks(const ml_Expr *e, unsigned k, unsigned *vector,
                                unsigned *lane)
{
    size_t n_vec = (size_t)e->as.i;
    const ml_Expr *p = n_vec + k < e->n_args ? e->args[n_vec + k] : NULL;
    int64_t want = p && p->kind == ML_EXPR_INT ? p->as.i : -1;

    for (size_t v = 0; v < n_vec && want >= 0; v++) {
        unsigned lanes = e->args[v]->type.lanes;

        *lane = (unsigned)want;
        if (vector)
            *vector = (unsigned)v;
        if (want < lanes)
            return e->args[v];
        want -= lanes;
    }
    return NULL;
}

const ml_Expr *ml_let(ml_Ctx *cx, const ml_Var *v, const ml_Expr *value,
                      const ml_Expr *body)
{
    ML_ASSERT(ml_dtype_eq(v->type, value->type));
    const ml_Expr head = {.kind = ML_EXPR_LET, .type = body->type, .as.var = v};
    return ml_expr_intern(cx, &head, (const ml_Expr *[]){value, body}, 2);
}

const ml_Expr *ml_call(ml_Ctx *cx, ml_Dtype t, const ml_Op *op, const ml_Expr *const *args,
                       size_t n)
{
    ML_ASSERT(op->n_args < 0 || (size_t)op->n_args == n);
    const ml_Expr *folded = ml_fold_call(cx, t, op, args, n);
    if (folded)
        return folded;
    const ml_Expr head = {.kind = ML_EXPR_CALL, .type = t, .as.op = op};
    return ml_expr_intern(cx, &head, args, n);
}

const ml_Expr *ml_call_id(ml_Ctx *cx, ml_Dtype t, ml_OpId id, const ml_Expr *const *args,
                          size_t n)
{
    return ml_call(cx, t, ml_op(id), args, n);
}

const ml_Expr *ml_if_then_else(ml_Ctx *cx, const ml_Expr *c, const ml_Expr *t,
                               const ml_Expr *f)
{
    ML_ASSERT(is_condition(c, t) && ml_dtype_eq(t->type, f->type));
    return ml_call_id(cx, t->type, ML_OP_IF_THEN_ELSE, (const ml_Expr *[]){c, t, f}, 3);
}

const ml_Expr *ml_likely(ml_Ctx *cx, const ml_Expr *c)
{
    return c->kind == ML_EXPR_INT ? c : ml_call_id(cx, c->type, ML_OP_LIKELY, &c, 1);
}

/* ---- other children */

/* A division that a substitution turned into one by zero stays a node: it is found when the
 * program is run or simplified, and is nobody's bug here. */
static const ml_Expr *binary_again(ml_Ctx *cx, ml_ExprKind kind, const ml_Expr *const *kids)
{
    bool by_zero = ml_kind_divides(kind) && ml_is_int(kids[1], 0);
    return by_zero ? ml_raw_binary(cx, kind, kids[0], kids[1])
                   : ml_binary(cx, kind, kids[0], kids[1]);
}

static const ml_Expr *call_again(ml_Ctx *cx, const ml_Expr *e, const ml_Expr *const *kids)
{
    if (ml_is_op(e, ML_OP_LIKELY) && e->n_args == 1)
        return ml_likely(cx, kids[0]);
    return ml_call(cx, e->type, e->as.op, kids, e->n_args);
}

const ml_Expr *ml_expr_with_args(ml_Ctx *cx, const ml_Expr *e, const ml_Expr *const *kids)
{
    size_t n = e->n_args;
    if (n == 0 || memcmp(kids, e->args, n * sizeof(kids[0])) == 0)
        return e;

    if (ml_kind_is_binary(e->kind))
        return binary_again(cx, (ml_ExprKind)e->kind, kids);
    switch (e->kind) { /* those that fold, or whose dtype comes from the children */
    case ML_EXPR_NOT: return ml_not(cx, kids[0]);
    case ML_EXPR_SELECT: return ml_select(cx, kids[0], kids[1], kids[2]);
    case ML_EXPR_CAST: return ml_cast(cx, e->type, kids[0]);
    case ML_EXPR_LOAD:
        return e->flags & ML_X_MASKED
                   ? ml_load_masked(cx, e->as.buffer, kids, n - 1, kids[n - 1])
                   : ml_load(cx, e->as.buffer, kids, n);
    case ML_EXPR_RAMP: return ml_ramp(cx, kids[0], kids[1], e->type.lanes);
    case ML_EXPR_BROADCAST: return ml_broadcast(cx, kids[0], e->type.lanes);
    case ML_EXPR_SHUFFLE:
        return ml_shuffle(cx, kids, (size_t)e->as.i, kids + e->as.i, n - (size_t)e->as.i);
    case ML_EXPR_LET: return ml_let(cx, e->as.var, kids[0], kids[1]);
    case ML_EXPR_CALL: return call_again(cx, e, kids);
    }
    return ml_expr_intern(cx, e, kids, n);
}

/* ---- questions */

ml_Effect ml_expr_effect(const ml_Expr *e)
{
    if (e->flags & ML_X_OPAQUE)
        return ML_EFFECT_OPAQUE;
    if (e->flags & ML_X_EFFECT)
        return ML_EFFECT_UPDATE;
    return e->flags & (ML_X_HAS_LOAD | ML_X_READ_OP) ? ML_EFFECT_READ : ML_EFFECT_PURE;
}

/* A search below shared nodes. `seen` remembers by id, lossily, what was searched in vain,
 * so that a node reached by many paths is not searched again each time. */
enum { SEEN = 256 };

typedef struct Search {
    ml_Uid var;              /* 0: none */
    const ml_Buffer *buffer; /* or NULL */
    uint64_t bloom;          /* of the variables looked for */
    uint32_t seen[SEEN];     /* id + 1, or 0 */
} Search;

static bool hit(const Search *s, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_VAR || e->kind == ML_EXPR_LET)
        return s->var != 0 && e->as.var->uid == s->var;
    return e->kind == ML_EXPR_LOAD && s->buffer && e->as.buffer->uid == s->buffer->uid;
}

static bool search(Search *s, const ml_Expr *e)
{
    bool loads = s->buffer && (e->flags & ML_X_HAS_LOAD);
    if (!(e->bloom & s->bloom) && !loads)
        return false;
    if (hit(s, e))
        return true;
    if (e->n_args == 0 || s->seen[e->id % SEEN] == e->id + 1)
        return false;
    for (size_t k = 0; k < e->n_args; k++)
        if (search(s, e->args[k]))
            return true;
    s->seen[e->id % SEEN] = e->id + 1;
    return false;
}

bool ml_expr_uses_var(const ml_Expr *e, const ml_Var *v)
{
    uint64_t bloom = ml_uid_bloom(v->uid);
    if (!(e->bloom & bloom))
        return false;
    Search s = {.var = v->uid, .bloom = bloom};
    return search(&s, e);
}

bool ml_expr_uses_buffer(const ml_Expr *e, const ml_Buffer *b)
{
    Search s = {.buffer = b};
    if (b->data) {
        s.var = b->data->uid;
        s.bloom = ml_uid_bloom(b->data->uid);
    }
    return search(&s, e);
}
