/*
 * Bytes of a terminal as keys and clicks: sequences in pieces, unknown and broken ones,
 * pasted text, bytes that are no text. Source: interaction 10.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "repl/screen/decode.h"

/* The events of the bytes, as words; the last call knows that no more will come. */
static const char *events(ml_Decoder *d, const char *bytes, size_t n, bool all)
{
    static ml_Text t;

    ml_text_clear(&t);
    ml_decode_add(d, bytes, n);
    for (;;) {
        ml_Event e = ml_decode_next(d, all);

        if (e.kind == ML_EVENT_NONE)
            break;
        if (t.n)
            ml_text_char(&t, ' ');
        switch (e.kind) {
        case ML_EVENT_KEY: ml_text_add(&t, e.name ? e.name : e.ch); break;
        case ML_EVENT_PRESS: ml_text_fmt(&t, "press:%d,%d", e.x, e.y); break;
        case ML_EVENT_RELEASE: ml_text_fmt(&t, "release:%d,%d", e.x, e.y); break;
        case ML_EVENT_DRAG: ml_text_fmt(&t, "drag:%d,%d", e.x, e.y); break;
        case ML_EVENT_WHEEL_UP: ml_text_add(&t, "wheel-up"); break;
        case ML_EVENT_WHEEL_DOWN: ml_text_add(&t, "wheel-down"); break;
        case ML_EVENT_NONE:
        case ML_EVENT_RESIZE:
        case ML_EVENT_RETURN: fail();
        }
    }
    return ml_text_z(&t);
}

#define DECODES(bytes, words)                                                              \
    do {                                                                                   \
        ml_Decoder d = {.n = 0};                                                           \
        assert_string_equal(events(&d, bytes, sizeof(bytes) - 1, true), words);            \
        assert_int_equal(d.n, 0);                                                          \
    } while (0)

static void keys_of_terminals_have_names(void **state)
{
    DECODES("a\x1b[A\x1bOB\x1b[5~\x1b[1;2B\x1b[Z\r\t\x7f\x03\x12",
            "a up down pgup S-down S-tab "
            "enter tab backspace C-c C-r");
    DECODES("\x1b"
            "3\x1bx\x1b",
            "M-3 M-x esc");
    DECODES("\x1b\x1b[A", "esc up");
    DECODES("\xc3\xa9\xe6\xbc\xa2", "é 漢");
}

static void clicks_are_told_with_their_places(void **state)
{
    DECODES("\x1b[<0;8;6M\x1b[<32;9;6M\x1b[<0;9;6m", "press:7,5 drag:8,5 release:8,5");
    DECODES("\x1b[<64;1;1M\x1b[<65;1;1M", "wheel-up wheel-down");
    /* with Shift, the right button, places that are none, too many numbers */
    DECODES("\x1b[<4;8;6M\x1b[<2;8;6M\x1b[<0;0;0M\x1b[<0;1;2;3Mx", "x");
}

static void a_sequence_may_come_in_pieces(void **state)
{
    ml_Decoder d = {.n = 0};

    assert_string_equal(events(&d, "\x1b", 1, false), "");
    assert_string_equal(events(&d, "[1;", 3, false), "");
    assert_string_equal(events(&d, "2A", 2, false), "S-up");
    assert_string_equal(events(&d, "\xe6", 1, false), "");
    assert_string_equal(events(&d, "\xbc\xa2", 2, false), "漢");
    assert_string_equal(events(&d, "\x1b", 1, false), "");
    assert_string_equal(events(&d, "", 0, true), "esc");
}

static void what_is_unknown_or_broken_is_no_key(void **state)
{
    DECODES("\x1b[99;99zq", "q");
    DECODES("\x1b]11;rgb:0000/0000/0000\x07q", "q");
    DECODES("\x1b[1;\x1b[Aq", "up q");
    DECODES("\xff\xc0q\x80", "q");
    DECODES("\x1b[<1;1;1", "");
}

static void pasted_text_presses_no_keys(void **state)
{
    DECODES("\x1b[200~a\r\tb\x03\x1b[201~\r", "a C-j   b enter");
}

static void the_entry_of_a_terminal_adds_sequences(void **state)
{
    ml_Decoder d = {.n = 0};

    ml_decode_extra(&d, "\x1b[25~", "S-up");
    ml_decode_extra(&d, "k", "up"); /* a plain key stays one */
    ml_decode_extra(&d, NULL, "down");
    assert_string_equal(events(&d, "\x1b[25~k", 6, true), "S-up k");
}

static void random_bytes_end(void **state)
{
    ml_Decoder d = {.n = 0};
    uint64_t r = 7;

    for (int k = 0; k < 20000; k++) {
        char bytes[8];
        size_t n;

        r = r * 6364136223846793005u + 1442695040888963407u;
        n = 1 + (r >> 60) % sizeof bytes;
        for (size_t m = 0; m < n; m++)
            bytes[m] = r >> (8 * m) & 1 ? "\x1b[<;0123456789Mm~O"[r >> (4 * m + 9) & 15]
                                        : (char)(r >> (7 * m));
        events(&d, bytes, n < ml_decode_room(&d) ? n : ml_decode_room(&d), k % 3 == 0);
        assert_true(ml_decode_room(&d) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_terminals_have_names),
        cmocka_unit_test(clicks_are_told_with_their_places),
        cmocka_unit_test(a_sequence_may_come_in_pieces),
        cmocka_unit_test(what_is_unknown_or_broken_is_no_key),
        cmocka_unit_test(pasted_text_presses_no_keys),
        cmocka_unit_test(the_entry_of_a_terminal_adds_sequences),
        cmocka_unit_test(random_bytes_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
