/* step_target - random calls for which the program is searched: primitives that few blocks
 * or loops are right for. Each says whether it found one; without one it mostly writes
 * nothing, and another primitive is tried. */
#include "step_impl.h"

/* A random one of those found, or NULL. */
static const ml_Stmt *any(const View *v, const ml_StmtVec *found)
{
    return found->n ? found->v[below(v, (int)found->n)] : NULL;
}

static const ml_Store *store_of(const ml_Block *b)
{
    return b->body->kind == ML_STMT_STORE ? ml_as_store(b->body) : NULL;
}

static bool is_own(const View *v, const ml_Block *b)
{
    return ml_index_scope(v->p.index, b->tag) != 0 &&
           !ml_is_output_block(v->p, b->tag, NULL);
}

/* ---- reductions */

/* Operators that combine: the store's value is one of the buffer's element and the rest. */
static bool combines(const ml_Store *s, const ml_Buffer *with)
{
    const ml_Expr *e = s ? s->value : NULL;

    if (!e || (e->kind != ML_EXPR_ADD && e->kind != ML_EXPR_MUL && e->kind != ML_EXPR_MIN &&
               e->kind != ML_EXPR_MAX))
        return false;
    for (int k = 0; k < 2; k++)
        if (e->args[k]->kind == ML_EXPR_LOAD && e->args[k]->as.buffer->uid == with->uid)
            return true;
    return false;
}

static bool updates(const ml_Block *b)
{
    const ml_Store *s = store_of(b);

    return s && combines(s, s->buffer);
}

static void reductions(const View *v, ml_StmtVec *out)
{
    for (size_t k = 1; k < v->blocks.n; k++)
        if (ml_as_block(v->blocks.v[k])->init)
            ml_push(v->tmp, out, v->blocks.v[k]);
}

bool fz_add_decompose(const View *v, ml_Text *out)
{
    ml_StmtVec found = {0};

    reductions(v, &found);
    const ml_Stmt *b = any(v, &found);

    if (!b && !chance(v, 5))
        return false;
    b = b ? b : &fz_any_block(v)->base;
    ml_text_fmt(out, "decompose_reduction(\"%s\", ", name(v, b));
    ml_text_fmt(out, "\"%s\")", name(v, &fz_loop_of(v, ml_stmt_uid(b))->base));
    return true;
}

static bool is_serial_reduce(const View *v, const ml_Stmt *loop)
{
    return ml_as_for(loop)->kind == ML_FOR_SERIAL &&
           ml_loop_type(v->p, ml_stmt_uid(loop)) == ML_ITER_REDUCE;
}

bool fz_add_rfactor(const View *v, ml_Text *out)
{
    ml_StmtVec all = {0}, found = {0};
    int rank = 1;

    reductions(v, &all);
    for (size_t k = 0; k < all.n; k++) {
        const ml_Block *b = ml_as_block(all.v[k]);
        ml_StmtVec loops = {0}, kids = {0};

        ml_index_loops(v->tmp, v->p.index, b->tag, &loops);
        for (size_t m = 0; m < loops.n && updates(b); m++) {
            kids.n = 0;
            ml_child_blocks(v->tmp, loops.v[m], &kids);
            if (is_serial_reduce(v, loops.v[m]) && kids.n == 1)
                ml_push(v->tmp, &found, loops.v[m]);
        }
    }
    const ml_Stmt *f = any(v, &found);

    if (!f && !chance(v, 5))
        return false;
    if (f) {
        ml_StmtVec kids = {0};

        ml_child_blocks(v->tmp, f, &kids);
        rank = ml_as_block(kids.v[0])->writes[0].buffer->rank;
    }
    f = f ? f : &fz_loop_of(v, fz_any_block(v)->tag)->base;
    ml_text_fmt(out, "rfactor(\"%s\", %d)", name(v, f),
                chance(v, 96) ? below(v, 2 * rank + 2) - rank - 1 : 7);
    return true;
}

/* Whether e adds to the result of r, which nobody else reads. */
static bool is_epilogue(const View *v, const ml_Block *r, const ml_Block *e)
{
    const ml_Store *s = store_of(e), *sum = store_of(r);

    return s && sum && !e->init && s->value->kind == sum->value->kind &&
           combines(s, sum->buffer) && ml_index_users(v->p.index, sum->buffer).n == 2 &&
           ml_index_scope(v->p.index, e->tag) == ml_index_scope(v->p.index, r->tag);
}

bool fz_add_epilogue(const View *v, ml_Text *out)
{
    ml_StmtVec all = {0}, found = {0}, with = {0};

    reductions(v, &all);
    for (size_t k = 0; k < all.n; k++) {
        const ml_Block *r = ml_as_block(all.v[k]);
        ml_UidVec near = {0};

        if (!is_own(v, r))
            continue;
        ml_consumers(v->tmp, ml_schedule_facts(v->s), v->p, r->tag, &near);
        for (size_t m = 0; m < near.n; m++) {
            const ml_Stmt *e = ml_index_node(v->p.index, near.v[m]);

            if (is_epilogue(v, r, ml_as_block(e))) {
                ml_push(v->tmp, &found, &r->base);
                ml_push(v->tmp, &with, e);
            }
        }
    }
    if (found.n == 0 && !chance(v, 2))
        return false;
    size_t at = found.n ? (size_t)below(v, (int)found.n) : 0;

    ml_text_fmt(out, "fuse_reduction_epilogue(\"%s\", ",
                name(v, found.n ? found.v[at] : &fz_any_block(v)->base));
    ml_text_fmt(out, "\"%s\")", name(v, found.n ? with.v[at] : &fz_any_block(v)->base));
    return true;
}

/* A block that fills and one that updates the same buffer. */
static bool are_halves(const View *v, const ml_Block *i, const ml_Block *u)
{
    const ml_Store *first = store_of(i);

    return first && !i->init && !u->init && i != u && updates(u) && !updates(i) &&
           store_of(u)->buffer->uid == first->buffer->uid &&
           ml_index_scope(v->p.index, i->tag) == ml_index_scope(v->p.index, u->tag);
}

bool fz_add_merge_reduction(const View *v, ml_Text *out)
{
    ml_StmtVec found = {0}, with = {0};

    for (size_t k = 1; k < v->blocks.n; k++)
        for (size_t m = k + 1; m < v->blocks.n; m++)
            if (are_halves(v, ml_as_block(v->blocks.v[k]), ml_as_block(v->blocks.v[m]))) {
                ml_push(v->tmp, &found, v->blocks.v[k]);
                ml_push(v->tmp, &with, v->blocks.v[m]);
            }
    if (found.n == 0 && !chance(v, 3))
        return false;
    size_t at = found.n ? (size_t)below(v, (int)found.n) : 0;

    ml_text_fmt(out, "merge_reduction(\"%s\", ",
                name(v, found.n ? found.v[at] : &fz_any_block(v)->base));
    ml_text_fmt(out, "\"%s\")", name(v, found.n ? with.v[at] : &fz_any_block(v)->base));
    return true;
}

/* ---- inlining */

/* Computes an intermediate buffer at its iters, or the like. */
static bool is_inlined(const View *v, const ml_Block *b)
{
    return !b->init && store_of(b) && is_own(v, b);
}

/* Takes what one such block computes, and that is for it alone. */
static bool is_folded(const View *v, const ml_Block *b)
{
    ml_UidVec from = {0};
    size_t n = 0;

    if (b->init || !store_of(b) || !ml_index_scope(v->p.index, b->tag))
        return false;
    ml_producers(v->tmp, ml_schedule_facts(v->s), v->p, b->tag, &from);
    for (size_t k = 0; k < from.n; k++) {
        const ml_Block *p = ml_as_block(ml_index_node(v->p.index, from.v[k]));

        if (!is_inlined(v, p))
            return false;
        n += ml_index_users(v->p.index, store_of(p)->buffer).n;
    }
    return from.n == 1 && n == 2;
}

/* What the block that a region was given of reads or (reverse) is read by. */
static void near_said(const View *v, bool reverse, ml_StmtVec *found)
{
    ml_UidVec near = {0};

    if (!ml_index_node(v->p.index, v->focus->block) ||
        !ml_index_parent(v->p.index, v->focus->block) ||
        !ml_streq(v->focus->last, "annotate_buffer_access"))
        return;
    if (reverse)
        ml_consumers(v->tmp, ml_schedule_facts(v->s), v->p, v->focus->block, &near);
    else
        ml_producers(v->tmp, ml_schedule_facts(v->s), v->p, v->focus->block, &near);
    for (size_t k = 0; k < near.n; k++)
        ml_push(v->tmp, found, ml_index_node(v->p.index, near.v[k]));
}

bool fz_add_inline(const View *v, bool reverse, ml_Text *out)
{
    ml_StmtVec found = {0};

    if (chance(v, 70))
        near_said(v, reverse, &found);
    for (size_t k = 1, near = found.n; !near && k < v->blocks.n; k++) {
        const ml_Block *b = ml_as_block(v->blocks.v[k]);

        if (reverse ? is_folded(v, b) : is_inlined(v, b))
            ml_push(v->tmp, &found, &b->base);
    }
    const ml_Stmt *b = chance(v, 10) ? NULL : any(v, &found);

    if (!b && !chance(v, 10))
        return false;
    ml_text_fmt(out, "%s(\"%s\")", reverse ? "reverse_compute_inline" : "compute_inline",
                name(v, b ? b : &fz_any_block(v)->base));
    return true;
}

/* ---- pairs of loops */

/* Both lie in one scope and none of them holds the other. */
static bool apart(const View *v, ml_Uid x, ml_Uid y)
{
    const ml_Index *ix = v->p.index;

    return x != y && ml_index_scope(ix, x) == ml_index_scope(ix, y) &&
           !ml_index_is_above(ix, x, y) && !ml_index_is_above(ix, y, x);
}

/* As deep below what holds both, with the same extents on the way. */
static bool alike(const View *v, const ml_Stmt *x, const ml_Stmt *y)
{
    const ml_Index *ix = v->p.index;
    ml_Uid a = ml_stmt_uid(x), b = ml_stmt_uid(y), top;

    if (!apart(v, a, b))
        return false;
    top = ml_index_lca(ix, a, b);
    while (a != top && b != top) {
        if (ml_as_for(ml_index_node(ix, a))->extent !=
            ml_as_for(ml_index_node(ix, b))->extent)
            return false;
        a = ml_index_parent(ix, a);
        b = ml_index_parent(ix, b);
    }
    return a == b;
}

/* Mostly in the order of the text. */
bool fz_add_merge(const View *v, ml_Text *out)
{
    ml_StmtVec found = {0}, with = {0};

    for (size_t k = 0; k < v->loops.n; k++)
        for (size_t m = k + 1; m < v->loops.n && found.n < 64; m++)
            if (alike(v, v->loops.v[k], v->loops.v[m])) {
                ml_push(v->tmp, &found, v->loops.v[k]);
                ml_push(v->tmp, &with, v->loops.v[m]);
            }
    if (found.n == 0 && !chance(v, 5))
        return false;
    size_t at = found.n ? (size_t)below(v, (int)found.n) : 0, n = v->loops.n;
    const ml_Stmt *a = found.n ? found.v[at] : v->loops.v[below(v, (int)n)];
    const ml_Stmt *b = found.n ? with.v[at] : v->loops.v[below(v, (int)n)];

    if (chance(v, 10)) {
        const ml_Stmt *t = a;

        a = b;
        b = t;
    }
    ml_text_fmt(out, "merge(\"%s\", ", name(v, a));
    ml_text_fmt(out, "\"%s\")", name(v, b));
    return true;
}

/* ---- others */

static bool is_known(ml_Scope s)
{
    return ml_is_scope(s, ML_SCOPE_GLOBAL) || ml_is_scope(s, ML_SCOPE_SHARED) ||
           ml_is_scope(s, ML_SCOPE_LOCAL);
}

/* The iter of the block that the loop alone drives; NULL: none, or several. */
static const ml_Iter *driven(const ml_Block *b, const ml_For *f)
{
    const ml_Iter *it = NULL;

    for (uint32_t k = 0; k < b->n_iters; k++)
        if (ml_expr_uses_var(b->iters[k].value, f->var)) {
            if (it)
                return NULL;
            it = &b->iters[k];
        }
    return it;
}

static bool follows(const ml_Expr *load, const ml_Iter *it)
{
    return load->kind == ML_EXPR_LOAD && load->n_args &&
           ml_expr_uses_var(load->args[load->n_args - 1], it->var);
}

/* Copies or sums of a few elements in a row: see fz_intrins. */
static bool is_tiled_row(const ml_Block *b, const ml_For *f)
{
    const ml_Store *s = store_of(b);
    const ml_Iter *it = driven(b, f);
    const ml_Expr *e;

    if (!s || !s->n || !it || f->body != &b->base || f->extent->kind != ML_EXPR_INT ||
        f->extent->as.i > 4 || f->kind != ML_FOR_SERIAL || !ml_is_true(b->predicate) ||
        !is_known(s->buffer->scope) || !ml_expr_uses_var(s->indices[s->n - 1], it->var))
        return false;
    e = s->value;
    if (e->kind == ML_EXPR_LOAD)
        return is_known(e->as.buffer->scope) && follows(e, it);
    return e->kind == ML_EXPR_ADD && follows(e->args[0], it) && follows(e->args[1], it);
}

bool fz_add_tensorize(const View *v, ml_Text *out)
{
    ml_StmtVec found = {0};

    for (size_t k = 1; k < v->blocks.n; k++) {
        const ml_Block *b = ml_as_block(v->blocks.v[k]);
        const ml_Stmt *up = ml_index_node(v->p.index, ml_index_parent(v->p.index, b->tag));

        if (up && up->kind == ML_STMT_FOR && is_tiled_row(b, ml_as_for(up)))
            ml_push(v->tmp, &found, &b->base);
    }
    const ml_Stmt *st = any(v, &found);

    if (st) {
        const ml_Store *s = store_of(ml_as_block(st));
        const ml_For *f = ml_as_for(
            ml_index_node(v->p.index, ml_index_parent(v->p.index, ml_stmt_uid(st))));
        const char *type = ml_dtype_name(v->tmp, s->buffer->type);

        ml_text_fmt(out, "tensorize(\"%s\", ", name(v, &f->base));
        if (s->value->kind == ML_EXPR_ADD)
            ml_text_fmt(out, "\"sum_%s_%lld\")", type, (long long)f->extent->as.i);
        else
            ml_text_fmt(out, "\"copy_%s_%lld_%s_%s\")", type, (long long)f->extent->as.i,
                        s->value->as.buffer->scope.name, s->buffer->scope.name);
        return true;
    }
    const ml_Block *b = fz_inner_block(v);

    if (chance(v, 60) && b->n_reads) { /* a copy that the next one may find */
        ml_text_fmt(out, "cache_read(\"%s\", %d, \"%s\")", name(v, &b->base),
                    below(v, (int)b->n_reads), chance(v, 50) ? "local" : "global");
        return true;
    }
    if (chance(v, 90))
        return false;
    ml_text_fmt(out, "tensorize(\"%s\", \"dot_16x4_vnni\")",
                name(v, chance(v, 50) && v->loops.n ? v->loops.v[below(v, (int)v->loops.n)]
                                                    : &b->base));
    return true;
}

/* A buffer that a block reads and writes. */
bool fz_add_inplace(const View *v, const char *scope, ml_Text *out)
{
    for (size_t m = 1; m < v->blocks.n; m++) {
        const ml_Block *b = ml_as_block(v->blocks.v[m]);

        for (uint32_t k = 0; k < b->n_reads * b->n_writes; k++)
            if (b->reads[k / b->n_writes].buffer->uid ==
                    b->writes[k % b->n_writes].buffer->uid &&
                chance(v, 60)) {
                ml_text_fmt(out, "cache_inplace(\"%s\", %d, \"%s\")", name(v, &b->base),
                            (int)(k / b->n_writes), scope);
                return true;
            }
    }
    const ml_Block *any = fz_inner_block(v);

    if (chance(v, 95))
        return false;
    ml_text_fmt(out, "cache_inplace(\"%s\", %d, \"%s\")", name(v, &any->base), below(v, 3),
                scope);
    return true;
}

/* A block of which an allocated buffer is the k-th written one. */
const ml_Block *fz_own_writer(const View *v, int *at)
{
    for (int k = 0; k < 8; k++) {
        const ml_Block *b = fz_inner_block(v);
        int m = b->n_writes ? below(v, (int)b->n_writes) : 0;
        bool is_match = false;

        *at = m;
        if (b->n_writes &&
            (chance(v, 5) || (ml_buffer_site(v->p, ml_index_func(v->p.index, b->tag),
                                             b->writes[m].buffer, &is_match) != 0 &&
                              !is_match)))
            return b;
    }
    return NULL;
}

bool fz_add_unannotate(const View *v, ml_Text *out)
{
    ml_StmtVec found = {0};
    ml_StmtVec both[2] = {v->loops, v->blocks};

    for (int m = 0; m < 2; m++)
        for (size_t k = 0; k < both[m].n; k++) {
            const ml_Stmt *s = both[m].v[k];

            if (ml_dict_count(s->kind == ML_STMT_FOR ? ml_as_for(s)->annotations
                                                     : ml_as_block(s)->annotations))
                ml_push(v->tmp, &found, s);
        }
    const ml_Stmt *s = any(v, &found);

    if (!s && !chance(v, 5))
        return false;
    s = s ? s : v->blocks.v[0];
    const ml_Value *d =
        s->kind == ML_STMT_FOR ? ml_as_for(s)->annotations : ml_as_block(s)->annotations;
    size_t n = ml_dict_count(d);

    ml_text_fmt(out, "unannotate(\"%s\", \"%s\")", name(v, s),
                n && chance(v, 90) ? d->keys[below(v, (int)n)] : "key1");
    return true;
}
