/*
 * block - pane 3: what the selected block is; for a loop, the blocks below it; for the
 * function, its parameters.
 *
 * Conditions that primitives ask for are marked as they hold or not, and those that do not
 * say why. Source: interaction 10, ir-and-analysis 2.
 */
#include <limits.h>

#include "repl/show/block_facts.h"
#include "repl/view/pane/panes.h"
#include "repl/view/pane/wants.h"

static const char *iter_letter(ml_IterKind k)
{
    switch (k) {
    case ML_ITER_SPATIAL: return "S";
    case ML_ITER_REDUCE: return "R";
    case ML_ITER_ORDERED: return "scan";
    case ML_ITER_OPAQUE: return "O";
    case ML_ITER_KINDS: break;
    }
    return "?";
}

/* `16`, or `2..18` where it does not begin at 0. */
static const char *domain(ml_Rows *r, const ml_Shown *sh, const ml_Iter *it)
{
    const char *n = ml_pane_expr(r, sh, it->extent);

    return ml_is_int(it->min, 0)
               ? n
               : ml_format(r->cx, "%s from %s", n, ml_pane_expr(r, sh, it->min));
}

static void put_iters(ml_Rows *r, const ml_Shown *sh, const ml_Block *b)
{
    int name = 0, kind = 1, dom = 0;

    for (size_t k = 0; k < b->n_iters; k++) {
        name = ml_wider(name, b->iters[k].var->hint, INT_MAX);
        kind = ml_wider(kind, iter_letter((ml_IterKind)b->iters[k].kind), INT_MAX);
        dom = ml_wider(dom, domain(r, sh, &b->iters[k]), INT_MAX);
    }
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        const char *d = domain(r, sh, it);

        ml_rows_put(r, ML_ROLE_NAME, "%s", it->var->hint);
        ml_rows_pad(r, name + 2, 2);
        ml_rows_put(r, it->kind == ML_ITER_REDUCE ? ML_ROLE_NOTE : ML_ROLE_KEYWORD, "%s",
                    iter_letter((ml_IterKind)it->kind));
        ml_rows_pad(r, name + 2 + kind + 1 + dom - (int)ml_columns(d), 1);
        ml_rows_put(r, ML_ROLE_NUMBER, "%s", d);
        ml_rows_put(r, ML_ROLE_TEXT, "  %s", ml_pane_expr(r, sh, it->value));
        ml_rows_end(r)->node = b->tag;
    }
}

static void put_regions(ml_Rows *r, const ml_Shown *sh, const char *what,
                        const ml_Region *v, size_t n)
{
    const ml_PrintOpts o = {.spelling = -1, .plain = true, .names = sh->names};

    for (size_t k = 0; k < n; k++) {
        ml_Text t = {0};

        ml_print_region(r->cx, &t, &v[k], &o);
        ml_rows_put(r, ML_ROLE_DIM, "%-7s", k ? "" : what);
        ml_rows_put(r, ML_ROLE_BUFFER, "%s", ml_text_z(&t));
        ml_rows_end(r)->key = ml_pane_name(sh, v[k].buffer->uid);
        ml_text_free(&t);
    }
}

/* ---- what holds of it */

static void put_flag(ml_Rows *r, bool holds, const char *what)
{
    ml_rows_put(r, holds ? ML_ROLE_OK : ML_ROLE_ERROR, holds ? "✓ " : "✗ ");
    ml_rows_put(r, ML_ROLE_TEXT, "%s  ", what);
}

static void put_why(ml_Rows *r, bool holds, const char *what, const char *why)
{
    if (holds || !why)
        return;
    ml_rows_put(r, ML_ROLE_ERROR, "%s: ", what);
    ml_rows_put(r, ML_ROLE_TEXT, "%s", why);
    ml_rows_end(r);
}

static void put_flags(ml_Rows *r, const ml_Shown *sh, const ml_Block *b)
{
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(sh->s));
    ml_BlockFacts f;

    ml_ctx_set_limit(cx, 0);
    ml_block_facts(cx, sh->s, sh->version, b->tag, true, &f);
    if (f.kind != ML_BLOCK_REDUCTION)
        put_flag(r, f.kind == ML_BLOCK_COMPLETE, "complete");
    if (f.kind != ML_BLOCK_COMPLETE)
        put_flag(r, f.kind == ML_BLOCK_REDUCTION, "reduction");
    put_flag(r, f.affine, "affine");
    put_flag(r, f.covered, "covered");
    put_flag(r, f.pipeline, "pipeline");
    ml_rows_end(r);
    put_why(r, f.kind != ML_BLOCK_NEITHER, "not complete", f.complete_why);
    put_why(r, f.kind != ML_BLOCK_NEITHER, "no reduction", f.reduction_why);
    put_why(r, f.affine, "not affine", f.affine_why);
    put_why(r, f.covered, "not covered", f.cover_why);
    put_why(r, f.pipeline, "no stage pipeline", f.pipeline_why);
    ml_ctx_unref(cx);
}

/* `flags`: what holds of it, which takes a while; else an empty row in its place. */
static void put_block(ml_Rows *r, const ml_Shown *sh, const ml_Block *b, bool flags)
{
    put_iters(r, sh, b);
    if (!ml_is_true(b->predicate)) {
        ml_rows_put(r, ML_ROLE_DIM, "%-7s", "where");
        ml_rows_put(r, ML_ROLE_TEXT, "%s", ml_pane_expr(r, sh, b->predicate));
        ml_rows_end(r);
    }
    put_regions(r, sh, "reads", b->reads, b->n_reads);
    put_regions(r, sh, "writes", b->writes, b->n_writes);
    if (flags)
        put_flags(r, sh, b);
    else
        ml_rows_end(r);
    for (size_t k = 0; k < ml_dict_count(b->annotations); k++) {
        ml_Text t = {0};

        ml_print_value(r->cx, &t, b->annotations->as.list[k], NULL);
        ml_rows_put(r, ML_ROLE_DIM, "@ %s = ", b->annotations->keys[k]);
        ml_rows_put(r, ML_ROLE_TEXT, "%s", ml_text_z(&t));
        ml_rows_end(r);
        ml_text_free(&t);
    }
}

/* ---- loops and functions */

static void put_buffers(ml_Rows *r, const ml_Shown *sh, const char *what,
                        const ml_Region *v, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        ml_rows_put(r, ML_ROLE_DIM, "%s", k ? ", " : what);
        ml_rows_put(r, ML_ROLE_BUFFER, "%s", ml_pane_name(sh, v[k].buffer->uid));
    }
}

static void put_blocks(ml_Rows *r, const ml_Shown *sh, const ml_Stmt *above)
{
    ml_StmtVec v = {0};
    int width = 0;

    ml_child_blocks(r->cx, above, &v);
    for (size_t k = 0; k < v.n; k++)
        width = ml_wider(width, ml_pane_name(sh, ml_stmt_uid(v.v[k])), 16);
    for (size_t k = 0; k < v.n; k++) {
        const ml_Block *b = ml_as_block(v.v[k]);

        ml_rows_put(r, ML_ROLE_BLOCK, "■ %s", ml_pane_name(sh, b->tag));
        ml_rows_pad(r, width + 2, 0);
        put_buffers(r, sh, "  reads ", b->reads, b->n_reads);
        put_buffers(r, sh, "  writes ", b->writes, b->n_writes);
        ml_rows_end(r)->node = b->tag;
    }
    if (v.n == 0)
        ml_rows_add(r, ML_ROLE_DIM, "no block is below");
}

static void put_loop(ml_Rows *r, const ml_Shown *sh, const ml_For *f)
{
    ml_IterKind type =
        f->base.has_block ? ml_loop_type(sh->p, f->var->uid) : ML_ITER_OPAQUE;

    ml_rows_put(r, ml_loop_role((ml_ForKind)f->kind), "%s", ml_pane_loop_name(sh, f));
    ml_rows_put(r, ML_ROLE_NUMBER, "  %s", ml_pane_expr(r, sh, f->extent));
    ml_rows_put(r, ML_ROLE_TEXT, "  %s", ml_for_kind_name((ml_ForKind)f->kind));
    if (f->thread.axis)
        ml_rows_put(r, ML_ROLE_TEXT, " %s", f->thread.name);
    if (f->base.has_block)
        ml_rows_put(r, ML_ROLE_DIM, ", %s", ml_iter_kind_name(type));
    ml_rows_end(r)->node = f->var->uid;
    put_blocks(r, sh, &f->base);
}

static void put_shape(ml_Rows *r, const ml_Shown *sh, const ml_Buffer *b)
{
    ml_rows_put(r, ML_ROLE_TEXT, "[");
    for (size_t d = 0; d < b->rank; d++)
        ml_rows_put(r, ML_ROLE_NUMBER, "%s%s", d ? ", " : "",
                    ml_pane_expr(r, sh, b->shape[d]));
    ml_rows_put(r, ML_ROLE_TEXT, "]");
}

static void put_func(ml_Rows *r, const ml_Shown *sh, const ml_Func *f)
{
    const ml_Block *root = ml_func_root(f);

    ml_rows_put(r, ML_ROLE_STRONG, "%s", f->name);
    ml_rows_end(r)->node = root ? root->tag : 0;
    for (size_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        if (b) {
            ml_rows_put(r, ML_ROLE_BUFFER, "%s", ml_pane_name(sh, b->uid));
            put_shape(r, sh, b);
            ml_rows_put(r, ML_ROLE_DIM, " %s", ml_dtype_name(r->cx, b->type));
        } else {
            ml_rows_put(r, ML_ROLE_NAME, "%s", f->params[k].var->hint);
            ml_rows_put(r, ML_ROLE_DIM, " %s",
                        ml_dtype_name(r->cx, f->params[k].var->type));
        }
        ml_rows_end(r)->key = b ? ml_pane_name(sh, b->uid) : NULL;
    }
    if (root)
        put_blocks(r, sh, &root->base);
}

void ml_pane_block(ml_View *v, ml_Rows *r)
{
    ml_Shown sh;
    const ml_Stmt *st;

    if (!ml_pane_shows(v, r, &sh))
        return;
    st = ml_pane_selected(v, &sh);
    if (st && st->kind == ML_STMT_FOR)
        put_loop(r, &sh, ml_as_for(st));
    else if (st && ml_index_parent(sh.p.index, v->node))
        put_block(r, &sh, ml_as_block(st), true);
    else
        for (uint32_t k = 0; k < sh.p.mod->n; k++)
            if (st ? k == ml_index_func(sh.p.index, v->node)
                   : !ml_schedule_func(sh.s) || k == ml_schedule_func_pos(sh.s))
                put_func(r, &sh, sh.p.mod->funcs[k]);
}

enum { MOST_COLUMNS = 48, MOST_BLOCKS = 64, MOST_ROWS = 12 }; /* of a loop */

static void want_nest(ml_Rows *r, const ml_Shown *sh, const ml_Stmt *nest, ml_Want *out)
{
    ml_StmtVec blocks = {0};
    ml_Ctx *cx = ml_ctx_new(0);

    ml_all_blocks(cx, nest, &blocks);
    if (nest->kind == ML_STMT_FOR) {
        put_loop(r, sh, ml_as_for(nest));
        ml_want_rows(out, r, MOST_COLUMNS);
        out->rows = out->rows > MOST_ROWS ? MOST_ROWS : out->rows;
    }
    for (size_t k = 0; k < blocks.n && k < MOST_BLOCKS; k++) {
        ml_rows_reset(r);
        put_block(r, sh, ml_as_block(blocks.v[k]), false);
        ml_want_rows(out, r, MOST_COLUMNS);
    }
    ml_ctx_unref(cx);
}

void ml_pane_block_wants(ml_View *v, ml_Rows *r, ml_Want *out)
{
    ml_Shown sh;

    if (v->ss->focus && ml_pane_shows(v, r, &sh))
        ml_nests_want(v, r, &sh, ML_PANE_BLOCK, false, want_nest, out);
}
