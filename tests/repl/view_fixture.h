/*
 * view_fixture - the visualiser without a terminal, as tests of it have it: 80 columns and
 * 24 rows over a matmul, or any program in any size; keys by name, text as it is typed, and
 * the screen as text when nothing is left to be worked out. *state is the Fixture.
 */
#ifndef ML_TESTS_REPL_VIEW_FIXTURE_H
#define ML_TESTS_REPL_VIEW_FIXTURE_H

#include "repl/fixture.h"

#include <string.h>

#include "repl/view/keys/keymap.h"
#include "repl/view/view.h"

typedef struct Fixture {
    ml_Session ss;
    ml_View v;
    ml_Text screen;
} Fixture;

static const char MATMUL[] =
    "from tvm.script import tir as T\n"
    "@T.prim_func\n"
    "def matmul(A: T.Buffer((128, 128), \"float32\"), B: T.Buffer((128, 128), "
    "\"float32\"), "
    "C: T.Buffer((128, 128), \"float32\")):\n"
    "    for i, j, k in T.grid(128, 128, 128):\n"
    "        with T.block(\"C\"):\n"
    "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
    "            with T.init():\n"
    "                C[vi, vj] = T.float32(0)\n"
    "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n\n";

static inline void open_view(Fixture *f, const char *program, int w, int h)
{
    ml_Text out = {0};

    ml_house_open();
    ml_session_init(&f->ss);
    ml_out_init(&f->ss.out, 0, 100, false);
    f->ss.out.ascii = false;
    f->ss.private_ = f->ss.safe = true; /* random keys find ! too */
    f->ss.host = ml_host_new(&f->ss);
    if (program) {
        f->ss.out.sink.out = f->ss.out.sink.err = &out;
        assert_true(ml_host_open_text(f->ss.host, program));
        f->ss.out.sink.out = f->ss.out.sink.err = NULL;
    }
    ml_text_free(&out);
    ml_view_init(&f->v, &f->ss, w, h, false);
}

static inline int start_with(void **state, const char *program, int w, int h)
{
    Fixture *f = calloc(1, sizeof *f);

    if (!f)
        return 1;
    open_view(f, program, w, h);
    *state = f;
    return 0;
}

static inline int start(void **state)
{
    return start_with(state, MATMUL, 80, 24);
}

static inline int end(void **state)
{
    Fixture *f = *state;

    ml_view_free(&f->v);
    ml_text_free(&f->screen);
    ml_keymap_free(f->ss.keymap);
    ml_session_free(&f->ss);
    free(f);
    return 0;
}

static inline void press(Fixture *f, const char *keys)
{
    char key[32];

    while (*keys) {
        size_t n = strcspn(keys, " ");
        ml_Key k;

        assert_true(n < sizeof key);
        memcpy(key, keys, n);
        key[n] = '\0';
        assert_true(ml_key_read(key, &k));
        ml_view_key(&f->v, &k);
        keys += n;
        keys += strspn(keys, " ");
    }
}

static inline void type(Fixture *f, const char *text)
{
    for (; *text; text++) {
        ml_Key k = {.ch = {*text}};

        ml_view_key(&f->v, &k);
    }
}

static inline const char *screen(Fixture *f)
{
    while (ml_view_idle(&f->v, 100)) {
    }
    ml_view_draw(&f->v);
    ml_text_clear(&f->screen);
    ml_grid_text(&f->v.grid, &f->screen);
    return ml_text_z(&f->screen);
}

#endif
