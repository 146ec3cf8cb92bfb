/*
 * plan_allocations - every buffer is allocated at the lowest loop or block that sees all
 * its accesses.
 *
 * One walk numbers the loops and blocks and keeps, per buffer, the common ancestor of what
 * was seen; it is raised where a value outlives an iteration: above the loops of a
 * reduction that writes the buffer, above opaque bindings, above loops around which a value
 * is carried (carried.c), and for global memory above blockIdx. A second walk moves the
 * allocations. Source: lowering-and-codegen 2.4.
 */
#include "moonloop/codegen/lower/plan.h"

static const char PASS[] = "plan_allocations";

/* ---------------------------------------------------------------- finding the places */

static ml_PlanNode *lca(ml_PlanNode *a, ml_PlanNode *b)
{
    while (a != b) {
        ML_ASSERT(a != NULL && b != NULL); /* the function's body is above all */
        if (a->depth < b->depth)
            b = b->up;
        else
            a = a->up;
    }
    return a;
}

static ml_PlanBuffer *record(ml_Plan *p, ml_Uid uid)
{
    /* The map's values are this pass's own records. */
    return (ml_PlanBuffer *)(uintptr_t)ml_map_get(p->buffers, uid);
}

static void touch(ml_Plan *p, ml_Uid uid, ml_PlanNode *at)
{
    ml_PlanBuffer *r = record(p, uid);

    if (!r)
        return;
    r->at = r->at ? lca(r->at, at) : at;
    r->low = r->low ? lca(r->low, at) : at;
}

static void touch_pointer(ml_Plan *p, const ml_Var *data)
{
    const ml_PlanBuffer *r = ml_map_get(p->pointers, data->uid);

    if (r)
        touch(p, r->buffer->uid, p->cur);
}

/* An alias has another uid and the same data pointer. */
static void touch_buffer(ml_Plan *p, const ml_Buffer *b)
{
    touch(p, b->uid, p->cur);
    touch_pointer(p, b->data);
}

static bool touch_expr(const ml_Expr *e, void *user)
{
    ml_Plan *p = user;

    if (e->kind == ML_EXPR_LOAD)
        touch_buffer(p, e->as.buffer);
    if (e->kind == ML_EXPR_VAR && e->type.code == ML_HANDLE)
        touch_pointer(p, e->as.var);
    return !(e->flags & ML_X_VAR_FREE) || (e->flags & ML_X_HAS_LOAD);
}

typedef struct Raise {
    ml_Plan *p;
    ml_Uid buffer;
} Raise;

/* Above every loop whose variable occurs. Iterators of blocks around stand for the loops of
 * their bindings. */
static bool raise_over(const ml_Expr *e, void *user)
{
    Raise *r = user;

    if (e->kind == ML_EXPR_VAR) {
        const ml_Expr *value = ml_map_get(r->p->bindings, e->as.var->uid);
        ml_PlanNode *loop =
            (ml_PlanNode *)(uintptr_t)ml_map_get(r->p->loops, e->as.var->uid);

        if (loop && loop->up) {
            ml_PlanBuffer *b = record(r->p, r->buffer);

            b->at = b->at ? lca(b->at, loop->up) : loop->up;
        }
        if (value)
            ml_expr_visit(value, raise_over, user);
    }
    return !(e->flags & ML_X_VAR_FREE);
}

static bool in_order(const ml_Iter *it)
{
    return it->kind != ML_ITER_SPATIAL && it->kind != ML_ITER_REDUCE;
}

static void raise_for(ml_Plan *p, const ml_Block *b, const ml_Region *r, bool written)
{
    for (uint32_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        Raise to = {p, r->buffer->uid};

        if (!record(p, to.buffer))
            continue;
        if (in_order(it) ? written || ml_region_uses_var(r, it->var)
                         : written && it->kind == ML_ITER_REDUCE)
            ml_expr_visit(it->value, raise_over, &to);
    }
}

static void walk(ml_Plan *p, const ml_Stmt *s);

static void walk_child(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    walk(user, s);
}

static ml_PlanNode *enter(ml_Plan *p, const ml_Stmt *s)
{
    ml_PlanNode *n = ML_NEW(p->lo->cx, ml_PlanNode);

    n->stmt = s;
    n->up = p->cur;
    n->depth = p->cur ? p->cur->depth + 1 : 0;
    ml_map_set(p->lo->cx, p->nodes, ml_stmt_uid(s), n);
    return p->cur = n;
}

static void define(ml_Plan *p, const ml_Buffer *b)
{
    ml_Ctx *cx = p->lo->cx;
    ml_PlanBuffer *r;

    if (record(p, b->uid))
        return;
    r = ML_NEW(cx, ml_PlanBuffer);
    r->buffer = b;
    r->site = p->cur;
    ml_map_set(cx, p->known, b->uid, b);
    ml_map_set(cx, p->buffers, b->uid, r);
    ml_map_set(cx, p->pointers, b->data->uid, r);
}

/* Position of the written buffer that an entry of buffer_dim_align is about; -1: none. */
static int64_t written(const ml_Block *b, const ml_Value *e)
{
    if (e->kind != ML_VAL_LIST || e->n != 4 || e->as.list[0]->kind != ML_VAL_INT ||
        e->as.list[0]->as.i < 0 || e->as.list[0]->as.i >= (int64_t)b->n_writes)
        return -1;
    return e->as.list[0]->as.i;
}

static void note_align(ml_Plan *p, const ml_Block *b)
{
    const ml_Value *list = ml_dict_get(b->annotations, "buffer_dim_align");

    for (uint32_t k = 0; list && list->kind == ML_VAL_LIST && k < list->n; k++) {
        int64_t at = written(b, list->as.list[k]);
        ml_PlanBuffer *r = at < 0 ? NULL : record(p, b->writes[at].buffer->uid);

        if (r)
            ml_push(p->lo->cx, &r->align, ((ml_PlanAlign){list->as.list[k], p->cur}));
    }
}

static void walk_match(ml_Plan *p, const ml_Block *b, const ml_Match *m)
{
    const ml_Region *r = &m->source;

    if (!ml_map_has(p->known, r->buffer->uid) && !p->failed) {
        ml_lower_fail(
            p->lo, PASS, &b->base,
            "match_buffer %s: its source %s is not in scope; match a parameter or "
            "what a block around allocates",
            m->target->name, r->buffer->name);
        p->failed = true;
    }
    touch_buffer(p, r->buffer);
    for (size_t d = 0; d < r->buffer->rank; d++)
        ml_expr_visit(r->ranges[d].min, touch_expr, p);
    ml_map_set(p->lo->cx, p->known, m->target->uid, m->target);
}

static void walk_block(ml_Plan *p, const ml_Block *b)
{
    ml_PlanNode *outer = p->cur;

    for (uint32_t k = 0; k < b->n_iters; k++) {
        ml_expr_visit(b->iters[k].min, touch_expr, p);
        ml_expr_visit(b->iters[k].extent, touch_expr, p);
        ml_expr_visit(b->iters[k].value, touch_expr, p);
        ml_map_set(p->lo->cx, p->bindings, b->iters[k].var->uid, b->iters[k].value);
    }
    ml_expr_visit(b->predicate, touch_expr, p);
    (void)enter(p, &b->base);
    for (uint32_t k = 0; k < b->n_allocs; k++) {
        for (size_t d = 0; d < b->allocs[k]->rank; d++)
            ml_expr_visit(b->allocs[k]->shape[d], touch_expr, p);
        define(p, b->allocs[k]);
    }
    for (uint32_t k = 0; k < b->n_writes; k++)
        raise_for(p, b, &b->writes[k], true);
    for (uint32_t k = 0; k < b->n_reads; k++)
        raise_for(p, b, &b->reads[k], false);
    note_align(p, b);
    for (uint32_t k = 0; k < b->n_matches; k++)
        walk_match(p, b, &b->matches[k]);
    ml_stmt_children(&b->base, walk_child, p);
    p->cur = outer;
}

static void walk(ml_Plan *p, const ml_Stmt *s)
{
    ml_PlanNode *outer = p->cur;

    if (s->kind == ML_STMT_BLOCK) {
        walk_block(p, ml_as_block(s));
        return;
    }
    if (s->kind == ML_STMT_STORE)
        touch_buffer(p, ml_as_store(s)->buffer);
    if (s->kind == ML_STMT_ALLOC || s->kind == ML_STMT_DECL)
        ml_map_set(p->lo->cx, p->known, ml_as_alloc(s)->buffer->uid, s);
    ml_stmt_visit_exprs(s, ML_ROLES_ALL, touch_expr, p);
    if (s->kind == ML_STMT_FOR) {
        ml_PlanNode *n = enter(p, s);

        ml_map_set(p->lo->cx, p->loops, ml_as_for(s)->var->uid, n);
        if (ml_as_for(s)->thread_var)
            ml_map_set(p->lo->cx, p->loops, ml_as_for(s)->thread_var->uid, n);
    }
    ml_stmt_children(s, walk_child, p);
    p->cur = outer;
}

/* Above every blockIdx loop: the grid shares global memory. */
static void raise_over_grid(ml_PlanBuffer *r)
{
    if (r->buffer->scope.rank != ML_SCOPE_GLOBAL)
        return;
    for (ml_PlanNode *n = r->at; n != r->site; n = n->up)
        if (n->stmt->kind == ML_STMT_FOR &&
            ml_as_for(n->stmt)->thread.axis == ML_AXIS_BLOCK)
            r->at = n->up;
}

/* A place below the old one sees all that the shape uses. */
static void settle(ml_Plan *p, ml_PlanBuffer *r)
{
    if (!r->at) {
        r->at = r->site; /* no access: compaction drops it or complains */
        return;
    }
    r->at = lca(r->at, r->site) == r->site ? r->at : r->site;
    raise_over_grid(r);
    ml_plan_raise_carried(p, r);
    ml_plan_keep_apart(p, r);
    r->at->n_allocs++;
    if (r->at != r->site)
        p->moved = true;
}

/* ---------------------------------------------------------------- moving */

/* Positions k of the list that stay; what an annotation says by position follows. */
typedef struct Kept {
    const ml_Region *v;
    uint32_t n;
    int32_t *now; /* new position or -1 */
} Kept;

static bool inside(const ml_PlanNode *n, const ml_PlanNode *above)
{
    while (n && n != above)
        n = n->up;
    return n == above;
}

/* Whether the buffer is now allocated at or below this block, or beside it. */
typedef struct Unknown {
    ml_Plan *p;
    const ml_PlanNode *here;
    bool found;
} Unknown;

static bool is_unknown(const Unknown *u, const ml_Buffer *b)
{
    const ml_PlanBuffer *r = record(u->p, b->uid);

    return r && r->at != r->site && (u->here == r->at || !inside(u->here, r->at));
}

static bool unknown_in(const ml_Expr *e, void *user)
{
    Unknown *u = user;

    if (e->kind == ML_EXPR_LOAD)
        u->found |= is_unknown(u, e->as.buffer);
    return !u->found && (e->flags & ML_X_HAS_LOAD);
}

/* Where the ends of a range load what is not known here, all of the dimension. */
static ml_Region sayable(Unknown *u, const ml_Region *r)
{
    ml_Ctx *cx = u->p->lo->cx;
    ml_Region out = *r;

    for (size_t d = 0; d < r->buffer->rank; d++) {
        const ml_Expr *n = r->buffer->shape[d];
        ml_Range *v;

        u->found = false;
        ml_expr_visit(r->ranges[d].min, unknown_in, u);
        ml_expr_visit(r->ranges[d].extent, unknown_in, u);
        if (!u->found)
            continue;
        v = ML_ARRAY(cx, ml_Range, r->buffer->rank);
        memcpy(v, out.ranges, r->buffer->rank * sizeof *v);
        v[d] = (ml_Range){ml_int(cx, n->type, 0), n};
        out.ranges = v;
    }
    return out;
}

/* Regions of buffers that are not known here any more (the region names more than the block
 * accesses) are gone. */
static Kept prune(ml_Plan *p, const ml_PlanNode *here, const ml_Region *v, uint32_t n)
{
    ml_Ctx *cx = p->lo->cx;
    ml_Region *out = ML_ARRAY(cx, ml_Region, n + 1u);
    Kept kept = {out, 0, ML_ARRAY(cx, int32_t, n + 1u)};
    Unknown u = {p, here, false};

    for (uint32_t k = 0; k < n; k++) {
        bool gone = is_unknown(&u, v[k].buffer);

        kept.now[k] = gone ? -1 : (int32_t)kept.n;
        if (!gone)
            out[kept.n++] = sayable(&u, &v[k]);
    }
    return kept;
}

/* A list of positions (explicit_read_region, explicit_write_region). */
static const ml_Value *moved_positions(ml_Ctx *cx, const ml_Value *list, const Kept *kept,
                                       uint32_t n)
{
    ML_VEC(const ml_Value *) out = {0};
    const ml_Value *one[1] = {list};
    const ml_Value *const *v = list->kind == ML_VAL_LIST ? list->as.list : one;
    size_t count = list->kind == ML_VAL_LIST ? list->n : 1;

    for (size_t k = 0; k < count; k++) {
        if (v[k]->kind != ML_VAL_INT || v[k]->as.i < 0 || v[k]->as.i >= (int64_t)n)
            ml_push(cx, &out, v[k]);
        else if (kept->now[v[k]->as.i] >= 0)
            ml_push(cx, &out, ml_val_int(cx, kept->now[v[k]->as.i]));
    }
    return ml_val_list(cx, out.v, out.n);
}

/* buffer_dim_align names a written buffer by position; where its region is gone the entry
 * goes to the place of the allocation. */
static const ml_Value *moved_align(ml_Ctx *cx, const ml_Value *list, const Kept *kept,
                                   const ml_Block *old)
{
    ML_VEC(const ml_Value *) out = {0};

    if (list->kind != ML_VAL_LIST)
        return list;
    for (size_t k = 0; k < list->n; k++) {
        const ml_Value *e = list->as.list[k], *four[4];
        int64_t at;

        at = written(old, e);
        if (at < 0) {
            ml_push(cx, &out, e);
        } else if (kept->now[at] >= 0) {
            memcpy(four, e->as.list, sizeof four);
            four[0] = ml_val_int(cx, kept->now[at]);
            ml_push(cx, &out, ml_val_list(cx, four, 4));
        }
    }
    return ml_val_list(cx, out.v, out.n);
}

/* The entries of what a block allocates, from blocks that no longer have its region. */
static const ml_Value *alloc_align(ml_Plan *p, const ml_Value *notes,
                                   const ml_Buffer *const *allocs, uint32_t n)
{
    ML_VEC(const ml_Value *) out = {0};
    ml_Ctx *cx = p->lo->cx;

    for (uint32_t k = 0; k < n; k++) {
        const ml_PlanBuffer *r = record(p, allocs[k]->uid);

        for (size_t j = 0; r->at != r->site && j < r->align.n; j++) {
            const ml_Value *four[4];

            if (!inside(r->at, r->align.v[j].block))
                continue;
            memcpy(four, r->align.v[j].entry->as.list, sizeof four);
            four[0] = ml_val_int(cx, k);
            ml_push(cx, &out, ml_val_list(cx, four, 4));
        }
    }
    return out.n
               ? ml_dict_with(cx, notes, ML_ALLOC_DIM_ALIGN, ml_val_list(cx, out.v, out.n))
               : notes;
}

static void prune_block(ml_Plan *p, const ml_PlanNode *here, const ml_Block *old,
                        ml_Block *b)
{
    static const char *const keys[] = {"explicit_read_region", "explicit_write_region"};
    ml_Ctx *cx = p->lo->cx;
    Kept kept[2] = {prune(p, here, old->reads, old->n_reads),
                    prune(p, here, old->writes, old->n_writes)};
    const ml_Value *list;

    for (size_t k = 0; k < 2; k++) {
        uint32_t n = k ? old->n_writes : old->n_reads;

        list = ml_dict_get(b->annotations, keys[k]);
        if (list && kept[k].n < n)
            b->annotations = ml_dict_with(cx, b->annotations, keys[k],
                                          moved_positions(cx, list, &kept[k], n));
    }
    list = ml_dict_get(b->annotations, "buffer_dim_align");
    if (list && kept[1].n < old->n_writes)
        b->annotations = ml_dict_with(cx, b->annotations, "buffer_dim_align",
                                      moved_align(cx, list, &kept[1], old));
    b->reads = kept[0].v;
    b->n_reads = kept[0].n;
    b->writes = kept[1].v;
    b->n_writes = kept[1].n;
}

/* Those now allocated at a node, in order of their first allocation. */
static uint32_t allocated_at(ml_Plan *p, const ml_PlanNode *n, const ml_Buffer ***out)
{
    const ml_Buffer **v = ML_ARRAY(p->lo->cx, const ml_Buffer *, n->n_allocs + 1u);
    uint32_t count = 0;

    for (size_t k = 0; n->n_allocs && k < ml_map_count(p->buffers); k++) {
        const ml_PlanBuffer *r = ml_map_value_at(p->buffers, k);

        if (r->at == n)
            v[count++] = r->buffer;
    }
    *out = v;
    return count;
}

static ml_Region whole(ml_Ctx *cx, const ml_Buffer *b)
{
    ml_Range *r = ML_ARRAY(cx, ml_Range, b->rank + 1u);

    for (size_t d = 0; d < b->rank; d++)
        r[d] = (ml_Range){ml_int(cx, b->shape[d]->type, 0), b->shape[d]};
    return (ml_Region){b, r};
}

/* The body of a loop in a block that allocates. */
static const ml_Stmt *wrap(ml_Plan *p, const ml_PlanNode *n, const ml_Stmt *body)
{
    ml_Ctx *cx = p->lo->cx;
    const ml_Buffer **allocs;
    uint32_t n_allocs = allocated_at(p, n, &allocs);
    ml_Block b = {.name = "", .body = body, .predicate = ml_bool(cx, true)};
    ml_Access a = {0};

    b.base.span = allocs[0]->span ? allocs[0]->span : ml_span_of(body, n->stmt->span);
    b.tag = ml_fresh_uid(cx);
    b.allocs = allocs;
    b.n_allocs = n_allocs;
    ml_block_access(cx, p->f, ml_as_block(ml_block_from(cx, &b)), &a);
    for (size_t k = 0; k < a.opaque.n; k++) {
        ml_push(cx, &a.reads, whole(cx, a.opaque.v[k]));
        ml_push(cx, &a.writes, whole(cx, a.opaque.v[k]));
    }
    b.reads = a.reads.v;
    b.n_reads = (uint32_t)a.reads.n;
    b.writes = a.writes.v;
    b.n_writes = (uint32_t)a.writes.n;
    b.annotations = alloc_align(p, NULL, allocs, n_allocs);
    return ml_block_from(cx, &b);
}

static const ml_Stmt *move(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = move, .user = user};
    ml_Plan *p = user;
    const ml_PlanNode *n;

    if (!s->has_block && !s->has_loop)
        return s;
    if (s->kind != ML_STMT_FOR && s->kind != ML_STMT_BLOCK)
        return ml_stmt_map(cx, s, &m);
    n = ml_map_get(p->nodes, ml_stmt_uid(s));
    if (s->kind == ML_STMT_FOR) {
        ml_For f = *ml_as_for(s);

        f.body = move(cx, f.body, p);
        if (n->n_allocs)
            f.body = wrap(p, n, f.body);
        if (n->serial)
            f.kind = ML_FOR_SERIAL;
        return f.body == ml_as_for(s)->body && !n->serial ? s : ml_for_from(cx, &f);
    }
    ml_Block b = *ml_as_block(s);
    const ml_Buffer **allocs;

    b.body = move(cx, b.body, p);
    prune_block(p, n, ml_as_block(s), &b);
    b.n_allocs = allocated_at(p, n, &allocs);
    b.allocs = allocs;
    b.annotations = alloc_align(p, b.annotations, allocs, b.n_allocs);
    return ml_block_from(cx, &b);
}

/* ---------------------------------------------------------------- the pass */

const ml_Func *ml_pass_plan_allocations(ml_Lower *lo, const ml_Func *f)
{
    ml_Plan p = {.lo = lo, .f = f};
    ml_Ctx *cx = lo->cx;

    p.buffers = ml_map_new(cx);
    p.pointers = ml_map_new(cx);
    p.nodes = ml_map_new(cx);
    p.loops = ml_map_new(cx);
    p.bindings = ml_map_new(cx);
    p.known = ml_map_new(cx);
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer)
            ml_map_set(cx, p.known, f->params[k].buffer->uid, f->params[k].buffer);
    walk(&p, f->body);
    if (p.failed)
        return NULL;
    for (size_t k = 0; k < ml_map_count(p.buffers); k++)
        settle(&p, record(&p, ml_map_key_at(p.buffers, k)));
    if (p.facts)
        ml_facts_free(p.facts);
    if (p.failed)
        return NULL;
    return p.moved ? ml_func_with_body(cx, f, move(cx, f->body, &p)) : f;
}
