/*
 * use_kernel - calls a kernel that moonloop saved; plain C, which links nothing of moonloop.
 *
 *   build/moonloop examples/use_kernel.lua        saves matmul.o, matmul.h, matmul.c, matmul.so
 *   cc -std=c11 use_kernel.c matmul.o -lm -lgomp && ./a.out
 *
 * matmul.c (with or without -fopenmp) or matmul.s serve as well as the object.
 */
#include "matmul.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 64, N = 48, K = 32 };

/* The largest difference from three plain loops. */
static float worst(const float *a, const float *b, const float *c)
{
    float most = 0;

    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += a[i * K + k] * b[k * N + j];
            if (fabsf(sum - c[i * N + j]) > most)
                most = fabsf(sum - c[i * N + j]);
        }
    return most;
}

int main(void)
{
    /* Arrays are aligned to 64 bytes, as the header says. */
    float *a = aligned_alloc(64, M * K * sizeof *a),
          *b = aligned_alloc(64, K * N * sizeof *b),
          *c = aligned_alloc(64, M * N * sizeof *c);
    int64_t as[2] = {M, K}, bs[2] = {K, N}, cs[2] = {M, N};
    moonloop_tensor ta = {a, {1, 0}, 2, {2, 32, 1}, as, NULL, 0},
                    tb = {b, {1, 0}, 2, {2, 32, 1}, bs, NULL, 0},
                    tc = {c, {1, 0}, 2, {2, 32, 1}, cs, NULL, 0};
    moonloop_arg args[3] = {{MOONLOOP_TENSOR, {.tensor = &ta}},
                            {MOONLOOP_TENSOR, {.tensor = &tb}},
                            {MOONLOOP_TENSOR, {.tensor = &tc}}};
    moonloop_error err;
    int bad;

    if (!a || !b || !c)
        return 1;
    for (int k = 0; k < M * K; k++)
        a[k] = (float)(k % 13) * 0.25f - 1.5f;
    for (int k = 0; k < K * N; k++)
        b[k] = (float)(k % 7) * 0.5f - 1.5f;

    /* The plain function: pointers, nothing is checked. */
    bad = matmul_body(a, b, c) != 0;
    printf("matmul_body: largest difference %g\n", (double)worst(a, b, c));
    bad |= worst(a, b, c) > 1e-4f;

    /* The packed one: tensors with shapes, all of them checked. */
    bad |= matmul_packed(args, 3, &err) != 0;
    printf("matmul_packed: largest difference %g\n", (double)worst(a, b, c));
    as[0] = M - 1;
    if (matmul_packed(args, 3, &err) == 0)
        bad = 1;
    else
        printf("refused: %s\n", err.text);
    free(a);
    free(b);
    free(c);
    return bad;
}
