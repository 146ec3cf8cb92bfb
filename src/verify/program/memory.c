/*
 * memory - what a kernel takes of its target: bytes of shared and local memory, vector
 * widths, number of kernels. A buffer counts with the part of it that is used where it
 * lives. Buffers used by one block live at the same time; others may share their place, so
 * that only the former can show that the memory does not suffice. Source:
 * ir-and-analysis 5.6.
 */
#include "moonloop/verify/program/threads.h"

#include <inttypes.h>

/* Bytes of a buffer after compaction; known: both numbers hold. */
typedef struct Size {
    const ml_Buffer *buffer;
    int rank;
    bool dynamic; /* its scope is shared.dyn: the block asks for it when it is launched */
    bool known;
    int64_t least, most;
} Size;

typedef ML_VEC(Size) Sizes;

static int64_t mul(int64_t a, int64_t b)
{
    int64_t r;

    return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

static ml_Region bound(ml_Ctx *cx, const ml_Block *b, const ml_Region *r)
{
    ml_Subst sub = {0};

    for (size_t k = 0; k < b->n_iters; k++)
        ml_subst_var(cx, &sub, b->iters[k].var, b->iters[k].value);
    return ml_region_subst(cx, *r, &sub);
}

/* Constant width of an interval; -1: none. */
static int64_t width(ml_ThreadCheck *t, ml_Interval i)
{
    if (i.nothing)
        return 0;
    if (!i.min || !i.max || !ml_dtype_eq(i.min->type, i.max->type))
        return -1;
    ml_Bound b = ml_arith_bound(t->ar, ml_simplify(t->ar, ml_sub(t->cx, i.max, i.min)));

    return b.hi >= INT32_MAX || b.hi < 0 ? -1 : b.hi + 1;
}

typedef struct Used {
    ml_Interval *hull;
    int64_t least; /* elements surely used by one region */
} Used;

static void add_regions(ml_ThreadCheck *t, const ml_Block *b, const ml_Region *v, size_t n,
                        ml_Uid lca, const ml_Buffer *buf, Used *u)
{
    ml_Interval *box = ML_ARRAY(t->cx, ml_Interval, buf->rank + 1u);
    ml_DomVec dom = {0};

    for (size_t k = 0; k < n; k++) {
        if (v[k].buffer->uid != buf->uid)
            continue;
        dom.n = 0;
        ml_relax_domain(t->cx, t->p, b->tag, lca, buf, &dom);
        ml_Region r = bound(t->cx, b, &v[k]);
        int64_t exact = 1;

        if (ml_region_strict(t->ar, r.ranges, buf->rank, dom.v, dom.n, b->predicate, box)) {
            for (size_t d = 0; d < buf->rank; d++) {
                const ml_Expr *w =
                    box[d].nothing
                        ? NULL
                        : ml_simplify(t->ar, ml_sub(t->cx, box[d].max, box[d].min));

                exact =
                    w && ml_is_const_int(w) && w->as.i >= 0 ? mul(exact, w->as.i + 1) : 0;
            }
            u->least = exact > u->least ? exact : u->least;
        }
        ml_region_upper(t->ar, r.ranges, buf->rank, dom.v, dom.n, b->predicate, box);
        for (size_t d = 0; d < buf->rank; d++)
            u->hull[d] = ml_interval_union(t->ar, u->hull[d], box[d]);
    }
}

static Size size_of(ml_ThreadCheck *t, const ml_Buffer *buf, ml_Uid lca, int rank)
{
    int64_t bytes = (int64_t)ml_dtype_bytes(buf->type), whole = ml_buffer_const_size(buf);
    Size s = {buf, rank, ml_streq(buf->scope.name, "shared.dyn"), true, 0, bytes};
    Used u = {ML_ARRAY(t->cx, ml_Interval, buf->rank + 1u), 0};
    const ml_Stmt *node = ml_index_node(t->p.index, lca);
    ml_StmtVec blocks = {0};

    for (size_t d = 0; d < buf->rank; d++)
        u.hull[d] = ML_NOTHING;
    ml_child_blocks(t->cx, node, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);

        add_regions(t, b, b->reads, b->n_reads, lca, buf, &u);
        add_regions(t, b, b->writes, b->n_writes, lca, buf, &u);
    }
    if (blocks.n == 0) /* used inside one block: all of it */
        s.most = whole < 0 ? -1 : mul(whole, bytes);
    for (size_t d = 0; blocks.n > 0 && d < buf->rank && s.most >= 0; d++) {
        int64_t w = width(t, u.hull[d]);
        const ml_Expr *shape = buf->shape[d];

        if (ml_is_const_int(shape) && (w < 0 || w > shape->as.i))
            w = shape->as.i;
        s.most = w < 0 ? -1 : mul(s.most, w);
    }
    s.least = mul(u.least, bytes);
    if (s.most < 0)
        s.known = false;
    return s;
}

static void over(ml_ThreadCheck *t, const ml_Kernel *k, ml_Severity severity,
                 const char *what, const char *have, int64_t limit)
{
    ml_find(&t->find, severity, ML_E_MEMORY_LIMIT, ML_TEXT(what), ML_TEXT(have),
            ML_TEXT(ml_format(t->cx, "%" PRId64, limit)), ML_LOOP(k->root));
}

static void check_memory(ml_ThreadCheck *t, const ml_Kernel *k, const Sizes *all, int rank,
                         bool dynamic, const char *what, int64_t limit)
{
    Sizes part = {0}, *sizes = &part;
    int64_t total = 0, least = 0;
    const char *unknown = NULL;
    ml_StmtVec blocks = {0};

    for (size_t j = 0; j < all->n; j++)
        if (all->v[j].rank == rank && (dynamic || !all->v[j].dynamic))
            ml_push(t->cx, sizes, all->v[j]);
    for (size_t j = 0; j < sizes->n; j++) {
        if (!sizes->v[j].known)
            unknown = sizes->v[j].buffer->name;
        else if (__builtin_add_overflow(total, sizes->v[j].most, &total))
            total = INT64_MAX;
    }
    ml_all_blocks(t->cx, k->root->body, &blocks);
    if (k->root->body->kind == ML_STMT_BLOCK)
        ml_push(t->cx, &blocks, k->root->body);
    for (size_t i = 0; i < blocks.n; i++) {
        const ml_Block *b = ml_as_block(blocks.v[i]);
        int64_t here = 0;

        for (size_t j = 0; j < sizes->n; j++)
            if ((ml_read_of(b, sizes->v[j].buffer) || ml_write_of(b, sizes->v[j].buffer)) &&
                __builtin_add_overflow(here, sizes->v[j].least, &here))
                here = INT64_MAX;
        least = here > least ? here : least;
    }
    if (least > limit)
        over(t, k, ML_SEV_ERROR, what, ml_format(t->cx, "%" PRId64, least), limit);
    else if (unknown)
        over(t, k, ML_SEV_UNPROVED, what,
             ml_format(t->cx, "an unknown number of (%s)", unknown), limit);
    else if (total > limit)
        over(t, k, ML_SEV_UNPROVED, what, ml_format(t->cx, "up to %" PRId64, total), limit);
}

static bool has_dynamic(const Sizes *s)
{
    for (size_t k = 0; k < s->n; k++)
        if (s->v[k].dynamic)
            return true;
    return false;
}

/* Threads of a block of the kernel; -1: not a number. */
static int64_t threads_of(const ml_Kernel *k, int64_t warp)
{
    int64_t axis[3] = {0, 0, 0}, all = 1;

    for (size_t j = 0; j < k->loops.n; j++) {
        const ml_For *f = k->loops.v[j];
        int64_t n = ml_literal_extent(f->extent);

        if (f->thread.axis != ML_AXIS_THREAD || f->thread.dim > ML_DIM_Z)
            continue;
        if (n < 1)
            return -1;
        axis[f->thread.dim] = n > axis[f->thread.dim] ? n : axis[f->thread.dim];
    }
    for (size_t d = 0; d < 3; d++)
        all = mul(all, axis[d] ? axis[d] : d == 0 ? warp : 1);
    return all;
}

/* What a thread keeps in registers, its part of the fragments of its warp included. More
 * than there is is kept in memory: slow, but no error. */
static void check_registers(ml_ThreadCheck *t, const ml_Kernel *k, const Sizes *sizes)
{
    int64_t warp = ml_target_limit(t->target, ML_LIMIT_thread_warp_size), own = 0, block;
    int64_t most = ml_target_limit(t->target, ML_LIMIT_max_registers_per_thread),
            all = ml_target_limit(t->target, ML_LIMIT_max_registers_per_block);
    bool fragments = false;

    if (most < 0 && all < 0)
        return;
    for (size_t j = 0; j < sizes->n; j++) {
        const Size *s = &sizes->v[j];

        if (s->rank == ML_SCOPE_SHARED || !s->known)
            continue;
        bool fragment = s->rank != ML_SCOPE_LOCAL;

        fragments |= fragment;
        own += (s->most / (fragment ? warp : 1) + 3) / 4;
    }
    block = mul(own, threads_of(k, fragments ? warp : 1));
    bool one = most >= 0 && own > most;

    if (!one && !(all >= 0 && block > all))
        return;
    ml_find(&t->find, ML_SEV_UNPROVED, ML_E_LAUNCH_LIMIT,
            ML_TEXT(one ? "the registers of a thread" : "the registers of a block"),
            ML_TEXT(ml_format(t->cx, "up to %" PRId64, one ? own : block)),
            ML_TEXT(ml_format(t->cx, "%" PRId64, one ? most : all)), ML_LOOP(k->root));
}

/* Buffers that live in the kernel, with their sizes. */
static void collect(ml_ThreadCheck *t, const ml_Kernel *kernel, const ml_Block *b,
                    Sizes *out)
{
    for (size_t k = 0; k < b->n_allocs; k++) {
        const ml_Buffer *buf = b->allocs[k];
        int8_t rank = buf->scope.rank;

        if (rank != ML_SCOPE_SHARED && rank != ML_SCOPE_LOCAL &&
            !ml_scope_is_fragment(buf->scope))
            continue;
        ml_Uid lca = ml_buffer_lca(t->cx, t->p, t->find.func, buf),
               root = kernel->root->var->uid;

        if (lca && (lca == root || ml_index_is_above(t->p.index, root, lca)))
            ml_push(t->cx, out, size_of(t, buf, lca, rank));
    }
}

/* ---- vectors */

typedef struct Wide {
    ml_ThreadCheck *t;
    int64_t limit;
    const ml_Stmt *at;
    bool said;
} Wide;

static void too_wide(Wide *w, const char *what, size_t bytes)
{
    ml_Fact limit = ML_TEXT(ml_format(w->t->cx, "%" PRId64, w->limit));
    ml_Fact have = ML_TEXT(ml_format(w->t->cx, "%zu", bytes));

    if (w->said)
        return;
    w->said = true;
    if (w->at && w->at->kind == ML_STMT_BLOCK)
        ml_find(&w->t->find, ML_SEV_ERROR, ML_E_LAUNCH_LIMIT, ML_TEXT(what), have, limit,
                ML_BLOCK(w->at));
    else
        ml_find(&w->t->find, ML_SEV_ERROR, ML_E_LAUNCH_LIMIT, ML_TEXT(what), have, limit);
}

static bool wide_expr(const ml_Expr *e, void *user)
{
    Wide *w = user;
    bool strided = e->kind == ML_EXPR_RAMP && !ml_is_int(e->args[1], 1);

    if (e->type.lanes > 1 && ml_dtype_bytes(e->type) > (size_t)w->limit &&
        (e->kind == ML_EXPR_LOAD || e->kind == ML_EXPR_CAST || strided))
        too_wide(w, "the bytes of a vector", ml_dtype_bytes(e->type));
    return true;
}

static void wide_buffer(Wide *w, const ml_Buffer *b)
{
    if (b->type.lanes > 1 && ml_dtype_bytes(b->type) > (size_t)w->limit)
        too_wide(w, "the bytes of a vector element", ml_dtype_bytes(b->type));
}

static void wide_stmt(const ml_Stmt *s, bool in_init, void *user)
{
    Wide *w = user;
    const ml_Stmt *outer = w->at;

    (void)in_init;
    if (s->kind == ML_STMT_BLOCK) {
        w->at = s;
        w->said = false;
        for (size_t k = 0; k < ml_as_block(s)->n_allocs; k++)
            wide_buffer(w, ml_as_block(s)->allocs[k]);
    }
    if (s->kind == ML_STMT_STORE) {
        const ml_Expr *v = ml_as_store(s)->value;

        wide_buffer(w, ml_as_store(s)->buffer);
        if (v->type.lanes > 1 && ml_dtype_bytes(v->type) > (size_t)w->limit)
            too_wide(w, "the bytes of a stored vector", ml_dtype_bytes(v->type));
    }
    ml_stmt_visit_exprs(s, 1u << ML_ROLE_VALUE | 1u << ML_ROLE_INDEX | 1u << ML_ROLE_COND,
                        wide_expr, w);
    ml_stmt_children(s, wide_stmt, w);
    w->at = outer;
}

void ml_check_resources(ml_ThreadCheck *t)
{
    int64_t shared = ml_target_limit(t->target, ML_LIMIT_max_shared_memory_per_block);
    int64_t asked =
        ml_target_limit(t->target, ML_LIMIT_max_dynamic_shared_memory_per_block);
    int64_t local = ml_target_limit(t->target, ML_LIMIT_max_local_memory_per_block);
    int64_t vector = ml_target_limit(t->target, ML_LIMIT_max_vector_bytes);
    int64_t kernels = ml_target_limit(t->target, ML_LIMIT_max_kernels);
    ml_StmtVec blocks = {0};

    if (t->kernels.n > 0) {
        ml_all_blocks(t->cx, t->func->body, &blocks);
        if (t->func->body->kind == ML_STMT_BLOCK)
            ml_push(t->cx, &blocks, t->func->body);
    }
    for (size_t k = 0; k < t->kernels.n; k++) {
        Sizes sizes = {0};

        for (size_t b = 0; b < blocks.n; b++)
            collect(t, &t->kernels.v[k], ml_as_block(blocks.v[b]), &sizes);
        const ml_Kernel *at = &t->kernels.v[k];

        check_memory(t, at, &sizes, ML_SCOPE_SHARED, false, "shared", shared);
        if (has_dynamic(&sizes))
            check_memory(t, at, &sizes, ML_SCOPE_SHARED, true, "shared",
                         asked > shared ? asked : shared);
        if (local >= 0)
            check_memory(t, at, &sizes, ML_SCOPE_LOCAL, false, "local", local);
        check_registers(t, at, &sizes);
    }
    if (kernels >= 0 && (uint64_t)kernels < t->kernels.n)
        ml_find(&t->find, ML_SEV_ERROR, ML_E_LAUNCH_LIMIT, ML_TEXT("the number of kernels"),
                ML_TEXT(ml_format(t->cx, "%zu", t->kernels.n)),
                ML_TEXT(ml_format(t->cx, "%" PRId64, kernels)));
    if (vector >= 0)
        wide_stmt(t->func->body, false, &(Wide){.t = t, .limit = vector});
}
