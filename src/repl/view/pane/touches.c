/* touches - buffers walked through while the keys rest. Source: interaction 4, 10. */
#include "repl/view/pane/touches.h"

#include <math.h>

#include "moonloop/codegen/machine/engine.h"
#include "moonloop/codegen/trace/memory.h"
#include "moonloop/core/base/arena.h"
#include "moonloop/core/walk.h"
#include "repl/host/host.h"
#include "repl/view/state/view.h"

enum { VERSIONS = 4, MOST_THREADS = 4 };
#define BUDGET (INT64_C(1) << 23) /* touches: some tenths of a second */

typedef struct Known {
    ml_PaneMemo m;
    ML_VEC(ml_BufferTouches *) v;
} Known;

const ml_BufferTouches *ml_pane_touches(ml_View *v, const ml_Shown *sh, ml_Uid buffer)
{
    bool made;
    Known *k = ml_pane_memo(v, &ml_pane_kept(v)->touches, sh->s, sh->version, 0, sizeof *k,
                            VERSIONS, &made);
    ml_BufferTouches *b;

    if (made)
        v->uncounted = false;

    for (size_t i = 0; i < k->v.n; i++)
        if (k->v.v[i]->buffer == buffer)
            return k->v.v[i];
    b = ML_NEW(k->m.cx, ml_BufferTouches);
    *b = (ml_BufferTouches){.buffer = buffer};
    ml_push(k->m.cx, &k->v, b);
    return b;
}

/* ---- the buffer in the program */

typedef struct Find {
    ml_Uid uid;
    const ml_Buffer *found;
} Find;

static bool visit_stmt(const ml_Stmt *s, void *user)
{
    Find *f = user;

    if (s->kind == ML_STMT_BLOCK)
        for (uint32_t k = 0; k < ml_as_block(s)->n_allocs; k++)
            if (ml_as_block(s)->allocs[k]->uid == f->uid)
                f->found = ml_as_block(s)->allocs[k];
    if ((s->kind == ML_STMT_ALLOC || s->kind == ML_STMT_DECL) &&
        ml_as_alloc(s)->buffer->uid == f->uid)
        f->found = ml_as_alloc(s)->buffer;
    return !f->found;
}

static const ml_Buffer *buffer_of(const ml_Func *f, ml_Uid uid)
{
    Find find = {.uid = uid};

    for (size_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer && f->params[k].buffer->uid == uid)
            return f->params[k].buffer;
    ml_stmt_visit(f->body, visit_stmt, &find);
    return find.found;
}

/* ---- a result in words */

static void number(ml_Text *t, double x)
{
    if (x < 100 && x != floor(x))
        ml_text_fmt(t, "%.*f", x < 10 ? 2 : 1, x);
    else
        ml_text_thousands(t, llround(x));
}

static const char *called(const Known *k, ml_Uid uid, const char *else_)
{
    const char *z = ml_map_get(ml_version_names(k->m.s, k->m.version)->map, uid);

    return z ? z : else_;
}

static const char *name_of(const Known *k, const ml_Var *var)
{
    return called(k, var->uid, var->hint);
}

/* `3`, `3 to 5` */
static void range(ml_Text *t, uint64_t from, uint64_t to)
{
    ml_text_thousands(t, (int64_t)from);
    if (to != from) {
        ml_text_add(t, " to ");
        ml_text_thousands(t, (int64_t)to);
    }
}

/* `loads 256`, `stores 1 (0 to 257)` */
static void times(ml_Text *t, const char *what, const ml_PerElement *p,
                  const ml_MemoryFacts *f)
{
    int64_t elements = f->elements;
    uint64_t least = p->min;

    /* of a part of the program: of those that it touches */
    if (!f->exact && p->n > 1 && p->times[0] == 0 && p->to[0] == 0) {
        elements -= (int64_t)p->elements[0];
        least = p->times[1];
    }
    if (p->total == 0 || elements <= 0)
        return;
    ml_text_fmt(t, "%s%s ", t->n ? ", " : "", what);
    number(t, (double)p->total / (double)elements);
    if (least != p->max) {
        ml_text_add(t, " (");
        range(t, least, p->max);
        ml_text_char(t, ')');
    }
}

static void tell_redundant(Known *k, const ml_MemoryFacts *f, ml_BufferTouches *b)
{
    /* what is not loaded in a part of the program may be loaded in the rest */
    uint64_t unread = f->exact ? f->unread : 0, all = f->overwritten + unread + f->again;
    const struct {
        uint64_t n;
        const char *what;
    } KINDS[] = {{f->overwritten, "stored over before a load"},
                 {unread, "never loaded"},
                 {f->again, "computed again"}};
    const char *between = ": ";
    ml_Text t = {0};

    if (all == 0 || f->stores.total == 0)
        return;
    ml_text_fmt(&t, "%.3g %% of the stores are redundant",
                100 * (double)all / (double)f->stores.total);
    for (size_t i = 0; i < ML_COUNT(KINDS); i++) {
        if (KINDS[i].n == 0)
            continue;
        ml_text_add(&t, between);
        ml_text_thousands(&t, (int64_t)KINDS[i].n);
        ml_text_fmt(&t, " %s", KINDS[i].what);
        between = ", ";
    }
    b->redundant = ml_text_into(k->m.cx, &t);
}

static void tell_reuse(Known *k, const ml_MemoryFacts *f, ml_BufferTouches *b)
{
    uint64_t all = f->cold, best = 0, from, to;
    uint32_t at = 0;
    ml_Text t = {0};

    for (uint32_t i = 0; i < ML_DISTANCE_BINS; i++) {
        all += f->distance[i];
        if (f->distance[i] > best) {
            best = f->distance[i];
            at = i;
        }
    }
    if (all == 0)
        return;
    if (f->cold >= best) {
        ml_text_fmt(&t, "%.3g %% first touches of a line",
                    100 * (double)f->cold / (double)all);
    } else {
        ml_distance_bin(at, &from, &to);
        ml_text_add(&t, "reuse after ");
        range(&t, from, to);
        ml_text_fmt(&t, " other line%s, %.3g %%", to == 1 ? "" : "s",
                    100 * (double)best / (double)all);
    }
    b->reuse = ml_text_into(k->m.cx, &t);
}

static void box(Known *k, ml_Text *t, const ml_MemoryFacts *f, const ml_ThreadTouches *v)
{
    const char *name =
        ml_map_get(ml_version_names(k->m.s, k->m.version)->map, f->buffer->uid);

    ml_text_fmt(t, "%s%s[", v->rows ? "" : "within ", name ? name : f->buffer->name);
    for (uint32_t d = 0; d < f->rank; d++) {
        ml_text_add(t, d ? ", " : "");
        if (v->min[d] == v->max[d])
            ml_text_fmt(t, "%lld", (long long)v->min[d]);
        else if (v->min[d] == 0 && v->max[d] == f->extent[d] - 1)
            ml_text_char(t, ':');
        else
            ml_text_fmt(t, "%lld:%lld", (long long)v->min[d], (long long)v->max[d] + 1);
    }
    ml_text_char(t, ']');
}

static void tell_sharing(ml_Text *t, const ml_ParallelTouches *p)
{
    if (p->own) {
        ml_text_add(t, "each iteration has a copy of its own");
    } else if (p->shared_lines == 0) {
        ml_text_add(t, "no stored line is shared");
        if (p->read_lines) {
            ml_text_add(t, ", ");
            ml_text_thousands(t, (int64_t)p->read_lines);
            ml_text_add(t, " loaded ones are");
        }
    } else {
        ml_text_thousands(t, (int64_t)p->shared_lines);
        ml_text_add(t, " stored lines are shared");
        if (p->false_lines) {
            ml_text_add(t, ", falsely ");
            ml_text_thousands(t, (int64_t)p->false_lines);
        }
    }
}

static void tell_threads(Known *k, const ml_MemoryFacts *f, ml_BufferTouches *b)
{
    ML_VEC(const char *) out = {0};

    for (uint32_t i = 0; i < f->n_parallel; i++) {
        const ml_ParallelTouches *p = &f->parallel[i];
        ml_Text t = {0};

        for (uint32_t n = 0; n < p->threads && n < MOST_THREADS && f->rank > 0; n++) {
            const ml_ThreadTouches *v = &p->thread[n];

            ml_text_fmt(&t, "thread %u of %s: ", n, name_of(k, p->var));
            if (v->elements > 0)
                box(k, &t, f, v);
            else
                ml_text_add(&t, "nothing");
            if (n + 1 == MOST_THREADS && p->threads > MOST_THREADS)
                ml_text_fmt(&t, "  … %u more", p->threads - MOST_THREADS);
            ml_push(k->m.cx, &out, ml_text_into(k->m.cx, &t));
        }
        ml_text_fmt(&t, "%s on %u thread%s: ", name_of(k, p->var), p->threads,
                    p->threads == 1 ? "" : "s");
        tell_sharing(&t, p);
        ml_push(k->m.cx, &out, ml_text_into(k->m.cx, &t));
    }
    b->n_threads = (uint32_t)out.n;
    b->threads = out.v;
}

static void tell_walked(Known *k, const ml_MemoryFacts *f, ml_BufferTouches *b)
{
    ml_Text t = {0};

    if (f->exact)
        return;
    ml_text_add(&t, "of a part: ");
    for (uint32_t i = 0; i < f->n_caps; i++)
        ml_text_fmt(&t, "%s%lld of %lld iterations of %s", i ? ", " : "",
                    (long long)f->caps[i].walked, (long long)f->caps[i].extent,
                    name_of(k, f->caps[i].var));
    if (f->stopped)
        ml_text_fmt(&t, "%sits first accesses", f->n_caps ? "; " : "");
    b->walked = ml_text_into(k->m.cx, &t);
}

static void take(Known *k, const ml_MemoryFacts *f, ml_BufferTouches *b)
{
    ml_LoopLines *loops = ML_ARRAY(k->m.cx, ml_LoopLines, f->n_loops + 1);
    ml_Text t = {0};

    if (!f->buffer) {
        b->state = ML_TOUCH_FAILED;
        b->why = "not touched";
        return;
    }
    b->state = ML_TOUCH_READY;
    times(&t, "loads", &f->loads, f);
    times(&t, "stores", &f->stores, f);
    ml_text_add(&t, t.n ? " an element" : "");
    b->per_element = ml_text_into(k->m.cx, &t);
    tell_redundant(k, f, b);
    tell_reuse(k, f, b);
    tell_threads(k, f, b);
    tell_walked(k, f, b);
    for (uint32_t i = 0; i < f->n_loops; i++)
        if (f->loops[i].touches > 0)
            loops[b->n_loops++] = (ml_LoopLines){f->loops[i].var->uid, f->loops[i].lines,
                                                 f->loops[i].all_lines};
    b->loops = loops;
}

/* ---- walking */

typedef struct TouchWalk {
    ml_View *v;
    const char *name;
    volatile int cancel;
} TouchWalk;

static void told(void *user, uint64_t done, double of)
{
    TouchWalk *w = user;

    if (w->v->pressed &&
        w->v->pressed(w->v->pressed_user, w->name, of > 0 ? (double)done / of : 0))
        w->cancel = 1;
}

/* false: a key came. */
static bool walk(ml_View *v, Known *k, ml_BufferTouches *b)
{
    ml_Program p = ml_version_program(k->m.s, k->m.version);
    uint32_t at = 0;
    const ml_Buffer *buffer = NULL;
    TouchWalk w = {.v = v};
    ml_MemoryOpts o = {
        .threads = ml_engine_threads(ml_host_engine(v->ss->host)),
        .trace = {.budget = BUDGET,
                  .seed = (uint64_t)ml_setting_int(&v->ss->set, ML_SET_seed)},
        .progress = told,
        .user = &w};
    ml_MemoryFacts f;
    ml_Ctx *cx;

    while (at < p.mod->n && !(buffer = buffer_of(p.mod->funcs[at], b->buffer)))
        at++;
    o.buffer = buffer;
    w.name = called(k, b->buffer, buffer ? buffer->name : "?");
    if (!buffer) {
        b->state = ML_TOUCH_FAILED;
        b->why = "a part of another buffer, which tells of it";
        return true;
    }
    cx = ml_ctx_fork(ml_schedule_ctx(k->m.s));
    ml_ctx_set_limit(cx, 0);
    ml_ctx_set_cancel(cx, (const volatile int *)&w.cancel);
    if (ml_memory_measure(cx, p.mod, p.mod->funcs[at], &o, &f)) {
        take(k, &f, b);
        ml_memory_free(&f);
    } else if (!w.cancel) {
        ml_Failure *why = ml_failure_from(ml_error(cx));

        b->state = ML_TOUCH_FAILED;
        b->why = ml_strdup(k->m.cx, ml_str(ml_failure_message(why)));
        ml_failure_free(why);
    }
    ml_ctx_unref(cx);
    return !w.cancel;
}

/* The first that waits, of the version that is shown; NULL: none. */
static ml_BufferTouches *waiting(ml_View *v)
{
    Known *k = v->kept ? (Known *)v->kept->touches : NULL;
    ml_Schedule *s = v->ss->focus;

    if (!k || v->uncounted || !s || v->pane[ML_PANE_MEMORY].at.w == 0 || k->m.s != s ||
        k->m.version != ml_schedule_version(s))
        return NULL;
    for (size_t i = 0; i < k->v.n; i++)
        if (k->v.v[i]->state == ML_TOUCH_WAITING)
            return k->v.v[i];
    return NULL;
}

bool ml_pane_touches_wait(ml_View *v)
{
    return waiting(v) != NULL;
}

bool ml_pane_touches_rest(ml_View *v)
{
    ml_BufferTouches *b = waiting(v);

    if (!b)
        return false;
    if (walk(v, (Known *)v->kept->touches, b))
        v->pane[ML_PANE_MEMORY].fresh = false;
    return waiting(v) != NULL;
}

bool ml_pane_touches_stop(ml_View *v)
{
    if (!waiting(v))
        return false;
    v->uncounted = true;
    v->pane[ML_PANE_MEMORY].fresh = false;
    return true;
}
