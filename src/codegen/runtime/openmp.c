/* openmp - the OpenMP runtime is opened, not linked: either libgomp or LLVM's serves, and
 * only processes that run compiled code have one. Source: lowering-and-codegen 7.5. */
#include "moonloop/codegen/runtime/runtime.h"

#include <dlfcn.h>
#include <pthread.h>

static const char *const files[] = {"libgomp.so.1", "libomp.so.5", "libomp.so"};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *opened;

/* Global, so that generated code finds GOMP_parallel by name. */
static void open_it(void)
{
    for (size_t k = 0; k < ML_COUNT(files) && !opened; k++) {
        void *lib = dlopen(files[k], RTLD_NOW | RTLD_GLOBAL);

        if (lib && dlsym(lib, "GOMP_parallel"))
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
