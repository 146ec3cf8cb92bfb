/* cage - shuts the process in before it runs code that is not trusted. */
#ifndef ML_CODEGEN_WORKER_CAGE_H
#define ML_CODEGEN_WORKER_CAGE_H

#include <stdbool.h>

typedef enum ml_Cage {
    ML_CAGE_OPEN,  /* nobody asked for one (MOONLOOP_SAFE is not set) */
    ML_CAGE_SHUT,  /* from now on the process and its threads compute, and answer */
    ML_CAGE_BROKEN /* the system has none: code that is not trusted is not to be run */
} ml_Cage;

/* Under --safe: for good, the calling process opens no file, starts no program, makes no
 * connection and touches no other process; what it has open it goes on using. Called once,
 * before it has threads. */
ml_Cage ml_cage_enter(void);

#endif
