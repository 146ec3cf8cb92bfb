/* job - the fields of jobs and results in their order. */
#include "moonloop/codegen/worker/job.h"

#include <stdlib.h>

/* Field by field: padding has no value, and any byte may come in. */
static void pack_target(ml_Pack *p, const ml_Target *t)
{
    ml_pack_str(p, ml_target_kinds[t->kind].name);
    ml_pack_str(p, t->triple);
    ml_pack_str(p, t->cpu);
    ml_pack_str(p, t->features);
    ml_pack_u64(p, t->vector_bits);
    ml_pack_u64(p, t->registers);
    ml_pack_u64(p, (t->masks ? 1u : 0) | (t->f16 ? 2u : 0) | (t->bf16 ? 4u : 0) |
                       (t->vnni ? 8u : 0));
    ml_pack_u64(p, t->cores);
}

static void take_name(ml_Unpack *u, char *to, size_t room)
{
    const char *z = ml_unpack_str(u);
    size_t n = z ? strlen(z) : 0;

    if (n >= room)
        u->bad = true;
    else if (z)
        memcpy(to, z, n + 1);
}

static void unpack_target(ml_Unpack *u, ml_Target *t)
{
    const char *name = ml_unpack_str(u);
    const ml_TargetKind *kind = name ? ml_target_kind(name) : NULL;
    uint64_t flags;

    if (kind == NULL)
        u->bad = true;
    else
        t->kind = (uint32_t)(kind - ml_target_kinds);
    take_name(u, t->triple, sizeof t->triple);
    take_name(u, t->cpu, sizeof t->cpu);
    take_name(u, t->features, sizeof t->features);
    t->vector_bits = (uint32_t)ml_unpack_u64(u);
    t->registers = (uint32_t)ml_unpack_u64(u);
    flags = ml_unpack_u64(u);
    t->masks = flags & 1;
    t->f16 = flags & 2;
    t->bf16 = flags & 4;
    t->vnni = flags & 8;
    t->cores = (uint32_t)ml_unpack_u64(u);
}

static void pack_code(ml_Pack *p, const ml_CodeOpts *o)
{
    ml_pack_u64(p, o->opt);
    ml_pack_u64(p, (o->no_contract ? 1u : 0) | (o->fast_math ? 2u : 0) |
                       (o->exact_math ? 4u : 0) | (o->unaligned ? 8u : 0) |
                       (o->lines ? 16u : 0) | (o->standalone ? 32u : 0));
    ml_pack_u64(p, o->threads);
}

static void unpack_code(ml_Unpack *u, ml_CodeOpts *o)
{
    uint64_t opt = ml_unpack_u64(u), flags = ml_unpack_u64(u);

    if (opt > ML_OPT_O3)
        u->bad = true;
    else
        o->opt = (ml_OptLevel)opt;
    o->no_contract = flags & 1;
    o->fast_math = flags & 2;
    o->exact_math = flags & 4;
    o->unaligned = flags & 8;
    o->lines = flags & 16;
    o->standalone = flags & 32;
    o->threads = (uint32_t)ml_unpack_u64(u);
}

void ml_job_pack_key(ml_Pack *p, const ml_Job *j)
{
    ml_pack_blob(p, j->binary.v, j->binary.n);
    ml_pack_str(p, j->program);
    pack_target(p, &j->target);
    pack_code(p, &j->code);
}

void ml_job_pack(ml_Pack *p, const ml_Job *j)
{
    ml_pack_blob(p, j->binary.v, j->binary.n);
    ml_pack_str(p, j->program);
    ml_pack_str(p, j->func);
    ml_pack_str(p, j->stop_after);
    ml_pack_str(p, j->text);
    ml_pack_str(p, j->library);
    pack_target(p, &j->target);
    pack_code(p, &j->code);
    ml_pack_u64(p, j->set ? j->set->id : 0);
    ml_pack_u64(p, j->want);
    ml_pack_u64(p, j->timing);
    ml_pack_u64(p, j->cold);
    ml_pack_u64(p, j->runs);
    ml_pack_f64(p, j->best);
    ml_pack_f64(p, j->checked);
    ml_pack_f64(p, j->compile_limit);
    ml_pack_f64(p, j->run_limit);
    ml_pack_u64(p, j->memory_limit);
}

bool ml_job_unpack(ml_Unpack *u, ml_Job *j, uint64_t *set)
{
    uint64_t timing;

    *j = (ml_Job){0};
    j->binary.v = ml_unpack_blob(u, &j->binary.n);
    j->program = ml_unpack_str(u);
    j->func = ml_unpack_str(u);
    j->stop_after = ml_unpack_str(u);
    j->text = ml_unpack_str(u);
    j->library = ml_unpack_str(u);
    unpack_target(u, &j->target);
    unpack_code(u, &j->code);
    *set = ml_unpack_u64(u);
    j->want = (uint32_t)ml_unpack_u64(u);
    timing = ml_unpack_u64(u);
    if (timing > ML_TIMING_LAST)
        u->bad = true;
    else
        j->timing = (ml_TimingMode)timing;
    j->cold = ml_unpack_u64(u) != 0;
    j->runs = (uint32_t)ml_unpack_u64(u);
    j->best = ml_unpack_f64(u);
    j->checked = ml_unpack_f64(u);
    j->compile_limit = ml_unpack_f64(u);
    j->run_limit = ml_unpack_f64(u);
    j->memory_limit = ml_unpack_u64(u);
    return !u->bad;
}

void ml_result_pack(ml_Pack *p, const ml_JobResult *r)
{
    ml_pack_u64(p, (r->ok ? 1u : 0) | (r->cached ? 2u : 0) | (r->given_up ? 4u : 0));
    ml_pack_u64(p, r->code);
    ml_pack_str(p, r->phase);
    ml_pack_str(p, r->message);
    ml_pack_u64(p, (uint64_t)r->signal);
    ml_pack_u64(p, (uint64_t)r->status);
    ml_pack_u64(p, r->line);
    ml_pack_f64(p, r->lower_seconds);
    ml_pack_f64(p, r->compile_seconds);
    ml_pack_f64(p, r->link_seconds);
    ml_pack_f64(p, r->run_seconds);
    ml_pack_u64(p, r->object_bytes);
    ml_pack_u64(p, (uint64_t)(int64_t)r->bad_arg);
    ml_pack_u64(p, (uint64_t)r->outside);
    ml_pack_u64(p, (uint64_t)r->first_lane);
    ml_pack_f64(p, r->largest);
    ml_pack_blob(p, r->samples, r->n_samples * sizeof *r->samples);
    ml_pack_f64(p, r->spread);
    ml_pack_u64(p, r->switches);
    ml_pack_u64(p, (uint64_t)(int64_t)r->counters.error);
    ml_pack_u64(p, r->counters.known);
    for (size_t k = 0; k < ML_COUNTERS; k++)
        ml_pack_f64(p, r->counters.v[k]);
    ml_pack_str(p, r->text);
    ml_pack_blob(p, r->object.v, r->object.n);
    ml_pack_u64(p, r->n_notes);
    for (size_t k = 0; k < r->n_notes; k++)
        ml_pack_str(p, r->notes[k]);
}

static const char *text_in(ml_Unpack *u, ml_Ctx *cx)
{
    const char *z = ml_unpack_str(u);

    return z ? ml_strdup(cx, ml_str(z)) : NULL;
}

bool ml_result_unpack(ml_Unpack *u, ml_Ctx *cx, ml_JobResult *r)
{
    uint64_t flags;
    const void *v;
    size_t n;

    *r = (ml_JobResult){0};
    flags = ml_unpack_u64(u);
    r->ok = flags & 1;
    r->cached = flags & 2;
    r->given_up = flags & 4;
    n = (size_t)ml_unpack_u64(u);
    r->code = n < ML_E_COUNT ? (ml_ErrorCode)n : ML_E_WORKER_CRASHED;
    r->phase = text_in(u, cx);
    r->message = text_in(u, cx);
    r->signal = (int)ml_unpack_u64(u);
    r->status = (int32_t)ml_unpack_u64(u);
    r->line = (uint32_t)ml_unpack_u64(u);
    r->lower_seconds = ml_unpack_f64(u);
    r->compile_seconds = ml_unpack_f64(u);
    r->link_seconds = ml_unpack_f64(u);
    r->run_seconds = ml_unpack_f64(u);
    r->object_bytes = (size_t)ml_unpack_u64(u);
    r->bad_arg = (int32_t)(int64_t)ml_unpack_u64(u);
    r->outside = (int64_t)ml_unpack_u64(u);
    r->first_lane = (int64_t)ml_unpack_u64(u);
    r->largest = ml_unpack_f64(u);
    v = ml_unpack_blob(u, &n);
    if (v && n >= sizeof(double)) {
        double *s = ml_alloc(cx, n);

        memcpy(s, v, n);
        r->samples = s;
        r->n_samples = n / sizeof *s;
    }
    r->spread = ml_unpack_f64(u);
    r->switches = ml_unpack_u64(u);
    r->counters.error = (int32_t)(int64_t)ml_unpack_u64(u);
    r->counters.known = (uint32_t)ml_unpack_u64(u);
    for (size_t k = 0; k < ML_COUNTERS; k++)
        r->counters.v[k] = ml_unpack_f64(u);
    r->text = text_in(u, cx);
    v = ml_unpack_blob(u, &n);
    if (v && n) {
        r->object.v = malloc(n);
        if (r->object.v == NULL)
            ml_out_of_memory();
        memcpy(r->object.v, v, n);
        r->object.n = n;
    }
    n = (size_t)ml_unpack_u64(u);
    if (n > (u->n - u->at) / sizeof(uint64_t))
        u->bad = true;
    if (!u->bad && n > 0) {
        const char **notes = ML_ARRAY(cx, const char *, n);

        for (size_t k = 0; k < n; k++) {
            notes[k] = text_in(u, cx);
            notes[k] = notes[k] ? notes[k] : "";
        }
        r->notes = notes;
        r->n_notes = n;
    }
    if (!u->bad)
        return true;
    free(r->object.v);
    r->object = (ml_Bytes){0};
    return false;
}

void ml_run_pack(ml_Pack *p, const ml_RunJob *r)
{
    ml_pack_u64(p, r->set);
    ml_pack_u64(p, r->keep);
    ml_pack_str(p, r->symbol);
    ml_pack_str(p, r->body);
    ml_pack_str(p, r->library);
    ml_pack_u64(p, r->want);
    ml_pack_u64(p, r->timing);
    ml_pack_u64(p, r->cold);
    ml_pack_u64(p, r->runs);
    ml_pack_f64(p, r->best);
    ml_pack_f64(p, r->checked);
    ml_pack_u64(p, r->memory_limit);
    ml_pack_blob(p, r->words, r->n_words * sizeof *r->words);
    ml_pack_blob(p, r->tensor, r->n_words * sizeof *r->tensor);
    ml_pack_blob(p, r->object, r->object_bytes);
}

bool ml_run_unpack(ml_Unpack *u, ml_RunJob *r)
{
    size_t n, m;

    *r = (ml_RunJob){0};
    r->set = ml_unpack_u64(u);
    r->keep = ml_unpack_u64(u);
    r->symbol = ml_unpack_str(u);
    r->body = ml_unpack_str(u);
    r->library = ml_unpack_str(u);
    r->want = (uint32_t)ml_unpack_u64(u);
    r->timing = (uint32_t)ml_unpack_u64(u);
    r->cold = ml_unpack_u64(u) != 0;
    r->runs = (uint32_t)ml_unpack_u64(u);
    r->best = ml_unpack_f64(u);
    r->checked = ml_unpack_f64(u);
    r->memory_limit = ml_unpack_u64(u);
    r->words = ml_unpack_blob(u, &n);
    r->n_words = n / sizeof *r->words <= UINT32_MAX ? (uint32_t)(n / sizeof *r->words) : 0;
    r->tensor = ml_unpack_blob(u, &m);
    r->object = ml_unpack_blob(u, &r->object_bytes);
    return !u->bad && n % sizeof *r->words == 0 && m == r->n_words * sizeof *r->tensor &&
           r->timing <= ML_TIMING_LAST && (r->library || r->symbol);
}
