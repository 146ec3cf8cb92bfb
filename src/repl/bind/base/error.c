/*
 * error - failures as Lua objects: code, sentence, names and numbers, ways out.
 *
 * The object owns an ml_Failure; text and suggestions are worked out when they are looked
 * at. It remembers where the Lua code stood. Source: lua-api 1, interaction 7.
 */
#include "repl/bind/base/base.h"

#include <stdarg.h>
#include <stdio.h>

enum { MAX_FRAMES = 6 };

typedef struct Frame {
    char src[LUA_IDSIZE];
    char name[32]; /* of the function, or "" */
    int line;
} Frame;

typedef struct BindError {
    ml_Failure *f;
    int n_frames;
    Frame frames[MAX_FRAMES];
} BindError; /* uservalue 1: rendered diagnostics, or nil */

static BindError *new_error(lua_State *L)
{
    return bind_new(L, &bind_error_class, sizeof(BindError), 1);
}

/* Where the Lua functions on the call stack stand, innermost first. */
static void note_frames(lua_State *L, BindError *e)
{
    lua_Debug ar;

    for (int level = 0; e->n_frames < MAX_FRAMES && lua_getstack(L, level, &ar); level++) {
        Frame *f = &e->frames[e->n_frames];

        if (!lua_getinfo(L, "nSl", &ar) || ar.currentline <= 0)
            continue;
        snprintf(f->src, sizeof f->src, "%s", ar.short_src);
        snprintf(f->name, sizeof f->name, "%s", ar.name ? ar.name : "");
        f->line = ar.currentline;
        e->n_frames++;
    }
}

void bind_throw(lua_State *L)
{
    lua_error(L);
    ML_ASSERT(!"lua_error comes back");
}

/* The object is on top. A raised interruption is answered: the flag goes back. */
static _Noreturn void throw(lua_State * L, BindError *e)
{
    BindState *st = bind_state(L);

    if (st && st->interrupt && *st->interrupt != ML_INTERRUPT_HARD &&
        ml_failure_code(e->f) == ML_E_INTERRUPTED)
        *st->interrupt = 0;
    note_frames(L, e);
    bind_throw(L);
}

int bind_raise(lua_State *L, ml_Ctx *cx)
{
    BindError *e = new_error(L);

    if (!ml_error(cx))
        ml_fail(cx, ML_E_LUA_ERROR, ML_TEXT("the call failed without a reason"));
    e->f = ml_failure_from(ml_error(cx));
    if (!ml_ctx_frozen(cx)) {
        ml_error_clear(cx);
        ml_ctx_clear_marks(cx);
    }
    throw(L, e);
}

/* For a child of a schedule's or module's context: it ends here and not when Lua comes
 * round to collect its box, since nothing can be done to the program meanwhile. */
int bind_raise_box(lua_State *L, ml_Ctx **box)
{
    BindError *e = new_error(L);

    if (!ml_error(*box))
        ml_fail(*box, ML_E_LUA_ERROR, ML_TEXT("the call failed without a reason"));
    e->f = ml_failure_from(ml_error(*box));
    ml_ctx_unref(*box);
    *box = NULL;
    throw(L, e);
}

static BindError *push_failure(lua_State *L, ml_Schedule *s)
{
    BindError *e = new_error(L);

    e->f = ml_failure_take(s);
    if (!e->f)
        ml_lua_fail(L, ML_E_LUA_ERROR, "the call failed without a reason");
    return e;
}

int bind_raise_schedule(lua_State *L, ml_Schedule *s)
{
    throw(L, push_failure(L, s));
}

void bind_push_failure(lua_State *L, ml_Schedule *s)
{
    push_failure(L, s);
}

int bind_raise_parse(lua_State *L, ml_Ctx *cx, const ml_Parsed *parsed, ml_Str source)
{
    BindError *e = new_error(L);
    ml_Text *t = bind_text(L);

    for (size_t k = 0; k < parsed->n_diags; k++) {
        if (k > 0)
            ml_text_char(t, '\n');
        ml_diag_print(t, &parsed->diags[k], source);
    }
    while (t->n > 0 && t->p[t->n - 1] == '\n')
        t->p[--t->n] = '\0';
    if (!ml_error(cx))
        ml_fail(cx, ML_E_BAD_ARGUMENT, ML_TEXT("the text cannot be read"));
    e->f = ml_failure_from(ml_error(cx));
    ml_error_clear(cx);
    ml_ctx_clear_marks(cx);
    if (t->n > 0) {
        bind_push_text(L, t);
        lua_setiuservalue(L, -3, 1);
    }
    lua_pop(L, 1);
    throw(L, e);
}

static _Noreturn void fail_text(lua_State *L, ml_ErrorCode code, const char *text)
{
    BindError *e = new_error(L);
    ml_Ctx *cx = bind_scratch(L);

    ml_fail(cx, code, ML_TEXT(text));
    e->f = ml_failure_from(ml_error(cx));
    bind_scratch_done(L, -1);
    lua_pop(L, 1);
    throw(L, e);
}

int ml_lua_fail(lua_State *L, ml_ErrorCode code, const char *fmt, ...)
{
    char text[600];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fail_text(L, code, text);
}

int bind_bad(lua_State *L, const char *fmt, ...)
{
    char text[600];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fail_text(L, ML_E_BAD_ARGUMENT, text);
}

void bind_call(lua_State *L, int n_args, int n_results, const char *what)
{
    int status = lua_pcall(L, n_args, n_results, 0);

    if (status == LUA_OK)
        return;
    if (status == LUA_ERRMEM || bind_test(L, -1, &bind_error_class))
        bind_throw(L);
    if (lua_type(L, -1) == LUA_TSTRING)
        bind_bad(L, "%s fails: %s", what, lua_tostring(L, -1));
    bind_bad(L, "%s raises %s", what, bind_type(L, -1));
}

/* ---- looking at one */

static void push_frames(lua_State *L, const BindError *e)
{
    lua_createtable(L, e->n_frames, 0);
    for (int k = 0; k < e->n_frames; k++) {
        lua_createtable(L, 0, 3);
        bind_set_string(L, "source", e->frames[k].src);
        bind_set_int(L, "line", e->frames[k].line);
        if (e->frames[k].name[0]) {
            bind_set_string(L, "name", e->frames[k].name);
        }
        lua_rawseti(L, -2, k + 1);
    }
}

/* Printed as its call. */
static int suggestion_tostring(lua_State *L)
{
    lua_getfield(L, 1, "call");
    return 1;
}

static void name_suggestions(lua_State *L)
{
    for (lua_Integer k = 1, n = luaL_len(L, -1); k <= n; k++) {
        lua_rawgeti(L, -1, k);
        if (luaL_newmetatable(L, "moonloop.suggestion")) {
            lua_pushcfunction(L, suggestion_tostring);
            lua_setfield(L, -2, "__tostring");
        }
        lua_setmetatable(L, -2);
        lua_pop(L, 1);
    }
}

static bool error_get(lua_State *L, const char *key)
{
    BindError *e = bind_check(L, 1, &bind_error_class);

    if (!e->f)
        return false;
    if (ml_streq(key, "frames")) {
        push_frames(L, e);
        return true;
    }
    if (!bind_push_fact(L, &ml_error_fields, key,
                        &(ml_ErrorRow){.f = e->f, .suggestions = true}))
        return false;
    if (ml_streq(key, "suggestions"))
        name_suggestions(L);
    return true;
}

static int error_tostring(lua_State *L)
{
    BindError *e = bind_check(L, 1, &bind_error_class);

    if (!e->f) {
        lua_pushliteral(L, "error");
        return 1;
    }
    if (lua_getiuservalue(L, 1, 1) == LUA_TSTRING)
        return 1;
    ml_Text *t = bind_text(L);

    ml_failure_render(e->f, t, &(ml_RenderOpts){0});
    return bind_give_text(L, t);
}

static int error_gc(lua_State *L)
{
    BindError *e = lua_touserdata(L, 1);

    ml_failure_free(e->f);
    e->f = NULL;
    return 0;
}

/* The session may still tell of the error: it goes when nobody has it any more. */
static int error_close(lua_State *L)
{
    (void)L;
    return 0;
}

static const luaL_Reg error_meta[] = {{"__tostring", error_tostring},
                                      {"__gc", error_gc},
                                      {"__close", error_close},
                                      {NULL, NULL}};
static const char *const error_fields[] = {
    "code",    "family",    "message", "primitive", "loops", "blocks", "buffers", "numbers",
    "element", "instances", "place",   "places",    "notes", "rule",   "frames",  NULL};
const BindClass bind_error_class = {
    .name = "moonloop.error",
    .meta = error_meta,
    .fields = error_fields,
    .get = error_get,
};

ml_Failure *ml_lua_to_failure(lua_State *L, int idx)
{
    BindError *e = bind_test(L, idx, &bind_error_class);

    return e ? e->f : NULL;
}

const char *ml_lua_failure_text(lua_State *L, int idx)
{
    const char *z = NULL;

    if (!bind_test(L, idx, &bind_error_class))
        return NULL;
    if (lua_getiuservalue(L, idx, 1) == LUA_TSTRING)
        z = lua_tostring(L, -1); /* kept by the object */
    lua_pop(L, 1);
    return z;
}

const char *ml_lua_failure_frame(lua_State *L, int idx, size_t k, const char **name,
                                 int *line)
{
    BindError *e = bind_test(L, idx, &bind_error_class);

    if (!e || k >= (size_t)e->n_frames)
        return NULL;
    *name = e->frames[k].name;
    *line = e->frames[k].line;
    return e->frames[k].src;
}
