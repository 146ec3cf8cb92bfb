/*
 * registered - what a session has registered, as JSON and back (registered.h).
 *
 * Functions are texts of the dialect; of a reducer the types, and the results and
 * identities as expressions over x0, x1, … and y0, y1, …
 */
#include "repl/keep/registered.h"

#include "moonloop/core/script/script.h"
#include "moonloop/primitives/call/render.h"
#include "moonloop/primitives/reducer/reducer.h"

/* ---- writing */

static void add_func(ml_Ctx *cx, const char *key, const ml_Func *f, ml_Text *out)
{
    ml_Text t = {0};

    ml_print_func(cx, &t, f, NULL);
    ml_text_fmt(out, ", \"%s\": ", key);
    ml_json_string(out, ml_text_z(&t));
    ml_text_free(&t);
}

static void add_intrins(ml_Ctx *cx, ml_Intrins *t, ml_Text *out)
{
    ml_Intrins *usual = ml_intrins_new();
    const char *const *names;
    size_t n = ml_intrin_names(cx, t, &names), said = 0;

    for (size_t k = 0; k < n; k++) {
        const ml_Intrin *in = ml_intrin_find(t, names[k]);

        if (!in || ml_intrin_find(usual, names[k]))
            continue;
        ml_text_add(out, said++ ? ", {\"name\": " : "{\"name\": ");
        ml_json_string(out, names[k]);
        add_func(cx, "desc", in->desc, out);
        add_func(cx, "impl", in->impl, out);
        ml_text_char(out, '}');
    }
    ml_intrins_unref(usual);
}

static void add_exprs(ml_Ctx *cx, const char *key, const ml_OwnReducer *r,
                      const ml_Expr *const *v, ml_Text *out)
{
    ml_Map *map = ml_map_new(cx);
    ml_Names names = {map};
    ml_PrintOpts o = {.spelling = -1, .names = &names};

    for (size_t k = 0; k < r->n; k++) {
        ml_map_set(cx, map, r->x[k]->as.var->uid, ml_format(cx, "x%zu", k));
        ml_map_set(cx, map, r->y[k]->as.var->uid, ml_format(cx, "y%zu", k));
    }
    ml_text_fmt(out, ", \"%s\": [", key);
    for (size_t k = 0; k < r->n; k++) {
        ml_Text t = {0};

        ml_print_expr(cx, &t, v[k], &o);
        ml_text_add(out, k ? ", " : "");
        ml_json_string(out, ml_text_z(&t));
        ml_text_free(&t);
    }
    ml_text_char(out, ']');
}

static void add_reducer(ml_Ctx *cx, const ml_OwnReducer *r, bool comma, ml_Text *out)
{
    ml_text_add(out, comma ? ", {\"types\": [" : "{\"types\": [");
    for (size_t k = 0; k < r->n; k++)
        ml_text_fmt(out, "%s\"%s\"", k ? ", " : "", ml_dtype_name(cx, r->x[k]->type));
    ml_text_char(out, ']');
    add_exprs(cx, "result", r, r->result, out);
    add_exprs(cx, "identity", r, r->identity, out);
    ml_text_char(out, '}');
}

bool ml_registered_news(ml_Registered *r, ml_Intrins *t, ml_Text *out)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const char *const *names;
    size_t intrins = ml_intrin_names(cx, t, &names), reducers = r->reducers;
    bool any;

    if (r->intrins == 0) { /* those that are built in are in every session */
        ml_Intrins *usual = ml_intrins_new();

        r->intrins = ml_intrin_names(cx, usual, &names);
        ml_intrins_unref(usual);
    }
    while (ml_reducer_own(t, reducers))
        reducers++;
    any = intrins != r->intrins || reducers != r->reducers;
    if (any) {
        ml_text_add(out, ", \"registered\": {\"intrins\": [");
        if (intrins != r->intrins)
            add_intrins(cx, t, out);
        ml_text_add(out, "], \"reducers\": [");
        for (size_t k = r->reducers; k < reducers; k++)
            add_reducer(cx, ml_reducer_own(t, k), k > r->reducers, out);
        ml_text_add(out, "]}");
    }
    *r = (ml_Registered){intrins, reducers};
    ml_ctx_unref(cx);
    return any;
}

/* ---- reading */

static bool failed(ml_Ctx *cx, const char *what, ml_Text *why)
{
    ml_Failure *f = ml_error(cx) ? ml_failure_from(ml_error(cx)) : NULL;

    ml_text_fmt(why, "%s: %s", what,
                f ? ml_failure_message(f) : "its parts are not all there");
    ml_failure_free(f);
    ml_error_clear(cx);
    return false;
}

static const ml_Func *read_func(ml_Ctx *cx, const ml_Json *j)
{
    const char *z = ml_json_text(j);
    ml_Parsed p = {0};

    if (z)
        p = ml_parse(cx, ml_str(z), &(ml_ParseOpts){.spelling = -1});
    return p.mod && p.mod->n == 1 ? p.mod->funcs[0] : NULL;
}

static bool read_intrin(ml_Ctx *cx, ml_Intrins *t, const ml_Json *j, ml_Text *why)
{
    const char *name = ml_json_text(ml_json_get(j, "name"));
    const ml_Func *desc, *impl;

    if (name && ml_intrin_find(t, name))
        return true;
    desc = name ? read_func(cx, ml_json_get(j, "desc")) : NULL;
    impl = desc ? read_func(cx, ml_json_get(j, "impl")) : NULL;
    if (impl && ml_intrin_register(cx, t, name, desc, impl, false))
        return true;
    return failed(cx, "a tensor intrinsic", why);
}

static const ml_Expr *read_expr(ml_Ctx *cx, const ml_Json *j, const ml_OwnReducer *r)
{
    ml_ParseName names[2 * ML_MAX_REDUCER] = {{0}};
    ml_Parsed diags = {0};
    const char *z = ml_json_text(j);

    for (size_t k = 0; k < r->n; k++) {
        names[2 * k] = (ml_ParseName){.name = ml_format(cx, "x%zu", k), .expr = r->x[k]};
        names[2 * k + 1] =
            (ml_ParseName){.name = ml_format(cx, "y%zu", k), .expr = r->y[k]};
    }
    return z ? ml_parse_expr(cx, ml_str(z), names, 2 * r->n, &diags) : NULL;
}

static bool read_reducer(ml_Ctx *cx, ml_Intrins *t, const ml_Json *j, ml_Text *why)
{
    const ml_Json *types = ml_json_get(j, "types"), *result = ml_json_get(j, "result"),
                  *identity = ml_json_get(j, "identity");
    ml_OwnReducer r = {0};
    bool ok;

    for (; r.n < ML_MAX_REDUCER && ml_json_item(types, (uint32_t)r.n); r.n++) {
        const char *z = ml_json_text(ml_json_item(types, (uint32_t)r.n));
        ml_Dtype type;

        if (!z || !ml_dtype_parse(ml_str(z), &type))
            return failed(cx, "a reducer", why);
        r.x[r.n] = ml_var(cx, ml_var_new(cx, "x", type));
        r.y[r.n] = ml_var(cx, ml_var_new(cx, "y", type));
    }
    ok = r.n > 0 && types->n == r.n;
    for (uint32_t k = 0; ok && k < r.n; k++) {
        r.result[k] = read_expr(cx, ml_json_item(result, k), &r);
        r.identity[k] = read_expr(cx, ml_json_item(identity, k), &r);
        ok = r.result[k] && r.identity[k];
    }
    return (ok && ml_reducer_register(cx, t, &r)) || failed(cx, "a reducer", why);
}

bool ml_registered_add(ml_Intrins *t, const ml_Json *j, ml_Text *why)
{
    const ml_Json *intrins = ml_json_get(j, "intrins"),
                  *reducers = ml_json_get(j, "reducers");
    ml_Ctx *cx = ml_ctx_new(0);
    bool ok = true;

    for (uint32_t k = 0; ok && ml_json_item(intrins, k); k++)
        ok = read_intrin(cx, t, ml_json_item(intrins, k), why);
    for (uint32_t k = 0; ok && ml_json_item(reducers, k); k++)
        ok = read_reducer(cx, t, ml_json_item(reducers, k), why);
    ml_ctx_unref(cx);
    return ok;
}
