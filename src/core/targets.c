/* targets - the tables of targets.def, and limits by name. */
#include "moonloop/core/targets.h"

const ml_TargetKind ml_target_kinds[] = {
#define ML_TARGET(name, backend, pipeline, ...)                                            \
    {#name, backend, ML_PIPE_##pipeline, {__VA_ARGS__}},
#include "moonloop/core/targets.def"
#undef ML_TARGET
};
const size_t ml_n_target_kinds = ML_COUNT(ml_target_kinds);

static const struct {
    const char *name;
    int64_t cuda;
} limits[] = {
#define ML_LIMIT(name, cuda) {#name, cuda},
#include "moonloop/core/targets.def"
#undef ML_LIMIT
};
static const char older[] = "max_num_threads"; /* of a block */

const ml_TargetKind *ml_target_kind(const char *name)
{
    for (size_t k = 0; k < ml_n_target_kinds; k++)
        if (ml_streq(ml_target_kinds[k].name, name))
            return &ml_target_kinds[k];
    return NULL;
}

const ml_TargetKind *ml_target_row(const ml_Value *target)
{
    const ml_Value *name = ml_dict_get(target, "kind"), *arch = ml_dict_get(target, "arch");
    const ml_TargetKind *kind =
        name && name->kind == ML_VAL_STRING ? ml_target_kind(name->as.s) : NULL;
    const char *a = arch && arch->kind == ML_VAL_STRING ? arch->as.s : NULL;

    for (size_t k = 0; kind && a && k < ml_n_target_kinds; k++) {
        size_t n = strlen(kind->name);
        const char *full = ml_target_kinds[k].name;

        if (strncmp(full, kind->name, n) != 0 || full[n] != '-')
            continue;
        size_t m = strlen(full + n + 1); /* sm_90a counts as sm_90 */

        if (strncmp(a, full + n + 1, m) == 0 && !(a[m] >= '0' && a[m] <= '9'))
            return &ml_target_kinds[k];
    }
    return kind;
}

int ml_target_sm(const ml_TargetKind *kind)
{
    const char *sm = kind ? strstr(kind->name, "-sm_") : NULL;
    int n = 0;

    for (sm = sm ? sm + 4 : ""; *sm >= '0' && *sm <= '9'; sm++)
        n = 10 * n + (*sm - '0');
    return n;
}

const char *ml_limit_name(ml_Limit limit)
{
    return limits[limit].name;
}

int64_t ml_target_limit(const ml_Value *target, ml_Limit limit)
{
    const ml_Value *said = ml_dict_get(target, limits[limit].name);
    const ml_TargetKind *kind;

    if (!said && limit == ML_LIMIT_max_threads_per_block)
        said = ml_dict_get(target, older);
    if (said && said->kind == ML_VAL_INT)
        return said->as.i;
    kind = ml_target_row(target);
    return kind && kind->limits[limit] ? kind->limits[limit] : limits[limit].cuda;
}

bool ml_is_target_limit(const char *name)
{
    for (size_t k = 0; k < ML_COUNT(limits); k++)
        if (ml_streq(limits[k].name, name))
            return true;
    return ml_streq(name, older);
}
