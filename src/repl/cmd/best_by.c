/*
 * cmd_best_by - :best --by, the best record of each machine, target or shape.
 *
 * Machines and targets are those that the focus' program was measured on. Shapes are of
 * programs that are the focus' but for their numbers, measured on this machine with the
 * threads of now. Source: interaction 11; auto-scheduler 17.
 */
#include <ctype.h>
#include <math.h>

#include "moonloop/core/json/data.h"
#include "moonloop/core/json/json.h"
#include "moonloop/core/script/script.h"
#include "moonloop/core/vec.h"
#include "moonloop/work/records.h"
#include "repl/cmd/tune_words.h"
#include "repl/host/host.h"
#include "repl/out/wrap.h"
#include "repl/show/show.h"

typedef struct Group {
    const char *key;
    uint32_t threads;
    ml_Record best;
    double flop;
    int64_t records;
} Group;

typedef struct Groups {
    ml_Session *ss;
    ml_Ctx *cx;
    ml_Db *db;
    ml_BestBy by;
    const char *program; /* of the focus, without numbers */
    ML_VEC(Group) v;
} Groups;

/* A function's text without what its sizes and the printer's blanks make of it. */
static const char *without_numbers(ml_Ctx *cx, const char *program)
{
    const char *p = strstr(program, "def ");
    char *out = ml_alloc(cx, strlen(program) + 1);
    size_t n = 0;

    for (p = p ? p : program; *p; p++)
        if (!isspace((unsigned char)*p) && !isdigit((unsigned char)*p))
            out[n++] = *p;
    out[n] = '\0';
    return out;
}

/* "(128, 64) float32, (64) int8" of the arguments of a record; of a kernel for several sizes,
 * which has none of its own, those that its design names. */
static const char *shapes_of(const Groups *g, const ml_Record *r)
{
    ml_Ctx *cx = g->cx;
    ml_JsonError e;
    const ml_Json *j = r->args ? ml_json_read(cx, ml_str(r->args), &e) : NULL;
    ml_Text t = {0};
    const char *z;

    for (uint32_t k = 0; j && j->kind == ML_JSON_LIST && k < j->n; k++) {
        const ml_Json *a = &j->as.list[k];

        if (a->kind != ML_JSON_LIST || a->n != 3 || a->as.list[1].kind != ML_JSON_STRING ||
            a->as.list[2].kind != ML_JSON_LIST)
            continue;
        ml_text_add(&t, t.n ? ", (" : "(");
        for (uint32_t d = 0; d < a->as.list[2].n; d++)
            ml_text_fmt(&t, "%s%lld", d ? ", " : "",
                        (long long)(a->as.list[2].as.list[d].kind == ML_JSON_INT
                                        ? a->as.list[2].as.list[d].as.i
                                        : -1));
        ml_text_fmt(&t, ") %s", a->as.list[1].as.s);
    }
    if (j && j->kind == ML_JSON_LIST && j->n == 0)
        ml_record_design(g->ss->focus, r, &t);
    z = ml_strdup(cx, ml_str(t.n ? ml_text_z(&t) : "not known"));
    ml_text_free(&t);
    return z;
}

static const char *key_of(const Groups *g, const ml_Record *r)
{
    switch (g->by) {
    case ML_BY_MACHINE: return r->machine ? r->machine : "not known";
    case ML_BY_TARGET: return r->target ? r->target : "not known";
    case ML_BY_SHAPE: break;
    }
    return shapes_of(g, r);
}

/* The fastest come first, so that the first of a group is its best. */
static bool add_records(Groups *g, const ml_DbWorkload *w)
{
    ml_DbQuery q = {
        .workload = w->id, .any_seed = true, .valid_only = true, .by_time = true};
    ml_Engine *e = ml_host_engine(g->ss->host);
    ml_Record *v;
    size_t n;

    if (g->by == ML_BY_SHAPE ? !ml_records_best(g->cx, e, g->db, w->id, 0, &v, &n)
                             : !ml_db_records(g->db, g->cx, &q, &v, &n))
        return false;
    for (size_t k = 0; k < n; k++) {
        const char *key = key_of(g, &v[k]);
        size_t at = 0;

        while (at < g->v.n &&
               !(g->v.v[at].threads == v[k].threads && ml_streq(g->v.v[at].key, key)))
            at++;
        if (at == g->v.n)
            ml_push(g->cx, &g->v, ((Group){key, v[k].threads, v[k], w->flop, 0}));
        g->v.v[at].records++;
    }
    return true;
}

/* Of each program that is the focus' but for its numbers. */
static bool add_kin(Groups *g)
{
    ml_DbSummary *v;
    size_t n;

    if (!ml_db_summary(g->db, g->cx, &v, &n))
        return false;
    for (size_t k = 0; k < n; k++) {
        ml_DbWorkload w;

        if (!ml_db_workload_at(g->db, g->cx, v[k].w.id, &w)) {
            if (ml_error(g->cx))
                return false;
            continue;
        }
        if (w.program && ml_streq(without_numbers(g->cx, w.program), g->program) &&
            !add_records(g, &w))
            return false;
    }
    return true;
}

/* Whether its time is for the work of sizes of 1, and says nothing by itself. */
static bool of_one(const ml_Record *r)
{
    return r->space && ml_streq(r->space, "shapes");
}

static void tell(Groups *g)
{
    static const char *const names[] = {"machine", "target", "shape"};
    enum { COLUMN = 49 };
    ml_Session *ss = g->ss;
    ml_Data *d = ml_session_data(ss);
    size_t width = ss->out.folds && !ss->out.sink.out ? (size_t)ss->out.width : 0;
    ml_Text shown = {0}, raw = {0}, line = {0};

    ml_text_fmt(&line, "%10s  %9s  %6s  %7s  %7s", "us", "GFLOP/s", "record", "records",
                "threads");
    ml_wrap_row(&shown, ml_text_z(&line), names[g->by], 0, COLUMN, width);
    ml_text_fmt(&raw, "%s  %s\n", ml_text_z(&line), names[g->by]);
    for (size_t k = 0; k < g->v.n; k++) {
        const Group *a = &g->v.v[k];
        double s = ml_record_seconds(&a->best);

        ml_text_clear(&line);
        if (of_one(&a->best))
            ml_text_fmt(&line, "%10s", "-");
        else
            ml_text_fmt(&line, "%10.2f", s * 1e6);
        ml_text_fmt(&line, "  %9.1f  %6lld  %7lld  %7u", a->flop / s * 1e-9,
                    (long long)a->best.id, (long long)a->records, a->threads);
        ml_wrap_row(&shown, ml_text_z(&line), a->key, 0, COLUMN, width);
        ml_text_fmt(&raw, "%s  %s\n", ml_text_z(&line), a->key);
        ml_data_row(d);
        ml_data_str(d, "by", names[g->by]);
        ml_data_str(d, "group", a->key);
        ml_data_int(d, "id", a->best.id);
        ml_data_int(d, "records", a->records);
        ml_data_int(d, "threads", a->threads);
        ml_data_real(d, "seconds", s);
        ml_data_real(d, "flop_rate", a->flop > 0 ? a->flop / s : (double)NAN);
    }
    ml_page_as(ss, ml_text_z(&shown), ml_text_z(&raw));
    ml_text_free(&shown);
    ml_text_free(&raw);
    ml_text_free(&line);
}

/* Of the focus' function at its start. */
static const char *start_without_numbers(ml_Session *ss, ml_Ctx *cx)
{
    const ml_Func *f = ml_schedule_func(ss->focus);
    const ml_Module *m = ml_version_program(ss->focus, 0).mod;
    ml_Ctx *scratch = ml_ctx_fork(ml_schedule_ctx(ss->focus));
    ml_Text t = {0};

    f = f ? ml_module_find(m, f->name) : m->n == 1 ? m->funcs[0] : NULL;
    if (f)
        ml_print_func(scratch, &t, f, NULL);
    const char *z = without_numbers(cx, ml_text_z(&t));

    ml_ctx_unref(scratch);
    ml_text_free(&t);
    return z;
}

bool ml_best_by(ml_Session *ss, ml_Ctx *cx, ml_Db *db, const ml_DbWorkload *w, ml_BestBy by)
{
    Groups g = {.ss = ss, .cx = cx, .db = db, .by = by};

    g.program = start_without_numbers(ss, cx);
    if (!(by == ML_BY_SHAPE ? add_kin(&g) : add_records(&g, w)))
        return ml_session_ctx_error(ss, cx);
    if (g.v.n == 0)
        return ml_session_error(ss, ML_E_UNKNOWN_NAME,
                                "%s has no measured record here; :tune makes some",
                                ml_schedule_name(ss->focus));
    tell(&g);
    return true;
}
