/* cmd_code - :ir :llvm :c :asm: the focus after lowering, as LLVM sees it, as C, as the
 * machine does. Source: interaction 4, 8; lowering-and-codegen 1.2. */
#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "moonloop/work/work.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/session/progress.h"
#include "repl/show/asm_view.h"
#include "repl/show/diff.h"
#include "repl/show/show.h"
#include "repl/show/versions.h"

typedef struct Code { /* what a command looks at */
    ml_Ctx *cx;
    ml_Work work;
    int version;
} Code;

/* The function worked on, of a version. */
static bool code_of(ml_Session *ss, int version, Code *c)
{
    ml_Schedule *s = ss->focus;
    const ml_Func *f = ml_schedule_func(s);
    ml_Program p = ml_schedule_program(s);
    uint32_t at = ml_schedule_func_pos(s);

    if (f == NULL && p.mod->n != 1) {
        ml_Ctx *cx = ml_ctx_new(0);

        ml_fail_no_function(cx, p.mod);
        ml_session_ctx_error(ss, cx);
        ml_ctx_unref(cx);
        return false;
    }
    c->cx = ml_ctx_fork(ml_schedule_ctx(s));
    ml_ctx_set_limit(c->cx, 0);
    ml_session_guard(ss, c->cx);
    c->version = version;
    c->work = ml_work_of(c->cx, s, version, f ? at : 0);
    return true;
}

static bool code_begin(ml_Session *ss, Code *c)
{
    return code_of(ss, ml_schedule_version(ss->focus), c);
}

/* What code is made of for the processor; false: an error was printed, and c is gone. */
static bool code_for_host(ml_Session *ss, Code *c)
{
    const char *foreign = ml_work_foreign(c->cx, ss->focus);

    if (foreign == NULL)
        foreign = ml_work_for_gpu(c->cx, c->work.func);
    if (foreign == NULL)
        return true;
    ml_session_error(ss, ML_E_NO_DEVICE, "%s", foreign);
    ml_ctx_unref(c->cx);
    return false;
}

static bool code_fail(ml_Session *ss, Code *c)
{
    ml_session_ctx_error(ss, c->cx);
    ml_ctx_unref(c->cx);
    return false;
}

/* ---- two versions */

/* Behind --diff at word *k: [VERSION], else the version before. */
static bool read_against(ml_Session *ss, const ml_Words *w, size_t *k, int *against)
{
    int now = ml_schedule_version(ss->focus);
    ml_Step step;

    if (*k + 1 < w->n && ml_is_version(ss, w->v[*k + 1]))
        return ml_find_version(ss, w->v[++*k], against);
    *against = ml_version_step(ss->focus, now, &step) ? step.parent : -1;
    return *against >= 0 ||
           ml_session_error(ss, ML_E_BAD_ARGUMENT,
                            "there is no step before v%d to compare with", now);
}

/* false: c's error. */
typedef bool CodeText(ml_Session *ss, Code *c, const void *user, ml_Text *out);

static bool code_diff(ml_Session *ss, int against, CodeText *fn, const void *user)
{
    const ml_DiffOpts o = {.context = (int)ml_setting_int(&ss->set, ML_SET_context),
                           .color = ss->out.color};
    int v[2] = {against, ml_schedule_version(ss->focus)};
    ml_Text t[2] = {{0}, {0}}, all = {0};
    bool ok = true;
    Code c;

    for (int k = 0; k < 2 && ok; k++) {
        ok = code_of(ss, v[k], &c) && code_for_host(ss, &c);
        if (!ok)
            break;
        ok = fn(ss, &c, user, &t[k]) || code_fail(ss, &c);
        if (ok)
            ml_ctx_unref(c.cx);
    }
    if (ok) {
        if (ml_diff_text(&all, ml_text_z(&t[0]), ml_text_z(&t[1]), &o).shown == 0)
            ml_text_fmt(&all, "v%d and v%d are the same here\n", v[0], v[1]);
        ml_page_code(ss, ml_text_z(&all), "");
    }
    ml_text_free(&t[0]);
    ml_text_free(&t[1]);
    ml_text_free(&all);
    return ok;
}

/* ---- :ir */

static void list_passes(ml_Session *ss)
{
    ml_Text t = {0};

    ml_Data *d = ml_session_data(ss);

    for (size_t k = 0; k < ml_n_passes; k++) {
        if (!(ml_passes[k].pipelines &
              ML_PIPE_CPU)) /* a program is lowered for this machine */
            continue;
        ml_text_fmt(&t, "%-22s %-12s %s\n", ml_passes[k].name,
                    ml_stage_name(ml_passes[k].out), ml_passes[k].help);
        ml_data_row(d);
        ml_data_str(d, "pass", ml_passes[k].name);
        ml_data_str(d, "stage", ml_stage_name(ml_passes[k].out));
        ml_data_str(d, "help", ml_passes[k].help);
    }
    ml_page_prose(ss, ml_text_z(&t));
    ml_text_free(&t);
}

typedef struct Before { /* the program before the last pass */
    const ml_Func *now, *before;
} Before;

static bool keep(const ml_Pass *pass, const ml_Func *f, void *user)
{
    Before *b = user;

    (void)pass;
    b->before = b->now;
    b->now = f;
    return true;
}

/* Lowers the text that is shown, so that spans are its lines. */
static const ml_Func *lower_work(ml_Session *ss, Code *c, const char *pass, Before *b,
                                 ml_Lower *lo)
{
    const ml_Func *f = ml_work_read(c->cx, ml_host_engine(ss->host), &c->work, lo);

    if (f == NULL)
        return NULL;
    b->now = b->before = f;
    return ml_lower(lo, f, pass, keep, b);
}

static void print_stage(Code *c, const ml_Func *f, ml_Text *out)
{
    const ml_PrintOpts o = {
        .spelling = -1, .no_header = true, .regions_auto = true, .no_root_comment = true};

    ml_print_func(c->cx, out, f, &o);
    ml_text_char(out, '\n');
}

static bool ir_text(ml_Session *ss, Code *c, const void *user, ml_Text *out)
{
    Before b = {0};
    ml_Lower lo;
    const ml_Func *f = lower_work(ss, c, user, &b, &lo);

    if (f)
        print_stage(c, f, out);
    return f != NULL;
}

bool cmd_ir(ml_Session *ss, const ml_Words *w)
{
    const char *pass = NULL;
    bool diff = false;
    int against = -1;
    Code c;
    Before b = {0};
    ml_Lower lo;
    const ml_Func *f;
    ml_Text t = {0};

    for (size_t k = 0; k < w->n; k++) {
        if (ml_streq(w->v[k], "--list")) {
            list_passes(ss);
            return true;
        }
        if (ml_streq(w->v[k], "--diff")) {
            diff = true;
            if (k + 1 < w->n && ml_is_version(ss, w->v[k + 1]) &&
                !ml_find_version(ss, w->v[++k], &against))
                return false;
        } else if (w->v[k][0] != '-' && !pass && ml_pass_find(w->v[k]))
            pass = w->v[k];
        else
            return ml_session_error(ss, ML_E_UNKNOWN_NAME,
                                    "no pass is named %s; :ir --list tells them", w->v[k]);
    }
    if (against >= 0)
        return code_diff(ss, against, ir_text, pass);
    if (!code_begin(ss, &c) || (pass == NULL && !code_for_host(ss, &c)))
        return false;
    f = lower_work(ss, &c, pass, &b, &lo);
    if (f == NULL)
        return code_fail(ss, &c);
    if (diff) {
        ml_Text old = {0}, now = {0};
        const ml_DiffOpts o = {.context = 2, .color = ss->out.color};

        print_stage(&c, b.before, &old);
        print_stage(&c, f, &now);
        if (ml_diff_text(&t, ml_text_z(&old), ml_text_z(&now), &o).shown == 0)
            ml_text_fmt(&t, "pass %s changed nothing\n",
                        pass ? pass : ml_passes[ml_n_passes - 1].name);
        ml_text_free(&old);
        ml_text_free(&now);
    } else {
        print_stage(&c, f, &t);
    }
    for (size_t k = 0; k < lo.notes.n; k++) {
        const ml_LowerNote *n = &lo.notes.v[k];

        if (n->span)
            ml_text_fmt(&t, "note: line %u: %s\n", n->span->line, n->text);
        else
            ml_text_fmt(&t, "note: %s\n", n->text);
    }
    ml_page_code(ss, ml_text_z(&t), ML_GOES_ON);
    ml_text_free(&t);
    ml_ctx_unref(c.cx);
    return true;
}

/* ---- :llvm, :asm */

static const char *compiled_text(ml_Session *ss, Code *c, const char *name, bool lines)
{
    ml_Engine *e = ml_host_engine(ss->host);
    ml_Worker *w = ml_engine_worker(e, c->cx, 0);
    ml_Job j = ml_work_job(e, &c->work, name, lines);
    ml_JobResult r;

    if (w == NULL || !ml_worker_run(w, c->cx, &j, &r))
        return NULL;
    if (!r.ok) {
        ml_job_fail(c->cx, &r, c->work.func->name);
        return NULL;
    }
    return r.text ? r.text : "";
}

/* Without lines, which differ where nothing else does. */
static bool llvm_text(ml_Session *ss, Code *c, const void *user, ml_Text *out)
{
    const char *text = compiled_text(ss, c, user, false);

    ml_text_add(out, text ? text : "");
    return text != NULL;
}

bool cmd_llvm(ml_Session *ss, const ml_Words *w)
{
    const char *name = "llvm";
    int against = -1;
    const char *text;
    Code c;

    for (size_t k = 0; k < w->n; k++) {
        if (ml_streq(w->v[k], "--opt"))
            name = "llvm-opt";
        else if (!ml_streq(w->v[k], "--diff") || against >= 0)
            return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                    ":llvm takes --opt (after the optimizer) and --diff "
                                    "[VERSION], not %s",
                                    w->v[k]);
        else if (!read_against(ss, w, &k, &against))
            return false;
    }
    if (against >= 0)
        return code_diff(ss, against, llvm_text, name);
    if (!code_begin(ss, &c) || !code_for_host(ss, &c))
        return false;
    text = compiled_text(ss, &c, name, true);
    if (text == NULL)
        return code_fail(ss, &c);
    ml_page_code(ss, text, "");
    ml_ctx_unref(c.cx);
    return true;
}

bool cmd_c(ml_Session *ss, const ml_Words *w)
{
    int against = -1;
    const char *text;
    Code c;

    for (size_t k = 0; k < w->n; k++)
        if (!ml_streq(w->v[k], "--diff") || against >= 0)
            return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                    ":c takes --diff [VERSION], not %s", w->v[k]);
        else if (!read_against(ss, w, &k, &against))
            return false;
    if (against >= 0)
        return code_diff(ss, against, llvm_text, "c");
    if (!code_begin(ss, &c) || !code_for_host(ss, &c))
        return false;
    text = compiled_text(ss, &c, "c", false);
    if (text == NULL)
        return code_fail(ss, &c);
    ml_page_code(ss, text, "");
    ml_ctx_unref(c.cx);
    return true;
}

/* Lines of the printed program on which a loop or block stands, and those of the nest that
 * contains it: of the outermost loop around it, else its own. */
static bool lines_of(ml_Session *ss, Code *c, const char *name, ml_AsmOpts *a)
{
    ml_Schedule *s = ss->focus;
    ml_TextMarks marks = {0};
    ml_PrintOpts o = {.spelling = -1,
                      .no_header = true,
                      .regions_auto = true,
                      .marks = &marks,
                      .marks_cx = c->cx};
    ml_Text t = {0};
    ml_Handle h;

    if (!ml_resolve(s, name, ML_H_NONE, &h))
        return ml_session_schedule_error(ss, s);
    ml_schedule_print(s, c->version, &t, &o);
    ml_text_free(&t);
    for (size_t k = 0; k < marks.n && !a->near_from; k++)
        if (marks.v[k].uid == h.uid &&
            (marks.v[k].kind == ML_MARK_LOOP || marks.v[k].kind == ML_MARK_BLOCK)) {
            a->near_from = marks.v[k].line;
            a->near_to = marks.v[k].last_line;
        }
    if (!a->near_from)
        return ml_session_error(ss, ML_E_NO_SUCH_BLOCK, "no line of v%d shows %s",
                                c->version, name);
    a->from = a->near_from;
    a->to = a->near_to;
    for (size_t k = 0; k < marks.n; k++)
        if (marks.v[k].kind == ML_MARK_LOOP && marks.v[k].line <= a->from &&
            marks.v[k].last_line >= a->to) {
            a->from = marks.v[k].line;
            a->to = marks.v[k].last_line;
        }
    return true;
}

/* The lines of the program that the hottest loop came from. */
static void add_program_lines(ml_Text *t, const char *program, const ml_AsmSummary *s,
                              bool color)
{
    uint32_t at = 1;

    if (!s->is_loop || s->n_lines == 0)
        return;
    ml_text_add(t, "of the program\n");
    for (const char *p = program; *p; at++) {
        size_t n = strcspn(p, "\n");

        for (uint32_t k = 0; k < s->n_lines; k++)
            if (s->line[k] == at) {
                const char *hue = color ? ml_asm_hue(s, at) : "";
                ml_text_fmt(t, "%s%4u%s | ", hue, at, ml_style(*hue, ML_STYLE_PLAIN));
                ml_text_addn(t, p, n);
                ml_text_char(t, '\n');
            }
        p += n + (p[n] == '\n');
    }
}

typedef struct Told {
    int version;
    const ml_AsmSummary *of;
    const char *text;
} Told;

static void tell_lines(ml_Data *d, const char *key, const void *s)
{
    const ml_AsmSummary *of = ((const Told *)s)->of;

    ml_data_list(d, key);
    for (uint32_t k = 0; k < of->n_lines; k++)
        ml_data_int(d, NULL, of->line[k]);
    ml_data_end(d);
}

#define ML_FIELDS       "repl/cmd/asm.def"
#define ML_FIELDS_TABLE ml_asm_fields
#define ML_FIELDS_NAME  "asm"
#define ML_FIELDS_WHAT  "machine code"
#include "moonloop/core/json/field_table.def"

static void give_asm(ml_Session *ss, int version, const ml_AsmSummary *s, const char *view)
{
    ml_data_one(ml_session_data(ss));
    ml_data_fields(ml_session_data(ss), &ml_asm_fields, &(Told){version, s, view});
}

/* What :asm says of a version: its summary, and the view; false: an error was printed. */
static bool asm_of(ml_Session *ss, int version, const char *name, bool plain,
                   ml_Text *summary, ml_Text *view)
{
    ml_AsmOpts o = {.plain = plain, .color = ss->out.color && !plain};
    ml_AsmSummary sum;
    const char *text;
    Code c;

    if (!code_of(ss, version, &c) || !code_for_host(ss, &c))
        return false;
    if (name && !lines_of(ss, &c, name, &o)) {
        ml_ctx_unref(c.cx);
        return false;
    }
    text = compiled_text(ss, &c, "asm", true);
    if (text == NULL)
        return code_fail(ss, &c);
    if (ml_asm_view(c.cx, text, &o, view, &sum)) {
        ml_asm_summary(summary, &sum);
        if (!plain) {
            add_program_lines(summary, c.work.text, &sum, o.color);
            give_asm(ss, version, &sum, ml_text_z(view));
        }
    } else
        ml_text_fmt(summary, "no instruction is left of lines %u to %u\n", o.from, o.to);
    ml_ctx_unref(c.cx);
    return true;
}

static bool asm_diff(ml_Session *ss, int version, const char *name)
{
    const ml_DiffOpts o = {.context = 2, .color = ss->out.color};
    int v[2] = {version, ml_schedule_version(ss->focus)};
    ml_Text view[2] = {{0}, {0}}, all = {0};
    bool ok = true;

    for (int k = 0; k < 2 && ok; k++) {
        ml_text_fmt(&all, "v%-3d ", v[k]);
        ok = asm_of(ss, v[k], name, true, &all, &view[k]);
    }
    if (ok) {
        if (ml_diff_text(&all, ml_text_z(&view[0]), ml_text_z(&view[1]), &o).shown == 0)
            ml_text_add(&all, "the same instructions\n");
        ml_page_code(ss, ml_text_z(&all), "");
    }
    ml_text_free(&view[0]);
    ml_text_free(&view[1]);
    ml_text_free(&all);
    return ok;
}

/* [LOOP|BLOCK] [--diff [VERSION]] */
static bool read_asm(ml_Session *ss, const ml_Words *w, const char **name, int *against)
{
    for (size_t k = 0; k < w->n; k++) {
        if (ml_streq(w->v[k], "--diff") && *against < 0) {
            if (!read_against(ss, w, &k, against))
                return false;
        } else if (w->v[k][0] != '-' && *name == NULL) {
            *name = w->v[k];
        } else {
            return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                    ":asm takes one loop or block, and --diff [VERSION]");
        }
    }
    return true;
}

bool cmd_asm(ml_Session *ss, const ml_Words *w)
{
    ml_Text view = {0}, all = {0};
    const char *name = NULL;
    int against = -1;
    bool ok;

    if (!read_asm(ss, w, &name, &against))
        return false;
    if (against >= 0)
        return asm_diff(ss, against, name);
    ok = asm_of(ss, ml_schedule_version(ss->focus), name, false, &all, &view);
    if (ok) {
        ml_text_add(&all, ml_text_z(&view));
        ml_page_code(ss, ml_text_z(&all), "");
    }
    ml_text_free(&view);
    ml_text_free(&all);
    return ok;
}
