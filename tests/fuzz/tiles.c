/* tiles - updates in place, of which a tile may be made an intrinsic's: its result is one
 * of its operands then. */
#include "program_impl.h"

void fz_update_inplace(Gen *g, int out, int in, const char *at)
{
    Buf *b = &g->bufs[out];
    char num[40];

    if (g->n_bufs < MAX_BUFS - 6 && below(g, 2)) {
        int with = fz_new_buf(g, true, b->dtype, b->dims, b->rank, 2);

        b = &g->bufs[out];
        if (below(g, 2))
            fz_line(g, in, "%s[%s] = %s[%s] + %s[%s]", b->name, at, b->name, at,
                    g->bufs[with].name, at);
        else
            fz_line(g, in, "%s[%s] = %s[%s] + %s[%s]", b->name, at, g->bufs[with].name, at,
                    b->name, at);
        b->mag += 2;
        return;
    }
    fz_line(g, in, "%s[%s] = %s[%s] + %s", b->name, at, b->name, at,
            fz_literal(b->dtype, 1, num));
    b->mag++;
}
