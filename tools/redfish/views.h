/* tools/redfish/views.h - the powers that a management controller gives of one machine.
 *
 * Owns the way from the service's root to them, by links, and what each resource says. Four kinds: "supply", one power supply's
 * input by its metrics; "supplies", the inputs of all by the older resource Power; "environment", the chassis by its
 * EnvironmentMetrics; "control", the same by Power's PowerControl.
 * Newcomers: they contradict each other on real machines; all that are there are told, and the choice is the source's.
 */
#ifndef REDFISH_VIEWS_H
#define REDFISH_VIEWS_H

#include "client.h"

#define MOST_VIEWS 16

struct view {
    char kind[16];
    char path[200]; /* no blank in it */
};

struct views {
    struct view list[MOST_VIEWS];
    size_t count;
    char model[96]; /* manufacturer and model of the chassis; empty: unknown */
};

/* Follows links to all views of the machine. ABSENT: it has none; INVALID: several machines, of which the config must name one;
 * else as client_get. */
joule_status views_find(struct client *client, struct views *out_views);
/* "supply:/redfish/v1/..."; false for anything else. */
bool view_parse(const char *word, struct view *out_view);
/* Watts now; NaN where the resource is there and tells none. Else as client_get. */
joule_status view_read(struct client *client, const struct view *view, double *out_watts);

#endif
