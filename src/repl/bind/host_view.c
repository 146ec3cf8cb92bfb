/* host_view - what Lua says to the visualiser: bind_key. Source: interaction 10. */
#include "repl/bind/host_impl.h"

#include "repl/bind/bind.h"
#include "repl/view/keymap.h"

/* bind_key(pane, key, request) */
int ml_host_bind_key(lua_State *L)
{
    ml_Host *h = ml_host_of(L);
    const char *word[3];
    ml_Text *why = bind_text(L);

    for (int k = 0; k < 3; k++) {
        if (lua_type(L, k + 1) != LUA_TSTRING)
            return ml_lua_fail(
                L, ML_E_BAD_ARGUMENT,
                "bind_key takes the pane, the key and the request as strings, "
                "as in bind_key(\"loops\", \"s\", \"split\"); argument %d is %s",
                k + 1, bind_type(L, k + 1));
        word[k] = lua_tostring(L, k + 1);
    }
    if (!ml_keymap_bind(h->ss, word[0], word[1], word[2], why))
        return ml_lua_fail(L, ML_E_BAD_ARGUMENT, "%s", ml_text_z(why));
    return 0;
}
