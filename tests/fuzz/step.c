/* step - see step.h. Loops and blocks are taken from the current version, near what the
 * last steps were about. */
#include "step.h"

typedef struct View { /* the loops and blocks of the function worked on, in program order */
    ml_Schedule *s;
    ml_Program p;
    uint64_t *rnd;
    const FzFocus *focus;
    ml_Ctx *tmp;
    ml_StmtVec loops, blocks;
} View;

static int below(const View *v, int n)
{
    return fz_below(v->rnd, n);
}

static bool chance(const View *v, int percent)
{
    return fz_chance(v->rnd, percent);
}

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

static const char *name(const View *v, const ml_Stmt *st)
{
    return ml_name_of(v->s, ml_stmt_uid(st));
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

static const ml_Block *reduction(const View *v)
{
    for (int k = 0; k < 8; k++) {
        const ml_Block *b = ml_as_block(v->blocks.v[below(v, (int)v->blocks.n)]);
        if (b->init)
            return b;
    }
    return block(v);
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

static const char *scope(const View *v)
{
    static const char *const some[] = {"global", "shared",     "local",
                                       "local",  "shared.dyn", "warp"};

    return chance(v, 2) ? "nowhere" : some[below(v, (int)ML_COUNT(some))];
}

/* compute_at and its reverse: under a loop of a neighbour in the dataflow. */
static void add_move(const View *v, ml_Text *out, bool reverse)
{
    const ml_Block *b = block(v);
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

/* ---- layouts */

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
static void add_map(const View *v, const ml_Expr *const *shape, int rank, ml_Text *out)
{
    int order[16], at = rank ? below(v, rank) : 0, form = below(v, 10);

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

        if (k != at || form >= 8)
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
        } else
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
static void add_layout(const View *v, ml_Text *out)
{
    for (int k = 0; k < 12; k++) {
        const ml_Block *b = non_root(v);
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
        add_map(v, buf->shape, buf->rank, out);
        if (chance(v, 60))
            ml_text_add(out,
                        ml_dtype_is_float(buf->type) == chance(v, 95) ? ", 1.0" : ", 1");
        ml_text_add(out, ")");
        return;
    }
    ml_text_fmt(out,
                "transform_layout(\"%s\", {\"write\", 0}, \"lambda a, b, c, d, e, f, "
                "g, h: (a,)\")",
                name(v, &block(v)->base));
}

/* Of a block whose iters are its loops, when one is found. */
static void add_block_layout(const View *v, ml_Text *out)
{
    const ml_Block *b = block(v);
    const ml_Expr *shape[8] = {0};

    for (int k = 0; k < 10; k++, b = block(v)) {
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
    add_map(v, shape, (int)n, out);
    ml_text_add(out, ")");
}

static void add_padding(const View *v, ml_Text *out)
{
    const ml_Block *b = block(v);

    for (int k = 0; k < 6; k++, b = block(v)) {
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

static void add_call(View *v, int pick, ml_Text *out)
{
    static const char *const axes[] = {"threadIdx.x", "blockIdx.x", "vthread.x",
                                       "threadIdx.y", "threadIdx.q"};
    static const char *const values[] = {"1", "\"on\"", "true", "{1, 2}", "2.5"};
    const ml_Block *b;
    const ml_For *f;

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
    case 9: {
        const ml_Stmt *st = NULL;
        for (size_t k = 0; k < v->loops.n && !st; k++)
            if (ml_dict_count(ml_as_for(v->loops.v[k])->annotations))
                st = v->loops.v[k];
        for (size_t k = 0; k < v->blocks.n && !st; k++)
            if (ml_dict_count(ml_as_block(v->blocks.v[k])->annotations))
                st = v->blocks.v[k];
        ml_text_fmt(out, "unannotate(\"%s\", \"key%d\")", name(v, st ? st : v->blocks.v[0]),
                    below(v, 3));
        break;
    }
    case 10:
        ml_text_fmt(out, "sample_perfect_tile(\"%s\", %d, %d)", name(v, &loop(v)->base),
                    2 + below(v, 2), chance(v, 20) ? -1 : 2 + below(v, 6));
        break;
    case 11: ml_text_add(out, "sample_categorical({2, 3, 4}, {0.5, 0.25, 0.25})"); break;
    case 12:
        b = non_root(v);
        ml_text_fmt(out, "set_scope(\"%s\", %d, \"%s\")", name(v, &b->base),
                    index_below(v, b->n_writes), scope(v));
        break;
    case 13:
        b = non_root(v);
        ml_text_fmt(out, "storage_align(\"%s\", %d, %d, %d, %d)", name(v, &b->base),
                    index_below(v, b->n_writes), below(v, 4) - 2, 4 * below(v, 5),
                    below(v, 3));
        break;
    case 14: add_move(v, out, false); break;
    case 15: add_move(v, out, true); break;
    case 16:
    case 17:
        b = block(v);
        for (int k = 0; k < 3 && b->init; k++)
            b = block(v);
        ml_text_fmt(out, "%s(\"%s\")",
                    pick == 16 ? "compute_inline" : "reverse_compute_inline",
                    name(v, &b->base));
        break;
    case 18:
    case 19:
        b = non_root(v);
        ml_text_fmt(out, "%s(\"%s\", %d, \"%s\")",
                    pick == 18 ? "cache_read" : "cache_write", name(v, &b->base),
                    index_below(v, pick == 18 ? b->n_reads : b->n_writes), scope(v));
        break;
    case 21: add_layout(v, out); break;
    case 22: add_block_layout(v, out); break;
    case 23: add_padding(v, out); break;
    default:
        b = reduction(v);
        f = loop_of(v, b->tag);
        ml_text_fmt(out, "decompose_reduction(\"%s\", ", name(v, &b->base));
        ml_text_fmt(out, "\"%s\")", name(v, &f->base));
        break;
    }
}

void fz_step(uint64_t *rnd, ml_Schedule *s, const FzFocus *focus, ml_Ctx *tmp, ml_Text *out)
{
    /* How often each pick is made. */
    static const uint8_t weights[] = {16, 9, 11, 3,  4, 4, 2, 4, 2, 2, 4, 1,
                                      4,  2, 13, 11, 7, 7, 8, 8, 9, 8, 7, 7};
    View v = {.s = s, .p = ml_schedule_program(s), .rnd = rnd, .focus = focus, .tmp = tmp};
    int total = 0, at, pick = 0;

    ml_schedule_names(s);
    collect(ml_schedule_func(s)->body, false, &v);
    if (v.blocks.n == 0)
        return;
    for (size_t k = 0; k < sizeof weights; k++)
        total += weights[k];
    at = below(&v, total);
    while (at >= weights[pick])
        at -= weights[pick++];
    /* What usually comes next. */
    if (ml_streq(focus->last, "cache_write") && chance(&v, 50))
        pick = 15;
    else if (ml_streq(focus->last, "cache_read") && chance(&v, 50))
        pick = 14;
    else if (ml_streq(focus->last, "split") && chance(&v, 35))
        pick = 2;
    else if (ml_streq(focus->last, "fuse") && chance(&v, 40))
        pick = 0;
    else if (ml_streq(focus->last, "sample_perfect_tile") && chance(&v, 70))
        pick = 0;
    else if (ml_streq(focus->last, "annotate") && chance(&v, 40))
        pick = 9;
    if (v.loops.n == 0 &&
        (pick <= 7 || pick == 10 || pick == 14 || pick == 15 || pick == 20))
        pick = 16;
    add_call(&v, pick, out);
}
