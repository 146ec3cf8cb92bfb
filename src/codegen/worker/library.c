/* library - OpenBLAS, opened when it is asked for: its own threads, as many as the worker
 * was told (OPENBLAS_NUM_THREADS). */
#include "moonloop/codegen/worker/library.h"

#include <dlfcn.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111 };
typedef void SgemmFn(int order, int ta, int tb, int m, int n, int k, float alpha,
                     const float *a, int lda, const float *b, int ldb, float beta, float *c,
                     int ldc);
typedef void DgemmFn(int order, int ta, int tb, int m, int n, int k, double alpha,
                     const double *a, int lda, const double *b, int ldb, double beta,
                     double *c, int ldc);

static struct Gemm { /* a kernel takes words only: the rest is here */
    SgemmFn *s;
    DgemmFn *d;
    int m, n, k;
} gemm;

static int32_t call_sgemm(const ml_Word *w)
{
    gemm.s(ROW_MAJOR, NO_TRANS, NO_TRANS, gemm.m, gemm.n, gemm.k, 1.0f, w[0].p, gemm.k,
           w[1].p, gemm.n, 0.0f, w[2].p, gemm.n);
    return 0;
}

static int32_t call_dgemm(const ml_Word *w)
{
    gemm.d(ROW_MAJOR, NO_TRANS, NO_TRANS, gemm.m, gemm.n, gemm.k, 1.0, w[0].p, gemm.k,
           w[1].p, gemm.n, 0.0, w[2].p, gemm.n);
    return 0;
}

static bool shapes_fit(const ml_WorkSet *s, bool is_double)
{
    const ml_SetArg *a = s->args;

    if (s->n != 3)
        return false;
    for (int k = 0; k < 3; k++)
        if (!a[k].is_tensor || a[k].rank != 2 || a[k].type.code != ML_FLOAT ||
            a[k].type.bits != (is_double ? 64 : 32) || a[k].type.lanes != 1 ||
            a[k].shape[0] > INT32_MAX || a[k].shape[1] > INT32_MAX)
            return false;
    return a[0].shape[1] == a[1].shape[0] && a[2].shape[0] == a[0].shape[0] &&
           a[2].shape[1] == a[1].shape[1];
}

ml_KernelFn *ml_library_kernel(ml_Ctx *cx, const char *name, const ml_WorkSet *s)
{
    static const char *const files[] = {"libopenblas.so.0", "libopenblas.so"};
    bool is_double = ml_streq(name, "openblas:dgemm");
    void *lib = NULL;
    union {
        void *p;
        SgemmFn *s;
        DgemmFn *d;
    } f = {0};

    if (!is_double && !ml_streq(name, "openblas:sgemm")) {
        ml_fail(cx, ML_E_BAD_ARGUMENT,
                ML_TEXT(ml_format(cx, "no library kernel %s", name)));
        return NULL;
    }
    if (!shapes_fit(s, is_double)) {
        ml_fail(
            cx, ML_E_BAD_ARGUMENT,
            ML_TEXT("only a plain matrix product of three rank-2 tensors can be compared "
                    "with OpenBLAS"));
        return NULL;
    }
    for (size_t k = 0; k < ML_COUNT(files) && !lib; k++)
        lib = dlopen(files[k], RTLD_NOW | RTLD_LOCAL);
    f.p = lib ? dlsym(lib, is_double ? "cblas_dgemm" : "cblas_sgemm") : NULL;
    if (f.p == NULL) {
        ml_fail(cx, ML_E_NO_FILE,
                ML_TEXT("OpenBLAS is not installed (Debian: libopenblas0-pthread)"));
        return NULL;
    }
    gemm.s = is_double ? NULL : f.s;
    gemm.d = is_double ? f.d : NULL;
    gemm.m = (int)s->args[0].shape[0];
    gemm.k = (int)s->args[0].shape[1];
    gemm.n = (int)s->args[1].shape[1];
    return is_double ? call_dgemm : call_sgemm;
}
