/*
 * graph_search - :graph search, the curves of the last :tune or of those it compared; else of
 * the records that the database has of the focus, a line for each seed. Source: interaction
 * 11, 12.
 */
#include "repl/cmd/graph_search.h"

#include <stdlib.h>

#include "moonloop/work/records.h"
#include "moonloop/work/roofs.h"
#include "repl/host/tune.h"
#include "repl/session/searched.h"

enum { MOST = 8 };

typedef ML_VEC(double) Seconds;

static ml_Amount amount_of(ml_Session *ss, ml_Ctx *cx)
{
    uint32_t at = ml_schedule_func(ss->focus) ? ml_schedule_func_pos(ss->focus) : 0;

    return ml_own_amount(cx, ml_host_engine(ss->host), ss->focus, at, 0, NULL);
}

/* Of the records that there are of the focus on this machine with the threads of now. */
static bool from_records(ml_Session *ss, ml_Ctx *cx, const char *path, ml_Searched *out,
                         bool *told)
{
    ml_Engine *e = ml_host_engine(ss->host);
    ml_Text target = {0};
    char *warning = NULL;
    ml_Db *db = ml_host_db(ss->host, path, &warning);
    uint64_t seed[MOST];
    Seconds best[MOST] = {{0}};
    ml_DbWorkload w;
    ml_Record *v;
    size_t n = 0;

    free(warning);
    *told = db == NULL; /* the error was printed */
    if (db == NULL || !ml_records_workload(cx, ss->focus, db, &w))
        return false;
    ml_target_json(ml_engine_target(e), &target);
    const ml_DbQuery q = {.workload = w.id,
                          .any_seed = true,
                          .target = ml_text_z(&target),
                          .threads = ml_engine_threads(e)};
    bool ok = ml_db_records(db, cx, &q, &v, &n);

    ml_text_free(&target);
    for (size_t k = 0; ok && k < n; k++) {
        size_t c = 0;

        while (c < out->n && seed[c] != v[k].seed)
            c++;
        if (c == MOST)
            continue;
        if (c == out->n)
            seed[out->n++] = v[k].seed;
        double last = best[c].n ? best[c].v[best[c].n - 1] : 0;
        double s = v[k].n_run ? ml_record_best(&v[k]) : 0;

        ml_push(cx, &best[c], s > 0 && (last == 0 || s < last) ? s : last);
    }
    out->program = ml_schedule_name(ss->focus);
    out->amount = amount_of(ss, cx);
    out->v = ML_ARRAY(cx, ml_SearchCurve, out->n + 1);
    for (size_t c = 0; c < out->n; c++)
        out->v[c] = (ml_SearchCurve){
            ml_format(cx, "seed %llu", (unsigned long long)seed[c]), best[c].n, best[c].v};
    return out->n > 0;
}

bool ml_graph_of_search(ml_Session *ss, const char *db, bool dark, ml_Graph *g,
                        ml_GraphWhy *why)
{
    const ml_Searched *kept = ml_searched(ss);
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Searched own = {0};
    bool told = false;

    *g = (ml_Graph){.dark = dark};
    if (db || (kept && !ml_streq(kept->program, ml_schedule_name(ss->focus))))
        kept = NULL;
    if (!kept && from_records(ss, cx, db, &own, &told))
        kept = &own;
    if (!kept) {
        why->code = ML_E_UNKNOWN_NAME;
        if (!told)
            ml_text_fmt(
                &why->message,
                "nothing was searched for %s in this session, and the database has no "
                "records of it for this machine: :tune makes some",
                ml_schedule_name(ss->focus));
        ml_ctx_unref(cx);
        return false;
    }
    ml_GraphCurve *v = ML_ARRAY(cx, ml_GraphCurve, kept->n + 1);

    for (size_t c = 0; c < kept->n; c++) {
        const ml_SearchCurve *from = &kept->v[c];
        double *speed = ML_ARRAY(cx, double, from->n + 1);

        for (size_t k = 0; k < from->n; k++)
            speed[k] = !(from->best[k] > 0) ? 0
                       : kept->amount.n > 0 ? kept->amount.n * 1e-9 / from->best[k]
                                            : 1 / from->best[k];
        v[c] = (ml_GraphCurve){from->name ? from->name : "search", from->n, speed};
    }
    ml_graph_search(ml_format(cx, "%s: best so far", kept->program),
                    kept->amount.n > 0 ? ml_rate_unit(kept->amount) : "runs/s", v, kept->n,
                    ss->out.width, ss->out.ascii, g);
    ml_ctx_unref(cx);
    return true;
}
