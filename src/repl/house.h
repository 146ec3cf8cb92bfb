/* house - opens the house: hands the lower floors what they call of the upper ones
 * (command/house.h). Whoever makes a session does this first. */
#ifndef ML_REPL_HOUSE_H
#define ML_REPL_HOUSE_H

void ml_house_open(void);

#endif
