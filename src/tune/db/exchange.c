/*
 * exchange - records as the two files of JSON lines that TVM reads and writes.
 *
 * database_workload.json: ["<decimal hash>", "<base64 text>"], the line number is the
 * workload's index; database_tuning_record.json: [index, [trace, run_secs, target, args]].
 * A failure is [1e10]. Lines that are malformed or cut off are passed over and counted;
 * what is written goes to new files that replace the old ones. Source: auto-scheduler 17.
 */
#include "moonloop/tune/db/db_impl.h"

#include "moonloop/core/base/file.h"
#include "moonloop/core/json/json.h"
#include "moonloop/core/script/script.h"
#include "moonloop/core/vec.h"
#include "moonloop/core/walk.h"
#include "moonloop/verify/verify.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char WORKLOADS[] = "database_workload.json";
static const char RECORDS[] = "database_tuning_record.json";
static const double FAILURE = 1e10; /* seconds */

/* ---------------------------------------------------------------- base64 */

static const char DIGITS[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode(ml_Text *out, const char *z)
{
    size_t n = strlen(z);

    for (size_t k = 0; k < n; k += 3) {
        uint32_t v = 0;

        for (size_t m = 0; m < 3; m++)
            v = v << 8 | (k + m < n ? (unsigned char)z[k + m] : 0u);
        for (size_t m = 0; m < 4; m++)
            ml_text_char(out, k + m <= n ? DIGITS[v >> (18 - 6 * m) & 63] : '=');
    }
}

/* NULL: it is no base64. */
static char *decode(ml_Ctx *cx, const char *z)
{
    size_t n = strlen(z), at = 0;
    char *out = ml_alloc(cx, n + 1);
    uint32_t v = 0;
    int bits = 0;

    for (size_t k = 0; k < n && z[k] != '='; k++) {
        const char *d = strchr(DIGITS, z[k]);

        if (d == NULL)
            return NULL;
        v = v << 6 | (uint32_t)(d - DIGITS);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[at++] = (char)(v >> bits & 255);
        }
    }
    out[at] = '\0';
    return out;
}

/* ---------------------------------------------------------------- writing */

static bool no_file(ml_Ctx *cx, const char *path, const char *what)
{
    int why = errno;

    return ml_fail(cx, ml_file_no_room(why) ? ML_E_NO_SPACE : ML_E_NO_FILE,
                   ML_TEXT(ml_format(cx, "%s: %s: %s", path, what, strerror(why))));
}

static bool write_file(ml_Ctx *cx, const char *folder, const char *name, const ml_Text *t)
{
    const char *path = ml_format(cx, "%s/%s", folder, name);

    return ml_file_write(path, t->p, t->n) || no_file(cx, path, "cannot be written");
}

static void add_flat(ml_Text *out, const char *z)
{
    for (; z && *z; z++)
        if (*z != '\n')
            ml_text_char(out, *z);
}

static void record_line(ml_Text *out, const ml_Record *r, int64_t index)
{
    ml_text_fmt(out, "[%lld, [", (long long)index);
    add_flat(out, r->trace && *r->trace ? r->trace : "[[], []]");
    ml_text_add(out, ", [");
    if (r->n_run == 0)
        ml_text_add(out, "1e10");
    for (size_t k = 0; k < r->n_run; k++)
        ml_text_fmt(out, "%s%.17g", k ? ", " : "", r->run_secs[k]);
    ml_text_add(out, "], ");
    add_flat(out, r->target && *r->target ? r->target : "{\"kind\": \"llvm\"}");
    ml_text_add(out, ", ");
    add_flat(out, r->args && *r->args ? r->args : "[]");
    ml_text_add(out, "]]\n");
}

static void workload_line(ml_Text *out, const ml_DbWorkload *w)
{
    ml_text_fmt(out, "[\"%llu\", \"", strtoull(w->hash ? w->hash : "0", NULL, 16));
    encode(out, w->program ? w->program : "");
    ml_text_add(out, "\"]\n");
}

static bool make_folder(ml_Ctx *cx, const char *folder)
{
    if (mkdir(folder, 0777) == 0 || errno == EEXIST)
        return true;
    return no_file(cx, folder, "the folder cannot be made");
}

bool ml_db_export(ml_Db *db, ml_Ctx *cx, const char *folder, size_t *n_records)
{
    const ml_DbQuery all = {.any_seed = true};
    ml_Text workloads = {0}, records = {0};
    ml_Record *v;
    ML_VEC(int64_t) ids = {0};
    size_t n;
    bool ok = make_folder(cx, folder) && ml_db_records(db, cx, &all, &v, &n);

    for (size_t k = 0; ok && k < n; k++) {
        ml_DbWorkload w;
        size_t at = 0;

        while (at < ids.n && ids.v[at] != v[k].workload)
            at++;
        if (at == ids.n) {
            if (!ml_db_workload_at(db, cx, v[k].workload, &w)) {
                ok = ml_error(cx) == NULL; /* a record without a workload stays here */
                continue;
            }
            workload_line(&workloads, &w);
            ml_push(cx, &ids, v[k].workload);
        }
        record_line(&records, &v[k], (int64_t)at);
        ++*n_records;
    }
    ok = ok && write_file(cx, folder, WORKLOADS, &workloads) &&
         write_file(cx, folder, RECORDS, &records);
    ml_text_free(&workloads);
    ml_text_free(&records);
    return ok;
}

/* ---------------------------------------------------------------- reading */

/* One line as a list of n; NULL: it is malformed. */
static const ml_Json *list_of(ml_Ctx *cx, const char *line, ssize_t length, uint32_t n)
{
    ml_JsonError e;
    const ml_Json *j = ml_json_read(cx, (ml_Str){line, (size_t)length}, &e);

    return j && j->kind == ML_JSON_LIST && j->n == n ? j : NULL;
}

/* What the lines of the two files are read with. */
typedef struct Import {
    ml_Db *db;
    ml_Ctx *cx;
    const ml_DbPrograms *told;
    ML_VEC(int64_t) ids;       /* of workloads by line; 0: its records are passed over */
    ML_VEC(const char *) args; /* of a function that was told; NULL: it was not */
} Import;

static const ml_Func *told(const Import *im, size_t line)
{
    return im->told && line < im->told->n ? im->told->v[line] : NULL;
}

/* The hash is worked out again: another program may have written another one. */
static int64_t put_function(const Import *im, ml_Ctx *scratch, const ml_Func *f,
                            const char *text)
{
    ml_DbWorkload w = {.hash =
                           ml_format(im->cx, "%016llx",
                                     (unsigned long long)ml_hash_func(scratch, f, NULL)),
                       .name = ml_strdup(im->cx, ml_str(f->name)),
                       .program = text,
                       .flop = ml_flops(scratch, f)};

    return ml_db_put_workload(im->db, im->cx, &w) ? w.id : 0;
}

static int64_t put_told(const Import *im, const ml_Func *f)
{
    ml_Ctx *scratch = ml_ctx_new(0);
    ml_Text text = {0};
    const char *z;
    int64_t id;

    f = ml_import_func(ml_import_begin(scratch), f);
    ml_print_func(scratch, &text, f, NULL);
    z = ml_strdup(im->cx, ml_str(ml_text_z(&text)));
    ml_text_free(&text);
    id = put_function(im, scratch, f, z);
    ml_ctx_unref(scratch);
    return id;
}

/* Of a text of ours; *other: it is another system's. */
static int64_t put_text(const Import *im, const char *text, bool *other)
{
    ml_ParseOpts po = {.file = "workload", .spelling = -1};
    ml_Ctx *scratch = ml_ctx_new(0);
    ml_Parsed p = ml_parse(scratch, ml_str(text), &po);
    int64_t id = 0;

    *other = !p.mod || p.mod->n != 1;
    if (!*other)
        id = put_function(im, scratch, p.mod->funcs[0], text);
    ml_ctx_unref(scratch);
    return id;
}

static int64_t fail_other(const Import *im)
{
    ml_fail(im->cx, ML_E_BAD_DATABASE,
            ML_TEXT(ml_format(im->cx,
                              "%s, line %zu: the program is none that moonloop reads, "
                              "another system has written it; give the one that it stands "
                              "for",
                              WORKLOADS, im->ids.n + 1)));
    return 0;
}

static void import_workload(Import *im, const char *line, ssize_t length)
{
    const ml_Json *j = list_of(im->cx, line, length, 2);
    const ml_Func *f = told(im, im->ids.n);
    const char *text;
    bool other = false;
    int64_t id = 0;

    if (j && j->as.list[1].kind == ML_JSON_STRING) {
        if (f)
            id = put_told(im, f);
        else if ((text = decode(im->cx, j->as.list[1].as.s)) != NULL)
            id = put_text(im, text, &other);
        if (other) {
            f = im->told ? im->told->others : NULL;
            id = f ? put_told(im, f) : fail_other(im);
        }
    }
    ml_push(im->cx, &im->args, f ? ml_db_args(im->cx, f) : NULL);
    ml_push(im->cx, &im->ids, id);
}

static void json_text(ml_Text *out, const ml_Json *j)
{
    switch ((ml_JsonKind)j->kind) {
    case ML_JSON_NULL: ml_text_add(out, "null"); return;
    case ML_JSON_BOOL: ml_text_add(out, j->as.b ? "true" : "false"); return;
    case ML_JSON_INT: ml_text_int(out, j->as.i); return;
    case ML_JSON_FLOAT: ml_json_real(out, j->as.f); return;
    case ML_JSON_STRING: ml_json_string(out, j->as.s); return;
    case ML_JSON_LIST:
        ml_text_char(out, '[');
        for (uint32_t k = 0; k < j->n; k++) {
            if (k)
                ml_text_add(out, ", ");
            json_text(out, &j->as.list[k]);
        }
        ml_text_char(out, ']');
        return;
    case ML_JSON_OBJECT:
        ml_text_char(out, '{');
        for (uint32_t k = 0; k < j->n; k++) {
            if (k)
                ml_text_char(out, ',');
            ml_json_string(out, j->keys[k]);
            ml_text_char(out, ':');
            json_text(out, &j->as.list[k]);
        }
        ml_text_char(out, '}');
        return;
    }
}

static const char *text_of(ml_Ctx *cx, const ml_Json *j)
{
    ml_Text t = {0};
    const char *z;

    json_text(&t, j);
    z = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

/* false: malformed. An empty list, null and [1e10] are failures. */
static bool read_run_secs(ml_Ctx *cx, const ml_Json *j, ml_Record *r)
{
    double *v;
    bool failure;

    if (j->kind == ML_JSON_NULL)
        return true;
    if (j->kind != ML_JSON_LIST)
        return false;
    v = ML_ARRAY(cx, double, j->n + 1u);
    failure = j->n == 0;
    for (uint32_t k = 0; k < j->n; k++) {
        const ml_Json *x = &j->as.list[k];

        if (x->kind != ML_JSON_INT && x->kind != ML_JSON_FLOAT)
            return false;
        v[k] = x->kind == ML_JSON_INT ? (double)x->as.i : x->as.f;
        if (!(v[k] > 0) || !isfinite(v[k]))
            return false;
        failure |= v[k] >= FAILURE;
    }
    if (failure)
        return true;
    r->n_run = j->n;
    r->run_secs = v;
    return true;
}

static bool is_trace(const ml_Json *j)
{
    return j->kind == ML_JSON_LIST && j->n == 2 && j->as.list[0].kind == ML_JSON_LIST &&
           j->as.list[1].kind == ML_JSON_LIST;
}

/* A record is of the program that was told for it. */
static bool are_args_of(const Import *im, size_t workload, const ml_Record *r)
{
    const char *args = im->args.v[workload];

    return args == NULL || ml_streq(r->args, "[]") || ml_streq(r->args, args) ||
           ml_fail(
               im->cx, ML_E_BAD_DATABASE,
               ML_TEXT(ml_format(im->cx,
                                 "the program that was given for line %zu of %s has the "
                                 "arguments %s, its records %s",
                                 workload + 1, WORKLOADS, args, r->args)));
}

/* false: it is malformed, or of a workload that is; or cx's error. */
static bool read_record(const Import *im, const char *line, ssize_t length, ml_Record *r)
{
    ml_Ctx *cx = im->cx;
    const ml_Json *j = list_of(cx, line, length, 2), *body;
    size_t workload;

    if (j == NULL || j->as.list[0].kind != ML_JSON_INT || j->as.list[0].as.i < 0 ||
        (uint64_t)j->as.list[0].as.i >= im->ids.n)
        return false;
    workload = (size_t)j->as.list[0].as.i;
    if (im->ids.v[workload] == 0)
        return false;
    body = &j->as.list[1];
    if (body->kind != ML_JSON_LIST || body->n < 4 || !is_trace(&body->as.list[0]) ||
        body->as.list[2].kind != ML_JSON_OBJECT || body->as.list[3].kind != ML_JSON_LIST)
        return false;
    *r = (ml_Record){.workload = im->ids.v[workload],
                     .trace = text_of(cx, &body->as.list[0]),
                     .target = text_of(cx, &body->as.list[2]),
                     .args = text_of(cx, &body->as.list[3]),
                     .space = "import"};
    if (!read_run_secs(cx, &body->as.list[1], r))
        return false;
    if (r->n_run == 0) {
        r->error = "import";
        r->phase = "import";
    }
    return are_args_of(im, workload, r);
}

/* ---------------------------------------------------------------- what is there already */

typedef struct Known {
    uint64_t hash;
    bool met; /* a line of the import stands for it */
} Known;
typedef struct KnownList {
    Known *v;
    size_t n;
} KnownList;

static uint64_t mix(uint64_t h, const char *z)
{
    return ml_fnv(ml_fnv(h, z, z ? strlen(z) : 0), "\xff", 1); /* ends of texts count */
}

/* As an import would write it: another program's blanks mean nothing. */
static const char *one_form(ml_Ctx *cx, const char *z)
{
    ml_JsonError e;
    const ml_Json *j = z ? ml_json_read(cx, ml_str(z), &e) : NULL;

    return j ? text_of(cx, j) : z;
}

static uint64_t record_hash(ml_Ctx *cx, const ml_Record *r)
{
    ml_Mark mark = ml_mark(cx);
    uint64_t h = mix(ML_FNV, ml_format(cx, "%lld", (long long)r->workload));

    h = mix(h, one_form(cx, r->target));
    h = mix(h, one_form(cx, r->trace));
    for (size_t k = 0; k < r->n_run; k++)
        h = mix(h, ml_format(cx, "%.17g", r->run_secs[k]));
    ml_release(cx, mark);
    return h;
}

static int by_hash(const void *a, const void *b)
{
    uint64_t x = ((const Known *)a)->hash, y = ((const Known *)b)->hash;

    return (x > y) - (x < y);
}

static bool known_before(ml_Db *db, ml_Ctx *cx, KnownList *out)
{
    const ml_DbQuery all = {.any_seed = true};
    ml_Record *v;
    size_t n;

    if (!ml_db_records(db, cx, &all, &v, &n))
        return false;
    *out = (KnownList){ML_ARRAY(cx, Known, n + 1), n};
    for (size_t k = 0; k < n; k++)
        out->v[k] = (Known){record_hash(cx, &v[k]), false};
    qsort(out->v, n, sizeof *out->v, by_hash);
    return true;
}

/* Each record of before stands for one line. */
static bool meets(KnownList *l, uint64_t hash)
{
    size_t lo = 0, hi = l->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (l->v[mid].hash < hash)
            lo = mid + 1;
        else
            hi = mid;
    }
    while (lo < l->n && l->v[lo].hash == hash && l->v[lo].met)
        lo++;
    if (lo == l->n || l->v[lo].hash != hash)
        return false;
    return l->v[lo].met = true;
}

static FILE *open_lines(ml_Ctx *cx, const char *folder, const char *name)
{
    const char *path = ml_format(cx, "%s/%s", folder, name);
    FILE *f = fopen(path, "re");

    if (f == NULL)
        no_file(cx, path, "cannot be read");
    return f;
}

typedef struct Lines {
    FILE *f;
    char *line;
    size_t cap;
} Lines;

/* The next line without its end, -1 at the end of the file. */
static ssize_t next(Lines *l)
{
    ssize_t n = getline(&l->line, &l->cap, l->f);

    while (n > 0 && (l->line[n - 1] == '\n' || l->line[n - 1] == '\r'))
        l->line[--n] = '\0';
    return n;
}

static void end(Lines *l)
{
    free(l->line);
    if (l->f)
        fclose(l->f);
}

static bool read_all(Import *im, Lines *w, Lines *r, size_t *n_records, size_t *n_skipped)
{
    KnownList known = {0};
    bool ok = known_before(im->db, im->cx, &known);
    ssize_t n;

    while (ok && (n = next(w)) >= 0) {
        import_workload(im, w->line, n);
        ok = ml_error(im->cx) == NULL;
        *n_skipped += im->ids.v[im->ids.n - 1] == 0;
    }
    while (ok && (n = next(r)) >= 0) {
        ml_Record rec;

        if (!read_record(im, r->line, n, &rec)) {
            ok = ml_error(im->cx) == NULL;
            ++*n_skipped;
        } else if (!meets(&known, record_hash(im->cx, &rec))) {
            ok = ml_db_put(im->db, im->cx, &rec);
            *n_records += ok;
        }
    }
    return ok;
}

bool ml_db_import(ml_Db *db, ml_Ctx *cx, const char *folder, const ml_DbPrograms *programs,
                  size_t *n_records, size_t *n_skipped)
{
    Lines w = {.f = open_lines(cx, folder, WORKLOADS)};
    Lines r = {.f = w.f ? open_lines(cx, folder, RECORDS) : NULL};
    Import im = {.db = db, .cx = cx, .told = programs};
    bool ok = w.f && r.f && ml_db_begin(db, cx);

    *n_records = *n_skipped = 0;
    if (ok)
        ok = ml_db_end(db, cx, read_all(&im, &w, &r, n_records, n_skipped));
    end(&w);
    end(&r);
    return ok;
}
