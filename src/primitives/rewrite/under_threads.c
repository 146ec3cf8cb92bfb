/*
 * under_threads - whether threads still find what they read where it was put for them.
 *
 * Memory that is not global belongs to the threads of one block, or to one: it carries
 * nothing from one block of threads to another, nor from one kernel to the next. A reader
 * that no thread runs may yet be moved to where the values are. Source: ir-and-analysis
 * 5.3, 5.4.
 */
#include "moonloop/primitives/rewrite/move.h"

#include "moonloop/primitives/rewrite/cache.h"

void ml_thread_readers(ml_Call *c, ml_Uid block, ml_UidVec *out)
{
    const ml_Block *b = ml_call_block(c, block);
    ml_Uid scope = ml_index_scope(c->p.index, block);

    if (!scope)
        return;
    if (ml_reads_private(b))
        ml_push(c->cx, out, block);
    for (size_t k = 0; k < b->n_writes; k++)
        if (ml_is_private(b->writes[k].buffer))
            ml_readers(c->cx, c->facts, c->p, scope, b->writes[k].buffer, out);
}

void ml_keep_unbroken(ml_Call *c, ml_UidVec *readers)
{
    size_t n = 0;

    for (size_t k = 0; k < readers->n; k++) {
        bool again = false;

        for (size_t m = 0; m < n; m++)
            again |= readers->v[m] == readers->v[k];
        if (!again && (!ml_under_threads(c, readers->v[k]) ||
                       ml_is_covered(c->cx, c->facts, c->p, readers->v[k], false)))
            readers->v[n++] = readers->v[k];
    }
    readers->n = n;
}

/* A loop around both may yet be bound, and make one kernel of two. */
static bool may_join(const ml_Call *c, ml_Uid a, ml_Uid b)
{
    for (ml_Uid u = ml_index_lca(c->p.index, a, b); u; u = ml_index_parent(c->p.index, u))
        if (ml_index_node(c->p.index, u)->kind == ML_STMT_FOR)
            return true;
    return false;
}

/* What one kernel leaves in memory of its threads, another does not find. */
static bool check_kernels(ml_Call *c, ml_Uid reader)
{
    const ml_Block *b = ml_call_block(c, reader);
    ml_Uid kernel = ml_kernel_of(c->p, reader);

    for (size_t k = 0; k < b->n_reads; k++) {
        const ml_Buffer *buf = b->reads[k].buffer;
        ml_UidVec from = {0};

        if (!ml_is_private(buf))
            continue;
        ml_writers(c->cx, c->facts, c->p, ml_index_scope(c->p.index, reader), buf, &from);
        for (size_t m = 0; m < from.n; m++) {
            ml_Uid other = ml_kernel_of(c->p, from.v[m]);

            if (other && other != kernel && !may_join(c, other, kernel))
                return ml_fail_as(c->cx, ML_E_NOT_SHARED,
                                  "block {0} reads {1}, which block {2} writes in another "
                                  "kernel: {3} memory carries nothing from one to the next",
                                  ML_BLOCK(b), ML_BUFFER(buf),
                                  ML_BLOCK(ml_call_block(c, from.v[m])),
                                  ML_TEXT(buf->scope.name));
        }
    }
    return true;
}

bool ml_check_thread_reader(ml_Call *c, ml_Uid reader)
{
    return !ml_under_threads(c, reader) ||
           (ml_is_covered(c->cx, c->facts, c->p, reader, true) && check_kernels(c, reader));
}
