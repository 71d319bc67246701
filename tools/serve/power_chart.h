/* tools/serve/power_chart.h - the power of the last minutes for the chart of the page.
 *
 * Note: no samples are stored for the chart. The mean power of each step is computed from the energy of a
 * window, which the meter's curves return for any time.
 */
#ifndef SERVE_POWER_CHART_H
#define SERVE_POWER_CHART_H

#include "joule/report/overview.h"

/* Prints one line of JSON: {"schema", "end_unix_seconds", "step_seconds", "total": [watts, oldest first],
 * "domains": {NAME: [...]}}. A step is null if sensors covered less than half of it. Domains are those that
 * the total includes. */
void history_json(const struct overview *overview, joule_meter *meter, struct text *out);

#endif
