/* hal/backend.c - contains the list of backends, and opens devices by name. */
#include <string.h>
#include "base/abi.h"
#include "base/error.h"
#include "base/string.h"
#include "forge/hal/memory.h"

/* The backends, in the order of forge_device_name_at. */
static const struct device_ops *const devices[] = {&cpu_ops, &estimated_ops};

const char *forge_device_name_at(size_t i)
{
    return i < sizeof devices / sizeof *devices ? devices[i]->name : NULL;
}

static joule_status open_device(const struct device_ops *ops, forge_device **out_device, joule_error *error)
{
    forge_device *device;
    joule_status status = ops->open(&device, error);
    if (status != JOULE_OK)
        return status;
    device->memory = device_memory_new();
    if (!device->memory) {
        ops->close(device);
        return error_set(error, JOULE_NO_MEMORY, "cannot open a device: out of memory");
    }
    *out_device = device;
    return JOULE_OK;
}

joule_status forge_device_open(const char *name, forge_device **out_device, joule_error *out_error)
{
    char known[200];
    struct text text;
    text_init(&text, known, sizeof known);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        if (strcmp(devices[i]->name, name) == 0)
            return open_device(devices[i], out_device, out_error);
        text_printf(&text, "%s%s", i ? ", " : "", devices[i]->name);
    }
    return error_set(out_error, JOULE_ABSENT, "unknown device '%s'; known devices: %s", name, known);
}

void forge_device_close(forge_device *device)
{
    if (!device)
        return;
    device_memory_close(device->memory);
    device->ops->close(device);
}

const char *forge_device_name(const forge_device *device)
{
    return device->ops->name;
}

joule_status forge_device_set_threads(forge_device *device, unsigned threads, joule_error *out_error)
{
    return device->ops->set_threads(device, threads, out_error);
}

joule_status forge_device_set_compiled(forge_device *device, bool is_on, joule_error *out_error)
{
    if (device->ops->set_compiled)
        return device->ops->set_compiled(device, is_on, out_error);
    return is_on ? error_set(out_error, JOULE_UNSUPPORTED, "the device %s compiles no fused operations",
                             device->ops->name)
                 : JOULE_OK;
}

joule_status forge_device_query_compiled(forge_device *device, forge_compiled_facts *out_facts)
{
    forge_compiled_facts facts = {0};
    if (!abi_has_room(out_facts, SIZE_UP_TO(forge_compiled_facts, seconds)))
        return JOULE_INVALID;
    if (device->ops->query_compiled)
        device->ops->query_compiled(device, &facts);
    abi_write(out_facts, &facts, sizeof facts);
    return JOULE_OK;
}

joule_status forge_device_query(forge_device *device, forge_device_facts *out_facts)
{
    if (!abi_has_room(out_facts, SIZE_UP_TO(forge_device_facts, instruction_sets)))
        return JOULE_INVALID;
    forge_device_facts facts = {0};
    device->ops->query(device, &facts);
    abi_write(out_facts, &facts, sizeof facts);
    return JOULE_OK;
}
