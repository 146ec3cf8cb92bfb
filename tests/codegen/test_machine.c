/*
 * test_machine - the table, roofs computed by hand, the cache file, and where LLVM is there
 * the probe itself.
 */
#include "build.h"

#include "moonloop/codegen/machine/machine_impl.h"
#include "moonloop/core/script/script.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define GIGA 1e9

static ml_Target target(const char *cpu, const char *features)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Target t;

    assert_true(ml_target_parse(cx,
                                ml_str(ml_format(cx,
                                                 "{\"kind\": \"llvm\", \"mtriple\": "
                                                 "\"x86_64-linux-gnu\", \"cpu\": \"%s\", "
                                                 "\"features\": \"%s\"}",
                                                 cpu, features)),
                                &t));
    ml_ctx_unref(cx);
    return t;
}

#define V3                                                                                 \
    "+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse3,+sse4.1,+sse4.2,"  \
    "+ssse3"
#define V4 "+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl," V3

/* ---------------------------------------------------------------- the table */

static void the_table_counts_pipes_and_lanes(void **state)
{
    static const struct {
        const char *cpu, *features;
        double f32, int8, bf16;
    } rows[] = {
        {"haswell", V3, 32, -1, -1},
        {"znver1", V3, 16, -1, -1},
        {"znver3", V3, 32, -1, -1},
        {"alderlake", "+avxvnni," V3, 32, 128, -1},
        {"skylake-avx512", V4, 64, -1, -1},
        {"icelake-server", "+avx512vnni," V4, 64, 256, -1},
        {"rocketlake", "+avx512vnni," V4, 32, 128, -1},
        {"znver4", "+avx512bf16,+avx512vnni," V4, 32, 128, 64},
        {"znver5", "+avx512bf16,+avx512vnni," V4, 64, 256, 128},
        /* a large core under a small one's name */
        {"rocketlake", "+amx-tile,+avx512vnni," V4, 64, 256, -1},
        /* a large core whose wide registers are hidden */
        {"icelake-server", V3, 32, -1, -1},
        {"knm", V4, -1, -1, -1},
    };

    (void)state;
    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        ml_Target t = target(rows[k].cpu, rows[k].features);
        const double want[ML_MACHINE_KINDS] = {rows[k].f32, rows[k].f32 / 2, -1,
                                               rows[k].bf16, rows[k].int8};

        for (int i = 0; i < ML_MACHINE_KINDS; i++) {
            double got = ml_machine_flop_per_cycle(&t, (ml_MachineKind)i);

            if (want[i] < 0 ? !isnan(got) : got != want[i])
                fail_msg("%s, %s: %g instead of %g", rows[k].cpu,
                         ml_machine_kind_name((ml_MachineKind)i), got, want[i]);
        }
    }
}

static void nominal_peak_is_cores_times_clock_times_operations(void **state)
{
    ml_Machine m;

    (void)state;
    ml_machine_host(8, &m);
    m.target = target("icelake-server", V4);
    m.target.cores = 4;
    m.clock = 3 * GIGA;
    assert_true(ml_machine_nominal(&m, ML_MACHINE_F32, 1) == 192 * GIGA);
    assert_true(ml_machine_nominal(&m, ML_MACHINE_F64, 4) == 384 * GIGA);
    assert_true(ml_machine_nominal(&m, ML_MACHINE_F32, 8) == 768 * GIGA); /* 4 cores */
    m.clock = 0; /* nobody tells it: as measured */
    m.clock_measured = 2 * GIGA;
    assert_true(ml_machine_nominal(&m, ML_MACHINE_F32, 1) == 128 * GIGA);
    m.clock_measured = (double)NAN;
    assert_true(isnan(ml_machine_nominal(&m, ML_MACHINE_F32, 1)));
}

static void the_host_has_a_name_and_caches(void **state)
{
    ml_Machine m;

    (void)state;
    ml_machine_host(3, &m);
    assert_true(m.cpu[0] != 0);
    assert_int_equal(m.threads, 3);
    assert_true(m.target.cores >= 1);
    assert_true(isnan(m.peak[ML_MACHINE_F32][0]) && isnan(m.bandwidth[0][0][1]));
    assert_false(m.full);
}

/* ---------------------------------------------------------------- roofs */

/* 4 threads; float32 100 and 360 GFLOP/s, memory 10 and 20 GB/s, L2 100 and 400. */
static ml_Machine made_up(void)
{
    ml_Machine m;

    ml_machine_host(4, &m);
    for (int k = 0; k < 3; k++)
        m.cache[k] = (uint64_t[]){32 << 10, 1 << 20, 16 << 20}[k];
    m.peak[ML_MACHINE_F32][0] = 100 * GIGA;
    m.peak[ML_MACHINE_F32][1] = 360 * GIGA;
    m.peak[ML_MACHINE_F64][0] = 50 * GIGA;
    m.peak[ML_MACHINE_F64][1] = 180 * GIGA;
    m.peak[ML_MACHINE_INT8][0] = 400 * GIGA;
    m.peak[ML_MACHINE_INT8][1] = 1440 * GIGA;
    m.bandwidth[ML_MACHINE_L2][ML_TRAFFIC_READ][0] = 100 * GIGA;
    m.bandwidth[ML_MACHINE_L2][ML_TRAFFIC_READ][1] = 400 * GIGA;
    m.bandwidth[ML_MACHINE_MEMORY][ML_TRAFFIC_READ][0] = 9 * GIGA;
    m.bandwidth[ML_MACHINE_MEMORY][ML_TRAFFIC_READ][1] = 20 * GIGA;
    m.bandwidth[ML_MACHINE_MEMORY][ML_TRAFFIC_COPY][0] = 10 * GIGA;
    m.bandwidth[ML_MACHINE_MEMORY][ML_TRAFFIC_COPY][1] = 18 * GIGA;
    return m;
}

static void a_peak_between_one_and_all_threads_is_bounded_by_both(void **state)
{
    ml_Machine m = made_up();

    (void)state;
    assert_true(ml_machine_peak(&m, ML_DT_F32, 1) == 100 * GIGA);
    assert_true(ml_machine_peak(&m, ML_DT_F32, 2) == 200 * GIGA);
    assert_true(ml_machine_peak(&m, ML_DT_F32, 4) == 360 * GIGA);
    assert_true(ml_machine_peak(&m, ML_DT_F32, 64) == 360 * GIGA);
    assert_true(ml_machine_peak(&m, ML_DT_F64, 3) == 150 * GIGA);
    assert_true(ml_machine_peak(&m, ML_DT(ML_UINT, 8), 1) == 400 * GIGA);
    /* computed in float32 where nothing else was measured */
    assert_true(ml_machine_peak(&m, ML_DT(ML_FLOAT, 16), 1) == 100 * GIGA);
    assert_true(ml_machine_peak(&m, ML_DT(ML_BFLOAT, 16), 1) == 100 * GIGA);
    assert_true(isnan(ml_machine_peak(&m, ML_DT_I32, 1)));
    assert_true(isnan(ml_machine_peak(&m, ML_DT_BOOL, 1)));
    m.peak[ML_MACHINE_BF16][0] = m.peak[ML_MACHINE_BF16][1] = 150 * GIGA;
    assert_true(ml_machine_peak(&m, ML_DT(ML_BFLOAT, 16), 1) == 150 * GIGA);
    m.peak_set = 720 * GIGA; /* by the user: twice all that was measured */
    assert_true(ml_machine_peak(&m, ML_DT_F32, 4) == 720 * GIGA);
    assert_true(ml_machine_peak(&m, ML_DT_F64, 1) == 100 * GIGA);
}

static ml_Roof roof_of(const ml_Machine *m, ml_Dtype t, uint32_t threads, double flop,
                       double bytes, double written)
{
    const ml_Demand d = {
        .type = t, .flop = flop, .read = bytes - written, .written = written};

    return ml_machine_roof(m, threads, &d);
}

static void the_nearer_roof_is_the_one_that_takes_longer(void **state)
{
    ml_Machine m = made_up();
    ml_Roof r;

    (void)state;
    /* a product of 1024: 2.15 GFLOP, 12.6 MB: in L3, which was not measured: as memory,
     * where a third is written: 8.4 MB are copied and 4.2 MB read */
    r = roof_of(&m, ML_DT_F32, 4, 2147483648.0, 12582912.0, 4194304.0);
    assert_int_equal(r.level, ML_MACHINE_L3);
    assert_false(r.memory);
    assert_true(fabs(r.moving - 8388608.0 / (18 * GIGA) - 4194304.0 / (20 * GIGA)) < 1e-12);
    assert_true(fabs(r.intensity - 170.67) < 0.01);
    assert_true(fabs(r.limit - 2147483648.0 / (360 * GIGA)) < 1e-12);
    assert_string_equal(ml_roof_name(&r), "compute");
    /* a sum of 256 MB on one thread reads: 9 GB/s; half of it written is a copy: 10 */
    r = roof_of(&m, ML_DT_F32, 1, 67108864.0, 268435456.0, 0.0);
    assert_int_equal(r.level, ML_MACHINE_MEMORY);
    assert_true(r.memory);
    assert_string_equal(ml_roof_name(&r), "memory");
    assert_true(fabs(r.limit - 268435456.0 / (9 * GIGA)) < 1e-9);
    r = roof_of(&m, ML_DT_F32, 1, 67108864.0, 268435456.0, 134217728.0);
    assert_true(fabs(r.limit - 268435456.0 / (10 * GIGA)) < 1e-9);
    /* the same in the four L2s, of which only reading was measured */
    r = roof_of(&m, ML_DT_F32, 4, 786432.0, 2097152.0, 1048576.0);
    assert_int_equal(r.level, ML_MACHINE_L2);
    assert_true(r.memory && fabs(r.bandwidth - 400 * GIGA) < 1);
    /* and on one thread, whose L2 is too small for it */
    assert_int_equal(ml_machine_level(&m, 1, 3145728.0), ML_MACHINE_L3);
    /* nothing moves, nothing is computed, no peak */
    r = roof_of(&m, ML_DT_F32, 1, 100.0, 0.0, 0.0);
    assert_true(isinf(r.intensity) && !r.memory && r.limit > 0);
    r = roof_of(&m, ML_DT_I32, 1, 0.0, 0.0, 0.0);
    assert_true(isnan(r.peak) && r.limit == 0 && !r.memory);
    r = roof_of(&m, ML_DT_I32, 1, 1e9, 268435456.0, 0.0);
    assert_true(r.memory && r.limit > 0);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* What was measured goes one after the other, whichever patterns take least. */
static void a_mix_of_reads_and_writes_is_made_of_patterns(void **state)
{
    ml_Machine m = made_up();
    double(*b)[2] = m.bandwidth[ML_MACHINE_L2], t;

    (void)state;
    b[ML_TRAFFIC_READ][1] = 271 * GIGA;
    b[ML_TRAFFIC_WRITE][1] = 107 * GIGA;
    t = ml_machine_moving(&m, ML_MACHINE_L2, 4, 2e6, 2e6);
    assert_true(near(t, 2e6 / (271 * GIGA) + 2e6 / (107 * GIGA)));
    b[ML_TRAFFIC_COPY][1] = 200 * GIGA; /* as much at once is quicker */
    t = ml_machine_moving(&m, ML_MACHINE_L2, 4, 2e6, 2e6);
    assert_true(near(t, 4e6 / (200 * GIGA)));
    t = ml_machine_moving(&m, ML_MACHINE_L2, 4, 3e6, 1e6);
    assert_true(near(t, 2e6 / (200 * GIGA) + 2e6 / (271 * GIGA)));
    t = ml_machine_moving(&m, ML_MACHINE_L2, 4, 1e6, 3e6);
    assert_true(near(t, 2e6 / (200 * GIGA) + 2e6 / (107 * GIGA)));
    assert_true(ml_machine_moving(&m, ML_MACHINE_L2, 4, 0, 0) == 0);
    b[ML_TRAFFIC_TRIAD][1] = 100 * GIGA; /* a slow pattern is no bound */
    t = ml_machine_moving(&m, ML_MACHINE_L2, 4, 2e6, 1e6);
    assert_true(near(t, 2e6 / (200 * GIGA) + 1e6 / (271 * GIGA)));
}

static void what_fills_a_cache_comes_from_the_next_in_part(void **state)
{
    ml_Machine m = made_up();
    double room = 4 * 1048576.0, inner = 400 * GIGA, outer = 20 * GIGA;

    (void)state;
    assert_true(near(ml_machine_touring(&m, 4, 0.7 * room, 0), 0.7 * room / inner));
    assert_true(near(ml_machine_touring(&m, 4, 1.2 * room, 0),
                     1.2 * room * (0.5 / inner + 0.5 / outer)));
    assert_true(near(ml_machine_touring(&m, 4, 1.7 * room, 0), 1.7 * room / outer));
    for (double x = 0.1; x < 8; x *= 1.1) /* more never takes less */
        assert_true(ml_machine_touring(&m, 4, 1.1 * x * room, 0) >
                    ml_machine_touring(&m, 4, x * room, 0));
}

/* exp keeps the units of products busy; the divider works beside them. */
static void functions_have_rates_of_their_own(void **state)
{
    ml_Machine m = made_up();
    ml_Demand d = {.type = ML_DT_F32, .flop = 36e6};
    ml_Roof r;

    (void)state;
    d.math[ML_MATH_EXP][0] = 5e6;
    r = ml_machine_roof(&m, 4, &d); /* not measured: it counts for nothing */
    assert_true(near(r.computing, 36e6 / (360 * GIGA)) && r.in_math == 0);
    m.math[ML_MATH_EXP][0] = 5 * GIGA;
    r = ml_machine_roof(&m, 1, &d);
    assert_true(near(r.computing, 36e6 / (100 * GIGA) + 1e-3));
    assert_string_equal(ml_roof_name(&r), "exp");
    r = ml_machine_roof(&m, 4, &d); /* as many times as fast as products are */
    assert_true(near(r.computing, 36e6 / (360 * GIGA) + 1e-3 / 3.6));
    m.math[ML_MATH_DIVIDE][0] = 5 * GIGA;
    d.math[ML_MATH_DIVIDE][0] = 5e6;
    r = ml_machine_roof(&m, 1, &d); /* at the same time */
    assert_true(near(r.computing, 36e6 / (100 * GIGA) + 1e-3));
    d.math[ML_MATH_DIVIDE][0] = 50e6;
    r = ml_machine_roof(&m, 1, &d);
    assert_true(near(r.computing, 1e-2));
    assert_string_equal(ml_roof_name(&r), "division");
    d.flop = 1e12;
    r = ml_machine_roof(&m, 1, &d);
    assert_string_equal(ml_roof_name(&r), "compute");
}

/* ---------------------------------------------------------------- the cache file */

static char folder[] = "/tmp/ml-machine-XXXXXX";

static int folder_up(void **state)
{
    (void)state;
    return mkdtemp(folder) && setenv("XDG_CACHE_HOME", folder, 1) == 0 ? 0 : -1;
}

static int folder_down(void **state)
{
    char path[128];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/moonloop/machine.json", folder);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/moonloop", folder);
    (void)rmdir(path);
    return rmdir(folder);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void figures_come_back_from_the_file(void **state)
{
    Fix *x = *state;
    ml_Machine m = made_up(), back, other;
    const char *path = ml_machine_path(x->cx);
    struct stat st;

    m.full = true;
    m.call = 2.25e-9;
    m.fork_join = 1.0 / 3e6;
    m.peak_set = 7; /* is not kept */
    m.math[ML_MATH_EXP][0] = 5 * GIGA;
    m.math[ML_MATH_ERF][1] = 2 * GIGA;
    (void)unlink(path);
    ml_machine_host(4, &back);
    assert_false(ml_machine_load(x->cx, path, &back));
    assert_true(ml_machine_store(x->cx, path, &m));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(ml_machine_load(x->cx, path, &back));
    assert_true(back.full && back.call == m.call && back.fork_join == m.fork_join);
    assert_true(back.peak_set == 0 && isnan(back.clock_measured));
    for (int k = 0; k < ML_MATHS; k++)
        for (int t = 0; t < ML_MATH_TYPES; t++)
            assert_true(same(back.math[k][t], m.math[k][t]));
    for (int n = 0; n < 2; n++) {
        for (int k = 0; k < ML_MACHINE_KINDS; k++)
            assert_true(same(back.peak[k][n], m.peak[k][n]));
        for (int l = 0; l < ML_MACHINE_LEVELS; l++)
            for (int t = 0; t < ML_TRAFFICS; t++)
                assert_true(same(back.bandwidth[l][t][n], m.bandwidth[l][t][n]));
    }
    /* other threads, another processor: not theirs, and kept beside */
    ml_machine_host(5, &other);
    assert_false(ml_machine_load(x->cx, path, &other));
    other.peak[ML_MACHINE_F32][0] = other.peak[ML_MACHINE_F32][1] = 5 * GIGA;
    assert_true(ml_machine_store(x->cx, path, &other));
    ml_machine_host(4, &back);
    assert_true(ml_machine_load(x->cx, path, &back));
    assert_true(back.peak[ML_MACHINE_F32][1] == 360 * GIGA);
    (void)snprintf(back.cpu, sizeof back.cpu, "another one");
    assert_false(ml_machine_load(x->cx, path, &back));
    ml_machine_host(5, &back);
    assert_true(ml_machine_load(x->cx, path, &back));
    assert_true(back.peak[ML_MACHINE_F32][0] == 5 * GIGA && !back.full);
}

static void an_entry_is_replaced_and_the_list_stays_short(void **state)
{
    Fix *x = *state;
    const char *path = ml_machine_path(x->cx);
    ml_Machine m = made_up();
    struct stat first, st;

    (void)unlink(path);
    assert_true(ml_machine_store(x->cx, path, &m));
    assert_int_equal(stat(path, &first), 0);
    for (int k = 0; k < 3; k++)
        assert_true(ml_machine_store(x->cx, path, &m));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, first.st_size);
    for (uint32_t k = 1; k <= 40; k++) {
        m.threads = k;
        assert_true(ml_machine_store(x->cx, path, &m));
    }
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 17 * first.st_size);
    m.threads = 1;
    assert_false(ml_machine_load(x->cx, path, &m)); /* the oldest are gone */
    m.threads = 25;
    assert_true(ml_machine_load(x->cx, path, &m));
}

static void a_corrupt_file_is_as_good_as_none(void **state)
{
    Fix *x = *state;
    const char *path = ml_machine_path(x->cx);
    ml_Machine m = made_up(), back;
    char text[16384];
    FILE *f;
    size_t n;

    (void)unlink(path);
    assert_true(ml_machine_store(x->cx, path, &m));
    f = fopen(path, "r");
    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    assert_true(n > 100 && n < sizeof text - 1);
    /* every way of being cut off */
    for (size_t cut = 0; cut < n - 3; cut += 7) {
        char was = text[cut];

        text[cut] = 0;
        write_text(path, text);
        text[cut] = was;
        ml_machine_host(4, &back);
        assert_false(ml_machine_load(x->cx, path, &back));
        assert_null(ml_error(x->cx));
        assert_true(isnan(back.peak[ML_MACHINE_F32][0])); /* nothing half read */
    }
    static const char *const bad[] = {
        "", "[]", "{}", "{\"machines\": 3}", "{\"machines\": [1, null, {}]}", "\xff\xfe"};

    for (size_t k = 0; k < ML_COUNT(bad); k++) {
        write_text(path, bad[k]);
        assert_false(ml_machine_load(x->cx, path, &back));
        assert_null(ml_error(x->cx));
    }
    assert_true(ml_machine_store(x->cx, path, &m)); /* replaced by a sound one */
    assert_true(ml_machine_load(x->cx, path, &back));
}

/* In the entry of this machine, one figure that none could have. */
static void figures_that_cannot_be_are_refused(void **state)
{
    Fix *x = *state;
    const char *path = ml_machine_path(x->cx);
    ml_Machine back;

    for (int k = 0; k < 4; k++) {
        ml_Machine m = made_up();

        switch (k) {
        case 0: m.peak[ML_MACHINE_F32][0] = -1; break;
        case 1: m.peak[ML_MACHINE_F32][1] = (double)NAN; break;
        case 2: m.bandwidth[ML_MACHINE_MEMORY][0][0] = (double)INFINITY; break;
        default: m.call = -1e-9; break;
        }
        (void)unlink(path);
        assert_true(ml_machine_store(x->cx, path, &m));
        ml_machine_host(4, &back);
        assert_false(ml_machine_load(x->cx, path, &back));
    }
}

static void a_file_that_cannot_be_written_is_no_error(void **state)
{
    Fix *x = *state;
    ml_Machine m = made_up();

    assert_false(ml_machine_store(x->cx, "/dev/null/moonloop/machine.json", &m));
    assert_null(ml_error(x->cx));
}

static void the_path_follows_the_environment(void **state)
{
    Fix *x = *state;
    const char *home = getenv("HOME");
    char *was = home ? strdup(home) : NULL;

    assert_int_equal(setenv("HOME", "/h", 1), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", "/c", 1), 0);
    assert_string_equal(ml_machine_path(x->cx), "/c/moonloop/machine.json");
    assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
    assert_string_equal(ml_machine_path(x->cx), "/h/.cache/moonloop/machine.json");
    assert_int_equal(unsetenv("HOME"), 0);
    assert_null(ml_machine_path(x->cx));
    if (was)
        assert_int_equal(setenv("HOME", was, 1), 0);
    free(was);
    assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
}

/* ---------------------------------------------------------------- the programs */

static const ml_Func *read_program(Fix *x, const char *text)
{
    ml_ParseOpts opts = {.spelling = -1};
    ml_Parsed p = ml_parse(x->cx, ml_str(text), &opts);

    if (p.mod == NULL)
        fail_msg("%s in\n%s", p.n_diags ? p.diags[0].message : "no module", text);
    return p.mod->funcs[0];
}

static void interpret(Fix *x, const ml_Func *f)
{
    if (!ml_interpret(x->cx, NULL, f, x->args, (uint32_t)x->n_args, NULL, &x->report))
        fail_msg("%s: %s", f->name, ml_error_code(ml_error(x->cx)->code));
}

static ml_Tensor *add_tensor(Fix *x, ml_Dtype t, int64_t lanes)
{
    ml_Tensor *v = ml_tensor_new(x->cx, t, &lanes, 1);

    assert_non_null(v);
    x->args[x->n_args++].tensor = v;
    return v;
}

static void peak_programs_compute_what_they_are_counted_for(void **state)
{
    Fix *x = *state;
    static const char *const features[] = {V3, V4};

    for (int k = 0; k < 4; k++) {
        ml_Target t = target("x86-64", features[k / 2]);
        ml_MachineKind kind = k % 2 ? ML_MACHINE_F64 : ML_MACHINE_F32;
        ml_PeakProbe p = ml_probe_peak(x->cx, &t, kind, 3);
        int64_t lanes = (int64_t)t.vector_bits / (kind == ML_MACHINE_F32 ? 32 : 64);
        ml_Tensor *s, *in, *out;

        assert_true(p.flop == 2.0 * (k / 2 ? 24 : 12) * (double)lanes);
        x->args[0].i = 3;
        x->args[1].i = 5; /* rounds */
        x->n_args = 2;
        s = add_tensor(x, p.acc, p.n_acc);
        in = add_tensor(x, p.in, p.n_in);
        out = add_tensor(x, p.acc, 3 * p.n_acc);
        for (int64_t l = 0; l < s->n_lanes; l++)
            ml_tensor_set(s, l, 0.25 + (double)l / 1024);
        for (int64_t l = 0; l < in->n_lanes; l++)
            ml_tensor_set(in, l, l < lanes ? -1.0 : 1.5);
        ml_tensor_fill(out, ML_FILL_POISON, "t", 0, 1, 0, 0);
        interpret(x, read_program(x, p.text));
        for (int64_t l = 0; l < out->n_lanes; l++) /* 5 times c - s */
            assert_true(ml_tensor_get(out, l) ==
                        1.5 - (0.25 + (double)(l % p.n_acc) / 1024));
        drop_args(x);
    }
}

static void streams_touch_the_bytes_they_are_counted_for(void **state)
{
    Fix *x = *state;
    ml_Target t = target("x86-64", V3);

    for (int k = 0; k < ML_TRAFFICS; k++) {
        static const double READ[ML_TRAFFICS] = {1, 0, 1, 2, 1, 2}; /* for one written */
        const bool copies = k == ML_TRAFFIC_COPY || k == ML_TRAFFIC_STREAM;
        const int64_t own[2] = {0, 0};
        ml_StreamProbe p = ml_probe_stream(x->cx, &t, (ml_Traffic)k, 13000, 2, 3, own);
        ml_Tensor *m, *y;
        int64_t written = 0;

        x->n_args = 0;
        m = add_tensor(x, ML_DT_F32, p.lanes[0]);
        y = add_tensor(x, ML_DT_F32, p.lanes[1]);
        assert_true(p.bytes <= 13000.0 * 2 * 3 && p.bytes > 11500.0 * 2 * 3);
        ml_tensor_fill(m, ML_FILL_ONES, "t", 0, 1, 0, 0);
        ml_tensor_fill(y, ML_FILL_ZEROS, "t", 0, 1, 0, 0);
        assert_true(near(ml_traffic_read((ml_Traffic)k),
                         READ[k] / (READ[k] + (k != ML_TRAFFIC_READ))));
        if (copies)
            for (int64_t l = 0; l < m->n_lanes; l++)
                ml_tensor_set(m, l, (double)(l + 1));
        interpret(x, read_program(x, p.text));
        assert_true(ml_tensor_guards_intact(m) && ml_tensor_guards_intact(y));
        if (k ==
            ML_TRAFFIC_READ) { /* ones were summed: each lane as often as it was read */
            double sum = 0;

            for (int64_t l = 0; l < y->n_lanes; l++)
                sum += ml_tensor_get(y, l);
            assert_true(4 * sum == p.bytes);
        } else {
            for (int64_t l = 0; l < m->n_lanes; l++)
                written += ml_tensor_get(m, l) != (copies ? (double)(l + 1) : 1.0);
            assert_true(4.0 * (double)written * (READ[k] + 1) * 3 == p.bytes);
        }
        drop_args(x);
    }
}

/* ---------------------------------------------------------------- measuring */

static bool can_measure(Fix *x, ml_Engine *e)
{
    const char *why = ml_backend_find("llvm") == NULL         ? "libLLVM 19 is not there"
                      : ml_engine_worker(e, x->cx, 0) == NULL ? "there is no worker"
                                                              : NULL;

    ml_error_clear(x->cx);
    if (why)
        print_message("skip: %s\n", why);
    return why == NULL;
}

static void the_machine_is_measured_kept_and_found_again(void **state)
{
    Fix *x = *state;
    ml_Engine *e = ml_engine_new();
    const ml_Machine *m;
    ml_Machine full;
    ml_Demand d;
    ml_Roof r;
    double was, exp;
    bool anew;

    (void)unlink(ml_machine_path(x->cx));
    if (!can_measure(x, e)) {
        ml_engine_free(e);
        skip();
    }
    assert_null(ml_machine_known(x->cx, e));
    m = ml_machine_get(x->cx, e, false);
    if (m == NULL)
        fail_msg("%s: %s", ml_error_code(ml_error(x->cx)->code),
                 ml_error(x->cx)->facts[0].as.text);
    assert_false(m->full);
    /* how they compare is a matter of what else the machine does just now */
    for (int k = 0; k <= ML_MACHINE_F64; k++)
        assert_true(m->peak[k][0] > 0 && m->peak[k][1] > 0);
    m = ml_machine_get(x->cx, e, true);
    assert_non_null(m);
    assert_true(m->full);
    full = *m;
    for (int l = 0; l < ML_MACHINE_LEVELS; l++)
        for (int t = 0; t < ML_TRAFFICS; t++)
            if (l == ML_MACHINE_L1 || l == ML_MACHINE_MEMORY)
                assert_true(m->bandwidth[l][t][0] > 0 && m->bandwidth[l][t][1] > 0);
    assert_true(ml_machine_bandwidth(m, ML_MACHINE_L1, 1) > 0 &&
                ml_machine_bandwidth(m, ML_MACHINE_MEMORY, 1) > 0);
    assert_true(m->call > 0 && m->clock_measured > 0);
    assert_true(m->threads == 1 || m->fork_join >= 0);
    /* what is known is not measured again, neither here nor in another session */
    assert_ptr_equal(ml_machine_get(x->cx, e, true), m);
    assert_memory_equal(m, &full, sizeof full);
    ml_engine_free(e);
    e = ml_engine_new();
    m = ml_machine_known(x->cx, e);
    assert_non_null(m);
    assert_true(m->peak[ML_MACHINE_F32][1] == full.peak[ML_MACHINE_F32][1]);
    /* what no kernel can do: measured again, three times a minute, and nothing got smaller */
    was = m->peak[ML_MACHINE_F32][1];
    d = (ml_Demand){.type = ML_DT_F32, .flop = was};
    d.math[ML_MATH_EXP][0] = d.math[ML_MATH_DIVIDE][1] = 1;
    assert_true(ml_machine_math(x->cx, e, &d));
    assert_true(m->math[ML_MATH_EXP][0] > 0 && m->math[ML_MATH_DIVIDE][1] > 0);
    assert_true(isnan(m->math[ML_MATH_ERF][0]) && isnan(m->math[ML_MATH_EXP][1]));
    exp = m->math[ML_MATH_EXP][0];
    d.math[ML_MATH_EXP][0] = d.math[ML_MATH_DIVIDE][1] = 0;
    for (int k = 0; k < 4; k++) {
        r = ml_machine_roof(m, m->threads, &d);
        assert_true(ml_machine_beaten(x->cx, e, &d, &r, &anew));
        assert_int_equal(anew, k < 3);
        m = ml_machine_known(x->cx, e);
        assert_true(m->peak[ML_MACHINE_F32][1] >= was && m->math[ML_MATH_EXP][0] == exp);
    }
    ml_machine_set_peak(e, 8 * was);
    assert_true(fabs(was / ml_machine_peak(m, ML_DT_F32, m->threads) - 0.125) < 1e-9);
    ml_machine_set_peak(e, 0);
    assert_true(ml_machine_known(x->cx, e)->peak_set == 0);
    ml_engine_free(e);
}

/* Between the first product and the last of the loop that does them, nothing else happens
 * than products of registers. */
static void the_loop_of_products_stays_in_registers(void **state)
{
    Fix *x = *state;
    ml_Engine *e = ml_engine_new();
    ml_Target t = ml_target_host();
    ml_PeakProbe p = ml_probe_peak(x->cx, &t, ML_MACHINE_F32, 2);
    ml_Job j = {.program = p.text, .target = t, .want = ML_WANT_TEXT, .text = "asm"};
    size_t longest = 0, n = 0;
    ml_JobResult r;

    if (!can_measure(x, e) || strstr(t.features, "+fma") == NULL) {
        ml_engine_free(e);
        skip();
    }
    assert_true(ml_worker_run(ml_engine_worker(e, x->cx, 0), x->cx, &j, &r));
    if (!r.ok)
        fail_msg("%s", r.message);
    for (const char *s = r.text; *s; s += strcspn(s, "\n"), s += *s == '\n') {
        size_t length = strcspn(s, "\n");
        const char *at = s + strspn(s, " \t");

        if (*at == '.' || *at == '#' || *at == '\n') /* directives, comments */
            continue;
        if (strncmp(at, "vfmadd", 6) == 0 && memchr(s, '(', strcspn(s, "#\n")) == NULL &&
            length < 200)
            n++;
        else
            n = 0;
        longest = n > longest ? n : longest;
    }
    assert_int_equal(longest, t.registers >= 32 ? 24 : 12);
    ml_engine_free(e);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fix_setup, fix_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_table_counts_pipes_and_lanes),
        TEST(nominal_peak_is_cores_times_clock_times_operations),
        TEST(the_host_has_a_name_and_caches),
        TEST(a_peak_between_one_and_all_threads_is_bounded_by_both),
        TEST(the_nearer_roof_is_the_one_that_takes_longer),
        TEST(a_mix_of_reads_and_writes_is_made_of_patterns),
        TEST(what_fills_a_cache_comes_from_the_next_in_part),
        TEST(functions_have_rates_of_their_own),
        TEST(figures_come_back_from_the_file),
        TEST(an_entry_is_replaced_and_the_list_stays_short),
        TEST(a_corrupt_file_is_as_good_as_none),
        TEST(figures_that_cannot_be_are_refused),
        TEST(a_file_that_cannot_be_written_is_no_error),
        TEST(the_path_follows_the_environment),
        TEST(peak_programs_compute_what_they_are_counted_for),
        TEST(streams_touch_the_bytes_they_are_counted_for),
        TEST(the_machine_is_measured_kept_and_found_again),
        TEST(the_loop_of_products_stays_in_registers),
    };

    return cmocka_run_group_tests(tests, folder_up, folder_down);
}
