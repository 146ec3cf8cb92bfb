/*
 * binary_bytes - numbers, texts and dtypes as bytes, in both directions.
 *
 * Numbers are written 7 bits at a time, the lowest first; texts with their length.
 */
#include "moonloop/core/binary/binary_impl.h"

void ml_bin_bad(ml_BinaryIo *io, const char *what)
{
    if (!io->bad)
        io->bad = what;
    io->at = io->end;
}

static uint8_t get_byte(ml_BinaryIo *io)
{
    if (io->at < io->end)
        return io->v[io->at++];
    ml_bin_bad(io, "a field is missing");
    return 0;
}

void ml_bin_number(ml_BinaryIo *io, uint64_t *v)
{
    char bytes[10];
    size_t n = 0;
    uint64_t rest = *v;
    uint8_t byte = 0x80;

    if (io->mode == ML_BINARY_VISIT)
        return;
    if (io->mode == ML_BINARY_PUT) {
        bool fits = io->out.n + sizeof bytes < io->out.cap;
        char *to = fits ? io->out.p + io->out.n : bytes;

        for (; rest >= 0x80; rest >>= 7)
            to[n++] = (char)(rest | 0x80);
        to[n++] = (char)rest;
        if (fits)
            io->out.n += n;
        else
            ml_text_addn(&io->out, bytes, n);
        return;
    }
    *v = 0;
    for (unsigned shift = 0; byte & 0x80 && shift < 64; shift += 7) {
        byte = get_byte(io);
        *v |= (uint64_t)(byte & 0x7f) << shift;
    }
}

/* A number up to `most`. */
uint64_t ml_bin_bounded(ml_BinaryIo *io, uint64_t v, uint64_t most)
{
    ml_bin_number(io, &v);
    if (v <= most)
        return v;
    ml_bin_bad(io, "a number is too large");
    return 0;
}

void ml_bin_flag(ml_BinaryIo *io, bool *b)
{
    ML_BIN_NUMBER(io, *b, 1);
}

void ml_bin_integer(ml_BinaryIo *io, int64_t *v)
{
    uint64_t u = (uint64_t)*v << 1 ^ (uint64_t)(*v >> 63);

    ml_bin_number(io, &u);
    if (io->mode == ML_BINARY_GET)
        *v = (int64_t)(u >> 1 ^ (0 - (u & 1)));
}

void ml_bin_real(ml_BinaryIo *io, double *f)
{
    uint64_t bits;

    memcpy(&bits, f, sizeof bits);
    ml_bin_number(io, &bits);
    if (io->mode == ML_BINARY_GET)
        memcpy(f, &bits, sizeof bits);
}

void ml_bin_text(ml_BinaryIo *io, const char **z, bool optional)
{
    uint64_t n = *z ? strlen(*z) + 1 : 0;
    const char *p;

    ml_bin_number(io, &n);
    if (io->mode == ML_BINARY_PUT && n > 1)
        ml_text_addn(&io->out, *z, n - 1);
    if (io->mode != ML_BINARY_GET)
        return;
    p = (const char *)io->v + io->at;
    *z = optional ? NULL : "";
    if (n > io->end - io->at + 1 || (n == 0 && !optional)) {
        ml_bin_bad(io, "a text is missing");
    } else if (n > 0) {
        io->at += n - 1;
        *z = ml_strdup(io->cx, (ml_Str){p, n - 1});
        if (strlen(*z) != n - 1)
            ml_bin_bad(io, "a text holds a zero");
    }
}

void ml_bin_dtype(ml_BinaryIo *io, ml_Dtype *t)
{
    uint64_t v = (uint64_t)t->code | (uint64_t)t->bits << 5 | (uint64_t)t->lanes << 13;

    ML_BIN_NUMBER(io, v, UINT32_MAX >> 3);
    if (io->mode != ML_BINARY_GET)
        return;
    *t = (ml_Dtype){v & 31, v >> 5 & 255, (uint16_t)(v >> 13)};
    if (t->code > ML_VOID || t->bits > 64 ||
        (t->code != ML_VOID && (t->lanes == 0 || t->bits == 0))) {
        ml_bin_bad(io, "a dtype is none");
        *t = ML_DT_VOID;
    }
}
