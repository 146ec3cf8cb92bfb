/* memory_data - what :memory tells, as data. */
#include "repl/out/data.h"
#include "repl/show/memory_text.h"

static void data_times(ml_Data *d, const char *key, const ml_PerElement *p,
                       int64_t elements)
{
    ml_data_object(d, key);
    ml_data_int(d, "total", (int64_t)p->total);
    ml_data_int(d, "min", (int64_t)p->min);
    ml_data_real(d, "mean", elements ? (double)p->total / (double)elements : 0);
    ml_data_int(d, "max", (int64_t)p->max);
    ml_data_list(d, "histogram");
    for (uint32_t k = 0; k < p->n; k++) {
        ml_data_object(d, NULL);
        ml_data_int(d, "from", (int64_t)p->times[k]);
        ml_data_int(d, "to", (int64_t)p->to[k]);
        ml_data_int(d, "elements", (int64_t)p->elements[k]);
        ml_data_end(d);
    }
    ml_data_end(d);
    ml_data_end(d);
}

static void data_distances(ml_Data *d, const uint64_t *v, uint64_t cold)
{
    ml_data_object(d, "reuse");
    ml_data_int(d, "first_touch", (int64_t)cold);
    ml_data_list(d, "distance");
    for (uint32_t b = 0; b < ML_DISTANCE_BINS; b++) {
        uint64_t from, to;

        if (v[b] == 0)
            continue;
        ml_distance_bin(b, &from, &to);
        ml_data_object(d, NULL);
        ml_data_int(d, "from", (int64_t)from);
        ml_data_int(d, "to", (int64_t)to);
        ml_data_int(d, "touches", (int64_t)v[b]);
        ml_data_end(d);
    }
    ml_data_end(d);
    ml_data_end(d);
}

static void data_accesses(ml_MemoryTell *c, ml_Data *d)
{
    const ml_MemoryFacts *f = c->f;

    ml_data_list(d, "accesses");
    for (uint32_t k = 0; k < f->n_accesses; k++) {
        const ml_AccessTouches *a = &f->accesses[k];

        if (a->memory != f->buffer)
            continue;
        ml_data_object(d, NULL);
        ml_data_str(d, "block", ml_memory_block(c, a->stmt));
        ml_data_str(d, "kind", a->store ? "store" : "load");
        ml_data_int(d, "touches", (int64_t)a->touches);
        if (a->touches) {
            ml_data_int(d, "first_byte", (int64_t)a->first_byte);
            ml_data_int(d, "last_byte", (int64_t)a->last_byte);
        }
        if (a->store) {
            ml_data_int(d, "overwritten", (int64_t)a->overwritten);
            ml_data_int(d, "never_loaded", (int64_t)a->unread);
            ml_data_int(d, "computed_again", (int64_t)a->again);
        }
        ml_data_object(d, "strides");
        for (uint32_t n = 0; n < a->n_strides; n++)
            if (a->strides[n].known)
                ml_data_int(d, ml_memory_loop(c, f->loops[a->strides[n].loop].var),
                            a->strides[n].bytes);
        ml_data_end(d);
        data_distances(d, a->distance, a->cold);
        ml_data_end(d);
    }
    ml_data_end(d);
}

static void data_parallel(ml_MemoryTell *c, ml_Data *d)
{
    const ml_MemoryFacts *f = c->f;

    ml_data_list(d, "parallel");
    for (uint32_t k = 0; k < f->n_parallel; k++) {
        const ml_ParallelTouches *p = &f->parallel[k];

        ml_data_object(d, NULL);
        ml_data_str(d, "loop", ml_memory_loop(c, p->var));
        ml_data_str(d, "iterations",
                    p->dynamic   ? "one at a time"
                    : p->in_turn ? "in turn"
                                 : "chunks");
        ml_data_bool(d, "own_copy", p->own);
        ml_data_int(d, "shared_lines", (int64_t)p->shared_lines);
        ml_data_int(d, "false_sharing_lines", (int64_t)p->false_lines);
        ml_data_int(d, "shared_elements", (int64_t)p->shared_elements);
        ml_data_int(d, "lines_loaded_by_several", (int64_t)p->read_lines);
        ml_data_list(d, "threads");
        for (uint32_t t = 0; t < p->threads; t++) {
            const ml_ThreadTouches *v = &p->thread[t];
            ml_data_object(d, NULL);
            ml_data_int(d, "loads", (int64_t)v->loads);
            ml_data_int(d, "stores", (int64_t)v->stores);
            ml_data_int(d, "elements", (int64_t)v->elements);
            ml_data_int(d, "lines", (int64_t)v->lines);
            if (f->rank && v->elements) {
                ml_data_list(d, "min");
                for (uint32_t n = 0; n < f->rank; n++)
                    ml_data_int(d, NULL, v->min[n]);
                ml_data_end(d);
                ml_data_list(d, "max");
                for (uint32_t n = 0; n < f->rank; n++)
                    ml_data_int(d, NULL, v->max[n]);
                ml_data_end(d);
                ml_data_bool(d, "whole_box", v->rows);
            }
            ml_data_end(d);
        }
        ml_data_end(d);
        ml_data_end(d);
    }
    ml_data_end(d);
}

void ml_memory_data(ml_MemoryTell *c)
{
    const ml_MemoryFacts *f = c->f;
    ml_Data *d = ml_session_data(c->ss);

    if (!d)
        return;
    ml_data_one(d);
    ml_data_str(d, "buffer", c->name);
    ml_data_bool(d, "exact", f->exact);
    if (f->cut) {
        ml_Text t = {0};
        ml_memory_caps(c, &t);
        ml_data_str(d, "walked", ml_text_z(&t));
        ml_text_free(&t);
    }
    ml_data_int(d, "accesses_walked", (int64_t)f->touches);
    ml_data_real(d, "accesses_expected", f->expected);
    ml_data_int(d, "elements", f->elements);
    ml_data_int(d, "element_bytes", f->element_bytes);
    ml_data_int(d, "lines", (int64_t)f->lines);
    ml_data_int(d, "lines_touched", (int64_t)f->lines_touched);
    data_times(d, "loads", &f->loads, f->elements);
    data_times(d, "stores", &f->stores, f->elements);
    ml_data_object(d, "redundant");
    ml_data_int(d, "overwritten", (int64_t)f->overwritten);
    ml_data_int(d, "never_loaded", (int64_t)f->unread);
    ml_data_int(d, "computed_again", (int64_t)f->again);
    ml_data_end(d);
    data_distances(d, f->distance, f->cold);
    ml_data_list(d, "loops");
    for (uint32_t k = 0; k < f->n_loops; k++) {
        const ml_LoopTouches *l = &f->loops[k];
        if (l->touches <= 0)
            continue;
        ml_data_object(d, NULL);
        ml_data_str(d, "loop", ml_memory_loop(c, l->var));
        ml_data_int(d, "depth", l->depth);
        ml_data_str(d, "kind", ml_for_kind_name((ml_ForKind)l->kind));
        ml_data_int(d, "iterations", (int64_t)l->iterations);
        ml_data_real(d, "touches", l->touches);
        ml_data_real(d, "lines", l->lines);
        ml_data_real(d, "lines_of_all", l->all_lines);
        ml_data_end(d);
    }
    ml_data_end(d);
    data_accesses(c, d);
    data_parallel(c, d);
}
