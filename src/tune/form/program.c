/*
 * program - forms compiled for many vectors at once: a list of steps over registers of
 * ML_LANES numbers each, which the compiler makes vector code of.
 *
 * Registers are given out in order of use and taken back after the last one, so that they
 * stay in the first cache. Source: auto-scheduler 13.
 */
#include "moonloop/tune/form/form.h"

enum { NO_REGISTER = 65535 };

typedef struct Compile {
    const ml_Forms *f;
    uint32_t *last; /* of a node: 1 + the last step that uses it; 0: none */
    uint16_t *at;   /* its register */
    ML_VEC(uint16_t) free;
    uint32_t n_registers;
} Compile;

static size_t operands(const ml_FormNode *n, ml_Num out[3])
{
    out[0] = n->a;
    out[1] = n->b;
    out[2] = n->c;
    switch ((ml_FormOp)n->op) {
    case ML_FORM_CONST:
    case ML_FORM_INPUT: return 0;
    case ML_FORM_PICK:
    case ML_FORM_SLOG: return 1;
    case ML_FORM_SELECT: return 3;
    case ML_FORM_ADD:
    case ML_FORM_SUB:
    case ML_FORM_MUL:
    case ML_FORM_DIV:
    case ML_FORM_FLOORDIV:
    case ML_FORM_MOD:
    case ML_FORM_MIN:
    case ML_FORM_MAX:
    case ML_FORM_EQ:
    case ML_FORM_LT:
    case ML_FORM_LE:
    case ML_FORM_OPS: break;
    }
    return 2;
}

/* Nodes are made after their operands: one pass down finds what is needed. */
static size_t mark_needed(Compile *c, const ml_Num *out, size_t n)
{
    size_t count = 0;

    for (size_t k = 0; k < n; k++)
        c->last[out[k]] = UINT32_MAX;
    for (size_t k = c->f->nodes.n; k-- > 0;) {
        ml_Num from[3];

        if (!c->last[k])
            continue;
        count++;
        for (size_t m = operands(&c->f->nodes.v[k], from); m-- > 0;)
            if (c->last[from[m]] == 0) /* seen from above first: the last use */
                c->last[from[m]] = (uint32_t)k + 1;
    }
    return count;
}

static uint16_t take_register(Compile *c)
{
    if (c->free.n > 0)
        return c->free.v[--c->free.n];
    return (uint16_t)(c->n_registers < NO_REGISTER ? c->n_registers++ : NO_REGISTER);
}

static void emit(ml_Ctx *cx, Compile *c, size_t k, ml_FormStep *step)
{
    const ml_FormNode *n = &c->f->nodes.v[k];
    ml_Num from[3];
    size_t m = operands(n, from);
    uint16_t r[3] = {0};

    for (size_t j = 0; j < m; j++)
        r[j] = c->at[from[j]];
    for (size_t j = 0; j < m; j++) {
        bool again = false;

        for (size_t i = 0; i < j; i++)
            again |= from[i] == from[j];
        if (!again && c->last[from[j]] == k + 1 &&
            c->f->nodes.v[from[j]].op != ML_FORM_CONST)
            ml_push(cx, &c->free, r[j]);
    }
    c->at[k] = take_register(c);
    *step = (ml_FormStep){n->op, c->at[k], r[0], r[1], r[2]};
    if (n->op == ML_FORM_INPUT)
        step->a = (uint16_t)n->a;
    if (n->op == ML_FORM_PICK)
        step->b = (uint16_t)n->b;
}

bool ml_form_compile(ml_Ctx *cx, const ml_Forms *f, const ml_Num *out, size_t n,
                     ml_FormProgram *p)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    Compile c = {.f = f};
    size_t needed;

    c.last = ML_ARRAY(tmp, uint32_t, f->nodes.n + 1);
    c.at = ML_ARRAY(tmp, uint16_t, f->nodes.n + 1);
    needed = mark_needed(&c, out, n);
    ml_FormStep *steps = ML_ARRAY(cx, ml_FormStep, needed + 1);
    double *consts = ML_ARRAY(cx, double, needed + 1);
    uint16_t *to = ML_ARRAY(cx, uint16_t, n + 1);

    *p = (ml_FormProgram){.n_out = n, .steps = steps, .consts = consts, .out = to};
    for (size_t k = 0; k < f->nodes.n; k++)
        if (c.last[k] && f->nodes.v[k].op == ML_FORM_CONST) {
            consts[p->n_consts++] = f->nodes.v[k].value;
            c.at[k] = take_register(&c);
        }
    for (size_t k = 0; k < f->nodes.n; k++)
        if (c.last[k] && f->nodes.v[k].op != ML_FORM_CONST)
            emit(tmp, &c, k, &steps[p->n_steps++]);
    for (size_t k = 0; k < n; k++)
        to[k] = c.at[out[k]];
    p->n_registers = c.n_registers;
    ml_FormTable *tables = ML_ARRAY(cx, ml_FormTable, f->tables.n + 1);

    if (f->tables.n)
        memcpy(tables, f->tables.v, f->tables.n * sizeof *tables);
    p->tables = tables;
    ml_ctx_unref(tmp);
    return c.n_registers < NO_REGISTER;
}

/* ---------------------------------------------------------------- running */

size_t ml_form_room(const ml_FormProgram *p)
{
    return (size_t)p->n_registers * ML_LANES;
}

void ml_form_ready(const ml_FormProgram *p, double *room)
{
    for (uint32_t k = 0; k < p->n_consts; k++)
        for (size_t l = 0; l < ML_LANES; l++)
            room[(size_t)k * ML_LANES + l] = p->consts[k];
}

/* The result may be where an operand is, lane by lane: no lane waits for another. */
#ifdef __clang__
#define LANES_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define LANES_APART _Pragma("GCC ivdep")
#endif
#define EACH_LANE(e)                                                                       \
    for (size_t part = 0; part < n; part += ML_LANES_AT_LEAST)                             \
        LANES_APART for (size_t l = part; l < part + ML_LANES_AT_LEAST; l++) to[l] = (e);  \
    break

void ml_form_run(const ml_FormProgram *p, size_t n, const double *x, double *room)
{
    for (const ml_FormStep *s = p->steps, *end = s + p->n_steps; s < end; s++) {
        double *to = room + (size_t)s->to * ML_LANES;
        const double *a = room + (size_t)s->a * ML_LANES;
        const double *b = room + (size_t)s->b * ML_LANES;
        const double *c = room + (size_t)s->c * ML_LANES;

        switch ((ml_FormOp)s->op) {
        case ML_FORM_CONST:
        case ML_FORM_OPS: break;
        case ML_FORM_INPUT: a = x + (size_t)s->a * ML_LANES; EACH_LANE(a[l]);
        case ML_FORM_PICK: {
            const ml_FormTable *t = &p->tables[s->b];

            const double last = t->n - 1;

            EACH_LANE(t->v[(uint32_t)(a[l] > 0 ? (a[l] < last ? a[l] : last) : 0)]);
        }
        case ML_FORM_ADD: EACH_LANE(a[l] + b[l]);
        case ML_FORM_SUB: EACH_LANE(a[l] - b[l]);
        case ML_FORM_MUL: EACH_LANE(a[l] * b[l]);
        case ML_FORM_DIV: EACH_LANE(a[l] / b[l]);
        case ML_FORM_FLOORDIV: EACH_LANE(ml_form_floor(a[l] / b[l]));
        case ML_FORM_MOD: EACH_LANE(a[l] - b[l] * ml_form_floor(a[l] / b[l]));
        case ML_FORM_MIN: EACH_LANE(a[l] < b[l] ? a[l] : b[l]);
        case ML_FORM_MAX: EACH_LANE(a[l] > b[l] ? a[l] : b[l]);
        case ML_FORM_EQ: EACH_LANE(a[l] == b[l]);
        case ML_FORM_LT: EACH_LANE(a[l] < b[l]);
        case ML_FORM_LE: EACH_LANE(a[l] <= b[l]);
        case ML_FORM_SELECT: EACH_LANE(a[l] != 0 ? b[l] : c[l]);
        case ML_FORM_SLOG: EACH_LANE(ml_slog(a[l]));
        }
    }
}
