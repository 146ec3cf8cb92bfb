/*
 * issue - what the loops of a lowered program issue, and how long that takes.
 *
 * Vectors, unrolled statements and guards stand in the lowered program as they will stand in
 * the code. An expression that occurs twice is computed once; one that does not depend on the
 * loop is computed before it; a store to a place that does not move with the loop, of a value
 * that loads that place, is a register that goes from one iteration to the next.
 */
#include "moonloop/work/why/model.h"

#include "moonloop/codegen/params/count.h"
#include "moonloop/codegen/trace/memory.h"
#include "moonloop/core/walk.h"

#include <math.h>

/* Figures of cores of today; the machine's own peak says how many multiply-adds begin in a
 * cycle. */
static const struct {
    double fma, add, load, divide; /* cycles until a result is there */
    double math; /* operations of exp and the like, on a register, unless measured */
    double integer_division;
    double loads, stores, scalar_loads, scalar_stores, issue; /* begun in a cycle */
    double element;                                           /* of a gather */
    double enter, missed, foreseen; /* of a loop; more where its end is not foreseen */
} CORE = {.fma = 4,
          .add = 3,
          .load = 5,
          .divide = 13,
          .math = 14,
          .integer_division = 10,
          .loads = 2,
          .stores = 1,
          .scalar_loads = 3,
          .scalar_stores = 2,
          .issue = 6,
          .element = 1.5,
          .enter = 4,
          .missed = 15,
          .foreseen = 32};

typedef struct Walk {
    ml_Ctx *cx;
    const ml_Machine *m;
    const ml_Target *t;
    const ml_TimingOpts *o;
    uint32_t threads;
    double fma_ports;
    ml_WhyCode *out;
    ml_Map *values; /* variable -> a double in cx: its value in the middle */
    /* where the walk is */
    const ml_For *loop; /* the innermost around it */
    uint32_t at, depth; /* its place in out */
    double runs, busy;  /* executions of the statement; threads at work */
    bool parallel;
    /* of the loop whose stores are looked at */
    ml_Map *seen;    /* expressions already counted */
    ml_Map *written; /* buffers that it writes */
    ml_Map *places;  /* index expression -> chain of the accumulator there */
} Walk;

/* ---------------------------------------------------------------- numbers */

static double middle(const Walk *w, const ml_Expr *e)
{
    const double *v;
    int64_t n;

    switch (e->kind) {
    case ML_EXPR_INT: return (double)e->as.i;
    case ML_EXPR_VAR:
        if ((v = ml_map_get(w->values, e->as.var->uid)) != NULL)
            return *v;
        return ml_eval_size(e, w->o->sizes, w->o->n_sizes, &n) ? (double)n : 0;
    case ML_EXPR_ADD: return middle(w, e->args[0]) + middle(w, e->args[1]);
    case ML_EXPR_SUB: return middle(w, e->args[0]) - middle(w, e->args[1]);
    case ML_EXPR_MUL: return middle(w, e->args[0]) * middle(w, e->args[1]);
    case ML_EXPR_MIN: return fmin(middle(w, e->args[0]), middle(w, e->args[1]));
    case ML_EXPR_MAX: return fmax(middle(w, e->args[0]), middle(w, e->args[1]));
    case ML_EXPR_DIV:
    case ML_EXPR_FLOORDIV: {
        double by = middle(w, e->args[1]);

        return by != 0 ? floor(middle(w, e->args[0]) / by) : 0;
    }
    case ML_EXPR_CAST: return middle(w, e->args[0]);
    default: return ml_eval_size(e, w->o->sizes, w->o->n_sizes, &n) ? (double)n : 1;
    }
}

/* A number that divides the value whatever its variables are; 0: it is 0. */
static int64_t divisor(const ml_Expr *e)
{
    int64_t a, b;

    switch (e->kind) {
    case ML_EXPR_INT: return e->as.i < 0 ? -e->as.i : e->as.i;
    case ML_EXPR_MUL:
        a = divisor(e->args[0]);
        b = divisor(e->args[1]);
        return a > 0 && b > INT32_MAX / a ? a : a * b;
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
        a = divisor(e->args[0]);
        b = divisor(e->args[1]);
        while (b) {
            int64_t r = a % b;

            a = b;
            b = r;
        }
        return a;
    case ML_EXPR_CAST: return divisor(e->args[0]);
    default: return 1;
    }
}

static double registers(const Walk *w, ml_Dtype t)
{
    uint32_t lane = ml_dtype_is_int(t) && t.bits < 8 ? 8 : t.bits;

    return fmax(1, ceil((double)t.lanes * lane / w->t->vector_bits));
}

/* ---------------------------------------------------------------- expressions */

typedef struct Uses { /* whether an expression moves with the loop */
    const Walk *w;
    bool moves;
} Uses;

static bool see_use(const ml_Expr *e, void *user)
{
    Uses *u = user;

    if (e->kind == ML_EXPR_VAR && u->w->loop && e->as.var == u->w->loop->var)
        u->moves = true;
    if (e->kind == ML_EXPR_LOAD && ml_map_has(u->w->written, e->as.buffer->uid))
        u->moves = true;
    return !u->moves;
}

static bool moves(const Walk *w, const ml_Expr *e)
{
    Uses u = {w, false};

    ml_expr_visit(e, see_use, &u);
    return u.moves;
}

/* A load or store of e's index. */
static void count_place(Walk *w, ml_WhyIssue *i, ml_Dtype t, const ml_Expr *index,
                        double *whole)
{
    double n = registers(w, t);

    if (t.lanes == 1) {
        *whole += 1;
        return;
    }
    if (index->kind == ML_EXPR_RAMP && ml_is_int(index->args[1], 1)) {
        *whole += n;
        if ((divisor(index->args[0]) * t.bits / 8) % ML_LINE_BYTES != 0)
            i->crossing += n * fmin(1, w->t->vector_bits / 8.0 / ML_LINE_BYTES);
        return;
    }
    if (index->kind == ML_EXPR_BROADCAST)
        *whole += 1;
    else
        i->elements += t.lanes;
}

/* The key of a place among the accumulators. */
static uint32_t place_of(const ml_Buffer *b, const ml_Expr *index)
{
    return index->id ^ b->uid * 2654435761u;
}

static void count(Walk *w, ml_WhyIssue *i, const ml_Expr *e, bool fused);

/* Operations on a register that take as long as a function of floats does on one (which is as
 * many instructions for a single element): as it was measured, where it was. */
static double math_ops(const Walk *w, const ml_Expr *e)
{
    ml_Math k = ml_math_of(e);
    double rate = k == ML_MATHS ? 0 : w->m->math[k][e->type.bits == 64];
    double lanes = (double)w->t->vector_bits / (e->type.bits == 64 ? 64 : 32);

    if (rate > 0 && w->m->clock_measured > 0)
        return lanes * w->m->clock_measured / rate * 2 * w->fma_ports;
    return e->as.op->id == ML_OP_SQRT ? CORE.math / 2 : CORE.math;
}

static void count_call(Walk *w, ml_WhyIssue *i, const ml_Expr *e, double n)
{
    if (e->as.op->family == ML_FAMILY_MATH && e->as.op->id != ML_OP_FABS) {
        double k = math_ops(w, e);

        i->ops += k * n;
        i->math += k * n;
    } else if (e->as.op->id == ML_OP_FMA) {
        i->fmas += n;
    } else {
        i->ops += n;
        if (e->as.op->id == ML_OP_IF_THEN_ELSE)
            i->guards += 1;
        if (e->as.op->effect == ML_EFFECT_OPAQUE)
            w->out->opaque = true;
    }
}

static bool is_product(const ml_Expr *e)
{
    return e->kind == ML_EXPR_MUL && ml_dtype_is_float(e->type);
}

static void count_one(Walk *w, ml_WhyIssue *i, const ml_Expr *e, double n, bool fused)
{
    switch (e->kind) {
    case ML_EXPR_MUL: i->fmas += fused ? 0 : n; break;
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
        if (ml_dtype_is_float(e->type) &&
            (is_product(e->args[0]) || is_product(e->args[1])))
            i->fmas += n;
        else
            i->ops += n;
        break;
    case ML_EXPR_DIV:
    case ML_EXPR_MOD:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD:
        i->ops += (ml_dtype_is_float(e->type) ? 5 : CORE.integer_division) * n;
        break;
    case ML_EXPR_BROADCAST: i->ops += e->args[0]->kind == ML_EXPR_LOAD ? 0 : 1; break;
    case ML_EXPR_SHUFFLE: i->ops += n; break;
    case ML_EXPR_CALL: count_call(w, i, e, n); break;
    case ML_EXPR_LET:
    case ML_EXPR_RAMP: break;
    default: i->ops += n; break;
    }
}

/* fused: of a product, the sum that it is part of is counted. */
static void count(Walk *w, ml_WhyIssue *i, const ml_Expr *e, bool fused)
{
    bool sum = e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB;
    bool done = !sum || !ml_dtype_is_float(e->type);

    if (ml_kind_class(e->kind) == ML_CLASS_LITERAL || e->kind == ML_EXPR_VAR ||
        ml_map_has(w->seen, e->id))
        return;
    ml_map_set(w->cx, w->seen, e->id, w);
    if (!moves(w, e))
        return;
    if (e->kind == ML_EXPR_LOAD) {
        if (!ml_map_has(w->places,
                        place_of(e->as.buffer, e->args[0]))) /* else it is in a register */
            count_place(w, i, e->type, e->args[0], &i->loads);
        return;
    }
    count_one(w, i, e, registers(w, e->type), fused);
    for (uint16_t k = 0; k < e->n_args; k++) {
        bool product = !done && is_product(e->args[k]);

        done |= product;
        count(w, i, e->args[k], product);
    }
}

/* Cycles from the load of that place to the value; below 0: it is not in it. */
static double way(const Walk *w, const ml_Expr *e, const ml_Buffer *b, const ml_Expr *index)
{
    double most = -1, own = ml_dtype_is_float(e->type) ? CORE.add : 1;

    if (e->kind == ML_EXPR_LOAD)
        return e->as.buffer == b && e->args[0] == index ? 0 : -1;
    for (uint16_t k = 0; k < e->n_args; k++)
        most = fmax(most, way(w, e->args[k], b, index));
    if (most < 0)
        return most;
    if (e->kind == ML_EXPR_CALL)
        own = e->as.op->family == ML_FAMILY_MATH ? 4 * CORE.math : own;
    else if (e->kind == ML_EXPR_DIV)
        own = CORE.divide;
    else if (e->kind == ML_EXPR_MUL || is_product(e->args[0]) ||
             (e->n_args > 1 && is_product(e->args[1])))
        own = CORE.fma;
    else if (e->kind == ML_EXPR_MAX || e->kind == ML_EXPR_MIN)
        own =
            e->type.lanes > 1 ? 2 : 5; /* NaN wants a comparison more where it is scalar */
    return most + own;
}

/* ---------------------------------------------------------------- a loop's stores */

static ml_WhyLoop *here(Walk *w)
{
    return &w->out->loops.v[w->at];
}

/* The accumulator of that place waits for its updates one after the other. */
static bool carries(Walk *w, const ml_Store *s)
{
    const ml_Expr *index = s->n ? s->indices[0] : NULL;
    double cycles, *chain;

    if (index == NULL || s->mask || w->loop == NULL || moves(w, index) ||
        (index->type.lanes > 1 &&
         !(index->kind == ML_EXPR_RAMP && ml_is_int(index->args[1], 1))))
        return false;
    cycles = way(w, s->value, s->buffer, index);
    if (cycles < 0)
        return false;
    chain = (double *)(uintptr_t)ml_map_get(w->places, place_of(s->buffer, index));
    if (chain == NULL) {
        chain = ML_NEW(w->cx, double);
        *chain = 0;
        ml_map_set(w->cx, w->places, place_of(s->buffer, index), chain);
        here(w)->accumulators += registers(w, s->value->type);
    }
    *chain += cycles;
    here(w)->chain = fmax(here(w)->chain, *chain);
    return true;
}

static void see_store(Walk *w, const ml_Store *s, double share)
{
    ml_WhyLoop *l = here(w);
    ml_WhyIssue i = {0};
    bool carried = carries(w, s);

    if (l->line == 0 && s->base.span)
        l->line = s->base.span->line;
    if (s->value->type.lanes > l->lanes)
        l->lanes = s->value->type.lanes;
    count(w, &i, s->value, false);
    if (!carried && s->n)
        count_place(w, &i, s->value->type, s->indices[0], &i.stores);
    if (s->mask)
        i.guards += 1;
    l->issue.fmas += share * i.fmas;
    l->issue.ops += share * i.ops;
    l->issue.math += share * i.math;
    l->issue.loads += share * i.loads;
    l->issue.stores += share * i.stores;
    l->issue.elements += share * i.elements;
    l->issue.crossing += share * i.crossing;
    l->issue.guards += i.guards;
}

static void see_direct(Walk *w, const ml_Stmt *st, double share)
{
    switch (st->kind) {
    case ML_STMT_STORE: see_store(w, ml_as_store(st), share); break;
    case ML_STMT_SEQ:
        for (uint32_t k = 0; k < ml_as_seq(st)->n; k++)
            see_direct(w, ml_as_seq(st)->stmts[k], share);
        break;
    case ML_STMT_IF: {
        const ml_If *f = ml_as_if(st);
        bool once = f->cond->kind == ML_EXPR_EQ, own = moves(w, f->cond);

        here(w)->issue.guards += own ? 1 : 0;
        here(w)->guarded |= own;
        see_direct(w, f->then, once && own ? share / fmax(1, here(w)->trips) : share);
        if (f->other)
            see_direct(w, f->other, share);
        break;
    }
    case ML_STMT_ATTR: see_direct(w, ml_as_attr(st)->body, share); break;
    case ML_STMT_EVALUATE:
        w->out->opaque |= (ml_as_evaluate(st)->value->flags & ML_X_OPAQUE) != 0;
        break;
    default: break; /* loops are looked at by themselves */
    }
}

static bool see_written(const ml_Stmt *s, void *user)
{
    Walk *w = user;

    if (s->kind == ML_STMT_STORE)
        ml_map_set(w->cx, w->written, ml_as_store(s)->buffer->uid, w);
    return true;
}

/* Registers for accumulators, one for an operand and one for a factor. */
static void find_spills(Walk *w, ml_WhyLoop *l)
{
    double need = l->accumulators + 2;

    l->spills = l->accumulators > 0 ? fmax(0, need - w->t->registers) : 0;
}

static void sum_up(Walk *w, ml_WhyLoop *l)
{
    const ml_WhyIssue *i = &l->issue;
    bool vector = l->lanes > 1;
    double loads = i->loads + l->spills + i->elements;
    double stores = i->stores + l->spills;
    double fp = fmax(i->fmas / w->fma_ports, (i->fmas + i->ops) / (2 * w->fma_ports));
    double all = i->fmas + i->ops + loads / 2 + stores + 2 * i->guards + 2;
    double load_ports = vector ? CORE.loads : CORE.scalar_loads;
    double store_ports = vector ? CORE.stores : CORE.scalar_stores;

    l->ports = fmax(fp, (loads + i->crossing) / load_ports);
    l->ports = fmax(l->ports, stores / store_ports);
    l->ports = fmax(l->ports, all / CORE.issue) + (CORE.element - 0.5) * i->elements;
    l->ports = fmax(l->ports, 1) + i->guards * 0.5 + l->spills;
    l->cycles = l->entries * l->trips * fmax(l->ports, l->chain + (l->guarded ? 1.5 : 0));
    if (l->inner)
        l->cycles += l->entries * (l->accumulators +
                                   (l->trips > CORE.foreseen ? CORE.missed : CORE.enter));
}

static void look_at(Walk *w, const ml_Stmt *body)
{
    w->seen = ml_map_new(w->cx);
    w->written = ml_map_new(w->cx);
    w->places = ml_map_new(w->cx);
    ml_stmt_visit(body, see_written, w);
    see_direct(w, body, 1);
    find_spills(w, here(w));
    sum_up(w, here(w));
}

/* ---------------------------------------------------------------- loops */

static void walk(Walk *w, const ml_Stmt *st);

/* The threads that are at work on average: the last ones wait for the one with most. */
static double busy_of(const Walk *w, double n)
{
    double rounds = ceil(n / w->threads);

    return n < 1 ? 1 : n / rounds;
}

static void walk_loop(Walk *w, const ml_For *f)
{
    Walk up = *w;
    double trips = fmax(0, middle(w, f->extent)), *mid = ML_NEW(w->cx, double);
    bool begins = f->kind == ML_FOR_PARALLEL && !w->parallel && w->threads > 1;

    *mid = middle(w, f->min) + floor((trips - 1) / 2);
    ml_map_set(w->cx, w->values, f->var->uid, mid);
    if (begins) {
        w->out->regions += w->runs;
        w->busy = busy_of(w, trips);
        w->parallel = true;
    }
    w->loop = f;
    w->depth++;
    w->at = (uint32_t)w->out->loops.n;
    ml_push(w->cx, &w->out->loops,
            ((ml_WhyLoop){.name = f->var->hint ? f->var->hint : "",
                          .depth = w->depth,
                          .entries = w->runs,
                          .trips = trips,
                          .lanes = 1,
                          .inner = !f->body->has_loop}));
    ml_push(w->cx, &w->out->threads, w->busy);
    look_at(w, f->body);
    w->runs *= trips;
    walk(w, f->body);
    w->loop = up.loop;
    w->at = up.at;
    w->depth = up.depth;
    w->runs = up.runs;
    w->busy = up.busy;
    w->parallel = up.parallel;
}

/* Loops below a statement; what stands directly there was looked at. */
static void walk(Walk *w, const ml_Stmt *st)
{
    switch (st->kind) {
    case ML_STMT_FOR: walk_loop(w, ml_as_for(st)); break;
    case ML_STMT_SEQ:
        for (uint32_t k = 0; k < ml_as_seq(st)->n; k++)
            walk(w, ml_as_seq(st)->stmts[k]);
        break;
    case ML_STMT_IF:
        walk(w, ml_as_if(st)->then);
        if (ml_as_if(st)->other)
            walk(w, ml_as_if(st)->other);
        break;
    case ML_STMT_ATTR: walk(w, ml_as_attr(st)->body); break;
    case ML_STMT_WHILE: walk(w, ml_as_while(st)->body); break;
    case ML_STMT_BLOCK: walk(w, ml_as_block(st)->body); break;
    default: break;
    }
}

void ml_why_issue(ml_Ctx *cx, const ml_Machine *m, const ml_Target *t, uint32_t threads,
                  const ml_Func *lowered, const ml_TimingOpts *o, ml_WhyCode *out)
{
    double lanes = t->vector_bits / 32.0;
    Walk w = {.cx = cx,
              .m = m,
              .t = t,
              .o = o,
              .threads = threads ? threads : 1,
              .fma_ports = isfinite(m->flop_per_cycle) ? m->flop_per_cycle / 2 / lanes : 2,
              .out = out,
              .values = ml_map_new(cx),
              .runs = 1,
              .busy = 1};

    *out = (ml_WhyCode){.regions = 0};
    ml_push(cx, &out->loops,
            ((ml_WhyLoop){.name = "", .entries = 1, .trips = 1, .lanes = 1}));
    ml_push(cx, &out->threads, 1.0);
    look_at(&w, lowered->body);
    walk(&w, lowered->body);
}
