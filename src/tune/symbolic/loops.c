/*
 * loops - split, fuse, reorder, the kinds of loops, annotations; and the tree below.
 *
 * A step changes the extents of loops and substitutes in the bindings; what a primitive
 * checks is not checked again, since a variant is compared with a real replay.
 * Source: primitives 6.
 */
#include "moonloop/tune/symbolic/symbolic_impl.h"

/* ---------------------------------------------------------------- the tree */

ml_NestNode *ml_sym_node_of(ml_NestNode *root, uint32_t axis)
{
    if (root->kind == ML_NEST_LOOP && root->axis == axis)
        return root;
    for (size_t k = 0; k < root->kids.n; k++) {
        ml_NestNode *x = ml_sym_node_of(root->kids.v[k], axis);

        if (x)
            return x;
    }
    return NULL;
}

bool ml_sym_is_above(const ml_NestNode *up, const ml_NestNode *node)
{
    while (node && node != up)
        node = node->parent;
    return node != NULL;
}

size_t ml_sym_position(const ml_NestNode *node)
{
    size_t k = 0;

    while (node->parent->kids.v[k] != node)
        k++;
    return k;
}

void ml_sym_insert(Sym *s, ml_NestNode *parent, size_t at, ml_NestNode *node)
{
    ml_push(s->cx, &parent->kids, node);
    for (size_t k = parent->kids.n - 1; k > at; k--)
        parent->kids.v[k] = parent->kids.v[k - 1];
    parent->kids.v[at] = node;
    node->parent = parent;
}

void ml_sym_remove(ml_NestNode *node)
{
    ml_NestNode *up = node->parent;

    for (size_t k = ml_sym_position(node); k + 1 < up->kids.n; k++)
        up->kids.v[k] = up->kids.v[k + 1];
    up->kids.n--;
    if (up->kids.n == 0 && up->kind == ML_NEST_LOOP)
        ml_sym_remove(up);
}

uint32_t ml_sym_new_loop(Sym *s, ml_Num extent)
{
    ml_push(s->cx, &s->n.axes,
            ((ml_NestAxis){.kind = ML_FOR_SERIAL,
                           .extent = extent,
                           .unroll = ml_form_const(s->f, 0)}));
    return (uint32_t)s->n.axes.n - 1;
}

static void put_access(Sym *s, ml_NestAccess *a, uint32_t axis, const ml_Sum *value)
{
    for (uint32_t d = 0; d < a->n; d++)
        a->dims[d] = ml_sum_put(&s->n, &a->dims[d], axis, value);
}

static void put_below(Sym *s, ml_NestNode *node, uint32_t axis, const ml_Sum *value)
{
    if (node->kind == ML_NEST_STORE) {
        put_access(s, &node->store->to, axis, value);
        for (uint32_t k = 0; k < node->store->n_loads; k++)
            put_access(s, &node->store->loads[k], axis, value);
    }
    for (size_t k = 0; k < node->kids.n; k++)
        put_below(s, node->kids.v[k], axis, value);
}

void ml_sym_substitute(Sym *s, uint32_t axis, const ml_Sum *value)
{
    for (size_t k = 0; k < s->n.axes.n; k++)
        if (s->n.axes.v[k].iter)
            s->n.axes.v[k].value = ml_sum_put(&s->n, &s->n.axes.v[k].value, axis, value);
    put_below(s, s->n.root, axis, value);
}

static void guard_below(ml_NestNode *node)
{
    if (node->kind == ML_NEST_BLOCK)
        node->block->guarded = true;
    for (size_t k = 0; k < node->kids.n; k++)
        guard_below(node->kids.v[k]);
}

/* ---------------------------------------------------------------- split */

/* Whether these are the factors that were sampled for the extent. */
static bool is_tile(const Sym *s, const ml_Num *v, size_t n, ml_Num extent)
{
    for (size_t k = 0; k < s->tiles.n; k++)
        if (s->tiles.v[k].extent == extent && s->tiles.v[k].n == n &&
            memcmp(s->tiles.v[k].v, v, n * sizeof *v) == 0)
            return true;
    return false;
}

bool ml_sym_split_loop(Sym *s, ml_NestNode *loop, ml_Num *factors, size_t n, size_t open,
                       bool no_guard, uint32_t *axes)
{
    ml_Forms *f = s->f;
    ml_NestNode *node;
    ml_Num product = ml_form_const(f, 1), zero = ml_form_const(f, 0), exact;
    ml_Num extent = s->n.axes.v[loop->axis].extent;

    for (size_t k = 0; k < n; k++)
        product = k == open ? product : ml_form_mul(f, product, factors[k]);
    if (open < n) {
        factors[open] = ml_form_ceildiv(f, extent, product);
        exact = ml_form_eq(f, ml_form_mod(f, extent, product), zero);
    } else
        exact = is_tile(s, factors, n, extent) ? ml_form_const(f, 1)
                                               : ml_form_eq(f, product, extent);
    bool guarded = !ml_form_holds(f, exact);

    if (guarded && open == n && ml_form_holds(f, ml_form_lt(f, product, extent)))
        return ml_sym_no(s, "factors that are too small");

    ml_Sum value = ml_sum_const(&s->n, 0);
    ml_Num times = ml_form_const(f, 1);
    uint32_t old = loop->axis;

    for (size_t k = n; k-- > 0;) {
        axes[k] = ml_sym_new_loop(s, factors[k]);
        ml_Sum part = ml_sum_axis(&s->n, axes[k]);

        value = ml_sum_add(&s->n, &value, &part, times);
        times = ml_form_mul(f, times, factors[k]);
    }
    ml_sym_substitute(s, old, &value);
    loop->axis = axes[0];
    node = loop;
    for (size_t k = 1; k < n; k++) { /* the body moves inwards */
        ml_NestNode *in = ml_nest_node(&s->n, NULL);

        in->kind = ML_NEST_LOOP;
        in->axis = axes[k];
        in->kids.v = node->kids.v;
        in->kids.n = node->kids.n;
        in->kids.cap = node->kids.cap;
        node->kids.v = NULL;
        node->kids.n = node->kids.cap = 0;
        for (size_t m = 0; m < in->kids.n; m++)
            in->kids.v[m]->parent = in;
        ml_sym_insert(s, node, 0, in);
        node = in;
    }
    if (guarded && !no_guard)
        guard_below(loop);
    return true;
}

bool ml_sym_split(Sym *s)
{
    const ml_TVArg *given = &s->args[1];
    ml_NestNode *loop;
    ml_Num factors[ML_SYM_FACTORS];
    uint32_t axes[ML_SYM_FACTORS];
    size_t n = given->n, open = n;

    if (!ml_sym_loop(s, 0, &loop))
        return false;
    if (n == 0 || n > ML_COUNT(factors))
        return ml_sym_no(s, "that many factors");
    for (size_t k = 0; k < n; k++) {
        if (given->v[k].kind == ML_TV_NONE ||
            (given->v[k].kind == ML_TV_VAR && s->vars[given->v[k].var].kind == ML_H_NONE))
            open = k;
        else if (!ml_sym_num(s, &given->v[k], &factors[k]))
            return false;
    }
    if (!ml_sym_split_loop(s, loop, factors, n, open, ml_sym_flag(s, 3, false), axes))
        return false;
    for (size_t k = 0; k < n; k++)
        ml_sym_out_loop(s, k, axes[k]);
    return true;
}

/* ---------------------------------------------------------------- fuse */

static bool loops_at(Sym *s, size_t param, ml_NestNode **v, size_t cap, size_t *n)
{
    const ml_TVArg *a = &s->args[param];

    *n = a->n;
    if (a->n == 0 || a->n > cap)
        return ml_sym_no(s, "that many loops");
    for (size_t k = 0; k < a->n; k++) {
        if (a->v[k].kind != ML_TV_VAR || s->vars[a->v[k].var].kind != ML_H_LOOP)
            return ml_sym_no(s, "no loop");
        v[k] = ml_sym_node_of(s->n.root, s->vars[a->v[k].var].axis);
        if (v[k] == NULL)
            return ml_sym_no(s, "a loop that is not there");
    }
    return true;
}

bool ml_sym_fuse_loops(Sym *s, ml_NestNode *const *v, size_t n)
{
    ml_Forms *f = s->f;
    ml_Num below = ml_form_const(f, 1), product = below;

    for (size_t k = 0; k < n; k++) {
        if (k > 0 && (v[k]->parent != v[k - 1] || v[k - 1]->kids.n != 1))
            return ml_sym_no(s, "loops that are not one inside the other");
        product = ml_form_mul(f, product, s->n.axes.v[v[k]->axis].extent);
    }
    uint32_t fused = ml_sym_new_loop(s, product);

    for (size_t k = n; k-- > 0;) {
        ml_Num extent = s->n.axes.v[v[k]->axis].extent;
        ml_Term *t = ML_NEW(s->cx, ml_Term);

        *t = (ml_Term){fused, below, extent, ml_form_const(f, 1)};
        ml_Sum part = {.ok = true, .base = ml_form_const(f, 0), .n = 1, .v = t};

        ml_sym_substitute(s, v[k]->axis, &part);
        below = ml_form_mul(f, below, extent);
    }
    v[0]->axis = fused;
    v[0]->kids.v = v[n - 1]->kids.v;
    v[0]->kids.n = v[n - 1]->kids.n;
    v[0]->kids.cap = v[n - 1]->kids.cap;
    for (size_t k = 0; k < v[0]->kids.n; k++)
        v[0]->kids.v[k]->parent = v[0];
    return true;
}

bool ml_sym_fuse(Sym *s)
{
    ml_NestNode *v[32];
    size_t n;

    if (!loops_at(s, 0, v, ML_COUNT(v), &n) || !ml_sym_fuse_loops(s, v, n))
        return false;
    ml_sym_out_loop(s, 0, v[0]->axis);
    return true;
}

/* ---------------------------------------------------------------- reorder, kinds */

bool ml_sym_reorder(Sym *s)
{
    ml_NestNode *v[32], *chain[64], *bottom;
    size_t n, m = 0, next = 0;
    uint32_t order[32];

    if (!loops_at(s, 0, v, ML_COUNT(v), &n))
        return false;
    bottom = v[0];
    for (size_t k = 0; k < n; k++) {
        bottom = ml_sym_is_above(bottom, v[k]) ? v[k] : bottom;
        order[k] = v[k]->axis;
    }
    size_t left = n;

    for (ml_NestNode *x = bottom; left > 0; x = x->parent) {
        bool listed = false;

        if (x == NULL || x->kind != ML_NEST_LOOP || m == ML_COUNT(chain) ||
            (m > 0 && x->kids.n != 1))
            return ml_sym_no(s, "loops that are not on one chain");
        chain[m++] = x;
        for (size_t k = 0; k < n; k++)
            listed |= v[k] == x;
        left -= listed;
    }
    while (m-- > 0)
        for (size_t k = 0; k < n; k++)
            if (v[k] == chain[m]) {
                chain[m]->axis = order[next++];
                break;
            }
    return true;
}

bool ml_sym_kind(Sym *s)
{
    ml_NestNode *loop;
    const char *name = s->in->prim->name;

    if (!ml_sym_loop(s, 0, &loop))
        return false;
    s->n.axes.v[loop->axis].kind = ml_streq(name, "parallel")    ? ML_FOR_PARALLEL
                                   : ml_streq(name, "vectorize") ? ML_FOR_VECTORIZED
                                                                 : ML_FOR_UNROLLED;
    return true;
}

bool ml_sym_bind(Sym *s)
{
    const ml_TVArg *a = &s->args[1];
    ml_NestNode *loop;

    if (!ml_sym_loop(s, 0, &loop))
        return false;
    if (a->n != 1 || a->v->kind != ML_TV_VALUE || a->v->value->kind != ML_VAL_STRING)
        return ml_sym_no(s, "a thread that is no name");
    s->n.axes.v[loop->axis].kind = ML_FOR_THREAD;
    s->n.axes.v[loop->axis].thread = ml_nest_thread(ml_thread(a->v->value->as.s));
    return true;
}

bool ml_sym_annotate(Sym *s)
{
    const ml_TVArg *a = &s->args[0], *key = &s->args[1];
    ml_NestNode *loop;

    if (a->n == 1 && a->v->kind == ML_TV_VAR && s->vars[a->v->var].kind == ML_H_BLOCK)
        return ml_sym_say(s, s->vars[a->v->var].block);
    if (ml_streq(s->in->prim->name, "unannotate"))
        return ml_sym_no(s, "of a loop");
    if (!ml_sym_loop(s, 0, &loop))
        return false;
    s->n.axes.v[loop->axis].annotated = true;
    if (key->n == 1 && key->v->kind == ML_TV_VALUE &&
        ml_streq(key->v->value->as.s, "pragma_auto_unroll_max_step"))
        return ml_sym_num(s, s->args[2].v, &s->n.axes.v[loop->axis].unroll);
    return true;
}
