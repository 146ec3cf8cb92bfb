/* test_spans - the places of expressions in the text: by statement and path, after
 * completion, for equal expressions, and on every program of the corpus. Source: script 14.
 */
#include "../core_test.h"

#include "corpus.h"
#include "moonloop/core/script/script.h"
#include "moonloop/core/spans.h"

#include <ctype.h>

#define HEAD                                                                               \
    "@T.prim_func\n"                                                                       \
    "def f(A: T.Buffer((16, 16), \"float32\"), B: T.Buffer((16,), \"float32\"), n: "       \
    "T.int32):\n"

/* The text of a span of one line. */
static const char *text_at(ml_Ctx *cx, const char *source, const ml_Span *s)
{
    const char *line = source;

    for (uint32_t k = 1; k < s->line; k++)
        line = strchr(line, '\n') + 1;
    if (s->end_line != s->line)
        return "(several lines)";
    return ml_strdup(cx, (ml_Str){line + s->col - 1, s->end_col - s->col});
}

typedef struct Find {
    ml_StmtKind kind;
    size_t left;
    const ml_Stmt *found;
} Find;

static bool find(const ml_Stmt *s, void *user)
{
    Find *f = user;

    if ((ml_StmtKind)s->kind == f->kind && !f->found && f->left-- == 0)
        f->found = s;
    return !f->found;
}

/* The k-th statement of a kind; blocks count without the root. */
static const ml_Stmt *nth(const ml_Func *f, ml_StmtKind kind, size_t k)
{
    Find x = {kind, k + (kind == ML_STMT_BLOCK), NULL};

    ml_stmt_visit(f->body, find, &x);
    assert_non_null(x.found);
    return x.found;
}

static const char PROGRAM[] =
    HEAD "    for i, j in T.grid(n, n):\n"
         "        with T.block(\"b\"):\n"
         "            vi = T.axis.spatial(16, i + j)\n"
         "            vj = T.axis.spatial(16, j)\n"
         "            T.where(i + j < 16)\n"
         "            A[vi, vj] = (B[vi] + B[vi]) * T.float32(2) + B[vj + 1]\n"
         "            B[vi] = T.if_then_else(vi < 8, 1.0, A[vi, 5])\n";

typedef struct Row {
    ml_StmtKind kind;
    size_t which;
    size_t n;
    uint32_t steps[5];
    const char *text;
    uint32_t col; /* 0: any */
    bool exact;
} Row;

static const Row ROWS[] = {
    {ML_STMT_STORE, 0, 1, {0}, "vi", 15, true},
    {ML_STMT_STORE, 0, 1, {1}, "vj", 19, true},
    {ML_STMT_STORE, 0, 1, {2}, "(B[vi] + B[vi]) * T.float32(2) + B[vj + 1]", 25, true},
    {ML_STMT_STORE, 0, 2, {2, 0}, "(B[vi] + B[vi]) * T.float32(2)", 25, true},
    {ML_STMT_STORE, 0, 4, {2, 0, 0, 0}, "B[vi]", 26, true},
    {ML_STMT_STORE, 0, 4, {2, 0, 0, 1}, "B[vi]", 34, true}, /* the same node, elsewhere */
    {ML_STMT_STORE, 0, 5, {2, 0, 0, 1, 0}, "vi", 36, true},
    {ML_STMT_STORE, 0, 3, {2, 1, 0}, "vj + 1", 60, true},
    {ML_STMT_STORE, 0, 4, {2, 1, 0, 1}, "1", 65, true},
    {ML_STMT_STORE, 1, 2, {1, 0}, "vi < 8", 36, true},
    {ML_STMT_STORE, 1, 2, {1, 2}, "A[vi, 5]", 49, true},
    {ML_STMT_STORE, 1, 3, {1, 2, 1}, "5", 55, true},
    /* of loops: the second extent is not the first; the minimum is not written */
    {ML_STMT_FOR, 0, 1, {1}, "n", 24, true},
    {ML_STMT_FOR, 1, 1, {1}, "n", 27, true},
    /* of a block, whose regions were inferred after reading: min extent value ... */
    {ML_STMT_BLOCK, 0, 1, {2}, "i + j", 37, true},
    {ML_STMT_BLOCK, 0, 2, {2, 1}, "j", 41, true},
    {ML_STMT_BLOCK, 0, 1, {4}, "16", 33, true},
    {ML_STMT_BLOCK, 0, 1, {6}, "i + j < 16", 21, true},
    {ML_STMT_BLOCK, 0, 3, {6, 0, 0}, "i", 21, true},
};

static void a_path_leads_to_the_columns_of_its_expression(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(cx, ml_str(PROGRAM), NULL);
    int bad = 0;

    (void)state;
    assert_non_null(p.mod);
    for (size_t k = 0; k < sizeof ROWS / sizeof *ROWS; k++) {
        const Row *r = &ROWS[k];
        ml_ExprPath path = {nth(p.mod->funcs[0], r->kind, r->which), r->n, r->steps};
        ml_Span s = {0};
        bool exact;

        assert_non_null(ml_expr_at(&path));
        assert_true(ml_expr_span(&path, &s, &exact));
        const char *text = text_at(cx, PROGRAM, &s);
        if (strcmp(text, r->text) != 0 || (r->col && s.col != r->col) ||
            exact != r->exact) {
            print_error("row %zu: want `%s` at %u, have `%s` at %u%s\n", k, r->text, r->col,
                        text, s.col, exact ? "" : " (not exact)");
            bad++;
        }
    }
    assert_int_equal(bad, 0);
    ml_ctx_unref(cx);
}

static void what_the_text_does_not_say_gets_the_place_around(void **state)
{
    static const char text[] = HEAD "    for i in range(16):\n"
                                    "        A[i, 0] = B[i] + T.float64(1)\n";
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(cx, ml_str(text), NULL);
    const uint32_t cast[] = {2, 0, 0}, load[] = {2, 0, 0, 0}, min[] = {0};
    ml_Span s;
    bool exact;

    (void)state;
    assert_non_null(p.mod);
    /* float32(float64(B[i]) + 1): both casts are promotion's */
    ml_ExprPath path = {nth(p.mod->funcs[0], ML_STMT_STORE, 0), 3, cast};
    assert_int_equal(ml_expr_at(&path)->kind, ML_EXPR_CAST);
    assert_true(ml_expr_span(&path, &s, &exact));
    assert_false(exact);
    assert_string_equal(text_at(cx, text, &s), "B[i] + T.float64(1)");
    path.steps = load;
    path.n = 4;
    assert_true(ml_expr_span(&path, &s, &exact));
    assert_true(exact);
    assert_string_equal(text_at(cx, text, &s), "B[i]");
    /* the minimum of range(16) */
    path = (ml_ExprPath){nth(p.mod->funcs[0], ML_STMT_FOR, 0), 1, min};
    assert_true(ml_expr_span(&path, &s, &exact));
    assert_false(exact);
    assert_int_equal(s.line, 3);
    assert_int_equal(s.col, path.stmt->span->col);
    ml_ctx_unref(cx);
}

static void a_rewritten_statement_keeps_the_places_of_what_is_left(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(cx, ml_str(PROGRAM), NULL);
    const ml_Stmt *st = nth(p.mod->funcs[0], ML_STMT_STORE, 0);
    const ml_Expr *load = ml_as_store(st)->value->args[1];
    ml_Subst sub = {NULL, NULL};
    ml_ExprPath path;
    ml_Span s;
    bool exact;

    (void)state;
    assert_true(ml_expr_path(cx, st, load, &path));
    assert_int_equal(path.n, 2);
    assert_ptr_equal(ml_expr_at(&path), load);
    assert_string_equal(text_at(cx, PROGRAM, ml_expr_place(cx, st, load)), "B[vj + 1]");
    /* vi becomes a number: B[vj + 1] stays, B[vi] is gone */
    ml_subst_var(cx, &sub, ml_as_store(st)->indices[0]->as.var, ml_i32(cx, 3));
    st = ml_stmt_subst(cx, st, &sub);
    assert_string_equal(text_at(cx, PROGRAM, ml_expr_place(cx, st, load)), "B[vj + 1]");
    path.stmt = st;
    const uint32_t gone[] = {2, 0, 0, 0};
    path.steps = gone;
    path.n = 4;
    assert_int_equal(ml_expr_at(&path)->kind, ML_EXPR_LOAD);
    assert_true(ml_expr_span(&path, &s, &exact));
    assert_false(exact);
    assert_int_equal(s.line, 8);
    ml_ctx_unref(cx);
}

static void diagnostics_after_parsing_point_at_the_expression(void **state)
{
    static const char text[] = HEAD "    for i in range(16):\n"
                                    "        for j in range(16):\n"
                                    "            A[i, j] = 0.0\n"
                                    "        B[i] = B[0] + T.float32(2) * B[j]\n";
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(cx, ml_str(text), NULL);

    (void)state;
    assert_null(p.mod);
    assert_string_equal(p.diags[0].code, "E702");
    assert_int_equal(p.diags[0].span.line, 6);
    assert_string_equal(text_at(cx, text, &p.diags[0].span), "j");
    ml_ctx_unref(cx);
}

/* ---- every expression of every program */
typedef struct All {
    ml_Ctx *cx;
    const char *source;
    const ml_Stmt *stmt;
    uint32_t steps[64];
    size_t n;
    size_t asked, exact, vars;
    bool ascii;
    bool renamed; /* names of comprehensions and macros stand for variables */
} All;

static void expression(All *a, const ml_Expr *e)
{
    ml_ExprPath path = {a->stmt, a->n, a->steps};
    ml_Span s;
    bool exact;

    assert_ptr_equal(ml_expr_at(&path), e);
    if (!ml_expr_span(&path, &s, &exact))
        return;
    a->asked++;
    a->exact += exact;
    if (exact && e->kind == ML_EXPR_VAR && a->ascii) {
        const char *text = text_at(a->cx, a->source, &s);

        a->vars += strcmp(text, e->as.var->hint) == 0;
        if (e->as.var->hint[0] && isalpha((unsigned char)text[0]) &&
            strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                         "0123456789") == strlen(text) &&
            strcmp(text, e->as.var->hint) != 0 && !a->renamed)
            fail_msg("`%s` stands where %s is said to be", text, e->as.var->hint);
    }
    for (uint32_t k = 0; k < e->n_args && a->n < 64; k++) {
        a->steps[a->n++] = k;
        expression(a, e->args[k]);
        a->n--;
    }
}

static void slot(const ml_Expr *e, ml_Role role, void *user)
{
    All *a = user;
    uint32_t k = a->steps[0];

    (void)role;
    a->n = 1;
    expression(a, e);
    a->steps[0] = k + 1;
}

static bool statement(const ml_Stmt *s, void *user)
{
    All *a = user;

    a->stmt = s;
    a->steps[0] = 0;
    ml_stmt_exprs(s, slot, a);
    return true;
}

static bool is_ascii(const char *z)
{
    for (; *z; z++)
        if ((unsigned char)*z >= 128)
            return false;
    return true;
}

static void every_program_has_places_for_its_expressions(void **state)
{
    char name[512], *text;
    All a = {0};

    (void)state;
    for (size_t k = 0; (text = corpus_file(k, name)); k++) {
        a.cx = ml_ctx_new(0);
        a.source = text;
        a.ascii = is_ascii(text);
        a.renamed = strstr(text, "T.macro") || strstr(text, "[i for i in");
        ml_Parsed p = ml_parse(a.cx, ml_str(text), NULL);
        for (size_t j = 0; p.mod && j < p.mod->n; j++)
            ml_stmt_visit(p.mod->funcs[j]->body, statement, &a);
        ml_ctx_unref(a.cx);
        free(text);
    }
    print_message("%zu expressions: %zu exact, %zu variables by name\n", a.asked, a.exact,
                  a.vars);
    /* The rest is not written: minima, inferred regions, descriptions of buffers. */
    assert_true(a.exact * 2 > a.asked && a.vars > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_leads_to_the_columns_of_its_expression),
        cmocka_unit_test(what_the_text_does_not_say_gets_the_place_around),
        cmocka_unit_test(a_rewritten_statement_keeps_the_places_of_what_is_left),
        cmocka_unit_test(diagnostics_after_parsing_point_at_the_expression),
        cmocka_unit_test(every_program_has_places_for_its_expressions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
