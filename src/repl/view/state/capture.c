/*
 * capture - the two descriptors, turned aside into one file without a name. The processes
 * that the session starts inherit them turned aside. Descriptors are of the process, so
 * there is one of this. Source: interaction 10.
 */
#include "repl/view/state/capture.h"

#include <stdio.h>
#include <unistd.h>

#include "repl/screen/restore.h"

static struct {
    bool on;
    int was[2]; /* descriptors 1 and 2 */
    FILE *file;
    off_t at; /* read so far */
} turned;

/* The descriptors alone, from a signal handler: what is written next is seen. */
static void turn_back(void)
{
    for (int k = 0; k < 2 && turned.on; k++)
        if (turned.was[k] >= 0)
            dup2(turned.was[k], 1 + k);
}

bool ml_capture_begin(void)
{
    if (turned.on)
        return true;
    fflush(stdout);
    fflush(stderr);
    turned.file = tmpfile();
    if (!turned.file)
        return false;
    ml_restore_by(turn_back);
    turned.at = 0;
    for (int k = 0; k < 2; k++) {
        turned.was[k] = dup(1 + k);
        if (turned.was[k] >= 0)
            dup2(fileno(turned.file), 1 + k);
    }
    turned.on = true;
    return true;
}

void ml_capture_end(void)
{
    if (!turned.on)
        return;
    fflush(stdout);
    fflush(stderr);
    for (int k = 0; k < 2; k++)
        if (turned.was[k] >= 0) {
            dup2(turned.was[k], 1 + k);
            close(turned.was[k]);
        } else {
            close(1 + k);
        }
    fclose(turned.file);
    turned.on = false;
}

bool ml_capture_on(void)
{
    return turned.on;
}

void ml_capture_read(ml_Text *out)
{
    char buf[4096];
    ssize_t n;

    if (!turned.on)
        return;
    fflush(stdout);
    fflush(stderr);
    while ((n = pread(fileno(turned.file), buf, sizeof buf, turned.at)) > 0) {
        ml_text_addn(out, buf, (size_t)n);
        turned.at += n;
    }
    /* what was read is given back, so that hours of output take no room */
    if (turned.at > (1 << 20) && ftruncate(fileno(turned.file), 0) == 0) {
        lseek(fileno(turned.file), 0, SEEK_SET);
        turned.at = 0;
    }
}

void ml_capture_drain(ml_View *v)
{
    ml_Text t = {0};

    ml_capture_read(&t);
    ml_view_log(v, ml_text_z(&t), t.n);
    ml_text_free(&t);
}
