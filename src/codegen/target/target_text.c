/* target_text - targets as people write them: "llvm -mcpu=znver4 -num-cores=2". */
#include "moonloop/codegen/target/target.h"

static bool is(const char *p, size_t n, const char *z)
{
    return strlen(z) == n && memcmp(p, z, n) == 0;
}

/* The key of the JSON form; NULL: no such option. */
static const char *key_of(const char *p, size_t n)
{
    static const char *const names[][2] = {{"mcpu", "cpu"},
                                           {"mattr", "features"},
                                           {"mtriple", "mtriple"},
                                           {"vector-bits", "vector-bits"},
                                           {"num-cores", "num-cores"}};

    for (size_t k = 0; k < ML_COUNT(names); k++)
        if (is(p, n, names[k][0]))
            return names[k][1];
    return NULL;
}

static bool add_option(ml_Ctx *cx, const char *p, size_t n, ml_Text *json)
{
    const char *eq = memchr(p, '=', n), *key;
    size_t value;

    key = eq && *p == '-' ? key_of(p + 1, (size_t)(eq - p - 1)) : NULL;
    if (key == NULL)
        return ml_fail(cx, ML_E_NO_TARGET,
                       ML_TEXT(ml_format(cx,
                                         "'%.*s' is no option of a target: -mcpu=, "
                                         "-mattr=, -mtriple=, -vector-bits= and "
                                         "-num-cores= are",
                                         (int)n, p)));
    value = n - (size_t)(eq + 1 - p);
    if (value > 0 && strspn(eq + 1, "0123456789") >= value)
        ml_text_fmt(json, ",\"%s\":%.*s", key, (int)value, eq + 1);
    else
        ml_text_fmt(json, ",\"%s\":\"%.*s\"", key, (int)value, eq + 1);
    return true;
}

static const char *kind_names(ml_Ctx *cx)
{
    const char *all = ml_target_kinds[0].name;

    for (size_t k = 1; k < ml_n_target_kinds; k++)
        all = ml_format(cx, "%s, %s", all, ml_target_kinds[k].name);
    return all;
}

/* Of a GPU the architecture alone is said: " -arch=sm_80". */
static bool read_gpu(ml_Ctx *cx, const ml_TargetKind *kind, const char *rest,
                     ml_Target *out)
{
    const ml_Value *dict =
        ml_dict_with(cx, NULL, "kind", ml_val_string(cx, ml_str(kind->name)));
    size_t n;

    rest += strspn(rest, " ");
    n = strcspn(rest, " ");
    if (strncmp(rest, "-arch=", 6) == 0 && rest[n + strspn(rest + n, " ")] == 0) {
        ml_Str arch = {rest + 6, n - 6};

        dict = ml_dict_with(cx, dict, "arch", ml_val_string(cx, arch));
        if (ml_target_row(dict) == kind)
            return ml_fail(
                cx, ML_E_NO_TARGET,
                ML_TEXT(ml_format(cx, "%s has no architecture %.*s: %s are", kind->name,
                                  (int)arch.n, arch.p, kind_names(cx))));
        kind = ml_target_row(dict);
    } else if (n > 0) {
        return ml_fail(
            cx, ML_E_NO_TARGET,
            ML_TEXT(ml_format(cx, "'%s' is no option of %s: -arch= is", rest, kind->name)));
    }
    *out = ml_target_host();
    out->kind = (uint32_t)(kind - ml_target_kinds);
    return true;
}

bool ml_target_read(ml_Ctx *cx, const char *text, ml_Target *out)
{
    const ml_TargetKind *kind;
    ml_Text json = {0};
    size_t n;
    bool ok = true;

    while (*text == ' ')
        text++;
    n = strcspn(text, " ");
    if (n == 0 || is(text, n, "native")) {
        *out = ml_target_host();
        return true;
    }
    kind = ml_target_kind(ml_strdup(cx, (ml_Str){text, n}));
    if (kind == NULL)
        return ml_fail(cx, ML_E_NO_TARGET,
                       ML_TEXT(ml_format(cx, "no target is named %.*s: native, %s are",
                                         (int)n, text, kind_names(cx))));
    if (kind->pipeline == ML_PIPE_GPU)
        return read_gpu(cx, kind, text + n, out);
    ml_text_fmt(&json, "{\"kind\":\"%s\"", kind->name);
    for (const char *p = text + n; ok && *p; p += n) {
        p += strspn(p, " ");
        n = strcspn(p, " ");
        if (n > 0)
            ok = add_option(cx, p, n, &json);
    }
    ml_text_char(&json, '}');
    ok = ok && ml_target_parse(cx, ml_str(ml_text_z(&json)), out);
    ml_text_free(&json);
    return ok;
}
