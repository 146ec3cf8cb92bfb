/* compiled - see compiled.h. */
#include "compiled.h"

#include "runner.h"

#include "codegen/printed.h"
#include "moonloop/codegen/lower/lower.h"
#include "moonloop/primitives/call/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CANARY = 0xc5 };

static const char *print_for; /* the compiler of C; NULL: LLVM */

void fz_print_for(const char *cc)
{
    print_for = cc;
}

static struct Compiler {
    bool tried, there;
    char why[400];
    ml_Ctx *cx;
    ml_Codegen *ll[3]; /* of the widths */
    ml_Target target[3];
    uint32_t n_widths;
} comp;

static const uint32_t widths[] = {128, 256, 512};

/* ---------------------------------------------------------------- choices */

FzCode fz_code(uint32_t pick)
{
    static const ml_OptLevel opts[] = {ML_OPT_LIGHT, ML_OPT_LIGHT, ML_OPT_LIGHT,
                                       ML_OPT_NONE,  ML_OPT_O2,    ML_OPT_O3};
    uint64_t rnd = pick;
    FzCode c = {.contract = false};

    c.opt = opts[fz_below(&rnd, (int)ML_COUNT(opts))];
    c.threads = 1 + (uint32_t)fz_below(&rnd, 2);
    c.bits = widths[fz_below(&rnd, 3)];
    c.place = (FzPlace)fz_below(&rnd, FZ_PLACES);
    return c;
}

void fz_code_text(FzCode c, ml_Text *out)
{
    static const char *const places[] = {"at the end of the page", "near the end",
                                         "at the begin of the page"};
    const char *opt = c.opt == ML_OPT_LIGHT  ? "light"
                      : c.opt == ML_OPT_NONE ? "no passes"
                      : c.opt == ML_OPT_O2   ? "O2"
                                             : "O3";

    ml_text_fmt(out, "%s, %u thread%s, %u bits, data %s%s", opt, (unsigned)c.threads,
                c.threads == 1 ? "" : "s", (unsigned)c.bits, places[c.place],
                c.contract ? ", contracted" : "");
}

/* ---------------------------------------------------------------- targets */

static bool wider(const char *name, uint32_t bits)
{
    static const char *const ymm[] = {"+avx",  "+f16c", "+fma",
                                      "+vaes", "+vpcl", "+xop"}; /* beginnings */

    if (strncmp(name, "+avx512", 7) == 0 || strncmp(name, "+amx", 4) == 0)
        return true;
    for (size_t k = 0; bits < 256 && k < ML_COUNT(ymm); k++)
        if (strncmp(name, ymm[k], strlen(ymm[k])) == 0)
            return true;
    return false;
}

/* The host with vectors of at most so many bits. */
static bool narrowed(ml_Ctx *cx, uint32_t bits, ml_Target *out)
{
    ml_Target host = ml_target_host();
    ml_Text json = {0};
    bool first = true, ok;

    *out = host;
    if (bits >= host.vector_bits)
        return bits == host.vector_bits;
    ml_text_add(&json, "{\"features\":\"");
    for (const char *p = host.features; *p;) {
        size_t n = strcspn(p, ",");
        if (!wider(p, bits))
            ml_text_fmt(&json, "%s%.*s", first ? "" : ",", (int)n, p);
        first = first && wider(p, bits);
        p += n + (p[n] == ',');
    }
    ml_text_fmt(&json, "\",\"vector-bits\":%u}", (unsigned)bits);
    ok = ml_target_parse(cx, ml_str(ml_text_z(&json)), out);
    ml_text_free(&json);
    return ok;
}

static const char *first_fact(ml_Ctx *cx)
{
    const ml_Error *e = ml_error(cx);

    return e && e->n_facts && e->facts[0].kind == ML_FACT_TEXT ? e->facts[0].as.text : "?";
}

bool fz_compiler(const char **why)
{
    static const char no_memory[] = "no memory to share with a child";
    bool tried = comp.tried;

    if (why)
        *why = comp.why;
    comp.tried = true;
    if (tried)
        return comp.there;
    comp.cx = ml_ctx_new(0);
    while (comp.n_widths < ML_COUNT(widths) &&
           narrowed(comp.cx, widths[comp.n_widths], &comp.target[comp.n_widths])) {
        uint32_t k = comp.n_widths;

        comp.ll[k] = ml_code_open(comp.cx, &comp.target[k]);
        if (comp.ll[k] == NULL)
            break;
        comp.n_widths++;
    }
    comp.there = comp.n_widths > 0 && fz_runner_open();
    snprintf(comp.why, sizeof comp.why, "%s",
             comp.n_widths ? no_memory : first_fact(comp.cx));
    return comp.there;
}

void fz_compiler_close(void)
{
    fz_runner_close();
    for (uint32_t k = 0; k < comp.n_widths; k++)
        ml_code_close(comp.ll[k]);
    if (comp.cx)
        ml_ctx_unref(comp.cx);
    comp = (struct Compiler){0};
}

/* ---------------------------------------------------------------- crashes */

static const FzTrial *watched;
static const char *watched_text = "";
static const char *phase = "";

void fz_phase(const char *what)
{
    phase = what;
}

/* Where a broken invariant or a fault ended this process. */
static void tell_trial(void)
{
    dprintf(2, "---- crash%s%s\n%s", *phase ? " in " : "", phase, watched_text);
    if (watched)
        dprintf(2, "-- plan: seed %llu, stages %d, cap %d, off 0x%x, compile %d, code %u\n",
                (unsigned long long)watched->plan.seed, watched->plan.stages,
                watched->plan.cap, watched->plan.off, watched->plan.compile,
                watched->plan.code);
    for (int k = 0; watched && k < FZ_MAX_STEPS && watched->steps[k]; k++)
        dprintf(2, "s:%s\n", watched->steps[k]);
}

static void on_crash(int sig, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    dprintf(2, "signal %d\n", sig);
    tell_trial();
    _exit(1);
}

static void watch(void)
{
    static bool handled;

    if (!handled) {
        fz_handle_faults(on_crash);
        ml_set_assert_hook(tell_trial);
    }
    handled = true;
}

void fz_watch(const FzTrial *t)
{
    watch();
    watched = t;
}

void fz_watch_text(const char *what)
{
    watch();
    watched_text = what;
}

/* ---------------------------------------------------------------- one program */

typedef struct Job {
    FzCompile *c;
    FzPlace place;
    ml_CodeOpts opts;
    ml_Codegen *ll;
    const ml_Func *body;
    FzWord words[FZ_SLOTS];
} Job;

static size_t start_of(FzPlace place, size_t bytes, size_t room)
{
    switch (place) {
    case FZ_AT_END: return room - bytes;
    case FZ_NEAR_END: return (room - bytes) / 64 * 64;
    case FZ_AT_BEGIN:
    case FZ_PLACES: break;
    }
    return 0;
}

static FzCode code_of(const FzCompile *c)
{
    return c->code ? *c->code : fz_code(c->pick);
}

/* The narrowest width that is wide enough, or the widest there is. */
static uint32_t width_of(uint32_t bits)
{
    uint32_t k = 0;

    while (k + 1 < comp.n_widths && widths[k] < bits)
        k++;
    return k;
}

const ml_Target *fz_target(uint32_t bits)
{
    return &comp.target[width_of(bits)];
}

static Job job_of(FzCompile *c, const ml_Func *body, FzPlace place)
{
    FzCode code = code_of(c);

    return (Job){.c = c,
                 .place = place,
                 .opts = {.opt = code.opt,
                          .no_contract = !code.contract,
                          .threads = code.threads,
                          .unaligned = code.place == FZ_AT_END},
                 .ll = comp.ll[width_of(code.bits)],
                 .body = body};
}

/* Where data lies with what is around it: of tensor k. */
static uint8_t *place_of(const Job *j, uint32_t k, size_t *room, size_t *from)
{
    size_t bytes = j->c->args[k].tensor->bytes;
    uint8_t *slot = fz_slot(k, bytes, room);

    *from = start_of(j->place, bytes, *room);
    return slot;
}

static bool lay_out(Job *j, const ml_Signature *sig)
{
    const FzCompile *c = j->c;

    if (c->n_args + sig->n_sizes > FZ_SLOTS)
        return false;
    for (uint32_t k = 0; k < c->n_args; k++) {
        const ml_Tensor *t = c->args[k].tensor;
        size_t room, from;
        uint8_t *slot;

        if (t == NULL) {
            j->words[k].i = c->args[k].i;
            continue;
        }
        if (t->bytes > FZ_ROOM)
            return false;
        slot = place_of(j, k, &room, &from);
        memset(slot, CANARY, room);
        j->words[k].p = slot + from;
        memcpy(j->words[k].p, t->data, t->bytes);
    }
    for (uint32_t k = 0; k < sig->n_sizes; k++)
        j->words[c->n_args + k].i = fz_scalar(c->sizes, sig->sizes[k]->hint);
    return true;
}

/* The first byte of the n that is no canary; n: all are. */
static size_t written_at(const uint8_t *v, size_t n)
{
    size_t k = 0;

    if (n == 0 || (v[0] == CANARY && memcmp(v, v + 1, n - 1) == 0))
        return n;
    while (v[k] == CANARY)
        k++;
    return k;
}

/* Takes the results over; false: something beside an argument was written. */
static bool take_back(Job *j)
{
    FzCompile *c = j->c;

    for (uint32_t k = 0; k < c->n_args; k++) {
        const ml_Tensor *t = c->args[k].tensor;
        size_t room, from, before, behind;
        const uint8_t *slot;

        if (t == NULL)
            continue;
        slot = place_of(j, k, &room, &from);
        before = written_at(slot, from);
        behind = written_at(slot + from + t->bytes, room - from - t->bytes);
        if (before < from || behind < room - from - t->bytes) {
            ml_text_fmt(&c->detail, "byte %lld of %s was written",
                        before < from ? (long long)before - (long long)from
                                      : (long long)(t->bytes + behind),
                        j->body->params[k].var->hint);
            return false;
        }
        memcpy(t->data, slot + from, t->bytes);
    }
    return true;
}

static void fault_text(Job *j, const FzAnswer *a)
{
    FzCompile *c = j->c;
    uint32_t line =
        ml_code_line_at(j->ll, c->cx, &j->body, 1, &j->opts, "main_body", a->offset);
    size_t room, from = 0;
    uint32_t k = 0;

    while (k < c->n_args &&
           (c->args[k].tensor == NULL || place_of(j, k, &room, &from) != a->slot))
        k++;
    ml_text_fmt(&c->detail, "signal %d", a->signal);
    if (a->slot && k < c->n_args)
        ml_text_fmt(&c->detail, " at byte %lld of %s (%zu bytes)",
                    (long long)a->byte - (long long)from, j->body->params[k].var->hint,
                    c->args[k].tensor->bytes);
    else
        ml_text_fmt(&c->detail, " at address %#llx", (unsigned long long)a->byte);
    if (line)
        ml_text_fmt(&c->detail, ", line %u", (unsigned)line);
}

static const char *refused(FzCompile *c, const char *what)
{
    const ml_Error *e = ml_error(c->cx);
    ml_Failure *f = e ? ml_failure_from(e) : NULL;

    ml_text_fmt(&c->detail, "%s: %s: %s", what, e ? ml_error_code(e->code) : "no error",
                f ? ml_failure_message(f) : "");
    for (uint32_t k = 0; e && k < e->n_notes; k++)
        ml_text_fmt(&c->detail, "\n  %s", e->notes[k]);
    ml_failure_free(f);
    return "compiled-refused";
}

static const char *judge(Job *j, const FzAnswer *a)
{
    ml_Text *detail = &j->c->detail;

    switch (a->said) {
    case FZ_SAID_NOT_LINKED: ml_text_add(detail, a->text); return "compiled-link";
    case FZ_SAID_FAULT: fault_text(j, a); return "compiled-crash";
    case FZ_SAID_TOO_LARGE:
        ml_text_add(detail, "the object is too large for the test");
        return "compiled-size";
    case FZ_SAID_NOTHING:
        ml_text_fmt(detail, "it ran for more than %d s, or its process ended", FZ_SECONDS);
        return "compiled-hangs";
    case FZ_SAID_RAN: break;
    }
    if (a->status) {
        ml_text_fmt(detail, "it returned %d", (int)a->status);
        return "compiled-status";
    }
    return take_back(j) ? NULL : "compiled-beside";
}

static const char *generate(FzCompile *c)
{
    Job j = job_of(c, c->lowered, FZ_PLACES);

    fz_phase("code generation");
    if (print_for ? !printed_object(print_for, j.ll, c->cx, j.body, &j.opts, c->pick,
                                    &c->object, &c->detail)
                  : !ml_code_object(j.ll, c->cx, &j.body, 1, &j.opts, &c->object)) {
        c->object = (ml_Bytes){NULL, 0};
        if (ml_error(c->cx) == NULL)
            return "compiled-printed";
        if (ml_error(c->cx)->code != ML_E_NOT_SUPPORTED)
            return refused(c, "code generation");
        if (c->stats)
            c->stats->not_supported++;
        return NULL;
    }
    if (c->stats)
        c->stats->compiled++;
    return NULL;
}

static bool pass_done(const ml_Pass *p, const ml_Func *f, void *user)
{
    FzCompile *c = user;

    c->lowered = f;
    fz_phase(p + 1 < ml_passes + ml_n_passes ? p[1].name : "signature");
    return true;
}

static const ml_Func *parsed_main(FzCompile *c, const ml_Module **mod)
{
    *mod = ml_parse(c->cx, ml_str(c->text), NULL).mod;
    return *mod ? ml_module_find(*mod, "main") : NULL;
}

const char *fz_object(FzCompile *c)
{
    ml_Lower lo = {.cx = c->cx};
    const ml_Func *body;
    const char *kind;

    c->object = (ml_Bytes){NULL, 0};
    fz_phase("parse");
    c->lowered = parsed_main(c, &lo.module);
    if (c->lowered == NULL) {
        ml_text_add(&c->detail, "the printed program is not read");
        return "compiled-parse";
    }
    c->start = c->lowered;
    lo.opts = ml_lower_defaults(fz_target(code_of(c).bits));
    lo.opts.target.cores = 2; /* the same on every machine */
    fz_phase(ml_passes[0].name);
    body = ml_lower(&lo, c->start, NULL, pass_done, c);
    if (body && ml_signature_of(c->cx, c->start, &c->signature)) {
        c->lowered = body;
        kind = generate(c);
    } else if (fz_may_refuse(ml_error(c->cx), c->start, c->stats))
        kind = NULL;
    else
        kind = refused(c, "lowering");
    fz_phase("");
    return kind;
}

const char *fz_call(FzCompile *c, FzPlace place)
{
    Job j = job_of(c, c->lowered, place);
    FzAnswer answer;
    const char *kind;

    if (!lay_out(&j, &c->signature)) {
        ml_text_add(&c->detail, "the arguments are too large for the test");
        return "compiled-size";
    }
    fz_phase("the run");
    fz_runner_run(j.ll, &c->object, j.words, c->n_args + c->signature.n_sizes, &answer);
    kind = judge(&j, &answer);
    fz_phase("");
    return kind;
}

const char *fz_compile(FzCompile *c, bool *ran)
{
    const char *kind = fz_object(c);

    *ran = false;
    if (kind || c->object.v == NULL)
        return kind;
    kind = fz_call(c, code_of(c).place);
    free(c->object.v);
    *ran = kind == NULL;
    if (c->stats && *ran)
        c->stats->ran++;
    return kind;
}
