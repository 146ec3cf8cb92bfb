/*
 * carried - whether a buffer that is to be allocated inside a loop carries a value from one
 * iteration to the next.
 *
 * It does not when every element read in one execution of the place was written before in
 * the same execution (defined_first.c). Where blocks alone use the buffer, the region cover
 * of its readers says it too. What is shown by neither keeps the buffer above the outermost
 * serial loop. A parallel loop needs no proof: its iterations have their own copies, and
 * reading what another one wrote is a race (DESIGN 4). Source: lowering-and-codegen 2.4.
 */
#include "moonloop/codegen/lower/plan.h"

const ml_Stmt *ml_plan_content(const ml_PlanNode *n)
{
    return n->stmt->kind == ML_STMT_FOR ? ml_as_for(n->stmt)->body
                                        : ml_as_block(n->stmt)->body;
}

/* The block begins with giving a value to what it accumulates into. */
bool ml_plan_initialises(const ml_Block *b, const ml_Buffer *buf)
{
    const ml_Stmt *s = b->body;

    if (s->kind == ML_STMT_SEQ)
        s = ml_as_seq(s)->stmts[0];
    if (s->kind == ML_STMT_IF && !ml_as_if(s)->other)
        s = ml_as_if(s)->then;
    return s->kind == ML_STMT_STORE && ml_as_store(s)->buffer->uid == buf->uid &&
           !ml_expr_uses_buffer(ml_as_store(s)->value, buf);
}

typedef struct Raw {
    const ml_Buffer *b;
    bool found;
} Raw;

static void raw_role(const ml_Expr *e, ml_Role role, void *user)
{
    Raw *r = user;

    if (role != ML_ROLE_REGION)
        r->found |= ml_expr_uses_buffer(e, r->b);
}

static bool raw_stmt(const ml_Stmt *s, void *user)
{
    Raw *r = user;

    if (s->kind == ML_STMT_BLOCK && ml_as_block(s)->n_iters > 0)
        return false;
    r->found |= s->kind == ML_STMT_STORE && ml_as_store(s)->buffer->uid == r->b->uid;
    ml_stmt_exprs(s, raw_role, r);
    return !r->found;
}

/* An access that no block with iterators declares. */
static bool used_outside_blocks(const ml_Stmt *s, const ml_Buffer *b)
{
    Raw r = {b, false};

    ml_stmt_visit(s, raw_stmt, &r);
    return r.found;
}

static void make_program(ml_Plan *p)
{
    const ml_Func *one[1] = {p->f};

    if (p->facts)
        return;
    p->program.mod = ml_module_new(p->lo->cx, one, 1, NULL);
    p->program.index = ml_index_build(p->lo->cx, p->program.mod);
    p->facts = ml_facts_new(p->lo->cx);
}

/* Every block below that reads the buffer has it from a block before it, or begins by
 * giving it a value. What a block reads and does not write comes from outside of it: the
 * blocks inside are covered by it. */
static bool readers_covered(ml_Plan *p, const ml_Buffer *buf, const ml_Stmt *place)
{
    ml_Ctx *cx = p->lo->cx;
    ml_StmtVec blocks = {0};
    bool ok = true;

    make_program(p);
    ml_child_blocks(cx, place, &blocks);
    for (size_t k = 0; k < blocks.n && ok; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);
        bool writes_it = ml_write_of(b, buf) != NULL, has = false;
        ml_UidVec from = {0};

        if (!ml_read_of(b, buf)) {
            ok = !writes_it || readers_covered(p, buf, &b->base);
            continue;
        }
        if (writes_it && ml_plan_initialises(b, buf))
            continue;
        ml_producers(cx, p->facts, p->program, b->tag, &from);
        for (size_t j = 0; j < from.n; j++)
            has |= ml_write_of(ml_as_block(ml_index_node(p->program.index, from.v[j])),
                               buf) != NULL;
        ok = has && ml_is_covered(cx, p->facts, p->program, b->tag, false);
    }
    (void)ml_gave_up(cx, NULL);
    return ok;
}

static bool is_serial(const ml_PlanNode *n)
{
    return n->stmt->kind == ML_STMT_FOR && (ml_as_for(n->stmt)->kind == ML_FOR_SERIAL ||
                                            ml_as_for(n->stmt)->kind == ML_FOR_UNROLLED);
}

/* Outside of blocks: some dimension is indexed by the loop's variable in every access. */
typedef struct ByVar {
    const ml_Buffer *b;
    const ml_Expr *v;
    size_t d;
    bool all;
} ByVar;

static bool by_var_expr(const ml_Expr *e, void *user)
{
    ByVar *q = user;

    if (e->kind == ML_EXPR_LOAD && e->as.buffer->uid == q->b->uid)
        q->all = q->all && e->args[q->d] == q->v;
    return q->all && (e->flags & ML_X_HAS_LOAD);
}

static bool by_var_stmt(const ml_Stmt *s, void *user)
{
    ByVar *q = user;

    if (s->kind == ML_STMT_STORE && ml_as_store(s)->buffer->uid == q->b->uid)
        q->all = q->all && ml_as_store(s)->indices[q->d] == q->v;
    ml_stmt_visit_exprs(s, ML_ROLES_ALL, by_var_expr, q);
    return q->all;
}

static bool disjoint(ml_Plan *p, const ml_For *f, const ml_Buffer *b, bool raw)
{
    make_program(p);
    if (!raw)
        return ml_accesses_disjoint(p->lo->cx, p->facts, p->program, f->var->uid, b);
    for (size_t d = 0; d < b->rank; d++) {
        ByVar q = {b, ml_var(p->lo->cx, f->var), d, true};

        ml_stmt_visit(f->body, by_var_stmt, &q);
        if (q.all)
            return true;
    }
    return false;
}

static bool is_parallel(const ml_PlanNode *n)
{
    return n->stmt->kind == ML_STMT_FOR && (ml_as_for(n->stmt)->kind == ML_FOR_PARALLEL ||
                                            ml_as_for(n->stmt)->kind == ML_FOR_VECTORIZED);
}

void ml_plan_keep_apart(ml_Plan *p, const ml_PlanBuffer *r)
{
    bool raw = false, known = false;

    for (ml_PlanNode *n = r->low; n && n != r->at; n = n->up) {
        if (!is_parallel(n) || n->serial)
            continue;
        if (!known)
            raw = used_outside_blocks(ml_plan_content(r->low), r->buffer);
        known = true;
        if (disjoint(p, ml_as_for(n->stmt), r->buffer, raw))
            continue;
        ml_lower_note(p->lo, n->stmt->span,
                      "loop %s runs serially: cannot show that %s carries no value around "
                      "the loops outside of it, nor that its iterations use different "
                      "elements; write what is read in the same iteration, or index %s by "
                      "%s",
                      ml_as_for(n->stmt)->var->hint, r->buffer->name, r->buffer->name,
                      ml_as_for(n->stmt)->var->hint);
        n->serial = true;
        p->moved = true;
    }
}

void ml_plan_raise_carried(ml_Plan *p, ml_PlanBuffer *r)
{
    ml_PlanNode *top = NULL; /* above the outermost serial loop on the way */
    bool raw;

    for (ml_PlanNode *n = r->at; n != r->site; n = n->up)
        if (is_serial(n))
            top = n->up;
    if (!top)
        return;
    raw = used_outside_blocks(ml_plan_content(r->at), r->buffer);
    for (ml_PlanNode *n = r->at; n != top; n = n->up) {
        if (ml_plan_defined_first(p, r, n)) {
            r->at = n;
            return;
        }
        if (n == r->at && !raw && readers_covered(p, r->buffer, n->stmt))
            return;
    }
    r->at = top;
}
