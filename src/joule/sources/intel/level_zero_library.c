/* joule/sources/intel/level_zero_library.c - loads Level Zero, initialises it in one of its two modes, and
 * translates its codes. See level_zero.h.
 *
 * Note: zesInit initialises system management. In older runtimes, zeInit initialises it together with compute
 * if ZES_ENABLE_SYSMAN=1 is set. A process must not use both modes, and the measured program may already use
 * one. ZES_ENABLE_SYSMAN therefore selects the mode, and this code does not change the environment. */
#include <string.h>
#include "joule/sources/intel/level_zero.h"

#define MAX_DRIVERS 8

static void *open_library(struct joule_host *host)
{
    const char *own = host->ops->env(host, "JOULE_LEVEL_ZERO_LIB");
    return host->ops->open_library(host, own && *own ? own : "libze_loader.so.1");
}

static void resolve(struct joule_host *host, void *library, struct lz_api *api)
{
#define RESOLVE(name, parameters) host_find_symbol(host, library, #name, &api->name);
    LZ_FUNCTIONS(RESOLVE)
#undef RESOLVE
}

joule_status lz_status(lz_code code)
{
    switch (code) {
    case ZE_RESULT_SUCCESS:
        return JOULE_OK;
    case ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS:
        return JOULE_DENIED;
    case ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE:
    case ZE_RESULT_ERROR_UNINITIALIZED:
        return JOULE_ABSENT;
    case ZE_RESULT_ERROR_NOT_AVAILABLE:
    case ZE_RESULT_ERROR_UNSUPPORTED_VERSION:
    case ZE_RESULT_ERROR_UNSUPPORTED_FEATURE:
        return JOULE_UNSUPPORTED;
    default:
        return JOULE_FAILED;
    }
}

bool lz_is_transient(lz_code code)
{
    return code == ZE_RESULT_NOT_READY || code == ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE ||
           code == ZE_RESULT_ERROR_NOT_AVAILABLE;
}

/* --- initialisation ------------------------------------------------------------------------------------- */

static bool is_legacy(struct joule_host *host)
{
    const char *value = host->ops->env(host, "ZES_ENABLE_SYSMAN");
    return value && strcmp(value, "1") == 0;
}

static joule_status set_failure(struct source *source, lz_code code, bool legacy)
{
    switch (lz_status(code)) {
    case JOULE_DENIED:
        return source_set_state(
            source, JOULE_DENIED,
            "permission denied for /dev/dri/renderD*: join the group that owns them (render)");
    case JOULE_ABSENT:
        return source_set_state(source, JOULE_ABSENT,
                                "Level Zero finds no driver for an Intel GPU: install the package of "
                                "libze_intel_gpu.so.1 (intel-level-zero-gpu), or there is no such GPU");
    default:
        return source_set_state(
            source, lz_status(code),
            legacy ? "Level Zero does not initialise (%#x) with ZES_ENABLE_SYSMAN=1: unset it if "
                     "the GPU is newer than Ponte Vecchio or its driver is xe"
                   : "Level Zero does not initialise (%#x): update the runtime, or set "
                     "ZES_ENABLE_SYSMAN=1 if it is an old one",
            code);
    }
}

static joule_status start(struct source *source, const struct lz_api *api)
{
    bool legacy = is_legacy(source->host);
    if (!legacy && (!api->zesInit || !api->zesDriverGet || !api->zesDeviceGet))
        return source_set_state(source, JOULE_UNSUPPORTED,
                                "this libze_loader.so.1 has no zesInit: install a newer one, or set "
                                "ZES_ENABLE_SYSMAN=1 before the program starts");
    if (!api->zesDevicePciGetProperties || !api->zesDeviceGetProperties ||
        (legacy && (!api->zeInit || !api->zeDriverGet || !api->zeDeviceGet)))
        return source_set_state(source, JOULE_UNSUPPORTED,
                                "this libze_loader.so.1 lacks required functions: reinstall it");
    lz_code code = legacy ? api->zeInit(0) : api->zesInit(0);
    return code == ZE_RESULT_SUCCESS ? JOULE_OK : set_failure(source, code, legacy);
}

joule_status lz_load(struct source *source, struct lz_api *out_api)
{
    void *library = open_library(source->host);
    *out_api = (struct lz_api){0};
    if (!library)
        return source_set_state(
            source, JOULE_ABSENT,
            "no libze_loader.so.1 (package libze1): an Intel GPU's energy comes from hwmon");
    resolve(source->host, library, out_api);
    return start(source, out_api);
}

/* --- lists ---------------------------------------------------------------------------------------------- */

lz_code lz_list(lz_list_fn list, lz_handle owner, lz_handle *out_handles, size_t size, size_t *out_count)
{
    uint32_t count = 0;
    *out_count = 0;
    lz_code code = list ? list(owner, &count, NULL) : ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    if (code != ZE_RESULT_SUCCESS || count == 0)
        return code;
    if (count > size)
        count = (uint32_t)size;
    memset(out_handles, 0, count * sizeof *out_handles);
    code = list(owner, &count, out_handles);
    for (uint32_t i = 0; code == ZE_RESULT_SUCCESS && i < count && i < size; i++)
        if (out_handles[i])
            out_handles[(*out_count)++] = out_handles[i];
    return code;
}

/* Lists the drivers. lz_list cannot do this, because the library's function has no owner parameter. */
static lz_code list_drivers(const struct lz_api *api, bool legacy, lz_handle out_drivers[MAX_DRIVERS],
                            size_t *out_count)
{
    lz_code (*list)(uint32_t *, lz_handle *) = legacy ? api->zeDriverGet : api->zesDriverGet;
    uint32_t count = 0;
    *out_count = 0;
    lz_code code = list(&count, NULL);
    if (code != ZE_RESULT_SUCCESS)
        return code;
    if (count > MAX_DRIVERS)
        count = MAX_DRIVERS;
    if (count)
        code = list(&count, out_drivers);
    if (code == ZE_RESULT_SUCCESS)
        *out_count = count;
    return count ? code : ZE_RESULT_ERROR_UNINITIALIZED;
}

ssize_t lz_list_devices(struct source *source, const struct lz_api *api, lz_handle *out_devices, size_t size)
{
    bool legacy = is_legacy(source->host);
    lz_handle drivers[MAX_DRIVERS] = {0};
    size_t driver_count, count = 0;
    lz_code reason = list_drivers(api, legacy, drivers, &driver_count);
    for (size_t i = 0; i < driver_count && count < size; i++) {
        size_t found;
        lz_code code = lz_list(legacy ? api->zeDeviceGet : api->zesDeviceGet, drivers[i], out_devices + count,
                               size - count, &found);
        count += found;
        if (code != ZE_RESULT_SUCCESS)
            reason = code;
    }
    if (count)
        return (ssize_t)count;
    set_failure(source, reason == ZE_RESULT_SUCCESS ? ZE_RESULT_ERROR_UNINITIALIZED : reason, legacy);
    return -1;
}
