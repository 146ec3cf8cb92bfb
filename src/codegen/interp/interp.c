/*
 * interp - the reference interpreter's door: compile to register code, run, report.
 *
 * Everything temporary lives in a fork of the caller's context, which is frozen meanwhile;
 * an error is described by numbers and nodes of the program, and set in the caller's
 * context once the fork is about to go.
 */
#include "moonloop/codegen/interp/interp.h"

#include "moonloop/codegen/interp/code.h"

ml_Gen *ml_gen_new(ml_Ctx *cx, const ml_Module *m, const ml_InterpOpts *opts)
{
    ml_Gen *g = ML_NEW(cx, ml_Gen);
    ml_Site nowhere = {NULL, NULL};

    g->cx = cx;
    g->mod = m;
    if (opts)
        g->opts = *opts;
    g->n_program_exprs = ml_ctx_n_exprs(cx);
    g->memo[0] = ml_map_new(cx);
    g->memo[1] = ml_map_new(cx);
    g->vars = ml_map_new(cx);
    g->bufs = ml_map_new(cx);
    g->pointers = ml_map_new(cx);
    g->by_data = ml_map_new(cx);
    g->fragments = ml_map_new(cx);
    g->constants_lo = ml_map_new(cx);
    g->common = ml_map_new(cx);
    ml_push(cx, &g->sites, nowhere);
    return g;
}

/* Maps and shadows of the tensors that the caller passed in. */
static bool prepare_memories(ml_Run *run)
{
    for (size_t k = 0; k < run->g->memories.n; k++) {
        ml_Memory *m = run->g->memories.v[k];
        if (m->owned || !m->written_in_parallel || run->g->max_par == 0)
            continue;
        m->cap = m->bytes;
        if (ml_run_shadow(run, m))
            continue;
        run->fault.code = ML_E_TOO_LARGE;
        run->fault.buffer = m->buffer;
        return false;
    }
    return true;
}

static bool run_it(ml_Run *run)
{
    const ml_Gen *g = run->g;

    run->r = ML_ARRAY(g->cx, ml_Cell, g->regs.n + 1);
    memcpy(run->r, g->regs.v, g->regs.n * sizeof *run->r);
    return prepare_memories(run) && ml_run_code(run);
}

static void take_result(const ml_Run *run, const ml_Func *f, ml_InterpReport *report)
{
    const ml_Gen *g = run->g;
    ml_Cell c = run->r[g->code.v[g->code.n - 1].d];

    report->iterations = run->iterations;
    report->instructions = g->code.n;
    if (f->ret.code != ML_VOID && ml_dtype_is_float(f->ret))
        report->result.f = c.f;
    else if (f->ret.code != ML_VOID)
        report->result.i = c.i;
}

bool ml_interpret(ml_Ctx *cx, const ml_Module *m, const ml_Func *f, const ml_RunArg *args,
                  size_t n_args, const ml_InterpOpts *opts, ml_InterpReport *report)
{
    ml_Ctx *fork = ml_ctx_fork(cx);
    ml_Gen *g = ml_gen_new(fork, m, opts);
    ml_Run run = {.g = g};
    ml_Text loops = {0};
    bool ok = false;

    if (report)
        *report = (ml_InterpReport){.loops = ""};
    g->side_by_side = g->opts.side_by_side || ml_has_barrier(f->body);
    if (!ml_gen_func(g, f, args, n_args) || !ml_ok_or_fail(fork)) {
        ml_error_move(cx, fork);
    } else {
        ok = run_it(&run);
        if (!ok)
            ml_fault_report(cx, &run, report, &loops);
        else if (report)
            take_result(&run, f, report);
    }
    ml_run_free(&run);
    ml_ctx_unref(fork);
    if (report && loops.n)
        report->loops = ml_strdup(cx, ml_str(ml_text_z(&loops)));
    ml_text_free(&loops);
    return ok;
}
