/*
 * run_llvm - compiling, linking and calling functions in the tests of src/codegen/llvm.
 *
 * One backend for all tests of a program; a test that needs it begins with NEED_LLVM.
 */
#ifndef ML_TESTS_RUN_LLVM_H
#define ML_TESTS_RUN_LLVM_H

#include "../build.h"
#include "../printed.h"

#include "moonloop/codegen/code/code.h"
#include "moonloop/codegen/runtime/runtime.h"
#include "moonloop/core/script/script.h"

#include <stdlib.h>

typedef struct Rig {
    ml_Ctx *cx;
    ml_Codegen *ll;
    const char *print_for; /* a compiler of C that the programs go through; NULL: LLVM */
} Rig;

static Rig rig;

static inline int rig_up(void **state)
{
    ml_Target t = ml_target_host();

    (void)state;
    rig.cx = ml_ctx_new(0);
    rig.print_for = rig.print_for ? rig.print_for : getenv("ML_PRINT_FOR");
    if (ml_backend_find("llvm"))
        rig.ll = ml_code_open(rig.cx, &t);
    if (ml_backend_find("llvm") && !rig.ll) {
        print_message("%s\n", ml_error(rig.cx)->facts[0].as.text);
        return -1;
    }
    return 0;
}

static inline int rig_down(void **state)
{
    (void)state;
    ml_code_close(rig.ll);
    ml_ctx_unref(rig.cx);
    return 0;
}

#define LLVM_ONLY()                                                                        \
    do {                                                                                   \
        if (rig.print_for) {                                                               \
            print_message("skip: it is about LLVM's code alone\n");                        \
            skip();                                                                        \
        }                                                                                  \
    } while (0)
#define NEED_LLVM()                                                                        \
    do {                                                                                   \
        if (rig.ll == NULL) {                                                              \
            print_message("skip: libLLVM 19 is not there\n");                              \
            skip();                                                                        \
        }                                                                                  \
    } while (0)

static inline const char *error_text(Fix *x)
{
    const ml_Error *e = ml_error(x->cx);

    return e == NULL                                        ? "no error"
           : e->n_facts && e->facts[0].kind == ML_FACT_TEXT ? e->facts[0].as.text
                                                            : ml_error_code(e->code);
}

static inline const ml_Func *parse_func(Fix *x, const char *text)
{
    ml_ParseOpts opts = {.spelling = -1};
    ml_Parsed p = ml_parse(x->cx, ml_str(text), &opts);

    if (p.mod == NULL)
        fail_msg("%s", p.n_diags ? p.diags[0].message : "no module");
    return p.mod->funcs[0];
}

static inline const ml_Stmt *with_spans(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    static const ml_Span span = {.file = "test", .line = 1, .col = 1, .end_line = 1};
    const ml_Mapper m = {.stmt = with_spans};

    (void)user;
    return ml_stmt_at(cx, ml_stmt_map(cx, s, &m), &span);
}

/* As a pass wants it: with places in a text. */
static inline const ml_Func *placed(Fix *x, const ml_Func *f)
{
    ml_ParseOpts opts = {.spelling = -1};
    ml_Text t = {0};
    ml_Parsed p;

    ml_print_func(x->cx, &t, f, NULL);
    p = ml_parse(x->cx, ml_str(ml_text_z(&t)), &opts);
    ml_text_free(&t);
    if (p.mod)
        return p.mod->funcs[0];
    ml_error_clear(x->cx);
    return ml_func_with_body(x->cx, f, with_spans(x->cx, f->body, NULL));
}

/* Of LLVM, or, under print_for, of what is lowered, printed as C and compiled. All tests run
 * so with ML_PRINT_FOR=gcc in the environment; those of MAIN_TWICE always, too. */
static inline bool object_of(Fix *x, const ml_Func *f, const ml_CodeOpts *o, ml_Bytes *obj)
{
    const char *cc = rig.print_for;
    ml_Target t = ml_target_host();
    ml_Lower lo = {.cx = x->cx, .opts = ml_lower_defaults(&t)};
    ml_Text said = {0};
    bool ok;

    if (cc == NULL)
        return ml_code_object(rig.ll, x->cx, &f, 1, o, obj);
    f = ml_lower(&lo, placed(x, f), NULL, NULL, NULL);
    if (f == NULL)
        fail_msg("%s", error_text(x));
    ok = printed_object(cc, rig.ll, x->cx, f, o, f->n_params, obj, &said);
    if (!ok && ml_error(x->cx) == NULL)
        fail_msg("%s", ml_text_z(&said));
    return ok;
}

static inline ml_Linked *compile(Fix *x, const ml_Func *f, const ml_CodeOpts *o)
{
    ml_Bytes obj;
    ml_Linked *l;

    if (!object_of(x, f, o, &obj))
        fail_msg("%s", error_text(x));
    l = ml_code_link(rig.ll, x->cx, obj.v, obj.n);
    free(obj.v);
    if (l == NULL)
        fail_msg("%s", error_text(x));
    return l;
}

static inline ml_KernelFn *kernel(Fix *x, ml_Linked *l, const char *name)
{
    void *p = ml_linked_find(l, ml_format(x->cx, "%s_call", name));
    ml_KernelFn *fn;

    if (p == NULL)
        fail_msg("%s", error_text(x));
    memcpy(&fn, &p, sizeof fn);
    return fn;
}

/* Calls f on the arguments there are; its status. */
static inline int32_t call_compiled(Fix *x, const ml_Func *f, const ml_CodeOpts *o)
{
    ml_Linked *l = compile(x, f, o);
    ml_KernelFn *fn = kernel(x, l, f->name);
    ml_Word words[16];
    int32_t status;

    for (size_t k = 0; k < x->n_args; k++) {
        if (x->args[k].tensor)
            words[k].p = x->args[k].tensor->data;
        else if (ml_dtype_is_float(f->params[k].var->type))
            words[k].f = x->args[k].f;
        else
            words[k].i = x->args[k].i;
    }
    status = fn(words);
    ml_linked_free(l);
    return status;
}

static inline void fill_random(Fix *x, uint64_t seed)
{
    for (size_t k = 0; k < x->n_args; k++)
        if (x->args[k].tensor)
            ml_tensor_fill(x->args[k].tensor, ML_FILL_RANDOM, "llvm", (uint32_t)k, seed, 0,
                           0);
}

/* Runs f both ways on the same arguments and compares every tensor. */
static inline void same_as_interpreter(Fix *x, const ml_Func *f, const ml_CodeOpts *o,
                                       ml_Tolerance tol)
{
    ml_Tensor *got[16] = {NULL}, *was[16] = {NULL};
    ml_ErrorCode code;

    for (size_t k = 0; k < x->n_args; k++)
        if (x->args[k].tensor)
            was[k] = ml_tensor_copy(x->cx, x->args[k].tensor);
    assert_int_equal(call_compiled(x, f, o), 0);
    for (size_t k = 0; k < x->n_args; k++)
        if (was[k]) {
            if (!ml_tensor_guards_intact(x->args[k].tensor))
                fail_msg("argument %zu: written beyond its end", k);
            got[k] = x->args[k].tensor;
            x->args[k].tensor = was[k];
        }
    code = rerun(x, f);
    if (code != ML_E_OK)
        fail_msg("the interpreter: %s (%s)", ml_error_code(code), error_text(x));
    for (size_t k = 0; k < x->n_args; k++)
        if (got[k]) {
            ml_Comparison c = ml_tensor_compare(x->args[k].tensor, got[k], tol);
            if (c.outside)
                fail_msg("argument %zu lane %lld: %.9g compiled, %.9g interpreted (%lld)",
                         k, (long long)c.first, ml_tensor_get(got[k], c.first),
                         ml_tensor_get(x->args[k].tensor, c.first), (long long)c.outside);
            ml_tensor_free(got[k]);
        }
}

static inline void same_text(Fix *x, const char *text, ml_Tolerance tol)
{
    const ml_Func *f = parse_func(x, text);
    ml_CodeOpts o = {.no_contract = tol.exact};

    make_args(x, f);
    fill_random(x, 7);
    same_as_interpreter(x, f, &o, tol);
}

#define EXACT   ((ml_Tolerance){.exact = true})
#define CLOSE   ((ml_Tolerance){.rtol = 1e-5, .atol = 1e-5})
#define MAIN(t) cmocka_run_group_tests((t), rig_up, rig_down)
/* As machine code, and printed as C for gcc, where that is. */
#define MAIN_TWICE(t)                                                                      \
    (MAIN(t) ||                                                                            \
     (printed_has("gcc") ? (rig.print_for = "gcc",                                         \
                            cmocka_run_group_tests_name("as C", (t), rig_up, rig_down))    \
                         : (print_message("skip as C: there is no gcc\n"), 0)))

#endif
