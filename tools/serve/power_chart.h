/* tools/serve/power_chart.h - the power of the last minutes for the chart of the page.
 *
 * Note: nothing is stored for it. The meter's curves give the energy of any window, and thus the mean power
 * of each step.
 */
#ifndef SERVE_POWER_CHART_H
#define SERVE_POWER_CHART_H

#include "joule/report/overview.h"

/* Prints one line of JSON: {"schema", "end_unix_seconds", "step_seconds", "total": [watts, oldest first],
 * "domains": {NAME: [...]}}. A step that a sensor did not cover is null. Domains are the members of the
 * total. */
void history_json(const struct overview *overview, joule_meter *meter, struct text *out);

#endif
