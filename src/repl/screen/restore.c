/* restore - terminals as they were (restore.h). */
#include "repl/screen/restore.h"

#include "moonloop/core/base/base.h"

static void (*volatile restorers[4])(void);

void ml_restore_by(void (*restore)(void))
{
    for (size_t k = 0; k < ML_COUNT(restorers); k++) {
        if (!restorers[k])
            restorers[k] = restore;
        if (restorers[k] == restore)
            return;
    }
}

void ml_restore_all(void)
{
    for (size_t k = 0; k < ML_COUNT(restorers); k++)
        if (restorers[k])
            restorers[k]();
}
