/*
 * sample_compute_location - choose where a block is to be computed: inlined, where it
 * stands, or under a loop of its first consumer.
 *
 * A place is a candidate when the primitive that would move the block there succeeds; that
 * is tried, on a program that is then forgotten. Source: primitives 5.
 */
#include "moonloop/primitives/rewrite/move.h"
#include "moonloop/primitives/rewrite/sample.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

enum { BLOCK, DECISION, MAX_PLACES = 64 };
enum { AT_INLINE = -2, AT_ROOT = -1 };

typedef struct Place {
    int64_t value; /* of the decision: a position among the loops, or a mark */
    const ml_For *loop;
} Place;

typedef struct Places {
    ml_Call *c;
    size_t n;
    Place v[MAX_PLACES];
} Places;

static bool would_inline(ml_Call *c, bool *over)
{
    ml_Given args[1] = {c->args[BLOCK]};

    return ml_call_would(c, &ml_prim_compute_inline, args, over);
}

/* compute_at(block, loop, preserve_unit_loops = true, index = -1) */
static bool would_move(ml_Call *c, const ml_For *loop, bool *over)
{
    ml_Given args[4] = {c->args[BLOCK]};

    args[1] = (ml_Given){.given = true,
                         .h = {ML_H_LOOP, loop->var->uid},
                         .uid = loop->var->uid,
                         .node = &loop->base};
    args[2] = (ml_Given){.given = true, .b = true, .i = 1};
    args[3] = (ml_Given){.given = true, .i = -1};
    return ml_call_would(c, &ml_prim_compute_at, args, over);
}

/* A loop drives spatial iters only, or none (2.2, loop type). */
static bool is_spatial(ml_Call *c, const ml_For *loop)
{
    ml_StmtVec blocks = {0};

    ml_child_blocks(c->cx, &loop->base, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);

        for (size_t m = 0; m < b->n_iters; m++)
            if (b->iters[m].kind != ML_ITER_SPATIAL &&
                ml_expr_uses_var(b->iters[m].value, loop->var))
                return false;
    }
    return true;
}

static void add(Places *p, int64_t value, const ml_For *loop)
{
    if (p->n < MAX_PLACES)
        p->v[p->n++] = (Place){value, loop};
}

/* The loops of the first consumer that are above all consumers. */
static bool add_loops(Places *p)
{
    ml_Call *c = p->c;
    const ml_Index *ix = c->p.index;
    ml_UidVec consumers = {0};
    ml_StmtVec loops = {0};
    bool reduced = false, over = false;
    ml_Uid above;

    ml_consumers(c->cx, c->facts, c->p, c->args[BLOCK].uid, &consumers);
    if (consumers.n == 0)
        return true;
    above = ml_index_parent(ix, consumers.v[0]);
    for (size_t k = 1; k < consumers.n; k++)
        above = ml_index_lca(ix, above, consumers.v[k]);
    ml_index_loops(c->cx, ix, consumers.v[0], &loops);
    size_t n = 0, last = 0; /* last: behind the deepest spatial loop */

    while (n < loops.n && (ml_stmt_uid(loops.v[n]) == above ||
                           ml_index_is_above(ix, ml_stmt_uid(loops.v[n]), above)))
        n++;
    for (size_t k = 0; k < n; k++)
        if (is_spatial(c, ml_as_for(loops.v[k])))
            last = k + 1;
    for (size_t k = 0; k < n; k++) {
        const ml_For *loop = ml_as_for(loops.v[k]);

        if (ml_is_int(loop->extent, 1))
            continue;
        if (is_spatial(c, loop)) {
            if (reduced)
                break;
        } else {
            reduced = true;
            if (k + 1 > last)
                break;
        }
        if (would_move(c, loop, &over))
            add(p, (int64_t)k, loop);
        if (over)
            return false;
    }
    return true;
}

static bool sample_compute_location(ml_Call *c)
{
    Places p = {.c = c};
    bool over = false;
    size_t pick = 0;

    if (!ml_check_not_root(c, c->args[BLOCK].uid))
        return false;
    if (c->decision && c->decision->kind != ML_VAL_INT)
        return ml_bad_argument(c->cx, "decision: a number is needed: a position among the "
                                      "consumer's loops, -1 or -2");
    if (would_inline(c, &over))
        add(&p, AT_INLINE, NULL);
    if (over)
        return false;
    add(&p, AT_ROOT, NULL);
    if (!add_loops(&p))
        return false;
    if (!c->decision)
        pick = (size_t)ml_random_int(&c->sched->random, 0, (int64_t)p.n);
    else { /* the nearest candidate that is not further in; none: where it stands */
        bool found = false;

        for (size_t k = 0; k < p.n; k++)
            if (p.v[k].value <= c->decision->as.i) {
                pick = k;
                found = true;
            }
        for (size_t k = 0; k < p.n && !found; k++)
            if (p.v[k].value == AT_ROOT)
                pick = k;
    }
    const Place *at = &p.v[pick];
    ml_Handle h = {ML_H_LOOP, at->loop ? at->loop->var->uid : 0};

    if (!at->loop)
        h = (ml_Handle){at->value == AT_INLINE ? ML_H_INLINE_MARK : ML_H_ROOT_MARK,
                        ml_fresh_uid(c->cx)};
    c->decision = ml_val_int(c->cx, at->value);
    ml_call_return_handles(c, &h, 1, false);
    return true;
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block to be moved"),
    {.name = "decision",
     .kind = ML_P_DECISION,
     .optional = true,
     .doc = "position of the loop; -1: stays, -2: inlined"},
};

const ml_Primitive ml_prim_sample_compute_location = {
    ML_PRIM(sample_compute_location, "SampleComputeLocation"),
    .group = "sampling",
    .summary = "choose where a block is computed",
    .help =
        "One of: inlined, where it stands, under a loop of its first consumer where\n"
        "compute_at would succeed. The result, a loop or a mark, is for compute_at and\n"
        "reverse_compute_at alone. A decision that is no candidate is rounded down.",
    ML_PARAMS(params),
    .result = ML_R_LOOP,
    .pure = true,
    .has_decision = true,
    .no_version = true,
    .errors = (const ml_ErrorCode[]){ML_E_ROOT_BLOCK, ML_E_BAD_ARGUMENT, ML_E_OK},
};
