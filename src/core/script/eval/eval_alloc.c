/*
 * eval_alloc - T.allocate, T.allocate_const: allocations that name a pointer.
 *
 * Each is an Alloc of a buffer nobody names. Where the pointer is used for nothing but one
 * declaration of a buffer of the same shape, dtype and scope, the two become one, when the
 * function is read. Constant contents are stores behind the allocation. Source: script 6.1.
 */
#include "moonloop/core/script/eval/eval.h"
#include "moonloop/core/walk.h"

enum { MAX_CONSTANTS = 4096 };

static bool is_true(ml_Cv v)
{
    if (v.kind == ML_CV_EXPR)
        return ml_is_const_int(v.as.e) && v.as.e->as.i != 0;
    return (v.kind == ML_CV_BOOL || v.kind == ML_CV_INT) && v.as.i != 0;
}

/* The allocation, its pointer named by the target. NULL: reported. */
static const ml_Buffer *make(ml_Eval *ev, ml_Args *a, ml_Arg *extents, ml_Arg *type,
                             ml_Arg *scope, ml_Arg *notes)
{
    const char *hint = ml_ev_hint(ev, a->call, 0, "buffer");
    ml_Spec s = {.at = a->call->at};
    ml_ExprVec shape = {0};
    ml_Str z = {"global", 6};
    const ml_Buffer *b;

    if (!ml_ev_need(ev, a, extents, "extents") || !ml_ev_need(ev, a, type, "dtype") ||
        !ml_ev_shape(ev, extents->v, extents->at, false, &shape) ||
        !ml_ev_dtype(ev, type->v, type->at, &s.b.type))
        return NULL;
    if (s.b.type.code == ML_VOID)
        return ml_ev_nothing(ev, E516, type->at, "a buffer cannot hold void");
    if (scope && scope->v.kind != ML_CV_NONE &&
        !ml_ev_arg_string(ev, a, scope, "the scope", &z))
        return NULL;
    if (notes && notes->v.kind != ML_CV_NONE) {
        if (notes->v.kind != ML_CV_DICT)
            return ml_ev_nothing(ev, E415, notes->at, "annotations must be a dict, got %s",
                                 ml_cv_describe(ev, notes->v));
        if (!(s.annotations = ml_ev_to_value(ev, notes->v, notes->at)))
            return NULL;
        if (ml_dict_count(s.annotations) == 0)
            s.annotations = NULL;
    }
    s.b.scope = ml_scope(ml_strdup(ev->cx, z));
    s.b.shape = shape.v;
    s.b.rank = (uint16_t)shape.n;
    b = ml_ev_make_buffer(ev, &s, hint,
                          ml_var_new_handle(ev->cx, hint, s.b.type, s.b.scope.name));
    ml_ev_remember(ev, b->data, a->call->at);
    ml_ev_emit(ev, ml_alloc_stmt(ev->cx, b, s.annotations), a->call->at);
    ml_push(ev->sc, &ev->fn->pointers, b);
    return b;
}

static ml_Cv pointer(ml_Eval *ev, ml_Args *a, const ml_Buffer *b)
{
    ml_Cv v = ml_cv_expr(ml_var(ev->cx, b->data));

    return ev->with == a->call ? ml_cv_list(ev, ML_CV_SCOPE, &v, 1) : v;
}

static ml_Cv allocate(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"extents",   "dtype",       "scope",
                                        "condition", "annotations", NULL};
    ml_Arg *s[5];
    const ml_Buffer *b;

    if (!ml_ev_slots(ev, a, NAMES, s))
        return ml_cv_poison();
    if (s[3] && s[3]->v.kind != ML_CV_NONE && !is_true(s[3]->v))
        return ml_ev_fail(ev, E420, s[3]->at,
                          "an allocation under a condition is not supported; put it into "
                          "an `if`");
    b = make(ev, a, s[0], s[1], s[2], s[4]);
    return b ? pointer(ev, a, b) : ml_cv_poison();
}

/* ---- constant contents */
typedef ML_VEC(ml_Cv) CvVec;

static bool flatten(ml_Eval *ev, ml_Cv v, ml_Place at, size_t depth, CvVec *out)
{
    if (v.kind != ML_CV_LIST && v.kind != ML_CV_TUPLE) {
        ml_push(ev->sc, out, v);
    } else {
        for (size_t k = 0; k < v.n; k++)
            if (depth == 0 || !flatten(ev, v.as.list[k], at, depth - 1, out))
                return false;
    }
    if (out->n <= MAX_CONSTANTS)
        return true;
    return ml_ev_reject(ev, E420, at,
                        "more than %d constants are not supported; make them a parameter",
                        MAX_CONSTANTS);
}

static bool constants(ml_Eval *ev, ml_Args *a, const ml_Buffer *b, const CvVec *v,
                      ml_Place at)
{
    int64_t want = 1;

    for (size_t k = 0; k < b->rank; k++)
        if (!ml_is_const_int(b->shape[k]) ||
            __builtin_mul_overflow(want, b->shape[k]->as.i, &want))
            return ml_ev_reject(ev, E417, a->call->at,
                                "the extents of constant contents are constants");
    if (want != (int64_t)v->n)
        return ml_ev_reject(ev, E417, at, "%zu constants for %lld elements", v->n,
                            (long long)want);
    for (size_t k = 0; k < v->n; k++) {
        const ml_Expr **idx = ML_ARRAY(ev->cx, const ml_Expr *, b->rank + 1u), *e;
        int64_t rest = (int64_t)k;

        for (size_t j = b->rank; j-- > 0; rest /= b->shape[j]->as.i)
            idx[j] = ml_int(ev->cx, b->shape[j]->type, rest % b->shape[j]->as.i);
        e = v->v[k].kind == ML_CV_EXPR ? v->v[k].as.e
                                       : ml_ev_const(ev, b->type, v->v[k], at);
        if (e && !ml_dtype_eq(e->type, b->type)) {
            ml_report(ev->rep, ML_E_E515, at, "a constant is %s, the buffer holds %s",
                      ml_dtype_name(ev->cx, e->type), ml_dtype_name(ev->cx, b->type));
            e = NULL;
        }
        if (!e)
            return false;
        ml_ev_emit(ev, ml_store(ev->cx, b, e, idx, b->rank, NULL), a->call->at);
    }
    return true;
}

static ml_Cv allocate_const(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"data", "dtype", "extents", "annotations", NULL};
    ml_Arg *s[4];
    const ml_Buffer *b;
    CvVec v = {0};

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "data"))
        return ml_cv_poison();
    if (s[0]->v.kind != ML_CV_LIST && s[0]->v.kind != ML_CV_TUPLE)
        return ml_ev_fail(ev, E415, s[0]->at, "the contents are a list, got %s",
                          ml_cv_describe(ev, s[0]->v));
    if (!flatten(ev, s[0]->v, s[0]->at, 256, &v))
        return ml_cv_poison();
    b = make(ev, a, s[2], s[1], NULL, s[3]);
    return b && constants(ev, a, b, &v, s[0]->at) ? pointer(ev, a, b) : ml_cv_poison();
}

const ml_Builtin ml_ev_alloc_table[] = {
    {"allocate", allocate, 0, false},
    {"allocate_const", allocate_const, 0, false},
    {NULL, NULL, 0, false},
};

/* ---- one buffer of an allocation and its only declaration */
typedef struct Merge {
    const ml_Buffer *alloc, *to; /* to: the declared buffer */
    const ml_Stmt *decl;
    size_t uses; /* of the pointer */
} Merge;
typedef struct Merger {
    Merge *v;
    ml_Map *by_data; /* uid of a pointer -> its number in v, from 1 */
    ml_Map *gone;    /* uid of a declared buffer -> itself */
    const ml_Stmt *at;
    uint64_t bloom;
} Merger;

static Merge *of_pointer(const Merger *m, const ml_Var *v)
{
    uintptr_t k = (uintptr_t)ml_map_get(m->by_data, v->uid);

    return k ? &m->v[k - 1] : NULL;
}

static bool use(const ml_Expr *e, void *user)
{
    Merger *m = user;
    Merge *one;

    if (!(e->bloom & m->bloom))
        return false;
    if (e->kind == ML_EXPR_VAR && (one = of_pointer(m, e->as.var)))
        one->uses++;
    return true;
}

static void named(Merger *m, const ml_Value *v)
{
    Merge *one;

    if (v && v->kind == ML_VAL_VAR && (one = of_pointer(m, v->as.var)))
        one->uses++;
    for (uint32_t k = 0;
         v && (v->kind == ML_VAL_LIST || v->kind == ML_VAL_DICT) && k < v->n; k++)
        named(m, v->as.list[k]);
}

static bool visit_stmt(const ml_Stmt *s, void *user)
{
    Merger *m = user;
    Merge *one;

    ml_stmt_visit_exprs(s, ML_ROLES_ALL, use, m);
    if (s->kind == ML_STMT_ATTR) {
        named(m, ml_as_attr(s)->node);
        named(m, ml_as_attr(s)->value);
    }
    if (s->kind == ML_STMT_DECL && (one = of_pointer(m, ml_as_alloc(s)->buffer->data))) {
        one->decl = s;
        one->to = ml_as_alloc(s)->buffer;
    }
    return true;
}

static bool fits(const Merge *one)
{
    const ml_Buffer *a = one->alloc, *b = one->to;

    if (one->uses != 1 || !b || ml_as_alloc(one->decl)->data->kind != ML_EXPR_VAR ||
        a->rank != b->rank || b->n_strides || !ml_is_int(b->elem_offset, 0) ||
        !ml_dtype_eq(a->type, b->type) || !ml_scope_eq(a->scope, b->scope))
        return false;
    for (size_t k = 0; k < a->rank; k++)
        if (a->shape[k] != b->shape[k])
            return false;
    return true;
}

static const ml_Stmt *drop(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const Merger *m = user;
    const ml_Mapper map = {.stmt = drop, .user = user};

    if (s->kind == ML_STMT_DECL && ml_map_has(m->gone, ml_as_alloc(s)->buffer->uid))
        return NULL;
    return ml_stmt_map(cx, s, &map);
}

const ml_Stmt *ml_ev_merge_allocations(ml_Eval *ev, const ml_Stmt *body)
{
    ml_FuncB *f = ev->fn;
    Merger m = {0};
    ml_Subst sub = {0};

    if (f->pointers.n == 0)
        return body;
    m.by_data = ml_map_new(ev->sc);
    m.gone = ml_map_new(ev->sc);
    m.v = ML_ARRAY(ev->sc, Merge, f->pointers.n);
    for (size_t k = 0; k < f->pointers.n; k++) {
        m.v[k] = (Merge){.alloc = f->pointers.v[k]};
        ml_map_set(ev->sc, m.by_data, m.v[k].alloc->data->uid,
                   (const void *)(uintptr_t)(k + 1));
        m.bloom |= ml_var(ev->cx, m.v[k].alloc->data)->bloom;
    }
    ml_stmt_visit(body, visit_stmt, &m);
    for (size_t k = 0; k < f->pointers.n; k++) {
        const Merge *one = &m.v[k];

        if (!fits(one))
            continue;
        ml_map_set(ev->sc, m.gone, one->to->uid, one->to);
        ml_subst_buffer(ev->cx, &sub, one->alloc, one->to);
    }
    if (!sub.buffers)
        return body;
    body = drop(ev->cx, body, &m);
    return ml_stmt_subst(ev->cx, body ? body : ml_evaluate(ev->cx, ml_i32(ev->cx, 0)),
                         &sub);
}
