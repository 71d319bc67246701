/* bench/work.h - the work of a command, for figures such as samples per joule. */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include <joule/base.h>

#define WORK_UNIT_SIZE 32

/* An amount of work. */
struct work {
    double amount;             /* more than 0 */
    char unit[WORK_UNIT_SIZE]; /* "flop", "samples", "tokens" ... */
};

/* Parses "1.2e12flop", "1.2Tflop" (prefixes k M G T P before flop), "samples=60000" or "60000samples".
 * JOULE_INVALID: any other text, an amount of 0 or less, or a unit with characters other than letters,
 * digits, '_' and '-'. */
joule_status work_parse(const char *text, struct work *out, joule_error *out_error);

#endif
