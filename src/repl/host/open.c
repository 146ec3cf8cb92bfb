/*
 * host_open - programs become the focus: from a file by its suffix, from a text that was
 * typed or pasted, with what the reader wants to tell of it. Source: interaction 4, 6.
 */
#include "repl/host/host_impl.h"

#include "moonloop/primitives/tokens.h"
#include "repl/bind/bind.h"
#include "repl/host/python.h"

/* ---- what the reader wants to tell */

typedef struct Warned { /* warning[W103]: SAID\n --> FILE:LINE:COLUMN\n ... */
    ml_Str said, at, file, line;
} Warned;

static bool read_warning(const char *z, Warned *w)
{
    const char *said = z ? strstr(z, "]: ") : NULL,
               *at = said ? strstr(said, "--> ") : NULL;
    const char *colon[2] = {NULL, NULL}; /* the last two */

    if (!at)
        return false;
    said += 3;
    at += 4;
    *w = (Warned){.said = {said, strcspn(said, "\n")}, .at = {at, strcspn(at, "\n")}};
    for (const char *p = at; p < at + w->at.n; p++)
        if (*p == ':') {
            colon[0] = colon[1];
            colon[1] = p;
        }
    if (!colon[0])
        return false;
    w->file = (ml_Str){at, (size_t)(colon[0] - at)};
    w->line = (ml_Str){colon[0] + 1, (size_t)(colon[1] - colon[0] - 1)};
    return true;
}

/* Of the module on the top. Other Python is told in one line; of the rest the first ones. */
static void tell_warnings(lua_State *L)
{
    enum { LINES = 8, SHOWN = 3 };
    ml_Out *out = &ml_host_of(L)->ss->out;
    ml_Text file = {0}, lines = {0};
    lua_Integer n = 0, over = 0, other = 0;

    if (lua_getfield(L, -1, "warnings") == LUA_TTABLE)
        n = luaL_len(L, -1);
    for (lua_Integer k = 1; k <= n; k++) {
        Warned w;

        lua_rawgeti(L, -1, k);
        if (read_warning(lua_tostring(L, -1), &w)) {
            bool skipped = strncmp(w.said.p, "skipped", 7) == 0;

            if (skipped && over++ == 0)
                ml_text_addn(&file, w.file.p, w.file.n);
            if (skipped && over <= LINES)
                ml_text_fmt(&lines, "%s%.*s", over == 1 ? " " : ", ", (int)w.line.n,
                            w.line.p);
            if (!skipped && other++ < SHOWN)
                ml_err_say(out, "warning: %.*s: %.*s", (int)w.at.n, w.at.p, (int)w.said.n,
                           w.said.p);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    if (over > LINES)
        ml_text_fmt(&lines, " and %lld more", (long long)(over - LINES));
    if (over)
        ml_err_say(out, "note: other Python in %s was passed over: line%s%s",
                   ml_text_z(&file), over == 1 ? "" : "s", ml_text_z(&lines));
    if (other > SHOWN)
        ml_err_say(out, "warning: %lld more; moon.open(\"FILE\").warnings has them",
                   (long long)(other - SHOWN));
    ml_text_free(&file);
    ml_text_free(&lines);
}

/* ---- opening */

/* "examples/matmul.py" -> "matmul" */
static void push_stem(lua_State *L, const char *path)
{
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
    const char *dot = strrchr(from, '.');

    lua_pushlstring(L, from, dot && dot > from ? (size_t)(dot - from) : strlen(from));
}

/* moon.NAME(text), and moon.schedule of what it gives when that is a module. */
static int l_open(lua_State *L)
{
    const char *fn = lua_tostring(L, 1);

    ml_host_push_moon(L);
    bool file = ml_streq(fn, "open");

    lua_getfield(L, -1, fn);
    lua_pushvalue(L, 2);
    lua_createtable(L, 0, 1);
    bind_set_bool(L, "file_mode", true); /* other Python may stand around what is pasted */
    lua_call(L, 2, 1);
    if (!ml_lua_to_schedule(L, -1)) {
        tell_warnings(L);
        lua_getfield(L, -2, "schedule");
        lua_insert(L, -2);
        if (file) { /* named after the file: the function is `main` in most */
            lua_createtable(L, 0, 1);
            push_stem(L, lua_tostring(L, 2));
            lua_setfield(L, -2, "name");
        }
        lua_call(L, file ? 2 : 1, 1);
    }
    ml_session_focus(ml_host_of(L)->ss, ml_lua_to_schedule(L, -1));
    return 0;
}

/* Whether there are lines of a schedule in it, and no program. */
bool ml_host_is_python(const char *text)
{
    unsigned habits;
    ml_Text lua = {0};
    ml_PythonIs is = ml_python_read(text, &lua, &habits);
    bool yes = (is == ML_PYTHON_IS || is == ML_PYTHON_DEFINES) && lua.n > 0;

    ml_text_free(&lua);
    return yes;
}

/* Whether the text, read strictly, lacks a program and nothing else. */
static bool is_preamble(ml_Host *h, const char *text)
{
    lua_State *L = h->L;
    int top = lua_gettop(L);

    ml_host_push_moon(L);
    lua_getfield(L, -1, "parse");
    lua_pushstring(L, text);
    bool ok = ml_host_call(h, 1, 0) == LUA_OK;
    const ml_Failure *f = ok ? NULL : ml_lua_to_failure(L, -1);
    bool yes = f && ml_failure_code(f) == ML_E_E612;

    lua_settop(L, top);
    return yes;
}

/* Where behind a program the lines of a schedule begin, which a copied script has; its end
 * when there are none. */
static const char *behind_program(const char *text)
{
    bool program = false;

    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        program |= *p == '@' || strncmp(p, "class ", 6) == 0;
        if (program && ml_is_name_char(*p) && strncmp(p, "class ", 6) != 0 &&
            strncmp(p, "def ", 4) != 0 && ml_host_is_python(p))
            return p;
    }
    return text + strlen(text);
}

/* The program on top of what stands before it; false: an error was printed. */
static bool open_program(ml_Host *h, ml_Str text)
{
    lua_State *L = h->L;
    ml_Text whole = {0};

    ml_text_addn(&whole, ml_text_z(&h->preamble), h->preamble.n);
    ml_text_addn(&whole, text.p, text.n);
    lua_pushcfunction(L, l_open);
    lua_pushliteral(L, "parse");
    lua_pushstring(L, ml_text_z(&whole));
    bool ok = ml_host_call(h, 2, 0) == LUA_OK;
    const ml_Failure *f = ok ? NULL : ml_lua_to_failure(L, -1);

    bool none = f && ml_failure_code(f) == ML_E_E612;

    if (none && is_preamble(h, ml_text_z(&whole))) {
        lua_pop(L, 1);
        ok = true;
        ml_text_clear(&h->preamble);
        ml_text_fmt(&h->preamble, "%s\n", ml_text_z(&whole));
        if (strstr(text.p, "import "))
            ml_err_say(&h->ss->out,
                       "note: no program yet; these lines stand before the next ones");
    } else if (!ok) {
        ml_host_report(h, true);
        if (none && memchr(text.p, '\n', text.n))
            ml_err_say(&h->ss->out,
                       "note: these lines were read as one program; none of them was run");
    }
    ml_text_free(&whole);
    return ok;
}

bool ml_host_open_text(ml_Host *h, const char *text)
{
    if (ml_host_is_python(text)) /* imports, and steps behind them */
        return ml_host_eval(h, text);
    const char *steps = behind_program(text);

    return open_program(h, (ml_Str){text, (size_t)(steps - text)}) &&
           (!*steps || ml_host_eval(h, steps));
}

/* A script that returns a schedule, which is the focus then. */
static bool open_script(ml_Host *h, const char *path)
{
    bool returned = false;

    if (!ml_host_run_script(h, path, 0, NULL, &returned))
        return false;
    return returned ||
           ml_session_error(h->ss, ML_E_BAD_FILE,
                            "%s was run, but it returns no schedule; :save FILE.lua writes "
                            "scripts that do",
                            path);
}

bool ml_host_open(ml_Host *h, const char *path)
{
    const char *dot = strrchr(path, '.');

    if (dot && ml_streq(dot, ".lua"))
        return open_script(h, path);
    lua_pushcfunction(h->L, l_open);
    lua_pushliteral(h->L, "open");
    lua_pushstring(h->L, path);
    bool ok = ml_host_run(h, 2, 0, true);

    if (ok)
        ml_session_saved(h->ss, h->ss->focus);
    return ok;
}
