/* step - see step.h. Loops and blocks are taken from the current version, near what the
 * last steps were about. */
#include "step_impl.h"

static void collect(const ml_Stmt *st, bool in_init, void *user)
{
    View *v = user;

    if (in_init || (st->kind == ML_STMT_FOR && !st->has_block))
        return;
    if (st->kind == ML_STMT_FOR)
        ml_push(v->tmp, &v->loops, st);
    if (st->kind == ML_STMT_BLOCK)
        ml_push(v->tmp, &v->blocks, st);
    ml_stmt_children(st, collect, v);
}

static const ml_Stmt *alive(const View *v, ml_Uid uid)
{
    return uid ? ml_index_node(v->p.index, uid) : NULL;
}

/* Blocks that steps were about come first; the root hardly ever. */
static const ml_Block *block(const View *v)
{
    const ml_Stmt *st = chance(v, 45) ? alive(v, v->focus->made) : NULL;

    if (!st && chance(v, 40))
        st = alive(v, v->focus->block);
    if (!st || st->kind != ML_STMT_BLOCK)
        st = v->blocks
                 .v[v->blocks.n > 1 && chance(v, 98) ? 1 + below(v, (int)v->blocks.n - 1)
                                                     : 0];
    return ml_as_block(st);
}

static const ml_For *loop(const View *v)
{
    const ml_Stmt *st = NULL;

    if (v->focus->n_loops && chance(v, 45))
        st = alive(v, v->focus->loops[below(v, v->focus->n_loops)]);
    if (!st || st->kind != ML_STMT_FOR)
        st = v->loops.v[below(v, (int)v->loops.n)];
    return ml_as_for(st);
}

/* A loop above the block within its scope, or any. */
static const ml_For *loop_of(const View *v, ml_Uid uid)
{
    ml_StmtVec above = {0};

    ml_index_loops(v->tmp, v->p.index, uid, &above);
    if (above.n == 0 || chance(v, 4))
        return loop(v);
    return ml_as_for(above.v[below(v, (int)above.n)]);
}

static int64_t extent_of(const ml_For *f)
{
    return f->extent->kind == ML_EXPR_INT ? f->extent->as.i : 6;
}

static int factor(const View *v, int64_t e)
{
    if (chance(v, 45) && e > 1)
        for (int k = 0; k < 6; k++) {
            int f = 1 + below(v, (int)(e < 64 ? e : 64));
            if (e % f == 0)
                return f;
        }
    return 1 + below(v, 5);
}

static void add_split(const View *v, ml_Text *out)
{
    const ml_For *f = loop(v);
    int64_t e = extent_of(f);

    if (v->focus->n_samples > 1 && chance(v, 50)) {
        ml_text_fmt(out, "split(\"%s\", {", name(v, &f->base));
        for (int k = 0; k < v->focus->n_samples; k++)
            ml_text_fmt(out, "%s%d", k ? ", " : "", FZ_SAMPLE + k);
        ml_text_add(out, "})");
        return;
    }
    int n = chance(v, 25) ? 3 : 2, at = chance(v, 88) ? below(v, n) : -1;

    ml_text_fmt(out, "split(\"%s\", {", name(v, &f->base));
    for (int k = 0, rest = (int)e; k < n; k++) {
        int g = factor(v, rest);
        if (at < 0 && k == n - 1 && chance(v, 80))
            g = rest;
        rest = (rest + g - 1) / g;
        ml_text_add(out, k ? ", " : "");
        if (k == at)
            ml_text_add(out, "auto");
        else
            ml_text_fmt(out, "%d", g);
    }
    ml_text_add(out, chance(v, 20) ? "}, false)" : "})");
}

static void add_fuse(const View *v, ml_Text *out)
{
    const ml_Stmt *st = &loop(v)->base;
    int n = 2 + (chance(v, 20) ? 1 : 0);

    for (int k = 0; k < 6 && ml_as_for(st)->body->kind != ML_STMT_FOR; k++)
        st = &loop(v)->base;
    ml_text_fmt(out, "fuse(\"%s\"", name(v, st));
    for (int k = 1; k < n; k++) {
        const ml_Stmt *inner = ml_as_for(st)->body;
        st = inner->kind == ML_STMT_FOR && inner->has_block ? inner : &loop(v)->base;
        ml_text_fmt(out, ", \"%s\"", name(v, st));
        if (inner->kind != ML_STMT_FOR && chance(v, 80))
            break;
    }
    ml_text_add(out, chance(v, 15) ? ", false)" : ")");
}

static void add_reorder(const View *v, ml_Text *out)
{
    ml_StmtVec above = {0};

    ml_index_loops(v->tmp, v->p.index, block(v)->tag, &above);
    if (above.n < 2 || chance(v, 3)) {
        ml_text_fmt(out, "reorder(\"%s\"", name(v, &loop(v)->base));
        ml_text_fmt(out, ", \"%s\")", name(v, &loop(v)->base));
        return;
    }
    /* Mostly the innermost ones: those form a chain. */
    size_t from = chance(v, 60) && above.n > 3 ? above.n - 3 : 0;
    int n = (int)(above.n - from);

    for (int k = n - 1; k > 0; k--) {
        int o = below(v, k + 1);
        const ml_Stmt *t = above.v[(int)from + k];
        above.v[(int)from + k] = above.v[(int)from + o];
        above.v[(int)from + o] = t;
    }
    n = 2 + below(v, n - 1);
    ml_text_add(out, "reorder(");
    for (int k = 0; k < n; k++)
        ml_text_fmt(out, "%s\"%s\"", k ? ", " : "", name(v, above.v[(int)from + k]));
    ml_text_add(out, ")");
}

static void add_partition(const View *v, ml_Text *out)
{
    const ml_For *f = loop(v);
    int n = chance(v, 75) ? 1 : 2, e;

    for (int k = 0; k < 6 && extent_of(f) <= n; k++)
        f = loop(v);
    e = (int)extent_of(f);
    ml_text_fmt(out, "loop_partition(\"%s\", {", name(v, &f->base));
    for (int k = 0; k < n; k++) {
        int most = chance(v, 90) && e > n - k ? e - (n - k) : e + 1;
        int len = 1 + below(v, most);
        ml_text_fmt(out, "%s%d", k ? ", " : "", len);
        e = e > len ? e - len : 1;
    }
    ml_text_add(out, chance(v, 30) ? ", auto})" : "})");
}

static void add_iter_order(const View *v, ml_Text *out)
{
    const ml_Block *b = block(v);
    int order[16], n;

    for (int k = 0; k < 6 && b->n_iters < 2; k++)
        b = block(v);
    n = b->n_iters < 16 ? (int)b->n_iters : 16;
    for (int k = 0; k < n; k++)
        order[k] = k;
    for (int k = n - 1; k > 0; k--) {
        int o = below(v, k + 1), t = order[k];
        order[k] = order[o];
        order[o] = t;
    }
    if (n && chance(v, 10))
        order[0] = below(v, 3);
    ml_text_fmt(out, "reorder_block_iter_var(\"%s\", {", name(v, &b->base));
    for (int k = 0; k < n; k++)
        ml_text_fmt(out, "%s%d", k ? ", " : "", order[k]);
    ml_text_add(out, "})");
}

static const char *scope(const View *v)
{
    static const char *const some[] = {"global", "shared",     "local",
                                       "local",  "shared.dyn", "warp"};

    return chance(v, 2) ? "nowhere" : some[below(v, (int)ML_COUNT(some))];
}

/* One without iters that holds others, if there is one. */
static const ml_Block *opaque(const View *v)
{
    ml_StmtVec found = {0};

    for (size_t k = 1; k < v->blocks.n; k++)
        if (ml_as_block(v->blocks.v[k])->n_iters == 0 &&
            ml_as_block(v->blocks.v[k])->body->has_block)
            ml_push(v->tmp, &found, v->blocks.v[k]);
    return found.n ? ml_as_block(found.v[below(v, (int)found.n)]) : block(v);
}

/* compute_at and its reverse: under a loop of a neighbour in the dataflow. */
static void add_move(const View *v, ml_Text *out, bool reverse)
{
    const ml_Block *b = chance(v, 25) ? opaque(v) : block(v);
    ml_UidVec near = {0};
    const ml_For *f;

    for (int k = 0; k < 4; k++, b = block(v)) {
        near.n = 0;
        if (ml_index_parent(v->p.index, b->tag) == 0)
            continue;
        if (reverse)
            ml_producers(v->tmp, ml_schedule_facts(v->s), v->p, b->tag, &near);
        else
            ml_consumers(v->tmp, ml_schedule_facts(v->s), v->p, b->tag, &near);
        if (near.n)
            break;
    }
    f = near.n ? loop_of(v, near.v[below(v, (int)near.n)]) : loop(v);
    ml_text_fmt(out, "%s(\"%s\", ", reverse ? "reverse_compute_at" : "compute_at",
                name(v, &b->base));
    ml_text_fmt(out, "\"%s\"", name(v, &f->base));
    if (chance(v, 20))
        ml_text_fmt(out, ", %s, %d", chance(v, 50) ? "true" : "false", below(v, 4) - 2);
    ml_text_add(out, ")");
}

static int index_below(const View *v, uint32_t n)
{
    return chance(v, 96) && n ? below(v, (int)n) : below(v, 4);
}

static const ml_Block *non_root(const View *v)
{
    const ml_Block *b = block(v);

    for (int k = 0; k < 3 && b->n_reads + b->n_writes == 0; k++)
        b = block(v);
    return b;
}

/* One of the block's buffers: by position, by name, or by side. */
static void add_buffer(const View *v, const ml_Block *b, bool write, bool side,
                       ml_Text *out)
{
    uint32_t n = write ? b->n_writes : b->n_reads;
    int at = index_below(v, n);

    if ((uint32_t)at < n && chance(v, 25))
        ml_text_fmt(out, "\"%s\"",
                    ml_name_of(v->s, (write ? b->writes : b->reads)[at].buffer->uid));
    else if (side)
        ml_text_fmt(out, "{\"%s\", %d}", write ? "write" : "read", at);
    else
        ml_text_fmt(out, "%d", at);
}

/* A block without blocks inside, if there is one. */
static const ml_Block *leaf(const View *v)
{
    const ml_Block *b = non_root(v);

    for (int k = 0; k < 6 && b->body->has_block; k++)
        b = block(v);
    return b;
}

/* An index map of the block's iters: those of the region in some order, two of them fused
 * now and then; seldom all of them, or none. */
static void add_map(const View *v, const ml_Block *b, const ml_Region *r, ml_Text *out)
{
    const ml_Iter *used[16];
    int n = 0;

    ml_text_add(out, "\"lambda ");
    for (uint32_t k = 0; k < b->n_iters; k++)
        ml_text_fmt(out, "%sx%u", k ? ", " : "", k);
    ml_text_add(out, ": (");
    for (uint32_t k = 0; k < b->n_iters && n < 16; k++)
        if ((r && ml_region_uses_var(r, b->iters[k].var)) || chance(v, 5))
            used[n++] = &b->iters[k];
    for (int k = n - 1; k > 0 && chance(v, 60); k--) {
        int o = below(v, k + 1);
        const ml_Iter *t = used[k];
        used[k] = used[o];
        used[o] = t;
    }
    for (int k = 0; k < n; k++) {
        int at = (int)(used[k] - b->iters);
        int64_t e = k + 1 < n && used[k + 1]->extent->kind == ML_EXPR_INT
                        ? used[k + 1]->extent->as.i
                        : 0;
        if (e > 0 && chance(v, 35)) {
            ml_text_fmt(out, "x%d * %lld + x%d, ", at,
                        (long long)(e + (chance(v, 20) ? below(v, 3) - 1 : 0)),
                        (int)(used[k + 1] - b->iters));
            k++;
        } else if (chance(v, 12)) {
            ml_text_fmt(out, "x%d // 2, x%d %% 2, ", at, at);
        } else {
            ml_text_fmt(out, "x%d, ", at);
        }
    }
    ml_text_add(out, ")\"");
}

/* It writes an input, and that in part (program_self.c): so would the copy of cache_write,
 * whose iters have the buffer's shape for their domain (domain-not-equal). */
static bool writes_part(const ml_Block *b)
{
    for (uint32_t k = 0; k < b->n_writes; k++)
        if (b->writes[k].buffer->name[0] == 'A')
            return true;
    return false;
}

/* cache_read or cache_write, now and then with a list of consumers. */
static void add_cache(const View *v, ml_Text *out, bool write)
{
    const ml_Block *b = non_root(v);

    write = write && !writes_part(b);
    uint32_t n = write ? b->n_writes : b->n_reads;
    ml_UidVec users = {0};
    int listed = 0;

    ml_text_fmt(out, "cache_%s(\"%s\", ", write ? "write" : "read", name(v, &b->base));
    add_buffer(v, b, write, false, out);
    ml_text_fmt(out, ", \"%s\"", scope(v));
    if (n > 0 && ml_index_parent(v->p.index, b->tag) != 0 && chance(v, 20)) {
        ml_readers(v->tmp, ml_schedule_facts(v->s), v->p,
                   ml_index_scope(v->p.index, b->tag),
                   (write ? b->writes : b->reads)[below(v, (int)n)].buffer, &users);
        ml_text_add(out, ", {");
        for (size_t k = 0; k < users.n; k++)
            if (chance(v, 60))
                ml_text_fmt(out, "%s\"%s\"", listed++ ? ", " : "",
                            ml_name_of(v->s, users.v[k]));
        ml_text_add(out, "}");
    }
    ml_text_add(out, ")");
}

/* A declared region as a map: points that are iters as such or a little wider, everything
 * else as the whole dimension. */
static void add_region(const View *v, ml_Text *out)
{
    const ml_Block *b = non_root(v);
    bool write = chance(v, 40);
    uint32_t n = write ? b->n_writes : b->n_reads;
    int at = index_below(v, n);

    ml_text_fmt(out, "annotate_buffer_access(\"%s\", %d, \"%s\", \"lambda ",
                name(v, &b->base), at, write ? "write" : "read");
    for (uint32_t k = 0; k < b->n_iters; k++)
        ml_text_fmt(out, "%sx%u", k ? ", " : "", k);
    ml_text_add(out, ": (");
    for (size_t d = 0; (uint32_t)at < n; d++) {
        const ml_Region *r = &(write ? b->writes : b->reads)[at];
        if (d == r->buffer->rank)
            break;
        const ml_Expr *min = r->ranges[d].min, *e = r->buffer->shape[d];
        uint32_t k = 0;
        while (k < b->n_iters &&
               !(min->kind == ML_EXPR_VAR && ml_is_int(r->ranges[d].extent, 1) &&
                 min->as.var->uid == b->iters[k].var->uid))
            k++;
        uint32_t used = 0, by = 0; /* an index by way of floats may be trusted */

        for (uint32_t j = 0; j < b->n_iters; j++)
            if (ml_expr_uses_var(min, b->iters[j].var)) {
                used++;
                by = j;
            }
        if (k < b->n_iters)
            ml_text_fmt(out, "x%u, x%u + %d, ", k, k, chance(v, 80) ? 1 : below(v, 3));
        else if (used == 1 && !(min->flags & ML_X_HAS_LOAD) && chance(v, 50))
            ml_text_fmt(out, "x%u, x%u + 1, ", by, by);
        else
            ml_text_fmt(out, "0, %lld, ",
                        e->kind == ML_EXPR_INT ? (long long)e->as.i : 100);
    }
    ml_text_add(out, ")\")");
}

static void add_reindex(const View *v, ml_Text *out)
{
    const ml_Block *b = leaf(v);

    ml_text_fmt(out, "reindex(\"%s\", ", name(v, &b->base));
    add_buffer(v, b, chance(v, 40), true, out);
    ml_text_add(out, ")");
}

static void add_copy_at(const View *v, ml_Text *out)
{
    const ml_Block *b = leaf(v);
    bool write = chance(v, 40);

    ml_text_fmt(out, "%s_at(\"%s\", ", write ? "write" : "read",
                v->loops.n ? name(v, &loop_of(v, b->tag)->base) : "i");
    ml_text_fmt(out, "\"%s\", ", name(v, &b->base));
    add_buffer(v, b, write, false, out);
    ml_text_fmt(out, ", \"%s\")", scope(v));
}

/* What it hides the oracle does not forgive: nothing, or what is not there. */
static void add_hide(const View *v, ml_Text *out)
{
    ml_text_fmt(out, "unsafe_hide_buffer_access(\"%s\", \"%s\", {%s})",
                name(v, &leaf(v)->base), chance(v, 40) ? "write" : "read",
                chance(v, 50) ? "" : "9");
}

static void add_reindex_cache(const View *v, ml_Text *out)
{
    const ml_Block *b = leaf(v);
    bool write = chance(v, 40);
    uint32_t n = write ? b->n_writes : b->n_reads;
    int at = index_below(v, n);

    ml_text_fmt(out, "reindex_cache_%s(\"%s\", %d, \"%s\", ", write ? "write" : "read",
                name(v, &b->base), at, scope(v));
    add_map(v, b, (uint32_t)at < n ? &(write ? b->writes : b->reads)[at] : NULL, out);
    ml_text_add(out, ")");
}

const ml_Block *fz_any_block(const View *v)
{
    return block(v);
}

const ml_Block *fz_inner_block(const View *v)
{
    return non_root(v);
}

const ml_For *fz_loop_of(const View *v, ml_Uid uid)
{
    return loop_of(v, uid);
}

/* A loop of a block, mostly one that holds only that; or blocks that follow each other. */
static void add_blockize(const View *v, ml_Text *out)
{
    const ml_Block *b = block(v);
    const ml_Stmt *up = alive(v, ml_index_parent(v->p.index, b->tag));
    ml_StmtVec kids = {0};

    if (up && chance(v, 25)) {
        ml_child_blocks(v->tmp, up, &kids);
        size_t from = (size_t)below(v, (int)kids.n), n = 1 + (size_t)below(v, 3);

        ml_text_add(out, "blockize({");
        for (size_t k = 0; k < n && from + k < kids.n; k++)
            ml_text_fmt(out, "%s\"%s\"", k ? ", " : "", name(v, kids.v[from + k]));
        ml_text_add(out, chance(v, 20) ? "}, false)" : "})");
        return;
    }
    ml_text_fmt(out, "blockize(\"%s\"%s)", name(v, &loop_of(v, b->tag)->base),
                chance(v, 20) ? ", false" : "");
}

/* false: there is nothing to be called with. */
static bool add_call(const View *v, int pick, ml_Text *out)
{
    static const char *const axes[] = {"threadIdx.x", "blockIdx.x", "vthread.x",
                                       "threadIdx.y", "threadIdx.q"};
    static const char *const values[] = {"1", "\"on\"", "true", "{1, 2}", "2.5"};
    const ml_Block *b;
    int at;

    switch (pick) {
    case 0: add_split(v, out); break;
    case 1: add_fuse(v, out); break;
    case 2: add_reorder(v, out); break;
    case 3:
        ml_text_fmt(out, "add_unit_loop(\"%s\")",
                    chance(v, 50) ? name(v, &loop(v)->base) : name(v, &block(v)->base));
        break;
    case 4: ml_text_fmt(out, "parallel(\"%s\")", name(v, &loop(v)->base)); break;
    case 5: ml_text_fmt(out, "vectorize(\"%s\")", name(v, &loop(v)->base)); break;
    case 6: ml_text_fmt(out, "unroll(\"%s\")", name(v, &loop(v)->base)); break;
    case 7:
        ml_text_fmt(out, "bind(\"%s\", \"%s\")", name(v, &loop(v)->base),
                    axes[below(v, chance(v, 95) ? 4 : 5)]);
        break;
    case 8:
        ml_text_fmt(out, "annotate(\"%s\", \"key%d\", %s)",
                    chance(v, 40) ? name(v, &loop(v)->base) : name(v, &block(v)->base),
                    below(v, 3), values[below(v, 5)]);
        break;
    case 9: return fz_add_unannotate(v, out);
    case 10:
        ml_text_fmt(out, "sample_perfect_tile(\"%s\", %d, %d)", name(v, &loop(v)->base),
                    2 + below(v, 2), chance(v, 20) ? -1 : 2 + below(v, 6));
        break;
    case 11: ml_text_add(out, "sample_categorical({2, 3, 4}, {0.5, 0.25, 0.25})"); break;
    case 12:
        if ((b = fz_own_writer(v, &at)) == NULL)
            return false;
        ml_text_fmt(out, "set_scope(\"%s\", %d, \"%s\")", name(v, &b->base),
                    chance(v, 97) ? at : 4, scope(v));
        break;
    case 13:
        if ((b = fz_own_writer(v, &at)) == NULL || b->writes[at].buffer->rank == 0)
            return false;
        ml_text_fmt(out, "storage_align(\"%s\", %d, %d, %d, %d)", name(v, &b->base), at,
                    below(v, b->writes[at].buffer->rank + 2) - 2, 4 * below(v, 10),
                    below(v, 3));
        break;
    case 14: add_move(v, out, false); break;
    case 15: add_move(v, out, true); break;
    case 16:
    case 17: return fz_add_inline(v, pick == 17, out);
    case 18:
    case 19: add_cache(v, out, pick == 19); break;
    case 20: return fz_add_decompose(v, out);
    case 21: return fz_add_merge(v, out);
    case 22: add_partition(v, out); break;
    case 23: add_iter_order(v, out); break;
    case 25:
        ml_text_fmt(out, "sample_partitioned_tile(\"%s\", %d, %d, %d)",
                    name(v, &loop(v)->base), 2 + below(v, 2),
                    below(v, chance(v, 90) ? 2 : 4), 1 + below(v, 4));
        break;
    case 27:
        ml_text_fmt(out, "sample_compute_location(\"%s\"", name(v, &block(v)->base));
        if (chance(v, 20))
            ml_text_fmt(out, ", %d", below(v, 6) - 2);
        ml_text_add(out, ")");
        break;
    case 26: ml_text_add(out, "enter_postproc()"); break;
    case 24: ml_text_fmt(out, "get_output_blocks(\"%s\")", name(v, &block(v)->base)); break;
    case 28: return fz_add_rfactor(v, out);
    case 29: return fz_add_layout(v, out);
    case 30: fz_add_block_layout(v, out); break;
    case 31: add_blockize(v, out); break;
    case 32: fz_add_padding(v, out); break;
    case 33: fz_add_decompose_padding(v, out); break;
    case 34: fz_add_separators(v, out); break;
    case 35: fz_add_dtype(v, out); break;
    case 36: return fz_add_merge_reduction(v, out);
    case 37: return fz_add_tensorize(v, out);
    case 38: return fz_add_epilogue(v, out);
    case 39: return fz_add_inplace(v, scope(v), out);
    case 40: add_reindex(v, out); break;
    case 41: add_copy_at(v, out); break;
    case 42: add_region(v, out); break;
    case 43: add_hide(v, out); break;
    case 44:
        ml_text_fmt(out, "cache_index(\"%s\", \"%s\", %d)", name(v, &leaf(v)->base),
                    scope(v), below(v, 3));
        break;
    case 46: return fz_add_rolling(v, out);
    case 47: /* of a sum, mostly */
        b = leaf(v);
        for (int k = 0; k < 6 && !b->init; k++)
            b = leaf(v);
        if (b->n_reads && chance(v, 30))
            ml_text_fmt(out, "lift_factor(\"%s\", %d)", name(v, &b->base),
                        below(v, (int)b->n_reads));
        else if (v->loops.n && chance(v, 50))
            ml_text_fmt(out, "skip_padding(\"%s\", \"%s\"%s)", name(v, &b->base),
                        name(v, &loop(v)->base), chance(v, 70) ? ", true" : "");
        else
            ml_text_fmt(out, "skip_zeros(\"%s\"%s)", name(v, &b->base),
                        chance(v, 70) ? ", true" : "");
        break;
    default: add_reindex_cache(v, out); break;
    }
    return true;
}

/* How often each pick is made. */
static const uint8_t weights[] = {16, 9, 11, 3, 4, 4, 2,  4, 2, 2, 4, 1, 4, 2, 13, 11,
                                  7,  7, 8,  8, 9, 5, 3,  2, 1, 2, 1, 4, 5, 6, 5,  4,
                                  5,  5, 2,  3, 3, 4, 12, 2, 3, 4, 2, 1, 2, 3, 9,  8};
enum { N_PICKS = sizeof weights };

static bool is_kind(int pick) /* of a loop: parallel, vectorize, bind */
{
    return pick == 4 || pick == 5 || pick == 7;
}

static bool is_copy(int pick) /* or what moves one */
{
    return pick == 14 || pick == 15 || pick == 18 || pick == 19 || pick == 12 ||
           (pick >= 39 && pick != 43 && pick < 46);
}

/* Every second schedule leaves half of the primitives out, so that what the others do to
 * each other comes up; some make more loops concurrent, or more copies. */
static int weight(const FzFocus *focus, int pick)
{
    uint64_t swarm = focus->swarm;
    int w = weights[pick];

    if ((swarm >> 60 & 3) == 1 && is_kind(pick))
        return 5 * w;
    if ((swarm >> 62 & 3) == 1 && is_copy(pick))
        return 3 * w;
    if (swarm >> 59 & 1)
        return w;
    return swarm >> pick & 1 ? w : 0;
}

static int pick_one(const View *v)
{
    int total = 0, at, pick = 0;

    for (int k = 0; k < N_PICKS; k++)
        total += weight(v->focus, k);
    if (total == 0)
        return 0;
    at = below(v, total);
    while (at >= weight(v->focus, pick))
        at -= weight(v->focus, pick++);
    return pick;
}

/* What usually comes next; -1: nothing in particular. */
static int what_follows(const View *v)
{
    static const struct {
        const char *last;
        int percent, pick;
    } table[] = {{"cache_write", 50, 15},
                 {"cache_read", 50, 14},
                 {"split", 35, 2},
                 {"fuse", 40, 0},
                 {"sample_perfect_tile", 70, 0},
                 {"sample_partitioned_tile", 70, 0},
                 {"pad_einsum", 40, 33},
                 {"annotate", 40, 9},
                 {"compute_at", 25, 46},
                 {"loop_partition", 25, 14},
                 {"loop_partition", 35, 15},
                 {"reverse_compute_at", 15, 14},
                 {"annotate_buffer_access", 35, 16},
                 {"annotate_buffer_access", 20, 17},
                 {"decompose_reduction", 25, 36},
                 {"rfactor", 30, 14},
                 {"rfactor", 30, 15}};

    for (size_t k = 0; k < ML_COUNT(table); k++)
        if (ml_streq(v->focus->last, table[k].last) && chance(v, table[k].percent))
            return table[k].pick;
    return -1;
}

static bool needs_loops(int pick)
{
    return pick <= 8 || pick == 10 || pick == 14 || pick == 15 || pick == 20 ||
           pick == 21 || pick == 22 || pick == 25 || pick == 28 || pick == 31 ||
           pick == 33 || pick == 41 || pick == 46;
}

void fz_step(uint64_t *rnd, ml_Schedule *s, const FzFocus *focus, ml_Ctx *tmp, ml_Text *out)
{
    View v = {.s = s, .p = ml_schedule_program(s), .rnd = rnd, .focus = focus, .tmp = tmp};

    ml_schedule_names(s);
    collect(ml_schedule_func(s)->body, false, &v);
    if (v.blocks.n == 0)
        return;
    if (v.p.mod->n > 1 && chance(&v, 10)) {
        ml_text_fmt(out, "work_on(\"%s\")", chance(&v, 50) ? "main" : "other");
        return;
    }
    if (focus->chain && fz_add_chain(&v, out))
        return;
    const ml_Stmt *placed = alive(&v, focus->block);

    if (ml_streq(focus->last, "sample_compute_location") && placed && chance(&v, 80)) {
        ml_text_fmt(out, "compute_at(\"%s\", %d)", name(&v, placed), FZ_SAMPLE);
        return;
    }
    for (int k = 0; k < 32 && out->n == 0; k++) {
        int next = k == 0 ? what_follows(&v) : -1, pick = next < 0 ? pick_one(&v) : next;

        if (v.loops.n == 0 && needs_loops(pick))
            pick = 16;
        if (!add_call(&v, pick, out))
            ml_text_clear(out);
    }
    if (out->n == 0)
        add_reindex(&v, out);
}
