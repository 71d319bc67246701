/* joule/api/open.h - opens meters with all their listeners, and keeps the default meter. */
#ifndef JOULE_API_OPEN_H
#define JOULE_API_OPEN_H

#include "joule/meter/engine.h"

/* Like joule_open. If `watches` is false, the prompt sources are read once at open, then only after
 * meter_watch or a query. */
joule_status meter_open(const joule_options *options, bool watches, joule_meter **out_meter,
                        joule_error *out_error);
/* Like joule_open, but on a given host. owns_host: joule_close closes the host. On failure the host remains
 * the caller's. */
joule_status meter_open_on(struct joule_host *host, bool owns_host, const joule_options *options,
                           joule_meter **out_meter, joule_error *out_error);

/* Begins every public query: replaces NULL by the default meter. Returns JOULE_FAILED if there is none, and
 * JOULE_STALE if the meter belongs to the process that this one was forked from. */
joule_status meter_take(joule_meter **meter);
/* Returns `meter`, or for NULL the default meter, which is opened if necessary. Returns NULL if the default
 * meter cannot be opened. */
joule_meter *meter_or_default(joule_meter *meter);
/* Opens the default meter. Children after fork then open their own default meter with
 * meter_default_in_child. */
void meter_default_keep(void);
/* Opens a child's own default meter once, if its parent keeps one. Costs one atomic load otherwise. */
void meter_default_in_child(void);
/* Returns the default meter if this process has opened it (not a process it was forked from); else NULL. */
joule_meter *meter_default_if_open(void);

#endif
