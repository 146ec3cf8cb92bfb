/* memory_text - the facts of codegen/trace/memory.h in lines of 40 or 80 columns. Source:
 * interaction 4. */
#include "repl/show/memory_text.h"

#include <math.h>

#include "moonloop/core/walk.h"
#include "repl/show/footprint.h"

enum { BAR = 24, MAX_ROWS = 8 };

/* A count, in a column; short ones where there is little room. */
static void number(ml_MemoryTell *c, double v, size_t width)
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

/* The words with numbers in the places of #. */
static void say(ml_Text *t, const char *words, const uint64_t *v)
{
    for (; *words; words++)
        if (*words == '#')
            ml_text_thousands(t, (int64_t)*v++);
        else
            ml_text_char(t, *words);
}

const char *ml_memory_loop(const ml_MemoryTell *c, const ml_Var *v)
{
    const char *n = ml_name_of(c->s, v->uid);

    return ml_streq(n, "?") && v->hint ? v->hint : n;
}

/* `the first 3 of 14 iterations of h, the first of w` */
void ml_memory_caps(const ml_MemoryTell *c, ml_Text *t)
{
    for (uint32_t k = 0; k < c->f->n_caps; k++) {
        ml_text_add(t, k ? ", " : "");
        ml_text_fmt(t, c->f->caps[k].walked == 1 ? "the first" : "the first %lld",
                    (long long)c->f->caps[k].walked);
        ml_text_fmt(t, " of %lld iterations of %s", (long long)c->f->caps[k].extent,
                    ml_memory_loop(c, c->f->caps[k].var));
    }
}

static void head(ml_MemoryTell *c)
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
    ml_text_fmt(t, ", %s; ", f->param ? "a parameter" : f->buffer->scope.name);
    say(t, "# of # lines touched\n", (uint64_t[]){f->lines_touched, f->lines});
    if (f->cut) {
        ml_text_add(t, "a part of the program: ");
        ml_memory_caps(c, t);
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

static void per_element(ml_MemoryTell *c, const char *what, const ml_PerElement *p)
{
    size_t wide = c->narrow ? 7 : 9;

    ml_text_fmt(&c->t, "%-8s", what);
    number(c, (double)p->total, c->narrow ? 9 : 14);
    number(c, (double)p->min, wide);
    number(c, c->f->elements ? (double)p->total / (double)c->f->elements : 0, wide);
    number(c, (double)p->max, wide);
    ml_text_char(&c->t, '\n');
}

static void spread(ml_MemoryTell *c, const char *what, const ml_PerElement *p)
{
    if (p->n < 2)
        return;
    ml_text_fmt(&c->t, "%s ", what);
    for (uint32_t k = 0; k < p->n; k++) {
        ml_text_add(&c->t, k ? ", " : "");
        say(&c->t, "#", (uint64_t[]){p->times[k]});
        if (p->to[k] != p->times[k])
            say(&c->t, " to #", (uint64_t[]){p->to[k]});
        say(&c->t, "× on #", (uint64_t[]){p->elements[k]});
    }
    ml_text_add(&c->t, " elements\n");
}

static void redundant(ml_MemoryTell *c)
{
    const ml_MemoryFacts *f = c->f;
    /* what is not loaded in a part of the program may be loaded in the rest */
    uint64_t unread = f->exact ? f->unread : 0, all = f->overwritten + unread + f->again;

    if (f->stores.total == 0)
        return;
    ml_text_add(&c->t, "redundant stores: ");
    if (all == 0) {
        ml_text_add(&c->t, "none\n");
        return;
    }
    say(&c->t, "# of all stores", &all);
    ml_text_fmt(&c->t, ", %.3g %%\n", 100 * (double)all / (double)f->stores.total);
    for (uint32_t k = 0; k < f->n_accesses; k++) {
        const ml_AccessTouches *a = &f->accesses[k];
        const struct {
            uint64_t n;
            const char *words;
        } parts[] = {{a->overwritten, "# stored over before any load"},
                     {f->exact ? a->unread : 0, "# never loaded"},
                     {a->again, "# computed again (the element had been stored there)"}};
        const char *between = ": ";

        if (a->memory != f->buffer || !a->store ||
            parts[0].n + parts[1].n + parts[2].n == 0)
            continue;
        ml_text_fmt(&c->t, "  %s", ml_memory_block(c, a->stmt));
        for (size_t m = 0; m < ML_COUNT(parts); m++)
            if (parts[m].n > 0) {
                ml_text_add(&c->t, between);
                say(&c->t, parts[m].words, &parts[m].n);
                between = ", ";
            }
        ml_text_char(&c->t, '\n');
    }
}

/* Distances of a bin: `4`, `5 to 8`. */
static void add_bin(ml_Text *t, uint32_t bin, bool narrow)
{
    uint64_t at[2];

    ml_distance_bin(bin, &at[0], &at[1]);
    say(t, at[0] == at[1] ? "#" : narrow ? "from #" : "# to #", at);
}

static void distances(ml_MemoryTell *c)
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
        uint64_t n = b > last ? f->cold : f->distance[b];
        ml_Text name = {0};
        int cells = (int)(((double)n * bar + (double)most - 1) / (double)most);

        if (b > last)
            ml_text_add(&name, "first touch");
        else
            add_bin(&name, b, c->narrow);
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

static void loops(ml_MemoryTell *c)
{
    const ml_MemoryFacts *f = c->f;
    size_t wide = 6;

    for (uint32_t k = 0; k < f->n_loops; k++)
        if (f->loops[k].touches > 0) {
            size_t n = (size_t)2 * f->loops[k].depth +
                       strlen(ml_memory_loop(c, f->loops[k].var)) +
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
        ml_text_add(&n, ml_memory_loop(c, l->var));
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
const char *ml_memory_block(const ml_MemoryTell *c, const ml_Stmt *s)
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

static void distance_word(ml_MemoryTell *c, const ml_AccessTouches *a)
{
    uint64_t best = 0;
    uint32_t at = 0;

    for (uint32_t b = 0; b < ML_DISTANCE_BINS; b++)
        if (a->distance[b] > best) {
            best = a->distance[b];
            at = b;
        }
    ml_text_add(&c->t, "; reuse distance mostly ");
    if (a->cold > best)
        ml_text_add(&c->t, "none, a first touch");
    else
        add_bin(&c->t, at, false);
}

static void accesses(ml_MemoryTell *c)
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
                    ml_memory_block(c, a->stmt));
        for (uint32_t d = 0; d < a->n_strides; d++)
            if (a->strides[d].known && a->strides[d].bytes) {
                ml_text_fmt(&c->t, "%s%s ", some ? ", " : "",
                            ml_memory_loop(c, f->loops[a->strides[d].loop].var));
                ml_text_fmt(&c->t, "%lld B", (long long)a->strides[d].bytes);
                some = true;
            }
        if (!some)
            ml_text_add(&c->t, "always the same place");
        distance_word(c, a);
        ml_text_char(&c->t, '\n');
    }
}

static void box(ml_MemoryTell *c, const ml_ThreadTouches *v)
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

static void sharing(ml_MemoryTell *c, const ml_ParallelTouches *p)
{
    if (p->own) {
        ml_text_add(&c->t, "  each iteration has a copy of its own\n");
        return;
    }
    if (p->shared_lines > 0)
        say(&c->t, "  # lines are touched by several threads, one of which stores",
            &p->shared_lines);
    else
        ml_text_add(&c->t, "  no line that a thread stores to is touched by another");
    if (p->shared_lines > 0 && p->false_lines > 0)
        say(&c->t, ": false sharing on # (their elements are not shared)", &p->false_lines);
    else if (p->shared_lines == 0 && p->read_lines > 0)
        say(&c->t, "; # lines are loaded by several", &p->read_lines);
    ml_text_char(&c->t, '\n');
}

static void threads(ml_MemoryTell *c)
{
    for (uint32_t k = 0; k < c->f->n_parallel; k++) {
        const ml_ParallelTouches *p = &c->f->parallel[k];

        ml_text_fmt(&c->t, "parallel %s on %u thread%s", ml_memory_loop(c, p->var),
                    p->threads, p->threads == 1 ? "" : "s");
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

void ml_memory_text(ml_MemoryTell *c)
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
