/* tools/serve/history.h - the power of the last minutes, as the page draws it.
 *
 * Newcomers: nothing is kept for it. The meter's curves know the energy of any window, so the mean power of each step is
 * asked of them.
 */
#ifndef SERVE_HISTORY_H
#define SERVE_HISTORY_H

#include "joule/report/overview.h"

/* One line of JSON: {"schema", "end_unix_seconds", "step_seconds", "total": [watts, oldest first], "domains": {NAME: [...]}};
 * null where a sensor had not seen the step. Domains are those that make up the total, and devices' own. */
void history_json(const struct overview *overview, joule_meter *meter, struct text *out);

#endif
