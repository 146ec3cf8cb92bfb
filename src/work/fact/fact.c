/* fact - what is reported of timings, checks, machines, records, searches and versions.
 * Source: interaction 2, 8. */
#include "moonloop/work/fact/fact.h"

#include <math.h>
#include <stdio.h>

#include "moonloop/codegen/machine/machine.h"
#include "moonloop/codegen/measure/check.h"
#include "moonloop/tune/task/task.h"
#include "moonloop/work/roofs.h"

#define UNKNOWN ((double)NAN)

static double finite(double v)
{
    return isfinite(v) ? v : UNKNOWN;
}

static double rate_of(double flop, double seconds)
{
    return flop > 0 && seconds > 0 && isfinite(seconds) ? flop / seconds : UNKNOWN;
}

/* ---- timings */

static const char *roof_name(const ml_Timing *t)
{
    return ml_roof_name(t->bounded.roof.limit > 0 ? &t->bounded.roof : &t->roof);
}

static double ratio_of(const ml_Timing *t, const ml_Baseline *b)
{
    if (!isnan(b->ratio) || isnan(b->seconds) || !(t->t.median > 0))
        return b->ratio;
    return b->seconds / t->t.median;
}

typedef ml_Timing ml_Rival;

#define ML_FIELDS       "work/fact/rival.def"
#define ML_FIELDS_TABLE ml_rival_fields
#define ML_FIELDS_NAME  "against"
#define ML_FIELDS_WHAT  "what a timing is compared with"
#include "moonloop/core/json/field_table.def"

static void tell_rival(ml_Data *d, const char *key, const void *s)
{
    const ml_Timing *t = s;

    if (!t->rival)
        return;
    ml_data_object(d, key);
    ml_data_fields(d, &ml_rival_fields, t);
    ml_data_end(d);
}

#define ML_FIELDS       "work/fact/timing.def"
#define ML_FIELDS_TABLE ml_timing_fields
#define ML_FIELDS_NAME  "time"
#define ML_FIELDS_WHAT  "a timing"
#include "moonloop/core/json/field_table.def"

static bool has_roof(const ml_Roofline *r)
{
    return r->flop > 0 && r->bytes > 0;
}

static void tell_roofs(ml_Data *d, const char *key, const void *s)
{
    const ml_Roofline *r = s;

    ml_data_object(d, key);
    for (int l = 0; l < ML_MACHINE_LEVELS; l++)
        ml_data_real(d, ml_machine_level_name((ml_MachineLevel)l), finite(r->bandwidth[l]));
    ml_data_end(d);
}

static void tell_points(ml_Data *d, const char *key, const void *s)
{
    const ml_Roofline *r = s;

    ml_data_list(d, key);
    for (size_t k = 0; k < r->points.n; k++) {
        const ml_RoofPoint *p = &r->points.v[k];

        ml_data_object(d, NULL);
        ml_data_int(d, "version", p->version);
        ml_data_real(d, "seconds", p->seconds);
        ml_data_real(d, "flop_rate", rate_of(r->flop, p->seconds));
        ml_data_real(d, "bound_seconds", p->bound);
        ml_data_bool(d, "current", p->current);
        ml_data_end(d);
    }
    ml_data_end(d);
}

#define ML_FIELDS       "work/fact/roofline.def"
#define ML_FIELDS_TABLE ml_roofline_fields
#define ML_FIELDS_NAME  "roofline"
#define ML_FIELDS_WHAT  "versions under the roofs of this machine"
#include "moonloop/core/json/field_table.def"

/* ---- checks */

/* `a, b` as a list. */
static void tell_parts(ml_Data *d, const char *key, const char *text)
{
    char part[1024]; /* telling may raise: nothing is owned */

    ml_data_list(d, key);
    for (const char *p = text ? text : "", *end; *p; p = end ? end + 2 : "") {
        end = strstr(p, ", ");
        if (end)
            snprintf(part, sizeof part, "%.*s", (int)(end - p), p);
        ml_data_str(d, NULL, end ? part : p);
    }
    ml_data_end(d);
}

static void tell_output_names(ml_Data *d, const char *key, const void *s)
{
    tell_parts(d, key, ((const ml_CheckResult *)s)->written);
}

static void tell_output_bounds(ml_Data *d, const char *key, const void *s)
{
    tell_parts(d, key, ((const ml_CheckResult *)s)->bounds);
}

#define ML_FIELDS       "work/fact/check.def"
#define ML_FIELDS_TABLE ml_check_fields
#define ML_FIELDS_NAME  "check"
#define ML_FIELDS_WHAT  "a comparison with the start"
#include "moonloop/core/json/field_table.def"

/* ---- machines */

static void tell_caches(ml_Data *d, const char *key, const void *s)
{
    const ml_Machine *m = s;

    ml_data_object(d, key);
    for (int l = 0; l < ML_MACHINE_MEMORY; l++)
        if (m->cache[l])
            ml_data_int(d, ml_machine_level_name((ml_MachineLevel)l), (int64_t)m->cache[l]);
    ml_data_end(d);
}

/* What one thread and all threads do. */
static void tell_both(ml_Data *d, const char *key, const double v[2], double nominal)
{
    if (isnan(v[0]) && isnan(v[1]) && isnan(nominal))
        return;
    ml_data_object(d, key);
    ml_data_real(d, "one", v[0]);
    ml_data_real(d, "all", v[1]);
    ml_data_real(d, "nominal", nominal);
    ml_data_end(d);
}

static void tell_peaks(ml_Data *d, const char *key, const void *s)
{
    const ml_Machine *m = s;

    ml_data_object(d, key);
    for (int k = 0; k < ML_MACHINE_KINDS; k++)
        tell_both(d, ml_machine_kind_name((ml_MachineKind)k), m->peak[k],
                  ml_machine_nominal(m, (ml_MachineKind)k, m->threads));
    ml_data_end(d);
}

/* Those that some program needed. */
static void tell_rates(ml_Data *d, const char *key, const void *s)
{
    const ml_Machine *m = s;

    ml_data_object(d, key);
    for (int k = 0; k < ML_MATHS; k++)
        if (m->math[k][0] > 0 || m->math[k][1] > 0) {
            ml_data_object(d, ml_math_name((ml_Math)k));
            ml_data_real(d, "float32", m->math[k][0]);
            ml_data_real(d, "float64", m->math[k][1]);
            ml_data_end(d);
        }
    ml_data_end(d);
}

static void tell_bandwidths(ml_Data *d, const char *key, const void *s)
{
    const ml_Machine *m = s;

    if (!m->full)
        return;
    ml_data_object(d, key);
    for (int l = 0; l < ML_MACHINE_LEVELS; l++) {
        ml_data_object(d, ml_machine_level_name((ml_MachineLevel)l));
        for (int k = 0; k < ML_TRAFFICS; k++)
            tell_both(d, ml_traffic_name((ml_Traffic)k), m->bandwidth[l][k], UNKNOWN);
        ml_data_end(d);
    }
    ml_data_end(d);
}

#define ML_FIELDS       "work/fact/machine.def"
#define ML_FIELDS_TABLE ml_machine_fields
#define ML_FIELDS_NAME  "machine"
#define ML_FIELDS_WHAT  "this machine"
#include "moonloop/core/json/field_table.def"

/* ---- records and searches */

static void tell_trace(ml_Data *d, const char *key, const void *s)
{
    const ml_Record *r = s;

    if (r->trace)
        ml_data_json(d, key, r->trace);
}

static void tell_runs(ml_Data *d, const char *key, const void *s)
{
    const ml_Record *r = s;

    ml_data_list(d, key);
    for (size_t k = 0; k < r->n_run; k++)
        ml_data_real(d, NULL, r->run_secs[k]);
    ml_data_end(d);
}

#define ML_FIELDS       "work/fact/record.def"
#define ML_FIELDS_TABLE ml_record_fields
#define ML_FIELDS_NAME  "record"
#define ML_FIELDS_WHAT  "a record of a database"
#include "moonloop/core/json/field_table.def"

static void tell_best_trace(ml_Data *d, const char *key, const void *s)
{
    tell_trace(d, key, &((const ml_BestRow *)s)->record);
}

#define ML_FIELDS       "work/fact/best.def"
#define ML_FIELDS_TABLE ml_best_fields
#define ML_FIELDS_NAME  "best"
#define ML_FIELDS_WHAT  "a record among others"
#include "moonloop/core/json/field_table.def"

#define ML_FIELDS       "work/fact/adopt.def"
#define ML_FIELDS_TABLE ml_adopt_fields
#define ML_FIELDS_NAME  "adopt"
#define ML_FIELDS_WHAT  "a record that became a branch"
#include "moonloop/core/json/field_table.def"

#define ML_FIELDS       "work/fact/db.def"
#define ML_FIELDS_TABLE ml_db_fields
#define ML_FIELDS_NAME  "db"
#define ML_FIELDS_WHAT  "a workload of a database"
#include "moonloop/core/json/field_table.def"

static void tell_spent(ml_Data *d, const char *key, const void *s)
{
    const ml_TuneStatus *t = s;

    ml_data_object(d, key);
    ml_data_real(d, "search", t->search_seconds);
    ml_data_real(d, "build", t->build_seconds);
    ml_data_real(d, "run", t->run_seconds);
    ml_data_end(d);
}

static void tell_failed(ml_Data *d, const char *key, const void *s)
{
    static const char *const phases[ML_PHASES] = {"replay", "build", "run", "verify",
                                                  "timeout"};
    const ml_TuneStatus *t = s;

    ml_data_object(d, key);
    for (size_t k = 0; k < ML_PHASES; k++)
        if (t->failed[k])
            ml_data_int(d, phases[k], t->failed[k]);
    ml_data_end(d);
}

#define ML_FIELDS       "work/fact/search.def"
#define ML_FIELDS_TABLE ml_search_fields
#define ML_FIELDS_NAME  "tune"
#define ML_FIELDS_WHAT  "a search"
#include "moonloop/core/json/field_table.def"

#define ML_FIELDS       "work/fact/task_run.def"
#define ML_FIELDS_TABLE ml_tasks_fields
#define ML_FIELDS_NAME  "tune_all"
#define ML_FIELDS_WHAT  "several searches under one budget"
#include "moonloop/core/json/field_table.def"

#define ML_FIELDS       "work/fact/task.def"
#define ML_FIELDS_TABLE ml_task_fields
#define ML_FIELDS_NAME  "task"
#define ML_FIELDS_WHAT  "one of the tasks of :tune --all"
#include "moonloop/core/json/field_table.def"

/* ---- versions */

static void tell_notes(ml_Data *d, const char *key, const void *s)
{
    const ml_VersionRow *r = s;

    ml_data_list(d, key);
    for (size_t k = 0; k < r->step.n_notes; k++)
        ml_data_str(d, NULL, r->step.notes[k]);
    ml_data_end(d);
}

static void tell_version_names(ml_Data *d, const char *key, const ml_VersionRow *r,
                               bool branches)
{
    const char *z;

    ml_data_list(d, key);
    for (size_t k = 0; (z = ml_version_name(r->s, r->version, branches, k)) != NULL; k++)
        ml_data_str(d, NULL, z);
    ml_data_end(d);
}

static void tell_marks(ml_Data *d, const char *key, const void *s)
{
    tell_version_names(d, key, s, false);
}

static void tell_branches(ml_Data *d, const char *key, const void *s)
{
    tell_version_names(d, key, s, true);
}

#define ML_FIELDS       "work/fact/version.def"
#define ML_FIELDS_TABLE ml_version_fields
#define ML_FIELDS_NAME  "versions"
#define ML_FIELDS_WHAT  "a version"
#include "moonloop/core/json/field_table.def"

/* ---- all */

const ml_FieldTable *const ml_field_tables[] = {
#define ML_FACTS(table, of) &(table),
#include "moonloop/work/fact/tables.def"
#undef ML_FACTS
};
const size_t ml_n_field_tables = ML_COUNT(ml_field_tables);
