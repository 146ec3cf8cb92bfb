/*
 * value - constants in an arena: scalars, lists, dicts, and what an attribute may point to.
 *
 * Invariant: the keys of a dict ascend strictly (strcmp).
 */
#include "moonloop/core/value.h"

#include "moonloop/core/stmt.h"

#include <stdlib.h>

static const ml_Value the_none = {.kind = ML_VAL_NONE};
static const ml_Value the_false = {.kind = ML_VAL_BOOL, .as.i = 0};
static const ml_Value the_true = {.kind = ML_VAL_BOOL, .as.i = 1};

static ml_Value *new_value(ml_Ctx *cx, ml_ValueKind kind)
{
    ml_Value *v = ML_NEW(cx, ml_Value);
    v->kind = (uint8_t)kind;
    return v;
}

const ml_Value *ml_val_none(ml_Ctx *cx)
{
    (void)cx;
    return &the_none;
}

const ml_Value *ml_val_bool(ml_Ctx *cx, bool b)
{
    (void)cx;
    return b ? &the_true : &the_false;
}

const ml_Value *ml_val_int(ml_Ctx *cx, int64_t i)
{
    ml_Value *v = new_value(cx, ML_VAL_INT);
    v->as.i = i;
    return v;
}

const ml_Value *ml_val_float(ml_Ctx *cx, double f)
{
    ml_Value *v = new_value(cx, ML_VAL_FLOAT);
    v->as.f = f;
    return v;
}

const ml_Value *ml_val_string(ml_Ctx *cx, ml_Str s)
{
    ml_Value *v = new_value(cx, ML_VAL_STRING);
    v->as.s = ml_strdup(cx, s);
    v->n = (uint32_t)s.n;
    return v;
}

const ml_Value *ml_val_list(ml_Ctx *cx, const ml_Value *const *list, size_t n)
{
    ML_ASSERT(n <= UINT32_MAX);
    ml_Value *v = new_value(cx, ML_VAL_LIST);
    const ml_Value **copy = ML_ARRAY(cx, const ml_Value *, n);
    for (size_t k = 0; k < n; k++)
        copy[k] = list[k];
    v->as.list = copy;
    v->n = (uint32_t)n;
    return v;
}

const ml_Value *ml_val_target(ml_Ctx *cx, const ml_Value *target, const ml_Value *host)
{
    ml_Value *v = new_value(cx, ML_VAL_TARGET);
    const ml_Value **list = ML_ARRAY(cx, const ml_Value *, 2);

    list[0] = target;
    list[1] = host;
    v->as.list = list;
    v->n = host ? 2 : 1;
    return v;
}

typedef struct Pair {
    const char *key;
    const ml_Value *value;
    size_t at;
} Pair;

static int by_key(const void *a, const void *b)
{
    const Pair *p = a;
    const Pair *q = b;
    int c = strcmp(p->key, q->key);
    return c ? c : (p->at > q->at) - (p->at < q->at);
}

const ml_Value *ml_val_dict(ml_Ctx *cx, const char *const *keys, const ml_Value *const *v,
                            size_t n)
{
    ML_ASSERT(n <= UINT32_MAX);
    ml_Value *dict = new_value(cx, ML_VAL_DICT);
    Pair *pairs = ML_ARRAY(cx, Pair, n);
    const char **sorted = ML_ARRAY(cx, const char *, n);
    const ml_Value **values = ML_ARRAY(cx, const ml_Value *, n);
    size_t m = 0;

    for (size_t k = 0; k < n; k++)
        pairs[k] = (Pair){keys[k], v[k], k};
    if (n > 1)
        qsort(pairs, n, sizeof(Pair), by_key);
    for (size_t k = 0; k < n; k++) {
        if (k + 1 < n && ml_streq(pairs[k].key, pairs[k + 1].key))
            continue; /* the later one wins */
        sorted[m] = ml_strdup(cx, ml_str(pairs[k].key));
        values[m++] = pairs[k].value;
    }
    dict->keys = sorted;
    dict->as.list = values;
    dict->n = (uint32_t)m;
    return dict;
}

/* A literal of uint64 that no int64 holds stays an expression. */
const ml_Value *ml_val_expr(ml_Ctx *cx, const ml_Expr *e)
{
    bool too_big = e->type.code == ML_UINT && e->type.bits == 64 &&
                   e->kind == ML_EXPR_INT && e->as.i < 0;
    if (e->kind == ML_EXPR_INT && ml_dtype_is_bool(e->type))
        return ml_val_bool(cx, e->as.i != 0);
    if (e->kind == ML_EXPR_INT && ml_dtype_is_int(e->type) && !too_big)
        return ml_val_int(cx, e->as.i);
    if (e->kind == ML_EXPR_FLOAT)
        return ml_val_float(cx, e->as.f);
    if (e->kind == ML_EXPR_STRING)
        return ml_val_string(cx, ml_str(e->as.s));
    ml_Value *v = new_value(cx, ML_VAL_EXPR);
    v->as.expr = e;
    return v;
}

const ml_Value *ml_val_buffer(ml_Ctx *cx, const ml_Buffer *b)
{
    ml_Value *v = new_value(cx, ML_VAL_BUFFER);
    v->as.buffer = b;
    return v;
}

const ml_Value *ml_val_var(ml_Ctx *cx, const ml_Var *var)
{
    ml_Value *v = new_value(cx, ML_VAL_VAR);
    v->as.var = var;
    return v;
}

const ml_Value *ml_val_map(ml_Ctx *cx, const ml_IndexMap *m)
{
    ml_Value *v = new_value(cx, ML_VAL_MAP);
    v->as.map = m;
    return v;
}

const ml_Value *ml_val_reducer(ml_Ctx *cx, const ml_Reducer *r)
{
    ml_Value *v = new_value(cx, ML_VAL_REDUCER);
    v->as.reducer = r;
    return v;
}

/* ---- dicts */

/* The place of the key, or where it belongs; whether it is there. */
static bool locate(const ml_Value *dict, const char *key, size_t *at)
{
    size_t low = 0;
    size_t high = ml_dict_count(dict);
    while (low < high) {
        size_t mid = (low + high) / 2;
        int c = strcmp(dict->keys[mid], key);
        if (c == 0) {
            *at = mid;
            return true;
        }
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    *at = low;
    return false;
}

const ml_Value *ml_dict_get(const ml_Value *dict, const char *key)
{
    size_t at;
    return locate(dict, key, &at) ? dict->as.list[at] : NULL;
}

const ml_Value *ml_dict_with(ml_Ctx *cx, const ml_Value *dict, const char *key,
                             const ml_Value *v)
{
    size_t at;
    size_t n = ml_dict_count(dict);
    bool there = locate(dict, key, &at);
    size_t m = there ? n : n + 1;
    ml_Value *with = new_value(cx, ML_VAL_DICT);
    const char **keys = ML_ARRAY(cx, const char *, m);
    const ml_Value **values = ML_ARRAY(cx, const ml_Value *, m);

    for (size_t k = 0; k < m; k++) {
        size_t from = k > at && !there ? k - 1 : k;
        keys[k] = k == at ? NULL : dict->keys[from];
        values[k] = k == at ? v : dict->as.list[from];
    }
    keys[at] = there ? dict->keys[at] : ml_strdup(cx, ml_str(key));
    with->keys = keys;
    with->as.list = values;
    with->n = (uint32_t)m;
    return with;
}

const ml_Value *ml_dict_without(ml_Ctx *cx, const ml_Value *dict, const char *key)
{
    size_t at;
    if (!locate(dict, key, &at))
        return dict;
    size_t m = ml_dict_count(dict) - 1;
    ml_Value *without = new_value(cx, ML_VAL_DICT);
    const char **keys = ML_ARRAY(cx, const char *, m);
    const ml_Value **values = ML_ARRAY(cx, const ml_Value *, m);
    for (size_t k = 0; k < m; k++) {
        keys[k] = dict->keys[k < at ? k : k + 1];
        values[k] = dict->as.list[k < at ? k : k + 1];
    }
    without->keys = keys;
    without->as.list = values;
    without->n = (uint32_t)m;
    return without;
}

/* ---- equality */

static bool same_lists(const ml_Value *a, const ml_Value *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t k = 0; k < a->n; k++)
        if (!ml_value_eq(a->as.list[k], b->as.list[k]))
            return false;
    return true;
}

static bool same_dicts(const ml_Value *a, const ml_Value *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t k = 0; k < a->n; k++)
        if (!ml_streq(a->keys[k], b->keys[k]))
            return false;
    return same_lists(a, b);
}

static bool same_floats(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0 || (a != a && b != b);
}

bool ml_value_eq(const ml_Value *a, const ml_Value *b)
{
    if (a == b)
        return true;
    if (!a || !b) { /* NULL is the empty dict */
        const ml_Value *one = a ? a : b;
        return one->kind == ML_VAL_DICT && one->n == 0;
    }
    if (a->kind != b->kind)
        return false;
    switch ((ml_ValueKind)a->kind) {
    case ML_VAL_NONE: return true;
    case ML_VAL_BOOL:
    case ML_VAL_INT: return a->as.i == b->as.i;
    case ML_VAL_FLOAT: return same_floats(a->as.f, b->as.f);
    case ML_VAL_STRING: return a->n == b->n && memcmp(a->as.s, b->as.s, a->n) == 0;
    case ML_VAL_TARGET:
    case ML_VAL_LIST: return same_lists(a, b);
    case ML_VAL_DICT: return same_dicts(a, b);
    case ML_VAL_EXPR: return a->as.expr == b->as.expr;
    case ML_VAL_BUFFER: return a->as.buffer->uid == b->as.buffer->uid;
    case ML_VAL_VAR: return a->as.var->uid == b->as.var->uid;
    case ML_VAL_MAP: return a->as.map == b->as.map;
    case ML_VAL_REDUCER: return a->as.reducer == b->as.reducer;
    }
    return false;
}
