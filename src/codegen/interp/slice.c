/*
 * slice - register code that tells of its accesses, and of a program only what they need.
 *
 * An access is kept as an address; its value is computed only where an address, a bound or
 * a condition depends on it, and then every store to that memory is. The marking knows
 * nothing of the order of instructions (a register once needed is needed wherever it is
 * written), so it keeps at least what matters. A jump forward over nothing that is kept is
 * left out: both ways are the same then. Loops and calls that nobody can look into stay.
 */
#include "moonloop/codegen/interp/code.h"

enum { DROP, ADDRESS, WHOLE }; /* of an access: the address alone, or its value too */

typedef struct Slice {
    ml_Gen *g;
    uint8_t *keep;         /* per instruction */
    uint8_t *need;         /* per register */
    uint32_t *first;       /* per register: its writers are order[first .. next first) */
    uint32_t *order;       /* instructions by the register that they write */
    ML_VEC(uint32_t) todo; /* registers whose writers are to be kept */
} Slice;

static bool is_load(const ml_Ins *i)
{
    return i->op == ML_I_LOAD || i->op == ML_I_LOADU;
}

static bool is_access(const ml_Ins *i)
{
    return is_load(i) || i->op == ML_I_STORE;
}

/* Registers that the instruction writes: d, d + 1, ... */
static uint32_t writes(const ml_Ins *i)
{
    switch ((ml_Inst)i->op) {
    case ML_I_FOR:
    case ML_I_LOADU: return 2;
    case ML_I_JMP:
    case ML_I_JZ:
    case ML_I_JNZ:
    case ML_I_END:
    case ML_I_TRAP:
    case ML_I_NEXT:
    case ML_I_TICK:
    case ML_I_PAR:
    case ML_I_PARITER:
    case ML_I_PARDEPTH:
    case ML_I_STORE:
    case ML_I_REGION:
    case ML_I_BOUNDS:
    case ML_I_ALLOC:
    case ML_I_VIEW:
    case ML_I_DOMAIN:
    case ML_I_SAME:
    case ML_I_ASSERT:
    case ML_I_TOUCH:
    case ML_I_ITER:
    case ML_I_CAP: return 0;
    default: return 1;
    }
}

static void need(Slice *s, int64_t reg)
{
    if (s->need[reg])
        return;
    s->need[reg] = 1;
    ml_push(s->g->cx, &s->todo, (uint32_t)reg);
}

static void need_all(Slice *s, const uint32_t *regs, size_t n)
{
    for (size_t k = 0; k < n; k++)
        need(s, regs[k]);
}

static void need_view(Slice *s, const ml_View *v)
{
    if (v->r_extent)
        need_all(s, v->r_extent, v->rank);
    if (v->r_stride)
        need_all(s, v->r_stride, v->rank);
    if (v->r_offset != UINT32_MAX)
        need(s, v->r_offset);
}

/* What an instruction that computes a value reads. */
static void need_operands(Slice *s, const ml_Ins *i)
{
    switch ((ml_Inst)i->op) {
    case ML_I_FMA:
    case ML_I_SEL:
        need(s, i->a);
        need(s, i->b);
        need(s, i->c);
        return;
    case ML_I_QMUL: need_all(s, s->g->lists.v[i->a], 5); return;
    case ML_I_MOV:
    case ML_I_NOT:
    case ML_I_BNOT:
    case ML_I_POPCOUNT:
    case ML_I_CLZ:
    case ML_I_IABS:
    case ML_I_MATH1:
    case ML_I_TEST:
    case ML_I_WRAP:
    case ML_I_ITOF:
    case ML_I_FTOI:
    case ML_I_FTOF:
    case ML_I_ITOB:
    case ML_I_FTOB:
    case ML_I_REINT: need(s, i->a); return;
    default:
        need(s, i->a);
        need(s, i->b);
        return;
    }
}

static void keep(Slice *s, uint32_t pc, uint8_t how);

/* Something depends on what the memory holds: its stores count from now on. */
static void need_values(Slice *s, ml_Memory *mem)
{
    const ml_Gen *g = s->g;

    if (mem->values)
        return;
    mem->values = true;
    for (uint32_t pc = 0; pc < g->code.n; pc++)
        if (g->code.v[pc].op == ML_I_STORE &&
            g->accesses.v[g->code.v[pc].a]->view->mem == mem)
            keep(s, pc, WHOLE);
}

static void keep(Slice *s, uint32_t pc, uint8_t how)
{
    const ml_Ins *i = &s->g->code.v[pc];
    uint8_t before = s->keep[pc];

    if (before >= how)
        return;
    s->keep[pc] = how;
    if (is_access(i)) {
        const ml_Access *ac = s->g->accesses.v[i->a];
        if (before == DROP)
            need_all(s, ac->index, ac->view->rank);
        if (how == WHOLE && i->op == ML_I_STORE) {
            need(s, i->b);
            if (i->c >= 0)
                need(s, i->c);
        } else if (how == WHOLE) {
            need_values(s, ac->view->mem);
        }
        return;
    }
    switch ((ml_Inst)i->op) {
    case ML_I_JZ:
    case ML_I_JNZ:
    case ML_I_ASSERT: need(s, i->a); break;
    case ML_I_FOR:
        need(s, i->a);
        need(s, i->b);
        need(s, i->d + 2);
        break;
    case ML_I_ALLOC:
    case ML_I_VIEW: need_view(s, s->g->views.v[i->a]); break;
    case ML_I_JMP:
    case ML_I_END:
    case ML_I_TRAP:
    case ML_I_NEXT:
    case ML_I_TICK: break;
    default: need_operands(s, i); break;
    }
}

static bool is_jump(const ml_Ins *i)
{
    return i->op == ML_I_JMP || i->op == ML_I_JZ || i->op == ML_I_JNZ;
}

static bool stays(const ml_Ins *i, uint32_t pc)
{
    switch ((ml_Inst)i->op) {
    case ML_I_FOR:
    case ML_I_NEXT:
    case ML_I_TICK:
    case ML_I_END:
    case ML_I_TRAP:
    case ML_I_ALLOC:
    case ML_I_VIEW: return true;
    default: return is_jump(i) && i->c <= (int32_t)pc;
    }
}

/* Writers by register, as lists one after the other. */
static void find_writers(Slice *s)
{
    const ml_Gen *g = s->g;
    uint32_t n = (uint32_t)g->regs.n, *at;

    s->first = ML_ARRAY(g->cx, uint32_t, n + 2u);
    for (uint32_t pc = 0; pc < g->code.n; pc++)
        for (uint32_t k = 0; k < writes(&g->code.v[pc]); k++)
            s->first[g->code.v[pc].d + (int32_t)k + 1]++;
    for (uint32_t r = 0; r < n; r++)
        s->first[r + 1] += s->first[r];
    s->order = ML_ARRAY(g->cx, uint32_t, s->first[n] + 1u);
    at = ML_ARRAY(g->cx, uint32_t, n + 1u);
    memcpy(at, s->first, n * sizeof *at);
    for (uint32_t pc = 0; pc < g->code.n; pc++)
        for (uint32_t k = 0; k < writes(&g->code.v[pc]); k++)
            s->order[at[g->code.v[pc].d + (int32_t)k]++] = pc;
}

static void follow(Slice *s)
{
    while (s->todo.n > 0) {
        uint32_t r = s->todo.v[--s->todo.n];
        for (uint32_t k = s->first[r]; k < s->first[r + 1]; k++)
            keep(s, s->order[k], WHOLE);
    }
}

/* Jumps over something that is kept; true: there was one more. */
static bool keep_jumps(Slice *s)
{
    const ml_Gen *g = s->g;
    uint32_t *before = ML_ARRAY(g->cx, uint32_t, g->code.n + 1);
    bool more = false;

    for (uint32_t pc = 0; pc < g->code.n; pc++)
        before[pc + 1] = before[pc] + (s->keep[pc] != DROP);
    for (uint32_t pc = 0; pc < g->code.n; pc++) {
        const ml_Ins *i = &g->code.v[pc];
        if (!is_jump(i) || s->keep[pc] || i->c <= (int32_t)pc ||
            before[i->c] == before[pc + 1])
            continue;
        keep(s, pc, WHOLE);
        more = true;
    }
    return more;
}

static void mark(Slice *s, bool all)
{
    const ml_Gen *g = s->g;

    for (uint32_t pc = 0; pc < g->code.n; pc++) {
        const ml_Ins *i = &g->code.v[pc];
        if (all)
            s->keep[pc] = WHOLE;
        else if (is_access(i))
            keep(s, pc, ADDRESS);
        else if (stays(i, pc))
            keep(s, pc, WHOLE);
    }
    for (size_t k = 0; k < g->memories.n; k++)
        g->memories.v[k]->values |= all;
    if (all)
        return;
    do
        follow(s);
    while (keep_jumps(s));
}

/* ---------------------------------------------------------------- the new code */

typedef struct Build {
    ML_VEC(ml_Ins) code;
    ML_VEC(uint32_t) site_of;
    ML_VEC(const ml_Expr *) expr_of;
} Build;

static void put(const ml_Gen *g, Build *b, ml_Ins i, uint32_t from)
{
    ml_push(g->cx, &b->code, i);
    ml_push(g->cx, &b->site_of, g->site_of.v[from]);
    ml_push(g->cx, &b->expr_of, g->expr_of.v[from]);
}

/* Where the body of each loop begins: loop number + 1, by instruction. */
static uint32_t *body_starts(const ml_Gen *g, ml_LoopStarts *loops)
{
    uint32_t *at = ML_ARRAY(g->cx, uint32_t, g->code.n + 1);
    uint32_t *number = ML_ARRAY(g->cx, uint32_t, g->regs.n + 1); /* by the variable */

    for (uint32_t pc = 0; pc < g->code.n; pc++) {
        const ml_Ins *i = &g->code.v[pc];
        if (i->op == ML_I_FOR) {
            ml_push(g->cx, loops, pc);
            number[i->d] = (uint32_t)loops->n;
        } else if (i->op == ML_I_NEXT) {
            at[i->c] = number[i->d];
        }
    }
    return at;
}

static void put_one(const Slice *s, Build *b, uint32_t pc)
{
    const ml_Gen *g = s->g;
    ml_Ins i = g->code.v[pc];

    if (!is_access(&i) || s->keep[pc] == WHOLE)
        put(g, b, i, pc);
    if (is_access(&i))
        put(g, b, (ml_Ins){ML_I_TOUCH, i.op == ML_I_STORE, 0, i.a, 0, 0}, pc);
    if (i.op == ML_I_FOR)
        put(g, b, (ml_Ins){ML_I_CAP, 0, i.d, -1, 0, 0}, pc);
}

static void rebuild(Slice *s, ml_LoopStarts *loops)
{
    ml_Gen *g = s->g;
    uint32_t n = (uint32_t)g->code.n;
    uint32_t *start = body_starts(g, loops);
    uint32_t *to = ML_ARRAY(g->cx, uint32_t, n + 1u);   /* old number -> new */
    uint32_t *turn = ML_ARRAY(g->cx, uint32_t, n + 1u); /* the same of a loop's body */
    Build b = {0};

    for (uint32_t pc = 0; pc < n; pc++) {
        turn[pc] = (uint32_t)b.code.n;
        if (start[pc]) {
            uint32_t from = loops->v[start[pc] - 1];
            put(g, &b,
                (ml_Ins){ML_I_ITER, 0, g->code.v[from].d, (int32_t)start[pc] - 1, 0, 0},
                from);
        }
        to[pc] = (uint32_t)b.code.n;
        if (s->keep[pc])
            put_one(s, &b, pc);
    }
    to[n] = turn[n] = (uint32_t)b.code.n;
    for (uint32_t k = 0; k < b.code.n; k++) {
        ml_Ins *i = &b.code.v[k];
        if (i->op == ML_I_NEXT)
            i->c = (int32_t)turn[i->c];
        else if (is_jump(i) || i->op == ML_I_FOR)
            i->c = (int32_t)to[i->c];
    }
    for (uint32_t k = 0; k < loops->n; k++)
        loops->v[k] = to[loops->v[k]];
    memcpy(&g->code, &b.code, sizeof g->code);
    memcpy(&g->site_of, &b.site_of, sizeof g->site_of);
    memcpy(&g->expr_of, &b.expr_of, sizeof g->expr_of);
}

bool ml_gen_slice(ml_Gen *g, bool all, ml_LoopStarts *loops)
{
    Slice s = {.g = g};

    s.keep = ML_ARRAY(g->cx, uint8_t, g->code.n + 1);
    s.need = ML_ARRAY(g->cx, uint8_t, g->regs.n + 1);
    find_writers(&s);
    mark(&s, all);
    for (size_t k = 0; k < g->memories.n; k++)
        g->memories.v[k]->shape_only = !g->memories.v[k]->values;
    rebuild(&s, loops);
    return ml_ok(g->cx);
}
