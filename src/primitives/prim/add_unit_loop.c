/*
 * add_unit_loop - put a loop of extent 1 directly around a block or loop.
 * Source: primitives 6, add_unit_loop.
 */
#include "moonloop/primitives/prim.h"

enum { TARGET };

static bool add_unit_loop(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_Given *g = &c->args[TARGET];

    if (g->node->kind == ML_STMT_BLOCK && !ml_check_not_root(c, g->uid))
        return false;

    const ml_Var *u = ml_var_new(cx, "u", ML_DT_I32);
    const ml_Stmt *loop = ml_serial(cx, u, ml_i32(cx, 0), ml_i32(cx, 1), g->node);

    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, g->uid, loop);
    ml_call_return_loop(c, loop);
    return true;
}

static const ml_Param params[] = {
    ML_PARAM("block_or_loop", ML_P_BLOCK_OR_LOOP, "what the new loop goes around"),
};

const ml_Primitive ml_prim_add_unit_loop = {
    ML_PRIM(add_unit_loop, "AddUnitLoop"),
    .group = "loops",
    .summary = "put a loop of extent 1 around a block or loop",
    .help = "Makes a place to bind or compute at where there is none.",
    ML_PARAMS(params),
    .result = ML_R_LOOP,
    .errors = (const ml_ErrorCode[]){ML_E_ROOT_BLOCK, ML_E_TOO_DEEP, ML_E_OK},
    .one_order = true,
};
