/*
 * seen - tilings that tuning found good for a loop of this extent: decisions of the
 * fastest records in the database, when there is one. It is only read. Source: interaction
 * 10.
 */
#include "moonloop/primitives/trace.h"
#include "moonloop/tune/db/db.h"
#include "repl/view/act/act_impl.h"

enum { MOST_RECORDS = 32 };

/* The decision as factors, when they are a tiling of this extent: "8, 1, 4, 2"; in cx. */
static const char *as_factors(ml_Ctx *cx, const ml_Value *d, int64_t extent)
{
    ml_Text t = {0};
    int64_t product = 1;

    if (!d || d->kind != ML_VAL_LIST || d->n < 2)
        return NULL;
    for (uint32_t k = 0; k < d->n; k++) {
        const ml_Value *f = d->as.list[k];

        if (f->kind != ML_VAL_INT || f->as.i < 1 ||
            __builtin_mul_overflow(product, f->as.i, &product))
            product = -1;
        if (product < 1)
            break;
        ml_text_fmt(&t, "%s%lld", k ? ", " : "", (long long)f->as.i);
    }
    const char *z = ml_text_into(cx, &t);

    return product == extent ? z : NULL;
}

size_t ml_act_seen(ml_Ctx *cx, int64_t extent, const char **out, size_t n)
{
    ml_DbQuery q = {
        .any_seed = true, .valid_only = true, .by_time = true, .limit = MOST_RECORDS};
    const char *path = extent > 1 ? ml_db_default_path(cx) : NULL;
    ml_Db *db = path ? ml_db_open_existing(cx, path) : NULL;
    ml_Record *records;
    size_t n_records, have = 0;

    if (db && ml_db_records(db, cx, &q, &records, &n_records))
        for (size_t k = 0; k < n_records && have < n; k++) {
            ml_Trace t;

            if (!ml_trace_from_json(cx, ml_str(records[k].trace), &t)) {
                ml_error_clear(cx);
                continue;
            }
            for (size_t i = 0; i < t.n && have < n; i++) {
                const char *z = ml_streq(t.insts[i]->prim->name, "sample_perfect_tile")
                                    ? as_factors(cx, t.insts[i]->decision, extent)
                                    : NULL;
                bool known = false;

                for (size_t h = 0; z && h < have; h++)
                    known |= ml_streq(out[h], z);
                if (z && !known)
                    out[have++] = z;
            }
        }
    ml_db_close(db);
    ml_error_clear(cx);
    return have;
}
