/*
 * call - one application of a primitive: begin, arguments, checks and rewrite, record,
 * commit.
 *
 * Nothing of the schedule changes before the last step; a failed call leaves a mark to
 * which the arena is taken back when the next call begins. Source: primitives 1.2 to 1.4.
 */
#include "moonloop/primitives/call/args.h"

/* ---- applying */

/* A loop or block argument decides which function is worked on. */
static uint32_t func_of(const ml_Schedule *s, const ml_Primitive *prim,
                        const ml_Given *args)
{
    const ml_Index *ix = s->v[s->cur].p.index;

    for (size_t k = 0; k < prim->n_params; k++) {
        if (args[k].node)
            return ml_index_func(ix, args[k].uid);
        if (args[k].n > 0 && args[k].uids)
            return ml_index_func(ix, args[k].uids[0]);
    }
    return s->func;
}

/* "{64, nil}" is a list of one element in Lua: a hint where one factor is too small. */
static bool note_short_list(ml_Ctx *cx, const ml_Primitive *prim, const ml_Given *args)
{
    bool noted = false;

    for (size_t k = 0; k < prim->n_params; k++)
        if (prim->params[k].kind == ML_P_FACTORS && args[k].n == 1 && args[k].exprs[0] &&
            ml_is_const_int(args[k].exprs[0])) {
            ml_error_note(cx, "in Lua {%lld, nil} is {%lld}",
                          (long long)args[k].exprs[0]->as.i,
                          (long long)args[k].exprs[0]->as.i);
            noted = true;
        }
    return noted;
}

static bool fail_call(ml_Schedule *s, const ml_Primitive *prim, const ml_Given *args,
                      const ml_Arg *const *raw, ml_Mark mark, uint32_t random)
{
    ml_Space *sp = s->space;

    if (!ml_error(sp->cx))
        ml_fail(sp->cx, ML_E_SELF_CHECK, ML_TEXT("the primitive gave no reason"));
    s->failed_in_call = ml_error(sp->cx)->code == ML_E_FACTORS_TOO_SMALL &&
                        note_short_list(sp->cx, prim, args);
    ml_error_set_primitive(sp->cx, prim->name);
    ml_ctx_clear_marks(sp->cx);
    sp->in_call = false;
    sp->dirty = true;
    sp->dirty_mark = mark;
    s->random = random;
    s->failed = true;
    s->failed_prim = prim;
    s->failed_args = args;
    s->failed_raw = ml_args_copy(sp->cx, raw, prim->n_params);
    s->n_failed_args = prim->n_params;
    return false;
}

/* What a step keeps of its call. */
static void commit(ml_Schedule *s, const ml_Call *c, const ml_TraceNode *before,
                   uint32_t random_before, double seconds)
{
    ml_Version *v = ml_version_add(s);
    const ml_Results *r = &c->results;
    ml_Handle *results = ML_ARRAY(c->cx, ml_Handle, r->n + 1);
    size_t n_ended = 0;

    memcpy(results, r->more ? r->more : r->v, r->n * sizeof(*results));
    for (size_t k = 0; k < c->ended.n; k++)
        if (!ml_index_node(c->p.index, c->ended.v[k]))
            c->ended.v[n_ended++] = c->ended.v[k];
    v->p = c->p;
    v->trace = s->trace;
    v->before = before;
    v->random = s->random;
    v->random_before = random_before;
    v->seconds = seconds;
    v->prim = c->prim;
    v->args = c->args;
    v->results = results;
    v->n_results = (uint32_t)r->n;
    v->result_list = r->is_list;
    v->ended = c->ended.v;
    v->n_ended = (uint32_t)n_ended;
    v->notes = c->notes.v;
    v->n_notes = (uint32_t)c->notes.n;
    v->decision = c->decision;
}

static void begin_call(ml_Schedule *s)
{
    ml_Space *sp = s->space;

    sp->in_call = true;
    sp->caller = s;
    sp->facts_at_mark = sp->facts ? ml_facts_count(sp->facts) : 0;
    sp->symbols_at_mark = sp->n_symbols;
}

static ml_Call new_call(ml_Schedule *s, const ml_Primitive *prim, const ml_Given *given)
{
    ml_Call c = {
        .cx = s->space->cx, .sched = s, .prim = prim, .p = s->v[s->cur].p, .args = given};

    c.facts = ml_space_facts(s->space);
    c.func = func_of(s, prim, given);
    c.asks =
        (uint8_t)((s->opts.no_check ? 0 : ML_RULE) | (s->opts.unchecked ? 0 : ML_SOUND) |
                  (s->opts.no_check || s->opts.unchecked ? 0 : ML_STRICT));
    for (size_t k = 0; k < prim->n_params; k++)
        if (prim->params[k].kind == ML_P_DECISION)
            c.decision = given[k].value;
    return c;
}

/* The loops and blocks that a step by buffers works on use no memory under two names. */
static bool check_names(ml_Call *c)
{
    if (!c->sched->aliased || c->prim->no_version || c->prim->one_order)
        return true;
    for (size_t k = 0; k < c->prim->n_params; k++) {
        const ml_Given *g = &c->args[k];

        if (g->node && !ml_check_one_name(c, g->uid))
            return false;
        for (size_t m = 0; !g->node && g->uids && m < g->n; m++)
            if (!ml_check_one_name(c, g->uids[m]))
                return false;
    }
    return true;
}

void ml_call_subject(ml_Call *c, ml_Part part, ml_Uid uid, const ml_Buffer *buf)
{
    if (ml_call_asks(c, ML_SOUND))
        ml_push(c->cx, &c->subjects, ((ml_Subject){uid, buf, (uint8_t)part}));
}

void ml_call_subjects(ml_Call *c, ml_Part part, const ml_UidVec *v, const ml_Buffer *buf)
{
    for (size_t k = 0; k < v->n; k++)
        ml_call_subject(c, part, v->v[k], buf);
}

void ml_call_subjects_below(ml_Call *c, ml_Part part, ml_Uid node)
{
    ml_StmtVec blocks = {0};

    if (!ml_call_asks(c, ML_SOUND))
        return;
    ml_all_blocks(c->cx, ml_index_node(c->p.index, node), &blocks);
    for (size_t k = 0; k < blocks.n; k++)
        ml_call_subject(c, part, ml_stmt_uid(blocks.v[k]), NULL);
}

static bool holds(ml_Call *c, const ml_Post *post)
{
    for (size_t k = 0; k < c->subjects.n; k++) {
        ml_Subject of = c->subjects.v[k];

        if (of.part == post->part && ml_index_node(c->p.index, of.uid) &&
            !(post->holds ? post->holds(c, of.uid) : post->of_buffer(c, of.uid, of.buf)))
            return false;
    }
    return true;
}

bool ml_call_run(ml_Call *c, const ml_Primitive *prim)
{
    if (!prim->apply(c) || !ml_ok_or_fail(c->cx))
        return false;
    for (const ml_Post *post = prim->posts; post && post->proof; post++)
        if (ml_call_asks(c, (ml_Proof)post->proof) && !holds(c, post))
            return false;
    c->subjects.n = 0;
    return ml_ok_or_fail(c->cx);
}

/* What is no answer: the memory is out, a person has had enough. */
static bool is_over(const ml_Ctx *cx)
{
    ml_ErrorCode code = ml_error(cx) ? ml_error(cx)->code : ML_E_OK;

    return code == ML_E_OUT_OF_MEMORY || code == ML_E_INTERRUPTED;
}

bool ml_call_would(const ml_Call *c, const ml_Primitive *prim, const ml_Given *args,
                   bool *over)
{
    ml_Call dry = {.cx = c->cx,
                   .sched = c->sched,
                   .prim = prim,
                   .facts = c->facts,
                   .p = c->p,
                   .func = c->func,
                   .args = args,
                   .asks = c->asks};

    if (ml_call_run(&dry, prim))
        return true;
    *over = is_over(c->cx);
    if (!*over) {
        ml_error_clear(c->cx);
        ml_ctx_clear_marks(c->cx);
    }
    return false;
}

/* One call; dry: *yes tells whether it went well, and nothing of it stays. */
static bool call(ml_Schedule *s, const ml_Primitive *prim, const ml_Arg *args, size_t n,
                 bool *yes, ml_Results *out)
{
    ml_Space *sp = s->space;
    double start = ml_clock();

    ML_ASSERT(!sp->in_call);
    ml_schedule_begin(s);

    ml_Ctx *cx = sp->cx;
    ml_Mark mark = ml_mark(cx);
    uint32_t random = s->random;
    const ml_TraceNode *before = s->trace;
    ml_Given *given = ML_ARRAY(cx, ml_Given, prim->n_params + 1);
    const ml_Arg **raw = ML_ARRAY(cx, const ml_Arg *, prim->n_params + 1);

    begin_call(s);
    if (!ml_args_resolve(s, prim, args, n, raw, given))
        return fail_call(s, prim, given, raw, mark, random);
    ml_Call c = new_call(s, prim, given);

    if (!check_names(&c) || !ml_call_run(&c, prim)) {
        bool over = is_over(cx);

        fail_call(s, prim, given, raw, mark, random);
        return yes && !over;
    }
    if (yes) {
        sp->in_call = false;
        sp->dirty = *yes = true;
        sp->dirty_mark = mark;
        s->random = random;
        ml_schedule_begin(s);
        return true;
    }
    if (!prim->no_version && (s->opts.debug_mask || s->verify) &&
        !ml_self_check(cx, c.facts, s->v[s->cur].p, c.p,
                       s->opts.debug_mask | (s->verify ? UINT32_MAX : 0)))
        return fail_call(s, prim, given, raw, mark, random);
    if (!prim->not_recorded) {
        int version = prim->no_version ? s->cur : s->n_versions;
        ml_TraceNode *nodes = sp->nodes;

        if (!ml_record(s, &c, raw, version)) {
            s->trace = before;
            sp->nodes = nodes;
            return fail_call(s, prim, given, raw, mark, random);
        }
    }
    sp->in_call = false;
    if (!prim->no_version)
        commit(s, &c, before, random, ml_clock() - start);
    s->notes = c.notes.v;
    s->n_notes = c.notes.n;
    if (out)
        *out = c.results;
    if (prim->no_version)
        return true;
    if (s->undo_limit > 0)
        ml_schedule_set_undo_limit(s, s->undo_limit);
    /* A trace that is replayed, and a list longer than `out` holds, may lie in what would
     * go. */
    if (!s->replaying && c.results.n <= ML_MAX_RESULTS)
        ml_schedule_compact_when_due(s);
    return true;
}

bool ml_would_apply(ml_Schedule *s, const ml_Primitive *prim, const ml_Arg *args, size_t n,
                    bool *yes)
{
    *yes = false;
    return call(s, prim, args, n, yes, NULL);
}

bool ml_apply_prim(ml_Schedule *s, const ml_Primitive *prim, const ml_Arg *args, size_t n,
                   ml_Results *out)
{
    return call(s, prim, args, n, NULL, out);
}

bool ml_apply(ml_Schedule *s, const char *name, const ml_Arg *args, size_t n,
              ml_Results *out)
{
    const ml_Primitive *prim = ml_primitive_find(name);

    if (prim)
        return ml_apply_prim(s, prim, args, n, out);
    ml_schedule_begin(s);

    ml_Text t = {0};
    const char *near = ml_primitive_nearest(name);

    ml_text_fmt(&t, "no primitive '%s'", name);
    if (near)
        ml_text_fmt(&t, "; did you mean %s?", near);
    ml_fail(s->space->cx, ML_E_UNKNOWN_NAME, ML_TEXT(ml_text_z(&t)));
    ml_text_free(&t);
    return false;
}
