/* tools/joulec/check/simulate.h - what llvm-mca says of a module's loops, where it knows the core.
 *
 * Owns finding and running it, on the assembly that clang makes of the module's code. Newcomers: it is a help and no need. Whatever
 * fails of this leaves loops as they are, and the figures of the core's description (cost/core_seed.c) answer for them.
 */
#ifndef CHECK_SIMULATE_H
#define CHECK_SIMULATE_H

#include "check.h"
#include "joule/host/path.h"

/* The llvm-mca that is used: JOULEC_LLVM_MCA, where it is set; else of those that PATH finds, llvm-mca-19 and so on, the newest. */
struct simulator {
    char path[HOST_PATH_MAX]; /* where it was found */
    unsigned version;         /* LLVM's release; 0: its name does not say */
    const char *cpu;          /* as LLVM calls it; NULL: nothing was simulated */
};

/* Of which functions the code is needed; MODULE_CODE_NONE: there is no llvm-mca, or none knows such a core. */
enum module_code simulator_find(const struct order *order, struct simulator *out);
/* Sets what is simulated of the module's loops. */
void simulator_run(const struct order *order, struct module *module, struct simulator *simulator);

#endif
