/* bench/run_output.c - see run_output.h and csv.h. */
#include "run_output.h"

#include <math.h>
#include "csv.h"

void run_add_reasons(struct text *out, int throttled)
{
    const char *separator = "";
    for (uint32_t bit = 1; bit && throttled > 0; bit <<= 1) {
        if (!(bit & RUN_THROTTLED & (uint32_t)throttled))
            continue;
        text_printf(out, "%s%s", separator, joule_clock_reason_name(bit));
        separator = ", ";
    }
}

static void add_throttled(struct json *json, int throttled)
{
    if (throttled < 0) {
        json_null(json, "throttled");
        json_null(json, "throttle_reasons");
        return;
    }
    json_bool(json, "throttled", throttled > 0);
    json_open(json, "throttle_reasons", '[');
    for (uint32_t bit = 1; bit; bit <<= 1)
        if (bit & RUN_THROTTLED & (uint32_t)throttled)
            json_string(json, NULL, joule_clock_reason_name(bit));
    json_close(json, ']');
}

void run_json(struct json *json, const struct run *run)
{
    json_open(json, NULL, '{');
    json_integer(json, "block", run->block);
    json_bool(json, "warm_up", run->is_warm_up);
    json_string(json, "rejected", run->rejected);
    json_double(json, "machine_joules", run->machine_joules);
    json_double(json, "net_joules", run->net_joules);
    json_double(json, "command_joules", run->command_joules);
    json_double(json, "independent_sd_joules", run->own_sd);
    json_double(json, "common_sd_joules", run->common_sd);
    json_double(json, "seconds", run->seconds);
    json_double(json, "watts", run->machine_joules / run->seconds);
    json_string(json, "class", joule_class_name(run->cls));
    json_double(json, "coverage", run->coverage);
    json_double(json, "cpu_busy", run->cpu_busy);
    json_double(json, "other_busy", run->other_busy);
    json_double(json, "gpu_busy", run->gpu_busy);
    json_double(json, "temperature_celsius", run->temperature_celsius);
    add_throttled(json, run->throttled);
    json_double(json, "work", run->work);
    json_integer(json, "exit_status", run->exit_code);
    json_close(json, '}');
}

void csv_last_text(struct text *out, const char *cell)
{
    text_add(out, "\"");
    for (; cell && *cell; cell++)
        text_add_bytes(out, *cell == '"' ? "\"\"" : cell, *cell == '"' ? 2 : 1);
    text_add(out, "\"");
}

void csv_text(struct text *out, const char *cell)
{
    csv_last_text(out, cell);
    text_add(out, ",");
}

void csv_number(struct text *out, double value)
{
    if (isfinite(value))
        text_add_measure(out, value);
    text_add(out, ",");
}

void run_csv_header(struct text *out)
{
    text_add(
        out,
        "name,setting,block,warm_up,rejected,machine_joules,net_joules,command_joules,seconds,watts,class,"
        "coverage,cpu_busy,other_busy,gpu_busy,temperature_celsius,work,exit_status,throttled\r\n");
}

void run_csv(struct text *out, const char *name, const char *setting, const struct run *run)
{
    const double numbers[] = {run->machine_joules, run->net_joules, run->command_joules, run->seconds,
                              run->machine_joules / run->seconds};
    const double states[] = {
        run->coverage, run->cpu_busy, run->other_busy, run->gpu_busy, run->temperature_celsius, run->work};
    csv_text(out, name);
    csv_text(out, setting);
    text_printf(out, "%u,%d,", run->block, run->is_warm_up);
    csv_text(out, run->rejected);
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
        csv_number(out, numbers[k]);
    text_printf(out, "%s,", joule_class_name(run->cls));
    for (size_t k = 0; k < sizeof states / sizeof states[0]; k++)
        csv_number(out, states[k]);
    text_printf(out, "%d,", run->exit_code);
    if (run->throttled == 0)
        text_add(out, "no");
    if (run->throttled > 0) {
        text_add(out, "\"");
        run_add_reasons(out, run->throttled);
        text_add(out, "\"");
    }
    text_add(out, "\r\n");
}
