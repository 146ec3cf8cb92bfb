/*
 * The picture of a line that is being typed, and that what is sent to a terminal gives that
 * picture: a terminal small enough to be seen through is played here. Source:
 * interaction 4.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "repl/line/line_grid.h"
#include "repl/screen/writer.h"

/* ---- a terminal: rows of cells, a cursor that waits behind the last column */

enum { MAX_W = 60, MAX_H = 12 };

typedef struct Terminal {
    int w, h, x, y;
    bool waits; /* a character was written in the last column */
    int scrolled;
    char cell[MAX_H][MAX_W][ML_CELL_BYTES];
} Terminal;

static void blank(Terminal *t, int y, int from)
{
    for (int x = from; x < t->w; x++)
        memcpy(t->cell[y][x], " ", 2);
}

static void reset(Terminal *t, int w, int h)
{
    *t = (Terminal){.w = w, .h = h};
    for (int y = 0; y < h; y++)
        blank(t, y, 0);
}

static void down(Terminal *t)
{
    if (t->y + 1 < t->h) {
        t->y++;
        return;
    }
    memmove(t->cell[0], t->cell[1], sizeof t->cell[0] * (size_t)(t->h - 1));
    blank(t, t->h - 1, 0);
    t->scrolled++;
}

static void control(Terminal *t, const char *p, size_t n)
{
    const char *second = memchr(p, ';', n);
    int k = n > 0 ? (int)strtol(p, NULL, 10) : 0, all = k == 2;

    if (*p == '?') /* the cursor shows, or does not */
        return;
    k = k > 0 ? k : 1;
    switch (p[n]) {
    case 'H':
        t->y = k - 1;
        t->x = second ? (int)strtol(second + 1, NULL, 10) - 1 : 0;
        break;
    case 'X':
        for (int x = t->x; x < t->x + k && x < t->w; x++)
            memcpy(t->cell[t->y][x], " ", 2);
        return;
    case 'A': t->y = t->y - k < 0 ? 0 : t->y - k; break;
    case 'B': t->y = t->y + k >= t->h ? t->h - 1 : t->y + k; break;
    case 'C': t->x = t->x + k >= t->w ? t->w - 1 : t->x + k; break;
    case 'D': t->x = t->x - k < 0 ? 0 : t->x - k; break;
    case 'K': blank(t, t->y, t->x); return;
    case 'J':
        blank(t, t->y, all ? 0 : t->x);
        for (int y = all ? 0 : t->y + 1; y < t->h; y++)
            blank(t, y, 0);
        return;
    case 'm': return;
    default: fail_msg("a sequence that was not expected: ESC[%.*s", (int)n + 1, p);
    }
    t->waits = false;
}

static void feed(Terminal *t, const char *p)
{
    while (*p) {
        size_t bytes;

        if (*p == '\r' || *p == '\n') {
            if (*p == '\n')
                down(t);
            else
                t->x = 0;
            t->waits = false;
            p++;
            continue;
        }
        if (p[0] == '\x1b') {
            assert_int_equal(p[1], '[');
            size_t n = strspn(p + 2, "0123456789;:?");

            control(t, p + 2, n);
            p += 3 + n;
            continue;
        }
        int c = ml_char_columns(p, strlen(p), &bytes);

        assert_true((unsigned char)*p >= ' '); /* no other control reaches the terminal */
        if (t->waits && c > 0) {
            t->x = 0;
            down(t);
            t->waits = false;
        }
        if (c == 0) { /* joins the one before */
            int x = t->waits ? t->x : t->x - 1;

            while (x > 0 && !t->cell[t->y][x][0])
                x--;
            size_t have = strlen(t->cell[t->y][x]);

            assert_true(x >= 0 && have + bytes < ML_CELL_BYTES);
            memcpy(t->cell[t->y][x] + have, p, bytes);
            t->cell[t->y][x][have + bytes] = '\0';
            p += bytes;
            continue;
        }
        assert_true(t->x + c <= t->w);
        memcpy(t->cell[t->y][t->x], p, bytes);
        t->cell[t->y][t->x][bytes] = '\0';
        if (c == 2)
            t->cell[t->y][t->x + 1][0] = '\0';
        t->x += c;
        if (t->x == t->w) {
            t->x = t->w - 1;
            t->waits = true;
        }
        p += bytes;
    }
}

static void send(ml_Writer *s, ml_Grid *g, const ml_Theme *theme, ml_Text *out)
{
    ml_writer_show(s, g, theme, out);
    ml_grid_free(g);
}

/* ---- pictures */

static void picture(const ml_LineView *v, int w, int h, const char *want)
{
    ml_Grid p = {0};
    ml_Text got = {0};

    ml_line_draw(v, w, h, &p);
    ml_grid_text(&p, &got);
    ml_text_fmt(&got, "at %d %d", p.cursor_x, p.cursor_y);
    assert_string_equal(ml_text_z(&got), want);
    ml_text_free(&got);
    ml_grid_free(&p);
}

static ml_LineView line(const char *prompt, const char *text, size_t cursor)
{
    return (ml_LineView){
        .prompt = prompt, .text = text, .n = strlen(text), .cursor = cursor};
}

static void a_line_stands_behind_its_prompt(void **state)
{
    (void)state;
    ml_LineView v = line("> ", "fuse()", 6);

    picture(&v, 20, 5, "> fuse()\nat 8 0");
    v.prompt = "\001\x1b[31m\002> \001\x1b[0m\002";
    picture(&v, 20, 5, "> fuse()\nat 8 0");
    v.cursor = 2;
    picture(&v, 5, 5, "> fus\ne()\nat 4 0");
    v.cursor = 3; /* where the next row begins */
    picture(&v, 5, 5, "> fus\ne()\nat 0 1");
    v = line("> ", "abc", 3); /* the cursor behind the last column is on the next row */
    picture(&v, 5, 5, "> abc\n\nat 0 1");
}

static void further_lines_stand_under_the_first(void **state)
{
    (void)state;
    ml_LineView v = line("ab> ", "if x\n  y\nend", 12);

    picture(&v, 20, 5, "ab> if x\n      y\n    end\nat 7 2");
    picture(&v, 6, 9, "ab> if\n x\n  y\nend\nat 3 3"); /* too narrow for that */
}

static void wide_and_strange_characters_are_counted(void **state)
{
    (void)state;
    ml_LineView v = line("> ",
                         "a\xe4\xb8\x80\xe4\xba\x8c"
                         "b",
                         8);

    picture(&v, 10, 5,
            "> a\xe4\xb8\x80\xe4\xba\x8c"
            "b\nat 8 0");
    v.cursor = 4;
    picture(&v, 6, 5,
            "> a\xe4\xb8\x80\n\xe4\xba\x8c"
            "b\nat 5 0");
    v = line("> ", "e\xcc\x81x\x01y", 6);
    picture(&v, 10, 5, "> e\xcc\x81x^Ay\nat 7 0");
    v = line("> ", "\tx", 2);
    picture(&v, 20, 5, ">       x\nat 9 0");
}

static void suggestion_and_hints_follow(void **state)
{
    (void)state;
    ml_LineView v = line("> ", "spl", 3);

    v.suggestion = "it(\"i\")";
    v.hints[0].text = "what it takes";
    v.hints[1].text = "what it does";
    picture(&v, 20, 5, "> split(\"i\")\nwhat it takes\nwhat it does\nat 5 0");
    picture(&v, 20, 2, "> split(\"i\")\nwhat it takes\nat 5 0"); /* as there is room */
    picture(&v, 20, 1, "> split(\"i\")\nat 5 0");
    picture(&v, 10, 5, "> split(\"…\nwhat it t…\nwhat it d…\nat 5 0");
    v.suggestion = "it(\n\"i\")";
    picture(&v, 20, 1, "> split( …\nat 5 0");
    v.cursor = 1; /* not at the end: no suggestion */
    picture(&v, 20, 1, "> spl\nat 3 0");
}

static void a_long_entry_shows_the_part_around_the_cursor(void **state)
{
    (void)state;
    ml_LineView v = line("", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9", 19);

    picture(&v, 20, 4, "6\n7\n8\n9\nat 1 3");
    v.cursor = 0;
    picture(&v, 20, 4, "0\n1\n2\n3\nat 0 0");
    v.cursor = 10;
    picture(&v, 20, 4, "3\n4\n5\n6\nat 0 2");
}

static void colours_of_the_prompt_are_kept(void **state)
{
    (void)state;
    ml_LineView v = line("\x1b[1m\x1b[32mok\x1b[0m> \x1b]0;title\x07", "x", 1);
    ml_Grid p = {0};
    ml_Writer s = {.to = ml_ansi(), .among = true};
    ml_Theme theme;
    ml_Text out = {0};

    ml_theme_init(&theme, "", ML_DEPTH_8);
    ml_line_draw(&v, 20, 5, &p);
    send(&s, &p, &theme, &out);
    assert_non_null(strstr(ml_text_z(&out), "\x1b[1m"));
    assert_non_null(strstr(ml_text_z(&out), "\x1b[32mok\x1b[0m> x"));
    assert_null(strstr(ml_text_z(&out), "title"));
    ml_text_free(&out);
    ml_writer_forget(&s);
}

/* ---- what is sent */

/* The rows of the terminal that belong to the line are the picture's, and so is the cursor.
 */
static void compare(const Terminal *t, const ml_Writer *s, const char *sent)
{
    int top = t->y - s->shown.cursor_y;

    assert_int_equal(t->x, s->shown.cursor_x);
    assert_true(top >= 0 && top + s->shown.h <= t->h);
    for (int y = 0; y < t->h; y++)
        for (int x = 0; x < t->w && y >= top; x++) {
            const char *want = " ", *have = t->cell[y][x];

            if (y - top < s->shown.h)
                want = s->shown.cells[(y - top) * s->shown.w + x].z;
            if (!ml_streq(want, have))
                fail_msg("at %d %d: '%s' is not '%s' after %s", x, y, have, want, sent);
        }
}

static void any_row_of_edits_shows_what_it_should(void **state)
{
    static const char *const PIECES[] = {"a",           "bc",  "\xe4\xb8\x80", "e\xcc\x81",
                                         "\n",          "\t",  "\x01",         " ",
                                         "long enough", "\xff"};
    static const int SIZES[][2] = {{20, 6}, {7, 4}, {2, 3}, {40, 2}, {12, 1}, {59, 12}};
    uint32_t r = 12345;
    ml_Theme theme;

    (void)state;
    ml_theme_init(&theme, "", ML_DEPTH_256);
    for (size_t k = 0; k < ML_COUNT(SIZES); k++) {
        Terminal t;
        ml_Writer s = {.to = ml_ansi(), .among = true};
        char text[400] = "";
        size_t n = 0;

        reset(&t, SIZES[k][0], SIZES[k][1]);
        for (int step = 0; step < 1500; step++) {
            ml_Grid p = {0};
            ml_Text out = {0};

            r = r * 1664525u + 1013904223u;
            const char *z = PIECES[(r >> 10) % ML_COUNT(PIECES)];
            size_t m = strlen(z), at = n > 0 ? (r >> 16) % (n + 1) : 0;

            while (at > 0 && (text[at] & 0xc0) == 0x80)
                at--;
            if ((r >> 5) % 3 == 0 || n + m + 1 > sizeof text) { /* cut there */
                n = at;
                text[n] = '\0';
            } else {
                memmove(text + at + m, text + at, n - at + 1);
                memcpy(text + at, z, m);
                n += m;
            }
            size_t cursor = (r >> 7) % 2 ? n : at;
            ml_LineView v = line(step % 7 == 0 ? "(search) " : "> ", text, cursor);
            ml_RoleSpan spans[] = {{1, 3, ML_ROLE_STRING}, {4, 9, ML_ROLE_KEYWORD}};

            v.spans = spans;
            v.n_spans = ML_COUNT(spans);
            v.suggestion = (r >> 8) % 2 ? "and more of it" : NULL;
            v.hints[0].text =
                (r >> 9) % 2 ? "a hint \xe4\xb8\x80 that is rather long" : NULL;
            v.hints[1].text = (r >> 11) % 3 == 0 ? "another" : NULL;
            ml_line_draw(&v, t.w, t.h, &p);
            send(&s, &p, &theme, &out);
            feed(&t, ml_text_z(&out));
            compare(&t, &s, ml_text_z(&out));
            if ((r >> 20) % 50 == 0) { /* something else is written in between */
                ml_text_clear(&out);
                ml_writer_erase(&s, &out);
                feed(&t, ml_text_z(&out));
                feed(&t, "hello\r\n");
            }
            ml_text_free(&out);
        }
        ml_writer_forget(&s);
    }
}

/* A screen of our own: what is drawn over it, cell by cell, text over text, ends as the
 * grid says, whatever stood there. */
static void any_row_of_screens_shows_what_it_should(void **state)
{
    static const char *const PIECES[] = {"text",         "\xe4\xb8\x80\xe4\xba\x8c",
                                         "e\xcc\x81",    "                ",
                                         "\xe2\x94\x80", "a line that is long"};
    static const int SIZES[][2] = {{20, 6}, {7, 4}, {1, 1}, {40, 2}, {2, 12}, {59, 12}};
    ml_Terminal plain = *ml_ansi(), wraps = *ml_ansi();
    uint32_t r = 4711;
    ml_Theme theme;

    (void)state;
    plain.cap[ML_CAP_LEFT] = NULL;
    plain.cap[ML_CAP_BLANKS] = "\x1b[%p1%dX";
    wraps.corner = false;
    ml_theme_init(&theme, "", ML_DEPTH_256);
    for (size_t k = 0; k < ML_COUNT(SIZES); k++) {
        int w = SIZES[k][0], h = SIZES[k][1];
        ml_Writer s = {.to = k % 3 == 0 ? ml_ansi() : k % 3 == 1 ? &plain : &wraps};
        Terminal t;
        ml_Grid g;

        reset(&t, w, h);
        ml_grid_init(&g, w, h, false);
        for (int step = 0; step < 1500; step++) {
            ml_Text out = {0};

            for (int n = 0; n < 3; n++) {
                r = r * 1664525u + 1013904223u;
                ml_grid_put(&g, (ml_Rect){0, 0, w, h}, (int)(r >> 9) % w,
                            (int)(r >> 20) % h, PIECES[(r >> 5) % ML_COUNT(PIECES)],
                            (r >> 28) % 3 ? ML_ROLE_TEXT : ML_ROLE_CURSOR);
            }
            if (step % 100 == 0)
                ml_grid_clear(&g);
            if (step % 250 == 0)
                ml_writer_forget(&s);
            if (!s.to->corner) /* its last cell is never written */
                ml_grid_fill(&g, (ml_Rect){w - 1, h - 1, 1, 1}, ML_ROLE_TEXT);
            g.cursor_x = (int)(r >> 13) % w;
            g.cursor_y = (int)(r >> 17) % h;
            ml_writer_show(&s, &g, &theme, &out);
            feed(&t, ml_text_z(&out));
            assert_int_equal(t.scrolled, 0);
            compare(&t, &s, ml_text_z(&out));
            ml_text_clear(&out);
            assert_false(ml_writer_show(&s, &g, &theme, &out));
            assert_string_equal(ml_text_z(&out), "");
            ml_text_free(&out);
        }
        ml_grid_free(&g);
        ml_writer_forget(&s);
    }
}

/* What is sent for the next picture of a line. */
static void sends(ml_Writer *s, const char *text, size_t cursor, const char *want)
{
    ml_LineView v = line("> ", text, cursor);
    ml_Theme theme;
    ml_Text out = {0};
    ml_Grid p = {0};

    ml_theme_init(&theme, "", ML_DEPTH_8);
    ml_line_draw(&v, 40, 5, &p);
    send(s, &p, &theme, &out);
    if (want)
        assert_string_equal(ml_text_z(&out), want);
    ml_text_free(&out);
}

static void a_key_at_the_end_sends_little(void **state)
{
    (void)state;
    ml_Writer s = {.to = ml_ansi(), .among = true};
    ml_Text out = {0};

    sends(&s, "abc", 3, NULL);
    sends(&s, "abcd", 4, "d");
    sends(&s, "abcd", 4, "");
    ml_writer_erase(&s, &out);
    assert_string_equal(ml_text_z(&out), "\r\r\x1b[J");
    ml_text_free(&out);
}

/* Where the terminal counts the columns of a text otherwise, the way to the left starts at its
 * edge, so that nothing is written over the prompt. */
static void the_way_to_the_left_starts_at_the_edge(void **state)
{
    (void)state;
    ml_Writer s = {.to = ml_ansi(), .among = true};

    sends(&s, "abc", 3, NULL);
    sends(&s, "abc", 1, "\r\x1b[3C");
    ml_writer_forget(&s);
}

/* A terminal that becomes narrower folds its rows; the line is found again. */
static void a_narrower_terminal_is_taken_into_account(void **state)
{
    (void)state;
    ml_Writer s = {.to = ml_ansi(), .among = true};
    ml_Theme theme;
    ml_Text out = {0};
    ml_LineView v = line("> ", "0123456789abcdef", 16);
    ml_Grid p = {0};

    ml_theme_init(&theme, "", ML_DEPTH_8);
    ml_line_draw(&v, 40, 9, &p);
    send(&s, &p, &theme, &out);
    ml_text_clear(&out);
    ml_writer_resized(&s, 10, &out); /* 18 columns are on two rows now */
    assert_string_equal(ml_text_z(&out), "\x1b[1A\r\x1b[J");
    assert_false(s.valid);
    ml_text_free(&out);
    ml_writer_forget(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_stands_behind_its_prompt),
        cmocka_unit_test(further_lines_stand_under_the_first),
        cmocka_unit_test(wide_and_strange_characters_are_counted),
        cmocka_unit_test(suggestion_and_hints_follow),
        cmocka_unit_test(a_long_entry_shows_the_part_around_the_cursor),
        cmocka_unit_test(colours_of_the_prompt_are_kept),
        cmocka_unit_test(any_row_of_edits_shows_what_it_should),
        cmocka_unit_test(any_row_of_screens_shows_what_it_should),
        cmocka_unit_test(a_key_at_the_end_sends_little),
        cmocka_unit_test(the_way_to_the_left_starts_at_the_edge),
        cmocka_unit_test(a_narrower_terminal_is_taken_into_account),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
