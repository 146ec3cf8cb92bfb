/*
 * program - programs as text, and what differs between two versions.
 *
 * What both trees hold as it is stands in both texts in the same lines: only what lies
 * between is compared, by lines. A step compares the program before it, which was printed
 * when it was made, with the one after it. Source: interaction 5.
 */
#include "moonloop/core/base/arena.h"
#include "moonloop/core/index/index.h"
#include "repl/show/diff.h"
#include "repl/show/show.h"

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

struct ml_Programs {
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

void ml_program_forget(ml_Session *ss)
{
    ml_Programs *e = ss->programs;

    if (!e)
        return;
    ml_session_unobserve(ss, &e->ends);
    for (size_t k = 0; k < ML_COUNT(e->last); k++)
        printed_free(&e->last[k]);
    ml_heap_free(e);
    ss->programs = NULL;
}

static void on_end(void *user, ml_Session *ss)
{
    (void)user;
    ml_program_forget(ss);
}

/* not_this: is needed, too. */
static Printed *printed(ml_Session *ss, ml_Schedule *s, int version,
                        const Printed *not_this)
{
    bool regions_auto = ml_setting_is(&ss->set, ML_SET_regions, "auto");
    Printed *p;

    if (!ss->programs) {
        ss->programs = ml_heap_zalloc(sizeof *ss->programs);
        ss->programs->ends = (ml_Observer){.name = "programs", .on_end = on_end};
        ml_session_observe(ss, &ss->programs->ends);
    }
    for (p = ss->programs->last; p < ss->programs->last + ML_COUNT(ss->programs->last); p++)
        if (p->s == s && p->version == version && p->regions_auto == regions_auto)
            return p;
    p = &ss->programs->last[not_this == ss->programs->last];
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
    size_t *lines = ML_ARRAY(cx, size_t, v->n + 1), best = 0, to = 0;

    if (v->n > MOST)
        v->n = 0;
    for (size_t k = v->n; k-- > 0;) { /* lines[k]: from k on */
        for (size_t m = k + 1; m < v->n; m++)
            if (v->v[m].a > v->v[k].a && lines[m] > lines[k])
                lines[k] = lines[m];
        lines[k] += v->v[k].n;
        best = lines[k] > best ? lines[k] : best;
    }
    for (size_t k = 0; k < v->n; k++)
        if (lines[k] == best && (to == 0 || v->v[k].a > v->v[to - 1].a)) {
            best -= v->v[k].n;
            v->v[to++] = v->v[k];
        }
    v->n = to;
}

ml_DiffStats ml_diff_versions(ml_Session *ss, ml_Schedule *s, int from, int to,
                              const ml_DiffOpts *o, ml_Text *out)
{
    Printed *was = printed(ss, s, from, NULL), *now = printed(ss, s, to, was);
    ml_DiffOpts with = *o;
    ml_Ctx *cx = ml_ctx_new(0);
    Sames same = {0};

    find_shared(cx, was, now, &same);
    keep_order(cx, &same);
    with.same = same.v;
    with.n_same = same.n;
    ml_DiffStats st =
        ml_diff_text(out, ml_text_z(&was->text), ml_text_z(&now->text), &with);

    ml_ctx_unref(cx);
    return st;
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
