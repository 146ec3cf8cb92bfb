/* timing_args - the arguments of :time, :profile and :roofline. Source: interaction 8. */
#include "repl/cmd/timing_args.h"

#include "moonloop/codegen/worker/worker.h"

bool ml_read_timing(ml_Session *ss, const ml_TimingArgs *args, const ml_Words *w,
                    ml_TimingOpts *o, ml_Sizes *z)
{
    const ml_Option OPTIONS[] = {
        {"--cold", ML_OPTION_FLAG, &o->cold, 0, 0, NULL},
        {"--shape", ML_OPTION_SIZE, z, 0, 0, ML_SIZE_REFUSAL},
        {"--runs", ML_OPTION_COUNT, &o->runs, 0, ML_MAX_SAMPLES,
         "runs: auto or a number from 1 to 4096"},
        {"--report", ML_OPTION_FLAG, &o->report, 0, 0, NULL},
        {"--against", ML_OPTION_TEXT, &o->against, 0, 0, "--against takes a library"},
    };

    _Static_assert(ML_MAX_SAMPLES == 4096, "the refusal says so");
    if (!ml_read_options(ss, w, args->knows, OPTIONS,
                         args->rivals ? 5
                         : args->runs ? 3
                                      : 2))
        return false;
    o->seed = (uint64_t)ml_setting_int(&ss->set, ML_SET_seed);
    o->sizes = z->v;
    o->n_sizes = z->n;
    return !o->against || !ml_session_forbids(ss, "--against");
}
