/* eval_loop - loop headers and for statements. Source: script 7. */
#include "moonloop/core/script/eval/eval.h"

static bool widen(ml_Eval *ev, const ml_Expr **a, const ml_Expr **b, ml_Place at)
{
    ml_Dtype x = (*a)->type, y = (*b)->type, t = x;

    if (x.lanes != 1 || y.lanes != 1)
        return ml_ev_reject(ev, E501, at, "loop bounds must be scalars");
    t.bits = x.bits > y.bits ? x.bits : y.bits;
    t.code = x.code == ML_UINT || y.code == ML_UINT ? ML_UINT : ML_INT;
    *a = ml_cast(ev->cx, t, *a);
    *b = ml_cast(ev->cx, t, *b);
    return true;
}

static const ml_Expr *extent_of(ml_Eval *ev, ml_Cv v, ml_Place at)
{
    const ml_Expr *e = ml_ev_to_int(ev, v, at, "loop extent");

    if (e && e->type.lanes != 1)
        return ml_ev_nothing(ev, E501, at, "loop extent must be a scalar");
    return e;
}

static ml_Cv loop_cv(const ml_LoopHeader *h)
{
    ml_Cv v = ml_cv(ML_CV_LOOP);

    v.as.loop = h;
    return v;
}

static ml_LoopHeader *header(ml_Eval *ev, ml_ForKind kind, size_t n)
{
    ml_LoopHeader *h = ML_NEW(ev->sc, ml_LoopHeader);

    h->kind = (uint8_t)kind;
    h->n = (uint32_t)n;
    h->min = ML_ARRAY(ev->sc, const ml_Expr *, n + 1);
    h->extent = ML_ARRAY(ev->sc, const ml_Expr *, n + 1);
    return h;
}

static bool annotations_of(ml_Eval *ev, ml_Args *a, ml_LoopHeader *h)
{
    ml_Arg *s = ml_ev_keyword(a, "annotations");

    if (!s || s->v.kind == ML_CV_NONE)
        return true;
    if (s->v.kind != ML_CV_DICT)
        return ml_ev_reject(ev, E415, s->at, "annotations must be a dict, got %s",
                            ml_cv_describe(ev, s->v));
    h->annotations = ml_ev_to_value(ev, s->v, s->at);
    return h->annotations != NULL;
}

static bool bounds(ml_Eval *ev, ml_Args *a, ml_LoopHeader *h)
{
    ml_Arg *key_start = ml_ev_keyword(a, "start"), *key_stop = ml_ev_keyword(a, "stop");
    ml_Arg *first = a->n_pos > 0 ? &a->v[0] : key_start;
    ml_Arg *second = a->n_pos > 1 ? &a->v[1] : key_stop;
    const ml_Expr *lo, *hi;

    if (!first && second)
        first = second, second = NULL;
    if (!first)
        return ml_ev_reject(ev, E414, a->call->at, "%s needs an extent", a->name);
    if (!second) {
        hi = extent_of(ev, first->v, first->at);
        if (!hi)
            return false;
        h->min[0] = ml_int(ev->cx, hi->type, 0);
        h->extent[0] = hi;
        return true;
    }
    lo = ml_ev_to_int(ev, first->v, first->at, "loop start");
    hi = lo ? ml_ev_to_int(ev, second->v, second->at, "loop end") : NULL;
    if (!lo || !hi || !widen(ev, &lo, &hi, a->call->at))
        return false;
    h->min[0] = lo;
    h->extent[0] = ml_ev_difference(ev, lo, hi);
    return true;
}

static bool step_of(ml_Eval *ev, ml_Arg *s, ml_LoopHeader *h)
{
    const ml_Expr *e;

    if (!s || s->v.kind == ML_CV_NONE)
        return true;
    e = ml_ev_to_int(ev, s->v, s->at, "loop step");
    if (!e)
        return false;
    if (e->type.lanes != 1)
        return ml_ev_reject(ev, E501, s->at, "loop step must be a scalar");
    if (ml_is_const_int(e) && e->as.i <= 0)
        return ml_ev_reject(ev, E404, s->at, "step must be positive, got %lld",
                            (long long)e->as.i);
    if (!ml_is_int(e, 1))
        h->step = ml_cast(ev->cx, h->extent[0]->type, e);
    return true;
}

static bool dtype_of(ml_Eval *ev, ml_Args *a, ml_LoopHeader *h)
{
    ml_Arg *s = ml_ev_keyword(a, "dtype");
    ml_Dtype t;

    if (!s || s->v.kind == ML_CV_NONE)
        return true;
    if (!ml_ev_dtype(ev, s->v, s->at, &t))
        return false;
    if (!ml_dtype_is_int(t) || t.lanes != 1)
        return ml_ev_reject(ev, E501, s->at, "a loop variable must be an integer, got %s",
                            ml_dtype_name(ev->cx, t));
    h->min[0] = ml_cast(ev->cx, t, h->min[0]);
    h->extent[0] = ml_cast(ev->cx, t, h->extent[0]);
    return true;
}

static bool unroll_of(ml_Eval *ev, ml_Args *a, ml_LoopHeader *h)
{
    ml_Arg *s = h->kind == ML_FOR_SERIAL ? ml_ev_keyword(a, "unroll") : NULL;

    if (!s || s->v.kind == ML_CV_NONE)
        return true;
    if (s->v.kind == ML_CV_BOOL) {
        h->annotations = ml_dict_with(ev->cx, h->annotations,
                                      s->v.as.i ? "pragma_unroll" : "disable_unroll",
                                      ml_val_bool(ev->cx, true));
        return true;
    }
    if (s->v.kind != ML_CV_INT || s->v.as.i < 1)
        return ml_ev_reject(ev, E415, s->at, "unroll must be True, False or at least 1");
    h->annotations = ml_dict_with(ev->cx, h->annotations, "pragma_unroll",
                                  ml_val_int(ev->cx, s->v.as.i));
    return true;
}

static ml_Cv simple(ml_Eval *ev, ml_Args *a)
{
    ml_LoopHeader *h = header(ev, (ml_ForKind)a->fn->arg, 1);
    ml_Arg *step = ml_ev_keyword(a, "step");

    if (!step && a->n_pos > 2 && a->n_pos == 3 && a->name[0] == 'r')
        step = &a->v[2];
    if (!bounds(ev, a, h) || !dtype_of(ev, a, h) || !step_of(ev, step, h) ||
        !annotations_of(ev, a, h) || !unroll_of(ev, a, h) ||
        !ml_ev_no_more(ev, a, a->name[0] == 'r' ? 3 : 2))
        return ml_cv_poison();
    return loop_cv(h);
}

static ml_Cv thread_binding(ml_Eval *ev, ml_Args *a)
{
    ml_LoopHeader *h = header(ev, ML_FOR_THREAD, 1);
    ml_Arg *tag = ml_ev_keyword(a, "thread");
    ml_Str z;

    if (!tag && a->n_pos >= 2 && a->v[a->n_pos - 1].v.kind == ML_CV_STRING)
        tag = &a->v[--a->n_pos];
    if (!tag)
        return ml_ev_fail(ev, E403, a->call->at,
                          "missing thread tag, e.g. `thread=\"threadIdx.x\"`");
    if (!ml_ev_arg_string(ev, a, tag, "the thread tag", &z))
        return ml_cv_poison();
    h->thread = ml_thread(ml_strdup(ev->cx, z));
    if (ml_thread_rank(h->thread) < 0 || h->thread.axis == ML_AXIS_CLUSTER)
        ml_report(ev->rep, ML_E_W403, tag->at, "unknown thread tag `%.*s`", (int)z.n, z.p);
    if (!tag->key)
        tag->used = true;
    if (!bounds(ev, a, h) || !annotations_of(ev, a, h))
        return ml_cv_poison();
    if (a->n_pos > 2)
        return ml_ev_fail(ev, E414, a->v[2].at,
                          "T.thread_binding takes an extent or two bounds");
    for (size_t k = a->n_pos; k < a->n; k++)
        if (a->v[k].key && !a->v[k].used)
            return ml_ev_fail(ev, E412, a->v[k].key_at, "%s has no argument `%.*s`",
                              a->name, (int)a->v[k].key->name.n, a->v[k].key->name.p);
    return loop_cv(h);
}

static ml_Cv grid(ml_Eval *ev, ml_Args *a)
{
    ml_LoopHeader *h = header(ev, ML_FOR_SERIAL, a->n_pos);

    if (!ml_ev_no_more(ev, a, SIZE_MAX))
        return ml_cv_poison();
    if (a->n_pos == 0)
        return ml_ev_fail(ev, E414, a->call->at, "T.grid needs an extent");
    if (a->n_pos > ML_MAX_BLOCKS)
        return ml_ev_fail(ev, E109, a->call->at, "statements are nested deeper than %d",
                          ML_MAX_BLOCKS);
    ml_Place *part = ML_ARRAY(ev->sc, ml_Place, a->n_pos);

    h->part = part;
    for (size_t k = 0; k < a->n_pos; k++) {
        ml_Cv v = a->v[k].v;
        const ml_Expr *lo, *n;

        part[k] = a->v[k].at;
        if (v.kind == ML_CV_TUPLE && v.n == 2) {
            lo = ml_ev_to_int(ev, v.as.list[0], a->v[k].at, "loop start");
            n = lo ? extent_of(ev, v.as.list[1], a->v[k].at) : NULL;
            if (!lo || !n || !widen(ev, &lo, &n, a->v[k].at))
                return ml_cv_poison();
        } else {
            if (!(n = extent_of(ev, v, a->v[k].at)))
                return ml_cv_poison();
            lo = ml_int(ev->cx, n->type, 0);
        }
        h->min[k] = lo;
        h->extent[k] = n;
    }
    return loop_cv(h);
}

const ml_Builtin ml_ev_loop_table[] = {
    {"serial", simple, ML_FOR_SERIAL, false},
    {"parallel", simple, ML_FOR_PARALLEL, false},
    {"vectorized", simple, ML_FOR_VECTORIZED, false},
    {"unroll", simple, ML_FOR_UNROLLED, false},
    {"thread_binding", thread_binding, 0, false},
    {"grid", grid, 0, false},
    {NULL, NULL, 0, false},
};
static const ml_Builtin RANGE = {"range", simple, ML_FOR_SERIAL, false};

/* The header of a loop; range(...) is one here. */
static ml_Cv header_value(ml_Eval *ev, const ml_Node *nd)
{
    if (nd->kind == ML_N_CALL && nd->kids[0]->kind == ML_N_NAME &&
        !nd->kids[0]->as.sym->top &&
        ml_str_eq(nd->kids[0]->as.sym->name, ml_str("range"))) {
        ml_Args a = {.call = nd, .fn = &RANGE, .name = "range"};

        a.v = ML_ARRAY(ev->sc, ml_Arg, nd->n);
        for (size_t k = 1; k < nd->n; k++) {
            ml_Arg *s = &a.v[a.n++];

            *s = (ml_Arg){.node = nd->kids[k],
                          .key = nd->keys[k],
                          .at = nd->kids[k]->at,
                          .key_at = nd->key_at[k]};
            s->v = ml_ev_value(ev, nd->kids[k]);
            if (s->v.kind == ML_CV_POISON)
                return s->v;
            a.n_pos += !s->key;
        }
        return simple(ev, &a);
    }
    return ml_ev_value(ev, nd);
}

static ml_Binding *bind_loop(ml_Eval *ev, ml_Sym *sym, ml_Cv v, ml_Place at)
{
    ml_Binding *b = ml_ev_define(ev, sym, v, at);

    b->loop = true;
    return b;
}

/* Names of the n loops by the targets; vars[] is filled with hints. false: reported. */
static bool names_of(ml_Eval *ev, const ml_Node *t, size_t n, const char **hints,
                     ml_Place *at)
{
    size_t k = 0, fixed = 0, stars = 0;

    if (t->kind == ML_N_NAME) {
        for (k = 0; k < n; k++) {
            hints[k] = n == 1 ? t->as.sym->name.p
                              : ml_format(ev->cx, "%s_%zu", t->as.sym->name.p, k);
            at[k] = t->at;
        }
        return true;
    }
    if (t->kind != ML_N_TUPLE && t->kind != ML_N_LIST) {
        if (t->kind != ML_N_BAD)
            ml_report(ev->rep, ML_E_E203, t->at, "a loop variable must be a name");
        return false;
    }
    for (size_t j = 0; j < t->n; j++) {
        const ml_Node *one =
            t->kids[j]->kind == ML_N_STAR ? t->kids[j]->kids[0] : t->kids[j];

        stars += t->kids[j]->kind == ML_N_STAR;
        fixed += t->kids[j]->kind != ML_N_STAR;
        if (one->kind != ML_N_NAME)
            return ml_ev_reject(ev, E203, one->at, "a loop variable must be a name");
        for (size_t q = 0; q < j; q++) {
            const ml_Node *other =
                t->kids[q]->kind == ML_N_STAR ? t->kids[q]->kids[0] : t->kids[q];

            if (other->as.sym == one->as.sym && t->n < 300)
                return ml_ev_reject(ev, E311, one->at,
                                    "name `%s` appears twice in one target",
                                    one->as.sym->name.p);
        }
    }
    if (stars > 1 || (stars ? fixed > n : fixed != n))
        return ml_ev_reject(ev, E402, t->at, "%u target%s for %zu loop%s", (unsigned)t->n,
                            t->n == 1 ? "" : "s", n, n == 1 ? "" : "s");
    for (size_t j = 0; j < t->n; j++) {
        bool star = t->kids[j]->kind == ML_N_STAR;
        size_t many = star ? n - fixed : 1;
        const ml_Node *one = star ? t->kids[j]->kids[0] : t->kids[j];

        for (size_t q = 0; q < many; q++, k++) {
            hints[k] = star ? ml_format(ev->cx, "%s_%zu", one->as.sym->name.p, q)
                            : one->as.sym->name.p;
            at[k] = one->at;
        }
    }
    return true;
}

static void bind_targets(ml_Eval *ev, const ml_Node *t, const ml_Cv *vars, size_t n)
{
    size_t k = 0;

    if (t->kind == ML_N_NAME) {
        bind_loop(ev, t->as.sym, n == 1 ? vars[0] : ml_cv_list(ev, ML_CV_TUPLE, vars, n),
                  t->at);
        return;
    }
    for (size_t j = 0; j < t->n; j++) {
        const ml_Node *one = t->kids[j];

        if (one->kind == ML_N_STAR) {
            size_t many = n - (t->n - 1);

            bind_loop(ev, one->kids[0]->as.sym, ml_cv_list(ev, ML_CV_TUPLE, vars + k, many),
                      one->at);
            k += many;
        } else {
            bind_loop(ev, one->as.sym, vars[k++], one->at);
        }
    }
}

/* Names that a failed header would have defined, as poison: its body is still read. */
static void poison_targets(ml_Eval *ev, const ml_Node *t)
{
    if (t->kind == ML_N_STAR)
        t = t->kids[0];
    if (t->kind == ML_N_NAME)
        ml_ev_define(ev, t->as.sym, ml_cv_poison(), t->at);
    else if (t->kind == ML_N_TUPLE || t->kind == ML_N_LIST)
        for (size_t k = 0; k < t->n; k++)
            poison_targets(ev, t->kids[k]);
}

void ml_ev_for(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv h = header_value(ev, nd->kids[1]), *vals;
    const ml_LoopHeader *l = h.kind == ML_CV_LOOP ? h.as.loop : NULL;
    size_t bound = ev->bound.n, loops = ev->loops.n, n = l ? l->n : 0;
    const ml_Var **vars = ML_ARRAY(ev->sc, const ml_Var *, n + 1);
    const char **hints = ML_ARRAY(ev->sc, const char *, n + 1);
    ml_Place *at = ML_ARRAY(ev->sc, ml_Place, n + 1);
    const ml_Stmt *body;
    uint32_t saved;

    if (!l && h.kind != ML_CV_POISON) {
        const char *what = ml_cv_describe(ev, h);
        bool vowel = what[0] && strchr("aeiou", what[0]);

        ml_report(
            ev->rep, ML_E_E601, nd->kids[1]->at,
            "cannot iterate over %s %s; expected range, T.serial, T.grid, T.parallel, "
            "T.vectorized, T.unroll or T.thread_binding",
            vowel ? "an" : "a", what);
    }
    saved = ml_ev_push_scope(ev);
    ml_ev_open(ev, ML_FRAME_FOR, nd->at);
    if (l && names_of(ev, nd->kids[0], n, hints, at)) {
        vals = ML_ARRAY(ev->sc, ml_Cv, n + 1);
        for (size_t k = 0; k < n; k++) {
            ml_LoopInfo info;

            vars[k] = ml_var_new(ev->cx, hints[k], l->extent[k]->type);
            ml_ev_remember(ev, vars[k], at[k]);
            vals[k] = ml_cv_expr(ml_var(ev->cx, vars[k]));
            info = (ml_LoopInfo){vars[k], l->min[k], l->extent[k]};
            ml_push(ev->sc, &ev->loops, info);
        }
        bind_targets(ev, nd->kids[0], vals, n);
    } else {
        l = NULL;
        poison_targets(ev, nd->kids[0]);
    }
    ev->n_loops++;
    ml_ev_suite(ev, nd->body);
    ev->n_loops--;
    body = ml_ev_close(ev);
    ml_ev_pop_scope(ev, saved, bound);
    ev->loops.n = loops;
    if (!l)
        return;
    for (size_t k = n; k-- > 0;) {
        ml_For f = {.kind = l->kind,
                    .var = vars[k],
                    .min = l->min[k],
                    .extent = l->extent[k],
                    .step = l->step,
                    .thread = l->thread,
                    .annotations = l->annotations,
                    .body = body};

        f.base.span = ml_ev_span(ev, nd->at, l->part ? &l->part[k] : NULL);
        body = ml_for_from(ev->cx, &f);
    }
    ml_ev_emit(ev, body, nd->at);
}
