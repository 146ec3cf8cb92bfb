/*
 * tile - products of tiles (AMX): a store of 16 x 16 sums whose value is such a call.
 *
 * An operand is 16 rows of 64 bytes, one after the other; it is loaded into a tile register as
 * a whole, and never is a vector. LLVM chooses the registers and configures them.
 * Source: lowering-and-codegen 9.1.
 */
#include "moonloop/codegen/llvm/emit.h"

enum { ROWS = 16, ROW_BYTES = 64 };

bool ml_cg_is_tile_product(const ml_Expr *e)
{
    const ml_Expr *name = e->kind == ML_EXPR_CALL && e->n_args > 0 ? e->args[0] : NULL;

    return name && name->kind == ML_EXPR_STRING &&
           ml_is_op(e, ML_OP_CALL_LLVM_PURE_INTRIN) &&
           strncmp(name->as.s, "llvm.x86.tdp", 12) == 0;
}

static LLVMValueRef tile_call(ml_Cg *g, const char *name, LLVMValueRef *args, unsigned n)
{
    return ml_cg_intrinsic(g, name, NULL, 0, args, n);
}

/* The address of a tile in memory; NULL: the access is none of a whole tile in a row. */
static LLVMValueRef address(ml_Cg *g, const ml_Buffer *b, const ml_Expr *const *idx,
                            size_t n, unsigned lanes)
{
    const ml_Expr *flat = ml_cg_flat(g, b, idx, n), *base, *step;

    if (lanes * ml_lane_bytes(b->type) != (size_t)ROWS * ROW_BYTES || b->type.lanes != 1 ||
        flat->type.lanes != lanes || !ml_cg_affine(g, flat, &base, &step) ||
        (step && !(step->kind == ML_EXPR_INT && step->as.i == 1)))
        return NULL;
    return ml_cg_address(g, b, base, 1, 0, false);
}

static LLVMValueRef load(ml_Cg *g, const ml_Expr *e)
{
    LLVMValueRef at =
        e->kind == ML_EXPR_LOAD && !(e->flags & ML_X_MASKED)
            ? address(g, e->as.buffer, e->args, ml_load_rank(e), e->type.lanes)
            : NULL;
    LLVMValueRef args[4] = {ml_cg_int(g, g->i16, 0, ROWS),
                            ml_cg_int(g, g->i16, 0, ROW_BYTES), at,
                            ml_cg_i64(g, ROW_BYTES)};

    return at ? tile_call(g, "llvm.x86.tileloadd64.internal", args, 4) : NULL;
}

void ml_cg_store_tile(ml_Cg *g, const ml_Store *s)
{
    const ml_Expr *e = s->value;
    const char *name = e->args[0]->as.s;
    LLVMValueRef to, v[6];

    if (!ml_cg_has_intrinsic(g, name))
        return;
    to = s->mask || e->n_args != 4 ? NULL
                                   : address(g, s->buffer, s->indices, s->n, e->type.lanes);
    v[0] = v[1] = v[2] = NULL;
    for (unsigned k = 0; k < 3 && to && !g->failed; k++) {
        v[3 + k] = load(g, e->args[1 + k]);
        if (v[3 + k] == NULL)
            to = NULL;
    }
    if (g->failed)
        return;
    if (to == NULL) {
        ml_cg_unsupported(g, "%s of other operands than whole tiles of 16 rows of 64 bytes",
                          name);
        return;
    }
    v[0] = ml_cg_int(g, g->i16, 0, ROWS);
    v[1] = v[2] = ml_cg_int(g, g->i16, 0, ROW_BYTES);
    v[3] = tile_call(g, name, v, 6);
    v[4] = v[3];
    v[3] = ml_cg_i64(g, ROW_BYTES);
    v[2] = to;
    (void)tile_call(g, "llvm.x86.tilestored64.internal", v, 5);
    ml_cg_memo_writes(g, ml_cg_pointer(g, s->buffer->data)->root);
}
