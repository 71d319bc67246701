/* joule/sources/apple/apple_programs.c - the sources "macmon" and "powermetrics": an Apple machine's power,
 * from programs.
 *
 * They are used if IOReport is not available. macmon needs no privileges; Apple's powermetrics needs root.
 * apple_text.c parses their output.
 * Note: "macmon pipe" prints one JSON object for each interval. A reading blocks for one interval and returns
 * the mean values of that interval. */
#include <math.h>
#include "joule/sources/apple/apple_power.h"
#include "joule/sources/apple/ioreport.h"

#define PERIOD_S   2.0
#define INTERVAL_S 1.0
#define TIMEOUT_NS INT64_C(5000000000)
#define MAX_TEXT   65536

static const char *const macmon[] = {"macmon", "pipe", "-s", "1", "-i", "1000", NULL};
static const char *const powermetrics[] = {
    "powermetrics", "--samplers", "cpu_power,gpu_power,ane_power", "-i", "1000", "-n", "1", "-f",
    "plist",        NULL};

struct program {
    const char *const *command;
    char *text;
    struct channel *parts[APPLE_PARTS];
    struct channel *busy, *clock, *temperature;
};

static joule_status run_program(struct source *source, struct apple_power *out_power)
{
    const struct program *program = source->data;
    struct source_output output;
    joule_status status = source_run(source, program->command, TIMEOUT_NS, program->text, MAX_TEXT, &output);
    *out_power = apple_power_unknown();
    if (status != JOULE_OK)
        return status;
    bool found = program->command == macmon ? macmon_parse(program->text, out_power)
                                            : powermetrics_parse(program->text, output.length, out_power);
    return found ? JOULE_OK : JOULE_FAILED;
}

/* --- opening -------------------------------------------------------------------------------------------- */

static struct channel *add_gauge(struct source *source, enum gauge_role role, const char *what, double value)
{
    return isnan(value) ? NULL : gpu_add_gauge(source, apple_gpu_device(source), role, what);
}

static void add_part(struct source *source, enum apple_part part)
{
    struct program *program = source->data;
    struct channel *ch = program->parts[part] = apple_add_part(source, part);
    if (!ch)
        return;
    ch->mode = CHANNEL_POWER;
    ch->rank = RANK_INTEGRATED + (program->command == powermetrics);
    ch->info.reading = JOULE_READING_POWER;
    ch->integrator.period_s = PERIOD_S;
    ch->integrator.averaged_part = INTERVAL_S / PERIOD_S;
    ch->integrator.lag_s = INTERVAL_S / 2;
}

static joule_status describe(struct source *source, const struct apple_power *power)
{
    struct program *program = source->data;
    for (int part = 0; part < APPLE_PARTS; part++)
        if (!isnan(power->watts[part]))
            add_part(source, part);
    program->busy = add_gauge(source, ROLE_BUSY, "busy", power->gpu_busy);
    program->clock = add_gauge(source, ROLE_CLOCK, "clock", power->gpu_megahertz);
    program->temperature = add_gauge(source, ROLE_TEMPERATURE, "temperature", power->gpu_celsius);
    return JOULE_OK;
}

static joule_status open_program(struct source *source, const char *const *command)
{
    struct program *program = source->data = arena_alloc(&source->arena, sizeof *program);
    struct apple_power power;
    if (!program || !(program->text = arena_alloc(&source->arena, MAX_TEXT)))
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    if (ioreport_is_available(source->host))
        return source_set_state(source, JOULE_ABSENT,
                                "not needed: the source ioreport reads the system directly");
    program->command = command;
    joule_status status = run_program(source, &power);
    if (status == JOULE_OK)
        return describe(source, &power);
    if (status == JOULE_ABSENT)
        return source_set_state(source, status, "%s not found: it runs only on Macs with Apple's chips",
                                command[0]);
    return source_set_state(source, status, "%s printed no values: %s", command[0],
                            command == powermetrics ? "run as root" : "run `macmon pipe -s 1` to see why");
}

static joule_status macmon_open(struct source *source)
{
    return open_program(source, macmon);
}

static joule_status powermetrics_open(struct source *source)
{
    return open_program(source, powermetrics);
}

/* --- reading -------------------------------------------------------------------------------------------- */

typedef void (*report_fn)(struct sink *sink, struct channel *ch, double value);

static void report_power(struct sink *sink, struct channel *ch, double watts)
{
    sink_power(sink, ch, 0, watts);
}

static void report(struct sink *sink, struct channel *ch, joule_status status, double value,
                   report_fn report_value)
{
    if (ch && status == JOULE_OK && !isnan(value))
        report_value(sink, ch, value);
    else if (ch)
        sink_fail(sink, ch, status == JOULE_OK ? JOULE_STALE : status);
}

static void program_read(struct source *source, struct sink *sink)
{
    const struct program *program = source->data;
    struct apple_power power;
    joule_status status = run_program(source, &power);
    for (int part = 0; part < APPLE_PARTS; part++)
        report(sink, program->parts[part], status, power.watts[part], report_power);
    report(sink, program->busy, status, power.gpu_busy, sink_gauge);
    report(sink, program->clock, status, power.gpu_megahertz, sink_gauge);
    report(sink, program->temperature, status, power.gpu_celsius, sink_gauge);
}

const struct source_ops source_macmon = {
    .name = "macmon",
    .measurement = "ioreport",
    .tier = 2,
    .is_slow = true,
    .folder = "/System/Library", /* exists only on macOS */
    .period_s = PERIOD_S,
    .open = macmon_open,
    .read = program_read,
};

const struct source_ops source_powermetrics = {
    .name = "powermetrics",
    .measurement = "ioreport",
    .tier = 2,
    .is_slow = true,
    .folder = "/System/Library",
    .period_s = PERIOD_S,
    .open = powermetrics_open,
    .read = program_read,
};
