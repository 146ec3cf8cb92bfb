/*
 * cmd_intrinsics - :intrinsics, the tensor intrinsics that a block can be mapped to.
 * Source: interaction 4, auto-scheduler 9.
 */
#include "moonloop/core/json/data.h"
#include "moonloop/core/targets.h"
#include "moonloop/primitives/intrin.h"
#include "moonloop/primitives/intrin/intrin_map.h"
#include "moonloop/primitives/schedule/schedule_impl.h"
#include "moonloop/work/fact/fact.h"
#include "repl/cmd/options.h"
#include "repl/show/show.h"

enum { SHOWN = 4 }; /* mappings of one intrinsic, unless it is asked for */

typedef struct Row {
    const char *block, *intrinsic, *text;
    int64_t at;
} Row;

#define ML_FIELDS       "repl/cmd/intrinsics.def"
#define ML_FIELDS_TABLE ml_intrinsic_fields
#define ML_FIELDS_NAME  "intrinsics"
#define ML_FIELDS_WHAT  "a way to map a block to a tensor intrinsic"
#include "moonloop/core/json/field_table.def"

typedef struct Look {
    ml_Session *ss;
    ml_Ctx *cx;
    ml_Handle block;
    const char *name;            /* of the block */
    const ml_TargetKind *target; /* NULL: what there is on any */
    ml_Text out;
    size_t n;
} Look;

static void add(Look *l, const char *intrin, const ml_IntrinMaps *m, size_t most)
{
    ml_Data *d = ml_session_data(l->ss);

    ml_text_fmt(&l->out, "%s\n", intrin);
    for (size_t k = 0; k < m->n; k++) {
        Row r = {l->name, intrin, ml_intrin_map_text(l->cx, m, &m->v[k]), (int64_t)k + 1};

        ml_data_row(d);
        ml_data_fields(d, &ml_intrinsic_fields, &r);
        if (k >= most)
            continue;
        ml_text_fmt(&l->out, "  %s\n    map_to_intrinsic(\"%s\", \"%s\"", r.text, l->name,
                    intrin);
        if (k > 0)
            ml_text_fmt(&l->out, ", %zu", k + 1);
        ml_text_add(&l->out, ")\n");
    }
    if (m->n > most)
        ml_text_fmt(&l->out, "  and %s%zu more: :intrinsics %s %s\n",
                    m->cut ? "at least " : "", m->n - most, l->name, intrin);
    l->n += m->n;
}

/* The block with most iters, the first of several; false: there is none. */
static bool main_block(ml_Schedule *s, ml_Handle *out)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_StmtVec blocks = {0};
    const ml_Block *best = NULL;

    ml_child_blocks(cx, &ml_func_root(ml_schedule_func(s))->base, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);

        if (!best || b->n_iters > best->n_iters)
            best = b;
    }
    if (best)
        *out = (ml_Handle){ML_H_BLOCK, best->tag};
    ml_ctx_unref(cx);
    return best != NULL;
}

/* What a person registered is of every target. */
static bool has(const ml_TargetKind *target, const char *intrin)
{
    int sm = target ? ml_intrin_sm(intrin) : -1, most = ml_target_sm(target);

    if (sm < 0)
        return true;
    return target->pipeline == ML_PIPE_GPU ? sm > 0 && (most == 0 || sm <= most) : sm == 0;
}

static bool look(Look *l, const char *intrin)
{
    ml_Schedule *s = l->ss->focus;
    ml_Intrins *all = s->space->intrins;
    const char *const *names = &intrin;
    size_t n = intrin ? 1 : ml_intrin_names(l->cx, all, &names);
    ml_IntrinMaps m;

    for (size_t k = 0; k < n; k++) {
        if (!has(l->target, names[k])) {
            if (intrin)
                return ml_session_error(l->ss, ML_E_NO_TARGET, "%s has no %s",
                                        l->target->name, intrin);
            continue;
        }
        if (!ml_intrin_maps(s, l->block, names[k], l->cx, &m))
            return ml_session_schedule_error(l->ss, s);
        if (m.n)
            add(l, names[k], &m, intrin ? SIZE_MAX : SHOWN);
        else if (intrin)
            ml_text_fmt(&l->out, "none: %s\n", m.why);
    }
    if (!intrin && l->n == 0)
        ml_text_fmt(&l->out,
                    "block %s computes what no intrinsic%s%s describes; :intrinsics %s "
                    "NAME tells why\n",
                    l->name, l->target ? " of " : "", l->target ? l->target->name : "",
                    l->name);
    return true;
}

/* Takes --target and its value out of the words. */
static bool read_target(Look *l, const ml_Words *w, const char **rest, size_t *n)
{
    *n = 0;
    for (size_t k = 0; k < w->n; k++) {
        if (!ml_streq(w->v[k], "--target")) {
            if (*n < 2)
                rest[*n] = w->v[k];
            ++*n;
            continue;
        }
        const char *name = k + 1 < w->n ? w->v[++k] : "";

        l->target = ml_target_kind(name);
        if (!l->target)
            return ml_session_error(l->ss, ML_E_NO_TARGET,
                                    "no target is named '%s': llvm, cuda, cuda-sm_75, "
                                    "cuda-sm_80, ... are",
                                    name);
    }
    return true;
}

bool cmd_intrinsics(ml_Session *ss, const ml_Words *w)
{
    Look l = {.ss = ss};
    const char *v[2];
    size_t n;
    bool ok = true;

    if (!read_target(&l, w, v, &n))
        return false;
    if (n > 2)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":intrinsics [BLOCK] [NAME] [--target T]");
    if (n > 0 ? !ml_resolve(ss->focus, v[0], ML_H_BLOCK, &l.block)
              : !main_block(ss->focus, &l.block)) {
        if (n > 0)
            return ml_session_schedule_error(ss, ss->focus);
        ml_page_prose(ss, "no blocks\n");
        return true;
    }
    l.cx = ml_ctx_new(0);
    l.name = ml_strdup(l.cx, ml_str(ml_name_of(ss->focus, l.block.uid)));
    ok = look(&l, n > 1 ? v[1] : NULL);
    if (ok)
        ml_page_prose(ss, ml_text_z(&l.out));
    ml_text_free(&l.out);
    ml_ctx_unref(l.cx);
    return ok;
}
