/*
 * object - functions to a module, the pipeline, an object or a text.
 *
 * Pipelines are those of lowering-and-codegen 7.2: light by default, for what comes from
 * lowering is already vectorized, unrolled and tiled. It has no instcombine, which takes
 * apart the addresses that were emitted so that what a loop does not change is hoisted.
 */
#include "moonloop/codegen/llvm/emit.h"

#include <stdlib.h>

void ml_cg_unsupported(ml_Cg *g, const char *fmt, ...)
{
    ml_Text t = {0};
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    if (!g->failed) {
        (void)ml_fail(g->cx, ML_E_NOT_SUPPORTED, ML_TEXT(ml_text_z(&t)));
        if (g->stmt && g->stmt->span)
            ml_error_set_place(g->cx, g->stmt->span);
    }
    g->failed = true;
    ml_text_free(&t);
}

void ml_cg_fail(ml_Cg *g, const char *fmt, ...)
{
    ml_Text t = {0};
    va_list ap;

    ml_text_fmt(&t, "%s: ", g->func ? g->func->name : "module");
    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    if (!g->failed) {
        (void)ml_fail(g->cx, ML_E_CODEGEN_FAILED, ML_TEXT(ml_text_z(&t)));
        if (g->stmt && g->stmt->span)
            ml_error_set_place(g->cx, g->stmt->span);
    }
    g->failed = true;
    ml_text_free(&t);
}

/* ---------------------------------------------------------------- modules */

static LLVMMetadataRef named_node(ml_Cg *g, const char *name)
{
    LLVMMetadataRef s = L(MDStringInContext2)(g->lc, name, strlen(name));

    return L(MDNodeInContext2)(g->lc, &s, 1);
}

static void set_types(ml_Cg *g)
{
    LLVMMetadataRef one;

    g->i1 = L(Int1TypeInContext)(g->lc);
    g->i8 = L(Int8TypeInContext)(g->lc);
    g->i16 = L(Int16TypeInContext)(g->lc);
    g->i32 = L(Int32TypeInContext)(g->lc);
    g->i64 = L(Int64TypeInContext)(g->lc);
    g->f16 = L(HalfTypeInContext)(g->lc);
    g->f32 = L(FloatTypeInContext)(g->lc);
    g->f64 = L(DoubleTypeInContext)(g->lc);
    g->ptr = L(PointerTypeInContext)(g->lc, 0);
    g->none = L(VoidTypeInContext)(g->lc);
    g->kind_scope = L(GetMDKindIDInContext)(g->lc, "alias.scope", 11);
    g->kind_noalias = L(GetMDKindIDInContext)(g->lc, "noalias", 7);
    g->kind_loop = L(GetMDKindIDInContext)(g->lc, "llvm.loop", 9);
    g->kind_stream = L(GetMDKindIDInContext)(g->lc, "nontemporal", 11);
    one = L(ValueAsMetadata)(ml_cg_int(g, g->i32, 0, 1));
    g->one_node = L(MetadataAsValue)(g->lc, L(MDNodeInContext2)(g->lc, &one, 1));
    g->must_progress = named_node(g, "llvm.loop.mustprogress");
    g->no_unroll = named_node(g, "llvm.loop.unroll.disable");
    {
        LLVMMetadataRef ops[2];
        ops[0] = L(MDStringInContext2)(g->lc, "llvm.loop.vectorize.enable", 26);
        ops[1] = L(ValueAsMetadata)(ml_cg_int(g, g->i1, 0, 0));
        g->no_vectorize = L(MDNodeInContext2)(g->lc, ops, 2);
    }
}

static void module_flag(ml_Cg *g, const char *key, int64_t value)
{
    L(AddModuleFlag)
    (g->m, LLVMModuleFlagBehaviorWarning, key, strlen(key),
     L(ValueAsMetadata)(ml_cg_int(g, g->i32, 0, value)));
}

static void start_lines(ml_Cg *g, const ml_Func *f)
{
    static const char producer[] = "moonloop";
    const char *file = f->span && f->span->file ? f->span->file : "<text>";

    g->di = L(CreateDIBuilder)(g->m);
    g->di_file = L(DIBuilderCreateFile)(g->di, file, strlen(file), ".", 1);
    g->di_unit = L(DIBuilderCreateCompileUnit)(
        g->di, LLVMDWARFSourceLanguageC11, g->di_file, producer, sizeof producer - 1, true,
        "", 0, 0, "", 0, LLVMDWARFEmissionLineTablesOnly, 0, false, false, "", 0, "", 0);
    module_flag(g, "Debug Info Version", 3);
    module_flag(g, "Dwarf Version", 4);
}

typedef struct Said { /* what LLVM says while it works */
    const ml_LlvmApi *api;
    ml_Text text;
    bool error;
} Said;

static void hear(LLVMDiagnosticInfoRef info, void *user)
{
    Said *s = user;
    char *z;

    if (s->api->GetDiagInfoSeverity(info) != LLVMDSError)
        return;
    z = s->api->GetDiagInfoDescription(info);
    ml_text_fmt(&s->text, "%s%s", s->text.n ? "; " : "", z);
    s->error = true;
    s->api->DisposeMessage(z);
}

/* In a worker, which may crash, it is not worth its time; tests compile outside of one. */
static bool verify(ml_Cg *g)
{
    char *why = NULL;
    bool bad = !ml_code_is_alone() && L(VerifyModule)(g->m, LLVMReturnStatusAction, &why);

    if (bad) {
        g->stmt = NULL;
        ml_cg_fail(g, "the emitted code is not well formed: %s", why ? why : "");
    }
    if (why)
        L(DisposeMessage)(why);
    return !bad;
}

/* A module of the functions in a context of its own; false: g->cx has the error. */
static bool emit_module(ml_Cg *g, const ml_Func *const *fs, size_t n, bool names)
{
    g->lc = L(ContextCreate)();
    L(ContextSetDiscardValueNames)(g->lc, !names);
    g->m = L(ModuleCreateWithNameInContext)(n ? fs[0]->name : "empty", g->lc);
    L(SetTarget)(g->m, g->ll->triple);
    L(SetModuleDataLayout)(g->m, g->ll->layout);
    g->b = L(CreateBuilderInContext)(g->lc);
    set_types(g);
    if (g->o->lines && n)
        start_lines(g, fs[0]);
    for (size_t k = 0; k < n && !g->failed; k++)
        ml_cg_function(g, fs[k]);
    if (g->di)
        L(DIBuilderFinalize)(g->di);
    if (!g->failed && !ml_ok_or_fail(g->cx))
        g->failed = true;
    return !g->failed && verify(g);
}

/* LLVM's O2 or O3 without its SLP vectorizer, which the text default<O..> always switches
 * on and which, in LLVM 19, makes wrong code: loads gathered from one array in
 * straight-line code come out in a wrong order. The simplification pipeline, then the
 * passes of its second half. */
#define PIPELINE(level)                                                                    \
    "thinlto-pre-link<" level ">,function(float2int,lower-constant-intrinsics,"            \
    "loop(loop-rotate,loop-deletion),loop-distribute,loop-vectorize,infer-alignment,"      \
    "loop-load-elim,instcombine<no-verify-fixpoint>,simplifycfg<forward-switch-cond;"      \
    "switch-range-to-icmp;switch-to-lookup;no-keep-loops;hoist-common-insts;"              \
    "sink-common-insts>,vector-combine,instcombine<no-verify-fixpoint>,loop-unroll<" level \
    ">,sroa<preserve-cfg>,infer-alignment,instcombine<no-verify-fixpoint>,"                \
    "loop-mssa(licm<allowspeculation>),alignment-from-assumptions,loop-sink,instsimplify," \
    "div-rem-pairs,simplifycfg<switch-range-to-icmp;hoist-common-insts;"                   \
    "sink-common-insts;speculate-unpredictables>)"

/* gathers: bytes that a dot product takes as one lane are loads of that lane to instcombine
 * alone, and those of all lanes then one wide load. */
static const char *pipeline(ml_OptLevel o, bool gathers)
{
    switch (o) {
    case ML_OPT_LIGHT:
        return gathers ? "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
                         "loop-mssa(licm),simplifycfg)"
                       : "function(sroa,early-cse<memssa>,loop-mssa(licm),simplifycfg)";
    case ML_OPT_NONE: return NULL;
    case ML_OPT_O1: return "default<O1>";
    case ML_OPT_O2: return PIPELINE("O2");
    case ML_OPT_O3: return PIPELINE("O3");
    }
    return NULL;
}

static bool optimize(ml_Cg *g)
{
    const char *passes = pipeline(g->o->opt, g->gathers);
    LLVMPassBuilderOptionsRef options;
    LLVMErrorRef e;

    if (passes == NULL)
        return true;
    options = L(CreatePassBuilderOptions)();
    e = L(RunPasses)(g->m, passes, g->ll->machine, options);
    L(DisposePassBuilderOptions)(options);
    if (e) {
        char *z = L(GetErrorMessage)(e);
        ml_cg_fail(g, "%s", z);
        L(DisposeErrorMessage)(z);
    }
    return e == NULL;
}

static LLVMMemoryBufferRef generate(ml_Cg *g, LLVMCodeGenFileType type)
{
    LLVMMemoryBufferRef out = NULL;
    char *why = NULL;

    if (L(TargetMachineEmitToMemoryBuffer)(g->ll->machine, g->m, type, &why, &out)) {
        ml_cg_fail(g, "%s", why ? why : "no code came out");
        out = NULL;
    }
    if (why)
        L(DisposeMessage)(why);
    return out;
}

/* ---------------------------------------------------------------- what is asked for */

typedef enum Want { WANT_OBJECT, WANT_ASM, WANT_LLVM, WANT_LLVM_OPT } Want;

static bool finish(ml_Cg *g, Want want, const Said *said, ml_Bytes *bytes, ml_Text *text)
{
    LLVMMemoryBufferRef out;
    char *z;

    if (want != WANT_LLVM && !optimize(g))
        return false;
    if (want == WANT_LLVM || want == WANT_LLVM_OPT) {
        z = L(PrintModuleToString)(g->m);
        ml_text_add(text, z);
        L(DisposeMessage)(z);
        return true;
    }
    L(SetTargetMachineAsmVerbosity)(g->ll->machine, want == WANT_ASM);
    out = generate(g, want == WANT_ASM ? LLVMAssemblyFile : LLVMObjectFile);
    if (out && said->error)
        ml_cg_fail(g, "%s", said->text.p);
    if (out && !g->failed && want == WANT_ASM)
        ml_text_addn(text, L(GetBufferStart)(out), L(GetBufferSize)(out));
    if (out && !g->failed && bytes) {
        bytes->n = L(GetBufferSize)(out);
        bytes->v = malloc(bytes->n ? bytes->n : 1);
        if (bytes->v == NULL)
            ml_out_of_memory();
        memcpy(bytes->v, L(GetBufferStart)(out), bytes->n);
    }
    if (out)
        L(DisposeMemoryBuffer)(out);
    return !g->failed;
}

static bool produce(ml_Llvm *ll, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                    const ml_CodeOpts *o, Want want, ml_Bytes *bytes, ml_Text *text)
{
    ml_Cg *g = calloc(1, sizeof *g);
    Said said = {&ll->api, {0}, false};
    bool ok;

    if (g == NULL)
        ml_out_of_memory();
    g->ll = ll;
    g->api = &ll->api;
    g->cx = ml_ctx_fork(cx);
    g->o = o;
    ok = emit_module(g, fs, n, want != WANT_OBJECT);
    L(ContextSetDiagnosticHandler)(g->lc, hear, &said);
    ok = ok && finish(g, want, &said, bytes, text);
    ml_text_free(&said.text);
    if (!ok)
        ml_error_move(cx, g->cx);
    if (g->di)
        L(DisposeDIBuilder)(g->di);
    L(DisposeBuilder)(g->b);
    L(DisposeModule)(g->m);
    L(ContextDispose)(g->lc);
    ml_ctx_unref(g->cx);
    free(g);
    return ok;
}

const ml_CodeText ml_llvm_texts[ML_LLVM_TEXTS] = {
    [ML_LLVM_PLAIN] = {"llvm", NULL},    /* as emitted */
    [ML_LLVM_OPT] = {"llvm-opt", ".ll"}, /* after the pipeline */
    [ML_LLVM_ASM] = {"asm", ".s"},       /* with .loc lines when o->lines */
};

bool ml_llvm_object(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                    const ml_CodeOpts *o, ml_Bytes *out)
{
    return produce(ml_llvm_of(c), cx, fs, n, o, WANT_OBJECT, out, NULL);
}

bool ml_llvm_text(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                  const ml_CodeOpts *o, const ml_CodeText *what, ml_Text *out)
{
    static const Want wants[ML_LLVM_TEXTS] = {WANT_LLVM, WANT_LLVM_OPT, WANT_ASM};

    return produce(ml_llvm_of(c), cx, fs, n, o, wants[what - ml_llvm_texts], NULL, out);
}
