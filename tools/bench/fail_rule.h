/* bench/fail_rule.h - conditions under which a comparison fails: "energy > +3%". */
#ifndef BENCH_FAIL_RULE_H
#define BENCH_FAIL_RULE_H

#include <joule/base.h>
#include <stdbool.h>

/* Figures that are compared. */
enum metric { METRIC_ENERGY, METRIC_TIME, METRIC_POWER, METRIC_EDP, METRICS };

/* Returns "energy", "time", "power" or "edp" (energy-delay product); static storage. */
const char *metric_name(enum metric metric);
/* Returns "joules", "seconds", "watts" or "joule-seconds"; static storage. */
const char *metric_unit(enum metric metric);

/* A condition: the ratio to the reference exceeds (or is below) a limit. */
struct fail_rule {
    enum metric metric;
    bool is_upper; /* '>': fails if the ratio is certainly above the limit; '<': below */
    double limit;  /* ratio, such as 1.03 for +3% */
};

/* Parses "METRIC > [+-]NUMBER[%]"; '<' likewise; white space is optional. JOULE_INVALID: any other text, or a
 * limit that is not above -100 %. */
joule_status fail_rule_parse(const char *text, struct fail_rule *out, joule_error *out_error);
/* Returns true if the interval low to high of a ratio shows that the condition holds. Unknown bounds show
 * nothing. */
bool fail_rule_holds(const struct fail_rule *rule, double low, double high);

#endif
