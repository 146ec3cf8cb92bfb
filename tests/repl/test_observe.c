/*
 * Observers of a session: what they are told of lines, output, versions and the end; and
 * that they may take themselves away, or others, while they are told.
 */
#include "repl/fixture.h"

#include <stdio.h>
#include <string.h>

typedef struct Told {
    ml_Text log;
    const ml_Observer *drop; /* is taken away after the next line */
} Told;

static void before_line(void *user, ml_Session *ss, const ml_LineEvent *e)
{
    Told *t = user;

    (void)ss;
    ml_text_fmt(&t->log, "before %d.%d [%s] v%d\n", e->number, e->depth, e->text, e->from);
}

static void after_line(void *user, ml_Session *ss, const ml_LineEvent *e)
{
    Told *t = user;

    ml_text_fmt(&t->log, "after %d.%d %s v%d v%d\n", e->number, e->depth,
                e->ok ? "ok" : "failed", e->from, e->to);
    if (t->drop)
        ml_session_unobserve(ss, t->drop);
    t->drop = NULL;
}

static void on_version(void *user, ml_Session *ss, ml_Schedule *s, int version)
{
    Told *t = user;

    (void)ss;
    ml_text_fmt(&t->log, "version %s v%d\n", ml_schedule_name(s), version);
}

static void on_end(void *user, ml_Session *ss)
{
    Told *t = user;

    (void)ss;
    ml_text_add(&t->log, "end\n");
}

static ml_Observer observer(const char *name, Told *t)
{
    return (ml_Observer){.name = name,
                         .user = t,
                         .before_line = before_line,
                         .after_line = after_line,
                         .on_version = on_version,
                         .on_end = on_end};
}

static void is_told(Told *t, const char *what)
{
    assert_string_equal(ml_text_z(&t->log), what);
    ml_text_clear(&t->log);
}

static void lines_are_told(void **state)
{
    ml_Session *ss = *state;
    Told told = {.drop = NULL};
    ml_Observer o = observer("one", &told);
    char path[] = "/tmp/ml-observe-XXXXXX", line[64];
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");

    ml_session_observe(ss, &o);
    ml_session_observe(ss, &o); /* once is enough */
    run_line(ss, "  i = 1\n");
    is_told(&told, "before 2.0 [i = 1] v0\nafter 2.0 ok v0 v0\n");
    run_line(ss, "s:split(\"i\", {moon.auto, 8})");
    is_told(&told, "before 3.0 [s:split(\"i\", {moon.auto, 8})] v0\n"
                   "version matmul v1\nafter 3.0 ok v0 v1\n");
    fputs("s:split(\"j\", {moon.auto, 8})\n", f);
    fclose(f);
    snprintf(line, sizeof line, ":source %s", path);
    run_line(ss, line);
    remove(path);
    ml_text_clear(&told.log);
    run_line(ss, ":undo");
    is_told(&told, "before 5.0 [:undo] v2\nversion matmul v1\nafter 5.0 ok v2 v1\n");
    ml_session_unobserve(ss, &o);
    run_line(ss, ":redo");
    is_told(&told, "");
    ml_text_free(&told.log);
}

static void inner_lines_have_a_depth(void **state)
{
    ml_Session *ss = *state;
    Told told = {.drop = NULL};
    ml_Observer o = observer("one", &told);
    char path[] = "/tmp/ml-observe-XXXXXX", line[64], want[256];
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");

    fputs("x = 1\n", f);
    fclose(f);
    snprintf(line, sizeof line, ":source %s", path);
    ml_session_observe(ss, &o);
    run_line(ss, line);
    remove(path);
    snprintf(want, sizeof want,
             "before 2.0 [%s] v0\nbefore 2.1 [x = 1] v0\nafter 2.1 ok v0 v0\n"
             "after 2.0 ok v0 v0\n",
             line);
    is_told(&told, want);
    ml_session_unobserve(ss, &o);
    ml_text_free(&told.log);
}

static void one_takes_another_away(void **state)
{
    ml_Session *ss = *state;
    Told a = {.drop = NULL}, b = {.drop = NULL};
    ml_Observer first = observer("first", &a), second = observer("second", &b);

    ml_session_observe(ss, &first);
    ml_session_observe(ss, &second);
    a.drop = &second;
    run_line(ss, "x = 1");
    is_told(&b, "before 2.0 [x = 1] v0\n");
    ml_text_clear(&a.log);
    a.drop = &first;
    run_line(ss, "x = 2");
    run_line(ss, "x = 3");
    is_told(&a, "before 3.0 [x = 2] v0\nafter 3.0 ok v0 v0\n");
    ml_text_free(&a.log);
    ml_text_free(&b.log);
}

static void on_output(void *user, ml_Session *ss, const ml_OutputEvent *e)
{
    (void)ss;
    ml_text_add(&((Told *)user)->log, e->raw);
}

static void the_end_comes_last_first(void **state)
{
    Told told = {.drop = NULL};
    ml_Observer o = observer("one", &told), hears = {.user = &told, .on_output = on_output};
    ml_Session ss;

    (void)state;
    open_session(&ss, 100, ML_MODE_QUIET);
    ml_session_observe(&ss, &o);
    ml_session_observe(&ss, &hears);
    ml_out_line(&ss.out, "heard");
    ml_session_free(&ss);
    is_told(&told, "heard\nend\n");
    ml_text_free(&told.log);
}

static void on_tick(void *user, ml_Session *ss)
{
    (void)ss;
    ++*(int *)user;
}

static void long_work_ticks(void **state)
{
    ml_Session *ss = *state;
    int ticks = 0;
    ml_Observer o = {.name = "ticks", .user = &ticks, .on_tick = on_tick};

    ml_session_observe(ss, &o);
    ss->observers.ticked = 0; /* the lines before may have ticked just now */
    run_line(ss, ":check");
    ml_session_unobserve(ss, &o);
    assert_true(ticks >= 1); /* one at once, the next a tenth of a second later */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE(lines_are_told),
        FIXTURE(inner_lines_have_a_depth),
        FIXTURE(one_takes_another_away),
        FIXTURE(long_work_ticks),
        cmocka_unit_test(the_end_comes_last_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
