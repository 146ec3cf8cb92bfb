/*
 * check_launch - refuses kernels that their target cannot run: threads of a block, blocks,
 * bytes of shared memory, widths of vectors beyond its limits. Nothing is changed. Source:
 * lowering-and-codegen 4.8.
 */
#include "moonloop/codegen/lower/lower_impl.h"
#include "moonloop/verify/findings.h"
#include "moonloop/verify/verify.h"

const ml_Func *ml_pass_check_launch(ml_Lower *lo, const ml_Func *f)
{
    ml_Ctx *cx = lo->cx;
    const char *kind = ml_target_kinds[lo->opts.target.kind].name;
    const ml_Value *target =
        ml_dict_with(cx, NULL, "kind", ml_val_string(cx, ml_str(kind)));
    ml_Findings all = {0}, limits = {0};
    ml_Program p = {.mod = ml_module_new(cx, &f, 1, NULL)};

    p.index = ml_index_build(cx, p.mod);
    ml_verify_threads(cx, p, target, false, &all);
    for (size_t k = 0; k < all.n; k++) {
        ml_ErrorCode code = all.v[k].error->code;

        if (all.v[k].severity == ML_SEV_ERROR &&
            (code == ML_E_LAUNCH_LIMIT || code == ML_E_MEMORY_LIMIT))
            ml_push(cx, &limits, all.v[k]);
    }
    if (limits.n == 0)
        return f;
    ml_findings_fail(cx, &limits, 0);
    return NULL;
}
