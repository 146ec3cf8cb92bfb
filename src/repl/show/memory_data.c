/* memory_data - what :memory tells, as data. */
#include "moonloop/core/json/field.h"
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

static void data_distances(ml_Data *d, const char *key, const uint64_t *v, uint64_t cold)
{
    ml_data_object(d, key);
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

static void tell_accesses(ml_Data *d, const char *key, const void *s)
{
    const ml_MemoryTell *c = s;
    const ml_MemoryFacts *f = c->f;

    ml_data_list(d, key);
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
        data_distances(d, "distances", a->distance, a->cold);
        ml_data_end(d);
    }
    ml_data_end(d);
}

static void tell_parallel(ml_Data *d, const char *key, const void *s)
{
    const ml_MemoryTell *c = s;
    const ml_MemoryFacts *f = c->f;

    ml_data_list(d, key);
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

static void tell_loops(ml_Data *d, const char *key, const void *s)
{
    const ml_MemoryTell *c = s;

    ml_data_list(d, key);
    for (uint32_t k = 0; k < c->f->n_loops; k++) {
        const ml_LoopTouches *l = &c->f->loops[k];

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
}

static void tell_walked(ml_Data *d, const char *key, const void *s)
{
    const ml_MemoryTell *c = s;
    ml_Text t = {0};

    if (!c->f->cut)
        return;
    ml_memory_caps(c, &t);
    ml_data_str(d, key, ml_text_z(&t));
    ml_text_free(&t);
}

static void tell_loads(ml_Data *d, const char *key, const void *s)
{
    const ml_MemoryFacts *f = ((const ml_MemoryTell *)s)->f;

    data_times(d, key, &f->loads, f->elements);
}

static void tell_stores(ml_Data *d, const char *key, const void *s)
{
    const ml_MemoryFacts *f = ((const ml_MemoryTell *)s)->f;

    data_times(d, key, &f->stores, f->elements);
}

static void tell_redundant(ml_Data *d, const char *key, const void *s)
{
    const ml_MemoryFacts *f = ((const ml_MemoryTell *)s)->f;

    ml_data_object(d, key);
    ml_data_int(d, "overwritten", (int64_t)f->overwritten);
    ml_data_int(d, "never_loaded", (int64_t)f->unread);
    ml_data_int(d, "computed_again", (int64_t)f->again);
    ml_data_end(d);
}

static void tell_reuse(ml_Data *d, const char *key, const void *s)
{
    const ml_MemoryFacts *f = ((const ml_MemoryTell *)s)->f;

    data_distances(d, key, f->distance, f->cold);
}

#define ML_FIELDS       "repl/show/memory.def"
#define ML_FIELDS_TABLE ml_memory_fields
#define ML_FIELDS_NAME  "memory"
#define ML_FIELDS_WHAT  "how a buffer is used"
#include "moonloop/core/json/field_table.def"
