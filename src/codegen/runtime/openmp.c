/* openmp - the OpenMP runtime is opened, not linked: either libgomp or LLVM's serves, and
 * only processes that run compiled code have one. Source: lowering-and-codegen 7.5. */
#include "moonloop/codegen/runtime/runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static const char *const files[] = {"libgomp.so.1", "libomp.so.5", "libomp.so"};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *opened;

static ml_OpenMp found;

/* A symbol as a function; false: the library lacks it. */
static bool find(void *lib, const char *name, void *fn)
{
    void *at = dlsym(lib, name);

    memcpy(fn, &at, sizeof at);
    return at != NULL;
}

/* Global, so that the code of saved kernels finds it by name. */
static void open_it(void)
{
    for (size_t k = 0; k < ML_COUNT(files) && !opened; k++) {
        void *lib = dlopen(files[k], RTLD_NOW | RTLD_GLOBAL);

        if (lib && find(lib, "GOMP_parallel", &found.parallel) &&
            find(lib, "omp_get_thread_num", &found.thread_num) &&
            find(lib, "omp_get_num_threads", &found.num_threads))
            opened = files[k];
    }
}

bool ml_openmp_open(ml_Ctx *cx)
{
    pthread_once(&once, open_it);
    if (opened)
        return true;
    return ml_fail(cx, ML_E_NO_FILE,
                   ML_TEXT("no OpenMP runtime: neither libgomp.so.1 nor libomp.so.5 can be "
                           "loaded (Debian: libgomp1)"));
}

const char *ml_openmp_name(void)
{
    return opened;
}

const ml_OpenMp *ml_openmp(void)
{
    return &found;
}
