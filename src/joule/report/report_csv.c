/* joule/report/report_csv.c - writes a report, or its samples, as rows for a spreadsheet (RFC 4180).
 *
 * The order of columns never changes; new columns are added at the end. There is one row for each run or
 * sample.
 * Note: unknown values are empty fields. With several runs, `timestamp` is the time at which the first run
 * began. The columns command_share to net_high_joules and overhead_cpu_seconds are then empty, because they
 * describe all runs together. No run follows a failed run, so all runs before the last one have exit status
 * 0.
 */
#include <math.h>
#include <string.h>
#include <joule/joule.h>
#include "joule/report/report.h"

static const char header[] =
    "schema,program,timestamp,run,duration_seconds,energy_joules,energy_low_joules,energy_high_joules,class,"
    "confidence,"
    "cover,coverage,partial,mean_power_watts,command_energy_joules,command_low_joules,command_high_joules,"
    "command_class,command_share,command_method,idle_power_watts,net_energy_joules,net_low_joules,net_high_"
    "joules,"
    "exit_status,budget_joules,budget_status,budget_probability,overhead_cpu_seconds,labels\r\n";

/* Adds text inside a quoted field. */
static void add_escaped(struct text *out, const char *string)
{
    for (; *string; string++)
        text_add_bytes(out, *string == '"' ? "\"\"" : string, *string == '"' ? 2 : 1);
}

static void add_field(struct text *out, const char *string)
{
    const char *quote = strpbrk(string, ",\"\r\n") ? "\"" : "";
    text_add(out, quote);
    add_escaped(out, string);
    text_add(out, quote);
}

static void add_string(struct text *out, const char *string)
{
    text_add(out, ",");
    add_field(out, string ? string : "");
}

/* Adds a field with a number; an empty field if the number is NaN or infinite. */
static void add_number(struct text *out, double value)
{
    text_add(out, ",");
    if (isfinite(value))
        text_add_double(out, value);
}

static void add_energy(struct text *out, joule_quantity q)
{
    add_number(out, q.value);
    add_number(out, q.low);
    add_number(out, q.high);
}

/* Adds the 10 columns about the command. With several runs, the last six are empty, because they are known
 * only for all runs together. */
static void add_command(struct text *out, const struct report *report, const struct report_run *run)
{
    bool has_command = report->share.method != ATTRIBUTE_NONE;
    add_energy(out, run->command_joules);
    add_string(out, has_command ? joule_class_name(run->command_joules.cls) : "");
    if (report_run_count(report) > 1) {
        text_add(out, ",,,,,,");
        return;
    }
    add_number(out, report->share.share);
    add_string(out, has_command ? attribute_method_name(report->share.method) : "");
    add_number(out, report->idle_watts.value);
    add_energy(out, report->net_joules);
}

/* Adds "key=value;key=value". */
static void add_labels(struct text *out, const struct report *report)
{
    const char *quote = report->label_count ? "\"" : "";
    text_add(out, ",");
    text_add(out, quote);
    for (size_t i = 0; i < report->label_count; i++) {
        text_add(out, i ? ";" : "");
        add_escaped(out, report->labels[i].key);
        text_add(out, "=");
        add_escaped(out, report->labels[i].value);
    }
    text_add(out, quote);
}

static void add_row(struct text *out, const struct report *report, size_t index)
{
    struct report_run run = report_run(report, index);
    char timestamp[REPORT_TIME_SIZE];
    report_time(report->begin_realtime_ns, timestamp);
    text_add(out, REPORT_SCHEMA);
    add_string(out, report->program);
    add_string(out, timestamp);
    text_printf(out, ",%zu", index + 1);
    add_number(out, run.seconds);
    add_energy(out, run.joules);
    add_string(out, joule_class_name(run.joules.cls));
    add_number(out, joule_confidence(run.joules));
    add_string(out, report->cover);
    add_number(out, report->coverage);
    add_string(out, report->is_partial ? "true" : "false");
    add_number(out, report_run_count(report) > 1 ? run.joules.value / run.seconds : report->mean_watts.value);
    add_command(out, report, &run);
    text_add(out, ",");
    if (report->has_exit_status)
        text_printf(out, "%d", index + 1 == report_run_count(report) ? report->exit_status : 0);
    add_number(out, report->budget_joules);
    add_string(out, isnan(report->budget_joules) ? "" : joule_budget_status_name(report->budget_status));
    add_number(out, report->budget_probability);
    add_number(out, report_run_count(report) > 1 ? NAN : report->overhead_cpu_s);
    add_labels(out, report);
    text_add(out, "\r\n");
}

void report_csv(const struct report *report, struct text *out)
{
    text_add(out, header);
    for (size_t i = 0; i < report_run_count(report); i++)
        add_row(out, report, i);
}

/* --- samples -------------------------------------------------------------------------------------------- */

void report_samples_header(struct text *out)
{
    text_add(out, "seconds,timestamp,domain,unit,value,class\r\n");
}

static const char *unit_name(joule_reading_kind reading)
{
    switch (reading) {
    case JOULE_READING_TEMPERATURE:
        return "degC";
    case JOULE_READING_CLOCK:
        return "Hz";
    case JOULE_READING_UTILISATION:
        return "1";
    default:
        return "J"; /* sampled power was integrated when it was read */
    }
}

void report_sample_csv(const struct report_sample *sample, struct text *out)
{
    const joule_domain *domain = sample->domain;
    char timestamp[REPORT_TIME_SIZE];
    report_time(sample->realtime_ns, timestamp);
    text_add_double(out, sample->seconds);
    add_string(out, timestamp);
    add_string(out, domain->name);
    add_string(out, unit_name(domain->reading));
    add_number(out, domain->reading == JOULE_READING_CLOCK ? sample->value * 1e6 : sample->value);
    add_string(out, domain->cls == JOULE_CLASS_NONE ? "" : joule_class_name(domain->cls));
    text_add(out, "\r\n");
}
