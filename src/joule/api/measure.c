/* joule/api/measure.c - joule_measure: a region around a function call, and the wait for its figures.
 *
 * Note: the figures are the energy of the whole machine during the call (`window`), and not only the
 * function's share. Programs that run other work at the same time need regions and their `attributed` joules.
 */
#include <math.h>
#include <string.h>
#include "joule/struct_sizes.h"
#include "joule/api/open.h"
#include "joule/collector/ledger.h"

#define TIMEOUT_S 2.0

joule_status joule_measure(void (*fn)(void *), void *arg, joule_measurement *out_measurement)
{
    if (!fn || !abi_has_room(out_measurement, MEASUREMENT_SIZE_1))
        return JOULE_INVALID;
    joule_meter *meter = meter_or_default(NULL);
    joule_region region = joule_begin(0);
    fn(arg);
    joule_end(&region);
    joule_result result = result_unknown();
    joule_status status = JOULE_FAILED;
    if (meter)
        status = joule_region_wait(meter, &region, TIMEOUT_S, &result);
    joule_measurement measurement = {
        .duration_s = (double)(region.end_ns - region.begin_ns) * 1e-9,
        .coverage = result.coverage,
        .cpu_joules = result.cpu,
        .gpu_joules = result.gpu,
        .total_joules = result.window,
    };
    abi_write(out_measurement, &measurement, sizeof measurement);
    return status;
}
