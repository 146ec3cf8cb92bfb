/*
 * fault_threads - two threads that clash, in sentences: what each does, in the order of the
 * program, and where a barrier would part them.
 */
#include "moonloop/codegen/interp/code.h"
#include "moonloop/core/script/script.h"
#include "moonloop/core/walk.h"

typedef ML_VEC(const ml_Stmt *) Path;

typedef struct Find {
    ml_Ctx *cx;
    const ml_Stmt *want;
    Path path; /* from the body down to it */
    bool found;
} Find;

static void find(const ml_Stmt *s, bool in_init, void *user)
{
    Find *f = user;

    (void)in_init;
    if (f->found)
        return;
    ml_push(f->cx, &f->path, s);
    f->found = s == f->want;
    ml_stmt_children(s, find, f);
    if (!f->found)
        f->path.n--;
}

static Path path_to(ml_Ctx *cx, const ml_Run *run, const ml_Stmt *s)
{
    Find f = {.cx = cx, .want = s};

    find(run->g->func->body, false, &f);
    return f.path;
}

/* Whether a mark is at the header of s. */
static bool is_of(const ml_TextMark *m, const ml_Stmt *s)
{
    if (s->kind == ML_STMT_FOR)
        return m->kind == ML_MARK_LOOP && m->uid == ml_as_for(s)->var->uid;
    if (s->kind == ML_STMT_BLOCK)
        return m->kind == ML_MARK_BLOCK && m->uid == ml_as_block(s)->tag;
    return m->kind == ML_MARK_STMT && m->stmt == s;
}

/* The first line of a statement, as it stands in the text of its function. */
static const char *line_of(ml_Ctx *cx, const ml_Run *run, const ml_Stmt *s)
{
    ml_TextMarks marks = {0};
    const ml_PrintOpts opts = {
        .spelling = -1, .no_header = true, .plain = true, .marks_cx = cx, .marks = &marks};
    const char *text = "a statement", *at;
    ml_Text t = {0};

    ml_print_func(cx, &t, run->g->func, &opts);
    at = ml_text_z(&t);
    for (size_t k = 0; s && k < marks.n; k++) {
        if (!is_of(&marks.v[k], s))
            continue;
        for (uint32_t line = 1; line < marks.v[k].line; line++)
            at += strcspn(at, "\n") + 1;
        at += strspn(at, " ");
        text = ml_format(cx, "`%.*s`", (int)strcspn(at, "\n"), at);
        break;
    }
    ml_text_free(&t);
    return text;
}

static const ml_Stmt *stmt_at(const ml_Run *run, uint32_t pc)
{
    return run->g->sites.v[run->g->site_of.v[pc]].stmt;
}

/* The innermost loop among the first n. */
static const ml_Stmt *loop_of(const Path *p, size_t n)
{
    while (n-- > 0)
        if (p->v[n]->kind == ML_STMT_WHILE ||
            (p->v[n]->kind == ML_STMT_FOR && !ml_as_for(p->v[n])->thread.axis))
            return p->v[n];
    return NULL;
}

/* Where a barrier would lie: a, then b, in the order of the program. */
static const char *advise(ml_Ctx *cx, const ml_Run *run, const ml_Stmt *a, const ml_Stmt *b)
{
    Path pa = path_to(cx, run, a), pb = path_to(cx, run, b);
    const ml_Stmt *loop;
    size_t n = 0;

    while (n < pa.n && n < pb.n && pa.v[n] == pb.v[n])
        n++;
    if (n > 0 && n < pa.n && n < pb.n && pa.v[n - 1]->kind == ML_STMT_SEQ) {
        const ml_Seq *q = ml_as_seq(pa.v[n - 1]);

        for (uint32_t k = 0; k < q->n && q->stmts[k] != pb.v[n]; k++)
            if (q->stmts[k] == pa.v[n])
                return ml_format(cx, "a barrier belongs before %s",
                                 line_of(cx, run, pb.v[n]));
    }
    loop = loop_of(&pa, n);
    if (loop)
        return ml_format(cx,
                         "the second is of a later iteration: a barrier belongs at the end "
                         "of the body of %s",
                         line_of(cx, run, loop));
    return "no barrier can part them: several threads are at one statement";
}

static void tell_race(ml_Ctx *cx, const ml_Run *run, const ml_Clash *c)
{
    /* Another thread may have come here earlier in its own time. */
    bool turned = c->second.step < c->first.step;
    const ml_Visit *first = turned ? &c->second : &c->first,
                   *second = turned ? &c->first : &c->second;
    const ml_Stmt *a = stmt_at(run, first->pc), *b = stmt_at(run, second->pc);

    ml_error_note(cx, "thread %s %s it in %s",
                  ml_thread_text(run->g->cx, run, first->thread),
                  c->writes[turned] ? "writes" : "reads", line_of(run->g->cx, run, a));
    ml_error_note(cx, "thread %s %s it in %s",
                  ml_thread_text(run->g->cx, run, second->thread),
                  c->writes[!turned] ? "writes" : "reads", line_of(run->g->cx, run, b));
    ml_error_note(cx, "%s", advise(run->g->cx, run, a, b));
}

void ml_fault_threads(ml_Ctx *cx, const ml_Run *run, ml_Fact where)
{
    const ml_Fault *f = &run->fault;
    const ml_Clash *c = f->clash;
    const char *first = ml_thread_text(run->g->cx, run, c->first.thread),
               *second = ml_thread_text(run->g->cx, run, c->second.thread);

    if (f->code == ML_E_THREAD_RACE) {
        ml_fail(cx, f->code, ML_TEXT(first), ML_TEXT(second), ML_BUFFER(f->buffer),
                ML_TEXT(f->place), where);
        tell_race(cx, run, c);
        return;
    }
    ml_fail(cx, f->code, ML_TEXT(first), ML_TEXT(second), where);
    if (c->ended)
        ml_error_note(cx, "thread %s is done", second);
    else
        ml_error_note(cx, "thread %s waits at another one, in %s", second,
                      line_of(run->g->cx, run, stmt_at(run, c->second.pc)));
}
