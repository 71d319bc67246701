/* tools/forge/device_weights.h - the part of `forge devices --weights`: how fast a device multiplies by
 * weights of each element type. */
#ifndef FORGE_DEVICE_WEIGHTS_H
#define FORGE_DEVICE_WEIGHTS_H

#include <forge/program.h>
#include "base/json_writer.h"
#include "base/string.h"

enum { WEIGHT_TYPES = 7 };

struct device_weights {
    struct {
        forge_dtype dtype;
        forge_weight_speed speed;
    } types[WEIGHT_TYPES];
    size_t count; /* types that the device can multiply by; 0 if nothing was measured */
};

/* Measures all element types that models use. Takes seconds. */
void device_weights_measure(forge_device *device, struct device_weights *out_weights);
void device_weights_print(const struct device_weights *weights, struct text *out);
/* Adds the member "weights": an array, or null if nothing was measured. */
void device_weights_add(const struct device_weights *weights, struct json *json);

#endif
