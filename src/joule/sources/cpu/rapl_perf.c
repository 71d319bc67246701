/* joule/sources/cpu/rapl_perf.c - the source "rapl_perf": RAPL energy from the kernel's performance events.
 *
 * The source reads the PMUs `power` (packages and their parts) and `power_core` (single cores, AMD). For each
 * open event the kernel accumulates 32-bit registers into 64-bit counts of 2^-32 J.
 * Note: the kernel's count loses energy if the kernel reads a register too rarely. An increase of 2^31
 * register units or more between two kernel reads appears negative, and an increase of 2^32 is lost. With the
 * kernel's own read period, this happens at 200 W and 400 W. A decrease of a count is therefore a reset,
 * never a wrap of 64 bits. fold_counts makes the lane read often enough. Some listed events are always 0,
 * such as psys on servers and in guests. */
#include <errno.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/cpu/rapl.h"

#define DEVICES "/sys/bus/event_source/devices"
/* 2^31 register units of 2^-16 J (the finest unit), as counts of 2^-32 J. A larger step may lose energy. */
#define FOLD_COUNTS (UINT64_C(1) << 47)

struct pmu {
    const char *path;
    uint32_t type;
    struct rapl_place *places;
    size_t place_count;
};

static const struct {
    const char *name;
    enum rapl_domain domain;
} events[] = {
    {"energy-pkg", RAPL_PACKAGE}, {"energy-cores", RAPL_CORES}, {"energy-gpu", RAPL_UNCORE},
    {"energy-ram", RAPL_DRAM},    {"energy-psys", RAPL_PSYS},   {"energy-core", RAPL_ONE_CORE},
};
#define EVENT_COUNT (sizeof events / sizeof events[0])

/* Reads the event's code from a file such as "event=0x02", which may have further terms. Returns false for
 * any other content. */
static bool read_event_code(struct source *source, const char *path, uint64_t *out_code)
{
    char text[128];
    if (!host_read_text(source->host, path, text, sizeof text) || !string_starts(text, "event="))
        return false;
    text[strcspn(text, ",")] = '\0';
    return string_to_u64(text + strlen("event="), 0, out_code);
}

/* Reads the joules per count from the event's files .unit and .scale. Returns false if the unit is not
 * joules. */
static bool read_unit(struct source *source, const char *event_path, double *out_joules)
{
    char path[256], text[64];
    string_print(path, sizeof path, "%s.unit", event_path);
    if (host_read_text(source->host, path, text, sizeof text) && strcmp(text, "Joules") != 0)
        return false;
    string_print(path, sizeof path, "%s.scale", event_path);
    return host_read_text(source->host, path, text, sizeof text) && string_to_double(text, out_joules) &&
           *out_joules > 0;
}

/* Writes the remedy for a failed perf_event_open; `error` is its errno. */
static void write_remedy(struct source *source, int error, char *remedy, size_t size)
{
    char level[16];
    switch (error) {
    case EACCES:
        if (!host_read_text(source->host, "/proc/sys/kernel/perf_event_paranoid", level, sizeof level))
            string_copy(level, sizeof level, "?");
        string_print(remedy, size,
                     "perf_event_paranoid is %s: sudo sysctl kernel.perf_event_paranoid=0, or sudo setcap "
                     "cap_perfmon+ep on the program",
                     level);
        break;
    case EPERM:
        string_print(remedy, size,
                     "a seccomp or security policy forbids perf_event_open; in a container: docker run "
                     "--cap-add PERFMON --security-opt seccomp=unconfined");
        break;
    case EMFILE:
        string_print(remedy, size, "no file descriptor left: ulimit -n 4096");
        break;
    default:
        string_print(remedy, size, "perf_event_open: %s", strerror(error));
    }
}

static bool open_event(struct source *source, const struct pmu *pmu, size_t event, uint64_t code, double unit)
{
    for (size_t i = 0; i < pmu->place_count; i++) {
        const struct rapl_place *place = &pmu->places[i];
        if (events[event].domain == RAPL_PSYS && i > 0)
            break; /* one counter covers the platform; the first package's CPU reads it */
        struct rapl_reading *reading = rapl_add(source, events[event].domain, place, events[event].name);
        if (!reading)
            return false;
        struct channel *channel = reading->channel;
        channel->rank = RANK_PERF;
        channel->counter.unit_joules = unit;
        channel->counter.fold_counts = FOLD_COUNTS;
        char remedy[192] = "";
        int handle = source->host->ops->open_perf(
            source->host, &(struct host_perf_event){pmu->type, code, (int)place->cpu});
        if (handle < 0)
            write_remedy(source, -handle, remedy, sizeof remedy);
        rapl_set_handle(reading, handle, remedy);
    }
    return true;
}

/* Finds the PMU and the CPUs to query for its packages or cores. */
static bool find_pmu(struct source *source, const char *path, struct pmu *out_pmu)
{
    char file[256], cpus[4096];
    uint64_t type;
    string_print(file, sizeof file, "%s/type", path);
    if (!host_read_u64(source->host, file, &type) || type > UINT32_MAX)
        return false;
    string_print(file, sizeof file, "%s/cpumask", path);
    if (!host_read_text(source->host, file, cpus, sizeof cpus))
        return false;
    *out_pmu = (struct pmu){.path = path, .type = (uint32_t)type};
    out_pmu->place_count = rapl_find_places(source, cpus, RAPL_EVERY, &out_pmu->places);
    return out_pmu->place_count > 0;
}

/* Adds the events that this PMU lists. Returns their number. */
static size_t open_pmu(struct source *source, const char *path)
{
    struct pmu pmu;
    struct rapl *rapl = source->data;
    char event_path[EVENT_COUNT][128];
    uint64_t code[EVENT_COUNT];
    double unit[EVENT_COUNT];
    size_t found = 0;
    if (!find_pmu(source, path, &pmu))
        return 0;
    for (size_t i = 0; i < EVENT_COUNT; i++) {
        string_print(event_path[i], sizeof event_path[i], "%s/events/%s", path, events[i].name);
        if (!read_event_code(source, event_path[i], &code[i]) || !read_unit(source, event_path[i], &unit[i]))
            unit[i] = 0;
        if (unit[i] > 0 && events[i].domain == RAPL_PSYS)
            rapl->has_psys = true; /* must be set before packages are added, because psys is their parent */
    }
    for (size_t i = 0; i < EVENT_COUNT; i++)
        found += unit[i] > 0 && open_event(source, &pmu, i, code[i], unit[i]);
    return found;
}

static joule_status open_rapl_perf(struct source *source)
{
    const struct rapl *rapl = rapl_create(source);
    if (!rapl)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    size_t found = open_pmu(source, DEVICES "/power");
    found += open_pmu(source, DEVICES "/power_core");
    if (found > 0)
        return rapl_set_state(source);
    if (rapl->cpu->is_virtual)
        return source_set_state(source, JOULE_ABSENT,
                                "a virtual machine without energy events: ask the host's operator");
    return source_set_state(
        source, JOULE_ABSENT,
        "no energy events (PMU \"power\"): sudo modprobe rapl, or use a kernel that supports this CPU");
}

static int read_count(struct joule_host *host, const struct rapl_reading *reading, uint64_t *out_raw)
{
    return host->ops->read_perf(host, reading->handle, out_raw);
}

static void read_rapl_perf(struct source *source, struct sink *sink)
{
    rapl_read(source, sink, read_count);
}

const struct source_ops source_rapl_perf = {
    .name = "rapl_perf",
    .measurement = "rapl",
    .tier = 2,
    .open = open_rapl_perf,
    .read = read_rapl_perf,
    .close = rapl_close,
    .close_channel = rapl_close_channel,
};
