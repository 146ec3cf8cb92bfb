/* Design spaces: each sketch computes the same, whatever is decided. */
#include "lua_cases.h"

int main(void)
{
    return lua_cases_run("tests/lua/space");
}
