/*
 * eval_macro - T.macro, T.inline: functions that are kept as syntax and read again at each
 * call, their parameters bound to the values of the call.
 *
 * A hygienic macro sees the names of the place where it was defined, so the others are
 * hidden while it is read; every name in force stands in ev->bound, from which the
 * symbols' meanings are linked anew. Source: script 4.
 */
#include "moonloop/core/script/eval/eval.h"

struct ml_Macro {
    const ml_Node *node;
    bool hygienic;
    uint32_t scope;        /* where it was defined */
    size_t n_bound;        /* names that were in force there */
    const uint8_t *hidden; /* of these, those that were hidden; NULL: none */
    const ml_Cv *defaults; /* per parameter; DONE: none */
    uint32_t func, count;  /* expansions so far in that function */
};

enum { MAX_EXPANSIONS = 60, COST = 100 };

bool ml_ev_is_macro(const ml_Node *fn)
{
    const ml_Node *d = fn->n ? fn->kids[fn->n - 1] : NULL;

    if (d && d->kind == ML_N_CALL)
        d = d->kids[0];
    return d && (d->kind == ML_N_ATTR || d->kind == ML_N_NAME) &&
           (ml_str_eq(d->as.sym->name, ml_str("macro")) ||
            ml_str_eq(d->as.sym->name, ml_str("inline")));
}

static bool options(ml_Eval *ev, const ml_Node *deco, ml_Macro *m)
{
    for (size_t k = 1; deco->kind == ML_N_CALL && k < deco->n; k++) {
        ml_Cv v;

        if (!deco->keys[k] || !ml_str_eq(deco->keys[k]->name, ml_str("hygienic")))
            return ml_ev_reject(ev, E412, deco->key_at[k],
                                "the decorator has no such argument");
        v = ml_ev_value(ev, deco->kids[k]);
        if (v.kind == ML_CV_POISON)
            return false;
        if (ml_cv_is_ir(v))
            return ml_ev_reject(ev, E415, deco->kids[k]->at,
                                "hygienic is True or False, got %s", ml_cv_describe(ev, v));
        m->hygienic = ml_ev_truth(v);
    }
    return true;
}

static void remember_names(ml_Eval *ev, ml_Macro *m)
{
    uint8_t *hidden;

    m->scope = ev->scope;
    m->n_bound = ev->bound.n;
    if (!ev->expanding)
        return;
    m->hidden = hidden = ML_ARRAY(ev->sc, uint8_t, m->n_bound + 1);
    for (size_t k = 0; k < m->n_bound; k++)
        hidden[k] = ev->bound.v[k]->hidden;
}

void ml_ev_macro_define(ml_Eval *ev, const ml_Node *nd)
{
    ml_Macro *m = ML_NEW(ev->sc, ml_Macro);
    size_t n = nd->as.params.n;
    ml_Cv *defaults = ML_ARRAY(ev->sc, ml_Cv, n + 1), v = ml_cv(ML_CV_MACRO);
    bool ok;

    m->node = nd;
    m->hygienic = true;
    ok = options(ev, nd->kids[nd->n - 1], m);
    if (nd->n > 1) {
        ml_report(ev->rep, ML_E_E613, nd->kids[0]->at, "a macro has one decorator");
        ok = false;
    }
    for (size_t k = 0; k < n; k++) {
        const ml_ParamNode *q = &nd->as.params.v[k];

        defaults[k] = ml_cv(ML_CV_DONE);
        if (q->star) {
            ml_report(ev->rep, ML_E_E406, q->at,
                      "only plain positional parameters are supported");
            ok = false;
        } else if (q->def) {
            defaults[k] = ml_ev_raw(ev, q->def);
            ok &= defaults[k].kind != ML_CV_POISON;
        }
        for (size_t j = 0; j < k && n < 300; j++)
            if (!q->star && nd->as.params.v[j].sym == q->sym) {
                ml_report(ev->rep, ML_E_E310, q->at, "parameter `%s` appears twice",
                          q->sym->name.p);
                ok = false;
            }
    }
    v.as.macro = m;
    ml_ev_define(ev, nd->sym, ok ? v : ml_cv_poison(), nd->name_at);
    m->defaults = defaults;
    remember_names(ev, m);
}

ml_Cv ml_ev_lambda(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv v = ml_cv(ML_CV_LAMBDA), *names = ML_NEW(ev->sc, ml_Cv);
    ml_Macro *m = ML_NEW(ev->sc, ml_Macro);

    remember_names(ev, m);
    *names = ml_cv(ML_CV_MACRO);
    names->as.macro = m;
    v.as.node = nd;
    v.self = names;
    return v;
}

/* ---- names */
static void relink(ml_Eval *ev)
{
    for (size_t k = 0; k < ev->bound.n; k++)
        ev->bound.v[k]->sym->top = NULL;
    for (size_t k = 0; k < ev->bound.n; k++) {
        ml_Binding *b = ev->bound.v[k];

        if (b->hidden)
            continue;
        b->prev = b->sym->top;
        b->sym->top = b;
    }
}

/* Leaves in force what the macro may see; gives what was hidden before. */
static const uint8_t *hide(ml_Eval *ev, const ml_Macro *m)
{
    uint8_t *before = ML_ARRAY(ev->sc, uint8_t, ev->bound.n + 1);

    for (size_t k = 0; k < ev->bound.n; k++) {
        ml_Binding *b = ev->bound.v[k];

        before[k] = b->hidden;
        b->hidden =
            b->scope != m->scope && (k >= m->n_bound || (m->hidden && m->hidden[k]));
    }
    relink(ev);
    return before;
}

static void unhide(ml_Eval *ev, const uint8_t *before)
{
    for (size_t k = 0; k < ev->bound.n; k++)
        ev->bound.v[k]->hidden = before[k];
    relink(ev);
}

ml_Cv ml_ev_lambda_call(ml_Eval *ev, ml_Cv lambda, const ml_Cv *args, size_t n, ml_Place at)
{
    const uint8_t *before = ev->expanding ? hide(ev, lambda.self->as.macro) : NULL;
    ml_Cv v = ml_ev_apply(ev, lambda.as.node, args, n, at);

    if (before)
        unhide(ev, before);
    return v;
}

/* ---- calls */
static bool arguments(ml_Eval *ev, const ml_Macro *m, ml_Args *a, ml_Cv *out)
{
    size_t n = m->node->as.params.n;

    if (a->n_pos > n)
        return ml_ev_reject(ev, E414, a->v[n].at,
                            "macro `%s` takes %zu argument%s, %zu given", a->name, n,
                            n == 1 ? "" : "s", a->n);
    for (size_t k = 0; k < n; k++) {
        const ml_Sym *sym = m->node->as.params.v[k].sym;
        ml_Arg *key = ml_ev_keyword(a, sym->name.p);

        if (key && k < a->n_pos)
            return ml_ev_reject(ev, E412, key->key_at, "%s got `%s` twice", a->name,
                                sym->name.p);
        out[k] = key ? key->v : k < a->n_pos ? a->v[k].v : m->defaults[k];
        if (out[k].kind == ML_CV_META)
            out[k] = out[k].as.list[0];
    }
    if (!ml_ev_no_more(ev, a, n))
        return false;
    for (size_t k = 0; k < n; k++)
        if (out[k].kind == ML_CV_DONE)
            return ml_ev_reject(ev, E414, a->call->at, "macro `%s` needs the argument `%s`",
                                a->name, m->node->as.params.v[k].sym->name.p);
    return true;
}

static void note_call(ml_Eval *ev, size_t from, ml_Place at)
{
    for (size_t k = from; k < ev->rep->diags.n; k++)
        if (!ev->rep->diags.v[k].warning)
            ml_report_note(ev->rep, &ev->rep->diags.v[k], at, "in this call of the macro");
}

ml_Cv ml_ev_macro_call(ml_Eval *ev, ml_Macro *m, ml_Args *a)
{
    size_t bound, n_diags = ev->rep->diags.n, n = m->node->as.params.n;
    const char *suffix = ev->suffix;
    ml_Cv *args = ML_ARRAY(ev->sc, ml_Cv, n + 1);
    const uint8_t *before = NULL;
    uint32_t saved;

    if (!ev->frame || ev->stmt != a->call)
        return ml_ev_fail(ev, E202, a->call->at,
                          "`%s` is a macro: its call is a statement, not a value", a->name);
    if (ev->expanding >= MAX_EXPANSIONS || ev->nest > ML_MAX_BLOCKS)
        return ml_ev_fail(ev, E109, a->call->at,
                          "macros are nested deeper than %d calls or %d statements",
                          MAX_EXPANSIONS, ML_MAX_BLOCKS);
    if (!arguments(ev, m, a, args))
        return ml_cv_poison();
    if (m->func != ev->fn->id)
        m->count = 0;
    m->func = ev->fn->id;
    if (m->count)
        ev->suffix = ml_format(ev->sc, "_%u%s", (unsigned)m->count, suffix ? suffix : "");
    m->count++;
    ev->steps += COST;
    ev->expanding++;
    if (m->hygienic)
        before = hide(ev, m);
    bound = ev->bound.n;
    saved = ml_ev_push_scope(ev);
    for (size_t k = 0; k < n; k++)
        ml_ev_bind(ev, m->node->as.params.v[k].sym, args[k], m->node->as.params.v[k].at);
    ml_ev_suite(ev, m->node->body);
    ml_ev_pop_scope(ev, saved, bound);
    if (before)
        unhide(ev, before);
    ev->expanding--;
    ev->suffix = suffix;
    note_call(ev, n_diags, a->call->at);
    return ml_cv(ML_CV_DONE);
}
