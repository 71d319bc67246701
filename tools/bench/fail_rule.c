/* bench/fail_rule.c - see fail_rule.h. */
#include "fail_rule.h"

#include <string.h>
#include "base/error.h"
#include "base/string.h"

const char *metric_name(enum metric metric)
{
    static const char *const names[METRICS] = {"energy", "time", "power", "edp"};
    return names[metric];
}

const char *metric_unit(enum metric metric)
{
    static const char *const units[METRICS] = {"joules", "seconds", "watts", "joule-seconds"};
    return units[metric];
}

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t");
}

/* Parses the metric's name at `at`. Returns the first byte after the name; NULL: no metric. */
static const char *scan_metric(const char *at, enum metric *out_metric)
{
    for (enum metric m = 0; m < METRICS; m++) {
        if (string_starts(at, metric_name(m))) {
            *out_metric = m;
            return at + strlen(metric_name(m));
        }
    }
    return NULL;
}

joule_status fail_rule_parse(const char *text, struct fail_rule *out, joule_error *out_error)
{
    double percent = 0;
    const char *at = scan_metric(skip_space(text), &out->metric);
    at = at ? skip_space(at) : NULL;
    if (at && (*at == '>' || *at == '<')) {
        out->is_upper = *at == '>';
        at = skip_space(at + 1);
        at += *at == '+' && at[1] != '-';
        at = string_scan_double(at, &percent);
        at = at ? skip_space(at) : NULL;
        at = at ? skip_space(at + (*at == '%')) : NULL;
        out->limit = 1 + percent / 100;
        if (at && !*at && out->limit > 0)
            return JOULE_OK;
    }
    return error_set(out_error, JOULE_INVALID,
                     "--fail-if takes a metric (energy, time, power, edp), '>' or '<', and a change above "
                     "-100 %% such as '+3%%', not '%s'",
                     text);
}

bool fail_rule_holds(const struct fail_rule *rule, double low, double high)
{
    return rule->is_upper ? low > rule->limit : high < rule->limit;
}
