/*
 * cmd_memory - :memory, how a buffer is used. The counting is codegen/trace's; here it is
 * told, as text and as data. Source: interaction 4.
 */
#include <math.h>
#include <stdlib.h>

#include "codegen/engine.h"
#include "codegen/trace/memory.h"
#include "core/walk.h"
#include "repl/bind/checking.h"
#include "repl/bind/host.h"
#include "repl/command.h"
#include "repl/data.h"
#include "repl/footprint.h"
#include "repl/progress.h"

enum { BAR = 24, MAX_ROWS = 8 };

typedef struct Tell {
    ml_Session *ss;
    ml_Schedule *s;
    const ml_MemoryFacts *f;
    const char *name; /* of the buffer, as displayed */
    bool narrow;
    ml_Text t;
} Tell;

/* ---------------------------------------------------------------- text */

/* A count, in a column; short ones where there is little room. */
static void number(Tell *c, double v, size_t width)
{
    ml_Text n = {0};

    if (v < 100 && v != floor(v))
        ml_text_fmt(&n, "%.*f", v < 10 ? 2 : 1, v);
    else if (c->narrow && v >= 100000) {
        ml_text_si(&n, v);
    } else
        ml_text_thousands(&n, llround(v));
    ml_text_repeat(&c->t, ' ', n.n < width ? width - n.n : 1);
    ml_text_add(&c->t, ml_text_z(&n));
    ml_text_free(&n);
}

static void plain(ml_Text *t, uint64_t v)
{
    ml_text_thousands(t, (int64_t)v);
}

static const char *loop_name(Tell *c, const ml_Var *v)
{
    const char *n = ml_name_of(c->s, v->uid);

    return ml_streq(n, "?") && v->hint ? v->hint : n;
}

/* `the first 3 of 14 iterations of h, the first of w` */
static void caps(Tell *c, ml_Text *t)
{
    for (uint32_t k = 0; k < c->f->n_caps; k++) {
        ml_text_add(t, k ? ", " : "");
        ml_text_fmt(t, c->f->caps[k].walked == 1 ? "the first" : "the first %lld",
                    (long long)c->f->caps[k].walked);
        ml_text_fmt(t, " of %lld iterations of %s", (long long)c->f->caps[k].extent,
                    loop_name(c, c->f->caps[k].var));
    }
}

static void head(Tell *c)
{
    const ml_MemoryFacts *f = c->f;
    ml_Text *t = &c->t;

    ml_text_fmt(t, "%s  ", c->name);
    if (f->rank) {
        ml_text_char(t, '(');
        for (uint32_t d = 0; d < f->rank; d++)
            ml_text_fmt(t, "%s%lld", d ? ", " : "", (long long)f->extent[d]);
        ml_text_fmt(t, "%s) ", f->rank == 1 ? "," : "");
    }
    ml_dtype_print(t, f->buffer->type);
    ml_text_add(t, ", ");
    ml_text_bytes(t, f->elements * f->element_bytes);
    ml_text_fmt(t, ", %s; ", f->param ? "a parameter" : f->buffer->scope);
    plain(t, f->lines_touched);
    ml_text_add(t, " of ");
    plain(t, f->lines);
    ml_text_add(t, " lines touched\n");
    if (f->cut) {
        ml_text_add(t, "a part of the program: ");
        caps(c, t);
        ml_text_add(t, "; ");
        ml_text_si(t, (double)f->touches);
        ml_text_add(t, " of about ");
        ml_text_si(t, f->expected);
        ml_text_add(t, " accesses were walked\n");
    }
    if (f->stopped) {
        ml_text_add(t, "a part of the program: the walk ended after ");
        ml_text_si(t, (double)f->touches);
        ml_text_add(t, " accesses\n");
    }
}

static void per_element(Tell *c, const char *what, const ml_PerElement *p)
{
    size_t wide = c->narrow ? 7 : 9;

    ml_text_fmt(&c->t, "%-8s", what);
    number(c, (double)p->total, c->narrow ? 9 : 14);
    number(c, (double)p->min, wide);
    number(c, c->f->elements ? (double)p->total / (double)c->f->elements : 0, wide);
    number(c, (double)p->max, wide);
    ml_text_char(&c->t, '\n');
}

static void spread(Tell *c, const char *what, const ml_PerElement *p)
{
    if (p->n < 2)
        return;
    ml_text_fmt(&c->t, "%s ", what);
    for (uint32_t k = 0; k < p->n; k++) {
        ml_text_add(&c->t, k ? ", " : "");
        plain(&c->t, p->times[k]);
        if (p->to[k] != p->times[k]) {
            ml_text_add(&c->t, " to ");
            plain(&c->t, p->to[k]);
        }
        ml_text_add(&c->t, "× on ");
        plain(&c->t, p->elements[k]);
    }
    ml_text_add(&c->t, " elements\n");
}

static const char *block_of(Tell *c, const ml_Stmt *s);

static void redundant(Tell *c)
{
    const ml_MemoryFacts *f = c->f;
    uint64_t all = f->overwritten + f->unread + f->again;

    if (f->stores.total == 0)
        return;
    ml_text_add(&c->t, "redundant stores: ");
    if (all == 0) {
        ml_text_add(&c->t, "none\n");
        return;
    }
    plain(&c->t, all);
    ml_text_fmt(&c->t, " of all stores, %.3g %%\n",
                100 * (double)all / (double)f->stores.total);
    for (uint32_t k = 0; k < f->n_accesses; k++) {
        const ml_AccessTouches *a = &f->accesses[k];
        const char *at;

        if (a->memory != f->buffer || !a->store ||
            a->overwritten + a->unread + a->again == 0)
            continue;
        at = block_of(c, a->stmt);
        ml_text_fmt(&c->t, "  %s: ", at);
        const char *between = "";
        if (a->overwritten) {
            plain(&c->t, a->overwritten);
            ml_text_add(&c->t, " stored over before any load");
            between = ", ";
        }
        if (a->unread) {
            ml_text_add(&c->t, between);
            plain(&c->t, a->unread);
            ml_text_add(&c->t, " never loaded");
            between = ", ";
        }
        if (a->again) {
            ml_text_add(&c->t, between);
            plain(&c->t, a->again);
            ml_text_add(&c->t, " computed again (the element had been stored there)");
        }
        ml_text_char(&c->t, '\n');
    }
}

static void distances(Tell *c)
{
    const ml_MemoryFacts *f = c->f;
    uint64_t most = f->cold, all = f->cold;
    uint32_t last = 0;
    int bar = c->narrow ? BAR / 3 : BAR;
    size_t wide = c->narrow ? 12 : 20;

    for (uint32_t b = 0; b < ML_DISTANCE_BINS; b++) {
        most = f->distance[b] > most ? f->distance[b] : most;
        all += f->distance[b];
        if (f->distance[b])
            last = b;
    }
    if (all == 0)
        return;
    ml_text_add(&c->t,
                "reuse distance: different lines, of all buffers, between two touches of "
                "a line\n");
    for (uint32_t b = 0; b <= last + 1; b++) {
        uint64_t from, to, n = b > last ? f->cold : f->distance[b];
        ml_Text name = {0};
        int cells = (int)(((double)n * bar + (double)most - 1) / (double)most);

        ml_distance_bin(b, &from, &to);
        if (b > last)
            ml_text_add(&name, "first touch");
        else if (from == to)
            plain(&name, from);
        else {
            ml_text_add(&name, c->narrow ? "from " : "");
            plain(&name, from);
        }
        if (b <= last && from != to && !c->narrow) {
            ml_text_add(&name, " to ");
            plain(&name, to);
        }
        if (n > 0) {
            ml_text_repeat(&c->t, ' ', name.n < wide ? wide - name.n : 0);
            ml_text_add(&c->t, ml_text_z(&name));
            number(c, (double)n, c->narrow ? 9 : 14);
            ml_text_fmt(&c->t, " %5.1f %%", 100 * (double)n / (double)all);
            ml_text_add(&c->t, n ? "  " : "");
            for (int k = 0; k < cells; k++)
                ml_text_add(&c->t, "█");
            ml_text_char(&c->t, '\n');
        }
        ml_text_free(&name);
    }
}

/* ---------------------------------------------------------------- loops */

static const char *kind_word(uint8_t kind)
{
    return kind == ML_FOR_SERIAL ? "" : ml_for_kind_name((ml_ForKind)kind);
}

static void loops(Tell *c)
{
    const ml_MemoryFacts *f = c->f;
    size_t wide = 6;

    for (uint32_t k = 0; k < f->n_loops; k++)
        if (f->loops[k].touches > 0) {
            size_t n = 2u * f->loops[k].depth + strlen(loop_name(c, f->loops[k].var)) +
                       (c->narrow ? 0 : strlen(kind_word(f->loops[k].kind)) + 1);
            wide = n > wide ? n : wide;
        }
    wide = wide > 26 ? 26 : wide;
    ml_text_fmt(&c->t, "per iteration of\n%-*s%*s%*s%*s%*s\n", (int)wide + 2, "  loop",
                c->narrow ? 7 : 12, c->narrow ? "iters" : "iterations", c->narrow ? 8 : 12,
                "touches", c->narrow ? 7 : 10, "lines", c->narrow ? 7 : 12,
                c->narrow ? "all" : "of all");
    for (uint32_t k = 0; k < f->n_loops; k++) {
        const ml_LoopTouches *l = &f->loops[k];
        ml_Text n = {0};

        if (l->touches <= 0)
            continue;
        ml_text_repeat(&n, ' ', 2u * l->depth + 2);
        ml_text_add(&n, loop_name(c, l->var));
        if (*kind_word(l->kind) && !c->narrow)
            ml_text_fmt(&n, " %s", kind_word(l->kind));
        ml_text_fmt(&c->t, "%-*s", (int)wide + 2, ml_text_z(&n));
        ml_text_free(&n);
        number(c, (double)l->iterations, c->narrow ? 7 : 12);
        number(c, l->touches, c->narrow ? 8 : 12);
        number(c, l->lines, c->narrow ? 7 : 10);
        number(c, l->all_lines, c->narrow ? 7 : 12);
        ml_text_char(&c->t, '\n');
    }
}

typedef struct Find {
    const ml_Stmt *want;
    const ml_Block *in, *found;
} Find;

static void find_in(const ml_Stmt *s, bool in_init, void *user)
{
    Find *f = user;
    const ml_Block *before = f->in;

    (void)in_init;
    if (f->found)
        return;
    if (s == f->want) {
        f->found = f->in;
        return;
    }
    if (s->kind == ML_STMT_BLOCK && ml_as_block(s)->n_iters > 0)
        f->in = ml_as_block(s);
    ml_stmt_children(s, find_in, f);
    f->in = before;
}

/* The block that a statement belongs to, by its display name. */
static const char *block_of(Tell *c, const ml_Stmt *s)
{
    ml_Program p = ml_schedule_program(c->s);

    for (uint32_t k = 0; k < p.mod->n; k++) {
        Find f = {.want = s};
        find_in(p.mod->funcs[k]->body, false, &f);
        if (f.found)
            return ml_name_of(c->s, f.found->tag);
    }
    return "the program";
}

/* ---------------------------------------------------------------- accesses and threads */

static void distance_word(Tell *c, const ml_AccessTouches *a)
{
    uint64_t best = 0, from, to;
    uint32_t at = 0;

    for (uint32_t b = 0; b < ML_DISTANCE_BINS; b++)
        if (a->distance[b] > best) {
            best = a->distance[b];
            at = b;
        }
    ml_distance_bin(at, &from, &to);
    ml_text_add(&c->t, "; reuse distance mostly ");
    if (a->cold > best) {
        ml_text_add(&c->t, "none, a first touch");
        return;
    }
    plain(&c->t, from);
    if (to != from) {
        ml_text_add(&c->t, " to ");
        plain(&c->t, to);
    }
}

static void accesses(Tell *c)
{
    const ml_MemoryFacts *f = c->f;
    bool any = false;

    for (uint32_t k = 0; k < f->n_accesses; k++) {
        const ml_AccessTouches *a = &f->accesses[k];
        bool some = false;

        if (a->memory != f->buffer || a->touches == 0)
            continue;
        if (!any)
            ml_text_add(&c->t, "accesses, and their strides\n");
        any = true;
        ml_text_fmt(&c->t, "  %-5s in %s: ", a->store ? "store" : "load",
                    block_of(c, a->stmt));
        for (uint32_t d = 0; d < a->n_strides; d++)
            if (a->strides[d].known && a->strides[d].bytes) {
                ml_text_fmt(&c->t, "%s%s ", some ? ", " : "",
                            loop_name(c, f->loops[a->strides[d].loop].var));
                ml_text_fmt(&c->t, "%lld B", (long long)a->strides[d].bytes);
                some = true;
            }
        if (!some)
            ml_text_add(&c->t, "always the same place");
        distance_word(c, a);
        ml_text_char(&c->t, '\n');
    }
}

static void box(Tell *c, const ml_ThreadTouches *v)
{
    if (v->elements == 0 || c->f->rank == 0)
        return;
    ml_text_fmt(&c->t, "   %s%s[", v->rows ? "" : "within ", c->name);
    for (uint32_t d = 0; d < c->f->rank; d++) {
        ml_text_add(&c->t, d ? ", " : "");
        if (v->min[d] == v->max[d])
            ml_text_fmt(&c->t, "%lld", (long long)v->min[d]);
        else if (v->min[d] == 0 && v->max[d] == c->f->extent[d] - 1)
            ml_text_add(&c->t, ":");
        else
            ml_text_fmt(&c->t, "%lld:%lld", (long long)v->min[d], (long long)v->max[d] + 1);
    }
    ml_text_char(&c->t, ']');
}

static void sharing(Tell *c, const ml_ParallelTouches *p)
{
    if (p->own) {
        ml_text_add(&c->t, "  each iteration has a copy of its own\n");
        return;
    }
    if (p->shared_lines == 0) {
        ml_text_add(&c->t, "  no line that a thread stores to is touched by another");
        if (p->read_lines) {
            ml_text_add(&c->t, "; ");
            plain(&c->t, p->read_lines);
            ml_text_add(&c->t, " lines are loaded by several");
        }
        ml_text_char(&c->t, '\n');
        return;
    }
    ml_text_add(&c->t, "  ");
    plain(&c->t, p->shared_lines);
    ml_text_add(&c->t, " lines are touched by several threads, one of which stores");
    if (p->false_lines) {
        ml_text_add(&c->t, ": false sharing on ");
        plain(&c->t, p->false_lines);
        ml_text_add(&c->t, " (their elements are not shared)");
    }
    ml_text_char(&c->t, '\n');
}

static void threads(Tell *c)
{
    for (uint32_t k = 0; k < c->f->n_parallel; k++) {
        const ml_ParallelTouches *p = &c->f->parallel[k];

        ml_text_fmt(&c->t, "parallel %s on %u thread%s", loop_name(c, p->var), p->threads,
                    p->threads == 1 ? "" : "s");
        if (p->threads > 1)
            ml_text_add(&c->t, p->dynamic   ? ", iterations one at a time (here: in turn)"
                               : p->in_turn ? ", iterations in turn"
                                            : ", iterations in chunks");
        ml_text_char(&c->t, '\n');
        for (uint32_t t = 0; t < p->threads && t < MAX_ROWS; t++) {
            ml_text_fmt(&c->t, "  thread %u ", t);
            number(c, (double)p->thread[t].loads, c->narrow ? 6 : 12);
            ml_text_add(&c->t, " loads");
            number(c, (double)p->thread[t].stores, c->narrow ? 6 : 12);
            ml_text_add(&c->t, " stores");
            box(c, &p->thread[t]);
            ml_text_char(&c->t, '\n');
        }
        if (p->threads > MAX_ROWS)
            ml_text_fmt(&c->t, "  ... %u threads more\n", p->threads - MAX_ROWS);
        sharing(c, p);
    }
}

static void tell(Tell *c)
{
    head(c);
    ml_text_fmt(&c->t,
                c->narrow ? "%-8s%9s%7s%7s%7s\n" : "%-8s%14s%9s%9s%9s  per element\n",
                c->narrow ? "element" : "", "total", "least", "mean", "most");
    per_element(c, "loads", &c->f->loads);
    per_element(c, "stores", &c->f->stores);
    spread(c, "loads:", &c->f->loads);
    spread(c, "stores:", &c->f->stores);
    redundant(c);
    distances(c);
    loops(c);
    accesses(c);
    threads(c);
    if (c->t.n && c->t.p[c->t.n - 1] == '\n')
        c->t.p[--c->t.n] = '\0';
}

/* ---------------------------------------------------------------- data */

static void data_times(ml_Data *d, const char *key, const ml_PerElement *p,
                       int64_t elements)
{
    ml_data_object(d, key);
    ml_data_int(d, "total", (int64_t)p->total);
    ml_data_int(d, "min", (int64_t)p->min);
    ml_data_real(d, "mean", elements ? (double)p->total / (double)elements : 0);
    ml_data_int(d, "max", (int64_t)p->max);
    ml_data_list(d, "histogram");
    for (uint32_t k = 0; k < p->n; k++) {
        ml_data_object(d, NULL);
        ml_data_int(d, "from", (int64_t)p->times[k]);
        ml_data_int(d, "to", (int64_t)p->to[k]);
        ml_data_int(d, "elements", (int64_t)p->elements[k]);
        ml_data_end(d);
    }
    ml_data_end(d);
    ml_data_end(d);
}

static void data_distances(ml_Data *d, const uint64_t *v, uint64_t cold)
{
    ml_data_object(d, "reuse");
    ml_data_int(d, "first_touch", (int64_t)cold);
    ml_data_list(d, "distance");
    for (uint32_t b = 0; b < ML_DISTANCE_BINS; b++) {
        uint64_t from, to;

        if (v[b] == 0)
            continue;
        ml_distance_bin(b, &from, &to);
        ml_data_object(d, NULL);
        ml_data_int(d, "from", (int64_t)from);
        ml_data_int(d, "to", (int64_t)to);
        ml_data_int(d, "touches", (int64_t)v[b]);
        ml_data_end(d);
    }
    ml_data_end(d);
    ml_data_end(d);
}

static void data_accesses(Tell *c, ml_Data *d)
{
    const ml_MemoryFacts *f = c->f;

    ml_data_list(d, "accesses");
    for (uint32_t k = 0; k < f->n_accesses; k++) {
        const ml_AccessTouches *a = &f->accesses[k];

        if (a->memory != f->buffer)
            continue;
        ml_data_object(d, NULL);
        ml_data_str(d, "block", block_of(c, a->stmt));
        ml_data_str(d, "kind", a->store ? "store" : "load");
        ml_data_int(d, "touches", (int64_t)a->touches);
        if (a->touches) {
            ml_data_int(d, "first_byte", (int64_t)a->first_byte);
            ml_data_int(d, "last_byte", (int64_t)a->last_byte);
        }
        if (a->store) {
            ml_data_int(d, "overwritten", (int64_t)a->overwritten);
            ml_data_int(d, "never_loaded", (int64_t)a->unread);
            ml_data_int(d, "computed_again", (int64_t)a->again);
        }
        ml_data_object(d, "strides");
        for (uint32_t n = 0; n < a->n_strides; n++)
            if (a->strides[n].known)
                ml_data_int(d, loop_name(c, f->loops[a->strides[n].loop].var),
                            a->strides[n].bytes);
        ml_data_end(d);
        data_distances(d, a->distance, a->cold);
        ml_data_end(d);
    }
    ml_data_end(d);
}

static void data_parallel(Tell *c, ml_Data *d)
{
    const ml_MemoryFacts *f = c->f;

    ml_data_list(d, "parallel");
    for (uint32_t k = 0; k < f->n_parallel; k++) {
        const ml_ParallelTouches *p = &f->parallel[k];

        ml_data_object(d, NULL);
        ml_data_str(d, "loop", loop_name(c, p->var));
        ml_data_str(d, "iterations",
                    p->dynamic   ? "one at a time"
                    : p->in_turn ? "in turn"
                                 : "chunks");
        ml_data_bool(d, "own_copy", p->own);
        ml_data_int(d, "shared_lines", (int64_t)p->shared_lines);
        ml_data_int(d, "false_sharing_lines", (int64_t)p->false_lines);
        ml_data_int(d, "shared_elements", (int64_t)p->shared_elements);
        ml_data_int(d, "lines_loaded_by_several", (int64_t)p->read_lines);
        ml_data_list(d, "threads");
        for (uint32_t t = 0; t < p->threads; t++) {
            const ml_ThreadTouches *v = &p->thread[t];
            ml_data_object(d, NULL);
            ml_data_int(d, "loads", (int64_t)v->loads);
            ml_data_int(d, "stores", (int64_t)v->stores);
            ml_data_int(d, "elements", (int64_t)v->elements);
            ml_data_int(d, "lines", (int64_t)v->lines);
            if (f->rank && v->elements) {
                ml_data_list(d, "min");
                for (uint32_t n = 0; n < f->rank; n++)
                    ml_data_int(d, NULL, v->min[n]);
                ml_data_end(d);
                ml_data_list(d, "max");
                for (uint32_t n = 0; n < f->rank; n++)
                    ml_data_int(d, NULL, v->max[n]);
                ml_data_end(d);
                ml_data_bool(d, "whole_box", v->rows);
            }
            ml_data_end(d);
        }
        ml_data_end(d);
        ml_data_end(d);
    }
    ml_data_end(d);
}

static void give(Tell *c, ml_Data *d)
{
    const ml_MemoryFacts *f = c->f;

    if (!d)
        return;
    ml_data_one(d);
    ml_data_str(d, "buffer", c->name);
    ml_data_bool(d, "exact", f->exact);
    if (f->cut) {
        ml_Text t = {0};
        caps(c, &t);
        ml_data_str(d, "walked", ml_text_z(&t));
        ml_text_free(&t);
    }
    ml_data_int(d, "accesses_walked", (int64_t)f->touches);
    ml_data_real(d, "accesses_expected", f->expected);
    ml_data_int(d, "elements", f->elements);
    ml_data_int(d, "element_bytes", f->element_bytes);
    ml_data_int(d, "lines", (int64_t)f->lines);
    ml_data_int(d, "lines_touched", (int64_t)f->lines_touched);
    data_times(d, "loads", &f->loads, f->elements);
    data_times(d, "stores", &f->stores, f->elements);
    ml_data_object(d, "redundant");
    ml_data_int(d, "overwritten", (int64_t)f->overwritten);
    ml_data_int(d, "never_loaded", (int64_t)f->unread);
    ml_data_int(d, "computed_again", (int64_t)f->again);
    ml_data_end(d);
    data_distances(d, f->distance, f->cold);
    ml_data_list(d, "loops");
    for (uint32_t k = 0; k < f->n_loops; k++) {
        const ml_LoopTouches *l = &f->loops[k];
        if (l->touches <= 0)
            continue;
        ml_data_object(d, NULL);
        ml_data_str(d, "loop", loop_name(c, l->var));
        ml_data_int(d, "depth", l->depth);
        ml_data_str(d, "kind", ml_for_kind_name((ml_ForKind)l->kind));
        ml_data_int(d, "iterations", (int64_t)l->iterations);
        ml_data_real(d, "touches", l->touches);
        ml_data_real(d, "lines", l->lines);
        ml_data_real(d, "lines_of_all", l->all_lines);
        ml_data_end(d);
    }
    ml_data_end(d);
    data_accesses(c, d);
    data_parallel(c, d);
}

/* ---------------------------------------------------------------- the command */

typedef struct Args {
    const char *buffer;
    ml_Size sizes[16];
    size_t n_sizes;
    int64_t budget;
    uint32_t threads; /* 0: those of code here */
} Args;

static bool read_args(ml_Session *ss, const ml_Words *w, ml_Ctx *cx, Args *a)
{
    for (size_t k = 0; k < w->n; k++) {
        const char *v = w->v[k];
        char *eq, *end;

        if (ml_streq(v, "--shape") && k + 1 < w->n && strchr(w->v[k + 1], '=') &&
            a->n_sizes < ML_COUNT(a->sizes)) {
            char *text = ml_strdup(cx, ml_str(w->v[++k]));
            eq = strchr(text, '=');
            *eq = '\0';
            long long n = strtoll(eq + 1, &end, 10);
            if (end == eq + 1 || *end || n < 0)
                return ml_session_error(ss, ML_E_BAD_ARGUMENT, "--shape n=127, not %s=%s",
                                        text, eq + 1);
            a->sizes[a->n_sizes++] = (ml_Size){text, n};
        } else if (ml_streq(v, "--budget") && k + 1 < w->n) {
            double n = strtod(w->v[++k], &end);
            if (end == w->v[k] || *end || !(n >= 1) || n > 1e9)
                return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                        "--budget takes accesses, from 1 to 1e9, not %s",
                                        w->v[k]);
            a->budget = (int64_t)n;
        } else if (ml_streq(v, "--threads") && k + 1 < w->n) {
            long n = strtol(w->v[++k], &end, 10);
            if (end == w->v[k] || *end || n < 1 || n > ML_MAX_TRACE_THREADS)
                return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                        "--threads takes a number from 1 to %d, not %s",
                                        ML_MAX_TRACE_THREADS, w->v[k]);
            a->threads = (uint32_t)n;
        } else if (*v == '-' || a->buffer) {
            return ml_session_error(
                ss, ML_E_BAD_ARGUMENT,
                ":memory knows BUFFER, --threads N, --shape n=N and --budget "
                "N, not %s",
                v);
        } else {
            a->buffer = v;
        }
    }
    if (!a->buffer)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":memory BUFFER: which buffer? :buffers lists them");
    return true;
}

static void on_progress(void *user, uint64_t done, double of)
{
    ml_Text t = {0};

    ml_text_si(&t, (double)done);
    ml_text_add(&t, t.p[t.n - 1] == ' ' ? "accesses" : " accesses");
    ml_progress(user, of > 0 ? (double)done / of : (double)NAN, ml_text_z(&t));
    ml_text_free(&t);
}

static bool measure(ml_Session *ss, ml_Ctx *cx, const Args *a, const ml_Buffer *b)
{
    ml_Schedule *s = ss->focus;
    ml_Program p = ml_schedule_program(s);
    uint32_t at = ml_schedule_func(s) ? ml_schedule_func_pos(s) : 0;
    ml_Progress bar;
    ml_MemoryOpts o = {.buffer = b,
                       .threads = a->threads ? a->threads
                                             : ml_engine_threads(ml_host_engine(ss->host)),
                       .trace = {.budget = a->budget,
                                 .sizes = a->sizes,
                                 .n_sizes = a->n_sizes,
                                 .seed = (uint64_t)ml_setting_int(&ss->set, ML_SET_seed)},
                       .progress = on_progress,
                       .user = &bar};
    const char *name = ml_strdup(cx, ml_str(ml_name_of(s, b->uid)));
    ml_MemoryFacts f;
    bool ok;

    ml_progress_begin(&bar, ss, ml_format(cx, "memory %s", name));
    ok = ml_memory_measure(cx, p.mod, p.mod->funcs[at], &o, &f);
    ml_progress_end(&bar);
    if (!ok) {
        ml_session_fail(ss, ml_failure_about(ml_error(cx), s, NULL));
        return false;
    }
    Tell c = {.ss = ss, .s = s, .f = &f, .name = name, .narrow = ss->out.width < 72};

    if (f.buffer == NULL)
        ml_text_fmt(&c.t, "%s is not touched", name);
    else
        tell(&c);
    ml_out_prose(&ss->out, ml_text_z(&c.t));
    if (f.buffer)
        give(&c, ml_session_data(ss));
    ml_text_free(&c.t);
    ml_memory_free(&f);
    return true;
}

bool cmd_memory(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    ml_Ctx *tmp = ml_ctx_new(0), *cx;
    Args a = {0};
    const ml_Buffer *b = NULL;
    const char *why;
    bool ok = read_args(ss, w, tmp, &a);

    if (ok && (b = ml_resolve_buffer(s, a.buffer)) == NULL)
        ok = ml_session_schedule_error(ss, s);
    why =
        ok ? ml_checking_bad_size(tmp, ml_schedule_program(s).mod, NULL, a.sizes, a.n_sizes)
           : NULL;
    if (why)
        ok = ml_session_error(ss, ML_E_BAD_ARGUMENT, "--shape: %s", why);
    if (ok) {
        (void)ml_schedule_names(s); /* before its context is frozen */
        cx = ml_ctx_fork(ml_schedule_ctx(s));
        ml_ctx_set_limit(cx, 0);
        ml_ctx_set_cancel(cx, (const volatile int *)&ss->interrupt);
        ok = measure(ss, cx, &a, b);
        ml_ctx_unref(cx);
    }
    ml_ctx_unref(tmp);
    return ok;
}
