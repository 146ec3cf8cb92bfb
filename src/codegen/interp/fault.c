/*
 * fault - from what went wrong in a run to an error value: code, facts, loop values.
 *
 * The code ran in a fork that is dropped; only numbers, nodes of the program and texts
 * copied by ml_fail leave it.
 */
#include "moonloop/codegen/interp/code.h"

#include "moonloop/core/spans.h"

#include <stdio.h>

void ml_fault_place(ml_Fault *f, const ml_Cell *r, const uint32_t *index, size_t rank)
{
    size_t n = 0;

    f->place[n++] = '[';
    for (size_t d = 0; d < rank && n + 24 < sizeof f->place; d++)
        n += (size_t)snprintf(f->place + n, sizeof f->place - n, "%s%lld", d ? ", " : "",
                              (long long)r[index[d]].i);
    f->place[n++] = ']';
    f->place[n] = '\0';
}

static void loop_values(ml_Text *out, const ml_Run *run, const ml_LoopScope *l)
{
    if (l == NULL)
        return;
    loop_values(out, run, l->up);
    if (out->n)
        ml_text_add(out, ", ");
    ml_text_fmt(out, "%s = %lld", l->var->hint && *l->var->hint ? l->var->hint : "v",
                (long long)run->r[l->reg].i);
}

/* An expression of the program; one made by the compiler has no place in it. */
static const ml_Expr *own_expr(const ml_Gen *g, const ml_Expr *e)
{
    return e && e->id < g->n_program_exprs ? e : NULL;
}

static void fail_overflow(ml_Ctx *cx, const ml_Run *run, const ml_Expr *e, ml_Dtype t,
                          ml_Fact where)
{
    if (e)
        ml_fail(cx, run->fault.code, ML_EXPRESSION(e), ML_DTYPE(t), where);
    else
        ml_fail(cx, run->fault.code,
                ML_TEXT(run->fault.word ? run->fault.word : "an index"), ML_DTYPE(t),
                where);
}

static void fail_shift(ml_Ctx *cx, const ml_Fault *f, const ml_Expr *e, ml_Dtype t,
                       ml_Fact where)
{
    ml_Fact by = ML_NUMBER("by", f->number[0]);

    if (e)
        ml_fail(cx, f->code, ML_EXPRESSION(e), by, ML_DTYPE(t), where);
    else
        ml_fail(cx, f->code, ML_TEXT("an index"), by, ML_DTYPE(t), where);
}

static void fail_block(ml_Ctx *cx, const ml_Fault *f, ml_Fact where)
{
    if (f->code == ML_E_OUTSIDE_REGION)
        ml_fail(cx, f->code, ML_BLOCK(f->block), ML_TEXT(f->word), ML_BUFFER(f->buffer),
                ML_TEXT(f->place), where);
    else
        ml_fail(cx, f->code, ML_ITER(f->trap->block, f->trap->iter),
                ML_BLOCK(f->trap->block), ML_NUMBER("value", f->number[0]),
                ML_TEXT(f->place), where);
}

/* A program without a schedule has no names but its own. */
static ml_Fact loop_fact(const ml_Par *p)
{
    ml_Fact f = ML_VARIABLE(p->var);

    if (p->stmt->kind == ML_STMT_FOR) {
        f = ML_LOOP(p->stmt);
        f.name = p->var->hint;
    }
    return f;
}

/* cx may be frozen: an error of its own it may have all the same. */
static void set_place(ml_Ctx *cx, const ml_Stmt *s, const ml_Expr *e)
{
    ml_Ctx *tmp = ml_ctx_new(0);

    ml_error_set_place(cx, e ? ml_expr_place(tmp, s, e) : s->span);
    ml_ctx_unref(tmp);
}

void ml_fault_report(ml_Ctx *cx, const ml_Run *run, ml_InterpReport *report, ml_Text *loops)
{
    const ml_Fault *f = &run->fault;
    const ml_Gen *g = run->g;
    const ml_Site *site = &g->sites.v[g->site_of.v[f->pc]];
    const ml_Expr *e = own_expr(g, g->expr_of.v[f->pc]);
    ml_Dtype t = g->expr_of.v[f->pc] ? g->expr_of.v[f->pc]->type : ML_DT_I32;
    const ml_Buffer *b = f->buffer;
    ml_Fact where = site->stmt ? ML_STATEMENT(site->stmt) : ML_FACT_END; /* marked, last */

    loop_values(loops, run, site->loops);
    switch (f->code) {
    case ML_E_OUT_OF_BOUNDS:
        if (f->number[1] < 0)
            ml_fail(cx, f->code, ML_BUFFER(b), ML_NUMBER("bytes", f->number[0]),
                    ML_NUMBER("dimension", 0), ML_NUMBER("extent", f->number[2]), where);
        else
            ml_fail(cx, f->code, ML_BUFFER(b), ML_NUMBER("index", f->number[0]),
                    ML_NUMBER("dimension", f->number[1]), ML_NUMBER("extent", f->number[2]),
                    where);
        break;
    case ML_E_UNDEFINED_READ:
        if (b)
            ml_fail(cx, f->code, ML_BUFFER(b), ML_TEXT(f->place), where);
        else
            ml_fail(cx, f->code, ML_TEXT("undef"), ML_TEXT("a use"), where);
        break;
    case ML_E_RACE:
        ml_fail(cx, f->code, loop_fact(f->par), ML_NUMBER("first", f->number[0]),
                ML_NUMBER("second", f->number[1]), ML_BUFFER(b), ML_TEXT(f->place), where);
        break;
    case ML_E_THREADS_COOPERATE:
        if (f->par)
            ml_fail(cx, f->code, loop_fact(f->par), ML_BUFFER(b), where);
        else
            ml_fail(cx, f->code, ML_TEXT("a kernel"),
                    ML_TEXT(f->trap ? f->trap->text : "memory"), where);
        break;
    case ML_E_THREAD_RACE:
    case ML_E_DIVERGENT_BARRIER: ml_fault_threads(cx, run, where); break;
    case ML_E_OUTSIDE_REGION:
    case ML_E_DOMAIN_EXCEEDED: fail_block(cx, f, where); break;
    case ML_E_OVERFLOW:
    case ML_E_DIVIDE_BY_ZERO: fail_overflow(cx, run, e, t, where); break;
    case ML_E_BAD_SHIFT: fail_shift(cx, f, e, t, where); break;
    case ML_E_TOO_LARGE:
        if (b)
            ml_fail(cx, f->code,
                    ML_TEXT("a buffer does not fit the memory limit of the run"),
                    ML_BUFFER(b), where);
        else
            ml_fail(cx, f->code, ML_TEXT("the run takes more iterations than allowed"),
                    ML_NUMBER("iterations", run->iterations), where);
        break;
    default: /* a trap with its own text, or a condition of the context */
        if (f->trap && f->trap->text)
            ml_fail(cx, f->code, ML_TEXT(f->trap->text), where);
        else
            ml_fail(cx, f->code, ML_TEXT(f->word ? f->word : ""), where);
        break;
    }
    if (loops->n)
        ml_error_note(cx, "at %s", ml_text_z(loops));
    if (site->stmt && site->stmt->span)
        set_place(cx, site->stmt, e);
    if (report) {
        report->where = site->stmt;
        report->iterations = run->iterations;
    }
}
