/*
 * npy - tensors in numpy's file format, version 1.0 (NEP 1): magic, header length, a Python
 * dict literal with descr, fortran_order and shape, padded to 64 bytes, then the data.
 * Little endian and C order only.
 */
#include "moonloop/codegen/tensor/tensor.h"

#include "moonloop/core/base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char magic[] = "\x93NUMPY";

static void descr_of(ml_Text *out, const ml_Tensor *t)
{
    ml_Dtype ty = t->type;
    char kind = 0;

    if (ml_dtype_is_bool(ty))
        kind = 'b';
    else if (ty.code == ML_INT && ty.bits >= 8 && ty.bits == t->lane * 8)
        kind = 'i';
    else if (ty.code == ML_UINT && ty.bits >= 8 && ty.bits == t->lane * 8)
        kind = 'u';
    else if (ty.code == ML_FLOAT)
        kind = 'f';
    if (kind)
        ml_text_fmt(out, "%c%c%zu", t->lane == 1 ? '|' : '<', kind, t->lane);
    else
        ml_text_fmt(out, "|V%zu", t->lane);
}

static bool file_error(ml_Ctx *cx, ml_ErrorCode code, const char *path, const char *what)
{
    return ml_fail(cx, code, ML_TEXT(ml_format(cx, "%s: %s", path, what)));
}

bool ml_tensor_save(ml_Ctx *cx, const ml_Tensor *t, const char *path)
{
    ml_Text head = {0};
    uint8_t start[10];
    ml_FileOut f;

    ml_text_add(&head, "{'descr': '");
    descr_of(&head, t);
    ml_text_add(&head, "', 'fortran_order': False, 'shape': (");
    for (uint32_t d = 0; d < t->rank; d++)
        ml_text_fmt(&head, "%lld%s", (long long)t->shape[d],
                    t->rank == 1 || d + 1 < t->rank ? ", " : "");
    if (t->type.lanes > 1)
        ml_text_fmt(&head, "%s%u%s", t->rank > 1 ? ", " : "", t->type.lanes,
                    t->rank ? "" : ",");
    ml_text_add(&head, "), }");
    while ((10 + head.n + 1) % 64 != 0)
        ml_text_char(&head, ' ');
    ml_text_char(&head, '\n');
    if (head.bad || head.n > 0xffff) {
        ml_text_free(&head);
        return file_error(cx, ML_E_BAD_FILE, path, "the header does not fit");
    }
    memcpy(start, magic, 6);
    start[6] = 1;
    start[7] = 0;
    start[8] = (uint8_t)(head.n & 0xff);
    start[9] = (uint8_t)(head.n >> 8);
    ml_file_begin(&f, path, 0666);
    ml_file_add(&f, start, sizeof start);
    ml_file_add(&f, head.p, head.n);
    ml_file_add(&f, t->data, t->bytes);
    ml_text_free(&head);
    if (ml_file_end(&f))
        return true;
    return file_error(cx, ml_file_no_room(errno) ? ML_E_NO_SPACE : ML_E_NO_FILE, path,
                      strerror(errno));
}

/* The text after 'key': in the header, or NULL. */
static const char *field(const char *head, const char *key)
{
    const char *p = strstr(head, key);

    if (p == NULL)
        return NULL;
    p += strlen(key);
    while (*p == ' ' || *p == ':')
        p++;
    return p;
}

static bool parse_descr(const char *p, ml_Dtype *out, size_t *lane)
{
    char order, kind;
    long bytes;
    char *end;

    if (*p != '\'' && *p != '"')
        return false;
    order = p[1];
    kind = order ? p[2] : 0;
    if ((order != '<' && order != '|' && order != '=') || kind == 0)
        return false;
    bytes = strtol(p + 3, &end, 10);
    if ((*end != '\'' && *end != '"') || bytes < 1 || bytes > 8)
        return false;
    *lane = (size_t)bytes;
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return false;
    switch (kind) {
    case 'b': *out = ML_DT_BOOL; return bytes == 1;
    case 'i': *out = ML_DT(ML_INT, (uint8_t)(bytes * 8)); return true;
    case 'u': *out = ML_DT(ML_UINT, (uint8_t)(bytes * 8)); return true;
    case 'f': *out = ML_DT(ML_FLOAT, (uint8_t)(bytes * 8)); return bytes > 1;
    case 'V': *out = ML_DT_VOID; return true;
    default: return false;
    }
}

static bool parse_shape(const char *p, int64_t *shape, size_t *rank)
{
    *rank = 0;
    if (*p++ != '(')
        return false;
    for (;;) {
        char *end;
        while (*p == ' ' || *p == ',')
            p++;
        if (*p == ')')
            return true;
        if (*rank == 64 || *p < '0' || *p > '9')
            return false;
        errno = 0;
        shape[(*rank)++] = strtoll(p, &end, 10);
        if (errno != 0)
            return false;
        p = end;
    }
}

static ml_Tensor *load(ml_Ctx *cx, FILE *f, const char *path, const ml_Dtype *want)
{
    uint8_t start[10];
    char head[65536];
    size_t len, lane = 0, rank = 0;
    int64_t shape[64];
    const char *d, *o, *s;
    ml_Dtype type;
    ml_Tensor *t;

    if (fread(start, 1, 10, f) != 10 || memcmp(start, magic, 6) != 0 || start[6] != 1) {
        file_error(cx, ML_E_BAD_FILE, path, "not a .npy file of version 1.0");
        return NULL;
    }
    len = start[8] | (size_t)start[9] << 8;
    if (len >= sizeof head || fread(head, 1, len, f) != len) {
        file_error(cx, ML_E_BAD_FILE, path, "the header is cut off");
        return NULL;
    }
    head[len] = '\0';
    d = field(head, "'descr'");
    o = field(head, "'fortran_order'");
    s = field(head, "'shape'");
    if (d == NULL || o == NULL || s == NULL || !parse_descr(d, &type, &lane) ||
        !parse_shape(s, shape, &rank)) {
        file_error(cx, ML_E_BAD_FILE, path, "the header is not understood");
        return NULL;
    }
    if (strncmp(o, "False", 5) != 0) {
        file_error(cx, ML_E_BAD_FILE, path, "the array is in Fortran order");
        return NULL;
    }
    if (want) {
        ml_Dtype one = ml_dtype_lanes(*want, 1);
        bool same =
            type.code == ML_VOID ? ml_lane_bytes(one) == lane : ml_dtype_eq(type, one);
        if (want->lanes > 1 && same) {
            same = rank > 0 && shape[rank - 1] == want->lanes;
            rank -= same;
        }
        if (!same) {
            file_error(cx, ML_E_BAD_FILE, path, "the array has another element type");
            return NULL;
        }
        type = *want;
    } else if (type.code == ML_VOID) {
        file_error(cx, ML_E_BAD_FILE, path,
                   "the array is of raw bytes: a dtype must be given");
        return NULL;
    }
    t = ml_tensor_new(cx, type, shape, rank);
    if (t == NULL)
        return NULL;
    if (t->bytes && fread(t->data, 1, t->bytes, f) != t->bytes) {
        ml_tensor_free(t);
        file_error(cx, ML_E_BAD_FILE, path, "the data is cut off");
        return NULL;
    }
    if (ml_dtype_is_bool(type))
        for (int64_t k = 0; k < t->n_lanes; k++)
            ((uint8_t *)t->data)[k] = ((uint8_t *)t->data)[k] != 0;
    return t;
}

ml_Tensor *ml_tensor_load(ml_Ctx *cx, const char *path, const ml_Dtype *want)
{
    FILE *f = fopen(path, "rb");
    ml_Tensor *t;

    if (f == NULL) {
        file_error(cx, ML_E_NO_FILE, path, strerror(errno));
        return NULL;
    }
    t = load(cx, f, path, want);
    fclose(f);
    return t;
}
