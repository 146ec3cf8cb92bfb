/*
 * records - what the search puts into the database and finds there, and the log beside it.
 *
 * The log (tuning.db -> tuning.log.jsonl) has one JSON object per line, appended with one
 * write: when a search began, with the number asked for and the record after which it
 * counts, and how it ended. From it a bare :tune knows what to go on with. A database that
 * cannot be written is left as it is: records are kept in memory. Source: auto-scheduler
 * 17; interaction 11.
 */
#include "moonloop/tune/search/strategy.h"

#include "config.h"
#include "moonloop/core/json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the log */

static char *log_path(const char *db)
{
    const char *dot = strrchr(db, '.'), *slash = strrchr(db, '/');
    size_t n = dot && (!slash || dot > slash) ? (size_t)(dot - db) : strlen(db);
    char *z = malloc(n + sizeof ".log.jsonl");

    if (z == NULL)
        ml_out_of_memory();
    memcpy(z, db, n); /* NOLINT(bugprone-not-null-terminated-result): the rest follows */
    memcpy(z + n, ".log.jsonl", sizeof ".log.jsonl");
    return z;
}

static void key_text(const ml_Tuner *t, ml_Text *out)
{
    ml_json_key(out, "hash");
    ml_json_string(out, ml_tune_hash(t->tmp, t->mod, NULL));
    ml_text_add(out, ", ");
    ml_json_key(out, "space");
    ml_json_string(out, t->space);
    ml_text_fmt(out, ", \"seed\": %llu, \"threads\": %u, ", (unsigned long long)t->seed,
                t->threads);
    ml_json_key(out, "target");
    ml_text_add(out, t->target_json);
}

static void log_line(ml_Tuner *t, ml_Text *line)
{
    int fd = t->log ? open(t->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;

    ml_text_char(line, '\n');
    if (fd >= 0) {
        flock(fd, LOCK_EX);
        ssize_t n = write(fd, ml_text_z(line), line->n);

        (void)n; /* a log that cannot be written is none */
        close(fd);
    }
    ml_text_free(line);
}

static void start_text(const ml_Tuner *t, ml_Text *out)
{
    ml_text_add(out, "{\"event\": \"start\", ");
    key_text(t, out);
}

void ml_log_start(ml_Tuner *t)
{
    ml_Text line = {0};

    start_text(t, &line);
    ml_text_fmt(&line, ", \"trials\": %lld, \"after\": %lld, \"time\": %lld, ",
                (long long)t->asked, (long long)t->after, (long long)time(NULL));
    ml_json_key(&line, "name");
    ml_json_string(&line, t->name);
    ml_text_char(&line, '}');
    log_line(t, &line);
}

void ml_log_stop(ml_Tuner *t)
{
    ml_Text line = {0};

    if (!t->ready)
        return;
    ml_text_add(&line, "{\"event\": \"stop\", ");
    key_text(t, &line);
    ml_text_fmt(&line,
                ", \"done\": %lld, \"best\": %.9g, \"record\": %lld, \"seconds\": %.3f, "
                "\"time\": %lld}",
                (long long)t->st.done, t->st.best, (long long)t->st.best_record,
                t->st.elapsed, (long long)time(NULL));
    log_line(t, &line);
}

static int64_t number(const ml_Json *o, const char *key)
{
    const ml_Json *j = ml_json_get(o, key);

    return j && j->kind == ML_JSON_INT ? j->as.i : 0;
}

/* The number asked for last, and after which record it counts; lines of other forms are
 * passed over. */
static void log_last(ml_Tuner *t, int64_t *trials, int64_t *after)
{
    FILE *f = t->log ? fopen(t->log, "re") : NULL;
    ml_Text start = {0};
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;

    start_text(t, &start);
    while (f && (n = getline(&line, &cap, f)) > 0) {
        ml_Mark mark = ml_mark(t->tmp);
        ml_JsonError e;
        const ml_Json *o = NULL;

        if (strncmp(line, ml_text_z(&start), start.n) == 0)
            o = ml_json_read(t->tmp, (ml_Str){line, (size_t)n}, &e);
        if (o) {
            *trials = number(o, "trials");
            *after = number(o, "after");
        }
        ml_release(t->tmp, mark);
    }
    ml_text_free(&start);
    free(line);
    if (f)
        fclose(f);
}

/* ---------------------------------------------------------------- earlier records */

static ml_TunePhase phase_of(const ml_Record *r)
{
    const char *p = r->phase ? r->phase : "";

    if (r->error && ml_streq(r->error, "worker-timeout"))
        return ML_PHASE_TIMEOUT;
    if (ml_streq(p, "verify"))
        return ML_PHASE_VERIFY;
    return ml_streq(p, "run") || ml_streq(p, "time") || ml_streq(p, "worker")
               ? ML_PHASE_RUN
               : ML_PHASE_BUILD;
}

static void count_sketch(ml_TuneSketch *s, double seconds)
{
    s->measured++;
    s->failed += seconds <= 0;
    if (seconds > 0 && (s->best <= 0 || seconds < s->best))
        s->best = seconds;
}

/* c: what the record is of, or NULL. */
static void count_record(ml_Tuner *t, const ml_Record *r, const Candidate *c)
{
    const Measured m = {c ? *c : (Candidate){0}, ml_record_best(r), r->median, r->id};

    bool failed = !isfinite(m.seconds) || m.seconds >= 1e10;

    t->st.done++;
    if (c)
        ml_seen_add(&t->points, ml_candidate_key(t, c));
    if (c)
        count_sketch(&t->shown[c->sketch], failed ? 0 : m.seconds);
    if (c && t->strategy->kind->kin->notify)
        t->strategy->kind->kin->notify(t->strategy, c, failed ? 0 : m.seconds);
    if (failed)
        t->st.failed[phase_of(r)]++;
    else if (c)
        ml_valid_add(t, &m);
    else if (t->other.seconds == 0 || m.seconds < t->other.seconds)
        t->other = m;
}

/* The order of ml_DbQuery.by_time. */
void ml_best_update(ml_Tuner *t)
{
    const Measured *best = t->other.seconds > 0 ? &t->other : NULL;

    if (t->valid.n > 0 && (!best || t->valid.v[0].seconds <= best->seconds))
        best = &t->valid.v[0];
    for (size_t k = 0; best && best->median > 0 && k < t->valid.n; k++)
        if (t->valid.v[k].median > 0 && t->valid.v[k].median < best->median)
            best = &t->valid.v[k];
    if (best == NULL)
        return;
    t->st.best = best->median > 0 ? best->median : best->seconds;
    t->st.best_record = best->record;
}

ml_DbQuery ml_records_key(const ml_Tuner *t)
{
    return (ml_DbQuery){.workload = t->workload,
                        .target = t->target_json,
                        .space = t->space,
                        .seed = t->seed,
                        .threads = t->threads,
                        .after = t->last_seen};
}

/* Ids of one tuner ascend. */
static bool is_own(const ml_Tuner *t, int64_t id)
{
    size_t lo = 0, hi = t->records.n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (t->records.v[mid]->id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < t->records.n && t->records.v[lo]->id == id;
}

static bool take_records(ml_Tuner *t, ml_Ctx *cx)
{
    ml_DbQuery q = ml_records_key(t);
    ml_Record *v;
    size_t n;

    if (!ml_db_records(t->db, cx, &q, &v, &n))
        return false;
    for (size_t k = 0; k < n; k++) {
        Candidate c;
        uint64_t hash;
        bool known;

        if (v[k].id > t->last_seen)
            t->last_seen = v[k].id;
        if (is_own(t, v[k].id))
            continue;
        known = ml_candidate_of_record(t, &v[k], &c, &hash);
        if (hash)
            ml_seen_add(&t->programs, hash);
        count_record(t, &v[k], known ? &c : NULL);
    }
    ml_best_update(t);
    return true;
}

void ml_records_refresh(ml_Tuner *t)
{
    ml_Mark mark = ml_mark(t->tmp);

    if (!take_records(t, t->tmp))
        ml_error_clear(t->tmp); /* a write will tell */
    t->proposed = t->st.done > t->proposed ? t->st.done : t->proposed;
    ml_release(t->tmp, mark);
}

static bool put_workload(ml_Tuner *t, ml_Ctx *cx, ml_Db *db)
{
    ml_DbWorkload w = {.hash = ml_tune_hash(t->tmp, t->mod, NULL),
                       .name = t->name,
                       .program = t->program,
                       .flop = t->st.flop};

    if (!ml_db_put_workload(db, cx, &w))
        return false;
    t->workload = w.id;
    return true;
}

static const char *first_text(ml_Tuner *t, const ml_Error *e)
{
    for (uint32_t k = 0; e && k < e->n_facts; k++)
        if (e->facts[k].kind == ML_FACT_TEXT)
            return ml_strdup(t->keep, ml_str(e->facts[k].as.text));
    return e ? ml_error_code(e->code) : "not known why";
}

static void put_again(ml_Tuner *t, ml_Record *r)
{
    int64_t was = r->id;

    r->workload = t->workload;
    if (!ml_db_put(t->db, t->tmp, r))
        ml_error_clear(t->tmp);
    for (size_t k = 0; k < t->valid.n; k++)
        if (t->valid.v[k].record == -was)
            t->valid.v[k].record = r->id;
}

/* From here on in memory; what this tuner measured is taken along. */
static void go_to_memory(ml_Tuner *t, const char *why)
{
    t->st.warning = why;
    ml_error_clear(t->tmp);
    t->own = ml_db_open(t->tmp, NULL);
    free(t->log);
    t->log = NULL;
    if (t->own == NULL || !put_workload(t, t->tmp, t->own)) {
        ml_error_clear(t->tmp);
        return;
    }
    t->db = t->own;
    for (size_t k = 0; k < t->valid.n; k++)
        t->valid.v[k].record = -t->valid.v[k].record;
    for (size_t k = 0; k < t->records.n; k++) {
        ml_Record *r = ML_NEW(t->keep, ml_Record);

        *r = *t->records.v[k];
        put_again(t, r);
        t->records.v[k] = r;
        t->last_seen = r->id;
    }
    t->other.record = 0;
    for (size_t k = 0; k < t->valid.n; k++)
        if (t->valid.v[k].record < 0)
            t->valid.v[k].record = 0;
    ml_best_update(t);
}

bool ml_records_open(ml_Tuner *t, ml_Ctx *cx, const ml_TuneOpts *o)
{
    int64_t asked = 0, after = 0;
    ml_DbQuery all;

    (void)cx;
    t->db = t->given = o->db ? ml_db_share(o->db) : NULL;
    if (t->db == NULL) {
        go_to_memory(t, NULL);
    } else if (ml_db_read_only(t->db)) {
        go_to_memory(t, ml_format(t->keep, "%s may not be written", ml_db_path(t->db)));
    } else if (!put_workload(t, t->tmp, t->db)) {
        go_to_memory(t, first_text(t, ml_error(t->tmp)));
    } else if (!ml_streq(ml_db_path(t->db), ":memory:")) {
        t->log = log_path(ml_db_path(t->db));
    }
    log_last(t, &asked, &after);
    t->last_seen = t->after = o->fresh ? 0 : after;
    all = ml_records_key(t);
    if (o->fresh) {
        ml_Record *v;
        size_t n;

        all.after = 0;
        if (ml_db_records(t->db, t->tmp, &all, &v, &n) && n > 0)
            t->last_seen = t->after = v[n - 1].id;
        ml_error_clear(t->tmp);
        asked = 0;
    }
    t->st.total = o->trials ? o->trials : asked ? asked : ML_TUNE_TRIALS;
    if (!take_records(t, t->tmp))
        go_to_memory(t, first_text(t, ml_error(t->tmp)));
    t->proposed = t->st.before = t->st.done;
    t->asked = o->shared ? asked : t->st.total;
    if (o->shared)
        t->st.total = t->st.done;
    t->first_left = t->n_sketches;
    return true;
}

/* ---------------------------------------------------------------- new ones */

static bool no_such(const char *z)
{
    return z == NULL || !*z;
}

static void put_trial(ml_Tuner *t, const Made *m, const ml_Record *r)
{
    const ml_TuneTrial one = {.expected = m->expected,
                              .seconds = r->n_run ? r->run_secs[0] : 0,
                              .best = t->valid.n ? t->valid.v[0].seconds : 0,
                              .sketch = m->c.sketch,
                              .failed = phase_of(r)};

    ml_push(t->keep, &t->trials, one);
}

void ml_records_put(ml_Tuner *t, const Made *m, const ml_JobResult *r, double best)
{
    ml_Record *rec = ML_NEW(t->keep, ml_Record);
    double *secs = ML_NEW(t->keep, double);
    ml_Text one = {0};

    for (const char *p = m->trace; *p; p++)
        if (*p != '\n')
            ml_text_char(&one, *p);
    *secs = best;
    *rec = (ml_Record){.workload = t->workload,
                       .target = t->target_json,
                       .space = t->space,
                       .seed = t->seed,
                       .threads = t->threads,
                       .trace = ml_strdup(t->keep, ml_str(ml_text_z(&one))),
                       .args = t->args_json,
                       .machine = t->machine,
                       .version = ML_VERSION};
    ml_text_free(&one);
    if (r->ok && best > 0) {
        rec->n_run = 1;
        rec->run_secs = secs;
    } else {
        rec->error = ml_error_code(r->code ? r->code : ML_E_WORKER_CRASHED);
        rec->phase = ml_strdup(t->keep, ml_str(no_such(r->phase) ? "run" : r->phase));
    }
    if (!ml_db_put(t->db, t->tmp, rec)) {
        const char *why = first_text(t, ml_error(t->tmp));

        if (t->own == NULL)
            go_to_memory(t, why);
        rec->workload = t->workload;
        if (!ml_db_put(t->db, t->tmp, rec))
            ml_error_clear(t->tmp);
    }
    ml_push(t->keep, &t->records, (const ml_Record *)rec);
    count_record(t, rec, &m->c);
    ml_best_update(t);
    put_trial(t, m, rec);
}
