/* echo - what a terminal shows by itself of the keys (echo.h). */
#include "repl/screen/echo.h"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "repl/screen/restore.h"

static struct {
    volatile sig_atomic_t held;
    struct termios found;
    sigset_t mask; /* a program that is stopped must not leave its shell without echo */
} at;

static void put_back(void)
{
    if (at.held)
        tcsetattr(STDIN_FILENO, TCSANOW, &at.found);
}

bool ml_echo_hold(void)
{
    struct termios t;
    sigset_t stop;

    /* who changes a terminal from the background is stopped */
    if (at.held || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
        tcgetattr(STDIN_FILENO, &t) != 0 || !(t.c_lflag & ECHO))
        return false;
    at.found = t;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    pthread_sigmask(SIG_BLOCK, &stop, &at.mask);
    ml_restore_by(put_back);
    at.held = 1;
    t.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(STDIN_FILENO, TCSANOW, &t);
    return true;
}

void ml_echo_release(bool held)
{
    if (!held)
        return;
    put_back();
    at.held = 0;
    pthread_sigmask(SIG_SETMASK, &at.mask, NULL);
}
