/* Workloads: figures, references, arguments. */
#include "lua_cases.h"

int main(void)
{
    return lua_cases_run("tests/lua/workload");
}
