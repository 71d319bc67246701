/* joule/api/open.h - opens meters with all their listeners, and manages the default meter. */
#ifndef JOULE_API_OPEN_H
#define JOULE_API_OPEN_H

#include "joule/meter/engine.h"

/* Like joule_open. If `watches` is false, the sources of lane 0 are read once at open, then only after
 * meter_watch or a query. */
joule_status meter_open(const joule_options *options, bool watches, joule_meter **out_meter,
                        joule_error *out_error);
/* Like joule_open, but on a given host. owns_host: joule_close closes the host. On failure the caller still
 * owns the host. */
joule_status meter_open_on(struct joule_host *host, bool owns_host, const joule_options *options,
                           joule_meter **out_meter, joule_error *out_error);

/* Every public query begins with this call. If *meter is NULL, sets it to the default meter. Returns
 * JOULE_FAILED if the default meter cannot be opened, and JOULE_STALE if the meter was opened before fork. */
joule_status meter_take(joule_meter **meter);
/* Returns `meter`. If `meter` is NULL, opens the default meter if necessary and returns it; NULL if it cannot
 * be opened. */
joule_meter *meter_or_default(joule_meter *meter);
/* Opens the default meter. Children after fork then open their own default meter with
 * meter_default_in_child. */
void meter_default_keep(void);
/* In a child process after fork, the first call opens a default meter if the parent called
 * meter_default_keep. All other calls only load one atomic variable. */
void meter_default_in_child(void);
/* Returns the default meter if this process, and not a parent before fork, has opened it; else NULL. */
joule_meter *meter_default_if_open(void);

#endif
