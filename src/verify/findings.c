/* findings - making findings: an error per finding in the caller's context. */
#include "moonloop/verify/findings.h"

#include <stdarg.h>

ml_Error *ml_find_(ml_Finder *f, ml_Severity severity, ml_ErrorCode code, ...)
{
    ml_Error *e = ML_NEW(f->cx, ml_Error);
    va_list ap;

    e->code = code;
    e->unproved = severity == ML_SEV_UNPROVED;
    va_start(ap, code);
    for (;;) {
        ml_Fact fact = va_arg(ap, ml_Fact);

        if (fact.kind == ML_FACT_STOP || e->n_facts == ML_MAX_FACTS)
            break;
        e->facts[e->n_facts++] = fact;
    }
    va_end(ap);
    ml_push(f->cx, f->out, ((ml_Finding){(uint8_t)severity, e, f->func}));
    f->errors += severity == ML_SEV_ERROR;
    return e;
}

void ml_find_note(ml_Finder *f, ml_Error *e, const char *note)
{
    const char **notes = ML_ARRAY(f->cx, const char *, e->n_notes + 1);

    for (uint32_t k = 0; k < e->n_notes; k++)
        notes[k] = e->notes[k];
    notes[e->n_notes++] = note;
    e->notes = notes;
}

const char *ml_iter_name(const ml_Block *b, size_t k)
{
    const char *hint = b->iters[k].var->hint;

    return hint && *hint ? hint : "v";
}

void ml_findings_fail(ml_Ctx *cx, const ml_Findings *out, size_t from)
{
    for (size_t k = from; k < out->n; k++) {
        const ml_Error *e = out->v[k].error;
        const ml_Fact *f = e->facts;

        if (out->v[k].severity != ML_SEV_ERROR)
            continue;
        ml_fail_as_(cx, e->code, e->says, f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7],
                    f[8], f[9], f[10], f[11], ML_FACT_END);
        for (uint32_t n = 0; n < e->n_notes; n++)
            ml_error_note(cx, "%s", e->notes[n]);
        if (e->place)
            ml_error_set_place(cx, e->place);
        return;
    }
}
