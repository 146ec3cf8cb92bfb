/*
 * session - one run of the program: schedules, focus, settings, the lines that were typed.
 *
 * Prompt, scripts, session text and commands act on the same session. A typed line is one
 * undo group and, for the focus, all or nothing. Source: interaction 1, 3, 4, 6.
 */
#ifndef ML_REPL_SESSION_SESSION_H
#define ML_REPL_SESSION_SESSION_H

#include "moonloop/core/reach.h"
#include "moonloop/primitives/call/render.h"
#include "moonloop/primitives/schedule.h"
#include "moonloop/work/say.h"
#include "repl/out/out.h"
#include "repl/session/alias.h"
#include "repl/session/observe.h"
#include "repl/session/settings.h"

typedef struct ml_Host ml_Host;           /* the Lua side, host/host.h */
typedef struct ml_History ml_History;     /* what was typed, history.h */
typedef struct ml_Data ml_Data;           /* what a command tells, data.h */
typedef struct ml_Jobs ml_Jobs;           /* work in the background, jobs.h */
typedef struct ml_Programs ml_Programs;   /* programs that steps showed, show/program.c */
typedef struct ml_Record ml_Record;       /* the session as a transcript, record.h */
typedef struct ml_Autosave ml_Autosave;   /* what came of it, autosave.h */
typedef struct ml_Dashboard ml_Dashboard; /* of another terminal, dashboard.h */
typedef struct ml_Progress ml_Progress;   /* how far long work is, progress.h */

typedef struct ml_Line { /* a line that changed the focus: an undo group */
    ml_Schedule *s;      /* not counted: one of the session's */
    ml_State before, after;
} ml_Line;

typedef enum ml_Mode {
    ML_MODE_AS_IS,  /* in a frame: as outside (frame.h) */
    ML_MODE_SCRIPT, /* a file: plain rules, no focus by itself */
    ML_MODE_QUIET,  /* -e: names of the prompt, silent */
    ML_MODE_TYPED,  /* prompt and session text: echo, results, atomic lines */
} ml_Mode;

typedef struct ml_Session {
    ml_Out out;
    ml_Settings set;
    int64_t columns; /* the setting that out was measured with */
    ml_Host *host;
    ml_Mode mode;
    bool batch, keep_going, prompting, safe, private_;
    ml_Reach *reach;       /* with safe: what Lua and commands may read; NULL: nothing */
    bool sealed;           /* with safe: the memory limit is only lowered from now on */
    bool json;             /* commands print data, an object a line */
    ml_Data *data;         /* of the command at work; NULL: nobody wants it */
    ml_Jobs *jobs;         /* NULL: none was started */
    ml_Progress *progress; /* of the command at work, when it is one that may take long */
    bool job; /* this is the process of a job (job.h) on version job_version of there */
    int job_version;
    int timing; /* number of the job that time-after-step started last, or 0 */
    const char *argv0;
    ml_Aliases aliases;
    ml_Observers observers; /* who is told of lines, output, versions */
    ml_History *history;    /* NULL: nothing was typed yet */
    bool no_history;        /* its file is neither read nor written */
    bool patient; /* trials take the time they need: nobody waits for a script of keys */
    struct ml_Themes *themes;         /* of the user (themes.h); NULL: none */
    struct ml_SearchedKept *searched; /* curves of searches (searched.h); NULL: none */
    struct ml_Profiles *profiles;     /* measured shares (profiles.h); NULL: none yet */
    struct ml_Keymap *keymap; /* what bind_key changed of the visualiser's keys, or NULL */
    bool scratch; /* of an example in a help text: nothing of the user is touched */
    ml_Autosave *autosave;            /* NULL: none is kept */
    ml_Record *record;                /* NULL: nothing is typed */
    ml_Dashboard *dashboard;          /* NULL: off */
    int depth;                        /* of lines that run lines */
    const struct ml_Reading *reading; /* the files that are being read, the innermost one */
    int n_lines;                      /* that were run, without those of others */
    bool lost_terminal; /* it vanished: the session did not end as its user meant */

    ml_Programs *programs;   /* NULL: no step was shown */
    ml_Schedule **schedules; /* those that were the focus at the end of a line; counted */
    int *saved; /* of each: versions that it had when it was saved or opened last */
    size_t n_schedules;
    ml_Schedule *focus; /* one of them, or one more that is counted until the line's end */

    ml_Line *done, *undone; /* stacks of lines */
    size_t n_done, n_undone;

    bool check_ok;    /* of the last :check */
    ml_Failure *last; /* the last error, for :explain */
    bool last_owned;  /* it is ours; else a Lua error object that the host keeps has it */
    int status;       /* exit status so far */
    bool quit;
    int quit_asked; /* number of the line that wanted to leave while jobs ran; 0: none */
    /* Asks at the prompt; the answer is the caller's to free. NULL: nobody can be asked. */
    char *(*ask)(struct ml_Session *ss, const char *question);
    void (*about)(ml_Text *out); /* versions and libraries, for reports; or NULL */
    bool quiet_line;             /* the line ended in ; */
    size_t prompt_columns; /* of the last first prompt: continuation lines stand under it */
} ml_Session;

void ml_session_init(ml_Session *ss);
void ml_session_free(ml_Session *ss);
void ml_session_focus(ml_Session *ss, ml_Schedule *s); /* NULL: none */
/* All that the schedule is stands in a file now. */
void ml_session_saved(ml_Session *ss, const ml_Schedule *s);
/* How many steps stand in no file; `5 steps of matmul are not saved`. */
long ml_session_unsaved(const ml_Session *ss);
void ml_session_add_unsaved(const ml_Session *ss, ml_Text *out);
/* What the version that is worked on is called: in a job as in its session. */
int ml_session_version(const ml_Session *ss);
/* `matmul v7> `, `> ` without focus. */
void ml_session_prompt(const ml_Session *ss, ml_Text *out);

/* A line that was run some other time: it can be undone from now on. */
void ml_session_push_line(ml_Session *ss, ml_Line l);
/* Takes back (returns to) whole lines; false: an error was printed. */
bool ml_session_undo(ml_Session *ss, int n);
bool ml_session_redo(ml_Session *ss, int n);

/* Prints a failure, keeps it as the last and sets the status. owned: it is taken over. at:
 * lines put below the rest (may be NULL). */
void ml_session_report(ml_Session *ss, ml_Failure *f, bool owned, const char *at);
void ml_session_fail(ml_Session *ss, ML_TAKES ml_Failure *f);
/* The same for an error without a schedule's: code and sentence. */
bool ml_session_error(ml_Session *ss, ml_ErrorCode code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether --safe keeps the session from it, which is then told: "FILE: no file is written".
 */
bool ml_session_forbids(ml_Session *ss, const char *what);
/* A file with that text, in place of the old one (core/base/file.h); false: an error was
 * printed. */
bool ml_session_write(ml_Session *ss, const char *path, const ml_Text *t);
bool ml_session_write_error(ml_Session *ss, const char *path, int error); /* false */
/* Whether --safe lets a file be read (core/reach.h); false: an error was printed. */
bool ml_session_may_read(ml_Session *ss, const char *path);
/* The error of a schedule (ml_schedule_error), of a context (ml_error); false. */
bool ml_session_schedule_error(ml_Session *ss, ml_Schedule *s);
bool ml_session_ctx_error(ml_Session *ss, ml_Ctx *cx);
/* Where the command at work tells its rows (data.h); NULL: nobody wants them. */
ml_Data *ml_session_data(ml_Session *ss);

/* ---- settings */

/* Whether threads, target and the like can have that value; false: an error was printed. */
bool ml_settings_allow(ml_Session *ss, int id, const char *value);
/* After settings have changed: the session, its schedules and observers do as they say. */
void ml_settings_apply(ml_Session *ss);

#endif
