/* joule/struct_sizes.h - sizes of libjoule's public structures in their first release.
 *
 * Note: these sizes never change, although the structures grow; base/abi.h explains how.
 */
#ifndef JOULE_STRUCT_SIZES_H
#define JOULE_STRUCT_SIZES_H

#include <joule/budget.h>
#include <joule/devices.h>
#include "base/abi.h"

#define OPTIONS_SIZE_1        SIZE_UP_TO(joule_options, root)
#define DOMAIN_SIZE_1         SIZE_UP_TO(joule_domain, remedy)
#define DEVICE_SIZE_1         SIZE_UP_TO(joule_device, age_s)
#define RESULT_SIZE_1         SIZE_UP_TO(joule_result, reserved)
#define SPAN_SIZE_1           SIZE_UP_TO(joule_span, error_ns)
#define MEASUREMENT_SIZE_1    SIZE_UP_TO(joule_measurement, total_joules)
#define BUDGET_OPTIONS_SIZE_1 SIZE_UP_TO(joule_budget_options, context)
#define BUDGET_RESULT_SIZE_1  SIZE_UP_TO(joule_budget_result, overshoot_bound_joules)

#endif
