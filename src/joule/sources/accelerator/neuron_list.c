/* joule/sources/accelerator/neuron_list.c - see neuron_list.h.
 *
 * Note: neuron-ls prints an unknown memory_size as 0. */
#include "joule/sources/accelerator/neuron_list.h"

#include "base/json.h"

size_t neuron_list_parse(char *text, size_t length, struct neuron_listed *out_devices, size_t max)
{
    struct arena arena = {0};
    joule_error error;
    size_t count = 0;
    const struct json_value *list = json_parse(&arena, text, length, "neuron-ls", &error);
    const struct json_value *item = list && list->kind == JSON_ARRAY ? list->first : NULL;
    for (; item && count < max; item = item->next) {
        struct neuron_listed *device = &out_devices[count];
        count += json_u64_of(json_member(item, "neuron_device"), &device->number) &&
                 json_u64_of(json_member(item, "memory_size"), &device->memory_bytes) &&
                 device->memory_bytes > 0;
    }
    arena_free(&arena);
    return count;
}
