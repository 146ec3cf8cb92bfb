/* complete - the root block, and the regions that blocks left out. Source: script 8.3. */
#include "moonloop/core/script/eval/eval.h"
#include "moonloop/core/script/infer.h"

typedef struct Completer {
    ml_Eval *ev;
    const ml_Map *pointers;
    size_t depth; /* blocks around */
} Completer;

static const ml_Stmt *fill(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    Completer *c = user;
    ml_Mapper m = {.stmt = fill, .user = c};
    const ml_BlockNote *note;
    ml_Inferred got;
    ml_Block b;

    if (!s->has_block)
        return s;
    if (s->kind != ML_STMT_BLOCK)
        return ml_stmt_map(cx, s, &m);
    c->depth++;
    s = ml_stmt_map(cx, s, &m);
    c->depth--;
    note = ml_map_get(c->ev->fn->notes, ml_as_block(s)->tag);
    if (c->depth == 0 || !note || (!note->no_reads && !note->no_writes))
        return s;
    b = *ml_as_block(s);
    if (!ml_infer_regions(cx, c->ev->ar, c->pointers, &b, &got))
        return s;
    if (got.opaque.n) {
        ml_report(
            c->ev->rep, ML_E_E606, note->at,
            "cannot infer the regions of block \"%s\": `%s.data` is used directly; write "
            "T.reads/T.writes",
            b.name, got.opaque.v[0]->name);
        return s;
    }
    if (note->no_reads) {
        b.reads = got.reads.v;
        b.n_reads = (uint32_t)got.reads.n;
    }
    if (note->no_writes) {
        b.writes = got.writes.v;
        b.n_writes = (uint32_t)got.writes.n;
    }
    return ml_block_from(cx, &b);
}

const ml_Stmt *ml_complete(ml_Eval *ev, const ml_Stmt *body)
{
    ml_FuncB *f = ev->fn;
    Completer c = {.ev = ev};
    ml_Func shell = {.name = "", .n_params = (uint32_t)f->params.n, .params = f->params.v};

    if (f->allocs.n ||
        (body->kind == ML_STMT_BLOCK ? ml_as_block(body)->n_iters > 0 : body->has_block)) {
        ml_Block root = {.name = "root", .body = body};

        root.base.span = body->span;
        root.tag = ml_fresh_uid(ev->cx);
        root.predicate = ml_bool(ev->cx, true);
        root.n_allocs = (uint32_t)f->allocs.n;
        root.allocs = f->allocs.v;
        body = ml_block_from(ev->cx, &root);
    }
    shell.body = body;
    ml_arith_bind_params(ev->ar, &shell);
    c.pointers = ml_infer_pointers(ev->sc, &shell);
    return fill(ev->cx, body, &c);
}
