/* Fuzz target: a file of joule calibrate. Checks that accepted values are in their ranges, and that energies
 * and times that are computed from these values are plausible. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joule/cost/calibration.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_terms(const struct cost_term *terms, double max)
{
    for (int i = 0; i < COST_FEATURES; i++)
        require(isnan(terms[i].value) || (0 <= terms[i].low && terms[i].low <= terms[i].value &&
                                          terms[i].value <= terms[i].high && terms[i].high <= max));
}

/* Computes energies as joulec does, on a machine with the CPU of the file. */
static void use(const struct cost_calibration *calibration)
{
    struct cost_cpu cpu = {.family = calibration->family,
                           .model = calibration->model,
                           .packages = 1,
                           .cores = 4,
                           .threads = 4,
                           .is_virtual = calibration->is_virtual};
    struct cost_core core;
    struct cost_table table;
    struct cost_run run;
    struct cost_features work = {.version = COST_VERSION};
    char date[16];
    memcpy(cpu.vendor, calibration->vendor, sizeof cpu.vendor);
    memcpy(cpu.name, calibration->name, sizeof cpu.name);
    require(cost_calibration_is_of(calibration, &cpu, calibration->stepping));
    cost_core_describe(&cpu, NAN, &core);
    cost_core_table(&cpu, &table);
    cost_calibration_apply(calibration, &core, &table);
    for (int i = COST_UOPS; i <= COST_DRAM_LINES; i++)
        work.amount[i] = i == COST_SIMD_256 || i == COST_SIMD_512 ? 0 : 1000;
    cost_core_run(&core, &table, &work, &(struct cost_flow){NAN, NAN}, &run);
    require(run.cycles.low > 0 && run.cycles.low <= run.cycles.est && run.cycles.est <= run.cycles.high);
    require(isfinite(run.seconds.high) && memchr(table.id, '\0', sizeof table.id));
    require(isnan(run.energy.total.value) || run.energy.total.value >= 0);
    cost_calibration_date(calibration, date);
    require(memchr(date, '\0', sizeof date));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cost_calibration calibration;
    joule_error error;
    char *text = malloc(size + 1); /* an exact copy, so that sanitizers detect reads beyond the end */
    require(text != NULL);
    memcpy(text, data, size);
    joule_status status = cost_calibration_parse(text, size, "file", &calibration, &error);
    require(status == JOULE_OK || status == JOULE_INVALID || status == JOULE_NO_MEMORY);
    free(text);
    require_terms(calibration.speeds.per_cycle, 64);
    require_terms(calibration.speeds.latency, 1e6);
    require_terms(calibration.prices.joules, 1e4);
    if (status == JOULE_OK)
        use(&calibration);
    return 0;
}
