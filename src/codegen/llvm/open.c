/*
 * open - finds and loads libLLVM, fills the table of its functions, makes the target.
 *
 * The library is opened by its name, which the dynamic linker resolves, else in the folder
 * that llvm-config-19 tells; it is never closed. Looking for it loads nothing: folders of
 * LD_LIBRARY_PATH, the linker's cache, the usual folders. Source: DESIGN 4;
 * lowering-and-codegen 7.1.
 */
#include "moonloop/codegen/llvm/emit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const names[] = {"libLLVM.so.19.1", "libLLVM-19.so"};
static const char *const folders[] = {"/usr/lib/llvm-19/lib",
                                      "/usr/lib64/llvm19/lib64",
                                      "/usr/lib/x86_64-linux-gnu",
                                      "/usr/lib/aarch64-linux-gnu",
                                      "/usr/lib64",
                                      "/usr/lib",
                                      "/usr/local/lib"};

/* ---------------------------------------------------------------- looking */

static bool in_folder(const char *folder, size_t n, const char *name)
{
    ml_Text t = {0};
    bool found;

    ml_text_addn(&t, folder, n);
    ml_text_fmt(&t, "/%s", name);
    found = n > 0 && !t.bad && access(ml_text_z(&t), R_OK) == 0;
    ml_text_free(&t);
    return found;
}

static bool in_path(const char *path, const char *name)
{
    while (path && *path) {
        const char *end = strchr(path, ':');
        size_t n = end ? (size_t)(end - path) : strlen(path);
        if (in_folder(path, n, name))
            return true;
        path = end ? end + 1 : NULL;
    }
    return false;
}

/* The cache is a table of offsets before a heap of names: the name with its zero is in it.
 */
static bool in_cache(const char *name)
{
    FILE *f = fopen("/etc/ld.so.cache", "rb");
    ml_Text all = {0};
    char part[8192];
    size_t n, len = strlen(name) + 1;
    bool found = false;

    if (f == NULL)
        return false;
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        ml_text_addn(&all, part, n);
    fclose(f);
    for (size_t k = 0; !found && !all.bad && k + len <= all.n; k++) {
        const char *at = memchr(all.p + k, name[0], all.n - k);
        if (at == NULL)
            break;
        k = (size_t)(at - all.p);
        found = k + len <= all.n && memcmp(at, name, len) == 0;
    }
    ml_text_free(&all);
    return found;
}

static const char *find_library(void)
{
    for (size_t k = 0; k < ML_COUNT(names); k++) {
        if (in_path(getenv("LD_LIBRARY_PATH"), names[k]) || in_cache(names[k]))
            return names[k];
        for (size_t j = 0; j < ML_COUNT(folders); j++)
            if (in_folder(folders[j], strlen(folders[j]), names[k]))
                return names[k];
    }
    return NULL;
}

/* ---------------------------------------------------------------- loading */

static void *try_open(ml_Ctx *cx, const char *folder, const char *name, ml_Text *tried)
{
    const char *path = folder ? ml_format(cx, "%s/%s", folder, name) : name;
    void *lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);

    if (lib == NULL)
        ml_text_fmt(tried, "%s%s", tried->n ? ", " : "", path);
    return lib;
}

static void *open_library(ml_Ctx *cx, ml_Text *tried)
{
    char folder[512] = "";
    void *lib = NULL;
    FILE *f;

    for (size_t k = 0; k < ML_COUNT(names) && lib == NULL; k++)
        lib = try_open(cx, NULL, names[k], tried);
    if (lib)
        return lib;
    f = popen("llvm-config-19 --libdir 2>/dev/null", "r"); /* NOLINT(cert-env33-c) */
    if (f) {
        if (fgets(folder, sizeof folder, f) == NULL)
            folder[0] = 0;
        pclose(f);
        folder[strcspn(folder, "\n")] = 0;
    }
    for (size_t k = 0; k < ML_COUNT(names) && lib == NULL && folder[0]; k++)
        lib = try_open(cx, folder, names[k], tried);
    return lib;
}

typedef void AnyFn(void);

/* The address as a function: ISO C has no cast for it, POSIX promises the representation.
 */
static AnyFn *function(void *lib, const char *name)
{
    void *p = dlsym(lib, name);
    AnyFn *f;

    _Static_assert(sizeof p == sizeof f, "functions and objects have addresses alike");
    memcpy(&f, &p, sizeof f);
    return f;
}

static bool fill_table(ml_Ctx *cx, ml_Llvm *ll)
{
    const char *missing = NULL;

#define ML_LLVM(name)                                                                      \
    ll->api.name = (__typeof__(ll->api.name))function(ll->lib, "LLVM" #name);              \
    if (ll->api.name == NULL)                                                              \
        missing = "LLVM" #name;
#include "moonloop/codegen/llvm/llvm.def"
#undef ML_LLVM
    if (missing == NULL)
        return true;
    return ml_fail(cx, ML_E_NO_TARGET,
                   ML_TEXT(ml_format(cx,
                                     "the LLVM library that was found lacks %s; "
                                     "version 19 is needed",
                                     missing)));
}

/* Targets are made known one by one; the names are those of LLVM's folders. */
static bool init_target(ml_Llvm *ll, const char *name)
{
    static const char *const parts[] = {"TargetInfo", "Target", "TargetMC", "AsmPrinter",
                                        "AsmParser"};
    char symbol[64];

    for (size_t k = 0; k < ML_COUNT(parts); k++) {
        AnyFn *f;
        snprintf(symbol, sizeof symbol, "LLVMInitialize%s%s", name, parts[k]);
        f = function(ll->lib, symbol);
        if (f == NULL)
            return false;
        f();
    }
    return true;
}

/* ---------------------------------------------------------------- the target */

static char *copy(const char *z)
{
    size_t n = strlen(z) + 1;
    char *p = malloc(n);

    if (p == NULL)
        ml_out_of_memory();
    memcpy(p, z, n);
    return p;
}

static char *given_or(ml_Llvm *ll, const char *given, char *(*host)(void))
{
    char *h, *p;

    if (*given)
        return copy(given);
    h = host();
    p = copy(h);
    ll->api.DisposeMessage(h);
    return p;
}

/* What lowering hands over has its addresses reduced and its instructions in order: these
 * passes take a third of the time, and kernels are none the faster. They are switched off
 * for all of a process, so only where nobody else compiles. Source: lowering-and-codegen
 * 7.2. */
static LLVMCodeGenOptLevel level_here(ml_Llvm *ll)
{
    static const char *const options[] = {
        "moonloop",
        "-disable-lsr",
        "-enable-misched=0",
        "-disable-post-ra",
        "-disable-cgp",
        "-disable-replace-with-vec-lib",
        "-disable-machine-cse",
        "-disable-machine-sink",
        "-disable-postra-machine-licm",
        "-disable-postra-machine-sink",
        "-disable-copyprop",
        "-disable-constant-hoisting",
        "-disable-partial-libcall-inlining",
        "-no-stack-coloring",
        "-disable-ssc",
        "-enable-shrink-wrap=false",
        /* unknown where LLVM may have no x86 */
        "-disable-x86-domain-reassignment",
        "-x86-cmov-converter=false",
        "-x86-disable-avoid-SFB",
        "-x86-machine-combiner=false",
    };
    const size_t n = ML_COUNT(options) - (ll->x86 ? 0 : 4);
    static bool set; /* the library takes them once */

    if (!ml_code_is_alone())
        return LLVMCodeGenLevelDefault;
    if (!set)
        ll->api.ParseCommandLineOptions((int)n, options, NULL);
    set = true;
    return LLVMCodeGenLevelLess;
}

static bool make_target(ml_Ctx *cx, ml_Llvm *ll)
{
    const ml_Target *t = &ll->target;
    ml_Text features = {0};
    LLVMTargetRef target;
    char *why = NULL;
    const char *family;
    bool ok;

    ll->triple = given_or(ll, t->triple, ll->api.GetDefaultTargetTriple);
    ll->cpu = given_or(ll, t->cpu, ll->api.GetHostCPUName);
    if (*t->features) {
        ml_target_features(t, &features);
        ll->features = copy(ml_text_z(&features));
        ml_text_free(&features);
    } else {
        ll->features = given_or(ll, "", ll->api.GetHostCPUFeatures);
    }
    ll->x86 = strncmp(ll->triple, "x86_64", 6) == 0;
    family = ll->x86 ? "X86" : strncmp(ll->triple, "aarch64", 7) == 0 ? "AArch64" : NULL;
    if (family == NULL || !init_target(ll, family))
        return ml_fail(
            cx, ML_E_NO_TARGET,
            ML_TEXT(ml_format(cx, "no code is made for the target %s", ll->triple)));
    ok = !ll->api.GetTargetFromTriple(ll->triple, &target, &why);
    if (ok)
        ll->machine =
            ll->api.CreateTargetMachine(target, ll->triple, ll->cpu, ll->features,
                                        level_here(ll), LLVMRelocPIC, LLVMCodeModelDefault);
    if (!ok || ll->machine == NULL)
        ml_fail(cx, ML_E_NO_TARGET,
                ML_TEXT(ml_format(cx, "LLVM knows no machine for %s, %s%s%s", ll->triple,
                                  ll->cpu, why ? ": " : "", why ? why : "")));
    if (why)
        ll->api.DisposeMessage(why);
    if (ll->machine == NULL)
        return false;
    ll->layout = ll->api.CreateTargetDataLayout(ll->machine);
    return true;
}

static void close_llvm(ml_Codegen *c)
{
    ml_Llvm *ll = ml_llvm_of(c);

    ml_llvm_unlink_all(ll);
    if (ll->layout)
        ll->api.DisposeTargetData(ll->layout);
    if (ll->machine)
        ll->api.DisposeTargetMachine(ll->machine);
    ml_text_free(&ll->reported);
    free(ll->triple);
    free(ll->cpu);
    free(ll->features);
    free(ll); /* the library stays: its own threads and caches may live on */
}

/* Loads the library once per process, makes a target machine. */
static ml_Codegen *open_llvm(ml_Ctx *cx, const ml_Target *t)
{
    ml_Llvm *ll = calloc(1, sizeof *ll);
    ml_Text tried = {0};
    unsigned version[3] = {0};

    if (ll == NULL)
        ml_out_of_memory();
    ll->code.by = &ml_backend_llvm;
    ll->target = *t;
    if (ll->target.vector_bits != 128 && ll->target.vector_bits != 256)
        ll->target.vector_bits = 512;
    ll->lib = open_library(cx, &tried);
    if (ll->lib == NULL)
        ml_fail(cx, ML_E_NO_TARGET,
                ML_TEXT(ml_format(cx, "LLVM 19 is not there: tried %s (Debian: libllvm19)",
                                  ml_text_z(&tried))));
    ml_text_free(&tried);
    if (ll->lib && fill_table(cx, ll)) {
        ll->api.GetVersion(&version[0], &version[1], &version[2]);
        snprintf(ll->version, sizeof ll->version, "%u.%u.%u", version[0], version[1],
                 version[2]);
        if (version[0] != 19)
            ml_fail(cx, ML_E_NO_TARGET,
                    ML_TEXT(ml_format(cx, "LLVM %s was found; version 19 is needed",
                                      ll->version)));
        else if (make_target(cx, ll))
            return &ll->code;
    }
    close_llvm(&ll->code);
    return NULL;
}

static const char *version_of(const ml_Codegen *c)
{
    return ((const ml_Llvm *)(const void *)c)->version;
}

const ml_Backend ml_backend_llvm = {
    .find = find_library,
    .open = open_llvm,
    .close = close_llvm,
    .version = version_of,
    .object = ml_llvm_object,
    .texts = ml_llvm_texts,
    .n_texts = ML_LLVM_TEXTS,
    .text = ml_llvm_text,
    .line_at = ml_llvm_line_at,
    .link = ml_llvm_link,
    .symbol = ml_llvm_symbol,
    .unlink = ml_llvm_unlink,
};
