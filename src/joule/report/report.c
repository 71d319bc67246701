/* joule/report/report.c - queries of a report that several printers use.
 *
 * Note: report_json.c, report_text.c and report_csv.c are the printers.
 */
#include "joule/report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"

void report_time(int64_t realtime_ns, char out_text[REPORT_TIME_SIZE])
{
    time_t seconds = (time_t)(realtime_ns / NS_PER_S);
    struct tm utc;
    struct text text;
    if (!gmtime_r(&seconds, &utc))
        utc = (struct tm){.tm_year = 70, .tm_mday = 1};
    text_init(&text, out_text, REPORT_TIME_SIZE);
    text_printf(&text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                utc.tm_hour, utc.tm_min, utc.tm_sec, (int)(realtime_ns % NS_PER_S / 1000000));
}

/* Returns true if the device has this type. Memory has the type "cpu" in addition to its own, because a
 * region that claims the CPU also claims the memory. */
static bool is_type(const struct report_device *device, const char *type)
{
    return strcmp(device->type, type) == 0 ||
           (strcmp(type, "cpu") == 0 && strcmp(device->type, "memory") == 0);
}

static size_t count_type(const struct report *report, const char *type)
{
    size_t count = 0;
    for (size_t i = 0; i < report->device_count; i++)
        count += is_type(&report->devices[i], type);
    return count;
}

/* Returns the index of the first device with this type; -1: none. */
static int first_index(const struct report *report, const char *type)
{
    for (size_t i = 0; i < report->device_count; i++)
        if (is_type(&report->devices[i], type))
            return report->devices[i].index;
    return -1;
}

/* Writes "cpu" even if there are several packages, because the package on which a thread ran is unknown. */
void report_function_device(const struct report *report, const struct tag_row *row,
                            char out_device[REPORT_DEVICE_SIZE])
{
    size_t gpus = count_type(report, "gpu"), cpus = count_type(report, "cpu");
    bool cpu = row->flags & JOULE_REGION_CPU, gpu = row->flags & JOULE_REGION_GPU;
    if (cpu == gpu) { /* the region claims everything */
        cpu = cpus == report->device_count;
        gpu = gpus == report->device_count;
    }
    if (cpu == gpu)
        string_copy(out_device, REPORT_DEVICE_SIZE, "all");
    else if (gpu && gpus == 1 && first_index(report, "gpu") >= 0)
        snprintf(out_device, REPORT_DEVICE_SIZE, "gpu:%d", first_index(report, "gpu"));
    else
        string_copy(out_device, REPORT_DEVICE_SIZE, cpu ? "cpu" : "gpu");
}

joule_budget_status report_function_status(const struct tag_row *row)
{
    if (row->unsynchronised)
        return JOULE_BUDGET_NOT_MEASURED;
    joule_budget_status status = joule_budget_judge(row->result.attributed, row->budget_joules);
    bool is_sure = status == JOULE_BUDGET_NOT_MEASURED || status == JOULE_BUDGET_WITHIN;
    return row->flags & TAG_BRIEF && !is_sure ? JOULE_BUDGET_BELOW_RESOLUTION : status;
}

size_t report_run_count(const struct report *report)
{
    return report->runs > 1 && report->each_run ? report->runs : 1;
}

struct report_run report_run(const struct report *report, size_t index)
{
    if (report_run_count(report) > 1)
        return report->each_run[index];
    return (struct report_run){report->total_joules, report->command_joules, report->duration_s};
}

bool report_leads_with_command(const struct report *report)
{
    return report->share.method != ATTRIBUTE_NONE && !isnan(report->command_joules.value) &&
           isnan(report->by_class[JOULE_CLASS_MEASURED].value) &&
           isnan(report->by_class[JOULE_CLASS_DERIVED].value);
}

void report_clear_machine(struct report *report)
{
    if (!report_leads_with_command(report) || !(report->command_joules.value > report->total_joules.value))
        return;
    report->total_joules = report->mean_watts = report->net_joules = quantity_unknown();
    for (size_t i = 0; i < sizeof report->by_class / sizeof report->by_class[0]; i++)
        report->by_class[i] = quantity_unknown();
    for (size_t i = 0; i < report->device_count; i++)
        report->devices[i].energy_joules = quantity_unknown();
}

/* Returns the first figure of the report for one run: the command's or the machine's energy. */
static joule_quantity leading_joules(const struct report *report, size_t run)
{
    struct report_run r = report_run(report, run);
    return report_leads_with_command(report) ? r.command_joules : r.joules;
}

/* Returns the 95 % point of Student's t: from a table for up to 9 degrees of freedom, otherwise by an
 * expansion around the 95 % point of the normal distribution. */
static double student_95(size_t freedom)
{
    static const double few[] = {6.3138, 2.9200, 2.3534, 2.1318, 2.0150, 1.9432, 1.8946, 1.8595, 1.8331};
    if (freedom <= sizeof few / sizeof few[0])
        return few[freedom - 1];
    double n = (double)freedom, z = Z90, z2 = z * z;
    return z + z * (z2 + 1) / (4 * n) + z * ((5 * z2 + 16) * z2 + 3) / (96 * n * n);
}

struct report_mean report_mean(const struct report *report)
{
    size_t count = report_run_count(report);
    struct report_mean mean = {.joules = quantity_unknown(), .sd_joules = NAN};
    double sum = 0, squares = 0;
    joule_class cls = JOULE_CLASS_NONE;
    for (size_t i = 0; i < count; i++) {
        joule_quantity q = leading_joules(report, i);
        sum += q.value;
        cls = q.cls > cls ? q.cls : cls;
    }
    double value = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += pow(leading_joules(report, i).value - value, 2);
    if (count < 2 || isnan(squares))
        return mean;
    mean.sd_joules = sqrt(squares / (double)(count - 1));
    double half = student_95(count - 1) * mean.sd_joules / sqrt((double)count);
    mean.joules =
        (joule_quantity){.value = value, .low = fmax(0, value - half), .high = value + half, .cls = cls};
    return mean;
}

void report_free(struct report *report)
{
    arena_free(&report->arena);
    *report = (struct report){0};
}
