/*
 * safe - the session's side of --safe: what may be read, how much memory there is.
 *
 * Lua is cut down in host/safe.c, kernels are shut in by codegen/worker/cage.c.
 * Source: interaction 2.
 */
#include "repl/session/safe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "moonloop/core/base/sanitized.h"

static const char LIMIT[] = "2048"; /* MiB, unless it is set */

static void set_limit(ml_Session *ss, const char *value)
{
    ml_Text why = {0};

    ml_setting_set(&ss->set, ML_SET_memory_limit, value, &why);
    ml_text_free(&why);
}

void ml_safe_begin(ml_Session *ss, const ml_Options *o)
{
    static ml_Reach reach; /* one command line per process */

    ss->safe = true;
    ss->reach = &reach;
    setenv("MOONLOOP_SAFE", "1", 1); /* workers are told so */
    if (o->file && !ml_streq(o->file, "-"))
        ml_reach_add(&reach, o->file, true);
    for (int k = 0; k < o->n_args; k++)
        ml_reach_add(&reach, o->args[k], true);
    if (o->keys)
        ml_reach_add(&reach, o->keys, true);
    set_limit(ss, LIMIT);
}

/* The limit of each context and of Lua is met first, with an error; the sum of many ends
 * here, where the system says no. Code and libraries, and what is shared with workers, do
 * not count; memory that a sanitizer lays out does. */
static void limit_process(const ml_Session *ss)
{
    enum { OWN_MIB = 256 };
    int64_t mib = ml_setting_int(&ss->set, ML_SET_memory_limit);
    struct rlimit r;

    if (ML_SANITIZED || mib <= 0 || mib > INT64_MAX >> 21 ||
        getrlimit(RLIMIT_DATA, &r) != 0)
        return;
    rlim_t want = (rlim_t)(mib + OWN_MIB) << 20;

    if (r.rlim_max == RLIM_INFINITY || want < r.rlim_max)
        r.rlim_max = want; /* workers cannot raise it again */
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_DATA, &r);
}

void ml_safe_seal(ml_Session *ss)
{
    ss->sealed = true;
    limit_process(ss);
}

void ml_safe_inherit(ml_Session *ss, const ml_Session *of)
{
    if (of->safe)
        set_limit(ss, ml_setting_word(&of->set, ML_SET_memory_limit));
}

bool ml_safe_set_limit(ml_Session *ss, const char *value)
{
    ml_Text why = {0};
    bool ok = ml_setting_set(&ss->set, ML_SET_memory_limit, value, &why) &&
              ml_setting_int(&ss->set, ML_SET_memory_limit) >= 0;

    if (!ok)
        fprintf(stderr, "moonloop: --memory-limit is a number of MiB, 0 for none, not %s\n",
                value);
    ml_text_free(&why);
    return ok;
}

bool ml_safe_allows_limit(ml_Session *ss, const char *value)
{
    int64_t now = ml_setting_int(&ss->set, ML_SET_memory_limit);
    char *end;
    long long want;

    if (!ss->sealed || now <= 0)
        return true;
    errno = 0;
    want = strtoll(value, &end, 10);
    if (*end || end == value || errno || (want > 0 && want <= now))
        return true; /* what is no number is told so elsewhere */
    return ml_session_error(ss, ML_E_NOT_SUPPORTED,
                            "memory-limit: it is %lld MiB and only lowered under --safe; "
                            "--memory-limit=N sets it on the command line",
                            (long long)now);
}
