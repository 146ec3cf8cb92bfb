/*
 * map - how the iters of a block can stand for those of a tensor intrinsic, for the Lua
 * code that lists and applies mappings. Source: auto-scheduler 9.
 */
#include "repl/bind/schedule/schedule.h"

#include "moonloop/primitives/intrin/intrin_map.h"

static void push_iters(lua_State *L, const ml_Block *b, bool desc)
{
    lua_createtable(L, (int)b->n_iters, 0);
    for (uint32_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];

        lua_createtable(L, 0, 3);
        bind_set_string(L, "name", it->var->hint);
        bind_set_string(L, "kind", ml_iter_kind_name((ml_IterKind)it->kind));
        if (ml_is_const_int(it->extent))
            bind_set_int(L, desc ? "tile" : "extent", it->extent->as.i);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
}

static void push_operand(lua_State *L, ml_Ctx *cx, const ml_Block *b,
                         const ml_IntrinOperand *o)
{
    ml_PrintOpts plain = {.spelling = -1, .plain = true};

    lua_createtable(L, 0, 8);
    bind_set_string(L, "name", o->desc->name);
    bind_set_string(L, "buffer", o->own->name);
    bind_set_string(L, "dtype", ml_dtype_name(cx, o->own->type));
    bind_set_string(L, "scope", o->desc->scope.name);
    bind_set_bool(L, "write", o->write);
    bind_set_bool(L, "compact", o->desc->n_strides == 0);
    for (uint32_t k = 0; k < (o->write ? b->n_writes : b->n_reads); k++)
        if ((o->write ? b->writes : b->reads)[k].buffer->uid == o->own->uid)
            bind_set_int(L, "at", k);
    lua_createtable(L, (int)o->desc->rank, 0); /* indices, of the intrinsic's iters */
    for (uint32_t k = 0; k < o->desc->rank; k++) {
        ml_Text t = {0};

        ml_print_expr(cx, &t, o->index[k], &plain);
        lua_pushstring(L, ml_strdup(cx, (ml_Str){ml_text_z(&t), t.n}));
        ml_text_free(&t);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    lua_setfield(L, -2, "index");
    lua_newtable(L); /* positions of the block's iters that it is indexed by */
    for (uint32_t k = 0, n = 0; k < b->n_iters; k++)
        if (o->iters >> k & 1u) {
            lua_pushinteger(L, (lua_Integer)k + 1);
            lua_rawseti(L, -2, (lua_Integer)++n);
        }
    lua_setfield(L, -2, "iters");
}

static void push_map(lua_State *L, ml_Ctx *cx, const ml_IntrinMaps *all,
                     const ml_IntrinMap *m)
{
    lua_createtable(L, 0, 7);
    bind_set_string(L, "text", ml_intrin_map_text(cx, all, m));
    lua_createtable(L, (int)all->desc->n_iters, 0);
    for (uint32_t k = 0; k < all->desc->n_iters; k++) {
        lua_createtable(L, (int)m->n_of[k], 1);
        for (size_t i = 0; i < m->n_of[k]; i++) {
            lua_pushinteger(L, (lua_Integer)m->of[k][i] + 1);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        bind_set_int(L, "extent", m->extents[k]);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    lua_setfield(L, -2, "of");
    lua_createtable(L, (int)m->n_operands, 0);
    for (size_t k = 0; k < m->n_operands; k++) {
        push_operand(L, cx, all->block, &m->operands[k]);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    lua_setfield(L, -2, "operands");
}

/* intrin_maps(s, block, name): {iters=, own=, cut=, why=, {of=, operands=}, ...}; iters are
 * the intrinsic's, own the block's, of[k] the positions in own that are fused to iters[k] */
static int intrin_maps(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1), *from;
    const char *name = bind_string(L, 3, "name");
    ml_IntrinMaps m;
    ml_Handle h;

    if (!ml_lua_to_handle(L, 2, &from, &h)) {
        if (!ml_resolve(s, bind_string(L, 2, "block"), ML_H_BLOCK, &h))
            return bind_raise_schedule(L, s);
    } else if (!bind_same_family(from, s)) {
        return ml_lua_fail(L, ML_E_BAD_HANDLE, "the block");
    }
    lua_settop(L, 3);
    ml_Ctx *cx = bind_scratch(L); /* 4 */

    if (!ml_intrin_maps(s, h, name, cx, &m))
        return bind_raise_schedule(L, s);
    lua_createtable(L, (int)m.n, 4);
    bind_set_string(L, "why", m.why);
    bind_set_bool(L, "cut", m.cut);
    push_iters(L, m.block, false);
    lua_setfield(L, -2, "own");
    if (m.desc) {
        push_iters(L, m.desc, true);
        lua_setfield(L, -2, "iters");
    }
    for (size_t k = 0; k < m.n; k++) {
        push_map(L, cx, &m, &m.v[k]);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    bind_scratch_done(L, 4);
    return 1;
}

int bind_map_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"intrin_maps", intrin_maps}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
