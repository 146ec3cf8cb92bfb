/*
 * kernel_save - what is written of a kernel: objects, libraries, texts and the header.
 *
 * All of them take workspace from aligned_alloc, so that what is saved needs libc, libm and
 * an OpenMP runtime at most. Files are written beside their place and then moved there: a
 * failure leaves the old one. Source: lowering-and-codegen 7.7.
 */
#define _GNU_SOURCE /* NOLINT: memfd_create, memmem */
#include "moonloop/codegen/kernel/kernel_impl.h"

#include "moonloop/core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---------------------------------------------------------------- code and texts */

static bool text_of(ml_Built *b, const ml_CodeOpts *code, const char *name, ml_Text *out)
{
    ml_JobResult r;

    if (b->o.inprocess)
        return ml_code_text(b->code, b->cx, &b->lowered, 1, code, name, out);
    if (!ml_built_job(b, code, ML_WANT_TEXT, name, NULL, &r))
        return false;
    ml_text_add(out, r.text ? r.text : "");
    return true;
}

bool ml_built_text(ml_Built *b, ml_Ctx *cx, const char *name, ml_Text *out)
{
    ml_built_begin(b, cx);
    return ml_built_end(b, cx, text_of(b, &b->o.code, name, out));
}

/* `threads`: those that were asked for; 0 leaves it to the runtime. */
static ml_CodeOpts saved_code(const ml_Built *b)
{
    ml_CodeOpts o = b->o.code;

    o.threads = b->threads;
    o.standalone = true;
    return o;
}

static bool object_of(ml_Built *b, ml_Bytes *out)
{
    ml_CodeOpts code = saved_code(b);
    ml_JobResult r;

    if (b->o.inprocess)
        return ml_code_object(b->code, b->cx, &b->lowered, 1, &code, out);
    if (!ml_built_job(b, &code, ML_WANT_OBJECT, NULL, NULL, &r))
        return false;
    *out = r.object;
    return true;
}

/* ---------------------------------------------------------------- files */

static bool no_file(ml_Ctx *cx, const char *path, int why)
{
    return ml_fail(cx, ml_file_no_room(why) ? ML_E_NO_SPACE : ML_E_NO_FILE,
                   ML_TEXT(ml_format(cx, "%s cannot be written: %s", path, strerror(why))));
}

static bool save_bytes(ml_Built *b, const char *path, const void *v, size_t n)
{
    return ml_file_write(path, v, n) || no_file(b->cx, path, errno);
}

/* ---------------------------------------------------------------- shared libraries */

/* The first line that the command wrote to its standard error; "" when none. */
static const char *first_words(ml_Ctx *cx, int fd)
{
    char z[400];
    ssize_t n = fd >= 0 ? pread(fd, z, sizeof z - 1, 0) : 0;

    if (n <= 0)
        return "";
    z[n] = '\0';
    z[strcspn(z, "\n")] = '\0';
    return ml_format(cx, ": %s", z);
}

/* Waits for it, looking at the cancel flag. */
static bool wait_for(ml_Ctx *cx, pid_t pid, int *status)
{
    pid_t got;

    while ((got = waitpid(pid, status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        if (!ml_poll_cancel(cx)) {
            kill(pid, SIGKILL);
            while (waitpid(pid, status, 0) < 0 && errno == EINTR)
                ;
            return false;
        }
        poll(NULL, 0, 5);
    }
    return got == pid;
}

static bool run_cc(ml_Ctx *cx, char **argv, const char *path)
{
    int words = memfd_create("stderr", MFD_CLOEXEC), status = 0, k;
    posix_spawn_file_actions_t fa;
    pid_t pid = 0;
    bool ok;

    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
    if (words >= 0)
        posix_spawn_file_actions_adddup2(&fa, words, 2);
    k = posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    ok = k == 0 && wait_for(cx, pid, &status);
    if (k != 0)
        ml_fail(cx, ML_E_NOT_SUPPORTED,
                ML_TEXT(ml_format(cx,
                                  "%s: cc, which links shared libraries, cannot be started "
                                  "(%s); a file .o needs none",
                                  path, strerror(k))));
    else if (ok && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
        ok = ml_fail(cx, ML_E_CODEGEN_FAILED,
                     ML_TEXT(ml_format(cx, "%s: cc -shared failed%s", path,
                                       first_words(cx, words))));
    if (words >= 0)
        close(words);
    return ok;
}

static bool mentions(const ml_Bytes *object, const char *name)
{
    return memmem(object->v, object->n, name, strlen(name) + 1) != NULL;
}

/* A path for the command line, where it may not begin with a minus sign. */
static char *word(ml_Ctx *cx, const char *path)
{
    return ml_strdup(cx, ml_str(ml_format(cx, "%s%s", *path == '-' ? "./" : "", path)));
}

/* The object, and NAME_packed of its header as a function that others find. */
static bool link_library(ml_Built *b, const char *path, const ml_Bytes *object, char *to)
{
    char *from = word(b->cx, ml_format(b->cx, "%s.new.o", path));
    char *checks = word(b->cx, ml_format(b->cx, "%s.new.c", path));
    char cc[] = "cc", shared[] = "-shared", pic[] = "-fPIC", o1[] = "-O1", o[] = "-o",
         lm[] = "-lm", gomp[] = "-lgomp";
    char *argv[] = {
        cc,  shared, pic,    o1, o,
        to,  from,   checks, lm, mentions(object, "GOMP_parallel") ? gomp : NULL,
        NULL};
    ml_Text t = {0};
    bool ok = ml_built_header(b, &t, true);

    if (ok && (!ml_file_write(from, object->v, object->n) ||
               !ml_file_write(checks, ml_text_z(&t), t.n)))
        ok = no_file(b->cx, path, errno);
    ok = ok && run_cc(b->cx, argv, path);
    ml_text_free(&t);
    unlink(from);
    unlink(checks);
    return ok;
}

static bool save_library(ml_Built *b, const char *path, const ml_Bytes *object)
{
    char *to = word(b->cx, ml_format(b->cx, "%s.new", path));
    bool ok;

    if (b->foreign)
        return ml_fail(
            b->cx, ML_E_NOT_SUPPORTED,
            ML_TEXT(ml_format(b->cx,
                              "%s: cc links for this machine, not for %s; a file "
                              ".o needs none",
                              path, b->o.target.triple)));
    ok = link_library(b, path, object, to);
    if (ok && rename(to, path) != 0)
        ok = no_file(b->cx, path, errno);
    if (!ok)
        unlink(to);
    return ok;
}

/* ---------------------------------------------------------------- by suffix */

static bool save_object(ml_Built *b, const char *path, bool library)
{
    ml_Bytes object = {0};
    bool ok = object_of(b, &object) && (library ? save_library(b, path, &object)
                                                : save_bytes(b, path, object.v, object.n));

    free(object.v);
    return ok;
}

static bool save_text(ml_Built *b, const char *path, const char *name)
{
    ml_CodeOpts code = saved_code(b);
    ml_Text t = {0};
    bool ok = text_of(b, &code, name, &t) && save_bytes(b, path, ml_text_z(&t), t.n);

    ml_text_free(&t);
    return ok;
}

static bool save_header(ml_Built *b, const char *path)
{
    ml_Text t = {0};
    bool ok = ml_built_header(b, &t, false) && save_bytes(b, path, ml_text_z(&t), t.n);

    ml_text_free(&t);
    return ok;
}

static bool save(ml_Built *b, const char *path)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    const char *suffix = dot && (!slash || slash < dot) ? dot : "";
    const char *text = ml_code_saved(&b->o.target, suffix);

    if (ml_streq(suffix, ".o") || ml_streq(suffix, ".so"))
        return save_object(b, path, suffix[1] == 's');
    if (text)
        return save_text(b, path, text);
    if (ml_streq(suffix, ".h"))
        return save_header(b, path);
    if (ml_streq(suffix, ".cu"))
        return ml_fail(b->cx, ML_E_NOT_YET, ML_TEXT("saving a kernel as CUDA C (.cu)"));
    return ml_fail(b->cx, ML_E_BAD_ARGUMENT,
                   ML_TEXT(ml_format(b->cx,
                                     "path: %s says no form: .o, .so, .s, .ll, .c and .h "
                                     "are written",
                                     path)));
}

/* The kernel under another name: a view of b, in its context. */
static ml_Built named(const ml_Built *b, const char *name)
{
    ml_Built to = *b;
    ml_Func f = *b->work.func, body;

    f.name = ml_strdup(b->cx, ml_str(name));
    f.attrs =
        ml_dict_with(b->cx, f.attrs, "global_symbol", ml_val_string(b->cx, ml_str(f.name)));
    to.work.func = ml_func_from(b->cx, &f);
    to.work.mod = ml_module_new(b->cx, &to.work.func, 1, b->work.mod->attrs);
    to.binary = ml_binary_write(b->cx, to.work.mod, true);
    to.sig.func = to.work.func;
    if (b->lowered) {
        body = *b->lowered;
        body.name = f.name;
        to.lowered = ml_func_from(b->cx, &body);
    }
    return to;
}

static bool save_as(ml_Built *b, const char *path, const char *name)
{
    ml_Built view;

    name = name ? name : b->work.func->name;
    if (!ml_code_is_c_name(name))
        return ml_fail(
            b->cx, ML_E_BAD_ARGUMENT,
            ML_TEXT(ml_format(b->cx,
                              "name: `%s` is no name in C (letters, digits and _, no digit "
                              "first, no keyword), which the functions of a saved kernel "
                              "have; give another one",
                              name)));
    if (ml_streq(name, b->work.func->name))
        return save(b, path);
    view = named(b, name);
    return save(&view, path);
}

bool ml_built_save(ml_Built *b, ml_Ctx *cx, const char *path, const char *name)
{
    ml_built_begin(b, cx);
    return ml_built_end(b, cx, save_as(b, path, name));
}
