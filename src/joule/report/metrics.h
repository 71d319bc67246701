/* joule/report/metrics.h - an overview as metrics: OpenMetrics 1.0, or the text format 0.0.4 of Prometheus.
 *
 * Owns the writing of families and samples: order, types, units, escapes. Which families there are stands in
 * metrics.c (Joule's own) and metrics_dcgm.c (names that dcgm-exporter's dashboards ask for); docs/exporter.md lists them.
 * Newcomers: what is unknown has no sample, and a family without samples is not mentioned. Nothing unknown is ever 0.
 */
#ifndef JOULE_REPORT_METRICS_H
#define JOULE_REPORT_METRICS_H

#include "joule/report/overview.h"

enum metrics_format { METRICS_TEXT, METRICS_OPENMETRICS };

/* The whole exposition. */
void metrics_print(const struct overview *overview, enum metrics_format format, struct text *out);
/* Its media type, in static storage. */
const char *metrics_media_type(enum metrics_format format);
/* The format that an Accept header asks for, NULL: none was sent. Text where OpenMetrics is not asked for or has less weight. */
enum metrics_format metrics_choose(const char *accept);

/* --- for the files that know families ----------------------------------------------------------------------- */

enum metric_type { METRIC_GAUGE, METRIC_COUNTER, METRIC_INFO };

struct metric_family {
    const char *name; /* with its unit, without _total and _info */
    enum metric_type type;
    const char *unit; /* NULL: none */
    const char *help;
};

/* Families are begun and their samples written one after the other. */
struct metrics {
    const struct overview *overview;
    enum metrics_format format;
    struct text *out;
    const struct metric_family *family;
    bool has_samples, has_labels; /* of the family; of the sample */
};

void metrics_begin(struct metrics *metrics, const struct metric_family *family);
/* A sample: open, labels, close. Only for a value that is known (metrics_knows): opening writes. */
static inline bool metrics_knows(double value)
{
    return value - value == 0; /* neither NaN nor infinite */
}
void metrics_open(struct metrics *metrics);
/* An empty value is left out: to Prometheus both mean the same. */
void metrics_label(struct metrics *metrics, const char *name, const char *value);
void metrics_close(struct metrics *metrics, double value);

/* metrics_dcgm.c */
void metrics_add_dcgm(struct metrics *metrics);

#endif
