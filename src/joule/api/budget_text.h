/* joule/api/budget_text.h - parses budgets that programmers write: "max_joules=50uJ, max_watts=12, per_call".
 *
 * Note: the limit of a missing item is NaN, never 0. Callers decide what a budget means: a scope judges
 * calls, joulec judges functions.
 */
#ifndef JOULE_BUDGET_TEXT_H
#define JOULE_BUDGET_TEXT_H

#include <joule/base.h>
#include <stdbool.h>

#define BUDGET_TEXT_SIZE 512 /* including the terminator; no budget is longer */

/* A parsed budget. */
struct budget_text {
    double max_joules, max_watts, max_temp_delta_kelvin; /* > 0 and finite; NaN: no such limit */
    bool is_sustained; /* "sustained": called back to back, for temperature */
    bool is_per_call;  /* "per_call": accepted, although every budget is for one call */
};

/* Parses items separated by commas: max_joules=ENERGY, max_watts=POWER, max_temp_delta=KELVIN, sustained,
 * per_call. White space around items and around "=" is ignored. The order is free, each item may occur once,
 * and at least one limit is required. Values have the format of joule_parse and are above 0. If the text is
 * invalid, returns JOULE_INVALID and does not set *out. *out_column is then the column of the error, counted
 * in bytes from 1, and the message names what is allowed there. text may be NULL (invalid); out_column and
 * out_error may be NULL. */
joule_status budget_text_parse(const char *text, struct budget_text *out, size_t *out_column,
                               joule_error *out_error);

#endif
