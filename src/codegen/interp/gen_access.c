/*
 * gen_access - buffers, loads and stores.
 *
 * An access through a match_buffer target is an access of the source at the region's
 * minimum plus the index (checked against the target's shape too), so that views need no
 * memory of their own. After each access come the region checks of the blocks around it,
 * from the innermost outwards as long as the buffer comes from outside the block; a check
 * that the text itself decides (the index is the region's minimum, or the region is the
 * whole dimension) is left out. Source: ir-and-analysis 1.4, 1.6.
 */
#include "moonloop/codegen/interp/code.h"
#include "moonloop/core/run_on.h"
#include "moonloop/verify/view.h"

/* ---------------------------------------------------------------- buffers */

static ml_Lane lane_kind(ml_Dtype t)
{
    size_t bytes = ml_lane_bytes(t);

    if (ml_dtype_is_float(t))
        return t.code == ML_FLOAT && t.bits == 64   ? ML_LANE_F64
               : t.code == ML_FLOAT && t.bits == 32 ? ML_LANE_F32
                                                    : ML_LANE_FN;
    if (ml_dtype_is_bool(t))
        return ML_LANE_BOOL;
    if (t.bits != bytes * 8)
        return ML_LANE_ODD;
    if (t.code == ML_INT || bytes == 8)
        return bytes == 1   ? ML_LANE_I8
               : bytes == 2 ? ML_LANE_I16
               : bytes == 4 ? ML_LANE_I32
                            : ML_LANE_I64;
    return bytes == 1 ? ML_LANE_U8 : bytes == 2 ? ML_LANE_U16 : ML_LANE_U32;
}

ml_View *ml_gen_view(ml_Gen *g, const ml_Buffer *b, ml_Memory *mem)
{
    ml_View *v = ML_NEW(g->cx, ml_View);

    v->mem = mem;
    v->buffer = b;
    v->rank = b->rank;
    v->lanes = b->type.lanes ? b->type.lanes : 1;
    v->lane = ml_dtype_lanes(b->type, 1);
    v->lane_bytes = ml_lane_bytes(b->type);
    v->kind = (uint8_t)lane_kind(v->lane);
    v->extent = ML_ARRAY(g->cx, int64_t, b->rank + 1u);
    v->stride = ML_ARRAY(g->cx, int64_t, b->rank + 1u);
    v->r_offset = UINT32_MAX;
    ml_push(g->cx, &g->views, v);
    return v;
}

ml_Memory *ml_gen_memory(ml_Gen *g, const ml_Buffer *b)
{
    ml_Memory *m = ML_NEW(g->cx, ml_Memory);

    m->buffer = b;
    m->unit = ml_gen_unit(g, b);
    m->private_levels = ml_gen_private_levels(g, b);
    m->written_in_parallel =
        ml_gen_written_in_parallel(g, b) && !(g->opts.skip & ML_SKIP_RACES);
    ml_push(g->cx, &g->memories, m);
    ml_map_set(g->cx, g->pointers, b->data->uid, m);
    return m;
}

/* Strides in elements as expressions: those declared, else products of the shape. */
static const ml_Expr *const *stride_exprs(ml_Gen *g, const ml_Buffer *b)
{
    const ml_Expr **s = ML_ARRAY(g->cx, const ml_Expr *, b->rank + 1u);

    if (b->n_strides == b->rank && b->rank > 0)
        return b->strides;
    for (size_t d = b->rank; d-- > 0;) {
        const ml_Expr *x, *y;
        if (d + 1u == b->rank) {
            s[d] = ml_int(g->cx, b->shape[d]->type, 1);
            continue;
        }
        x = s[d + 1];
        y = b->shape[d + 1];
        s[d] = ml_promote(g->cx, &x, &y) ? ml_mul(g->cx, x, y) : x;
    }
    return s;
}

void ml_gen_define(ml_Gen *g, const ml_Buffer *b, ml_View *view, const ml_Match *match)
{
    ml_BufInfo *info = ML_NEW(g->cx, ml_BufInfo);

    info->buffer = b;
    info->view = view;
    info->match = match;
    info->depth = g->n_blocks;
    if (match == NULL)
        info->strides = stride_exprs(g, b);
    ml_map_set(g->cx, g->bufs, b->uid, info);
    if (!ml_map_get(g->by_data, b->data->uid)) /* else it is an alias */
        ml_map_set(g->cx, g->by_data, b->data->uid, b);
}

/* Registers for shape, strides and offset of a view that an instruction sets up. */
void ml_gen_view_registers(ml_Gen *g, ml_View *v)
{
    const ml_Buffer *b = v->buffer;

    v->r_extent = ML_ARRAY(g->cx, uint32_t, b->rank + 1u);
    for (size_t d = 0; d < b->rank; d++)
        v->r_extent[d] = ml_gen_checked(g, b->shape[d]);
    if (b->n_strides == b->rank && b->rank > 0) {
        v->r_stride = ML_ARRAY(g->cx, uint32_t, b->rank);
        for (size_t d = 0; d < b->rank; d++)
            v->r_stride[d] = ml_gen_checked(g, b->strides[d]);
    }
    if (!ml_is_int(b->elem_offset, 0))
        v->r_offset = ml_gen_checked(g, b->elem_offset);
}

/* Laid out as storage_align asks, so that a view sees the strides that it will have. */
static void align(ml_Gen *g, const ml_Buffer *b, ml_View *v)
{
    const ml_Align *asked = ml_align_asked(g->cx, g->frame->func->body, b);
    const ml_Expr *const *strides =
        asked ? ml_buffer_strides(ml_arith_new(g->cx), b, asked) : NULL;
    ml_BufInfo *info = ml_owned(ml_map_get(g->bufs, b->uid));

    if (!strides)
        return;
    info->strides = strides;
    v->r_stride = ML_ARRAY(g->cx, uint32_t, b->rank + 1u);
    for (size_t d = 0; d < b->rank; d++)
        v->r_stride[d] = ml_gen_checked(g, strides[d]);
}

void ml_gen_alloc(ml_Gen *g, const ml_Buffer *b)
{
    ml_Memory *mem;
    ml_View *v;

    if (ml_lane_bytes(b->type) == 0 || b->type.lanes == 0) {
        ml_gen_unsupported(g, ml_format(g->cx, "a buffer of this dtype (%s)", b->name));
        return;
    }
    mem = ml_gen_memory(g, b);
    mem->owned = true;
    v = ml_gen_view(g, b, mem);
    /* An offset or stride variable of an allocation that nothing defines: compact. */
    if (b->elem_offset->kind == ML_EXPR_VAR &&
        ml_map_get(g->vars, b->elem_offset->as.var->uid) == NULL)
        ml_gen_bind_until(g, b->elem_offset->as.var, ml_gen_int(g, 0), 0);
    ml_gen_view_registers(g, v);
    ml_gen_define(g, b, v, NULL);
    align(g, b, v);
    ml_gen_emit(g, ML_I_ALLOC, 0, 0, (int64_t)g->views.n - 1, 0, 0);
}

ml_BufInfo *ml_gen_buffer(ml_Gen *g, const ml_Buffer *b)
{
    const ml_BufInfo *have = ml_map_get(g->bufs, b->uid);
    const ml_Memory *mem;
    ml_BufInfo *info;

    if (have == NULL) { /* undeclared, but perhaps over a pointer that is known */
        mem = ml_map_get(g->pointers, b->data->uid);
        if (mem == NULL || ml_lane_bytes(b->type) == 0) {
            ml_gen_unsupported(
                g,
                ml_format(g->cx, "an access of %s, which is not declared here", b->name));
            return NULL;
        }
        ml_gen_define(g, b, NULL, NULL);
        have = ml_map_get(g->bufs, b->uid);
    }
    info = ML_NEW(g->cx, ml_BufInfo);
    *info = *have;
    if (info->view == NULL && info->match == NULL) {
        info->view = ml_gen_view(g, b, ml_owned(ml_map_get(g->pointers, b->data->uid)));
        info->implicit = true;
        info->depth = g->n_blocks;
        ml_gen_view_registers(g, info->view);
        ml_gen_emit(g, ML_I_VIEW, 0, 0, (int64_t)g->views.n - 1, 0, 0);
    }
    return info;
}

/* ---------------------------------------------------------------- indices through matches
 */

typedef struct Place {
    const ml_Buffer *buffer;
    ml_BufInfo *info;
    const ml_Expr **index;
    size_t rank;
} Place;

static const ml_Expr *shifted(ml_Gen *g, const ml_Expr *min, const ml_Expr *index)
{
    if (index == NULL)
        return min;
    if (!ml_promote(g->cx, &min, &index))
        return index;
    return ml_add(g->cx, min, index);
}

/* The place in the source that a place in a match target stands for. */
static bool through_match(ml_Gen *g, Place *p)
{
    const ml_Match *m = p->info->match;
    size_t rank = m->source.buffer->rank;
    size_t lead = rank - (p->rank < rank ? p->rank : rank);
    const ml_Expr **index = ML_ARRAY(g->cx, const ml_Expr *, rank + 1);

    for (size_t d = 0; d < rank; d++)
        index[d] =
            shifted(g, m->source.ranges[d].min, d < lead ? NULL : p->index[d - lead]);
    p->buffer = m->source.buffer;
    p->rank = rank;
    p->index = index;
    p->info = ml_gen_buffer(g, p->buffer);
    return p->info != NULL;
}

static uint32_t index_lane(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    bool before = g->checked;
    uint32_t r;

    g->checked = true;
    r = ml_gen_lane(g, e, e->type.lanes > 1 ? lane : 0);
    g->checked = before;
    return r;
}

static uint32_t *index_registers(ml_Gen *g, const Place *p, unsigned lane)
{
    uint32_t *r = ML_ARRAY(g->cx, uint32_t, p->rank + 1);

    for (size_t d = 0; d < p->rank; d++)
        r[d] = index_lane(g, p->index[d], lane);
    return r;
}

/* ---------------------------------------------------------------- region checks */

/* A dimension of the region that the text shows to hold the index. */
static bool dim_decided(const Place *p, const ml_Region *r, size_t d)
{
    const ml_Range *range = &r->ranges[d];

    if (p->index[d] == range->min && range->extent->kind == ML_EXPR_INT &&
        range->extent->as.i >= 1)
        return true;
    return ml_is_int(range->min, 0) && range->extent == p->buffer->shape[d];
}

static bool reads_memory(const ml_Range *r)
{
    return ((r->min->flags | r->extent->flags) & (ML_X_HAS_LOAD | ML_X_EFFECT)) != 0;
}

/* own: what is read may also be what the block writes (an accumulator, or what a block
 * within wrote before). */
static void check_block(ml_Gen *g, const Place *p, const ml_Block *b, const uint32_t *regs,
                        bool write, bool own)
{
    const ml_Region *lists[2] = {write ? b->writes : b->reads, b->writes};
    uint32_t counts[2] = {write ? b->n_writes : b->n_reads,
                          !write && own ? b->n_writes : 0};
    ml_RegVec mins = {0}, extents = {0};
    ml_BoxCheck *check;
    uint32_t n = 0;

    for (size_t l = 0; l < 2; l++)
        for (uint32_t k = 0; k < counts[l]; k++) {
            const ml_Region *r = &lists[l][k];
            size_t decided = 0;
            if (r->buffer != p->buffer)
                continue;
            for (size_t d = 0; d < p->rank; d++)
                decided += dim_decided(p, r, d);
            if (decided == p->rank)
                return;
            for (size_t d = 0; d < p->rank; d++) {
                bool open = dim_decided(p, r, d) || reads_memory(&r->ranges[d]);
                uint32_t lo = open ? regs[d] : ml_gen_checked(g, r->ranges[d].min);
                uint32_t ext =
                    open ? ml_gen_int(g, 1) : ml_gen_checked(g, r->ranges[d].extent);
                ml_push(g->cx, &mins, lo);
                ml_push(g->cx, &extents, ext);
            }
            n++;
        }
    check = ML_NEW(g->cx, ml_BoxCheck);
    *check = (ml_BoxCheck){.rank = (uint32_t)p->rank,
                           .n = n,
                           .index = regs,
                           .min = mins.v,
                           .extent = extents.v,
                           .block = &b->base,
                           .buffer = p->buffer,
                           .write = write};
    ml_push(g->cx, &g->boxes, check);
    ml_gen_emit(g, ML_I_REGION, 0, 0, (int64_t)g->boxes.n - 1, 0, 0);
}

/* The shape of a match target is a bound too. */
static void check_target(ml_Gen *g, const Place *p, unsigned lane)
{
    ml_BoxCheck *check = ML_NEW(g->cx, ml_BoxCheck);
    uint32_t *ext = ML_ARRAY(g->cx, uint32_t, p->rank + 1);

    for (size_t d = 0; d < p->rank; d++)
        ext[d] = ml_gen_checked(g, p->buffer->shape[d]);
    *check = (ml_BoxCheck){.rank = (uint32_t)p->rank,
                           .n = 1,
                           .index = index_registers(g, p, lane),
                           .extent = ext,
                           .buffer = p->buffer};
    ml_push(g->cx, &g->boxes, check);
    ml_gen_emit(g, ML_I_BOUNDS, 0, 0, (int64_t)g->boxes.n - 1, 0, 0);
}

/* Follows the matches from where the buffer is used outwards; with `check`, adds the region
 * checks of the blocks on the way. */
static bool walk_out(ml_Gen *g, Place *p, unsigned lane, bool write, bool check)
{
    const ml_Func *f = g->frame->func;
    const ml_Block *root = ml_func_root(f);

    for (uint32_t level = g->n_blocks; level > 0; level--) {
        const ml_Block *b = g->blocks[level - 1];
        while (p->info->depth >= level) { /* b's own, or deeper still */
            if (p->info->match == NULL)
                return true;
            if (!check)
                check_target(g, p, lane);
            if (!through_match(g, p))
                return false;
        }
        if (!check || b == root || (g->opts.skip & ML_SKIP_REGIONS))
            continue;
        if (p->info->implicit)
            continue;
        check_block(g, p, b, index_registers(g, p, lane), write,
                    b->init || level < g->n_blocks);
    }
    return true;
}

static bool place_of(ml_Gen *g, Place *p, const ml_Buffer *b, const ml_Expr *const *index,
                     size_t n)
{
    if (n != b->rank) {
        ml_gen_unsupported(g, ml_format(g->cx,
                                        "an access of %s with %zu indices instead of %u",
                                        b->name, n, b->rank));
        return false;
    }
    *p = (Place){.buffer = b, .rank = n};
    p->index = ML_ARRAY(g->cx, const ml_Expr *, n + 1);
    for (size_t d = 0; d < n; d++)
        p->index[d] = index[d];
    p->info = ml_gen_buffer(g, b);
    return p->info != NULL;
}

/* One lane of an access: where the lanes run on into other rows, it has its own place. */
static Place in_lane(ml_Gen *g, const Place *p, unsigned lane)
{
    size_t run = ml_run_dim(p->buffer, p->index, p->rank);
    Place one = *p;

    if (run == p->rank)
        return one;
    one.index = ML_ARRAY(g->cx, const ml_Expr *, p->rank + 1);
    ml_run_lane(g->cx, p->buffer, p->index, p->rank, run, lane, one.index);
    return one;
}

/* A block whose reduction runs across threads, and which writes that buffer. */
static uint32_t class_of(ml_Gen *g, const ml_Buffer *b, const ml_Buffer *source)
{
    for (uint32_t k = g->n_blocks; k-- > 0;)
        if (g->block_cls[k])
            for (uint32_t w = 0; w < g->blocks[k]->n_writes; w++)
                if (g->blocks[k]->writes[w].buffer == b ||
                    g->blocks[k]->writes[w].buffer == source)
                    return g->block_cls[k];
    return 0;
}

/* Emits nothing; the access of one lane as a record. */
static int64_t new_access(ml_Gen *g, const Place *named, const Place *p, unsigned lane)
{
    ml_Access *ac = ML_NEW(g->cx, ml_Access);
    unsigned elem = p->info->view->lanes;

    ac->view = p->info->view;
    ac->sub = lane % elem;
    ac->index = index_registers(g, p, lane / elem);
    ac->cls = class_of(g, named->buffer, p->buffer);
    ml_push(g->cx, &g->accesses, ac);
    return (int64_t)g->accesses.n - 1;
}

uint32_t ml_gen_load(ml_Gen *g, const ml_Expr *e, unsigned lane, bool may_be_undefined)
{
    size_t n = ml_load_rank(e);
    bool masked = (e->flags & ML_X_MASKED) != 0;
    uint32_t d = ml_gen_reg(g);
    uint32_t state = may_be_undefined ? ml_gen_reg(g) : 0;
    const ml_Expr *before = g->expr;
    unsigned elem;
    ml_Label *end = ml_gen_label(g);
    size_t mark = ml_gen_memo_mark(g);
    Place named, p;
    int64_t ac;

    ML_ASSERT(!may_be_undefined || state == d + 1);
    if (masked) {
        const ml_Expr *m = e->args[e->n_args - 1];
        uint32_t zero = ml_gen_int(g, 0);
        uint32_t on = ml_gen_condition(g, m, lane);
        ml_gen_emit(g, ML_I_MOV, 0, d, zero, 0, 0);
        if (may_be_undefined)
            ml_gen_emit(g, ML_I_MOV, 0, state, ml_gen_int(g, 1), 0, 0);
        mark = ml_gen_memo_mark(g);
        ml_gen_jump(g, ML_I_JZ, on, end);
    }
    if (!place_of(g, &named, e->as.buffer, e->args, n))
        return d;
    elem = e->as.buffer->type.lanes ? e->as.buffer->type.lanes : 1;
    named = in_lane(g, &named, lane / elem);
    p = named;
    if (!walk_out(g, &p, lane / elem, false, false) || p.info->view == NULL)
        return d;
    g->expr = e;
    ac = new_access(g, &named, &p, lane);
    ml_gen_emit(g, may_be_undefined ? ML_I_LOADU : ML_I_LOAD, 0, d, ac, 0, 0);
    p = named;
    (void)walk_out(g, &p, lane / elem, false, true);
    g->expr = before;
    if (masked) {
        ml_gen_memo_release(g, mark);
        ml_gen_place(g, end);
    }
    return d;
}

static void store_lane(ml_Gen *g, const ml_Store *s, const Place *whole, unsigned lane,
                       uint32_t value, int64_t state)
{
    unsigned elem = s->buffer->type.lanes ? s->buffer->type.lanes : 1;
    ml_Label *end = ml_gen_label(g);
    size_t mark = ml_gen_memo_mark(g);
    Place named = in_lane(g, whole, lane / elem), p = named;
    int64_t ac;

    if (s->mask) {
        uint32_t on = ml_gen_condition(g, s->mask, lane);
        mark = ml_gen_memo_mark(g);
        ml_gen_jump(g, ML_I_JZ, on, end);
    }
    if (walk_out(g, &p, lane / elem, true, false) && p.info->view) {
        ac = new_access(g, &named, &p, lane);
        ml_gen_emit(g, ML_I_STORE, 0, 0, ac, value, state);
        p = named;
        (void)walk_out(g, &p, lane / elem, true, true);
    }
    if (s->mask) {
        ml_gen_memo_release(g, mark);
        ml_gen_place(g, end);
    }
}

void ml_gen_store(ml_Gen *g, const ml_Store *s)
{
    unsigned lanes = s->value->type.lanes > 1 ? s->value->type.lanes : 1;
    uint32_t *value = ML_ARRAY(g->cx, uint32_t, lanes);
    int64_t *state = ML_ARRAY(g->cx, int64_t, lanes);
    bool copy = ml_is_copied(s->value);
    bool undef = ml_is_op(s->value, ML_OP_UNDEF);
    Place named;

    for (unsigned l = 0; l < lanes; l++) {
        state[l] = -1;
        if (undef) {
            value[l] = ml_gen_int(g, 0);
            state[l] = ml_gen_int(g, 2);
        } else if (copy) { /* a masked-off lane is neither loaded nor stored */
            uint32_t known;

            value[l] = ml_gen_copied(g, s->value, l, &known);
            state[l] = known;
        } else {
            value[l] = ml_gen_lane(g, s->value, l);
        }
    }
    if (!place_of(g, &named, s->buffer, s->indices, s->n))
        return;
    for (unsigned l = 0; l < lanes; l++)
        store_lane(g, s, &named, l, value[l], state[l]);
}

/* ---------------------------------------------------------------- match_buffer */

static void require_same(ml_Gen *g, const ml_Expr *a, const ml_Expr *b,
                         const ml_Buffer *target, const char *what)
{
    if (a == b || !ml_promote(g->cx, &a, &b) || a == b)
        return;
    ml_gen_emit(
        g, ML_I_SAME, 0, 0, ml_gen_checked(g, a), ml_gen_checked(g, b),
        ml_gen_trap(g, ML_E_WF_MATCH, ml_format(g->cx, "%s: %s", target->name, what)));
}

/* Defines a bare variable until the construct at work ends, or demands equality. */
static void bind_or_check(ml_Gen *g, const ml_Expr *have, const ml_Expr *value,
                          const ml_Buffer *target, const char *what)
{
    if (have->kind == ML_EXPR_VAR && ml_map_get(g->vars, have->as.var->uid) == NULL)
        ml_gen_bind_until(g, have->as.var, ml_gen_checked(g, value),
                          ml_gen_par_mask(g, value));
    else
        require_same(g, have, value, target, what);
}

/* An offset of 0 says nothing: the accesses are rebased. */
static void match_offset(ml_Gen *g, const ml_Match *m, const ml_Expr *const *strides)
{
    ml_Ctx *cx = g->cx;
    const ml_Buffer *t = m->target, *s = m->source.buffer;
    const ml_Expr *offset = s->elem_offset;

    if (ml_is_int(t->elem_offset, 0))
        return;
    for (size_t d = 0; d < s->rank; d++) {
        const ml_Expr *x = m->source.ranges[d].min, *y = strides[d], *z;

        if (!ml_promote(cx, &x, &y))
            continue;
        z = ml_mul(cx, x, y);
        if (ml_promote(cx, &offset, &z))
            offset = ml_add(cx, offset, z);
    }
    bind_or_check(g, t->elem_offset, offset, t,
                  "the element offset differs from the region's");
    if (t->offset_factor > 1)
        require_same(
            g, ml_int(cx, offset->type, 0),
            ml_floormod(cx, offset, ml_int(cx, offset->type, t->offset_factor)), t,
            ml_format(cx, "its element offset is no multiple of %u", t->offset_factor));
}

void ml_gen_match(ml_Gen *g, const ml_Match *m)
{
    const ml_Buffer *t = m->target, *s = m->source.buffer;
    ml_BufInfo *src = ml_gen_buffer(g, s);
    const ml_Expr **strides;
    ml_BufInfo *info;
    size_t lead;

    if (src == NULL)
        return;
    if (t->rank > s->rank || !ml_dtype_eq(t->type, s->type)) {
        ml_gen_emit(g, ML_I_TRAP, 0, 0,
                    ml_gen_trap(g, ML_E_WF_MATCH,
                                ml_format(g->cx, "%s: the source has another rank or dtype",
                                          t->name)),
                    0, 0);
        return;
    }
    lead = (size_t)s->rank - t->rank;
    for (size_t d = 0; d < s->rank; d++) {
        const ml_Expr *ext = m->source.ranges[d].extent;
        if (d < lead)
            require_same(g, ml_int(g->cx, ext->type, 1), ext, t,
                         "a leading extent is not 1");
        else
            bind_or_check(g, t->shape[d - lead], ext, t,
                          "an extent differs from the region's");
    }
    strides = ML_ARRAY(g->cx, const ml_Expr *, t->rank + 1u);
    for (size_t d = 0; d < t->rank; d++) {
        strides[d] = src->strides[lead + d];
        if (d < t->n_strides)
            bind_or_check(g, t->strides[d], strides[d], t,
                          "a stride differs from the source's");
    }
    match_offset(g, m, src->strides);
    info = ML_NEW(g->cx, ml_BufInfo);
    *info = (ml_BufInfo){.buffer = t, .match = m, .depth = g->n_blocks, .strides = strides};
    ml_map_set(g->cx, g->bufs, t->uid, info);
    ml_map_set(g->cx, g->by_data, t->data->uid, t);
}
