/*
 * blockize_loop - the nest of a loop becomes the body of a new block.
 *
 * The iters of the one block inside are divided: the new block has one for each, over the
 * loops outside. Source: primitives 10, blockize of a loop.
 */
#include "moonloop/primitives/rewrite/blockize_inside.h"

static bool single_block(ml_Call *c, const ml_For *loop, const ml_Block **out)
{
    ml_StmtVec kids = {0};

    ml_child_blocks(c->cx, &loop->base, &kids);
    if (kids.n != 1) {
        ml_Text names = {0};

        for (size_t k = 0; k < kids.n; k++)
            ml_text_fmt(&names, "%s%s", k ? ", " : "", ml_as_block(kids.v[k])->name);
        ml_fail(c->cx, ML_E_NOT_SINGLE_CHILD, ML_LOOP(loop), ML_NUMBER("blocks", kids.n),
                ML_TEXT(kids.n ? ml_text_z(&names) : "none"));
        ml_text_free(&names);
        return false;
    }
    *out = ml_as_block(kids.v[0]);
    return true;
}

/* Between the place and the blocks there are only loops and lists. */
bool ml_tile_only_loops(ml_Call *c, const ml_Stmt *s, const ml_Stmt *place)
{
    if (s->kind == ML_STMT_FOR)
        return ml_tile_only_loops(c, ml_as_for(s)->body, place);
    if (s->kind == ML_STMT_BLOCK || ml_is_noop(s))
        return true;
    if (s->kind == ML_STMT_SEQ) {
        for (size_t k = 0; k < ml_as_seq(s)->n; k++)
            if (!ml_tile_only_loops(c, ml_as_seq(s)->stmts[k], place))
                return false;
        return true;
    }
    ml_StmtVec kids = {0};

    ml_child_blocks(c->cx, ml_node_body(place), &kids);
    if (ml_node_body(place)->kind == ML_STMT_BLOCK)
        ml_push(c->cx, &kids, ml_node_body(place));
    return ml_fail_crossing(c, s, kids.n ? kids.v[0] : place, place);
}

bool ml_blockize_loop(ml_Call *c, ml_Uid uid, bool preserve, ml_Uid *outer)
{
    ml_Ctx *cx = c->cx;
    const ml_For *loop = ml_call_loop(c, uid);
    const ml_Block *b;
    ml_StmtVec above = {0};
    ml_Tile t;

    if (!single_block(c, loop, &b) || !ml_tile_only_loops(c, &loop->base, &loop->base))
        return false;
    ml_index_loops(cx, c->p.index, uid, &above);
    if (!ml_tile_divide(c, b->tag, above.n, uid, &t) || !ml_tile_init_moves(c, &t) ||
        !ml_tile_reads_inside(c, &t))
        return false;
    ml_Inside in = ml_inside_begin(c, &t);
    ml_Block ob = {.name = ml_format(cx, "%s_o", b->name),
                   .tag = ml_fresh_uid(cx),
                   .predicate = t.d.outer_pred,
                   .base.span = b->base.span};
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters + 1);
    ml_Hulls reads = ml_hulls_begin(cx, b->n_reads),
             writes = ml_hulls_begin(cx, b->n_writes);
    ml_Subst loops = {0};

    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        ml_Range r = ml_tile_outer(&t, k);
        bool unit = ml_is_int(r.extent, 1);

        in.outer[k] = ml_var_new(cx, ml_format(cx, "%s_o", it->var->hint), it->var->type);
        iters[ob.n_iters++] = (ml_Iter){.var = in.outer[k],
                                        .min = r.min,
                                        .extent = r.extent,
                                        .value = t.d.outer[k].value,
                                        .kind = it->kind};
        ml_arith_bind_range(in.ar, in.outer[k], r.min, r.extent);
        /* An outer part with one value is not written out, unless it is all there is. */
        if (unit && (!preserve || !ml_is_int(ml_tile_inner(&t, k).extent, 1)))
            in.outer[k] = NULL;
        ml_inside_iter(&in, k, false);
    }
    ob.iters = iters;
    ml_inside_domain(&in);
    for (size_t k = 0; k < b->n_reads; k++)
        ml_hulls_add(&in, &reads, &b->reads[k]);
    for (size_t k = 0; k < b->n_writes; k++)
        ml_hulls_add(&in, &writes, &b->writes[k]);
    if (!ml_hulls_exact(c, &writes, b))
        return false;
    ob.reads = reads.v;
    ob.n_reads = (uint32_t)reads.n;
    ob.writes = writes.v;
    ob.n_writes = (uint32_t)writes.n;
    ob.body = &ml_inside_block(&in, b->init != NULL)->base;
    for (size_t k = t.below.n; k-- > 0;) {
        ml_For f = *ml_as_for(t.below.v[k]);

        f.body = ob.body;
        ob.body = ml_for_from(cx, &f);
    }
    if (b->init && !(ob.init = ml_tile_init_nest(&in)))
        return false;
    ml_inside_names(&in, &loops);
    if (loops.vars) {
        ob.body = ml_stmt_subst(cx, ob.body, &loops);
        ob.init = ob.init ? ml_stmt_subst(cx, ob.init, &loops) : NULL;
    }
    if (ob.n_iters > 0 &&
        (!ml_tile_closed(c, &t, ob.body) || (ob.init && !ml_tile_closed(c, &t, ob.init))))
        return false;
    ml_call_replace(c, uid, ml_block_from(cx, &ob));
    *outer = ob.tag;
    return ml_ok_or_fail(cx);
}
