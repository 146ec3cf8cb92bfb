/*
 * host_unknown - what is said of a name that is nothing: what is typed in its place, what of
 * the program or of help is called so, or the nearest name. Source: interaction 7.
 */
#include "repl/host/host_impl.h"

#include "moonloop/core/script/report.h"
#include "moonloop/primitives/habits.h"
#include "moonloop/primitives/names.h"
#include "repl/bind/bind.h"
#include "repl/command/command.h"

static void try_names(lua_State *L, ml_Nearest *near)
{
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING)
            ml_nearest_try(near, ml_str(lua_tostring(L, -2)));
    lua_pop(L, 1);
}

/* Names near to an undefined one: methods of schedules, primitives among them, globals,
 * commands with their colon. false: there is none. */
static bool add_near(ml_Host *h, const char *name, ml_Text *out)
{
    ml_Nearest near = ml_nearest_begin(ml_str(name));

    ml_host_push_methods(h->L);
    try_names(h->L, &near);
    lua_pushglobaltable(h->L);
    try_names(h->L, &near);
    size_t of_lua = near.distance;

    for (size_t k = 0; k < ml_n_commands; k++)
        if (ml_edit_distance(ml_str(name), ml_str(ml_commands[k].name), of_lua) < of_lua)
            ml_nearest_try(&near, ml_str(ml_commands[k].name));
    if (near.best.n)
        ml_text_fmt(out, "; did you mean %s%.*s?", near.distance < of_lua ? ":" : "",
                    (int)near.best.n, near.best.p);
    return near.best.n > 0;
}

/* What of the function worked on bears the name; false: nothing. Of several a loop goes
 * before a block, that before a buffer: they are what is typed. */
static bool add_of_program(ml_Host *h, const char *name, ml_Text *out)
{
    static const struct {
        const char *what, *before, *after;
    } SAYS[] = {
        [ML_BEARS_LOOP] = {"loop", ": split(\"", "\", {auto, 4})"},
        [ML_BEARS_BLOCK] = {"block", ": get_loops(\"", "\")"},
        [ML_BEARS_BUFFER] = {"buffer", ", or by :memory ", ""},
    };
    ml_Schedule *s = h->ss->focus;
    const ml_Func *f = s ? ml_schedule_func(s) : NULL;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_NamedItems all = {.cx = cx};
    size_t kind = ML_COUNT(SAYS);

    if (f)
        ml_named_items(&all, f);
    for (size_t k = 0; k < all.list.n; k++)
        if (all.list.v[k].kind < kind && ml_streq(ml_name_of(s, all.list.v[k].uid), name))
            kind = all.list.v[k].kind;
    if (kind < ML_COUNT(SAYS))
        ml_text_fmt(out, "; a %s is named in quotes%s%s%s", SAYS[kind].what,
                    SAYS[kind].before, name, SAYS[kind].after);
    ml_ctx_unref(cx);
    return kind < ML_COUNT(SAYS);
}

/* save("a.lua"), check --seed 3: a command without its colon; false: none has the name. */
static bool add_command(const char *name, ml_Text *out)
{
    for (size_t k = 0; k < ml_n_commands; k++)
        if (ml_streq(ml_commands[k].name, name)) {
            ml_text_fmt(out, "; a command begins with a colon: :%s%s%s", name,
                        *ml_commands[k].args ? " " : "", ml_commands[k].args);
            return true;
        }
    return false;
}

/* What help knows under that last part: workload.matmul(m, n, k [, opts]); false: nothing. */
static bool add_topic(ml_Host *h, const char *name, ml_Text *out)
{
    ml_HostTopic t;
    bool known = ml_host_topic(h, name, &t) && t.signature.n;

    if (known) {
        const char *sign = ml_text_z(&t.signature);

        if (strncmp(sign, "moon.workload", 13) == 0) /* a global, too */
            sign += 5;
        ml_text_fmt(out, "; did you mean %s?", sign);
    }
    ml_host_topic_free(&t);
    return known;
}

void ml_host_unknown(ml_Host *h, const char *name, bool called, ml_Text *out)
{
    const char *habit = ml_habit(name);

    ml_text_fmt(out, called ? "no function or primitive '%s'" : "nothing is named '%s'",
                name);
    if (habit) {
        ml_text_fmt(out, "; instead: %s", habit);
        return;
    }
    if (!add_of_program(h, name, out) && !add_command(name, out) &&
        !add_topic(h, name, out) && !add_near(h, name, out))
        ml_text_add(out, "; :help lists what there is");
}
