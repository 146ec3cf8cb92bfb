/*
 * test_bytes - jobs whose program is bytes: they give what its text gives, lines included.
 */
#include "work.h"

#include "moonloop/core/script/script.h"

enum { CHECK = ML_WANT_CHECK, TIMES = ML_WANT_TIMES };

static const char *printed(Fix *x, const char *text, const ml_Module **mod)
{
    ml_Parsed p = ml_parse(x->cx, ml_str(text), NULL);
    ml_Text t = {0};
    const char *z;

    assert_non_null(p.mod);
    *mod = p.mod;
    ml_print_module(x->cx, &t, p.mod, NULL);
    z = ml_strdup(x->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

/* Without lines in the bytes those of reports are found when they are needed. */
static void bytes_of_a_program_give_what_its_text_gives(void **state)
{
    static const struct {
        const char *program;
        uint32_t want, line; /* line: of the printed text */
    } rows[] = {
        {copy, CHECK | TIMES | ML_WANT_OBJECT, 0},
        {copy, ML_WANT_TEXT, 0},
        {copy, ML_WANT_IR, 0},
        {PROGRAM("    for i in T.thread_binding(256, thread=\"threadIdx.x\"):\n"
                 "        C[i] = A[i]\n"),
         CHECK, 8},
        {PROGRAM("    for i in range(256):\n"
                 "        assert A[i] > T.float32(7), \"A is large\"\n"
                 "        C[i] = A[i]\n"),
         CHECK, 9},
        {PROGRAM("    C[0] = T.float32(1)\n"
                 "    for i in range(2000):\n"
                 "        C[i % 256] = C[i % 256] + A[i]\n"),
         CHECK, 10},
    };
    Fix *x = *state;

    NEED_WORKER();
    make_set(x, 256, NULL);
    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        const ml_Module *m;
        const char *text = printed(x, rows[k].program, &m), *message, *got;
        ml_Job j = job_of(x, text, rows[k].want);
        uint32_t line;
        bool ok;

        j.text = "asm";
        j.code.lines = rows[k].want == ML_WANT_TEXT;
        ok = run_job(x, &j);
        line = x->r.line;
        message = x->r.message ? x->r.message : "";
        got = x->r.text ? x->r.text : "";
        assert_int_equal(line, rows[k].line);
        j.program = NULL;
        j.binary = ml_binary_write(x->cx, m, false);
        assert_int_equal(run_job(x, &j), ok);
        assert_int_equal(x->r.line, line);
        assert_string_equal(x->r.message ? x->r.message : "", message);
        if (rows[k].want == ML_WANT_TEXT) /* columns are not known */
            assert_true(strstr(got, ".loc\t1 9 ") && strstr(x->r.text, ".loc\t1 9 "));
        else
            assert_string_equal(x->r.text ? x->r.text : "", got);
    }
}

static void bytes_that_are_no_program_are_told(void **state)
{
    Fix *x = *state;
    const ml_Module *m;
    const char *text = printed(x, copy, &m);
    ml_Job j = job_of(x, NULL, ML_WANT_OBJECT);
    uint8_t *v;

    NEED_WORKER();
    assert_non_null(text);
    j.binary = ml_binary_write(x->cx, m, false);
    v = ml_alloc(x->cx, j.binary.n);
    memcpy(v, j.binary.v, j.binary.n);
    v[j.binary.n / 2] ^= 4;
    j.binary.v = v;
    fails(x, &j, ML_E_ILL_FORMED, "parse", "its checksum is that of other bytes");
    v[j.binary.n / 2] ^= 4;
    j.binary.n--;
    fails(x, &j, ML_E_ILL_FORMED, "parse", "it is cut off");
    j.binary.n++;
    assert_true(run_job(x, &j));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_of_a_program_give_what_its_text_gives),
        TEST(bytes_that_are_no_program_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
