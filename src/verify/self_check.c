/*
 * self_check - what is kept beside a program against what is computed anew from it.
 *
 * The index and the summaries of statements are compared with fresh ones; the properties of
 * blocks as they are remembered with those that an empty memory gives; and the regions of
 * blocks that a step has made with what their bodies touch, where both can be compared. A
 * difference is an error of the library, not of the program. Source: ir-and-analysis 8.5.
 */
#include "moonloop/verify/facts.h"

#include "moonloop/core/shown.h"

typedef struct SelfCheck {
    ml_Ctx *cx;
    ml_Facts *known, *fresh;
    ml_Program before, p;
    ml_UidVec blocks;
    const char *what; /* the first difference; NULL: none */
} SelfCheck;

static const char *name_of(const SelfCheck *c, ml_Uid uid)
{
    return ml_as_block(ml_index_node(c->p.index, uid))->name;
}

static void differs(SelfCheck *c, ml_Uid block, const char *flag, const char *known,
                    const char *fresh)
{
    if (!c->what)
        c->what = ml_format(c->cx, "block %s: %s is remembered as %s, it is %s",
                            name_of(c, block), flag, known, fresh);
}

static void same_bool(SelfCheck *c, ml_Uid block, const char *flag, bool known, bool fresh)
{
    if (known != fresh)
        differs(c, block, flag, known ? "true" : "false", fresh ? "true" : "false");
}

static void same_number(SelfCheck *c, ml_Uid block, const char *flag, int known, int fresh)
{
    if (known != fresh)
        differs(c, block, flag, ml_format(c->cx, "%d", known),
                ml_format(c->cx, "%d", fresh));
}

static const char *names(SelfCheck *c, const ml_UidVec *v)
{
    ml_Text t = {0};
    const char *z;

    for (size_t k = 0; k < v->n; k++)
        ml_text_fmt(&t, "%s%s", k ? ", " : "", name_of(c, v->v[k]));
    z = ml_strdup(c->cx, ml_str(t.n ? ml_text_z(&t) : "none"));
    ml_text_free(&t);
    return z;
}

static void same_blocks(SelfCheck *c, ml_Uid block, const char *flag,
                        const ml_UidVec *known, const ml_UidVec *fresh)
{
    if (known->n != fresh->n ||
        (known->n && memcmp(known->v, fresh->v, known->n * sizeof *known->v) != 0))
        differs(c, block, flag, names(c, known), names(c, fresh));
}

/* ---- tables */
static bool summary(const ml_Stmt *s, void *user)
{
    SelfCheck *c = user;

    if (!c->what && !ml_stmt_summary_holds(s))
        c->what = ml_format(c->cx, "a statement of kind %d has a wrong summary", s->kind);
    return c->what == NULL;
}

static void tables(SelfCheck *c)
{
    if (!ml_index_verify(c->cx, c->p, &c->what))
        return;
    for (size_t k = 0; k < c->p.mod->n; k++)
        ml_stmt_visit(c->p.mod->funcs[k]->body, summary, c);
}

/* ---- properties of blocks */
static void block_node(ml_Uid uid, const ml_Stmt *node, void *user)
{
    SelfCheck *c = user;

    if (node->kind == ML_STMT_BLOCK)
        ml_push(c->cx, &c->blocks, uid);
}

static bool is_scope(const SelfCheck *c, ml_Uid uid)
{
    const ml_Stmt *body = ml_node_body(ml_index_node(c->p.index, uid));

    return body->n_blocks > 0;
}

static void flags(SelfCheck *c, ml_Uid uid)
{
    ml_UidVec a = {0}, b = {0};

    if (is_scope(c, uid))
        same_bool(c, uid, "that its scope is a stage pipeline",
                  ml_is_stage_pipeline(c->cx, c->known, c->p, uid),
                  ml_is_stage_pipeline(c->cx, c->fresh, c->p, uid));
    if (!ml_index_scope(c->p.index, uid))
        return; /* a root has no producers, nor a binding */
    same_bool(c, uid, "that its binding is affine",
              ml_is_affine(c->cx, c->known, c->p, uid, NULL),
              ml_is_affine(c->cx, c->fresh, c->p, uid, NULL));
    same_bool(c, uid, "that it is covered",
              ml_is_covered(c->cx, c->known, c->p, uid, false),
              ml_is_covered(c->cx, c->fresh, c->p, uid, false));
    same_number(c, uid, "the condition of completeness that it breaks",
                ml_complete_violation(c->cx, c->known, c->p, uid, NULL),
                ml_complete_violation(c->cx, c->fresh, c->p, uid, NULL));
    same_number(c, uid, "the condition of a reduction that it breaks",
                ml_reduction_violation(c->cx, c->known, c->p, uid, NULL),
                ml_reduction_violation(c->cx, c->fresh, c->p, uid, NULL));
    ml_producers(c->cx, c->known, c->p, uid, &a);
    ml_producers(c->cx, c->fresh, c->p, uid, &b);
    same_blocks(c, uid, "its producers", &a, &b);
    a.n = b.n = 0;
    ml_consumers(c->cx, c->known, c->p, uid, &a);
    ml_consumers(c->cx, c->fresh, c->p, uid, &b);
    same_blocks(c, uid, "its consumers", &a, &b);
}

/* ---- regions */
static const ml_Region *region_of(const ml_Region *v, size_t n, const ml_Buffer *b)
{
    for (size_t k = 0; k < n; k++)
        if (v[k].buffer == b)
            return &v[k];
    return NULL;
}

static bool is_simple(const ml_Stmt *s, void *user)
{
    bool *simple = user;

    *simple &= s->kind == ML_STMT_SEQ || s->kind == ML_STMT_STORE ||
               s->kind == ML_STMT_EVALUATE || s->kind == ML_STMT_BIND;
    return *simple;
}

enum { BEFORE = 1, BEHIND = 2 };
/* What is touched is something, and lies outside of what is declared, in every iteration:
 * some of it when exact, all of it when more is said to be touched than is. On which sides. */
static unsigned outside(SelfCheck *c, ml_Arith *ar, const ml_Expr *dim,
                        const ml_Range *declared, const ml_Range *touched, bool exact)
{
    const ml_Expr *end, *last, *zero = ml_int(c->cx, declared->min->type, 0);

    if (!ml_dtype_eq(declared->min->type, touched->min->type) ||
        !ml_dtype_eq(declared->extent->type, declared->min->type) ||
        !ml_dtype_eq(touched->extent->type, touched->min->type))
        return 0;
    if (!ml_prove_ge(ar, touched->extent, 1)) /* nothing, where a guard leaves it out */
        return 0;
    end = ml_add(c->cx, declared->min, declared->extent);
    last = ml_add(c->cx, touched->min, touched->extent);
    /* Outside of the buffer there is nothing. */
    if (ml_prove_le_expr(ar, last, zero) || ml_prove_le_expr(ar, dim, touched->min))
        return 0;
    if (!exact)
        return (ml_prove_le_expr(ar, last, declared->min) ? BEFORE : 0) |
               (ml_prove_le_expr(ar, end, touched->min) ? BEHIND : 0);
    return (ml_prove_lt_expr(ar, touched->min, declared->min) &&
                    ml_prove_lt_expr(ar, zero, declared->min)
                ? BEFORE
                : 0) |
           (ml_prove_lt_expr(ar, end, last) && ml_prove_lt_expr(ar, end, dim) ? BEHIND : 0);
}

/* A buffer may be declared several times: it is outside on the side where it is of all. */
static void inside(SelfCheck *c, const ml_Block *b, ml_Arith *ar, const ml_Region *declared,
                   size_t n, const ml_Region *touched, const char *kind)
{
    const ml_Buffer *buf = touched->buffer;
    bool exact = true;

    if (!region_of(declared, n, buf)) {
        c->what = ml_format(c->cx, "block %s %s %s, which is not declared",
                            ml_shown(c->cx, b), kind, ml_shown(c->cx, buf));
        return;
    }
    ml_stmt_visit(b->body, is_simple, &exact);
    for (size_t k = 0; k < buf->rank && !c->what; k++) {
        unsigned sides = BEFORE | BEHIND;

        for (size_t m = 0; m < n && sides; m++)
            if (declared[m].buffer == buf)
                sides &= outside(c, ar, buf->shape[k], &declared[m].ranges[k],
                                 &touched->ranges[k], exact);
        if (sides)
            c->what = ml_format(
                c->cx, "block %s %s %s outside of what is declared, in dimension %zu",
                ml_shown(c->cx, b), kind, ml_shown(c->cx, buf), k);
    }
}

static bool is_declared_by_hand(const ml_Block *b)
{
    return ml_dict_get(b->annotations, "explicit_read_region") ||
           ml_dict_get(b->annotations, "explicit_write_region");
}

typedef struct Runs {
    const ml_Func *f;
    ml_Arith *ar;
    ml_Uid block; /* that is asked about: what it says of itself stays */
} Runs;

/* The expression without the value of a choice that is surely not taken. */
static const ml_Expr *that_is_read(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Runs *w = user;

    if (ml_is_op(e, ML_OP_IF_THEN_ELSE)) {
        if (ml_prove(w->ar, e->args[0]))
            return that_is_read(cx, e->args[1], user);
        if (ml_prove(w->ar, ml_not(cx, e->args[0])))
            return that_is_read(cx, e->args[2], user);
    }
    return ml_expr_map_args(cx, e, that_is_read, user);
}

/* The statement without what surely never runs: what it would touch is nowhere declared.
 */
static const ml_Stmt *that_runs(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = that_runs, .expr = that_is_read, .user = user};
    Runs *w = user;
    ml_Arith *ar = w->ar;
    ml_ArithMark mark = ml_arith_save(ar);
    const ml_Stmt *was = s;

    if (s->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(s);

        if (ml_prove_le_expr(ar, f->extent, ml_int(cx, f->extent->type, 0)))
            return ml_evaluate(cx, ml_i32(cx, 0));
        ml_arith_bind_loop(ar, f);
    }
    if (s->kind == ML_STMT_BLOCK) {
        if (ml_prove(ar, ml_not(cx, ml_as_block(s)->predicate)))
            return ml_evaluate(cx, ml_i32(cx, 0));
        ml_arith_bind_iters(ar, ml_as_block(s));
    }
    if (s->kind == ML_STMT_IF) {
        const ml_If *i = ml_as_if(s);
        bool always = ml_prove(ar, i->cond);

        if (always || ml_prove(ar, ml_not(cx, i->cond))) {
            s = always ? i->then : i->other;
            return s ? that_runs(cx, s, user) : ml_evaluate(cx, ml_i32(cx, 0));
        }
    }
    s = ml_stmt_map(cx, s, &m);
    ml_arith_restore(ar, mark);
    if (s == was || s->kind != ML_STMT_BLOCK || ml_as_block(s)->tag == w->block ||
        is_declared_by_hand(ml_as_block(s)))
        return s;
    const ml_Block *less = ml_block_reinfer(cx, w->f, ml_as_block(s));

    if (!less)
        ml_error_clear(cx);
    return less ? &less->base : s;
}

/* Of a block that the step made: those that were there are as right as before. */
static void regions(SelfCheck *c, ml_Uid uid)
{
    const ml_Stmt *node = ml_index_node(c->p.index, uid);
    const ml_Block *b = ml_as_block(node);
    const ml_Func *f = c->p.mod->funcs[ml_index_func(c->p.index, uid)];
    ml_Access touched = {0};
    ml_Arith *ar;

    if (c->before.index && ml_index_node(c->before.index, uid) == node)
        return;
    if (!ml_index_scope(c->p.index, uid) || is_declared_by_hand(b))
        return;
    Runs runs = {f, ml_arith_at(c->cx, c->p, uid), uid};

    node = that_runs(c->cx, node, &runs);
    if (node->kind != ML_STMT_BLOCK)
        return;
    b = ml_as_block(node);
    ml_block_access(c->cx, f, b, &touched);
    if (ml_error(c->cx)) {
        ml_error_clear(c->cx);
        return;
    }
    ar = ml_arith_at(c->cx, c->p, uid);
    ml_arith_bind_iters(ar, b);
    for (size_t k = 0; k < touched.reads.n && !c->what; k++)
        /* of what it writes it may read what it wrote before */
        if (!region_of(b->writes, b->n_writes, touched.reads.v[k].buffer))
            inside(c, b, ar, b->reads, b->n_reads, &touched.reads.v[k], "reads");
    for (size_t k = 0; k < touched.writes.n && !c->what; k++)
        inside(c, b, ar, b->writes, b->n_writes, &touched.writes.v[k], "writes");
}

bool ml_self_check(ml_Ctx *cx, ml_Facts *known, ml_Program before, ml_Program p,
                   uint32_t what)
{
    SelfCheck c = {.cx = cx, .known = known, .before = before, .p = p};

    if (what & ML_CHECK_TABLES)
        tables(&c);
    if (!c.what && (what & (ML_CHECK_FLAGS | ML_CHECK_REGIONS)))
        ml_index_each(p.index, block_node, &c);
    if (what & ML_CHECK_FLAGS) {
        c.fresh = ml_facts_new(cx);
        for (size_t k = 0; k < c.blocks.n && !c.what; k++)
            flags(&c, c.blocks.v[k]);
        ml_facts_free(c.fresh);
    }
    for (size_t k = 0; k < c.blocks.n && !c.what && (what & ML_CHECK_REGIONS); k++)
        regions(&c, c.blocks.v[k]);
    if (c.what)
        ml_fail(cx, ML_E_SELF_CHECK, ML_TEXT(c.what));
    return c.what == NULL;
}
