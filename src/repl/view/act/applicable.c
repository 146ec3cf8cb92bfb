/*
 * applicable - which requests apply to the selected node: found out while the cursor rests,
 * remembered for each node of a version. Source: interaction 10.
 */
#include "moonloop/core/base/arena.h"
#include "repl/view/act/act_impl.h"

/* Those of the selection by their rank in keys.def: most useful first; how many. */
static size_t order_of(const ml_View *v, ml_Request out[ML_N_REQUESTS])
{
    const ml_Stmt *st = ml_view_stmt(v, v->node);
    size_t n = 0;

    for (int r = 0; r < ML_N_REQUESTS; r++) {
        const ml_RequestRow *row = &v->requests[r];
        size_t rank = row->rank[!st ? 2 : st->kind == ML_STMT_FOR ? 0 : 1];

        if (rank > 0)
            out[rank - 1] = row->req;
        n = rank > n ? rank : n;
    }
    return n;
}

static void forget(ml_ActFacts *f)
{
    for (size_t k = 0; k < ML_N_REQUESTS; k++)
        ml_heap_free(f->of[k].why);
    *f = (ml_ActFacts){0};
}

void ml_act_facts_free(ml_Act *a)
{
    for (size_t k = 0; k < ML_ACT_FACTS; k++)
        forget(&a->facts[k]);
}

/* The entry of the selected node; made when there is none, in the place of the oldest. */
static ml_ActFacts *facts_of(const ml_View *v)
{
    ml_Act *a = v->act;
    const ml_Schedule *s = v->ss->focus;
    int version = s ? ml_schedule_version(s) : 0;
    const ml_Module *program = ml_act_program(v).mod;
    ml_ActFacts *oldest = &a->facts[0];

    for (size_t k = 0; k < ML_ACT_FACTS; k++) {
        ml_ActFacts *f = &a->facts[k];

        if (f->used && f->s == s && f->program == program && f->version == version &&
            f->node == v->node) {
            f->used = ++a->clock;
            return f;
        }
        if (f->used < oldest->used)
            oldest = f;
    }
    forget(oldest);
    *oldest = (ml_ActFacts){.s = s,
                            .program = program,
                            .version = version,
                            .node = v->node,
                            .used = ++a->clock};
    return oldest;
}

/* What only the session knows, and changes without a new version: never remembered. */
static bool at_once(ml_View *v, ml_Request r, bool *yes, ml_Text *why)
{
    const ml_Act *a = v->act;

    const char *none = r == ML_REQ_UNDO     ? "there is nothing to take back"
                       : r == ML_REQ_REDO   ? "nothing was taken back"
                       : r == ML_REQ_REPEAT ? "there is no step to repeat yet"
                                            : NULL;

    if (none) {
        *yes = r == ML_REQ_UNDO   ? v->ss->n_done > 0
               : r == ML_REQ_REDO ? v->ss->n_undone > 0
                                  : a->last != ML_REQ_NONE;
        ml_text_add(why, *yes ? "" : none);
        return true;
    }
    if (v->requests[r].prim)
        return false;
    *yes = ml_act_suits(v, r, why);
    return true;
}

/* Moving by one place has an error of its own: what stands in the way. */
static bool can_move(ml_View *v, ml_Request r, ml_Text *why, ml_TrialKind *out)
{
    const ml_For *f = ml_act_for(v, v->node), *with;
    bool down = r == ML_REQ_MOVE_DOWN;

    if (!f || (!down && r != ML_REQ_MOVE_UP))
        return false;
    with = down ? ml_act_inner(v, f, why) : ml_act_outer(v, f, why);
    *out = ML_TRIAL_FAILS;
    if (!with)
        return true;
    const ml_For *outer = down ? with : f, *inner = down ? f : with;
    ml_Arg list[2] = {ML_ARG_HANDLE(((ml_Handle){ML_H_LOOP, outer->var->uid})),
                      ML_ARG_HANDLE(((ml_Handle){ML_H_LOOP, inner->var->uid}))};
    ml_Arg arg = ML_ARG_LIST(list, 2);

    if (ml_trial_call(v->ss, "reorder", &arg, 1, why) == ML_E_OK)
        *out = ML_TRIAL_WORKS;
    return true;
}

static void find_out(ml_View *v, ml_Request r, ml_ActCase *c)
{
    ml_Text why = {0};
    ml_TrialKind kind = ML_TRIAL_NONE;

    if (!ml_act_suits(v, r, &why))
        kind = ML_TRIAL_FAILS;
    else if (!can_move(v, r, &why, &kind))
        kind = ml_act_probe(v, ml_primitive_find(v->requests[r].prim), v->node, v->act->tmp,
                            NULL, &why);
    c->known = true;
    c->state = (uint8_t)kind;
    if (kind == ML_TRIAL_FAILS) {
        c->why = ml_heap_text(ml_text_z(&why));
        c->why[strcspn(c->why, "\n")] = '\0';
    }
    ml_text_free(&why);
}

size_t ml_act_applicable(ml_View *v, ml_Request *out, size_t n)
{
    ml_Request order[ML_N_REQUESTS];
    size_t many = order_of(v, order), have = 0;
    const ml_ActFacts *f = facts_of(v);
    ml_Text why = {0};

    for (size_t k = 0; k < many && have < n; k++) {
        const ml_ActCase *c = &f->of[order[k]];
        bool yes = false;

        if (!at_once(v, order[k], &yes, &why))
            yes = c->known && c->state != ML_TRIAL_FAILS;
        if (yes && (v->ss->focus || order[k] == ML_REQ_COMMAND))
            out[have++] = order[k];
    }
    ml_text_free(&why);
    return have;
}

bool ml_act_find_out(ml_View *v, int64_t end)
{
    ml_Request order[ML_N_REQUESTS];
    size_t many = order_of(v, order);
    ml_ActFacts *f = facts_of(v);

    for (size_t k = 0; k < many; k++) {
        if (!v->requests[order[k]].prim || f->of[order[k]].known)
            continue;
        if (ml_loop_now() >= end)
            return true;
        find_out(v, order[k], &f->of[order[k]]);
    }
    return false;
}

void ml_act_why_not(ml_View *v, ml_Request r, ml_Text *out)
{
    bool yes;

    if (r >= ML_N_REQUESTS || at_once(v, r, &yes, out))
        return;
    ml_ActCase *c = &facts_of(v)->of[r];

    ml_act_enter(v);
    if (!c->known)
        find_out(v, r, c);
    ml_act_leave(v);
    ml_text_add(out, c->why ? c->why : "");
}
