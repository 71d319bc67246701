/* joule/api/budget_text.h - budgets as programmers write them: "max_joules=50uJ, max_watts=12, per_call".
 *
 * Owns the keys and what each may be. What follows from a budget is for who asked: a scope judges calls, joulec a function.
 * Newcomers: limits that were not given are NaN, and no limit is ever 0.
 */
#ifndef JOULE_BUDGET_TEXT_H
#define JOULE_BUDGET_TEXT_H

#include <joule/base.h>
#include <stdbool.h>

#define BUDGET_TEXT_SIZE 512 /* with the terminator; no budget is longer */

struct budget_text {
    double max_joules, max_watts, max_temp_delta_kelvin; /* > 0 and finite; NaN: no such limit */
    bool is_sustained;                                   /* "sustained": called back to back, for heat */
    bool is_per_call; /* "per_call": said, though every budget is for one call */
};

/* Reads items with commas between and spaces around: max_joules=ENERGY, max_watts=POWER, max_temp_delta=KELVIN, sustained,
 * per_call. In any order, each at most once, at least one limit; values as joule_parse takes them, above 0. JOULE_INVALID:
 * *out is untouched, *out_column the byte (from 1) where it goes wrong and the message says what is allowed there. text may
 * be NULL (invalid), out_column and out_error too. */
joule_status budget_text_parse(const char *text, struct budget_text *out, size_t *out_column,
                               joule_error *out_error);

#endif
