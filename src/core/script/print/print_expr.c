/*
 * print_expr - expressions as text that reads back to the very same node.
 *
 * An operator is used only where the reader, which folds, would rebuild this node from
 * these operands; otherwise the node is written by its class, T.Add(3, 4), which the reader
 * takes literally. Doubt costs only beauty: the long form is always right.
 * Source: script 10, 12.4.
 */
#include "moonloop/core/script/print/print.h"

#include "moonloop/core/base/utf8.h"

#include <math.h>

bool ml_pr_is_zero(const ml_Expr *e)
{
    return (e->kind == ML_EXPR_INT && e->as.i == 0) ||
           (e->kind == ML_EXPR_FLOAT && fpclassify(e->as.f) == FP_ZERO);
}

static bool is_one(const ml_Expr *e)
{
    return (e->kind == ML_EXPR_INT && e->as.i == 1) ||
           (e->kind == ML_EXPR_FLOAT && !(e->as.f < 1.0) && !(e->as.f > 1.0) &&
            !isnan(e->as.f));
}

static bool is_literal(const ml_Expr *e)
{
    return e->kind == ML_EXPR_INT || e->kind == ML_EXPR_FLOAT || e->kind == ML_EXPR_STRING;
}

/* The scalar literal that e is or repeats; e itself otherwise. */
static const ml_Expr *literal_of(const ml_Expr *e)
{
    return e->kind == ML_EXPR_BROADCAST && is_literal(e->args[0]) ? e->args[0] : e;
}

/* A literal that prints as a plain number: Python's arithmetic would get hold of two. */
static bool is_plain(const ml_Expr *e)
{
    return e->kind == ML_EXPR_INT && ml_dtype_eq(e->type, ML_DT_I32);
}

/* Whether reading `a op b` could give another node than this one (script 10.2). */
static bool would_fold(ml_ExprKind kind, const ml_Expr *ea, const ml_Expr *eb)
{
    const ml_Expr *a = literal_of(ea), *b = literal_of(eb);

    if (is_literal(a) && is_literal(b))
        return true;
    if (kind == ML_EXPR_ADD)
        return ml_pr_is_zero(a) || ml_pr_is_zero(b);
    if (kind == ML_EXPR_SUB)
        return ml_pr_is_zero(b);
    if (kind == ML_EXPR_MUL)
        return ml_pr_is_zero(a) || ml_pr_is_zero(b) || is_one(a) || is_one(b);
    if (ml_kind_divides(kind))
        return ml_pr_is_zero(a) || ml_pr_is_zero(b) || is_one(b);
    return ea == eb; /* min, max */
}

static bool is_number(ml_Dtype t)
{
    return ml_dtype_is_int(t) || ml_dtype_is_float(t);
}

/* Operator text and its precedence when e prints as one; NULL: by name. */
static const char *operator_of(const ml_Expr *e, int *prec)
{
    const ml_Expr *a = e->args[0], *b = e->args[1];
    ml_ExprKind k = (ml_ExprKind)e->kind;

    if (ml_kind_compares(k)) {
        static const char *const TEXT[] = {"==", "!=", "<", "<=", ">", ">="};
        bool fit = is_number(a->type) || ml_dtype_is_bool(a->type);
        *prec = ML_PREC_CMP;
        size_t at = (size_t)(k - ML_EXPR_EQ);
        return fit && !(is_plain(a) && is_plain(b)) && at < ML_COUNT(TEXT) ? TEXT[at]
                                                                           : NULL;
    }
    if (k == ML_EXPR_AND || k == ML_EXPR_OR) {
        *prec = k == ML_EXPR_AND ? ML_PREC_AND : ML_PREC_OR;
        return e->type.lanes != 1 ? NULL : k == ML_EXPR_AND ? "and" : "or";
    }
    *prec = k == ML_EXPR_ADD || k == ML_EXPR_SUB ? ML_PREC_SUM : ML_PREC_TERM;
    if (!is_number(a->type) || would_fold(k, a, b))
        return NULL;
    if (k == ML_EXPR_ADD || k == ML_EXPR_SUB)
        return k == ML_EXPR_ADD ? "+" : "-";
    if (k == ML_EXPR_MUL)
        return "*";
    if (k == ML_EXPR_DIV)
        return ml_dtype_is_float(a->type) ? "/" : NULL;
    if (k == ML_EXPR_FLOORDIV || k == ML_EXPR_FLOORMOD)
        return !ml_dtype_is_int(a->type) ? NULL : k == ML_EXPR_FLOORDIV ? "//" : "%";
    return NULL;
}

/* ---- literals */
static void print_literal(ml_Printer *p, const ml_Expr *e)
{
    if (is_plain(e) || (p->o->plain && ml_dtype_is_index(e->type))) {
        ml_text_int(p->out, e->as.i);
        return;
    }
    if (ml_dtype_has_name(e->type)) {
        ml_pr_t(p, "");
        ml_dtype_print(p->out, e->type);
        ml_pr_z(p, "(");
    } else {
        ml_pr_t(p, e->kind == ML_EXPR_INT ? "IntImm(" : "FloatImm(");
        ml_pr_dtype(p, e->type);
        ml_pr_z(p, ", ");
    }
    if (e->kind == ML_EXPR_INT) {
        if (ml_dtype_is_bool(e->type))
            ml_pr_z(p, e->as.i ? "True" : "False");
        else if (e->type.code == ML_UINT)
            ml_text_fmt(p->out, "%llu", (unsigned long long)e->as.i);
        else
            ml_text_int(p->out, e->as.i);
    } else if (isnan(e->as.f)) {
        ml_pr_z(p, "\"nan\"");
    } else if (isinf(e->as.f)) {
        ml_pr_z(p, e->as.f < 0 ? "\"-inf\"" : "\"inf\"");
    } else {
        ml_text_double(p->out, e->as.f);
    }
    ml_pr_z(p, ")");
}

void ml_pr_string(ml_Printer *p, const char *z, size_t n)
{
    const unsigned char *s = (const unsigned char *)z;

    ml_pr_z(p, "\"");
    for (size_t k = 0; k < n; k++) {
        unsigned char c = s[k];
        if (c == '\\' || c == '"') {
            ml_text_char(p->out, '\\');
            ml_text_char(p->out, (char)c);
        } else if (c == '\n') {
            ml_pr_z(p, "\\n");
        } else if (c == '\t') {
            ml_pr_z(p, "\\t");
        } else if (c == '\r') {
            ml_pr_z(p, "\\r");
        } else if (c >= 0x20 && c < 0x7F) {
            ml_text_char(p->out, (char)c);
        } else {
            size_t len = c >= 0x80 ? ml_utf8_length(z + k, z + n) : 0;
            if (len == 0) {
                ml_text_fmt(p->out, "\\x%02X", (unsigned)c);
            } else {
                ml_text_addn(p->out, z + k, len);
                k += len - 1;
            }
        }
    }
    ml_pr_z(p, "\"");
}

void ml_pr_dtype(ml_Printer *p, ml_Dtype t)
{
    ml_pr_z(p, "\"");
    ml_dtype_print(p->out, t);
    ml_pr_z(p, "\"");
}

/* ---- lists of indices */
void ml_pr_args(ml_Printer *p, const ml_Expr *const *args, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (k > 0)
            ml_pr_z(p, ", ");
        ml_pr_expr(p, args[k], ML_PREC_TEST);
    }
}

void ml_pr_tuple(ml_Printer *p, const ml_Expr *const *args, size_t n)
{
    ml_pr_z(p, "(");
    ml_pr_args(p, args, n);
    ml_pr_z(p, n == 1 ? ",)" : ")");
}

/* base + c, where a literal base is added at once; false: that would not fit its dtype. */
static bool literal_sum(const ml_Expr *a, const ml_Expr *b, int64_t *sum)
{
    return a->kind == ML_EXPR_INT && b->kind == ML_EXPR_INT && a->type.code != ML_UINT &&
           !__builtin_add_overflow(a->as.i, b->as.i, sum) && ml_dtype_fits(a->type, *sum);
}

static void print_typed_int(ml_Printer *p, ml_Dtype t, int64_t v)
{
    ml_Expr e = {.kind = ML_EXPR_INT, .type = t, .as.i = v};
    print_literal(p, &e);
}

void ml_pr_stop(ml_Printer *p, const ml_Expr *min, const ml_Expr *extent)
{
    int64_t sum;

    if (ml_pr_is_zero(min)) {
        ml_pr_expr(p, extent, ML_PREC_TEST);
    } else if (literal_sum(min, extent, &sum)) {
        print_typed_int(p, extent->type, sum);
    } else if (would_fold(ML_EXPR_ADD, min, extent)) {
        ml_pr_t(p, "Add(");
        ml_pr_expr(p, min, ML_PREC_TEST);
        ml_pr_z(p, ", ");
        ml_pr_expr(p, extent, ML_PREC_TEST);
        ml_pr_z(p, ")");
    } else {
        ml_pr_expr(p, min, ML_PREC_SUM);
        ml_pr_z(p, " + ");
        ml_pr_expr(p, extent, ML_PREC_SUM + 1);
    }
}

/* Whether the index prints as the slice base:stop[:stride]; *length is stop - base. */
static bool is_slice(const ml_Expr *e, int64_t *length)
{
    if (e->kind != ML_EXPR_RAMP || e->args[1]->kind != ML_EXPR_INT || e->args[1]->as.i <= 0)
        return false;
    const ml_Expr *base = e->args[0];
    if (!ml_dtype_eq(base->type, e->args[1]->type) || base->type.code != ML_INT ||
        __builtin_mul_overflow((int64_t)e->type.lanes, e->args[1]->as.i, length) ||
        !ml_dtype_fits(base->type, *length))
        return false;
    int64_t stop;
    return base->kind != ML_EXPR_INT ||
           (!__builtin_add_overflow(base->as.i, *length, &stop) &&
            ml_dtype_fits(base->type, stop));
}

void ml_pr_indices(ml_Printer *p, const ml_Expr *const *idx, size_t n, bool slices)
{
    ml_pr_z(p, "[");
    if (n == 0)
        ml_pr_z(p, "()");
    for (size_t k = 0; k < n; k++) {
        int64_t length;
        if (k > 0)
            ml_pr_z(p, ", ");
        if (!slices || !is_slice(idx[k], &length)) {
            ml_pr_expr(p, idx[k], ML_PREC_TEST);
            continue;
        }
        const ml_Expr *base = idx[k]->args[0];
        ml_Expr c = {.kind = ML_EXPR_INT,
                     .type = base->type,
                     .as.i = length,
                     .flags = ML_X_VAR_FREE};
        ml_pr_expr(p, base, ML_PREC_TEST);
        ml_pr_z(p, ":");
        ml_pr_stop(p, base, &c);
        if (idx[k]->args[1]->as.i != 1) {
            ml_pr_z(p, ":");
            ml_text_int(p->out, idx[k]->args[1]->as.i);
        }
    }
    ml_pr_z(p, "]");
}

void ml_pr_region(ml_Printer *p, const ml_Region *r)
{
    ml_pr_buffer_ref(p, r->buffer);
    ml_pr_z(p, "[");
    if (r->buffer->rank == 0)
        ml_pr_z(p, "()");
    for (size_t k = 0; k < r->buffer->rank; k++) {
        const ml_Range *range = &r->ranges[k];
        if (k > 0)
            ml_pr_z(p, ", ");
        ml_pr_expr(p, range->min, ML_PREC_TEST);
        if (ml_is_int(range->extent, 1) &&
            ml_dtype_eq(range->extent->type, range->min->type))
            continue;
        ml_pr_z(p, ":");
        ml_pr_stop(p, range->min, range->extent);
    }
    ml_pr_z(p, "]");
}

/* ---- nodes */
static void print_load(ml_Printer *p, const ml_Expr *e)
{
    const ml_Buffer *b = e->as.buffer;
    size_t rank = ml_load_rank(e);

    if (e->flags & ML_X_MASKED) {
        ml_pr_buffer_ref(p, b);
        ml_pr_z(p, ".vload([");
        ml_pr_args(p, e->args, rank);
        ml_pr_z(p, "], predicate=");
        ml_pr_expr(p, e->args[rank], ML_PREC_TEST);
        ml_pr_z(p, ")");
        return;
    }
    if (ml_pr_is_cell(p, b)) {
        if (ml_is_int(e->args[0], 0) && is_plain(e->args[0])) {
            ml_pr_z(p, ml_pr_buffer_name(p, b));
            return;
        }
        ml_pr_buffer_ref(p, b);
    } else {
        ml_pr_z(p, ml_pr_buffer_name(p, b));
    }
    /* in the newest spelling a slice is a region, with which nothing can be computed */
    ml_pr_indices(p, e->args, rank, !p->newest || e == p->whole);
}

static void print_by_name(ml_Printer *p, const char *name, const ml_Expr *e)
{
    ml_pr_t(p, name);
    ml_pr_z(p, "(");
    ml_pr_args(p, e->args, e->n_args);
    ml_pr_z(p, ")");
}

static void print_shuffle(ml_Printer *p, const ml_Expr *e)
{
    size_t n = (size_t)e->as.i;

    ml_pr_t(p, "Shuffle([");
    ml_pr_args(p, e->args, n);
    ml_pr_z(p, "], [");
    ml_pr_args(p, e->args + n, e->n_args - n);
    ml_pr_z(p, "])");
}

static void print_let(ml_Printer *p, const ml_Expr *e)
{
    ml_pr_t(p, "Let(");
    ml_pr_expr(p, e->args[1], ML_PREC_TEST);
    ml_pr_z(p, ", where={");
    ml_pr_var_name(p, e->as.var);
    ml_pr_z(p, ": ");
    ml_pr_expr(p, e->args[0], ML_PREC_TEST);
    ml_pr_z(p, "})");
}

static void print_binary(ml_Printer *p, const ml_Expr *e, int prec)
{
    int own;
    const char *op = operator_of(e, &own);

    if (!op) {
        bool folds =
            would_fold(e->kind, e->args[0], e->args[1]) || !is_number(e->args[0]->type);
        const char *name = ml_expr_kind_name(e->kind);
        if (e->kind == ML_EXPR_MOD && !folds && ml_dtype_is_int(e->type))
            name = "truncmod";
        else if (e->kind == ML_EXPR_MIN && !folds)
            name = "min";
        else if (e->kind == ML_EXPR_MAX && !folds)
            name = "max";
        print_by_name(p, name, e);
        return;
    }
    bool both = own == ML_PREC_CMP;
    if (own < prec)
        ml_pr_z(p, "(");
    ml_pr_expr(p, e->args[0], both ? own + 1 : own);
    ml_text_char(p->out, ' ');
    ml_pr_z(p, op);
    ml_text_char(p->out, ' ');
    ml_pr_expr(p, e->args[1], own + 1);
    if (own < prec)
        ml_pr_z(p, ")");
}

static void print_node(ml_Printer *p, const ml_Expr *e, int prec)
{
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_INT:
    case ML_EXPR_FLOAT: {
        bool paren = prec > ML_PREC_UNARY && is_plain(e) && e->as.i < 0;
        ml_pr_z(p, paren ? "(" : "");
        print_literal(p, e);
        ml_pr_z(p, paren ? ")" : "");
        return;
    }
    case ML_EXPR_STRING: ml_pr_string(p, e->as.s, strlen(e->as.s)); return;
    case ML_EXPR_VAR: ml_pr_var_name(p, e->as.var); return;
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
    case ML_EXPR_MUL:
    case ML_EXPR_DIV:
    case ML_EXPR_MOD:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD:
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
    case ML_EXPR_EQ:
    case ML_EXPR_NE:
    case ML_EXPR_LT:
    case ML_EXPR_LE:
    case ML_EXPR_GT:
    case ML_EXPR_GE:
    case ML_EXPR_AND:
    case ML_EXPR_OR: print_binary(p, e, prec); return;
    case ML_EXPR_NOT:
        if (e->type.lanes != 1) {
            print_by_name(p, "Not", e);
            return;
        }
        ml_pr_z(p, prec > ML_PREC_NOT ? "(not " : "not ");
        ml_pr_expr(p, e->args[0], ML_PREC_NOT);
        ml_pr_z(p, prec > ML_PREC_NOT ? ")" : "");
        return;
    case ML_EXPR_SELECT: print_by_name(p, "Select", e); return;
    case ML_EXPR_CAST:
        if (p->o->plain && ml_dtype_is_index(e->type) &&
            ml_dtype_is_index(e->args[0]->type)) {
            ml_pr_expr(p, e->args[0], prec);
            return;
        }
        ml_pr_t(p, "Cast(");
        ml_pr_dtype(p, e->type);
        ml_pr_z(p, ", ");
        ml_pr_expr(p, e->args[0], ML_PREC_TEST);
        ml_pr_z(p, ")");
        return;
    case ML_EXPR_LOAD: print_load(p, e); return;
    case ML_EXPR_RAMP:
    case ML_EXPR_BROADCAST:
        ml_pr_t(p, e->kind == ML_EXPR_RAMP ? "Ramp(" : "Broadcast(");
        ml_pr_args(p, e->args, e->n_args);
        ml_text_fmt(p->out, ", %u)", (unsigned)(e->type.lanes / e->args[0]->type.lanes));
        return;
    case ML_EXPR_SHUFFLE: print_shuffle(p, e); return;
    case ML_EXPR_LET: print_let(p, e); return;
    case ML_EXPR_CALL: ml_pr_call(p, e); return;
    case ML_EXPR_KINDS: return;
    }
}

void ml_pr_expr(ml_Printer *p, const ml_Expr *e, int prec)
{
    if (p->o->n_mark_exprs == 0 || !p->o->marks) {
        print_node(p, e, prec);
        return;
    }
    uint32_t col = ml_pr_col(p);
    print_node(p, e, prec);
    for (size_t k = 0; k < p->o->n_mark_exprs; k++)
        if (p->o->mark_exprs[k] == e) {
            ml_TextMark *m = ml_pr_mark(p, ML_MARK_EXPR, 0, col);
            m->expr = e;
            m->len = ml_pr_col(p) - col;
            return;
        }
}
