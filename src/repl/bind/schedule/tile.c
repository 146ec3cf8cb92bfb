/*
 * tile - tile_with_intrinsic: the loops of a block cut and ordered for an intrinsic, by
 * recorded steps; the call itself is not recorded. All of it happens, or nothing.
 * Source: primitives 10, tiling for an intrinsic.
 */
#include "repl/bind/schedule/schedule.h"

#include "moonloop/primitives/intrin/tile_intrin.h"
#include "moonloop/verify/verify.h"

static void step(lua_State *L, ml_Schedule *s, const char *name, const ml_Arg *args,
                 size_t n, ml_Results *r)
{
    if (!ml_apply(s, name, args, n, r))
        bind_raise_schedule(L, s);
}

/* The blocks that these results name, for comparison with later ones. */
static bool among(const ml_Results *r, ml_Uid uid)
{
    for (size_t k = 0; k < r->n; k++)
        if ((r->more ? r->more : r->v)[k].uid == uid)
            return true;
    return false;
}

static ml_Results kept(ml_Ctx *cx, const ml_Results *r)
{
    ml_Handle *v = ML_ARRAY(cx, ml_Handle, r->n + 1);

    for (size_t k = 0; k < r->n; k++)
        v[k] = (r->more ? r->more : r->v)[k];
    return (ml_Results){r->is_list, r->n, {{0}}, v};
}

static ml_Results blocks_of(lua_State *L, ml_Ctx *cx, ml_Schedule *s, const char *query,
                            ml_Handle block)
{
    ml_Arg a = ML_ARG_HANDLE(block);
    ml_Results r;

    step(L, s, query, &a, 1, &r);
    return kept(cx, &r);
}

/* pad_einsum; then what was put into the copies, and what takes out of them, goes into
 * them: they alone have the padded shape. */
static void pad(lua_State *L, ml_Ctx *cx, ml_Schedule *s, ml_Handle block,
                const ml_IntrinTiling *t)
{
    ml_Arg *list = ML_ARRAY(cx, ml_Arg, t->n_iters + 1), args[2];
    ml_Results r, before = blocks_of(L, cx, s, "get_producers", block);
    ml_Results after = blocks_of(L, cx, s, "get_consumers", block);

    for (size_t k = 0; k < t->n_iters; k++)
        list[k] = ML_ARG_INT(t->padding[k]);
    args[0] = ML_ARG_HANDLE(block);
    args[1] = ML_ARG_LIST(list, t->n_iters);
    step(L, s, "pad_einsum", args, 2, &r);
    ml_Results now = blocks_of(L, cx, s, "get_producers", block);

    for (size_t k = 0; k < now.n; k++) {
        if (among(&before, now.more[k].uid))
            continue;
        ml_Results from = blocks_of(L, cx, s, "get_producers", now.more[k]);

        args[0] = ML_ARG_HANDLE(from.more[0]);
        if (from.n == 1)
            step(L, s, "compute_inline", args, 1, &r);
    }
    now = blocks_of(L, cx, s, "get_consumers", block);
    for (size_t k = 0; k < now.n; k++) {
        if (among(&after, now.more[k].uid))
            continue;
        ml_Results to = blocks_of(L, cx, s, "get_consumers", now.more[k]);

        args[0] = ML_ARG_HANDLE(now.more[k]);
        if (to.n > 0)
            step(L, s, "compute_inline", args, 1, &r);
    }
}

/* Upvalue-free body: schedule, block, name, allow_padding. Pushes the loop, or nil. */
static int tile(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1), *from;
    const char *name = bind_string(L, 3, "name");
    ml_IntrinTiling t;
    ml_Results r;
    ml_Handle block;

    if (!lua_isnoneornil(L, 4) && !lua_isboolean(L, 4))
        return bind_bad(L, "allow_padding: true or false is needed, got %s",
                        bind_type(L, 4));
    if (!ml_lua_to_handle(L, 2, &from, &block)) {
        ml_Arg a = ML_ARG_STR(bind_string(L, 2, "block"));

        step(L, s, "get_block", &a, 1, &r);
        block = r.v[0];
    } else if (!bind_same_family(from, s))
        return ml_lua_fail(L, ML_E_BAD_HANDLE, "the block");
    lua_settop(L, 4);
    ml_Ctx *cx = bind_scratch(L);

    if (!ml_intrin_tiling(s, block, name, lua_toboolean(L, 4), cx, &t))
        return bind_raise_schedule(L, s);
    if (t.n == 0)
        return 0;
    if (t.padding)
        pad(L, cx, s, block, &t);
    ml_Arg *order, all;
    size_t n_places = 0, n = 0;

    for (size_t k = 0; k < t.n; k++)
        n_places = t.loops[k].place + 1 > n_places ? t.loops[k].place + 1 : n_places;
    ml_Handle *tiles = ML_ARRAY(cx, ml_Handle, n_places + 1);

    memset(tiles, 0, (n_places + 1) * sizeof *tiles);
    for (size_t k = 0; k < t.n; k++) {
        ml_Arg factors[2] = {ML_ARG_AUTO, ML_ARG_INT(t.loops[k].tile)};
        ml_Arg args[2] = {ML_ARG_HANDLE(((ml_Handle){ML_H_LOOP, t.loops[k].loop})),
                          ML_ARG_LIST(factors, 2)};

        step(L, s, "split", args, 2, &r);
        tiles[t.loops[k].place] = r.v[1];
    }
    /* From the outermost of the tiles on: the others in their order, then the tiles. */
    ml_Results loops = blocks_of(L, cx, s, "get_loops", block);
    bool within = false;

    order = ML_ARRAY(cx, ml_Arg, loops.n + 1);
    for (size_t k = 0; k < loops.n; k++) {
        bool is_tile = false;

        for (size_t m = 0; m < n_places; m++)
            is_tile = is_tile || (tiles[m].uid && tiles[m].uid == loops.more[k].uid);
        within = within || is_tile;
        if (within && !is_tile)
            order[n++] = ML_ARG_HANDLE(loops.more[k]);
    }
    ml_Handle first = {0};

    for (size_t m = 0; m < n_places; m++) {
        if (!tiles[m].uid)
            continue;
        if (!first.uid)
            first = tiles[m];
        order[n++] = ML_ARG_HANDLE(tiles[m]);
    }
    all = ML_ARG_LIST(order, n);
    step(L, s, "reorder", &all, 1, &r);
    bind_push_handle(L, 1, first);
    return 1;
}

int bind_tile_with_intrinsic(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);
    ml_State here = ml_schedule_state(s);

    lua_settop(L, 4);
    lua_pushcfunction(L, tile);
    lua_insert(L, 1);
    lua_pushvalue(L, 2);
    lua_insert(L, 1); /* keeps the schedule */
    bool ok = lua_pcall(L, 4, 1, 0) == LUA_OK;

    if (ok && !lua_isnil(L, -1))
        return 1;
    ml_schedule_restore(s, here);
    return ok ? 1 : lua_error(L);
}
