/* tools/forge/compiled_code.h - the option --compiled of subcommands that run programs.
 *
 * Without a compiler, a message says why, and the device computes the same results by its kernels.
 */
#ifndef FORGE_COMPILED_CODE_H
#define FORGE_COMPILED_CODE_H

#include <forge/program.h>

#define COMPILED_OPTION(target)                                                                              \
    {                                                                                                        \
        "compiled", 0, OPTION_FLAG, target, NULL,                                                            \
            "compile fused operations with the C compiler of this machine: same bits, fewer instructions"    \
    }

/* Makes instances that are created later use compiled code, if is_wanted. */
void compiled_code_begin(forge_device *device, const char *subcommand, bool is_wanted);
/* Prints what was not compiled, and why. */
void compiled_code_end(forge_device *device, const char *subcommand);

#endif
