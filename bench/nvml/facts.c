/* bench/nvml/facts.c - writes facts.txt: properties of the board, and which NVML functions work.
 *
 * Each line is "name: value", with the return code if a call failed. Note: process ids and serial numbers are
 * not written.
 */
#include <string.h>
#include "probe.h"

static void write_code(FILE *file, const char *name, nvml_return got)
{
    fprintf(file, "%s: error %d\n", name, got);
}

#define TEXT_FACT(probe, name, call, ...)                                                                    \
    do {                                                                                                     \
        char text[NVML_NAME_SIZE] = "";                                                                      \
        nvml_return got = HAS(probe, call) ? (probe)->api.call(__VA_ARGS__ text, sizeof text)                \
                                           : NVML_ERROR_FUNCTION_NOT_FOUND;                                  \
        if (got == NVML_SUCCESS)                                                                             \
            fprintf((probe)->facts, "%s: %s\n", name, text);                                                 \
        else                                                                                                 \
            write_code((probe)->facts, name, got);                                                           \
    } while (0)

#define NUMBER_FACT(probe, name, type, call, ...)                                                            \
    do {                                                                                                     \
        type number = 0;                                                                                     \
        nvml_return got =                                                                                    \
            HAS(probe, call) ? (probe)->api.call(__VA_ARGS__, &number) : NVML_ERROR_FUNCTION_NOT_FOUND;      \
        if (got == NVML_SUCCESS)                                                                             \
            fprintf((probe)->facts, "%s: %lld\n", name, (long long)number);                                  \
        else                                                                                                 \
            write_code((probe)->facts, name, got);                                                           \
    } while (0)

static void write_symbols(struct probe *probe)
{
#define PRESENT(name, parameters) fprintf(probe->facts, "%s%s", probe->api.name == NULL ? " -" : " ", #name);
    fprintf(probe->facts, "symbols (- is missing):");
    NVML_FUNCTIONS(PRESENT)
    fputc('\n', probe->facts);
}

/* Writes return codes and contents of the structures that NVML fills. */
static void write_structs(struct probe *p)
{
    nvml_device d = p->device;
    nvml_return got;
    struct nvml_temperature temperature = {.version = NVML_TEMPERATURE_V1};
    struct nvml_memory_v2 memory = {.version = NVML_MEMORY_V2};
    struct nvml_gpm_support support = {.version = 1};
    unsigned least = 0, most = 0, current = 0, pending = 0;
    got = HAS(p, DeviceGetTemperatureV) ? p->api.DeviceGetTemperatureV(d, &temperature)
                                        : NVML_ERROR_FUNCTION_NOT_FOUND;
    fprintf(p->facts, "temperature V: code %d, %d C\n", got, temperature.celsius);
    got = HAS(p, DeviceGetPowerManagementLimitConstraints)
              ? p->api.DeviceGetPowerManagementLimitConstraints(d, &least, &most)
              : NVML_ERROR_FUNCTION_NOT_FOUND;
    fprintf(p->facts, "limit constraints: code %d, %u to %u mW\n", got, least, most);
    got = HAS(p, DeviceGetMigMode) ? p->api.DeviceGetMigMode(d, &current, &pending)
                                   : NVML_ERROR_FUNCTION_NOT_FOUND;
    fprintf(p->facts, "MIG: code %d, current %u\n", got, current);
    got = HAS(p, DeviceGetMemoryInfo_v2) ? p->api.DeviceGetMemoryInfo_v2(d, &memory)
                                         : NVML_ERROR_FUNCTION_NOT_FOUND;
    fprintf(p->facts, "memory v2: code %d, total %llu reserved %llu used %llu\n", got,
            (unsigned long long)memory.total, (unsigned long long)memory.reserved,
            (unsigned long long)memory.used);
    got = HAS(p, GpmQueryDeviceSupport) ? p->api.GpmQueryDeviceSupport(d, &support)
                                        : NVML_ERROR_FUNCTION_NOT_FOUND;
    fprintf(p->facts, "GPM support: code %d, %u\n", got, support.is_supported);
}

static void write_board(struct probe *p)
{
    nvml_device d = p->device;
    TEXT_FACT(p, "driver", SystemGetDriverVersion, );
    TEXT_FACT(p, "nvml", SystemGetNVMLVersion, );
    TEXT_FACT(p, "name", DeviceGetName, d, );
    NUMBER_FACT(p, "architecture", unsigned, DeviceGetArchitecture, d);
    NUMBER_FACT(p, "power limit mW", unsigned, DeviceGetPowerManagementLimit, d);
    NUMBER_FACT(p, "default power limit mW", unsigned, DeviceGetPowerManagementDefaultLimit, d);
    NUMBER_FACT(p, "enforced power limit mW", unsigned, DeviceGetEnforcedPowerLimit, d);
    NUMBER_FACT(p, "clocks event reasons", unsigned long long, DeviceGetCurrentClocksEventReasons, d);
    NUMBER_FACT(p, "clocks throttle reasons", unsigned long long, DeviceGetCurrentClocksThrottleReasons, d);
    NUMBER_FACT(p, "SM clock MHz", unsigned, DeviceGetClockInfo, d, NVML_CLOCK_SM);
    NUMBER_FACT(p, "memory clock MHz", unsigned, DeviceGetClockInfo, d, NVML_CLOCK_MEM);
    NUMBER_FACT(p, "temperature C", unsigned, DeviceGetTemperature, d, 0);
    NUMBER_FACT(p, "usage mW", unsigned, DeviceGetPowerUsage, d);
    NUMBER_FACT(p, "counter mJ", unsigned long long, DeviceGetTotalEnergyConsumption, d);
    write_structs(p);
}

/* Reads each field in every scope, and compares the timestamp of the field with the CPU's clocks. */
static void write_fields(struct probe *p)
{
    static const unsigned ids[] = {82, 83, 185, 186, 187, 188, 189, 190, 191, 192};
    if (!HAS(p, DeviceGetFieldValues))
        return;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        for (unsigned scope = 0; scope < (ids[i] >= 185 ? 4 : 1); scope++) {
            struct nvml_field field = {.id = ids[i], .scope = scope};
            nvml_return got = p->api.DeviceGetFieldValues(p->device, 1, &field);
            fprintf(p->facts,
                    "field %u scope %u: code %d, status %d, type %u, value %.0f, driver latency %lld us",
                    ids[i], scope, got, field.status, field.value_type,
                    nvml_value_double(field.value_type, field.value), (long long)field.latency_us);
            fprintf(p->facts, ", stamp behind REALTIME %lld us, MONOTONIC %lld us\n",
                    (long long)(clock_us(CLOCK_REALTIME) - field.time_us),
                    (long long)(now_us() - field.time_us));
        }
    }
}

static void write_rings(struct probe *p)
{
    static struct nvml_sample samples[16384];
    for (int kind = 0; kind < 8 && HAS(p, DeviceGetSamples); kind++) {
        unsigned announced = 0, count = sizeof samples / sizeof samples[0];
        int type = -1;
        nvml_return asked = p->api.DeviceGetSamples(p->device, kind, 0, &type, &announced, NULL);
        nvml_return got = p->api.DeviceGetSamples(p->device, kind, 0, &type, &count, samples);
        fprintf(p->facts, "samples kind %d: code %d announces %u, code %d brings %u, type %d", kind, asked,
                announced, got, count, type);
        if (got == NVML_SUCCESS && count > 1 && count <= sizeof samples / sizeof samples[0]) {
            int64_t oldest = (int64_t)samples[0].time_us, newest = (int64_t)samples[count - 1].time_us;
            fprintf(p->facts, ", spans %lld us, mean spacing %lld us", (long long)(newest - oldest),
                    (long long)((newest - oldest) / (count - 1)));
            fprintf(p->facts, ", newest behind REALTIME %lld us, MONOTONIC %lld us, BOOTTIME %lld us",
                    (long long)(clock_us(CLOCK_REALTIME) - newest), (long long)(now_us() - newest),
                    (long long)(clock_us(CLOCK_BOOTTIME) - newest));
        }
        fputc('\n', p->facts);
    }
}

/* Finds the size of a process record from the number of bytes that the driver wrote. At least one process
 * must use the board. */
static void write_processes(struct probe *p)
{
    unsigned char raw[64 * 32];
    unsigned count = 64;
    memset(raw, 0xA5, sizeof raw);
    if (!HAS(p, DeviceGetComputeRunningProcesses_v3))
        return;
    nvml_return got = p->api.DeviceGetComputeRunningProcesses_v3(p->device, &count, raw);
    fprintf(p->facts, "processes: code %d, %u found; untouched from byte", got, count);
    size_t end = sizeof raw;
    while (end > 0 && raw[end - 1] == 0xA5)
        end--;
    fprintf(p->facts, " %zu (24 or 32 for each)\n", end);
}

void facts_write(struct probe *probe)
{
    write_symbols(probe);
    write_board(probe);
    write_fields(probe);
    write_rings(probe);
    write_processes(probe);
    fflush(probe->facts);
}
