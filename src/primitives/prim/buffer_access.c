/*
 * annotate_buffer_access, unsafe_hide_buffer_access - what a block declares that it reads
 * or writes, said by a person.
 *
 * What is declared as written is written: later steps believe it. A region that does not
 * hold what the block accesses is refused where some instance shows it; where nothing shows
 * either it is trusted, which is written down: runs in the interpreter fail where an access
 * falls outside. Source: primitives 11.
 */
#include "moonloop/primitives/rewrite/move.h"

#include "moonloop/core/shown.h"
#include "moonloop/primitives/rewrite/access_sample.h"

static const char *trusted_key(bool write)
{
    return write ? "trusted_write_region" : "trusted_read_region";
}

static const char *explicit_key(bool write)
{
    return write ? "explicit_write_region" : "explicit_read_region";
}

/* The region that the map gives: begin and end per dimension. */
static bool new_region(ml_Call *c, const ml_Block *b, const ml_Region *old,
                       const ml_IndexMap *m, ml_Arith *ar, ml_Range *out)
{
    const ml_Buffer *buf = old->buffer;
    ml_Ctx *cx = c->cx;
    const ml_Expr **iters = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1u);
    const ml_Expr **ends = ML_ARRAY(cx, const ml_Expr *, m->n_exprs + 1u);

    if (m->n_vars != b->n_iters)
        return ml_fail_as(cx, ML_E_BAD_ARGUMENT,
                          "gen_new_ranges takes {0} indices; block {1} has {2} iters",
                          ML_NUMBER("indices", m->n_vars), ML_BLOCK(b),
                          ML_NUMBER("iters", b->n_iters));
    if (m->n_exprs != 2u * buf->rank)
        return ml_fail_as(cx, ML_E_BAD_ARGUMENT,
                          "gen_new_ranges gives {0} numbers; {1} has {2} dimensions: {2} "
                          "points or {3} begins and ends are needed",
                          ML_NUMBER("given", m->n_exprs), ML_BUFFER(buf),
                          ML_NUMBER("rank", buf->rank), ML_NUMBER("needed", 2u * buf->rank),
                          ML_BLOCK(b));
    for (size_t k = 0; k < b->n_iters; k++)
        iters[k] = ml_var(cx, b->iters[k].var);
    ml_index_map_apply(ar, m, iters, ends);
    for (size_t d = 0; d < buf->rank; d++) {
        ml_Dtype t = old->ranges[d].min->type;
        const ml_Expr *begin = ml_cast(cx, t, ends[2 * d]);
        const ml_Expr *end = ml_cast(cx, t, ends[2 * d + 1]);

        out[d] = (ml_Range){begin, ml_simplify(ar, ml_sub(cx, end, begin))};
    }
    return true;
}

/* What of inner lies in the buffer lies in outer; told: where that can be told. */
static bool includes(ml_Arith *ar, const ml_Buffer *buf, const ml_Range *outer,
                     const ml_Range *inner, bool told, size_t *dim)
{
    for (*dim = 0; *dim < buf->rank; ++*dim) {
        const ml_Range *o = &outer[*dim], *i = &inner[*dim];

        if (told && !(ml_is_told(i->min) && ml_is_told(i->extent)))
            continue;
        ml_Interval all = ml_interval_range(ar, o->min, o->extent);
        ml_Interval in = ml_interval_range(ar, i->min, i->extent);

        if (!ml_interval_includes(ar, all, in) &&
            !ml_interval_includes(ar, all, ml_interval_inside(ar, in, buf, *dim)))
            return false;
    }
    return true;
}

/* The region holds what these regions touch of the buffer (told: where it can be told). */
static bool holds_all(ml_Arith *ar, const ml_Buffer *buf, const ml_Region *v, size_t n,
                      const ml_Range *region, bool told, size_t *dim)
{
    for (size_t k = 0; k < n; k++)
        if (v[k].buffer->uid == buf->uid &&
            !includes(ar, buf, region, v[k].ranges, told, dim))
            return false;
    return true;
}

/* The region is not shown to hold all. It is believed where nothing of it is shown to be
 * wrong: by the instances that are tried, or, where there are none, because it is said of
 * what cannot be told alone. *untold: there is such. */
static bool may_trust(ml_Call *c, const ml_Block *b, const ml_Buffer *buf, bool write,
                      ml_Arith *ar, const ml_Range *region, const ml_Access *all,
                      size_t dim, bool *untold)
{
    ml_Ctx *cx = c->cx;
    ml_Access told = {0};
    bool tried;
    const char *wrong = ml_access_outside(c, b, buf, write, region, &tried);

    if (wrong)
        return ml_fail_as(cx, ML_E_REGION_UNDECLARED,
                          "the region does not hold all of {0} that block {1} {2}: {3}",
                          ML_BUFFER(buf), ML_BLOCK(b), ML_TEXT(write ? "writes" : "reads"),
                          ML_TEXT(wrong));
    *untold = ml_block_told_access(cx, ml_call_func(c), b, buf, &told);
    if (tried || (*untold &&
                  holds_all(ar, buf, write ? told.writes.v : told.reads.v,
                            write ? told.writes.n : told.reads.n, region, false, &dim) &&
                  holds_all(ar, buf, write ? all->writes.v : all->reads.v,
                            write ? all->writes.n : all->reads.n, region, true, &dim)))
        return true;
    return ml_unproved(cx, ML_E_REGION_UNDECLARED,
                       "the region holds all of {0} that block {1} {2}: dimension {3}",
                       ML_BUFFER(buf), ML_BLOCK(b), ML_TEXT(write ? "writes" : "reads"),
                       ML_NUMBER("dimension", dim));
}

/* The region against what the body accesses. */
static bool check_region(ml_Call *c, const ml_Block *b, const ml_Buffer *buf, bool write,
                         ml_Arith *ar, const ml_Range *region, bool *trusted)
{
    ml_Ctx *cx = c->cx;
    ml_Access a = {0};
    bool untold = false;
    size_t dim;

    ml_block_access(cx, ml_call_func(c), b, &a);
    if (ml_error(cx))
        return false;
    for (size_t k = 0; k < a.opaque.n; k++)
        if (a.opaque.v[k]->uid == buf->uid) {
            ml_call_note(c,
                         "block %s uses %s through its pointer: nobody can tell whether "
                         "the region holds",
                         ml_shown(c->cx, b), ml_shown(c->cx, buf));
            return true;
        }
    if (!holds_all(ar, buf, write ? a.writes.v : a.reads.v, write ? a.writes.n : a.reads.n,
                   region, false, &dim)) {
        if (!may_trust(c, b, buf, write, ar, region, &a, dim, &untold))
            return false;
        *trusted = true;
        ml_call_note(c,
                     "trusted: cannot show that the region holds all of %s that block %s "
                     "%s (dimension %zu); a check fails where it does not",
                     ml_shown(cx, buf), ml_shown(cx, b), write ? "writes" : "reads", dim);
    }
    for (size_t k = 0; k < a.writes.n && write && !untold; k++)
        if (a.writes.v[k].buffer->uid == buf->uid &&
            !includes(ar, buf, a.writes.v[k].ranges, region, false, &dim))
            return ml_unproved(cx, ML_E_PART_WRITTEN,
                               "block {0} writes all of the region of {1}: dimension {2}; "
                               "later steps would believe it",
                               ML_BLOCK(b), ML_BUFFER(buf), ML_NUMBER("dimension", dim));
    return true;
}

/* The list of positions with one more. */
static const ml_Value *with_position(ml_Ctx *cx, const ml_Value *old, int64_t at)
{
    bool is_list = old && old->kind == ML_VAL_LIST;
    size_t n = !old ? 0 : is_list ? old->n : 1;
    const ml_Value **list = ML_ARRAY(cx, const ml_Value *, n + 1);

    for (size_t k = 0; k < n; k++) {
        list[k] = is_list ? old->as.list[k] : old;
        if (list[k]->kind == ML_VAL_INT && list[k]->as.i == at)
            return old;
    }
    list[n] = ml_val_int(cx, at);
    return ml_val_list(cx, list, n + 1);
}

/* The annotations with the position in the list of that name, or without it. */
static const ml_Value *with_trust(ml_Ctx *cx, const ml_Value *notes, const char *key,
                                  int64_t at, bool trusted)
{
    const ml_Value *old = ml_dict_get(notes, key);
    ML_VEC(const ml_Value *) list = {0};

    if (trusted)
        return ml_dict_with(cx, notes, key, with_position(cx, old, at));
    for (size_t k = 0; old && old->kind == ML_VAL_LIST && k < old->n; k++)
        if (old->as.list[k]->kind != ML_VAL_INT || old->as.list[k]->as.i != at)
            ml_push(cx, &list, old->as.list[k]);
    return list.n ? ml_dict_with(cx, notes, key, ml_val_list(cx, list.v, list.n))
                  : ml_dict_without(cx, notes, key);
}

/* What the body accesses of the buffer, in dimension d, and all of the buffer. */
static ml_Interval reach(ml_Arith *ar, const ml_Buffer *buf, const ml_Region *v, size_t n,
                         size_t d)
{
    ml_Interval all = ml_interval_range(
        ar, ml_int(ml_arith_ctx(ar), buf->shape[d]->type, 0), buf->shape[d]);

    for (size_t k = 0; k < n; k++)
        if (v[k].buffer->uid == buf->uid)
            all = ml_interval_union(
                ar, all, ml_interval_range(ar, v[k].ranges[d].min, v[k].ranges[d].extent));
    return all;
}

/* A region is cut to the buffer wherever it is used: one that provably reaches past it, and
 * past what guarded accesses reach, is worth a word. */
static void note_ends(ml_Call *c, const ml_Block *b, const ml_Buffer *buf,
                      const ml_Range *region)
{
    ml_Ctx *cx = c->cx;
    ml_Arith *ar = ml_arith_at(cx, c->p, b->tag);
    ml_Access a = {0};
    ml_DomVec dom = {0};

    ml_block_access(cx, ml_call_func(c), b, &a);
    for (size_t k = 0; k < b->n_iters; k++)
        ml_push(cx, &dom, ((ml_Dom){b->iters[k].var, b->iters[k].min, b->iters[k].extent}));
    for (size_t d = 0; d < buf->rank; d++) {
        ml_Interval all = reach(ar, buf, a.reads.v, a.reads.n, d);
        const ml_Expr *one = ml_int(cx, region[d].min->type, 1);
        const ml_Expr *last = ml_sub(cx, ml_add(cx, region[d].min, region[d].extent), one);
        const ml_Expr *ends[2][2] = {{all.min, region[d].min}, {last, all.max}};

        for (size_t k = 0; k < 2; k++) { /* how far over, at the point where it is most */
            if (!ends[k][0] || !ends[k][1] || !ml_promote(cx, &ends[k][0], &ends[k][1]))
                continue;
            ml_Interval over =
                ml_relax(ar, ml_sub(cx, ends[k][0], ends[k][1]), dom.v, dom.n);

            if (over.max && ml_arith_bound(ar, over.max).lo >= 1)
                ml_call_note(c,
                             "dimension %zu of the region reaches %lld %s %s; only what is "
                             "in the buffer counts",
                             d, (long long)ml_arith_bound(ar, over.max).lo,
                             k ? "beyond the end of" : "before the beginning of",
                             ml_shown(c->cx, buf));
        }
    }
}

static bool annotate_buffer_access(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, c->args[0].uid);
    bool write = c->args[1].b;
    size_t at = (size_t)c->args[1].i;
    const ml_Region *old = &(write ? b->writes : b->reads)[at];
    const ml_Buffer *buf = old->buffer;
    ml_Range *region = ML_ARRAY(cx, ml_Range, buf->rank + 1u);
    ml_Arith *ar = ml_arith_at(cx, c->p, b->tag);
    uint32_t n = write ? b->n_writes : b->n_reads;
    ml_Region *list = ML_ARRAY(cx, ml_Region, n);
    ml_Block nb = *b;
    bool trusted = false;

    ml_arith_bind_iters(ar, b);
    if (!new_region(c, b, old, c->args[2].map, ar, region))
        return false;
    /* Also where conditions are not asked: what is trusted is part of the program. */
    if (!check_region(c, b, buf, write, ar, region, &trusted)) {
        if (ml_call_asks(c, ML_SOUND))
            return false;
        ml_error_clear(cx);
    }
    if (!write)
        note_ends(c, b, buf, region);
    memcpy(list, write ? b->writes : b->reads, n * sizeof *list);
    list[at].ranges = region;
    if (write)
        nb.writes = list;
    else
        nb.reads = list;
    nb.annotations = ml_dict_with(
        cx, b->annotations, explicit_key(write),
        with_position(cx, ml_dict_get(b->annotations, explicit_key(write)), (int64_t)at));
    nb.annotations =
        with_trust(cx, nb.annotations, trusted_key(write), (int64_t)at, trusted);
    ml_call_replace(c, b->tag, ml_block_from(cx, &nb));
    ml_call_subject(c, ML_BLOCK_OF, nb.tag, NULL);
    return true;
}

/* ---- hiding */

/* Positions of the list of that name without the hidden ones. */
static const ml_Value *moved_positions(ml_Ctx *cx, const ml_Value *notes, const char *key,
                                       const bool *hidden, uint32_t n)
{
    const ml_Value *old = ml_dict_get(notes, key);
    ML_VEC(const ml_Value *) list = {0};

    if (!old || old->kind != ML_VAL_LIST)
        return notes;
    for (uint32_t k = 0, at = 0; k < n; k++) {
        if (hidden[k])
            continue;
        for (size_t m = 0; m < old->n; m++)
            if (old->as.list[m]->kind == ML_VAL_INT && old->as.list[m]->as.i == k) {
                ml_push(cx, &list, ml_val_int(cx, at));
                break;
            }
        at++;
    }
    return ml_dict_with(cx, notes, key, ml_val_list(cx, list.v, list.n));
}

static bool unsafe_hide_buffer_access(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, c->args[0].uid);
    const char *side = c->args[1].s, *names = "";
    const ml_Value *which = c->args[2].value;
    bool write = ml_streq(side, "write");

    if (!write && !ml_streq(side, "read"))
        return ml_fail_as(cx, ML_E_BAD_ARGUMENT,
                          "buf_type is \"{0}\"; it is \"read\" or \"write\"",
                          ML_TEXT(side));
    uint32_t n = write ? b->n_writes : b->n_reads, kept = 0;
    const ml_Region *old = write ? b->writes : b->reads;
    ml_Region *list = ML_ARRAY(cx, ml_Region, n + 1);
    bool *hidden = ML_ARRAY(cx, bool, n + 1);

    memset(hidden, 0, n + 1);
    for (uint32_t k = 0; k < which->n; k++) {
        int64_t at = which->as.list[k]->as.i;

        if (at < 0 || at >= (int64_t)n)
            return ml_fail(cx, ML_E_BUFFER_INDEX, ML_BLOCK(b), ML_NUMBER("regions", n),
                           ML_TEXT(side), ML_NUMBER("index", at));
        if (!hidden[at])
            names =
                ml_format(cx, "%s%s%s", names, *names ? ", " : "", old[at].buffer->name);
        hidden[at] = true;
    }
    if (which->n == 0)
        return true;
    for (uint32_t k = 0; k < n; k++)
        if (!hidden[k])
            list[kept++] = old[k];
    ml_Block nb = *b;

    if (write) {
        nb.writes = list;
        nb.n_writes = kept;
    } else {
        nb.reads = list;
        nb.n_reads = kept;
    }
    nb.annotations = moved_positions(cx, b->annotations, explicit_key(write), hidden, n);
    nb.annotations = moved_positions(cx, nb.annotations, trusted_key(write), hidden, n);
    ml_call_replace(c, b->tag, ml_block_from(cx, &nb));
    ml_call_note(c, "unsafe: later steps do not know that block %s %s %s",
                 ml_shown(c->cx, b), write ? "writes" : "reads", names);
    return true;
}

static const ml_Param annotate_params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block whose region is given"),
    ML_PARAM("buffer_index", ML_P_BUFFER, "which one: position and side, or a name"),
    {.name = "gen_new_ranges",
     .kind = ML_P_MAP,
     .ranges = true,
     .doc = "from the iters to a point, or {begin, end}, per dimension"},
};

const ml_Primitive ml_prim_annotate_buffer_access = {
    ML_PRIM(annotate_buffer_access, "AnnotateBufferAccess"),
    .group = "storage",
    .summary = "declare what a block accesses of a buffer",
    .help = "The region replaces the declared one and stays when regions are worked out\n"
            "again. It must hold what the block accesses: where that cannot be told it is\n"
            "trusted, and :check fails when an access falls outside.",
    ML_PARAMS(annotate_params),
    .result = ML_R_NONE,
    .posts = (const ml_Post[]){{ML_SOUND, ML_BLOCK_OF, ml_check_stays_declared, NULL}, {0}},
    .errors =
        (const ml_ErrorCode[]){ML_E_BUFFER_INDEX, ML_E_BUFFER_NOT_FOUND, ML_E_BAD_ARGUMENT,
                               ML_E_PART_WRITTEN, ML_E_REGION_UNDECLARED, ML_E_OK},
};

static const ml_Param hide_params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block whose regions are dropped"),
    ML_PARAM("buf_type", ML_P_STRING, "\"read\" or \"write\""),
    {.name = "buf_index_array",
     .kind = ML_P_INTS,
     .names = ML_NAMES_BUFFERS,
     .doc = "positions of the regions, or names of the buffers"},
};

const ml_Primitive ml_prim_unsafe_hide_buffer_access = {
    ML_PRIM(unsafe_hide_buffer_access, "UnsafeHideBufferAccess"),
    .group = "storage",
    .summary = "drop declared regions of a block",
    .help =
        "Later steps do not know of these accesses any more: what they do to the buffer\n"
        "may change results.",
    ML_PARAMS(hide_params),
    .result = ML_R_NONE,
    .errors = (const ml_ErrorCode[]){ML_E_BAD_ARGUMENT, ML_E_BUFFER_INDEX, ML_E_OK},
};
