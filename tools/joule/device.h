/* tools/joule/devices.h - one GPU or accelerator in `joule devices`: its lines of the table, its object in the JSON.
 *
 * Owns the words. What a device uses stands in the domains; this is what it is and how it does: identity, memory, limits,
 * partitions, processes. Newcomers: what is not known is left out of the lines and null in the object.
 */
#ifndef JOULE_TOOLS_DEVICE_H
#define JOULE_TOOLS_DEVICE_H

#include <joule/joule.h>
#include "base/arena.h"
#include "joule/report/json.h"

struct device_row {
    joule_device info;
    joule_device_process *processes;
    joule_device_partition *partitions;
    size_t process_count, partition_count; /* of those that are listed */
};

/* Asks the meter for all that it knows of the device at `position`. False: there is none, or no memory. */
bool device_row_get(joule_meter *meter, size_t position, struct arena *arena, struct device_row *out_row);
/* Lines with what is known beside name and model, each after `indent`. */
void device_add_lines(const struct device_row *row, const char *indent, struct text *out);
/* One object. */
void device_add_json(const struct device_row *row, struct json *json);

#endif
