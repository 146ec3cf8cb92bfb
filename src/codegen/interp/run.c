/*
 * run - executes register code.
 *
 * One switch in one loop; what can fail leaves it through a fault. Integers narrower than
 * 64 bits are kept sign- or zero-extended, bools are 0 or 1, floats are doubles that hold a
 * value of their type.
 */
#include "moonloop/codegen/interp/code.h"

#include <math.h>
#include <stdlib.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

static int64_t wrap(unsigned x, int64_t v)
{
    unsigned bits = x & 127u;

    if (bits >= 64)
        return v;
    if (x & ML_UNSIGNED)
        return (int64_t)((uint64_t)v & ((UINT64_C(1) << bits) - 1));
    return (int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits);
}

static bool fits(unsigned bits, int64_t v)
{
    return bits >= 64 || (v >> (bits - 1)) == (v < 0 ? -1 : 0);
}

/* ---------------------------------------------------------------- memory */

static int64_t load_bits(const ml_View *v, const uint8_t *p, ml_Cell *out)
{
    union {
        double d;
        float f;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint16_t u16;
        uint32_t u32;
    } u;
    uint64_t bits = 0;

    switch ((ml_Lane)v->kind) {
    case ML_LANE_F64:
        memcpy(&u.d, p, 8);
        out->f = u.d;
        return 0;
    case ML_LANE_F32:
        memcpy(&u.f, p, 4);
        out->f = (double)u.f;
        return 0;
    case ML_LANE_FN:
        if (v->lane_bytes == 2)
            memcpy(&u.u16, p, 2);
        bits = v->lane_bytes == 2 ? u.u16 : *p;
        out->f = ml_float_value(v->lane, bits);
        return 0;
    /* NOLINTNEXTLINE(bugprone-signed-char-misuse,cert-str34-c): a number, no character */
    case ML_LANE_I8: out->i = (int8_t)*p; return 0;
    case ML_LANE_I16:
        memcpy(&u.i16, p, 2);
        out->i = u.i16;
        return 0;
    case ML_LANE_I32:
        memcpy(&u.i32, p, 4);
        out->i = u.i32;
        return 0;
    case ML_LANE_I64:
        memcpy(&u.i64, p, 8);
        out->i = u.i64;
        return 0;
    case ML_LANE_U8: out->i = *p; return 0;
    case ML_LANE_U16:
        memcpy(&u.u16, p, 2);
        out->i = u.u16;
        return 0;
    case ML_LANE_U32:
        memcpy(&u.u32, p, 4);
        out->i = u.u32;
        return 0;
    case ML_LANE_ODD:
        if (v->lane_bytes == 1)
            bits = *p;
        else if (v->lane_bytes == 2) {
            memcpy(&u.u16, p, 2);
            bits = u.u16;
        } else if (v->lane_bytes == 4) {
            memcpy(&u.u32, p, 4);
            bits = u.u32;
        } else {
            memcpy(&bits, p, 8);
        }
        out->i = ml_dtype_wrap(v->lane, (int64_t)bits);
        return 0;
    case ML_LANE_BOOL: out->i = *p != 0; return 0;
    }
    return 0;
}

static uint64_t store_bits(const ml_View *v, ml_Cell c)
{
    float f;
    uint32_t w;
    uint64_t u;

    switch ((ml_Lane)v->kind) {
    case ML_LANE_F64: memcpy(&u, &c.f, 8); return u;
    case ML_LANE_F32:
        f = (float)c.f;
        memcpy(&w, &f, 4);
        return w;
    case ML_LANE_FN: return ml_float_bits_of(v->lane, c.f);
    case ML_LANE_I8:
    case ML_LANE_I16:
    case ML_LANE_I32:
    case ML_LANE_I64:
    case ML_LANE_U8:
    case ML_LANE_U16:
    case ML_LANE_U32:
    case ML_LANE_ODD: return (uint64_t)c.i;
    case ML_LANE_BOOL: return c.i != 0;
    }
    return 0;
}

/* The lane's number in its memory, in elements of the view's lane; checks the bounds. */
static bool locate(ml_Run *run, const ml_Access *ac, int64_t *lane)
{
    const ml_View *v = ac->view;
    int64_t off = v->offset;

    for (uint32_t d = 0; d < v->rank; d++) {
        int64_t i = run->r[ac->index[d]].i;
        if ((uint64_t)i >= (uint64_t)v->extent[d]) {
            run->fault.code = ML_E_OUT_OF_BOUNDS;
            run->fault.buffer = v->buffer;
            run->fault.number[0] = i;
            run->fault.number[1] = d;
            run->fault.number[2] = v->extent[d];
            return false;
        }
        off += i * v->stride[d];
    }
    *lane = off * (int64_t)v->lanes + ac->sub;
    return true;
}

static bool undefined(ml_Run *run, const ml_Access *ac, uint8_t state)
{
    if (state == 0 && ml_race_waits(run, ac))
        return false;
    run->fault.code = ML_E_UNDEFINED_READ;
    run->fault.buffer = ac->view->buffer;
    ml_fault_place(&run->fault, run->r, ac->index, ac->view->rank);
    return run->now.epoch && ml_threads_put_off(run); /* it may come of a race */
}

/* d gets the value; state (of LOADU) may be NULL: then an undefined element is an error. */
static bool load(ml_Run *run, const ml_Access *ac, ml_Cell *d, ml_Cell *state)
{
    const ml_View *v = ac->view;
    const ml_Memory *mem = v->mem;
    int64_t lane;
    size_t unit, n;
    uint8_t worst = 1;

    if (!locate(run, ac, &lane))
        return false;
    unit = (size_t)lane;
    n = 1;
    if (mem->unit != v->lane_bytes) {
        n = v->lane_bytes / mem->unit;
        unit *= n;
    }
    if (mem->defined) {
        for (size_t k = 0; k < n; k++)
            if (mem->defined[unit + k] != 1)
                worst = mem->defined[unit + k];
        if (worst != 1 && (state == NULL || worst == 0) &&
            !(run->g->opts.skip & ML_SKIP_UNDEFINED)) {
            if (state == NULL && !undefined(run, ac, worst))
                return false;
            if (state != NULL && ml_race_waits(run, ac))
                return false;
        }
    }
    if (mem->shadow && run->n_par)
        for (size_t k = 0; k < n; k++)
            if (!ml_race_read(run, ac, unit + k))
                return false;
    if (run->now.epoch && mem->of == ML_OF_ALL && mem->written_in_parallel)
        for (size_t k = 0; k < n; k++)
            if (!ml_seen_access(run, ac, unit + k, false, false))
                return false;
    (void)load_bits(v, mem->data + (size_t)lane * v->lane_bytes, d);
    if (state)
        state->i = worst == 1 ? 1 : 2;
    return true;
}

static bool store(ml_Run *run, const ml_Access *ac, ml_Cell value, uint8_t state)
{
    const ml_View *v = ac->view;
    ml_Memory *mem = v->mem;
    uint64_t bits = store_bits(v, value);
    int64_t lane;
    size_t unit, n;
    uint8_t *p;

    if (!locate(run, ac, &lane))
        return false;
    unit = (size_t)lane;
    n = 1;
    if (mem->unit != v->lane_bytes) {
        n = v->lane_bytes / mem->unit;
        unit *= n;
    }
    p = mem->data + (size_t)lane * v->lane_bytes;
    bool watched = run->now.epoch && mem->of == ML_OF_ALL && mem->written_in_parallel;

    if (watched || (mem->shadow && run->n_par)) {
        uint8_t old[8];
        uint16_t h = (uint16_t)bits;
        uint32_t w = (uint32_t)bits;
        bool changed;
        memcpy(old, p, v->lane_bytes);
        changed = v->lane_bytes == 1   ? old[0] != (uint8_t)bits
                  : v->lane_bytes == 2 ? memcmp(old, &h, 2) != 0
                  : v->lane_bytes == 4 ? memcmp(old, &w, 4) != 0
                                       : memcmp(old, &bits, 8) != 0;
        for (size_t k = 0; k < n; k++) {
            uint8_t was = mem->defined ? mem->defined[unit + k] : 1;
            bool differs = state == 1 ? was != 1 || changed : was != state;
            if ((mem->shadow && run->n_par && !ml_race_write(run, ac, unit + k, differs)) ||
                (watched && !ml_seen_access(run, ac, unit + k, true, differs)))
                return false;
        }
    }
    if (v->lane_bytes == 4) {
        uint32_t w = (uint32_t)bits;
        memcpy(p, &w, 4);
    } else if (v->lane_bytes == 1) {
        *p = (uint8_t)bits;
    } else if (v->lane_bytes == 2) {
        uint16_t h = (uint16_t)bits;
        memcpy(p, &h, 2);
    } else {
        memcpy(p, &bits, 8);
    }
    if (mem->defined)
        for (size_t k = 0; k < n; k++)
            mem->defined[unit + k] = state;
    return true;
}

/* ---------------------------------------------------------------- integers */

static bool trapped(ml_Run *run, int32_t k)
{
    run->fault.trap = run->g->traps.v[k];
    run->fault.code = run->fault.trap->code;
    return false;
}

static bool fail(ml_Run *run, ml_ErrorCode code)
{
    run->fault.code = code;
    return false;
}

/* Truncating or floor division and remainder; wraps at MIN / -1 unless checked. */
static bool divide(ml_Run *run, const ml_Ins *ins, int64_t a, int64_t b, int64_t *out)
{
    unsigned bits = ins->x & 127u;
    bool floors = ins->op == ML_I_FDIV || ins->op == ML_I_FMOD;

    if (b == 0)
        return fail(run, ML_E_DIVIDE_BY_ZERO);
    if (ins->op == ML_I_TMOD || ins->op == ML_I_FMOD) {
        *out = b == -1 ? 0 : a % b;
        if (floors && *out != 0 && (*out < 0) != (b < 0))
            *out += b;
        return true;
    }
    if (b == -1) {
        *out = wrap(bits, (int64_t)(0 - (uint64_t)a));
        if (a != 0 && *out == a && ins->c)
            return fail(run, ML_E_OVERFLOW);
        return true;
    }
    *out = a / b;
    if (floors && a % b != 0 && (a < 0) != (b < 0))
        --*out;
    return true;
}

static bool shift(ml_Run *run, const ml_Ins *ins, int64_t a, int64_t n, int64_t *out)
{
    unsigned bits = ins->x & 127u;

    if (n < 0 || n >= (int64_t)bits) {
        run->fault.number[0] = n;
        return fail(run, ML_E_BAD_SHIFT);
    }
    if (ins->op == ML_I_SHL) {
        *out = wrap(ins->x, (int64_t)((uint64_t)a << n));
        if (ins->c && (*out >> n) != a)
            return fail(run, ML_E_OVERFLOW);
    } else {
        *out = ins->x & ML_UNSIGNED ? (int64_t)((uint64_t)a >> n) : a >> n;
    }
    return true;
}

/* round(x * 2^left * y / 2^(q + right)), halves up, as fixed-point requantisation does. */
static int64_t multiply_shift(const ml_Cell *r, const uint32_t *list)
{
    int64_t x = r[list[0]].i, y = r[list[1]].i;
    int64_t left = r[list[2]].i & 63, total = r[list[4]].i + r[list[3]].i;
    int64_t product = (int64_t)(((uint64_t)x << left) * (uint64_t)y);

    if (total <= 0)
        return wrap(32, product);
    if (total > 62)
        total = 62;
    return wrap(32, (int64_t)((uint64_t)product + (UINT64_C(1) << (total - 1))) >> total);
}

static int64_t popcount(unsigned x, int64_t v)
{
    return __builtin_popcountll((uint64_t)wrap(x | ML_UNSIGNED, v));
}

static int64_t leading_zeros(unsigned x, int64_t v)
{
    uint64_t u = (uint64_t)wrap(x | ML_UNSIGNED, v);
    int bits = (int)(x & 127u);

    return u == 0 ? bits : __builtin_clzll(u) - (64 - bits);
}

static int64_t reinterpret(const ml_Gen *g, const ml_Ins *ins, ml_Cell a, double *f)
{
    ml_Dtype from = g->types.v[ins->b], to = g->types.v[ins->c];
    uint64_t bits = ml_dtype_is_float(from) ? ml_float_bits(from, a.f) : (uint64_t)a.i;

    if (from.code == ML_FLOAT && from.bits == 64) /* payloads too */
        memcpy(&bits, &a.f, sizeof bits);
    if (ml_dtype_is_float(to)) {
        *f = ml_float_value(
            to, bits & (to.bits >= 64 ? UINT64_MAX : (UINT64_C(1) << to.bits) - 1));
        return 0;
    }
    return ml_dtype_wrap(to, (int64_t)bits);
}

/* ---------------------------------------------------------------- loops */

/* Sets variable and count; false with a fault; *none: no iteration. */
static bool begin_loop(ml_Run *run, const ml_Ins *ins, bool *none)
{
    int64_t min = run->r[ins->a].i, ext = run->r[ins->b].i, step = run->r[ins->d + 2].i;
    int64_t last;

    *none = ext <= 0;
    run->r[ins->d].i = min;
    if (*none)
        return true;
    if (step < 1) {
        run->fault.word = "a loop whose step is not positive";
        return fail(run, ML_E_ILL_FORMED);
    }
    if (__builtin_add_overflow(min, ext - 1, &last) || wrap(ins->x, last) != last) {
        run->fault.word = "the end of a loop";
        return fail(run, ML_E_OVERFLOW);
    }
    run->r[ins->d + 1].i = (ext - 1) / step + 1;
    return true;
}

static bool count_iteration(ml_Run *run)
{
    uint64_t limit = run->g->opts.max_iterations;

    run->iterations++;
    if (limit && run->iterations > limit)
        return fail(run, ML_E_TOO_LARGE);
    if ((run->iterations & 255) == 0 && !ml_tick(run->g->cx)) {
        run->fault.code = ML_E_INTERRUPTED;
        if (ml_error(run->g->cx))
            run->fault.code = ml_error(run->g->cx)->code;
        return false;
    }
    return true;
}

/* ---------------------------------------------------------------- tracing */

static bool touch(ml_Run *run, uint32_t access)
{
    const ml_Access *ac = run->g->accesses.v[access];
    int64_t lane;

    if (!locate(run, ac, &lane))
        return false;
    return run->hooks->touch(run->hooks->user, access,
                             (uint64_t)lane * ac->view->lane_bytes) ||
           fail(run, ML_E_INTERRUPTED);
}

static bool iteration(ml_Run *run, const ml_Ins *ins)
{
    return run->hooks->iteration(run->hooks->user, (uint32_t)ins->a, run->r[ins->d].i) ||
           fail(run, ML_E_INTERRUPTED);
}

/* ---------------------------------------------------------------- the loop */

#define R(k) r[ins->k]
#define INT_CHECKED(builtin)                                                               \
    if (builtin(R(a).i, R(b).i, &R(d).i) || !fits(ins->x & 127u, R(d).i)) {                \
        ok = fail(run, ML_E_OVERFLOW);                                                     \
        break;                                                                             \
    }
#define INT_WRAPPED(op)                                                                    \
    R(d).i = wrap(ins->x, (int64_t)((uint64_t)R(a).i op(uint64_t) R(b).i))

bool ml_run_code(ml_Run *run)
{
    return ml_run_from(run, 0);
}

/* long: one case an instruction */
bool ml_run_from(ml_Run *run, uint32_t pc)
{
    const ml_Gen *g = run->g;
    const ml_Ins *code = g->code.v, *ins = code + pc;
    ml_Cell *r = run->r;
    bool ok = true;

    for (;; ins++) {
        switch ((ml_Inst)ins->op) {
        case ML_I_MOV: R(d) = R(a); break;
        case ML_I_JMP: ins = code + ins->c - 1; break;
        case ML_I_JZ:
            if (R(a).i == 0)
                ins = code + ins->c - 1;
            break;
        case ML_I_JNZ:
            if (R(a).i != 0)
                ins = code + ins->c - 1;
            break;
        case ML_I_END: run->stop = (uint32_t)(ins - code); return true;
        case ML_I_TRAP: ok = trapped(run, ins->a); break;
        case ML_I_ADDC: INT_CHECKED(__builtin_add_overflow) break;
        case ML_I_SUBC: INT_CHECKED(__builtin_sub_overflow) break;
        case ML_I_MULC: INT_CHECKED(__builtin_mul_overflow) break;
        case ML_I_ADDW: INT_WRAPPED(+); break;
        case ML_I_SUBW: INT_WRAPPED(-); break;
        case ML_I_MULW: INT_WRAPPED(*); break;
        case ML_I_TDIV:
        case ML_I_TMOD:
        case ML_I_FDIV:
        case ML_I_FMOD: ok = divide(run, ins, R(a).i, R(b).i, &R(d).i); break;
        case ML_I_UDIV:
        case ML_I_UMOD:
            if (R(b).i == 0) {
                ok = fail(run, ML_E_DIVIDE_BY_ZERO);
                break;
            }
            R(d).i = ins->op == ML_I_UDIV ? (int64_t)((uint64_t)R(a).i / (uint64_t)R(b).i)
                                          : (int64_t)((uint64_t)R(a).i % (uint64_t)R(b).i);
            break;
        case ML_I_MIN: R(d).i = R(a).i < R(b).i ? R(a).i : R(b).i; break;
        case ML_I_MAX: R(d).i = R(a).i > R(b).i ? R(a).i : R(b).i; break;
        case ML_I_UMIN:
            R(d).i = (uint64_t)R(a).i < (uint64_t)R(b).i ? R(a).i : R(b).i;
            break;
        case ML_I_UMAX:
            R(d).i = (uint64_t)R(a).i > (uint64_t)R(b).i ? R(a).i : R(b).i;
            break;
        case ML_I_EQ: R(d).i = R(a).i == R(b).i; break;
        case ML_I_NE: R(d).i = R(a).i != R(b).i; break;
        case ML_I_LT: R(d).i = R(a).i < R(b).i; break;
        case ML_I_LE: R(d).i = R(a).i <= R(b).i; break;
        case ML_I_ULT: R(d).i = (uint64_t)R(a).i < (uint64_t)R(b).i; break;
        case ML_I_ULE: R(d).i = (uint64_t)R(a).i <= (uint64_t)R(b).i; break;
        case ML_I_AND: R(d).i = R(a).i & R(b).i; break;
        case ML_I_OR: R(d).i = R(a).i | R(b).i; break;
        case ML_I_XOR: R(d).i = R(a).i ^ R(b).i; break;
        case ML_I_NOT: R(d).i = R(a).i == 0; break;
        case ML_I_BNOT: R(d).i = wrap(ins->x, ~R(a).i); break;
        case ML_I_SHL:
        case ML_I_SHR: ok = shift(run, ins, R(a).i, R(b).i, &R(d).i); break;
        case ML_I_POPCOUNT: R(d).i = popcount(ins->x, R(a).i); break;
        case ML_I_CLZ: R(d).i = leading_zeros(ins->x, R(a).i); break;
        case ML_I_IABS:
            R(d).i = (ins->x & ML_UNSIGNED) || R(a).i >= 0
                         ? R(a).i
                         : wrap(ins->x, (int64_t)(0 - (uint64_t)R(a).i));
            break;
        case ML_I_ADD64: R(d).f = R(a).f + R(b).f; break;
        case ML_I_SUB64: R(d).f = R(a).f - R(b).f; break;
        case ML_I_MUL64: R(d).f = R(a).f * R(b).f; break;
        case ML_I_DIV64: R(d).f = R(a).f / R(b).f; break;
        case ML_I_ADD32: R(d).f = (double)(float)(R(a).f + R(b).f); break;
        case ML_I_SUB32: R(d).f = (double)(float)(R(a).f - R(b).f); break;
        case ML_I_MUL32: R(d).f = (double)(float)(R(a).f * R(b).f); break;
        case ML_I_DIV32: R(d).f = (double)(float)(R(a).f / R(b).f); break;
        case ML_I_ADDN: R(d).f = ml_round_to(g, ins->x, R(a).f + R(b).f); break;
        case ML_I_SUBN: R(d).f = ml_round_to(g, ins->x, R(a).f - R(b).f); break;
        case ML_I_MULN: R(d).f = ml_round_to(g, ins->x, R(a).f * R(b).f); break;
        case ML_I_DIVN: R(d).f = ml_round_to(g, ins->x, R(a).f / R(b).f); break;
        case ML_I_FMIN: R(d).f = R(a).f < R(b).f ? R(a).f : R(b).f; break;
        case ML_I_FMAX: R(d).f = R(a).f > R(b).f ? R(a).f : R(b).f; break;
        case ML_I_FEQ: R(d).i = R(a).f == R(b).f; break;
        case ML_I_FNE: R(d).i = R(a).f != R(b).f; break;
        case ML_I_FLT: R(d).i = R(a).f < R(b).f; break;
        case ML_I_FLE: R(d).i = R(a).f <= R(b).f; break;
        case ML_I_FMA: R(d).f = ml_fma_rounded(g, ins->x, R(a).f, R(b).f, R(c).f); break;
        case ML_I_MATH1:
            R(d).f = ml_round_to(g, ins->x, ml_math1((unsigned)ins->b, R(a).f));
            break;
        case ML_I_MATH2:
            R(d).f =
                ml_round_to(g, ins->x, ml_math2((unsigned)ins->c, ins->x, R(a).f, R(b).f));
            break;
        case ML_I_TEST:
            R(d).i = ins->b == ML_OP_ISNAN   ? isnan(R(a).f) != 0
                     : ins->b == ML_OP_ISINF ? isinf(R(a).f) != 0
                                             : isfinite(R(a).f) != 0;
            break;
        case ML_I_QMUL: R(d).i = multiply_shift(r, g->lists.v[ins->a]); break;
        case ML_I_SEL: R(d) = R(a).i ? R(b) : R(c); break;
        case ML_I_WRAP:
            if (ins->b && !fits(ins->x & 127u, R(a).i)) {
                ok = fail(run, ML_E_OVERFLOW);
                break;
            }
            R(d).i = wrap(ins->x, R(a).i);
            break;
        case ML_I_ITOF: R(d).f = ml_int_to_float(g, ins->x, R(a).i, ins->b != 0); break;
        case ML_I_FTOI: R(d).i = ml_float_to_int(R(a).f, ins->x); break;
        case ML_I_FTOF: R(d).f = ml_round_to(g, ins->x, R(a).f); break;
        case ML_I_ITOB: R(d).i = R(a).i != 0; break;
        case ML_I_FTOB: R(d).i = R(a).f != 0.0; break;
        case ML_I_REINT: {
            double f = 0.0;
            int64_t i = reinterpret(g, ins, R(a), &f);
            if (ml_dtype_is_float(g->types.v[ins->c]))
                R(d).f = f;
            else
                R(d).i = i;
            break;
        }
        case ML_I_FOR: {
            bool none;
            ok = begin_loop(run, ins, &none);
            if (ok && none)
                ins = code + ins->c - 1;
            break;
        }
        case ML_I_NEXT:
            ok = count_iteration(run);
            if (--r[ins->d + 1].i > 0) {
                R(d).i += r[ins->d + 2].i;
                if (ok)
                    ins = code + ins->c - 1;
            }
            break;
        case ML_I_TICK: ok = count_iteration(run); break;
        case ML_I_PAR: ok = ml_race_enter(run, g->pars.v[ins->a]); break;
        case ML_I_PARITER: ok = ml_race_iteration(run, run->par[ins->b], R(a).i); break;
        case ML_I_PARDEPTH:
            if (run->n_par > (uint32_t)ins->a)
                run->n_par = (uint32_t)ins->a;
            break;
        case ML_I_THREADS:
            ok = ml_run_threads(run, g->kernels.v[ins->a]);
            if (!ok)
                return false; /* the place is the thread's */
            ins = code + ins->c - 1;
            break;
        case ML_I_BARRIER:
            if (!run->now.epoch)
                break; /* no threads: nobody to wait for */
            run->stop = (uint32_t)(ins - code);
            return true;
        case ML_I_THREADS_END: run->stop = (uint32_t)(ins - code); return true;
        case ML_I_LOAD:
            run->pc = (uint32_t)(ins - code);
            ok = load(run, g->accesses.v[ins->a], &R(d), NULL);
            break;
        case ML_I_LOADU:
            run->pc = (uint32_t)(ins - code);
            ok = load(run, g->accesses.v[ins->a], &R(d), &r[ins->d + 1]);
            break;
        case ML_I_STORE:
            run->pc = (uint32_t)(ins - code);
            ok = store(run, g->accesses.v[ins->a], R(b),
                       ins->c < 0 ? 1 : (uint8_t)r[ins->c].i);
            break;
        case ML_I_REGION: ok = ml_check_region(run, g->boxes.v[ins->a]); break;
        case ML_I_BOUNDS: ok = ml_check_bounds(run, g->boxes.v[ins->a]); break;
        case ML_I_ALLOC: ok = ml_run_alloc(run, g->views.v[ins->a]); break;
        case ML_I_VIEW: ok = ml_run_view(run, g->views.v[ins->a]); break;
        case ML_I_DOMAIN: ok = ml_check_domain(run, ins); break;
        case ML_I_SAME:
            if (R(a).i != R(b).i)
                ok = trapped(run, ins->c);
            break;
        case ML_I_ASSERT:
            if (R(a).i == 0)
                ok = trapped(run, ins->c);
            break;
        case ML_I_TOUCH: ok = touch(run, (uint32_t)ins->a); break;
        case ML_I_ITER: ok = iteration(run, ins); break;
        case ML_I_CAP:
            if (ins->a >= 0 && r[ins->d + 1].i > ins->a)
                r[ins->d + 1].i = ins->a;
            break;
        }
        if (__builtin_expect(!ok, 0)) {
            run->fault.pc = (uint32_t)(ins - code);
            return false;
        }
    }
}
