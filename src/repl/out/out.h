/* out - where text goes: results to standard output, the rest to standard error;
 * redirection of one command, colour, and the closed pipe. Source: interaction 2, 4. */
#ifndef ML_REPL_OUT_OUT_H
#define ML_REPL_OUT_OUT_H

#include "moonloop/core/base/text.h"
#include "repl/screen/terminal.h"

enum { ML_LEAST_WIDTH = 20 }; /* columns that may be asked for */

/* Texts that are written to in place of the streams; NULL: the stream itself. */
typedef struct ml_Sink {
    ml_Text *out; /* results */
    ml_Text *err; /* what goes to standard error */
} ml_Sink;

typedef struct ml_Out {
    bool color;     /* escape sequences may be used on standard output */
    bool err_color; /* the same on standard error */
    bool ascii;     /* no characters outside ASCII */
    int width;      /* of a line */
    int asked;      /* the width that the command line asks for; 0: none */
    int height;     /* of the screen; 0: no screen */
    bool folds; /* longer lines are folded: on a screen, or at a width that was asked for */
    bool pager; /* long text may go through a pager */
    bool status;  /* a line of progress stands on the screen; goes before others */
    bool json;    /* a line for standard error is {"note": …} */
    ml_Sink sink; /* where it goes now; session/frame.h changes it */
    /* Told of everything that is written: as it is shown, and unfolded. NULL: nobody. */
    void (*tee)(void *user, const char *shown, const char *raw);
    void *tee_user;
    bool broken; /* a write to standard output failed: `fault` says why (errno) */
    int fault;
} ml_Out;

/* Finds out about the terminal. color: -1 automatic, 0 never, 1 always. width 0: automatic.
 */
void ml_out_init(ml_Out *o, int color, int width, bool ascii);
/* Size of the screen again (after a resize). */
void ml_out_measure(ml_Out *o, int width);
void ml_out(ml_Out *o, const char *text);      /* to standard output, as is */
void ml_out_line(ml_Out *o, const char *text); /* with a newline */
/* Shows the one; who listens in (tee) is told the other: what there would be without a
 * screen. NULL: nobody is told. */
void ml_out_as(ml_Out *o, const char *shown, const char *raw);
void ml_err_as(ml_Out *o, const char *shown, const char *raw);
/* Who listens in is told of what is shown in another way. */
void ml_out_tell(ml_Out *o, const char *shown, const char *raw);
void ml_err(ml_Out *o, const char *text);
void ml_err_line(ml_Out *o, const char *text);
/* Sentences and rows: where lines are folded (ml_Out.folds), those that are too long go on
 * between words under their own text; those of an error (` 3 | …`) with the marks below
 * them. Lines of a program are ml_out_code's. The text may hold several lines; one newline
 * is put behind it. */
void ml_out_prose(ml_Out *o, const char *text);
void ml_err_prose(ml_Out *o, const char *text);
/* The same of a format. */
void ml_out_say(ml_Out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ml_err_say(ml_Out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ml_out_fold(const ml_Out *o, const char *text, ml_Text *out);
/* Lines of a program or a diff: where lines are folded they go on behind their own gutter. mark: what
 * a row ends in that goes on, " \\" in a program. */
#define ML_GOES_ON " \\"
void ml_out_code(ml_Out *o, const char *text, const char *mark);
void ml_out_fold_code(const ml_Out *o, const char *text, const char *mark, ml_Text *out);
void ml_out_flush(ml_Out *o);
/* A line on the screen that tells how far something is, cut to it, until the next one; and
 * taking it away. */
void ml_out_status(ml_Out *o, const char *text);
void ml_out_clear_status(ml_Out *o);
/* What a terminal is shown of a text: colours (unless color is false) act, all other controls but
 * line ends and tabs are written out as ^X (controls.c). And whether there is such a one. */
void ml_out_shown(ml_Text *out, const char *text, bool color);
bool ml_out_acts(const char *text, bool color);
/* Text with characters outside ASCII replaced when o->ascii: × by x, → by ->, … by ... */
void ml_out_plain(ml_Text *out, const char *text);

#endif
