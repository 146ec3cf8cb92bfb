/*
 * post - what the postprocessors of a space do behind the decisions, on the nest: those of
 * lua/moonloop/postproc that are known here by name.
 *
 * They go on from what the annotations of blocks ask for; what a postprocessor chooses by
 * numbers is a form where that can be (post_loops.c), so that it makes no variants of its own.
 * Source: auto-scheduler 7, 13.
 */
#include "moonloop/tune/symbolic/symbolic_impl.h"

/* ---------------------------------------------------------------- annotations of blocks */

bool ml_sym_say(Sym *s, const ml_NestNode *block)
{
    const ml_TVArg *key = &s->args[1], *value = &s->args[2];
    SymSaid said = {.block = block, .value = ml_form_const(s->f, 0)};

    if (key->n != 1 || key->v->kind != ML_TV_VALUE || key->v->value->kind != ML_VAL_STRING)
        return ml_sym_no(s, "a key that is no text");
    said.key = key->v->value->as.s;
    said.gone = ml_streq(s->in->prim->name, "unannotate");
    if (!said.gone && value->n == 1 &&
        (value->v->kind != ML_TV_VALUE || value->v->value->kind == ML_VAL_INT) &&
        !ml_sym_num(s, value->v, &said.value))
        return false;
    ml_push(s->cx, &s->said, said);
    return true;
}

bool ml_sym_said(const Sym *s, const ml_NestNode *block, const char *key, ml_Num *out)
{
    for (size_t k = s->said.n; k-- > 0;)
        if (s->said.v[k].block == block && ml_streq(s->said.v[k].key, key)) {
            *out = s->said.v[k].value;
            return !s->said.v[k].gone;
        }
    const ml_Value *v =
        block->block->annotations ? ml_dict_get(block->block->annotations, key) : NULL;

    *out = ml_form_const(s->f, v && v->kind == ML_VAL_INT ? (double)v->as.i : 0);
    return v != NULL;
}

/* ---------------------------------------------------------------- the postprocessors */

static bool loops_are_known(Sym *s, const ml_Func *func)
{
    (void)s;
    (void)func;
    return true; /* a nest of other sizes is refused before */
}

static bool no_layout_is_free(Sym *s, const ml_Func *func)
{
    const ml_Value *v =
        func->attrs ? ml_dict_get(func->attrs, "layout_free_buffers") : NULL;

    return v == NULL || ml_sym_no(s, "operands that are free of layout");
}

static bool says_intrinsic(const Sym *s, const ml_NestNode *node)
{
    ml_Num ignored;

    if (node->kind == ML_NEST_BLOCK &&
        ml_sym_said(s, node, "meta_schedule.auto_tensorize", &ignored))
        return true;
    for (size_t k = 0; k < node->kids.n; k++)
        if (says_intrinsic(s, node->kids.v[k]))
            return true;
    return false;
}

static bool no_intrinsics(Sym *s, const ml_Func *func)
{
    (void)func;
    return !says_intrinsic(s, s->n.root) ||
           ml_sym_no(s, "a block that an intrinsic computes");
}

/* The outermost loop that terms of a sum run over. */
static ml_NestNode *loop_of_terms(const Sym *s, const ml_NestNode *block)
{
    ml_NestNode *found = NULL;

    for (ml_NestNode *p = block->parent; p && p->kind == ML_NEST_LOOP; p = p->parent)
        if (!ml_sym_is_spatial(s, p, p->axis))
            found = p;
    return found;
}

static bool split_init(Sym *s, ml_NestNode *block)
{
    ml_NestNode *loop = loop_of_terms(s, block), *init;

    if (loop == NULL || s->n.axes.v[loop->axis].kind == ML_FOR_THREAD)
        return true;
    return ml_sym_decompose(s, block, loop, &init);
}

static bool split_inits(Sym *s, ml_NestNode *node)
{
    if (node->kind == ML_NEST_BLOCK && node->block->init && !split_init(s, node))
        return false;
    for (size_t k = 0; k < node->kids.n; k++) {
        ml_NestNode *kid = node->kids.v[k];

        if (!split_inits(s, kid))
            return false;
        while (node->kids.v[k] != kid) /* an init came before it */
            k++;
    }
    return true;
}

static bool reduction_block(Sym *s, const ml_Func *func)
{
    (void)func;
    return split_inits(s, s->n.root);
}

static const struct {
    const char *name;
    bool (*run)(Sym *s, const ml_Func *func);
} known[] = {
    {"disallow-dynamic-loop", loops_are_known},
    {"rewrite-parallel-vectorize-unroll", ml_sym_parallel_vectorize_unroll},
    {"rewrite-reduction-block", reduction_block},
    {"rewrite-tensorize", no_intrinsics},
    {"rewrite-layout", no_layout_is_free},
};

static size_t place_of(const char *name)
{
    size_t k = 0;

    while (k < ML_COUNT(known) && !ml_streq(known[k].name, name))
        k++;
    return k;
}

bool ml_sym_has_post(const char *name)
{
    return place_of(name) < ML_COUNT(known);
}

bool ml_sym_post(Sym *s, const ml_Func *func, const char *const *names, size_t n)
{
    s->in = NULL;
    for (size_t k = 0; k < n; k++) {
        size_t at = place_of(names[k]);

        s->post = names[k];
        if (at == ML_COUNT(known))
            return ml_sym_no(s, "has no forms");
        if (!known[at].run(s, func))
            return ml_sym_no(s, "not possible");
    }
    return true;
}
