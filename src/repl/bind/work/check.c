/*
 * check - comparing versions and programs, validation and block properties, as tables.
 * Source: lua-api 4, interaction 8.
 */
#include "repl/bind/work/work.h"

#include "moonloop/core/vec.h"
#include "moonloop/primitives/rewrite/keep_order.h"
#include "moonloop/verify/verify.h"
#include "moonloop/work/work.h"
#include "repl/bind/work/kernel.h"

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
    bind_read_sizes(L, idx, cx, lua_absindex(L, 3), &o->sizes, &o->n_sizes);
}

/* Two functions that are compared. */
typedef struct Pair {
    const ml_Func *ref, *got;
} Pair;
typedef ML_VEC(Pair) Pairs;

/* One function when it is named, a lone one, or the only one; else each that the schedule
 * changed (checking.h), or each of the second program. */
static void choose_pairs(lua_State *L, ml_Ctx *cx, const BindProgram *got,
                         const BindProgram *ref, const char *name, bool two, Pairs *out)
{
    bool one = name || got->f || ref->f || (got->m->n == 1 && ref->m->n == 1);

    if (one) {
        const ml_Func *g = bind_program_func(L, got, name);
        const ml_Func *r =
            two ? bind_program_func(L, ref, name) : ml_module_find(ref->m, g->name);

        if (!r)
            bind_bad(L, "check: the start has no function %s", g->name);
        ml_push(cx, out, ((Pair){r, g}));
        return;
    }
    for (uint32_t k = 0; k < ref->m->n; k++) {
        const ml_Func *r = ref->m->funcs[k], *g = ml_module_find(got->m, r->name);

        if (!two && !ml_checking_wants(got->s, ref->m, k))
            continue;
        if (!g)
            bind_bad(L, "check: the first program has no function %s", r->name);
        ml_push(cx, out, ((Pair){r, g}));
    }
}

/* `part` is what came of function `name`: all of them in one, texts in cx. */
static void add_result(ml_Ctx *cx, const char *name, const ml_CheckResult *part,
                       ml_CheckResult *all, bool first)
{
    bool worst = first || (all->ok && !part->ok) ||
                 (all->ok == part->ok && part->largest > all->largest);

    if (worst) {
        all->largest = part->largest;
        all->largest_at = part->largest_at && *part->largest_at
                              ? ml_format(cx, "%s: %s", name, part->largest_at)
                              : "";
        all->rtol = part->rtol;
        all->atol = part->atol;
    }
    if (part->vacuous > all->vacuous) {
        all->vacuous = part->vacuous;
        all->magnitude = part->magnitude;
    }
    if (!part->ok && part->first_at && *part->first_at &&
        (!all->first_at || !*all->first_at)) {
        all->first_at = ml_format(cx, "%s: %s", name, part->first_at);
        all->first_ref = part->first_ref;
        all->first_got = part->first_got;
        all->first_unwritten = part->first_unwritten;
    }
    if (part->blind && *part->blind && (!all->blind || !*all->blind))
        all->blind = ml_format(cx, "%s: %s", name, part->blind);
    if (part->problem && *part->problem && (!all->problem || !*all->problem))
        all->problem = ml_format(cx, "%s: %s", name, part->problem);
    if (*part->refused && (!all->refused || !*all->refused))
        all->refused = ml_format(cx, "%s: %s", name, part->refused);
    all->written = ml_format(cx, "%s%s%s", first ? "" : all->written, first ? "" : ", ",
                             part->written);
    all->elements =
        all->elements < 0 || part->elements < 0 ? -1 : all->elements + part->elements;
    all->unwritten += part->unwritten;
    all->seed = part->seed;
    all->ok = (first || all->ok) && part->ok;
    all->outside += part->outside;
    all->n_outputs += part->n_outputs;
    if (__builtin_add_overflow(all->iterations, part->iterations, &all->iterations))
        all->iterations = INT64_MAX;
}

/* Compares one pair; pushes its table, and adds it to *all. */
static void check_pair(lua_State *L, ml_Ctx *scratch, const BindProgram *got,
                       const BindProgram *ref, Pair p, int from, const ml_CheckOpts *opts,
                       ml_CheckResult *all, bool first, bool alone)
{
    ml_CheckOpts own = *opts, *o = &own;
    ml_MovedVec moved = {0};

    const ml_Module *rm = ref->m, *gm = got->m;
    const ml_Func *rf = p.ref, *gf = p.got;
    ml_CheckResult r = {0};
    ml_CheckRuns runs;
    ml_Ctx **run = bind_context_box(L);

    if (ref->cx != got->cx && !ml_ctx_descends(got->cx, ref->cx)) {
        /* programs of different contexts: both are brought into one */
        *run = bind_new_ctx(L);
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
    } else
        *run = ml_ctx_fork(got->cx);
    ml_ctx_set_cancel(*run, bind_state(L)->interrupt);
    /* Layouts that steps gave parameters since version `from`. */
    for (uint32_t k = 0; from >= 0 && gm && k < gm->n; k++)
        if (gm->funcs[k] == gf &&
            ml_version_moved(got->s, from, ml_schedule_version(got->s), k, *run, &moved)) {
            own.moved = moved.v;
            own.n_moved = moved.n;
        }
    const ml_Work start = {.mod = rm ? rm : ml_module_new(*run, &rf, 1, NULL), .func = rf};
    const ml_Work now = {.mod = gm ? gm : ml_module_new(*run, &gf, 1, NULL), .func = gf};

    if (!ml_work_check(*run, ml_lua_engine(L), &start, &now, o, &r, &runs))
        bind_raise_box(L, run);
    bind_push_facts(L, &ml_check_fields, &r);
    if (alone) { /* its texts are copied all the same: the run's context ends here */
        *all = r;
        all->function = p.ref->name;
        all->written = ml_strdup(scratch, ml_str(r.written));
        all->largest_at = ml_strdup(scratch, ml_str(r.largest_at ? r.largest_at : ""));
        all->first_at = ml_strdup(scratch, ml_str(r.first_at ? r.first_at : ""));
        all->problem = ml_strdup(scratch, ml_str(r.problem ? r.problem : ""));
        all->blind = ml_strdup(scratch, ml_str(r.blind ? r.blind : ""));
        all->refused = ml_strdup(scratch, ml_str(r.refused));
        all->bounds = ml_strdup(scratch, ml_str(r.bounds ? r.bounds : ""));
    } else
        add_result(scratch, p.ref->name, &r, all, first);
    ml_ctx_unref(*run);
    *run = NULL;
    lua_remove(L, -2); /* the box */
}

/* moon.check(s [, opts]): against the start, or opts.start; moon.check(a, b [, opts]) */
static int check(lua_State *L)
{
    bool two = lua_isuserdata(L, 2);
    int from = two ? -1 : 0;
    ml_CheckOpts o = {.seed = 1, .extremes = true};
    ml_CheckResult all = {0};
    const char *name = NULL, *why;
    Pairs pairs = {0};

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
        from = v;
        ref.m = ml_version_program(got.s, v).mod;
    }
    choose_pairs(L, cx, &got, &ref, name, two, &pairs);
    why = ml_checking_bad_size(cx, ref.m, pairs.n == 1 ? pairs.v[0].ref : ref.f, o.sizes,
                               o.n_sizes);
    if (why)
        return bind_bad(L, "shape: %s", why);
    lua_settop(L, 4);
    lua_createtable(L, 0, (int)pairs.n); /* 5: by function */
    for (size_t k = 0; k < pairs.n; k++) {
        check_pair(L, cx, &got, &ref, pairs.v[k], from, &o, &all, k == 0, pairs.n == 1);
        lua_setfield(L, 5, pairs.v[k].ref->name);
    }
    bind_push_facts(L, &ml_check_fields, &all);
    lua_pushvalue(L, 5);
    lua_setfield(L, -2, "functions");
    if (!two) /* kept with the version, shown by versions */
        ml_schedule_set_check(got.s, ml_schedule_version(got.s), all.ok ? "ok" : "FAIL");
    return 1;
}

/* ---- moon.verify */

static void push_finding(lua_State *L, const BindProgram *p, const ml_Finding *fi)
{
    static const char *const severities[] = {"error", "unproved", "warning"};
    ml_Failure **box = bind_failure_box(L);
    ml_FindingRow row = {.severity = severities[fi->severity]};

    row.error.f = *box = ml_failure_about(fi->error, p->s, p->m);
    bind_push_facts(L, &ml_finding_fields, &row);
    ml_failure_free(*box);
    *box = NULL;
    lua_remove(L, -2);
}

/* verify(program, target, what...): `what` are the names of the parts; target: a table, nil: CUDA
 * in general */
static int verify(lua_State *L)
{
    int n = lua_gettop(L);
    BindProgram p = bind_program(L, 1);
    ml_Findings all = {0};
    bool gpu = false, threads = false;

    luaL_checkstack(L, 10, NULL);
    for (int k = 3; k <= n; k++)
        gpu |= ml_streq(bind_string(L, k, "what"), "gpu");
    ml_Ctx **box = bind_context_box(L);

    *box = ml_ctx_fork(p.cx);
    ml_Ctx *cx = *box;

    if (p.f)
        p.m = ml_module_new(cx, &p.f, 1, NULL);
    bool sound = ml_verify_well_formed(cx, p.m, &all);

    ml_error_clear(cx);
    ml_Program prog = {p.m, sound ? ml_index_build(cx, p.m) : NULL};
    const ml_Value *target = lua_isnil(L, 2) ? NULL : bind_read_value(L, 2, cx);

    for (int k = 3; k <= n && sound; k++) {
        const char *what = bind_string(L, k, "what");

        if (ml_streq(what, "regions"))
            ml_verify_nests(cx, prog, &all);
        else if (ml_streq(what, "threading") || ml_streq(what, "memory") ||
                 ml_streq(what, "gpu")) {
            if (!threads) /* one pass finds all of these */
                ml_verify_threads(cx, prog, target, gpu, &all);
            threads = true;
        } else if (ml_streq(what, "out-of-bounds"))
            ml_verify_bounds(cx, prog, &all);
        else if (ml_streq(what, "order"))
            ml_find_order(cx, prog, p.s, &all);
        else if (!ml_streq(what, "well-formed")) {
            ml_ctx_unref(*box);
            *box = NULL;
            return bind_bad(L,
                            "what: one of well-formed, regions, threading, memory, "
                            "out-of-bounds, order, gpu is needed, got %s",
                            what);
        }
        ml_error_clear(cx);
    }
    lua_createtable(L, (int)all.n, 0);
    for (size_t k = 0; k < all.n; k++) {
        push_finding(L, &p, &all.v[k]);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    ml_ctx_unref(*box);
    *box = NULL;
    return 1;
}

/* ---- block properties */

/* Facts for one question, outside the schedule's own memory. */
typedef struct FactsBox {
    ml_Ctx *cx;
    ml_Facts *facts;
} FactsBox;

static void facts_empty(FactsBox *b)
{
    ml_facts_free(b->facts);
    ml_ctx_unref(b->cx);
    *b = (FactsBox){0};
}

static int facts_gc(lua_State *L)
{
    facts_empty(lua_touserdata(L, 1));
    return 0;
}

static FactsBox *facts_box(lua_State *L, ml_Schedule *s)
{
    FactsBox *b = bind_box(L, sizeof(*b), "moonloop.facts", facts_gc);

    b->cx = ml_ctx_fork(ml_schedule_ctx(s));
    b->facts = ml_facts_new(b->cx);
    return b;
}

static void push_info(lua_State *L, const FactsBox *b, ml_Schedule *s, ml_Uid tag)
{
    ml_BlockRow row;

    ml_block_row(b->cx, b->facts, s, tag, &row);
    bind_push_facts(L, &ml_block_fields, &row);
}

/* info(s, block): properties of one block */
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
    (void)ml_schedule_names(s); /* before the fork */
    FactsBox *b = facts_box(L, s);

    push_info(L, b, s, h.uid);
    facts_empty(b);
    return 1;
}

/* analyze(s, blocks): the same of each, from facts that they share */
static int analyze(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1), *from;
    ml_Handle h;

    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    (void)ml_schedule_names(s);
    FactsBox *b = facts_box(L, s);
    lua_Integer n = luaL_len(L, 2);

    lua_createtable(L, (int)n, 0);
    for (lua_Integer k = 1; k <= n; k++) {
        lua_geti(L, 2, k);
        if (!ml_lua_to_handle(L, -1, &from, &h) || !bind_same_family(from, s) ||
            h.kind != ML_H_BLOCK || !ml_handle_alive(s, h))
            return bind_bad(L, "analyze: blocks of the current version are needed");
        push_info(L, b, s, h.uid);
        lua_seti(L, -3, k);
        lua_pop(L, 1);
    }
    facts_empty(b);
    return 1;
}

/* flops(program [, func]): operations counted from the program; a text where sizes decide */
static int flops(lua_State *L)
{
    const ml_Expr *open;

    lua_settop(L, 2);
    BindProgram p = bind_program(L, 1);
    const ml_Func *f =
        bind_program_func(L, &p, lua_isnil(L, 2) ? NULL : bind_string(L, 2, "func"));
    ml_Ctx **box = bind_context_box(L);

    *box = ml_ctx_fork(p.cx);
    if (!ml_flops_symbolic(*box, f, NULL, &open))
        lua_pushnumber(L, ml_flops(*box, f));
    else if (open) {
        ml_Text *t = bind_text(L);

        ml_text_sizes(*box, t, open, NULL);
        lua_pushstring(L, ml_text_z(t));
    } else
        lua_pushnil(L);
    ml_ctx_unref(*box);
    *box = NULL;
    return 1;
}

int bind_check_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"check", check},     {"verify", verify}, {"info", info},
                                   {"analyze", analyze}, {"flops", flops},   {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
