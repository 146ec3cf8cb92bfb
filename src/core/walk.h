/* walk - visiting and rewriting expressions and statements with sharing.
 * Rewrites return the node itself when nothing changed below it. */
#ifndef ML_CORE_WALK_H
#define ML_CORE_WALK_H

#include "moonloop/core/stmt.h"
#include "moonloop/core/vec.h"

/* ---- expressions */
typedef const ml_Expr *ml_ExprFn(ml_Ctx *cx, const ml_Expr *e, void *user);
/* e over fn of its children; folds as the constructors do; e itself when none changed. */
const ml_Expr *ml_expr_map_args(ml_Ctx *cx, const ml_Expr *e, ml_ExprFn *fn, void *user);

/* Calls fn on e and everything inside it, outside in; fn returns false to skip what is
 * inside. Shared nodes are visited each time they occur. */
typedef bool ml_ExprVisitFn(const ml_Expr *e, void *user);
void ml_expr_visit(const ml_Expr *e, ml_ExprVisitFn *fn, void *user);

/* ---- substitution: variables by expressions, buffers by buffers (loads, stores, regions,
 * match sources, address uses through the data pointer), simultaneously. Values are never
 * substituted again. Definitions are not renamed: substitute only free names. */
typedef struct ml_Subst {
    ml_Map *vars;    /* uid -> const ml_Expr * of the same dtype, or NULL */
    ml_Map *buffers; /* uid -> const ml_Buffer * of the same rank, or NULL */
} ml_Subst;
void ml_subst_var(ml_Ctx *cx, ml_Subst *s, const ml_Var *v, const ml_Expr *to);
void ml_subst_buffer(ml_Ctx *cx, ml_Subst *s, const ml_Buffer *b, const ml_Buffer *to);
const ml_Expr *ml_expr_subst(ml_Ctx *cx, const ml_Expr *e, const ml_Subst *s);
const ml_Expr *ml_expr_subst1(ml_Ctx *cx, const ml_Expr *e, const ml_Var *v,
                              const ml_Expr *to);
/* Buffers that are defined in the statement follow with their shapes, which tidy (may be
 * NULL) makes simpler where they changed. */
const ml_Stmt *ml_stmt_subst(ml_Ctx *cx, const ml_Stmt *st, const ml_Subst *s);
const ml_Stmt *ml_stmt_subst_tidy(ml_Ctx *cx, const ml_Stmt *st, const ml_Subst *s,
                                  ml_ExprFn *tidy, void *user);
ml_Region ml_region_subst(ml_Ctx *cx, ml_Region r, const ml_Subst *s);

/* ---- statements: one generic rewriting step.
 * Rebuilds st with stmt() applied to each child statement (NULL result: the child is
 * dropped), expr() to each expression directly in it (bounds, bindings, predicate, indices,
 * values, buffer regions' bounds, annotations' expressions), buffer() to each buffer *use*
 * (store, load inside expr is the business of expr, regions, match sources) and to each
 * definition (alloc lists, ALLOC, DECL, match targets). Any of them may be NULL.
 * st itself when nothing changed. */
typedef struct ml_Mapper {
    const ml_Stmt *(*stmt)(ml_Ctx *cx, const ml_Stmt *s, void *user);
    const ml_Expr *(*expr)(ml_Ctx *cx, const ml_Expr *e, void *user);
    const ml_Buffer *(*buffer)(ml_Ctx *cx, const ml_Buffer *b, bool is_definition,
                               void *user);
    void *user;
} ml_Mapper;
const ml_Stmt *ml_stmt_map(ml_Ctx *cx, const ml_Stmt *st, const ml_Mapper *m);

/* ---- reading: every child statement, in textual order; a block's init comes before its
 * body and is announced by in_init. */
typedef void ml_StmtChildFn(const ml_Stmt *child, bool in_init, void *user);
void ml_stmt_children(const ml_Stmt *st, ml_StmtChildFn *fn, void *user);

/* What an expression of a statement is. */
typedef enum ml_Role {
    ML_ROLE_VALUE, /* stored, bound, evaluated, returned */
    ML_ROLE_INDEX, /* of a store */
    ML_ROLE_MASK,
    ML_ROLE_BOUND,   /* min, extent, step of a loop */
    ML_ROLE_COND,    /* of if, while, assert; a block's predicate */
    ML_ROLE_DOMAIN,  /* min, extent of an iterator */
    ML_ROLE_BINDING, /* value of an iterator */
    ML_ROLE_REGION,  /* bounds of reads, writes, match sources */
    ML_ROLE_SHAPE,   /* shape, strides, offset of a buffer defined here */
    ML_ROLE_ATTR,    /* inside annotations, attributes */
} ml_Role;
typedef void ml_RoleFn(const ml_Expr *e, ml_Role role, void *user);
/* Every expression directly in st (not in child statements), in a fixed documented order:
 * FOR min extent step annotations; BLOCK iters (min extent value)..., predicate, reads,
 * writes, alloc shapes, match sources, match targets' shapes, annotations; STORE indices
 * value mask; ALLOC/DECL shape, data, annotations. (A bare variable as a constant is no
 * expression.) */
void ml_stmt_exprs(const ml_Stmt *st, ml_RoleFn *fn, void *user);
/* Sets of roles, as bits. */
enum {
    ML_ROLES_ALL = ~0u >> 1,
    ML_ROLES_BUT_REGION = ML_ROLES_ALL & ~(1u << ML_ROLE_REGION),
    ML_ROLES_RUN = ML_ROLES_BUT_REGION & ~(1u << ML_ROLE_ATTR), /* what is computed */
};
/* Everything inside those with one of the roles, see ml_expr_visit. */
void ml_stmt_visit_exprs(const ml_Stmt *st, unsigned roles, ml_ExprVisitFn *fn, void *user);
/* ... and inside those of all statements below st. */
void ml_stmt_visit_exprs_below(const ml_Stmt *st, unsigned roles, ml_ExprVisitFn *fn,
                               void *user);
/* The one that has the role of a value, or NULL. */
const ml_Expr *ml_stmt_value(const ml_Stmt *st);

/* Every statement below st, st included, outside in; fn returns false to skip below. */
typedef bool ml_StmtVisitFn(const ml_Stmt *s, void *user);
void ml_stmt_visit(const ml_Stmt *st, ml_StmtVisitFn *fn, void *user);

bool ml_stmt_uses_var(const ml_Stmt *st, const ml_Var *v);
bool ml_stmt_uses_buffer(const ml_Stmt *st, const ml_Buffer *b);
bool ml_region_uses_var(const ml_Region *r, const ml_Var *v);
bool ml_region_is_point(const ml_Region *r); /* one element */
/* The same expressions, of n dimensions; for regions the same buffer, too. */
bool ml_same_ranges(const ml_Range *a, const ml_Range *b, size_t n);
bool ml_same_region(const ml_Region *a, const ml_Region *b);

/* ---- duplicating and importing */
/* A copy of st whose loop, iterator, let variables, block tags and buffers allocated inside
 * (data pointers too) are fresh; *renamed (may be NULL) receives old uid -> new node:
 * const ml_Var * for variables, const ml_Buffer * for buffers, and for a block tag the new
 * tag cast to a pointer. */
const ml_Stmt *ml_stmt_copy_fresh(ml_Ctx *cx, const ml_Stmt *st, ml_Map *renamed);
/* Deep copies from another, unrelated context; identity numbers are kept. An import object
 * remembers what it copied, so that several versions share. */
typedef struct ml_Import ml_Import;
ml_Import *ml_import_begin(ml_Ctx *to);                    /* itself lives in `to` */
ml_Import *ml_import_begin_in(ml_Ctx *to, ml_Ctx *tables); /* or in `tables` */
/* Numbers are raised above those of `to`: it may hold unrelated programs already, with
 * which expressions would be shared by number. */
ml_Import *ml_import_begin_apart(ml_Ctx *to);
/* Variables and buffers with smaller numbers belong to an ancestor of `to` and are not
 * copied: the ancestor's expressions, which `to` shares, point to them. */
void ml_import_keep_below(ml_Import *im, ml_Uid uid);
const ml_Expr *ml_import_expr(ml_Import *im, const ml_Expr *e);
const ml_Value *ml_import_value(ml_Import *im, const ml_Value *v);
const ml_Buffer *ml_import_buffer(ml_Import *im, const ml_Buffer *b);
const ml_Stmt *ml_import_stmt(ml_Import *im, const ml_Stmt *st);
const ml_Func *ml_import_func(ml_Import *im, const ml_Func *f);
const ml_Module *ml_import_module(ml_Import *im, const ml_Module *m);

#endif
