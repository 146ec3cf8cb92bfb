/*
 * eval_comp - comprehensions over compile-time lists, and f-strings.
 *
 * Each round of a comprehension has a scope of its own, so its names end with it.
 * Source: script 2, 3, 4.
 */
#include "moonloop/core/script/eval/eval.h"

enum { MAX_CLAUSES = 64 };

typedef ML_VEC(ml_Cv) CvVec;

/* What is iterated: the elements of a list or tuple, the keys of a dict, the characters of
 * a string. false: reported. */
static bool elements(ml_Eval *ev, ml_Cv v, ml_Place at, CvVec *out)
{
    const char *what;

    switch (v.kind) {
    case ML_CV_POISON: return false;
    case ML_CV_TUPLE:
    case ML_CV_LIST:
    case ML_CV_DICT:
        for (size_t k = 0; k < v.n; k += v.kind == ML_CV_DICT ? 2 : 1)
            ml_push(ev->sc, out, v.as.list[k]);
        return true;
    case ML_CV_STRING:
        for (size_t k = 0; k < v.as.s.n;) {
            size_t n = 1;

            while (k + n < v.as.s.n && ((unsigned char)v.as.s.p[k + n] & 0xC0) == 0x80)
                n++;
            ml_push(ev->sc, out, ml_cv_str((ml_Str){v.as.s.p + k, n}));
            k += n;
        }
        return true;
    default: break;
    }
    what = ml_cv_describe(ev, v);
    ml_report(
        ev->rep, ML_E_E601, at,
        "cannot iterate over a%s %s at compile time; expected range, a list or a tuple",
        strchr("aeiou", what[0]) ? "n" : "", what);
    return false;
}

/* Gives the target's names their values. */
static bool bind_target(ml_Eval *ev, const ml_Node *t, ml_Cv v)
{
    if (t->kind == ML_N_NAME) {
        ml_ev_bind(ev, t->as.sym, v, t->at);
        return true;
    }
    if (t->kind != ML_N_TUPLE && t->kind != ML_N_LIST) {
        if (t->kind != ML_N_BAD)
            ml_report(ev->rep, ML_E_E203, t->at, "a name of a comprehension is plain");
        return false;
    }
    if ((v.kind != ML_CV_TUPLE && v.kind != ML_CV_LIST) || v.n != t->n) {
        if (v.kind == ML_CV_TUPLE || v.kind == ML_CV_LIST)
            ml_report(ev->rep, ML_E_E402, t->at, "%u targets for %u values", (unsigned)t->n,
                      (unsigned)v.n);
        else
            ml_report(ev->rep, ML_E_E402, t->at, "%u targets for one %s", (unsigned)t->n,
                      ml_cv_describe(ev, v));
        return false;
    }
    for (size_t k = 0; k < t->n; k++)
        if (!bind_target(ev, t->kids[k], v.as.list[k]))
            return false;
    return true;
}

/* The clauses from the k-th on; false: reported. */
static bool clauses(ml_Eval *ev, const ml_Node *nd, size_t k, CvVec *out)
{
    const ml_Node *c = k < nd->n ? nd->kids[k] : NULL;
    CvVec all = {0};
    ml_Cv v;

    if (!c) {
        v = ml_ev_value(ev, nd->kids[0]);
        ml_push(ev->sc, out, v);
        return v.kind != ML_CV_POISON;
    }
    v = ml_ev_value(ev, c->kids[c->kind == ML_N_FOR]);
    if (c->kind == ML_N_IF) {
        if (v.kind == ML_CV_POISON)
            return false;
        if (ml_cv_is_ir(v))
            return ml_ev_reject(
                ev, E511, c->kids[0]->at,
                "the condition of a comprehension must be known at compile time, "
                "got %s",
                ml_cv_describe(ev, v));
        return !ml_ev_truth(v) || clauses(ev, nd, k + 1, out);
    }
    if (!elements(ev, v, c->kids[1]->at, &all))
        return false;
    for (size_t j = 0; j < all.n; j++) {
        size_t bound = ev->bound.n;
        uint32_t saved = ml_ev_push_scope(ev);
        bool ok = bind_target(ev, c->kids[0], all.v[j]) && clauses(ev, nd, k + 1, out);

        ml_ev_pop_scope(ev, saved, bound);
        if (!ok)
            return false;
    }
    return true;
}

ml_Cv ml_ev_comprehension(ml_Eval *ev, const ml_Node *nd)
{
    CvVec out = {0};

    if (nd->n > MAX_CLAUSES)
        return ml_ev_fail(ev, E109, nd->at, "a comprehension has at most %d clauses",
                          MAX_CLAUSES);
    if (!clauses(ev, nd, 1, &out))
        return ml_cv_poison();
    return ml_cv_list(ev, ML_CV_LIST, out.v, out.n);
}

ml_Cv ml_ev_fstring(ml_Eval *ev, const ml_Node *nd)
{
    ml_Text t = {0};
    bool ok = true;
    ml_Cv out;

    for (size_t k = 0; k < nd->n && ok; k++) {
        const ml_Node *part = nd->kids[k];

        if (part->kind == ML_N_STRING) {
            ml_text_addn(&t, part->as.s.p, part->as.s.n);
        } else if (part->kind == ML_N_FIELD) {
            ml_Cv v = ml_ev_value(ev, part->kids[0]);

            ok = v.kind != ML_CV_POISON && ml_ev_format(ev, &t, v, part);
        } else {
            ok = false;
        }
        if (ok && (ev->steps += 1 + t.n / 16) > 10000000) {
            ml_report(ev->rep, ML_E_E114, nd->at, "too much compile-time work");
            ok = false;
        }
    }
    out = ok ? ml_cv_str((ml_Str){ml_strdup(ev->sc, (ml_Str){ml_text_z(&t), t.n}), t.n})
             : ml_cv_poison();
    ml_text_free(&t);
    return out;
}
