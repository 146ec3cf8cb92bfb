/* block - what a block is, as facts. Source: lua-api 4, interaction 4. */
#include "moonloop/core/script/script.h"
#include "moonloop/work/fact/fact.h"

static const char *const PROPERTIES[ML_BLOCK_PROPERTIES] = {
    [ML_IS_AFFINE] = "affine",           [ML_IS_SPATIAL] = "spatial",
    [ML_IS_TRIVIAL] = "trivial_binding", [ML_IS_COMPLETE] = "complete",
    [ML_IS_REDUCTION] = "reduction",     [ML_IS_COVERED] = "region_cover",
    [ML_IS_PIPELINE] = "stage_pipeline", [ML_IS_OUTPUT] = "output",
};

void ml_block_row(ml_Ctx *cx, ml_Facts *facts, ml_Schedule *s, ml_Uid tag, ml_BlockRow *out)
{
    ml_Program p = ml_schedule_program(s);
    ml_Uid scope = ml_index_scope(p.index, tag);
    const ml_Block *b = ml_as_block(ml_index_node(p.index, tag));
    const ml_Buffer *written = NULL;
    bool *is = out->is;

    *out = (ml_BlockRow){.cx = cx, .s = s, .tag = tag, .block = b, .in_scope = scope != 0};
    is[ML_IS_AFFINE] = ml_is_affine(cx, facts, p, tag, &out->why[ML_IS_AFFINE]);
    is[ML_IS_SPATIAL] = ml_is_spatial_block(b);
    is[ML_IS_TRIVIAL] = ml_is_trivial_binding(cx, p, tag);
    if (!scope)
        return;
    is[ML_IS_COMPLETE] =
        ml_complete_violation(cx, facts, p, tag, &out->why[ML_IS_COMPLETE]) == 0;
    is[ML_IS_REDUCTION] =
        ml_reduction_violation(cx, facts, p, tag, &out->why[ML_IS_REDUCTION]) == 0;
    is[ML_IS_COVERED] = ml_is_covered(cx, facts, p, tag, false);
    is[ML_IS_PIPELINE] = ml_is_stage_pipeline(cx, facts, p, scope);
    is[ML_IS_OUTPUT] = ml_is_output_block(p, tag, &written);
    ml_producers(cx, facts, p, tag, &out->after);
    ml_consumers(cx, facts, p, tag, &out->before);
    ml_error_clear(cx);
}

/* Of the others nothing is known about the root of a function. */
static bool is_known(const ml_BlockRow *r, size_t property)
{
    return r->in_scope || property < ML_IS_COMPLETE;
}

static const char *kind_of(const ml_BlockRow *r)
{
    return r->is[ML_IS_COMPLETE] ? "complete" : r->is[ML_IS_REDUCTION] ? "reduction" : NULL;
}

static void tell_property(ml_Data *d, const char *key, const void *s)
{
    const ml_BlockRow *r = s;

    for (size_t k = 0; k < ML_BLOCK_PROPERTIES; k++)
        if (ml_streq(PROPERTIES[k], key) && is_known(r, k))
            ml_data_bool(d, key, r->is[k]);
}

static void tell_why(ml_Data *d, const char *key, const void *s)
{
    const ml_BlockRow *r = s;

    ml_data_object(d, key);
    for (size_t k = 0; k < ML_BLOCK_PROPERTIES; k++)
        if (is_known(r, k) && !r->is[k])
            ml_data_str(d, PROPERTIES[k], r->why[k]);
    ml_data_end(d);
}

/* The text in cx: telling it may raise. */
static const char *keep(const ml_BlockRow *r, ml_Text *t)
{
    const char *z = ml_strdup(r->cx, ml_str(ml_text_z(t)));

    ml_text_free(t);
    return z;
}

static const char *expr_text(const ml_BlockRow *r, const ml_Expr *e)
{
    ml_Text t = {0};

    ml_print_expr(r->cx, &t, e,
                  &(ml_PrintOpts){.spelling = -1, .names = ml_schedule_names(r->s)});
    return keep(r, &t);
}

static void tell_iters(ml_Data *d, const char *key, const void *s)
{
    const ml_BlockRow *r = s;

    ml_data_list(d, key);
    for (size_t k = 0; k < r->block->n_iters; k++) {
        const ml_Iter *it = &r->block->iters[k];
        const char *binding = expr_text(r, it->value);

        ml_data_object(d, NULL);
        ml_data_str(d, "name", it->var->hint);
        ml_data_str(d, "kind", ml_iter_kind_name((ml_IterKind)it->kind));
        if (ml_is_const_int(it->extent))
            ml_data_int(d, "extent", it->extent->as.i);
        ml_data_str(d, "binding", binding);
        ml_data_end(d);
    }
    ml_data_end(d);
}

static void tell_predicate(ml_Data *d, const char *key, const void *s)
{
    const ml_BlockRow *r = s;

    if (!ml_is_true(r->block->predicate))
        ml_data_str(d, key, expr_text(r, r->block->predicate));
}

static void tell_regions(ml_Data *d, const char *key, const ml_BlockRow *r,
                         const ml_Region *v, size_t n)
{
    const ml_PrintOpts o = {
        .spelling = -1, .plain = true, .names = ml_schedule_names(r->s)};

    ml_data_list(d, key);
    for (size_t k = 0; k < n; k++) {
        ml_Text t = {0};

        ml_print_region(r->cx, &t, &v[k], &o);
        ml_data_str(d, NULL, keep(r, &t));
    }
    ml_data_end(d);
}

static void tell_reads(ml_Data *d, const char *key, const void *s)
{
    const ml_BlockRow *r = s;

    tell_regions(d, key, r, r->block->reads, r->block->n_reads);
}

static void tell_writes(ml_Data *d, const char *key, const void *s)
{
    const ml_BlockRow *r = s;

    tell_regions(d, key, r, r->block->writes, r->block->n_writes);
}

static void tell_blocks(ml_Data *d, const char *key, const ml_BlockRow *r,
                        const ml_UidVec *v)
{
    if (!r->in_scope)
        return;
    ml_data_list(d, key);
    for (size_t k = 0; k < v->n; k++)
        ml_data_str(d, NULL, ml_name_of(r->s, v->v[k]));
    ml_data_end(d);
}

static void tell_after(ml_Data *d, const char *key, const void *s)
{
    tell_blocks(d, key, s, &((const ml_BlockRow *)s)->after);
}

static void tell_before(ml_Data *d, const char *key, const void *s)
{
    tell_blocks(d, key, s, &((const ml_BlockRow *)s)->before);
}

#define ML_FIELDS       "work/fact/block.def"
#define ML_FIELDS_TABLE ml_block_fields
#define ML_FIELDS_NAME  "block"
#define ML_FIELDS_WHAT  "a block"
#include "moonloop/core/json/field_table.def"
