/*
 * schedule - making, copying, forking and dropping schedules; the random state.
 *
 * Copies share a space, a fork has one of its own on top of it. Source: primitives 1 and 4,
 * DESIGN section 3.
 */
#include "moonloop/primitives/schedule.h"

#include "moonloop/primitives/intrin.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

#include "moonloop/core/compare/equal.h"

#include <stdio.h>
#include <stdlib.h>

enum { RANDOM_MODULUS = 2147483647 };

/* ---- spaces */

/* The names on screen before the step that is being worked on, for its sentences. */
static const ml_Map *names_in_call(void *user)
{
    ml_Space *sp = user;

    if (!sp->in_call)
        return NULL;
    ml_names_ensure(sp->caller, sp->caller->cur);
    return sp->names;
}

void ml_space_set_ctx(ml_Space *sp, ML_TAKES ml_Ctx *cx)
{
    sp->cx = cx;
    ml_ctx_set_names(cx, names_in_call, sp);
}

static ml_Space *new_space(ML_TAKES ml_Ctx *cx)
{
    ml_Space *sp = ml_heap_zalloc(sizeof(*sp));

    ml_space_set_ctx(sp, cx);
    sp->home = ml_ctx_new(0);
    sp->refs = 1;
    sp->names = ml_map_new(sp->home);
    sp->symbols = ml_map_new(sp->home);
    return sp;
}

static void join_space(ml_Schedule *s)
{
    s->next = s->space->first;
    s->space->first = s;
}

static void leave_space(ml_Schedule *s)
{
    ml_Schedule **at = &s->space->first;

    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
}

static void drop_space(ml_Space *sp)
{
    if (--sp->refs > 0)
        return;
    ml_facts_free(sp->facts);
    ml_intrins_unref(sp->intrins);
    ml_ctx_unref(sp->cx);
    ml_ctx_unref(sp->home);
    ml_heap_free(sp);
}

/* Numbers of a failed call go back with its memory and will be given out again. */
static void forget_symbols(ml_Space *sp)
{
    for (size_t k = 0; k < ml_map_count(sp->symbols); k++)
        if (ml_map_key_at(sp->symbols, k) >= sp->dirty_mark.next_uid)
            ml_map_set(sp->home, sp->symbols, ml_map_key_at(sp->symbols, k), NULL);
    sp->n_symbols = sp->symbols_at_mark;
}

/* What copies that share the space remember of a failed call goes too: it lies in the
 * memory that is taken back. */
void ml_space_settle(ml_Space *sp)
{
    if (!sp->dirty || sp->in_call)
        return;
    sp->dirty = false;
    for (ml_Schedule *s = sp->first; s; s = s->next) {
        s->failed = false;
        s->failed_prim = NULL;
        s->failed_args = NULL;
        s->failed_raw = NULL;
    }
    if (sp->n_symbols != sp->symbols_at_mark)
        forget_symbols(sp);
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

static ml_FactCounts counts_of(const ml_Space *sp)
{
    ml_FactCounts sum = sp->counted;
    ml_FactCounts now = sp->facts ? ml_facts_counts(sp->facts) : (ml_FactCounts){{0}, {0}};

    for (size_t q = 0; q < ML_QUESTIONS; q++) {
        sum.asked[q] += now.asked[q];
        sum.computed[q] += now.computed[q];
    }
    return sum;
}

void ml_space_drop_facts(ml_Space *sp)
{
    sp->counted = counts_of(sp);
    ml_facts_free(sp->facts);
    sp->facts = NULL;
}

ml_FactCounts ml_schedule_fact_counts(const ml_Schedule *s)
{
    return counts_of(s->space);
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
    return ml_fail_unknown_function(s->space->cx, m, name);
}

ml_Version *ml_version_add(ml_Schedule *s)
{
    if (s->n_versions == s->cap_versions) {
        s->cap_versions = s->cap_versions ? 2 * s->cap_versions : 16;
        s->v = ml_heap_grow(s->v, (size_t)s->cap_versions * sizeof(s->v[0]));
    }
    ml_Version *v = &s->v[s->n_versions];

    *v = (ml_Version){.parent = s->cur, .redo = -1, .known = true};
    if (s->cur >= 0)
        s->v[s->cur].redo = s->n_versions;
    s->cur = s->n_versions++;
    if (s->branch)
        ml_schedule_label(s, s->branch);
    return v;
}

static void drop_schedule(ml_Schedule *s)
{
    if (s->space) {
        leave_space(s);
        drop_space(s->space);
    }
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

ml_Schedule *ml_schedule_new(ml_Ctx *module_cx, const ml_Module *m,
                             const ml_ScheduleOpts *opts, const ml_Error **error)
{
    static const ml_ScheduleOpts none;
    ml_Schedule *s = ml_heap_zalloc(sizeof(*s));
    const ml_ScheduleOpts *o = opts ? opts : &none;
    ml_Findings findings = {0};

    s->refs = 1;
    ml_ctx_seal(module_cx);
    s->space = new_space(ml_ctx_fork(module_cx));
    s->space->intrins = o->intrins ? ml_intrins_ref(o->intrins) : ml_intrins_new();
    join_space(s);
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
    s->name = s->opts.name  ? s->opts.name
              : s->has_func ? m->funcs[s->func]->name
              : m->n > 0    ? m->funcs[0]->name
                            : "module";
    ml_Version *v = ml_version_add(s);

    v->p = (ml_Program){m, ml_index_build(cx, m)};
    s->aliased = ml_has_aliases(m);
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
    join_space(c);
    c->cap_versions = c->n_versions = s->n_versions;
    c->v = ml_heap_grow(NULL, (size_t)c->cap_versions * sizeof(c->v[0]));
    memcpy(c->v, s->v, (size_t)s->n_versions * sizeof(c->v[0]));
    c->random = ml_schedule_fork_seed(s);
    return c;
}

static const ml_Rename *copy_renames(ml_Ctx *home, const ml_Rename *from)
{
    const ml_Rename *first = NULL, **to = &first;

    for (; from; from = from->next) {
        ml_Rename *r = ML_NEW(home, ml_Rename);

        r->uid = from->uid;
        r->stored = ml_strdup(home, ml_str(from->stored));
        r->display = ml_strdup(home, ml_str(from->display));
        r->was = from->was ? ml_strdup(home, ml_str(from->was)) : NULL;
        *to = r;
        to = &r->next;
    }
    return first;
}

/* Names as `version` shows them, and what later names of its blocks are told by. */
static void copy_names(ml_Space *to, const ml_Space *from, ml_Version *v,
                       const ml_Version *was)
{
    for (size_t k = 0; k < ml_map_count(from->names); k++)
        ml_map_set(to->home, to->names, ml_map_key_at(from->names, k),
                   ml_strdup(to->home, ml_str(ml_map_value_at(from->names, k))));
    if (from->stored) {
        to->stored = ml_map_new(to->home);
        for (size_t k = 0; k < ml_map_count(from->stored); k++)
            ml_map_set(to->home, to->stored, ml_map_key_at(from->stored, k),
                       ml_strdup(to->home, ml_str(ml_map_value_at(from->stored, k))));
    }
    to->alts = copy_renames(to->home, from->alts);
    v->renames = to->synced = copy_renames(to->home, was->renames);
    v->named = true;
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
    c->space->is_fork = true;
    c->space->intrins = ml_intrins_ref(old->intrins);
    join_space(c);
    for (size_t k = 0; k < ml_map_count(old->symbols); k++) {
        const ml_Symbol *from_old = ml_map_value_at(old->symbols, k);

        if (!from_old)
            continue;
        ml_Symbol *y = ML_NEW(c->space->home, ml_Symbol);

        *y = *from_old;
        ml_map_set(c->space->home, c->space->symbols, ml_map_key_at(old->symbols, k), y);
    }
    c->name = ml_strdup(c->space->home, ml_str(s->name));
    c->opts.name = c->opts.func = NULL;
    c->branch = NULL;
    c->marks = c->labels = NULL;
    c->cur = -1;
    c->undo_limit = 0;

    ml_Version *v = ml_version_add(c);

    v->p = from->p;
    v->trace = from->trace;
    v->random = from->random;
    copy_names(c->space, old, v, from);
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

bool ml_schedule_work_on(ml_Schedule *s, const char *name)
{
    ml_schedule_begin(s);
    return named_func(s, s->v[s->cur].p.mod, name);
}

const char *ml_schedule_name(const ml_Schedule *s)
{
    return s->name;
}

void ml_schedule_verify_each(ml_Schedule *s, bool on)
{
    s->verify = on;
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

    ml_schedule_begin(s);
    if (seed < -1)
        return ml_bad_argument(
            s->space->cx,
            "seed is %lld; it must be in [1, 2147483647], or -1 for one from "
            "the system",
            (long long)seed);
    if (seed == -1) {
        if (!entropy(&from_system))
            return ml_fail(s->space->cx, ML_E_NO_FILE,
                           ML_TEXT("/dev/urandom cannot be read"));
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
