/*
 * where - :where: which step made a loop, block or buffer.
 *
 * The name is looked up in the function worked on and, when it bears none or no function is
 * chosen, in every function of the module; everything that bears the name is answered for.
 * A thing was made by the first version on the way from the start that holds its number.
 * Source: interaction 3, 4.
 */
#include "moonloop/core/json/data.h"
#include "moonloop/primitives/names.h"
#include "repl/command/command.h"

typedef struct Thing {
    ml_NamedItem it;
    const char *name;
    const ml_Func *func;
} Thing;

typedef struct Search {
    ml_Ctx *cx;
    const ml_Names *names;
    const char *text;
    ML_VEC(Thing) found;
} Search;

static void look_in(Search *s, const ml_Func *f)
{
    ml_NamedItems all = {.cx = s->cx};

    ml_named_items(&all, f);
    for (size_t k = 0; k < all.list.n; k++) {
        const char *name =
            s->names->map ? ml_map_get(s->names->map, all.list.v[k].uid) : NULL;

        if (name && ml_streq(name, s->text))
            ml_push(s->cx, &s->found, ((Thing){all.list.v[k], name, f}));
    }
}

static bool holds(ml_Ctx *cx, ml_Schedule *s, int version, const Thing *t)
{
    ml_Program p = ml_version_program(s, version);
    const ml_Func *f = ml_module_find(p.mod, t->func->name);
    ml_NamedItems all = {.cx = cx};

    if (t->it.kind != ML_BEARS_BUFFER)
        return ml_index_node(p.index, t->it.uid) != NULL;
    if (f)
        ml_named_items(&all, f);
    for (size_t k = 0; k < all.list.n; k++)
        if (all.list.v[k].uid == t->it.uid)
            return true;
    return false;
}

static const char *const KINDS[] = {"loop", "block", "buffer"};

static void tell(ml_Data *d, const Thing *t, ml_Schedule *s, int made, bool dropped)
{
    ml_Step step;

    ml_data_row(d);
    ml_data_str(d, "kind", KINDS[t->it.kind]);
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
    ml_text_fmt(&out, "%s %s", KINDS[t->it.kind], t->name);
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
            ((Thing){{.kind = h.kind == ML_H_LOOP ? ML_BEARS_LOOP : ML_BEARS_BLOCK,
                      .uid = h.uid},
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
