/* tools/joulec/check/simulate.h - finds llvm-mca and runs it on the assembly of a module's loops.
 *
 * Note: this is optional. If any step fails, loops keep the cycles of the core's description
 * (cost/core_seed.c).
 */
#ifndef CHECK_SIMULATE_H
#define CHECK_SIMULATE_H

#include "check.h"
#include "joule/host/path.h"

/* The llvm-mca to use: JOULEC_LLVM_MCA if set, else the newest version in PATH, such as llvm-mca-19. */
struct simulator {
    char path[HOST_PATH_MAX]; /* path of the program */
    unsigned version;         /* major version of LLVM; 0: the name does not tell */
    const char *cpu;          /* name of the core in LLVM; NULL: nothing was simulated */
};

/* Finds llvm-mca. Returns the functions whose assembly must be kept; MODULE_CODE_NONE: there is no llvm-mca,
 * or it has no model of this core. */
enum module_code simulator_find(const struct order *order, struct simulator *out);
/* Simulates loops of the module, and stores the results in it. */
void simulator_run(const struct order *order, struct module *module, struct simulator *simulator);

#endif
