/* host_view - what Lua says to the visualiser: bind_key, theme. Source: interaction 10. */
#include "repl/host/host_impl.h"

#include <stdlib.h>

#include "repl/bind/bind.h"
#include "repl/session/themes.h"
#include "repl/view/keys/keymap.h"

static void end_keymap(void *user, ml_Session *ss)
{
    (void)user;
    ml_keymap_free(ss->keymap);
    ss->keymap = NULL;
}

static const ml_Observer KEYMAP = {.name = "keymap", .on_end = end_keymap};

/* bind_key(pane, key, request) */
int ml_host_bind_key(lua_State *L)
{
    ml_Host *h = ml_host_of(L);
    const char *word[3];
    ml_Text *why = bind_text(L);

    for (int k = 0; k < 3; k++) {
        if (lua_type(L, k + 1) != LUA_TSTRING)
            return bind_bad(
                L,
                "bind_key takes the pane, the key and the request as strings, "
                "as in bind_key(\"loops\", \"s\", \"split\"); argument %d is %s",
                k + 1, bind_type(L, k + 1));
        word[k] = lua_tostring(L, k + 1);
    }
    ml_session_observe(h->ss, &KEYMAP);
    if (!ml_keymap_bind(&h->ss->keymap, word[0], word[1], word[2], why))
        return bind_bad(L, "%s", ml_text_z(why));
    return 0;
}

static int by_role(const void *a, const void *b)
{
    return strcmp(((const struct ml_RoleLook *)a)->role,
                  ((const struct ml_RoleLook *)b)->role);
}

/* The entries of the table but name and base, in the order of their names. */
static size_t read_looks(lua_State *L, struct ml_RoleLook *v, size_t room)
{
    size_t n = 0;

    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;

        if (!key)
            bind_bad(L,
                     "theme takes one table by name, as in theme{name = \"mine\", base = "
                     "\"light\", [\"loop.parallel\"] = \"bold #c04000\"}; a key is %s",
                     bind_type(L, -2));
        if (lua_type(L, -1) != LUA_TSTRING)
            bind_bad(L, "theme: %s is a string, not %s", key, bind_type(L, -1));
        if (ml_streq(key, "name") || ml_streq(key, "base"))
            continue;
        if (n == room)
            bind_bad(L, "theme: more looks than there are roles");
        v[n++] = (struct ml_RoleLook){key, lua_tostring(L, -1)};
    }
    qsort(v, n, sizeof *v, by_role); /* errors do not depend on the order in the table */
    return n;
}

/* theme{name = , base = , [role] = look, ...} */
int ml_host_theme(lua_State *L)
{
    struct ml_RoleLook v[2 * ML_N_ROLES];
    ml_Text *why = bind_text(L);
    size_t n;

    bind_table(L, 1, "theme");
    n = read_looks(L, v, ML_COUNT(v));
    lua_getfield(L, 1, "name");
    lua_getfield(L, 1, "base");
    if (lua_type(L, -2) != LUA_TSTRING)
        return bind_bad(L, "theme wants a name: theme{name = \"mine\", ...}");
    if (!ml_themes_define(ml_host_of(L)->ss, lua_tostring(L, -2), lua_tostring(L, -1), v, n,
                          why))
        return bind_bad(L, "theme: %s", ml_text_z(why));
    return 0;
}
