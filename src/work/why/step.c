/* step - see step.h. */
#include "moonloop/work/why/step.h"

#include "moonloop/primitives/call_text.h"
#include "moonloop/verify/count/counts.h"

#include <stdarg.h>

bool ml_why_call(ml_WhyTry *t, const char *fmt, ...)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_CallTexts calls = {0};
    ml_Text text = {0};
    va_list ap;
    bool ok;

    va_start(ap, fmt);
    ml_text_vfmt(&text, fmt, ap);
    va_end(ap);
    ok = ml_parse_calls(tmp, ml_str(ml_text_z(&text)), &calls) && calls.n == 1 &&
         ml_apply_prim(t->s, calls.v[0].prim, calls.v[0].args, calls.v[0].n, &t->r);
    if (ok)
        ml_text_fmt(&t->line, "%s%s", t->line.n ? "; " : "", ml_text_z(&text));
    ml_text_free(&text);
    ml_ctx_unref(tmp);
    return ok;
}

const char *ml_why_name(ml_WhyTry *t, ml_Uid uid)
{
    return ml_name_of(t->s, uid);
}

static void add_stride(const ml_Stride *st, ml_WhyNestLoop *l)
{
    int64_t n = st->n < 0 ? -st->n : st->n;

    if (st->kind == ML_STRIDE_OPEN || st->expr)
        l->wide++;
    else if (n == 0)
        l->still++;
    else if (n == 1)
        l->unit++;
    else
        l->wide += (uint64_t)n * ml_dtype_bytes(st->site->buffer->type) >= 64;
}

static void look_at_loop(ml_Ctx *cx, ml_Program p, const ml_Block *b, const ml_For *f,
                         ml_WhyNest *out)
{
    ml_WhyNestLoop *l = &out->loop[out->n++];
    ml_LoopFacts facts;

    *l = (ml_WhyNestLoop){.uid = f->var->uid,
                          .extent = f->extent->kind == ML_EXPR_INT ? f->extent->as.i : -1,
                          .kind = f->kind,
                          .reduce = ml_loop_drives(b, f, ML_ITER_REDUCE)};
    if (!ml_counts_loop(cx, p, f->var->uid, &facts) || facts.loop == NULL)
        return;
    out->accesses = 0;
    for (uint32_t k = 0; k < facts.n_strides; k++)
        if (facts.strides[k].site->block == b && !facts.strides[k].site->in_init) {
            add_stride(&facts.strides[k], l);
            out->accesses++;
        }
}

static bool is_param(const ml_Func *f, const ml_Buffer *b)
{
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer && f->params[k].buffer->uid == b->uid)
            return true;
    return false;
}

bool ml_why_look(ml_Schedule *s, ml_Uid block, ml_WhyNest *out)
{
    ml_Program p = ml_schedule_program(s);
    const ml_Stmt *st = ml_index_node(p.index, block);
    ml_Ctx *cx;
    ml_StmtVec loops = {0};
    const ml_Block *b;
    const ml_Func *f;

    *out = (ml_WhyNest){.block = block};
    if (st == NULL || st->kind != ML_STMT_BLOCK)
        return false;
    b = ml_as_block(st);
    f = p.mod->funcs[ml_index_func(p.index, block)];
    cx = ml_ctx_fork(ml_schedule_ctx(s));
    ml_index_loops(cx, p.index, block, &loops);
    out->init = b->init != NULL;
    for (uint32_t k = 0; k < b->n_reads && out->n_reads < ML_WHY_READS; k++) {
        const ml_Buffer *r = b->reads[k].buffer;

        if (ml_write_of(b, r) == NULL) {
            out->reads[out->n_reads].uid = r->uid;
            out->reads[out->n_reads++].param = is_param(f, r);
        }
    }
    if (b->n_writes) {
        out->writes = b->writes[0].buffer->uid;
        out->writes_param = is_param(f, b->writes[0].buffer);
    }
    for (size_t k = 0; k < loops.n && loops.n <= ML_WHY_LOOPS; k++)
        look_at_loop(cx, p, b, ml_as_for(loops.v[k]), out);
    ml_ctx_unref(cx);
    return out->n > 0;
}
