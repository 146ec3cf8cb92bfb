/* complete_jobs - what is offered behind commands that measure, and behind :jobs and :stop.
 * Source: interaction 4 (Completion), 9. */
#include "repl/job/jobs.h"
#include "repl/line/complete_impl.h"

static void offer_jobs(ml_Offer *o, bool running)
{
    ml_JobInfo j;

    for (size_t k = 0; ml_job_info(o->ss, k, &j); k++) {
        bool runs = j.state == ML_JOB_RUNNING || j.state == ML_JOB_STOPPING;

        if (runs || !running)
            ml_offer(o, ml_format(o->cx, "%d", j.number),
                     ml_format(o->cx, "%s, %s", j.what, ml_job_state_name(j.state)));
    }
}

void ml_offer_job_words(ml_Offer *o, const char *command, size_t number)
{
    static const char *const TUNE[] = {"--trials", "--seed", "--seconds",
                                       "--fresh",  "--db",   NULL};
    static const char *const TIME[] = {"--runs",    "--cold",  "--report",
                                       "--against", "--shape", NULL};
    const char *const *options = ml_streq(command, "tune")   ? TUNE
                                 : ml_streq(command, "time") ? TIME
                                                             : NULL;

    for (; options && *options; options++)
        ml_offer(o, *options, "option");
    if (ml_streq(command, "tune") || ml_streq(command, "time") ||
        (ml_streq(command, "check") && o->prefix[0] == '-')) /* else maybe a value */
        ml_offer(o, "--background", "in a process of its own; see :help :jobs");
    if (number != 1)
        return;
    if (ml_streq(command, "jobs")) {
        ml_offer(o, "--wait", "until all have ended");
        offer_jobs(o, false);
    } else if (ml_streq(command, "stop")) {
        ml_offer(o, "all", "those that run");
        offer_jobs(o, true);
    }
}
