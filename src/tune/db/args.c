/* args - the arguments of a function as records tell them. Source: auto-scheduler 17. */
#include "moonloop/tune/db/db.h"

const char *ml_db_args(ml_Ctx *cx, const ml_Func *f)
{
    ml_Text t = {0};
    const char *z;
    size_t n = 0;

    ml_text_char(&t, '[');
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        if (b == NULL)
            continue;
        ml_text_fmt(&t, "%s[\"TENSOR\", \"", n++ ? ", " : "");
        ml_dtype_print(&t, b->type);
        ml_text_add(&t, "\", [");
        for (uint16_t d = 0; d < b->rank; d++) {
            if (d)
                ml_text_add(&t, ", ");
            if (ml_is_const_int(b->shape[d]))
                ml_text_int(&t, b->shape[d]->as.i);
            else
                ml_text_add(&t, "-1");
        }
        ml_text_add(&t, "]]");
    }
    ml_text_char(&t, ']');
    z = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}
