/*
 * node_changes - which loops and blocks the last step changed.
 *
 * Versions share nodes and expressions: what is the same pointer is the same. A node on the
 * path to a change is a new copy, so that its own fields are compared. Source: interaction
 * 10, DESIGN section 3.
 */
#include "repl/view/state/node_changes.h"

/* Whether a node above it in `p` is in `other`, but not above it there. */
static bool passes(ml_Program p, ml_Program other, ml_Uid uid)
{
    for (ml_Up u = ml_index_up(p.index, uid); u.node; ml_index_next(&u))
        if (ml_index_node(other.index, u.uid) &&
            !ml_index_is_above(other.index, u.uid, uid))
            return true;
    return false;
}

/* Stands below other nodes of both programs. Where the parents are one node, its own place
 * answers for both. */
static bool moved(ml_Program before, ml_Program now, ml_Uid uid)
{
    ml_Uid a = ml_index_parent(before.index, uid), b = ml_index_parent(now.index, uid);

    while (a && !ml_index_node(now.index, a))
        a = ml_index_parent(before.index, a);
    while (b && !ml_index_node(before.index, b))
        b = ml_index_parent(now.index, b);
    if (a == b)
        return false;
    return passes(now, before, uid) || passes(before, now, uid);
}

static bool same_regions(const ml_Region *a, size_t n, const ml_Region *b, size_t m)
{
    if (n != m)
        return false;
    for (size_t k = 0; k < n; k++)
        if (a[k].buffer != b[k].buffer ||
            !ml_same_ranges(a[k].ranges, b[k].ranges, a[k].buffer->rank))
            return false;
    return true;
}

static bool same_iters(const ml_Block *a, const ml_Block *b)
{
    if (a->n_iters != b->n_iters)
        return false;
    for (size_t k = 0; k < a->n_iters; k++)
        if (a->iters[k].kind != b->iters[k].kind || a->iters[k].var != b->iters[k].var ||
            a->iters[k].min != b->iters[k].min ||
            a->iters[k].extent != b->iters[k].extent ||
            a->iters[k].value != b->iters[k].value)
            return false;
    return true;
}

static bool same_loop(const ml_For *a, const ml_For *b)
{
    return a->kind == b->kind && a->min == b->min && a->extent == b->extent &&
           a->step == b->step && a->annotations == b->annotations &&
           ml_thread_eq(a->thread, b->thread);
}

static bool same_block(const ml_Block *a, const ml_Block *b)
{
    bool leaf = !b->body->has_block && !b->body->has_loop;

    return same_iters(a, b) && a->predicate == b->predicate &&
           same_regions(a->reads, a->n_reads, b->reads, b->n_reads) &&
           same_regions(a->writes, a->n_writes, b->writes, b->n_writes) &&
           a->n_allocs == b->n_allocs && a->n_matches == b->n_matches &&
           a->annotations == b->annotations && a->init == b->init &&
           (!leaf || a->body == b->body);
}

bool ml_node_changed(ml_Program before, ml_Program now, ml_Uid uid)
{
    const ml_Stmt *a = ml_index_node(before.index, uid);
    const ml_Stmt *b = ml_index_node(now.index, uid);

    if (!a || !b || a->kind != b->kind)
        return b != NULL;
    if (a != b && (b->kind == ML_STMT_FOR ? !same_loop(ml_as_for(a), ml_as_for(b))
                                          : !same_block(ml_as_block(a), ml_as_block(b))))
        return true;
    return moved(before, now, uid);
}
