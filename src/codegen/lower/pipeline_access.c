/*
 * pipeline_access - what statements of a pipelined loop touch and which of them meet.
 *
 * Statement p of iteration i runs at the time (i + stage(p), order(p)). Two accesses that
 * meet have to keep the order that the loop gave them: for own buffers, which every iteration
 * has for itself, within the iteration, for others also over later ones, of which those count
 * that the stages bring nearer. Source: lowering-and-codegen 2.14.
 */
#include "moonloop/codegen/lower/pipeline.h"

#include "moonloop/core/run_on.h"

/* ---------------------------------------------------------------- what is touched */

typedef struct Touch {
    ml_Pipe *p;
    ml_PipeAccessVec *out;
    ml_DomVec dom; /* loops inside of the statement */
    ml_Map *inner; /* uids of what is defined inside */
} Touch;

static void add_access(Touch *t, const ml_Buffer *b, bool write, bool read,
                       const ml_Interval *box)
{
    if (!ml_map_has(t->inner, b->uid))
        ml_push(t->p->lo->cx, t->out, ((ml_PipeAccess){b, write, read, box}));
}

typedef struct Sayable {
    const Touch *t;
    bool ok;
} Sayable;

static bool say_part(const ml_Expr *e, void *user)
{
    Sayable *s = user;

    if (e->kind == ML_EXPR_LOAD || (e->flags & (ML_X_EFFECT | ML_X_READ_OP)) ||
        (e->kind == ML_EXPR_VAR && ml_map_has(s->t->inner, e->as.var->uid)))
        s->ok = false;
    return s->ok;
}

/* e, or NULL where it says something that is known inside only. */
static const ml_Expr *outside(const Touch *t, const ml_Expr *e)
{
    Sayable s = {t, e != NULL};

    if (e)
        ml_expr_visit(e, say_part, &s);
    return s.ok ? e : NULL;
}

/* The elements that an index with lanes reaches; false: any. */
static bool range_of_index(ml_Ctx *cx, const ml_Expr *e, ml_Range *out)
{
    int64_t span = 0;

    if (e->kind == ML_EXPR_BROADCAST)
        e = e->args[0];
    if (e->kind == ML_EXPR_RAMP) {
        if (!ml_is_const_int(e->args[1]) ||
            __builtin_mul_overflow(e->args[1]->as.i, (int64_t)e->type.lanes - 1, &span) ||
            span < 0)
            return false;
        e = e->args[0];
    }
    if (!ml_dtype_is_index(e->type))
        return false;
    *out = (ml_Range){e, ml_int(cx, e->type, span + 1)};
    return true;
}

static const ml_Interval *box_of(Touch *t, const ml_Buffer *b, const ml_Expr *const *idx,
                                 size_t n)
{
    ml_Ctx *cx = t->p->lo->cx;
    ml_Interval *box = ML_ARRAY(cx, ml_Interval, n + 1);
    ml_Range *range = ML_ARRAY(cx, ml_Range, n + 1);

    if (n != b->rank || ml_run_dim(b, idx, n) < n)
        return NULL;
    for (size_t d = 0; d < n; d++)
        if (!range_of_index(cx, idx[d], &range[d]))
            return NULL;
    (void)ml_gave_up(cx, t->p->ar);
    ml_region_upper(t->p->ar, range, n, t->dom.v, t->dom.n, NULL, box);
    if (ml_gave_up(cx, t->p->ar))
        return NULL;
    for (size_t d = 0; d < n; d++)
        if (!box[d].nothing)
            box[d] = (ml_Interval){outside(t, box[d].min), outside(t, box[d].max), false};
    return box;
}

/* What is handed on as a pointer may be read and written anywhere. */
static void touch_pointer(Touch *t, const ml_Var *data)
{
    ml_Ctx *cx = t->p->lo->cx;
    ml_Buffer memory = {.type = ML_DT_F32, .name = data->hint, .data = data};

    memory.elem_offset = ml_i32(cx, 0);
    add_access(t, ml_buffer_from(cx, &memory, false), true, true, NULL);
}

static bool touch_expr(const ml_Expr *e, void *user)
{
    Touch *t = user;

    if (ml_is_op(e, ML_OP_ADDRESS_OF) && e->n_args == 1 &&
        e->args[0]->kind == ML_EXPR_LOAD) {
        add_access(t, e->args[0]->as.buffer, true, true, NULL);
        for (size_t k = 0; k < e->args[0]->n_args; k++)
            ml_expr_visit(e->args[0]->args[k], touch_expr, t);
        return false;
    }
    if (e->kind == ML_EXPR_LOAD)
        add_access(t, e->as.buffer, false, true,
                   box_of(t, e->as.buffer, e->args, ml_load_rank(e)));
    if (e->kind == ML_EXPR_LET)
        ml_map_set(t->p->lo->cx, t->inner, e->as.var->uid, e);
    if (e->kind == ML_EXPR_VAR && e->type.code == ML_HANDLE)
        touch_pointer(t, e->as.var);
    return true;
}

static void touch_role(const ml_Expr *e, ml_Role role, void *user)
{
    if (role != ML_ROLE_REGION && role != ML_ROLE_ATTR)
        ml_expr_visit(e, touch_expr, user);
}

static void touch_stmt(Touch *t, const ml_Stmt *s);

static void touch_child(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    touch_stmt(user, s);
}

static void hide(Touch *t, ml_Uid uid, const void *what)
{
    ml_map_set(t->p->lo->cx, t->inner, uid, what);
}

static void enter(Touch *t, const ml_Stmt *s)
{
    const ml_Var *v;

    if (s->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(s);

        ml_push(t->p->lo->cx, &t->dom, ((ml_Dom){f->var, f->min, f->extent}));
        hide(t, f->var->uid, f);
        if (f->thread_var)
            hide(t, f->thread_var->uid, f);
    } else if (s->kind == ML_STMT_BIND) {
        hide(t, ml_as_bind(s)->var->uid, s);
    } else if (s->kind == ML_STMT_ATTR && (v = ml_attr_defines(ml_as_attr(s)))) {
        hide(t, v->uid, s);
    } else if (s->kind == ML_STMT_BLOCK) {
        for (uint32_t k = 0; k < ml_as_block(s)->n_allocs; k++)
            hide(t, ml_as_block(s)->allocs[k]->uid, s);
    }
}

static void touch_stmt(Touch *t, const ml_Stmt *s)
{
    size_t n = t->dom.n;

    ml_stmt_exprs(s, touch_role, t);
    enter(t, s);
    if (s->kind == ML_STMT_STORE) {
        const ml_Store *st = ml_as_store(s);

        add_access(t, st->buffer, true, false, box_of(t, st->buffer, st->indices, st->n));
    }
    ml_stmt_children(s, touch_child, t);
    t->dom.n = n;
}

void ml_pipe_accesses(ml_Pipe *p, const ml_Stmt *s, ml_PipeAccessVec *out)
{
    Touch t = {.p = p, .out = out, .inner = ml_map_new(p->lo->cx)};

    touch_stmt(&t, s);
}

/* ---------------------------------------------------------------- what meets */

static const ml_Expr *at_later(ml_Pipe *p, const ml_Expr *e, int64_t later)
{
    const ml_Var *v = p->loop->var;
    ml_Ctx *cx = p->lo->cx;

    return later == 0
               ? e
               : ml_expr_subst1(cx, e, v,
                                ml_add(cx, ml_var(cx, v), ml_int(cx, v->type, later)));
}

static bool is_below(ml_Pipe *p, const ml_Expr *a, const ml_Expr *b)
{
    if (!a || !b || !ml_promote(p->lo->cx, &a, &b))
        return false;
    return ml_prove_lt_expr(p->ar, a, b) && !ml_gave_up(p->lo->cx, p->ar);
}

/* Whether x, and y `later` iterations after it, may touch one element, which either writes. */
static bool meets(ml_Pipe *p, const ml_PipeAccess *x, const ml_PipeAccess *y, int64_t later)
{
    if (x->buffer->data != y->buffer->data || !(x->write || y->write))
        return false;
    if (x->buffer->uid != y->buffer->uid || !x->box || !y->box)
        return true;
    for (size_t d = 0; d < x->buffer->rank; d++) {
        const ml_Interval *a = &x->box[d], *b = &y->box[d];

        if (a->nothing || b->nothing)
            return false;
        if (is_below(p, a->max, b->min ? at_later(p, b->min, later) : NULL) ||
            is_below(p, b->max ? at_later(p, b->max, later) : NULL, a->min))
            return false;
    }
    return true;
}

static bool is_own(const ml_Pipe *p, const ml_Buffer *b)
{
    for (size_t k = 0; k < p->own.n; k++)
        if (p->own.v[k].buffer->data == b->data)
            return true;
    return false;
}

/* What both statements touch so that their order matters; NULL: nothing. */
static const ml_Buffer *find_meeting(ml_Pipe *p, const ml_PipeStmt *a, const ml_PipeStmt *b,
                                     int64_t later)
{
    for (size_t j = 0; j < a->touched.n; j++)
        for (size_t k = 0; k < b->touched.n; k++)
            if ((later == 0 || !is_own(p, a->touched.v[j].buffer)) &&
                meets(p, &a->touched.v[j], &b->touched.v[k], later))
                return a->touched.v[j].buffer;
    return NULL;
}

int64_t ml_pipe_versions(ml_Pipe *p, const ml_Buffer *b, int64_t at_least)
{
    int64_t def = INT64_MAX, use = -1, n;
    bool apart = false;

    for (size_t k = 0; k < p->stmts.n; k++) {
        const ml_PipeStmt *s = &p->stmts.v[k];

        for (size_t j = 0; j < s->touched.n; j++)
            if (s->touched.v[j].buffer->data == b->data) {
                use = use > s->stage ? use : s->stage;
                if (s->touched.v[j].write && s->stage < def)
                    def = s->stage;
            }
    }
    n = use > def ? use - def + 1 : 1;
    for (size_t w = 0; n == 2 && w < p->stmts.n; w++)
        for (size_t r = 0; r < p->stmts.n; r++) {
            const ml_PipeStmt *x = &p->stmts.v[r], *y = &p->stmts.v[w];

            if (y->stage >= x->stage || y->order >= x->order)
                continue;
            for (size_t j = 0; j < x->touched.n; j++)
                for (size_t k = 0; k < y->touched.n; k++)
                    apart |= x->touched.v[j].buffer->data == b->data &&
                             y->touched.v[k].write &&
                             meets(p, &x->touched.v[j], &y->touched.v[k], 1);
        }
    if (n == 2 && !apart)
        n = 1;
    return n > at_least ? n : at_least;
}

/* Statement k would run before statement j, which was `later` iterations before it. */
static void refuse_order(ml_Pipe *p, size_t j, size_t k, int64_t later, const ml_Buffer *b)
{
    const ml_PipeStmt *x = &p->stmts.v[j], *y = &p->stmts.v[k];
    int64_t least = x->stage - later;
    ml_Ctx *cx = p->lo->cx;

    ml_lower_fail(
        p->lo, ML_PIPE_PASS, y->stmt,
        "in the pipeline of loop %s, %s (statement %zu, stage %lld) would run "
        "before %s (statement %zu, stage %lld)%s, and both touch %s; give it %s",
        p->loop->var->hint, ml_lower_name(cx, y->stmt), k, (long long)y->stage,
        ml_lower_name(cx, x->stmt), j, (long long)x->stage,
        later == 0   ? ""
        : later == 1 ? " of the iteration before"
                     : ml_format(cx, " of %lld iterations before", (long long)later),
        b->name,
        least == y->stage ? "a later place in software_pipeline_order"
                          : ml_format(cx, "stage %lld or a later one", (long long)least));
}

bool ml_pipe_in_order(ml_Pipe *p)
{
    const ml_Buffer *b;

    for (size_t j = 0; j < p->stmts.n; j++)
        for (size_t k = 0; k < p->stmts.n; k++) {
            const ml_PipeStmt *x = &p->stmts.v[j], *y = &p->stmts.v[k];
            int64_t nearer = x->stage - y->stage - (x->order < y->order);

            /* y is `later` iterations after x, and would run before it */
            for (int64_t later = j < k ? 0 : 1; later <= nearer; later++) {
                if (ml_is_const_int(p->loop->extent) && later >= p->loop->extent->as.i)
                    break;
                b = find_meeting(p, x, y, later);
                if (b == NULL)
                    continue;
                refuse_order(p, j, k, later, b);
                p->failed = true;
                return false;
            }
        }
    return true;
}
