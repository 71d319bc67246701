/* tools/serve/power_chart.c - see power_chart.h. */
#include "power_chart.h"

#include <math.h>
#include "base/clock.h"
#include "base/json_writer.h"

#define STEPS        150
#define STEP_NS      2000000000LL
#define MIN_COVERAGE 0.5 /* the mean of a step with less coverage is unknown */

struct stretch {
    int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC, whole steps */
    double end_unix_s;
};

/* Returns the time of the last STEPS steps, or of fewer if the meter was opened later. Steps start at
 * multiples of STEP_NS, so that all requests get the same mean for a step. */
static struct stretch find_stretch(const struct overview *overview)
{
    int64_t now = clock_now_ns();
    int64_t opened_ns = now - (int64_t)(overview->age_s * 1e9);
    struct stretch stretch = {.end_ns = now / STEP_NS * STEP_NS};
    stretch.end_unix_s = clock_seconds(clock_wall_ns() - (now - stretch.end_ns));
    stretch.begin_ns = stretch.end_ns - STEPS * STEP_NS;
    while (stretch.begin_ns < opened_ns && stretch.begin_ns < stretch.end_ns)
        stretch.begin_ns += STEP_NS; /* the meter rejects windows that begin before it was opened */
    return stretch;
}

static void add_watts(struct json *json, const char *key, joule_meter *meter, int32_t domain,
                      struct stretch stretch)
{
    json_open(json, key, '[');
    for (int64_t at = stretch.begin_ns; at < stretch.end_ns; at += STEP_NS) {
        joule_quantity joules;
        double coverage = 0;
        joule_window_joules(meter, domain, at, at + STEP_NS, &joules, &coverage);
        json_double(json, NULL, coverage >= MIN_COVERAGE ? joules.value / clock_seconds(STEP_NS) : NAN);
    }
    json_close(json, ']');
}

void history_json(const struct overview *overview, joule_meter *meter, struct text *out)
{
    struct json json = {.out = out};
    struct stretch stretch = find_stretch(overview);
    json_open(&json, NULL, '{');
    json_string(&json, "schema", "joule-history-1");
    json_double(&json, "end_unix_seconds", stretch.end_unix_s);
    json_double(&json, "step_seconds", clock_seconds(STEP_NS));
    add_watts(&json, "total", meter, JOULE_TOTAL, stretch);
    json_open(&json, "domains", '{');
    for (size_t i = 0; i < overview->domain_count; i++) {
        const joule_domain *domain = &overview->domains[i].domain;
        if (domain->in_total)
            add_watts(&json, domain->name, meter, domain->id, stretch);
    }
    json_close(&json, '}');
    json_close(&json, '}');
    text_add(out, "\n");
}
