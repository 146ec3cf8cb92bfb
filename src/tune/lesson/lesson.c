/* lesson - records are replayed and read. */
#include "moonloop/tune/lesson/lesson.h"

#include "moonloop/codegen/machine/machine.h"
#include "moonloop/core/script/script.h"
#include "moonloop/primitives/schedule.h"
#include "moonloop/tune/feature/feature.h"
#include "moonloop/tune/tune.h"

typedef struct Reading {
    ml_Ctx *cx;
    uint64_t cache[ML_MACHINE_MEMORY];
    ML_VEC(float) rows;
    ML_VEC(uint32_t) begin;
    ML_VEC(uint64_t) group;
    ML_VEC(double) seconds;
    ML_VEC(ml_LessonGroup) groups;
    size_t skipped;
} Reading;

/* The rows of what a record makes of start, behind those that there are. false: it makes
 * nothing, or what has no features. */
static bool read_rows(Reading *rd, ml_Schedule *start, const ml_Record *r)
{
    ml_Ctx *own = ml_ctx_new(0);
    ml_Schedule *s = ml_schedule_fork_at(start, 0);
    ml_FeatureRows rows;
    ml_Target target;
    ml_Forms f;
    ml_Nest nest;
    bool ok = ml_target_parse(own, ml_str(r->target), &target) && ml_tune_apply(own, s, r);

    if (ok) {
        const ml_FeatureTarget ft = ml_feature_target(
            &target, r->threads ? r->threads : ml_threads(&target), rd->cache);

        ml_forms_init(&f, own);
        ml_forms_at(&f, NULL);
        ml_nest_read(&nest, own, &f, ml_schedule_func(s), false);
        ok = ml_features(&nest, &ft, &rows) && rows.n > 0;
    }
    for (size_t k = 0; ok && k < rows.n; k++)
        for (size_t c = 0; c < ML_FEATURES; c++)
            ml_push(rd->cx, &rd->rows, (float)ml_form_value(&f, rows.row[k][c]));
    ml_schedule_unref(s);
    ml_ctx_unref(own);
    return ok;
}

/* The schedule that records of a workload begin with. NULL: its program is none. */
static ml_Schedule *start_of(ml_Ctx *cx, const ml_DbWorkload *w)
{
    const ml_ParseOpts po = {.spelling = -1};
    ml_Parsed p = ml_parse(cx, ml_str(w->program), &po);

    return p.mod ? ml_schedule_new(cx, p.mod, &(ml_ScheduleOpts){.render = ML_RENDER_NONE},
                                   NULL)
                 : NULL;
}

/* Those of v that are of the space of the k-th, which is the first of it. */
static void read_space(Reading *rd, ml_Schedule *start, const ml_DbWorkload *w,
                       const ml_Record *v, size_t k, size_t n)
{
    ml_LessonGroup g = {.name = ml_strdup(rd->cx, ml_str(w->name)),
                        .space = ml_strdup(rd->cx, ml_str(v[k].space)),
                        .flop = w->flop,
                        .first = rd->seconds.n};

    for (; k < n; k++) {
        double seconds = v[k].n_run ? ml_record_seconds(&v[k]) : 0;

        if (!ml_streq(v[k].space, g.space))
            continue;
        if (!read_rows(rd, start, &v[k])) {
            rd->skipped++;
            continue;
        }
        ml_push(rd->cx, &rd->begin, (uint32_t)(rd->rows.n / ML_FEATURES));
        ml_push(rd->cx, &rd->group, (uint64_t)rd->groups.n + 1);
        ml_push(rd->cx, &rd->seconds, seconds);
        if (seconds > 0 && (g.best == 0 || seconds < g.best))
            g.best = seconds;
        g.n++;
    }
    ml_push(rd->cx, &rd->groups, g);
}

static bool read_workload(Reading *rd, ml_Db *db, int64_t id)
{
    ml_Ctx *own = ml_ctx_new(0);
    const ml_DbQuery q = {.workload = id, .any_seed = true};
    ml_DbWorkload w = {0};
    ml_Record *v = NULL;
    size_t n = 0;
    bool ok = ml_db_workload_at(db, own, id, &w) && ml_db_records(db, own, &q, &v, &n);
    ml_Schedule *start = ok ? start_of(own, &w) : NULL;

    for (size_t k = 0; k < n && start; k++) {
        size_t before = 0;

        while (before < k && !ml_streq(v[before].space, v[k].space))
            before++;
        if (before == k)
            read_space(rd, start, &w, v, k, n);
    }
    if (start == NULL)
        rd->skipped += n;
    ml_schedule_unref(start);
    if (!ok)
        ml_error_move(rd->cx, own);
    ml_ctx_unref(own);
    return ok;
}

bool ml_lesson_read(ml_Ctx *cx, ml_Db *db, ml_Lesson *out)
{
    Reading rd = {.cx = cx};
    ml_DbSummary *w;
    size_t n;

    ml_machine_caches(rd.cache);
    ml_push(cx, &rd.begin, 0);
    if (!ml_db_summary(db, cx, &w, &n))
        return false;
    for (size_t k = 0; k < n; k++)
        if (!read_workload(&rd, db, w[k].w.id))
            return false;
    *out = (ml_Lesson){.l = {.x = {rd.seconds.n, ML_FEATURES, rd.rows.v, rd.begin.v},
                             .group = rd.group.v,
                             .seconds = rd.seconds.v},
                       .n_groups = rd.groups.n,
                       .group = rd.groups.v,
                       .skipped = rd.skipped};
    return true;
}

ml_Learned ml_lesson_part(ml_Ctx *cx, const ml_Lesson *l, const bool *wanted)
{
    const ml_Learned *all = &l->l;
    uint32_t columns = all->x.columns, *begin = ML_ARRAY(cx, uint32_t, all->x.n + 1);
    float *rows = ml_alloc(cx, (size_t)all->x.begin[all->x.n] * columns * sizeof *rows);
    uint64_t *group = ML_ARRAY(cx, uint64_t, all->x.n + 1);
    double *seconds = ML_ARRAY(cx, double, all->x.n + 1);
    size_t n = 0;

    for (size_t k = 0; k < all->x.n; k++) {
        uint32_t from = all->x.begin[k], some = all->x.begin[k + 1] - from;

        if (!wanted[all->group[k] - 1])
            continue;
        memcpy(rows + (size_t)begin[n] * columns, all->x.rows + (size_t)from * columns,
               (size_t)some * columns * sizeof *rows);
        group[n] = all->group[k];
        seconds[n] = all->seconds[k];
        begin[n + 1] = begin[n] + some;
        n++;
    }
    return (ml_Learned){{n, columns, rows, begin}, group, seconds};
}
