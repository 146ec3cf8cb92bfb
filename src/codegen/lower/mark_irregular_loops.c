/*
 * mark_irregular_loops - a loop with a break or continue of its own must be serial; it gets
 * the annotation irregular_loop_mark and is left as it is by later passes.
 * Source: lowering-and-codegen 2.13.
 */
#include "moonloop/codegen/lower/lower_impl.h"

static const char PASS[] = "mark_irregular_loops";

typedef struct Marker {
    ml_Lower *lo;
    bool leaves; /* a break or continue of the loop at work was found */
    bool failed;
} Marker;

/* What asks for another form of the loop; NULL: nothing. */
static const char *demand(const ml_For *f)
{
    static const char *const keys[] = {
        "pragma_auto_unroll_max_step", "pragma_unroll_explicit",
        "pragma_loop_partition_hint",  "software_pipeline_stage",
        "software_pipeline_order",     "software_pipeline_async_stages"};

    for (size_t k = 0; k < ML_COUNT(keys); k++)
        if (ml_dict_get(f->annotations, keys[k]))
            return keys[k];
    return NULL;
}

static const ml_Stmt *mark_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = mark_stmt, .user = user};
    Marker *w = user;
    bool outer = w->leaves;

    if (w->failed)
        return s;
    if (s->kind == ML_STMT_BREAK || s->kind == ML_STMT_CONTINUE)
        w->leaves = true;
    if (s->kind != ML_STMT_FOR && s->kind != ML_STMT_WHILE)
        return ml_stmt_map(cx, s, &m);
    w->leaves = false;
    s = ml_stmt_map(cx, s, &m);
    if (w->leaves && s->kind == ML_STMT_FOR && !w->failed) {
        ml_For f = *ml_as_for(s);

        if (f.kind != ML_FOR_SERIAL) {
            ml_lower_fail(w->lo, PASS, s,
                          "loop %s has a break or continue and is %s; it must be serial",
                          f.var->hint, ml_for_kind_name((ml_ForKind)f.kind));
            w->failed = true;
        } else if (demand(&f)) {
            ml_lower_fail(w->lo, PASS, s,
                          "loop %s has a break or continue and the annotation %s; remove "
                          "one of them",
                          f.var->hint, demand(&f));
            w->failed = true;
        }
        f.annotations =
            ml_dict_with(cx, f.annotations, ML_IRREGULAR_LOOP, ml_val_int(cx, 1));
        s = ml_for_from(cx, &f);
    }
    w->leaves = outer;
    return s;
}

const ml_Func *ml_pass_mark_irregular_loops(ml_Lower *lo, const ml_Func *f)
{
    Marker w = {.lo = lo};
    const ml_Stmt *body = mark_stmt(lo->cx, f->body, &w);

    return w.failed ? NULL : ml_func_with_body(lo->cx, f, body);
}
