/*
 * form - the graph: construction with folding, bounds, the vector at hand.
 *
 * Folding never changes a value: what is left out is the identity of its operand, and sums
 * and products keep their order. Source: auto-scheduler 13.
 */
#include "moonloop/tune/form/form.h"

void ml_forms_init(ml_Forms *f, ml_Ctx *cx)
{
    *f = (ml_Forms){.cx = cx, .n_slots = 1024};
    f->slots = ML_ARRAY(cx, uint64_t, f->n_slots);
}

static double apply(ml_FormOp op, double a, double b, double c)
{
    switch (op) {
    case ML_FORM_ADD: return a + b;
    case ML_FORM_SUB: return a - b;
    case ML_FORM_MUL: return a * b;
    case ML_FORM_DIV: return a / b;
    case ML_FORM_FLOORDIV: return ml_form_floor(a / b);
    case ML_FORM_MOD: return a - b * ml_form_floor(a / b);
    case ML_FORM_MIN: return a < b ? a : b;
    case ML_FORM_MAX: return a > b ? a : b;
    case ML_FORM_EQ: return a == b;
    case ML_FORM_LT: return a < b;
    case ML_FORM_LE: return a <= b;
    case ML_FORM_SELECT: return a != 0 ? b : c;
    case ML_FORM_SLOG: return ml_slog(a);
    case ML_FORM_CONST:
    case ML_FORM_INPUT:
    case ML_FORM_PICK:
    case ML_FORM_OPS: break;
    }
    return 0;
}

static double pick(const ml_Forms *f, double at, uint32_t table)
{
    const ml_FormTable *t = &f->tables.v[table];
    double last = t->n - 1;

    return t->v[(uint32_t)(at > 0 ? (at < last ? at : last) : 0)];
}

static double evaluate(const ml_Forms *f, const ml_FormNode *n)
{
    const ml_FormNode *v = f->nodes.v;

    if (n->op == ML_FORM_CONST)
        return n->value;
    if (n->op == ML_FORM_INPUT)
        return f->x ? f->x[n->a] : 0;
    if (n->op == ML_FORM_PICK)
        return pick(f, v[n->a].value, n->b);
    return apply((ml_FormOp)n->op, v[n->a].value, v[n->b].value, v[n->c].value);
}

void ml_forms_at(ml_Forms *f, const double *x)
{
    f->x = x;
    f->path.n = 0;
    for (size_t k = 0; k < f->nodes.n; k++)
        f->nodes.v[k].value = evaluate(f, &f->nodes.v[k]);
}

/* ---- nodes */

static uint64_t mixed(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

static uint64_t hash_of(const ml_FormNode *n)
{
    uint64_t bits;

    memcpy(&bits, &n->value, sizeof bits);
    if (n->op == ML_FORM_CONST)
        return mixed(n->op, bits);
    return mixed(mixed(n->op, n->a | (uint64_t)n->b << 32), n->c);
}

static bool same(const ml_FormNode *x, const ml_FormNode *y)
{
    if (x->op != y->op)
        return false;
    if (x->op == ML_FORM_CONST)
        return memcmp(&x->value, &y->value, sizeof x->value) == 0;
    return x->a == y->a && x->b == y->b && x->c == y->c;
}

/* A slot is 1 + the position of a node below, and bits of its hash above: most others are told
 * apart without looking at them. */
#define SLOT_HASH UINT64_C(0xffffffff00000000)

static uint64_t *slot_of(const ml_Forms *f, const ml_FormNode *n, uint64_t h)
{
    size_t k = (size_t)h & (f->n_slots - 1);

    while (f->slots[k] && (((f->slots[k] ^ h) & SLOT_HASH) ||
                           !same(&f->nodes.v[(uint32_t)f->slots[k] - 1], n)))
        k = (k + 1) & (f->n_slots - 1);
    return &f->slots[k];
}

static void grow(ml_Forms *f)
{
    f->n_slots *= 2;
    f->slots = ML_ARRAY(f->cx, uint64_t, f->n_slots);
    for (size_t k = 0; k < f->nodes.n; k++) {
        uint64_t h = hash_of(&f->nodes.v[k]);

        *slot_of(f, &f->nodes.v[k], h) = (h & SLOT_HASH) | (k + 1);
    }
}

static ml_Num intern(ml_Forms *f, const ml_FormNode *n)
{
    uint64_t h = hash_of(n), *s = slot_of(f, n, h);

    if (*s)
        return (uint32_t)*s - 1;
    if (2 * (f->nodes.n + 1) > f->n_slots) {
        grow(f);
        s = slot_of(f, n, h);
    }
    ml_push(f->cx, &f->nodes, *n);
    *s = (h & SLOT_HASH) | f->nodes.n;
    return (ml_Num)f->nodes.n - 1;
}

ml_Num ml_form_const(ml_Forms *f, double v)
{
    v = v == 0 ? 0 : v; /* one zero */
    return intern(f, &(ml_FormNode){.op = ML_FORM_CONST, .value = v, .lo = v, .hi = v});
}

ml_Num ml_form_input(ml_Forms *f, uint32_t k, double lo, double hi)
{
    return intern(
        f,
        &(ml_FormNode){
            .op = ML_FORM_INPUT, .a = k, .value = f->x ? f->x[k] : 0, .lo = lo, .hi = hi});
}

ml_Num ml_form_pick(ml_Forms *f, ml_Num at, const double *v, uint32_t n)
{
    ml_FormNode node = {.op = ML_FORM_PICK, .a = at, .lo = HUGE_VAL, .hi = -HUGE_VAL};
    uint32_t t = 0;

    for (uint32_t k = 0; k < n; k++) {
        node.lo = v[k] < node.lo ? v[k] : node.lo;
        node.hi = v[k] > node.hi ? v[k] : node.hi;
    }
    if (node.lo == node.hi)
        return ml_form_const(f, node.lo);
    while (t < f->tables.n &&
           (f->tables.v[t].n != n || memcmp(f->tables.v[t].v, v, n * sizeof *v) != 0))
        t++;
    if (t == f->tables.n) {
        double *copy = ML_ARRAY(f->cx, double, n);

        memcpy(copy, v, n * sizeof *v);
        ml_push(f->cx, &f->tables, ((ml_FormTable){n, copy}));
    }
    node.b = t;
    node.value = pick(f, ml_form_value(f, at), t);
    return intern(f, &node);
}

/* ---- bounds: of the result over all vectors */

static double least4(double a, double b, double c, double d)
{
    double x = a < b ? a : b, y = c < d ? c : d;

    return x < y ? x : y;
}

static bool is_finite(const ml_FormNode *x)
{
    return isfinite(x->lo) && isfinite(x->hi);
}

static void bound(ml_FormNode *n, const ml_FormNode *a, const ml_FormNode *b,
                  const ml_FormNode *c)
{
    n->lo = -HUGE_VAL;
    n->hi = HUGE_VAL;
    switch ((ml_FormOp)n->op) {
    case ML_FORM_ADD:
        n->lo = a->lo + b->lo;
        n->hi = a->hi + b->hi;
        break;
    case ML_FORM_SUB:
        n->lo = a->lo - b->hi;
        n->hi = a->hi - b->lo;
        break;
    case ML_FORM_MUL:
        if (is_finite(a) && is_finite(b)) {
            n->lo = least4(a->lo * b->lo, a->lo * b->hi, a->hi * b->lo, a->hi * b->hi);
            n->hi = -least4(-a->lo * b->lo, -a->lo * b->hi, -a->hi * b->lo, -a->hi * b->hi);
        } else if (a->lo >= 0 && b->lo >= 0)
            n->lo = a->lo * b->lo;
        break;
    case ML_FORM_FLOORDIV:
    case ML_FORM_DIV:
        if (a->lo >= 0 && b->lo > 0) {
            n->lo = 0;
            n->hi = a->hi / b->lo;
        }
        break;
    case ML_FORM_MOD:
        if (b->lo > 0) {
            n->lo = 0;
            n->hi = b->hi - 1;
        }
        break;
    case ML_FORM_MIN:
        n->lo = a->lo < b->lo ? a->lo : b->lo;
        n->hi = a->hi < b->hi ? a->hi : b->hi;
        break;
    case ML_FORM_MAX:
        n->lo = a->lo > b->lo ? a->lo : b->lo;
        n->hi = a->hi > b->hi ? a->hi : b->hi;
        break;
    case ML_FORM_SELECT:
        n->lo = b->lo < c->lo ? b->lo : c->lo;
        n->hi = b->hi > c->hi ? b->hi : c->hi;
        break;
    case ML_FORM_EQ:
    case ML_FORM_LT:
    case ML_FORM_LE:
        n->lo = 0;
        n->hi = 1;
        break;
    case ML_FORM_SLOG: n->lo = 0; break;
    case ML_FORM_CONST:
    case ML_FORM_INPUT:
    case ML_FORM_PICK:
    case ML_FORM_OPS: break;
    }
    if (isnan(n->lo))
        n->lo = -HUGE_VAL;
    if (isnan(n->hi))
        n->hi = HUGE_VAL;
}

/* ---- folding */

/* Whether a is -1 * b. */
static bool is_minus(const ml_Forms *f, ml_Num a, ml_Num b)
{
    const ml_FormNode *x = &f->nodes.v[a];

    return x->op == ML_FORM_MUL && ((x->a == b && ml_form_is(f, x->b, -1)) ||
                                    (x->b == b && ml_form_is(f, x->a, -1)));
}

/* What op gives for sure, in *out. */
static bool known(ml_Forms *f, ml_FormOp op, ml_Num a, ml_Num b, ml_Num c, ml_Num *out)
{
    const ml_FormNode *x = &f->nodes.v[a], *y = &f->nodes.v[b];

    switch (op) {
    case ML_FORM_ADD:
        if (is_minus(f, a, b) || is_minus(f, b, a)) {
            *out = ml_form_const(f, 0);
            return true;
        }
        *out = ml_form_is(f, a, 0) ? b : a;
        return ml_form_is(f, a, 0) || ml_form_is(f, b, 0);
    case ML_FORM_SUB:
        *out = a == b ? ml_form_const(f, 0) : a;
        return a == b || ml_form_is(f, b, 0);
    case ML_FORM_MUL:
        *out = ml_form_is(f, a, 1) || ml_form_is(f, b, 0) ? b : a;
        return ml_form_is(f, a, 1) || ml_form_is(f, b, 1) || ml_form_is(f, a, 0) ||
               ml_form_is(f, b, 0);
    case ML_FORM_DIV: *out = a; return ml_form_is(f, b, 1);
    case ML_FORM_FLOORDIV:
        /* (p * q) // q, the integers being exact */
        if (x->op == ML_FORM_MUL && (x->b == b || x->a == b)) {
            *out = x->b == b ? x->a : x->b;
            return true;
        }
        *out = a;
        return ml_form_is(f, b, 1);
    case ML_FORM_MOD:
        if (ml_form_is(f, b, 1) || a == b ||
            (x->op == ML_FORM_MUL && (x->b == b || x->a == b))) {
            *out = ml_form_const(f, 0);
            return true;
        }
        *out = a;
        return x->lo >= 0 && x->hi < y->lo;
    case ML_FORM_MIN:
    case ML_FORM_MAX:
        *out = a;
        if (a == b)
            return true;
        if (x->hi <= y->lo || y->hi <= x->lo) {
            *out = (x->hi <= y->lo) == (op == ML_FORM_MIN) ? a : b;
            return true;
        }
        return false;
    case ML_FORM_EQ:
        if (a == b || x->hi < y->lo || y->hi < x->lo) {
            *out = ml_form_const(f, a == b);
            return true;
        }
        return false;
    case ML_FORM_LT:
        if (a == b || x->hi < y->lo || y->hi <= x->lo) {
            *out = ml_form_const(f, a != b && x->hi < y->lo);
            return true;
        }
        return false;
    case ML_FORM_LE:
        if (a == b || x->hi <= y->lo || y->hi < x->lo) {
            *out = ml_form_const(f, a == b || x->hi <= y->lo);
            return true;
        }
        return false;
    case ML_FORM_SELECT:
        *out = ml_form_is_const(f, a) && x->value == 0 ? c : b;
        return ml_form_is_const(f, a) || b == c;
    case ML_FORM_SLOG:
    case ML_FORM_CONST:
    case ML_FORM_INPUT:
    case ML_FORM_PICK:
    case ML_FORM_OPS: break;
    }
    return false;
}

ml_Num ml_form(ml_Forms *f, ml_FormOp op, ml_Num a, ml_Num b, ml_Num c)
{
    ml_FormNode n = {.op = (uint8_t)op, .a = a, .b = b, .c = c};
    ml_Num out;

    if (known(f, op, a, b, c, &out))
        return out;
    n.value = evaluate(f, &n);
    if (ml_form_is_const(f, a) && (op == ML_FORM_SLOG || ml_form_is_const(f, b)) &&
        op != ML_FORM_SELECT)
        return ml_form_const(f, n.value);
    bound(&n, &f->nodes.v[a], &f->nodes.v[b], &f->nodes.v[c]);
    return intern(f, &n);
}

ml_Num ml_form_not(ml_Forms *f, ml_Num a)
{
    return ml_form_sub(f, ml_form_const(f, 1), a);
}

ml_Num ml_form_ceildiv(ml_Forms *f, ml_Num a, ml_Num b)
{
    const ml_FormNode *x = &f->nodes.v[a];

    if (x->op == ML_FORM_MUL && (x->a == b || x->b == b))
        return x->b == b ? x->a : x->b;
    return ml_form_floordiv(f, ml_form_add(f, a, ml_form_sub(f, b, ml_form_const(f, 1))),
                            b);
}

bool ml_form_holds(ml_Forms *f, ml_Num a)
{
    bool yes = ml_form_value(f, a) != 0;

    if (ml_form_is_const(f, a))
        return yes;
    for (size_t k = 0; k < f->path.n; k++)
        if (f->path.v[k].question == a)
            return yes;
    ml_push(f->cx, &f->path, ((ml_FormAnswer){a, yes}));
    return yes;
}
