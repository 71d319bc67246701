/* tools/redfish/views.h - the power readings (views) that a management controller offers for one machine.
 *
 * There are four kinds of views. "supply" is the input of one power supply, from its metrics. "supplies" is
 * the sum of the inputs of all supplies, from the older resource Power. "environment" is the power of the
 * chassis, from its EnvironmentMetrics. "control" is the power of the chassis, from PowerControl in the
 * resource Power.
 *
 * Note: on real machines the views of one machine have different values. All are printed, and libjoule's
 * source chooses one of them.
 */
#ifndef REDFISH_VIEWS_H
#define REDFISH_VIEWS_H

#include "client.h"

#define MAX_VIEWS 16

struct view {
    char kind[16];
    char path[200]; /* contains no blank */
};

struct views {
    struct view list[MAX_VIEWS];
    size_t count;
    char model[96]; /* manufacturer and model of the chassis; empty: unknown */
};

/* Finds all views of the machine by following links from the service root. Returns JOULE_ABSENT if there are
 * none, and JOULE_INVALID if the controller has several machines and the config names none. Other errors:
 * those of client_get. */
joule_status views_find(struct client *client, struct views *out_views);
/* Parses "KIND:PATH", such as "supply:/redfish/v1/...". Returns false for any other text. */
bool view_parse(const char *word, struct view *out_view);
/* Reads the power of a view. *out_watts NaN: the resource exists but has no value. Errors: those of
 * client_get. */
joule_status view_read(struct client *client, const struct view *view, double *out_watts);

#endif
