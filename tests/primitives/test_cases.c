/*
 * test_cases - every case of src/primitives/cases: program, numbers, trace and text after
 * the calls, or the error and that nothing changed.
 */
#include "cases.h"

#include "moonloop/codegen/measure/check.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/primitives/call/render.h"
#include "moonloop/primitives/call_text.h"
#include "moonloop/primitives/tokens.h"

#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 13, MAX_SIZES = 8 };

typedef struct One {
    const char *file;
    const Case *c;
    Fixture fx;
} One;

static const char *text_of(ml_Ctx *cx, const ml_Module *m)
{
    ml_Text t = {0};
    const char *z;

    ml_print_module(cx, &t, m, &(ml_PrintOpts){.spelling = -1, .no_header = true});
    z = ml_strdup(cx, (ml_Str){ml_text_z(&t), t.n});
    ml_text_free(&t);
    return z;
}

static const ml_Module *parsed(const One *o, ml_Ctx *cx, const char *text)
{
    ml_Parsed p = ml_parse(cx, ml_str(text), NULL);

    if (!p.mod)
        fail_msg("%s:%u: %s: %s in\n%s", o->file, o->c->line, p.diags[0].code,
                 p.diags[0].message, text);
    return p.mod;
}

static void same(const One *o, ml_Ctx *cx, const ml_Module *want, const ml_Module *got,
                 const char *what)
{
    ml_Difference d = {0};

    if (ml_equal_module(cx, want, got, NULL, &d))
        return;
    /* Apart: a failure's message is cut where it is long. */
    print_error("--- wanted\n%s\n", text_of(cx, want));
    print_error("--- got\n%s\n", text_of(cx, got));
    fail_msg("%s:%u: %s: %s differs: %s", o->file, o->c->line, o->c->title, what, d.reason);
}

/* The trace as JSON, read again, on a fresh schedule. */
static void check_replay(One *o, const char *program)
{
    ml_Ctx *cx = ml_ctx_new(0), *mx = ml_ctx_new(0);
    ml_Trace t = ml_schedule_trace(o->fx.s, cx);
    ml_Text json = {0};
    Fixture again;

    ml_trace_json(cx, &json, &t);
    if (!ml_trace_from_json(cx, (ml_Str){json.p, json.n}, &t))
        fail_msg("%s:%u: %s\n%s", o->file, o->c->line, ml_error(cx)->facts[0].as.text,
                 json.p);
    fx_open(&again, mx, parsed(o, mx, program), NULL);
    if (!ml_trace_apply(again.s, &t, false, NULL, NULL, NULL))
        fail_msg("%s:%u: replay: %s", o->file, o->c->line, fx_message(&again));
    same(o, cx, ml_schedule_program(o->fx.s).mod, ml_schedule_program(again.s).mod,
         "the replay");
    fx_close(&again);
    ml_text_free(&json);
    ml_ctx_unref(cx);
}

static size_t sizes_of(const ml_Func *f, ml_Size *out)
{
    size_t n = 0;

    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        if (!b && n < MAX_SIZES && ml_dtype_is_int(f->params[k].var->type))
            out[n++] = (ml_Size){f->params[k].var->hint, SIZE};
        for (uint32_t d = 0; b && d < b->rank; d++) {
            bool known = b->shape[d]->kind != ML_EXPR_VAR;

            for (size_t m = 0; !known && m < n; m++)
                known = ml_streq(out[m].name, b->shape[d]->as.var->hint);
            if (!known && n < MAX_SIZES)
                out[n++] = (ml_Size){b->shape[d]->as.var->hint, SIZE};
        }
    }
    return n;
}

static void check_numbers(One *o)
{
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(o->fx.s));
    const ml_Module *was = ml_version_program(o->fx.s, 0).mod;
    const ml_Module *is = ml_schedule_program(o->fx.s).mod;
    ml_CheckOpts opts = {.inputs = ML_FILL_TERNARY, .exact = true};
    ml_CheckResult r;

    for (uint32_t k = 0; k < was->n; k++) {
        ml_Size sizes[MAX_SIZES];

        opts.sizes = sizes;
        opts.n_sizes = sizes_of(was->funcs[k], sizes);
        ml_MovedVec moved = {0};

        assert_true(
            ml_version_moved(o->fx.s, 0, ml_schedule_version(o->fx.s), k, cx, &moved));
        opts.moved = moved.v;
        opts.n_moved = moved.n;
        if (!ml_check(cx, was, was->funcs[k], is, is->funcs[k], &opts, &r)) {
            ml_Failure *f = ml_failure_from(ml_error(cx));

            fail_msg("%s:%u: %s: cannot run: %s", o->file, o->c->line, o->c->title,
                     ml_failure_message(f));
        }
        if (!r.ok)
            fail_msg("%s:%u: %s: other numbers, first at %s (%g, not %g) %s", o->file,
                     o->c->line, o->c->title, r.first_at, r.first_got, r.first_ref,
                     r.problem);
    }
    ml_ctx_unref(cx);
}

/* `-> i, j` against the handles of the last call. */
static void check_results(One *o)
{
    const ml_Results *r = &o->fx.r;
    ml_Text t = {0};

    if (!o->c->results)
        return;
    for (size_t k = 0; k < r->n; k++) {
        ml_Handle h = r->n > ML_MAX_RESULTS ? r->more[k] : r->v[k];
        int64_t value;

        ml_text_add(&t, k ? ", " : "");
        if (h.kind == ML_H_NONE)
            ml_text_add(&t, "auto");
        else if (h.kind == ML_H_INLINE_MARK || h.kind == ML_H_ROOT_MARK)
            ml_text_add(&t, h.kind == ML_H_ROOT_MARK ? "root mark" : "inline mark");
        else if (ml_handle_value(o->fx.s, h, &value))
            ml_text_fmt(&t, "%lld", (long long)value);
        else
            ml_text_add(&t, ml_name_of(o->fx.s, h.uid));
    }
    if (r->n == 0)
        ml_text_add(&t, "nothing");
    if (!ml_streq(ml_text_z(&t), o->c->results))
        fail_msg("%s:%u: %s: returned %s, not %s", o->file, o->c->line, o->c->title,
                 ml_text_z(&t), o->c->results);
    ml_text_free(&t);
}

/* Names are part of what a primitive gives (primitives 1.5); structural equality skips
 * them. */
static void same_text(const One *o, ml_Ctx *cx, const ml_Module *want, const ml_Module *got)
{
    if (!ml_streq(text_of(cx, want), text_of(cx, got)))
        fail_msg("%s:%u: %s: other names\n--- wanted\n%s\n--- got\n%s", o->file, o->c->line,
                 o->c->title, text_of(cx, want), text_of(cx, got));
}

static void check_accepted(One *o, const char *program)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Module *got = ml_schedule_program(o->fx.s).mod;
    const char *want = cases_whole(cx, o->c->expected, o->c->program);

    same(o, cx, parsed(o, cx, want), got, "the program");
    same_text(o, cx, parsed(o, cx, want), got);
    same(o, cx, got, parsed(o, cx, text_of(cx, got)), "the program printed and read again");
    check_results(o);
    check_replay(o, program);
    check_numbers(o);
    ml_ctx_unref(cx);
}

static bool mentions(ml_Failure *f, const char *name)
{
    const char *z;

    for (size_t k = 0; (z = ml_failure_loop(f, k)); k++)
        if (ml_streq(z, name))
            return true;
    for (size_t k = 0; (z = ml_failure_block(f, k)); k++)
        if (ml_streq(z, name))
            return true;
    for (size_t k = 0; (z = ml_failure_buffer(f, k)); k++)
        if (ml_streq(z, name))
            return true;
    return false;
}

static bool ends_in(const char *from, const char *end, const char *word)
{
    size_t n = strlen(word);

    return (size_t)(end - from) >= n && memcmp(end - n, word, n) == 0;
}

/* A loop or block of the sentence is said to be one: "loop {0}", "blocks {0} and {1}", or in
 * a word that is a fact itself, "{2} {0}". */
static void check_kinds_are_said(const One *o, const ml_Error *e)
{
    const char *says = ml_error_says(e);

    for (const char *p = says; (p = strchr(p, '{')) != NULL; p++) {
        size_t k = (size_t)(p[1] - '0');
        bool loop = k < e->n_facts && e->facts[k].kind == ML_FACT_LOOP;
        bool block = k < e->n_facts && e->facts[k].kind == ML_FACT_BLOCK;
        const char *one = loop ? "loop " : "block ", *many = loop ? "loops " : "blocks ";

        if ((loop || block) && !ends_in(says, p, one) && !ends_in(says, p, many) &&
            !ends_in(says, p, "} ") && !(ends_in(says, p, " and ") && strstr(says, many)))
            fail_msg("%s:%u: {%zu} without its kind in: %s", o->file, o->c->line, k, says);
    }
}

/* A call that a message shows, in its sentence, a note or a way out, can be typed: names are
 * strings, brackets close. Programs have their own calls, T.unroll(4). */
static void check_calls_can_be_typed(const One *o, const char *text)
{
    ml_Tokens t = {.p = text, .n = strlen(text)};
    bool member = false;

    for (ml_Token k; (k = ml_token_next(&t)).kind != ML_TOKEN_END;) {
        const ml_Primitive *prim = NULL;
        ml_Ctx *cx = ml_ctx_new(0);

        if (k.kind == ML_TOKEN_NAME && !member)
            prim = ml_primitive_find(ml_strdup(cx, k.text));
        member = ml_token_is(k, ".");
        const char *behind = k.text.p + k.text.n;

        if (prim && (*behind == '(' || *behind == '{')) {
            ml_Str rest = ml_str(k.text.p);
            ml_CallTexts calls = {0};
            int depth = 0;

            for (rest.n = k.text.n; rest.p[rest.n]; rest.n++) {
                depth += strchr("({", rest.p[rest.n]) != NULL;
                depth -= strchr(")}", rest.p[rest.n]) != NULL;
                if (depth == 0)
                    break;
            }
            rest.n += depth == 0 && rest.p[rest.n];
            if (!ml_parse_calls(cx, rest, &calls))
                fail_msg("%s:%u: cannot be typed: %.*s", o->file, o->c->line, (int)rest.n,
                         rest.p);
        }
        ml_ctx_unref(cx);
    }
}

static void check_refused(One *o)
{
    const Case *c = o->c;

    check_kinds_are_said(o, ml_schedule_error(o->fx.s));
    ml_Failure *f = ml_failure_take(o->fx.s);
    const ml_RenderOpts detail = {.level = ML_RENDER_DETAIL};
    ml_Text t = {0};

    if (ml_failure_code(f) != ml_error_find(c->code))
        fail_msg("%s:%u: %s: %s (%s), not %s", o->file, c->line, c->title,
                 ml_error_code(ml_failure_code(f)), ml_failure_message(f), c->code);
    for (const char *p = c->place; p && *p;) {
        const char *end = strstr(p, ", ");
        size_t len = end ? (size_t)(end - p) : strlen(p);
        char name[64];

        assert_true(len < sizeof(name));
        memcpy(name, p, len);
        name[len] = 0;
        if (!mentions(f, name))
            fail_msg("%s:%u: %s: the error does not name %s: %s", o->file, c->line,
                     c->title, name, ml_failure_message(f));
        p = end ? end + 2 : NULL;
    }
    if (strchr(ml_failure_message(f), '?') || strchr(ml_failure_message(f), '{'))
        fail_msg("%s:%u: a hole in the sentence: %s", o->file, c->line,
                 ml_failure_message(f));
    ml_failure_render(f, &t, NULL);
    check_calls_can_be_typed(o, ml_text_z(&t));
    ml_failure_render(f, &t, &detail);
    assert_non_null(strstr(t.p, c->code));
    ml_text_free(&t);
    ml_failure_free(f);
}

static void run_case(One *o)
{
    static const ml_ScheduleOpts checked = {.debug_mask = UINT32_MAX};
    ml_Ctx *cx = ml_ctx_new(0), *mx = ml_ctx_new(0);
    const char *program = cases_whole(cx, o->c->program, o->c->program);
    ml_CallTexts calls = {0};
    bool ok = true;

    fx_open(&o->fx, mx, parsed(o, mx, program), &checked);
    if (!ml_parse_calls(cx, ml_str(o->c->calls), &calls))
        fail_msg("%s:%u: %s: %s", o->file, o->c->line, o->c->calls,
                 ml_error(cx)->facts[0].as.text);
    for (size_t k = 0; ok && k < calls.n; k++) {
        ml_State before = ml_schedule_state(o->fx.s);
        ml_Program p = ml_schedule_program(o->fx.s);

        ok = ml_apply_prim(o->fx.s, calls.v[k].prim, calls.v[k].args, calls.v[k].n,
                           &o->fx.r);
        if (!ok) {
            ml_State after = ml_schedule_state(o->fx.s);

            if (!o->c->code || k + 1 < calls.n)
                fail_msg("%s:%u: %s: %.*s: %s", o->file, o->c->line, o->c->title,
                         (int)calls.v[k].text.n, calls.v[k].text.p, fx_message(&o->fx));
            assert_int_equal(before.version, after.version);
            assert_ptr_equal(before.trace, after.trace);
            assert_int_equal(before.random, after.random);
            assert_ptr_equal(p.mod, ml_schedule_program(o->fx.s).mod);
            assert_ptr_equal(p.index, ml_schedule_program(o->fx.s).index);
        }
    }
    const char *what = "";

    if (!ml_index_verify(cx, ml_schedule_program(o->fx.s), &what))
        fail_msg("%s:%u: the index is wrong: %s", o->file, o->c->line, what);
    if (ok && o->c->code)
        fail_msg("%s:%u: %s: accepted:\n%s", o->file, o->c->line, o->c->title,
                 text_of(cx, ml_schedule_program(o->fx.s).mod));
    if (ok)
        check_accepted(o, program);
    else
        check_refused(o);
    fx_close(&o->fx);
    ml_ctx_unref(cx);
}

/* One test for each file, so that a failure in one does not hide the others. */
static void cases_of_a_file(void **state)
{
    const ml_EmbeddedFile *f = *state;
    ml_Ctx *cx = ml_ctx_new(0);
    Cases cases = {0};

    cases_read(cx, f->name, f->text, &cases);
    assert_true(cases.n > 0);
    assert_null(cases.v[0].code); /* the first one is the example of the help */
    for (size_t k = 0; k < cases.n; k++) {
        One o = {.file = f->name, .c = &cases.v[k]};

        run_case(&o);
    }
    print_message("%s: %zu cases\n", f->name, cases.n);
    ml_ctx_unref(cx);
}

static void there_are_cases(void **state)
{
    assert_non_null(ml_case_files[0].name);
}

enum { MAX_FILES = 128 };

/* ML_CASE=split runs only the files whose name begins so. */
int main(void)
{
    struct CMUnitTest tests[MAX_FILES + 1] = {cmocka_unit_test(there_are_cases)};
    const char *only = getenv("ML_CASE");
    size_t n = 1;

    for (const ml_EmbeddedFile *f = ml_case_files; f->name && n <= MAX_FILES; f++) {
        union {
            const ml_EmbeddedFile *in;
            void *out;
        } u = {.in = f};

        if (only && strncmp(f->name, only, strlen(only)) != 0)
            continue;
        tests[n++] = (struct CMUnitTest){
            .name = f->name, .test_func = cases_of_a_file, .initial_state = u.out};
    }
    return _cmocka_run_group_tests("cases", tests, n, NULL, NULL);
}
