/*
 * version_order - the versions of a schedule in the order of their drawings.
 *
 * Lines of work that wait for their turn are kept on a stack of our own: depth and length
 * do not matter. Source: interaction 6, 10.
 */
#include "repl/show/versions.h"

typedef struct Node {
    int first, last; /* children, oldest and newest; -1: none */
    int next;        /* sibling */
    bool leads;      /* to the current version, or is it */
} Node;

typedef struct Order {
    ml_Ctx *cx;
    ml_Schedule *s;
    Node *v;
    ml_VersionOrder stack; /* lines of work by their first version */
} Order;

static void read_tree(Order *o)
{
    int n = ml_schedule_n_versions(o->s), current = ml_schedule_version(o->s);
    ml_Step step;

    o->v = ML_ARRAY(o->cx, Node, (size_t)n);
    for (int v = 0; v < n; v++)
        o->v[v] = (Node){-1, -1, -1, false};
    for (int v = 0; v < n; v++) {
        if (!ml_version_step(o->s, v, &step) || step.parent < 0)
            continue;
        Node *p = &o->v[step.parent];

        if (p->last < 0)
            p->first = v;
        else
            o->v[p->last].next = v;
        p->last = v;
    }
    for (int v = current; v >= 0; v = ml_version_step(o->s, v, &step) ? step.parent : -1)
        o->v[v].leads = true;
}

static bool has_one_child(const Order *o, int v)
{
    return o->v[v].first >= 0 && o->v[v].first == o->v[v].last;
}

/* The child that goes on at the same indentation. */
static int main_child(const Order *o, int v)
{
    for (int c = o->v[v].first; c >= 0; c = o->v[c].next)
        if (o->v[c].leads)
            return c;
    return o->v[v].last;
}

/* Puts the children of v on the stack so that the oldest comes first and the line that goes
 * on last. */
static void branch_out(Order *o, int v, int depth)
{
    int on = main_child(o, v);
    size_t from;

    ml_push(o->cx, &o->stack,
            ((ml_VersionEntry){
                .version = on, .parent = v, .depth = depth, .joint = ML_JOINT_ON}));
    from = o->stack.n;
    for (int c = o->v[v].first; c >= 0; c = o->v[c].next)
        if (c != on)
            ml_push(o->cx, &o->stack,
                    ((ml_VersionEntry){.version = c,
                                       .parent = v,
                                       .depth = depth + 1,
                                       .joint = ML_JOINT_SIDE}));
    for (size_t a = from, b = o->stack.n; a + 1 < b; a++, b--) {
        ml_VersionEntry e = o->stack.v[a];

        o->stack.v[a] = o->stack.v[b - 1];
        o->stack.v[b - 1] = e;
    }
}

static int end_of_dropped(const Order *o, int v)
{
    while (!ml_version_known(o->s, v) && has_one_child(o, v) &&
           !ml_version_known(o->s, o->v[v].first))
        v = o->v[v].first;
    return v;
}

static void add_line(Order *o, ml_VersionEntry e, ml_VersionOrder *out)
{
    for (;;) {
        e.last = end_of_dropped(o, e.version);
        e.ends = o->v[e.last].first < 0;
        e.forks = !e.ends && !has_one_child(o, e.last);
        ml_push(o->cx, out, e);
        if (e.ends || e.forks)
            break;
        e = (ml_VersionEntry){
            .version = o->v[e.last].first, .parent = e.last, .depth = e.depth};
    }
    if (e.forks)
        branch_out(o, e.last, e.depth);
}

void ml_version_order(ml_Ctx *cx, ml_Schedule *s, ml_VersionOrder *out)
{
    Order o = {.cx = cx, .s = s};

    read_tree(&o);
    ml_push(cx, &o.stack, ((ml_VersionEntry){.parent = -1, .joint = ML_JOINT_ROOT}));
    while (o.stack.n > 0)
        add_line(&o, o.stack.v[--o.stack.n], out);
}
