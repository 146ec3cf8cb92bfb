/* frame - something run inside something else (frame.h). Source: interaction 3, 4, 10. */
#include "repl/session/frame.h"

void ml_frame_push(ml_Session *ss, ml_RunFrame *f, const ml_RunOpts *run)
{
    ml_Out *o = &ss->out;

    *f = (ml_RunFrame){.run = run,
                       .out = *o,
                       .mode = ss->mode,
                       .data = ss->data,
                       .json = ss->json,
                       .prompting = ss->prompting,
                       .status = ss->status,
                       .depth = ss->depth};
    if (run->sink.out)
        o->sink.out = run->sink.out;
    if (run->sink.err)
        o->sink.err = run->sink.err;
    if (run->mode != ML_MODE_AS_IS)
        ss->mode = run->mode;
    if (run->tells)
        ss->data = run->data;
    if (run->outermost)
        ss->depth = 0;
    if (run->as_text)
        ss->json = o->json = false;
    if (run->page > 0) {
        o->color = o->err_color = o->pager = false;
        o->width = run->page;
        o->height = 0;
        o->folds = false;
        ss->prompting = false;
    }
}

void ml_frame_pop(ml_Session *ss, const ml_RunFrame *f)
{
    ml_Out *o = &ss->out;

    o->sink = f->out.sink;
    if (f->run->page > 0) {
        o->color = f->out.color;
        o->err_color = f->out.err_color;
        o->pager = f->out.pager;
        o->width = f->out.width;
        o->height = f->out.height;
        o->folds = f->out.folds;
    }
    ss->mode = f->mode;
    ss->data = f->data;
    ss->json = f->json;
    o->json = f->out.json;
    ss->prompting = f->prompting;
    ss->depth = f->depth;
    if (f->run->apart)
        ss->status = f->status;
}
