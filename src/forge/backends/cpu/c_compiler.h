/* backends/cpu/c_compiler.h - finds the C compiler of this machine and runs it, without a shell.
 *
 * The compiler is $CC if this variable is set, and otherwise the first of cc, gcc and clang in $PATH.
 */
#ifndef FORGE_CPU_C_COMPILER_H
#define FORGE_CPU_C_COMPILER_H

#include <joule/base.h>

enum { C_COMPILER_WORDS = 8, C_COMPILER_OPTIONS = 40 };

struct c_compiler {
    char command[256];                     /* "cc", for messages */
    char path[4096];                       /* of the program */
    char words[256];                       /* the words of the command, each with '\0' */
    char *arguments[C_COMPILER_WORDS + 1]; /* the words; point into `words`, the last one is NULL */
    /* Differs between compilers, and changes when one is replaced. */
    uint64_t identity;
};

/* Finds the compiler. The structure must not be moved. JOULE_ABSENT: there is none; the message names the
 * commands that were tried. JOULE_DENIED: the process has more rights than its user, so that the user may
 * not choose a program. */
joule_status c_compiler_find(struct c_compiler *out_compiler, joule_error *out_error);
/* Compiles a file to a shared object. options: separated by spaces. Waits for the compiler at most a minute.
 * JOULE_FAILED: the message contains the compiler's first line. Any thread. */
joule_status c_compiler_run(const struct c_compiler *compiler, const char *options, const char *source,
                            const char *object, joule_error *out_error);

#endif
