/*
 * print_block - blocks: axes, predicate, regions, annotations, buffers, init, body.
 * Source: script 12.2 (root block), 12.3.
 */
#include "moonloop/core/compare/equal.h"
#include "moonloop/core/script/print/print.h"

static bool same_bound(const ml_Expr *a, const ml_Expr *b)
{
    return a == b || (a->kind == ML_EXPR_INT && b->kind == ML_EXPR_INT &&
                      a->as.i == b->as.i && ml_dtype_eq(a->type, b->type));
}

/* Whether T.axis.remap of the loop alone gives this iterator. */
static bool can_remap(ml_Printer *p, const ml_Iter *it)
{
    if (p->no_sugar || it->value->kind != ML_EXPR_VAR ||
        (it->kind != ML_ITER_SPATIAL && it->kind != ML_ITER_REDUCE))
        return false;
    const ml_For *loop = ml_pr_var(p, it->value->as.var)->loop;
    return loop && same_bound(it->min, loop->min) && same_bound(it->extent, loop->extent) &&
           ml_dtype_eq(it->var->type, loop->var->type);
}

static void iter_name(ml_Printer *p, const ml_Block *b, size_t k)
{
    uint32_t col = ml_pr_col(p);
    const char *name = ml_pr_define_var(p, b->iters[k].var);
    ml_TextMark *m = ml_pr_mark(p, ML_MARK_ITER, b->tag, col);
    if (m) {
        m->aux = (uint32_t)k;
        m->len = (uint32_t)strlen(name);
    }
    ml_pr_z(p, name);
}

static void print_remap(ml_Printer *p, const ml_Block *b, size_t from, size_t to)
{
    ml_pr_line(p);
    for (size_t k = from; k < to; k++) {
        ml_pr_z(p, k > from ? ", " : "");
        iter_name(p, b, k);
    }
    ml_pr_z(p, " = ");
    ml_pr_t(p, "axis.remap(\"");
    for (size_t k = from; k < to; k++)
        ml_text_char(p->out, b->iters[k].kind == ML_ITER_SPATIAL ? 'S' : 'R');
    ml_pr_z(p, "\", [");
    for (size_t k = from; k < to; k++) {
        ml_pr_z(p, k > from ? ", " : "");
        ml_pr_expr(p, b->iters[k].value, ML_PREC_TEST);
    }
    ml_pr_z(p, "])");
}

/* A literal binding has the dtype of its axis; the text may have said another. */
static const ml_Expr *said_value(ml_Printer *p, const ml_Iter *it)
{
    ml_Dtype t = ML_DT(ML_INT, it->said_bits);

    if (it->value->kind != ML_EXPR_INT || it->said_bits == 0 ||
        !ml_dtype_fits(t, it->value->as.i))
        return it->value;
    return ml_int(p->cx, t, it->value->as.i);
}

static void print_axis(ml_Printer *p, const ml_Block *b, size_t k)
{
    const ml_Iter *it = &b->iters[k];

    ml_pr_line(p);
    iter_name(p, b, k);
    ml_pr_z(p, " = ");
    ml_pr_t(p, "axis.");
    ml_pr_z(p, ml_iter_kind_name(it->kind));
    ml_pr_z(p, "(");
    if (ml_pr_is_zero(it->min)) {
        ml_pr_expr(p, it->extent, ML_PREC_TEST);
    } else {
        ml_pr_z(p, "(");
        ml_pr_expr(p, it->min, ML_PREC_TEST);
        ml_pr_z(p, ", ");
        ml_pr_stop(p, it->min, it->extent);
        ml_pr_z(p, ")");
    }
    ml_pr_z(p, ", ");
    ml_pr_expr(p, said_value(p, it), ML_PREC_TEST);
    ml_pr_z(p, ")");
}

static void print_axes(ml_Printer *p, const ml_Block *b)
{
    for (size_t k = 0; k < b->n_iters;) {
        size_t end = k;
        while (end < b->n_iters && can_remap(p, &b->iters[end]))
            end++;
        if (end - k >= 2) {
            print_remap(p, b, k, end);
            k = end;
        } else {
            print_axis(p, b, k++);
        }
    }
}

static void print_regions(ml_Printer *p, const char *call, const ml_Region *r, size_t n)
{
    ml_pr_line(p);
    ml_pr_t(p, call);
    ml_pr_z(p, "(");
    for (size_t k = 0; k < n; k++) {
        ml_pr_z(p, k ? ", " : "");
        ml_pr_region(p, &r[k]);
    }
    ml_pr_z(p, ")");
}

/* Of one context: nearly always one pointer. */
static bool same_expr(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return a == b || ml_equal_expr(cx, a, b, NULL, NULL);
}

static bool same_regions(ml_Ctx *cx, const ml_Region *a, size_t n, const ml_Region *b,
                         size_t m)
{
    if (n != m)
        return false;
    for (size_t k = 0; k < n; k++) {
        if (a[k].buffer->uid != b[k].buffer->uid)
            return false;
        for (size_t d = 0; d < a[k].buffer->rank; d++)
            if (!same_expr(cx, a[k].ranges[d].min, b[k].ranges[d].min) ||
                !same_expr(cx, a[k].ranges[d].extent, b[k].ranges[d].extent))
                return false;
    }
    return true;
}

/* regions_auto: whether reading the block without its two lists gives these very lists.
 * They stand or fall together, for what is given of one has a say in the other; and they
 * are inferred as if neither were there, as loads in the regions themselves count too. */
static bool can_omit_regions(ml_Printer *p, const ml_Block *b)
{
    if (!p->ar)
        return false;
    if (p->n_around == 1) /* an outermost block is never filled in */
        return b->n_reads == 0 && b->n_writes == 0;
    const ml_Block *copy = ml_map_get(p->copies, b->tag);
    ml_Ctx *cx = ml_arith_ctx(p->ar);
    ml_Inferred in = {0};
    ml_Block bare = *copy;
    bare.n_reads = bare.n_writes = 0;
    return ml_infer_regions(cx, p->ar, p->pointers, &bare, &in) && in.opaque.n == 0 &&
           same_regions(cx, copy->reads, copy->n_reads, in.reads.v, in.reads.n) &&
           same_regions(cx, copy->writes, copy->n_writes, in.writes.v, in.writes.n);
}

static void print_alloc(ml_Printer *p, const ml_Buffer *b)
{
    ml_pr_line(p);
    ml_pr_new_buffer(p, b);
    ml_pr_z(p, " = ");
    ml_pr_t(p, p->newest ? "sblock_alloc_buffer(" : "alloc_buffer(");
    ml_pr_buffer_args(p, b, 0, NULL);
    ml_pr_z(p, ")");
}

static void print_match(ml_Printer *p, const ml_Match *match)
{
    const ml_Buffer *b = match->target;
    ml_pr_declare_dims(p, b);
    ml_pr_line(p);
    ml_pr_new_buffer(p, b);
    ml_pr_z(p, " = ");
    ml_pr_t(p, "match_buffer(");
    ml_pr_region(p, &match->source);
    ml_pr_z(p, ", ");
    ml_pr_buffer_args(p, b, ML_BUF_DEFINES, NULL);
    ml_pr_z(p, ")");
}

static void print_inside(ml_Printer *p, const ml_Block *b, bool elided)
{
    print_axes(p, b);
    if (!ml_is_true(b->predicate)) {
        ml_pr_line(p);
        ml_pr_t(p, "where(");
        ml_pr_expr(p, b->predicate, ML_PREC_TEST);
        ml_pr_z(p, ")");
    }
    if (!elided && !can_omit_regions(p, b)) {
        print_regions(p, "reads", b->reads, b->n_reads);
        print_regions(p, "writes", b->writes, b->n_writes);
    }
    if (ml_dict_count(b->annotations) > 0) {
        ml_pr_line(p);
        ml_pr_t(p, p->newest ? "sblock_attr(" : "block_attr(");
        ml_pr_attrs(p, b->annotations, NULL);
        ml_pr_z(p, ")");
    }
    for (size_t k = 0; k < b->n_allocs; k++)
        print_alloc(p, b->allocs[k]);
    for (size_t k = 0; k < b->n_matches; k++)
        print_match(p, &b->matches[k]);
    if (b->init) {
        ml_pr_line(p);
        ml_pr_z(p, "with ");
        ml_pr_t(p, "init():");
        ml_pr_body(p, b->init);
    }
    ml_pr_list(p, b->body);
}

/* The root block that the function stands for: a comment, its content at function level. */
void ml_pr_elided_root(ml_Printer *p, const ml_Block *b)
{
    p->stmt = &b->base;
    if (p->o->no_root_comment) {
        p->n_around++;
        print_inside(p, b, true);
        p->n_around--;
        return;
    }
    ml_pr_label_above(p, &b->base);
    ml_pr_line(p);
    uint32_t col = ml_pr_col(p);
    size_t at = ml_pr_n_marks(p);
    ml_pr_z(p, "# with ");
    ml_pr_t(p, p->newest ? "sblock(" : "block(");
    ml_pr_string(p, "root", 4);
    ml_pr_z(p, "):");
    ml_TextMark *m = ml_pr_mark(p, ML_MARK_BLOCK, b->tag, col);
    if (m)
        m->len = ml_pr_col(p) - col;
    ml_pr_underline(p, &b->base, col, ml_pr_col(p) - col, false);
    p->n_around++;
    print_inside(p, b, true);
    p->n_around--;
    ml_pr_end_mark(p, at);
}

void ml_pr_block(ml_Printer *p, const ml_Block *b)
{
    const char *shown = NULL;
    if (p->o->names && p->o->names->map)
        shown = ml_map_get(p->o->names->map, b->tag);
    if (!shown)
        shown = b->name ? b->name : "";
    ml_pr_label_above(p, &b->base);
    ml_pr_line(p);
    uint32_t col = ml_pr_col(p);
    size_t at = ml_pr_n_marks(p), mark = ml_pr_scope_mark(p);
    ml_pr_z(p, "with ");
    ml_pr_t(p, p->newest ? "sblock(" : "block(");
    ml_pr_string(p, shown, strlen(shown));
    ml_pr_z(p, "):");
    ml_TextMark *m = ml_pr_mark(p, ML_MARK_BLOCK, b->tag, col);
    if (m)
        m->len = ml_pr_col(p) - col;
    ml_pr_underline(p, &b->base, col, ml_pr_col(p) - col, false);
    int32_t before = ml_pr_open(p);
    p->level++;
    p->n_around++;
    ml_pr_pending(p, p->scope);
    print_inside(p, b, false);
    p->n_around--;
    p->level--;
    ml_pr_close(p, before, mark);
    ml_pr_end_mark(p, at);
}
