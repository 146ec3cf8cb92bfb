/* compare - the quick look before the exact one. */
#include "moonloop/codegen/worker/compare.h"

#include <float.h>
#include <math.h>

static bool close_f32(const ml_Tensor *ref, const ml_Tensor *got, ml_Tolerance tol)
{
    const float *x = ref->data, *y = got->data;
    int64_t bad = 0;

    for (int64_t k = 0; k < ref->n_lanes; k++) {
        double r = (double)x[k], d = fabs(r - (double)y[k]);

        /* NaN and infinities are looked at exactly */
        bad += !(d <= tol.atol + tol.rtol * fabs(r)) || !(d <= DBL_MAX);
    }
    return bad == 0;
}

ml_Comparison ml_compare_fast(const ml_Tensor *ref, const ml_Tensor *got, ml_Tolerance tol)
{
    bool same = memcmp(ref->data, got->data, ref->bytes) == 0;

    if (!same && !tol.exact && ref->type.code == ML_FLOAT && ref->type.bits == 32)
        same = close_f32(ref, got, tol);
    if (same)
        return (ml_Comparison){.largest_at = -1, .first = -1};
    return ml_tensor_compare(ref, got, tol);
}
