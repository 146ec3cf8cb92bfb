/*
 * host_unknown - what is said of a name that is nothing: what is typed in its place, what of
 * the program or of help is called so, or the nearest name. Source: interaction 7.
 */
#include "repl/host/host_impl.h"

#include <stdio.h>

#include "moonloop/core/script/report.h"
#include "moonloop/primitives/habits.h"
#include "moonloop/primitives/names.h"
#include "repl/bind/bind.h"
#include "repl/command/command.h"

/* The name in the table on top that is nearest, when it is nearer than *best; of equals the
 * first by spelling: the order of a table is none. */
static void nearest_in(lua_State *L, const char *name, size_t *best, char *buf, size_t n)
{
    size_t before = *best;

    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            continue;
        const char *other = lua_tostring(L, -2);
        size_t d = ml_edit_distance(ml_str(name), ml_str(other), *best + 1);

        if (d < *best || (d == *best && d < before && strcmp(other, buf) < 0)) {
            *best = d;
            snprintf(buf, n, "%s", other);
        }
    }
}

/* Names near to an undefined one: primitives, other methods of schedules, globals, commands.
 * Of few letters two may not be wrong. */
static const char *near_name(ml_Host *h, const char *name, char *buf, size_t n)
{
    size_t best = strlen(name) < 4 ? 2 : 3;

    buf[0] = '\0';
    for (size_t k = 0; k < ml_n_primitives; k++) {
        size_t d = ml_edit_distance(ml_str(name), ml_str(ml_primitives[k]->name), best);

        if (d < best) {
            best = d;
            snprintf(buf, n, "%s", ml_primitives[k]->name);
        }
    }
    ml_host_push_methods(h->L);
    nearest_in(h->L, name, &best, buf, n);
    lua_pushglobaltable(h->L);
    nearest_in(h->L, name, &best, buf, n);
    lua_pop(h->L, 2);
    for (size_t k = 0; k < ml_n_commands; k++) {
        size_t d = ml_edit_distance(ml_str(name), ml_str(ml_commands[k].name), best);

        if (d < best) {
            best = d;
            snprintf(buf, n, ":%s", ml_commands[k].name);
        }
    }
    return buf[0] ? buf : NULL;
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
    const char *habit = ml_habit(name), *other;
    char near[80];

    ml_text_fmt(out, called ? "no function or primitive '%s'" : "nothing is named '%s'",
                name);
    if (habit) {
        ml_text_fmt(out, "; instead: %s", habit);
        return;
    }
    if (add_of_program(h, name, out) || add_topic(h, name, out))
        return;
    other = near_name(h, name, near, sizeof near);
    ml_text_fmt(out, "; %s%s", other ? "did you mean " : ":help lists what there is",
                other ? other : "");
    ml_text_add(out, other ? "?" : "");
}
