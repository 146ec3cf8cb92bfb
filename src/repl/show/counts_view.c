/*
 * counts_view - see counts_view.h. The loops first, as a tree with what each of them does;
 * then the accesses, block by block, with their strides in the loops around.
 */
#include "repl/show/counts_view.h"

#include <math.h>

#include "repl/out/interrupt.h"
#include "repl/show/table.h"

typedef struct View {
    ml_Session *ss; /* NULL: data */
    ml_Schedule *s;
    ml_Program p;
    const ml_Names *names;
    const ml_CountsOpts *o;
    ml_Ctx *cx;
    ml_Counts counts;
    ml_Text *out;
    size_t width;
} View;

static const char *name_of(const View *v, ml_Uid uid, const char *hint)
{
    return ml_shown_name(v->names, uid, hint);
}

static const char *loop_name(const View *v, const ml_For *f)
{
    return name_of(v, f->var->uid, f->var->hint);
}

static bool wanted(const View *v, const ml_LoopFacts *f)
{
    return !v->o->loop || f->loop->var->uid == v->o->loop;
}

/* ---- text */

/* `1,000`, `≈2.5`; "": not known. */
static void reuse_text(View *v, const ml_Touched *t, ml_Text *out)
{
    bool exact;
    double r = ml_reuse(t, &exact);

    if (isnan(r))
        return;
    if (!exact)
        ml_text_add(out, v->ss->out.ascii ? "~" : "≈");
    if (r < 99.95 && r != floor(r))
        ml_text_fmt(out, "%.3g", r);
    else
        ml_text_thousands(out, (int64_t)(r + 0.5));
}

static void loop_label(View *v, const ml_LoopFacts *f, ml_Text *out)
{
    ml_text_repeat(out, ' ', 2u * f->depth + 2);
    ml_text_fmt(out, "%s ", loop_name(v, f->loop));
    if (!f->extent.expr && f->extent.how == ML_EXACT)
        ml_text_int(out, f->extent.n);
    else
        ml_print_expr(v->cx, out, f->loop->extent,
                      &(ml_PrintOpts){.spelling = -1, .plain = true, .names = v->names});
    if (f->loop->kind == ML_FOR_THREAD)
        ml_text_fmt(out, " %s", f->loop->thread.name);
    else if (f->loop->kind != ML_FOR_SERIAL)
        ml_text_fmt(out, " %s", ml_for_kind_name((ml_ForKind)f->loop->kind));
}

typedef struct Groups {
    size_t iterations, flops, bytes, uses, elements, loads, stores;
} Groups;

static void put_loop(View *v, ml_Table *t, const Groups *g, const ml_LoopFacts *f)
{
    ml_Text z = {0};

    loop_label(v, f, &z);
    ml_table_row(t, ml_text_z(&z), true);
    ml_table_put(t, g->iterations, NULL, f->iterations);
    ml_table_put(t, g->flops, NULL, f->flops);
    for (uint32_t k = 0; k < f->n_touched; k++) {
        const ml_Touched *of = &f->touched[k];
        const char *name = name_of(v, of->buffer->uid, of->buffer->name);

        ml_table_put(t, g->bytes, name, of->bytes);
        ml_text_clear(&z);
        reuse_text(v, of, &z);
        if (z.n > 0)
            ml_table_put_text(t, g->uses, name, ml_text_z(&z));
        if (!v->o->all)
            continue;
        ml_table_put(t, g->elements, name, of->elements);
        ml_table_put(t, g->loads, name, of->loads);
        ml_table_put(t, g->stores, name, of->stores);
    }
    ml_text_free(&z);
}

static void write_loops(View *v, const char *title)
{
    ml_Table *t = ml_table_new(v->cx, title, "loop", v->names, v->ss->out.ascii);
    Groups g;

    g.iterations = ml_table_group(t, "iterations", ML_UNIT_COUNT, true);
    g.flops = ml_table_group(t, "FLOP", ML_UNIT_SHORT, true);
    g.bytes = ml_table_group(t, "", ML_UNIT_BYTES, false);
    g.uses = ml_table_group(t, "uses of an element", ML_UNIT_COUNT, false);
    g.elements = ml_table_group(t, "elements", ML_UNIT_COUNT, false);
    g.loads = ml_table_group(t, "loads", ML_UNIT_COUNT, false);
    g.stores = ml_table_group(t, "stores", ML_UNIT_COUNT, false);
    for (size_t k = 0; k < v->counts.n; k++)
        if (wanted(v, &v->counts.loops[k]))
            put_loop(v, t, &g, &v->counts.loops[k]);
    ml_table_print(t, v->width, true, "", v->out);
}

/* ---- for a comparison: each loop on a line, whose values stand nowhere in particular */

static void add_plain(View *v, const char *name, ml_Number n, const char *unit,
                      ml_Text *out)
{
    ml_text_fmt(out, "%s ", name);
    if (n.how == ML_EXACT && !n.expr)
        ml_text_thousands(out, n.n);
    else if (n.how == ML_AT_MOST && !n.expr) {
        ml_text_add(out, v->ss->out.ascii ? "<= " : "≤ ");
        ml_text_thousands(out, n.n);
    } else
        ml_text_number(v->cx, out, n, ML_UNIT_COUNT, v->names, v->ss->out.ascii);
    ml_text_add(out, unit);
}

static void write_plain(View *v, const ml_LoopFacts *f)
{
    loop_label(v, f, v->out);
    add_plain(v, "   iterations", f->iterations, "", v->out);
    add_plain(v, ", FLOP", f->flops, "", v->out);
    for (uint32_t k = 0; k < f->n_touched; k++) {
        const ml_Touched *of = &f->touched[k];
        ml_Text z = {0};

        ml_text_add(v->out, ", ");
        add_plain(v, name_of(v, of->buffer->uid, of->buffer->name), of->bytes, " B",
                  v->out);
        reuse_text(v, of, &z);
        if (z.n > 0)
            ml_text_fmt(v->out, " %s%s", v->ss->out.ascii ? "x" : "×", ml_text_z(&z));
        ml_text_free(&z);
    }
    ml_text_char(v->out, '\n');
}

/* ---- strides */

static void add_stride(View *v, const ml_Stride *s, ml_Text *out)
{
    if (s->kind == ML_STRIDE_OPEN) {
        ml_text_char(out, '?');
        return;
    }
    if (s->kind == ML_STRIDE_UNEVEN)
        ml_text_char(out, '~');
    if (s->expr)
        ml_text_sizes(v->cx, out, s->expr, v->names);
    else
        ml_text_int(out, s->n);
}

/* The innermost loop around an access comes last among those that have it. */
typedef ML_VEC(const ml_LoopFacts *) Loops;

static const ml_Stride *stride_in(const ml_LoopFacts *f, const ml_Site *site)
{
    /* In textual order, so that a nest's own sites lie between those of its neighbours. */
    size_t lo = 0, hi = f->n_strides;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (f->strides[mid].site < site)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < f->n_strides && f->strides[lo].site == site ? &f->strides[lo] : NULL;
}

static void site_label(View *v, const ml_Site *site, ml_Text *out)
{
    ml_text_fmt(out, "    %s ", site->write ? "store" : "load ");
    ml_text_access(v->cx, out, site, v->names);
    if (site->in_init)
        ml_text_add(out, " (init)");
}

typedef void SiteFn(View *v, const ml_Site *site, const Loops *around, void *user);

/* The accesses below the loop k, in textual order, with the loops around them from k on. */
static void each_site_of(View *v, size_t k, SiteFn *fn, void *user)
{
    const ml_LoopFacts *top = &v->counts.loops[k];
    const ml_LoopFacts **inner = ML_ARRAY(v->cx, const ml_LoopFacts *, top->n_strides + 1u);

    /* Inner loops come after those around them. */
    for (const ml_LoopFacts *f = top, *end = v->counts.loops + v->counts.n;
         f < end && (f == top || f->depth > top->depth); f++) {
        if (f->n_strides == 0)
            continue;
        size_t from = (size_t)(stride_in(top, f->strides[0].site) - top->strides);

        for (uint32_t j = 0; j < f->n_strides; j++)
            inner[from + j] = f;
    }
    for (uint32_t j = 0; j < top->n_strides; j++) {
        Loops around = {0};
        const ml_LoopFacts *f = inner[j];
        uint32_t depth = f->depth;

        for (;; f--) /* outwards: the next one that is less deep */
            if (f == inner[j] || f->depth < depth) {
                ml_push(v->cx, &around, f);
                depth = f->depth;
                if (f == top)
                    break;
            }
        for (size_t i = 0; i < around.n / 2; i++) {
            const ml_LoopFacts *one = around.v[i];

            around.v[i] = around.v[around.n - 1 - i];
            around.v[around.n - 1 - i] = one;
        }
        fn(v, top->strides[j].site, &around, user);
    }
}

static void each_site(View *v, SiteFn *fn, void *user)
{
    for (size_t k = 0; k < v->counts.n; k++)
        if (v->o->loop ? wanted(v, &v->counts.loops[k]) : v->counts.loops[k].depth == 0)
            each_site_of(v, k, fn, user);
}

/* The accesses of a block, a table: its loops are the columns. */
typedef struct Strides {
    const ml_Block *block;
    bool any;
    ml_Table *table; /* of the block; NULL: plain */
    size_t group;
} Strides;

static void end_block(View *v, Strides *w)
{
    if (w->table)
        ml_table_print(w->table, v->width, true, "", v->out);
    w->table = NULL;
}

static void begin_block(View *v, Strides *w, const ml_Block *b)
{
    const char *name = b ? name_of(v, b->tag, b->name) : "outside of blocks";

    end_block(v, w);
    w->block = b;
    if (v->o->plain) {
        ml_text_fmt(v->out, "  %s\n", name);
        return;
    }
    w->table = ml_table_new(v->cx, NULL, name, v->names, v->ss->out.ascii);
    w->group = ml_table_group(w->table, "", ML_UNIT_COUNT, false);
}

static void write_site(View *v, const ml_Site *site, const Loops *around, void *user)
{
    Strides *w = user;
    ml_Text t = {0};

    if (!w->any)
        ml_text_add(v->out, "strides, in elements\n");
    if (!w->any || site->block != w->block)
        begin_block(v, w, site->block);
    w->any = true;
    site_label(v, site, &t);
    if (w->table)
        ml_table_row(w->table, ml_text_z(&t), true);
    else
        ml_text_fmt(v->out, "%s  ", ml_text_z(&t));
    for (size_t k = 0, n = 0; k < around->n; k++) {
        const ml_Stride *s = stride_in(around->v[k], site);
        const char *loop = loop_name(v, around->v[k]->loop);

        if (!s)
            continue;
        ml_text_clear(&t);
        add_stride(v, s, &t);
        if (w->table)
            ml_table_put_text(w->table, w->group, loop, ml_text_z(&t));
        else
            ml_text_fmt(v->out, "%s%s %s", n++ ? ", " : "", loop, ml_text_z(&t));
    }
    if (!w->table)
        ml_text_char(v->out, '\n');
    ml_text_free(&t);
}

static void write_function(View *v, const char *title)
{
    Strides w = {.any = false};

    if (!v->o->plain)
        write_loops(v, title);
    else
        ml_text_fmt(v->out, "%s\n", title);
    for (size_t k = 0; v->o->plain && k < v->counts.n; k++)
        if (wanted(v, &v->counts.loops[k]))
            write_plain(v, &v->counts.loops[k]);
    each_site(v, write_site, &w);
    end_block(v, &w);
}

/* ---- both */

static bool each_function(View *v, int version,
                          void (*fn)(View *v, const ml_Func *f, void *user), void *user)
{
    ml_Schedule *s = v->s;
    bool all = !ml_schedule_func(s), ok = true;

    v->p = ml_version_program(s, version);
    v->names = ml_version_names(s, version);
    uint32_t from = all ? 0 : ml_schedule_func_pos(s), end = all ? v->p.mod->n : from + 1;

    if (v->o->loop) {
        from = ml_index_func(v->p.index, v->o->loop);
        end = from + 1;
    }
    for (uint32_t k = from; k < end && ok; k++) {
        v->cx = ml_ctx_fork(ml_schedule_ctx(s));
        ml_ctx_set_limit(v->cx, 0);
        if (v->ss)
            ml_interrupt_guard(v->cx);
        ok = ml_counts(v->cx, v->p, k, &v->counts);
        if (ok)
            fn(v, v->p.mod->funcs[k], user);
        else if (v->ss)
            ml_session_fail(v->ss, ml_failure_from(ml_error(v->cx)));
        ml_ctx_unref(v->cx);
    }
    return ok;
}

static void write_one(View *v, const ml_Func *f, void *user)
{
    (void)user;
    const char *title = v->p.mod->n > 1 ? f->name : ml_schedule_name(v->s);

    if (v->counts.n == 0)
        ml_text_fmt(v->out, "%s\n  no loops\n", title);
    else
        write_function(v, title);
}

bool ml_show_counts(ml_Session *ss, ml_Schedule *s, int version, const ml_CountsOpts *o,
                    ml_Text *out)
{
    View v = {.ss = ss,
              .s = s,
              .o = o,
              .out = out,
              .width = o->plain ? SIZE_MAX / 2 : (size_t)ss->out.width};

    return each_function(&v, version, write_one, NULL);
}

static void data_one(View *v, const ml_Func *f, void *user)
{
    (void)f;
    for (size_t k = 0; k < v->counts.n; k++) {
        ml_LoopRow row = {v->cx, v->names, &v->counts.loops[k], !v->o->all};

        if (!wanted(v, row.f))
            continue;
        ml_data_row(user);
        ml_data_fields(user, &ml_loop_fields, &row);
    }
}

bool ml_counts_data(ml_Schedule *s, int version, const ml_CountsOpts *o, ml_Data *d)
{
    View v = {.s = s, .o = o};

    return each_function(&v, version, data_one, d);
}
