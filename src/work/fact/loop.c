/*
 * loop - the counts of a loop as facts, and how accesses and sizes are written. Source:
 * lua-api 4, interaction 8.
 */
#include <math.h>

#include "moonloop/core/script/script.h"
#include "moonloop/core/vec.h"
#include "moonloop/work/fact/fact.h"

const char *ml_shown_name(const ml_Names *names, ml_Uid uid, const char *hint)
{
    const char *z = names && names->map ? ml_map_get(names->map, uid) : NULL;

    return z ? z : hint ? hint : "?";
}

static const char *name_stride(ml_StrideKind k)
{
    return k == ML_STRIDE_EVEN ? "even" : k == ML_STRIDE_UNEVEN ? "uneven" : "not affine";
}

static const ml_Expr *without_casts(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_CAST && ml_dtype_is_index(e->type) && e->type.lanes == 1 &&
        e->args[0]->kind == ML_EXPR_VAR) {
        const ml_Map *names = user;

        return ml_var(cx, ml_map_get(names, e->args[0]->as.var->uid));
    }
    return ml_expr_map_args(cx, e, without_casts, user);
}

static bool see_size(const ml_Expr *e, void *user)
{
    void **u = user;

    if (e->kind == ML_EXPR_VAR && !ml_map_has(u[1], e->as.var->uid)) {
        ml_Var *wide = ML_NEW((ml_Ctx *)u[0], ml_Var);

        *wide = *e->as.var;
        wide->type = ML_DT_I64;
        wide->hint = ml_shown_name(u[2], wide->uid, wide->hint);
        wide->uid = ml_fresh_uid(u[0]);
        ml_map_set(u[0], u[1], e->as.var->uid, wide);
    }
    return true;
}

/* Sizes are int32 in the program and int64 in counts: that is no matter for who reads it.
 */
void ml_text_sizes(ml_Ctx *cx, ml_Text *out, const ml_Expr *e, const ml_Names *names)
{
    ml_PrintOpts o = {.spelling = -1, .plain = true};
    ml_Map *wide = ml_map_new(cx);
    void *user[] = {cx, wide, (void *)(uintptr_t)(const void *)names};

    ml_expr_visit(e, see_size, user);
    ml_print_expr(cx, out, without_casts(cx, e, wide), &o);
}

void ml_text_access(ml_Ctx *cx, ml_Text *out, const ml_Site *site, const ml_Names *names)
{
    ml_PrintOpts o = {.spelling = -1, .plain = true, .names = names};

    ml_text_fmt(out, "%s[", ml_shown_name(names, site->text->uid, site->text->name));
    for (uint16_t d = 0; d < site->text->rank; d++) {
        ml_text_add(out, d ? ", " : "");
        ml_print_expr(cx, out, site->index[d], &o);
        if (site->declared)
            ml_text_add(out, ":");
    }
    ml_text_add(out, site->text->rank ? "]" : "()]");
}

/* ---- fields */

/* Left out where it is not known; a text where sizes decide it. */
static void tell_number(ml_Data *d, const ml_LoopRow *r, const char *key, ml_Number n)
{
    ml_Text t = {0};

    if (n.how == ML_UNKNOWN)
        return;
    if (!n.expr)
        ml_data_int(d, key, n.n);
    else {
        ml_text_sizes(r->cx, &t, n.expr, r->names);
        const char *z = ml_strdup(r->cx, ml_str(ml_text_z(&t)));

        ml_text_free(&t); /* telling may raise */
        ml_data_str(d, key, z);
    }
}

static void tell_extent(ml_Data *d, const char *key, const void *s)
{
    const ml_LoopRow *r = s;

    tell_number(d, r, key, r->f->extent);
}

static void tell_iterations(ml_Data *d, const char *key, const void *s)
{
    const ml_LoopRow *r = s;

    if (!r->brief)
        tell_number(d, r, key, r->f->iterations);
}

static void tell_flop(ml_Data *d, const char *key, const void *s)
{
    const ml_LoopRow *r = s;

    tell_number(d, r, key, r->f->flops);
}

static const char *buffer_name(const ml_LoopRow *r, const ml_Buffer *b)
{
    return ml_shown_name(r->names, b->uid, b->name);
}

/* What is told of each buffer, by the offset of the number. */
static void tell_touched(ml_Data *d, const char *key, const ml_LoopRow *r, size_t at)
{
    ml_data_object(d, key);
    for (uint32_t k = 0; k < r->f->n_touched; k++) {
        const ml_Touched *t = &r->f->touched[k];

        tell_number(d, r, buffer_name(r, t->buffer),
                    *(const ml_Number *)(const void *)((const char *)t + at));
    }
    ml_data_end(d);
}

static void tell_bytes(ml_Data *d, const char *key, const void *s)
{
    tell_touched(d, key, s, offsetof(ml_Touched, bytes));
}

static void tell_elements(ml_Data *d, const char *key, const void *s)
{
    if (!((const ml_LoopRow *)s)->brief)
        tell_touched(d, key, s, offsetof(ml_Touched, elements));
}

static void tell_loads(ml_Data *d, const char *key, const void *s)
{
    if (!((const ml_LoopRow *)s)->brief)
        tell_touched(d, key, s, offsetof(ml_Touched, loads));
}

static void tell_stores(ml_Data *d, const char *key, const void *s)
{
    if (!((const ml_LoopRow *)s)->brief)
        tell_touched(d, key, s, offsetof(ml_Touched, stores));
}

static void tell_reuse(ml_Data *d, const char *key, const void *s)
{
    const ml_LoopRow *r = s;

    if (r->brief)
        return;
    ml_data_object(d, key);
    for (uint32_t k = 0; k < r->f->n_touched; k++)
        ml_data_real(d, buffer_name(r, r->f->touched[k].buffer),
                     ml_reuse(&r->f->touched[k], NULL));
    ml_data_end(d);
}

static void tell_stride(ml_Data *d, const ml_LoopRow *r, const ml_Stride *v)
{
    const ml_Block *block = v->site->block;
    ml_Text t = {0};

    ml_text_access(r->cx, &t, v->site, r->names);
    const char *access = ml_strdup(r->cx, ml_str(ml_text_z(&t)));

    ml_text_free(&t);
    ml_data_object(d, NULL);
    ml_data_str(d, "access", access);
    ml_data_str(d, "buffer", buffer_name(r, v->site->buffer));
    if (block)
        ml_data_str(d, "block", ml_shown_name(r->names, block->tag, block->name));
    ml_data_bool(d, "store", v->site->write);
    ml_data_str(d, "kind", name_stride((ml_StrideKind)v->kind));
    if (v->kind != ML_STRIDE_OPEN)
        tell_number(d, r, "stride", (ml_Number){.n = v->n, .expr = v->expr});
    ml_data_end(d);
}

static void tell_strides(ml_Data *d, const char *key, const void *s)
{
    const ml_LoopRow *r = s;

    if (r->brief)
        return;
    ml_data_list(d, key);
    for (uint32_t k = 0; k < r->f->n_strides; k++)
        tell_stride(d, r, &r->f->strides[k]);
    ml_data_end(d);
}

static void tell_bound(ml_Data *d, const ml_LoopRow *r, ml_Number n, const char *what,
                       const ml_Buffer *of)
{
    if (n.how == ML_AT_MOST)
        ml_data_str(d, NULL,
                    of ? ml_format(r->cx, "%s.%s", what, buffer_name(r, of)) : what);
}

static void tell_bounds(ml_Data *d, const char *key, const void *s)
{
    const ml_LoopRow *r = s;

    ml_data_list(d, key);
    tell_bound(d, r, r->f->extent, "extent", NULL);
    if (!r->brief)
        tell_bound(d, r, r->f->iterations, "iterations", NULL);
    tell_bound(d, r, r->f->flops, "flop", NULL);
    for (uint32_t k = 0; k < r->f->n_touched; k++) {
        const ml_Touched *t = &r->f->touched[k];

        tell_bound(d, r, t->bytes, "bytes", t->buffer);
        if (r->brief)
            continue;
        tell_bound(d, r, t->elements, "elements", t->buffer);
        tell_bound(d, r, t->loads, "loads", t->buffer);
        tell_bound(d, r, t->stores, "stores", t->buffer);
    }
    ml_data_end(d);
}

#define ML_FIELDS       "work/fact/loop.def"
#define ML_FIELDS_TABLE ml_loop_fields
#define ML_FIELDS_NAME  "counts"
#define ML_FIELDS_WHAT  "a loop"
#include "moonloop/core/json/field_table.def"
