/*
 * program - pane 2: the program as text, lowered, and as code.
 *
 * The numbers of the lines are those of :show and stay when the text scrolls sideways. A
 * line belongs to the innermost loop or block that it is of. Source: interaction 10.
 */
#include "repl/show/diff.h"
#include "repl/view/pane/text.h"

/* As ml_diff_signs says of each line, against the version that it was made from; worked out
 * once for a text. NULL: it was made from none. */
static const char *signs_of(ml_View *v, const ml_Shown *sh, ml_PaneText *t)
{
    ml_Program before;
    ml_Step step;

    if (t->signs || t->n == 0 || !ml_pane_before(sh, &before) ||
        !ml_version_step(sh->s, sh->version, &step))
        return t->signs;
    const ml_PaneText *was = ml_pane_text(v, sh->s, step.parent, ML_LEVEL_PROGRAM);

    t->signs = ML_ARRAY(t->m.cx, char, t->n + 1);
    /* its lines are one text, which the first of them begins */
    ml_diff_signs(was->n ? was->lines[0].text.p : "", t->lines[0].text.p, t->signs);
    return t->signs;
}

/* Beside each other, a line and its instructions have numbers of one colour. */
static ml_CellRole role_of_line(size_t line)
{
    static const ml_CellRole ROLES[] = {ML_ROLE_LOOP_PARALLEL, ML_ROLE_KEYWORD,
                                        ML_ROLE_LOOP_THREAD,   ML_ROLE_BLOCK,
                                        ML_ROLE_LOOP_UNROLL,   ML_ROLE_LOOP_VECTOR};

    return line ? ROLES[line % ML_COUNT(ROLES)] : ML_ROLE_DIM;
}

/* Whether lines of the program have code beside them; NULL: there is none. */
static const bool *coded_lines(ml_View *v, ml_Rows *r, const ml_Shown *sh, size_t n)
{
    const ml_PaneText *t;
    bool *coded;

    if (v->beside == ML_LEVEL_PROGRAM || !ml_view_beside_fits(v))
        return NULL;
    t = ml_pane_text(v, sh->s, sh->version, v->beside);
    if (t->state != ML_TEXT_READY)
        return NULL;
    coded = ML_ARRAY(r->cx, bool, n + 1);
    for (size_t k = 0; k < t->n; k++)
        if (t->lines[k].line <= n)
            coded[t->lines[k].line] = true;
    return coded;
}

static void put_program(ml_View *v, ml_Rows *r, const ml_Shown *sh)
{
    ml_PaneText *t = ml_pane_text(v, sh->s, sh->version, ML_LEVEL_PROGRAM);
    int width = ml_digits(t->n);
    const bool *coded = coded_lines(v, r, sh, t->n);
    const char *signs = signs_of(v, sh, t);

    for (size_t k = 0; k < t->n; k++) {
        const ml_TextLine *l = &t->lines[k];
        ml_Row *row;

        ml_rows_put_line_number(r, k + 1, width,
                                coded && coded[k + 1] ? role_of_line(k + 1) : ML_ROLE_DIM);
        ml_rows_put_script(r, l->text.p, l->text.n, v->marked, ML_MAX_MARKED);
        row = ml_rows_end(r);
        row->node = l->node;
        row->line = l->line;
        row->changed = signs && signs[k] == '+';
    }
}

/* ---- code */

/* Mnemonics and instructions, numbers, comments: enough to find one's way. */
static void put_machine(ml_Rows *r, ml_Str text, bool is_asm)
{
    size_t k = 0, from;
    bool label;

    while (k < text.n && text.p[k] == ' ')
        k++;
    label = k == 0 && text.n > 0 && text.p[text.n - 1] == ':';
    ml_rows_put_n(r, ML_ROLE_TEXT, text.p, k);
    for (from = k; from < text.n; from = k) {
        char c = text.p[k];
        ml_CellRole role = ML_ROLE_TEXT;

        if (c == (is_asm ? '#' : ';')) {
            k = text.n;
            role = ML_ROLE_COMMENT;
        } else if (c == '%' || c == '@' || c == '$' || ml_in_word(c)) {
            bool first = k == 0 || (from > 0 && text.p[from - 1] == ' ');

            for (k++; k < text.n && (ml_in_word(text.p[k]) || text.p[k] == '.');)
                k++;
            role = label                                ? ML_ROLE_NOTE
                   : c == '$' || (c >= '0' && c <= '9') ? ML_ROLE_NUMBER
                   : c == '%' || c == '@'               ? ML_ROLE_NAME
                   : first                              ? ML_ROLE_KEYWORD
                                                        : ML_ROLE_TEXT;
        } else {
            k++;
        }
        ml_rows_put_n(r, role, text.p + from, k - from);
    }
}

/* What of an instruction fits into so many columns, up to a blank where there is one; the
 * rest stays in *text. Machine code is ASCII. */
static ml_Str take_piece(ml_Str *text, size_t room)
{
    size_t n = text->n <= room ? text->n : room, begin = strspn(text->p, " ");
    size_t cut = n;

    while (n < text->n && cut > begin && text->p[cut] != ' ')
        cut--;
    ml_Str piece = {text->p, cut > begin ? cut : n};

    text->p += piece.n;
    text->n -= piece.n;
    while (text->n > 0 && *text->p == ' ') {
        text->p++;
        text->n--;
    }
    return piece;
}

/* An instruction over as many rows as it takes: none goes on out of sight. */
static void put_instruction(ml_Rows *r, const ml_TextLine *l, int width, ml_CellRole number,
                            int columns)
{
    enum { INDENT = 4, SHOWN = 1, HANGS = 6, LEAST = 16 };
    ml_Str text = l->text;
    int room = columns - width - 1;

    if (strspn(text.p, " ") == INDENT) {
        text.p += INDENT - SHOWN;
        text.n -= INDENT - SHOWN;
    }
    for (bool first = true; first || text.n > 0; first = false) {
        int left = first ? room : room - HANGS;

        ml_rows_put_line_number(r, first ? l->line : 0, width, number);
        ml_rows_put(r, ML_ROLE_TEXT, "%*s", first ? 0 : HANGS, "");
        put_machine(r, take_piece(&text, (size_t)(left > LEAST ? left : LEAST)), true);
        ml_Row *row = ml_rows_end(r);

        row->node = l->node;
        row->line = l->line;
    }
}

static void put_code(ml_View *v, ml_Rows *r, ml_PaneId id, const ml_PaneText *t)
{
    bool beside = v->beside != ML_LEVEL_PROGRAM && ml_view_beside_fits(v);
    size_t most = 0, k = 0;
    int width;

    for (size_t n = 0; n < t->n; n++)
        most = t->lines[n].line > most ? t->lines[n].line : most;
    width = ml_digits(most);
    if (t->level == ML_LEVEL_ASM && t->n > 0) { /* what it comes to stays in sight */
        const ml_Str sum = t->lines[k++].text;

        ml_pane_say(v, r, id, ML_ROLE_STRONG, ml_strdup(r->cx, sum));
        r->head = (int)r->v.n;
    }
    for (; k < t->n; k++) {
        const ml_TextLine *l = &t->lines[k];
        ml_CellRole number = beside ? role_of_line(l->line) : ML_ROLE_DIM;
        ml_Row *row;

        if (t->level == ML_LEVEL_ASM) {
            put_instruction(r, l, width, number, ml_pane_width(v, id) - 2);
            continue;
        }
        ml_rows_put_line_number(r, l->line, width, number);
        if (t->level == ML_LEVEL_LOWERED)
            ml_rows_put_script(r, l->text.p, l->text.n, v->marked, ML_MAX_MARKED);
        else
            put_machine(r, l->text, false);
        row = ml_rows_end(r);
        row->node = l->node;
        row->line = l->line;
    }
}

static void put_failure(ml_View *v, ml_Rows *r, ml_PaneId id, const ml_PaneText *t)
{
    for (size_t k = 0; k < t->n; k++)
        ml_pane_say(v, r, id, k ? ML_ROLE_TEXT : ML_ROLE_ERROR,
                    ml_format(r->cx, "%.*s", (int)t->lines[k].text.n, t->lines[k].text.p));
}

static void put_level(ml_View *v, ml_Rows *r, ml_PaneId id, const ml_Shown *sh,
                      ml_Level level)
{
    const ml_PaneText *t = ml_pane_text(v, sh->s, sh->version, level);

    switch (t->state) {
    case ML_TEXT_READY: put_code(v, r, id, t); return;
    case ML_TEXT_FAILED: put_failure(v, r, id, t); return;
    case ML_TEXT_WAITING:
    case ML_TEXT_COMPILING:
        ml_rows_add(r, ML_ROLE_DIM,
                    level == ML_LEVEL_LOWERED ? "lowering v%d …" : "compiling v%d …",
                    sh->version);
        return;
    }
}

void ml_pane_program(ml_View *v, ml_Rows *r)
{
    ml_Shown sh;

    if (!ml_pane_shows(v, r, &sh))
        return;
    if (ml_view_level(v) == ML_LEVEL_PROGRAM)
        put_program(v, r, &sh);
    else
        put_level(v, r, ML_PANE_PROGRAM, &sh, ml_view_level(v));
}

void ml_pane_beside(ml_View *v, ml_Rows *r)
{
    ml_Shown sh;

    if (!ml_pane_shows(v, r, &sh))
        return;
    if (v->beside == ML_LEVEL_PROGRAM)
        ml_rows_add(r, ML_ROLE_DIM, "A shows assembly, L LLVM's text");
    else
        put_level(v, r, ML_PANE_CODE, &sh, v->beside);
}

void ml_pane_program_title(ml_View *v, ml_Text *out)
{
    static const char *const NAMES[ML_N_LEVELS] = {
        [ML_LEVEL_LOWERED] = "lowered",
        [ML_LEVEL_LLVM] = "LLVM",
        [ML_LEVEL_ASM] = "assembly",
    };

    if (NAMES[ml_view_level(v)])
        ml_text_add(out, NAMES[ml_view_level(v)]);
}

/* Code has more lines than any screen; what is compiled still wants as many. */
static void want_code(ml_Want *out)
{
    enum { ROWS = 200, COLUMNS = 64 };

    *out = (ml_Want){.rows = ROWS, .columns = COLUMNS};
}

/* The columns that hold nine lines in ten: declarations are longer than all else. */
void ml_pane_program_wants(ml_View *v, ml_Rows *r, ml_Want *out)
{
    enum { MOST = 200 };
    size_t of_width[MOST + 1] = {0}, seen = 0;
    ml_Shown sh;
    const ml_PaneText *t;

    if (!v->ss->focus || !ml_pane_shows(v, r, &sh))
        return;
    if (ml_view_level(v) != ML_LEVEL_PROGRAM) {
        want_code(out);
        return;
    }
    t = ml_pane_text(v, sh.s, sh.version, ML_LEVEL_PROGRAM);
    for (size_t k = 0; k < t->n; k++) {
        int n = ml_text_columns(t->lines[k].text.p, t->lines[k].text.n);

        of_width[n < MOST ? n : MOST]++;
    }
    while (out->columns < MOST && (seen += of_width[out->columns]) * 10 < t->n * 9)
        out->columns++;
    out->rows = (int)t->n;
    out->columns += ml_digits(t->n) + 4; /* the number, the bar, the cursor's mark */
}

void ml_pane_beside_wants(ml_View *v, ml_Rows *r, ml_Want *out)
{
    (void)v, (void)r;
    want_code(out);
}
