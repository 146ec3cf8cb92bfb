/*
 * main - moonloop: options, then init file, -l and -e in order, FILE, the prompt.
 * Source: interaction 2.
 */
#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "moonloop/codegen/code/code.h"
#include "moonloop/codegen/runtime/runtime.h"
#include "moonloop/codegen/worker/worker.h"
#include "moonloop/core/base/base.h"
#include "repl/bind/bind.h"
#include "repl/cmd/help.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/house.h"
#include "repl/job/job.h"
#include "repl/keep/autosave.h"
#include "repl/keep/crash.h"
#include "repl/keep/record.h"
#include "repl/line/line.h"
#include "repl/line/prompt.h"
#include "repl/manual/manual.h"
#include "repl/out/interrupt.h"
#include "repl/run/input.h"
#include "repl/run/run.h"
#include "repl/run/transcript.h"
#include "repl/screen/restore.h"
#include "repl/session/options.h"
#include "repl/session/safe.h"
#include "repl/show/show.h"
#include "repl/view/driver.h"
#include "version.h"

enum { WORKER_FD = 3 }; /* the socket that a worker is started with */

static ml_Session session; /* one per process */

/* ---- signals */

static void on_end(int sig)
{
    ml_restore_all();
    signal(sig, SIG_DFL);
    raise(sig);
}

static void on_failed_write(int sig)
{
    (void)sig;
}

/* A closed pipe and a file that may not grow are noticed where they are written to. A handler,
 * not SIG_IGN: that would be inherited by what the shell starts. Not signal(), whose handler
 * would hold once. */
static void see_failed_writes(void)
{
    struct sigaction sa = {.sa_handler = on_failed_write, .sa_flags = SA_RESTART};

    sigemptyset(&sa.sa_mask);
    sigaction(SIGPIPE, &sa, NULL);
    sigaction(SIGXFSZ, &sa, NULL);
}

static void set_signals(void)
{
    struct sigaction sa = {.sa_handler = on_end};
    char version[128];

    sigemptyset(&sa.sa_mask);
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGHUP, &sa, NULL);
    ml_interrupt_watch(session.batch, ml_crash_saved);
    ml_restore_by(ml_line_restore);
    snprintf(version, sizeof version, "moonloop %s (%s)", ML_VERSION, ML_GIT_DESCRIPTION);
    ml_crash_watch(version, !session.private_);
    ml_crash_observe(&session);
}

/* ---- what is merely shown */

static const char *readline_version(void)
{
    return HAVE_READLINE ? ML_READLINE_VERSION : "none";
}

static const char *openmp_name(void)
{
    ml_Ctx *cx = ml_ctx_new(0);
    bool there = ml_openmp_open(cx);

    ml_ctx_unref(cx);
    return there ? ml_openmp_name() : "none";
}

/* What the failure of standard output means for the exit status. */
static int status_of_output(int status)
{
    ml_out_flush(&session.out);
    if (!session.out.broken)
        return status;
    if (session.out.fault == EPIPE)
        return 141;
    fprintf(stderr, "moonloop: cannot write to standard output: %s\n",
            strerror(session.out.fault));
    return 1;
}

static void say_version(ml_Text *t)
{
    ml_text_fmt(t, "moonloop %s (%s) · Lua %s · Readline %s", ML_VERSION,
                ML_GIT_DESCRIPTION, ML_LUA_VERSION, readline_version());
    for (const ml_BackendRow *b = ml_backends; b < ml_backends + ml_n_backends; b++) {
        bool found = ml_backend_find(b->name) != NULL;

        if (b->backend && !b->backend->object)
            continue; /* a part of the program */
        ml_text_fmt(t, " · %s%s%s%s", found ? "" : "no ", b->title, found ? " " : "",
                    found ? b->release : "");
    }
    ml_text_char(t, '\n');
}

static void say_features(ml_Text *t)
{
    ml_text_fmt(t, "version=%s\ngit=%s\nlua=%s\nreadline=%s\ngraphviz=%s\n", ML_VERSION,
                ML_GIT_DESCRIPTION, ML_LUA_VERSION, readline_version(),
                HAVE_GRAPHVIZ ? ML_GRAPHVIZ_VERSION : "none");
    for (const ml_BackendRow *b = ml_backends; b < ml_backends + ml_n_backends; b++)
        if (!b->backend || b->backend->object)
            ml_text_fmt(t, "%s=%s\n", b->name,
                        ml_backend_find(b->name) ? b->release : "none");
    ml_text_fmt(t, "cuda=none\nxgboost=none\nsqlite=%s\nopenmp=%s\n", ML_SQLITE_VERSION,
                openmp_name());
}

static int show(const char *what)
{
    ml_Text t = {0};

    if (ml_streq(what, "version"))
        say_version(&t);
    else if (ml_streq(what, "features"))
        say_features(&t);
    else if (ml_streq(what, "help"))
        ml_options_help(&t);
    else if (ml_streq(what, "codes"))
        ml_help_codes(&t);
    else
        ml_help_all(&session, &t);
    ml_out(&session.out, ml_text_z(&t));
    ml_text_free(&t);
    return status_of_output(0);
}

static int write_manual(const char *kind)
{
    ml_Text t = {0};
    bool ok = ml_manual(&session, kind, &t);

    if (ok)
        ml_out(&session.out, ml_text_z(&t));
    else
        fprintf(stderr, "moonloop: %s\n", ml_text_z(&t));
    ml_text_free(&t);
    return ok ? status_of_output(0) : 2;
}

/* ---- the run */

static bool init_file(const ml_Options *o)
{
    ml_Text path = {0};
    const char *home = getenv("XDG_CONFIG_HOME");
    bool ok = true;

    if (o->init)
        ml_text_add(&path, o->init);
    else if (home && *home)
        ml_text_fmt(&path, "%s/moonloop/init.lua", home);
    else if (getenv("HOME"))
        ml_text_fmt(&path, "%s/.config/moonloop/init.lua", getenv("HOME"));
    if (path.n && session.reach)
        ml_reach_add(session.reach, ml_text_z(&path), o->init != NULL);
    if (path.n && (o->init || access(ml_text_z(&path), R_OK) == 0))
        ok = ml_host_file(session.host, ml_text_z(&path), 0, NULL);
    ml_text_free(&path);
    if (!ok) {
        ml_err_prose(&session.out,
                     "note: the init file failed; going on without the rest of it");
        session.status = 0;
    }
    return ok;
}

static bool run_chunks(const ml_Options *o)
{
    bool ok = true;

    session.mode = ML_MODE_QUIET;
    for (int k = 0; k < o->n_chunks && ok && !session.quit; k++)
        ok = o->chunks[k].kind == 'l' ? ml_host_require(session.host, o->chunks[k].text)
                                      : ml_run(&session, NULL, o->chunks[k].text);
    return ok;
}

static bool run_file(const ml_Options *o)
{
    session.mode = ML_MODE_QUIET;
    if (ml_streq(o->file, "-"))
        return ml_host_file(session.host, NULL, o->n_args, o->args);
    return ml_input_run_file(&session, o->file, o->n_args, o->args);
}

/* Whether FILE is what one goes on with by hand; a script runs and ends. */
static bool is_worked_on(const ml_Options *o)
{
    ml_FileKind kind = o->file ? ml_input_kind_of(o->file) : ML_FILE_LINES;

    for (int k = 0; k < o->n_chunks; k++)
        if (o->chunks[k].kind == 'e')
            return false;
    return kind == ML_FILE_OPENED || kind == ML_FILE_SAVED;
}

/* An option behind what is opened would be passed over in silence. (With --safe the words
 * there are what may be read.) */
static bool has_room_for_args(const ml_Options *o)
{
    bool ok = o->n_args == 0 || o->safe || ml_streq(o->file, "-") ||
              ml_input_kind_of(o->file) != ML_FILE_OPENED;

    if (!ok)
        fprintf(stderr,
                "moonloop: %s is opened and takes no arguments, but %s stands behind it: "
                "options go before FILE, and :open opens a second one\n",
                o->file, o->args[0]);
    return ok;
}

static void banner(void)
{
    ml_Text t = {0};

    ml_Target host = ml_target_host();

    ml_text_fmt(&t, "moonloop %s · Lua %.3s · ", ML_VERSION, ML_LUA_VERSION);
    if (ml_code_find(&host))
        ml_text_fmt(&t, "LLVM 19 %s · ", ml_target_level(&host));
    else
        ml_text_add(&t, "no LLVM: programs are interpreted · ");
    ml_text_fmt(&t, "%u thread%s · :help for help", ml_threads(&host),
                ml_threads(&host) == 1 ? "" : "s");
    ml_out_prose(&session.out, ml_text_z(&t));
    ml_text_free(&t);
}

static bool set_options(const ml_Options *o)
{
    const char *seed = o->seed, *env = getenv("MOONLOOP_TARGET");
    const char *target = o->target ? o->target : env && *env ? env : NULL;
    char text[32];
    ml_Text why = {0};
    bool ok = true;

    if (seed && ml_streq(seed, "random")) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(text, sizeof text, "%ld", 1 + (now.tv_nsec ^ now.tv_sec) % 2147483646);
        seed = text;
    }
    if (seed)
        ok = ml_setting_set(&session.set, ML_SET_seed, seed, &why) &&
             ml_setting_int(&session.set, ML_SET_seed) > 0;
    if (!ok && seed)
        fprintf(stderr, "moonloop: --seed is a number from 1, or random, not %s\n", seed);
    if (ok && target)
        ok = ml_settings_allow(&session, ML_SET_target, target) &&
             ml_setting_set(&session.set, ML_SET_target, target, &why);
    if (!ok && target && !o->target)
        fprintf(stderr, "moonloop: MOONLOOP_TARGET is %s\n", target);
    if (ok && o->threads)
        ok = ml_settings_allow(&session, ML_SET_threads, o->threads) &&
             ml_setting_set(&session.set, ML_SET_threads, o->threads, &why);
    if (ok && o->memory_limit)
        ok = ml_safe_set_limit(&session, o->memory_limit);
    ml_text_free(&why);
    return ok;
}

/* Contexts come and go by the thousand: their chunks stay with the program. */
static void keep_chunks(void)
{
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
}

static int finish(void)
{
    int status = status_of_output(session.status);

    ml_session_free(&session);
    if (fflush(stdout) != 0 && status == 0) {
        fprintf(stderr, "moonloop: cannot write to standard output: %s\n", strerror(errno));
        status = 1;
    }
    return status;
}

/* What a session starts for work in the background (repl/job/job.h); it ends with it. */
static int run_job(const char *argv0)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    see_failed_writes();
    ml_session_init(&session);
    ml_out_init(&session.out, 0, 0, false);
    session.argv0 = argv0;
    session.batch = session.no_history = session.private_ = true;
    session.json = session.out.json = true;
    session.out.pager = false;
    keep_chunks();
    set_signals();
    session.status = ml_job_serve(&session);
    return finish();
}

/* What is typed from here on is recorded and autosaved. */
static void begin_typing(int argc, char **argv)
{
    ml_autosave_begin(&session);
    ml_record_begin(&session, argc, argv);
}

int main(int argc, char **argv)
{
    static ml_Options o;
    ml_Text why = {0};

    /* What a session starts to compile and run kernels; it wants nothing of a prompt. */
    if (argc == 2 && ml_streq(argv[1], "--worker"))
        return ml_worker_main(WORKER_FD);
    ml_code_alone(); /* as the worker does: what is shown is what runs */
    ml_house_open();
    if (argc == 2 && ml_streq(argv[1], "--job"))
        return run_job(argv[0]);
    setlocale(LC_CTYPE, "");
    see_failed_writes();
    if (!ml_options_read(&o, argc, argv, &why)) {
        fprintf(stderr, "moonloop: %s\n", ml_text_z(&why));
        ml_text_free(&why);
        return 2;
    }
    ml_session_init(&session);
    ml_out_init(&session.out, o.color, o.width, o.ascii);
    if (o.show && !ml_streq(o.show, "help-all"))
        return show(o.show);
    if (o.transcript)
        return ml_transcript_run(o.args, o.n_args, o.update);
    session.argv0 = argv[0];
    session.about = say_features;
    session.batch = o.batch;
    session.keep_going = o.keep_going;
    session.json = session.out.json = o.json;
    if (o.safe)
        ml_safe_begin(&session, &o);
    session.private_ = o.private_;
    session.no_history = o.no_history || o.private_ || o.batch || o.safe;
    if (!set_options(&o) || (o.file && !has_room_for_args(&o)))
        return 2;
    if (o.batch)
        session.out.pager = false;
    setvbuf(stdout, NULL, _IOLBF, 0);
    keep_chunks();
    session.host = ml_host_new(&session);
    ml_settings_apply(&session);
    if (o.show)
        return show(o.show);
    if (o.manual)
        return write_manual(o.manual);
    set_signals();
    if (!o.no_init && !o.batch)
        init_file(&o);
    if (o.safe)
        ml_safe_seal(&session);

    bool tty = isatty(STDIN_FILENO), nothing = o.n_chunks == 0 && !o.file;
    bool on = tty && isatty(STDOUT_FILENO) && !o.batch && is_worked_on(&o);
    bool ok = run_chunks(&o) && (!o.file || run_file(&o));

    if (!ok && session.last && ml_failure_code(session.last) == ML_E_INTERRUPTED)
        session.status = 130; /* also where something else had failed before */

    if (ok && !session.quit && o.view && o.keys)
        ml_view_script(&session, o.keys, o.size[0] ? o.size[0] : 80,
                       o.size[0] ? o.size[1] : 24, o.update);
    else if (ok && !session.quit && o.view) {
        begin_typing(argc, argv);
        if (ml_view_terminal(&session) && !session.quit && tty)
            ml_prompt_run(&session);
    } else if (ok && !session.quit && !o.batch &&
               (o.interactive || on || (nothing && tty))) {
        if (nothing || on)
            banner();
        if (on)
            ml_session_announce(&session);
        begin_typing(argc, argv);
        ml_prompt_run(&session);
    } else if (ok && !session.quit && nothing && !tty) {
        session.mode = ML_MODE_TYPED;
        ml_record_begin(&session, argc, argv);
        ml_input_stream(&session, STDIN_FILENO, "standard input", false);
    }
    return finish();
}
