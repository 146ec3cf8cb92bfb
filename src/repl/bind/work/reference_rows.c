/*
 * reference_rows - direct loops in double precision for what is no contraction: by element,
 * by row. Each result is rounded once; integers are exact. Source: workloads 5, 9.
 */
#include "repl/bind/work/work.h"

#include <math.h>

static void want_same(lua_State *L, const char *name, const ml_Tensor *a,
                      const ml_Tensor *b)
{
    if (a->n != b->n || a->rank != b->rank)
        bind_bad(L, "%s: tensors of one shape are needed", name);
}

/* The last dimension; the tensor has `*rows` of them. */
static int64_t row_length(lua_State *L, const char *name, const ml_Tensor *x, int64_t *rows)
{
    if (x->rank < 1)
        bind_bad(L, "%s: a dimension is needed", name);
    int64_t n = x->shape[x->rank - 1];

    *rows = n ? x->n / n : 0;
    return n;
}

/* Element k of y: a[i] * scale + b[j], in whole numbers where y has those; relu: at least 0. */
static void set_sum(ml_Tensor *y, int64_t k, const ml_Tensor *a, int64_t i, double scale,
                    const ml_Tensor *b, int64_t j, bool relu)
{
    if (ml_dtype_is_float(y->type)) {
        double e = ml_tensor_get(a, i) * scale + ml_tensor_get(b, j);

        ml_tensor_set(y, k, relu ? fmax(e, 0) : e);
        return;
    }
    ml_tensor_set_int(
        y, k,
        (int64_t)((uint64_t)ml_tensor_get_int(a, i) + (uint64_t)ml_tensor_get_int(b, j)));
    if (relu && ml_tensor_get_int(y, k) < 0)
        ml_tensor_set_int(y, k, 0);
}

/* add(y, a, b [, relu]): y = a + b, where that is negative 0 for relu */
static int add(lua_State *L)
{
    ml_Tensor *y = bind_tensor(L, 1), *a = bind_tensor(L, 2), *b = bind_tensor(L, 3);
    bool relu = lua_toboolean(L, 4);

    want_same(L, "add", y, a);
    want_same(L, "add", y, b);
    for (int64_t k = 0; k < y->n; k++)
        set_sum(y, k, a, k, 1, b, k, relu);
    return 0;
}

/* gelu(y, x): y = x * (1 + erf(x / sqrt 2)) / 2 */
static int gelu(lua_State *L)
{
    ml_Tensor *y = bind_tensor(L, 1), *x = bind_tensor(L, 2);

    want_same(L, "gelu", y, x);
    for (int64_t k = 0; k < y->n; k++) {
        double v = ml_tensor_get(x, k);

        ml_tensor_set(y, k, v * (1 + erf(v / sqrt(2.0))) / 2);
    }
    return 0;
}

/* layer_norm(y, x, gamma, beta, epsilon): each row minus its mean, divided by its deviation,
 * times gamma, plus beta */
static int layer_norm(lua_State *L)
{
    ml_Tensor *y = bind_tensor(L, 1), *x = bind_tensor(L, 2), *v[2];
    double epsilon = bind_number_or(L, 5, "epsilon", 0);
    int64_t rows, n = row_length(L, "layer_norm", x, &rows);

    want_same(L, "layer_norm", y, x);
    for (int k = 0; k < 2; k++) {
        v[k] = bind_tensor(L, k + 3);
        if (v[k]->n != n)
            return bind_bad(L, "layer_norm: vectors of the last dimension are needed");
    }
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0, square = 0;

        for (int64_t j = 0; j < n; j++)
            sum += ml_tensor_get(x, i * n + j);
        for (int64_t j = 0; j < n; j++) {
            double e = ml_tensor_get(x, i * n + j) - sum / (double)n;

            square += e * e;
        }
        for (int64_t j = 0; j < n; j++) {
            double e = ml_tensor_get(x, i * n + j) - sum / (double)n;

            e /= sqrt(square / (double)n + epsilon);
            ml_tensor_set(y, i * n + j,
                          e * ml_tensor_get(v[0], j) + ml_tensor_get(v[1], j));
        }
    }
    return 0;
}

/* y = x * scale + bias along the last dimension */
static int add_bias(lua_State *L, const char *name, double scale, bool relu)
{
    ml_Tensor *y = bind_tensor(L, 1), *x = bind_tensor(L, 2), *b = bind_tensor(L, 3);
    int64_t rows, n = row_length(L, name, x, &rows);

    want_same(L, name, y, x);
    if (b->n != n)
        return bind_bad(L, "%s: a vector of the last dimension is needed", name);
    for (int64_t k = 0; k < y->n; k++)
        set_sum(y, k, x, k, scale, b, k % n, relu);
    return 0;
}

/* bias_add(y, x, bias [, scale]): y = x * scale + bias */
static int bias_add(lua_State *L)
{
    return add_bias(L, "bias_add", bind_number_or(L, 4, "scale", 1), false);
}

/* bias_relu(y, x, bias): y = max(x + bias, 0) */
static int bias_relu(lua_State *L)
{
    return add_bias(L, "bias_relu", 1, true);
}

/* gather(y, x, index): row index[i] of x as row i of y */
static int gather(lua_State *L)
{
    ml_Tensor *y = bind_tensor(L, 1), *x = bind_tensor(L, 2), *index = bind_tensor(L, 3);
    int64_t rows, n = row_length(L, "gather", x, &rows);

    if (y->n != index->n * n)
        return bind_bad(L, "gather: a row for each index is needed");
    for (int64_t k = 0; k < y->n; k++) {
        int64_t row = ml_tensor_get_int(index, k / n);

        if (row < 0 || row >= rows)
            return bind_bad(L, "gather: row %lld of %lld", (long long)row, (long long)rows);
        if (ml_dtype_is_float(y->type))
            ml_tensor_set(y, k, ml_tensor_get(x, row * n + k % n));
        else
            ml_tensor_set_int(y, k, ml_tensor_get_int(x, row * n + k % n));
    }
    return 0;
}

/* argmax(y, index, x): the greatest of each row, and its first place */
static int argmax(lua_State *L)
{
    ml_Tensor *y = bind_tensor(L, 1), *at = bind_tensor(L, 2), *x = bind_tensor(L, 3);
    int64_t rows, n = row_length(L, "argmax", x, &rows);

    if (y->n != rows || at->n != rows)
        return bind_bad(L, "argmax: a result for each row is needed");
    for (int64_t i = 0; i < rows; i++) {
        int64_t best = 0;

        for (int64_t j = 1; j < n; j++)
            if (ml_tensor_get(x, i * n + j) > ml_tensor_get(x, i * n + best))
                best = j;
        ml_tensor_set(y, i, ml_tensor_get(x, i * n + best));
        ml_tensor_set_int(at, i, best);
    }
    return 0;
}

/* cumsum(y, x): the running sums of each row */
static int cumsum(lua_State *L)
{
    ml_Tensor *y = bind_tensor(L, 1), *x = bind_tensor(L, 2);
    bool exact = !ml_dtype_is_float(y->type);
    int64_t rows, n = row_length(L, "cumsum", x, &rows);

    want_same(L, "cumsum", y, x);
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        uint64_t whole = 0;

        for (int64_t k = i * n; k < (i + 1) * n; k++)
            if (exact) {
                whole += (uint64_t)ml_tensor_get_int(x, k);
                ml_tensor_set_int(y, k, (int64_t)whole);
            } else {
                sum += ml_tensor_get(x, k);
                ml_tensor_set(y, k, sum);
            }
    }
    return 0;
}

/* The greatest of one window of a channel: x is NHWC, (h, w) its corner, which may lie
 * outside. */
static double window_max(const ml_Tensor *x, int64_t n, int64_t h, int64_t w, int64_t c,
                         int64_t k)
{
    double top = -HUGE_VAL;

    for (int64_t i = h < 0 ? 0 : h; i < h + k && i < x->shape[1]; i++)
        for (int64_t j = w < 0 ? 0 : w; j < w + k && j < x->shape[2]; j++)
            top = fmax(top,
                       ml_tensor_get(
                           x, ((n * x->shape[1] + i) * x->shape[2] + j) * x->shape[3] + c));
    return top;
}

/* max_pool(y, x, k, s, p): NHWC, windows of k by k at steps of s, from -p on */
static int max_pool(lua_State *L)
{
    ml_Tensor *y = bind_tensor(L, 1), *x = bind_tensor(L, 2);
    int64_t k = bind_int(L, 3, "k"), s = bind_int(L, 4, "s"), p = bind_int(L, 5, "p");
    int64_t at = 0;

    if (x->rank != 4 || y->rank != 4 || y->shape[0] != x->shape[0] ||
        y->shape[3] != x->shape[3])
        return bind_bad(L, "max_pool: the shapes do not fit");
    for (int64_t n = 0; n < y->shape[0]; n++)
        for (int64_t h = 0; h < y->shape[1]; h++)
            for (int64_t w = 0; w < y->shape[2]; w++)
                for (int64_t c = 0; c < y->shape[3]; c++)
                    ml_tensor_set(y, at++, window_max(x, n, h * s - p, w * s - p, c, k));
    return 0;
}

/* requantise(y, sum, bias, mult, shift, zero, blocked): y = ((sum + bias) * mult + half >>
 * shift) + zero, clipped to 8 bits. The channel is the last dimension; blocked: the second
 * and the last. Source: workloads 6. */
static int requantise(lua_State *L)
{
    ml_Tensor *y = bind_tensor(L, 1), *sum = bind_tensor(L, 2), *v[3];
    int64_t zero = bind_int(L, 6, "zero"), channels, q, outer = 1;
    bool blocked = lua_toboolean(L, 7);

    want_same(L, "requantise", y, sum);
    q = row_length(L, "requantise", y, &channels);
    if (blocked && y->rank < 3)
        return bind_bad(L, "requantise: three dimensions are needed");
    for (uint32_t d = 2; blocked && d < y->rank; d++)
        outer *= y->shape[d];
    channels = blocked ? y->shape[1] * q : q;
    for (int k = 0; k < 3; k++) {
        v[k] = bind_tensor(L, k + 3);
        if (v[k]->n != channels)
            return bind_bad(L, "requantise: a number for each channel is needed");
    }
    for (int64_t k = 0; k < y->n; k++) {
        int64_t c = blocked ? k / outer % y->shape[1] * q + k % q : k % q;
        int64_t shift = ml_tensor_get_int(v[2], c);
        int64_t e = ml_tensor_get_int(sum, k) + ml_tensor_get_int(v[0], c);

        if (shift < 1 || shift > 62)
            return bind_bad(L, "requantise: a shift lies in [1, 62]");
        e = ml_floordiv_i64(e * ml_tensor_get_int(v[1], c) + (INT64_C(1) << (shift - 1)),
                            INT64_C(1) << shift) +
            zero;
        ml_tensor_set_int(y, k, e < -128 ? -128 : e > 127 ? 127 : e);
    }
    return 0;
}

int bind_reference_rows(lua_State *L)
{
    static const luaL_Reg fns[] = {{"add", add},
                                   {"gelu", gelu},
                                   {"layer_norm", layer_norm},
                                   {"bias_relu", bias_relu},
                                   {"bias_add", bias_add},
                                   {"gather", gather},
                                   {"argmax", argmax},
                                   {"cumsum", cumsum},
                                   {"max_pool", max_pool},
                                   {"requantise", requantise},
                                   {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
