/* tools/forge/device_weights.c - see device_weights.h. */
#include "device_weights.h"

#include <math.h>

static const forge_dtype types[WEIGHT_TYPES] = {FORGE_F32,  FORGE_F16,  FORGE_BF16, FORGE_Q8_0,
                                                FORGE_Q6_K, FORGE_Q4_K, FORGE_Q4_0};

void device_weights_measure(forge_device *device, struct device_weights *out_weights)
{
    out_weights->count = 0;
    for (size_t i = 0; i < WEIGHT_TYPES; i++) {
        forge_weight_speed speed = {.struct_size = sizeof speed};
        if (forge_device_measure_weights(device, types[i], &speed, NULL) != JOULE_OK)
            continue;
        out_weights->types[out_weights->count].dtype = types[i];
        out_weights->types[out_weights->count++].speed = speed;
    }
}

/* --- text ----------------------------------------------------------------------------------------------- */

static void add_speed(struct text *out, double per_s)
{
    if (isnan(per_s))
        text_printf(out, "%10s", "-");
    else
        text_printf(out, "%10.1f", per_s * 1e-9);
}

void device_weights_print(const struct device_weights *w, struct text *out)
{
    if (w->count == 0)
        return;
    text_add(out, "  weights, measured with 32 MiB of each element type:\n");
    text_printf(out, "    %-6s%10s%10s%10s  %s\n", "type", "GB/s", "GB/s", "GFLOP/s", "order in use");
    text_printf(out, "    %-6s%10s%10s%10s\n", "", "mapped", "repacked", "64 rows");
    for (size_t i = 0; i < w->count; i++) {
        const forge_weight_speed *speed = &w->types[i].speed;
        text_printf(out, "    %-6s", forge_dtype_name(w->types[i].dtype));
        add_speed(out, speed->mapped_bytes_per_s);
        add_speed(out, speed->repacked_bytes_per_s);
        add_speed(out, speed->flop_per_s);
        text_printf(out, "  %s\n", speed->is_repacked ? "repacked" : "mapped");
    }
    text_add(out, "    GB/s: bytes of the weight per second in a product with one row.\n");
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

void device_weights_add(const struct device_weights *w, struct json *json)
{
    if (w->count == 0) {
        json_null(json, "weights");
        return;
    }
    json_open(json, "weights", '[');
    for (size_t i = 0; i < w->count; i++) {
        const forge_weight_speed *speed = &w->types[i].speed;
        json_open(json, NULL, '{');
        json_string(json, "type", forge_dtype_name(w->types[i].dtype));
        json_double(json, "mapped_bytes_per_s", speed->mapped_bytes_per_s);
        json_double(json, "repacked_bytes_per_s", speed->repacked_bytes_per_s);
        json_double(json, "flop_per_s", speed->flop_per_s);
        json_bool(json, "is_repacked", speed->is_repacked);
        json_close(json, '}');
    }
    json_close(json, ']');
}
