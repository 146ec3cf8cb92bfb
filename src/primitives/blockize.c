/*
 * blockize - a nest around a block, or some blocks that follow each other, become the body
 * of a new block.
 *
 * Iters are divided into a part over the loops outside and one over the loops inside. An
 * init moves to the new block and then initialises the whole tile first; that is right when
 * the tile's instances are different and each has elements of its own. What the new block
 * says that it writes is exactly what is written. Source: primitives 10, blockize.
 */
#include "primitives/blockize.h"
#include "primitives/layout.h"

enum { TARGET, PRESERVE_UNIT_ITERS };

/* ---- the block inside */

typedef struct Inside {
    ml_Call *c;
    ml_Ctx *cx;
    const ml_Tile *t;
    const ml_Var **outer; /* per iter, NULL: none */
    const ml_Var **inner; /* per iter, NULL: none */
    ml_Subst sub;         /* old iters in the new ones */
    ml_Subst over;        /* the same over the variables of dom */
    ml_DomVec dom;        /* inner iters; or loops inside, where values leave some out */
    const ml_Expr *pred;  /* under which the variables of dom vary */
    ml_Arith *ar;         /* knows the new iters */
} Inside;

static Inside inside_begin(ml_Call *c, const ml_Tile *t)
{
    Inside in = {.c = c, .cx = c->cx, .t = t};

    in.outer = ML_ARRAY(c->cx, const ml_Var *, t->block->n_iters + 1);
    in.inner = ML_ARRAY(c->cx, const ml_Var *, t->block->n_iters + 1);
    in.ar = ml_arith_at(c->cx, c->p, ml_index_scope(c->p.index, t->block->tag));
    ml_arith_bind_iters(in.ar, ml_call_block(c, ml_index_scope(c->p.index, t->block->tag)));
    return in;
}

/* Makes the inner iter k where there is more than one value (or `always`), and what the old
 * iter is. outer[k] is set. */
static void inner_iter(Inside *in, size_t k, bool always)
{
    const ml_Iter *it = &in->t->block->iters[k];
    ml_Range r = ml_tile_inner(in->t, k);

    in->inner[k] = NULL;
    if (always || !ml_is_int(r.extent, 1)) {
        in->inner[k] =
            ml_var_new(in->cx, ml_format(in->cx, "%s_i", it->var->hint), it->var->type);
        ml_push(in->cx, &in->dom, ((ml_Dom){in->inner[k], r.min, r.extent}));
        ml_arith_bind_range(in->ar, in->inner[k], r.min, r.extent);
    }
    const ml_Expr *v = ml_tile_value(in->cx, in->t, k, in->outer[k], in->inner[k]);

    ml_subst_var(in->cx, &in->sub, it->var, v);
}

static ml_Iter inner_as_iter(const Inside *in, size_t k)
{
    const ml_Iter *it = &in->t->block->iters[k];
    ml_Range r = ml_tile_inner(in->t, k);

    return (ml_Iter){.var = in->inner[k],
                     .min = r.min,
                     .extent = r.extent,
                     .value = in->t->d.inner[k].value,
                     .kind = it->kind,
                     .span = it->span};
}

/* The block over the inner iters; without its init when that moves outside. */
static const ml_Block *inner_block(const Inside *in, bool init_moves)
{
    ml_Ctx *cx = in->cx;
    const ml_Block *b = in->t->block;
    ml_Block nb = *b;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters + 1);

    nb.n_iters = 0;
    for (size_t k = 0; k < b->n_iters; k++)
        if (in->inner[k])
            iters[nb.n_iters++] = inner_as_iter(in, k);
    nb.iters = iters;
    nb.predicate = in->t->d.inner_pred;
    if (init_moves) {
        ml_Region *reads = ML_ARRAY(cx, ml_Region, b->n_reads + b->n_writes);

        memcpy(reads, b->writes, b->n_writes * sizeof *reads);
        if (b->n_reads)
            memcpy(reads + b->n_writes, b->reads, b->n_reads * sizeof *reads);
        nb.reads = reads;
        nb.n_reads = b->n_reads + b->n_writes;
        nb.init = NULL;
    }
    const ml_Stmt *st = ml_block_from(cx, &nb);
    ml_Subst sub = in->sub;

    return ml_as_block(sub.vars ? ml_subst_deep(in->ar, st, &sub) : st);
}

/* Loops whose variable is an outer value have it as the outer iter inside. */
static void name_outer_values(Inside *in, ml_Subst *loops)
{
    for (size_t k = 0; k < in->t->block->n_iters; k++) {
        const ml_Expr *v = in->t->d.outer[k].value;

        if (in->outer[k] && v->kind == ML_EXPR_VAR &&
            ml_dtype_eq(v->type, in->outer[k]->type))
            ml_subst_var(in->cx, loops, v->as.var, ml_var(in->cx, in->outer[k]));
    }
}

/* What regions are taken over: the inner iters; where these need not take all of their
 * domains, or there are none, the loops inside. */
static void region_domain(Inside *in)
{
    ml_Ctx *cx = in->cx;
    ml_Subst loops = {0};

    in->over = in->sub;
    in->pred = ml_bool(cx, true);
    if (!in->t->d.trivial && in->t->block->n_iters > 0)
        return;
    in->over = (ml_Subst){0};
    in->pred = in->t->d.inner_pred;
    name_outer_values(in, &loops);
    in->dom.n = 0;
    for (size_t k = 0; k < in->t->below.n; k++) {
        const ml_For *f = ml_as_for(in->t->below.v[k]);
        ml_Dom d = {f->var, f->min, f->extent};

        if (loops.vars) {
            d.min = ml_expr_subst(cx, d.min, &loops);
            d.extent = ml_expr_subst(cx, d.extent, &loops);
        }
        ml_arith_bind_range(in->ar, d.var, d.min, d.extent);
        ml_push(cx, &in->dom, d);
    }
    for (size_t k = 0; k < in->t->block->n_iters; k++) {
        const ml_Iter *it = &in->t->block->iters[k];
        const ml_Expr *v = ml_tile_value(cx, in->t, k, in->outer[k], in->inner[k]);

        if (in->inner[k])
            v = ml_expr_subst1(cx, v, in->inner[k],
                               ml_cast(cx, in->inner[k]->type, in->t->d.inner[k].value));
        ml_subst_var(cx, &in->over, it->var, v);
    }
}

/* Adds the regions of the old block over the inner iters: one for each buffer. */
typedef struct Hulls {
    size_t n;
    ml_Region *v;
    bool *exact;
    ml_Boxes **boxes;
} Hulls;

static void add_box(Inside *in, Hulls *h, size_t at, const ml_Region *r)
{
    ml_Interval *box = ML_ARRAY(in->cx, ml_Interval, r->buffer->rank + 1u);

    for (size_t d = 0; d < r->buffer->rank; d++)
        box[d] = ml_interval_range(in->ar, r->ranges[d].min, r->ranges[d].extent);
    ml_boxes_add(h->boxes[at], box);
}

static void add_hull(Inside *in, Hulls *h, const ml_Region *r)
{
    ml_Ctx *cx = in->cx;
    bool exact;
    size_t at = 0, rank = r->buffer->rank;
    ml_Region moved = in->over.vars ? ml_region_subst(cx, *r, &in->over) : *r;
    ml_Region hull = ml_tile_hull(in->ar, moved, &in->dom, in->pred, &exact);

    while (at < h->n && h->v[at].buffer->uid != r->buffer->uid)
        at++;
    if (at == h->n) {
        h->n++;
        h->v[at] = hull;
        h->exact[at] = exact;
        h->boxes[at] = ml_boxes_new(in->ar, rank);
        add_box(in, h, at, &hull);
        return;
    }
    ml_Range *ranges = ML_ARRAY(cx, ml_Range, rank + 1);

    add_box(in, h, at, &hull);
    for (size_t d = 0; d < rank; d++) {
        ml_Range a = h->v[at].ranges[d], b = hull.ranges[d];
        ml_Interval both =
            ml_interval_union(in->ar, ml_interval_range(in->ar, a.min, a.extent),
                              ml_interval_range(in->ar, b.min, b.extent));

        ranges[d] =
            ml_interval_cover(in->ar, both,
                              (ml_Range){ml_int(cx, a.min->type, 0),
                                         ml_cast(cx, a.min->type, r->buffer->shape[d])});
    }
    h->v[at].ranges = ranges;
    h->exact[at] &= exact;
}

static Hulls hulls_begin(ml_Ctx *cx, size_t room)
{
    return (Hulls){.v = ML_ARRAY(cx, ml_Region, room + 1),
                   .exact = ML_ARRAY(cx, bool, room + 1),
                   .boxes = ML_ARRAY(cx, ml_Boxes *, room + 1)};
}

static bool check_writes(ml_Call *c, const Hulls *h, const ml_Block *b)
{
    for (size_t k = 0; k < h->n && !c->unchecked; k++)
        if (!h->exact[k] || ml_boxes_count(h->boxes[k]) > 1) {
            ml_fail(
                c->cx, ML_E_UNSOUND,
                ML_TEXT(ml_format(c->cx,
                                  "cannot show that what is written of %s is one box; the "
                                  "new block would be said to write more than it writes",
                                  h->v[k].buffer->name)),
                ML_BLOCK(b), ML_BUFFER(h->v[k].buffer));
            ml_error_set_unproved(c->cx);
            return false;
        }
    return true;
}

/* ---- an init that moves */

static bool unsound(ml_Call *c, const ml_Block *b, ml_Fact at, bool unproved,
                    const char *why)
{
    ml_fail(c->cx, ML_E_UNSOUND, ML_TEXT(why), ML_BLOCK(b), at);
    if (unproved)
        ml_error_set_unproved(c->cx);
    return false;
}

/* Different spatial iters have different elements: then nobody else touches an element
 * between its init, which now comes earlier, and its first update. */
static bool check_own_elements(ml_Call *c, const ml_Block *b)
{
    ml_Ctx *cx = c->cx;
    ml_Arith *ar = ml_arith_at(cx, c->p, b->tag);

    for (size_t w = 0; w < b->n_writes; w++) {
        const ml_Buffer *buf = b->writes[w].buffer;
        ml_DomVec dom = {0};
        const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, buf->rank + 1u);

        for (size_t k = 0; k < b->n_reads; k++)
            if (b->reads[k].buffer->uid == buf->uid)
                return unsound(
                    c, b, ML_BUFFER(buf), false,
                    ml_format(cx,
                              "block %s reads other elements of %s than its own; "
                              "they would be initialised first",
                              b->name, buf->name));
        for (size_t m = 0; m < b->n_iters; m++)
            if (b->iters[m].kind == ML_ITER_SPATIAL)
                ml_push(cx, &dom,
                        ((ml_Dom){b->iters[m].var, b->iters[m].min, b->iters[m].extent}));
        for (size_t d = 0; d < buf->rank; d++) {
            ml_Range r = b->writes[w].ranges[d];

            idx[d] = r.min;
            if (ml_is_int(r.extent, 1))
                continue;
            const ml_Var *v = ml_var_new(cx, "e", r.min->type);

            ml_push(cx, &dom, ((ml_Dom){v, ml_int(cx, v->type, 0), r.extent}));
            idx[d] = ml_add(cx, r.min, ml_var(cx, v));
        }
        if (!ml_iter_holds(ar, idx, buf->rank, dom.v, dom.n, ml_bool(cx, true),
                           ML_BIJECTIVE, false))
            return unsound(c, b, ML_BUFFER(buf), true,
                           ml_format(cx,
                                     "cannot show that different spatial iters of block %s "
                                     "write different elements of %s",
                                     b->name, buf->name));
    }
    return true;
}

static bool check_init(ml_Call *c, const ml_Tile *t)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = t->block;
    ml_DomVec dom = {0};
    const ml_Expr **values = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1);

    if (!b->init)
        return true;
    if (!ml_need_reduction(cx, c->facts, c->p, b->tag))
        return false;
    ml_Arith *ar = ml_arith_at(cx, c->p, b->tag);

    for (size_t m = 0; m < b->n_iters; m++) {
        const ml_Iter *it = &b->iters[m];

        values[m] = it->value;
        if (it->kind == ML_ITER_SPATIAL)
            continue;
        for (size_t k = 0; k < t->above.n + t->below.n; k++) {
            const ml_For *f =
                ml_as_for(k < t->above.n ? t->above.v[k] : t->below.v[k - t->above.n]);

            if (f->kind != ML_FOR_SERIAL && f->kind != ML_FOR_UNROLLED &&
                ml_expr_uses_var(it->value, f->var))
                return unsound(
                    c, b, ML_LOOP(f), false,
                    ml_format(cx,
                              "the iterations of the %s loop %s reduce together; "
                              "without an init in block %s they would race",
                              ml_for_kind_name((ml_ForKind)f->kind), f->var->hint,
                              b->name));
        }
        if (!c->unchecked &&
            !ml_prove_equal(ar, ml_tile_value(cx, t, m, NULL, NULL), it->min))
            return unsound(
                c, b, ML_ITER(b, m), true,
                ml_format(cx,
                          "cannot show that iter %s starts at its minimum, where "
                          "the init runs",
                          it->var->hint));
    }
    if (c->unchecked)
        return true;
    for (size_t k = 0; k < t->below.n; k++) {
        const ml_For *f = ml_as_for(t->below.v[k]);

        ml_push(cx, &dom, ((ml_Dom){f->var, f->min, f->extent}));
    }
    if (t->below.n)
        ar = ml_arith_at(cx, c->p, ml_stmt_uid(t->below.v[0]));
    if (!ml_iter_holds(ar, values, b->n_iters, dom.v, dom.n, ml_bool(cx, true),
                       ML_BIJECTIVE, false) &&
        !ml_iter_holds(ar, values, b->n_iters, dom.v, dom.n, b->predicate, ML_BIJECTIVE,
                       false))
        return unsound(c, b, ML_BLOCK(b), true,
                       ml_format(cx,
                                 "cannot show that the iterations of the tile compute "
                                 "different elements of block %s; what is computed twice "
                                 "would add up after one init",
                                 b->name));
    return check_own_elements(c, b);
}

/* The conjuncts of the inner condition for the init: those that mention none of the loops
 * that it leaves out. */
static bool init_predicate(ml_Call *c, const ml_Tile *t, const bool *kept, const ml_Expr *p,
                           const ml_Expr **out)
{
    bool keeps = false, drops = false;

    if (p->kind == ML_EXPR_AND)
        return init_predicate(c, t, kept, p->args[0], out) &&
               init_predicate(c, t, kept, p->args[1], out);
    for (size_t k = 0; k < t->below.n; k++)
        if (ml_expr_uses_var(p, ml_as_for(t->below.v[k])->var)) {
            keeps |= kept[k];
            drops |= !kept[k];
        }
    if (keeps && drops)
        return unsound(
            c, t->block, ML_EXPRESSION(p), false,
            ml_format(c->cx,
                      "a condition of block %s mixes spatial and reduce loops; the "
                      "init would write more elements than are updated",
                      t->block->name));
    if (!drops)
        *out = ml_and(c->cx, *out, p);
    return true;
}

/* The nest that initialises the tile. NULL: an error is set. */
static const ml_Stmt *init_nest(Inside *in)
{
    ml_Ctx *cx = in->cx;
    const ml_Tile *t = in->t;
    const ml_Block *b = t->block;
    ml_Block ib = *b;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters + 1);
    bool *kept = ML_ARRAY(cx, bool, t->below.n + 1);
    ml_Subst to_init = {0};
    const ml_Expr *pred = ml_bool(cx, true);

    memset(kept, 0, (t->below.n + 1) * sizeof *kept);
    ib.n_iters = 0;
    ib.body = in->sub.vars ? ml_stmt_subst(cx, b->init, &in->sub) : b->init;
    for (size_t k = 0; k < b->n_iters; k++) {
        if (!in->inner[k] || b->iters[k].kind != ML_ITER_SPATIAL ||
            !ml_stmt_uses_var(ib.body, in->inner[k]))
            continue;
        ml_Iter it = inner_as_iter(in, k);

        it.var = ml_var_new(cx, ml_format(cx, "%s_init", it.var->hint), it.var->type);
        ml_subst_var(cx, &to_init, in->inner[k], ml_var(cx, it.var));
        iters[ib.n_iters++] = it;
        for (size_t m = 0; m < t->below.n; m++)
            kept[m] |= ml_expr_uses_var(it.value, ml_as_for(t->below.v[m])->var);
    }
    if (!init_predicate(in->c, t, kept, t->d.inner_pred, &pred))
        return NULL;
    ib.iters = iters;
    ib.name = ml_format(cx, "%s_init", b->name);
    ib.predicate = pred;
    ib.init = NULL;
    ib.annotations = NULL;
    ib.n_reads = ib.n_writes = 0;
    if (to_init.vars)
        ib.body = ml_stmt_subst(cx, ib.body, &to_init);
    ib.tag = ml_fresh_uid(cx);
    const ml_Buffer **allocs = ML_ARRAY(cx, const ml_Buffer *, b->n_allocs + 1);
    ml_Match *matches = ML_ARRAY(cx, ml_Match, b->n_matches + 1);

    ib.n_allocs = ib.n_matches = 0;
    for (size_t k = 0; k < b->n_allocs; k++)
        if (ml_stmt_uses_buffer(b->init, b->allocs[k]))
            allocs[ib.n_allocs++] = b->allocs[k];
    for (size_t k = 0; k < b->n_matches; k++)
        if (ml_stmt_uses_buffer(b->init, b->matches[k].target)) {
            ml_Match m = b->matches[k];

            if (in->sub.vars)
                m.source = ml_region_subst(cx, m.source, &in->sub);
            if (to_init.vars)
                m.source = ml_region_subst(cx, m.source, &to_init);
            matches[ib.n_matches++] = m;
        }
    ib.allocs = allocs;
    ib.matches = matches;
    const ml_Block *inferred =
        ml_block_reinfer(cx, ml_call_func(in->c), ml_as_block(ml_block_from(cx, &ib)));

    if (!inferred)
        return NULL;
    const ml_Stmt *st = &inferred->base;

    for (size_t k = t->below.n; k-- > 0;)
        if (kept[k]) {
            ml_For f = *ml_as_for(t->below.v[k]);

            f.body = st;
            st = ml_for_from(cx, &f);
        }
    return ml_stmt_copy_fresh(cx, st, NULL);
}

/* ---- a loop */

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
static bool only_loops(ml_Call *c, const ml_Stmt *s, const ml_Stmt *place)
{
    if (s->kind == ML_STMT_FOR)
        return only_loops(c, ml_as_for(s)->body, place);
    if (s->kind == ML_STMT_BLOCK || ml_is_noop(s))
        return true;
    if (s->kind == ML_STMT_SEQ) {
        for (size_t k = 0; k < ml_as_seq(s)->n; k++)
            if (!only_loops(c, ml_as_seq(s)->stmts[k], place))
                return false;
        return true;
    }
    ml_Fact at = place->kind == ML_STMT_FOR ? ML_LOOP(place) : ML_BLOCK(place);
    ml_StmtVec kids = {0};

    ml_child_blocks(c->cx, ml_node_body(place), &kids);
    if (ml_node_body(place)->kind == ML_STMT_BLOCK)
        ml_push(c->cx, &kids, ml_node_body(place));
    return ml_fail(c->cx, ML_E_NOT_SCHEDULABLE,
                   ML_TEXT(s->kind == ML_STMT_IF      ? "if"
                           : s->kind == ML_STMT_WHILE ? "while"
                           : s->kind == ML_STMT_ATTR  ? "attr"
                                                      : "statement"),
                   kids.n ? ML_BLOCK(kids.v[0]) : at, at, ML_STATEMENT(s));
}

bool ml_blockize_loop(ml_Call *c, ml_Uid uid, bool preserve, ml_Uid *outer)
{
    ml_Ctx *cx = c->cx;
    const ml_For *loop = ml_call_loop(c, uid);
    const ml_Block *b;
    ml_StmtVec above = {0};
    ml_Tile t;

    if (!single_block(c, loop, &b) || !only_loops(c, &loop->base, &loop->base))
        return false;
    ml_index_loops(cx, c->p.index, uid, &above);
    if (!ml_tile_divide(c, b->tag, above.n, uid, &t) || !check_init(c, &t))
        return false;
    Inside in = inside_begin(c, &t);
    ml_Block ob = {.name = ml_format(cx, "%s_o", b->name),
                   .tag = ml_fresh_uid(cx),
                   .predicate = t.d.outer_pred,
                   .base.span = b->base.span};
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters + 1);
    Hulls reads = hulls_begin(cx, b->n_reads), writes = hulls_begin(cx, b->n_writes);
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
        inner_iter(&in, k, false);
    }
    ob.iters = iters;
    region_domain(&in);
    for (size_t k = 0; k < b->n_reads; k++)
        add_hull(&in, &reads, &b->reads[k]);
    for (size_t k = 0; k < b->n_writes; k++)
        add_hull(&in, &writes, &b->writes[k]);
    if (!check_writes(c, &writes, b))
        return false;
    ob.reads = reads.v;
    ob.n_reads = (uint32_t)reads.n;
    ob.writes = writes.v;
    ob.n_writes = (uint32_t)writes.n;
    ob.body = &inner_block(&in, b->init != NULL)->base;
    for (size_t k = t.below.n; k-- > 0;) {
        ml_For f = *ml_as_for(t.below.v[k]);

        f.body = ob.body;
        ob.body = ml_for_from(cx, &f);
    }
    if (b->init && !(ob.init = init_nest(&in)))
        return false;
    name_outer_values(&in, &loops);
    if (loops.vars) {
        ob.body = ml_subst_deep(in.ar, ob.body, &loops);
        ob.init = ob.init ? ml_subst_deep(in.ar, ob.init, &loops) : NULL;
    }
    if (ob.n_iters > 0 &&
        (!ml_tile_closed(c, &t, ob.body) || (ob.init && !ml_tile_closed(c, &t, ob.init))))
        return false;
    ml_call_replace(c, uid, ml_block_from(cx, &ob));
    *outer = ob.tag;
    return ml_ok_or_fail(cx);
}

/* ---- blocks */

typedef struct Group {
    ml_Call *c;
    ml_Ctx *cx;
    size_t n;
    const ml_Uid *uids;
    ml_Uid place;       /* loop or block whose body holds them */
    size_t n_above;     /* loops of theirs up to the place */
    size_t first, last; /* elements of the body; of one statement 0 */
    ml_Tile *tiles;
    ml_Iter *iters; /* of the new block */
    size_t n_iters;
} Group;

static bool not_consecutive(Group *g, ml_Uid block, const char *why)
{
    return ml_fail(g->cx, ML_E_NOT_CONSECUTIVE, ML_BLOCK_UID(block), ML_TEXT(why));
}

/* The statement of the place's body that holds the block. */
static bool element_of(Group *g, ml_Uid block, size_t *out)
{
    const ml_Stmt *body = ml_node_body(ml_index_node(g->c->p.index, g->place));
    ml_Uid child = block;

    *out = 0;
    if (body->kind != ML_STMT_SEQ)
        return true;
    while (ml_index_parent(g->c->p.index, child) != g->place)
        child = ml_index_parent(g->c->p.index, child);
    for (size_t k = 0; k < ml_as_seq(body)->n; k++)
        if (ml_as_seq(body)->stmts[k] == ml_index_node(g->c->p.index, child)) {
            *out = k;
            return true;
        }
    return ml_check_schedulable(g->c, g->place, block);
}

static bool find_place(Group *g)
{
    const ml_Index *ix = g->c->p.index;
    ml_Uid scope;
    ml_StmtVec loops = {0};
    size_t at;

    for (size_t k = 0; k < g->n; k++)
        if (!ml_check_not_root(g->c, g->uids[k]))
            return false;
    scope = ml_index_scope(ix, g->uids[0]);
    g->place = ml_index_parent(ix, g->uids[0]);
    for (size_t k = 1; k < g->n; k++) {
        for (size_t j = 0; j < k; j++)
            if (g->uids[j] == g->uids[k])
                return not_consecutive(g, g->uids[k], "it is given twice");
        if (ml_index_is_above(ix, g->uids[k], g->uids[0]) ||
            ml_index_is_above(ix, g->uids[0], g->uids[k]))
            return not_consecutive(g, g->uids[k], "it is nested with another one");
        if (ml_index_scope(ix, g->uids[k]) != scope)
            return not_consecutive(g, g->uids[k], "it is in another scope");
        g->place = ml_index_lca(ix, g->place, ml_index_parent(ix, g->uids[k]));
    }
    ml_index_loops(g->cx, ix, g->uids[0], &loops);
    g->n_above = 0;
    for (size_t k = 0; k < loops.n; k++)
        if (ml_stmt_uid(loops.v[k]) == g->place)
            g->n_above = k + 1;
    for (size_t k = 0; k < g->n; k++) {
        if (!element_of(g, g->uids[k], &at))
            return false;
        g->first = k == 0 || at < g->first ? at : g->first;
        g->last = k == 0 || at > g->last ? at : g->last;
    }
    return true;
}

/* Everything between the first and the last one belongs to them. */
static bool check_elements(Group *g)
{
    const ml_Stmt *place = ml_index_node(g->c->p.index, g->place);
    const ml_Stmt *body = ml_node_body(place);

    for (size_t k = g->first; k <= g->last; k++) {
        const ml_Stmt *s = body->kind == ML_STMT_SEQ ? ml_as_seq(body)->stmts[k] : body;
        ml_StmtVec kids = {0};

        if (!only_loops(g->c, s, place))
            return false;
        if (s->kind == ML_STMT_BLOCK)
            ml_push(g->cx, &kids, s);
        else
            ml_child_blocks(g->cx, s, &kids);
        for (size_t m = 0; m < kids.n; m++) {
            bool given = false;

            for (size_t j = 0; j < g->n; j++)
                given |= g->uids[j] == ml_stmt_uid(kids.v[m]);
            if (!given)
                return not_consecutive(g, ml_stmt_uid(kids.v[m]),
                                       "it lies between the given ones");
        }
    }
    return true;
}

/* The outer iter of that value, made if this is the first block; NULL: there is none. */
static const ml_Iter *outer_iter(Group *g, const ml_Tile *t, size_t k, bool make)
{
    const ml_Iter *it = &t->block->iters[k];
    ml_Range r = ml_tile_outer(t, k);

    for (size_t m = 0; m < g->n_iters && !make; m++)
        if (g->iters[m].value == t->d.outer[k].value && g->iters[m].extent == r.extent &&
            g->iters[m].min == r.min && g->iters[m].kind == it->kind)
            return &g->iters[m];
    if (!make)
        return NULL;
    g->iters[g->n_iters] = (ml_Iter){
        .var = ml_var_new(g->cx, ml_format(g->cx, "%s_o", it->var->hint), it->var->type),
        .min = r.min,
        .extent = r.extent,
        .value = t->d.outer[k].value,
        .kind = it->kind};
    return &g->iters[g->n_iters++];
}

static bool outer_iters(Group *g, size_t at, Inside *in, bool preserve)
{
    const ml_Tile *t = &g->tiles[at];
    const ml_Block *b = t->block;
    size_t used = 0, there = 0;

    for (size_t k = 0; k < b->n_iters; k++) {
        bool unit = ml_is_int(ml_tile_outer(t, k).extent, 1);
        bool spatial = b->iters[k].kind == ML_ITER_SPATIAL;
        const ml_Iter *o = NULL;

        if (!unit && b->init && !spatial)
            return ml_fail(g->cx, ML_E_OUTER_REDUCTION, ML_ITER(b, k), ML_BLOCK(b));
        if (!unit || (at == 0 && preserve && spatial)) {
            o = outer_iter(g, t, k, at == 0);
            if (!o)
                return ml_fail(
                    g->cx, ML_E_OUTER_MISMATCH, ML_BLOCK(b), ML_BLOCK(g->tiles[0].block),
                    ML_TEXT(ml_format(g->cx,
                                      "the part of iter %s over the loops outside has "
                                      "no counterpart",
                                      b->iters[k].var->hint)),
                    ML_ITER(b, k));
            used += !unit;
        }
        in->outer[k] = o && !unit ? o->var : NULL;
        inner_iter(in, k, b->init && !spatial);
    }
    for (size_t m = 0; m < g->n_iters; m++) {
        there += !ml_is_int(g->iters[m].extent, 1);
        ml_arith_bind_range(in->ar, g->iters[m].var, g->iters[m].min, g->iters[m].extent);
    }
    if (used != there)
        return ml_fail(g->cx, ML_E_OUTER_MISMATCH, ML_BLOCK(b), ML_BLOCK(g->tiles[0].block),
                       ML_TEXT(ml_format(g->cx,
                                         "it has %zu iters over the loops outside, the "
                                         "other one %zu",
                                         used, there)));
    if (t->d.outer_pred != g->tiles[0].d.outer_pred)
        return ml_fail(g->cx, ML_E_OUTER_MISMATCH, ML_BLOCK(b), ML_BLOCK(g->tiles[0].block),
                       ML_TEXT("their conditions on the loops outside differ"));
    return true;
}

typedef struct Swap {
    const ml_Map *to; /* block tag -> its replacement */
} Swap;

static const ml_Stmt *swap_blocks(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const Swap *w = user;

    if (s->kind == ML_STMT_BLOCK) {
        const ml_Stmt *to = ml_map_get(w->to, ml_as_block(s)->tag);

        return to ? to : s;
    }
    if (!s->has_block)
        return s;
    return ml_stmt_map(cx, s, &(ml_Mapper){.stmt = swap_blocks, .user = user});
}

static bool blockize_blocks(ml_Call *c, const ml_Given *target, bool preserve)
{
    ml_Ctx *cx = c->cx;
    Group g = {.c = c, .cx = cx, .n = target->n, .uids = target->uids};
    size_t n_reads = 0, n_writes = 0, room = 0;
    ml_Map *to = ml_map_new(cx);
    ml_Text name = {0};
    ml_Subst loops = {0};

    if (g.n == 0)
        return ml_fail(cx, ML_E_BAD_ARGUMENT, ML_TEXT("target is an empty list"));
    if (!find_place(&g) || !check_elements(&g))
        return false;
    g.tiles = ML_ARRAY(cx, ml_Tile, g.n);
    ml_text_add(&name, "outer_");
    for (size_t k = 0; k < g.n; k++) {
        const ml_Block *b = ml_call_block(c, g.uids[k]);

        ml_text_fmt(&name, "%s_", b->name);
        n_reads += b->n_reads;
        n_writes += b->n_writes;
        room += b->n_iters;
    }
    ml_Block ob = {.name = ml_strdup(cx, (ml_Str){ml_text_z(&name), name.n}),
                   .tag = ml_fresh_uid(cx),
                   .base.span = ml_call_block(c, g.uids[0])->base.span};

    ml_text_free(&name);
    g.iters = ML_ARRAY(cx, ml_Iter, room + 1);
    Hulls reads = hulls_begin(cx, n_reads), writes = hulls_begin(cx, n_writes);

    for (size_t k = 0; k < g.n; k++) {
        ml_Tile *t = &g.tiles[k];

        if (!ml_tile_divide(c, g.uids[k], g.n_above, g.place, t))
            return false;
        Inside in = inside_begin(c, t);

        if (!outer_iters(&g, k, &in, preserve))
            return false;
        region_domain(&in);
        for (size_t m = 0; m < t->block->n_reads; m++)
            add_hull(&in, &reads, &t->block->reads[m]);
        for (size_t m = 0; m < t->block->n_writes; m++)
            add_hull(&in, &writes, &t->block->writes[m]);
        ml_map_set(cx, to, g.uids[k], inner_block(&in, false));
        if (k == 0)
            name_outer_values(&in, &loops);
    }
    if (!check_writes(c, &writes, g.tiles[0].block))
        return false;
    ob.iters = g.iters;
    ob.n_iters = (uint32_t)g.n_iters;
    ob.predicate = g.tiles[0].d.outer_pred;
    ob.reads = reads.v;
    ob.n_reads = (uint32_t)reads.n;
    ob.writes = writes.v;
    ob.n_writes = (uint32_t)writes.n;
    const ml_Stmt *place = ml_index_node(c->p.index, g.place), *body = ml_node_body(place);
    const ml_Seq *seq = body->kind == ML_STMT_SEQ ? ml_as_seq(body) : NULL;

    ob.body = seq ? ml_seq(cx, seq->stmts + g.first, g.last - g.first + 1) : body;
    ob.body = swap_blocks(cx, ob.body, &(Swap){to});
    if (loops.vars)
        ob.body = ml_stmt_subst(cx, ob.body, &loops);
    for (size_t k = 0; k < g.n && ob.n_iters > 0; k++)
        if (!ml_tile_closed(c, &g.tiles[k], ob.body))
            return false;
    const ml_Stmt *outer = ml_block_from(cx, &ob);

    if (seq) {
        const ml_Stmt **all = ML_ARRAY(cx, const ml_Stmt *, seq->n);
        size_t n = 0;

        for (size_t k = 0; k < seq->n; k++)
            if (k == g.first || k < g.first || k > g.last)
                all[n++] = k == g.first ? outer : seq->stmts[k];
        outer = ml_seq(cx, all, n);
    }
    if (place->kind == ML_STMT_FOR) {
        ml_For f = *ml_as_for(place);

        f.body = outer;
        ml_call_replace(c, g.place, ml_for_from(cx, &f));
    } else {
        ml_Block b = *ml_as_block(place);

        b.body = outer;
        ml_call_replace(c, g.place, ml_block_from(cx, &b));
    }
    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_return_block(c, ob.tag);
    return true;
}

static bool blockize(ml_Call *c)
{
    const ml_Given *target = &c->args[TARGET];
    bool preserve = c->args[PRESERVE_UNIT_ITERS].b;
    ml_Uid outer;

    if (!target->node || target->node->kind != ML_STMT_FOR)
        return blockize_blocks(c, target, preserve);
    if (!ml_blockize_loop(c, target->uid, preserve, &outer))
        return false;
    ml_call_return_block(c, outer);
    return true;
}

static void suggest(ml_Schedule *s, const ml_Given *args, const ml_Error *e, ml_Tries *t)
{
    ml_Ctx *cx = ml_schedule_ctx(s);
    ml_Program p = ml_schedule_program(s);
    ml_StmtVec kids = {0}, loops = {0};
    const ml_Stmt *node = ml_index_node(p.index, args[TARGET].uid);

    if (e->code == ML_E_BAD_ARGUMENT || !node || node->kind != ML_STMT_FOR)
        return;
    ml_child_blocks(cx, node, &kids);
    for (size_t k = 0; k < kids.n && k < 2; k++) {
        loops.n = 0;
        ml_index_loops(cx, p.index, ml_stmt_uid(kids.v[k]), &loops);
        for (size_t m = loops.n; m-- > 0;)
            if (loops.v[m] != node)
                ml_try(t, NULL, "blockize(\"%s\")", ml_name_of(s, ml_stmt_uid(loops.v[m])));
    }
}

static const ml_Param params[] = {
    ML_PARAM(
        "target", ML_P_LOOP_BLOCKS,
        "the loop whose nest becomes a block, or a list of blocks that follow each other"),
    ML_PARAM_FLAG("preserve_unit_iters", true, "keep iters that take one value"),
};

const ml_Primitive ml_prim_blockize = {
    .name = "blockize",
    .kind = "Blockize",
    .group = "blocks",
    .summary = "make a nest, or some blocks, the body of a new block",
    .help = "The iters of the block inside are divided into a part over the loops outside, "
            "which\n"
            "the new block gets, and one over the loops inside. An init moves to the new "
            "block. A\n"
            "list of blocks that follow each other is wrapped as it is.",
    .params = params,
    .n_params = ML_COUNT(params),
    .result = ML_R_BLOCK,
    .apply = blockize,
    .suggest = suggest,
    .errors =
        (const ml_ErrorCode[]){ML_E_BAD_ARGUMENT, ML_E_ROOT_BLOCK, ML_E_NOT_SINGLE_CHILD,
                               ML_E_NOT_SCHEDULABLE, ML_E_NOT_DIVISIBLE, ML_E_LOOP_STEP,
                               ML_E_LOOP_DEPENDENT, ML_E_NOT_REDUCTION,
                               ML_E_NOT_CONSECUTIVE, ML_E_OUTER_MISMATCH,
                               ML_E_OUTER_REDUCTION, ML_E_UNSOUND, ML_E_OK},
    .cases = "blockize",
};
