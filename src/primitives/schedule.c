/*
 * schedule - making, copying and dropping schedules; the tree of versions and its moves.
 *
 * A version is a program with its index, the trace that made it and the random state after
 * it; versions are never changed, moves only change which one is current. Source:
 * primitives 1 and 4, interaction 6, DESIGN section 3.
 */
#include "primitives/schedule_impl.h"

#include "core/equal.h"

#include <stdio.h>
#include <stdlib.h>

enum { RANDOM_MODULUS = 2147483647 };

/* ---- spaces */

static ml_Space *new_space(ML_TAKES ml_Ctx *cx)
{
    ml_Space *sp = ml_heap_zalloc(sizeof(*sp));

    sp->cx = cx;
    sp->home = ml_ctx_new(0);
    sp->refs = 1;
    sp->names = ml_map_new(sp->home);
    sp->symbols = ml_map_new(sp->home);
    return sp;
}

static void drop_space(ml_Space *sp)
{
    if (--sp->refs > 0)
        return;
    ml_facts_free(sp->facts);
    ml_ctx_unref(sp->cx);
    ml_ctx_unref(sp->home);
    ml_heap_free(sp);
}

void ml_space_settle(ml_Space *sp)
{
    if (!sp->dirty || sp->in_call)
        return;
    sp->dirty = false;
    if (sp->facts && ml_facts_count(sp->facts) != sp->facts_at_mark)
        ml_facts_forget(sp->facts); /* entries may be about nodes that go now */
    ml_release(sp->cx, sp->dirty_mark);
}

ml_Facts *ml_space_facts(ml_Space *sp)
{
    if (!sp->facts)
        sp->facts = ml_facts_new(sp->cx);
    return sp->facts;
}

void ml_schedule_begin(ml_Schedule *s)
{
    if (s->space->in_call)
        return;
    ml_space_settle(s->space);
    ml_error_clear(s->space->cx);
    ml_ctx_clear_marks(s->space->cx);
    s->failed = false;
    s->failed_prim = NULL;
    s->failed_args = NULL;
    s->n_notes = 0;
}

/* ---- new, copy, fork */

static bool is_entry(const ml_Func *f)
{
    static const char *const keys[] = {"tir.is_entry_func", "tirx.is_entry_func"};

    for (size_t k = 0; k < ML_COUNT(keys); k++) {
        const ml_Value *v = ml_dict_get(f->attrs, keys[k]);

        if (v && (v->kind == ML_VAL_BOOL || v->kind == ML_VAL_INT) && v->as.i != 0)
            return true;
    }
    return false;
}

/* The function worked on: entry, `main`, the only schedulable one (primitives 4). */
static bool choose_func(ml_Schedule *s, const ml_Module *m)
{
    uint32_t n_schedulable = 0, last = 0;

    for (uint32_t k = 0; k < m->n; k++)
        if (is_entry(m->funcs[k]) && ml_func_root(m->funcs[k])) {
            s->func = k;
            return s->has_func = true;
        }
    for (uint32_t k = 0; k < m->n; k++) {
        if (!ml_func_root(m->funcs[k]))
            continue;
        n_schedulable++;
        last = k;
        if (ml_streq(m->funcs[k]->name, "main")) {
            s->func = k;
            return s->has_func = true;
        }
    }
    s->func = last;
    return s->has_func = n_schedulable == 1;
}

static bool named_func(ml_Schedule *s, const ml_Module *m, const char *name)
{
    for (uint32_t k = 0; k < m->n; k++)
        if (ml_streq(m->funcs[k]->name, name) && ml_func_root(m->funcs[k])) {
            s->func = k;
            return s->has_func = true;
        }
    return ml_fail(s->space->cx, ML_E_UNKNOWN_FUNCTION, ML_TEXT(name));
}

ml_Version *ml_version_add(ml_Schedule *s)
{
    if (s->n_versions == s->cap_versions) {
        s->cap_versions = s->cap_versions ? 2 * s->cap_versions : 16;
        s->v = ml_heap_grow(s->v, (size_t)s->cap_versions * sizeof(s->v[0]));
    }
    ml_Version *v = &s->v[s->n_versions];

    *v = (ml_Version){.parent = s->cur, .redo = -1, .known = true, .branch = s->branch};
    if (s->cur >= 0)
        s->v[s->cur].redo = s->n_versions;
    s->cur = s->n_versions++;
    return v;
}

static void drop_schedule(ml_Schedule *s)
{
    if (s->space)
        drop_space(s->space);
    ml_heap_free(s->v);
    ml_heap_free(s);
}

/* Whatever was made since is taken back first, so that the error holds texts only. */
static ml_Schedule *give_up(ml_Schedule *s, ml_Mark mark, ml_Ctx *module_cx,
                            const ml_Error **error)
{
    ml_release(s->space->cx, mark);
    ml_error_clear(module_cx);
    ml_error_move(module_cx, s->space->cx);
    drop_schedule(s);
    if (error)
        *error = ml_error(module_cx);
    return NULL;
}

ml_Schedule *ml_schedule_new(ml_Ctx *module_cx, const ml_Module *m, const ml_ScheduleOpts *opts,
                             const ml_Error **error)
{
    static const ml_ScheduleOpts none;
    ml_Schedule *s = ml_heap_zalloc(sizeof(*s));
    const ml_ScheduleOpts *o = opts ? opts : &none;
    ml_Findings findings = {0};

    s->refs = 1;
    ml_ctx_seal(module_cx);
    s->space = new_space(ml_ctx_fork(module_cx));
    s->opts = *o;
    s->opts.name = o->name ? ml_strdup(s->space->home, ml_str(o->name)) : NULL;
    s->opts.func = o->func ? ml_strdup(s->space->home, ml_str(o->func)) : NULL;

    ml_Ctx *cx = s->space->cx;
    ml_Mark mark = ml_mark(cx);

    s->random = 1;
    s->cur = -1;
    if (o->func ? !named_func(s, m, o->func) : (choose_func(s, m), false))
        return give_up(s, mark, module_cx, error);
    if (!ml_schedule_seed(s, o->seed == 0 ? 1 : o->seed))
        return give_up(s, mark, module_cx, error);
    if (!o->unchecked && !ml_verify_well_formed(cx, m, &findings))
        return give_up(s, mark, module_cx, error);
    ml_release(cx, mark);
    s->name = s->opts.name    ? s->opts.name
              : s->has_func   ? m->funcs[s->func]->name
              : m->n > 0      ? m->funcs[0]->name
                              : "module";
    ml_Version *v = ml_version_add(s);

    v->p = (ml_Program){m, ml_index_build(cx, m)};
    v->random = s->random;
    return s;
}

ml_Schedule *ml_schedule_ref(ml_Schedule *s)
{
    s->refs++;
    return s;
}

void ml_schedule_unref(ml_Schedule *s)
{
    if (s && --s->refs == 0)
        drop_schedule(s);
}

static ml_Schedule *copy_struct(const ml_Schedule *s)
{
    ml_Schedule *c = ml_heap_zalloc(sizeof(*c));

    *c = *s;
    c->refs = 1;
    c->v = NULL;
    c->n_versions = c->cap_versions = 0;
    c->failed = false;
    c->failed_prim = NULL;
    c->failed_args = NULL;
    c->n_notes = 0;
    return c;
}

ml_Schedule *ml_schedule_copy(ml_Schedule *s)
{
    ml_schedule_begin(s);
    ml_Schedule *c = copy_struct(s);

    c->space->refs++;
    c->cap_versions = c->n_versions = s->n_versions;
    c->v = ml_heap_grow(NULL, (size_t)c->cap_versions * sizeof(c->v[0]));
    memcpy(c->v, s->v, (size_t)s->n_versions * sizeof(c->v[0]));
    c->random = ml_schedule_fork_seed(s);
    return c;
}

ml_Schedule *ml_schedule_fork_at(ml_Schedule *s, int version)
{
    ML_ASSERT(ml_version_ok(s, version));
    ml_space_settle(s->space);
    ml_names_ensure(s, version);

    ml_Schedule *c = copy_struct(s);
    const ml_Version *from = &s->v[version];
    ml_Space *old = s->space;

    c->space = new_space(ml_ctx_fork(old->cx));
    for (size_t k = 0; k < ml_map_count(old->names); k++)
        ml_map_set(c->space->home, c->space->names, ml_map_key_at(old->names, k),
                   ml_strdup(c->space->home, ml_str(ml_map_value_at(old->names, k))));
    for (size_t k = 0; k < ml_map_count(old->symbols); k++) {
        ml_Symbol *y = ML_NEW(c->space->home, ml_Symbol);

        *y = *(const ml_Symbol *)ml_map_value_at(old->symbols, k);
        ml_map_set(c->space->home, c->space->symbols, ml_map_key_at(old->symbols, k), y);
    }
    c->name = ml_strdup(c->space->home, ml_str(s->name));
    c->opts.name = c->opts.func = NULL;
    c->branch = NULL;
    c->marks = NULL;
    c->cur = -1;
    c->undo_limit = 0;

    ml_Version *v = ml_version_add(c);

    v->p = from->p;
    v->trace = from->trace;
    v->random = from->random;
    v->named = true;
    c->trace = version == s->cur ? s->trace : from->trace;
    c->random = version == s->cur ? s->random : from->random;
    return c;
}

/* ---- the current version */

ml_Ctx *ml_schedule_ctx(ml_Schedule *s)
{
    ml_space_settle(s->space);
    return s->space->cx;
}

ml_Program ml_schedule_program(const ml_Schedule *s)
{
    return s->v[s->cur].p;
}

const ml_Func *ml_schedule_func(const ml_Schedule *s)
{
    return s->has_func ? s->v[s->cur].p.mod->funcs[s->func] : NULL;
}

uint32_t ml_schedule_func_pos(const ml_Schedule *s)
{
    return s->func;
}

const char *ml_schedule_name(const ml_Schedule *s)
{
    return s->name;
}

ml_Facts *ml_schedule_facts(ml_Schedule *s)
{
    ml_space_settle(s->space);
    return ml_space_facts(s->space);
}

const ml_ScheduleOpts *ml_schedule_opts(const ml_Schedule *s)
{
    return &s->opts;
}

uint64_t ml_schedule_hash(ml_Schedule *s)
{
    ml_Ctx *scratch = ml_ctx_new(0);
    uint64_t h = ml_hash_module(scratch, s->v[s->cur].p.mod, NULL);

    ml_ctx_unref(scratch);
    return h;
}

const ml_Error *ml_schedule_error(const ml_Schedule *s)
{
    return ml_error(s->space->cx);
}

size_t ml_schedule_notes(const ml_Schedule *s, const char *const **notes)
{
    if (notes)
        *notes = s->notes;
    return s->n_notes;
}

/* ---- versions */

int ml_schedule_version(const ml_Schedule *s)
{
    return s->cur;
}

int ml_schedule_n_versions(const ml_Schedule *s)
{
    return s->n_versions;
}

bool ml_version_ok(const ml_Schedule *s, int version)
{
    return version >= 0 && version < s->n_versions && s->v[version].known;
}

bool ml_version_known(const ml_Schedule *s, int version)
{
    return ml_version_ok(s, version);
}

ml_Program ml_version_program(const ml_Schedule *s, int version)
{
    return ml_version_ok(s, version) ? s->v[version].p : (ml_Program){0};
}

bool ml_version_step(ml_Schedule *s, int version, ml_Step *out)
{
    if (version < 0 || version >= s->n_versions)
        return false;
    const ml_Version *v = &s->v[version];

    *out = (ml_Step){.prim = v->prim, .parent = v->parent, .seconds = v->seconds};
    if (v->prim) {
        out->line = ml_step_line(s, version);
        out->headline = ml_step_headline(s, version);
    }
    out->n_notes = v->n_notes;
    out->notes = v->notes;
    out->check = v->check;
    return true;
}

static bool no_move(ml_Schedule *s, const char *why)
{
    return ml_fail(s->space->cx, ML_E_BAD_ARGUMENT, ML_TEXT(why));
}

/* Makes the path from the root down to `version` the one that redo follows. */
static void visit(ml_Schedule *s, int version)
{
    for (int v = version; s->v[v].parent >= 0; v = s->v[v].parent)
        s->v[s->v[v].parent].redo = v;
    s->cur = version;
    s->branch = s->v[version].branch;
}

/* The state of an ancestor is the one just before the step that leads away from it. */
static void move_to(ml_Schedule *s, int version)
{
    int below = -1;

    for (int v = s->cur; v >= 0 && v != version; v = s->v[v].parent)
        below = s->v[v].parent == version ? v : below;
    if (below >= 0) {
        s->trace = s->v[below].before;
        s->random = s->v[below].random_before;
    } else if (version != s->cur) {
        s->trace = s->v[version].trace;
        s->random = s->v[version].random;
    }
    if (below >= 0) { /* redo returns along the way that was left */
        s->cur = version;
        s->branch = s->v[version].branch;
    } else
        visit(s, version);
}

bool ml_schedule_undo(ml_Schedule *s, int n)
{
    int to = s->cur;

    ml_schedule_begin(s);
    if (n < 0)
        return no_move(s, "undo: the number of steps is negative");
    for (int k = 0; k < n; k++) {
        if (s->v[to].parent < 0)
            return no_move(s, k == 0 ? "there is no step to undo"
                                     : "there are not that many steps to undo");
        to = s->v[to].parent;
    }
    if (!ml_version_ok(s, to))
        return no_move(s, "that version was dropped (undo limit)");
    move_to(s, to);
    return true;
}

bool ml_schedule_redo(ml_Schedule *s, int n)
{
    int to = s->cur;

    ml_schedule_begin(s);
    if (n < 0)
        return no_move(s, "redo: the number of steps is negative");
    for (int k = 0; k < n; k++) {
        if (s->v[to].redo < 0)
            return no_move(s, k == 0 ? "there is no step to redo"
                                     : "there are not that many steps to redo");
        to = s->v[to].redo;
    }
    if (!ml_version_ok(s, to))
        return no_move(s, "that version was dropped (undo limit)");
    move_to(s, to);
    return true;
}

bool ml_schedule_goto(ml_Schedule *s, int version)
{
    ml_schedule_begin(s);
    if (version < 0 || version >= s->n_versions)
        return ml_bad_argument(s->space->cx, "there is no version %d; they run from 0 to %d",
                               version, s->n_versions - 1);
    if (!s->v[version].known)
        return no_move(s, "that version was dropped (undo limit)");
    move_to(s, version);
    return true;
}

bool ml_schedule_mark(ml_Schedule *s, const char *name)
{
    ml_schedule_begin(s);
    if (!name || !*name)
        return no_move(s, "a mark needs a name");
    ml_MarkName *m = ML_NEW(s->space->home, ml_MarkName);

    m->prev = s->marks;
    m->name = ml_strdup(s->space->home, ml_str(name));
    m->version = s->cur;
    s->marks = m;
    return true;
}

int ml_schedule_find_mark(const ml_Schedule *s, const char *name)
{
    for (const ml_MarkName *m = s->marks; m; m = m->prev)
        if (ml_streq(m->name, name))
            return m->version;
    return -1;
}

static const char *join_marks(ml_Schedule *s, const ml_MarkName *m, int version)
{
    const char *older = NULL;

    while (m && !(m->version == version && ml_schedule_find_mark(s, m->name) == version))
        m = m->prev;
    if (!m)
        return NULL;
    older = join_marks(s, m->prev, version);
    for (const ml_MarkName *o = m->prev; o; o = o->prev) /* the same mark set again */
        if (o->version == version && ml_streq(o->name, m->name))
            return older;
    return older ? ml_format(s->space->home, "%s, %s", older, m->name) : m->name;
}

const char *ml_schedule_marks_of(const ml_Schedule *s, int version)
{
    union {
        const ml_Schedule *in;
        ml_Schedule *out;
    } u = {.in = s};

    return join_marks(u.out, s->marks, version);
}

bool ml_schedule_branch(ml_Schedule *s, const char *name)
{
    ml_schedule_begin(s);
    if (!name || !*name)
        return no_move(s, "a branch needs a name");
    s->branch = ml_strdup(s->space->home, ml_str(name));
    s->v[s->cur].branch = s->branch;
    return true;
}

const char *ml_schedule_branch_name(const ml_Schedule *s)
{
    return s->branch;
}

void ml_schedule_set_check(ml_Schedule *s, int version, const char *result)
{
    if (version >= 0 && version < s->n_versions)
        s->v[version].check = result ? ml_strdup(s->space->home, ml_str(result)) : NULL;
}

/* Versions older than the newest n lose their program, except the start, the current one,
 * those with marks and what leads to them by undo from the newest. */
void ml_schedule_set_undo_limit(ml_Schedule *s, int n)
{
    s->undo_limit = n > 0 ? n : 0;
    if (n <= 0)
        return;
    for (int v = 1; v < s->n_versions - n; v++) {
        if (!s->v[v].known || v == s->cur || ml_schedule_marks_of(s, v))
            continue;
        ml_names_ensure(s, v);
        ml_step_headline(s, v);
        ml_step_line(s, v);
        s->v[v].known = false;
        s->v[v].p = (ml_Program){0};
    }
}

ml_State ml_schedule_state(const ml_Schedule *s)
{
    return (ml_State){s->cur, s->trace, s->random};
}

void ml_schedule_restore(ml_Schedule *s, ml_State st)
{
    ml_schedule_begin(s);
    if (!ml_version_ok(s, st.version))
        return;
    if (st.version != s->cur)
        move_to(s, st.version);
    s->trace = st.trace;
    s->random = st.random;
}

/* ---- random state (primitives 4) */

static bool entropy(uint32_t *out)
{
    FILE *f = fopen("/dev/urandom", "rb");
    bool ok = f && fread(out, sizeof(*out), 1, f) == 1;

    if (f)
        fclose(f);
    return ok;
}

bool ml_schedule_seed(ml_Schedule *s, int64_t seed)
{
    uint32_t from_system = 1;

    if (seed < -1)
        return ml_bad_argument(s->space->cx,
                               "seed is %lld; it must be in [1, 2147483647], or -1 for one from "
                               "the system",
                               (long long)seed);
    if (seed == -1) {
        if (!entropy(&from_system))
            return ml_fail(s->space->cx, ML_E_NO_FILE, ML_TEXT("/dev/urandom"),
                           ML_TEXT("cannot be read"));
        seed = from_system;
    }
    s->random = (uint32_t)(seed % RANDOM_MODULUS);
    if (s->random == 0)
        s->random = 1;
    return true;
}

uint32_t ml_schedule_fork_seed(ml_Schedule *s)
{
    s->random = (uint32_t)((uint64_t)s->random * 48271 % RANDOM_MODULUS);
    return (uint32_t)((uint64_t)s->random * 32767 % 1999999973);
}
