/* profile - where the time goes, as facts. Source: interaction 8 (:profile). */
#include "moonloop/work/profile.h"

#include <math.h>

#include "moonloop/core/walk.h"
#include "moonloop/work/fact/fact.h"

typedef struct Label {
    ml_Schedule *s;
    ml_Text *t;
    int blocks;
} Label;

static bool name_block(const ml_Stmt *s, void *user)
{
    Label *l = user;

    if (s->kind != ML_STMT_BLOCK || ml_as_block(s)->n_iters == 0)
        return true;
    if (l->blocks++ < 3)
        ml_text_fmt(l->t, "%s%s", l->blocks > 1 ? ", " : "",
                    ml_name_of(l->s, ml_as_block(s)->tag));
    return false;
}

void ml_nest_label(ml_Schedule *s, const ml_Stmt *nest, ml_Text *t)
{
    Label l = {s, t, 0};

    if (nest->kind == ML_STMT_FOR)
        ml_text_fmt(t, "%s: ", ml_name_of(s, ml_as_for(nest)->var->uid));
    ml_stmt_visit(nest, name_block, &l);
    if (l.blocks > 3)
        ml_text_fmt(t, ", %d more", l.blocks - 3);
    if (l.blocks == 0)
        ml_text_add(t, nest->kind == ML_STMT_FOR ? "no block" : "a statement");
}

static void tell_these(ml_Data *d, const char *key, const ml_Counters *c)
{
    static const char *const KEYS[ML_COUNTERS] = {"cycles",     "instructions",
                                                  "l1_misses",  "last_level_misses",
                                                  "tlb_misses", "branch_misses"};

    if (!c->known)
        return;
    ml_data_object(d, key);
    for (int e = 0; e < ML_COUNTERS; e++)
        if (c->known >> e & 1)
            ml_data_real(d, KEYS[e], c->v[e]);
    ml_data_end(d);
}

static void tell_counters(ml_Data *d, const char *key, const void *s)
{
    tell_these(d, key, &((const ml_ProfileRow *)s)->p->counters);
}

static void tell_no_counters(ml_Data *d, const char *key, const void *s)
{
    const ml_Profile *p = ((const ml_ProfileRow *)s)->p;
    ml_Text why = {0};

    if (!p->counters.error)
        return;
    ml_counters_why(&why, p->counters.error);
    ml_data_str(d, key, ml_text_z(&why));
    ml_text_free(&why);
}

static void tell_nests(ml_Data *d, const char *key, const void *s)
{
    const ml_ProfileRow *r = s;

    ml_data_list(d, key);
    for (uint32_t k = 0; k < r->p->n; k++) {
        const ml_NestTime *v = &r->p->nests[k];
        ml_Text name = {0};

        ml_nest_label(r->s, v->nest.stmt, &name);
        ml_data_object(d, NULL);
        ml_data_str(d, "nest", ml_text_z(&name));
        ml_text_free(&name);
        ml_data_real(d, "seconds", v->seconds);
        ml_data_real(d, "share", r->p->sum > 0 ? v->seconds / r->p->sum : (double)NAN);
        ml_data_real(d, "flop", v->flop);
        tell_these(d, "counters", &v->counters);
        ml_data_end(d);
    }
    ml_data_end(d);
}

#define ML_FIELDS       "work/fact/profile.def"
#define ML_FIELDS_TABLE ml_profile_fields
#define ML_FIELDS_NAME  "profile"
#define ML_FIELDS_WHAT  "a version, nest by nest"
#include "moonloop/core/json/field_table.def"
