/* tools/forge/measured_run.c - see measured_run.h. */
#include "measured_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/string.h"
#include "common/options.h"
#include "compiled_code.h"
#include "prediction.h"
#include "files.h"
#include "energy_table.h"
#include "forge/ir/text.h"

#define METER_PERIOD_S 0.02
#define COLLECT_RUNS   256 /* runs between two calls of forge_energy_collect */
#define MEASURED_NS    NS_PER_S
#define MAX_NAME       256
#define MAX_WAIT_S     1.0 /* maximum time to wait for a last reading after the last run */

joule_status measured_run_open(struct measured_run *r, const char *subcommand, forge_program *program,
                               const char *device, unsigned threads, bool is_compiled, uint64_t seed,
                               joule_error *error)
{
    *r = (struct measured_run){.subcommand = subcommand, .program = program};
    joule_status status = forge_device_open(device, &r->device, error);
    if (status == JOULE_OK)
        status = forge_device_set_threads(r->device, threads, error);
    if (status == JOULE_OK)
        compiled_code_begin(r->device, subcommand, is_compiled);
    if (status == JOULE_OK)
        status = forge_states_new(r->device, seed, &r->states, error);
    if (status == JOULE_OK)
        status = forge_instance_new(r->program, r->device, r->states, &r->instance, error);
    if (status == JOULE_OK)
        compiled_code_end(r->device, subcommand);
    return status;
}

void measured_run_close(struct measured_run *r)
{
    forge_instance_free(r->instance);
    forge_states_free(r->states);
    forge_program_free(r->program);
    forge_device_close(r->device);
    joule_close(r->meter);
}

/* --- running -------------------------------------------------------------------------------------------- */

void measured_run_start(struct measured_run *r)
{
    joule_error error = {0};
    r->runs = 0;
    forge_instance_reset_times(r->instance);
    r->begin_ns = clock_now_ns();
    if (device_is_estimate_only(r->device)) {
        forge_energy_start(r->instance, NULL, JOULE_TOTAL, &error);
        return;
    }
    const joule_options options = {.struct_size = sizeof options, .period_s = METER_PERIOD_S};
    if (joule_open(&options, &r->meter, &error) != JOULE_OK ||
        forge_energy_start(r->instance, r->meter, JOULE_TOTAL, &error) != JOULE_OK)
        complain(r->subcommand, "cannot measure energy: %s", error.message);
    r->begin_ns = clock_now_ns();
}

joule_status measured_run_repeat(struct measured_run *r, unsigned times, joule_error *error)
{
    joule_status status = JOULE_OK;
    for (unsigned i = 0; status == JOULE_OK && i < times; i++) {
        status = forge_instance_run(r->instance, error);
        if (++r->runs % COLLECT_RUNS == 0)
            forge_energy_collect(r->instance);
    }
    r->end_ns = clock_now_ns();
    return status;
}

joule_status measured_run_for_second(struct measured_run *r, joule_error *error)
{
    joule_status status = measured_run_repeat(r, 1, error);
    measured_run_start(r);
    do {
        if (status == JOULE_OK)
            status = measured_run_repeat(r, 1, error);
    } while (status == JOULE_OK && r->end_ns - r->begin_ns < MEASURED_NS &&
             !device_is_estimate_only(r->device));
    return status;
}

/* --- results -------------------------------------------------------------------------------------------- */

void measured_run_end(struct measured_run *r)
{
    r->sum = (forge_energy_sum){.struct_size = sizeof r->sum};
    forge_energy_finish(r->instance, MAX_WAIT_S);
    if (forge_energy_total(r->instance, &r->sum) == JOULE_ABSENT)
        r->sum.all_joules.value = NAN;
}

static void print_expected_head(const struct measured_run *r)
{
    joule_quantity seconds, joules;
    char time[QUANTITY_TEXT], energy[QUANTITY_TEXT];
    forge_expected_run(r->instance, &seconds, &joules);
    printf("%u run%s, %s and %s each, %s: the device %s only estimates, nothing was run\n", r->runs,
           r->runs == 1 ? "" : "s", quantity_text(seconds, JOULE_DIMENSION_TIME, time),
           quantity_text(joules, JOULE_DIMENSION_ENERGY, energy), joule_class_name(joules.cls),
           forge_device_name(r->device));
}

/* Returns the seconds of one run, including the time between its launches. */
static double seconds_of_all(const struct measured_run *r)
{
    forge_launch_facts facts = {.struct_size = sizeof facts};
    forge_energy_facts between = {.struct_size = sizeof between};
    size_t count = forge_energy_count(r->instance);
    double all_s = 0;
    for (size_t i = 0; forge_instance_launch(r->instance, i, &facts) == JOULE_OK; i++)
        all_s += facts.seconds / r->runs;
    if (count && forge_energy_get(r->instance, count - 1, &between) == JOULE_OK)
        all_s += between.seconds / r->runs;
    return all_s;
}

static void print_head(const struct measured_run *r)
{
    if (device_is_estimate_only(r->device)) {
        print_expected_head(r);
        return;
    }
    joule_quantity joules = r->sum.all_joules;
    bool has_joules = !isnan(joules.value);
    double each_s = has_joules ? seconds_of_all(r) : clock_seconds(r->end_ns - r->begin_ns) / r->runs;
    char time[32], energy[32], low[32], high[32], each[32];
    joule_format(each_s, JOULE_DIMENSION_TIME, 3, time, sizeof time);
    if (!has_joules) {
        printf("%u run%s, %s each; joules unknown\n", r->runs, r->runs == 1 ? "" : "s", time);
        return;
    }
    joule_format(joules.value, JOULE_DIMENSION_ENERGY, 3, energy, sizeof energy);
    joule_format(joules.low, JOULE_DIMENSION_ENERGY, 2, low, sizeof low);
    joule_format(joules.high, JOULE_DIMENSION_ENERGY, 2, high, sizeof high);
    joule_format(joules.value / r->runs, JOULE_DIMENSION_ENERGY, 3, each, sizeof each);
    printf("%u run%s, %s and %s each; in all %s (%s to %s, %s) %s\n", r->runs, r->runs == 1 ? "" : "s", time,
           each, energy, low, high, joule_class_name(joules.cls), basis_text(r->sum.basis));
}

static void print_launch(forge_instance *instance, size_t i, const forge_launch_facts *f, double all_s)
{
    char scope[MAX_NAME] = "-", rate[32] = "", time[32], energy[32] = "";
    struct text text;
    joule_quantity joules;
    if (*f->scope) {
        text_init(&text, scope, sizeof scope);
        text_add_path(&text, f->scope);
    }
    if (f->flop > 0 && f->seconds > 0)
        snprintf(rate, sizeof rate, "%.2f", f->flop * (double)f->runs / f->seconds * 1e-9);
    joule_format(f->seconds / (double)f->runs, JOULE_DIMENSION_TIME, 3, time, sizeof time);
    if (forge_launch_energy(instance, i, &joules) == JOULE_OK)
        joule_format(joules.value / (double)f->runs, JOULE_DIMENSION_ENERGY, 3, energy, sizeof energy);
    printf("%5zu  %-20s %-9s %-10s %-20s %10s %6.1f %% %9s %12s\n", i, scope, forge_phase_name(f->phase),
           f->op, f->kernel, time, all_s > 0 ? f->seconds / (double)f->runs / all_s * 100 : 0, rate, energy);
}

/* Prints a row, such as "(between operations)", for joules of the heading that belong to no launch. */
static void print_rest(const char *name, double joules, double seconds, double all_s)
{
    char energy[32], time[32] = "", share[16] = "";
    joule_format(joules, JOULE_DIMENSION_ENERGY, 3, energy, sizeof energy);
    if (!isnan(seconds)) {
        joule_format(seconds, JOULE_DIMENSION_TIME, 3, time, sizeof time);
        snprintf(share, sizeof share, "%.1f %%", seconds / all_s * 100);
    }
    printf("       %-20s %-9s %-10s %-20s %10s %8s %9s %12s\n", name, "", "", "", time, share, "", energy);
}

static void print_rests(const struct measured_run *r, double all_s)
{
    forge_energy_facts between = {.struct_size = sizeof between};
    size_t count = forge_energy_count(r->instance);
    if (count && forge_energy_get(r->instance, count - 1, &between) == JOULE_OK && between.joules.value > 0)
        print_rest("(between operations)", between.joules.value / r->runs, between.seconds / r->runs, all_s);
    if (r->sum.unattributed_joules.value > 0)
        print_rest("(unattributed)", r->sum.unattributed_joules.value / r->runs, NAN, all_s);
}

static void print_launches(const struct measured_run *r)
{
    forge_instance *instance = r->instance;
    forge_launch_facts facts = {.struct_size = sizeof facts};
    double all_s = seconds_of_all(r);
    printf("%5s  %-20s %-9s %-10s %-20s %10s %8s %9s %12s\n", "", "layer", "phase", "operation", "kernel",
           "time", "share", "GFLOP/s", "energy");
    for (size_t i = 0; forge_instance_launch(instance, i, &facts) == JOULE_OK; i++)
        print_launch(instance, i, &facts, all_s);
    print_rests(r, all_s);
}

void measured_run_print(struct measured_run *r)
{
    char memory[MEMORY_TEXT];
    print_head(r);
    printf("memory: %s\n\n", memory_text(r->program, memory));
    print_launches(r);
}
