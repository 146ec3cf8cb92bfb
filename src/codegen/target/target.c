/*
 * target - the machine at hand, and targets as JSON.
 *
 * Extensions are read from cpuid, those of wide registers only when the system saves them
 * (xgetbv), so that what a hypervisor hides is not used. Names are LLVM's. Cores are the
 * distinct sets of sibling threads among the processors that this process may use.
 * Source: lowering-and-codegen 7, 8; auto-scheduler 17.
 */
#define _GNU_SOURCE /* NOLINT: sched_getaffinity */
#include "moonloop/codegen/target/target.h"

#include "moonloop/core/error.h"
#include "moonloop/core/json/json.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* ---------------------------------------------------------------- extensions */

typedef enum Needs { PLAIN, YMM, ZMM, TILE } Needs;

typedef struct Feature {
    const char *name;
    uint32_t leaf, sub;
    uint8_t reg, bit; /* eax, ebx, ecx, edx */
    uint8_t needs;    /* registers that the system must save */
} Feature;

/* In the order of their names, which is that of the canonical text. */
static const Feature known[] = {
    {"adx", 7, 0, 1, 19, PLAIN},
    {"aes", 1, 0, 2, 25, PLAIN},
    {"amx-bf16", 7, 0, 3, 22, TILE},
    {"amx-int8", 7, 0, 3, 25, TILE},
    {"amx-tile", 7, 0, 3, 24, TILE},
    {"avx", 1, 0, 2, 28, YMM},
    {"avx2", 7, 0, 1, 5, YMM},
    {"avx512bf16", 7, 1, 0, 5, ZMM},
    {"avx512bitalg", 7, 0, 2, 12, ZMM},
    {"avx512bw", 7, 0, 1, 30, ZMM},
    {"avx512cd", 7, 0, 1, 28, ZMM},
    {"avx512dq", 7, 0, 1, 17, ZMM},
    {"avx512f", 7, 0, 1, 16, ZMM},
    {"avx512fp16", 7, 0, 3, 23, ZMM},
    {"avx512ifma", 7, 0, 1, 21, ZMM},
    {"avx512vbmi", 7, 0, 2, 1, ZMM},
    {"avx512vbmi2", 7, 0, 2, 6, ZMM},
    {"avx512vl", 7, 0, 1, 31, ZMM},
    {"avx512vnni", 7, 0, 2, 11, ZMM},
    {"avx512vpopcntdq", 7, 0, 2, 14, ZMM},
    {"avxifma", 7, 1, 0, 23, YMM},
    {"avxneconvert", 7, 1, 3, 5, YMM},
    {"avxvnni", 7, 1, 0, 4, YMM},
    {"avxvnniint16", 7, 1, 3, 10, YMM},
    {"avxvnniint8", 7, 1, 3, 4, YMM},
    {"bmi", 7, 0, 1, 3, PLAIN},
    {"bmi2", 7, 0, 1, 8, PLAIN},
    {"cx16", 1, 0, 2, 13, PLAIN},
    {"f16c", 1, 0, 2, 29, YMM},
    {"fma", 1, 0, 2, 12, YMM},
    {"fma4", 0x80000001, 0, 2, 16, YMM},
    {"gfni", 7, 0, 2, 8, PLAIN},
    {"lzcnt", 0x80000001, 0, 2, 5, PLAIN},
    {"movbe", 1, 0, 2, 22, PLAIN},
    {"pclmul", 1, 0, 2, 1, PLAIN},
    {"popcnt", 1, 0, 2, 23, PLAIN},
    {"prfchw", 0x80000001, 0, 2, 8, PLAIN},
    {"rdrnd", 1, 0, 2, 30, PLAIN},
    {"rdseed", 7, 0, 1, 18, PLAIN},
    {"sahf", 0x80000001, 0, 2, 0, PLAIN},
    {"sha", 7, 0, 1, 29, PLAIN},
    {"sse3", 1, 0, 2, 0, PLAIN},
    {"sse4.1", 1, 0, 2, 19, PLAIN},
    {"sse4.2", 1, 0, 2, 20, PLAIN},
    {"sse4a", 0x80000001, 0, 2, 6, PLAIN},
    {"ssse3", 1, 0, 2, 9, PLAIN},
    {"tbm", 0x80000001, 0, 2, 21, PLAIN},
    {"vaes", 7, 0, 2, 9, YMM},
    {"vpclmulqdq", 7, 0, 2, 10, YMM},
    {"xop", 0x80000001, 0, 2, 11, YMM},
    {"xsave", 1, 0, 2, 26, PLAIN},
};

/* Whether "+name" stands in the list. */
static bool lists(const char *features, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = features; (p = strstr(p, name)) != NULL; p += n)
        if (p > features && p[-1] == '+' && (p[n] == ',' || p[n] == 0))
            return true;
    return false;
}

static bool lists_all(const char *features, const char *const *names, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!lists(features, names[k]))
            return false;
    return true;
}

static int level(const char *features)
{
    static const char *const v2[] = {"cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"};
    static const char *const v3[] = {"avx",  "avx2", "bmi",   "bmi2",
                                     "f16c", "fma",  "lzcnt", "movbe"};
    static const char *const v4[] = {"avx512bw", "avx512cd", "avx512dq", "avx512f",
                                     "avx512vl"};

    if (!lists_all(features, v2, ML_COUNT(v2)))
        return 1;
    if (!lists_all(features, v3, ML_COUNT(v3)))
        return 2;
    return lists_all(features, v4, ML_COUNT(v4)) ? 4 : 3;
}

/* Processors of 64 bits that LLVM 19 knows by name. An unknown name would end the process
 * that hands it to LLVM. */
static const char *const processors[] = {"alderlake",
                                         "amdfam10",
                                         "arrowlake",
                                         "arrowlake-s",
                                         "atom",
                                         "barcelona",
                                         "bdver1",
                                         "bdver2",
                                         "bdver3",
                                         "bdver4",
                                         "bonnell",
                                         "broadwell",
                                         "btver1",
                                         "btver2",
                                         "cannonlake",
                                         "cascadelake",
                                         "clearwaterforest",
                                         "cooperlake",
                                         "core-avx-i",
                                         "core-avx2",
                                         "core2",
                                         "corei7",
                                         "corei7-avx",
                                         "emeraldrapids",
                                         "goldmont",
                                         "goldmont-plus",
                                         "gracemont",
                                         "grandridge",
                                         "graniterapids",
                                         "graniterapids-d",
                                         "haswell",
                                         "icelake-client",
                                         "icelake-server",
                                         "ivybridge",
                                         "k8",
                                         "k8-sse3",
                                         "knl",
                                         "knm",
                                         "lunarlake",
                                         "meteorlake",
                                         "nehalem",
                                         "nocona",
                                         "opteron",
                                         "opteron-sse3",
                                         "pantherlake",
                                         "penryn",
                                         "raptorlake",
                                         "rocketlake",
                                         "sandybridge",
                                         "sapphirerapids",
                                         "sierraforest",
                                         "silvermont",
                                         "skx",
                                         "skylake",
                                         "skylake-avx512",
                                         "slm",
                                         "tigerlake",
                                         "tremont",
                                         "westmere",
                                         "x86-64",
                                         "x86-64-v2",
                                         "x86-64-v3",
                                         "x86-64-v4",
                                         "znver1",
                                         "znver2",
                                         "znver3",
                                         "znver4",
                                         "znver5"};

static bool known_processor(const char *name)
{
    for (size_t k = 0; k < ML_COUNT(processors); k++)
        if (ml_streq(processors[k], name))
            return true;
    return false;
}

/* What follows from the extensions. */
static void derive(ml_Target *t)
{
    int l = level(t->features);

    t->vector_bits = l >= 4 ? 512 : l == 3 ? 256 : 128;
    t->registers = l >= 4 ? 32 : 16;
    t->masks = l >= 4;
    t->f16 = lists(t->features, "avx512fp16");
    t->bf16 = lists(t->features, "avx512bf16");
    t->vnni = lists(t->features, "avx512vnni");
}

/* Of an aarch64 target: what LLVM derives from the processor's name and does not tell, as far
 * as intrinsics ask for it. `given`: its features were named. */
static void derive_arm(ml_Target *t, bool given)
{
    static const struct {
        const char *cpu, *features;
    } cpus[] = {
        {"cortex-a76", "+dotprod,+fullfp16,+neon"},
        {"neoverse-n1", "+dotprod,+fullfp16,+neon"},
        {"apple-m1", "+dotprod,+fullfp16,+neon"},
        {"neoverse-n2", "+bf16,+dotprod,+fullfp16,+i8mm,+neon"},
        {"neoverse-v1", "+bf16,+dotprod,+fullfp16,+i8mm,+neon"},
        {"neoverse-v2", "+bf16,+dotprod,+fullfp16,+i8mm,+neon"},
        {"apple-m2", "+bf16,+dotprod,+fullfp16,+i8mm,+neon"},
    };
    const char *all = "+neon";

    for (size_t k = 0; k < ML_COUNT(cpus); k++)
        if (ml_streq(t->cpu, cpus[k].cpu))
            all = cpus[k].features;
    if (!given)
        snprintf(t->features, sizeof t->features, "%s", all);
    t->vector_bits = 128;
    t->registers = 32;
    t->masks = t->vnni = false;
    t->f16 = lists(t->features, "fullfp16");
    t->bf16 = false; /* what rules take for x86's dot products */
}

#if defined(__x86_64__)
static uint64_t saved_registers(void)
{
    uint32_t a = 0, b = 0, c = 0, d = 0, lo, hi;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27)))
        return 0;
    __asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (uint64_t)hi << 32 | lo;
}

/* One answer of the processor. */
typedef struct Leaf {
    uint32_t leaf, sub, r[4];
    bool asked, known;
} Leaf;

static void ask(Leaf *l, uint32_t leaf, uint32_t sub)
{
    *l = (Leaf){.leaf = leaf, .sub = sub, .asked = true};
    l->known = __get_cpuid_count(leaf, sub, &l->r[0], &l->r[1], &l->r[2], &l->r[3]) != 0;
    if (leaf == 7 && sub == 1) { /* subleaf 1 exists only if subleaf 0 says so */
        uint32_t z[4] = {0, 0, 0, 0};
        if (!__get_cpuid_count(7, 0, &z[0], &z[1], &z[2], &z[3]) || z[0] < 1)
            l->known = false;
    }
}

enum { LEAVES = 8 }; /* more than the table names */

/* asked[LEAVES]: the answers so far: in a virtual machine a question takes tens of
 * microseconds. */
static bool has(const Feature *f, uint64_t saved, Leaf *asked)
{
    static const uint64_t needed[] = {0, 6, 0xe6, 0x60000};
    Leaf *l = asked;

    if ((saved & needed[f->needs]) != needed[f->needs])
        return false;
    while (l->asked && (l->leaf != f->leaf || l->sub != f->sub))
        l++;
    ML_ASSERT(l < asked + LEAVES);
    if (!l->asked)
        ask(l, f->leaf, f->sub);
    return l->known && (l->r[f->reg] >> f->bit & 1) != 0;
}

typedef struct Model {
    uint16_t family, first, last;
    const char *name;
} Model;

static const Model intel[] = {
    {6, 0x2a, 0x2a, "sandybridge"},    {6, 0x2d, 0x2d, "sandybridge"},
    {6, 0x3a, 0x3a, "ivybridge"},      {6, 0x3e, 0x3e, "ivybridge"},
    {6, 0x3c, 0x3c, "haswell"},        {6, 0x3f, 0x3f, "haswell"},
    {6, 0x45, 0x46, "haswell"},        {6, 0x3d, 0x3d, "broadwell"},
    {6, 0x47, 0x47, "broadwell"},      {6, 0x4f, 0x4f, "broadwell"},
    {6, 0x56, 0x56, "broadwell"},      {6, 0x4e, 0x4e, "skylake"},
    {6, 0x5e, 0x5e, "skylake"},        {6, 0x8e, 0x8e, "skylake"},
    {6, 0x9e, 0x9e, "skylake"},        {6, 0xa5, 0xa6, "skylake"},
    {6, 0x55, 0x55, "skylake-avx512"}, {6, 0x6a, 0x6a, "icelake-server"},
    {6, 0x6c, 0x6c, "icelake-server"}, {6, 0x7d, 0x7e, "icelake-client"},
    {6, 0x8c, 0x8d, "tigerlake"},      {6, 0xa7, 0xa7, "rocketlake"},
    {6, 0x97, 0x97, "alderlake"},      {6, 0x9a, 0x9a, "alderlake"},
    {6, 0xb7, 0xb7, "raptorlake"},     {6, 0xba, 0xba, "raptorlake"},
    {6, 0xbf, 0xbf, "raptorlake"},     {6, 0xaa, 0xaa, "meteorlake"},
    {6, 0xac, 0xac, "meteorlake"},     {6, 0x8f, 0x8f, "sapphirerapids"},
    {6, 0xcf, 0xcf, "emeraldrapids"},  {6, 0xad, 0xad, "graniterapids"},
};
static const Model amd[] = {
    {0x17, 0x00, 0x2f, "znver1"}, {0x17, 0x30, 0xff, "znver2"},
    {0x19, 0x10, 0x1f, "znver4"}, {0x19, 0x60, 0xaf, "znver4"},
    {0x19, 0x00, 0x5f, "znver3"}, {0x1a, 0x00, 0xff, "znver5"},
};

static const char *model_name(void)
{
    uint32_t a = 0, b = 0, c = 0, d = 0, family, model;
    const Model *list = NULL;
    size_t n = 0;

    if (!__get_cpuid(0, &a, &b, &c, &d))
        return NULL;
    if (b == 0x756e6547) { /* "Genu" */
        list = intel;
        n = ML_COUNT(intel);
    } else if (b == 0x68747541) { /* "Auth" */
        list = amd;
        n = ML_COUNT(amd);
    }
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return NULL;
    family = a >> 8 & 15;
    model = (a >> 4 & 15) | (a >> 12 & 0xf0);
    if (family == 15)
        family += a >> 20 & 255;
    for (size_t k = 0; k < n; k++)
        if (list[k].family == family && list[k].first <= model && model <= list[k].last)
            return list[k].name;
    return NULL;
}

/* The system lets a process use tiles that asks for it, once; what it starts asks again. */
static bool may_use_tiles(void)
{
#if defined(__linux__) && defined(SYS_arch_prctl)
    enum { REQUEST = 0x1023, TILE_DATA = 18 };

    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
#else
    return false;
#endif
}

static void host_features(ml_Target *t)
{
    uint64_t saved = saved_registers();
    const char *name = model_name();
    Leaf asked[LEAVES + 1] = {0};
    size_t at = 0;

    for (size_t k = 0; k < ML_COUNT(known); k++)
        if (has(&known[k], saved, asked) && (known[k].needs != TILE || may_use_tiles())) {
            int n = snprintf(t->features + at, sizeof t->features - at, "%s+%s",
                             at ? "," : "", known[k].name);
            at += (size_t)n;
        }
    derive(t);
    (void)snprintf(t->cpu, sizeof t->cpu, "%s", name ? name : ml_target_level(t));
}
#else
static void host_features(ml_Target *t)
{
    t->vector_bits = 128; /* NEON; LLVM knows the rest of the host */
    t->registers = 32;
}
#endif

/* ---------------------------------------------------------------- cores */

static bool first_sibling(int cpu, int *first)
{
    char path[96];
    FILE *f;
    bool ok;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/core_cpus_list",
             cpu);
    f = fopen(path, "r");
    if (f == NULL) {
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
        f = fopen(path, "r");
    }
    if (f == NULL)
        return false;
    ok = fscanf(f, "%d", first) == 1; /* NOLINT(cert-err34-c): the kernel's own number */
    fclose(f);
    return ok;
}

static uint32_t count_cores(void)
{
    cpu_set_t may, seen;
    uint32_t n = 0;

    CPU_ZERO(&may);
    CPU_ZERO(&seen);
    if (sched_getaffinity(0, sizeof may, &may) != 0)
        return 1;
    for (int k = 0; k < CPU_SETSIZE; k++) {
        int first = k;
        if (!CPU_ISSET(k, &may))
            continue;
        if (!first_sibling(k, &first) || first < 0 || first >= CPU_SETSIZE)
            first = k;
        if (!CPU_ISSET(first, &seen))
            n++;
        CPU_SET(first, &seen);
    }
    return n ? n : 1;
}

ml_Target ml_target_host(void)
{
    ml_Target t = {.cores = count_cores()};

    host_features(&t);
    return t;
}

const char *ml_target_level(const ml_Target *t)
{
    static const char *const names[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};

    if (t->registers == 32 && t->vector_bits == 128)
        return "aarch64";
    return names[level(t->features) - 1];
}

uint32_t ml_threads(const ml_Target *t)
{
    const char *z = getenv("MOONLOOP_THREADS");
    char *end;
    long n;

    if (z && *z) {
        n = strtol(z, &end, 10);
        if (*end == 0 && n >= 1 && n <= 65536)
            return (uint32_t)n;
    }
    return t->cores ? t->cores : 1;
}

void ml_target_features(const ml_Target *t, ml_Text *out)
{
    ml_text_add(out, t->features);
    for (size_t k = 0; k < ML_COUNT(known) && strncmp(t->triple, "aarch64", 7) != 0; k++)
        if (!lists(t->features, known[k].name))
            ml_text_fmt(out, "%s-%s", out->n ? "," : "", known[k].name);
}

const char *ml_target_lacks(ml_Ctx *cx, const ml_Target *t)
{
    ml_Target host = ml_target_host();
    const char *all = NULL;

    for (size_t k = 0; k < ML_COUNT(known) && strncmp(t->triple, "aarch64", 7) != 0; k++)
        if (lists(t->features, known[k].name) && !lists(host.features, known[k].name))
            all = all ? ml_format(cx, "%s, %s", all, known[k].name) : known[k].name;
    return all;
}

bool ml_target_is_foreign(const ml_Target *t)
{
#if defined __x86_64__
    static const char machine[] = "x86_64";
#elif defined __aarch64__
    static const char machine[] = "aarch64";
#else
    static const char machine[] = "-";
#endif

    return t->triple[0] && strncmp(t->triple, machine, strlen(machine)) != 0;
}

/* ---------------------------------------------------------------- JSON */

void ml_target_json(const ml_Target *t, ml_Text *out)
{
    ml_text_fmt(out, "{\"kind\":\"%s\",\"cpu\":", ml_target_kinds[t->kind].name);
    ml_json_string(out, t->cpu);
    if (t->triple[0]) {
        ml_text_add(out, ",\"mtriple\":");
        ml_json_string(out, t->triple);
    }
    ml_text_fmt(out, ",\"vector-bits\":%u,\"features\":", (unsigned)t->vector_bits);
    ml_json_string(out, t->features);
    ml_text_fmt(out, ",\"num-cores\":%u}", (unsigned)t->cores);
}

static bool wrong(ml_Ctx *cx, const char *key, const char *what)
{
    return ml_fail(cx, ML_E_NO_TARGET,
                   ML_TEXT(ml_format(cx, "target: \"%s\" %s", key, what)));
}

static bool text_key(ml_Ctx *cx, const ml_Json *j, const char *key, char *to, size_t size)
{
    const ml_Json *v = ml_json_get(j, key);

    if (v == NULL)
        return true;
    if (v->kind != ML_JSON_STRING || strlen(v->as.s) >= size)
        return wrong(cx, key, "is no text, or too long");
    memset(to, 0, size);
    memcpy(to, v->as.s, strlen(v->as.s));
    return true;
}

static bool number_key(ml_Ctx *cx, const ml_Json *j, const char *key, int64_t hi,
                       uint32_t *to)
{
    const ml_Json *v = ml_json_get(j, key);

    if (v == NULL)
        return true;
    if (v->kind != ML_JSON_INT || v->as.i < 1 || v->as.i > hi)
        return wrong(cx, key, "is no number that a machine could have");
    *to = (uint32_t)v->as.i;
    return true;
}

/* The kinds for which code is made: "llvm" or more, each between two quotes. */
static const char *names_of_kinds(ml_Ctx *cx, const char *quote)
{
    const char *all = "";

    for (size_t k = 0; k < ml_n_target_kinds; k++)
        if (ml_target_kinds[k].backend)
            all = ml_format(cx, "%s%s%s%s%s", all, *all ? " or " : "", quote,
                            ml_target_kinds[k].name, quote);
    return all;
}

bool ml_target_parse(ml_Ctx *cx, ml_Str json, ml_Target *out)
{
    ml_JsonError where = {0};
    const ml_Json *j = ml_json_read(cx, json, &where), *name;
    const ml_TargetKind *kind = ml_target_kinds;
    ml_Target t = ml_target_host();
    uint32_t bits = 0;

    if (j == NULL)
        return ml_fail(cx, ML_E_NO_TARGET,
                       ML_TEXT(ml_format(cx, "target: %s at column %u", where.what,
                                         (unsigned)where.col)));
    if (j->kind != ML_JSON_OBJECT)
        return ml_fail(cx, ML_E_NO_TARGET, ML_TEXT("target: no JSON object"));
    name = ml_json_get(j, "kind");
    if (name)
        kind = name->kind == ML_JSON_STRING ? ml_target_kind(name->as.s) : NULL;
    if (kind == NULL || kind->backend == NULL)
        return wrong(cx, "kind", ml_format(cx, "is not %s", names_of_kinds(cx, "\"")));
    t.kind = (uint32_t)(kind - ml_target_kinds);
    if (!text_key(cx, j, "cpu", t.cpu, sizeof t.cpu) ||
        !text_key(cx, j, "mtriple", t.triple, sizeof t.triple) ||
        !text_key(cx, j, "features", t.features, sizeof t.features) ||
        !number_key(cx, j, "vector-bits", 512, &bits) ||
        !number_key(cx, j, "num-cores", 65536, &t.cores))
        return false;
    if ((t.triple[0] == 0 || strncmp(t.triple, "x86_64", 6) == 0) && t.cpu[0] &&
        !known_processor(t.cpu))
        return ml_fail(cx, ML_E_NO_TARGET,
                       ML_TEXT(ml_format(cx,
                                         "no x86-64 processor is named %s (znver4, "
                                         "sapphirerapids, x86-64-v3, ... are)",
                                         t.cpu)));
    if (bits && bits != 128 && bits != 256 && bits != 512)
        return wrong(cx, "vector-bits", "is none of 128, 256, 512");
    if (t.triple[0] == 0 || strncmp(t.triple, "x86_64", 6) == 0)
        derive(&t);
    else if (strncmp(t.triple, "aarch64", 7) == 0)
        derive_arm(&t, ml_json_get(j, "features") != NULL);
    if (bits)
        t.vector_bits = bits;
    *out = t;
    return true;
}
