/* joule/sources/nvidia/nvml_library.c - finds and loads NVIDIA's library, and translates its return codes.
 * See nvml.h. */
#include <math.h>
#include "base/string.h"
#include "joule/sources/nvidia/nvml.h"

static void *open_library(struct joule_host *host)
{
    const char *own = host->ops->env(host, "JOULE_NVML_LIB");
    if (own && *own)
        return host->ops->open_library(host, own);
    void *library = NULL;
    for (const char *const *name = nvml_names; *name && !library; name++)
        library = host->ops->open_library(host, *name);
    return library;
}

bool nvml_is_available(struct joule_host *host)
{
    return open_library(host) != NULL;
}

static void resolve(struct joule_host *host, void *library, struct nvml_api *api)
{
#define NVML_RESOLVE(name, parameters) host_find_symbol(host, library, "nvml" #name, &api->name);
    NVML_FUNCTIONS(NVML_RESOLVE)
#undef NVML_RESOLVE
}

static const char *init_remedy(nvml_return code)
{
    switch (code) {
    case NVML_ERROR_DRIVER_NOT_LOADED:
        return "the NVIDIA driver is not loaded: if there is an NVIDIA GPU, run `modprobe nvidia`";
    case NVML_ERROR_NO_PERMISSION:
        return "permission denied for /dev/nvidia*: join the group that owns them, or start the container "
               "with "
               "GPUs";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        return "the NVIDIA library and kernel module differ, as after an upgrade: reboot or reload the "
               "module";
    default:
        return "the NVIDIA driver does not initialise: see `nvidia-smi` and `dmesg`";
    }
}

joule_status nvml_load(struct joule_host *host, struct nvml_api *out_api, char *out_remedy, size_t size)
{
    void *library = open_library(host);
    *out_api = (struct nvml_api){0};
    if (!library) {
        string_copy(out_remedy, size, "no libnvidia-ml.so.1: without an NVIDIA driver nothing can be read");
        return JOULE_ABSENT;
    }
    resolve(host, library, out_api);
    if (!out_api->Init_v2 || !out_api->DeviceGetCount_v2 || !out_api->DeviceGetHandleByIndex_v2) {
        string_copy(out_remedy, size,
                    "this libnvidia-ml.so.1 lacks required functions: reinstall the driver");
        return JOULE_UNSUPPORTED;
    }
    nvml_return code = out_api->Init_v2();
    if (code == NVML_SUCCESS)
        return JOULE_OK;
    string_copy(out_remedy, size, init_remedy(code));
    return nvml_status(code);
}

joule_status nvml_status(nvml_return code)
{
    switch (code) {
    case NVML_SUCCESS:
        return JOULE_OK;
    case NVML_ERROR_NOT_SUPPORTED:
    case NVML_ERROR_FUNCTION_NOT_FOUND:
    case NVML_ERROR_DEPRECATED:
    case NVML_ERROR_INVALID_ARGUMENT: /* older drivers return this code for an unknown field */
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
        return JOULE_UNSUPPORTED;
    case NVML_ERROR_DRIVER_NOT_LOADED:
    case NVML_ERROR_LIBRARY_NOT_FOUND:
    case NVML_ERROR_GPU_NOT_FOUND:
    case NVML_ERROR_NOT_FOUND:
        return JOULE_ABSENT;
    case NVML_ERROR_NO_PERMISSION:
        return JOULE_DENIED;
    default:
        return JOULE_FAILED;
    }
}

bool nvml_is_transient(nvml_return code)
{
    return code == NVML_ERROR_TIMEOUT || code == NVML_ERROR_IN_USE || code == NVML_ERROR_NO_DATA ||
           code == NVML_ERROR_NOT_READY;
}

nvml_return nvml_read_field(const struct nvml_api *api, nvml_device device, uint32_t id, uint32_t scope,
                            double *out_value)
{
    if (!api->DeviceGetFieldValues)
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    struct nvml_field field = {.id = id, .scope = scope};
    nvml_return code = api->DeviceGetFieldValues(device, 1, &field);
    if (code == NVML_SUCCESS)
        code = field.status;
    if (code != NVML_SUCCESS)
        return code;
    double value = nvml_value_double(field.value_type, field.value);
    if (!isfinite(value))
        return NVML_ERROR_NOT_SUPPORTED; /* a type of a newer driver, or not a number */
    *out_value = value;
    return NVML_SUCCESS;
}
