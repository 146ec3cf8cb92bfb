/*
 * count - innermost iterations by closed form, and the values of symbolic sizes.
 */
#include "moonloop/codegen/params/count.h"
#include "moonloop/codegen/params/index_values.h"
#include "moonloop/core/error.h"
#include "moonloop/core/walk.h"

bool ml_eval_size(const ml_Expr *e, const ml_Size *sizes, size_t n_sizes, int64_t *out)
{
    int64_t a, b;
    bool lost = false;

    if (e->kind == ML_EXPR_INT) {
        *out = e->as.i;
        return true;
    }
    if (e->kind == ML_EXPR_VAR) {
        for (size_t k = 0; k < n_sizes; k++)
            if (e->as.var->hint && ml_streq(sizes[k].name, e->as.var->hint)) {
                *out = sizes[k].value;
                return true;
            }
        return false;
    }
    if (e->kind == ML_EXPR_CAST && ml_dtype_is_int(e->type))
        return ml_eval_size(e->args[0], sizes, n_sizes, out);
    if (!ml_kind_computes(e->kind) || e->type.code != ML_INT || e->type.lanes != 1 ||
        !ml_eval_size(e->args[0], sizes, n_sizes, &a) ||
        !ml_eval_size(e->args[1], sizes, n_sizes, &b))
        return false;
    if (b == 0 && ml_kind_divides(e->kind))
        return false;
    *out = ml_fold_int((ml_ExprKind)e->kind, e->type, a, b, &lost);
    return !lost;
}

/* ---- sizes that nobody gave */

typedef struct Lacking {
    ml_Ctx *cx;
    const ml_Func *f;
    const ml_Size *sizes;
    size_t n_sizes;
    bool params; /* only the function's own integers count */
    ML_VEC(const char *) names;
} Lacking;

static bool is_integer_param(const ml_Func *f, const ml_Var *v)
{
    for (uint32_t k = 0; k < f->n_params; k++)
        if (!f->params[k].buffer && f->params[k].var == v)
            return ml_dtype_is_int(v->type);
    return false;
}

static bool add_lacking(const ml_Expr *e, void *user)
{
    Lacking *l = user;
    const char *name = e->kind == ML_EXPR_VAR ? e->as.var->hint : NULL;

    if (!name || (l->params && !is_integer_param(l->f, e->as.var)))
        return true;
    for (size_t k = 0; k < l->n_sizes; k++)
        if (ml_streq(l->sizes[k].name, name))
            return true;
    for (size_t k = 0; k < l->names.n; k++)
        if (ml_streq(l->names.v[k], name))
            return true;
    ml_push(l->cx, &l->names, name);
    return true;
}

enum { LIKE = 127 }; /* stands for a size that its user knows */

static void add_size(ml_Text *option, ml_Text *lua, const char *name, int64_t value)
{
    ml_text_fmt(option, "%s%s=%lld", option->n ? "," : "", name, (long long)value);
    ml_text_fmt(lua, "%s%s = %lld", lua->n ? ", " : "", name, (long long)value);
}

/* What is said, and typed as an option of a command and in Lua. */
static bool fail_lacking(const Lacking *l)
{
    ml_Text who = {0}, option = {0}, lua = {0};
    size_t n = l->names.n;

    for (size_t k = 0; k < l->n_sizes; k++)
        add_size(&option, &lua, l->sizes[k].name, l->sizes[k].value);
    for (size_t k = 0; k < n; k++) {
        ml_text_fmt(&who, "%s%s", k == 0 ? "" : k + 1 < n ? ", " : " and ", l->names.v[k]);
        add_size(&option, &lua, l->names.v[k], LIKE);
    }
    ml_fail(l->cx, ML_E_BAD_RUN_ARGUMENT,
            ML_TEXT(ml_format(l->cx,
                              "the size%s %s %s not given: --shape %s, in Lua shape = {%s}",
                              n == 1 ? "" : "s", ml_text_z(&who), n == 1 ? "is" : "are",
                              ml_text_z(&option), ml_text_z(&lua))));
    ml_text_free(&who);
    ml_text_free(&option);
    ml_text_free(&lua);
    return false;
}

bool ml_sizes_given(ml_Ctx *cx, const ml_Func *f, const ml_Size *sizes, size_t n_sizes,
                    bool bounds)
{
    Lacking l = {.cx = cx, .f = f, .sizes = sizes, .n_sizes = n_sizes};

    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        for (uint16_t d = 0; b && d < b->rank; d++)
            ml_expr_visit(b->shape[d], add_lacking, &l);
    }
    l.params = true;
    if (bounds)
        ml_stmt_visit_exprs_below(f->body, 1u << ML_ROLE_BOUND, add_lacking, &l);
    return l.names.n == 0 || fail_lacking(&l);
}

/* ---- iterations */

typedef struct Count {
    ml_Ctx *cx;
    ml_Arith *ar;
    const ml_Func *f;
    const ml_Size *sizes;
    size_t n_sizes;
    bool asked, fits; /* whether values of integer arguments keep loops short */
    int64_t total;    /* of the statements visited so far, side by side */
} Count;

static int64_t add(int64_t a, int64_t b)
{
    int64_t c;

    return a == ML_INF || b == ML_INF || __builtin_add_overflow(a, b, &c) ? ML_INF : c;
}

static int64_t mul(int64_t a, int64_t b)
{
    int64_t c;

    if (a == 0 || b == 0)
        return 0;
    return a == ML_INF || b == ML_INF || __builtin_mul_overflow(a, b, &c) ? ML_INF : c;
}

static int64_t count(Count *c, const ml_Stmt *s);

static void count_child(const ml_Stmt *s, bool in_init, void *user)
{
    Count *c = user;
    int64_t before = c->total, n;

    (void)in_init;
    n = count(c, s);
    c->total = add(before, n);
}

static bool see_load(const ml_Expr *e, void *user)
{
    bool *found = user;

    *found |= e->kind == ML_EXPR_LOAD && ml_dtype_is_int(e->type);
    return true;
}

/* Whether a loop is as long as elements of an argument say, which are chosen so that it is
 * short (index_values.h). */
static bool is_short(Count *c, const ml_Expr *extent)
{
    bool load = false;

    ml_expr_visit(extent, see_load, &load);
    if (load && !c->asked) {
        ml_IndexValues *v = ML_ARRAY(c->cx, ml_IndexValues, c->f->n_params + 1u);

        c->asked = c->fits = true;
        ml_index_values(c->cx, c->f, c->sizes, c->n_sizes, v);
        for (uint32_t k = 0; k < c->f->n_params; k++)
            c->fits &= v[k].fits;
    }
    return load && c->fits;
}

static int64_t extent_of(Count *c, const ml_Expr *e)
{
    ml_Bound b;
    int64_t v;

    if (ml_eval_size(e, c->sizes, c->n_sizes, &v))
        return v > 0 ? v : 0;
    b = ml_arith_bound(c->ar, e);
    if (b.hi > ML_INDEX_LOOP && is_short(c, e))
        return ML_INDEX_LOOP;
    return b.hi > 0 ? b.hi : 0;
}

static int64_t loop(Count *c, const ml_Expr *extent, int64_t step, const ml_Stmt *body)
{
    int64_t n = extent_of(c, extent), inside;

    if (step > 1 && n != ML_INF)
        n = n / step + (n % step != 0);
    inside = count(c, body);
    return mul(n, inside > 1 ? inside : 1);
}

/* 0 for a statement without loops. */
static int64_t count(Count *c, const ml_Stmt *s)
{
    int64_t a, b;

    if (s->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(s);
        ml_arith_bind_loop(c->ar, f);
        return loop(c, f->extent,
                    f->step && f->step->kind == ML_EXPR_INT ? f->step->as.i : 1, f->body);
    }
    if (s->kind == ML_STMT_ATTR) {
        const ml_Attr *t = ml_as_attr(s);
        const ml_Var *v = ml_attr_is_launch(t) ? ml_attr_defines(t) : NULL;
        const ml_Expr *extent = !v || !t->value                 ? NULL
                                : t->value->kind == ML_VAL_EXPR ? t->value->as.expr
                                : t->value->kind == ML_VAL_INT
                                    ? ml_int(c->cx, v->type, t->value->as.i)
                                    : NULL;

        if (!extent)
            return count(c, t->body);
        ml_arith_bind_range(c->ar, v, ml_int(c->cx, v->type, 0), extent);
        return loop(c, extent, 1, t->body);
    }
    if (s->kind == ML_STMT_IF) {
        a = count(c, ml_as_if(s)->then);
        b = ml_as_if(s)->other ? count(c, ml_as_if(s)->other) : 0;
        return a > b ? a : b;
    }
    if (s->kind == ML_STMT_WHILE) {
        a = count(c, ml_as_while(s)->body);
        return a > 1 ? a : 1;
    }
    if (s->kind == ML_STMT_BLOCK)
        ml_arith_bind_iters(c->ar, ml_as_block(s));
    a = c->total;
    c->total = 0;
    ml_stmt_children(s, count_child, c);
    b = c->total;
    c->total = a;
    return b;
}

int64_t ml_count_iterations(ml_Ctx *cx, const ml_Func *f, const ml_Size *sizes,
                            size_t n_sizes)
{
    ml_Mark mark = ml_mark(cx);
    Count c = {.cx = cx, .f = f, .sizes = sizes, .n_sizes = n_sizes};
    int64_t n;

    c.ar = ml_arith_new(cx);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;
        const ml_Var *v = f->params[k].var;
        for (size_t d = 0; b && d < b->rank; d++) {
            int64_t value;
            if (b->shape[d]->kind == ML_EXPR_VAR &&
                ml_eval_size(b->shape[d], sizes, n_sizes, &value))
                ml_arith_bind_value(c.ar, b->shape[d]->as.var,
                                    ml_int(cx, b->shape[d]->type, value));
        }
        for (size_t z = 0; b == NULL && z < n_sizes; z++)
            if (v->hint && ml_streq(v->hint, sizes[z].name) && ml_dtype_is_index(v->type))
                ml_arith_bind_value(c.ar, v, ml_int(cx, v->type, sizes[z].value));
    }
    n = count(&c, f->body);
    ml_release(cx, mark);
    return n > 1 ? n : 1;
}
