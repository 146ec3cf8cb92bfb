/* facts - internals of the memoised scope questions. */
#ifndef ML_VERIFY_FACTS_H
#define ML_VERIFY_FACTS_H

#include "moonloop/core/script/script.h"
#include "moonloop/verify/verify.h"

/* A yes/no answer for a question whose inputs are the pointers of the key; the question is
 * the first of them. */
typedef struct ml_FactKey {
    ML_VEC(const void *) v;
    uint8_t question; /* an ml_Question */
} ml_FactKey;
void ml_key_add(ml_Ctx *cx, ml_FactKey *k, const void *p);
/* Bindings, predicate and the loops up to (excluding) `stop` (0: the scope root). */
void ml_key_nest(ml_Ctx *cx, ml_FactKey *k, ml_Program p, const ml_Block *b, ml_Uid stop);
void ml_key_ask(ml_Ctx *cx, ml_FactKey *k, ml_Question q);
bool ml_fact_get(ml_Facts *f, const ml_FactKey *k, bool *answer);
void ml_fact_put(ml_Facts *f, const ml_FactKey *k, bool answer);

/* The child blocks of a scope block, in order; kept for the body it was computed from. */
typedef struct ml_Children {
    size_t n;
    const ml_Block *const *v;
} ml_Children;
ml_Children ml_scope_children(ml_Facts *f, ml_Program p, ml_Uid scope);
/* What was shown of a whole scope, so that of a later version only the statements that
 * differ are looked at. */
typedef enum ml_Shown {
    ML_SHOWN_PIPELINE,
    ML_SHOWN_PRODUCED,
    ML_SHOWN_SIGNED, /* buffers are used in blocks alone, as their signatures say */
    ML_SHOWN_KINDS
} ml_Shown;
/* The body with which it was last shown of the scope; NULL: never. */
const ml_Stmt *ml_last_shown(const ml_Facts *f, ml_Shown what, ml_Uid scope);
void ml_set_shown(ml_Facts *f, ml_Shown what, ml_Uid scope, const ml_Stmt *body);
/* The statements of a body: of the list, or the one that it is. */
const ml_Stmt *const *ml_statements(const ml_Stmt *const *body, size_t *n);
/* Whether the signatures of the child blocks say all about what uses buffers in the scope.
 */
bool ml_is_signed(ml_Facts *f, const ml_Block *scope);
/* Whether the scope block or one above it has views. */
bool ml_has_views(ml_Program p, ml_Uid scope);
/* The buffer itself, or what the scope block (or one above) matched it from. */
const ml_Buffer *ml_canonical_buffer(ml_Program p, ml_Uid scope, const ml_Buffer *b);
bool ml_block_writes(ml_Program p, ml_Uid scope, const ml_Block *b, const ml_Buffer *buf);
bool ml_block_reads(ml_Program p, ml_Uid scope, const ml_Block *b, const ml_Buffer *buf);

/* Narrows the loops to where the block reads the region, as far as conditions around its one
 * load of the buffer say it (order/guarded_read.c). */
void ml_narrow_to_read(ml_Ctx *cx, const ml_Block *b, const ml_Region *r, ml_DomVec *dom);

/* The child blocks of the scope whose signature names one of the buffers (canonical ones),
 * each once, in textual order, behind what is in *out. */
typedef ML_VEC(const ml_Block *) ml_BlockVec;
void ml_scope_users(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                    const ml_Buffer *const *bufs, size_t n, ml_BlockVec *out);
/* The same for the buffers of regions. */
void ml_region_users(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                     const ml_Region *v, size_t n, ml_BlockVec *out);

/* Whether what the producer writes under the ancestor holds what the consumer reads there;
 * false: not by comparing numbers. No views. */
bool ml_covers_plainly(ml_Program p, ml_Uid ancestor, const ml_Block *producer,
                       const ml_Region *write, const ml_Block *consumer,
                       const ml_Region *read);

/* Two writers under a loop provably write one element in different iterations of it. */
bool ml_writes_meet(ml_Ctx *cx, ml_Program p, ml_Uid loop, const ml_Block *a,
                    const ml_Block *b, const ml_Buffer *buf);

/* Text of an expression or interval for a reason, in cx. */
const char *ml_expr_text(ml_Ctx *cx, const ml_Expr *e);
const char *ml_interval_text(ml_Ctx *cx, ml_Interval i);

#endif
