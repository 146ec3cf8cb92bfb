/*
 * echo - what a step changed, and programs as the screen shows them.
 *
 * One headline, then the diff of the printed program; when most of it changed, or it is
 * taller than the screen, a diff of the loop tree instead. Source: interaction 5.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/index/index.h"
#include "core/json/data.h"
#include "repl/out/interrupt.h"
#include "repl/session/session.h"
#include "repl/show/diff.h"
#include "repl/show/show.h"
#include "work/fact/fact.h"

/* ---- what was printed */

/* The last step's two programs: the next one is compared with one of them, and so is the
 * next after an undo. What a version looks like never changes. */
typedef struct Printed {
    ml_Schedule *s; /* NULL: none; the session holds it */
    int version;
    bool regions_auto;
    ml_Text text;
    ml_Ctx *cx; /* of the marks */
    ml_TextMarks marks;
} Printed;

struct ml_Echo {
    Printed last[2];
    ml_Observer ends; /* the session does */
};

static void print_program(const ml_Session *ss, Printed *p, ml_Text *out)
{
    ml_PrintOpts o = {.spelling = -1, .no_header = true};

    o.regions_auto = ml_setting_is(&ss->set, ML_SET_regions, "auto");
    if (p->cx) {
        o.marks_cx = p->cx;
        o.marks = &p->marks;
    }
    ml_schedule_print(p->s, p->version, out, &o);
    ml_text_char(out, '\n');
}

void ml_show_program(ml_Session *ss, ml_Schedule *s, int version, ml_Text *out)
{
    print_program(ss, &(Printed){.s = s, .version = version}, out);
}

static void printed_free(Printed *p)
{
    ml_text_free(&p->text);
    ml_ctx_unref(p->cx);
    *p = (Printed){0};
}

void ml_echo_forget(ml_Session *ss)
{
    ml_Echo *e = ss->echo;

    if (!e)
        return;
    ml_session_unobserve(ss, &e->ends);
    for (size_t k = 0; k < ML_COUNT(e->last); k++)
        printed_free(&e->last[k]);
    ml_heap_free(e);
    ss->echo = NULL;
}

static void on_end(void *user, ml_Session *ss)
{
    (void)user;
    ml_echo_forget(ss);
}

/* not_this: is needed, too. */
static Printed *printed(ml_Session *ss, ml_Schedule *s, int version,
                        const Printed *not_this)
{
    bool regions_auto = ml_setting_is(&ss->set, ML_SET_regions, "auto");
    Printed *p;

    if (!ss->echo) {
        ss->echo = ml_heap_zalloc(sizeof *ss->echo);
        ss->echo->ends = (ml_Observer){.name = "echo", .on_end = on_end};
        ml_session_observe(ss, &ss->echo->ends);
    }
    for (p = ss->echo->last; p < ss->echo->last + ML_COUNT(ss->echo->last); p++)
        if (p->s == s && p->version == version && p->regions_auto == regions_auto)
            return p;
    p = &ss->echo->last[not_this == ss->echo->last];
    printed_free(p);
    *p = (Printed){.s = s, .version = version, .cx = ml_ctx_new(0)};
    p->regions_auto = regions_auto;
    print_program(ss, p, &p->text);
    return p;
}

/* ---- what two versions share */

typedef ML_VEC(ml_DiffSame) Sames;

/* Loops and blocks that both versions hold as they are stand there in the same lines; of
 * those inside each other the outermost are told, as they follow each other in b. */
static void find_shared(ml_Ctx *cx, const Printed *a, const Printed *b, Sames *out)
{
    const ml_Index *was = ml_version_program(a->s, a->version).index,
                   *now = ml_version_program(b->s, b->version).index;
    ml_Map *at = ml_map_new(cx);
    uint32_t covered = 0;

    for (size_t k = 0; k < a->marks.n; k++)
        if (a->marks.v[k].kind <= ML_MARK_BLOCK)
            ml_map_set(cx, at, a->marks.v[k].uid, &a->marks.v[k]);
    for (size_t k = 0; k < b->marks.n; k++) {
        const ml_TextMark *m = &b->marks.v[k], *old;

        if (m->kind > ML_MARK_BLOCK || m->line <= covered ||
            !(old = ml_map_get(at, m->uid)) ||
            ml_index_node(was, m->uid) != ml_index_node(now, m->uid))
            continue;
        /* A loop's header may name the loops around it. */
        uint32_t header = m->kind == ML_MARK_LOOP, n = m->last_line + 1 - m->line - header;

        if (n == 0 || n != old->last_line + 1 - old->line - header)
            continue;
        covered = m->last_line;
        ml_push(cx, out, ((ml_DiffSame){old->line + header - 1, m->line + header - 1, n}));
    }
}

/* Of what is shared, the part that is in the same order in both and has the most lines. */
static void keep_order(ml_Ctx *cx, Sames *v)
{
    enum { MOST = 4096 };
    size_t *lines = ML_ARRAY(cx, size_t, v->n + 1), best = 0, to = v->n;

    if (v->n > MOST)
        v->n = 0;
    for (size_t k = v->n; k-- > 0;) { /* lines[k]: from k on */
        for (size_t m = k + 1; m < v->n; m++)
            if (v->v[m].a > v->v[k].a && lines[m] > lines[k])
                lines[k] = lines[m];
        lines[k] += v->v[k].n;
        best = lines[k] > best ? lines[k] : best;
    }
    to = 0;
    for (size_t k = 0; k < v->n; k++)
        if (lines[k] == best && (to == 0 || v->v[k].a > v->v[to - 1].a)) {
            best -= v->v[k].n;
            v->v[to++] = v->v[k];
        }
    v->n = to;
}

/* ---- one block with its ancestors */

/* The line on which a node's header stands in the printed text, 0 when it is not there. */
static const ml_TextMark *find_mark(const ml_TextMarks *m, ml_MarkKind kind, ml_Uid uid)
{
    for (size_t k = 0; k < m->n; k++)
        if (m->v[k].kind == kind && m->v[k].uid == uid)
            return &m->v[k];
    return NULL;
}

static void add_lines(ml_Text *out, const char *text, uint32_t from, uint32_t to)
{
    uint32_t line = 1;

    for (const char *p = text; *p; line++) {
        const char *end = strchr(p, '\n');
        size_t n = end ? (size_t)(end - p) : strlen(p);

        if (line >= from && line <= to) {
            ml_text_addn(out, p, n);
            ml_text_char(out, '\n');
        }
        if (!end)
            break;
        p = end + 1;
    }
}

void ml_show_block(ml_Session *ss, ml_Schedule *s, ml_Uid block, ml_Text *out)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_TextMarks marks = {0};
    ml_Text text = {0};
    ml_PrintOpts o = {.spelling = -1, .no_header = true, .marks_cx = cx, .marks = &marks};
    const ml_Index *ix = ml_schedule_program(s).index;
    ml_UidVec up = {0};
    uint32_t last = 0;

    o.regions_auto = ml_setting_is(&ss->set, ML_SET_regions, "auto");
    ml_schedule_print(s, ml_schedule_version(s), &text, &o);
    for (ml_Uid u = ml_index_parent(ix, block); u; u = ml_index_parent(ix, u))
        ml_push(cx, &up, u);
    for (size_t k = up.n; k-- > 0;) {
        bool loop = ml_index_node(ix, up.v[k])->kind == ML_STMT_FOR;
        const ml_TextMark *m =
            find_mark(&marks, loop ? ML_MARK_LOOP : ML_MARK_BLOCK, up.v[k]);

        if (m && m->line != last) {
            add_lines(out, ml_text_z(&text), m->line, m->line);
            last = m->line;
        }
    }
    const ml_TextMark *m = find_mark(&marks, ML_MARK_BLOCK, block);

    if (m)
        add_lines(out, ml_text_z(&text), m->line, m->last_line);
    ml_text_free(&text);
    ml_ctx_unref(cx);
}

/* ---- after a step */

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (const char *p = text; *p; p++)
        n += *p == '\n';
    return n;
}

static void fold_echo(const ml_Session *ss, const char *text, const char *mark,
                      ml_Text *out)
{
    if (ss->out.sink.out)
        ml_text_add(out, text);
    else
        ml_out_fold_code(&ss->out, text, mark, out);
}

static void echo_diff(ml_Session *ss, ml_Schedule *s, int from, int to)
{
    static const char TREE[] =
        "      (most of the text changed: this is the loop tree; :show "
        "for the text)";
    ml_Text a = {0}, b = {0}, out = {0}, flat = {0}, shown = {0};
    ml_DiffOpts o = {.fold = 24, .color = ss->out.color};
    Printed *was = printed(ss, s, from, NULL), *now = printed(ss, s, to, was);
    ml_Ctx *cx = ml_ctx_new(0);
    Sames same = {0};
    ml_DiffStats st;

    find_shared(cx, was, now, &same);
    keep_order(cx, &same);
    o.context = (int)ml_setting_int(&ss->set, ML_SET_context);
    o.same = same.v;
    o.n_same = same.n;
    st = ml_diff_text(&out, ml_text_z(&was->text), ml_text_z(&now->text), &o);
    o.n_same = 0;
    ml_ctx_unref(cx);
    fold_echo(ss, ml_text_z(&out), ML_GOES_ON, &shown);
    size_t total = st.same + (st.added > st.removed ? st.added : st.removed);
    bool too_tall =
        ss->out.height > 0 && count_lines(ml_text_z(&shown)) + 3 > (size_t)ss->out.height;

    bool mostly = total > 40 && (st.added + st.removed) * 10 > total * 12;

    if (too_tall || mostly) {
        ml_text_add(&flat, ml_text_z(&out)); /* what there is without a screen */
        ml_text_clear(&out);
        ml_text_clear(&shown);
        ml_show_tree(ss, s, from, &a);
        ml_show_tree(ss, s, to, &b);
        ml_diff_text(&out, ml_text_z(&a), ml_text_z(&b), &o);
        if (mostly) {
            ml_text_clear(&flat);
            ml_text_fmt(&flat, "%s%s\n", ml_text_z(&out), TREE);
        }
        fold_echo(ss, ml_text_z(&out), "", &shown);
        ml_out_fold(&ss->out, TREE, &shown);
        ml_text_char(&shown, '\n');
    } else
        ml_text_add(&flat, ml_text_z(&out));
    ml_out_as(&ss->out, ml_text_z(&shown), ml_text_z(&flat));
    ml_text_free(&a);
    ml_text_free(&b);
    ml_text_free(&out);
    ml_text_free(&flat);
    ml_text_free(&shown);
}

static void echo_step(ml_Session *ss, ml_Schedule *s, int version)
{
    const char *how = ml_setting_word(&ss->set, ML_SET_echo);
    ml_Step step;
    ml_Text t = {0};

    if (!ml_version_step(s, version, &step))
        return;
    ml_text_fmt(&t, "%s[%d]%s %s", ml_style(ss->out.color, ML_STYLE_STRONG), version,
                ml_style(ss->out.color, ML_STYLE_PLAIN), step.headline);
    if (!ml_streq(how, "brief"))
        ml_text_fmt(&t,
                    step.seconds < 0.0001 ? "   %.2f ms"
                    : step.seconds < 0.01 ? "   %.1f ms"
                                          : "   %.0f ms",
                    step.seconds * 1e3);
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_clear(&t);
    if (ml_streq(how, "diff"))
        echo_diff(ss, s, step.parent, version);
    else if (ml_streq(how, "full")) {
        ml_show_program(ss, s, version, &t);
        ml_out_code(&ss->out, ml_text_z(&t), ML_GOES_ON);
    } else if (ml_streq(how, "tree")) {
        ml_show_tree(ss, s, version, &t);
        ml_out_code(&ss->out, ml_text_z(&t), "");
    }
    for (size_t k = 0; k < step.n_notes; k++) {
        ml_text_clear(&t);
        ml_text_fmt(&t, "%snote: %s%s", ml_style(ss->out.err_color, ML_STYLE_NOTE),
                    step.notes[k], ml_style(ss->out.err_color, ML_STYLE_PLAIN));
        ml_err_prose(&ss->out, ml_text_z(&t));
    }
    ml_text_free(&t);
}

/* --json: {"step": 2, "primitive": "split", "version": 7, …}. */
static void tell_step(ml_Session *ss, ml_Schedule *s, int version)
{
    ml_VersionRow r = {.s = s, .version = version};
    ml_Data d = {.schema = true};
    ml_Step before;
    int n = 0;

    if (!ml_version_step(s, version, &r.step))
        return;
    for (int v = version; ml_version_step(s, v, &before) && before.prim; v = before.parent)
        n++;
    ml_data_row(&d);
    ml_data_int(&d, "step", n);
    ml_data_str(&d, "schedule", ml_schedule_name(s));
    ml_data_fields(&d, &ml_version_fields, &r);
    ml_out(&ss->out, ml_data_lines(&d));
    ml_data_free(&d);
}

void ml_echo_steps(ml_Session *ss, ml_Schedule *s, int from, int to)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ML_VEC(int) path = {0};
    ml_Step step;
    int v = to;

    if (ml_setting_is(&ss->set, ML_SET_echo, "off")) {
        ml_ctx_unref(cx);
        return;
    }
    /* Versions count up along a line: what is at or below `from` was there before. */
    while (v > from && ml_version_step(s, v, &step)) {
        ml_push(cx, &path, v);
        v = step.parent;
    }
    for (size_t k = path.n; k-- > 0;)
        (ss->json ? tell_step : echo_step)(ss, s, path.v[k]);
    ml_ctx_unref(cx);
}

/* ---- the pager */

static bool in_path(const char *prog)
{
    const char *path = getenv("PATH");
    char file[4096];

    for (const char *end; path && *path; path = *end ? end + 1 : end) {
        end = strchr(path, ':');
        end = end ? end : path + strlen(path);
        int n = snprintf(file, sizeof file, "%.*s/%s", (int)(end - path), path, prog);
        if (n > 0 && (size_t)n < sizeof file && access(file, X_OK) == 0)
            return true;
    }
    return false;
}

/* The last line of the screen tells that this is a pager, and the way out, in 20 columns
 * too; `?e…:….` chooses at the end of the text. */
static const char *less_options(const ml_Out *o)
{
    enum { ROOMY = 52 };

    return o->width >= ROOMY
               ? "FRXPs?ethe end, b back:Space more, b back., /TEXT searches, q quits$"
               : "FRXPs?ethe end:Space more., q ends$";
}

void ml_page_as(ml_Session *ss, const char *text, const char *raw)
{
    const char *prog = getenv("MOONLOOP_PAGER");
    bool on = ml_setting_is(&ss->set, ML_SET_pager, "on");

    if (!prog || !*prog)
        prog = getenv("PAGER");
    if (!prog || !*prog)
        prog = in_path("less") ? "less" : NULL;
    if (!prog || ss->batch || ss->out.sink.out || !ss->out.pager || !ss->prompting ||
        ml_setting_is(&ss->set, ML_SET_pager, "off") ||
        (!on && count_lines(text) + 1 < (size_t)ss->out.height)) {
        ml_out_as(&ss->out, text, raw);
        return;
    }
    bool ours = !getenv("LESS");

    if (ours)
        setenv("LESS", less_options(&ss->out), 1);
    FILE *p = popen(prog, "w"); /* NOLINT(cert-env33-c): the pager of the user's choice */

    if (ours)
        unsetenv("LESS");
    if (!p) {
        ml_out_as(&ss->out, text, raw);
        return;
    }
    ml_interrupt_child(true);
    ml_out_tell(&ss->out, text, raw);
    if (ss->out.ascii) {
        ml_Text plain = {0};

        ml_out_plain(&plain, text);
        fputs(ml_text_z(&plain), p);
        ml_text_free(&plain);
    } else
        fputs(text, p);
    int status = pclose(p);

    ml_interrupt_child(false);
    if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 127)
        ml_out_as(&ss->out, text, ""); /* the shell found no such program */
}

void ml_page_prose(ml_Session *ss, const char *text)
{
    ml_Text t = {0};

    if (ss->out.sink.out)
        ml_text_add(&t, text);
    else
        ml_out_fold(&ss->out, text, &t);
    ml_page_as(ss, ml_text_z(&t), text);
    ml_text_free(&t);
}

void ml_page_code(ml_Session *ss, const char *text, const char *mark)
{
    ml_Text t = {0};

    if (ss->out.sink.out)
        ml_text_add(&t, text);
    else
        ml_out_fold_code(&ss->out, text, mark, &t);
    ml_page_as(ss, ml_text_z(&t), text);
    ml_text_free(&t);
}

void ml_page(ml_Session *ss, const char *text)
{
    ml_page_as(ss, text, text);
}
