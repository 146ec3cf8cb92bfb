/*
 * loop_partition - cut one loop into consecutive loops of given lengths.
 *
 * Each piece runs a fresh copy of the body over its range, in the old order, so that every
 * instance runs as before. What could differ is the init of a reduction, which runs where
 * the reduce iters are at their minimum: only the first piece keeps it, the others start
 * from the accumulator. Source: primitives 6, loop_partition.
 */
#include "moonloop/primitives/rewrite/move.h"

#include "moonloop/core/shown.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

#include "moonloop/core/base/fault.h"

enum { LOOP, FACTORS };

typedef struct Partition {
    ml_Call *c;
    const ml_For *loop;
    int64_t min, extent;
    size_t n;
    int64_t *at;       /* n + 1 boundaries, from 0 */
    const char *first; /* name of the first block inside */
} Partition;

/* ---- lengths */

static bool check_bounds(Partition *p)
{
    if (!ml_is_const_int(p->loop->min) || !ml_is_const_int(p->loop->extent))
        return ml_fail(
            p->c->cx, ML_E_LOOP_DYNAMIC, ML_LOOP(p->loop),
            ML_EXPRESSION(ml_is_const_int(p->loop->min) ? p->loop->extent : p->loop->min));
    p->min = p->loop->min->as.i;
    p->extent = p->loop->extent->as.i;
    return true;
}

static bool too_large(Partition *p, const ml_Given *f, int64_t sum)
{
    ml_Text t = {0};
    bool several = false;

    for (size_t k = 0; k < f->n; k++) {
        if (!f->exprs[k])
            continue;
        several = t.n > 0;
        ml_text_fmt(&t, "%s%lld", several ? " + " : "", (long long)f->exprs[k]->as.i);
    }
    if (sum != INT64_MAX && several)
        ml_text_fmt(&t, " = %lld", (long long)sum);
    const char *what = ml_format(
        p->c->cx, several ? "lengths %s leave" : "length %s leaves", ml_text_z(&t));

    ml_fail(p->c->cx, ML_E_FACTORS_TOO_LARGE, ML_TEXT(what), ML_NUMBER("sum", sum),
            ML_LOOP(p->loop), ML_NUMBER("extent", p->extent));
    ml_text_free(&t);
    return false;
}

/* Boundaries of the pieces: running sums of the lengths; one length may be auto, else what
 * remains is a piece more. */
static bool find_pieces(Partition *p)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Given *f = &p->c->args[FACTORS];
    size_t n_auto = 0, where = 0;
    int64_t sum = 0;

    if (f->n == 0)
        return ml_fail(cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT("factors is empty: give at least one length"));
    for (size_t k = 0; k < f->n; k++) {
        const ml_Expr *e = f->exprs[k];

        if (!e) {
            if (n_auto++ > 0)
                return ml_fail(cx, ML_E_TWO_AUTOS, ML_NUMBER("first", where + 1),
                               ML_NUMBER("second", k + 1));
            where = k;
            continue;
        }
        if (e->as.i <= 0)
            return ml_fail(cx, ML_E_FACTOR_NOT_POSITIVE, ML_NUMBER("position", k + 1),
                           ML_NUMBER("factor", e->as.i), ML_LOOP(p->loop));
        if (__builtin_add_overflow(sum, e->as.i, &sum))
            sum = INT64_MAX;
    }
    if (sum >= p->extent)
        return too_large(p, f, sum);
    if (!ml_check_plain_loop(p->c, p->loop))
        return false;
    p->n = f->n + (n_auto == 0);
    p->at = ML_ARRAY(cx, int64_t, p->n + 1);
    for (size_t k = 0; k < p->n; k++)
        p->at[k + 1] =
            p->at[k] + (k < f->n && f->exprs[k] ? f->exprs[k]->as.i : p->extent - sum);
    return true;
}

/* ---- one piece */

typedef struct Piece {
    Partition *p;
    size_t k;
    const ml_Var *var; /* of its loop */
    ml_Arith *ar;
    const char *suffix; /* _i0 */
    ml_UidVec updated;  /* buffers of reductions that start in the first piece */
    bool failed;
} Piece;

/* Nested blocks are renamed only. */
static const ml_Stmt *rename_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const Piece *pc = user;

    if (!s->has_block)
        return s;
    s = ml_stmt_map(cx, s, &(ml_Mapper){.stmt = rename_stmt, .user = user});
    if (s->kind != ML_STMT_BLOCK)
        return s;
    ml_Block b = *ml_as_block(s);

    b.name = ml_format(cx, "%s%s", b.name, pc->suffix);
    return ml_block_from(cx, &b);
}

/* Whether the init of b cannot run in this piece: some reduce iter stays above its minimum.
 */
static bool never_first(Piece *pc, const ml_Block *b)
{
    ml_Ctx *cx = pc->p->c->cx;

    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        const ml_Expr *min = it->min, *value = it->value;

        if (it->kind == ML_ITER_REDUCE && ml_expr_uses_var(value, pc->var) &&
            ml_promote(cx, &min, &value) &&
            ml_prove_symbolic(pc->ar, ml_lt(cx, min, value)))
            return true;
    }
    return false;
}

static bool drives_reduction(const ml_Block *b, const ml_Var *v)
{
    for (size_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].kind == ML_ITER_REDUCE && ml_expr_uses_var(b->iters[k].value, v))
            return true;
    return false;
}

/* What b updates, by updated[from] and later, it reads. As in an update block: the
 * accumulators come first among the reads. */
static void read_updated(Piece *pc, ml_Block *b, size_t from)
{
    ml_Region *reads = ML_ARRAY(pc->p->c->cx, ml_Region, b->n_reads + b->n_writes + 1);
    uint32_t n = 0;

    for (size_t w = 0; w < b->n_writes; w++) {
        ml_Uid uid = b->writes[w].buffer->uid;
        bool there = true;

        for (size_t k = from; k < pc->updated.n && there; k++)
            there = pc->updated.v[k] != uid;
        for (size_t r = 0; r < b->n_reads; r++)
            there |= b->reads[r].buffer->uid == uid;
        if (!there)
            reads[n++] = b->writes[w];
    }
    for (size_t r = 0; r < b->n_reads; r++)
        reads[n++] = b->reads[r];
    const ml_Block old = *b;

    b->reads = reads;
    b->n_reads = n;
    ml_block_keep_said(pc->p->c->cx, &old, b);
}

/* A later piece of a reduction: no init, the accumulator is read. */
static bool without_init(Piece *pc, ml_Block *b)
{
    Partition *p = pc->p;

    if (!never_first(pc, b)) {
        ml_unproved(p->c->cx, ML_E_INIT_MISPLACED,
                    "block {0} would be initialised in the first piece of loop {1} alone",
                    ML_BLOCK(b), ML_LOOP(p->loop));
        pc->failed = true;
        return false;
    }
    size_t from = pc->updated.n;

    for (size_t w = 0; w < b->n_writes; w++)
        ml_push(p->c->cx, &pc->updated, b->writes[w].buffer->uid);
    read_updated(pc, b, from);
    b->init = NULL;
    return true;
}

/* [*lo, *hi) becomes what the domain of the iter has of it; false: nothing, or unknown. */
static bool part_of_domain(Piece *pc, const ml_Iter *it, int64_t *lo, int64_t *hi)
{
    ml_Ctx *cx = pc->p->c->cx;
    ml_Dtype t = it->var->type;

    int64_t end;

    if (ml_is_const_int(it->min) && ml_is_const_int(it->extent) &&
        !__builtin_add_overflow(it->min->as.i, it->extent->as.i, &end)) {
        *lo = *lo > it->min->as.i ? *lo : it->min->as.i;
        *hi = *hi < end ? *hi : end;
        return *lo < *hi;
    }
    return ml_prove_le_expr(pc->ar, it->min, ml_int(cx, t, *lo)) &&
           ml_prove_le_expr(pc->ar, ml_int(cx, t, *hi), ml_add(cx, it->min, it->extent));
}

/* The domain of an iter bound to the loop itself is what the piece has of it. Where the
 * piece has nothing, a guard leaves it out. */
static void narrow(Piece *pc, ml_Block *b)
{
    ml_Ctx *cx = pc->p->c->cx;
    const Partition *p = pc->p;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters + 1);

    if (b->n_iters > 0)
        memcpy(iters, b->iters, b->n_iters * sizeof *iters);
    for (size_t k = 0; k < b->n_iters; k++) {
        ml_Iter *it = &iters[k];
        ml_Dtype t = it->var->type;
        int64_t lo = p->min + p->at[pc->k], hi = p->min + p->at[pc->k + 1];

        if (it->value->kind != ML_EXPR_VAR || it->value->as.var->uid != pc->var->uid)
            continue;
        if (!part_of_domain(pc, it, &lo, &hi))
            continue;
        /* An init that runs nowhere today must not begin to. */
        if (b->init && it->kind == ML_ITER_REDUCE && !ml_is_int(it->min, lo))
            continue;
        it->min = ml_int(cx, t, lo);
        it->extent = ml_int(cx, t, hi - lo);
    }
    b->iters = iters;
}

static const ml_Stmt *piece_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    Piece *pc = user;

    if (!s->has_block || pc->failed)
        return s;
    if (s->kind != ML_STMT_BLOCK) {
        /* That a loop has iterations holds inside of it. */
        ml_ArithMark mark = ml_arith_save(pc->ar);

        if (s->kind == ML_STMT_FOR)
            ml_arith_bind_loop(pc->ar, ml_as_for(s));
        s = ml_stmt_map(cx, s, &(ml_Mapper){.stmt = piece_stmt, .user = user});
        ml_arith_restore(pc->ar, mark);
        return s;
    }
    ml_Block b = *ml_as_block(s);

    if (b.n_iters == 0) { /* looked through */
        size_t from = pc->updated.n;

        b.body = piece_stmt(cx, b.body, user);
        read_updated(pc, &b, from);
        b.name = ml_format(cx, "%s%s", b.name, pc->suffix);
        return ml_block_from(cx, &b);
    }
    b.body = rename_stmt(cx, b.body, user);
    b.name = ml_format(cx, "%s%s", b.name, pc->suffix);
    if (pc->k > 0 && b.init && drives_reduction(&b, pc->var) && !ML_FAULT(PARTITION_INIT) &&
        !without_init(pc, &b))
        return s;
    narrow(pc, &b);
    return ml_block_from(cx, &b);
}

/* A block without iters around a statement, with what it reads and writes. */
static const ml_Stmt *wrap(ml_Call *c, const char *name, const ml_Stmt *body)
{
    ml_Block b = {.name = name, .predicate = ml_bool(c->cx, true), .body = body};

    b.tag = ml_fresh_uid(c->cx);
    const ml_Block *nb = ml_as_block(ml_block_from(c->cx, &b));

    nb = ml_block_reinfer(c->cx, ml_call_func(c), nb);
    return nb ? &nb->base : NULL;
}

/* One copy of the body over its range; *loop gets its loop. */
static const ml_Stmt *piece(Partition *p, size_t k, const ml_Stmt **loop)
{
    ml_Ctx *cx = p->c->cx;
    const ml_For *old = p->loop;
    ml_Dtype t = old->var->type;
    Piece pc = {.p = p, .k = k};
    ml_For f = {.kind = ML_FOR_SERIAL};
    ml_Subst sub = {0};

    f.var = pc.var = ml_var_new(cx, ml_numbered(cx, old->var->hint, "", k), t);
    f.min = ml_int(cx, t, p->min + p->at[k]);
    f.extent = ml_int(cx, t, p->at[k + 1] - p->at[k]);
    f.base.span = old->base.span;
    pc.suffix = ml_format(cx, "_%s", pc.var->hint);
    pc.ar = ml_arith_at(cx, p->c->p, old->var->uid);
    ml_arith_bind_range(pc.ar, f.var, f.min, f.extent);
    ml_subst_var(cx, &sub, old->var, ml_var(cx, f.var));
    f.body = ml_stmt_subst(cx, ml_stmt_copy_fresh(cx, old->body, NULL), &sub);
    f.body = piece_stmt(cx, f.body, &pc);
    if (pc.failed)
        return NULL;
    *loop = ml_for_from(cx, &f);
    return wrap(p->c, ml_format(cx, "%s_%s_partition", p->first, f.var->hint), *loop);
}

/* ---- the primitive */

static bool loop_partition(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    Partition p = {.c = c, .loop = ml_call_loop(c, c->args[LOOP].uid)};
    ml_StmtVec inside = {0};

    if (!check_bounds(&p) || !find_pieces(&p))
        return false;
    /* A program grows by the number of pieces. */
    if (p.n > 64)
        return ml_bad_argument(cx, "factors: %zu pieces; at most 64 are made in one step",
                               p.n);
    ml_child_blocks(cx, &p.loop->base, &inside);
    p.first = inside.n ? ml_as_block(inside.v[0])->name : "";
    const ml_Stmt **pieces = ML_ARRAY(cx, const ml_Stmt *, p.n);
    const ml_Stmt **loops = ML_ARRAY(cx, const ml_Stmt *, p.n);

    for (size_t k = 0; k < p.n; k++)
        if (!(pieces[k] = piece(&p, k, &loops[k])))
            return false;
    const ml_Stmt *all = wrap(c, ml_format(cx, "%s_%s_common", p.first, p.loop->var->hint),
                              ml_seq(cx, pieces, p.n));

    if (!all || !ml_ok_or_fail(cx))
        return false;
    if (p.loop->kind != ML_FOR_SERIAL)
        ml_call_note(c, "loop %s was %s; its pieces are serial",
                     ml_shown(c->cx, p.loop->var),
                     ml_for_kind_name((ml_ForKind)p.loop->kind));
    ml_call_replace(c, p.loop->var->uid, all);
    ml_call_subject(c, ML_BLOCK_OF, ml_stmt_uid(all), NULL);
    ml_call_subjects_below(c, ML_BLOCK_OF, ml_stmt_uid(all));
    ml_call_return_loops(c, loops, p.n);
    return true;
}

/* Ways out: the length that is too much left to be worked out. */
static void suggest_loop_partition(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                                   ml_Tries *t)
{
    const ml_Stmt *node = ml_index_node(ml_schedule_program(s).index, args[LOOP].uid);
    const char *name = ml_name_of(s, args[LOOP].uid);

    if (!node || node->kind != ML_STMT_FOR || !ml_is_const_int(ml_as_for(node)->extent))
        return;
    int64_t extent = ml_as_for(node)->extent->as.i;

    if (e->code == ML_E_FACTORS_TOO_LARGE && args[FACTORS].n > 1 && args[FACTORS].exprs[0])
        ml_try(t, NULL, "loop_partition(\"%s\", {%lld, auto})", name,
               (long long)args[FACTORS].exprs[0]->as.i);
    if ((e->code == ML_E_FACTORS_TOO_LARGE || e->code == ML_E_FACTOR_NOT_POSITIVE ||
         e->code == ML_E_TWO_AUTOS) &&
        extent > 1)
        ml_try(t, "halves", "loop_partition(\"%s\", {%lld, auto})", name,
               (long long)(extent / 2));
    if (e->code == ML_E_LOOP_ANNOTATED && ml_dict_count(ml_as_for(node)->annotations) > 0)
        ml_try(t, NULL, "unannotate(\"%s\", \"%s\") loop_partition(\"%s\", {%lld, auto})",
               name, ml_as_for(node)->annotations->keys[0], name, (long long)(extent / 2));
}

static const ml_Post posts[] = {
    /* A buffer that one piece had to itself is used by several now: concurrent loops inside
     * them no longer have one each. */
    {ML_SOUND, ML_BLOCK_OF, ml_check_concurrency, NULL},
    {0},
};

static const ml_Param params[] = {
    ML_PARAM("loop", ML_P_LOOP, "the loop to cut"),
    ML_PARAM("factors", ML_P_FACTORS, "lengths of the pieces in order; auto: the rest"),
    ML_PARAM_FLAG("preserve_unit_iters", true, "has no effect here"),
};

const ml_Primitive ml_prim_loop_partition = {
    ML_PRIM(loop_partition, "LoopPartition"),
    .group = "loops",
    .summary = "cut a loop into consecutive loops",
    .help = "The lengths are those of the pieces, one after the other; what they leave is "
            "a last\n"
            "piece, unless one of them is auto. Each piece gets a copy of the body in a "
            "block of\n"
            "its own, so that it can be scheduled apart from the others.",
    ML_PARAMS(params),
    .result = ML_R_LOOPS,
    .posts = posts,
    .suggest = suggest_loop_partition,
    .errors = (const ml_ErrorCode[]){ML_E_BAD_ARGUMENT, ML_E_LOOP_DYNAMIC, ML_E_TWO_AUTOS,
                                     ML_E_FACTOR_NOT_POSITIVE, ML_E_FACTORS_TOO_LARGE,
                                     ML_E_LOOP_ANNOTATED, ML_E_LOOP_STEP,
                                     ML_E_INIT_MISPLACED, ML_E_WOULD_RACE, ML_E_OK},
    .one_order = true,
};
