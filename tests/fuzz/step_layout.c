/* step_layout - random calls that change layouts, of buffers and of blocks. */
#include "step_impl.h"

static int64_t length(const ml_Expr *e)
{
    return e->kind == ML_EXPR_INT ? e->as.i : 6;
}

/* A factor of n, mostly. */
static int tile(const View *v, int64_t n)
{
    int f = 2 + below(v, 3);

    for (int k = 2; k < 6 && n % f != 0 && chance(v, 80); k++)
        f = k;
    return f;
}

/* A map of the indices i0, i1, ... of a buffer to those of another layout. */
static void add_map(const View *v, const ml_Expr *const *shape, int rank, bool marks,
                    ml_Text *out)
{
    int order[16], at = rank ? below(v, rank) : 0, form = below(v, 11);

    ml_text_add(out, "\"lambda ");
    for (int k = 0; k < rank; k++) {
        ml_text_fmt(out, "%si%d", k ? ", " : "", k);
        order[k] = k;
    }
    for (int k = rank - 1; k > 0 && chance(v, 50); k--) {
        int o = below(v, k + 1), t = order[k];

        order[k] = order[o];
        order[o] = t;
    }
    ml_text_add(out, ": (");
    for (int m = 0; m < rank; m++) {
        int k = order[m], f = tile(v, length(shape[k]));
        long long n = (long long)length(shape[k]);

        if (marks && m > 0 && chance(v, 6))
            ml_text_add(out, "T.axis_separator(), ");
        if (k != at || form == 8 || form == 9)
            ml_text_fmt(out, "i%d, ", k);
        else if (form < 4) /* the parts beside each other or apart */
            ml_text_fmt(out, form < 2 ? "i%d // %d, i%d %% %d, " : "i%d %% %d, i%d // %d, ",
                        k, f, k, f);
        else if (form == 4)
            ml_text_fmt(out, "%lld - i%d, ", n - 1, k);
        else if (form == 5)
            ml_text_fmt(out, "(i%d + %d) // %d, (i%d + %d) %% %d, ", k, f - 1, f, k, f - 1,
                        f);
        else if (form == 6 && m + 1 < rank) {
            m++;
            ml_text_fmt(out, "i%d * %lld + i%d, ", k, (long long)length(shape[order[m]]),
                        order[m]);
        } else if (form == 10 && m + 1 < rank && length(shape[order[m + 1]]) == 1) {
            m++; /* gaps beside one value */
            ml_text_fmt(out, "i%d * %d + i%d, ", k, f, order[m]);
        } else if (form == 10)
            ml_text_fmt(out, "i%d * %d, ", k, f);
        else
            ml_text_fmt(out, chance(v, 50) ? "i%d // 2, " : "i%d * 2 + 1, ", k);
    }
    ml_text_add(out, ")\"");
}

static bool is_own(const View *v, const ml_Buffer *b)
{
    bool is_match = false;
    uint32_t func = ml_index_func(v->p.index, ml_stmt_uid(v->blocks.v[0]));

    return ml_buffer_site(v->p, func, b, &is_match) != 0;
}

/* Only of buffers that the program allocates: another layout of a parameter is another
 * interface. */
bool fz_add_layout(const View *v, ml_Text *out)
{
    for (int k = 0; k < 12; k++) {
        const ml_Block *b = fz_inner_block(v);
        bool write = chance(v, 50);
        uint32_t n = write ? b->n_writes : b->n_reads;
        int at = n ? below(v, (int)n) : 0;

        if (!n)
            continue;
        const ml_Buffer *buf = (write ? b->writes : b->reads)[at].buffer;

        if (!is_own(v, buf) || buf->rank > 6)
            continue;
        ml_text_fmt(out, "transform_layout(\"%s\", {\"%s\", %d}, ", name(v, &b->base),
                    write ? "write" : "read", at);
        add_map(v, buf->shape, buf->rank, true, out);
        if (chance(v, 60))
            ml_text_add(out,
                        ml_dtype_is_float(buf->type) == chance(v, 95) ? ", 1.0" : ", 1");
        ml_text_add(out, ")");
        return true;
    }
    if (chance(v, 90))
        return false;
    ml_text_fmt(out,
                "transform_layout(\"%s\", {\"write\", 0}, \"lambda a, b, c, d, e, f, "
                "g, h: (a,)\")",
                name(v, &fz_any_block(v)->base));
    return true;
}

/* Of a block whose iters are its loops, when one is found. */
void fz_add_block_layout(const View *v, ml_Text *out)
{
    const ml_Block *b = fz_any_block(v);
    const ml_Expr *shape[8] = {0};

    for (int k = 0; k < 10; k++, b = fz_any_block(v)) {
        ml_StmtVec loops = {0}, blocks = {0};

        ml_index_loops(v->tmp, v->p.index, b->tag, &loops);
        if (loops.n == 0 || loops.n != b->n_iters || b->n_iters > 6)
            continue;
        ml_child_blocks(v->tmp, loops.v[0], &blocks);
        if (blocks.n == 1 && ml_is_trivial_binding(v->tmp, v->p, b->tag))
            break;
    }
    uint32_t n = b->n_iters < 8 ? b->n_iters : 8;

    for (uint32_t k = 0; k < n; k++)
        shape[k] = b->iters[k].extent;
    ml_text_fmt(out, "transform_block_layout(\"%s\", ", name(v, &b->base));
    add_map(v, shape, (int)n, chance(v, 5), out);
    ml_text_add(out, ")");
}

/* Of a block whose iters are its loops, mostly. */
void fz_add_padding(const View *v, ml_Text *out)
{
    const ml_Block *b = fz_any_block(v);

    for (int k = 0; k < 6; k++, b = fz_any_block(v)) {
        ml_StmtVec loops = {0};

        ml_index_loops(v->tmp, v->p.index, b->tag, &loops);
        if (loops.n > 0 && loops.n == b->n_iters)
            break;
    }
    ml_text_fmt(out, "pad_einsum(\"%s\", {", name(v, &b->base));
    for (uint32_t k = 0; k < b->n_iters; k++) {
        bool spatial = b->iters[k].kind == ML_ITER_SPATIAL;

        ml_text_fmt(out, "%s%d", k ? ", " : "",
                    chance(v, spatial ? 50 : 20) ? 2 + below(v, 4) : 1);
    }
    ml_text_add(out, chance(v, 98) || b->n_iters == 0 ? "})" : ", 0})");
}

static bool pads(const ml_Block *b)
{
    return b->body->kind == ML_STMT_STORE &&
           ml_is_op(ml_as_store(b->body)->value, ML_OP_IF_THEN_ELSE);
}

/* Of a block that stores a value or a constant, when there is one. */
void fz_add_decompose_padding(const View *v, ml_Text *out)
{
    const ml_Block *b = fz_any_block(v), *one = b;
    int n = (int)v->blocks.n, from = below(v, n);

    for (int k = 0; k < n && !pads(one) && chance(v, 95); k++)
        one = ml_as_block(v->blocks.v[(from + k) % n]);
    if (!pads(one) && chance(v, 60)) { /* makes some */
        fz_add_padding(v, out);
        return;
    }
    b = pads(one) ? one : b;
    ml_text_fmt(out, "decompose_padding(\"%s\", ", name(v, &b->base));
    ml_text_fmt(out, "\"%s\")", name(v, &fz_loop_of(v, b->tag)->base));
}

static int index_below(const View *v, uint32_t n)
{
    return chance(v, 96) && n ? below(v, (int)n) : below(v, 4);
}

void fz_add_separators(const View *v, ml_Text *out)
{
    const ml_Block *b = fz_inner_block(v);
    bool write = chance(v, 50) || !b->n_reads;
    uint32_t n = write ? b->n_writes : b->n_reads;
    int at = index_below(v, n), rank = 1;

    if ((uint32_t)at < n)
        rank = (write ? b->writes : b->reads)[at].buffer->rank;
    ml_text_fmt(out, "set_axis_separator(\"%s\", {\"%s\", %d}, {", name(v, &b->base),
                write ? "write" : "read", at);
    for (int k = below(v, 2); k <= rank + chance(v, 10); k += 1 + below(v, 3))
        ml_text_fmt(out, "%d, ", k);
    ml_text_add(out, "})");
}

/* Wider types only: values stay what they are. */
void fz_add_dtype(const View *v, ml_Text *out)
{
    const ml_Block *b = fz_inner_block(v);
    const char *to = "float33";
    int at = index_below(v, b->n_writes);

    for (int k = 0; k < 6 && b->n_writes && !is_own(v, b->writes[0].buffer); k++) {
        b = fz_inner_block(v);
        at = index_below(v, b->n_writes);
    }
    if ((uint32_t)at < b->n_writes && chance(v, 97)) {
        ml_Dtype t = b->writes[at].buffer->type;

        to = ml_dtype_is_float(t) ? "float64" : ml_dtype_is_int(t) ? "int64" : "int32";
    }
    ml_text_fmt(out, "unsafe_set_dtype(\"%s\", %d, \"%s\")", name(v, &b->base), at, to);
}

/* A range that takes in neighbours, at one time or one after another. */
static bool is_wide(const ml_Range *r)
{
    return !ml_is_int(r->extent, 1) ||
           (r->min->kind == ML_EXPR_ADD && r->min->args[0]->kind != ML_EXPR_INT &&
            r->min->args[1]->kind != ML_EXPR_INT);
}

/* The loop that a wide range of what the block reads moves with, the buffer's position
 * among the reads; NULL: none. */
static const ml_For *slides(const View *v, const ml_Block *b, const ml_Buffer *buf, int *at)
{
    ml_StmtVec loops = {0};

    ml_index_loops(v->tmp, v->p.index, b->tag, &loops);
    for (size_t k = 0; k < b->n_reads; k++)
        for (size_t d = 0; d < b->reads[k].buffer->rank; d++) {
            const ml_Range *r = &b->reads[k].ranges[d];

            if ((buf && b->reads[k].buffer->uid != buf->uid) || !is_wide(r))
                continue;
            for (size_t m = 0; m < b->n_iters; m++)
                for (size_t l = 0; ml_expr_uses_var(r->min, b->iters[m].var) && l < loops.n;
                     l++)
                    if (b->iters[m].kind == ML_ITER_SPATIAL &&
                        ml_expr_uses_var(b->iters[m].value, ml_as_for(loops.v[l])->var)) {
                        *at = (int)k;
                        return ml_as_for(loops.v[l]);
                    }
        }
    return NULL;
}

/* Of a block under a loop with what slides over its results; or what brings it there.
 * false: nothing slides. */
bool fz_add_rolling(const View *v, ml_Text *out)
{
    const ml_Block *b = fz_inner_block(v);
    int n = (int)v->blocks.n, from = below(v, n), at = 0;

    for (int k = 0; k < n && chance(v, 97); k++) {
        const ml_Block *c = ml_as_block(v->blocks.v[(from + k) % n]);
        const ml_For *f = slides(v, c, NULL, &at);
        ml_UidVec writers = {0};

        if (!f || !ml_index_scope(v->p.index, c->tag))
            continue;
        ml_writers(v->tmp, ml_schedule_facts(v->s), v->p,
                   ml_index_scope(v->p.index, c->tag), c->reads[at].buffer, &writers);
        if (writers.n == 0 || !is_own(v, c->reads[at].buffer)) {
            if (chance(v, 50))
                continue;
            ml_text_fmt(out, "cache_read(\"%s\", %d, \"%s\")", name(v, &c->base), at,
                        chance(v, 50) ? "local" : "global");
            return true;
        }
        b = ml_as_block(ml_index_node(v->p.index, writers.v[0]));
        bool there = ml_index_is_above(v->p.index, f->var->uid, b->tag), moves = false;

        for (size_t m = 0; m < b->n_iters; m++)
            moves |= ml_expr_uses_var(b->iters[m].value, f->var) &&
                     b->iters[m].value->kind == ML_EXPR_ADD;
        if (there && (!moves || f->kind != ML_FOR_SERIAL) && chance(v, 90))
            continue;
        if (there && chance(v, 90)) {
            ml_text_fmt(out, "rolling_buffer(\"%s\", 0)", name(v, &b->base));
            return true;
        }
        ml_text_fmt(out, "compute_at(\"%s\", ", name(v, &b->base));
        ml_text_fmt(out, "\"%s\")", name(v, &f->base));
        return true;
    }
    if (chance(v, 90))
        return false;
    ml_text_fmt(out, "rolling_buffer(\"%s\", %d)", name(v, &b->base),
                index_below(v, b->n_writes));
    return true;
}
