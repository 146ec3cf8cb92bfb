/*
 * cases - see cases.h
 */
#include "cases.h"

static void must(ml_Ctx *cx, bool ok)
{
    if (!ok)
        fail_msg("%s",
                 ml_error(cx) ? ml_error(cx)->facts[0].as.text : "a case is malformed");
}

void cases_read(ml_Ctx *cx, const char *file, const char *text, Cases *out)
{
    must(cx, ml_cases_read(cx, file, text, out));
}

const char *cases_whole(ml_Ctx *cx, const char *text, const char *of)
{
    const char *z = ml_case_whole(cx, text, of);

    must(cx, z != NULL);
    return z;
}
