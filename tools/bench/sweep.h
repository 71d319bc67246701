/* bench/sweep.h - parameters of commands: "size=1000,2000" replaces {size} in each command. */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include <joule/base.h>
#include "base/arena.h"

#define SWEEP_MAX_VALUES 64 /* values of one parameter */
#define SWEEPS_MAX       4  /* parameters */

/* A parameter and its values, in the arena of sweep_parse. */
struct sweep {
    const char *name;
    const char *values[SWEEP_MAX_VALUES];
    size_t count;
};

/* Parses "NAME=VALUE,VALUE...". JOULE_INVALID: no name or value, an empty value, a name with characters other
 * than letters, digits, '_' and '-', or more than SWEEP_MAX_VALUES values. */
joule_status sweep_parse(struct arena *arena, const char *text, struct sweep *out, joule_error *out_error);
/* Returns `text` with each {NAME} replaced by the value chosen[i] of sweep i, in the arena. NULL: out of
 * memory. Other text in braces is not changed. */
char *sweep_replace(struct arena *arena, const char *text, const struct sweep *sweeps, const size_t *chosen,
                    size_t count);

#endif
