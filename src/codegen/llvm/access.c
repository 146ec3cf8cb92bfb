/*
 * access - loads and stores of scalars and vectors.
 *
 * A vector whose index is base + lane * stride becomes a contiguous access (stride 1, -1),
 * a few wide loads and shuffles (2 to 4; never past the last element), a splat (0), else a
 * gather or scatter. Masked lanes are not touched and read as 0. A scatter writes in the
 * order of the lanes. Source: lowering-and-codegen 7.3.
 */
#include "moonloop/codegen/llvm/emit.h"

typedef struct Access {
    const ml_Buffer *b;
    ml_Dtype lane;       /* of one lane */
    unsigned n;          /* lanes; 0: a scalar */
    const ml_Expr *flat; /* scalar: of lane 0, in elements; NULL: by `vector` */
    int64_t extra;       /* lanes further */
    const ml_Expr *step; /* elements from lane to lane, or NULL: 1 */
    LLVMValueRef vector; /* lane numbers, <n x i64> */
    LLVMValueRef mask;   /* or NULL */
    uint32_t root;
} Access;

LLVMValueRef ml_cg_tag(ml_Cg *g, uint32_t root, LLVMValueRef access)
{
    if (root < g->n_roots && g->n_roots > 1) {
        L(SetMetadata)(access, g->kind_scope, g->scope_list[root]);
        L(SetMetadata)(access, g->kind_noalias, g->noalias_list[root]);
    }
    return access;
}

/* ---------------------------------------------------------------- where the lanes are */

/* The numbers of the lanes of elements, for elements that are vectors themselves. */
static LLVMValueRef spread(ml_Cg *g, const ml_Buffer *b, const ml_Expr *flat,
                           unsigned lane0, unsigned n)
{
    unsigned el = b->type.lanes, first = lane0 / el, count;
    LLVMTypeRef t;
    LLVMValueRef v;
    int *pick = ML_ARRAY(g->cx, int, n);
    LLVMValueRef *sub = ML_ARRAY(g->cx, LLVMValueRef, n);
    bool before = g->checked;

    count = (lane0 + n - 1) / el - first + 1;
    g->checked = true;
    v = ml_cg_value(g, flat, first, count);
    g->checked = before;
    t = ml_cg_vec(g, g->i64, count);
    if (flat->type.bits < 64)
        v = flat->type.code == ML_INT ? L(BuildSExt)(g->b, v, t, "")
                                      : L(BuildZExt)(g->b, v, t, "");
    if (el == 1)
        return v;
    for (unsigned k = 0; k < n; k++) {
        pick[k] = (int)((lane0 + k) / el - first);
        sub[k] = ml_cg_i64(g, (lane0 + k) % el);
    }
    v = ml_cg_shuffle(g, v, NULL, pick, n);
    v = L(BuildMul)(g->b, v, ml_cg_int(g, g->i64, n, el), "");
    return L(BuildAdd)(g->b, v, L(ConstVector)(sub, n), "");
}

static bool locate(ml_Cg *g, Access *a, const ml_Buffer *b, const ml_Expr *const *idx,
                   size_t n_idx, unsigned lane0, unsigned n)
{
    const ml_CgPointer *p = ml_cg_pointer(g, b->data);
    const ml_Expr *flat, *base, *step;
    unsigned el = b->type.lanes;

    if (p == NULL || !ml_cg_dtype_ok(g, b->type))
        return false;
    *a = (Access){.b = b, .lane = ml_dtype_lanes(b->type, 1), .n = n, .root = p->root};
    flat = ml_cg_flat(g, b, idx, n_idx);
    if (g->failed)
        return false;
    if (flat->type.lanes <= 1) { /* one element; its lanes lie side by side */
        a->flat = flat;
        a->extra = lane0;
        return true;
    }
    if (el == 1 && ml_cg_affine(g, flat, &base, &step)) {
        if (step->kind == ML_EXPR_INT && lane0) {
            const ml_Expr *off = ml_int(g->cx, step->type, lane0);
            base = ml_add(g->cx, base, ml_mul(g->cx, step, off));
        } else if (lane0) {
            base =
                ml_add(g->cx, base, ml_mul(g->cx, step, ml_int(g->cx, step->type, lane0)));
        }
        a->flat = base;
        a->step = step;
        return true;
    }
    a->vector = spread(g, b, flat, lane0, n);
    return true;
}

static LLVMValueRef pointers(ml_Cg *g, const Access *a)
{
    LLVMTypeRef t = ml_cg_memory_type(g, a->lane, 0);
    LLVMValueRef index = a->vector, at;

    if (index) {
        ml_cg_settle(g, a->root);
        at = ml_cg_pointer(g, a->b->data)->p;
    } else {
        ML_ASSERT(a->step != NULL);
        at = ml_cg_address(g, a->b, a->flat, a->b->type.lanes, a->extra, !a->mask);
        if (a->step->kind == ML_EXPR_INT)
            index = ml_cg_iota(g, g->i64, a->n, 0, a->step->as.i);
        else
            index = L(BuildMul)(g->b, ml_cg_splat(g, ml_cg_index(g, a->step), a->n),
                                ml_cg_iota(g, g->i64, a->n, 0, 1), "");
    }
    return L(BuildGEP2)(g->b, t, at, &index, 1, "");
}

static LLVMValueRef reversed(ml_Cg *g, LLVMValueRef v, unsigned n)
{
    int *pick = ML_ARRAY(g->cx, int, n);

    for (unsigned k = 0; k < n; k++)
        pick[k] = (int)(n - 1 - k);
    return ml_cg_shuffle(g, v, NULL, pick, n);
}

/* ---------------------------------------------------------------- loads */

static LLVMValueRef load_at(ml_Cg *g, const Access *a, int64_t extra, unsigned n)
{
    LLVMTypeRef t = ml_cg_memory_type(g, a->lane, n);
    LLVMValueRef at, v;

    if (ml_cg_can_hold(a->b, a->flat, a->extra + extra, n))
        return ml_cg_held_load(g, a->b, a->root, a->flat->as.i + a->extra + extra, n);
    at = ml_cg_address(g, a->b, a->flat, a->b->type.lanes, a->extra + extra, true);
    v = L(BuildLoad2)(g->b, t, at, "");
    L(SetAlignment)(v, ml_cg_alignment(g, a->b, a->flat, a->extra + extra));
    return ml_cg_tag(g, a->root, v);
}

/* Whether all lanes, also those that are off, lie in a buffer of registers: it is read and
 * written as a whole, so that its vectors become values (a masked access would keep them in
 * memory). */
static bool in_registers(const Access *a, int64_t extra)
{
    int64_t size = ml_buffer_const_size(a->b), from;

    if (a->b->scope.rank != ML_SCOPE_LOCAL || a->b->type.lanes != 1 || a->flat == NULL ||
        a->flat->kind != ML_EXPR_INT)
        return false;
    from = a->flat->as.i + a->extra + extra;
    return from >= 0 && from <= size - (int64_t)a->n;
}

static LLVMValueRef masked_load(ml_Cg *g, const Access *a, int64_t extra, LLVMValueRef mask)
{
    LLVMTypeRef over[2] = {ml_cg_memory_type(g, a->lane, a->n), g->ptr};
    LLVMValueRef args[4];

    if (in_registers(a, extra))
        return L(BuildSelect)(g->b, mask, load_at(g, a, extra, a->n), L(ConstNull)(over[0]),
                              "");
    args[0] = ml_cg_address(g, a->b, a->flat, a->b->type.lanes, a->extra + extra, false);
    args[1] = ml_cg_int(g, g->i32, 0, ml_cg_alignment(g, a->b, a->flat, a->extra + extra));
    args[2] = mask;
    args[3] = L(ConstNull)(over[0]);
    return ml_cg_tag(g, a->root, ml_cg_intrinsic(g, "llvm.masked.load", over, 2, args, 4));
}

static LLVMValueRef gather(ml_Cg *g, const Access *a)
{
    LLVMTypeRef over[2] = {ml_cg_memory_type(g, a->lane, a->n), ml_cg_vec(g, g->ptr, a->n)};
    LLVMValueRef args[4];

    args[0] = pointers(g, a);
    args[1] = ml_cg_int(g, g->i32, 0, (int64_t)ml_cg_lane_align(g, a->b));
    args[2] = a->mask ? a->mask : ml_cg_int(g, g->i1, a->n, 1);
    args[3] = L(ConstNull)(over[0]);
    return ml_cg_tag(g, a->root,
                     ml_cg_intrinsic(g, "llvm.masked.gather", over, 2, args, 4));
}

/* Every s-th lane of at most s loads of n, none of which goes beyond the last lane wanted;
 * n >= 2. */
static LLVMValueRef strided(ml_Cg *g, const Access *a, unsigned s)
{
    unsigned n = a->n, end = (n - 1) * s, last = end + 1 - n;
    int *pick = ML_ARRAY(g->cx, int, n);
    LLVMValueRef all = NULL;

    for (unsigned from = 0; from <= end; from += n) {
        unsigned start = from < last ? from : last;
        LLVMValueRef part;
        bool any = false;
        for (unsigned k = 0; k < n; k++) {
            bool before = k * s < from, here = !before && k * s < from + n;
            pick[k] = before ? (int)k : here ? (int)((all ? n : 0) + k * s - start) : -1;
            any |= here;
        }
        if (!any)
            continue;
        part = load_at(g, a, start, n);
        all = ml_cg_shuffle(g, all ? all : part, all ? part : NULL, pick, n);
    }
    return all;
}

static LLVMValueRef splat_load(ml_Cg *g, const Access *a)
{
    return ml_cg_splat(g, load_at(g, a, 0, 0), a->n);
}

static LLVMValueRef load_lanes(ml_Cg *g, const Access *a)
{
    bool known = a->flat && (a->step == NULL || a->step->kind == ML_EXPR_INT);
    int64_t s = known ? a->step ? a->step->as.i : 1 : 0;

    if (!known)
        return gather(g, a);
    if (a->mask) {
        if (s == 1)
            return masked_load(g, a, 0, a->mask);
        if (s == -1)
            return reversed(
                g, masked_load(g, a, 1 - (int64_t)a->n, reversed(g, a->mask, a->n)), a->n);
        return gather(g, a);
    }
    if (s == 0)
        return splat_load(g, a);
    if (s == 1)
        return load_at(g, a, 0, a->n);
    if (s == -1)
        return reversed(g, load_at(g, a, 1 - (int64_t)a->n, a->n), a->n);
    if (s >= 2 && s <= 4 && a->n > 1)
        return strided(g, a, (unsigned)s);
    return gather(g, a);
}

static LLVMValueRef constant_true(ml_Cg *g, LLVMValueRef mask)
{
    if (mask && L(IsConstant)(mask) && mask == L(ConstAllOnes)(L(TypeOf)(mask)))
        return NULL;
    return mask;
}

/* The mask of an access and the lanes wanted around it. */
static LLVMValueRef lanes_on(ml_Cg *g, const ml_Expr *mask, unsigned lane0, unsigned n)
{
    bool before = g->checked;
    LLVMValueRef m, around = g->mask;

    if (mask == NULL)
        return constant_true(g, around);
    g->checked = !(mask->flags & ML_X_HAS_LOAD) || before;
    m = ml_cg_value(g, mask, lane0, n);
    g->checked = before;
    if (n && mask->type.lanes <= 1)
        m = ml_cg_splat(g, m, n);
    if (around)
        m = L(BuildAnd)(g->b, m, around, "");
    return constant_true(g, m);
}

/* A scalar access under a condition, an arm: the block it is done in, and the one after. */
static LLVMBasicBlockRef open_if(ml_Cg *g, LLVMValueRef c, LLVMBasicBlockRef *end)
{
    LLVMBasicBlockRef from = L(GetInsertBlock)(g->b), then = ml_cg_block(g, "on");

    *end = ml_cg_block(g, "endon");
    L(BuildCondBr)(g->b, c, then, *end);
    ml_cg_place(g, then);
    g->arms++;
    return from;
}

LLVMValueRef ml_cg_load(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    bool masked = (e->flags & ML_X_MASKED) != 0;
    const ml_Expr *mask = masked ? e->args[e->n_args - 1] : NULL;
    LLVMBasicBlockRef end = NULL, from = NULL, here;
    LLVMValueRef on = masked || g->mask ? lanes_on(g, mask, lane0, n) : NULL, v, phi, zero;
    size_t mark = ml_cg_memo_mark(g);
    Access a;

    if (n == 0 && on)
        from = open_if(g, on, &end);
    if (!locate(g, &a, e->as.buffer, e->args, ml_load_rank(e), lane0, n))
        return L(GetUndef)(ml_cg_type(g, e->type, n));
    ml_cg_memo_reads(g, a.root);
    a.mask = n ? on : NULL;
    v = n ? load_lanes(g, &a) : load_at(g, &a, 0, 0);
    v = ml_cg_from_memory(g, a.lane, n, v);
    if (end == NULL)
        return v;
    zero = L(ConstNull)(L(TypeOf)(v));
    here = L(GetInsertBlock)(g->b);
    g->arms--;
    ml_cg_memo_release(g, mark);
    ml_cg_goto(g, end);
    ml_cg_place(g, end);
    phi = L(BuildPhi)(g->b, L(TypeOf)(v), "");
    L(AddIncoming)(phi, &v, &here, 1);
    L(AddIncoming)(phi, &zero, &from, 1);
    return phi;
}

/* ---------------------------------------------------------------- stores */

/* Whether the lanes fill aligned vectors of the machine, as stores past the caches must. */
static bool is_whole(const ml_Cg *g, const Access *a, unsigned align)
{
    unsigned bytes = a->n * (unsigned)ml_dtype_bytes(a->lane),
             v = g->ll->target.vector_bits / 8;

    return (bytes == 16 || bytes == 32 || (bytes > 0 && bytes % v == 0)) &&
           align >= (bytes < v ? bytes : v);
}

static void store_at(ml_Cg *g, const Access *a, int64_t extra, LLVMValueRef v)
{
    unsigned align = ml_cg_alignment(g, a->b, a->flat, a->extra + extra);
    LLVMValueRef at, s;

    if (ml_cg_can_hold(a->b, a->flat, a->extra + extra, a->n)) {
        ml_cg_held_store(g, a->b, a->root, a->flat->as.i + a->extra + extra, a->n, v);
        return;
    }
    at = ml_cg_address(g, a->b, a->flat, a->b->type.lanes, a->extra + extra, true);
    s = L(BuildStore)(g->b, v, at);
    L(SetAlignment)(s, align);
    if (g->streams && a->b->scope.rank == ML_SCOPE_GLOBAL && is_whole(g, a, align))
        L(SetMetadata)(s, g->kind_stream, g->one_node);
    (void)ml_cg_tag(g, a->root, s);
}

static void masked_store(ml_Cg *g, const Access *a, int64_t extra, LLVMValueRef v,
                         LLVMValueRef mask)
{
    LLVMTypeRef over[2] = {L(TypeOf)(v), g->ptr};
    LLVMValueRef args[4] = {v};

    if (in_registers(a, extra)) {
        v = L(BuildSelect)(g->b, mask, v, load_at(g, a, extra, a->n), "");
        store_at(g, a, extra, v);
        return;
    }
    args[1] = ml_cg_address(g, a->b, a->flat, a->b->type.lanes, a->extra + extra, false);
    args[2] = ml_cg_int(g, g->i32, 0, ml_cg_alignment(g, a->b, a->flat, a->extra + extra));
    args[3] = mask;
    (void)ml_cg_tag(g, a->root, ml_cg_intrinsic(g, "llvm.masked.store", over, 2, args, 4));
}

static void scatter(ml_Cg *g, const Access *a, LLVMValueRef v)
{
    LLVMTypeRef over[2] = {L(TypeOf)(v), ml_cg_vec(g, g->ptr, a->n)};
    LLVMValueRef args[4] = {v, pointers(g, a)};

    args[2] = ml_cg_int(g, g->i32, 0, (int64_t)ml_cg_lane_align(g, a->b));
    args[3] = a->mask ? a->mask : ml_cg_int(g, g->i1, a->n, 1);
    (void)ml_cg_tag(g, a->root,
                    ml_cg_intrinsic(g, "llvm.masked.scatter", over, 2, args, 4));
}

static void store_lanes(ml_Cg *g, const Access *a, LLVMValueRef v)
{
    bool known = a->flat && (a->step == NULL || a->step->kind == ML_EXPR_INT);
    int64_t s = known ? a->step ? a->step->as.i : 1 : 0;

    if (known && s == 1) {
        if (a->mask)
            masked_store(g, a, 0, v, a->mask);
        else
            store_at(g, a, 0, v);
    } else if (known && s == -1) {
        v = reversed(g, v, a->n);
        if (a->mask)
            masked_store(g, a, 1 - (int64_t)a->n, v, reversed(g, a->mask, a->n));
        else
            store_at(g, a, 1 - (int64_t)a->n, v);
    } else {
        scatter(g, a, v);
    }
}

static void store_scalar(ml_Cg *g, const ml_Store *s)
{
    LLVMBasicBlockRef end = NULL;
    LLVMValueRef v = ml_cg_scalar(g, s->value);
    size_t mark;
    Access a;

    if (s->mask) {
        LLVMValueRef on = ml_cg_condition(g, s->mask);
        ml_cg_settle(g, UINT32_MAX);
        (void)open_if(g, on, &end);
    }
    mark = ml_cg_memo_mark(g);
    if (locate(g, &a, s->buffer, s->indices, s->n, 0, 0)) {
        store_at(g, &a, 0, ml_cg_to_memory(g, a.lane, 0, v));
        ml_cg_memo_writes(g, a.root);
    }
    if (end) {
        g->arms--;
        ml_cg_memo_release(g, mark);
        ml_cg_goto(g, end);
        ml_cg_place(g, end);
    }
}

void ml_cg_store(ml_Cg *g, const ml_Store *s)
{
    unsigned lanes = s->value->type.lanes, step, bits, n_parts;
    LLVMValueRef *v, *m;

    if (ml_is_op(s->value, ML_OP_UNDEF))
        return;
    if (!ml_cg_dtype_ok(g, s->value->type) || !ml_cg_dtype_ok(g, s->buffer->type))
        return;
    if (lanes <= 1) {
        store_scalar(g, s);
        return;
    }
    if (ml_cg_is_tile_product(s->value)) {
        ml_cg_store_tile(g, s);
        return;
    }
    bits = ml_code_widest(s->value, 16);
    step = ml_cg_chunk(g, bits, lanes);
    n_parts = (lanes + step - 1) / step;
    v = ML_ARRAY(g->cx, LLVMValueRef, n_parts);
    m = ML_ARRAY(g->cx, LLVMValueRef, n_parts);
    for (unsigned k = 0; k < n_parts; k++) { /* all is read before anything is written */
        unsigned at = k * step, n = lanes - at < step ? lanes - at : step;
        v[k] = ml_cg_value(g, s->value, at, n);
        m[k] = s->mask ? lanes_on(g, s->mask, at, n) : NULL;
    }
    for (unsigned k = 0; k < n_parts && !g->failed; k++) {
        unsigned at = k * step, n = lanes - at < step ? lanes - at : step;
        Access a;
        if (!locate(g, &a, s->buffer, s->indices, s->n, at, n))
            return;
        a.mask = m[k];
        store_lanes(g, &a, ml_cg_to_memory(g, a.lane, n, v[k]));
        if (k == 0)
            ml_cg_memo_writes(g, a.root);
    }
}
