/* program_index - indices made of what is loaded: alone, scaled, shifted, clamped, of two
 * loads. The trial's arguments are small, so that each of them stays inside. */
#include "program_impl.h"

void fz_loaded_index(Gen *g, const char *load, int v, int extent, bool small, char *out,
                     size_t n)
{
    switch (below(g, small && extent >= 5 ? 8 : 6)) {
    case 0: fz_put(out, n, "(%s * %d + 7) %% %d", load, 2 + below(g, 4), extent); break;
    case 1: fz_put(out, n, "(%s + v%d + 2) %% %d", load, v, extent); break;
    case 2: fz_put(out, n, "T.min(T.max(%s, 0), %d)", load, extent - 1); break;
    case 3: fz_put(out, n, "(%s * %s) %% %d", load, load, extent); break;
    case 6: fz_put(out, n, "%s + 2", load); break;
    case 7: fz_put(out, n, "%d - %s", extent - 3, load); break;
    default: fz_put(out, n, "(%s + 2) %% %d", load, extent); break;
    }
}
