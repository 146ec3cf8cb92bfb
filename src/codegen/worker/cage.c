/*
 * cage - under --safe the process that runs kernels can compute, and answer, no more.
 *
 * A compiled program may write anywhere in its process, and so do anything that the process
 * may. The kernel of the system is told what that is: a list of calls for memory, threads,
 * time and the descriptors that are open; every other one fails with EPERM. Source:
 * seccomp(2), cBPF of linux/filter.h.
 */
#define _GNU_SOURCE /* NOLINT: SYS_... and getpid of the system's own numbers */
#include "moonloop/codegen/worker/cage.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0
#endif

/* Allowed whatever their arguments are. */
static const uint16_t CALLS[] = {
    /* memory */
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_mbind,
    SYS_get_mempolicy,
    SYS_membarrier,
    SYS_mlock,
    SYS_munlock,
    /* threads and their ends */
    SYS_futex,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_set_tid_address,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_getcpu,
    SYS_gettid,
    SYS_getpid,
    SYS_exit,
    SYS_exit_group,
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_arch_prctl
    SYS_arch_prctl,
#endif
    /* signals of its own */
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
#ifdef SYS_pause
    SYS_pause,
#endif
    /* time */
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getrusage,
    SYS_times,
    SYS_sysinfo,
    SYS_uname,
    SYS_getrandom,
    /* what is open */
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_lseek,
    SYS_close,
    SYS_dup,
    SYS_ppoll,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_sendto,
    SYS_recvfrom,
#ifdef SYS_poll
    SYS_poll,
#endif
};

enum { N_CALLS = sizeof CALLS / sizeof *CALLS, ROOM = 2 * N_CALLS + 24 };

#define LOAD(field)                                                                        \
    (struct sock_filter)                                                                   \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(op, k, n)                                                              \
    (struct sock_filter) BPF_JUMP(BPF_JMP | (op) | BPF_K, (uint32_t)(k), 0, (n))
#define RETURN(what) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, (uint32_t)(what))

/* The call when its first argument (its low half, which holds a number of a process, and
 * the flags that are asked for) passes `op`. */
static size_t allow_when(struct sock_filter *f, uint32_t call, uint16_t op, uint32_t with)
{
    size_t n = 0;

    f[n++] = SKIP_UNLESS(BPF_JEQ, call, 4);
    f[n++] = LOAD(args[0]);
    f[n++] = SKIP_UNLESS(op, with, 1);
    f[n++] = RETURN(SECCOMP_RET_ALLOW);
    f[n++] = RETURN(SECCOMP_RET_ERRNO | EPERM);
    return n;
}

static size_t write_filter(struct sock_filter *f)
{
    size_t n = 0;

    f[n++] = LOAD(arch);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    f[n++] = RETURN(SECCOMP_RET_KILL_PROCESS);
    f[n++] = LOAD(nr);
    for (size_t k = 0; k < N_CALLS; k++) {
        f[n++] = SKIP_UNLESS(BPF_JEQ, CALLS[k], 1);
        f[n++] = RETURN(SECCOMP_RET_ALLOW);
    }
    n += allow_when(f + n, SYS_clone, BPF_JSET, CLONE_THREAD); /* no process */
    n += allow_when(f + n, SYS_tgkill, BPF_JEQ, (uint32_t)getpid());
    n += allow_when(f + n, SYS_prlimit64, BPF_JEQ, 0); /* its own */
#ifdef SYS_clone3
    /* Its flags lie in memory, where they cannot be judged; without it the library takes
     * clone. */
    f[n++] = SKIP_UNLESS(BPF_JEQ, SYS_clone3, 1);
    f[n++] = RETURN(SECCOMP_RET_ERRNO | ENOSYS);
#endif
    f[n++] = RETURN(SECCOMP_RET_ERRNO | EPERM);
    return n;
}

ml_Cage ml_cage_enter(void)
{
    const char *safe = getenv("MOONLOOP_SAFE");
    struct sock_filter filter[ROOM];
    struct sock_fprog program = {.filter = filter};

    if (!safe || !*safe)
        return ML_CAGE_OPEN;
    program.len = (unsigned short)write_filter(filter);
    if (ARCH == 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return ML_CAGE_BROKEN;
    return ML_CAGE_SHUT;
}
