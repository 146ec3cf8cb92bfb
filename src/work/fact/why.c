/* why - what keeps a version from its bound, as facts. Source: interaction 8 (:why-slow). */
#include "moonloop/work/why/why.h"

#include <math.h>

#include "moonloop/work/fact/fact.h"

static void tell_causes(ml_Data *d, const char *key, const void *s)
{
    const ml_Why *w = s;

    ml_data_list(d, key);
    for (uint32_t k = 0; k < w->n; k++) {
        const ml_WhyCause *c = &w->causes[k];

        ml_data_object(d, NULL);
        ml_data_str(d, "cause", c->name);
        ml_data_str(d, "block", c->block);
        if (c->line)
            ml_data_int(d, "line", c->line);
        ml_data_str(d, "evidence", c->evidence);
        if (c->code)
            ml_data_str(d, "code", c->code);
        ml_data_real(d, "gain", c->gain);
        if (c->step)
            ml_data_str(d, "step", c->step);
        if (!isnan(c->tried))
            ml_data_real(d, "measured_gain", c->tried);
        ml_data_end(d);
    }
    ml_data_end(d);
}

static void tell_stages(ml_Data *d, const char *key, const void *s)
{
    const ml_WhyModel *m = &((const ml_Why *)s)->model;

    ml_data_list(d, key);
    for (uint32_t k = 0; k < m->n; k++) {
        const ml_WhyStage *g = &m->stages[k];

        ml_data_object(d, NULL);
        ml_data_str(d, "block", g->block);
        ml_data_int(d, "line", g->line);
        ml_data_real(d, "seconds", g->seconds);
        ml_data_real(d, "compute", g->compute);
        for (int l = ML_MACHINE_L2; l < ML_MACHINE_LEVELS; l++)
            ml_data_real(d, ml_machine_level_name((ml_MachineLevel)l), g->memory[l]);
        ml_data_real(d, "waiting", g->waiting);
        ml_data_real(d, "threads", g->threads);
        ml_data_end(d);
    }
    ml_data_end(d);
}

#define ML_FIELDS       "work/fact/why.def"
#define ML_FIELDS_TABLE ml_why_fields
#define ML_FIELDS_NAME  "why-slow"
#define ML_FIELDS_WHAT  "what keeps a version from its bound"
#include "moonloop/core/json/field_table.def"
