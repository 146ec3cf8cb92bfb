/*
 * lowering - programs from text through the passes, for the tests of src/codegen/lower.
 * Every macro and function takes the fixture `x`.
 */
#ifndef ML_TESTS_CODEGEN_LOWERING_H
#define ML_TESTS_CODEGEN_LOWERING_H

#include "moonloop/codegen/lower/lower_impl.h"
#include "moonloop/core/script/script.h"
#include "moonloop/primitives/call/failure.h"

#include "../build.h"

#include <string.h>

#define HEAD "@T.prim_func\ndef main("

static inline const ml_Module *parse_module(Fix *x, const char *text)
{
    ml_Parsed p = ml_parse(x->cx, ml_str(text), NULL);

    for (size_t k = 0; k < p.n_diags; k++)
        if (!p.diags[k].warning)
            print_message("%s %s (line %u)\n", p.diags[k].code, p.diags[k].message,
                          p.diags[k].span.line);
    assert_non_null(p.mod);
    return p.mod;
}

static inline const ml_Func *parse(Fix *x, const char *text)
{
    return parse_module(x, text)->funcs[0];
}

/* Bits of a vector of the machine that programs are lowered for. */
static unsigned lowering_bits = 256;

static inline ml_Lower lowering(Fix *x)
{
    static ml_Target target = {.registers = 16, .cores = 2};
    ml_Lower lo = {.cx = x->cx};

    target.vector_bits = lowering_bits;
    lo.opts = ml_lower_defaults(&target);
    lo.opts.debug_verify = true;
    return lo;
}

static inline void show_error(Fix *x)
{
    const ml_Error *e = ml_error(x->cx);
    ml_Failure *f = e ? ml_failure_from(e) : NULL;

    print_message("%s\n", f ? ml_failure_message(f) : "no error");
    ml_failure_free(f);
}

/* The function after the named pass. */
static inline const ml_Func *lowered(Fix *x, ml_Lower *lo, const ml_Func *f,
                                     const char *pass)
{
    const ml_Func *g = ml_lower(lo, f, pass, NULL, NULL);

    if (!g)
        show_error(x);
    assert_non_null(g);
    return g;
}

/* Its printed body: what follows the line of `def`, which ends in `:`. */
static inline const char *body_text(Fix *x, const ml_Func *f)
{
    static const ml_PrintOpts opts = {.spelling = -1, .no_header = true};
    const char *text, *at;
    ml_Text t = {0};

    ml_print_func(x->cx, &t, f, &opts);
    text = ml_strdup(x->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    at = strstr(text, "):\n");
    return at ? at + 3 : text;
}

static inline void expect_text(const char *have, const char *want)
{
    size_t n = strlen(want);

    while (n > 0 && want[n - 1] == '\n')
        n--;
    if (strlen(have) != n || strncmp(have, want, n) != 0)
        fail_msg("expected\n%s\ngot\n%s", want, have);
}

/* The program gives that body after the pass. */
static inline void expect_body(Fix *x, const char *program, const char *pass,
                               const char *want)
{
    ml_Lower lo = lowering(x);

    expect_text(body_text(x, lowered(x, &lo, parse(x, program), pass)), want);
}

/* The error at hand: lowering-failed of that pass, with these words, and the function. */
static inline void expect_error(Fix *x, const char *pass, const char *words)
{
    const ml_Error *e = ml_error(x->cx);
    const char *message;
    ml_Failure *f;

    assert_non_null(e);
    f = ml_failure_from(e);
    message = ml_failure_message(f);
    assert_int_equal(e->code, ML_E_LOWERING_FAILED);
    if (!strstr(message, words) || (pass && !strstr(message, pass)))
        fail_msg("expected `%s` of %s in: %s", words, pass ? pass : "any pass", message);
    ml_failure_free(f);
}

/* The whole lowering refuses the program in that pass. */
static inline void expect_lowering_failed(Fix *x, const char *program, const char *pass,
                                          const char *words)
{
    ml_Lower lo = lowering(x);
    const ml_Func *g = ml_lower(&lo, parse(x, program), NULL, NULL, NULL);

    assert_null(g);
    expect_error(x, pass, words);
    assert_string_equal(ml_error(x->cx)->primitive, pass);
    assert_true(ml_error(x->cx)->n_notes > 0);
    assert_non_null(strstr(ml_error(x->cx)->notes[0], "function main"));
    assert_non_null(ml_error(x->cx)->place);
    ml_error_clear(x->cx);
}

/* Some remark of the lowering says that. */
static inline bool has_note(const ml_Lower *lo, const char *words)
{
    for (size_t k = 0; k < lo->notes.n; k++)
        if (strstr(lo->notes.v[k].text, words))
            return true;
    return false;
}

/* As expect_body, and some remark says `words`. */
static inline void expect_body_and_note(Fix *x, const char *program, const char *pass,
                                        const char *want, const char *words)
{
    ml_Lower lo = lowering(x);

    expect_text(body_text(x, lowered(x, &lo, parse(x, program), pass)), want);
    if (!has_note(&lo, words))
        fail_msg("no remark says `%s`", words);
}

/* ---- running every stage */

typedef struct Stages {
    Fix *x;
    const ml_Module *mod;
    ml_Tensor *ref[8];
    uint32_t n_args;
    int64_t sizes[4]; /* values of appended sizes */
    uint32_t n_sizes;
    size_t passes; /* that changed something */
    const ml_Func *before;
} Stages;

static inline void fill_args(Fix *x)
{
    for (size_t k = 0; k < x->n_args; k++)
        if (x->args[k].tensor)
            ml_tensor_fill(x->args[k].tensor, ML_FILL_IOTA, "t", (uint32_t)k, 1, 0, 0);
}

static inline bool runs_the_same(const ml_Pass *p, const ml_Func *f, void *user)
{
    Stages *s = user;
    Fix *x = s->x;
    ml_RunArg args[12] = {{NULL, 0, 0}};
    uint32_t n = s->n_args;

    if (f == s->before)
        return true;
    s->before = f;
    s->passes++;
    fill_args(x);
    for (uint32_t k = 0; k < n; k++)
        args[k] = x->args[k];
    for (uint32_t k = 0; p->out == ML_STAGE_BODY && k < s->n_sizes && n < ML_COUNT(args);
         k++)
        args[n++] = (ml_RunArg){.i = s->sizes[k]};
    if (!ml_interpret(x->cx, s->mod, f, args, n, &x->opts, &x->report)) {
        show_error(x);
        fail_msg("after %s:\n%s", p->name, body_text(x, f));
    }
    for (uint32_t k = 0; k < s->n_args; k++)
        if (s->ref[k] &&
            memcmp(s->ref[k]->data, x->args[k].tensor->data, s->ref[k]->bytes) != 0)
            fail_msg("after %s argument %u differs:\n%s", p->name, k, body_text(x, f));
    return true;
}

/* Runs the function and every stage of it on the arguments at hand. */
static inline size_t expect_same_at_every_stage(Fix *x, const ml_Module *mod,
                                                const ml_Func *f, const int64_t *sizes)
{
    ml_Lower lo = lowering(x);
    Stages s = {.x = x, .mod = mod, .n_args = f->n_params};
    ml_Signature sig;

    assert_true(ml_signature_of(x->cx, f, &sig));
    s.n_sizes = sig.n_sizes;
    for (uint32_t k = 0; k < sig.n_sizes; k++)
        s.sizes[k] = sizes[k];
    fill_args(x);
    if (!ml_interpret(x->cx, mod, f, x->args, f->n_params, &x->opts, &x->report)) {
        show_error(x);
        fail_msg("the program itself does not run");
    }
    for (uint32_t k = 0; k < s.n_args; k++)
        s.ref[k] = x->args[k].tensor ? ml_tensor_copy(x->cx, x->args[k].tensor) : NULL;
    lo.module = mod;
    if (!ml_lower(&lo, f, NULL, runs_the_same, &s)) {
        show_error(x);
        fail_msg("not lowered");
    }
    for (uint32_t k = 0; k < s.n_args; k++)
        ml_tensor_free(s.ref[k]);
    return s.passes;
}

/* Every stage of the program computes the same; its numbers are all n. */
static inline size_t expect_same_for(Fix *x, const char *program, int64_t n)
{
    const ml_Module *m = parse_module(x, program);

    make_args(x, m->funcs[0]);
    for (size_t k = 0; k < x->n_args; k++)
        if (!x->args[k].tensor)
            x->args[k].i = n;
    return expect_same_at_every_stage(x, m, m->funcs[0], &n);
}

#endif
