/* verify_test - programs from text, their blocks and loops by name, findings by code. */
#ifndef ML_TESTS_VERIFY_TEST_H
#define ML_TESTS_VERIFY_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "moonloop/core/script/script.h"
#include "moonloop/verify/verify.h"

typedef struct Prog {
    ml_Ctx *cx;
    ml_Program p;
    ml_Facts *facts;
} Prog;

/* The text of a function's parameters and body; the header is added. Body lines are
 * indented by four. */
static inline Prog prog_any(const char *params, const char *body)
{
    Prog g = {.cx = ml_ctx_new(0)};
    size_t n = strlen(params) + strlen(body) + 128;
    char *text = malloc(n);
    ml_Parsed r;

    assert_non_null(text);
    snprintf(text, n,
             "from tvm.script import tir as "
             "T\n\n@T.prim_func(check_well_formed=False)\ndef main(%s):\n%s",
             params, body);
    r = ml_parse(g.cx, ml_str(text), &(ml_ParseOpts){.spelling = -1});
    if (!r.mod) {
        for (size_t k = 0; k < r.n_diags; k++)
            print_message("%u:%u %s\n", r.diags[k].span.line, r.diags[k].span.col,
                          r.diags[k].message);
        print_message("%s\n", text);
    }
    free(text);
    assert_non_null(r.mod);
    ml_error_clear(g.cx);
    g.p = (ml_Program){r.mod, ml_index_build(g.cx, r.mod)};
    g.facts = ml_facts_new(g.cx);
    return g;
}

static inline void prog_free(Prog *g)
{
    ml_facts_free(g->facts);
    ml_ctx_unref(g->cx);
}

typedef struct Named {
    const char *name;
    ml_Uid uid;
    bool loop;
    unsigned nth;
} Named;

static inline bool named_visit(const ml_Stmt *s, void *user)
{
    Named *n = user;

    if (n->uid)
        return false;
    if (s->kind == ML_STMT_FOR && n->loop && ml_streq(ml_as_for(s)->var->hint, n->name) &&
        n->nth-- == 0)
        n->uid = ml_stmt_uid(s);
    if (s->kind == ML_STMT_BLOCK && !n->loop && ml_streq(ml_as_block(s)->name, n->name) &&
        n->nth-- == 0)
        n->uid = ml_stmt_uid(s);
    return true;
}

static inline ml_Uid block_uid(const Prog *g, const char *name)
{
    Named n = {name, 0, false, 0};

    ml_stmt_visit(g->p.mod->funcs[0]->body, named_visit, &n);
    assert_true(n.uid != 0);
    return n.uid;
}

static inline ml_Uid loop_uid(const Prog *g, const char *name)
{
    Named n = {name, 0, true, 0};

    ml_stmt_visit(g->p.mod->funcs[0]->body, named_visit, &n);
    assert_true(n.uid != 0);
    return n.uid;
}

static inline const ml_Block *block_of(const Prog *g, const char *name)
{
    return ml_as_block(ml_index_node(g->p.index, block_uid(g, name)));
}

/* A parameter or allocated buffer by name. */
static inline const ml_Buffer *buffer_of(const Prog *g, const char *name)
{
    const ml_Func *f = g->p.mod->funcs[0];
    ml_StmtVec blocks = {0};

    for (size_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer && ml_streq(f->params[k].buffer->name, name))
            return f->params[k].buffer;
    ml_all_blocks(g->cx, f->body, &blocks);
    ml_push(g->cx, &blocks, f->body);
    for (size_t k = 0; k < blocks.n; k++)
        for (size_t m = 0; m < ml_as_block(blocks.v[k])->n_allocs; m++)
            if (ml_streq(ml_as_block(blocks.v[k])->allocs[m]->name, name))
                return ml_as_block(blocks.v[k])->allocs[m];
    fail_msg("no buffer %s", name);
    return NULL;
}

static inline const char *region_text(const Prog *g, const ml_Region *v, size_t n)
{
    ml_Text t = {0};
    const char *z;

    for (size_t k = 0; k < n; k++) {
        if (k)
            ml_text_add(&t, ", ");
        ml_print_region(g->cx, &t, &v[k], NULL);
    }
    z = ml_strdup(g->cx, (ml_Str){ml_text_z(&t), t.n});
    ml_text_free(&t);
    return z;
}

static inline void print_finding(const ml_Finding *f)
{
    const ml_Error *e = f->error;

    print_message("  %s %s:",
                  f->severity == ML_SEV_ERROR      ? "error"
                  : f->severity == ML_SEV_UNPROVED ? "unproved"
                                                   : "warning",
                  ml_error_code(e->code));
    for (size_t k = 0; k < e->n_facts; k++)
        if (e->facts[k].kind == ML_FACT_TEXT)
            print_message(" \"%s\"", e->facts[k].as.text);
    print_message("\n");
}

/* The findings of that severity are one, of this code; NULL: there is none. Returns it. */
static inline const ml_Error *only(const ml_Findings *v, ml_Severity severity,
                                   const char *code)
{
    const ml_Error *found = NULL;
    size_t n = 0;

    for (size_t k = 0; k < v->n; k++)
        if (v->v[k].severity == severity) {
            n++;
            found = v->v[k].error;
        }
    if (n != (code ? 1 : 0) || (code && !ml_streq(ml_error_code(found->code), code))) {
        print_message("expected %s, have %zu findings\n", code ? code : "none", v->n);
        for (size_t k = 0; k < v->n; k++)
            print_finding(&v->v[k]);
        fail();
    }
    return found;
}

static inline bool has_code(const ml_Findings *v, ml_Severity severity, const char *code)
{
    for (size_t k = 0; k < v->n; k++)
        if (v->v[k].severity == severity &&
            ml_streq(ml_error_code(v->v[k].error->code), code))
            return true;
    return false;
}

static inline const char *fact_text(const ml_Error *e, size_t k)
{
    assert_true(k < e->n_facts && e->facts[k].kind == ML_FACT_TEXT);
    return e->facts[k].as.text;
}

#endif
