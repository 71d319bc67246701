/* Fuzz target: stored reports of joulec. Checks that all names in an accepted report are set, and that each
 * function of the report is found by its name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joulec/verdict/comparison.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_growth(const struct baseline_function *a, const struct baseline_function *b,
                         const struct target *target)
{
    struct growth growth;
    comparison_make(a, b, target, 0.05, &growth);
    require(growth.change < CHANGES && change_name(growth.change));
    require(!(growth.probability < 0) && !(growth.probability > 1));
}

static void check_unit(const struct baseline *baseline, const struct baseline_unit *unit,
                       const struct target *target)
{
    require(unit->program && unit->table && unit->core);
    baseline_find(baseline, unit->program, unit->build ? unit->build : "");
    for (size_t i = 0; i < unit->function_count; i++) {
        const struct baseline_function *f = &unit->functions[i],
                                       *found = baseline_find_function(unit, f->name);
        require(found && strcmp(found->name, f->name) == 0);
        if (f->joules[BOUND_EST] > 0 && found->joules[BOUND_EST] > 0)
            check_growth(f, &unit->functions[0], target);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cost_cpu server = {"intel", 6, 85, "", 2, 40, 80, false};
    struct target target;
    struct baseline baseline;
    struct analysis_options options = {.default_trips = NAN, .warmer_kelvin = NAN};
    joule_error error = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    cost_core_describe(&server, NAN, &target.core);
    cost_core_table(&server, &target.table);
    if (baseline_read(text, size, "x", &baseline, &error) == JOULE_OK) {
        for (size_t i = 0; i < baseline.unit_count; i++)
            check_unit(&baseline, &baseline.units[i], &target);
        baseline_check(&baseline, &target, &options, &error);
    } else {
        require(error.message[0]);
    }
    baseline_free(&baseline);
    free(text);
    return 0;
}
