/* joule/sources/amd/rocm_smi.c - the source "rocm_smi": AMD's boards, read with librocm_smi64.
 *
 * This file loads the library and calls it for each value. amd_boards.c decides whether the source is opened,
 * and reads the boards. JOULE_ROCM_SMI_LIB names a file to load instead.
 * Note: the library converts a count to 15.3 uJ. This source uses 2^-16 J, which is 0.27 % less, as defined
 * in the driver's headers. */
#include <inttypes.h>
#include <math.h>
#include "base/string.h"
#include "joule/sources/amd/amd_boards.h"
#include "joule/sources/amd/rocm_smi_abi.h"

/* --- the library ---------------------------------------------------------------------------------------- */

static joule_status status_of(rocm_code code)
{
    switch (code) {
    case RSMI_STATUS_SUCCESS:
        return JOULE_OK;
    case RSMI_STATUS_NOT_SUPPORTED:
    case RSMI_STATUS_NOT_YET_IMPLEMENTED:
        return JOULE_UNSUPPORTED;
    case RSMI_STATUS_PERMISSION:
        return JOULE_DENIED;
    case RSMI_STATUS_BUSY:
    case RSMI_STATUS_INTERRUPT:
    case RSMI_STATUS_NO_DATA:
        return JOULE_PENDING;
    default:
        return JOULE_FAILED;
    }
}

static void resolve(struct joule_host *host, void *library, struct rocm_api *api)
{
#define ROCM_RESOLVE(name, parameters) host_find_symbol(host, library, "rsmi_" #name, &api->name);
    ROCM_FUNCTIONS(ROCM_RESOLVE)
#undef ROCM_RESOLVE
}

const char *const rocm_smi_libraries[] = {"librocm_smi64.so.7",
                                          "librocm_smi64.so.6",
                                          "librocm_smi64.so.5",
                                          "librocm_smi64.so.1",
                                          "librocm_smi64.so",
                                          "/opt/rocm/lib/librocm_smi64.so",
                                          NULL};

static joule_status load(struct source *source, const char *own, struct rocm_api *out_api)
{
    const char *name;
    void *library = amd_open_library(source->host, own, rocm_smi_libraries, &name);
    if (!library)
        return source_set_state(source, JOULE_ABSENT,
                                "librocm_smi64 not found: it is part of ROCm (rocm-smi-lib)");
    resolve(source->host, library, out_api);
    if (!out_api->init || !out_api->num_monitor_devices || !out_api->dev_pci_id_get)
        return source_set_state(source, JOULE_UNSUPPORTED, "%s lacks required functions: reinstall ROCm",
                                name);
    rocm_code code = out_api->init(RSMI_INIT_FLAG_THRAD_ONLY_MUTEX);
    if (code == RSMI_STATUS_SUCCESS)
        return JOULE_OK;
    joule_status status = status_of(code);
    return source_set_state(source, status == JOULE_PENDING ? JOULE_FAILED : status,
                            "cannot initialise %s (code %d): run `rocm-smi` to see why", name, code);
}

/* --- values --------------------------------------------------------------------------------------------- */

static joule_status energy(void *context, amd_device device, uint64_t *out_counts)
{
    const struct rocm_api *api = context;
    float microjoules = 0;
    uint64_t time_ns = 0;
    if (!api->dev_energy_count_get)
        return JOULE_UNSUPPORTED;
    return status_of(api->dev_energy_count_get((uint32_t)device, out_counts, &microjoules, &time_ns));
}

/* Reads the power. rsmi_dev_power_get returns average or current power, whichever the board reports. Older
 * releases have only rsmi_dev_power_ave_get. */
static joule_status power(void *context, amd_device device, double *out_watts)
{
    const struct rocm_api *api = context;
    uint64_t microwatts = 0;
    uint32_t kind = 0;
    rocm_code code = RSMI_STATUS_NOT_SUPPORTED;
    if (api->dev_power_get)
        code = api->dev_power_get((uint32_t)device, &microwatts, &kind);
    if (code == RSMI_STATUS_SUCCESS && kind > RSMI_CURRENT_POWER)
        code = RSMI_STATUS_NOT_SUPPORTED;
    if (code == RSMI_STATUS_NOT_SUPPORTED && api->dev_power_ave_get)
        code = api->dev_power_ave_get((uint32_t)device, 0, &microwatts);
    *out_watts = (double)microwatts * 1e-6;
    return status_of(code);
}

static joule_status celsius(void *context, amd_device device, enum amd_place place, double *out_celsius)
{
    const struct rocm_api *api = context;
    int64_t millidegrees = 0;
    if (!api->dev_temp_metric_get)
        return JOULE_UNSUPPORTED;
    rocm_code code = api->dev_temp_metric_get((uint32_t)device, place, RSMI_TEMP_CURRENT, &millidegrees);
    *out_celsius = (double)millidegrees * 1e-3;
    return status_of(code);
}

static joule_status busy(void *context, amd_device device, double *out_share)
{
    const struct rocm_api *api = context;
    uint32_t percent = 0;
    if (!api->dev_busy_percent_get)
        return JOULE_UNSUPPORTED;
    rocm_code code = api->dev_busy_percent_get((uint32_t)device, &percent);
    *out_share = percent / 100.0;
    return code == RSMI_STATUS_SUCCESS && percent > 100 ? JOULE_UNSUPPORTED : status_of(code);
}

static void set_identity(void *context, amd_device handle, struct device *device)
{
    const struct rocm_api *api = context;
    uint64_t id = 0;
    char model[sizeof device->model] = "";
    if (api->dev_name_get && api->dev_name_get((uint32_t)handle, model, sizeof model) == RSMI_STATUS_SUCCESS)
        string_copy(device->model, sizeof device->model, model);
    if (api->dev_unique_id_get && api->dev_unique_id_get((uint32_t)handle, &id) == RSMI_STATUS_SUCCESS &&
        id != 0)
        string_print(device->uuid, sizeof device->uuid, "GPU-%016" PRIx64, id);
}

static void set_limit(rocm_code code, const uint64_t *microwatts, double *out_watts)
{
    if (code == RSMI_STATUS_SUCCESS && *microwatts > 0)
        *out_watts = (double)*microwatts * 1e-6;
}

static void set_limits(const struct rocm_api *api, uint32_t index, struct device_facts *facts)
{
    uint64_t limit = 0, min = 0;
    if (api->dev_power_cap_get)
        set_limit(api->dev_power_cap_get(index, 0, &limit), &limit, &facts->limit_watts);
    if (api->dev_power_cap_default_get)
        set_limit(api->dev_power_cap_default_get(index, &limit), &limit, &facts->default_limit_watts);
    if (api->dev_power_cap_range_get)
        set_limit(api->dev_power_cap_range_get(index, 0, &limit, &min), &limit, &facts->max_limit_watts);
    if (isfinite(facts->max_limit_watts))
        facts->min_limit_watts = (double)min * 1e-6;
}

static joule_status facts(void *context, amd_device device, struct device_facts *facts)
{
    const struct rocm_api *api = context;
    uint32_t index = (uint32_t)device;
    rocm_code code = RSMI_STATUS_NOT_SUPPORTED;
    if (api->dev_memory_total_get)
        code = api->dev_memory_total_get(index, RSMI_MEM_TYPE_VRAM, &facts->memory_total_bytes);
    if (code != RSMI_STATUS_SUCCESS)
        facts->memory_total_bytes = JOULE_BYTES_UNKNOWN;
    if (!api->dev_memory_usage_get ||
        api->dev_memory_usage_get(index, RSMI_MEM_TYPE_VRAM, &facts->memory_used_bytes) !=
            RSMI_STATUS_SUCCESS)
        facts->memory_used_bytes = JOULE_BYTES_UNKNOWN;
    set_limits(api, index, facts);
    return code == RSMI_STATUS_NOT_SUPPORTED ? JOULE_OK : status_of(code);
}

static const struct amd_interface interface = {
    .name = "librocm_smi64",
    .rank = RANK_DRIVER + 2, /* after libamd_smi, the successor of this library */
    .energy = energy,
    .power = power,
    .celsius = celsius,
    .busy = busy,
    .set_identity = set_identity,
    .facts = facts,
};

/* --- the source ----------------------------------------------------------------------------------------- */

static void add_devices(const struct rocm_api *api, struct amd_boards *boards)
{
    uint32_t count = 0;
    if (api->num_monitor_devices(&count) != RSMI_STATUS_SUCCESS)
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bdfid;
        if (api->dev_pci_id_get(i, &bdfid) == RSMI_STATUS_SUCCESS)
            amd_boards_add(boards, ROCM_DOMAIN(bdfid), ROCM_BUS(bdfid), ROCM_SLOT(bdfid), i);
    }
}

static void rocm_smi_close(struct source *source)
{
    const struct amd_boards *boards = source->data;
    const struct rocm_api *api = boards->context;
    if (api->shut_down)
        api->shut_down(); /* the library counts its users, so other users are not affected */
}

static joule_status rocm_smi_open(struct source *source)
{
    const char *own = source->host->ops->env(source->host, source->ops->variable);
    if (!amd_boards_are_needed(source, own))
        return source->state;
    struct rocm_api *api = arena_alloc(&source->arena, sizeof *api);
    struct amd_boards *boards = api ? amd_boards_create(source, &interface, api) : NULL;
    if (!boards)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    joule_status status = load(source, own, api);
    if (status != JOULE_OK)
        return status;
    add_devices(api, boards);
    status = amd_boards_set_state(boards);
    if (status != JOULE_OK)
        rocm_smi_close(source);
    return status;
}

const struct source_ops source_rocm_smi = {
    .name = "rocm_smi",
    .measurement = "rocm_smi",
    .tier = 3,
    .is_slow = true,
    .folder = AMD_DRIVER,
    .variable = "JOULE_ROCM_SMI_LIB",
    .period_s = 0.1,
    .open = rocm_smi_open,
    .read = amd_boards_read,
    .query = amd_boards_query,
    .close = rocm_smi_close,
};
