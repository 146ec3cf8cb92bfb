/*
 * sync_threads - barriers where threads of a block pass values through memory.
 *
 * Statements are taken in order, with the accesses since the last barrier: before one that
 * conflicts with them comes a barrier. A compound statement is summed up as what it touches
 * before its first barrier and after its last one. A loop whose next iteration conflicts
 * with what the last one left gets a barrier at the end of its body. Accesses of shared
 * memory count, and of global memory that the kernel writes. Barriers that were there
 * already stay when without them another one would be needed; others are taken out and
 * told. A barrier that not all threads would reach is an error. Source:
 * lowering-and-codegen 4.6.
 */
#include "moonloop/codegen/lower/sync.h"

static const char PASS[] = "sync_threads";

typedef struct Sync {
    ml_Lower *lo;
    ml_SyncThreads t;
    const ml_Map *roots;   /* uid of a data pointer -> the pointer whose memory it means */
    const ml_Map *written; /* roots of global memory that the kernel writes */
    ml_Subst lets;
    ml_Map *unknown; /* uids of bound variables with loads in their values */
    const ml_SyncScope *scope;
    bool dry; /* nothing is told: it is only counted */
    bool failed;
    size_t n; /* barriers put in */
} Sync;

typedef struct Sum {
    ml_SyncAccesses entry, exit; /* before the first barrier; after the last one */
    const ml_Stmt *barrier;      /* one that is inside, or what needs it; NULL: none */
    const char *needed_by;       /* of one that was put in: which accesses */
    bool all;                    /* no way through without a barrier */
} Sum;

/* ---- accesses */

static const ml_Var *root_of(const Sync *w, const ml_Var *data)
{
    const ml_Var *root = ml_map_get(w->roots, data->uid);

    return root ? root : data;
}

static bool counts(const Sync *w, const ml_Buffer *b)
{
    return b->scope.rank == ML_SCOPE_SHARED ||
           (b->scope.rank == ML_SCOPE_GLOBAL &&
            ml_map_has(w->written, root_of(w, b->data)->uid));
}

typedef struct Known {
    const Sync *w;
    bool ok;
} Known;

static bool is_known(const ml_Expr *e, void *user)
{
    Known *k = user;

    if (e->kind == ML_EXPR_VAR && ml_map_has(k->w->unknown, e->as.var->uid))
        k->ok = false;
    return k->ok;
}

/* In terms of loops and threads; NULL: it depends on what was loaded. */
static const ml_Expr *expand(Sync *w, const ml_Expr *e)
{
    Known k = {w, true};

    ml_expr_visit(e, is_known, &k);
    if (!k.ok)
        return NULL;
    return w->lets.vars ? ml_expr_subst(w->lo->cx, e, &w->lets) : e;
}

typedef struct Reading {
    Sync *w;
    Sum *sum;
    const ml_Stmt *at;
} Reading;

static void touch(Sync *w, Sum *sum, const ml_Buffer *b, const ml_Var *data,
                  const ml_Expr *index, const ml_Stmt *at, bool write)
{
    ml_SyncAccess a = {b,  root_of(w, data), index ? expand(w, index) : NULL,
                       at, w->scope,         write};

    ml_push(w->lo->cx, &sum->entry, a);
    ml_push(w->lo->cx, &sum->exit, a);
}

/* What a call does with memory that is passed to it, by its name; others read and write. */
static bool call_reads_only(const ml_Expr *call)
{
    const char *name = call->as.op->name;

    if (ml_is_op(call, ML_OP_ACCESS_PTR)) /* it says so itself; then the call around it */
        return call->n_args == 5 && ml_is_int(call->args[4], 1);
    return ml_streq(name, "tvm_load_matrix_sync") || strncmp(name, "ptx_ldmatrix", 12) == 0;
}

static bool read_expr(const ml_Expr *e, void *user)
{
    Reading *r = user;
    Sync *w = r->w;

    if (e->kind == ML_EXPR_LOAD && counts(w, e->as.buffer))
        touch(w, r->sum, e->as.buffer, e->as.buffer->data,
              ml_load_rank(e) == 1 ? e->args[0] : NULL, r->at, false);
    if (e->kind == ML_EXPR_CALL && !ml_is_op(e, ML_OP_STORAGE_SYNC))
        for (size_t k = 0; k < e->n_args; k++) {
            const ml_Expr *p = e->args[k];
            const ml_Var *v;
            const ml_Buffer *b;

            if (ml_is_op(p, ML_OP_ACCESS_PTR) && p->n_args > 1)
                p = p->args[1];
            if (ml_is_op(p, ML_OP_ADDRESS_OF) && p->n_args == 1 &&
                p->args[0]->kind == ML_EXPR_LOAD)
                p = ml_var(w->lo->cx, p->args[0]->as.buffer->data);
            if (p->kind != ML_EXPR_VAR || p->type.code != ML_HANDLE)
                continue;
            v = root_of(w, p->as.var);
            b = ml_map_get(w->written, v->uid);
            if (b && counts(w, b))
                touch(w, r->sum, b, v, NULL, r->at, !call_reads_only(e));
        }
    return true;
}

static void read_all(Sync *w, Sum *sum, const ml_Stmt *s)
{
    Reading r = {w, sum, s};

    ml_stmt_visit_exprs(s, ML_ROLES_ALL, read_expr, &r);
}

static void add_all(Sync *w, ml_SyncAccesses *to, const ml_SyncAccesses *from)
{
    for (size_t k = 0; k < from->n; k++)
        ml_push(w->lo->cx, to, from->v[k]);
}

/* ---- barriers */

static bool is_barrier(const ml_Stmt *s)
{
    const ml_Expr *e = s->kind == ML_STMT_EVALUATE ? ml_as_evaluate(s)->value : NULL;

    return e && ml_is_op(e, ML_OP_STORAGE_SYNC) && e->n_args > 0 &&
           e->args[0]->kind == ML_EXPR_STRING &&
           strncmp(e->args[0]->as.s, "shared", 6) == 0;
}

static const ml_Stmt *new_barrier(Sync *w, const ml_Stmt *at)
{
    ml_Ctx *cx = w->lo->cx;
    const ml_Expr *of = ml_string(cx, ml_str("shared"));

    w->n++;
    return ml_stmt_at(
        cx, ml_evaluate(cx, ml_call_id(cx, ML_DT_I32, ML_OP_STORAGE_SYNC, &of, 1)),
        ml_span_of(at, NULL));
}

static const char *tell(Sync *w, const ml_SyncAccess *a, const ml_SyncAccess *b)
{
    return ml_format(w->lo->cx, "%s %s in %s, %s it in %s",
                     a->write ? "a thread writes" : "a thread reads", a->buffer->name,
                     ml_lower_name(w->lo->cx, a->stmt),
                     b->write ? "another one writes" : "another one reads",
                     ml_lower_name(w->lo->cx, b->stmt));
}

/* Why a barrier must lie between; NULL: none must. */
static const char *why(Sync *w, const ml_SyncAccesses *a, const ml_SyncAccesses *b,
                       ml_SyncWhen when, const ml_SyncScope *loop)
{
    for (size_t j = 0; j < b->n; j++)
        for (size_t i = 0; i < a->n; i++)
            if (ml_sync_conflict(&w->t, &a->v[i], &b->v[j], when, loop)) {
                (void)ml_gave_up(w->lo->cx, w->t.ar);
                return tell(w, &a->v[i], &b->v[j]);
            }
    if (ml_gave_up(w->lo->cx, w->t.ar))
        return "an index is too large to tell";
    return NULL;
}

static void diverge(Sync *w, const ml_Stmt *at, const Sum *sum, const char *where)
{
    if (w->dry || w->failed)
        return;
    w->failed = true;
    if (sum->needed_by)
        ml_lower_fail(w->lo, PASS, at,
                      "a barrier is needed %s, which not all threads of the block reach "
                      "alike: %s",
                      where, sum->needed_by);
    else
        ml_lower_fail(w->lo, PASS, at,
                      "a barrier lies %s, which not all threads of the block reach alike",
                      where);
}

static void report(Sync *w, const ml_Stmt *at, const char *where, const char *reason)
{
    if (!w->dry)
        ml_lower_note(w->lo, ml_span_of(at, NULL), "barrier %s %s: %s", where,
                      ml_lower_name(w->lo->cx, at), reason);
}

/* ---- statements */

static const ml_Stmt *scan(Sync *w, const ml_Stmt *s, Sum *sum);

static const ml_Stmt *scan_seq(Sync *w, const ml_Seq *q, Sum *sum)
{
    ML_VEC(const ml_Stmt *) list = {0};
    ml_Ctx *cx = w->lo->cx;
    size_t n = w->n;

    for (uint32_t k = 0; k < q->n; k++) {
        Sum c = {0};
        const ml_Stmt *s = scan(w, q->stmts[k], &c);
        const char *reason = why(w, &sum->exit, &c.entry, ML_SYNC_SAME, NULL);

        if (reason) {
            ml_push(cx, &list, new_barrier(w, q->stmts[k]));
            report(w, q->stmts[k], "before", reason);
            sum->barrier = q->stmts[k];
            sum->needed_by = reason;
            sum->all = true;
            sum->exit.n = 0;
        }
        ml_push(cx, &list, s);
        if (!sum->all)
            add_all(w, &sum->entry, &c.entry);
        if (c.all)
            sum->exit.n = 0;
        add_all(w, &sum->exit, &c.exit);
        sum->all |= c.all;
        if (c.barrier && !sum->barrier) {
            sum->barrier = c.barrier;
            sum->needed_by = c.needed_by;
        }
    }
    return w->n == n ? &q->base : ml_seq_at(cx, list.v, list.n, q->base.span);
}

static const ml_Stmt *with_barrier_at_end(Sync *w, const ml_Stmt *body, const ml_Stmt *loop,
                                          const char *reason, Sum *sum)
{
    const ml_Stmt *both[2] = {body, new_barrier(w, loop)};

    report(w, loop, "at the end of the body of", reason);
    sum->barrier = loop;
    sum->needed_by = reason;
    sum->all = true;
    sum->exit.n = 0;
    return ml_seq_at(w->lo->cx, both, 2, ml_span_of(body, NULL));
}

static const ml_Stmt *scan_for(Sync *w, const ml_For *f, Sum *sum)
{
    ml_SyncScope scope = {w->scope, f->var, f->extent, NULL},
                 *own = ML_NEW(w->lo->cx, ml_SyncScope);
    const ml_Expr *extent = expand(w, f->extent);
    bool once = ml_is_int(f->extent, 1);
    ml_For copy = *f;
    const char *reason;

    *own = scope;
    read_all(w, sum, &f->base);
    if (ml_dtype_is_index(f->var->type))
        ml_arith_bind_range(w->t.ar, f->var, f->min, f->extent);
    Sum in = {0};

    w->scope = own;
    copy.body = scan(w, f->body, &in);
    reason = once ? NULL
                  : why(w, &in.exit, &in.entry, in.all ? ML_SYNC_NEXT : ML_SYNC_LATER, own);
    if (reason)
        copy.body = with_barrier_at_end(w, copy.body, &f->base, reason, &in);
    w->scope = scope.up;
    if (in.barrier && !(extent && ml_sync_uniform(&w->t, extent)))
        diverge(w, in.barrier, &in,
                ml_format(w->lo->cx, "in %s", ml_lower_name(w->lo->cx, &f->base)));
    add_all(w, &sum->entry, &in.entry);
    add_all(w, &sum->exit, &in.exit);
    sum->barrier = in.barrier;
    sum->needed_by = in.needed_by;
    sum->all = in.all && ml_is_const_int(f->extent) && f->extent->as.i > 0;
    return copy.body == f->body ? &f->base : ml_for_from(w->lo->cx, &copy);
}

static const ml_Stmt *scan_while(Sync *w, const ml_While *l, Sum *sum)
{
    ml_SyncScope *own = ML_NEW(w->lo->cx, ml_SyncScope);
    ml_While copy = *l;
    const char *reason;
    Sum in = {0};

    *own = (ml_SyncScope){w->scope, NULL, NULL, NULL};
    read_all(w, &in, &l->base);
    copy.body = scan(w, l->body, &in);
    reason = why(w, &in.exit, &in.entry, ML_SYNC_LATER, own);
    if (reason)
        copy.body = with_barrier_at_end(w, copy.body, &l->base, reason, &in);
    if (in.barrier && !ml_sync_uniform(&w->t, l->cond))
        diverge(w, in.barrier, &in, "in a while loop");
    *sum = in;
    sum->all = false;
    return copy.body == l->body
               ? &l->base
               : ml_stmt_at(w->lo->cx, ml_while(w->lo->cx, l->cond, copy.body),
                            l->base.span);
}

static const ml_Stmt *scan_if(Sync *w, const ml_If *i, Sum *sum)
{
    const ml_SyncScope *around = w->scope;
    const ml_Expr *cond = expand(w, i->cond);
    ml_SyncScope *yes = ML_NEW(w->lo->cx, ml_SyncScope),
                 *no = ML_NEW(w->lo->cx, ml_SyncScope);
    const ml_Stmt *then, *other = i->other;
    Sum a = {0}, b = {0};

    read_all(w, sum, &i->base);
    *yes = (ml_SyncScope){around, NULL, NULL, cond};
    *no = (ml_SyncScope){around, NULL, NULL, cond ? ml_not(w->lo->cx, cond) : NULL};
    w->scope = cond ? yes : around;
    then = scan(w, i->then, &a);
    w->scope = cond ? no : around;
    if (other)
        other = scan(w, other, &b);
    w->scope = around;
    for (int k = 0; k < 2; k++) {
        const Sum *in = k ? &b : &a;

        if (in->barrier && !(cond && ml_sync_uniform(&w->t, cond)))
            diverge(
                w, in->barrier, in,
                ml_format(w->lo->cx, "under `if %s`", ml_lower_text(w->lo->cx, i->cond)));
        add_all(w, &sum->entry, &in->entry);
        add_all(w, &sum->exit, &in->exit);
    }
    sum->barrier = a.barrier ? a.barrier : b.barrier;
    sum->needed_by = a.barrier ? a.needed_by : b.needed_by;
    sum->all = a.all && b.all;
    return then == i->then && other == i->other
               ? &i->base
               : ml_stmt_at(w->lo->cx, ml_if(w->lo->cx, i->cond, then, other),
                            i->base.span);
}

static void bind(Sync *w, const ml_Bind *b)
{
    const ml_Expr *value = expand(w, b->value);

    if (!value || (value->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)))
        ml_map_set(w->lo->cx, w->unknown, b->var->uid, b);
    else
        ml_subst_var(w->lo->cx, &w->lets, b->var, value);
}

static const ml_Stmt *scan(Sync *w, const ml_Stmt *s, Sum *sum)
{
    const ml_Attr *a;
    ml_Attr copy;

    if (w->failed)
        return s;
    switch (s->kind) {
    case ML_STMT_SEQ: return scan_seq(w, ml_as_seq(s), sum);
    case ML_STMT_FOR: return scan_for(w, ml_as_for(s), sum);
    case ML_STMT_WHILE: return scan_while(w, ml_as_while(s), sum);
    case ML_STMT_IF: return scan_if(w, ml_as_if(s), sum);
    case ML_STMT_ATTR:
        a = ml_as_attr(s);
        copy = *a;
        copy.body = scan(w, a->body, sum);
        return copy.body == a->body ? s : ml_attr_from(w->lo->cx, &copy);
    case ML_STMT_BIND: bind(w, ml_as_bind(s)); break;
    }
    if (is_barrier(s)) {
        sum->barrier = s;
        sum->all = true;
        return s;
    }
    read_all(w, sum, s);
    if (s->kind == ML_STMT_STORE && counts(w, ml_as_store(s)->buffer))
        touch(w, sum, ml_as_store(s)->buffer, ml_as_store(s)->buffer->data,
              ml_as_store(s)->n == 1 ? ml_as_store(s)->indices[0] : NULL, s, true);
    return s;
}

/* ---- barriers that are there already */

typedef struct Without {
    const ml_Stmt *one;
    bool done;
} Without;

static const ml_Stmt *without(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = without, .user = user};
    Without *w = user;

    if (w->done)
        return s;
    if (s == w->one) {
        w->done = true;
        return ml_stmt_at(cx, ml_evaluate(cx, ml_i32(cx, 0)), s->span);
    }
    return ml_stmt_map(cx, s, &m);
}

typedef struct Barriers {
    ml_Ctx *cx;
    ML_VEC(const ml_Stmt *) v;
} Barriers;

static bool see_barrier(const ml_Stmt *s, void *user)
{
    Barriers *b = user;

    if (is_barrier(s))
        ml_push(b->cx, &b->v, s);
    return true;
}

static size_t needed(Sync *w, const ml_Stmt *body)
{
    Sum sum = {0};

    w->n = 0;
    w->dry = true;
    (void)scan(w, body, &sum);
    w->dry = false;
    return w->n;
}

static const ml_Stmt *take_out(Sync *w, const ml_Stmt *body)
{
    Barriers all = {.cx = w->lo->cx};
    size_t base;

    ml_stmt_visit(body, see_barrier, &all);
    base = all.v.n ? needed(w, body) : 0;
    for (size_t k = 0; k < all.v.n; k++) {
        Without one = {all.v.v[k], false};
        const ml_Stmt *less = without(w->lo->cx, body, &one);

        if (!one.done || needed(w, less) > base)
            continue;
        body = less;
        ml_lower_note(w->lo, all.v.v[k]->span,
                      "this barrier is redundant: no two threads meet in an element across "
                      "it; it is left out");
    }
    return body;
}

/* ---- kernels */

typedef struct Kernels {
    ml_Lower *lo;
    const ml_Func *func;
    ml_Map *roots;
    bool failed;
} Kernels;

static bool see_alias(const ml_Stmt *s, void *user)
{
    Kernels *k = user;
    const ml_Alloc *d = s->kind == ML_STMT_DECL ? ml_as_alloc(s) : NULL;

    if (d && d->data && d->data->kind == ML_EXPR_VAR) {
        const ml_Var *root = ml_map_get(k->roots, d->data->as.var->uid);

        ml_map_set(k->lo->cx, k->roots, d->buffer->data->uid,
                   root ? root : d->data->as.var);
    }
    return true;
}

typedef struct Written {
    Sync *w;
    ml_Map *map;
} Written;

static bool see_written(const ml_Stmt *s, void *user)
{
    Written *x = user;

    if (s->kind == ML_STMT_STORE) {
        const ml_Buffer *b = ml_as_store(s)->buffer;

        ml_map_set(x->w->lo->cx, x->map, root_of(x->w, b->data)->uid, b);
    }
    if (s->kind == ML_STMT_ALLOC) {
        const ml_Buffer *b = ml_as_alloc(s)->buffer;

        if (b->scope.rank == ML_SCOPE_SHARED)
            ml_map_set(x->w->lo->cx, x->map, b->data->uid, b);
    }
    return true;
}

static const ml_Stmt *in_kernel(Kernels *k, const ml_Stmt *s, Sync *w)
{
    const ml_Attr *a = s->kind == ML_STMT_ATTR ? ml_as_attr(s) : NULL;
    const ml_Var *v = a ? ml_attr_defines(a) : NULL;
    ml_Ctx *cx = k->lo->cx;

    if (v) {
        const ml_Expr *extent = ml_attr_extent(cx, a);
        ml_Attr copy = *a;

        if (a->thread.axis == ML_AXIS_THREAD && a->thread.dim <= ML_DIM_Z) {
            if (!extent || !ml_is_const_int(extent)) {
                k->failed = true;
                ml_lower_fail(k->lo, PASS, s, "the extent of %s is no number",
                              a->thread.name);
                return s;
            }
            w->t.var[a->thread.dim] = v;
            w->t.extent[a->thread.dim] = extent->as.i;
        }
        copy.body = in_kernel(k, a->body, w);
        return copy.body == a->body ? s : ml_attr_from(cx, &copy);
    }
    Written x = {w, ml_map_new(cx)};
    Sum sum = {0};

    w->written = x.map;
    ml_stmt_visit(s, see_written, &x);
    s = take_out(w, s);
    w->n = 0;
    s = scan(w, s, &sum);
    k->failed |= w->failed;
    return s;
}

static const ml_Stmt *find(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = find, .user = user};
    Kernels *k = user;

    if (k->failed)
        return s;
    if (s->kind == ML_STMT_ATTR && ml_attr_defines(ml_as_attr(s))) {
        Sync w = {.lo = k->lo, .roots = k->roots, .unknown = ml_map_new(cx)};

        w.t = (ml_SyncThreads){.cx = cx,
                               .ar = ml_lower_arith(k->lo, k->func),
                               .table = ML_NEW(cx, ml_SyncTable),
                               .extent = {1, 1, 1}};
        return in_kernel(k, s, &w);
    }
    return ml_stmt_map(cx, s, &m);
}

const ml_Func *ml_pass_sync_threads(ml_Lower *lo, const ml_Func *f)
{
    Kernels k = {lo, f, ml_map_new(lo->cx), false};
    const ml_Stmt *body;

    ml_stmt_visit(f->body, see_alias, &k);
    body = find(lo->cx, f->body, &k);
    return k.failed ? NULL : ml_func_with_body(lo->cx, f, body);
}
