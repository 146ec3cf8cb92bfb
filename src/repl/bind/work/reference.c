/*
 * reference - direct nested loops in double precision: what workloads are compared with.
 *
 * Independent of programs and of the interpreter: a contraction is given by extents and by
 * the affine index of each dimension, products outside a tensor count as zero, and each
 * result is rounded once. Source: workloads 9.
 */
#include "repl/bind/work/work.h"

#include <math.h>

enum { MAX_LOOPS = 64, MAX_DIMS = 16 };

typedef struct View { /* index of dimension d: offset[d] + sum of coef[d][loop] * loop */
    ml_Tensor *t;
    int64_t offset[MAX_DIMS];
    int64_t coef[MAX_DIMS][MAX_LOOPS];
    int64_t at[MAX_DIMS]; /* now */
} View;

static int64_t small(lua_State *L, const char *what)
{
    int64_t v = bind_int(L, -1, what);

    if (v < -INT32_MAX || v > INT32_MAX)
        bind_bad(L, "contract: the %s is too large", what);
    return v;
}

/* {tensor, {offset, coef...}, ...} at idx */
static void read_view(lua_State *L, int idx, int n_loops, View *v)
{
    lua_rawgeti(L, idx, 1);
    v->t = bind_tensor(L, -1);
    lua_pop(L, 1);
    if (v->t->rank > MAX_DIMS || lua_rawlen(L, idx) != (size_t)v->t->rank + 1)
        bind_bad(L, "contract: one index for each dimension is needed");
    for (uint32_t d = 0; d < v->t->rank; d++) {
        lua_rawgeti(L, idx, (lua_Integer)d + 2);
        bind_table(L, -1, "contract: an index");
        lua_rawgeti(L, -1, 1);
        v->offset[d] = small(L, "offset");
        lua_pop(L, 1);
        for (int k = 0; k < n_loops; k++) {
            if (lua_rawgeti(L, -1, k + 2) != LUA_TNIL)
                v->coef[d][k] = small(L, "coefficient");
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
        v->at[d] = v->offset[d];
    }
}

static void advance(View *v, int loop, int64_t steps)
{
    for (uint32_t d = 0; d < v->t->rank; d++)
        v->at[d] += steps * v->coef[d][loop];
}

/* Narrows [*lo, *hi) to the iterations of the loop at which every index is inside, counted
 * from where the view stands. */
static void inside(const View *v, int loop, int64_t *lo, int64_t *hi)
{
    for (uint32_t d = 0; d < v->t->rank; d++) {
        int64_t c = v->coef[d][loop], at = v->at[d], n = v->t->shape[d];

        if (c == 0) {
            if (at < 0 || at >= n)
                *hi = *lo;
            continue;
        }
        /* 0 <= at + c * k < n */
        int64_t first = c > 0 ? -ml_floordiv_i64(at, c) : -ml_floordiv_i64(n - 1 - at, -c);
        int64_t end =
            c > 0 ? ml_floordiv_i64(n - 1 - at, c) + 1 : ml_floordiv_i64(at, -c) + 1;

        *lo = first > *lo ? first : *lo;
        *hi = end < *hi ? end : *hi;
    }
}

/* Position in the data at iteration k of the loop, and what one iteration adds. */
static int64_t place(const View *v, int loop, int64_t k, int64_t *step)
{
    int64_t at = 0;

    *step = 0;
    for (uint32_t d = 0; d < v->t->rank; d++) {
        at = at * v->t->shape[d] + v->at[d] + k * v->coef[d][loop];
        *step = *step * v->t->shape[d] + v->coef[d][loop];
    }
    return at;
}

/* The tensor's elements as doubles, or as whole numbers; in a userdata on the stack. */
typedef union Number {
    double f;
    int64_t i;
} Number;

static Number *numbers(lua_State *L, const ml_Tensor *t, bool exact, bool zero)
{
    Number *v = lua_newuserdatauv(L, ((size_t)t->n + 1) * sizeof(*v), 0);

    for (int64_t k = 0; k < t->n; k++)
        if (exact)
            v[k].i = zero ? 0 : ml_tensor_get_int(t, k);
        else
            v[k].f = zero ? 0 : ml_tensor_get(t, k);
    return v;
}

/* The innermost loop. */
static void run_loop(const View v[3], int loop, int64_t extent, bool exact,
                     Number *const x[3])
{
    int64_t lo = 0, hi = extent, at[3], step[3];

    for (int k = 0; k < 3; k++)
        inside(&v[k], loop, &lo, &hi);
    if (lo >= hi)
        return;
    for (int k = 0; k < 3; k++)
        at[k] = place(&v[k], loop, lo, &step[k]);
    for (int64_t k = lo; k < hi; k++) {
        if (exact)
            x[0][at[0]].i = (int64_t)((uint64_t)x[0][at[0]].i +
                                      (uint64_t)x[1][at[1]].i * (uint64_t)x[2][at[2]].i);
        else
            x[0][at[0]].f += x[1][at[1]].f * x[2][at[2]].f;
        at[0] += step[0];
        at[1] += step[1];
        at[2] += step[2];
    }
}

/* contract({extents}, out, a, b): out += a * b over all loops, out zeroed first; each of
 * out, a, b is {tensor, {offset, coefficient of each loop...} for each dimension} */
static int contract(lua_State *L)
{
    int64_t extent[MAX_LOOPS], now[MAX_LOOPS] = {0};
    BindState *st = bind_state(L);
    View v[3] = {{0}};
    Number *x[3];

    bind_table(L, 1, "contract: extents");
    int n = (int)lua_rawlen(L, 1);

    if (n < 1 || n > MAX_LOOPS)
        return bind_bad(L, "contract: 1 to %d loops", MAX_LOOPS);
    for (int k = 0; k < n; k++) {
        lua_rawgeti(L, 1, k + 1);
        extent[k] = bind_int(L, -1, "extent");
        lua_pop(L, 1);
        if (extent[k] <= 0 || extent[k] > INT32_MAX)
            return bind_bad(L, "contract: extents are positive");
    }
    for (int k = 0; k < 3; k++) {
        bind_table(L, k + 2, "contract: a view");
        read_view(L, k + 2, n, &v[k]);
    }
    bool exact = !ml_dtype_is_float(v[0].t->type);

    for (int k = 0; k < 3; k++)
        x[k] = numbers(L, v[k].t, exact, k == 0);
    for (;;) {
        int k = n - 2;

        run_loop(v, n - 1, extent[n - 1], exact, x);
        while (k >= 0 && ++now[k] == extent[k]) {
            now[k] = 0;
            for (int j = 0; j < 3; j++)
                advance(&v[j], k, -(extent[k] - 1));
            k--;
        }
        if (k < 0)
            break;
        for (int j = 0; j < 3; j++)
            advance(&v[j], k, 1);
        if (st->interrupt && *st->interrupt)
            return ml_lua_fail(L, ML_E_INTERRUPTED, "interrupted");
    }
    for (int64_t k = 0; k < v[0].t->n; k++)
        if (exact)
            ml_tensor_set_int(v[0].t, k, x[0][k].i);
        else
            ml_tensor_set(v[0].t, k, x[0][k].f);
    return 0;
}

/* softmax(out, in [, scale]): of the scaled rows, over the last dimension */
static int softmax(lua_State *L)
{
    ml_Tensor *y = bind_tensor(L, 1), *x = bind_tensor(L, 2);
    double scale = bind_number_or(L, 3, "scale", 1);

    if (x->rank < 1 || y->rank != x->rank || x->n != y->n)
        return bind_bad(L, "softmax: two tensors of one shape are needed");
    int64_t n = x->shape[x->rank - 1];

    for (int64_t row = 0; row < x->n; row += n) {
        double top = -HUGE_VAL, sum = 0;

        for (int64_t j = 0; j < n; j++)
            top = fmax(top, scale * ml_tensor_get(x, row + j));
        for (int64_t j = 0; j < n; j++)
            sum += exp(scale * ml_tensor_get(x, row + j) - top);
        for (int64_t j = 0; j < n; j++)
            ml_tensor_set(y, row + j, exp(scale * ml_tensor_get(x, row + j) - top) / sum);
    }
    return 0;
}

/* norm(out, in): square root of the sum of squares over all but the first dimension */
static int norm(lua_State *L)
{
    ml_Tensor *y = bind_tensor(L, 1), *x = bind_tensor(L, 2);

    if (x->rank < 1 || y->rank != 1 || y->n != x->shape[0])
        return bind_bad(L, "norm: the shapes do not fit");
    int64_t row = y->n ? x->n / y->n : 0;

    for (int64_t i = 0; i < y->n; i++) {
        double sum = 0;

        for (int64_t k = 0; k < row; k++) {
            double e = ml_tensor_get(x, i * row + k);

            sum += e * e;
        }
        ml_tensor_set(y, i, sqrt(sum));
    }
    return 0;
}

/* epilogue(y, bias, scale, offset): y = relu((y + bias) * scale + offset) along the last
 * dimension */
static int epilogue(lua_State *L)
{
    ml_Tensor *y = bind_tensor(L, 1), *v[3];

    for (int k = 0; k < 3; k++) {
        v[k] = bind_tensor(L, k + 2);
        if (y->rank < 1 || v[k]->n != y->shape[y->rank - 1])
            return bind_bad(L, "epilogue: vectors of the last dimension are needed");
    }
    for (int64_t k = 0; k < y->n; k++) {
        int64_t o = k % v[0]->n;
        double e = (ml_tensor_get(y, k) + ml_tensor_get(v[0], o)) * ml_tensor_get(v[1], o) +
                   ml_tensor_get(v[2], o);

        ml_tensor_set(y, k, fmax(e, 0));
    }
    return 0;
}

/* assign(y, x): the elements of x, rounded to y's dtype */
static int assign(lua_State *L)
{
    ml_Tensor *y = bind_tensor(L, 1), *x = bind_tensor(L, 2);

    if (x->n_lanes != y->n_lanes)
        return bind_bad(L, "assign: the sizes differ");
    for (int64_t k = 0; k < y->n_lanes; k++)
        ml_tensor_set(y, k, ml_tensor_get(x, k));
    return 0;
}

int bind_reference_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"contract", contract}, {"softmax", softmax},
                                   {"norm", norm},         {"epilogue", epilogue},
                                   {"assign", assign},     {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
