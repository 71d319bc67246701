/* runtime/energy_expected.c - expected joules of operations, on a device that only estimates.
 *
 * Note: the errors of all launches of a device have the same causes, so errors do not cancel in a sum of
 * items.
 */
#include <forge/energy.h>
#include <math.h>
#include <stdlib.h>
#include "forge/runtime/energy.h"

/* The arguments of attribution_from_model. joules, seconds: [items]; log_sd: [items, EXPECTED_CAUSES],
 * row-major. */
struct sums {
    double *joules, *seconds, *log_sd;
};

void energy_add_expected(forge_instance *instance)
{
    struct energy *e = instance->energy;
    if (!e || !instance->device->ops->expect || e->spans.runs == e->expected_runs)
        return;
    double runs = (double)(e->spans.runs - e->expected_runs);
    for (size_t i = 0; i < instance->program->launches.count; i++) {
        struct expected launch;
        e->device->ops->expect->launch(e->device, &instance->launches[i], &launch);
        expected_add(&e->expected[e->items.item_of[i]], runs, &launch);
    }
    e->expected_runs = e->spans.runs;
}

static void store_item(const struct expected *item, size_t i, const struct sums *sums)
{
    sums->joules[i] = item->joules;
    sums->seconds[i] = item->seconds;
    for (size_t cause = 0; cause < EXPECTED_CAUSES; cause++)
        sums->log_sd[i * EXPECTED_CAUSES + cause] =
            item->joules > 0 ? item->joules_sd[cause] / item->joules : 0;
}

joule_status energy_expect(const forge_instance *instance)
{
    struct energy *e = instance->energy;
    size_t n = e->items.count;
    if (e->collected_runs == 0)
        return JOULE_PENDING;
    double *numbers = calloc(n, (2 + EXPECTED_CAUSES) * sizeof *numbers);
    struct sums sums = {numbers, numbers + n, numbers + 2 * n};
    for (size_t i = 0; numbers && i < n; i++)
        store_item(&e->collected[i], i, &sums);
    if (numbers)
        e->answer = attribution_from_model(n, sums.joules, sums.seconds, sums.log_sd, EXPECTED_CAUSES);
    free(numbers);
    return e->answer ? attribution_merge(e->answer, e->group_of) : JOULE_NO_MEMORY;
}

joule_status forge_expected_run(forge_instance *instance, joule_quantity *out_seconds,
                                joule_quantity *out_joules)
{
    const struct expect_ops *ops = instance->device->ops->expect;
    struct expected run = {0}, launch;
    *out_seconds = *out_joules = (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    if (!ops)
        return JOULE_UNSUPPORTED;
    joule_status status = instance->is_bound ? JOULE_OK : instance_bind(instance, NULL);
    if (status != JOULE_OK)
        return status;
    for (size_t i = 0; i < instance->program->launches.count; i++) {
        ops->launch(instance->device, &instance->launches[i], &launch);
        expected_add(&run, 1, &launch);
    }
    *out_seconds = expected_seconds(&run);
    *out_joules = expected_joules(&run);
    return JOULE_OK;
}
