/* joule/report/metrics_format.c - writes families and samples in both formats and chooses the format; see
 * metrics.h.
 *
 * OpenMetrics names a family without the suffix of its samples, has units and the type info, and ends with "#
 * EOF". The older text format names a family with the suffix and has no type info.
 * Note: the specifications are "OpenMetrics 1.0.0" and Prometheus' "Exposition formats". Both formats are
 * UTF-8.
 */
#include <math.h>
#include <string.h>
#include <strings.h>
#include "joule/report/metrics.h"

#define OPENMETRICS_TYPE "application/openmetrics-text"

/* --- families and samples ------------------------------------------------------------------------------- */

/* Returns the suffix of the family's samples. */
static const char *ending(const struct metric_family *family)
{
    static const char *const endings[] = {
        [METRIC_GAUGE] = "", [METRIC_COUNTER] = "_total", [METRIC_INFO] = "_info"};
    /* Names of other exporters stay unchanged: DCGM's energy is a counter without the suffix. */
    return string_starts(family->name, "DCGM_") ? "" : endings[family->type];
}

static const char *type_word(const struct metrics *metrics)
{
    const struct metric_family *family = metrics->family;
    bool is_open = metrics->format == METRICS_OPENMETRICS;
    switch (family->type) {
    case METRIC_COUNTER:
        return is_open && !*ending(family) ? "unknown" : "counter";
    case METRIC_INFO:
        return is_open ? "info" : "gauge";
    case METRIC_GAUGE:
        break;
    }
    return "gauge";
}

/* Adds a comment line about the family, such as "# TYPE joule_power_watts gauge". */
static void add_head(struct metrics *metrics, const char *keyword, const char *value)
{
    const struct metric_family *family = metrics->family;
    text_add(metrics->out, keyword);
    text_add(metrics->out, family->name);
    if (metrics->format == METRICS_TEXT)
        text_add(metrics->out, ending(family));
    text_add(metrics->out, " ");
    text_add(metrics->out, value);
    text_add(metrics->out, "\n");
}

void metrics_begin(struct metrics *metrics, const struct metric_family *family)
{
    metrics->family = family;
    metrics->has_samples = false;
}

void metrics_open(struct metrics *metrics)
{
    const struct metric_family *family = metrics->family;
    if (!metrics->has_samples) {
        add_head(metrics, "# HELP ", family->help);
        add_head(metrics, "# TYPE ", type_word(metrics));
        if (family->unit && metrics->format == METRICS_OPENMETRICS)
            add_head(metrics, "# UNIT ", family->unit);
    }
    metrics->has_samples = true;
    metrics->has_labels = false;
    text_add(metrics->out, family->name);
    text_add(metrics->out, ending(family));
}

/* Returns the number of leading bytes that need no escape. */
static size_t plain_length(const char *value)
{
    size_t length = 0;
    while (value[length] >= ' ' && value[length] < 0x7f && value[length] != '"' && value[length] != '\\')
        length++;
    return length;
}

/* Adds a label's value with escapes. Values contain names from devices. A byte that is not UTF-8 becomes '?',
 * because it would make the whole page unreadable. */
static void add_escaped(struct text *out, const char *value)
{
    for (size_t length; *value; value += length) {
        length = plain_length(value);
        if (length) {
            text_add_bytes(out, value, length);
            continue;
        }
        length = string_utf8_length(value, strlen(value));
        if (*value == '\n')
            text_add(out, "\\n");
        else if (*value == '"' || *value == '\\')
            text_add_bytes(out, (const char[]){'\\', *value}, 2);
        else
            text_add_bytes(out, length ? value : "?", length ? length : 1);
        length = length ? length : 1;
    }
}

void metrics_label(struct metrics *metrics, const char *name, const char *value)
{
    if (!*value)
        return;
    text_add(metrics->out, metrics->has_labels ? "," : "{");
    metrics->has_labels = true;
    text_add(metrics->out, name);
    text_add(metrics->out, "=\"");
    add_escaped(metrics->out, value);
    text_add(metrics->out, "\"");
}

static void add_whole(struct text *out, uint64_t value)
{
    char digits[24];
    char *first = digits + sizeof digits;
    do
        *--first = (char)('0' + value % 10);
    while (value /= 10);
    text_add_bytes(out, first, (size_t)(digits + sizeof digits - first));
}

/* Adds the decimal point and millionths, without trailing zeros. */
static void add_millionths(struct text *out, unsigned millionths)
{
    char digits[8] = ".";
    size_t length = 7;
    if (!millionths)
        return;
    for (size_t i = 6; i > 0; i--, millionths /= 10)
        digits[i] = (char)('0' + millionths % 10);
    while (digits[length - 1] == '0')
        length--;
    text_add_bytes(out, digits, length);
}

/* Writes whole numbers exactly, other numbers with six decimals, and very small or large numbers with twelve
 * digits. Avoids printf where possible, because printf would take most of the time. */
static void add_value(struct text *out, double value)
{
    double magnitude = fabs(value);
    bool is_whole = magnitude < 0x1p53 && magnitude == floor(magnitude);
    if (!is_whole && !(magnitude >= 1e-3 && magnitude < 1e9)) {
        text_printf(out, "%.12g", value);
        return;
    }
    uint64_t millionths = is_whole ? 0 : (uint64_t)llround(magnitude * 1e6);
    text_add(out, value < 0 ? "-" : "");
    add_whole(out, is_whole ? (uint64_t)magnitude : millionths / 1000000);
    add_millionths(out, (unsigned)(millionths % 1000000));
}

void metrics_close(struct metrics *metrics, double value)
{
    text_add(metrics->out, metrics->has_labels ? "} " : " ");
    add_value(metrics->out, value);
    text_add(metrics->out, "\n");
}

/* --- tables --------------------------------------------------------------------------------------------- */

static double value_at(const struct metric_column *column, const void *row)
{
    double value;
    memcpy(&value, (const char *)row + column->offset, sizeof value);
    return column->scale ? column->scale * value : value;
}

/* Position of each row's labels in the output, from which they are copied. A row's labels are equal in most
 * columns and are most of the output. */
#define KEPT_ROWS 256
struct kept_labels {
    struct {
        size_t at, length; /* length 0: not written yet */
    } rows[KEPT_ROWS];
};

/* Adds the labels of the open sample: copied from an earlier column if possible, otherwise formatted. */
static void add_labels(struct metrics *metrics, const struct metric_table *table, size_t i,
                       struct kept_labels *kept)
{
    struct text *out = metrics->out;
    size_t at = out->length;
    if (i < KEPT_ROWS && kept->rows[i].length && out->length + kept->rows[i].length < out->size) {
        text_add_bytes(out, out->buffer + kept->rows[i].at, kept->rows[i].length);
        metrics->has_labels = true;
        return;
    }
    table->label(metrics, (const char *)table->rows + i * table->row_size);
    if (i < KEPT_ROWS && out->length < out->size) { /* truncated labels cannot be copied */
        kept->rows[i].at = at;
        kept->rows[i].length = out->length - at;
    }
}

void metrics_add_columns(struct metrics *metrics, const struct metric_table *table,
                         const struct metric_column *columns, size_t column_count)
{
    struct kept_labels kept;
    for (const struct metric_column *column = columns; column < columns + column_count; column++) {
        bool had_class = column > columns && metrics_has_class(metrics);
        metrics_begin(metrics, &column->family);
        if (column == columns || had_class != metrics_has_class(metrics))
            kept = (struct kept_labels){0};
        for (size_t i = 0; i < table->row_count; i++) {
            double value = value_at(column, (const char *)table->rows + i * table->row_size);
            if (!metrics_is_known(value))
                continue;
            metrics_open(metrics);
            add_labels(metrics, table, i, &kept);
            metrics_close(metrics, value);
        }
    }
}

bool metrics_has_class(const struct metrics *metrics)
{
    const char *unit = metrics->family->unit;
    return unit && (strcmp(unit, "joules") == 0 || strcmp(unit, "watts") == 0);
}

/* --- choice of format ----------------------------------------------------------------------------------- */

const char *metrics_media_type(enum metrics_format format)
{
    return format == METRICS_OPENMETRICS ? OPENMETRICS_TYPE "; version=1.0.0; charset=utf-8"
                                         : "text/plain; version=0.0.4; charset=utf-8";
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

/* Copies the value of the parameter `name` in "; a=b; c=d" before `end`. Returns false if there is no such
 * parameter, or if its value does not fit. */
static bool find_parameter(const char *at, const char *end, const char *name, char *out_value, size_t size)
{
    size_t length = strlen(name);
    while ((at = memchr(at, ';', (size_t)(end - at)))) {
        at = skip_blanks(at + 1);
        if ((size_t)(end - at) <= length || strncmp(at, name, length) != 0 || at[length] != '=')
            continue;
        struct text value;
        text_init(&value, out_value, size);
        at += length + 1;
        text_add_bytes(&value, at, strcspn(at, ";, \t"));
        return value.length < size;
    }
    return false;
}

/* Returns the weight, 0 to 1, of one range of an Accept header; -1: the range does not match type and
 * version. */
static double weight_of(const char *range, const char *end, const char *type, const char *version)
{
    char value[16];
    double weight = 1;
    size_t length = strlen(type);
    if ((size_t)(end - range) < length || strncasecmp(range, type, length) != 0 ||
        !strchr(";, \t", range[length]))
        return -1;
    if (find_parameter(range, end, "version", value, sizeof value) && strcmp(value, version) != 0)
        return -1;
    if (find_parameter(range, end, "q", value, sizeof value) && !string_to_double(value, &weight))
        return -1;
    return weight;
}

enum metrics_format metrics_choose(const char *accept)
{
    double open = -1, text = 0;
    for (const char *range = accept; range && *range;) {
        range = skip_blanks(range);
        const char *end = range + strcspn(range, ",");
        double weight = weight_of(range, end, OPENMETRICS_TYPE, "1.0.0");
        open = weight > open ? weight : open;
        weight = weight_of(range, end, "text/plain", "0.0.4");
        text = weight > text ? weight : text;
        range = end + (*end == ',');
    }
    return open > 0 && open >= text ? METRICS_OPENMETRICS : METRICS_TEXT;
}
