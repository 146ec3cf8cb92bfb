/* timing_args - the arguments of :time, :profile and :roofline. Source: interaction 8. */
#include "repl/cmd/timing_args.h"

#include <string.h>

#include "repl/cmd/shape.h"

bool ml_read_runs(ml_Session *ss, const char *text, uint32_t *runs)
{
    long n = ml_setting_count(text, ML_MAX_SAMPLES);

    if (n < 0)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                "runs: auto or a number from 1 to %d, not %s",
                                ML_MAX_SAMPLES, text);
    *runs = (uint32_t)n;
    return true;
}

/* `name=TEXT`, or `name` with TEXT as the next word; NULL: the word is another. */
static const char *value(const ml_Words *w, size_t *k, const char *name, const char *none)
{
    const char *a = w->v[*k];
    size_t n = strlen(name);

    ML_ASSERT(a);
    if (strncmp(a, name, n) != 0 || (a[n] != '=' && a[n] != '\0'))
        return NULL;
    if (a[n] == '=')
        return a + n + 1;
    return *k + 1 < w->n ? w->v[++*k] : none;
}

bool ml_read_timing(ml_Session *ss, const ml_TimingArgs *args, const ml_Words *w,
                    ml_Ctx *cx, ml_TimingOpts *o)
{
    ml_Size *sizes = ML_ARRAY(cx, ml_Size, w->n + 1);
    const char *v;

    o->seed = (uint64_t)ml_setting_int(&ss->set, ML_SET_seed);
    o->sizes = sizes;
    for (size_t k = 0; k < w->n; k++) {
        const char *a = w->v[k];

        if (ml_streq(a, "--cold")) {
            o->cold = true;
        } else if (args->rivals && ml_streq(a, "--report")) {
            o->report = true;
        } else if (args->runs && (v = value(w, &k, "--runs", "none")) != NULL) {
            if (!ml_read_runs(ss, v, &o->runs))
                return false;
        } else if (args->rivals && (v = value(w, &k, "--against", "")) != NULL) {
            if (ml_session_forbids(ss, "--against"))
                return false;
            o->against = v;
        } else if ((v = value(w, &k, "--shape", "none")) != NULL) {
            if (!ml_read_shape(ss, cx, v, &sizes[o->n_sizes++]))
                return false;
        } else {
            return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":%s knows %s, not %s",
                                    args->command, args->knows, a);
        }
    }
    return true;
}
