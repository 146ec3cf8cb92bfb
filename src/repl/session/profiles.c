/* profiles - measured shares of nests, kept with their versions. Source: interaction 8, 10.
 */
#include "repl/session/profiles.h"

#include "moonloop/core/base/arena.h"
#include "moonloop/core/json/json.h"
#include "moonloop/core/walk.h"

enum { KEPT = 8 };

typedef struct Kept {
    ml_Schedule *s; /* counted: its address means it alone */
    int version;
    size_t n;
    ml_NestShare *v;
} Kept;

struct ml_Profiles {
    Kept v[KEPT]; /* the newest first */
    size_t n;
};

static void drop(Kept *k)
{
    ml_schedule_unref(k->s);
    ml_heap_free(k->v);
    *k = (Kept){0};
}

/* A place for the version, in front; what was there for it goes. */
static Kept *place(ml_Session *ss, ml_Schedule *s, int version)
{
    struct ml_Profiles *p = ss->profiles;
    size_t at = 0;

    if (!p)
        p = ss->profiles = ml_heap_zalloc(sizeof *p);
    while (at < p->n && !(p->v[at].s == s && p->v[at].version == version))
        at++;
    if (at == KEPT)
        at--;
    if (at < p->n)
        drop(&p->v[at]);
    else
        p->n++;
    memmove(p->v + 1, p->v, at * sizeof *p->v);
    p->v[0] = (Kept){.s = ml_schedule_ref(s), .version = version};
    return &p->v[0];
}

static void add(Kept *k, ml_NestShare n)
{
    k->v = ml_heap_grow(k->v, (k->n + 1) * sizeof *k->v);
    k->v[k->n++] = n;
}

typedef struct Tops {
    Kept *k;
    ml_NestShare nest;
} Tops;

/* The topmost loops and blocks of the nest. */
static bool visit_stmt(const ml_Stmt *s, void *user)
{
    Tops *t = user;

    if (s->kind != ML_STMT_FOR &&
        !(s->kind == ML_STMT_BLOCK && ml_as_block(s)->n_iters > 0))
        return true;
    t->nest.node = ml_stmt_uid(s);
    add(t->k, t->nest);
    t->nest.with = true;
    return false;
}

void ml_profiles_keep(ml_Session *ss, ml_Schedule *s, int version, const ml_Profile *p)
{
    Kept *k = place(ss, s, version);

    for (uint32_t i = 0; i < p->n; i++) {
        Tops t = {k,
                  {.seconds = p->nests[i].seconds,
                   .share = p->sum > 0 ? p->nests[i].seconds / p->sum : 0}};

        ml_stmt_visit(p->nests[i].nest.stmt, visit_stmt, &t);
    }
}

static double real(const ml_Json *j, const char *key)
{
    const ml_Json *v = ml_json_get(j, key);

    return !v                         ? 0
           : v->kind == ML_JSON_INT   ? (double)v->as.i
           : v->kind == ML_JSON_FLOAT ? v->as.f
                                      : 0;
}

typedef struct Search {
    const ml_Names *names;
    ml_Str name;
    ml_Uid found;
} Search;

static void look(ml_Uid uid, const ml_Stmt *node, void *user)
{
    Search *s = user;
    const char *z = ml_map_get(s->names->map, uid);

    (void)node;
    if (z && strlen(z) == s->name.n && memcmp(z, s->name.p, s->name.n) == 0)
        s->found = uid;
}

void ml_profiles_keep_job(ml_Session *ss, ml_Schedule *s, int version, const ml_Json *row)
{
    const ml_Json *list =
        row && row->kind == ML_JSON_OBJECT ? ml_json_get(row, "nests") : NULL;
    Search find = {.names = ml_version_names(s, version)};
    Kept *k;

    if (!list || list->kind != ML_JSON_LIST)
        return;
    k = place(ss, s, version);
    for (uint32_t i = 0; i < list->n; i++) {
        const ml_Json *nest = &list->as.list[i];
        const ml_Json *name =
            nest->kind == ML_JSON_OBJECT ? ml_json_get(nest, "nest") : NULL;

        if (!name || name->kind != ML_JSON_STRING)
            continue;
        find.name = (ml_Str){name->as.s, strcspn(name->as.s, ":,")};
        find.found = 0;
        ml_index_each(ml_version_program(s, version).index, look, &find);
        add(k, (ml_NestShare){.node = find.found,
                              .share = real(nest, "share"),
                              .seconds = real(nest, "seconds")});
    }
}

size_t ml_profiles_of(const ml_Session *ss, const ml_Schedule *s, int version,
                      const ml_NestShare **out)
{
    const struct ml_Profiles *p = ss->profiles;

    for (size_t k = 0; p && k < p->n; k++)
        if (p->v[k].s == s && p->v[k].version == version) {
            *out = p->v[k].v;
            return p->v[k].n;
        }
    return 0;
}

void ml_profiles_free(ml_Session *ss)
{
    struct ml_Profiles *p = ss->profiles;

    for (size_t k = 0; p && k < p->n; k++)
        drop(&p->v[k]);
    ml_heap_free(p);
    ss->profiles = NULL;
}
