/*
 * rolling_buffer - of an intermediate only a window is kept, along a dimension that a loop
 * moves over.
 *
 * The buffer is as long there as what one iteration of the tile loop writes; indices go
 * modulo that. An instance whose elements an iteration before has written is left out.
 * Both hold when the window moves forward only (rolling_axes.c) and an element is the same
 * each time it is written (rolling_values.c). Iters of the window become opaque: nothing
 * that comes after may believe that they stand for themselves. Source: primitives 11.
 */
#include "moonloop/primitives/rewrite/rolling.h"

#include "moonloop/core/shown.h"

enum { BLOCK, BUFFER };

static bool is_serial(const ml_For *f)
{
    return f->kind == ML_FOR_SERIAL || f->kind == ML_FOR_UNROLLED;
}

/* ---- what stands around */

static bool not_raw(ml_Rolling *r, const char *what, ml_Uid other, const ml_Buffer *buf)
{
    return ml_fail(r->c->cx, ML_E_NOT_RAW_ONLY, ML_BLOCK(r->block), ML_TEXT(what),
                   ML_BLOCK_UID(other), ML_BUFFER(buf));
}

/* Results pass from writers to readers behind them, and in no other way. */
static bool check_dependences(ml_Rolling *r, ml_Uid scope)
{
    ml_Call *c = r->c;
    const ml_Block *b = r->block;

    for (size_t k = 0; k < b->n_writes + b->n_reads; k++) {
        bool written = k < b->n_writes;
        const ml_Buffer *buf =
            written ? b->writes[k].buffer : b->reads[k - b->n_writes].buffer;
        ml_UidVec writers = {0}, readers = {0};

        ml_writers(c->cx, c->facts, c->p, scope, buf, &writers);
        for (size_t m = 0; m < writers.n; m++) {
            if (writers.v[m] == b->tag)
                continue;
            if (written)
                return not_raw(r, "is written by", writers.v[m], buf);
            if (ml_index_before(c->p.index, b->tag, writers.v[m]))
                return not_raw(r, "is overwritten by", writers.v[m], buf);
        }
        if (!written)
            continue;
        ml_readers(c->cx, c->facts, c->p, scope, buf, &readers);
        for (size_t m = 0; m < readers.n; m++)
            if (readers.v[m] != b->tag && ml_index_before(c->p.index, readers.v[m], b->tag))
                return not_raw(r, "is read before it by", readers.v[m], buf);
    }
    return true;
}

/* The innermost loop around the block and everything that reads the buffer. */
static bool find_tile(ml_Rolling *r, ml_Uid scope)
{
    ml_Call *c = r->c;
    ml_UidVec readers = {0};
    ml_Uid at = r->block->tag;
    size_t n = 0;

    ml_readers(c->cx, c->facts, c->p, scope, r->buf, &readers);
    for (size_t k = 0; k < readers.n; k++) {
        if (readers.v[k] == r->block->tag)
            continue;
        at = ml_index_lca(c->p.index, at, readers.v[k]);
        n++;
    }
    const ml_Stmt *node = at ? ml_index_node(c->p.index, at) : NULL;

    if (n == 0 || !node || node->kind != ML_STMT_FOR)
        return ml_fail(c->cx, ML_E_NOT_TILED, ML_BLOCK(r->block), ML_BUFFER(r->buf),
                       ML_TEXT(n ? "no loop holds it and all of its consumers"
                                 : "nothing in its scope reads it"));
    r->tile = ml_as_for(node);
    ml_index_loops(c->cx, c->p.index, at, &r->loops);
    ml_push(c->cx, &r->loops, node);
    r->ar = ml_arith_at(c->cx, c->p, at);
    ml_arith_bind_loop(r->ar, r->tile);
    return true;
}

typedef struct Raw {
    const ml_Buffer *buf;
    bool found;
} Raw;

static void raw_expr(const ml_Expr *e, ml_Role role, void *user)
{
    Raw *w = user;

    w->found |= role != ML_ROLE_REGION && ml_expr_uses_buffer(e, w->buf);
}

static void raw_stmt(const ml_Stmt *s, bool in_init, void *user)
{
    Raw *w = user;

    (void)in_init;
    ml_stmt_exprs(s, raw_expr, w);
    w->found |= s->kind == ML_STMT_STORE && ml_as_store(s)->buffer->uid == w->buf->uid;
    if (s->kind != ML_STMT_BLOCK && !w->found)
        ml_stmt_children(s, raw_stmt, w);
}

/* What happens between iterations is in blocks, which run each time. */
static bool check_surroundings(ml_Rolling *r, const ml_Block *scope)
{
    ml_Ctx *cx = r->c->cx;
    const ml_For *roll = r->axes[r->roll].loop;
    Raw raw = {r->buf, false};
    ml_StmtVec blocks = {0};

    raw_stmt(scope->body, false, &raw);
    if (raw.found)
        return ml_fail_opaque(r->c, r->buf, scope);
    if (!ml_check_schedulable(r->c, roll->var->uid, r->block->tag))
        return false;
    ml_child_blocks(cx, &roll->base, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);

        if (ml_read_of(b, r->buf) && !ml_is_covered(cx, r->c->facts, r->c->p, b->tag, true))
            return false;
    }
    return true;
}

/* Iterations of loops that run at one time would share one window: outside of the loop that
 * rolls each may have its own, inside of it the window outlives them. */
static bool check_concurrency(ml_Rolling *r, const ml_Buffer *fresh)
{
    ml_Call *c = r->c;
    bool inside = false;

    for (size_t k = 0; k < r->loops.n; k++) {
        const ml_For *f = ml_as_for(r->loops.v[k]);

        inside |= f->var->uid == r->axes[r->roll].loop->var->uid;
        if (is_serial(f) || ml_is_int(f->extent, 1) ||
            (!inside && ml_buffer_is_private(c->cx, c->facts, c->p, f->var->uid, fresh)) ||
            ml_accesses_disjoint(c->cx, c->facts, c->p, f->var->uid, fresh))
            continue;
        return ml_fail_as(
            c->cx, ML_E_WOULD_RACE,
            "iterations of loop {0} run at one time; they would share one window of {1}",
            ML_LOOP(f), ML_BUFFER(fresh));
    }
    return true;
}

/* ---- the program */

/* Where the block still runs: in a first iteration, and for what is new. */
static const ml_Expr *with_guards(ml_Rolling *r)
{
    ml_Ctx *cx = r->c->cx;
    const ml_Expr *pred = r->block->predicate;

    for (size_t d = 0; d < r->buf->rank; d++) {
        const ml_RollAxis *x = &r->axes[d];

        if (!x->loop)
            continue;
        const ml_Expr *v = ml_var(cx, x->loop->var);
        const ml_Expr *at = ml_simplify(r->ar, ml_sub(cx, x->last, x->min));
        const ml_Expr *runs = ml_or(cx, ml_lt(cx, v, ml_int(cx, v->type, 1)),
                                    ml_le(cx, ml_int(cx, at->type, x->overlap), at));

        pred = ml_is_true(pred) ? runs : ml_and(cx, pred, runs);
    }
    return pred;
}

typedef struct Mark {
    const ml_Rolling *r;
    const ml_Expr *predicate;
} Mark;

static bool rolls_with(const ml_Rolling *r, const ml_Region *v, size_t n, const ml_Var *it)
{
    for (size_t k = 0; k < n; k++)
        if (v[k].buffer->uid == r->buf->uid &&
            (ml_expr_uses_var(v[k].ranges[r->roll].min, it) ||
             ml_expr_uses_var(v[k].ranges[r->roll].extent, it)))
            return true;
    return false;
}

/* Iter k of b, which uses the buffer or not, becomes opaque. */
static bool becomes_opaque(const ml_Rolling *r, const ml_Block *b, size_t k)
{
    return b->iters[k].kind == ML_ITER_SPATIAL &&
           (rolls_with(r, b->reads, b->n_reads, b->iters[k].var) ||
            rolls_with(r, b->writes, b->n_writes, b->iters[k].var));
}

/* What is opaque runs in order. */
static bool check_kinds(ml_Rolling *r)
{
    const ml_Index *ix = r->c->p.index;
    ml_StmtVec blocks = {0};

    ml_all_blocks(r->c->cx, &r->tile->base, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);

        for (size_t m = 0; m < b->n_iters; m++)
            for (ml_Uid u = ml_index_parent(ix, b->tag); becomes_opaque(r, b, m) && u;
                 u = ml_index_parent(ix, u)) {
                const ml_Stmt *n = ml_index_node(ix, u);

                if (n->kind == ML_STMT_FOR && !is_serial(ml_as_for(n)) &&
                    ml_expr_uses_var(b->iters[m].value, ml_as_for(n)->var))
                    return ml_fail(
                        r->c->cx, ML_E_ITER_NOT_PARALLEL, ML_LOOP(n),
                        ML_TEXT(ml_for_kind_name((ml_ForKind)ml_as_for(n)->kind)),
                        ML_ITER(b, m), ML_BLOCK(b), ML_TEXT("rolling"));
            }
    }
    return true;
}

/* Iters of the window become opaque, the block gets its guards. */
static const ml_Stmt *mark(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const Mark *m = user;

    if (!s->has_block && s->kind != ML_STMT_BLOCK)
        return s;
    const ml_Stmt *out = ml_stmt_map(cx, s, &(ml_Mapper){.stmt = mark, .user = user});

    if (s->kind != ML_STMT_BLOCK)
        return out;
    ml_Block nb = *ml_as_block(out);
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, nb.n_iters + 1u);
    bool changed = nb.tag == m->r->block->tag;

    if (changed)
        nb.predicate = m->predicate;
    for (size_t k = 0; k < nb.n_iters; k++) {
        iters[k] = nb.iters[k];
        if (!becomes_opaque(m->r, &nb, k))
            continue;
        iters[k].kind = ML_ITER_OPAQUE;
        changed = true;
    }
    nb.iters = iters;
    return changed ? ml_block_from(cx, &nb) : out;
}

typedef struct Widen {
    const ml_Rolling *r;
    const ml_Buffer *fresh;
} Widen;

static const ml_Region *widen_regions(ml_Ctx *cx, const Widen *w, const ml_Region *v,
                                      size_t n)
{
    ml_Region *out = NULL;
    size_t roll = w->r->roll, rank = w->fresh->rank;

    for (size_t k = 0; k < n; k++) {
        if (v[k].buffer->uid != w->fresh->uid || ml_is_int(v[k].ranges[roll].extent, 1))
            continue;
        ml_Range *to = ML_ARRAY(cx, ml_Range, rank);
        const ml_Expr *all = w->fresh->shape[roll];

        memcpy(to, v[k].ranges, rank * sizeof *to);
        to[roll] = (ml_Range){ml_int(cx, all->type, 0), all};
        if (!out) {
            out = ML_ARRAY(cx, ml_Region, n);
            memcpy(out, v, n * sizeof *out);
        }
        out[k].ranges = to;
    }
    return out ? out : v;
}

/* Several elements of a window are anywhere in it. */
static const ml_Stmt *widen(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    if (!s->has_block && s->kind != ML_STMT_BLOCK)
        return s;
    const ml_Stmt *out = ml_stmt_map(cx, s, &(ml_Mapper){.stmt = widen, .user = user});

    if (s->kind != ML_STMT_BLOCK)
        return out;
    ml_Block nb = *ml_as_block(out);

    nb.reads = widen_regions(cx, user, nb.reads, nb.n_reads);
    nb.writes = widen_regions(cx, user, nb.writes, nb.n_writes);
    if (nb.reads == ml_as_block(out)->reads && nb.writes == ml_as_block(out)->writes)
        return out;
    return ml_block_from(cx, &nb);
}

static const ml_Buffer *window(const ml_Rolling *r)
{
    ml_Ctx *cx = r->c->cx;
    ml_Buffer nb = *r->buf;
    const ml_Expr **shape = ML_ARRAY(cx, const ml_Expr *, nb.rank + 1u);

    for (size_t d = 0; d < nb.rank; d++)
        shape[d] = nb.shape[d];
    shape[r->roll] = ml_int(cx, shape[r->roll]->type, r->axes[r->roll].window);
    nb.shape = shape;
    nb.strides = NULL;
    nb.n_strides = 0;
    nb.auto_broadcast = false;
    return ml_buffer_from(cx, &nb, false);
}

/* Indices of the buffer to those of its window. */
static const ml_IndexMap *modulo(const ml_Rolling *r)
{
    ml_Ctx *cx = r->c->cx;
    ml_IndexMap *m = ML_NEW(cx, ml_IndexMap);
    const ml_Var **vars = ML_ARRAY(cx, const ml_Var *, r->buf->rank + 1u);
    const ml_Expr **exprs = ML_ARRAY(cx, const ml_Expr *, r->buf->rank + 1u);
    ml_Dtype t = ml_buffer_index_dtype(r->buf);

    for (size_t d = 0; d < r->buf->rank; d++) {
        vars[d] = ml_var_new(cx, "i", t);
        exprs[d] = ml_var(cx, vars[d]);
        if (d == r->roll)
            exprs[d] = ml_floormod(cx, exprs[d], ml_int(cx, t, r->axes[d].window));
    }
    *m = (ml_IndexMap){
        .vars = vars, .exprs = exprs, .n_vars = r->buf->rank, .n_exprs = r->buf->rank};
    return m;
}

static bool rolling_buffer(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    ml_Rolling r = {.c = c, .block = ml_call_block(c, c->args[BLOCK].uid)};
    const ml_Buffer *which = NULL;
    bool dropped = false;
    ml_BufferHome home;

    r.region = &r.block->writes[c->args[BUFFER].i];
    r.buf = r.region->buffer;
    if (!ml_check_not_root(c, r.block->tag))
        return false;
    if (ml_is_output_block(c->p, r.block->tag, &which))
        return ml_fail(cx, ML_E_OUTPUT_BLOCK, ML_BLOCK(r.block), ML_BUFFER(which));
    ml_Uid scope = ml_index_scope(c->p.index, r.block->tag);
    const ml_Block *root = ml_as_block(ml_index_node(c->p.index, scope));

    if (!check_dependences(&r, scope) || !find_tile(&r, scope) || !ml_roll_axes(&r) ||
        !check_surroundings(&r, root) || !ml_roll_values(&r) || !check_kinds(&r) ||
        !ml_buffer_home(c, r.block, r.buf, &home))
        return false;
    ml_Relayout to = {r.buf, window(&r), modulo(&r), true};
    Mark m = {&r, with_guards(&r)};
    const ml_Stmt *st = mark(cx, &r.tile->base, &m);

    if (!ml_relayout(c, ml_arith_at(cx, c->p, r.tile->var->uid), &to, st, &st, &dropped))
        return false;
    Widen w = {&r, to.fresh};

    st = ml_stmt_replace(cx, &root->base, &r.tile->base, widen(cx, st, &w));
    if (!ml_ok_or_fail(cx) || !ml_layout_install(c, &home, r.buf, to.fresh, st) ||
        !check_concurrency(&r, to.fresh))
        return false;
    for (size_t d = 0; d < r.buf->rank; d++)
        if (r.axes[d].loop)
            ml_call_note(c,
                         "of each %lld elements along dimension %zu of %s the first %lld "
                         "are there from the iteration before of %s",
                         (long long)r.axes[d].window, d, ml_shown(c->cx, r.buf),
                         (long long)r.axes[d].overlap,
                         ml_shown(c->cx, r.axes[d].loop->var));
    return true;
}

/* Ways out: under the outermost loop of a consumer, where a window can move. */
static void suggest_rolling_buffer(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                                   ml_Tries *t)
{
    ml_Program p = ml_schedule_program(s);
    const ml_Stmt *node = ml_index_node(p.index, args[BLOCK].uid);
    ml_Ctx *cx = ml_schedule_ctx(s);
    ml_UidVec consumers = {0};
    ml_StmtVec loops = {0};

    if (e->code != ML_E_NOT_TILED || !node || node->kind != ML_STMT_BLOCK)
        return;
    ml_raw_consumers(cx, ml_schedule_facts(s), p, args[BLOCK].uid, &consumers);
    if (consumers.n != 1)
        return;
    ml_index_loops(cx, p.index, consumers.v[0], &loops);
    if (loops.n > 0)
        ml_try(t, "a window moves with that loop",
               "compute_at(\"%s\", \"%s\") rolling_buffer(\"%s\", %lld)",
               ml_name_of(s, args[BLOCK].uid), ml_name_of(s, ml_stmt_uid(loops.v[0])),
               ml_name_of(s, args[BLOCK].uid), (long long)args[BUFFER].i);
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block that writes the buffer, under a tiled loop"),
    ML_PARAM_ATTR("write_buffer_index", ML_P_WRITE_BUFFER, "which of its written buffers"),
};

const ml_Primitive ml_prim_rolling_buffer = {
    ML_PRIM(rolling_buffer, "RollingBuffer"),
    .group = "storage",
    .summary = "keep a window of an intermediate along a tiled axis",
    .help =
        "Block and consumers share a loop, and what the block writes there overlaps with\n"
        "what the iteration before wrote. The buffer becomes as long as one iteration "
        "needs;\n"
        "what is there already is not computed again.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .suggest = suggest_rolling_buffer,
    .errors =
        (const ml_ErrorCode[]){ML_E_BUFFER_INDEX, ML_E_ROOT_BLOCK, ML_E_OUTPUT_BLOCK,
                               ML_E_NOT_RAW_ONLY, ML_E_NOT_TILED, ML_E_NO_ROLLING_AXIS,
                               ML_E_NOT_REGION_COVERED, ML_E_NOT_SCHEDULABLE,
                               ML_E_OPAQUE_ACCESS, ML_E_ITER_NOT_PARALLEL,
                               ML_E_NOT_SUPPORTED, ML_E_WOULD_RACE, ML_E_INSTANCES_LOST,
                               ML_E_VALUE_CHANGED, ML_E_OK},
};
