/*
 * asm_loops - the innermost loops of machine code, by its jumps.
 *
 * Compilers lay blocks out as they like: a loop need not be one stretch of the text, and a
 * jump backwards need not close one. So the basic blocks of a function are taken, which
 * block comes before which on every way (dominators), and an edge to a block that comes
 * before its source closes a natural loop. Jumps through tables are ways nobody knows.
 */
#include "repl/show/asm_loops.h"

#include <string.h>

enum { NOWHERE = UINT32_MAX };

typedef enum Jump { JUMP_NONE, JUMP_MAYBE, JUMP_ALWAYS, JUMP_OUT } Jump;

typedef struct Block {
    ml_AsmRange lines;
    uint32_t to[2]; /* blocks that may come next, or NOWHERE */
    ML_VEC(uint32_t) from;
    uint32_t before; /* the nearest block on every way here; NOWHERE: it is not reached */
    uint32_t order;  /* position in reverse postorder */
} Block;

typedef struct Graph {
    ml_Ctx *cx;
    const ml_AsmLines *v;
    ML_VEC(Block) b;
    ML_VEC(uint32_t) order; /* reverse postorder */
    uint32_t *stack;        /* room for every block */
} Graph;

/* ---------------------------------------------------------------- instructions */

static bool is_word(ml_Str s, const char *z)
{
    size_t n = strlen(z);

    return ml_str_begins(s, z) && (s.n == n || s.p[n] == ' ' || s.p[n] == '\t');
}

/* The last operand: "jne .L3", "cbz x8, .L3". */
static ml_Str target_of(ml_Str s)
{
    size_t at = s.n;

    while (at > 0 && s.p[at - 1] != ' ' && s.p[at - 1] != '\t' && s.p[at - 1] != ',')
        at--;
    return (ml_Str){s.p + at, s.n - at};
}

static Jump jump_of(ml_Str s)
{
    if (ml_str_begins(s, "ret") || is_word(s, "ud2") || is_word(s, "brk") ||
        is_word(s, "br"))
        return JUMP_OUT;
    if (is_word(s, "jmp") || is_word(s, "jmpq") || is_word(s, "b"))
        return target_of(s).n > 0 && target_of(s).p[0] == '.' ? JUMP_ALWAYS : JUMP_OUT;
    if ((s.n > 1 && s.p[0] == 'j') || ml_str_begins(s, "b.") || is_word(s, "cbz") ||
        is_word(s, "cbnz") || is_word(s, "tbz") || is_word(s, "tbnz"))
        return JUMP_MAYBE;
    return JUMP_NONE;
}

/* ---------------------------------------------------------------- blocks */

static void add_block(Graph *g, size_t from, size_t to)
{
    const Block b = {.lines = {from, to}, .to = {NOWHERE, NOWHERE}, .before = NOWHERE};

    ml_push(g->cx, &g->b, b);
}

/* Lines [from, to) are a function. */
static void cut(Graph *g, size_t from, size_t to)
{
    size_t begin = from;

    for (size_t k = from; k < to; k++) {
        const ml_AsmLine *l = &g->v->v[k];
        bool ends = !l->label && jump_of(l->text) != JUMP_NONE;

        if (l->label && k > begin && !g->v->v[k - 1].label) {
            add_block(g, begin, k - 1);
            begin = k;
        }
        if (ends || k + 1 == to) {
            add_block(g, begin, k);
            begin = k + 1;
        }
    }
}

static uint32_t block_at(const Graph *g, ml_Str label)
{
    for (uint32_t k = 0; k < g->b.n; k++)
        for (size_t l = g->b.v[k].lines.from; l <= g->b.v[k].lines.to && g->v->v[l].label;
             l++)
            if (ml_str_eq(g->v->v[l].text, label))
                return k;
    return NOWHERE;
}

static void join(Graph *g, uint32_t from, int way, uint32_t to)
{
    if (to == NOWHERE || to >= g->b.n)
        return;
    g->b.v[from].to[way] = to;
    ml_push(g->cx, &g->b.v[to].from, from);
}

static void find_ways(Graph *g)
{
    for (uint32_t k = 0; k < g->b.n; k++) {
        const ml_AsmLine *last = &g->v->v[g->b.v[k].lines.to];
        Jump j = last->label ? JUMP_NONE : jump_of(last->text);

        if (j == JUMP_NONE || j == JUMP_MAYBE)
            join(g, k, 0, k + 1);
        if (j == JUMP_MAYBE || j == JUMP_ALWAYS)
            join(g, k, 1, block_at(g, target_of(last->text)));
    }
}

/* ---------------------------------------------------------------- dominators */

static void find_order(Graph *g)
{
    uint32_t *stack = g->stack;
    uint8_t *ways = ML_ARRAY(g->cx, uint8_t, g->b.n + 1); /* ways tried; 3: left */
    size_t n = 0;

    memset(ways, 0, g->b.n);
    stack[n++] = 0;
    ways[0] = 1;
    while (n > 0) {
        Block *b = &g->b.v[stack[n - 1]];
        uint32_t next = NOWHERE;

        while (ways[stack[n - 1]] < 3 && next == NOWHERE) {
            next = b->to[ways[stack[n - 1]]++ - 1];
            if (next != NOWHERE && ways[next])
                next = NOWHERE;
        }
        if (next != NOWHERE) {
            ways[next] = 1;
            stack[n++] = next;
            continue;
        }
        ml_push(g->cx, &g->order, stack[--n]);
    }
    for (size_t a = 0, b = g->order.n; a + 1 < b; a++, b--) {
        uint32_t x = g->order.v[a];

        g->order.v[a] = g->order.v[b - 1];
        g->order.v[b - 1] = x;
    }
    for (uint32_t k = 0; k < g->order.n; k++)
        g->b.v[g->order.v[k]].order = k;
}

static uint32_t common(const Graph *g, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (g->b.v[a].order > g->b.v[b].order)
            a = g->b.v[a].before;
        while (g->b.v[b].order > g->b.v[a].order)
            b = g->b.v[b].before;
    }
    return a;
}

static void find_before(Graph *g)
{
    bool changed = true;

    g->b.v[0].before = 0;
    while (changed) {
        changed = false;
        for (size_t k = 1; k < g->order.n; k++) {
            Block *b = &g->b.v[g->order.v[k]];
            uint32_t at = NOWHERE;

            for (size_t j = 0; j < b->from.n; j++) {
                uint32_t f = b->from.v[j];

                if (g->b.v[f].before != NOWHERE)
                    at = at == NOWHERE ? f : common(g, f, at);
            }
            changed |= at != b->before;
            b->before = at;
        }
    }
}

static bool is_before(const Graph *g, uint32_t a, uint32_t b)
{
    while (b != a && b != 0)
        b = g->b.v[b].before;
    return a == b;
}

/* ---------------------------------------------------------------- loops */

/* Marks what reaches a jump back to `head` without passing it; false: there is none. */
static bool body_of(Graph *g, uint32_t head, bool *in)
{
    uint32_t *stack = g->stack;
    const Block *h = &g->b.v[head];
    size_t n = 0;
    bool found = false;

    memset(in, 0, g->b.n * sizeof *in);
    in[head] = true;
    for (size_t k = 0; k < h->from.n; k++) {
        uint32_t f = h->from.v[k];

        if (g->b.v[f].before == NOWHERE || !is_before(g, head, f))
            continue;
        found = true;
        if (!in[f]) {
            in[f] = true;
            stack[n++] = f;
        }
    }
    while (n > 0) {
        const Block *b = &g->b.v[stack[--n]];

        for (size_t k = 0; k < b->from.n; k++) {
            uint32_t f = b->from.v[k];

            if (in[f] || g->b.v[f].before == NOWHERE)
                continue;
            in[f] = true;
            stack[n++] = f;
        }
    }
    return found;
}

static void add_loop(const Graph *g, const bool *in, ml_Ctx *cx, ml_AsmLoopList *out)
{
    ML_VEC(ml_AsmRange) parts = {0};

    for (uint32_t k = 0; k < g->b.n; k++) {
        if (!in[k])
            continue;
        if (parts.n > 0 && parts.v[parts.n - 1].to + 1 == g->b.v[k].lines.from)
            parts.v[parts.n - 1].to = g->b.v[k].lines.to;
        else
            ml_push(cx, &parts, g->b.v[k].lines);
    }
    ml_push(cx, out, ((ml_AsmLoop){parts.n, parts.v}));
}

static void loops_of(ml_Ctx *cx, const ml_AsmLines *v, size_t from, size_t to,
                     ml_AsmLoopList *out)
{
    Graph g = {.cx = cx, .v = v};
    bool *in, *heads;

    cut(&g, from, to);
    if (g.b.n == 0)
        return;
    g.stack = ML_ARRAY(cx, uint32_t, g.b.n + 1);
    find_ways(&g);
    find_order(&g);
    find_before(&g);
    in = ML_ARRAY(cx, bool, g.b.n);
    heads = ML_ARRAY(cx, bool, g.b.n);
    for (uint32_t k = 0; k < g.b.n; k++)
        heads[k] = g.b.v[k].before != NOWHERE && body_of(&g, k, in);
    for (uint32_t k = 0; k < g.b.n; k++) {
        bool inner = heads[k] && body_of(&g, k, in);

        for (uint32_t j = 0; j < g.b.n && inner; j++)
            inner = j == k || !heads[j] || !in[j];
        if (inner)
            add_loop(&g, in, cx, out);
    }
}

void ml_asm_inner_loops(ml_Ctx *cx, const ml_AsmLines *v, ml_AsmLoopList *out)
{
    for (size_t from = 0, to; from < v->n; from = to) {
        for (to = from + 1; to < v->n && v->v[to].func == v->v[from].func;)
            to++;
        loops_of(cx, v, from, to, out);
    }
}
