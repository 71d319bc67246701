/* joule/sources/amd/amd_smi.c - the source "amd_smi": AMD's boards, read with libamd_smi.
 *
 * This file loads the library and calls it for each value. amd_boards.c decides whether the source is opened,
 * and reads the boards. JOULE_AMD_SMI_LIB names a file to load instead.
 * Note: all users of the library in a process share its state, and the library does not count its users. This
 * source never shuts the library down, because a shutdown would invalidate the measured program's handles. If
 * the measured program shuts the library down, this source initialises it again and gets new handles. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/amd/amd_boards.h"
#include "joule/sources/amd/amd_smi_abi.h"

#define MAX_SOCKETS AMD_MAX_BOARDS
/* maximum number in a socket; these are partitions and, in some releases, CPU cores */
#define MAX_PROCESSORS 16
#define NO_WATTS       0xffff /* the board does not report this power */
#define MAX_WATTS      100000 /* larger values are in microwatts */
#define MAX_CELSIUS    1000   /* larger values are in thousandths of a degree, as in ROCm before 5.7 */

struct amd_source {
    struct amd_api api;
    struct amd_boards *boards;
    bool has_new_handles; /* refresh has replaced a board's handle */
};

/* --- the library ---------------------------------------------------------------------------------------- */

static joule_status status_of(amd_code code)
{
    switch (code) {
    case AMDSMI_STATUS_SUCCESS:
        return JOULE_OK;
    case AMDSMI_STATUS_NOT_SUPPORTED:
    case AMDSMI_STATUS_NOT_YET_IMPLEMENTED:
        return JOULE_UNSUPPORTED;
    case AMDSMI_STATUS_NO_PERM:
        return JOULE_DENIED;
    case AMDSMI_STATUS_DRIVER_NOT_LOADED:
        return JOULE_ABSENT;
    case AMDSMI_STATUS_TIMEOUT:
    case AMDSMI_STATUS_RETRY:
    case AMDSMI_STATUS_INTERRUPT:
    case AMDSMI_STATUS_BUSY:
    case AMDSMI_STATUS_NO_DATA:
        return JOULE_PENDING;
    default:
        return JOULE_FAILED;
    }
}

static void find(struct joule_host *host, void *library, const char *name, const char *old_name,
                 void *out_function)
{
    char symbol[48];
    string_print(symbol, sizeof symbol, "amdsmi_%s", name);
    if (host_find_symbol(host, library, symbol, out_function))
        return;
    string_print(symbol, sizeof symbol, "amdsmi_%s", old_name);
    host_find_symbol(host, library, symbol, out_function);
}

static void resolve(struct joule_host *host, void *library, struct amd_api *api)
{
#define AMD_RESOLVE(member, name, old_name, parameters) find(host, library, name, old_name, &api->member);
    AMD_FUNCTIONS(AMD_RESOLVE)
#undef AMD_RESOLVE
}

/* Returns the major version in a file name, such as 24 in "libamd_smi.so.24.6", or 0 if there is none. */
static unsigned parse_major(const char *name)
{
    char digits[8] = "";
    uint64_t major = 0;
    const char *end = strstr(name, ".so.");
    if (!end)
        return 0;
    size_t length = strspn(end + 4, "0123456789");
    if (length < sizeof digits)
        memcpy(digits, end + 4, length);
    return string_to_u64(digits, 10, &major) ? (unsigned)major : 0;
}

const char *const amd_smi_libraries[] = {"libamd_smi.so.27",
                                         "libamd_smi.so.26",
                                         "libamd_smi.so.25",
                                         "libamd_smi.so.24",
                                         "libamd_smi.so.23",
                                         "libamd_smi.so",
                                         "/opt/rocm/lib/libamd_smi.so",
                                         NULL};

static joule_status load(struct source *source, const char *own, struct amd_api *out_api)
{
    const char *name;
    void *library = amd_open_library(source->host, own, amd_smi_libraries, &name);
    if (!library)
        return source_set_state(source, JOULE_ABSENT,
                                "libamd_smi not found: it is part of ROCm (amd-smi-lib)");
    resolve(source->host, library, out_api);
    out_api->major = parse_major(name);
    if (!out_api->init || !out_api->sockets || !out_api->processors || !out_api->bdf)
        return source_set_state(source, JOULE_UNSUPPORTED, "%s lacks required functions: reinstall ROCm",
                                name);
    amd_code code = out_api->init(AMDSMI_INIT_AMD_GPUS);
    if (code == AMDSMI_STATUS_SUCCESS)
        return JOULE_OK;
    joule_status status = status_of(code);
    return source_set_state(source, status == JOULE_PENDING ? JOULE_FAILED : status,
                            "cannot initialise %s (code %d): run `amd-smi list` to see why", name, code);
}

/* --- devices -------------------------------------------------------------------------------------------- */

typedef void (*visit_fn)(struct amd_source *amd, uint64_t bdf, amd_handle processor);

static void each_processor(struct amd_source *amd, amd_handle socket, visit_fn visit)
{
    amd_handle processors[MAX_PROCESSORS];
    uint32_t count = MAX_PROCESSORS;
    if (amd->api.processors(socket, &count, processors) != AMDSMI_STATUS_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < MAX_PROCESSORS; i++) {
        int type = AMDSMI_PROCESSOR_TYPE_AMD_GPU;
        uint64_t bdf = 0;
        if (amd->api.processor_type)
            amd->api.processor_type(processors[i], &type);
        if (type == AMDSMI_PROCESSOR_TYPE_AMD_GPU &&
            amd->api.bdf(processors[i], &bdf) == AMDSMI_STATUS_SUCCESS)
            visit(amd, bdf, processors[i]);
    }
}

static void each_device(struct amd_source *amd, visit_fn visit)
{
    amd_handle sockets[MAX_SOCKETS];
    uint32_t count = MAX_SOCKETS;
    if (amd->api.sockets(&count, sockets) != AMDSMI_STATUS_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < MAX_SOCKETS; i++)
        each_processor(amd, sockets[i], visit);
}

static void add(struct amd_source *amd, uint64_t bdf, amd_handle processor)
{
    amd_boards_add(amd->boards, AMD_DOMAIN(bdf), AMD_BUS(bdf), AMD_SLOT(bdf), (amd_device)processor);
}

static void refresh(struct amd_source *amd, uint64_t bdf, amd_handle processor)
{
    if (amd_boards_replace(amd->boards, AMD_DOMAIN(bdf), AMD_BUS(bdf), AMD_SLOT(bdf), (amd_device)processor))
        amd->has_new_handles = true;
}

/* Translates a code. If the library may have been shut down, initialises it and refreshes the handles.
 * Returns PENDING if the next reading may then succeed. AMDSMI_STATUS_NOT_FOUND without a new handle means
 * that the value does not exist. */
static joule_status status_of_call(struct amd_source *amd, amd_code code)
{
    if (code != AMDSMI_STATUS_NOT_INIT && code != AMDSMI_STATUS_NOT_FOUND)
        return status_of(code);
    if (amd->api.init(AMDSMI_INIT_AMD_GPUS) != AMDSMI_STATUS_SUCCESS)
        return JOULE_FAILED;
    amd->has_new_handles = false;
    each_device(amd, refresh);
    return amd->has_new_handles || code == AMDSMI_STATUS_NOT_INIT ? JOULE_PENDING : JOULE_UNSUPPORTED;
}

/* --- values --------------------------------------------------------------------------------------------- */

static joule_status energy(void *context, amd_device device, uint64_t *out_counts)
{
    struct amd_source *amd = context;
    float microjoules = 0;
    uint64_t time_ns = 0;
    if (!amd->api.energy)
        return JOULE_UNSUPPORTED;
    return status_of_call(amd, amd->api.energy((amd_handle)device, out_counts, &microjoules, &time_ns));
}

/* Writes the current power, or the average if current power is missing or 0. Returns UNSUPPORTED if both are
 * missing. */
static joule_status choose_power(uint32_t current_watts, uint32_t average_watts, double *out_watts)
{
    bool has_current = current_watts != UINT32_MAX && current_watts != NO_WATTS;
    bool has_average = average_watts != UINT32_MAX && average_watts != NO_WATTS;
    if (!has_current && !has_average)
        return JOULE_UNSUPPORTED;
    *out_watts = has_current && current_watts ? current_watts : has_average ? average_watts : 0;
    return JOULE_OK;
}

/* Reads power if this release's layout is known. Other releases store other values at the same offsets. */
static joule_status power(void *context, amd_device device, double *out_watts)
{
    struct amd_source *amd = context;
    union {
        struct amd_power_24 of_24;
        struct amd_power_25 of_25;
        char bytes[AMD_ANSWER_BYTES];
    } answer = {.bytes = ""};
    if (!amd->api.power || amd->api.major < 24)
        return JOULE_UNSUPPORTED;
    joule_status status = status_of_call(amd, amd->api.power((amd_handle)device, &answer));
    if (status != JOULE_OK)
        return status;
    if (amd->api.major == 24)
        return choose_power(answer.of_24.current_watts, answer.of_24.average_watts, out_watts);
    const struct amd_power_25 *watts = &answer.of_25;
    if (watts->socket_watts != watts->current_watts && watts->socket_watts != watts->average_watts)
        return JOULE_UNSUPPORTED; /* an unknown layout of a later release */
    return choose_power(watts->current_watts, watts->average_watts, out_watts);
}

static joule_status celsius(void *context, amd_device device, enum amd_place place, double *out_celsius)
{
    struct amd_source *amd = context;
    int64_t degrees = 0;
    if (!amd->api.temperature)
        return JOULE_UNSUPPORTED;
    amd_code code = amd->api.temperature((amd_handle)device, (int)place, AMDSMI_TEMP_CURRENT, &degrees);
    *out_celsius = (double)degrees * (degrees > MAX_CELSIUS ? 1e-3 : 1);
    return status_of_call(amd, code);
}

static joule_status busy(void *context, amd_device device, double *out_share)
{
    struct amd_source *amd = context;
    union {
        struct amd_activity activity;
        char bytes[AMD_ANSWER_BYTES];
    } answer = {.bytes = ""};
    if (!amd->api.activity)
        return JOULE_UNSUPPORTED;
    joule_status status = status_of_call(amd, amd->api.activity((amd_handle)device, &answer));
    *out_share = answer.activity.graphics / 100.0;
    return status == JOULE_OK && answer.activity.graphics > 100 ? JOULE_UNSUPPORTED : status;
}

/* Note: in all releases the model's name (market_name) is the first member of the structure. */
static void set_identity(void *context, amd_device handle, struct device *device)
{
    struct amd_source *amd = context;
    char answer[AMD_ANSWER_BYTES] = "", uuid[sizeof device->uuid] = "";
    unsigned length = sizeof uuid;
    if (amd->api.asic && amd->api.asic((amd_handle)handle, answer) == AMDSMI_STATUS_SUCCESS)
        string_copy(device->model, sizeof device->model, string_trim(answer));
    if (amd->api.uuid && amd->api.uuid((amd_handle)handle, &length, uuid) == AMDSMI_STATUS_SUCCESS)
        string_copy(device->uuid, sizeof device->uuid, uuid);
}

/* Converts a limit to watts, or to NaN if it is unknown. Limits are in watts or in microwatts, depending on
 * the release and, in some releases, on the limit. */
static double watts_of(uint64_t limit)
{
    return limit == 0 || limit == UINT64_MAX ? NAN : (double)limit * (limit > MAX_WATTS ? 1e-6 : 1);
}

static joule_status facts(void *context, amd_device device, struct device_facts *facts)
{
    struct amd_source *amd = context;
    union {
        struct amd_power_cap cap;
        char bytes[AMD_ANSWER_BYTES];
    } answer = {.bytes = ""};
    amd_code code = AMDSMI_STATUS_NOT_SUPPORTED;
    if (amd->api.memory_total)
        code = amd->api.memory_total((amd_handle)device, AMDSMI_MEM_TYPE_VRAM, &facts->memory_total_bytes);
    if (code != AMDSMI_STATUS_SUCCESS)
        facts->memory_total_bytes = JOULE_BYTES_UNKNOWN;
    if (!amd->api.memory_usage || amd->api.memory_usage((amd_handle)device, AMDSMI_MEM_TYPE_VRAM,
                                                        &facts->memory_used_bytes) != AMDSMI_STATUS_SUCCESS)
        facts->memory_used_bytes = JOULE_BYTES_UNKNOWN;
    if (amd->api.power_cap && amd->api.power_cap((amd_handle)device, 0, &answer) == AMDSMI_STATUS_SUCCESS) {
        facts->limit_watts = watts_of(answer.cap.cap);
        facts->default_limit_watts = watts_of(answer.cap.default_cap);
        facts->max_limit_watts = watts_of(answer.cap.max);
        if (isfinite(facts->max_limit_watts))
            facts->min_limit_watts = answer.cap.min ? watts_of(answer.cap.min) : 0;
    }
    return code == AMDSMI_STATUS_NOT_SUPPORTED ? JOULE_OK : status_of_call(amd, code);
}

static const struct amd_interface interface = {
    .name = "libamd_smi",
    .rank = RANK_DRIVER + 1,
    .energy = energy,
    .power = power,
    .celsius = celsius,
    .busy = busy,
    .set_identity = set_identity,
    .facts = facts,
};

/* --- the source ----------------------------------------------------------------------------------------- */

static joule_status amd_smi_open(struct source *source)
{
    const char *own = source->host->ops->env(source->host, source->ops->variable);
    if (!amd_boards_are_needed(source, own))
        return source->state;
    struct amd_source *amd = arena_alloc(&source->arena, sizeof *amd);
    if (!amd || !(amd->boards = amd_boards_create(source, &interface, amd)))
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    joule_status status = load(source, own, &amd->api);
    if (status != JOULE_OK)
        return status;
    each_device(amd, add);
    return amd_boards_set_state(amd->boards);
}

const struct source_ops source_amd_smi = {
    .name = "amd_smi",
    .measurement = "amd_smi",
    .tier = 3,
    .is_slow = true,
    .folder = AMD_DRIVER,
    .variable = "JOULE_AMD_SMI_LIB",
    .period_s = 0.1,
    .open = amd_smi_open,
    .read = amd_boards_read,
    .query = amd_boards_query,
};
