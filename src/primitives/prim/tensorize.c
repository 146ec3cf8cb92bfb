/*
 * tensorize - replace what a block computes by an intrinsic that is known to compute the
 * same.
 *
 * The block is compared with the intrinsic's description; its body becomes the
 * implementation's, whose parameters become views of the buffers at the places found. What
 * is around it stays: iters, regions, init. Source: primitives 10, tensorize.
 */
#include "moonloop/primitives/rewrite/blockize.h"

#include "moonloop/core/shown.h"
#include "moonloop/primitives/intrin/intrin_match.h"
#include "moonloop/primitives/schedule/schedule_impl.h"
#include "moonloop/verify/view.h"

enum { BLOCK_OR_LOOP, TENSOR_INTRIN, PRESERVE_UNIT_ITERS };

static bool mismatch(ml_Call *c, ml_Uid shown, const ml_Buffer *buf, const char *why)
{
    return ml_fail(c->cx, ML_E_INTRIN_MISMATCH, ML_BLOCK_UID(shown),
                   ML_TEXT(c->args[TENSOR_INTRIN].s), ML_TEXT(why), ML_BUFFER(buf));
}

/* The first dimension of the tile that is but a part of the buffer's, from the last on. */
static size_t part_taken(ml_Ctx *cx, ml_Arith *ar, const ml_Region *src)
{
    for (size_t d = src->buffer->rank; d-- > 1;) {
        const ml_Expr *a = src->ranges[d].extent, *n = src->buffer->shape[d];

        if (!ml_promote(cx, &a, &n) || (a != n && !ml_prove_equal(ar, a, n)))
            return d;
    }
    return 0;
}

/* A view without strides is compact: so must be the part of the buffer that it shows. */
static bool check_run(ml_Call *c, ml_Arith *ar, ml_Uid shown, const ml_Match *m,
                      const ml_Expr *const *stride)
{
    const ml_Buffer *buf = m->source.buffer;
    size_t gap, part;

    if (ml_view_is_run(ar, m, stride, &gap))
        return true;
    if (buf->n_strides)
        return mismatch(c, shown, buf,
                        ml_format(c->cx, "%s has strides, the intrinsic's %s is compact",
                                  ml_shown(c->cx, buf), ml_shown(c->cx, m->target)));
    part = part_taken(c->cx, ar, &m->source);
    return mismatch(
        c, shown, buf,
        ml_format(c->cx,
                  "the rows of the tile of %s do not follow each other in memory: %s",
                  ml_shown(c->cx, buf),
                  part ? ml_format(c->cx, "it takes a part of dimension %zu", part)
                       : "storage_align puts gaps between them"));
}

/* What the parameter's declaration asks of its view; open variables are bound in *vars. */
static bool check_layout(ml_Call *c, ml_Arith *ar, ml_Uid shown, const ml_Match *m,
                         ml_Subst *vars)
{
    const ml_Buffer *buf = m->source.buffer;
    const ml_Func *f = ml_call_func(c);
    ml_ViewBinding bind = {.cx = c->cx, .ar = ar, .match = m, .vars = vars, .asks = true};
    const char *why = "its strides pass the dtype of its indices";

    bind.stride = ml_buffer_strides(ar, buf, ml_align_asked(c->cx, f->body, buf));
    if (!bind.stride || !ml_view_bind(&bind, &why))
        return mismatch(c, shown, buf,
                        ml_format(c->cx, "%s as its %s: %s", ml_shown(c->cx, buf),
                                  ml_shown(c->cx, m->target), why));
    return m->target->n_strides || check_run(c, ar, shown, m, bind.stride);
}

/* The parameter as a view of the buffer at its place. */
static void view_of(ml_Ctx *cx, const ml_Block *impl, const ml_Buffer *param,
                    const ml_IntrinPlace *at, ml_Match *out)
{
    const ml_Region *own = ml_intrin_region(impl, param);
    ml_Range *r = ML_ARRAY(cx, ml_Range, at->buffer->rank + 1u);

    for (size_t d = 0; d < at->buffer->rank; d++) {
        ml_Dtype t = at->base[d]->type;

        r[d] = (ml_Range){at->base[d], ml_int(cx, t, 1)};
        if (d < at->lead)
            continue;
        ml_Range part = own->ranges[d - at->lead];

        r[d].extent = ml_cast(cx, t, part.extent);
        if (!ml_is_int(part.min, 0))
            r[d].min = ml_add(cx, r[d].min, ml_cast(cx, t, part.min));
    }
    *out = (ml_Match){.target = param, .source = {at->buffer, r}};
}

/* The schedule's annotations, and those of the implementation that it does not have. */
static const ml_Value *annotations(ml_Call *c, const ml_Block *b, const ml_Block *impl)
{
    const ml_Value *all = b->annotations;
    size_t n = ml_dict_count(impl->annotations);

    for (size_t k = 0; k < n; k++) {
        const char *key = impl->annotations->keys[k];

        if (all && ml_dict_get(all, key))
            ml_call_note(c, "block %s keeps its own annotation %s", ml_shown(c->cx, b),
                         key);
        else
            all = ml_dict_with(c->cx, all, key, impl->annotations->as.list[k]);
    }
    return all;
}

static bool apply_intrin(ml_Call *c, ml_Uid block, ml_Uid shown)
{
    ml_Ctx *cx = c->cx;
    const char *name = c->args[TENSOR_INTRIN].s;
    const ml_Intrin *in = ml_intrin_find(c->sched->space->intrins, name);
    const ml_Block *b = ml_call_block(c, block);
    const ml_Func *desc = ml_import_func(ml_import_begin_apart(cx), in->desc);
    const ml_Func *impl = ml_import_func(ml_import_begin_apart(cx), in->impl);
    const ml_Block *root = ml_func_root(impl);
    ml_IntrinPlace *places = ML_ARRAY(cx, ml_IntrinPlace, desc->n_params + 1);
    ml_Match *views = ML_ARRAY(cx, ml_Match, impl->n_params + root->n_matches + 1);
    ml_Block nb = *b;
    ml_Subst open = {0};

    if (!ml_intrin_match(c, name, desc, b, shown, places))
        return false;
    ml_Arith *ar = ml_arith_at(cx, c->p, block);

    ml_arith_bind_iters(ar, b);
    nb.n_matches = 0;
    for (uint32_t k = 0; k < impl->n_params; k++) {
        view_of(cx, root, impl->params[k].buffer, &places[k], &views[nb.n_matches]);
        if (!check_layout(c, ar, shown, &views[nb.n_matches++], &open))
            return false;
    }
    if (!ml_intrin_check_apart(c, ar, name, desc, shown, views))
        return false;
    for (size_t k = 0; k < root->n_matches; k++) /* views of views */
        views[nb.n_matches++] = root->matches[k];
    nb.matches = views;
    nb.allocs = root->allocs;
    nb.n_allocs = root->n_allocs;
    nb.annotations = annotations(c, b, root);
    nb.body = root->body;
    ml_call_replace(c, block, ml_block_from(cx, &nb));
    return ml_ok_or_fail(cx);
}

static bool tensorize(ml_Call *c)
{
    const ml_Given *at = &c->args[BLOCK_OR_LOOP];
    const char *name = c->args[TENSOR_INTRIN].s;
    ml_Uid block = at->uid, shown = at->uid;

    if (!ml_intrin_find(c->sched->space->intrins, name)) {
        const char *near = ml_intrin_nearest(c->cx, c->sched->space->intrins, name);

        ml_fail(c->cx, ML_E_NO_SUCH_INTRIN, ML_TYPED(name));
        if (near)
            ml_error_note(c->cx, "nearest: \"%s\"", near);
        return false;
    }
    if (at->node->kind == ML_STMT_FOR) {
        ml_StmtVec kids = {0};

        ml_child_blocks(c->cx, at->node, &kids);
        shown =
            kids.n ? ml_stmt_uid(kids.v[0]) : at->uid; /* the new one is not to be seen */
        if (!ml_blockize_loop(c, at->uid, c->args[PRESERVE_UNIT_ITERS].b, &block))
            return false;
    }
    return ml_check_not_root(c, block) && apply_intrin(c, block, shown);
}

/* Operands that are parts of wider rows: a copy whose tiles lie one after the other, its
 * last dimensions those of the description's parameter. */
static void suggest_packing(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                            const ml_Block *b, ml_Tries *t)
{
    const ml_Intrin *in = ml_intrin_find(s->space->intrins, args[TENSOR_INTRIN].s);
    const ml_Block *desc = ml_func_root(in->desc);
    ml_Text outer = {0}, inner = {0}, names = {0};
    size_t k = 0;

    if (e->n_facts < 4 || e->facts[3].kind != ML_FACT_BUFFER)
        return;
    while (k < b->n_reads && b->reads[k].buffer->uid != e->facts[3].as.buffer->uid)
        k++;
    if (k >= b->n_reads || k >= desc->n_reads ||
        desc->reads[k].buffer->rank > b->reads[k].buffer->rank)
        return;
    const ml_Region *r = &desc->reads[k];
    size_t rank = b->reads[k].buffer->rank, lead = rank - r->buffer->rank;

    for (size_t d = 0; d < rank; d++) {
        const char *sep = d ? ", " : "";
        const ml_Expr *n = d < lead ? NULL : r->ranges[d - lead].extent;

        ml_text_fmt(&names, "%si%zu", sep, d);
        if (!n)
            ml_text_fmt(&outer, "%si%zu", sep, d);
        if (!n || !ml_is_const_int(n))
            continue;
        ml_text_fmt(&outer, "%si%zu // %lld", sep, d, (long long)n->as.i);
        ml_text_fmt(&inner, ", i%zu %% %lld", d, (long long)n->as.i);
    }
    ml_try(t, "a copy, packed tile by tile",
           "cache_read(\"%s\", %zu, \"%s\") transform_layout(\"%s\", {\"read\", %zu}, "
           "\"lambda %s: (%s%s)\") tensorize(\"%s\", \"%s\")",
           ml_name_of(s, b->tag), k, b->reads[k].buffer->scope.name, ml_name_of(s, b->tag),
           k, ml_text_z(&names), ml_text_z(&outer), ml_text_z(&inner),
           ml_name_of(s, args[BLOCK_OR_LOOP].uid), args[TENSOR_INTRIN].s);
    ml_text_free(&names);
    ml_text_free(&outer);
    ml_text_free(&inner);
}

/* A reduction whose init is in the way is decomposed first. */
static void suggest_decomposed(ml_Schedule *s, const ml_Given *args, const ml_Block *b,
                               ml_Tries *t)
{
    ml_StmtVec loops = {0};

    ml_index_loops(ml_schedule_ctx(s), ml_schedule_program(s).index, b->tag, &loops);
    for (size_t k = 0; k < loops.n; k++)
        ml_try(t, NULL, "decompose_reduction(\"%s\", \"%s\") tensorize(\"%s\", \"%s\")",
               ml_name_of(s, b->tag), ml_name_of(s, ml_stmt_uid(loops.v[k])),
               ml_name_of(s, args[BLOCK_OR_LOOP].uid), args[TENSOR_INTRIN].s);
}

static void suggest_tensorize(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                              ml_Tries *t)
{
    const ml_Stmt *node =
        ml_index_node(ml_schedule_program(s).index, args[BLOCK_OR_LOOP].uid);
    ml_StmtVec kids = {0};

    if (e->code == ML_E_NO_SUCH_INTRIN || !node)
        return;
    if (node->kind == ML_STMT_FOR)
        ml_child_blocks(ml_schedule_ctx(s), node, &kids);
    else
        ml_push(ml_schedule_ctx(s), &kids, node);
    if (kids.n != 1)
        return;
    const ml_Block *b = ml_as_block(kids.v[0]);

    if (e->code == ML_E_INTRIN_MISMATCH)
        suggest_packing(s, args, e, b, t);
    if (b->init && node->kind == ML_STMT_FOR)
        suggest_decomposed(s, args, b, t);
}

static const ml_Param params[] = {
    ML_PARAM("block_or_loop", ML_P_BLOCK_OR_LOOP,
             "a block around a tile, or the loop from which the tile's nest starts"),
    ML_PARAM_ATTR("tensor_intrin", ML_P_STRING, "the name of the intrinsic"),
    ML_PARAM_FLAG("preserve_unit_iters", true,
                  "for a loop: keep iters that take one value"),
};

const ml_Primitive ml_prim_tensorize = {
    ML_PRIM(tensorize, "Tensorize"),
    .group = "blocks",
    .summary = "replace a tile by an intrinsic",
    .help =
        "What the tile computes is compared with the intrinsic's description; its body "
        "becomes\n"
        "the implementation, over views of the buffers. A loop is made a block first, as\n"
        "blockize does. What is written overlaps no other operand; strides and offset\n"
        "factors of the parameters are those of the buffers. moon.intrins() lists what is\n"
        "known, moon.intrin() registers more.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .suggest = suggest_tensorize,
    .errors =
        (const ml_ErrorCode[]){ML_E_NO_SUCH_INTRIN, ML_E_ROOT_BLOCK, ML_E_NOT_SINGLE_CHILD,
                               ML_E_NOT_SCHEDULABLE, ML_E_NOT_DIVISIBLE, ML_E_LOOP_STEP,
                               ML_E_LOOP_DEPENDENT, ML_E_NOT_REDUCTION,
                               ML_E_REDUCTION_CHANGED, ML_E_INTRIN_MISMATCH, ML_E_OK},
};
