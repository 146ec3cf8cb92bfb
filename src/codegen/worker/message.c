/* message - fills the placeholders of an error's sentence. Loops and blocks, which are
 * known by number only, have their own name, or that of their kind. */
#include "moonloop/codegen/worker/message.h"
#include "moonloop/core/script/script.h"

static void add_fact(ml_Ctx *cx, ml_Text *t, const ml_Fact *f)
{
    switch ((ml_FactKind)f->kind) {
    case ML_FACT_STOP: break;
    case ML_FACT_LOOP: ml_text_add(t, f->hint ? f->hint : "a loop"); break;
    case ML_FACT_BLOCK: ml_text_add(t, f->hint ? f->hint : "a block"); break;
    case ML_FACT_ITER:
        if (f->hint)
            ml_text_add(t, f->hint);
        else
            ml_text_fmt(t, "iterator %u", f->aux);
        break;
    case ML_FACT_POINT:
        for (uint32_t k = 0; k < f->aux; k++) {
            const ml_Coord *c = &f->as.point[k];

            ml_text_fmt(t, "%s%s%s%lld", k ? ", " : "", c->loop ? c->hint : "",
                        c->loop ? " = " : "", (long long)c->at);
        }
        break;
    case ML_FACT_BUFFER: ml_text_add(t, f->as.buffer->name); break;
    case ML_FACT_EXPR: ml_print_expr(cx, t, f->as.expr, NULL); break;
    case ML_FACT_VAR: ml_text_add(t, f->as.var->hint ? f->as.var->hint : "v"); break;
    case ML_FACT_NUMBER: ml_text_int(t, f->as.i); break;
    case ML_FACT_TEXT: ml_text_add(t, f->as.text); break;
    case ML_FACT_DTYPE: ml_dtype_print(t, f->as.type); break;
    case ML_FACT_STMT:
        if (f->as.stmt->span)
            ml_text_fmt(t, "line %u", f->as.stmt->span->line);
        else
            ml_text_add(t, "a statement");
        break;
    }
}

const char *ml_error_line(ml_Ctx *cx, const ml_Error *e)
{
    ml_Text t = {0};
    const char *z;

    if (e == NULL)
        return "";
    ml_text_add(&t, ml_error_opening(e));
    for (const char *p = ml_error_says(e); *p; p++) {
        if (p[0] == '{' && p[1] >= '0' && p[1] <= '9' && p[2] == '}') {
            uint32_t k = (uint32_t)(p[1] - '0');

            if (k < e->n_facts)
                add_fact(cx, &t, &e->facts[k]);
            p += 2;
        } else {
            ml_text_char(&t, *p);
        }
    }
    for (uint32_t k = 0; k < e->n_notes; k++)
        ml_text_fmt(&t, "; %s", e->notes[k]);
    z = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}
