/* joule/report/metrics.h - an overview as metrics: OpenMetrics 1.0, or the text format 0.0.4 of Prometheus.
 *
 * Owns the writing of families and samples: order, types, units, escapes. Which families there are stands in
 * metrics.c, metrics_device.c and metrics_tenant.c (Joule's own) and metrics_dcgm.c (names that dcgm-exporter's dashboards ask for); docs/exporter.md lists them.
 * Newcomers: what is unknown has no sample, and a family without samples is not mentioned. Nothing unknown is ever 0.
 */
#ifndef JOULE_REPORT_METRICS_H
#define JOULE_REPORT_METRICS_H

#include <stddef.h>
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

/* A family of which every row of a table has at most one sample: the double at `offset` in the row, times `scale`. */
struct metric_column {
    struct metric_family family;
    size_t offset;
    double scale; /* 0: 1 */
};
/* A quantity's value, its 5 % and its 95 % point: three families, as a sample is one number. */
#define METRIC_QUANTITY(prefix, first_type, unit, row, member, what)                                         \
    {{prefix "_" unit, first_type, unit, what}, offsetof(row, member.value)},                                \
        {{prefix "_low_" unit, METRIC_GAUGE, unit, what " (5 % point)"}, offsetof(row, member.low)},         \
    {                                                                                                        \
        {prefix "_high_" unit, METRIC_GAUGE, unit, what " (95 % point)"}, offsetof(row, member.high)         \
    }

struct metric_table {
    const void *rows;
    size_t row_count, row_size;
    /* Adds the labels of the sample that is open: the same in all columns that have, or do not have, a class. */
    void (*label)(struct metrics *metrics, const void *row);
};
void metrics_add_columns(struct metrics *metrics, const struct metric_table *table,
                         const struct metric_column *columns, size_t column_count);
/* Whether the family is of energy or power, and so has the class of its evidence as a label. */
bool metrics_has_class(const struct metrics *metrics);

/* Families in other files than metrics.c. */
void metrics_add_devices(struct metrics *metrics);
void metrics_add_dcgm(struct metrics *metrics);
void metrics_add_tenants(struct metrics *metrics);

#endif
