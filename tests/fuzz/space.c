/* space - see space.h. */
#include "space.h"

#include "compiled.h"

#include "moonloop/codegen/measure/reference.h"
#include "moonloop/core/script/script.h"
#include "repl/bind/bind.h"
#include "repl/bind/work/tuning.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAKE = 2, PROGRAM }; /* on the stack: what makes programs, and the one at work */

struct FzSpace {
    lua_State *L;
    ml_Text now; /* told when this process breaks down */
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int traceback(lua_State *L)
{
    luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
    return 1;
}

FzSpace *fz_space_open(const char *operator, const char ** why)
{
    static const char script[] = "tests/fuzz/space.lua";
    FzSpace *s;

    if (!fz_compiler(why))
        return NULL;
    s = calloc(1, sizeof *s);
    if (s == NULL || (s->L = luaL_newstate()) == NULL)
        ml_out_of_memory();
    setenv("MOONLOOP_WORKER", "/proc/self/exe", 0); /* no search here starts one */
    luaL_openlibs(s->L);
    ml_lua_open(s->L);
    lua_setglobal(s->L, "moon");
    lua_settop(s->L, 0);
    lua_pushcfunction(s->L, traceback);
    if (luaL_loadfile(s->L, script) == LUA_OK) {
        lua_getglobal(s->L, "moon");
        lua_pushstring(s->L, operator? operator: "");
        if (lua_pcall(s->L, 2, 1, 1) == LUA_OK)
            return s;
    }
    *why = lua_tostring(s->L, -1);
    fprintf(stderr, "%s: %s\n", script, *why);
    return NULL;
}

void fz_space_close(FzSpace *s)
{
    fz_watch_text("");
    ml_text_free(&s->now);
    lua_close(s->L);
    free(s);
}

/* ---------------------------------------------------------------- one program */

typedef struct Program { /* and what it must compute */
    FzSpace *s;
    uint64_t seed;
    int64_t k;
    ml_Ctx *cx;
    const ml_Module *mod;
    const ml_Func *func;
    ml_CheckOpts opts;
    ml_ParamRole *roles;
    ml_RunArg *initial;
    ml_Reference *expected;
    FzCode code;
    FzSpaceResult *r;
    ml_Text *out;
} Program;

/* Widths, levels and places of a program; contraction is on as for users, now and then off. */
static FzCode choose_code(uint64_t seed, int64_t k)
{
    static const ml_OptLevel opts[] = {ML_OPT_NONE, ML_OPT_O1, ML_OPT_O2, ML_OPT_O3};
    uint64_t rnd = seed * 1000003 + (uint64_t)k;
    FzCode c = {.opt = ML_OPT_LIGHT};

    if (fz_below(&rnd, 100) < 10)
        c.opt = opts[fz_below(&rnd, (int)ML_COUNT(opts))];
    c.bits = fz_below(&rnd, 100) < 60 ? 512 : fz_below(&rnd, 100) < 70 ? 256 : 128;
    c.place = fz_below(&rnd, 100) < 50 ? FZ_AT_END : FZ_NEAR_END;
    c.contract = fz_below(&rnd, 100) < 85;
    return c;
}

static void push_facts(lua_State *L, const ml_Target *t)
{
    lua_createtable(L, 0, 6);
    bind_set_int(L, "vector_bits", t->vector_bits);
    bind_set_int(L, "registers", t->registers);
    bind_set_bool(L, "vnni", t->vnni);
    bind_set_bool(L, "avxvnni", strstr(t->features, "+avxvnni,") != NULL);
    bind_set_bool(L, "bf16", t->bf16);
    bind_set_bool(L, "masks", t->masks);
}

static const char *field(lua_State *L, const char *name)
{
    const char *z;

    lua_getfield(L, PROGRAM, name);
    z = lua_tostring(L, -1);
    lua_pop(L, 1);
    return z ? z : "";
}

static int64_t length(lua_State *L, const char *name)
{
    int64_t n;

    lua_getfield(L, PROGRAM, name);
    n = (int64_t)lua_rawlen(L, -1);
    lua_pop(L, 1);
    return n;
}

static void tell_start(Program *p, const char *kind, const char *detail)
{
    p->r->failed++;
    ml_text_fmt(p->out, "---- %s: program %lld of seed %llu: %s\n   ", kind,
                (long long)p->k, (unsigned long long)p->seed, p->r->line);
    fz_code_text(p->code, p->out);
    ml_text_fmt(p->out, "\n   %s\n", detail);
}

/* The program with its search, at PROGRAM; false: there is none. */
static bool make(Program *p)
{
    lua_State *L = p->s->L;

    lua_settop(L, MAKE);
    lua_pushvalue(L, MAKE);
    lua_pushinteger(L, (lua_Integer)p->seed);
    lua_pushinteger(L, p->k);
    push_facts(L, fz_target(p->code.bits));
    fz_phase("the design space");
    if (lua_pcall(L, 3, 1, 1) != LUA_OK) {
        tell_start(p, "the space fails", lua_tostring(L, -1));
        return false;
    }
    p->r->none = lua_isnil(L, PROGRAM);
    if (p->r->none)
        return false;
    lua_getfield(L, PROGRAM, "threads");
    p->code.threads = (uint32_t)lua_tointeger(L, -1);
    lua_getfield(L, PROGRAM, "alone");
    p->r->alone = lua_toboolean(L, -1);
    lua_settop(L, PROGRAM);
    lua_getfield(L, PROGRAM, "sketches");
    while (p->r->n_sketches < FZ_SPACE_SKETCHES &&
           lua_rawgeti(L, PROGRAM + 1, (lua_Integer)p->r->n_sketches + 1) == LUA_TSTRING) {
        FzSketchCount *c = &p->r->sketch[p->r->n_sketches];

        snprintf(c->name, sizeof c->name, "%s", lua_tostring(L, -1));
        c->drafts = p->r->n_sketches++ == 0;
        lua_settop(L, PROGRAM + 1);
    }
    lua_settop(L, PROGRAM);
    snprintf(p->r->operator, sizeof p->r->operator, "%s", field(L, "operator"));
    snprintf(p->r->line, sizeof p->r->line, "%s", field(L, "line"));
    p->r->refused_sketches = length(L, "refused");
    return true;
}

static const char *error_text(ml_Ctx *cx, ml_Text *t)
{
    const ml_Error *e = ml_error(cx);
    ml_Failure *f = e ? ml_failure_from(e) : NULL;

    ml_text_fmt(t, "%s: %s", e ? ml_error_code(e->code) : "no error",
                f ? ml_failure_message(f) : "");
    for (uint32_t k = 0; e && k < e->n_notes; k++)
        ml_text_fmt(t, "\n   %s", e->notes[k]);
    ml_failure_free(f);
    return ml_text_z(t);
}

/* Inputs, and what the interpreter makes of them. */
static bool interpret(Program *p)
{
    ml_Ctx *of;
    ml_Text why = {0};
    double begin = now();

    fz_phase("the reference");
    lua_getfield(p->s->L, PROGRAM, "program");
    if (!ml_lua_to_program(p->s->L, -1, &of, &p->mod))
        return false;
    lua_settop(p->s->L, PROGRAM);
    p->cx = ml_ctx_fork(of);
    p->func = ml_module_find(p->mod, "main");
    p->roles = ML_ARRAY(p->cx, ml_ParamRole, p->func->n_params + 1u);
    p->initial = ML_ARRAY(p->cx, ml_RunArg, p->func->n_params + 1u);
    p->opts = (ml_CheckOpts){.inputs = ML_FILL_RANDOM,
                             .seed = p->seed % 1000 + 1,
                             .extremes = p->k % 2 == 0,
                             .skip = ML_SKIP_RACES};
    ml_param_roles(p->cx, p->func, NULL, 0, p->roles);
    if (ml_inputs_make(p->cx, p->func, &p->opts, p->roles, p->initial)) {
        const ml_Work start = {.mod = p->mod, .func = p->func};

        p->expected =
            ml_reference_make(p->cx, &start, &p->opts, p->roles, p->initial, NULL);
    }
    p->r->reference_seconds = now() - begin;
    if (p->expected == NULL)
        tell_start(p, "the start fails", error_text(p->cx, &why));
    ml_text_free(&why);
    return p->expected != NULL;
}

/* What a crash of this process tells. */
static void watch(Program *p, int at)
{
    p->s->now.n = 0;
    ml_text_fmt(&p->s->now,
                "   %s\n   again: fuzz_space 1 %llu program=%lld candidate=%d\n",
                p->r->line, (unsigned long long)p->seed, (long long)p->k, at);
    fz_watch_text(ml_text_z(&p->s->now));
}

/* ---------------------------------------------------------------- one candidate */

static void tell(Program *p, int at, const ml_Proposal *made, const char *kind,
                 const char *detail)
{
    ml_Text text = {0};

    tell_start(p, kind, detail);
    lua_getfield(p->s->L, PROGRAM, "sketches");
    lua_rawgeti(p->s->L, -1, (lua_Integer)made->sketch + 1);
    ml_text_fmt(
        p->out,
        "   candidate %d, of the sketch '%s'; again: fuzz_space 1 %llu program=%lld "
        "candidate=%d\n-- the start\n",
        at, lua_tostring(p->s->L, -1), (unsigned long long)p->seed, (long long)p->k, at);
    lua_settop(p->s->L, PROGRAM);
    ml_print_module(p->cx, &text, p->mod, NULL);
    ml_text_fmt(p->out, "%s-- the candidate\n%s\n-- its trace\n%s\n", ml_text_z(&text),
                made->program, made->trace);
    ml_text_free(&text);
}

/* Compares what a run left. */
static bool is_right(Program *p, const FzCompile *c, ml_Text *why)
{
    ml_Ctx *cx = ml_ctx_fork(p->cx);
    ml_CheckResult r = {.elements = -1,
                        .largest_at = "",
                        .first_at = "",
                        .problem = "",
                        .bounds = "",
                        .blind = ""};
    const char *changed = NULL;

    ml_check_compare(cx, p->func, &p->opts, p->roles, p->expected, c->args, &r);
    for (uint32_t k = 0; k < p->func->n_params && !changed; k++)
        if (c->args[k].tensor && !p->roles[k].written &&
            memcmp(c->args[k].tensor->data, p->initial[k].tensor->data,
                   c->args[k].tensor->bytes) != 0)
            changed = p->func->params[k].var->hint;
    if (changed)
        ml_text_fmt(why, "the input %s was changed", changed);
    else if (r.outside > 0)
        ml_text_fmt(why, "%lld elements differ, first %s: %.9g instead of %.9g, bound %g",
                    (long long)r.outside, r.first_at, r.first_got, r.first_ref, r.atol);
    ml_ctx_unref(cx);
    return !changed && r.outside == 0;
}

static const char *call_at(Program *p, FzCompile *c, FzPlace place)
{
    uint32_t n = p->func->n_params;
    const char *kind = NULL;

    c->args = ML_ARRAY(c->cx, ml_RunArg, n + 1u);
    c->n_args = n;
    if (ml_inputs_copy(p->cx, NULL, NULL, p->initial, n, c->args)) {
        kind = fz_call(c, place);
        if (kind == NULL && !is_right(p, c, &c->detail))
            kind = "compiled-output";
        p->r->calls++;
    }
    ml_inputs_free(c->args, n);
    return kind;
}

static void test(Program *p, int at, const ml_Proposal *made)
{
    FzStats stats = {0};
    FzCompile c = {
        .cx = ml_ctx_new(0), .text = made->program, .code = &p->code, .stats = &stats};
    const char *kind = fz_object(&c);

    if (kind == NULL && c.object.v) {
        p->r->candidates++;
        if (made->sketch < p->r->n_sketches)
            p->r->sketch[made->sketch].candidates++;
        if (p->r->n_hashes < FZ_SPACE_MOST)
            p->r->hashes[p->r->n_hashes++] = made->hash;
        kind = call_at(p, &c, p->code.place);
        if (kind == NULL)
            kind = call_at(p, &c, FZ_AT_BEGIN);
        free(c.object.v);
    } else if (kind == NULL)
        p->r->for_a_dtype++;
    if (kind)
        tell(p, at, made, kind, ml_text_z(&c.detail));
    ml_text_free(&c.detail);
    ml_ctx_unref(c.cx);
}

static void test_all(Program *p, int first, int n)
{
    ml_Tuner *t;
    ml_Proposal made;

    lua_getfield(p->s->L, PROGRAM, "search");
    t = ml_lua_to_tuner(p->s->L, -1);
    lua_settop(p->s->L, PROGRAM);
    for (int at = 0; at < first + n && p->r->failed < 3; at++) {
        fz_phase("a replay");
        if (!ml_tuner_propose(t, &made))
            break;
        watch(p, at);
        if (at >= first)
            test(p, at, &made);
        ml_proposal_free(&made);
    }
    p->r->refused_replays = ml_tuner_status(t)->failed[ML_PHASE_REPLAY];
}

void fz_space_run(FzSpace *s, uint64_t seed, int64_t k, int first, int n, FzSpaceResult *r,
                  ml_Text *out)
{
    Program p = {
        .s = s, .seed = seed, .k = k, .code = choose_code(seed, k), .r = r, .out = out};
    double begin = now();

    *r = (FzSpaceResult){.operator= "?", .line = "?"};
    watch(&p, 0);
    if (make(&p) && interpret(&p))
        test_all(&p, first, n);
    fz_phase("");
    if (p.cx) {
        ml_reference_free(p.expected);
        ml_inputs_free(p.initial, p.func->n_params);
        ml_ctx_unref(p.cx);
    }
    lua_settop(s->L, MAKE);
    lua_gc(s->L, LUA_GCCOLLECT, 0);
    r->seconds = now() - begin;
}
