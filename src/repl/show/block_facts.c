/* block_facts - what :block and the panes say of a block. Source: interaction 4, 10. */
#include "repl/show/block_facts.h"

#include "moonloop/primitives/call/render.h"

/* The sentence of cx's error, which is cleared; NULL: there is none. */
static const char *sentence(ml_Ctx *cx, ml_Schedule *s, ml_Program p)
{
    const char *z;
    ml_Failure *f;

    if (!ml_error(cx))
        return NULL;
    f = ml_failure_about(ml_error(cx), s, p.mod);
    z = ml_strdup(cx, ml_str(ml_failure_message(f)));
    ml_failure_free(f);
    ml_error_clear(cx);
    return z;
}

void ml_block_facts(ml_Ctx *cx, ml_Schedule *s, int version, ml_Uid block, bool why,
                    ml_BlockFacts *out)
{
    ml_Program p = ml_version_program(s, version);
    ml_Facts *f = ml_facts_new(cx);

    *out = (ml_BlockFacts){.kind = ML_BLOCK_NEITHER};
    if (ml_complete_violation(cx, f, p, block, &out->complete_why) == 0)
        out->kind = ML_BLOCK_COMPLETE;
    else if (ml_reduction_violation(cx, f, p, block, &out->reduction_why) == 0)
        out->kind = ML_BLOCK_REDUCTION;
    out->affine = ml_is_affine(cx, f, p, block, &out->affine_why);
    ml_producers(cx, f, p, block, &out->producers);
    ml_consumers(cx, f, p, block, &out->consumers);
    out->covered = ml_is_covered(cx, f, p, block, why);
    if (!out->covered && why)
        out->cover_why = sentence(cx, s, p);
    if (why) {
        out->pipeline = ml_need_stage_pipeline(cx, f, p, block);
        if (!out->pipeline)
            out->pipeline_why = sentence(cx, s, p);
    }
    ml_error_clear(cx);
    ml_facts_free(f);
}
