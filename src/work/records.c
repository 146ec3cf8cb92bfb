/* records - see records.h. */
#include "moonloop/work/records.h"

#include "moonloop/work/roofs.h"

bool ml_records_workload(ml_Ctx *cx, ml_Schedule *s, ml_Db *db, ml_DbWorkload *w)
{
    const ml_Func *f = ml_schedule_func(s);
    const char *hash = ml_tune_hash(cx, ml_version_program(s, 0).mod, f ? f->name : NULL);

    return hash && ml_db_find_workload(db, cx, hash, w);
}

bool ml_records_best(ml_Ctx *cx, const ml_Engine *e, ml_Db *db, int64_t workload,
                     int64_t limit, ml_Record **v, size_t *n)
{
    ml_Text target = {0};
    ml_DbQuery q = {.workload = workload,
                    .any_seed = true,
                    .valid_only = true,
                    .by_time = true,
                    .limit = limit,
                    .threads = ml_engine_threads(e)};
    bool ok;

    ml_target_json(ml_engine_target(e), &target);
    q.target = ml_text_z(&target);
    ok = ml_db_records(db, cx, &q, v, n);
    ml_text_free(&target);
    return ok;
}

const int *ml_records_runs(ml_Ctx *cx, ml_Db *db, int64_t workload, const ml_Record *v,
                           size_t n)
{
    enum { BREAK = 600 }; /* seconds */
    const ml_DbQuery q = {.workload = workload, .any_seed = true};
    int *run = ML_ARRAY(cx, int, n + 1), n_runs = 0;
    ml_Record *all;
    size_t n_all;

    if (!ml_db_records(db, cx, &q, &all, &n_all)) {
        ml_error_clear(cx);
        n_all = 0;
    }
    for (size_t k = 0; k < n_all; k++) {
        bool same = k > 0 && all[k].seed == all[k - 1].seed &&
                    all[k].time - all[k - 1].time <= BREAK;

        n_runs += !same;
        for (size_t j = 0; j < n; j++)
            if (v[j].id == all[k].id)
                run[j] = n_runs;
    }
    return run;
}

/* The decisions of a trace: what is behind its instructions. */
static const char *decisions(const char *trace)
{
    const char *last = NULL;

    for (const char *p = trace; p && (p = strstr(p, "], [[")) != NULL; p++)
        last = p + 3;
    return last ? last : "";
}

void ml_record_design(ml_Schedule *s, const ml_Record *r, ml_Text *out)
{
    ml_Schedule *beside = ml_schedule_fork_at(s, 0);
    ml_Ctx *cx = ml_ctx_new(0);

    if (ml_tune_apply(cx, beside, r))
        ml_schedule_design(beside, out);
    else { /* of another version of the primitives: as it stands */
        const char *d = decisions(r->trace);
        size_t n = strlen(d);

        ml_text_addn(out, d, n > 0 ? n - 1 : 0);
    }
    ml_ctx_unref(cx);
    ml_schedule_unref(beside);
}

double ml_record_expected(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, const ml_Record *r,
                          uint32_t threads)
{
    uint32_t at = ml_schedule_func(s) ? ml_schedule_func_pos(s) : 0;
    const ml_Machine *m = ml_machine_known(cx, e);
    double here, there;

    ml_own_amount(cx, e, s, at, threads, &here);
    ml_own_amount(cx, e, s, at, r->threads, &there);
    if (!m || m->threads < threads || m->threads < r->threads || !(here > 0 && there > 0)) {
        here = threads;
        there = r->threads;
    }
    return ml_record_seconds(r) * there / here;
}

static const char *free_name(ml_Ctx *cx, ml_Schedule *s)
{
    for (int k = 1;; k++) {
        const char *name = ml_format(cx, "tuned-%d", k);

        if (ml_schedule_find_branch(s, name) < 0 && ml_schedule_find_mark(s, name) < 0)
            return name;
    }
}

bool ml_record_adopt(ml_Ctx *cx, ml_Schedule *s, const ml_Record *r, const char **branch)
{
    const ml_State was = ml_schedule_state(s);
    bool ok = ml_schedule_goto(s, 0);

    *branch = free_name(cx, s);
    if (ok && ml_schedule_branch_name(s)) /* a label at the start stays there */
        ml_schedule_detach(s);
    if (ok && ml_tune_apply(cx, s, r) && ml_schedule_branch(s, *branch))
        return true;
    ml_schedule_restore(s, was);
    return false;
}
