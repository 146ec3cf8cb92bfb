/*
 * counts - s:counts(): what each loop of the current program does, as a list of tables.
 * Source: lua-api 4, interaction 8.
 */
#include "repl/bind/work/counts.h"

#include <math.h>

#include "repl/bind/work/work.h"

const char *ml_shown_name(const ml_Names *names, ml_Uid uid, const char *hint)
{
    const char *z = names && names->map ? ml_map_get(names->map, uid) : NULL;

    return z ? z : hint ? hint : "?";
}

const char *ml_stride_kind_name(ml_StrideKind k)
{
    return k == ML_STRIDE_EVEN ? "even" : k == ML_STRIDE_UNEVEN ? "uneven" : "not affine";
}

static const ml_Expr *without_casts(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_CAST && ml_dtype_is_index(e->type) && e->type.lanes == 1 &&
        e->args[0]->kind == ML_EXPR_VAR) {
        const ml_Map *names = user;

        return ml_var(cx, ml_map_get(names, e->args[0]->as.var->uid));
    }
    return ml_expr_map_args(cx, e, without_casts, user);
}

static bool see_size(const ml_Expr *e, void *user)
{
    void **u = user;

    if (e->kind == ML_EXPR_VAR && !ml_map_has(u[1], e->as.var->uid)) {
        ml_Var *wide = ML_NEW((ml_Ctx *)u[0], ml_Var);

        *wide = *e->as.var;
        wide->type = ML_DT_I64;
        wide->hint = ml_shown_name(u[2], wide->uid, wide->hint);
        wide->uid = ml_fresh_uid(u[0]);
        ml_map_set(u[0], u[1], e->as.var->uid, wide);
    }
    return true;
}

/* Sizes are int32 in the program and int64 in counts: that is no matter for who reads it.
 */
void ml_text_sizes(ml_Ctx *cx, ml_Text *out, const ml_Expr *e, const ml_Names *names)
{
    ml_PrintOpts o = {.spelling = -1, .plain = true};
    ml_Map *wide = ml_map_new(cx);
    void *user[] = {cx, wide, (void *)(uintptr_t)(const void *)names};

    ml_expr_visit(e, see_size, user);
    ml_print_expr(cx, out, without_casts(cx, e, wide), &o);
}

void ml_text_access(ml_Ctx *cx, ml_Text *out, const ml_Site *site, const ml_Names *names)
{
    ml_PrintOpts o = {.spelling = -1, .plain = true, .names = names};

    ml_text_fmt(out, "%s[", ml_shown_name(names, site->text->uid, site->text->name));
    for (uint16_t d = 0; d < site->text->rank; d++) {
        ml_text_add(out, d ? ", " : "");
        ml_print_expr(cx, out, site->index[d], &o);
        if (site->declared)
            ml_text_add(out, ":");
    }
    ml_text_add(out, site->text->rank ? "]" : "()]");
}

/* ---- tables */

typedef struct Push {
    lua_State *L;
    ml_Ctx *cx;
    const ml_Names *names;
    ml_Text *text; /* of the stack: emptied after use */
} Push;

static void set_number(Push *p, const char *key, ml_Number n)
{
    if (n.how == ML_UNKNOWN)
        return;
    if (!n.expr) {
        bind_set_int(p->L, key, n.n);
        return;
    }
    ml_text_sizes(p->cx, p->text, n.expr, p->names);
    bind_push_text(p->L, p->text);
    lua_setfield(p->L, -2, key);
}

typedef enum Part { BYTES, ELEMENTS, LOADS, STORES, PARTS } Part;
static const char *const PART[] = {"bytes", "elements", "loads", "stores"};

static ml_Number part_of(const ml_Touched *t, Part p)
{
    return p == BYTES      ? t->bytes
           : p == ELEMENTS ? t->elements
           : p == LOADS    ? t->loads
                           : t->stores;
}

static const char *buffer_name(const Push *p, const ml_Buffer *b)
{
    return ml_shown_name(p->names, b->uid, b->name);
}

static void set_touched(Push *p, const ml_LoopFacts *f)
{
    for (Part k = BYTES; k < PARTS; k++) {
        lua_newtable(p->L);
        for (uint32_t j = 0; j < f->n_touched; j++)
            set_number(p, buffer_name(p, f->touched[j].buffer), part_of(&f->touched[j], k));
        lua_setfield(p->L, -2, PART[k]);
    }
    lua_newtable(p->L);
    for (uint32_t j = 0; j < f->n_touched; j++) {
        double r = ml_reuse(&f->touched[j], NULL);

        if (!isnan(r))
            bind_set_number(p->L, buffer_name(p, f->touched[j].buffer), r);
    }
    lua_setfield(p->L, -2, "reuse");
}

static void set_strides(Push *p, const ml_LoopFacts *f)
{
    lua_createtable(p->L, (int)f->n_strides, 0);
    for (uint32_t k = 0; k < f->n_strides; k++) {
        const ml_Stride *s = &f->strides[k];

        lua_createtable(p->L, 0, 6);
        ml_text_access(p->cx, p->text, s->site, p->names);
        bind_push_text(p->L, p->text);
        lua_setfield(p->L, -2, "access");
        bind_set_string(p->L, "buffer", buffer_name(p, s->site->buffer));
        if (s->site->block)
            bind_set_string(
                p->L, "block",
                ml_shown_name(p->names, s->site->block->tag, s->site->block->name));
        bind_set_bool(p->L, "store", s->site->write);
        bind_set_string(p->L, "kind", ml_stride_kind_name((ml_StrideKind)s->kind));
        if (s->kind != ML_STRIDE_OPEN)
            set_number(p, "stride", (ml_Number){.n = s->n, .expr = s->expr});
        lua_rawseti(p->L, -2, (lua_Integer)k + 1);
    }
    lua_setfield(p->L, -2, "strides");
}

static void add_bound(Push *p, ml_Number n, const char *what, const char *of)
{
    if (n.how != ML_AT_MOST)
        return;
    lua_pushfstring(p->L, of ? "%s.%s" : "%s", what, of);
    lua_rawseti(p->L, -2, (lua_Integer)lua_rawlen(p->L, -2) + 1);
}

static void set_bounds(Push *p, const ml_LoopFacts *f)
{
    lua_newtable(p->L);
    add_bound(p, f->extent, "extent", NULL);
    add_bound(p, f->iterations, "iterations", NULL);
    add_bound(p, f->flops, "flops", NULL);
    for (Part k = BYTES; k < PARTS; k++)
        for (uint32_t j = 0; j < f->n_touched; j++)
            add_bound(p, part_of(&f->touched[j], k), PART[k],
                      buffer_name(p, f->touched[j].buffer));
    lua_setfield(p->L, -2, "at_most");
}

static void push_loop(Push *p, const ml_LoopFacts *f)
{
    lua_createtable(p->L, 0, 12);
    bind_set_string(p->L, "loop",
                    ml_shown_name(p->names, f->loop->var->uid, f->loop->var->hint));
    bind_set_int(p->L, "depth", f->depth);
    set_number(p, "extent", f->extent);
    set_number(p, "iterations", f->iterations);
    set_number(p, "flops", f->flops);
    set_touched(p, f);
    set_strides(p, f);
    set_bounds(p, f);
}

/* counts(schedule [, func]) */
static int counts(lua_State *L)
{
    lua_settop(L, 2);
    ml_Schedule *s = bind_check_schedule(L, 1);
    BindProgram prog = bind_program(L, 1);
    const ml_Func *func =
        bind_program_func(L, &prog, lua_isnil(L, 2) ? NULL : bind_string(L, 2, "func"));
    ml_Program at = ml_schedule_program(s);
    Push p = {.L = L, .names = ml_schedule_names(s), .text = bind_text(L)};
    ml_Ctx **box = bind_context_box(L);
    uint32_t pos = 0;
    ml_Counts c;

    while (at.mod->funcs[pos] != func)
        pos++;
    *box = ml_ctx_fork(ml_schedule_ctx(s));
    ml_ctx_set_limit(*box, 0);
    ml_ctx_set_cancel(*box, bind_state(L)->interrupt);
    p.cx = *box;
    if (!ml_counts(*box, at, pos, &c))
        return bind_raise_box(L, box);
    lua_createtable(L, (int)c.n, 0);
    for (size_t k = 0; k < c.n; k++) {
        push_loop(&p, &c.loops[k]);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    ml_ctx_unref(*box); /* or the next step finds its program in use */
    *box = NULL;
    return 1;
}

int bind_counts_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"counts", counts}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
