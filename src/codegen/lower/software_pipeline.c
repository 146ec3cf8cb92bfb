/*
 * software_pipeline - iterations of a loop overlap: statement k of the loop's sequence runs
 * stage(k) iterations late, in the order that order(k) gives.
 *
 * What fills the pipeline stands before the loop, what empties it behind, each statement
 * once an iteration. A buffer that every iteration has for itself gets as many versions as
 * iterations use it at a time, in a dimension in front. The places of stages are those of
 * the annotations software_pipeline_stage and software_pipeline_order; double_buffer_scope
 * of a block asks for two versions. An asynchronous stage runs in place: a CPU copies
 * nothing by itself. Source: lowering-and-codegen 2.14.
 */
#include "moonloop/codegen/lower/pipeline.h"

static const char STAGE[] = "software_pipeline_stage";
static const char ORDER[] = "software_pipeline_order";
static const char ASYNC[] = "software_pipeline_async_stages";

typedef struct Walk {
    ml_Lower *lo;
    const ml_Func *func;
    bool failed, dynamic;
    ML_VEC(const ml_For *) around;
} Walk;

bool ml_pipe_refuse(ml_Pipe *p, const char *why)
{
    ml_lower_fail(p->lo, ML_PIPE_PASS, &p->loop->base, "loop %s cannot be pipelined: %s",
                  p->loop->var->hint, why);
    p->failed = true;
    return false;
}

/* ---------------------------------------------------------------- regions */

static const ml_Range *relaxed(ml_Pipe *p, const ml_Region *r, const ml_Region *with)
{
    const ml_Dom dom = {p->loop->var, p->loop->min, p->loop->extent};
    ml_Range *to = ML_ARRAY(p->lo->cx, ml_Range, r->buffer->rank + 1u);

    for (size_t d = 0; d < r->buffer->rank; d++) {
        const ml_Expr *n = r->buffer->shape[d];
        ml_Range whole = {ml_int(p->lo->cx, n->type, 0), n};
        ml_Interval i = ml_relax_range(p->ar, r->ranges[d], &dom, 1);

        if (with)
            i = ml_interval_union(
                p->ar, i,
                ml_interval_range(p->ar, with->ranges[d].min, with->ranges[d].extent));
        to[d] = ml_interval_cover(p->ar, i, whole);
        if (ml_gave_up(p->lo->cx, p->ar))
            to[d] = whole;
    }
    return to;
}

/* What blocks that go had said, for all iterations. */
static void add_regions(ml_Pipe *p, const ml_Region *v, uint32_t n, ml_RegionVec *out)
{
    for (uint32_t k = 0; k < n; k++) {
        size_t at = 0;

        while (at < out->n && out->v[at].buffer != v[k].buffer)
            at++;
        if (at == out->n)
            ml_push(p->lo->cx, out, ((ml_Region){v[k].buffer, relaxed(p, &v[k], NULL)}));
        else
            out->v[at].ranges = relaxed(p, &v[k], &out->v[at]);
    }
}

static void drop_own(const ml_Pipe *p, ml_RegionVec *v)
{
    size_t n = 0;

    for (size_t k = 0; k < v->n; k++) {
        bool own = false;

        for (size_t j = 0; j < p->own.n; j++)
            own |= p->own.v[j].buffer == v->v[k].buffer;
        if (!own)
            v->v[n++] = v->v[k];
    }
    v->n = n;
}

/* ---------------------------------------------------------------- the statements */

/* Where the block says that a buffer it writes is to have two versions. */
static void ask_double(ml_Ctx *cx, ml_Map *twice, const ml_Block *b)
{
    const ml_Value *v = ml_dict_get(b->annotations, "double_buffer_scope");

    if (v && v->kind == ML_VAL_INT && v->as.i >= 0 && v->as.i < (int64_t)b->n_writes)
        ml_map_set(cx, twice, b->writes[v->as.i].buffer->uid, b);
}

static void take_block(ml_Pipe *p, const ml_Block *b)
{
    add_regions(p, b->reads, b->n_reads, &p->reads);
    add_regions(p, b->writes, b->n_writes, &p->writes);
    for (uint32_t k = 0; k < b->n_allocs; k++)
        ml_push(p->lo->cx, &p->own, ((ml_PipeBuffer){b->allocs[k], b->allocs[k], 1}));
}

static bool is_group(const ml_Stmt *s)
{
    return s->kind == ML_STMT_BLOCK && ml_is_true(ml_as_block(s)->predicate) &&
           ml_as_block(s)->n_matches == 0 && ml_as_block(s)->body->kind == ML_STMT_SEQ;
}

static void add_stmt(ml_Pipe *p, const ml_Stmt *s, const ml_Expr *guard)
{
    ml_Ctx *cx = p->lo->cx;

    if (guard)
        s = ml_stmt_at(cx, ml_if(cx, guard, s, NULL), ml_span_of(s, NULL));
    ml_push(cx, &p->stmts, ((ml_PipeStmt){.stmt = s}));
}

/* The sequence of the loop's body, of the one block there, and of blocks in it that are
 * nothing but sequences. */
static bool find_stmts(ml_Pipe *p, ml_Map *twice)
{
    const ml_Stmt *body = p->loop->body;
    const ml_Expr *guard = NULL;

    if (body->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(body);

        if (!ml_is_true(b->predicate))
            guard = b->predicate;
        if (guard && (guard->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)))
            return ml_pipe_refuse(p, "the condition of its block reads memory");
        take_block(p, b);
        ask_double(p->lo->cx, twice, b);
        body = b->body;
    }
    if (body->kind != ML_STMT_SEQ)
        return ml_pipe_refuse(
            p, "its body is no sequence of statements, of which some could run ahead");
    for (uint32_t k = 0; k < ml_as_seq(body)->n; k++) {
        const ml_Stmt *s = ml_as_seq(body)->stmts[k];

        if (s->kind == ML_STMT_BIND || s->kind == ML_STMT_ALLOC || s->kind == ML_STMT_DECL)
            return ml_pipe_refuse(p, ml_format(p->lo->cx,
                                               "%s holds for the statements behind it",
                                               ml_lower_name(p->lo->cx, s)));
        if (s->kind == ML_STMT_BLOCK)
            ask_double(p->lo->cx, twice, ml_as_block(s));
        if (!is_group(s)) {
            add_stmt(p, s, guard);
            continue;
        }
        take_block(p, ml_as_block(s));
        const ml_Seq *q = ml_as_seq(ml_as_block(s)->body);

        for (uint32_t j = 0; j < q->n; j++)
            add_stmt(p, q->stmts[j], guard);
    }
    return true;
}

/* ---------------------------------------------------------------- the annotations */

static bool int_at(const ml_Value *v, size_t k, int64_t *out)
{
    const ml_Value *e = v->as.list[k];

    if (e->kind == ML_VAL_EXPR && ml_is_const_int(e->as.expr))
        *out = e->as.expr->as.i;
    else if (e->kind == ML_VAL_INT)
        *out = e->as.i;
    else
        return false;
    return true;
}

static bool read_lists(ml_Pipe *p)
{
    enum { MOST_STAGES = 64 }; /* the copies before and behind the loop */
    const ml_Value *stage = ml_dict_get(p->loop->annotations, STAGE);
    const ml_Value *order = ml_dict_get(p->loop->annotations, ORDER);
    ml_Ctx *cx = p->lo->cx;
    bool *taken = ML_ARRAY(cx, bool, p->stmts.n + 1);

    for (size_t which = 0; which < 2; which++) {
        const ml_Value *v = which ? order : stage;

        if (v->kind != ML_VAL_LIST || v->n != p->stmts.n)
            return ml_pipe_refuse(
                p, ml_format(cx, "%s is a list of %zu numbers, one for each statement",
                             which ? ORDER : STAGE, p->stmts.n));
    }
    for (size_t k = 0; k < p->stmts.n; k++) {
        ml_PipeStmt *s = &p->stmts.v[k];

        if (!int_at(stage, k, &s->stage) || s->stage < 0 || s->stage > MOST_STAGES)
            return ml_pipe_refuse(
                p, ml_format(cx, "a stage is a number from 0 to %d", MOST_STAGES));
        if (!int_at(order, k, &s->order) || s->order < 0 ||
            s->order >= (int64_t)p->stmts.n || taken[s->order])
            return ml_pipe_refuse(p,
                                  ml_format(cx, "%s holds each number from 0 to %zu once",
                                            ORDER, p->stmts.n - 1));
        taken[s->order] = true;
    }
    return true;
}

/* ---------------------------------------------------------------- emission */

typedef struct Emit {
    Walk *w;
    const ml_Pipe *p;
    const ml_PipeStmt **by_order;
    ML_VEC(const ml_Stmt *) out;
} Emit;

/* Statement s for iteration min + at, where `runs` (NULL: always). Copies have names of
 * their own. */
static void emit_stmt(Emit *e, const ml_PipeStmt *s, const ml_Expr *at, const ml_Expr *runs)
{
    ml_Ctx *cx = e->w->lo->cx;
    const ml_Stmt *to = ml_stmt_copy_fresh(cx, s->stmt, NULL);
    ml_Subst sub = {0};

    if (runs && ml_is_int(runs, 0))
        return;
    ml_subst_var(cx, &sub, e->p->loop->var, ml_add(cx, e->p->loop->min, at));
    to = ml_lower_subst(cx, to, &sub, e->w->dynamic);
    if (runs && !ml_is_true(runs))
        to = ml_stmt_at(cx, ml_if(cx, runs, to, NULL), ml_span_of(s->stmt, NULL));
    ml_push(cx, &e->out, to);
}

/* What runs before the loop: the first `deep` times. */
static void emit_prologue(Emit *e, int64_t deep)
{
    ml_Dtype t = e->p->loop->var->type;
    ml_Ctx *cx = e->w->lo->cx;

    for (int64_t k = 0; k < deep; k++)
        for (size_t j = 0; j < e->p->stmts.n; j++) {
            const ml_PipeStmt *s = e->by_order[j];
            const ml_Expr *at = ml_int(cx, t, k - s->stage);

            if (k >= s->stage)
                emit_stmt(e, s, at, ml_lt(cx, at, e->p->loop->extent));
        }
}

/* What runs behind it: time extent + k, unless that was before the loop. */
static void emit_epilogue(Emit *e, int64_t deep)
{
    const ml_Expr *n = e->p->loop->extent;
    ml_Ctx *cx = e->w->lo->cx;
    ml_Dtype t = n->type;

    for (int64_t k = 0; k < deep; k++)
        for (size_t j = 0; j < e->p->stmts.n; j++) {
            const ml_PipeStmt *s = e->by_order[j];

            if (k < s->stage)
                emit_stmt(e, s, ml_add(cx, n, ml_int(cx, t, k - s->stage)),
                          ml_ge(cx, n, ml_int(cx, t, deep - k)));
        }
}

static void emit_loop(Emit *e, int64_t deep)
{
    const ml_For *f = e->p->loop;
    ml_Ctx *cx = e->w->lo->cx;
    ml_Dtype t = f->var->type;
    ml_For to = *f;
    Emit body = {e->w, e->p, e->by_order, {0}};

    to.min = ml_int(cx, t, 0);
    to.extent = ml_max(cx, ml_sub(cx, f->extent, ml_int(cx, t, deep)), to.min);
    to.var = ml_var_new(cx, f->var->hint, t);
    to.annotations = ml_dict_without(cx, f->annotations, STAGE);
    to.annotations = ml_dict_without(cx, to.annotations, ORDER);
    to.annotations = ml_dict_without(cx, to.annotations, ASYNC);
    if (ml_is_int(to.extent, 0))
        return;
    for (size_t j = 0; j < e->p->stmts.n; j++) {
        const ml_PipeStmt *s = e->by_order[j];

        emit_stmt(&body, s, ml_add(cx, ml_var(cx, to.var), ml_int(cx, t, deep - s->stage)),
                  NULL);
    }
    to.body = ml_seq_at(cx, body.out.v, body.out.n, f->base.span);
    ml_push(cx, &e->out, ml_for_from(cx, &to));
}

static const ml_Stmt *emit(Walk *w, ml_Pipe *p)
{
    ml_Ctx *cx = w->lo->cx;
    Emit e = {.w = w, .p = p};
    ml_Block b = {.base = {.kind = ML_STMT_BLOCK, .span = p->loop->base.span}};
    const ml_Buffer **allocs = ML_ARRAY(cx, const ml_Buffer *, p->own.n + 1);
    int64_t deep = 0;

    e.by_order = ML_ARRAY(cx, const ml_PipeStmt *, p->stmts.n + 1);
    for (size_t k = 0; k < p->stmts.n; k++) {
        e.by_order[p->stmts.v[k].order] = &p->stmts.v[k];
        deep = p->stmts.v[k].stage > deep ? p->stmts.v[k].stage : deep;
    }
    emit_prologue(&e, deep);
    emit_loop(&e, deep);
    emit_epilogue(&e, deep);
    if (p->own.n == 0)
        return ml_seq_at(cx, e.out.v, e.out.n, p->loop->base.span);
    for (size_t k = 0; k < p->own.n; k++)
        allocs[k] = p->own.v[k].to;
    b.tag = ml_fresh_uid(cx);
    b.name = "";
    b.predicate = ml_bool(cx, true);
    b.allocs = allocs;
    b.n_allocs = (uint32_t)p->own.n;
    drop_own(p, &p->reads);
    drop_own(p, &p->writes);
    b.reads = p->reads.v;
    b.n_reads = (uint32_t)p->reads.n;
    b.writes = p->writes.v;
    b.n_writes = (uint32_t)p->writes.n;
    b.body = ml_seq_at(cx, e.out.v, e.out.n, p->loop->base.span);
    return ml_block_from(cx, &b);
}

/* ---------------------------------------------------------------- the pass */

/* Whether the loop may be pipelined as it asks; its statements are known then. */
static bool read_pipeline(ml_Pipe *p, ml_Map *twice)
{
    const ml_For *f = p->loop;

    if (f->kind != ML_FOR_SERIAL && f->kind != ML_FOR_UNROLLED)
        return ml_pipe_refuse(p, "its iterations have no order");
    if (!ml_dict_get(f->annotations, STAGE) || !ml_dict_get(f->annotations, ORDER))
        return ml_pipe_refuse(
            p, ml_format(p->lo->cx, "%s and %s stand together", STAGE, ORDER));
    if (!find_stmts(p, twice) || !read_lists(p))
        return false;
    for (size_t k = 0; k < p->stmts.n; k++)
        ml_pipe_accesses(p, p->stmts.v[k].stmt, &p->stmts.v[k].touched);
    return ml_pipe_in_order(p);
}

static const ml_Stmt *pipelined(Walk *w, const ml_For *f)
{
    ml_Ctx *cx = w->lo->cx;
    ml_Pipe p = {.lo = w->lo, .ar = ml_lower_arith(w->lo, w->func), .loop = f};
    ml_Map *twice = ml_map_new(cx);

    for (size_t k = 0; k < w->around.n; k++)
        ml_arith_bind_loop(p.ar, w->around.v[k]);
    ml_arith_bind_loop(p.ar, f);
    if (read_pipeline(&p, twice)) {
        for (size_t k = 0; k < p.own.n; k++)
            ml_pipe_set_versions(&p, &p.own.v[k],
                                 ml_map_has(twice, p.own.v[k].buffer->uid) ? 2 : 1);
        for (size_t k = 0; k < p.stmts.n; k++)
            p.stmts.v[k].stmt = ml_pipe_move(&p, p.stmts.v[k].stmt);
        if (ml_dict_get(f->annotations, ASYNC))
            ml_lower_note(w->lo, f->base.span,
                          "asynchronous stages of loop %s run in place on a CPU",
                          f->var->hint);
    }
    w->failed = p.failed;
    return w->failed ? &f->base : emit(w, &p);
}

static const ml_Stmt *walk(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = walk, .user = user};
    Walk *w = user;

    if (w->failed)
        return s;
    if (s->kind != ML_STMT_FOR)
        return ml_stmt_map(cx, s, &m);
    ml_push(cx, &w->around, ml_as_for(s));
    s = ml_stmt_map(cx, s, &m);
    w->around.n--;
    const ml_For *f = ml_as_for(s);

    if (w->failed ||
        !(ml_dict_get(f->annotations, STAGE) || ml_dict_get(f->annotations, ORDER) ||
          ml_dict_get(f->annotations, ASYNC)))
        return s;
    return pipelined(w, f);
}

const ml_Func *ml_pass_software_pipeline(ml_Lower *lo, const ml_Func *f)
{
    Walk w = {.lo = lo, .func = f, .dynamic = ml_dynamic_buffers(f->body)};
    const ml_Stmt *body = walk(lo->cx, f->body, &w);

    return w.failed ? NULL : ml_func_with_body(lo->cx, f, body);
}
