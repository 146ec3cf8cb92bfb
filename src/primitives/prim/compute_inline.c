/*
 * compute_inline - substitute a producer's value into all its readers and delete it.
 *
 * The producer is a complete leaf block with one store, whose indices are its iters or an
 * invertible affine map of them. Its predicate goes: region cover says that nobody reads
 * what the predicate excluded. Source: primitives 7, compute_inline.
 */
#include "moonloop/primitives/rewrite/inline.h"

#include "moonloop/core/base/fault.h"

enum { BLOCK };

/* ---- shared with reverse_compute_inline */

const ml_Store *ml_single_store(const ml_Block *b)
{
    return b->body->kind == ML_STMT_STORE ? ml_as_store(b->body) : NULL;
}

typedef struct Opaque {
    const ml_Buffer *buf;
    const ml_Block *at, *found;
} Opaque;

static void pointer_in(const ml_Expr *e, ml_Role role, void *user)
{
    Opaque *o = user;

    (void)role;
    if (!o->found && ml_expr_uses_var(e, o->buf->data))
        o->found = o->at;
}

static bool find_opaque(const ml_Stmt *s, void *user)
{
    Opaque *o = user;

    if (s->kind == ML_STMT_BLOCK) {
        o->at = ml_as_block(s);
        for (size_t k = 0; k < o->at->n_matches; k++)
            if (o->at->matches[k].source.buffer->uid == o->buf->uid)
                o->found = o->at;
    }
    if (s->kind == ML_STMT_DECL && ml_as_alloc(s)->data)
        pointer_in(ml_as_alloc(s)->data, ML_ROLE_VALUE, o);
    ml_stmt_exprs(s, pointer_in, o);
    return !o->found;
}

const ml_Block *ml_opaque_user(ml_Ctx *cx, const ml_Stmt *scope_body, const ml_Buffer *buf)
{
    Opaque o = {.buf = buf};

    (void)cx;
    ml_stmt_visit(scope_body, find_opaque, &o);
    return o.found;
}

void ml_inline_finish(ml_Call *c, ml_Uid scope, const ml_Buffer *buf)
{
    const ml_Block *root = ml_call_block(c, scope);
    const ml_Block *without = ml_block_drop_alloc(c->cx, root, buf);

    if (without != root)
        ml_call_replace(c, scope, &without->base);
}

/* ---- the producer as a function of the indices it stores at */

typedef struct Producer {
    ml_Call *c;
    const ml_Block *block;
    const ml_Buffer *buf;
    const ml_Store *store;
    ml_IterMap map; /* of the store indices, when they are not the iters in order */
    bool in_order;
    ml_Uid failed;    /* block where a substitution could not be made */
    ml_UidVec untold; /* buffers of which readers now read what cannot be told */
} Producer;

static bool is_iter_in_order(const ml_Block *b, const ml_Store *s)
{
    if (s->n != b->n_iters)
        return false;
    for (size_t k = 0; k < s->n; k++) {
        const ml_Expr *e = s->indices[k];
        const ml_Iter *it = &b->iters[k];
        bool unit = ml_is_int(it->min, 0) && ml_is_int(it->extent, 1);

        if (!(e->kind == ML_EXPR_VAR && e->as.var->uid == it->var->uid) &&
            !(unit && ml_is_int(e, 0)))
            return false;
    }
    return true;
}

static bool find_pattern(Producer *p)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Block *b = p->block;

    p->store = ml_single_store(b);
    if (!p->store || p->store->mask)
        return ml_fail(cx, ML_E_INLINE_PATTERN, ML_BLOCK(b),
                       ML_TEXT("its body is not one store"));
    if (p->store->buffer->uid != p->buf->uid)
        return ml_fail(cx, ML_E_INLINE_PATTERN, ML_BLOCK(b),
                       ML_TEXT("it stores to a view, not to the buffer itself"));
    if (b->n_matches || b->n_allocs)
        return ml_fail(cx, ML_E_INLINE_PATTERN, ML_BLOCK(b),
                       ML_TEXT("it has buffers of its own"));
    p->in_order = is_iter_in_order(b, p->store);
    if (p->in_order)
        return true;
    ml_DomVec dom = {0};
    ml_Arith *ar = ml_arith_at(cx, p->c->p, b->tag);

    for (size_t k = 0; k < b->n_iters; k++)
        ml_push(cx, &dom, ((ml_Dom){b->iters[k].var, b->iters[k].min, b->iters[k].extent}));
    p->map = ml_iter_detect(ar, p->store->indices, p->store->n, dom.v, dom.n,
                            ml_bool(cx, true), ML_BIJECTIVE, true);
    if (p->map.ok)
        return true;
    return ml_fail_as(
        cx, ML_E_INLINE_PATTERN,
        "block {0} cannot be inlined: its store indices cannot be inverted ({2})",
        ML_BLOCK(b), ML_EXPRESSION(p->store->indices[0]),
        ML_TEXT(ml_iter_fail_text(p->map.fail)));
}

/* The stored value with the iters solved for a load at idx; NULL: not invertible there. */
static const ml_Expr *value_at(Producer *p, const ml_Expr *const *idx)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Block *b = p->block;
    ml_Subst sub = {0};
    ml_Map *inverse = NULL;

    if (!p->in_order) {
        ml_Arith *ar = ml_arith_new(cx);

        ml_arith_bind_params(ar, ml_call_func(p->c));
        inverse = ml_map_new(cx);
        if (!ml_iter_inverse(ar, &p->map, idx, inverse))
            return NULL;
    }
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        const ml_Expr *to = p->in_order ? idx[k] : ml_map_get(inverse, it->var->uid);

        if (!to || ml_is_int(it->extent, 1))
            to = it->min;
        if (!ML_FAULT(INLINE_ITER) || k + 1 < b->n_iters)
            ml_subst_var(cx, &sub, it->var, ml_cast(cx, it->var->type, to));
    }
    const ml_Expr *value = ml_expr_subst(cx, p->store->value, &sub);

    ml_untold_loads(cx, value, &p->untold);
    return value;
}

static const ml_Expr *inline_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Producer *p = user;
    const ml_Expr *m = ml_expr_map_args(cx, e, inline_expr, user);

    if (m->kind != ML_EXPR_LOAD || m->as.buffer->uid != p->buf->uid)
        return m;
    for (size_t d = 0; d < m->n_args; d++)
        if (m->args[d]->type.lanes != 1) {
            p->failed = p->block->tag;
            return m;
        }
    const ml_Expr *v = m->flags & ML_X_MASKED ? NULL : value_at(p, m->args);

    if (!v)
        p->failed = p->block->tag;
    return v ? v : m;
}

static const ml_Stmt *inline_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user);

/* Blocks that read the buffer get re-inferred regions; others are left as they are. */
static const ml_Stmt *inline_block(Producer *p, const ml_Block *b)
{
    ml_Ctx *cx = p->c->cx;

    if (b->tag == p->block->tag || !ml_read_of(b, p->buf))
        return &b->base;
    ml_Block nb = *b;

    nb.body = inline_stmt(cx, b->body, p);
    if (b->init)
        nb.init = inline_stmt(cx, b->init, p);
    const ml_Block *r = ml_block_reinfer_with(
        cx, ml_call_func(p->c), ml_as_block(ml_block_from(cx, &nb)), &p->untold);

    if (!r)
        p->failed = b->tag;
    return r ? &r->base : &b->base;
}

static const ml_Stmt *inline_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    if (s->kind == ML_STMT_BLOCK)
        return inline_block(user, ml_block_map_head(cx, ml_as_block(s), inline_expr, user));
    return ml_stmt_map(
        cx, s, &(ml_Mapper){.stmt = inline_stmt, .expr = inline_expr, .user = user});
}

static bool compute_inline(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    ml_Uid block = c->args[BLOCK].uid;
    ml_Removal removal;

    if (!ml_check_not_root(c, block))
        return false;
    Producer p = {.c = c, .block = ml_call_block(c, block)};
    ml_Uid scope = ml_index_scope(c->p.index, block);
    const ml_Buffer *out = NULL;
    ml_UidVec readers = {0}, producers = {0};

    if (p.block->init)
        return ml_fail(cx, ML_E_HAS_INIT, ML_BLOCK(p.block));
    if (p.block->n_writes != 1)
        return ml_fail(cx, ML_E_NOT_SINGLE_WRITE, ML_BLOCK(p.block),
                       ML_NUMBER("writes", p.block->n_writes));
    if (!ml_check_pipeline(c, scope))
        return false;
    if (ml_is_output_block(c->p, block, &out))
        return ml_fail(cx, ML_E_OUTPUT_BLOCK, ML_BLOCK(p.block), ML_BUFFER(out));
    if (!ML_PROVE(c, ML_SOUND, ml_need_complete(cx, c->facts, c->p, block)))
        return false;
    p.buf = p.block->writes[0].buffer;
    if (!find_pattern(&p) || !ml_leaf_removal(c, block, &removal))
        return false;
    const ml_Block *opaque = ml_opaque_user(cx, ml_call_block(c, scope)->body, p.buf);

    if (opaque)
        return ml_fail_opaque(c, p.buf, opaque);

    ml_readers(cx, c->facts, c->p, scope, p.buf, &readers);
    ml_producers(cx, c->facts, c->p, block, &producers);
    ml_call_replace(c, removal.uid, removal.with);
    for (size_t k = 0; k < readers.n; k++) {
        const ml_Stmt *now = ml_index_node(c->p.index, readers.v[k]);

        if (!now)
            continue;
        p.untold.n = 0;
        const ml_Stmt *st = inline_block(&p, ml_as_block(now));

        if (p.failed && ml_ok(cx))
            return ml_fail(
                cx, ML_E_INLINE_PATTERN, ML_BLOCK(p.block),
                ML_TEXT("the indices of a load of it cannot be solved for its iters"),
                ML_BLOCK_UID(p.failed));
        if (!ml_ok_or_fail(cx))
            return false;
        ml_call_replace(c, readers.v[k], st);
    }
    ml_inline_finish(c, scope, p.buf);
    ml_call_subjects(c, ML_PRODUCER_OF, &producers, NULL);
    ml_call_subjects(c, ML_READER_OF, &readers, NULL);
    if (producers.n > 0 && ml_is_private(p.buf))
        ml_call_subjects(c, ML_SHARER_OF, &readers, p.buf);
    return true;
}

/* What the block read, too. */
static bool finds_all(ml_Call *c, ml_Uid reader)
{
    return ml_check_own_memory(c, reader) && ml_check_kept(c, c->args[BLOCK].uid, reader);
}

/* Of memory that threads share a reader took what others had read. */
static bool finds_it_alone(ml_Call *c, ml_Uid reader, const ml_Buffer *shared)
{
    (void)shared;
    return ml_check_covered(c, reader);
}

static void suggest_compute_inline(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                                   ml_Tries *t)
{
    ml_Ctx *cx = ml_schedule_ctx(s);
    ml_Program p = ml_schedule_program(s);
    ml_UidVec rel = {0};
    ml_StmtVec loops = {0};

    if (!e->primitive || ml_index_parent(p.index, args[BLOCK].uid) == 0)
        return;
    if (ml_streq(e->primitive, "compute_inline")) {
        ml_try(t, NULL, "reverse_compute_inline(\"%s\")", ml_name_of(s, args[BLOCK].uid));
        ml_consumers(cx, ml_schedule_facts(s), p, args[BLOCK].uid, &rel);
        if (rel.n)
            ml_index_loops(cx, p.index, rel.v[0], &loops);
        for (size_t k = loops.n; k-- > 0;)
            ml_try(t, NULL, "compute_at(\"%s\", \"%s\")", ml_name_of(s, args[BLOCK].uid),
                   ml_name_of(s, ml_stmt_uid(loops.v[k])));
    }
}

static const ml_Post posts[] = {
    /* What they wrote for one iteration alone may now be read outside of it. */
    {ML_SOUND, ML_PRODUCER_OF, ml_check_concurrency, NULL},
    {ML_SOUND, ML_READER_OF, finds_all, NULL},
    {ML_SOUND, ML_SHARER_OF, NULL, finds_it_alone},
    {0},
};

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the producer to be inlined"),
};

const ml_Primitive ml_prim_compute_inline = {
    ML_PRIM(compute_inline, "ComputeInline"),
    .group = "compute location",
    .summary = "substitute a producer into its readers",
    .help =
        "Each load of what the block writes becomes the stored value; the block and its\n"
        "buffer go. A block whose buffer nobody reads is simply deleted.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .posts = posts,
    .suggest = suggest_compute_inline,
    .errors = (const ml_ErrorCode[]){ML_E_ROOT_BLOCK, ML_E_HAS_INIT, ML_E_NOT_SINGLE_WRITE,
                                     ML_E_NOT_STAGE_PIPELINE, ML_E_OUTPUT_BLOCK,
                                     ML_E_NOT_COMPLETE, ML_E_INLINE_PATTERN, ML_E_ONLY_LEAF,
                                     ML_E_OPAQUE_ACCESS, ML_E_NOT_SCHEDULABLE,
                                     ML_E_ITER_NOT_PARALLEL, ML_E_NOT_REGION_COVERED,
                                     ML_E_COVER_LOST, ML_E_WOULD_RACE, ML_E_NAMES_OVERLAP,
                                     ML_E_OK},
};
