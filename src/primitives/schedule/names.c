/*
 * names - display names: given once, when a node first appears, and kept; resolving text.
 *
 * Loops and buffers of a function share one set, its blocks have another; a name is unique
 * in every version that holds its bearer. Numbers are never used twice, so one table per
 * space serves all versions. They are worked out when somebody looks, from the start to the
 * version asked for, in program order. Source: interaction 3, script 12.5.
 */
#include "moonloop/primitives/names.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- walking what bears names */

bool ml_node_is_named(const ml_Stmt *st)
{
    return st->kind == ML_STMT_BLOCK || (st->kind == ML_STMT_FOR && st->n_blocks > 0);
}

static inline void add_item(ml_NamedItems *it, ml_NamedItem item)
{
    ml_push(it->cx, &it->list, item);
}

static inline void add_buffer(ml_NamedItems *it, const ml_Buffer *b)
{
    add_item(it,
             (ml_NamedItem){.kind = ML_BEARS_BUFFER, b->uid, .hint = b->name, .buffer = b});
}

static inline void add_loop(ml_NamedItems *it, const ml_Var *v)
{
    add_item(it, (ml_NamedItem){.kind = ML_BEARS_LOOP, v->uid, .hint = v->hint, .var = v});
}

static void collect(const ml_Stmt *st, bool in_init, void *user)
{
    ml_NamedItems *it = user;

    if (st->kind == ML_STMT_FOR && st->n_blocks > 0 && !in_init)
        add_loop(it, ml_as_for(st)->var);
    if (st->kind == ML_STMT_ALLOC || st->kind == ML_STMT_DECL)
        add_buffer(it, ml_as_alloc(st)->buffer);
    if (st->kind == ML_STMT_BLOCK && !in_init) {
        const ml_Block *b = ml_as_block(st);

        add_item(it, (ml_NamedItem){.kind = ML_BEARS_BLOCK, b->tag, .hint = b->name});
        for (uint32_t k = 0; k < b->n_allocs; k++)
            add_buffer(it, b->allocs[k]);
        for (uint32_t k = 0; k < b->n_matches; k++)
            add_buffer(it, b->matches[k].target);
    }
    if (!in_init)
        ml_stmt_children(st, collect, user);
}

void ml_named_items(ml_NamedItems *it, const ml_Func *f)
{
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer)
            add_buffer(it, f->params[k].buffer);
    if (f->body)
        collect(f->body, false, it);
}

/* ---- giving names */

typedef struct Taken Taken;
struct Taken {
    const Taken *next;
    const char *name;
    unsigned suffix; /* the last one tried behind this name: earlier ones are taken */
};

static uint32_t hash_text(const char *z)
{
    return (uint32_t)ml_fnv(ML_FNV, z, strlen(z));
}

/* Where to go on with _1, _2, … behind a name that is taken; NULL: it is free. */
static unsigned *suffix_of(const ml_Map *set, const char *name)
{
    for (const Taken *t = ml_map_get(set, hash_text(name)); t; t = t->next)
        if (ml_streq(t->name, name)) {
            union {
                const Taken *in;
                Taken *out;
            } u = {.in = t}; /* the set is the caller's own */
            return &u.out->suffix;
        }
    return NULL;
}

static void take(ml_Ctx *cx, ml_Map *set, const char *name)
{
    Taken *t = ML_NEW(cx, Taken);
    uint32_t key = hash_text(name);

    t->next = ml_map_get(set, key);
    t->name = name;
    ml_map_set(cx, set, key, t);
}

/* A block's name stands in a string of the text, so that more letters are allowed; those
 * with a meaning in the forms of interaction 3 are not. */
static const char *block_base(ml_Ctx *cx, const char *hint)
{
    char *z = ml_strdup(cx, ml_str(*hint ? hint : "block"));

    for (char *p = z; *p; p++) {
        unsigned char c = (unsigned char)*p;

        if (c <= ' ' || c == '/' || c == '@' || c == '*' || c == '"' || c == '\\' ||
            c == 127)
            *p = '_';
    }
    return z;
}

static const char *free_name(ml_Ctx *cx, const ml_Map *set, const ml_NamedItem *it,
                             const char *func)
{
    const char *base = it->kind == ML_BEARS_BLOCK
                           ? block_base(cx, it->hint)
                           : ml_name_sanitize(cx, it->hint, it->kind == ML_BEARS_BUFFER);
    bool reserved =
        it->kind != ML_BEARS_BLOCK && (ml_name_is_reserved(base) || ml_streq(base, func));
    const char *name = base;
    unsigned *last = suffix_of(set, base), k = last ? *last : 0;

    for (bool again = reserved || last; again; again = suffix_of(set, name))
        name = ml_format(cx, "%s_%u", base, ++k);
    if (last)
        *last = k ? k - 1 : 0; /* this one is free until it is taken */
    return name;
}

/* Parts of a loop are numbered behind the name it is shown with; a number that is taken is
 * passed over. NULL: the loop is no part of one that was ever shown. */
static const char *part_name(ml_Ctx *cx, const ml_Map *set, const ml_Map *names,
                             const ml_NamedItem *it, const char *func)
{
    const char *whole =
        it->var && it->var->whole ? ml_map_get(names, it->var->whole) : NULL;

    if (!whole)
        return NULL;
    for (uint32_t k = it->var->part;; k++) {
        const char *name = ml_format(cx, "%s_%u", whole, k);

        if (!suffix_of(set, name) && !ml_streq(name, func))
            return name;
    }
}

/* The display name of a block under a later stored name; made when it is first met. */
static const ml_Rename *rename_of(ml_Space *sp, const ml_NamedItem *it, ml_Ctx *tmp,
                                  const ml_Map *blocks, const char *func)
{
    for (const ml_Rename *r = sp->alts; r; r = r->next)
        if (r->uid == it->uid && ml_streq(r->stored, it->hint))
            return r;
    ml_Rename *r = ML_NEW(sp->home, ml_Rename);

    r->uid = it->uid;
    r->stored = ml_strdup(sp->home, ml_str(it->hint));
    r->display = ml_strdup(sp->home, ml_str(free_name(tmp, blocks, it, func)));
    r->was = ml_map_get(sp->names, it->uid);
    r->next = sp->alts;
    sp->alts = r;
    return r;
}

static bool is_renamed(const ml_Space *sp, const ml_NamedItem *it)
{
    const char *z = it->kind == ML_BEARS_BLOCK ? ml_map_get(sp->stored, it->uid) : NULL;

    return z && !ml_streq(z, it->hint);
}

/* `names` as it was before any block was renamed, then with the version's renames. */
static void sync_renames(ml_Space *sp, const ml_Rename *now)
{
    if (sp->synced == now)
        return;
    for (const ml_Rename *r = sp->synced; r; r = r->next)
        ml_map_set(sp->home, sp->names, r->uid, r->was);
    for (const ml_Rename *r = now; r; r = r->next)
        ml_map_set(sp->home, sp->names, r->uid, r->display);
    sp->synced = now;
}

static void name_func(ml_Space *sp, ml_Version *v, const ml_Func *func)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_NamedItems it = {.cx = tmp};
    ml_Map *vars = ml_map_new(tmp), *blocks = ml_map_new(tmp);

    ml_named_items(&it, func);
    for (size_t k = 0; k < it.list.n; k++) {
        const char *z = ml_map_get(sp->names, it.list.v[k].uid);

        if (z && !is_renamed(sp, &it.list.v[k]))
            take(tmp, it.list.v[k].kind == ML_BEARS_BLOCK ? blocks : vars, z);
    }
    for (size_t k = 0; k < it.list.n; k++) {
        const ml_NamedItem *one = &it.list.v[k];

        if (!is_renamed(sp, one))
            continue;
        ml_Rename *r = ML_NEW(sp->home, ml_Rename);

        *r = *rename_of(sp, one, tmp, blocks, func->name);
        r->next = v->renames;
        v->renames = r;
        take(tmp, blocks, r->display);
    }
    for (size_t k = 0; k < it.list.n; k++) {
        const ml_NamedItem *one = &it.list.v[k];
        ml_Map *set = one->kind == ML_BEARS_BLOCK ? blocks : vars;

        if (ml_map_has(sp->names, one->uid))
            continue;
        const char *part = part_name(tmp, set, sp->names, one, func->name);
        const char *z =
            ml_strdup(sp->home, ml_str(part ? part : free_name(tmp, set, one, func->name)));

        ml_map_set(sp->home, sp->names, one->uid, z);
        if (one->kind == ML_BEARS_BLOCK)
            ml_map_set(sp->home, sp->stored, one->uid,
                       ml_strdup(sp->home, ml_str(one->hint)));
        take(tmp, set, z);
    }
    ml_ctx_unref(tmp);
}

static void name_version(ml_Space *sp, ml_Version *v)
{
    if (!sp->stored)
        sp->stored = ml_map_new(sp->home);
    sync_renames(sp, NULL);
    for (uint32_t f = 0; f < v->p.mod->n; f++)
        name_func(sp, v, v->p.mod->funcs[f]);
}

void ml_names_ensure(ml_Schedule *s, int version)
{
    while (!s->v[version].named) {
        int v = version;

        while (s->v[v].parent >= 0 && !s->v[s->v[v].parent].named)
            v = s->v[v].parent;
        if (s->v[v].known)
            name_version(s->space, &s->v[v]);
        s->v[v].named = true;
    }
    sync_renames(s->space, s->v[version].renames);
}

const char *ml_name_known(const ml_Space *sp, ml_Uid uid)
{
    return ml_map_get(sp->names, uid);
}

const ml_Names *ml_version_names(ml_Schedule *s, int version)
{
    if (version < 0 || version >= s->n_versions)
        version = s->cur;
    ml_names_ensure(s, version);
    s->names.map = s->space->names;
    return &s->names;
}

const ml_Names *ml_schedule_names(ml_Schedule *s)
{
    return ml_version_names(s, s->cur);
}

const char *ml_name_of(ml_Schedule *s, ml_Uid uid)
{
    ml_names_ensure(s, s->cur);
    const char *z = ml_name_known(s->space, uid);

    return z ? z : "?";
}

/* ---- printing */

void ml_schedule_print(ml_Schedule *s, int version, ml_Text *out, ml_PrintOpts *opts)
{
    ml_PrintOpts o =
        opts ? *opts
             : (ml_PrintOpts){.spelling = -1, .no_header = true, .regions_auto = true};

    o.no_root_comment = !o.no_sugar;
    if (!ml_version_ok(s, version))
        return;
    ml_Program p = s->v[version].p;
    ml_Ctx *tmp = ml_ctx_new(0);

    o.names = ml_version_names(s, version);
    if (p.mod->n == 1)
        ml_print_func(tmp, out, p.mod->funcs[0], &o);
    else
        ml_print_module(tmp, out, p.mod, &o);
    ml_ctx_unref(tmp);
}
