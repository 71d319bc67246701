/* tools/joule/devices_entry.h - one GPU or accelerator in `joule devices`, as lines of text and as a JSON
 * object.
 *
 * Contains identity, memory, limits, partitions and processes of the device. Its energy is reported by its
 * domains.
 *
 * Note: unknown values are omitted from the text and are null in the JSON.
 */
#ifndef JOULE_TOOLS_DEVICES_ENTRY_H
#define JOULE_TOOLS_DEVICES_ENTRY_H

#include <joule/joule.h>
#include "base/arena.h"
#include "base/json_writer.h"

struct device_row {
    joule_device info;
    joule_device_process *processes;
    joule_device_partition *partitions;
    size_t process_count, partition_count; /* sizes of the arrays above */
};

/* Queries the device at `position`, and at most 64 of its processes and partitions. Arrays are allocated in
 * `arena`. Returns false if there is no such device, or if out of memory. */
bool device_row_get(joule_meter *meter, size_t position, struct arena *arena, struct device_row *out_row);
/* Adds lines with all known facts except name and model, each line after `indent`. */
void device_add_lines(const struct device_row *row, const char *indent, struct text *out);
/* Adds one JSON object. */
void device_add_json(const struct device_row *row, struct json *json);

#endif
