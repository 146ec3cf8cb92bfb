/* findings - making findings: an error per finding in the caller's context. */
#include "verify/findings.h"

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
