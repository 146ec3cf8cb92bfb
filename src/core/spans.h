/*
 * spans - where the expressions of a parsed statement stand in its text.
 *
 * Expressions are shared and have no place of their own; a place inside a statement is
 * (statement, path). The parser keeps, beside the statement's span, what it read where, in
 * the order of reading; which of these a path means is found out when somebody asks, by
 * comparing nodes. So a rewritten statement that keeps its span keeps the places of the
 * expressions that are still in it, and of no others. Source: script 14.
 */
#ifndef ML_CORE_SPANS_H
#define ML_CORE_SPANS_H

#include "moonloop/core/walk.h"

/* One expression as read. */
typedef struct ml_ExprPlace {
    const ml_Expr *expr; /* NULL: a number, whose dtype came from what is around it */
    double number;
    uint32_t line, col, end_line, end_col;
} ml_ExprPlace;
struct ml_ExprSpans {
    size_t n;
    const ml_ExprPlace *v;
};

/* steps[0]: which of the statement's expressions, in the order of ml_stmt_exprs; then
 * positions among the arguments. */
typedef struct ml_ExprPath {
    const ml_Stmt *stmt;
    size_t n;
    const uint32_t *steps;
} ml_ExprPath;

/* The expression there; NULL: the path leads nowhere. */
const ml_Expr *ml_expr_at(const ml_ExprPath *path);
/* The path to the first occurrence of e in s itself (not in what is inside s). */
bool ml_expr_path(ml_Ctx *cx, const ml_Stmt *s, const ml_Expr *e, ml_ExprPath *out);

/* The place of the expression at the path; of the nearest one around it when the text has
 * no expression of its own for it (a cast that promotion made, a folded sum); of the
 * statement when nothing is known. False: not even that. `exact` may be NULL. */
bool ml_expr_span(const ml_ExprPath *path, ml_Span *out, bool *exact);
/* The same for the first occurrence of e in s, allocated in cx; NULL: s has no place. */
const ml_Span *ml_expr_place(ml_Ctx *cx, const ml_Stmt *s, const ml_Expr *e);

#endif
