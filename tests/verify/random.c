/* random - the random programs of tests/core/script, linked with the tests of this folder.
 */
#include "../core/script/random_ir.c"
