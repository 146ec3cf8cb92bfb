/*
 * view - what schedule rules, postprocessors and mutators written in Lua see of a block: its
 * signature as numbers, what its body holds, and which kind of loop is above it. Nothing is
 * recorded. Source: auto-scheduler 5, 7.
 */
#include "repl/bind/work/tuning.h"

#include "moonloop/core/arith/arith.h"
#include "moonloop/core/arith/iter_map.h"
#include "moonloop/core/index/index.h"
#include "moonloop/core/walk.h"
#include "moonloop/verify/verify.h"

typedef struct View {
    lua_State *L;
    ml_Schedule *s;
    ml_Ctx *cx;
    const ml_Block *b;
    ml_StmtVec loops; /* above it in its scope, outermost first */
    ml_Arith *ar;
    ml_Subst bindings; /* iterators by the values bound to them */
} View;

/* The node that the handle at 2 names in the schedule at 1. */
static const ml_Stmt *node_at(lua_State *L, ml_Schedule *s, ml_HandleKind kind)
{
    ml_Schedule *from;
    ml_Handle h;

    if (!ml_lua_to_handle(L, 2, &from, &h) || !bind_same_family(from, s) ||
        h.kind != kind || !ml_handle_alive(s, h))
        bind_bad(L, "a %s of the schedule is needed",
                 kind == ML_H_BLOCK ? "block" : "loop");
    return ml_index_node(ml_schedule_program(s).index, h.uid);
}

/* ---- accesses */

/* What one step of v adds to e, the least where it occurs several times in a sum; false: it
 * does not occur, or inside of what is no sum of multiples. */
static bool read_step(const ml_Expr *e, const ml_Var *v, int64_t *out)
{
    int64_t a, b;

    switch (e->kind) {
    case ML_EXPR_VAR: *out = 1; return e->as.var->uid == v->uid;
    case ML_EXPR_CAST: return read_step(e->args[0], v, out);
    case ML_EXPR_MUL:
        return ml_is_const_int(e->args[1]) && read_step(e->args[0], v, &a) &&
               !__builtin_mul_overflow(a, e->args[1]->as.i, out);
    case ML_EXPR_ADD:
    case ML_EXPR_SUB: {
        bool left = read_step(e->args[0], v, &a), right = read_step(e->args[1], v, &b);

        *out = !right ? a : !left ? b : a < b ? a : b;
        return left || right;
    }
    default: return false;
    }
}

static int position_of(const ml_Block *b, const ml_Expr *e)
{
    for (uint32_t k = 0; e->kind == ML_EXPR_VAR && k < b->n_iters; k++)
        if (b->iters[k].var->uid == e->as.var->uid)
            return (int)k + 1;
    return 0;
}

/* {iter=, shift=}: that iterator and a constant; {constant=}; or false. */
static void push_dim(View *v, const ml_Expr *e)
{
    lua_State *L = v->L;
    int64_t shift = 0;

    if (ml_is_const_int(e)) {
        lua_createtable(L, 0, 1);
        bind_set_int(L, "constant", e->as.i);
        return;
    }
    if ((e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB) && ml_is_const_int(e->args[1])) {
        shift = e->kind == ML_EXPR_ADD ? e->args[1]->as.i : -e->args[1]->as.i;
        e = e->args[0];
    }
    int k = position_of(v->b, e);

    if (k == 0) {
        lua_pushboolean(L, false);
        return;
    }
    lua_createtable(L, 0, 2);
    bind_set_int(L, "iter", k);
    bind_set_int(L, "shift", shift);
}

/* By loop the elements between two of its iterations, 0 where it is not used; nothing where a
 * size in between is not known. */
static void push_strides(View *v, const ml_Region *r)
{
    lua_State *L = v->L;
    const ml_Expr **at = ML_ARRAY(v->cx, const ml_Expr *, r->buffer->rank + 1u);

    for (size_t d = 0; d < r->buffer->rank; d++)
        at[d] = ml_simplify(v->ar, ml_expr_subst(v->cx, r->ranges[d].min, &v->bindings));
    lua_createtable(L, (int)v->loops.n, 0);
    for (size_t k = 0; k < v->loops.n; k++) {
        int64_t size = 1, step = 0;
        bool known = true;

        for (size_t d = r->buffer->rank; d-- > 0;) {
            if (read_step(at[d], ml_as_for(v->loops.v[k])->var, &step))
                break;
            step = 0;
            known = known && ml_is_const_int(r->buffer->shape[d]) &&
                    !__builtin_mul_overflow(size, r->buffer->shape[d]->as.i, &size);
        }
        if (step != 0 && (!known || __builtin_mul_overflow(step, size, &step))) {
            lua_pop(L, 1);
            lua_pushboolean(L, false);
            return;
        }
        lua_pushinteger(L, (lua_Integer)step);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
}

/* {buffer=, id=, param= (position), dtype=, scope=, rank=, bytes=, constant= (extents), point=, uses={by iterator},
 * dims=, strides=} */
static void push_access(View *v, const ml_Region *r)
{
    lua_State *L = v->L;
    const ml_Func *f = ml_schedule_func(v->s);
    bool constant = true;

    lua_createtable(L, 0, 10);
    bind_set_string(L, "buffer", r->buffer->name);
    bind_set_int(L, "id", r->buffer->uid);
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer == r->buffer) {
            bind_set_int(L, "param", k);
        }
    bind_push_dtype(L, r->buffer->type);
    lua_setfield(L, -2, "dtype");
    bind_set_string(L, "scope", r->buffer->scope.name);
    bind_set_int(L, "rank", r->buffer->rank);
    if (ml_buffer_const_size(r->buffer) >= 0) {
        bind_set_int(L, "bytes",
                     ml_buffer_const_size(r->buffer) *
                         (int64_t)ml_dtype_bytes(r->buffer->type));
    }
    for (size_t d = 0; d < r->buffer->rank; d++)
        constant = constant && ml_is_const_int(r->ranges[d].extent);
    bind_set_bool(L, "constant", constant);
    bind_set_bool(L, "point", ml_region_is_point(r));
    lua_createtable(L, (int)v->b->n_iters, 0);
    for (uint32_t k = 0; k < v->b->n_iters; k++) {
        bool used = false;

        for (size_t d = 0; d < r->buffer->rank; d++)
            used = used || ml_expr_uses_var(r->ranges[d].min, v->b->iters[k].var);
        lua_pushboolean(L, used);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    lua_setfield(L, -2, "uses");
    lua_createtable(L, r->buffer->rank, 0);
    for (size_t d = 0; d < r->buffer->rank; d++) {
        push_dim(v, r->ranges[d].min);
        lua_rawseti(L, -2, (lua_Integer)d + 1);
    }
    lua_setfield(L, -2, "dims");
    push_strides(v, r);
    lua_setfield(L, -2, "strides");
}

static void set_accesses(View *v, const char *key, const ml_Region *r, size_t n)
{
    lua_createtable(v->L, (int)n, 0);
    for (size_t k = 0; k < n; k++) {
        push_access(v, &r[k]);
        lua_rawseti(v->L, -2, (lua_Integer)k + 1);
    }
    lua_setfield(v->L, -2, key);
}

/* ---- what the body holds */

typedef struct Held {
    lua_State *L;
    bool select, branch;
    int64_t bytes; /* of the widest value that is loaded, stored or converted */
} Held;

static void widen(Held *h, ml_Dtype t)
{
    int64_t bytes = (int64_t)ml_dtype_bytes(t);

    h->bytes = bytes > h->bytes ? bytes : h->bytes;
}

static bool visit_expr(const ml_Expr *e, void *user)
{
    Held *h = user;

    if (e->kind == ML_EXPR_SELECT || ml_is_op(e, ML_OP_IF_THEN_ELSE))
        h->select = true;
    if (e->kind == ML_EXPR_CALL) {
        lua_pushboolean(h->L, true);
        lua_setfield(h->L, -2, e->as.op->name);
        if (strstr(e->as.op->name, "q_multiply_shift"))
            h->bytes = h->bytes > 8 ? h->bytes : 8;
    }
    if (e->kind == ML_EXPR_LOAD || e->kind == ML_EXPR_CAST)
        widen(h, e->type);
    return true;
}

static bool visit_stmt(const ml_Stmt *s, void *user)
{
    Held *h = user;

    h->branch |= s->kind == ML_STMT_IF;
    if (s->kind == ML_STMT_STORE)
        widen(h, ml_as_store(s)->buffer->type);
    return true;
}

static void set_held(lua_State *L, const ml_Block *b)
{
    Held h = {.L = L};

    lua_newtable(L);
    ml_stmt_visit_exprs_below(b->body, 1u << ML_ROLE_VALUE | 1u << ML_ROLE_COND, visit_expr,
                              &h);
    lua_setfield(L, -2, "calls");
    ml_stmt_visit(b->body, visit_stmt, &h);
    bind_set_bool(L, "select", h.select);
    bind_set_bool(L, "branch", h.branch);
    bind_set_int(L, "bytes", h.bytes);
}

static void set_iters(lua_State *L, const ml_Block *b)
{
    lua_createtable(L, (int)b->n_iters, 0);
    for (uint32_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];

        lua_createtable(L, 0, 4);
        bind_set_string(L, "name", it->var->hint);
        bind_set_string(L, "kind", ml_iter_kind_name((ml_IterKind)it->kind));
        if (ml_is_const_int(it->extent)) {
            bind_set_int(L, "extent", it->extent->as.i);
        }
        if (it->value->kind == ML_EXPR_VAR) {
            bind_push_handle(L, 1, (ml_Handle){ML_H_LOOP, it->value->as.var->uid});
            lua_setfield(L, -2, "loop");
        }
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    lua_setfield(L, -2, "iters");
}

static View view_of(lua_State *L, ml_Schedule *s, const ml_Block *b)
{
    View v = {.L = L, .s = s, .cx = bind_scratch(L), .b = b};

    v.ar = ml_arith_new(v.cx);
    ml_index_loops(v.cx, ml_schedule_program(s).index, b->tag, &v.loops);
    for (size_t k = 0; k < v.loops.n; k++)
        ml_arith_bind_loop(v.ar, ml_as_for(v.loops.v[k]));
    for (uint32_t k = 0; k < b->n_iters; k++)
        ml_subst_var(v.cx, &v.bindings, b->iters[k].var, b->iters[k].value);
    return v;
}

/* block_view(s, block): {name=, root=, init=, guarded=, leaf=, annotations=, iters={{name=,
 * kind=, extent=, loop= that it is bound to}}, reads=, writes=, calls={by name}, select=,
 * branch=, bytes=} */
static int block_view(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);
    const ml_Stmt *st = node_at(L, s, ML_H_BLOCK);

    lua_settop(L, 2);
    const ml_Block *b = ml_as_block(st);
    const ml_Index *ix = ml_schedule_program(s).index;
    View v = view_of(L, s, b);

    lua_createtable(L, 0, 14);
    bind_set_string(L, "name", ml_name_of(s, b->tag));
    bind_set_bool(L, "root", ml_index_scope(ix, b->tag) == 0);
    bind_set_bool(L, "init", b->init != NULL);
    bind_set_bool(L, "guarded", !ml_is_true(b->predicate));
    bind_set_bool(L, "leaf", !b->body->has_block);
    bind_push_value(L, NULL, b->annotations);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_newtable(L);
    }
    lua_setfield(L, -2, "annotations");
    set_iters(L, b);
    set_accesses(&v, "reads", b->reads, b->n_reads);
    set_accesses(&v, "writes", b->writes, b->n_writes);
    set_held(L, b);
    return 1;
}

/* The place in memory of a point access, in the loops; NULL: no such. */
static const ml_Expr *place_of(View *v, const ml_Region *r)
{
    const ml_Expr *place = NULL;
    int64_t stride = 1;

    if (!ml_region_is_point(r) || r->buffer->n_strides)
        return NULL;
    for (size_t d = r->buffer->rank; d-- > 0;) {
        const ml_Expr *e = ml_expr_subst(v->cx, r->ranges[d].min, &v->bindings);

        e = ml_mul(v->cx, e, ml_int(v->cx, e->type, stride));
        if (place && !ml_promote(v->cx, &e, &place))
            return NULL;
        place = place ? ml_add(v->cx, e, place) : e;
        if (!ml_is_const_int(r->buffer->shape[d]) ||
            __builtin_mul_overflow(stride, r->buffer->shape[d]->as.i, &stride))
            return NULL;
    }
    return place;
}

/* index_digits(s, block, k): the place that read k (from 1) touches as a sum of digits
 * loop // lower % extent * scale, {loop= (position), lower=, extent=, scale=}, by scale from
 * the largest; nil: it is none */
static int index_digits(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);
    const ml_Block *b = ml_as_block(node_at(L, s, ML_H_BLOCK));
    int64_t at = bind_int(L, 3, "read");

    lua_settop(L, 2);
    View v = view_of(L, s, b);
    const ml_Expr *place =
        at >= 1 && at <= b->n_reads ? place_of(&v, &b->reads[at - 1]) : NULL;
    ml_Dom *dom = ML_ARRAY(v.cx, ml_Dom, v.loops.n + 1);
    ml_IterSum sum;

    for (size_t k = 0; k < v.loops.n; k++) {
        const ml_For *f = ml_as_for(v.loops.v[k]);

        dom[k] = (ml_Dom){f->var, f->min, f->extent};
    }
    if (!place || !ml_iter_normalize(v.ar, place, dom, v.loops.n, &sum) ||
        !ml_is_int(sum.base, 0))
        return 0;
    lua_createtable(L, (int)sum.n, 0);
    for (size_t k = 0; k < sum.n; k++) {
        const ml_IterDigit *d = &sum.digits[k];
        size_t j = 0;

        while (j < v.loops.n && dom[j].var != d->mark->var)
            j++;
        if (j == v.loops.n || !ml_is_const_int(d->lower) || !ml_is_const_int(d->extent) ||
            !ml_is_const_int(d->scale) || !ml_is_int(d->offset, 0))
            return 0;
        lua_createtable(L, 0, 4);
        bind_set_int(L, "loop", (int64_t)j + 1);
        bind_set_int(L, "lower", d->lower->as.i);
        bind_set_int(L, "extent", d->extent->as.i);
        bind_set_int(L, "scale", d->scale->as.i);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    return 1;
}

/* ---- loops */

typedef struct Uses {
    const ml_Var *var;
    int64_t n[ML_ITER_KINDS];
} Uses;

static void count_uses(const ml_Stmt *s, bool in_init, void *user)
{
    Uses *u = user;

    if (in_init)
        return;
    if (s->kind != ML_STMT_BLOCK) {
        ml_stmt_children(s, count_uses, u);
        return;
    }
    const ml_Block *b = ml_as_block(s);

    for (uint32_t k = 0; k < b->n_iters; k++)
        u->n[b->iters[k].kind] += ml_expr_uses_var(b->iters[k].value, u->var);
}

/* loop_type(s, loop): "S", "R" or "O", by the iterators of the blocks below that use it */
static int loop_type(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);
    const ml_For *f = ml_as_for(node_at(L, s, ML_H_LOOP));
    Uses u = {.var = f->var};

    count_uses(f->body, false, &u);
    bool r = u.n[ML_ITER_REDUCE] > 0;

    lua_pushstring(
        L, u.n[ML_ITER_ORDERED] || u.n[ML_ITER_OPAQUE] || (r && u.n[ML_ITER_SPATIAL]) ? "O"
           : r                                                                        ? "R"
               : "S");
    return 1;
}

static void count_children(const ml_Stmt *s, int64_t *n, int64_t *loops)
{
    if (s->kind == ML_STMT_SEQ) {
        *n = ml_as_seq(s)->n;
        for (uint32_t k = 0; k < ml_as_seq(s)->n; k++)
            *loops += ml_as_seq(s)->stmts[k]->kind == ML_STMT_FOR;
    } else {
        *n = 1;
        *loops = s->kind == ML_STMT_FOR;
    }
}

/* loop_body(s, loop): the number of statements in it, and how many of those are loops */
static int loop_body(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);
    const ml_For *f = ml_as_for(node_at(L, s, ML_H_LOOP));
    int64_t n = 0, loops = 0;

    count_children(f->body, &n, &loops);
    lua_pushinteger(L, (lua_Integer)n);
    lua_pushinteger(L, (lua_Integer)loops);
    return 2;
}

/* async_copies(s): {source=, target=, why= it is not one run} of each copy that a pipeline
 * lets go on in the background */
static int async_copies(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);
    const ml_Module *mod = ml_schedule_program(s).mod;
    ml_Ctx *cx = bind_scratch(L);
    ml_AsyncCopyVec found = {0};

    for (size_t k = 0; k < mod->n; k++)
        ml_async_copies(cx, mod->funcs[k], &found);
    lua_createtable(L, (int)found.n, 0);
    for (size_t k = 0; k < found.n; k++) {
        lua_createtable(L, 0, 3);
        bind_set_string(L, "source", found.v[k].source->name);
        bind_set_string(L, "target", found.v[k].target->name);
        if (found.v[k].why)
            bind_set_string(L, "why", found.v[k].why);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    return 1;
}

int bind_view_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {
        {"async_copies", async_copies}, {"block_view", block_view},
        {"index_digits", index_digits}, {"loop_type", loop_type},
        {"loop_body", loop_body},       {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
