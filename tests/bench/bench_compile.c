/*
 * bench_compile - how long candidates of a search take to compile: kernels a second of one
 * core, and the time of one over the rows of the suite.
 *
 *   bench_compile [--json] [--rows] [rows=suite|GMM-2,...] [n=4] [threads=2]
 *
 * The programs are what a search proposes (bench_compile.lua); each is read, lowered and
 * compiled here as a worker does it, in processor time, the least of three rounds. --rows:
 * a line for each row. Source: lowering-and-codegen 7.2; auto-scheduler 16.
 */
#include "harness.h"

#include "moonloop/codegen/code/code.h"
#include "moonloop/codegen/lower/lower.h"
#include "moonloop/core/binary/binary.h"
#include "moonloop/core/script/script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4096, ROUNDS = 3 };

typedef struct Program {
    char row[32];
    ml_Binary v;           /* as a worker gets it */
    double lower, compile; /* seconds; lowering with reading */
    size_t bytes;          /* of the object */
} Program;

static Program *programs;
static size_t n_programs;
static ml_Target target;
static ml_Codegen *code;

static void take_program(const char *row, char *text, size_t n)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Module *mod =
        ml_parse(cx, (ml_Str){text, n}, &(ml_ParseOpts){.file = row, .spelling = -1}).mod;
    ml_Binary b;
    uint8_t *copy;

    if (mod == NULL || n_programs == MOST)
        die(row, ml_error(cx));
    b = ml_binary_write(cx, mod, false);
    if ((copy = malloc(b.n)) == NULL)
        ml_out_of_memory();
    memcpy(copy, b.v, b.n);
    Program *p = &programs[n_programs++];
    snprintf(p->row, sizeof p->row, "%s", row);
    p->v = (ml_Binary){copy, b.n};
    p->lower = p->compile = (double)INFINITY;
    ml_ctx_unref(cx);
}

static void read_programs(const char *rows, int n, int threads)
{
    char command[4096], row[32];
    const char *moonloop = getenv("MOONLOOP");
    size_t bytes;
    FILE *f;

    snprintf(command, sizeof command,
             "'%s' --no-init --private -b tests/bench/bench_compile.lua '%s' %d %d",
             moonloop ? moonloop : "build/moonloop", rows, n, threads);
    if ((f = popen(command, "r")) == NULL) /* NOLINT(cert-env33-c) */
        die("no programs", NULL);
    while (fscanf(f, "%31s %*d %zu%*[\n]", row, &bytes) == 2) {
        char *text = malloc(bytes + 1);

        if (text == NULL || fread(text, 1, bytes, f) != bytes)
            die("programs cut off", NULL);
        take_program(row, text, bytes);
        free(text);
    }
    if (pclose(f) != 0 || n_programs == 0)
        die("no programs", NULL);
}

/* Reads and lowers it into cx. */
static const ml_Func *lowered(ml_Ctx *cx, const Program *p)
{
    ml_BinaryRead r;

    if (!ml_binary_read(cx, p->v, "program", &r))
        die(p->row, ml_error(cx));
    ml_Lower lo = {.cx = cx, .opts = ml_lower_defaults(&target), .module = r.mod};
    const ml_Func *f = ml_lower(&lo, r.mod->funcs[0], NULL, NULL, NULL);

    if (f == NULL)
        die(p->row, ml_error(cx));
    return f;
}

static void compile(Program *p)
{
    double t = now(), u;
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Func *f = lowered(cx, p);
    ml_Bytes out = {0};

    u = now();

    if (!ml_code_object(code, cx, &f, 1, &(ml_CodeOpts){0}, &out))
        die(p->row, ml_error(cx));
    p->lower = fmin(p->lower, u - t);
    p->compile = fmin(p->compile, now() - u);
    p->bytes = out.n;
    free(out.v);
    ml_ctx_unref(cx);
}

static double total(const Program *p)
{
    return p->lower + p->compile;
}

static double middle(size_t from, size_t to, double (*of)(const Program *))
{
    double v[MOST];

    for (size_t k = from; k < to; k++)
        v[k - from] = of(&programs[k]);
    return median(v, to - from);
}

static double lowering(const Program *p)
{
    return p->lower;
}

/* Lines of the rows; the longest compile of all. */
static double tell_rows(bool lines)
{
    double worst = 0;

    for (size_t k = 0, end; k < n_programs; k = end) {
        double most = 0;
        size_t bytes = 0;

        for (end = k; end < n_programs && ml_streq(programs[end].row, programs[k].row);
             end++) {
            most = fmax(most, total(&programs[end]));
            bytes = programs[end].bytes > bytes ? programs[end].bytes : bytes;
        }
        worst = fmax(worst, most);
        if (lines)
            printf(
                "%-10s %3zu kernels  median %7.2f ms (lowering %6.2f)  longest %7.2f ms  "
                "largest object %7zu bytes\n",
                programs[k].row, end - k, 1e3 * middle(k, end, total),
                1e3 * middle(k, end, lowering), 1e3 * most, bytes);
    }
    return worst;
}

int main(int argc, char **argv)
{
    const char *rows = "suite";
    int n = 4, threads = 2;
    bool lines = false;
    ml_Ctx *cx = ml_ctx_new(0);
    double sum = 0;

    for (int k = 1; k < argc; k++) {
        report.json |= ml_streq(argv[k], "--json");
        lines |= ml_streq(argv[k], "--rows");
        if (strncmp(argv[k], "rows=", 5) == 0 && argv[k][5])
            rows = argv[k] + 5;
        if (strncmp(argv[k], "n=", 2) == 0 && argv[k][2])
            n = (int)strtol(argv[k] + 2, NULL, 10);
        if (strncmp(argv[k], "threads=", 8) == 0 && argv[k][8])
            threads = (int)strtol(argv[k] + 8, NULL, 10);
    }
    target = ml_target_host();
    if (ml_code_find(&target) == NULL) {
        fprintf(stderr, "bench_compile: skipped: libLLVM 19 is not there\n");
        return 0;
    }
    ml_code_alone();
    if ((programs = calloc(MOST, sizeof *programs)) == NULL ||
        (code = ml_code_open(cx, &target)) == NULL)
        die("LLVM", ml_error(cx));
    read_programs(rows, n, threads);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t k = 0; k < n_programs; k++)
            compile(&programs[k]);
    for (size_t k = 0; k < n_programs; k++)
        sum += total(&programs[k]);
    double worst = tell_rows(lines);

    figure("compile of a candidate of the suite, median",
           1e3 * middle(0, n_programs, total), 10, "ms", false);
    figure("the longest of them", 1e3 * worst, 40, "ms", false);
    figure("candidates compiled a second and core", (double)n_programs / sum, 100, "/s",
           true);
    ml_code_close(code);
    ml_ctx_unref(cx);
    return 0;
}
