/*
 * binary - the header, and the way from a program to bytes and back.
 *
 * The header is of fixed numbers, the lowest byte first: a mark, the version of the layout,
 * a hash of the tables of nodes (their order is that of the numbers), the checksum of what
 * follows it, the counts of nodes and statements, the length of the nodes.
 */
#include "moonloop/core/binary/binary.h"

#include "moonloop/core/binary/binary_impl.h"
#include "moonloop/core/error.h"

#include <inttypes.h>

enum { VERSION = 1, HEADER = 36, SUMMED = 20 }; /* bytes; those before are not summed up */
static const uint8_t mark[4] = {'m', 'l', 'P', 0x1a};

/* The names of what is written as a number. */
static const char tables[] =
#define ML_EXPR(NAME, ...) #NAME " "
#include "moonloop/core/expr.def"
#undef ML_EXPR
#define ML_OP(ID, ...) #ID " "
#include "moonloop/core/ops.def"
#undef ML_OP
    ;

static uint64_t sum_of(const void *v, size_t n)
{
    return ml_fnv(ML_FNV, v, n);
}

static void put_fixed(uint8_t *at, uint64_t v, size_t n)
{
    for (size_t k = 0; k < n; k++)
        at[k] = (uint8_t)(v >> 8 * k);
}

static uint64_t get_fixed(const uint8_t *at, size_t n)
{
    uint64_t v = 0;

    for (size_t k = 0; k < n; k++)
        v |= (uint64_t)at[k] << 8 * k;
    return v;
}

/* ---------------------------------------------------------------- writing */

ml_Binary ml_binary_write(ml_Ctx *cx, const ml_Module *m, bool lines)
{
    ml_BinaryIo io = {.lines = lines};
    uint8_t *v;
    size_t n;

    io.cx = ml_ctx_new(0); /* of the tables; the program's own may be frozen */
    ml_binary_put(&io, m);
    if (io.out.bad)
        ml_out_of_memory();
    n = HEADER + io.out.n;
    v = ml_alloc(cx, n);
    memcpy(v, mark, sizeof mark);
    put_fixed(v + 4, VERSION, 4);
    put_fixed(v + 8, sum_of(tables, sizeof tables) & UINT32_MAX, 4);
    put_fixed(v + 20, io.n, 4);
    put_fixed(v + 24, lines ? UINT32_MAX : io.n_ordinals, 4);
    put_fixed(v + 28, io.out.n, 8);
    memcpy(v + HEADER, io.out.p, io.out.n);
    put_fixed(v + 12, sum_of(v + SUMMED, n - SUMMED), 8);
    ml_text_free(&io.out);
    ml_ctx_unref(io.cx);
    return (ml_Binary){v, n};
}

/* ---------------------------------------------------------------- reading */

/* Why the bytes are no program of this build; NULL: they are. */
static const char *wrong_header(ml_Ctx *cx, ml_Binary b)
{
    uint64_t n;

    if (b.n < sizeof mark || memcmp(b.v, mark, sizeof mark) != 0)
        return "it does not begin as one";
    if (b.n < HEADER)
        return ml_format(cx, "it is cut off: there are %zu bytes of %d and more", b.n,
                         HEADER);
    if (get_fixed(b.v + 4, 4) != VERSION)
        return ml_format(cx, "it is of version %" PRIu64 ", this build reads %d",
                         get_fixed(b.v + 4, 4), VERSION);
    if (get_fixed(b.v + 8, 4) != (sum_of(tables, sizeof tables) & UINT32_MAX))
        return "a build with other nodes wrote it";
    n = get_fixed(b.v + 28, 8);
    if (n != b.n - HEADER)
        return ml_format(cx, "it is cut off: there are %zu bytes of %" PRIu64, b.n - HEADER,
                         n);
    if (get_fixed(b.v + 12, 8) != sum_of(b.v + SUMMED, b.n - SUMMED))
        return "it is damaged: its checksum is that of other bytes";
    if (get_fixed(b.v + 20, 4) > n)
        return "it is damaged: it has fewer bytes than nodes";
    return NULL;
}

static bool refuse(ml_Ctx *cx, const char *why)
{
    return ml_fail(cx, ML_E_ILL_FORMED,
                   ML_TEXT(ml_format(cx, "the binary program cannot be read: %s", why)));
}

static const char *get_nodes(ml_BinaryIo *io)
{
    while (io->n < io->n_nodes)
        if (!ml_binary_get(io))
            return io->bad;
    if (io->at != io->end)
        return "there are more bytes than nodes";
    return io->n > 0 && io->nodes[io->n - 1].is == ML_BINARY_MODULE
               ? NULL
               : "it does not end with a module";
}

bool ml_binary_read(ml_Ctx *cx, ml_Binary b, const char *file, ml_BinaryRead *out)
{
    ml_BinaryIo io = {.cx = cx, .mode = ML_BINARY_GET, .v = b.v, .at = HEADER, .end = b.n};
    const char *why = wrong_header(cx, b);

    *out = (ml_BinaryRead){0};
    if (why)
        return refuse(cx, why);
    io.file = ml_strdup(cx, ml_str(file));
    io.n_nodes = (uint32_t)get_fixed(b.v + 20, 4);
    io.n_ordinals_said = (uint32_t)get_fixed(b.v + 24, 4);
    io.lines = io.n_ordinals_said == UINT32_MAX;
    if (!io.lines && io.n_ordinals_said > io.n_nodes)
        return refuse(cx, "it is damaged: it has fewer nodes than statements");
    io.nodes = ML_ARRAY(cx, ml_BinaryNode, io.n_nodes + 1u);
    if (!io.lines)
        io.ordinals = ML_ARRAY(cx, ml_Span, io.n_ordinals_said + 1u);
    why = get_nodes(&io);
    if (why)
        return refuse(cx, ml_format(cx, "it is damaged at node %u: %s", io.n, why));
    if (!ml_ok_or_fail(cx))
        return false;
    *out = (ml_BinaryRead){io.nodes[io.n - 1].p, io.ordinals, io.n_ordinals};
    return true;
}
