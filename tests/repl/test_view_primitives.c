/*
 * Every primitive can be applied from the panes, with keys alone: on the program of its own
 * example, from x (all that applies) through whatever is asked then, to a step. What is
 * proposed is taken where it works, else the arguments of the example are typed.
 * Source: interaction 10, 16.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moonloop/primitives/call/cases.h"
#include "moonloop/primitives/prim.h"
#include "repl/host/host.h"
#include "repl/house.h"
#include "repl/view/act/act_impl.h"
#include "repl/view/keys/keymap.h"
#include "repl/view/view.h"

typedef struct Drive {
    ml_Session ss;
    ml_View v;
    const ml_Primitive *p;
    ml_Text example, call; /* program and accepted call */
    ml_Text out;           /* what the session printed */
} Drive;

static void open_view(Drive *d)
{
    ml_Text program = {0};

    ml_house_open();
    ml_session_init(&d->ss);
    ml_out_init(&d->ss.out, 0, 100, false);
    d->ss.private_ = d->ss.safe = true;
    d->ss.host = ml_host_new(&d->ss);
    d->ss.out.sink.out = d->ss.out.sink.err = &d->out;
    if (!strstr(ml_text_z(&d->example), "import tir"))
        ml_text_add(&program, "from tvm.script import tir as T\n");
    ml_text_add(&program, ml_text_z(&d->example));
    ml_text_add(&program, "\n\n");
    if (!ml_host_open_text(d->ss.host, ml_text_z(&program)))
        fail_msg("%s: %s\n%s", d->p->name, ml_text_z(&d->out), ml_text_z(&program));
    d->ss.out.sink.out = d->ss.out.sink.err = NULL;
    ml_text_free(&program);
    ml_view_init(&d->v, &d->ss, 100, 40, false);
    d->ss.patient = true;
}

static void close_view(Drive *d)
{
    ml_view_free(&d->v);
    ml_session_free(&d->ss);
    ml_text_clear(&d->out);
}

static void press(Drive *d, const char *key)
{
    ml_Key k;

    assert_true(ml_key_read(key, &k));
    ml_view_key(&d->v, &k);
    while (ml_view_idle(&d->v, 100)) {
    }
    ml_view_draw(&d->v);
}

static void type(Drive *d, const char *text)
{
    for (; *text; text++) {
        ml_Key k = {.ch = {*text}};

        ml_view_key(&d->v, &k);
    }
}

/* Between the call's outer parentheses. */
static void type_arguments(Drive *d)
{
    const char *call = ml_text_z(&d->call), *from = strchr(call, '('),
               *end = strrchr(call, ')');

    assert_true(from && end && from < end);
    press(d, "C-u");
    press(d, "C-k");
    for (from++; from < end; from++) {
        ml_Key k = {.ch = {*from}};

        ml_view_key(&d->v, &k);
    }
}

static bool done(const Drive *d)
{
    if (d->p->no_version) /* it asks, or draws: the line went well */
        return d->v.act->open == ML_ACT_NONE && !d->v.message_is_error &&
               strstr(ml_text_z((ml_Text *)(uintptr_t)&d->v.lua), d->p->name);
    return ml_schedule_version(d->ss.focus) > 0;
}

/* Answers what is asked, until something has happened. */
static bool answer(Drive *d)
{
    for (int tries = 0; tries < 16 && !done(d); tries++) {
        switch (d->v.act->open) {
        case ML_ACT_NONE: return false;
        case ML_ACT_PROMPT:
            if (d->v.act->text.n > 0 || d->v.act->ask.may_be_empty)
                press(d, "enter"); /* what is proposed */
            if (done(d) || d->v.act->open != ML_ACT_PROMPT)
                break;
            if (d->v.act->ask.prim)
                type_arguments(d);
            else {
                press(d, "C-u");
                type(d, tries ? "1" : "2"); /* factors, a value */
            }
            press(d, "enter");
            break;
        case ML_ACT_MENU:
            press(d, "enter");
            if (d->v.act->open == ML_ACT_MENU && d->v.message_is_error)
                press(d, "down");
            break;
        case ML_ACT_CHOICE:
            press(d, "enter");
            if (d->v.act->open == ML_ACT_CHOICE)
                press(d, "down");
            break;
        case ML_ACT_ORDER: /* the inner before the outer */
            press(d, "end");
            press(d, "o");
            press(d, "home");
            press(d, "o");
            press(d, "enter");
            break;
        case ML_ACT_DRAG: return false;
        }
    }
    return done(d);
}

/* At the k-th row of the tree; false: there is none. */
static bool from_row(Drive *d, int k)
{
    ml_view_draw(&d->v);
    if (k >= (int)d->v.pane[ML_PANE_LOOPS].rows.v.n)
        return false;
    ml_view_go(&d->v, ML_PANE_LOOPS, k);
    press(d, "x");
    if (d->v.act->open != ML_ACT_MENU)
        return true;
    type(d, d->p->name);
    press(d, "enter");
    return true;
}

static void every_primitive_is_applied_from_the_panes(void **state)
{
    ml_Text missing = {0};

    (void)state;
    for (size_t k = 0; k < ml_n_primitives; k++) {
        Drive d = {.p = ml_primitives[k]};
        ml_CaseExample ex = {0};
        bool ok = false, more = true;

        assert_non_null(d.p->cases);
        assert_true(ml_case_example(d.p->cases, &ex));
        ml_text_add(&d.example, ml_text_z(&ex.before));
        ml_text_add(&d.call, ml_text_z(&ex.call));
        for (int row = 0; !ok && more; row++) {
            open_view(&d);
            more = from_row(&d, row);
            ok = more && answer(&d);
            if (ok && !strstr(ml_text_z(&d.v.lua), d.p->name))
                fail_msg("%s: %s was run instead", d.p->name, ml_text_z(&d.v.lua));
            if (!ok && more)
                ml_text_fmt(&missing, "  %s, row %d: %s | %s\n", d.p->name, row,
                            ml_text_z(&d.v.lua), ml_text_z(&d.v.message));
            close_view(&d);
        }
        if (!ok)
            fail_msg("%s cannot be applied from the panes:\n%s", d.p->name,
                     ml_text_z(&missing));
        ml_text_clear(&missing);
        ml_case_example_free(&ex);
        ml_text_free(&d.example);
        ml_text_free(&d.call);
        ml_text_free(&d.out);
    }
    ml_text_free(&missing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_primitive_is_applied_from_the_panes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
