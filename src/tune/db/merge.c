/*
 * merge - what another database has, taken over in one transaction.
 *
 * A workload is known by its hash. A record is here already when one of the same search has
 * the same trace, times and moment. Medians were measured among the records of one search:
 * they come along where that search has none here. Source: auto-scheduler 17.
 */
#include "moonloop/tune/db/db_impl.h"

#include <stdlib.h>

/* Hashes: sorted, looked up by halves. */
typedef struct Set {
    uint64_t *v;
    size_t n;
} Set;

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static bool holds(const Set *s, uint64_t hash)
{
    return bsearch(&hash, s->v, s->n, sizeof hash, ascending) != NULL;
}

static uint64_t mix_text(uint64_t h, const char *z)
{
    return ml_fnv(ml_fnv(h, z, z ? strlen(z) : 0), z ? "\xff" : "\xfe", 1);
}

static uint64_t mix_number(uint64_t h, int64_t v)
{
    return ml_fnv(h, &v, sizeof v);
}

/* Of the search that a record is of. */
static uint64_t search_hash(const ml_Record *r)
{
    uint64_t h = mix_number(ML_FNV, r->workload);

    h = mix_text(mix_text(h, r->target), r->space);
    return mix_number(mix_number(h, (int64_t)r->seed), r->threads);
}

static uint64_t record_hash(const ml_Record *r)
{
    uint64_t h = mix_text(mix_text(search_hash(r), r->trace), r->error);

    return ml_fnv(mix_number(h, r->time), r->run_secs, r->n_run * sizeof *r->run_secs);
}

/* The records that are here, and the searches that have medians. */
static bool what_is_here(ml_Db *db, ml_Ctx *cx, Set *records, Set *searches)
{
    const ml_DbQuery all = {.any_seed = true};
    ml_Record *v;
    size_t n;

    if (!ml_db_records(db, cx, &all, &v, &n))
        return false;
    *records = (Set){ML_ARRAY(cx, uint64_t, n + 1), n};
    *searches = (Set){ML_ARRAY(cx, uint64_t, n + 1), 0};
    for (size_t k = 0; k < n; k++) {
        records->v[k] = record_hash(&v[k]);
        if (v[k].median > 0)
            searches->v[searches->n++] = search_hash(&v[k]);
    }
    qsort(records->v, n, sizeof *records->v, ascending);
    qsort(searches->v, searches->n, sizeof *searches->v, ascending);
    return true;
}

/* The number here of a workload there; 0: cx's error, or it is none. */
static int64_t workload_of(ml_Db *db, ml_Ctx *cx, ml_Db *from, int64_t id)
{
    ml_DbWorkload w;

    return ml_db_workload_at(from, cx, id, &w) && ml_db_put_workload(db, cx, &w) ? w.id : 0;
}

static bool take_all(ml_Db *db, ml_Ctx *cx, ml_Db *from, size_t *n_taken)
{
    const ml_DbQuery all = {.any_seed = true};
    ml_DbSummary *w;
    ml_Record *v;
    Set records, searches;
    size_t n, n_workloads;
    bool ok = what_is_here(db, cx, &records, &searches) && ml_db_make_turns(db, cx) &&
              ml_db_summary(from, cx, &w, &n_workloads) &&
              ml_db_records(from, cx, &all, &v, &n);
    int64_t there = 0, here = 0;

    for (size_t k = 0; ok && k < n_workloads; k++) /* those without records, too */
        ok = workload_of(db, cx, from, w[k].w.id) || ml_error(cx) == NULL;
    for (size_t k = 0; ok && k < n; k++) {
        if (v[k].workload != there) {
            there = v[k].workload;
            here = workload_of(db, cx, from, there);
            ok = here || ml_error(cx) == NULL;
        }
        v[k].workload = here;
        if (!ok || !here || holds(&records, record_hash(&v[k])))
            continue;
        ok = ml_db_put(db, cx, &v[k]);
        *n_taken += ok;
        if (ok && v[k].median > 0 && !holds(&searches, search_hash(&v[k])))
            ok = ml_db_put_turn(db, cx, &(ml_DbTurn){v[k].id, v[k].median, 0});
    }
    return ok;
}

bool ml_db_merge(ml_Db *db, ml_Ctx *cx, ml_Db *from, size_t *n)
{
    *n = 0;
    if (!ml_db_begin(db, cx))
        return false;
    if (ml_db_end(db, cx, take_all(db, cx, from, n)))
        return true;
    *n = 0;
    return false;
}
