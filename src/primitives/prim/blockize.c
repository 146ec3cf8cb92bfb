/*
 * blockize - a nest around a block, or some blocks that follow each other, become the body
 * of a new block.
 *
 * Iters are divided into a part over the loops outside and one over the loops inside. The
 * form for a loop is in blockize_loop.c; some blocks are wrapped where they stand, and have
 * the same parts outside. Source: primitives 10, blockize.
 */
#include "moonloop/primitives/rewrite/blockize.h"

#include "moonloop/primitives/rewrite/blockize_inside.h"

enum { TARGET, PRESERVE_UNIT_ITERS };

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

        if (!ml_tile_only_loops(g->c, s, place))
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

static bool outer_iters(Group *g, size_t at, ml_Inside *in, bool preserve)
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
                return ml_fail_as(
                    g->cx, ML_E_OUTER_MISMATCH,
                    "blocks {1} and {0} differ outside: the part of iter {3} of "
                    "block {0} over the loops outside has none in block {1}",
                    ML_BLOCK(b), ML_BLOCK(g->tiles[0].block), ML_ITER(b, k),
                    ML_VARIABLE(b->iters[k].var));
            used += !unit;
        }
        in->outer[k] = o && !unit ? o->var : NULL;
        ml_inside_iter(in, k, b->init && !spatial);
    }
    for (size_t m = 0; m < g->n_iters; m++) {
        there += !ml_is_int(g->iters[m].extent, 1);
        ml_arith_bind_range(in->ar, g->iters[m].var, g->iters[m].min, g->iters[m].extent);
    }
    if (used != there)
        return ml_fail_as(g->cx, ML_E_OUTER_MISMATCH,
                          "blocks {1} and {0} differ outside: block {0} has {2} iters "
                          "over the loops outside, block {1} {3}",
                          ML_BLOCK(b), ML_BLOCK(g->tiles[0].block),
                          ML_NUMBER("iters", used), ML_NUMBER("other_iters", there));
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
    ml_Hulls reads = ml_hulls_begin(cx, n_reads), writes = ml_hulls_begin(cx, n_writes);

    for (size_t k = 0; k < g.n; k++) {
        ml_Tile *t = &g.tiles[k];

        if (!ml_tile_divide(c, g.uids[k], g.n_above, g.place, t) ||
            !ml_tile_reads_inside(c, t))
            return false;
        ml_Inside in = ml_inside_begin(c, t);

        if (!outer_iters(&g, k, &in, preserve))
            return false;
        ml_inside_domain(&in);
        for (size_t m = 0; m < t->block->n_reads; m++)
            ml_hulls_add(&in, &reads, &t->block->reads[m]);
        for (size_t m = 0; m < t->block->n_writes; m++)
            ml_hulls_add(&in, &writes, &t->block->writes[m]);
        ml_map_set(cx, to, g.uids[k], ml_inside_block(&in, false));
        if (k == 0)
            ml_inside_names(&in, &loops);
    }
    if (!ml_hulls_exact(c, &writes, g.tiles[0].block))
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

static void suggest_blockize(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                             ml_Tries *t)
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
    ML_PRIM(blockize, "Blockize"),
    .group = "blocks",
    .summary = "make a nest, or some blocks, the body of a new block",
    .help = "The iters of the block inside are divided into a part over the loops outside, "
            "which\n"
            "the new block gets, and one over the loops inside. An init moves to the new "
            "block. A\n"
            "list of blocks that follow each other is wrapped as it is.",
    ML_PARAMS(params),
    .result = ML_R_BLOCK,
    .suggest = suggest_blockize,
    .errors =
        (const ml_ErrorCode[]){
            ML_E_BAD_ARGUMENT, ML_E_ROOT_BLOCK, ML_E_NOT_SINGLE_CHILD, ML_E_NOT_SCHEDULABLE,
            ML_E_NOT_DIVISIBLE, ML_E_LOOP_STEP, ML_E_LOOP_DEPENDENT, ML_E_NOT_REDUCTION,
            ML_E_NOT_CONSECUTIVE, ML_E_OUTER_MISMATCH, ML_E_OUTER_REDUCTION,
            ML_E_REDUCTION_CHANGED, ML_E_WRITES_OVERLAP, ML_E_WOULD_RACE, ML_E_PART_WRITTEN,
            ML_E_REGION_UNDECLARED, ML_E_OK},
};
