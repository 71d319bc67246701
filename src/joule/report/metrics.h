/* joule/report/metrics.h - writes an overview as metrics in OpenMetrics 1.0 or Prometheus' text format 0.0.4.
 *
 * metrics_format.c writes families and samples, with types, units and escapes. metrics.c, metrics_device.c
 * and metrics_tenant.c define Joule's own families, metrics_dcgm.c the families of dcgm-exporter's
 * dashboards. docs/exporter.md lists all families.
 * Note: an unknown value has no sample, and a family without samples is omitted. Unknown values are never
 * written as 0.
 */
#ifndef JOULE_REPORT_METRICS_H
#define JOULE_REPORT_METRICS_H

#include <stddef.h>
#include "joule/report/overview.h"

enum metrics_format { METRICS_TEXT, METRICS_OPENMETRICS };

/* Writes all families to `out`, complete for one scrape. */
void metrics_print(const struct overview *overview, enum metrics_format format, struct text *out);
/* Returns the media type of a format, in static storage. */
const char *metrics_media_type(enum metrics_format format);
/* Returns the format that an HTTP Accept header requests; `accept` NULL: no header. Returns METRICS_TEXT if
 * the header does not request OpenMetrics, or requests it with less weight than text. */
enum metrics_format metrics_choose(const char *accept);

/* --- for the files that define families ----------------------------------------------------------------- */

enum metric_type { METRIC_GAUGE, METRIC_COUNTER, METRIC_INFO };

struct metric_family {
    const char *name; /* includes the unit, but not the suffix _total or _info */
    enum metric_type type;
    const char *unit; /* NULL: none */
    const char *help;
};

/* State of the writer. metrics_begin starts a family. Its samples follow one after the other. */
struct metrics {
    const struct overview *overview;
    enum metrics_format format;
    struct text *out;
    const struct metric_family *family;
    bool has_samples, has_labels; /* the family has samples; the open sample has labels */
};

void metrics_begin(struct metrics *metrics, const struct metric_family *family);
/* Returns true for a value that may be written. */
static inline bool metrics_is_known(double value)
{
    return value - value == 0; /* neither NaN nor infinite */
}
/* Begins a sample of the family. metrics_label then adds its labels, and metrics_close writes its value. */
void metrics_open(struct metrics *metrics);
/* Adds a label. Omits a label with an empty value, because Prometheus treats it like a missing label. */
void metrics_label(struct metrics *metrics, const char *name, const char *value);
void metrics_close(struct metrics *metrics, double value);

/* A family with at most one sample for each row of a table: the double at `offset` in the row, times
 * `scale`. */
struct metric_column {
    struct metric_family family;
    size_t offset;
    double scale; /* 0 means 1 */
};
/* Three families for a quantity's value, its 5 % and its 95 % point, because a sample is one number. */
#define METRIC_QUANTITY(prefix, first_type, unit, row, member, what)                                         \
    {{prefix "_" unit, first_type, unit, what}, offsetof(row, member.value)},                                \
        {{prefix "_low_" unit, METRIC_GAUGE, unit, what " (5 % point)"}, offsetof(row, member.low)},         \
    {                                                                                                        \
        {prefix "_high_" unit, METRIC_GAUGE, unit, what " (95 % point)"}, offsetof(row, member.high)         \
    }

/* Rows for metrics_add_columns: row_count items of row_size bytes each. */
struct metric_table {
    const void *rows;
    size_t row_count, row_size;
    /* Adds the labels of the open sample. The labels may depend on the row, and on whether the column has a
     * class (metrics_has_class), but on nothing else. */
    void (*label)(struct metrics *metrics, const void *row);
};
/* Writes the family of each column, with a sample for each row whose value is known. */
void metrics_add_columns(struct metrics *metrics, const struct metric_table *table,
                         const struct metric_column *columns, size_t column_count);
/* Returns true if the family's unit is joules or watts. Its samples then have the label `class`. */
bool metrics_has_class(const struct metrics *metrics);

/* Adds the families that other files define. */
void metrics_add_devices(struct metrics *metrics);
void metrics_add_dcgm(struct metrics *metrics);
void metrics_add_tenants(struct metrics *metrics);

#endif
