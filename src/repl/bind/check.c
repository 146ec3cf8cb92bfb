/*
 * check - comparing versions and programs, validation and block properties, as tables.
 * Source: lua-api 4, interaction 8.
 */
#include "repl/bind/bind.h"

#include "codegen/check.h"
#include "verify/verify.h"

/* ---- moon.check */

static const char *const check_options[] = {"inputs", "seed",  "shape", "rtol",
                                            "atol",   "exact", "limit", "func",
                                            "start",  "id",    NULL};

static void read_check(lua_State *L, int idx, ml_Ctx *cx, ml_CheckOpts *o,
                       const char **func)
{
    if (!bind_options(L, idx, check_options))
        return;
    const char *how = bind_opt_string(L, idx, "inputs", NULL);

    if (how && !ml_fill_parse(ml_str(how), &o->inputs))
        bind_bad(L, "inputs: unknown filling %s", how);
    o->seed = (uint64_t)bind_opt_int(L, idx, "seed", 1);
    o->rtol = bind_opt_number(L, idx, "rtol", 0);
    o->atol = bind_opt_number(L, idx, "atol", 0);
    o->own_tolerance = o->rtol > 0 || o->atol > 0;
    o->exact = bind_opt_bool(L, idx, "exact", false);
    o->limit = bind_opt_int(L, idx, "limit", 0);
    o->id = bind_opt_string(L, idx, "id", NULL);
    if (o->id)
        o->id = ml_strdup(cx, ml_str(o->id));
    const char *name = bind_opt_string(L, idx, "func", NULL);

    *func = name ? ml_strdup(cx, ml_str(name)) : NULL;
    if (lua_getfield(L, idx, "shape") == LUA_TNIL)
        return;
    ml_Arg a = bind_read_arg(L, -1, cx, lua_absindex(L, 3), NULL);
    ml_Size *sizes = ML_ARRAY(cx, ml_Size, a.n + 1);

    if (a.kind != ML_A_DICT && a.n > 0)
        bind_bad(L, "shape: sizes by name are needed: shape = {n = 127}");
    for (uint32_t k = 0; k < a.n; k++) {
        if (a.as.list[k].kind != ML_A_INT)
            bind_bad(L, "shape: %s: an integer is needed", a.keys[k]);
        sizes[k] = (ml_Size){a.keys[k], a.as.list[k].as.i};
    }
    o->sizes = sizes;
    o->n_sizes = a.n;
}

static void push_check(lua_State *L, const ml_CheckResult *r)
{
    lua_createtable(L, 0, 16);
    lua_pushboolean(L, r->ok);
    lua_setfield(L, -2, "ok");
    lua_pushinteger(L, r->outside);
    lua_setfield(L, -2, "outside");
    lua_pushnumber(L, r->largest);
    lua_setfield(L, -2, "largest");
    lua_pushstring(L, r->largest_at ? r->largest_at : "");
    lua_setfield(L, -2, "largest_at");
    lua_pushstring(L, r->first_at ? r->first_at : "");
    lua_setfield(L, -2, "first");
    lua_pushnumber(L, r->first_ref);
    lua_setfield(L, -2, "first_expected");
    lua_pushnumber(L, r->first_got);
    lua_setfield(L, -2, "first_got");
    lua_pushinteger(L, (lua_Integer)r->seed);
    lua_setfield(L, -2, "seed");
    lua_pushnumber(L, r->rtol);
    lua_setfield(L, -2, "rtol");
    lua_pushnumber(L, r->atol);
    lua_setfield(L, -2, "atol");
    lua_pushinteger(L, r->n_outputs);
    lua_setfield(L, -2, "outputs");
    lua_pushinteger(L, r->iterations);
    lua_setfield(L, -2, "iterations");
    if (r->problem && *r->problem) {
        lua_pushstring(L, r->problem);
        lua_setfield(L, -2, "problem");
    }
}

/* moon.check(s [, opts]): against the start, or opts.start; moon.check(a, b [, opts]) */
static int check(lua_State *L)
{
    bool two = lua_isuserdata(L, 2);
    ml_CheckOpts o = {.seed = 1};
    ml_CheckResult r = {0};
    const char *name = NULL;

    lua_settop(L, 3);
    if (!two) {
        lua_settop(L, 2);
        lua_pushnil(L);
        lua_insert(L, 2); /* program, nil, options */
    }
    BindProgram got = bind_program(L, 1), ref = got;

    if (two)
        ref = bind_program(L, 2);
    else if (!got.s)
        return bind_bad(L, "check: a schedule is needed, or two programs");
    lua_pushvalue(L, 3);
    ml_Ctx *cx = bind_scratch(L); /* 5 */

    lua_insert(L, 3); /* box at 3, options at 4 */
    lua_settop(L, 4);
    read_check(L, 4, cx, &o, &name);
    if (!two) {
        int v = 0;

        if (lua_istable(L, 4) && lua_getfield(L, 4, "start") != LUA_TNIL)
            v = bind_version(L, -1, got.s);
        if (!ml_version_known(got.s, v))
            return bind_bad(L, "check: version %d was dropped by the undo limit", v);
        ref.m = ml_version_program(got.s, v).mod;
    }
    const ml_Func *gf = bind_program_func(L, &got, name);
    const ml_Func *rf =
        two ? bind_program_func(L, &ref, name) : ml_module_find(ref.m, gf->name);

    if (!rf)
        return bind_bad(L, "check: the start has no function %s", gf->name);
    ml_Ctx **run = bind_context_box(L);

    if (two && ref.cx != got.cx && !ml_ctx_descends(got.cx, ref.cx)) {
        /* programs of different contexts: both are brought into one */
        *run = bind_new_ctx(L);
        const ml_Module *rm = ref.m, *gm = got.m;

        if (rm) {
            rm = ml_import_module(ml_import_begin(*run), rm);
            rf = ml_module_find(rm, rf->name);
        } else
            rf = ml_import_func(ml_import_begin(*run), rf);
        if (gm) {
            gm = ml_import_module(ml_import_begin_apart(*run), gm);
            gf = ml_module_find(gm, gf->name);
        } else
            gf = ml_import_func(ml_import_begin_apart(*run), gf);
        ref.m = rm;
        got.m = gm;
    } else
        *run = ml_ctx_fork(got.cx);
    ml_ctx_set_cancel(*run, bind_state(L)->interrupt);
    if (!ml_check(*run, ref.m, rf, got.m, gf, &o, &r))
        return bind_raise(L, *run);
    push_check(L, &r);
    ml_ctx_unref(*run);
    *run = NULL;
    if (!two && got.s) /* kept with the version, shown by versions */
        ml_schedule_set_check(
            got.s, ml_schedule_version(got.s),
            lua_getfield(L, -1, "ok") == LUA_TBOOLEAN && lua_toboolean(L, -1) ? "ok"
                                                                              : "FAIL");
    lua_settop(L, lua_gettop(L) - (!two && got.s));
    return 1;
}

/* ---- moon.verify */

static void push_finding(lua_State *L, ml_Ctx *cx, const ml_Finding *fi)
{
    static const char *const severities[] = {"error", "unproved", "warning"};
    struct {
        ml_Failure *f;
    } *box = lua_newuserdatauv(L, sizeof(*box), 0);

    (void)cx;
    box->f = ml_failure_from(fi->error);
    lua_pushstring(L, ml_failure_message(box->f)); /* raises only without memory */
    ml_failure_free(box->f);
    lua_createtable(L, 0, 4);
    lua_insert(L, -2);
    lua_setfield(L, -2, "text");
    lua_pushstring(L, ml_error_code(fi->error->code));
    lua_setfield(L, -2, "code");
    lua_pushstring(L, severities[fi->severity]);
    lua_setfield(L, -2, "severity");
    if (fi->error->place) {
        lua_createtable(L, 0, 3);
        lua_pushstring(L, fi->error->place->file);
        lua_setfield(L, -2, "file");
        lua_pushinteger(L, fi->error->place->line);
        lua_setfield(L, -2, "line");
        lua_pushinteger(L, fi->error->place->col);
        lua_setfield(L, -2, "column");
        lua_setfield(L, -2, "place");
    }
    lua_remove(L, -2);
}

/* verify(program, what...): `what` are the names of the parts */
static int verify(lua_State *L)
{
    int n = lua_gettop(L);
    BindProgram p = bind_program(L, 1);
    ml_Findings all = {0};

    luaL_checkstack(L, 10, NULL);
    ml_Ctx **box = bind_context_box(L);

    *box = ml_ctx_fork(p.cx);
    ml_Ctx *cx = *box;

    if (p.f)
        p.m = ml_module_new(cx, &p.f, 1, NULL);
    bool sound = ml_verify_well_formed(cx, p.m, &all);

    ml_error_clear(cx);
    ml_Program prog = {p.m, sound ? ml_index_build(cx, p.m) : NULL};

    for (int k = 2; k <= n && sound; k++) {
        const char *what = bind_string(L, k, "what");

        if (ml_streq(what, "regions"))
            ml_verify_nests(cx, prog, &all);
        else if (ml_streq(what, "threading") || ml_streq(what, "memory"))
            ml_verify_threads(cx, prog, NULL, false, &all);
        else if (ml_streq(what, "gpu"))
            ml_verify_threads(cx, prog, NULL, true, &all);
        else if (ml_streq(what, "out-of-bounds"))
            ml_verify_bounds(cx, prog, &all);
        else if (!ml_streq(what, "well-formed"))
            return bind_bad(L,
                            "what: one of well-formed, regions, threading, memory, "
                            "out-of-bounds, gpu is needed, got %s",
                            what);
        ml_error_clear(cx);
    }
    lua_createtable(L, (int)all.n, 0);
    for (size_t k = 0; k < all.n; k++) {
        push_finding(L, cx, &all.v[k]);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    ml_ctx_unref(*box);
    *box = NULL;
    return 1;
}

/* ---- block properties */

static void push_property(lua_State *L, const char *name, bool yes, const char *why)
{
    lua_pushboolean(L, yes);
    lua_setfield(L, -2, name);
    if (yes || !why)
        return;
    lua_getfield(L, -1, "why");
    lua_pushstring(L, why);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

/* Facts for one question, outside the schedule's own memory. */
typedef struct FactsBox {
    ml_Ctx *cx;
    ml_Facts *facts;
} FactsBox;

static int facts_gc(lua_State *L)
{
    FactsBox *b = lua_touserdata(L, 1);

    ml_facts_free(b->facts);
    ml_ctx_unref(b->cx);
    *b = (FactsBox){0};
    return 0;
}

static FactsBox *facts_box(lua_State *L, ml_Schedule *s)
{
    FactsBox *b = lua_newuserdatauv(L, sizeof(*b), 0);

    *b = (FactsBox){0};
    if (luaL_newmetatable(L, "moonloop.facts")) {
        lua_pushcfunction(L, facts_gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    b->cx = ml_ctx_fork(ml_schedule_ctx(s));
    b->facts = ml_facts_new(b->cx);
    return b;
}

/* info(s, block): properties of one block, each with its why where it fails */
static int info(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1), *from;
    ml_Handle h;

    lua_settop(L, 2);
    if (!ml_lua_to_handle(L, 2, &from, &h)) {
        if (!ml_resolve(s, bind_string(L, 2, "block"), ML_H_BLOCK, &h))
            return bind_raise_schedule(L, s);
    } else if (!bind_same_family(from, s))
        return ml_lua_fail(L, ML_E_BAD_HANDLE, "the block");
    if (h.kind != ML_H_BLOCK || !ml_handle_alive(s, h))
        return bind_bad(L, "info: a block of the current version is needed");
    const char *name = ml_name_of(s, h.uid); /* names are the schedule's: before the fork */

    lua_pushstring(L, name); /* 3 */
    FactsBox *b = facts_box(L, s);
    ml_Program p = ml_schedule_program(s);
    ml_Uid scope = ml_index_scope(p.index, h.uid);
    const ml_Block *block = ml_as_block(ml_index_node(p.index, h.uid));
    const char *why = NULL;

    lua_createtable(L, 0, 12);
    lua_pushvalue(L, 3);
    lua_setfield(L, -2, "block");
    lua_newtable(L);
    lua_setfield(L, -2, "why");
    bool yes = ml_is_affine(b->cx, b->facts, p, h.uid, &why);

    push_property(L, "affine", yes, why);
    push_property(L, "spatial", ml_is_spatial_block(block), NULL);
    push_property(L, "trivial_binding", ml_is_trivial_binding(b->cx, p, h.uid), NULL);
    if (scope) {
        yes = ml_complete_violation(b->cx, b->facts, p, h.uid, &why) == 0;
        push_property(L, "complete", yes, why);
        yes = ml_reduction_violation(b->cx, b->facts, p, h.uid, &why) == 0;
        push_property(L, "reduction", yes, why);
        push_property(L, "region_cover", ml_is_covered(b->cx, b->facts, p, h.uid, false),
                      NULL);
        push_property(L, "stage_pipeline", ml_is_stage_pipeline(b->cx, b->facts, p, scope),
                      NULL);
        const ml_Buffer *out = NULL;

        push_property(L, "output", ml_is_output_block(p, h.uid, &out), NULL);
    }
    ml_facts_free(b->facts);
    ml_ctx_unref(b->cx);
    *b = (FactsBox){0};
    return 1;
}

/* flops(program [, func]): operations counted from the program */
static int flops(lua_State *L)
{
    lua_settop(L, 2);
    BindProgram p = bind_program(L, 1);
    const ml_Func *f =
        bind_program_func(L, &p, lua_isnil(L, 2) ? NULL : bind_string(L, 2, "func"));
    ml_Ctx **box = bind_context_box(L);

    *box = ml_ctx_fork(p.cx);
    double n = ml_flops(*box, f);

    ml_ctx_unref(*box);
    *box = NULL;
    lua_pushnumber(L, n);
    return 1;
}

int bind_check_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"check", check},
                                   {"verify", verify},
                                   {"info", info},
                                   {"flops", flops},
                                   {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
