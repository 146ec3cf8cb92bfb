/* eval_value - compile-time values, scopes, and Python's arithmetic on plain values.
 * Source: script 4. */
#include "moonloop/core/script/eval/eval.h"

#include <math.h>

ml_Cv ml_cv_int(int64_t i)
{
    ml_Cv v = ml_cv(ML_CV_INT);

    v.as.i = i;
    return v;
}

ml_Cv ml_cv_ns(ml_Namespace which)
{
    ml_Cv v = ml_cv(ML_CV_NS);

    v.as.i = which;
    return v;
}

ml_Cv ml_cv_bool(bool b)
{
    ml_Cv v = ml_cv(ML_CV_BOOL);

    v.as.i = b;
    return v;
}

ml_Cv ml_cv_float(double f)
{
    ml_Cv v = ml_cv(ML_CV_FLOAT);

    v.as.f = f;
    return v;
}

ml_Cv ml_cv_str(ml_Str s)
{
    ml_Cv v = ml_cv(ML_CV_STRING);

    v.as.s = s;
    return v;
}

ml_Cv ml_cv_expr(const ml_Expr *e)
{
    ml_Cv v = ml_cv(e ? ML_CV_EXPR : ML_CV_POISON);

    v.as.e = e;
    return v;
}

ml_Cv ml_cv_buffer(const ml_Buffer *b)
{
    ml_Cv v = ml_cv(b ? ML_CV_BUFFER : ML_CV_POISON);

    v.as.b = b;
    return v;
}

ml_Cv ml_cv_list(ml_Eval *ev, ml_CvKind kind, const ml_Cv *list, size_t n)
{
    ml_Cv v = ml_cv(kind), *copy = ML_ARRAY(ev->sc, ml_Cv, n ? n : 1);

    if (n)
        memcpy(copy, list, n * sizeof *copy);
    v.as.list = copy;
    v.n = (uint32_t)n;
    return v;
}

/* bool, int, float, string */
static bool is_plain(ml_Cv v)
{
    return v.kind == ML_CV_BOOL || v.kind == ML_CV_INT || v.kind == ML_CV_FLOAT ||
           v.kind == ML_CV_STRING;
}

bool ml_cv_same(ml_Cv a, ml_Cv b)
{
    if (a.kind != b.kind || a.n != b.n)
        return false;
    switch ((ml_CvKind)a.kind) {
    case ML_CV_POISON:
    case ML_CV_NONE:
    case ML_CV_INIT:
    case ML_CV_DONE: return true;
    case ML_CV_SKIPPED: return a.as.skipped == b.as.skipped;
    case ML_CV_BOOL:
    case ML_CV_INT:
    case ML_CV_PYFN:
    case ML_CV_NS: return a.as.i == b.as.i && a.big == b.big;
    case ML_CV_FLOAT: return memcmp(&a.as.f, &b.as.f, sizeof a.as.f) == 0;
    case ML_CV_BLOCK:
    case ML_CV_STRING: return ml_str_eq(a.as.s, b.as.s);
    case ML_CV_TUPLE:
    case ML_CV_LIST:
    case ML_CV_DICT:
    case ML_CV_SLICE:
    case ML_CV_RANGE:
    case ML_CV_ARRAY:
        for (size_t k = 0; k < a.n; k++)
            if (!ml_cv_same(a.as.list[k], b.as.list[k]))
                return false;
        return true;
    case ML_CV_DTYPE:
    case ML_CV_LET: return ml_dtype_eq(a.dt, b.dt);
    case ML_CV_FRESH:
    case ML_CV_SCOPE:
    case ML_CV_META:
    case ML_CV_METHOD: return false;
    case ML_CV_EXPR: return a.as.e == b.as.e;
    case ML_CV_BUFFER:
    case ML_CV_CELL: return a.as.b == b.as.b;
    case ML_CV_SPEC: return a.as.spec == b.as.spec;
    case ML_CV_LOOP: return a.as.loop == b.as.loop;
    case ML_CV_CALLEE: return a.as.fn == b.as.fn;
    case ML_CV_LAMBDA: return a.as.node == b.as.node;
    case ML_CV_REDUCER: return a.as.reducer == b.as.reducer;
    case ML_CV_MAP: return a.as.map == b.as.map;
    case ML_CV_VALUE: return a.as.val == b.as.val;
    case ML_CV_FN: return a.as.builtin == b.as.builtin;
    case ML_CV_MACRO: return a.as.macro == b.as.macro;
    case ML_CV_HOST: return a.as.host == b.as.host;
    }
    return false;
}

const char *ml_cv_describe(ml_Eval *ev, ml_Cv v)
{
    switch ((ml_CvKind)v.kind) {
    case ML_CV_POISON:
    case ML_CV_SKIPPED: return "an error";
    case ML_CV_NONE: return "None";
    case ML_CV_BOOL: return "bool";
    case ML_CV_INT: return "int";
    case ML_CV_FLOAT: return "float";
    case ML_CV_STRING: return "string";
    case ML_CV_TUPLE: return "tuple";
    case ML_CV_LIST: return "list";
    case ML_CV_DICT: return "dict";
    case ML_CV_SLICE: return "slice";
    case ML_CV_DTYPE: return "dtype";
    case ML_CV_FRESH: return "new variable";
    case ML_CV_EXPR:
        return v.as.e->kind == ML_EXPR_STRING ? "string"
                                              : ml_dtype_name(ev->cx, v.as.e->type);
    case ML_CV_BUFFER: return "buffer";
    case ML_CV_CELL: return ml_dtype_name(ev->cx, v.as.b->type);
    case ML_CV_SPEC: return "buffer type";
    case ML_CV_LOOP: return "loop header";
    case ML_CV_BLOCK: return "block header";
    case ML_CV_INIT: return "init header";
    case ML_CV_SCOPE: return "scope";
    case ML_CV_DONE: return "statement";
    case ML_CV_LET:
    case ML_CV_ARRAY: return "type";
    case ML_CV_META: return "meta_var";
    case ML_CV_CALLEE:
    case ML_CV_FN:
    case ML_CV_PYFN:
    case ML_CV_HOST:
    case ML_CV_METHOD: return "function";
    case ML_CV_MACRO: return "macro";
    case ML_CV_LAMBDA: return "lambda";
    case ML_CV_REDUCER: return "reducer";
    case ML_CV_MAP: return "index map";
    case ML_CV_RANGE: return "range";
    case ML_CV_VALUE: return "attribute value";
    case ML_CV_NS: return "namespace";
    }
    return "value";
}

bool ml_ev_truth(ml_Cv v)
{
    switch (v.kind) {
    case ML_CV_NONE: return false;
    case ML_CV_BOOL:
    case ML_CV_INT: return v.as.i != 0 || v.big;
    case ML_CV_FLOAT: return v.as.f < 0 || v.as.f > 0 || isnan(v.as.f);
    case ML_CV_STRING: return v.as.s.n > 0;
    case ML_CV_TUPLE:
    case ML_CV_LIST:
    case ML_CV_DICT: return v.n > 0;
    default: return true;
    }
}

bool ml_ev_decides(ml_Cv v)
{
    return v.kind == ML_CV_NONE || is_plain(v) || v.kind == ML_CV_TUPLE ||
           v.kind == ML_CV_LIST || v.kind == ML_CV_DICT;
}

/* ---- scopes */
uint32_t ml_ev_push_scope(ml_Eval *ev)
{
    uint32_t saved = ev->scope;

    ev->scope = ++ev->n_scopes;
    return saved;
}

void ml_ev_pop_scope(ml_Eval *ev, uint32_t saved, size_t n_bound)
{
    while (ev->bound.n > n_bound) {
        ml_Binding *b = ev->bound.v[--ev->bound.n];

        b->sym->top = b->prev;
        b->sym->dead = b;
    }
    ev->scope = saved;
}

ml_Binding *ml_ev_bind(ml_Eval *ev, ml_Sym *sym, ml_Cv v, ml_Place at)
{
    ml_Binding *b = ML_NEW(ev->sc, ml_Binding);

    b->sym = sym;
    b->prev = sym->top;
    b->val = v;
    b->at = at;
    b->scope = ev->scope;
    b->func = ev->fn ? ev->fn->id : 0;
    b->blk = ev->blk;
    sym->top = b;
    ml_push(ev->sc, &ev->bound, b);
    return b;
}

ml_Binding *ml_ev_define(ml_Eval *ev, ml_Sym *sym, ml_Cv v, ml_Place at)
{
    ml_Binding *old = sym->top;

    if (old && old->scope == ev->scope) {
        if (old->val.kind == ML_CV_POISON || old->val.kind == ML_CV_SKIPPED) {
            old->val = v;
            return old;
        }
        if (v.kind == ML_CV_POISON || ml_cv_same(old->val, v))
            return old;
        ml_Diag *d =
            ml_report(ev->rep, ML_E_E310, at, "`%.*s` is already defined in this scope",
                      (int)sym->name.n, sym->name.p);

        ml_report_note(ev->rep, d, old->at, "first defined here");
        ml_report_help(ev->rep, d, "use another name, or an inner scope");
        return old;
    }
    return ml_ev_bind(ev, sym, v, at);
}

/* A use of a name whose definition was passed over. */
static ml_Cv skipped(ml_Eval *ev, ml_Sym *sym, ml_Skipped *s, ml_Place at)
{
    ml_Diag *d;

    if (ev->fn && s->told == ev->fn->id)
        return ml_cv_poison(); /* once in a function is enough */
    s->told = ev->fn ? ev->fn->id : 0;
    d = ml_report(ev->rep, ML_E_E301, at,
                  "`%.*s` has no value: the statement in line %u that would give it "
                  "one was skipped",
                  (int)sym->name.n, sym->name.p, (unsigned)s->at.line);

    ml_report_note(ev->rep, d, s->at, ml_format(ev->rep->cx, "skipped: %s", s->why));
    ml_report_help(ev->rep, d,
                   "write its value as a constant, or pass it: moon.parse(text, {values = "
                   "{%.*s = ...}})",
                   (int)sym->name.n, sym->name.p);
    return ml_cv_poison();
}

static ml_Cv undefined(ml_Eval *ev, ml_Sym *sym, ml_Place at)
{
    ml_Nearest near = ml_nearest_begin(sym->name);
    ml_Diag *d;

    for (size_t k = ev->bound.n; k-- > 0;)
        if (ev->bound.v[k]->hidden && ev->bound.v[k]->sym == sym) {
            d = ml_report(ev->rep, ML_E_E301, at,
                          "`%.*s` is not a name where the macro is defined",
                          (int)sym->name.n, sym->name.p);
            ml_report_note(ev->rep, d, ev->bound.v[k]->at, "known where it is called");
            ml_report_help(ev->rep, d,
                           "pass it as an argument, or use @T.macro(hygienic=False)");
            return ml_cv_poison();
        }
    if (sym->dead && ev->fn && sym->dead->func == ev->fn->id) {
        if (sym->dead->val.kind == ML_CV_POISON)
            return ml_cv_poison();
        d = ml_report(ev->rep, ML_E_E702, at, "`%.*s` is not visible here",
                      (int)sym->name.n, sym->name.p);
        ml_report_note(ev->rep, d, sym->dead->at,
                       "defined here, in a scope that has ended");
        return ml_cv_poison();
    }
    for (size_t k = ev->bound.n; k-- > 0;)
        if (ev->bound.v[k]->val.kind != ML_CV_NS)
            ml_nearest_try(&near, ev->bound.v[k]->sym->name);
    d = ml_report(ev->rep, ML_E_E301, at, "undefined name `%.*s`%s", (int)sym->name.n,
                  sym->name.p, ml_nearest_text(ev->cx, &near, ""));
    if (ml_ev_builtin(sym->name))
        ml_report_help(ev->rep, d,
                       "write `T.%.*s`; older texts are read with {archaic = true}",
                       (int)sym->name.n, sym->name.p);
    return ml_cv_poison();
}

ml_Cv ml_ev_name(ml_Eval *ev, ml_Sym *sym, ml_Place at)
{
    ml_Binding *b = sym->top;
    ml_Cv old;
    int py;

    if (b) {
        if (b->loop && ev->blk_ctx != b->blk && ev->blk_ctx) {
            ml_Use u = {b, at};

            ml_push(ev->sc, &ev->blk_ctx->uses, u);
        }
        if (b->val.kind == ML_CV_SKIPPED)
            return skipped(ev, sym, b->val.as.skipped, at);
        return b->val;
    }
    py = ml_ev_python_find(sym->name);
    if (py >= 0) {
        ml_Cv v = ml_cv(ML_CV_PYFN);

        v.as.i = py;
        return v;
    }
    if (ml_ev_archaic_name(ev, sym, &old))
        return old;
    if (ml_str_eq(sym->name, ml_str("metadata")))
        return ml_ev_fail(
            ev, E413, at,
            "metadata tables are not supported; print without multi-line strings hidden");
    return undefined(ev, sym, at);
}

/* ---- Python's operators */
static double as_double(ml_Cv v)
{
    if (v.kind == ML_CV_FLOAT)
        return v.as.f;
    return v.big ? (double)(uint64_t)v.as.i : (double)v.as.i;
}

static bool is_number(ml_Cv v)
{
    return v.kind == ML_CV_BOOL || v.kind == ML_CV_INT || v.kind == ML_CV_FLOAT;
}

static __int128 as_wide(ml_Cv v)
{
    return v.big ? (__int128)(uint64_t)v.as.i : (__int128)v.as.i;
}

static ml_Cv from_wide(ml_Eval *ev, __int128 w, ml_Place at)
{
    ml_Cv v = ml_cv_int((int64_t)w);

    if (w < INT64_MIN || w > (__int128)UINT64_MAX)
        return ml_ev_fail(ev, E112, at, "the result does not fit 64 bits");
    v.big = w > INT64_MAX;
    return v;
}

static ml_Cv not_defined(ml_Eval *ev, ml_TokOp op, ml_Cv a, ml_Cv b, ml_Place at)
{
    return ml_ev_fail(ev, E512, at, "operator `%s` is not defined for %s and %s",
                      ml_tok_op_text(op), ml_cv_describe(ev, a), ml_cv_describe(ev, b));
}

static ml_Cv int_power(ml_Eval *ev, __int128 a, __int128 b, ml_Place at)
{
    __int128 r = 1;

    for (; b > 0; b--) {
        if (a == 0 || a == 1)
            return from_wide(ev, a, at);
        if (a == -1)
            return from_wide(ev, b % 2 ? -1 : 1, at);
        if (r > UINT64_MAX || r < INT64_MIN)
            break;
        r *= a;
    }
    return from_wide(ev, r, at);
}

static ml_Cv int_binary(ml_Eval *ev, ml_TokOp op, ml_Cv x, ml_Cv y, ml_Place at)
{
    __int128 a = as_wide(x), b = as_wide(y), q, r;

    switch ((unsigned)op) {
    case ML_OPR_ADD: return from_wide(ev, a + b, at);
    case ML_OPR_SUB: return from_wide(ev, a - b, at);
    case ML_OPR_MUL:
        if (__builtin_mul_overflow(a, b, &r))
            return ml_ev_fail(ev, E112, at, "the result does not fit 64 bits");
        return from_wide(ev, r, at);
    case ML_OPR_DIV:
    case ML_OPR_FLOORDIV:
    case ML_OPR_MOD:
        if (b == 0)
            return ml_ev_fail(ev, E514, at,
                              op == ML_OPR_MOD ? "modulo by zero" : "division by zero");
        if (op == ML_OPR_DIV)
            return ml_cv_float((double)a / (double)b);
        q = a / b;
        r = a % b;
        if (r != 0 && (r < 0) != (b < 0))
            q--, r += b;
        return from_wide(ev, op == ML_OPR_MOD ? r : q, at);
    case ML_OPR_POW:
        if (b < 0)
            return ml_cv_float(pow((double)a, (double)b));
        return int_power(ev, a, b, at);
    case ML_OPR_SHL:
    case ML_OPR_SHR:
        if (b < 0 || (b > 62 && op == ML_OPR_SHL && a != 0))
            return ml_ev_fail(ev, E112, at, "the shift does not fit 64 bits");
        if (op == ML_OPR_SHR)
            return from_wide(ev, b > 100 ? (a < 0 ? -1 : 0) : a >> (int)b, at);
        return from_wide(ev, a * ((__int128)1 << (int)(a ? b : 0)), at);
    case ML_OPR_BITAND: r = a & b; break;
    case ML_OPR_BITOR: r = a | b; break;
    case ML_OPR_BITXOR: r = a ^ b; break;
    default: return not_defined(ev, op, x, y, at);
    }
    if (x.kind == ML_CV_BOOL && y.kind == ML_CV_BOOL)
        return ml_cv_bool(r != 0);
    return from_wide(ev, r, at);
}

ml_Cv ml_ev_python_binary(ml_Eval *ev, ml_TokOp op, ml_Cv a, ml_Cv b, ml_Place at)
{
    bool lists = (a.kind == ML_CV_LIST || a.kind == ML_CV_TUPLE);

    if (is_number(a) && is_number(b)) {
        double x, y;

        if (a.kind != ML_CV_FLOAT && b.kind != ML_CV_FLOAT)
            return int_binary(ev, op, a, b, at);
        x = as_double(a);
        y = as_double(b);
        switch ((unsigned)op) {
        case ML_OPR_ADD: return ml_cv_float(x + y);
        case ML_OPR_SUB: return ml_cv_float(x - y);
        case ML_OPR_MUL: return ml_cv_float(x * y);
        case ML_OPR_POW: return ml_cv_float(pow(x, y));
        case ML_OPR_DIV:
        case ML_OPR_FLOORDIV:
        case ML_OPR_MOD:
            if (!(y < 0) && !(y > 0) && !isnan(y))
                return ml_ev_fail(ev, E514, at,
                                  op == ML_OPR_MOD ? "modulo by zero" : "division by zero");
            return ml_cv_float(op == ML_OPR_DIV        ? x / y
                               : op == ML_OPR_FLOORDIV ? floor(x / y)
                                                       : x - floor(x / y) * y);
        default: return not_defined(ev, op, a, b, at);
        }
    }
    if (op == ML_OPR_ADD && a.kind == ML_CV_STRING && b.kind == ML_CV_STRING) {
        char *z = ml_alloc(ev->sc, a.as.s.n + b.as.s.n + 1);

        if ((ev->steps += a.as.s.n + b.as.s.n) > 10000000)
            return ml_ev_fail(ev, E114, at, "too much compile-time work");
        memcpy(z, a.as.s.p, a.as.s.n);
        memcpy(z + a.as.s.n, b.as.s.p, b.as.s.n);
        z[a.as.s.n + b.as.s.n] = 0;
        return ml_cv_str((ml_Str){z, a.as.s.n + b.as.s.n});
    }
    if (op == ML_OPR_ADD && lists && a.kind == b.kind) {
        ml_Cv v = ml_cv((ml_CvKind)a.kind), *all;

        if ((ev->steps += a.n + b.n) > 10000000)
            return ml_ev_fail(ev, E114, at, "too much compile-time work");
        all = ML_ARRAY(ev->sc, ml_Cv, a.n + b.n + 1);
        memcpy(all, a.as.list, a.n * sizeof *all);
        memcpy(all + a.n, b.as.list, b.n * sizeof *all);
        v.as.list = all;
        v.n = a.n + b.n;
        return v;
    }
    if (op == ML_OPR_MUL && lists && b.kind == ML_CV_INT && !b.big) {
        size_t times = b.as.i > 0 ? (size_t)b.as.i : 0;
        ml_Cv v = ml_cv((ml_CvKind)a.kind), *all;

        if (times > 1000000 || (ev->steps += times * a.n) > 1000000)
            return ml_ev_fail(ev, E114, at, "too much compile-time work");
        all = ML_ARRAY(ev->sc, ml_Cv, times * a.n + 1);
        for (size_t k = 0; k < times * a.n; k++)
            all[k] = a.as.list[k % a.n];
        v.as.list = all;
        v.n = (uint32_t)(times * a.n);
        return v;
    }
    return not_defined(ev, op, a, b, at);
}

static int compare_numbers(ml_Cv a, ml_Cv b) /* -1 0 1, 2: unordered */
{
    if (a.kind == ML_CV_FLOAT || b.kind == ML_CV_FLOAT) {
        double x = as_double(a), y = as_double(b);

        return x < y ? -1 : x > y ? 1 : isnan(x) || isnan(y) ? 2 : 0;
    }
    return as_wide(a) < as_wide(b) ? -1 : as_wide(a) > as_wide(b);
}

ml_Cv ml_ev_python_compare(ml_Eval *ev, ml_TokOp op, ml_Cv a, ml_Cv b, ml_Place at)
{
    int c;

    if (op == ML_KW_IN || op == ML_KW_NOT) {
        bool found = false;

        if (b.kind == ML_CV_TUPLE || b.kind == ML_CV_LIST || b.kind == ML_CV_DICT) {
            for (size_t k = 0; k < b.n; k += b.kind == ML_CV_DICT ? 2 : 1)
                found |= ml_cv_same(a, b.as.list[k]);
        } else {
            return not_defined(ev, ML_KW_IN, a, b, at);
        }
        return ml_cv_bool(found == (op == ML_KW_IN));
    }
    if (op == ML_KW_IS)
        op = ML_OPR_EQ;
    if (is_number(a) && is_number(b)) {
        c = compare_numbers(a, b);
    } else if (a.kind == ML_CV_STRING && b.kind == ML_CV_STRING) {
        size_t n = a.as.s.n < b.as.s.n ? a.as.s.n : b.as.s.n;

        c = n ? memcmp(a.as.s.p, b.as.s.p, n) : 0;
        c = c ? (c < 0 ? -1 : 1) : a.as.s.n < b.as.s.n ? -1 : a.as.s.n > b.as.s.n;
    } else if (op == ML_OPR_EQ || op == ML_OPR_NE) {
        c = ml_cv_same(a, b) ? 0 : 2;
    } else {
        return not_defined(ev, op, a, b, at);
    }
    switch ((unsigned)op) {
    case ML_OPR_LT: return ml_cv_bool(c == -1);
    case ML_OPR_LE: return ml_cv_bool(c == -1 || c == 0);
    case ML_OPR_GT: return ml_cv_bool(c == 1);
    case ML_OPR_GE: return ml_cv_bool(c == 1 || c == 0);
    case ML_OPR_EQ: return ml_cv_bool(c == 0);
    default: return ml_cv_bool(c != 0);
    }
}
