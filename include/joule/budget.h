/* joule/budget.h - limits that are watched while a program runs.
 *
 * A budget bounds the joules, watts or temperature rise of the machine from its begin to its end. It is checked
 * at every reading; budgets nest, and each is judged for itself.
 * Newcomers: a budget is an observation of the meter's cover, so other programs' energy counts too unless the
 * budget is tied to a tag. Below `joule run` a tag's budget is judged in the parent's report, and NOT_MEASURED here.
 */
#ifndef JOULE_BUDGET_H
#define JOULE_BUDGET_H

#include <joule/region.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct joule_budget joule_budget;

/* How a budget stands. The names in reports are the lower-case words. */
typedef enum joule_budget_status {
    JOULE_BUDGET_NOT_MEASURED = 0,     /* nothing is known of its energy */
    JOULE_BUDGET_WITHIN = 1,           /* P(within budget) >= 0.95 and under 80 % of it */
    JOULE_BUDGET_NEAR = 2,             /* P(within budget) >= 0.95, at least 80 % used */
    JOULE_BUDGET_OVER = 3,             /* P(within budget) <= 0.05 */
    JOULE_BUDGET_UNDECIDED = 4,        /* in between: the figures are not sure enough */
    JOULE_BUDGET_BELOW_RESOLUTION = 5, /* in between, because the sensor cannot even tell the energy from 0 */
} joule_budget_status;

/* Called when a limit is first seen to be near (80 %, status NEAR) and when it is passed (status OVER), in the thread
 * whose reading showed it: the meter's, or one in joule_sample_now, joule_region_wait or joule_budget_end. The best
 * estimate decides, because to wait for certainty would overrun every budget. It may end the budget's work and ask or
 * sample the meter, but must not call joule_close or joule_budget_end, nor wait for a thread that does. */
typedef void (*joule_budget_fn)(joule_budget *budget, joule_budget_status status, void *context);

typedef struct joule_budget_options {
    uint32_t struct_size; /* sizeof(joule_budget_options) */
    uint32_t flags;       /* JOULE_BUDGET_STOP, or 0 */
    int32_t domain;       /* JOULE_TOTAL ... or a domain id, of which 0 is one; ignored where tag is not 0 */
    uint32_t tag;         /* bound the attributed joules of this tag instead of the domain; 0: none */
    double max_joules;    /* > 0; 0: no such limit */
    /* mean over the last second; of a shorter budget, at its end, over all of it; 0: no such limit */
    double max_watts;
    /* over the hottest gauge at begin; 0: no such limit; NOT_MEASURED where there is no gauge */
    double max_temperature_rise_kelvin;
    joule_budget_fn notify; /* may be NULL */
    void *context;
} joule_budget_options;

#define JOULE_BUDGET_STOP 1u /* send SIGTERM to this process when the budget is passed */

typedef struct joule_budget_result {
    uint32_t struct_size; /* set by the caller to sizeof(joule_budget_result) */
    joule_budget_status status;
    joule_quantity joules;
    double probability; /* P(within the joule budget); NaN: no such limit, or unknown */
    double peak_watts;  /* highest mean over a second, or over all of a shorter budget; NaN: unknown */
    double temperature_rise_kelvin; /* NaN: unknown */
    /* most that could be used before a passed budget is noticed; NaN: unknown */
    double overshoot_bound_joules;
} joule_budget_result;

/* Starts to watch. The budget is owned by the caller until joule_budget_end, or until its meter is closed. On failure it
 * is NULL. JOULE_INVALID: no limit set, a negative one, or a domain without energy. JOULE_UNSUPPORTED: a flag or member
 * that this library does not know. JOULE_NO_MEMORY: no memory or no thread. Any thread. */
JOULE_API joule_status joule_budget_begin(joule_meter *meter, const joule_budget_options *options,
                                          joule_budget **out_budget, joule_error *out_error);

/* How it stands at the last reading. JOULE_INVALID: struct_size too small. Any thread. */
JOULE_API joule_status joule_budget_now(joule_budget *budget, joule_budget_result *out_result);

/* Takes a last reading, judges, frees the budget. out_result may be NULL. JOULE_INVALID: struct_size too small, and the
 * budget goes on. Any thread, when no other uses the budget. */
JOULE_API joule_status joule_budget_end(joule_budget *budget, joule_budget_result *out_result);

/* "within_budget", "near_budget", "over_budget", "undecided", "below_resolution", "not_measured". */
JOULE_API const char *joule_budget_status_name(joule_budget_status status);

/* Judges a quantity against a limit by the rule of joule_budget_status, without a meter. Any thread. */
JOULE_API joule_budget_status joule_budget_judge(joule_quantity joules, double max_joules);

#ifdef __cplusplus
}
#endif
#endif
