/*
 * allocated - how many bytes the allocations of a function take at once, per storage scope.
 *
 * An allocation counts from where it stands to the end of the loop, condition, attribute or
 * block around it; neighbours in one list add up, loops beside each other do not. A size
 * that is no number counts 0. Source: ir-and-analysis 6.4.
 */
#include "moonloop/verify/verify.h"

typedef struct Live {
    const char *scope;
    int64_t now, most;
} Live;

typedef struct AllocWalk {
    ml_Ctx *cx;
    ML_VEC(Live) live;
} AllocWalk;

static int64_t bytes_of(const ml_Buffer *b)
{
    int64_t n = (int64_t)ml_dtype_bytes(b->type);

    for (size_t k = 0; k < b->rank; k++) {
        if (!ml_is_const_int(b->shape[k]) || b->shape[k]->as.i < 0)
            return 0;
        if (__builtin_mul_overflow(n, b->shape[k]->as.i, &n))
            n = INT64_MAX;
    }
    return n;
}

static void add(AllocWalk *w, const ml_Buffer *b)
{
    const char *scope = b->scope.name;
    Live *l = NULL;

    for (size_t k = 0; k < w->live.n && !l; k++)
        if (ml_streq(w->live.v[k].scope, scope))
            l = &w->live.v[k];
    if (!l) {
        ml_push(w->cx, &w->live, ((Live){.scope = scope}));
        l = &w->live.v[w->live.n - 1];
    }
    if (__builtin_add_overflow(l->now, bytes_of(b), &l->now))
        l->now = INT64_MAX;
    if (l->now > l->most)
        l->most = l->now;
}

static void walk(AllocWalk *w, const ml_Stmt *s);

static void child(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    walk(user, s);
}

/* What is allocated in s, or below it when it is a loop, block or attribute, ends with it:
 * the sums are put back. */
static void part(AllocWalk *w, const ml_Stmt *s, bool below)
{
    size_t n = w->live.n;
    int64_t *before = ML_ARRAY(w->cx, int64_t, n + 1);

    for (size_t k = 0; k < n; k++)
        before[k] = w->live.v[k].now;
    if (below && s->kind == ML_STMT_BLOCK)
        for (size_t k = 0; k < ml_as_block(s)->n_allocs; k++)
            add(w, ml_as_block(s)->allocs[k]);
    if (below)
        ml_stmt_children(s, child, w);
    else
        walk(w, s);
    for (size_t k = 0; k < w->live.n; k++)
        w->live.v[k].now = k < n ? before[k] : 0;
}

static void walk(AllocWalk *w, const ml_Stmt *s)
{
    switch (ml_stmt_shape(s)) {
    case ML_SHAPE_LEAF:
        if (s->kind == ML_STMT_ALLOC)
            add(w, ml_as_alloc(s)->buffer);
        break;
    case ML_SHAPE_LIST: ml_stmt_children(s, child, w); break;
    case ML_SHAPE_BRANCH:
        part(w, ml_as_if(s)->then, false);
        if (ml_as_if(s)->other)
            part(w, ml_as_if(s)->other, false);
        break;
    case ML_SHAPE_BODY:
    case ML_SHAPE_BLOCK: part(w, s, true); break;
    }
}

void ml_allocated_memory(ml_Ctx *cx, const ml_Func *f, ml_AllocatedVec *out)
{
    AllocWalk w = {.cx = cx};

    walk(&w, f->body);
    for (size_t k = 0; k < w.live.n; k++)
        ml_push(cx, out, ((ml_Allocated){w.live.v[k].scope, w.live.v[k].most}));
}
