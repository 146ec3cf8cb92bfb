/* data - what the command at work tells. Source: interaction 2, 4. */
#include "repl/out/data.h"

ml_Data *ml_session_data(ml_Session *ss)
{
    return ss->data;
}
