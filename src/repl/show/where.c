/*
 * where - :where: which step made a loop, block or buffer.
 *
 * The name is looked up in the function worked on and, when it bears none or no function is
 * chosen, in every function of the module; everything that bears the name is answered for.
 * A thing was made by the first version on the way from the start that holds its number.
 * Source: interaction 3, 4.
 */
#include "repl/command/command.h"
#include "repl/out/data.h"

typedef enum ThingKind { THING_LOOP, THING_BLOCK, THING_BUFFER, THING_KINDS } ThingKind;

typedef struct Thing {
    ThingKind kind;
    ml_Uid uid;
    const char *name;
    const ml_Func *func;
} Thing;

typedef struct Search {
    ml_Ctx *cx;
    const ml_Names *names;
    const ml_Func *func;
    const char *text; /* NULL: look for the number */
    ml_Uid uid;
    ML_VEC(Thing) found;
} Search;

static void look_at(Search *s, ThingKind kind, ml_Uid uid)
{
    const char *name = s->names->map ? ml_map_get(s->names->map, uid) : NULL;

    if (s->text ? name && ml_streq(name, s->text) : uid == s->uid)
        ml_push(s->cx, &s->found, ((Thing){kind, uid, name, s->func}));
}

static void visit_stmt(const ml_Stmt *st, bool in_init, void *user)
{
    Search *s = user;

    if (st->kind == ML_STMT_ALLOC || st->kind == ML_STMT_DECL)
        look_at(s, THING_BUFFER, ml_as_alloc(st)->buffer->uid);
    if (in_init)
        return;
    if (st->kind == ML_STMT_FOR && st->has_block)
        look_at(s, THING_LOOP, ml_as_for(st)->var->uid);
    if (st->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(st);

        look_at(s, THING_BLOCK, b->tag);
        for (uint32_t k = 0; k < b->n_allocs; k++)
            look_at(s, THING_BUFFER, b->allocs[k]->uid);
        for (uint32_t k = 0; k < b->n_matches; k++)
            look_at(s, THING_BUFFER, b->matches[k].target->uid);
    }
    ml_stmt_children(st, visit_stmt, s);
}

static void look_in(Search *s, const ml_Func *f)
{
    s->func = f;
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer)
            look_at(s, THING_BUFFER, f->params[k].buffer->uid);
    if (f->body)
        visit_stmt(f->body, false, s);
}

static bool holds(ml_Ctx *cx, ml_Schedule *s, int version, const Thing *t)
{
    ml_Program p = ml_version_program(s, version);
    Search in = {.cx = cx, .names = ml_schedule_names(s), .uid = t->uid};

    if (t->kind != THING_BUFFER)
        return ml_index_node(p.index, t->uid) != NULL;
    const ml_Func *f = ml_module_find(p.mod, t->func->name);

    if (f)
        look_in(&in, f);
    return in.found.n > 0;
}

static const char *const KINDS[THING_KINDS] = {"loop", "block", "buffer"};

static void tell(ml_Data *d, const Thing *t, ml_Schedule *s, int made, bool dropped)
{
    ml_Step step;

    ml_data_row(d);
    ml_data_str(d, "kind", KINDS[t->kind]);
    ml_data_str(d, "name", t->name);
    ml_data_str(d, "function", t->func->name);
    ml_data_int(d, "version", made);
    ml_data_bool(d, "known", !dropped);
    if (!dropped && ml_version_step(s, made, &step) && step.prim)
        ml_data_str(d, "line", step.line);
}

static void answer(ml_Session *ss, ml_Ctx *cx, const Thing *t, bool name_func)
{
    ml_Schedule *s = ss->focus;
    int made = ml_schedule_version(s);
    bool dropped = false;
    ml_Text out = {0};
    ml_Step step;

    while (!dropped && ml_version_step(s, made, &step) && step.parent >= 0) {
        dropped = !ml_version_known(s, step.parent);
        if (dropped || !holds(cx, s, step.parent, t))
            break;
        made = step.parent;
    }
    ml_text_fmt(&out, "%s %s", KINDS[t->kind], t->name);
    if (name_func)
        ml_text_fmt(&out, " of %s", t->func->name);
    if (dropped) /* what was before cannot be looked at */
        ml_text_fmt(&out, " was there at v%d; the versions before were dropped", made);
    else if (ml_version_step(s, made, &step) && step.prim)
        ml_text_fmt(&out, " was made by step %d: %s", made, step.line);
    else
        ml_text_add(&out, " is there from the start");
    tell(ml_session_data(ss), t, s, made, dropped);
    ml_out_prose(&ss->out, ml_text_z(&out));
    ml_text_free(&out);
}

/* A path or a pattern: what the primitives would take it for. */
static bool resolve(ml_Session *ss, Search *s, const char *text)
{
    ml_Program p = ml_schedule_program(ss->focus);
    ml_Handle h = {0};

    if (!ml_schedule_func(ss->focus) || !ml_resolve(ss->focus, text, ML_H_NONE, &h))
        return false;
    ml_push(s->cx, &s->found,
            ((Thing){h.kind == ML_H_LOOP ? THING_LOOP : THING_BLOCK, h.uid,
                     ml_name_of(ss->focus, h.uid),
                     p.mod->funcs[ml_index_func(p.index, h.uid)]}));
    return true;
}

bool cmd_where(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    const ml_Module *m = ml_schedule_program(s).mod;
    const ml_Func *f = ml_schedule_func(s);
    Search find = {.cx = ml_ctx_new(0), .names = ml_schedule_names(s)};
    bool ok = true;

    if (w->n != 1) {
        ml_ctx_unref(find.cx);
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":where NAME");
    }
    find.text = w->v[0];
    if (f)
        look_in(&find, f);
    if (find.found.n == 0 && !resolve(ss, &find, w->v[0])) {
        ml_ErrorCode why = f ? ml_schedule_error(s)->code : ML_E_OK;

        for (uint32_t k = 0; k < m->n; k++)
            if (m->funcs[k] != f)
                look_in(&find, m->funcs[k]);
        if (find.found.n == 0 &&
            (why == ML_E_AMBIGUOUS_BLOCK || why == ML_E_AMBIGUOUS_LOOP))
            ok = ml_session_schedule_error(ss, s);
        else if (find.found.n == 0)
            ok = ml_session_error(ss, ML_E_UNKNOWN_NAME,
                                  "no loop, block or buffer is named %s in this version",
                                  w->v[0]);
    }
    for (size_t k = 0; k < find.found.n; k++)
        answer(ss, find.cx, &find.found.v[k], m->n > 1);
    ml_ctx_unref(find.cx);
    return ok;
}
