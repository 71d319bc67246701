/* tools/joulec/check/check.h - one C source, judged: the count build, what LLVM says of it, and what is said then.
 *
 * Owns running clang for the count build. Newcomers: bitcode goes through memory, so that nobody who ends this program leaves a
 * file behind.
 */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "arguments.h"
#include "joulec/report.h"
#include "outputs.h"

/* On which core it would run. */
struct machine {
    struct cost_cpu cpu;
    struct cost_core core;
};

struct checked {
    enum outcome outcome;
    bool is_refused; /* clang refuses the source */
};

/* Runs clang's `words` with standard output to `fd`. Its exit code; -1 after a message: it cannot be run. */
int check_run_clang(const char **words, int fd, bool is_quiet);
/* False after a message: it could not be checked. Where clang refuses the source nothing is said if is_quiet. */
bool check_source(const struct machine *machine, const struct arguments *arguments, const char *source,
                  bool is_quiet, struct outputs *outputs, struct checked *out);
/* The worse of two. */
enum outcome check_worse(enum outcome a, enum outcome b);

#endif
