/*
 * unify_threads - one loop per thread tag around each kernel.
 *
 * A kernel is an outermost thread-bound loop with all that is below it. Its loops over
 * blockIdx and threadIdx become one nest around the rest, blocks before threads, x before y
 * before z; loops of one tag share the variable of the first. What a loop of a tag was not
 * around is now done by all its threads: where it writes what they have in common, by the
 * first thread alone, unless it is a copy annotated auto_copy, which lower_auto_copy shares
 * out. Loops over vthread become serial ones: a thread does the work of all.
 * Source: lowering-and-codegen 2.6.
 */
#include "moonloop/codegen/lower/lower_impl.h"

static const char PASS[] = "unify_threads";

enum { TAGS = 6 }; /* blockIdx.x, y, z, threadIdx.x, y, z */

typedef struct Unify {
    ml_Lower *lo;
    ml_Arith *ar;
    const ml_For *tag[TAGS];     /* the first loop of it; NULL: the kernel has none */
    const ml_Value *notes[TAGS]; /* annotations of all of them */
    ml_Subst to_first;
    unsigned around; /* tags whose loops are around the statement at work */
    bool below;      /* something other than thread loops is around it */
    bool failed, dynamic;
} Unify;

static int tag_of(ml_Thread t)
{
    bool known = (t.axis == ML_AXIS_BLOCK || t.axis == ML_AXIS_THREAD) && t.dim <= ML_DIM_Z;

    return known ? t.dim + (t.axis == ML_AXIS_THREAD ? 3 : 0) : -1;
}

static const ml_For *as_thread_loop(const ml_Stmt *s)
{
    return s->kind == ML_STMT_FOR && ml_as_for(s)->thread.axis ? ml_as_for(s) : NULL;
}

static void fail(Unify *u, const ml_Stmt *at, const char *text)
{
    if (!u->failed)
        ml_lower_fail(u->lo, PASS, at, "%s", text);
    u->failed = true;
}

/* ---- the loops of a kernel */

static void meet(Unify *u, const ml_For *f, int k)
{
    ml_Ctx *cx = u->lo->cx;
    const ml_For *first = u->tag[k];

    if (!first) {
        if (u->below && !ml_is_const_int(f->extent))
            fail(u, &f->base,
                 ml_format(cx,
                           "the extent of %s (%s) is no number, and the loop lies "
                           "inside of others",
                           ml_lower_name(cx, &f->base), f->thread.name));
        u->tag[k] = f;
        u->notes[k] = f->annotations;
        return;
    }
    const ml_Expr *a = first->extent, *b = f->extent;

    if (a != b && !(ml_promote(cx, &a, &b) && ml_prove_equal(u->ar, a, b)))
        fail(u, &f->base,
             ml_format(cx, "loops of one kernel bound to %s have the extents %s and %s",
                       f->thread.name, ml_lower_text(cx, first->extent),
                       ml_lower_text(cx, f->extent)));
    ml_subst_var(cx, &u->to_first, f->var,
                 ml_cast(cx, f->var->type, ml_var(cx, first->var)));
    for (size_t j = 0; j < ml_dict_count(f->annotations); j++)
        u->notes[k] = ml_dict_with(cx, u->notes[k], f->annotations->keys[j],
                                   f->annotations->as.list[j]);
}

static void collect(const ml_Stmt *s, bool in_init, void *user)
{
    Unify *u = user;
    const ml_For *f = as_thread_loop(s);
    bool below = u->below;

    (void)in_init;
    if (!s->has_loop)
        return;
    if (f && f->thread.axis != ML_AXIS_VTHREAD && tag_of(f->thread) < 0)
        fail(u, s,
             ml_format(u->lo->cx, "%s is bound to %s, which is not supported",
                       ml_lower_name(u->lo->cx, s), f->thread.name));
    else if (f && f->thread.axis != ML_AXIS_VTHREAD)
        meet(u, f, tag_of(f->thread));
    else
        u->below = true;
    ml_stmt_children(s, collect, u);
    u->below = below;
}

/* ---- what only some threads do */

typedef struct Writes {
    bool own, common, global; /* of a thread or warp; of a block; of all blocks */
} Writes;

static bool is_shared_out(const ml_Stmt *s)
{
    return s->kind == ML_STMT_BLOCK &&
           ml_dict_get(ml_as_block(s)->annotations, "auto_copy") != NULL;
}

static bool see_writes(const ml_Stmt *s, void *user)
{
    Writes *w = user;

    w->own |= is_shared_out(s);
    if (s->kind == ML_STMT_STORE) {
        int8_t rank = ml_as_store(s)->buffer->scope.rank;

        w->global |= rank == ML_SCOPE_GLOBAL;
        w->common |= rank == ML_SCOPE_GLOBAL || rank == ML_SCOPE_SHARED;
        w->own |= rank != ML_SCOPE_GLOBAL && rank != ML_SCOPE_SHARED;
    } else if (s->kind == ML_STMT_EVALUATE && !ml_is_noop(s)) {
        w->own = true; /* a call by which all threads of a warp do something together */
    }
    return true;
}

static unsigned missing(const Unify *u)
{
    unsigned m = 0;

    for (int k = 0; k < TAGS; k++)
        if (u->tag[k] && !((u->around >> k) & 1) && !ml_is_int(u->tag[k]->extent, 1))
            m |= 1u << k;
    return m;
}

static const ml_Stmt *guard(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = guard, .user = user};
    Unify *u = user;
    unsigned lacks = missing(u);
    const ml_Expr *first = NULL;
    Writes w = {0};

    if (!lacks || is_shared_out(s))
        return s;
    ml_stmt_visit(s, see_writes, &w);
    if (!w.common)
        return s;
    if (w.global && (lacks & 7u)) {
        fail(u, s,
             ml_format(cx,
                       "%s is below no loop over all blocks of its kernel, each of "
                       "which would do it",
                       ml_lower_name(cx, s)));
        return s;
    }
    if (w.own)
        return ml_stmt_map(cx, s, &m);
    for (int k = 3; k < TAGS; k++) {
        const ml_Expr *v = (lacks >> k) & 1 ? ml_var(cx, u->tag[k]->var) : NULL,
                      *at = v ? ml_eq(cx, v, ml_int(cx, v->type, 0)) : NULL;

        first = first && at ? ml_and(cx, first, at) : at ? at : first;
    }
    return first ? ml_stmt_at(cx, ml_if(cx, first, s, NULL), ml_span_of(s, NULL)) : s;
}

static bool find_thread_loop(const ml_Stmt *s, void *user)
{
    bool *found = user;

    *found |= as_thread_loop(s) != NULL;
    return !*found && s->has_loop;
}

/* Without the loops over threads. */
static const ml_Stmt *strip(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = strip, .user = user};
    const ml_For *f = as_thread_loop(s);
    Unify *u = user;
    unsigned around = u->around;
    bool inside = false;

    if (u->failed)
        return s;
    ml_stmt_visit(s, find_thread_loop, &inside);
    if (!inside)
        return guard(cx, s, u);
    if (f && f->thread.axis == ML_AXIS_VTHREAD) {
        ml_For serial = *f;

        serial.kind = ML_FOR_SERIAL;
        serial.thread = (ml_Thread){0};
        serial.thread_var = NULL;
        serial.body = strip(cx, f->body, u);
        return ml_for_from(cx, &serial);
    }
    if (f) {
        u->around |= 1u << tag_of(f->thread);
        s = strip(cx, f->body, u);
        u->around = around;
        return s;
    }
    return ml_stmt_map(cx, s, &m);
}

/* ---- kernels */

static const ml_Stmt *kernel(ml_Lower *lo, ml_Arith *ar, const ml_Stmt *root, bool dynamic,
                             bool *failed)
{
    Unify u = {.lo = lo, .ar = ar, .dynamic = dynamic};
    ml_Ctx *cx = lo->cx;
    const ml_Stmt *s;

    collect(root, false, &u);
    s = strip(cx, root, &u);
    *failed = u.failed;
    if (u.failed)
        return root;
    if (u.to_first.vars)
        s = ml_lower_subst(cx, s, &u.to_first, dynamic);
    for (int k = TAGS; k-- > 0;) {
        ml_For f;

        if (!u.tag[k])
            continue;
        f = *u.tag[k];
        f.annotations = u.notes[k];
        f.body = s;
        s = ml_for_from(cx, &f);
    }
    return s;
}

typedef struct Kernels {
    ml_Lower *lo;
    ml_Arith *ar;
    bool failed, dynamic;
} Kernels;

static const ml_Stmt *find(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = find, .user = user};
    Kernels *k = user;

    if (k->failed || !s->has_loop)
        return s;
    if (as_thread_loop(s))
        return kernel(k->lo, k->ar, s, k->dynamic, &k->failed);
    return ml_stmt_map(cx, s, &m);
}

const ml_Func *ml_pass_unify_threads(ml_Lower *lo, const ml_Func *f)
{
    Kernels k = {lo, ml_lower_arith(lo, f), false, ml_dynamic_buffers(f->body)};
    const ml_Stmt *body = find(lo->cx, f->body, &k);

    return k.failed ? NULL : ml_func_with_body(lo->cx, f, body);
}
