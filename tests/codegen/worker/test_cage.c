/*
 * test_cage - under --safe the process that runs kernels computes and answers, no more:
 * every way to a file, a program, the network and other processes is closed, memory and
 * threads are not.
 */
#define _GNU_SOURCE /* NOLINT: process_vm_writev, syscall */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "moonloop/codegen/worker/cage.h"

static const char *folder; /* empty, and stays so */
static int answer;         /* a pipe to the parent */

static char *below(const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static long w_read_file(void)
{
    return open("/etc/passwd", O_RDONLY);
}
static long w_write_file(void)
{
    return open(below("new"), O_WRONLY | O_CREAT, 0600);
}
static long w_creat(void)
{
#ifdef SYS_creat
    return syscall(SYS_creat, below("new"), 0600);
#else
    return openat(AT_FDCWD, below("new"), O_CREAT | O_WRONLY, 0600);
#endif
}
static long w_openat2(void)
{
#ifdef SYS_openat2
    uint64_t how[3] = {O_RDONLY, 0, 0};

    return syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", how, sizeof how);
#else
    return openat(AT_FDCWD, "/etc/passwd", O_RDONLY);
#endif
}
static long w_proc_mem(void)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
    return open(path, O_RDWR);
}
static long w_exec(void)
{
    static char sh[] = "/bin/sh";
    static char *argv[] = {sh, NULL};

    return execv(sh, argv);
}
static long w_fork(void)
{
    pid_t p = fork();

    if (p == 0)
        _exit(0);
    return p;
}
static long w_vfork(void)
{
    long p = syscall(SYS_clone, SIGCHLD | 0x4000 /* CLONE_VFORK */, 0, 0, 0, 0);

    if (p == 0)
        _exit(0);
    return p;
}
static long w_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}
static long w_unix_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0);
}
static long w_kill(void)
{
    return kill(getppid(), SIGUSR1);
}
static long w_tgkill(void)
{
    pid_t p = getppid();

    return syscall(SYS_tgkill, p, p, SIGUSR1);
}
static long w_ptrace(void)
{
    return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}
static long w_vm_write(void)
{
    char c = 0;
    struct iovec here = {&c, 1}, there = {&answer, 1};

    return process_vm_writev(getppid(), &here, 1, &there, 1, 0);
}
static long w_unlink(void)
{
    return unlink("/etc/passwd-which-is-not-there");
}
static long w_rename(void)
{
    return rename(below("a"), below("b"));
}
static long w_mkdir(void)
{
    return mkdir(below("new"), 0700);
}
static long w_symlink(void)
{
    return symlink("/etc/passwd", below("new"));
}
static long w_chmod(void)
{
    return chmod(folder, 0777);
}
static long w_truncate(void)
{
    return truncate(below("new"), 0);
}
static long w_chdir(void)
{
    return chdir("/");
}
static long w_stat(void)
{
    struct stat st;

    return stat("/etc/passwd", &st);
}
static long w_ioctl(void)
{
    char c = 'x';

    return ioctl(0, TIOCSTI, &c);
}
static long w_io_uring(void)
{
#ifdef SYS_io_uring_setup
    return syscall(SYS_io_uring_setup, 1, NULL);
#else
    return -1;
#endif
}
static long w_prctl(void)
{
    return syscall(SYS_prctl, 4 /* PR_SET_DUMPABLE */, 1, 0, 0, 0);
}
static long w_limit_of_other(void)
{
    return syscall(SYS_prlimit64, getppid(), 7, NULL, NULL);
}

static long w_owner(void)
{
    return fcntl(answer, F_SETOWN, getppid());
}
static long w_ftruncate(void)
{
    return ftruncate(answer, 0);
}

typedef struct Way {
    const char *name;
    long (*go)(void);
} Way;
static const Way ways[] = {{"read a file", w_read_file},
                           {"write a file", w_write_file},
                           {"creat", w_creat},
                           {"openat2", w_openat2},
                           {"/proc/PID/mem", w_proc_mem},
                           {"exec", w_exec},
                           {"fork", w_fork},
                           {"clone as vfork does", w_vfork},
                           {"socket", w_socket},
                           {"socket of the machine", w_unix_socket},
                           {"kill", w_kill},
                           {"tgkill", w_tgkill},
                           {"ptrace", w_ptrace},
                           {"process_vm_writev", w_vm_write},
                           {"unlink", w_unlink},
                           {"rename", w_rename},
                           {"mkdir", w_mkdir},
                           {"symlink", w_symlink},
                           {"chmod", w_chmod},
                           {"truncate", w_truncate},
                           {"chdir", w_chdir},
                           {"stat", w_stat},
                           {"ioctl", w_ioctl},
                           {"io_uring", w_io_uring},
                           {"prctl", w_prctl},
                           {"prlimit of another", w_limit_of_other},
                           {"signals of a descriptor", w_owner},
                           {"ftruncate", w_ftruncate}};
enum { WAYS = sizeof ways / sizeof *ways };

static void *add_one(void *p)
{
    ++*(int *)p;
    return NULL;
}

/* What a kernel needs. */
static bool computes(void)
{
    pthread_t t;
    int n = 41;
    char *p =
        mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return false;
    p[1000] = 1;
    if (mprotect(p, 1 << 20, PROT_READ | PROT_EXEC) != 0 || munmap(p, 1 << 20) != 0)
        return false;
    if (pthread_create(&t, NULL, add_one, &n) != 0 || pthread_join(t, NULL) != 0)
        return false;
    return n == 42;
}

/* One byte for each way: 1 when it is closed with EPERM; then one for computing. */
static void inside(bool caged)
{
    char got[WAYS + 1];

    if (ml_cage_enter() != (caged ? ML_CAGE_SHUT : ML_CAGE_OPEN))
        _exit(2);
    for (size_t k = 0; caged && k < WAYS; k++) {
        errno = 0;
        got[k] = ways[k].go() == -1 && (errno == EPERM || errno == ENOSYS);
    }
    if (!caged) { /* a try is worth something when it works outside */
        int fd = (int)w_read_file();

        got[0] = fd < 0;
        memset(got + 1, 0, WAYS - 1);
    }
    got[WAYS] = computes();
    _exit(write(answer, got, sizeof got) == (ssize_t)sizeof got ? 0 : 1);
}

static void run(bool caged, char *got)
{
    int pair[2], status;

    assert_int_equal(pipe(pair), 0);
    pid_t p = fork();

    assert_true(p >= 0);
    if (p == 0) {
        answer = pair[1];
        caged ? setenv("MOONLOOP_SAFE", "1", 1) : unsetenv("MOONLOOP_SAFE");
        inside(caged);
    }
    close(pair[1]);
    assert_int_equal(read(pair[0], got, WAYS + 1), WAYS + 1);
    close(pair[0]);
    assert_int_equal(waitpid(p, &status, 0), p);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void every_way_out_is_closed(void **state)
{
    char got[WAYS + 1] = {0};

    (void)state;
    run(true, got);
    for (size_t k = 0; k < WAYS; k++)
        if (!got[k])
            fail_msg("%s is open", ways[k].name);
    assert_true(got[WAYS]);
    assert_int_equal(rmdir(folder), 0); /* it is empty */
    assert_int_equal(mkdir(folder, 0700), 0);
}

static void without_safe_there_is_none(void **state)
{
    char got[WAYS + 1] = {0};

    (void)state;
    run(false, got);
    assert_false(got[0]);
    assert_true(got[WAYS]);
}

int main(void)
{
    static char path[] = "/tmp/moonloop-cage-XXXXXX";
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_way_out_is_closed),
                                       cmocka_unit_test(without_safe_there_is_none)};

    folder = mkdtemp(path);
    if (!folder)
        return 1;
    signal(SIGUSR1, SIG_IGN);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    rmdir(folder);
    return failed;
}
