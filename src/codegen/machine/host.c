/*
 * host - what can be known of the machine without running anything: name, clock, caches,
 * and operations per cycle by a table of cores.
 *
 * The table is what vendors say; a hypervisor may name another core than the one it runs
 * on, so that extensions which only large cores have count more than the name.
 * Source: lowering-and-codegen 8.1.
 */
#include "moonloop/codegen/machine/machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

const char *ml_machine_kind_name(ml_MachineKind k)
{
    static const char *const names[ML_MACHINE_KINDS] = {"float32", "float64", "float16",
                                                        "bfloat16", "int8"};

    return names[k];
}

const char *ml_machine_level_name(ml_MachineLevel l)
{
    static const char *const names[ML_MACHINE_LEVELS] = {"L1", "L2", "L3", "memory"};

    return names[l];
}

const char *ml_traffic_name(ml_Traffic t)
{
    static const char *const names[ML_TRAFFICS] = {"read",  "write",  "copy",
                                                   "triad", "stream", "stream-triad"};

    return names[t];
}

double ml_traffic_read(ml_Traffic t)
{
    static const double read[ML_TRAFFICS] = {1, 0, 1.0 / 2, 2.0 / 3, 1.0 / 2, 2.0 / 3};

    return read[t];
}

const char *ml_math_name(ml_Math k)
{
    static const char *const names[ML_MATHS] = {
        "division", "quotient", "pow", "atan2", "hypot", "fmod",
#define ML_OP(ID, name, effect, n, first, family) name,
#include "moonloop/core/ops_math.def"
#undef ML_OP
    };

    return names[k];
}

/* What the compiler makes a product of. */
static bool is_power_of_two(const ml_Expr *e)
{
    int exponent;

    return e->kind == ML_EXPR_FLOAT && fabs(frexp(e->as.f, &exponent)) == 0.5;
}

ml_Math ml_math_of(const ml_Expr *e)
{
    static const struct {
        ml_OpId op;
        ml_Math math;
    } OF_TWO[] = {{ML_OP_POW, ML_MATH_POW},
                  {ML_OP_ATAN2, ML_MATH_ATAN2},
                  {ML_OP_HYPOT, ML_MATH_HYPOT},
                  {ML_OP_FMOD, ML_MATH_FMOD}};

    if (!ml_dtype_is_float(e->type))
        return ML_MATHS;
    if (e->kind == ML_EXPR_DIV)
        return is_power_of_two(e->args[1]) ? ML_MATHS : ML_MATH_DIVIDE;
    if (e->kind != ML_EXPR_CALL)
        return ML_MATHS;
    for (size_t k = 0; k < ML_COUNT(OF_TWO); k++)
        if (e->as.op->id == OF_TWO[k].op)
            return OF_TWO[k].math;
    if (e->as.op->family != ML_FAMILY_MATH || e->as.op->id == ML_OP_FABS)
        return ML_MATHS;
    return (ml_Math)(ML_MATH_EXP + (e->as.op->id - ML_OP_EXP));
}

/* ---------------------------------------------------------------- operations per cycle */

typedef struct Core {
    const char *cpu; /* LLVM's name */
    uint32_t flop;   /* float32, pipes * lanes * 2 */
} Core;

static const Core cores[] = {
    {"sandybridge", 16},    {"ivybridge", 16},     {"haswell", 32},
    {"broadwell", 32},      {"skylake", 32},       {"alderlake", 32},
    {"raptorlake", 32},     {"meteorlake", 32},    {"icelake-client", 32},
    {"tigerlake", 32},      {"rocketlake", 32},    {"skylake-avx512", 64},
    {"cascadelake", 64},    {"cooperlake", 64},    {"icelake-server", 64},
    {"sapphirerapids", 64}, {"emeraldrapids", 64}, {"graniterapids", 64},
    {"znver1", 16},         {"znver2", 32},        {"znver3", 32},
    {"znver4", 32},         {"znver5", 64},        {"x86-64", 8},
    {"x86-64-v2", 8},       {"x86-64-v3", 32},     {"neoverse-n1", 16},
    {"neoverse-v1", 32},    {"neoverse-v2", 32},
};

static bool has(const ml_Target *t, const char *feature)
{
    size_t n = strlen(feature);

    for (const char *p = t->features; (p = strstr(p, feature)) != NULL; p += n)
        if (p > t->features && p[-1] == '+' && (p[n] == ',' || p[n] == 0))
            return true;
    return false;
}

static double float32_per_cycle(const ml_Target *t)
{
    double flop = (double)NAN;

    for (size_t k = 0; k < ML_COUNT(cores); k++)
        if (ml_streq(cores[k].cpu, t->cpu))
            flop = cores[k].flop;
    /* Only cores with two pipes of 512 bits have these. */
    if (strncmp(t->cpu, "znver", 5) != 0 && (has(t, "amx-tile") || has(t, "avx512fp16")))
        flop = 64;
    if (isnan(flop) || (t->registers == 32 && t->vector_bits == 128))
        return flop;
    /* Two pipes of what the system lets us use; products and sums apart without fma. */
    return fmin(flop, t->vector_bits / (has(t, "fma") ? 8.0 : 16.0));
}

double ml_machine_flop_per_cycle(const ml_Target *t, ml_MachineKind k)
{
    double f = float32_per_cycle(t);

    switch (k) {
    case ML_MACHINE_F32: return f;
    case ML_MACHINE_F64: return f / 2;
    case ML_MACHINE_F16: return t->f16 ? 2 * f : (double)NAN;
    case ML_MACHINE_BF16: /* half of it on some cores: only measuring tells */
        return t->bf16 && strncmp(t->cpu, "znver", 5) == 0 ? 2 * f : (double)NAN;
    case ML_MACHINE_INT8: return t->vnni || has(t, "avxvnni") ? 4 * f : (double)NAN;
    case ML_MACHINE_KINDS: break;
    }
    return (double)NAN;
}

double ml_machine_nominal(const ml_Machine *m, ml_MachineKind k, uint32_t threads)
{
    double clock = m->clock > 0 ? m->clock : m->clock_measured;
    uint32_t n = threads < m->target.cores ? threads : m->target.cores;

    return ml_machine_flop_per_cycle(&m->target, k) * clock * n;
}

/* ---------------------------------------------------------------- name and clock */

static double number_in(const char *path)
{
    FILE *f = fopen(path, "r");
    double v = 0;

    if (f == NULL)
        return 0;
    if (fscanf(f, "%lf", &v) != 1 || !(v > 0)) /* NOLINT(cert-err34-c): the kernel's own */
        v = 0;
    fclose(f);
    return v;
}

#if defined(__x86_64__)
static void read_name(char *out, size_t size)
{
    uint32_t r[13] = {0};
    char text[sizeof r];
    size_t n = 0;

    if (__get_cpuid(0x80000004, &r[0], &r[1], &r[2], &r[3]))
        for (size_t k = 0; k < 3; k++)
            (void)__get_cpuid(0x80000002 + (uint32_t)k, &r[4 * k], &r[4 * k + 1],
                              &r[4 * k + 2], &r[4 * k + 3]);
    memcpy(text, r, sizeof text);
    for (const char *p = text; p < text + sizeof text && *p && n + 1 < size; p++)
        if (*p != ' ' || (n > 0 && out[n - 1] != ' ')) /* padded with spaces */
            out[n++] = *p;
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = 0;
}

static double processor_clock(void)
{
    uint32_t a = 0, b = 0, c = 0, d = 0;

    return __get_cpuid(0x16, &a, &b, &c, &d) ? (b & 0xffff) * 1e6 : 0;
}
#else
static void read_name(char *out, size_t size)
{
    (void)size;
    out[0] = 0;
}

static double processor_clock(void)
{
    return 0;
}
#endif

/* ---------------------------------------------------------------- caches */

static uint64_t cache_size(const char *text)
{
    char *end;
    double v = strtod(text, &end);

    if (!(v > 0))
        return 0;
    return (uint64_t)(v * (*end == 'K' ? 1024.0 : *end == 'M' ? 1048576.0 : 1.0));
}

static bool line_in(const char *dir, int index, const char *file, char *out, int size)
{
    char path[128];
    FILE *f;
    bool ok;

    (void)snprintf(path, sizeof path, "%s/index%d/%s", dir, index, file);
    f = fopen(path, "r");
    if (f == NULL)
        return false;
    ok = fgets(out, size, f) != NULL;
    fclose(f);
    return ok;
}

void ml_machine_caches(uint64_t bytes[ML_MACHINE_MEMORY])
{
    static const char dir[] = "/sys/devices/system/cpu/cpu0/cache";
    char text[64];

    for (int k = 0; k < 16 && line_in(dir, k, "level", text, sizeof text); k++) {
        long level = strtol(text, NULL, 10);

        if (level < 1 || level > ML_MACHINE_MEMORY ||
            !line_in(dir, k, "type", text, sizeof text) || text[0] == 'I')
            continue;
        if (line_in(dir, k, "size", text, sizeof text))
            bytes[level - 1] = cache_size(text);
    }
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    static const int names[ML_MACHINE_MEMORY] = {
        _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};

    for (int k = 0; k < ML_MACHINE_MEMORY; k++) {
        long v = bytes[k] ? 0 : sysconf(names[k]);

        if (v > 0)
            bytes[k] = (uint64_t)v;
    }
#endif
}

/* ---------------------------------------------------------------- all of it */

void ml_machine_host(uint32_t threads, ml_Machine *out)
{
    ml_Machine m = {.target = ml_target_host(), .threads = threads > 0 ? threads : 1};

    read_name(m.cpu, sizeof m.cpu);
    if (m.cpu[0] == 0)
        (void)snprintf(m.cpu, sizeof m.cpu, "%s",
                       m.target.cpu[0] ? m.target.cpu : ml_target_level(&m.target));
    m.clock = 1e3 * number_in("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    if (!(m.clock > 0))
        m.clock = processor_clock();
    m.flop_per_cycle = ml_machine_flop_per_cycle(&m.target, ML_MACHINE_F32);
    ml_machine_caches(m.cache);
    m.clock_measured = m.call = m.fork_join = (double)NAN;
    for (int n = 0; n < 2; n++) {
        for (int k = 0; k < ML_MACHINE_KINDS; k++)
            m.peak[k][n] = (double)NAN;
        for (int l = 0; l < ML_MACHINE_LEVELS; l++)
            for (int t = 0; t < ML_TRAFFICS; t++)
                m.bandwidth[l][t][n] = (double)NAN;
    }
    for (int k = 0; k < ML_MATHS; k++)
        for (int t = 0; t < ML_MATH_TYPES; t++)
            m.math[k][t] = (double)NAN;
    *out = m;
}
