/*
 * counts_view - see counts_view.h. The loops first, as a tree with what each of them does;
 * then the accesses, block by block, with their strides in the loops around.
 */
#include "repl/show/counts_view.h"

#include <math.h>

#include "repl/out/interrupt.h"
#include "repl/show/footprint.h"

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

static void cell(View *v, ml_Number n, ml_Unit unit, ml_Text *out)
{
    ml_text_number(v->cx, out, n, unit, v->names, v->ss->out.ascii);
}

static void add_reuse(View *v, const ml_Touched *t, ml_Text *out)
{
    bool exact;
    double r = ml_reuse(t, &exact);

    if (isnan(r))
        return;
    ml_text_fmt(out, " %s%s", v->ss->out.ascii ? "x" : "×",
                exact              ? ""
                : v->ss->out.ascii ? "~"
                                   : "≈");
    if (r < 99.95 && r != floor(r))
        ml_text_fmt(out, "%.3g", r);
    else
        ml_text_thousands(out, (int64_t)(r + 0.5));
}

static void add_touched(View *v, const ml_Touched *t, ml_Text *out)
{
    ml_text_fmt(out, "%s ", name_of(v, t->buffer->uid, t->buffer->name));
    cell(v, t->bytes, ML_UNIT_BYTES, out);
    add_reuse(v, t, out);
    if (!v->o->all)
        return;
    ml_text_add(out, " (elements ");
    cell(v, t->elements, ML_UNIT_COUNT, out);
    ml_text_add(out, ", loads ");
    cell(v, t->loads, ML_UNIT_COUNT, out);
    ml_text_add(out, ", stores ");
    cell(v, t->stores, ML_UNIT_COUNT, out);
    ml_text_char(out, ')');
}

/* Pieces side by side with commas, going on under `column` where the line is full. */
static void add_piece(View *v, const char *z, size_t column, size_t *at, bool first)
{
    size_t n = ml_columns(z);

    if (!first) {
        ml_text_char(v->out, ',');
        ++*at;
        if (*at + 1 + n + 1 > v->width) {
            ml_text_char(v->out, '\n');
            ml_text_repeat(v->out, ' ', column);
            *at = column;
        } else {
            ml_text_char(v->out, ' ');
            ++*at;
        }
    }
    ml_text_add(v->out, z);
    *at += n;
}

typedef struct Columns {
    size_t name, iterations, flops, touched;
    bool narrow; /* what is touched stands on lines of its own */
} Columns;

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

static size_t number_width(View *v, ml_Number n, ml_Unit unit)
{
    ml_Text t = {0};

    cell(v, n, unit, &t);
    size_t w = ml_columns(ml_text_z(&t));

    ml_text_free(&t);
    return w;
}

static void measure(View *v, Columns *c)
{
    enum { FAR = 30, GAP = 2 };
    size_t name = 6, iters = 10, ops = 5;

    for (size_t k = 0; k < v->counts.n; k++) {
        const ml_LoopFacts *f = &v->counts.loops[k];
        ml_Text t = {0};

        if (!wanted(v, f))
            continue;
        loop_label(v, f, &t);
        size_t n = ml_columns(ml_text_z(&t));

        ml_text_free(&t);
        name = n > name && n <= FAR ? n : name;
        n = number_width(v, f->iterations, ML_UNIT_COUNT);
        iters = n > iters && n <= 16 ? n : iters;
        n = number_width(v, f->flops, ML_UNIT_SHORT);
        ops = n > ops && n <= 16 ? n : ops;
    }
    c->name = name + GAP;
    c->iterations = iters;
    c->flops = ops;
    c->touched = c->name + iters + GAP + ops + GAP;
    c->narrow = c->touched + 24 > v->width;
}

static void right(View *v, ml_Number n, ml_Unit unit, size_t width)
{
    ml_Text t = {0};

    cell(v, n, unit, &t);
    size_t have = ml_columns(ml_text_z(&t));

    ml_text_repeat(v->out, ' ', have < width ? width - have : 0);
    ml_text_add(v->out, ml_text_z(&t));
    ml_text_free(&t);
}

static void loop_line(View *v, const Columns *c, const ml_LoopFacts *f)
{
    ml_Text t = {0};
    size_t at;

    loop_label(v, f, &t);
    at = ml_columns(ml_text_z(&t));
    ml_text_add(v->out, ml_text_z(&t));
    ml_text_repeat(v->out, ' ', at + 1 < c->name ? c->name - at : 1);
    right(v, f->iterations, ML_UNIT_COUNT, c->iterations);
    ml_text_add(v->out, "  ");
    right(v, f->flops, ML_UNIT_SHORT, c->flops);
    at = c->narrow ? 2u * f->depth + 6 : c->touched;
    size_t column = at;

    if (c->narrow && f->n_touched > 0)
        ml_text_char(v->out, '\n');
    if (f->n_touched > 0)
        ml_text_repeat(v->out, ' ', c->narrow ? column : 2);
    for (uint32_t k = 0; k < f->n_touched; k++) {
        ml_text_clear(&t);
        add_touched(v, &f->touched[k], &t);
        add_piece(v, ml_text_z(&t), column, &at, k == 0);
    }
    ml_text_free(&t);
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

static void site_line(View *v, const ml_Site *site, const Loops *around, size_t column)
{
    ml_Text t = {0};
    size_t at;
    bool first = true;

    site_label(v, site, &t);
    at = ml_columns(ml_text_z(&t));
    ml_text_add(v->out, ml_text_z(&t));
    if (at + 2 > column) {
        ml_text_char(v->out, '\n');
        at = 0;
    }
    ml_text_repeat(v->out, ' ', column - at);
    at = column;
    for (size_t k = 0; k < around->n; k++) {
        const ml_Stride *s = stride_in(around->v[k], site);

        if (!s)
            continue;
        ml_text_clear(&t);
        ml_text_fmt(&t, "%s ", loop_name(v, around->v[k]->loop));
        add_stride(v, s, &t);
        add_piece(v, ml_text_z(&t), column, &at, first);
        first = false;
    }
    ml_text_free(&t);
    ml_text_char(v->out, '\n');
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

typedef struct Widths {
    size_t label;
    const ml_Block *block;
    bool any;
} Widths;

static void widen(View *v, const ml_Site *site, const Loops *around, void *user)
{
    Widths *w = user;
    ml_Text t = {0};

    (void)around;
    site_label(v, site, &t);
    size_t n = ml_columns(ml_text_z(&t));

    ml_text_free(&t);
    if (n > w->label && n <= 36 && n + 24 < v->width)
        w->label = n;
    w->any = true;
}

static void write_site(View *v, const ml_Site *site, const Loops *around, void *user)
{
    Widths *w = user;

    if (!w->any || site->block != w->block)
        ml_text_fmt(v->out, "  %s\n",
                    site->block ? name_of(v, site->block->tag, site->block->name)
                                : "outside of blocks");
    w->any = true;
    w->block = site->block;
    site_line(v, site, around, w->label);
}

static void write_function(View *v)
{
    Columns c;
    Widths w = {.label = v->width < 60 ? 8 : 18};

    measure(v, &c);
    ml_text_add(v->out, "  loop");
    ml_text_repeat(v->out, ' ', c.name - 6 + c.iterations - 10);
    ml_text_add(v->out, "iterations  ");
    ml_text_repeat(v->out, ' ', c.flops - 5);
    ml_text_add(v->out, "flops");
    if (!c.narrow)
        ml_text_add(v->out, "  touches, each element so often");
    ml_text_char(v->out, '\n');
    for (size_t k = 0; k < v->counts.n; k++)
        if (wanted(v, &v->counts.loops[k]))
            loop_line(v, &c, &v->counts.loops[k]);
    each_site(v, widen, &w);
    if (!w.any)
        return;
    w.label += 2;
    w.any = false;
    ml_text_add(v->out, "strides, in elements\n");
    each_site(v, write_site, &w);
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
    ml_text_fmt(v->out, "%s\n", v->p.mod->n > 1 ? f->name : ml_schedule_name(v->s));
    if (v->counts.n == 0)
        ml_text_add(v->out, "  no loops\n");
    else
        write_function(v);
}

bool ml_show_counts(ml_Session *ss, ml_Schedule *s, int version, const ml_CountsOpts *o,
                    ml_Text *out)
{
    View v = {.ss = ss, .s = s, .o = o, .out = out, .width = (size_t)ss->out.width};

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
