/*
 * link - objects into this process, through ORC.
 *
 * One LLJIT for all, made at the first link. Each linked object has a library of its own,
 * so that names of different objects do not meet; a library whose object is gone serves the
 * next. What objects import is defined by address, so that nothing must be exported; other
 * names are looked for in the process. Source: lowering-and-codegen 7.1, 7.2.
 */
#include "moonloop/codegen/llvm/emit.h"
#include "moonloop/codegen/runtime/runtime.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Object {
    ml_Linked linked;
    ml_Llvm *ll;
    ml_Ctx *cx;
    ml_Dylib *lib;
    LLVMOrcResourceTrackerRef tracker;
} Object;

static Object *object_of(ml_Linked *l)
{
    return (Object *)(void *)l;
}

#define A(name) (ll->api.name)

static bool failed(ml_Llvm *ll, ml_Ctx *cx, const char *what, LLVMErrorRef e)
{
    char *z = A(GetErrorMessage)(e);

    (void)ml_fail(cx, ML_E_CODEGEN_FAILED,
                  ML_TEXT(ml_format(cx, "%s: %s%s%s", what, z, ll->reported.n ? ": " : "",
                                    ml_text_z(&ll->reported))));
    A(DisposeErrorMessage)(z);
    return false;
}

/* The names of missing symbols come here only. */
static void hear(void *user, LLVMErrorRef e)
{
    ml_Llvm *ll = user;
    char *z = A(GetErrorMessage)(e);

    ml_text_fmt(&ll->reported, "%s%s", ll->reported.n ? "; " : "", z);
    A(DisposeErrorMessage)(z);
}

static bool start(ml_Llvm *ll, ml_Ctx *cx)
{
    LLVMOrcLLJITBuilderRef b = A(OrcCreateLLJITBuilder)();
    LLVMTargetRef target = A(GetTargetMachineTarget)(ll->machine);
    LLVMTargetMachineRef tm =
        A(CreateTargetMachine)(target, ll->triple, ll->cpu, ll->features,
                               LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
    LLVMErrorRef e;

    A(OrcLLJITBuilderSetJITTargetMachineBuilder)
    (b, A(OrcJITTargetMachineBuilderCreateFromTargetMachine)(tm));
    e = A(OrcCreateLLJIT)(&ll->jit, b);
    if (e) {
        ll->jit = NULL;
        return failed(ll, cx, "the linker does not start", e);
    }
    A(OrcExecutionSessionSetErrorReporter)
    (A(OrcLLJITGetExecutionSession)(ll->jit), hear, ll);
    return true;
}

/* ---------------------------------------------------------------- symbols of ours */

typedef void AnyFn(void);
typedef struct Symbol {
    const char *name;
    AnyFn *fn;
} Symbol;

#define FN(name)                                                                           \
    {                                                                                      \
#name, (AnyFn *)(name)                                                             \
    }
#define MATH1(nm)                                                                          \
    {#nm, (AnyFn *)(double (*)(double))(nm)},                                              \
    {                                                                                      \
#nm "f", (AnyFn *)(float (*)(float))(nm##f)                                        \
    }
#define MATH2(nm)                                                                          \
    {#nm, (AnyFn *)(double (*)(double, double))(nm)},                                      \
    {                                                                                      \
#nm "f", (AnyFn *)(float (*)(float, float))(nm##f)                                 \
    }
static const Symbol symbols[] = {
    FN(ml_workspace_alloc),
    FN(ml_workspace_free),
    FN(ml_parallel),
    FN(memcpy),
    FN(memset),
    FN(memmove),
    {"fma", (AnyFn *)(double (*)(double, double, double))fma},
    {"fmaf", (AnyFn *)(float (*)(float, float, float))fmaf},
    {"ldexp", (AnyFn *)(double (*)(double, int))ldexp},
    MATH1(exp),
    MATH1(exp2),
    MATH1(log),
    MATH1(log2),
    MATH1(log10),
    MATH1(log1p),
    MATH1(tanh),
    MATH1(sinh),
    MATH1(cosh),
    MATH1(tan),
    MATH1(sin),
    MATH1(cos),
    MATH1(asin),
    MATH1(acos),
    MATH1(atan),
    MATH1(asinh),
    MATH1(acosh),
    MATH1(atanh),
    MATH1(erf),
    MATH1(floor),
    MATH1(ceil),
    MATH1(round),
    MATH1(trunc),
    MATH1(rint),
    MATH1(nearbyint),
    MATH2(pow),
    MATH2(fmod),
    MATH2(atan2),
    MATH2(hypot),
    MATH2(nextafter),
};

static bool define(ml_Llvm *ll, ml_Ctx *cx, ml_Dylib *lib, LLVMOrcCSymbolMapPair *pairs,
                   size_t n)
{
    LLVMErrorRef e = A(OrcJITDylibDefine)(lib->jd, A(OrcAbsoluteSymbols)(pairs, n));

    return e == NULL || failed(ll, cx, "symbols", e);
}

static LLVMOrcCSymbolMapPair symbol(ml_Llvm *ll, const char *name, uint64_t address)
{
    LLVMOrcCSymbolMapPair p = {
        A(OrcLLJITMangleAndIntern)(ll->jit, name),
        {address,
         {LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0}}};

    return p;
}

static bool define_ours(ml_Llvm *ll, ml_Ctx *cx, ml_Dylib *lib)
{
    LLVMOrcCSymbolMapPair pairs[ML_COUNT(symbols)];
    LLVMOrcDefinitionGeneratorRef process;
    LLVMErrorRef e;

    for (size_t k = 0; k < ML_COUNT(symbols); k++)
        pairs[k] = symbol(ll, symbols[k].name, (uint64_t)(uintptr_t)symbols[k].fn);
    if (!define(ll, cx, lib, pairs, ML_COUNT(symbols)))
        return false;
    e = A(OrcCreateDynamicLibrarySearchGeneratorForProcess)(
        &process, A(OrcLLJITGetGlobalPrefix)(ll->jit), NULL, NULL);
    if (e)
        return failed(ll, cx, "symbols of the process", e);
    A(OrcJITDylibAddGenerator)(lib->jd, process);
    return true;
}

/* Conversions of float16 on machines without an instruction for them: the C compiler's
 * library has them, which a process need not have loaded where others see it. */
static bool define_half(ml_Llvm *ll, ml_Ctx *cx, ml_Dylib *lib)
{
    static const char file[] = "libgcc_s.so.1";
    static const char *const names[] = {"__extendhfsf2", "__truncsfhf2", "__truncdfhf2"};
    LLVMOrcCSymbolMapPair pairs[ML_COUNT(names)];
    void *gcc, *at[ML_COUNT(names)];

    if (lib->has_half)
        return true;
    gcc = dlopen(file, RTLD_NOW);
    for (size_t k = 0; k < ML_COUNT(names); k++) {
        at[k] = gcc ? dlsym(gcc, names[k]) : NULL;
        if (at[k] == NULL)
            return ml_fail(cx, ML_E_CODEGEN_FAILED,
                           ML_TEXT(ml_format(cx,
                                             "float16 needs %s of %s on a machine without "
                                             "F16C, and it is not there",
                                             names[k], file)));
    }
    for (size_t k = 0; k < ML_COUNT(names); k++)
        pairs[k] = symbol(ll, names[k], (uint64_t)(uintptr_t)at[k]);
    lib->has_half = define(ll, cx, lib, pairs, ML_COUNT(names));
    return lib->has_half;
}

/* ---------------------------------------------------------------- linking */

static ml_Dylib *take_dylib(ml_Llvm *ll, ml_Ctx *cx)
{
    ml_Dylib *lib = ll->free_dylibs;
    char name[32];

    if (lib) {
        ll->free_dylibs = lib->next;
        return lib;
    }
    lib = calloc(1, sizeof *lib);
    if (lib == NULL)
        ml_out_of_memory();
    snprintf(name, sizeof name, "object%u", (unsigned)ll->n_dylibs++);
    lib->jd = A(OrcExecutionSessionCreateBareJITDylib)(
        A(OrcLLJITGetExecutionSession)(ll->jit), name);
    if (!define_ours(ll, cx, lib)) {
        free(lib); /* its part in the session stays, empty */
        return NULL;
    }
    return lib;
}

static void give_dylib(ml_Llvm *ll, ml_Dylib *lib)
{
    lib->next = ll->free_dylibs;
    ll->free_dylibs = lib;
}

static bool mentions(const void *object, size_t n, const char *name)
{
    const char *p = object, *end = p + n;
    size_t len = strlen(name) + 1;

    while (p && p + len <= end) {
        p = memchr(p, name[0], (size_t)(end - p) - len + 1);
        if (p && memcmp(p, name, len) == 0)
            return true;
        if (p)
            p++;
    }
    return false;
}

ml_Linked *ml_llvm_link(ml_Codegen *c, ml_Ctx *cx, const void *object, size_t n)
{
    ml_Llvm *ll = ml_llvm_of(c);
    LLVMMemoryBufferRef copy;
    Object *l;
    ml_Dylib *lib;
    LLVMErrorRef e;

    ml_text_clear(&ll->reported);
    if (ll->jit == NULL && !start(ll, cx))
        return NULL;
    lib = take_dylib(ll, cx);
    if (lib == NULL)
        return NULL;
    bool parallel =
        mentions(object, n, "ml_parallel") ||
        mentions(object, n, "GOMP_parallel"); /* as C: objects of any compiler */

    if ((parallel && !ml_openmp_open(cx)) ||
        ((mentions(object, n, "__extendhfsf2") || mentions(object, n, "__truncsfhf2") ||
          mentions(object, n, "__truncdfhf2")) &&
         !define_half(ll, cx, lib))) {
        give_dylib(ll, lib);
        return NULL;
    }
    l = calloc(1, sizeof *l);
    if (l == NULL)
        ml_out_of_memory();
    *l = (Object){
        {&ml_backend_llvm}, ll, cx, lib, A(OrcJITDylibCreateResourceTracker)(lib->jd)};
    copy = A(CreateMemoryBufferWithMemoryRangeCopy)(object, n, "object");
    e = A(OrcLLJITAddObjectFileWithRT)(ll->jit, l->tracker, copy);
    ll->n_linked++;
    if (e == NULL)
        return &l->linked;
    (void)failed(ll, cx, "the object cannot be linked", e);
    ml_llvm_unlink(&l->linked);
    return NULL;
}

typedef struct Found {
    ml_Llvm *ll;
    LLVMErrorRef error;
    uint64_t address;
} Found;

static void found(LLVMErrorRef e, LLVMOrcCSymbolMapPairs result, size_t n, void *user)
{
    Found *f = user;

    f->error = e;
    if (e == NULL && n > 0)
        f->address = result[0].Sym.Address;
}

void *ml_llvm_symbol(ml_Linked *linked, const char *symbol)
{
    Object *l = object_of(linked);
    ml_Llvm *ll = l->ll;
    LLVMOrcCJITDylibSearchOrderElement order = {
        l->lib->jd, LLVMOrcJITDylibLookupFlagsMatchExportedSymbolsOnly};
    LLVMOrcCLookupSetElement want = {A(OrcLLJITMangleAndIntern)(ll->jit, symbol),
                                     LLVMOrcSymbolLookupFlagsRequiredSymbol};
    Found f = {ll, NULL, 0};

    ml_text_clear(&ll->reported);
    A(OrcExecutionSessionLookup)
    (A(OrcLLJITGetExecutionSession)(ll->jit), LLVMOrcLookupKindStatic, &order, 1, &want, 1,
     found, &f);
    if (f.error) {
        (void)failed(ll, l->cx, symbol, f.error);
        return NULL;
    }
    return (void *)(uintptr_t)f.address; /* NOLINT(performance-no-int-to-ptr) */
}

void ml_llvm_unlink(ml_Linked *linked)
{
    Object *l = object_of(linked);
    ml_Llvm *ll = l->ll;
    LLVMErrorRef e = A(OrcResourceTrackerRemove)(l->tracker);
    if (e)
        A(ConsumeError)(e);
    A(OrcReleaseResourceTracker)(l->tracker);
    give_dylib(ll, l->lib);
    ll->n_linked--;
    free(l);
}

void ml_llvm_unlink_all(ml_Llvm *ll)
{
    ml_Dylib *next;

    ML_ASSERT(ll->n_linked == 0);
    for (ml_Dylib *d = ll->free_dylibs; d; d = next) {
        next = d->next;
        free(d);
    }
    ll->free_dylibs = NULL;
    if (ll->jit) {
        LLVMErrorRef e = A(OrcDisposeLLJIT)(ll->jit);
        if (e)
            A(ConsumeError)(e);
    }
    ll->jit = NULL;
}
