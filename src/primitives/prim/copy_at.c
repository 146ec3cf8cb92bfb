/*
 * read_at, write_at - one block directly under a loop that copies all that an iteration of
 * the loop reads of a buffer, or writes.
 *
 * The copy stands before the first statement that reads, or after the last one that writes;
 * what is written back was written in that iteration by one block that writes all of it.
 * The block is a leaf: its loops are its own. Source: primitives 8, read_at, write_at.
 */
#include "moonloop/primitives/rewrite/cache.h"

#include "moonloop/core/shown.h"
#include "moonloop/primitives/rewrite/move.h"
#include "moonloop/primitives/rewrite/same_index.h"

enum { LOOP, BLOCK, BUFFER, SCOPE };

typedef struct CopyAt {
    ml_Call *c;
    bool write;
    const ml_For *loop;
    const ml_Buffer *old;
    ml_Cache cache;
    ml_Uid scope;
    size_t n;
    const ml_Stmt *const *body;
    const ml_Stmt *one[1];
    size_t first, last; /* statements that are rewired, both included */
    ml_UidVec users;    /* blocks of the scope in them that read (write) it */
    ml_Arith *ar;       /* knows the loop and what is above it */
    ml_Interval *hull;
    ml_Uid nest;
} CopyAt;

static bool order(CopyAt *a, const char *why)
{
    return ml_fail(a->c->cx, ML_E_ORDER_VIOLATED, ML_LOOP(a->loop), ML_BUFFER(a->old),
                   ML_TEXT(why));
}

/* Child blocks of the statement that read or write the buffer. */
static size_t users_in(CopyAt *a, const ml_Stmt *st, bool write, ml_UidVec *out)
{
    ml_StmtVec blocks = {0};
    size_t found = 0;

    if (st->kind == ML_STMT_BLOCK)
        ml_push(a->c->cx, &blocks, st);
    else
        ml_child_blocks(a->c->cx, st, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);

        if (!ml_region_of(write ? b->writes : b->reads, write ? b->n_writes : b->n_reads,
                          a->old))
            continue;
        found++;
        if (out)
            ml_push(a->c->cx, out, b->tag);
    }
    return found;
}

static bool find_place(CopyAt *a)
{
    ml_Ctx *cx = a->c->cx;
    const ml_Stmt *body = a->loop->body;

    a->one[0] = body;
    a->n = body->kind == ML_STMT_SEQ ? ml_as_seq(body)->n : 1;
    a->body = body->kind == ML_STMT_SEQ ? ml_as_seq(body)->stmts : a->one;
    a->first = a->n;
    a->last = 0;
    for (size_t k = 0; k < a->n; k++) {
        if (!users_in(a, a->body[k], a->write, NULL))
            continue;
        if (a->first == a->n)
            a->first = k;
        a->last = k;
    }
    if (a->first == a->n)
        return order(a, ml_format(cx, "no block %s %s", a->write ? "writes" : "reads",
                                  ml_shown(cx, a->old)));
    if (a->write)
        a->first = 0;
    else
        a->last = a->n - 1;
    for (size_t k = a->write ? a->last + 1 : a->first; k < a->n; k++)
        if (users_in(a, a->body[k], !a->write, NULL))
            return order(a, ml_format(cx,
                                      a->write ? "%s is read after the last statement that "
                                                 "writes it"
                                               : "%s is written after it has been read",
                                      ml_shown(cx, a->old)));
    for (size_t k = a->first; k <= a->last; k++)
        users_in(a, a->body[k], a->write, &a->users);
    return true;
}

/* What the block touches in one iteration of the loop, in box; for a write *exact: provably
 * all of it. Threads that share the copy count together. */
static void touched(CopyAt *a, ml_Uid block, ml_Interval *box, bool *exact)
{
    ml_Call *c = a->c;
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, block);
    size_t n = a->write ? b->n_writes : b->n_reads, rank = a->old->rank;
    const ml_Region *v = a->write ? b->writes : b->reads;
    ml_Interval *one = ML_ARRAY(cx, ml_Interval, rank + 1);
    ml_Subst sub = {0};
    ml_DomVec dom = {0};
    size_t found = 0;

    for (size_t k = 0; k < b->n_iters; k++)
        ml_subst_var(cx, &sub, b->iters[k].var, b->iters[k].value);
    ml_relax_domain(cx, c->p, block, a->loop->var->uid, a->cache.cached, &dom);
    *exact = false;
    for (size_t k = 0; k < n; k++) {
        if (v[k].buffer->uid != a->old->uid)
            continue;
        ml_Region r = sub.vars ? ml_region_subst(cx, v[k], &sub) : v[k];

        ml_region_upper(a->ar, r.ranges, rank, dom.v, dom.n, b->predicate,
                        found ? one : box);
        ml_ArithMark mark = ml_arith_save(a->ar);

        ml_assume_meets(a->ar, box, a->old); /* the rest is not copied either */
        *exact = !found &&
                 ml_region_lower(a->ar, r.ranges, rank, dom.v, dom.n, b->predicate, one) &&
                 ml_stores_region(c, b, &v[k]);
        for (size_t d = 0; d < rank && *exact; d++)
            *exact = ml_interval_includes(a->ar, one[d], box[d]);
        ml_arith_restore(a->ar, mark);
        for (size_t d = 0; d < rank && found; d++)
            box[d] = ml_interval_union(a->ar, box[d], one[d]);
        found++;
    }
}

static bool find_region(CopyAt *a)
{
    ml_Call *c = a->c;
    ml_Ctx *cx = c->cx;
    size_t rank = a->old->rank;
    ml_Interval **boxes = ML_ARRAY(cx, ml_Interval *, a->users.n);
    bool *exact = ML_ARRAY(cx, bool, a->users.n + 1), all = false;

    a->hull = ML_ARRAY(cx, ml_Interval, rank + 1);
    a->cache.region = ML_ARRAY(cx, ml_Range, rank + 1);
    a->ar = ml_arith_at(cx, c->p, a->loop->var->uid);
    ml_arith_bind_loop(a->ar, a->loop);
    ml_arith_bind_iters(a->ar, ml_call_block(c, a->scope));
    for (size_t k = 0; k < a->users.n; k++) {
        boxes[k] = ML_ARRAY(cx, ml_Interval, rank + 1);
        touched(a, a->users.v[k], boxes[k], &exact[k]);
        for (size_t d = 0; d < rank; d++)
            a->hull[d] =
                k ? ml_interval_union(a->ar, a->hull[d], boxes[k][d]) : boxes[k][d];
    }
    /* Where a guard keeps the block from running, no more is touched than the scope may. */
    const ml_Block *root = ml_call_block(c, a->scope);
    const ml_Region *most = ml_region_of(a->write ? root->writes : root->reads,
                                         a->write ? root->n_writes : root->n_reads, a->old);

    for (size_t d = 0; d < rank; d++) {
        const ml_Expr *dim = a->old->shape[d], *zero = ml_int(cx, dim->type, 0);
        ml_Interval whole = ml_interval_range(a->ar, zero, dim);

        if (!ml_interval_includes(a->ar, whole, a->hull[d]))
            a->hull[d] = ml_interval_intersect(a->ar, a->hull[d], whole);
        if (most)
            whole = ml_interval_range(a->ar, ml_cast(cx, dim->type, most->ranges[d].min),
                                      ml_cast(cx, dim->type, most->ranges[d].extent));
        if (!ml_interval_includes(a->ar, whole, a->hull[d]))
            a->hull[d] = ml_interval_intersect(a->ar, a->hull[d], whole);
        a->cache.region[d] = ml_interval_cover(a->ar, a->hull[d], (ml_Range){zero, dim});
        a->cache.region[d].min = ml_cast(cx, dim->type, a->cache.region[d].min);
        a->cache.region[d].extent = ml_cast(cx, dim->type, a->cache.region[d].extent);
    }
    if (!a->write || !ml_call_asks(c, ML_SOUND))
        return true;
    for (size_t k = 0; k < a->users.n && !all; k++) {
        all = exact[k];
        for (size_t d = 0; d < rank && all; d++)
            all = ml_interval_includes(a->ar, boxes[k][d], a->hull[d]);
        if (all && !ml_check_schedulable(c, a->loop->var->uid, a->users.v[k]))
            return false;
    }
    return all || ml_unproved(a->c->cx, ML_E_PART_WRITTEN,
                              "one block writes all of the region of {0} that would be "
                              "copied back; what is left out would be overwritten",
                              ML_BUFFER(a->old), ML_LOOP(a->loop));
}

/* What is read of the new buffer in place of the old one was written to it. */
static bool check_readers(CopyAt *a)
{
    ml_Call *c = a->c;
    ml_UidVec readers = {0};

    for (size_t k = 0; k < a->users.n; k++) {
        const ml_Block *b = ml_call_block(c, a->users.v[k]);

        if (b->init && !ml_check_starts_fresh(c, b, a->old))
            return false;
    }
    for (size_t k = a->first; k <= a->last; k++)
        users_in(a, a->body[k], false, &readers);
    for (size_t k = 0; k < readers.n; k++) {
        const ml_Block *b = ml_call_block(c, readers.v[k]);
        bool before = b->init != NULL;

        for (size_t m = 0; m < a->users.n && !before; m++)
            before = a->users.v[m] != b->tag &&
                     ml_index_before(c->p.index, a->users.v[m], b->tag);
        if (!before)
            return ml_unproved(a->c->cx, ML_E_COVER_LOST,
                               "{1} is written under the loop before block {0} reads it; "
                               "its copy would start without what was there",
                               ML_BLOCK(b), ML_BUFFER(a->old), ML_LOOP(a->loop));
    }
    return true;
}

/* How many values an iter bound to the loop may take: the domain of an iter reads no
 * memory.
 */
static const ml_Expr *extent_of(CopyAt *a, const ml_For *f)
{
    int64_t most = ml_arith_bound(a->ar, f->extent).hi;
    bool loads = f->extent->flags & ML_X_HAS_LOAD;

    if ((f->min->flags & ML_X_HAS_LOAD) || (loads && most >= INT32_MAX))
        ml_unproved(a->c->cx, ML_E_OUTSIDE_BLOCKS,
                    "the end of loop {0} is known: its bounds read memory", ML_LOOP(f),
                    ML_LOOP(a->loop), ML_BUFFER(a->old));
    return loads && most < INT32_MAX ? ml_int(a->c->cx, f->extent->type, most) : f->extent;
}

static const ml_Stmt *make_block(CopyAt *a)
{
    ml_Call *c = a->c;
    ml_Ctx *cx = c->cx;
    size_t rank = a->old->rank, n = 0;
    ml_StmtVec above = {0};
    const ml_Range *r = a->cache.region;
    const ml_Expr **at = ML_ARRAY(cx, const ml_Expr *, rank + 1);
    const ml_Var **ax = ML_ARRAY(cx, const ml_Var *, rank + 1);
    ml_Range *own = ML_ARRAY(cx, ml_Range, rank + 1);
    ml_Region *regions = ML_ARRAY(cx, ml_Region, 2);
    ml_Subst sub = {0};

    /* Blocks without iters let loops outside of the scope be used. */
    for (ml_Uid u = a->loop->var->uid; u; u = ml_index_parent(c->p.index, u))
        if (ml_index_node(c->p.index, u)->kind == ML_STMT_FOR)
            ml_push(cx, &above, ml_index_node(c->p.index, u));
    for (size_t k = 0; k < above.n / 2; k++) { /* outermost first */
        const ml_Stmt *t = above.v[k];

        above.v[k] = above.v[above.n - 1 - k];
        above.v[above.n - 1 - k] = t;
    }
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, above.n);

    for (size_t k = 0; k < above.n; k++) {
        const ml_For *f = ml_as_for(above.v[k]);
        bool used = false;

        for (size_t d = 0; d < rank; d++)
            used |=
                ml_expr_uses_var(r[d].min, f->var) || ml_expr_uses_var(r[d].extent, f->var);
        if (!used)
            continue;
        iters[n] =
            (ml_Iter){.var = ml_var_new(cx, ml_numbered(cx, "v", "", n), f->var->type),
                      .min = f->min,
                      .extent = extent_of(a, f),
                      .value = ml_var(cx, f->var),
                      .kind = ML_ITER_SPATIAL};
        ml_subst_var(cx, &sub, f->var, ml_var(cx, iters[n].var));
        n++;
    }
    for (size_t d = 0; d < rank; d++) {
        own[d] = (ml_Range){sub.vars ? ml_expr_subst(cx, r[d].min, &sub) : r[d].min,
                            sub.vars ? ml_expr_subst(cx, r[d].extent, &sub) : r[d].extent};
        ax[d] = ml_var_new(cx, ml_numbered(cx, "ax", "", d), own[d].min->type);
        at[d] = ml_simplify(a->ar, ml_add(cx, own[d].min, ml_var(cx, ax[d])));
    }
    const ml_Buffer *from = a->write ? a->cache.cached : a->old;
    const ml_Buffer *to = a->write ? a->old : a->cache.cached;
    const ml_Stmt *st = ml_store(cx, to, ml_load(cx, from, at, rank), at, rank, NULL);

    for (size_t d = rank; d-- > 0;)
        st = ml_serial(cx, ax[d], ml_int(cx, ax[d]->type, 0), own[d].extent, st);
    regions[0] = (ml_Region){from, own};
    regions[1] = (ml_Region){to, own};
    ml_Block b = {.tag = a->nest = ml_fresh_uid(cx),
                  .name = a->cache.cached->name,
                  .predicate = ml_bool(cx, true),
                  .n_iters = (uint32_t)n,
                  .n_reads = 1,
                  .n_writes = 1,
                  .iters = iters,
                  .reads = &regions[0],
                  .writes = &regions[1],
                  .annotations = ml_dict_with(cx, NULL, "auto_copy", ml_val_bool(cx, true)),
                  .body = st};

    return ml_block_from(cx, &b);
}

static int pick(const ml_Block *b, void *user)
{
    (void)b;
    (void)user;
    return 1;
}

static bool rewrite(CopyAt *a)
{
    ml_Call *c = a->c;
    ml_Ctx *cx = c->cx;
    const ml_Stmt **all = ML_ARRAY(cx, const ml_Stmt *, a->n + 1);
    ml_For f = *a->loop;
    size_t at = 0;

    for (size_t k = 0; k < a->n; k++) {
        if (!a->write && k == a->first)
            all[at++] = make_block(a);
        all[at] = a->body[k];
        if (k >= a->first && k <= a->last) {
            if (!ml_cache_rewire(c, &a->cache, a->body[k], pick, NULL, &all[at]))
                return false;
            all[at] = ml_views_follow(cx, all[at], a->cache.cached, true);
        }
        at++;
        if (a->write && k == a->last)
            all[at++] = make_block(a);
    }
    f.body = ml_seq(cx, all, at);
    ml_call_replace(c, a->loop->var->uid, ml_for_from(cx, &f));
    ml_call_replace(
        c, a->scope,
        &ml_block_add_alloc(cx, ml_call_block(c, a->scope), a->cache.cached)->base);
    return ml_ok_or_fail(cx);
}

static bool finds_values(ml_Call *c, ml_Uid nest, const ml_Buffer *old)
{
    CopyAt a = {.c = c, .loop = ml_as_for(c->args[LOOP].node), .old = old};

    return ml_is_covered(c->cx, c->facts, c->p, nest, false) ||
           ml_unproved(c->cx, ML_E_COVER_LOST,
                       "all values of {0} are there where it would be copied",
                       ML_BUFFER(old), ML_LOOP(a.loop));
}

static bool copy_at(ml_Call *c, bool write)
{
    ml_Ctx *cx = c->cx;
    const char *scope_name = c->args[SCOPE].s;
    ml_Uid block = c->args[BLOCK].uid;

    if (!ml_check_scope(c, scope_name) || !ml_check_not_root(c, block))
        return false;
    CopyAt a = {.c = c, .write = write, .loop = ml_call_loop(c, c->args[LOOP].uid)};
    const ml_Block *b = ml_call_block(c, block);

    a.scope = ml_index_scope(c->p.index, block);
    a.old = (write ? b->writes : b->reads)[c->args[BUFFER].i].buffer;
    if (ml_index_scope(c->p.index, a.loop->var->uid) != a.scope)
        return ml_fail_apart(c, block, a.loop->var->uid);
    if (!find_place(&a))
        return false;
    if (!ml_check_pipeline(c, a.scope))
        return false;
    a.cache.old = a.old;
    a.cache.cached = ml_buffer_new(cx, ml_format(cx, "%s_%s", a.old->name, scope_name),
                                   a.old->type, a.old->shape, a.old->rank, scope_name);
    if (!find_region(&a) || (write && !ML_PROVE(c, ML_SOUND, check_readers(&a))))
        return false;
    if (!rewrite(&a))
        return false;
    ml_UidVec consumers = {0};

    ml_call_subject(c, ML_COPY_OF, a.nest, a.old);
    if (write)
        ml_call_subjects(c, ML_PRODUCER_OF, &a.users, NULL);
    else
        ml_call_subject(c, ML_SHARER_OF, a.nest, a.old);
    if (ml_call_asks(c, ML_SOUND))
        ml_raw_consumers(cx, c->facts, c->p, a.nest, &consumers);
    ml_call_subjects(c, ML_READER_OF, &consumers, NULL);
    ml_call_return_block(c, a.nest);
    return true;
}

static bool read_at(ml_Call *c)
{
    return copy_at(c, false);
}

static bool write_at(ml_Call *c)
{
    return copy_at(c, true);
}

/* Ways out: the same at the other loops of the block, innermost first. */
static void suggest_copy_at(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                            ml_Tries *t)
{
    ml_Program p = ml_schedule_program(s);
    const ml_Stmt *node = ml_index_node(p.index, args[BLOCK].uid);
    ml_StmtVec loops = {0};

    if (!node || node->kind != ML_STMT_BLOCK || e->code == ML_E_ROOT_BLOCK ||
        !e->primitive || !args[SCOPE].s)
        return;
    ml_index_loops(ml_schedule_ctx(s), p.index, args[BLOCK].uid, &loops);
    for (size_t k = loops.n; k-- > 0;)
        if (e->code == ML_E_BAD_STORAGE_SCOPE || ml_stmt_uid(loops.v[k]) != args[LOOP].uid)
            ml_try(t, NULL, "%s(\"%s\", \"%s\", %lld, \"%s\")", e->primitive,
                   ml_name_of(s, ml_stmt_uid(loops.v[k])), ml_name_of(s, args[BLOCK].uid),
                   (long long)args[BUFFER].i,
                   e->code == ML_E_BAD_STORAGE_SCOPE ? "local" : args[SCOPE].s);
}

static const ml_Post posts[] = {
    {ML_SOUND, ML_COPY_OF, ml_check_concurrency, NULL},
    {ML_SOUND, ML_SHARER_OF, NULL, ml_check_reads_apart},
    {ML_SOUND, ML_PRODUCER_OF, ml_check_concurrency, NULL},
    {ML_SOUND, ML_COPY_OF, NULL, finds_values},
    {ML_SOUND, ML_READER_OF, ml_check_covered, NULL},
    {ML_SOUND, ML_COPY_OF, ml_check_stays_declared, NULL},
    {0},
};

static const ml_Param read_params[] = {
    ML_PARAM("loop", ML_P_LOOP, "the loop of which an iteration copies"),
    ML_PARAM("block", ML_P_BLOCK, "a block that reads the buffer"),
    ML_PARAM_ATTR("read_buffer_index", ML_P_READ_BUFFER, "which of its read buffers"),
    ML_PARAM_ATTR("storage_scope", ML_P_SCOPE, "scope of the copy: shared, local, ..."),
};

static const ml_Param write_params[] = {
    ML_PARAM("loop", ML_P_LOOP, "the loop of which an iteration copies back"),
    ML_PARAM("block", ML_P_BLOCK, "a block that writes the buffer"),
    ML_PARAM_ATTR("write_buffer_index", ML_P_WRITE_BUFFER, "which of its written buffers"),
    ML_PARAM_ATTR("storage_scope", ML_P_SCOPE, "scope of the new buffer: local, ..."),
};

const ml_Primitive ml_prim_read_at = {
    ML_PRIM(read_at, "ReadAt"),
    .group = "caching",
    .summary = "copy what an iteration of a loop reads",
    .help =
        "Makes a buffer <buf>_<scope> and one block directly under the loop that copies\n"
        "into it all that the iteration reads; the readers under the loop use it.",
    ML_PARAMS(read_params),
    .result = ML_R_BLOCK,
    .posts = posts,
    .suggest = suggest_copy_at,
    .errors =
        (const ml_ErrorCode[]){ML_E_BAD_STORAGE_SCOPE, ML_E_BUFFER_INDEX, ML_E_ROOT_BLOCK,
                               ML_E_NOT_SAME_SCOPE, ML_E_ORDER_VIOLATED,
                               ML_E_NOT_STAGE_PIPELINE, ML_E_COVER_LOST, ML_E_WOULD_RACE,
                               ML_E_REGION_UNDECLARED, ML_E_OK},
};

const ml_Primitive ml_prim_write_at = {
    ML_PRIM(write_at, "WriteAt"),
    .group = "caching",
    .summary = "copy back what an iteration of a loop writes",
    .help =
        "Makes a buffer <buf>_<scope> that the blocks under the loop write instead, and\n"
        "one block directly under the loop that copies back all that they write.",
    ML_PARAMS(write_params),
    .result = ML_R_BLOCK,
    .posts = posts,
    .suggest = suggest_copy_at,
    .errors =
        (const ml_ErrorCode[]){ML_E_BAD_STORAGE_SCOPE, ML_E_BUFFER_INDEX, ML_E_ROOT_BLOCK,
                               ML_E_NOT_SAME_SCOPE, ML_E_ORDER_VIOLATED,
                               ML_E_NOT_STAGE_PIPELINE, ML_E_NOT_SCHEDULABLE,
                               ML_E_COVER_LOST, ML_E_PART_WRITTEN, ML_E_OK},
};
