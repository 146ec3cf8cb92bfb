/* sketches - see sketches.h. */
#include "sketches.h"

#include <stdio.h>
#include <stdlib.h>

#include "moonloop/core/script/script.h"
#include "repl/bind/bind.h"

static const char code[] =
    "local moon, sets = ...\n"
    "local out = {}\n"
    "local rules = moon.tune.space{rules = nil}\n"
    "local function add(id)\n"
    "  local of, row = id:match('^(%w+):(.+)$')\n"
    "  local p = moon.workload(row or id)\n"
    "  local text = moon.schedule(p):script()\n"
    "  local space = of == 'rules' and rules or moon.space\n"
    "  for _, k in ipairs(space.sketches(p)) do\n"
    "    out[#out + 1] = {id .. ' ' .. k.name, text, k.schedule:trace():json(), k.post,\n"
    "      k.post and table.concat(k.post_names, ' ')}\n"
    "  end\n"
    "end\n"
    "for name in sets:gmatch('%S+') do\n"
    "  local ok, set = pcall(moon.workload.set, name)\n"
    "  if not ok then add(name) else for _, id in ipairs(set) do add(id) end end\n"
    "end\n"
    "return out\n";

struct Sketches {
    lua_State *L; /* the list is its only value */
};

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "sketches: %s\n", what);
    exit(1);
}

Sketches *sketches_of(const char *sets)
{
    Sketches *v = calloc(1, sizeof *v);
    lua_State *L = luaL_newstate();

    check(v && L, "out of memory");
    luaL_openlibs(L);
    check(luaL_loadstring(L, code) == LUA_OK, "the code");
    ml_lua_open(L);
    lua_pushvalue(L, -1);
    lua_setglobal(L, "moon");
    lua_pushstring(L, sets);
    if (lua_pcall(L, 2, 1, 0) != LUA_OK)
        check(false, luaL_tolstring(L, -1, NULL));
    v->L = L;
    return v;
}

size_t sketches_count(const Sketches *v)
{
    return (size_t)lua_rawlen(v->L, 1);
}

OneSketch sketch_open(Sketches *v, size_t k)
{
    const ml_ParseOpts po = {.spelling = -1};
    OneSketch s = {.cx = ml_ctx_new(0)};
    const char *text[3];

    lua_rawgeti(v->L, 1, (lua_Integer)k + 1);
    for (int m = 0; m < 3; m++) {
        lua_rawgeti(v->L, -1, m + 1);
        text[m] = ml_strdup(s.cx, ml_str(lua_tostring(v->L, -1)));
        lua_pop(v->L, 1);
    }
    lua_pop(v->L, 1);
    s.name = text[0];

    ml_Parsed p = ml_parse(s.cx, ml_str(text[1]), &po);

    check(p.mod != NULL, "a program that is not read");
    check(ml_trace_from_json(s.cx, ml_str(text[2]), &s.trace), "a trace that is not read");
    s.L = v->L;
    s.k = k;
    lua_rawgeti(v->L, 1, (lua_Integer)k + 1);
    lua_rawgeti(v->L, -1, 5);
    for (const char *z = lua_tostring(v->L, -1); z && *z; s.n_posts++) {
        size_t n = strcspn(z, " ");

        s.posts[s.n_posts] = ml_strdup(s.cx, (ml_Str){z, n});
        z += n + (z[n] == ' ');
    }
    lua_pop(v->L, 2);
    s.start = ml_schedule_new(
        s.cx, p.mod,
        &(ml_ScheduleOpts){.func = p.mod->funcs[0]->name, .render = ML_RENDER_NONE}, NULL);
    check(s.start != NULL, "no schedule");
    return s;
}

bool sketch_post(ml_Schedule *s, void *user)
{
    const OneSketch *of = user;
    lua_State *L = of->L;

    lua_rawgeti(L, 1, (lua_Integer)of->k + 1);
    lua_rawgeti(L, -1, 4);
    ml_lua_push_schedule(L, ml_schedule_ref(s));
    bool ok = lua_pcall(L, 1, 1, 0) == LUA_OK && lua_toboolean(L, -1);

    lua_settop(L, 1);
    lua_gc(L, LUA_GCSTEP, 100);
    return ok;
}

void sketch_close(OneSketch *s)
{
    ml_schedule_unref(s->start);
    ml_ctx_unref(s->cx);
}

void sketches_free(Sketches *v)
{
    lua_close(v->L);
    free(v);
}
