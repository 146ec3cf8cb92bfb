/* machine_report - what is known of the machine, as :machine says it. */
#ifndef ML_REPL_CMD_MACHINE_REPORT_H
#define ML_REPL_CMD_MACHINE_REPORT_H

#include "moonloop/codegen/machine/machine.h"
#include "moonloop/core/base/text.h"

/* Lines without a newline at the end. */
void ml_machine_report(const ml_Machine *m, ml_Text *t);

#endif
