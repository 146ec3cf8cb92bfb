/*
 * act_applicable - which requests apply to the selected node: found out while the cursor
 * rests, remembered for each node of a version. Source: interaction 10.
 */
#include "core/base/arena.h"
#include "repl/out/loop.h"
#include "repl/view/act/act_impl.h"

/* Most useful first; of loops, of blocks. What applies anywhere comes last. */
static const ml_Request OF_LOOPS[] = {
    ML_REQ_SPLIT,     ML_REQ_FUSE,   ML_REQ_MOVE_DOWN, ML_REQ_MOVE_UP,   ML_REQ_PARALLEL,
    ML_REQ_VECTORIZE, ML_REQ_UNROLL, ML_REQ_REORDER,   ML_REQ_DECOMPOSE, ML_REQ_RFACTOR,
    ML_REQ_ALL,       ML_REQ_BIND,   ML_REQ_TENSORIZE, ML_REQ_BLOCKIZE,  ML_REQ_REPEAT,
    ML_REQ_UNDO,      ML_REQ_TIME,   ML_REQ_CHECK,     ML_REQ_REDO,      ML_REQ_ANNOTATE,
    ML_REQ_SPLIT_NEXT};
static const ml_Request OF_BLOCKS[] = {ML_REQ_COMPUTE_AT, ML_REQ_REVERSE_COMPUTE_AT,
                                       ML_REQ_INLINE,     ML_REQ_REVERSE_INLINE,
                                       ML_REQ_CACHE_READ, ML_REQ_CACHE_WRITE,
                                       ML_REQ_DECOMPOSE,  ML_REQ_LAYOUT,
                                       ML_REQ_RFACTOR,    ML_REQ_ALL,
                                       ML_REQ_TENSORIZE,  ML_REQ_BLOCKIZE,
                                       ML_REQ_REPEAT,     ML_REQ_UNDO,
                                       ML_REQ_TIME,       ML_REQ_CHECK,
                                       ML_REQ_REDO,       ML_REQ_ANNOTATE};
static const ml_Request OF_NOTHING[] = {ML_REQ_UNDO, ML_REQ_TIME, ML_REQ_CHECK, ML_REQ_REDO,
                                        ML_REQ_COMMAND};

static size_t order_of(const ml_View *v, const ml_Request **out)
{
    const ml_Stmt *st = ml_act_stmt(v, v->node);

    if (st && st->kind == ML_STMT_FOR) {
        *out = OF_LOOPS;
        return ML_COUNT(OF_LOOPS);
    }
    *out = st ? OF_BLOCKS : OF_NOTHING;
    return st ? ML_COUNT(OF_BLOCKS) : ML_COUNT(OF_NOTHING);
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
    oldest->s = s;
    oldest->program = program;
    oldest->version = version;
    oldest->node = v->node;
    oldest->used = ++a->clock;
    return oldest;
}

/* What only the session knows, and changes without a new version: never remembered. */
static bool at_once(ml_View *v, ml_Request r, bool *yes, ml_Text *why)
{
    const ml_Act *a = v->act;

    switch ((int)r) {
    case ML_REQ_UNDO:
        *yes = v->ss->n_done > 0;
        ml_text_add(why, *yes ? "" : "there is nothing to take back");
        return true;
    case ML_REQ_REDO:
        *yes = v->ss->n_undone > 0;
        ml_text_add(why, *yes ? "" : "nothing was taken back");
        return true;
    case ML_REQ_REPEAT:
        *yes = a->last != ML_REQ_NONE;
        ml_text_add(why, *yes ? "" : "there is no step to repeat yet");
        return true;
    default: break;
    }
    if (ml_act_primitive_of(r))
        return false;
    *yes = ml_act_suits(v, r, why);
    return true;
}

/* Moving by one place has an error of its own: what stands in the way. */
static bool can_move(ml_View *v, ml_Request r, ml_Text *why, ml_TrialKind *out)
{
    const ml_For *f = ml_act_for(v, v->node), *with;
    bool down = r == ML_REQ_MOVE_DOWN;
    ml_Arg list[2], arg;
    ml_Handle outer, inner;

    if (!f || (!down && r != ML_REQ_MOVE_UP))
        return false;
    with = down ? ml_act_inner(v, f, why) : ml_act_outer(v, f, why);
    *out = ML_TRIAL_FAILS;
    if (!with)
        return true;
    outer = (ml_Handle){ML_H_LOOP, down ? with->var->uid : f->var->uid};
    inner = (ml_Handle){ML_H_LOOP, down ? f->var->uid : with->var->uid};
    list[0] = ML_ARG_HANDLE(outer);
    list[1] = ML_ARG_HANDLE(inner);
    arg = ML_ARG_LIST(list, 2);
    if (ml_trial_call(v->ss, "reorder", &arg, 1, why) == ML_E_OK)
        *out = ML_TRIAL_WORKS;
    return true;
}

static void find_out(ml_View *v, ml_Request r, ml_ActCase *c)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Text why = {0};
    ml_TrialKind kind = ML_TRIAL_NONE;

    if (!ml_act_suits(v, r, &why))
        kind = ML_TRIAL_FAILS;
    else if (!can_move(v, r, &why, &kind))
        kind = ml_act_probe(v, ml_primitive_find(ml_act_primitive_of(r)), v->node, tmp,
                            NULL, &why);
    c->known = true;
    c->state = (uint8_t)kind;
    if (kind == ML_TRIAL_FAILS) {
        size_t n = strcspn(ml_text_z(&why), "\n");

        c->why = ml_heap_zalloc(n + 1);
        memcpy(c->why, ml_text_z(&why), n);
    }
    ml_text_free(&why);
    ml_ctx_unref(tmp);
}

size_t ml_act_applicable(ml_View *v, ml_Request *out, size_t n)
{
    const ml_Request *order;
    size_t many = order_of(v, &order), have = 0;
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

bool ml_act_idle(ml_View *v, int ms)
{
    int64_t end = ml_loop_now() + ms;
    const ml_Request *order;
    size_t many;
    ml_ActFacts *f;

    if (v->act->open == ML_ACT_MENU)
        return ml_act_menu_idle(v, end);
    if (v->act->open == ML_ACT_CHOICE)
        return ml_act_choice_idle(v, end);
    if (v->act->open != ML_ACT_NONE || !v->ss->focus)
        return false;
    many = order_of(v, &order);
    f = facts_of(v);
    for (size_t k = 0; k < many; k++) {
        if (!ml_act_primitive_of(order[k]) || f->of[order[k]].known)
            continue;
        if (ml_loop_now() >= end)
            return true;
        find_out(v, order[k], &f->of[order[k]]);
    }
    return false;
}

void ml_act_why_not(ml_View *v, ml_Request r, ml_Text *out)
{
    ml_ActFacts *f = facts_of(v);
    bool yes;

    if (at_once(v, r, &yes, out) || r >= ML_N_REQUESTS)
        return;
    if (!f->of[r].known)
        find_out(v, r, &f->of[r]);
    if (f->of[r].why)
        ml_text_add(out, f->of[r].why);
}
