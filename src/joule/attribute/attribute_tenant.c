/* joule/attribute/attribute_tenant.c - see attribute_tenant.h.
 *
 * Note: each update ends a window. The next update settles it, once the processors' sensors have ticked past
 * its end. A device's sensor may be slower, so each device has a separate window, up to its sensor's last
 * tick. Windows follow each other without gaps, so every joule is attributed once.
 */
#include "joule/attribute/attribute_tenant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/string.h"
#include "joule/attribute/attribute_pod.h"
#include "joule/attribute/attribute_process.h"
#include "joule/meter/engine.h"

#define MAX_TENANTS 2048
#define MAX_DEPTH   8
/* long enough for infrequent queries to see the final figures of a job */
#define KEPT_NS           300000000000LL
#define SETTLE_TIMEOUT_NS 5000000000LL
#define MAX_PROCESSES     64
#define PATH_SIZE         512

/* --- the tree of cgroups -------------------------------------------------------------------------------- */

/* Finds the tree in which the kernel counts CPU time by cgroup: the v2 tree, or the tree of the v1
 * controller. Returns false if there is none. */
static bool find_root(struct tenants *tenants)
{
    static const char *const v1[] = {"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpuacct"};
    char text[64];
    if (tenants->has_root)
        return tenants->root;
    tenants->has_root = true;
    tenants->is_v2 =
        host_read_text(tenants->meter->host, "/sys/fs/cgroup/cgroup.controllers", text, sizeof text);
    if (tenants->is_v2)
        tenants->root = "/sys/fs/cgroup";
    for (size_t i = 0; i < sizeof v1 / sizeof *v1 && !tenants->root; i++) {
        char path[PATH_SIZE];
        string_print(path, sizeof path, "%s/cpuacct.usage", v1[i]);
        if (host_read_text(tenants->meter->host, path, text, sizeof text))
            tenants->root = v1[i];
    }
    return tenants->root;
}

/* Returns the CPU seconds since the cgroup was created; NaN: unknown. */
static double read_usage(const struct tenants *tenants, const char *path)
{
    char file[PATH_SIZE], text[512];
    uint64_t count;
    if (!tenants->is_v2) {
        string_print(file, sizeof file, "%s%s/cpuacct.usage", tenants->root, path);
        return host_read_u64(tenants->meter->host, file, &count) ? (double)count * 1e-9 : NAN;
    }
    string_print(file, sizeof file, "%s%s/cpu.stat", tenants->root, path);
    if (!host_read_text(tenants->meter->host, file, text, sizeof text) || !string_starts(text, "usage_usec "))
        return NAN;
    text[strcspn(text, "\n")] = '\0';
    return string_to_u64(text + strlen("usage_usec "), 10, &count) ? (double)count * 1e-6 : NAN;
}

static void count_one(unsigned cpu, void *count)
{
    (void)cpu;
    ++*(unsigned *)count;
}

/* Returns the number of CPUs that are online; 1 if unknown. */
static unsigned count_cpus(struct joule_host *host)
{
    char online[256];
    unsigned count = 0;
    host_read_text(host, "/sys/devices/system/cpu/online", online, sizeof online);
    return string_each_cpu(online, count_one, &count) && count ? count : 1;
}

/* --- the list ------------------------------------------------------------------------------------------- */

/* Returns the tenant with this path; NULL: none. */
static struct tenant *find(const struct tenants *tenants, const char *path)
{
    for (size_t i = 0; i < tenants->count; i++)
        if (strcmp(tenants->list[i].path, path) == 0)
            return &tenants->list[i];
    return NULL;
}

/* Returns the CPU time of a cgroup that did not exist at the last update: all of its usage, or 0 if that
 * exceeds the machine's capacity. */
static double young_cpu_s(const struct tenants *tenants, double usage_s, int64_t now_ns)
{
    double capacity_s = tenants->cpu_count * (double)(now_ns - tenants->end_ns) * 1e-9;
    return tenants->end_ns && usage_s <= capacity_s ? usage_s : 0;
}

/* Adds a tenant. Returns NULL if out of memory or if there are too many. */
static struct tenant *add(struct tenants *tenants, const char *path, const struct tenant_name *name,
                          double usage_s, int64_t now_ns)
{
    if (tenants->count == MAX_TENANTS || !ARRAY_ROOM(tenants->list, tenants->capacity, tenants->count))
        return NULL;
    struct tenant *tenant = &tenants->list[tenants->count++];
    *tenant = (struct tenant){
        .name = *name, .usage_s = usage_s, .pending_cpu_s = young_cpu_s(tenants, usage_s, now_ns)};
    string_copy(tenant->path, sizeof tenant->path, path);
    return tenant;
}

/* Reads a tenant's CPU time, and adds the tenant if it is new. NO_MEMORY: the tenant could not be added. */
static joule_status update_tenant(struct tenants *tenants, const char *path, const struct tenant_name *name,
                                  int64_t now_ns)
{
    double usage_s = read_usage(tenants, path);
    if (isnan(usage_s))
        return JOULE_OK;
    struct tenant *tenant = find(tenants, path);
    if (!tenant && !(tenant = add(tenants, path, name, usage_s, now_ns)))
        return JOULE_NO_MEMORY;
    /* The usage decreases if a new cgroup has the same name. */
    tenant->pending_cpu_s += fmax(0, usage_s - tenant->usage_s);
    tenant->usage_s = usage_s;
    tenant->seen_ns = now_ns;
    tenant->update_count++;
    return JOULE_OK;
}

/* Updates the tenants below a cgroup. path: relative to the root; depth: its level. */
static joule_status read_cgroups_below(struct tenants *tenants, const char *path, unsigned depth,
                                       int64_t now_ns)
{
    char full[PATH_SIZE];
    char **names;
    struct arena arena = {0};
    struct tenant_name name;
    joule_status status = JOULE_OK;
    string_print(full, sizeof full, "%s%s", tenants->root, path);
    ssize_t count = tenants->meter->host->ops->list(tenants->meter->host, full, &arena, &names);
    for (ssize_t i = 0; i < count && status == JOULE_OK; i++) {
        char below[TENANT_PATH];
        if (strchr(names[i], '.') && !string_ends(names[i], ".slice") && !string_ends(names[i], ".scope") &&
            !string_ends(names[i], ".service"))
            continue; /* cpu.stat and other files */
        struct text text;
        text_init(&text, below, sizeof below);
        text_printf(&text, "%s/%s", path, names[i]);
        if (text.length >= sizeof below)
            continue;
        if (tenant_name_read(below, &name))
            status = update_tenant(tenants, below, &name, now_ns);
        else if (depth < MAX_DEPTH)
            status = read_cgroups_below(tenants, below, depth + 1, now_ns);
    }
    arena_free(&arena);
    return status;
}

/* Removes tenants that ended at least KEPT_NS ago and adds their figures to the sums of ended tenants. */
static void forget_ended(struct tenants *tenants, int64_t now_ns)
{
    for (size_t i = 0; i < tenants->count;) {
        struct tenant *tenant = &tenants->list[i];
        if (now_ns - tenant->seen_ns < KEPT_NS || tenant->pending_cpu_s > 0) {
            i++;
            continue;
        }
        tenants->ended_cpu_s += tenant->cpu_s;
        tenants->ended_cpu_joules += tenant->cpu_joules;
        tenants->ended_gpu_joules += tenant->gpu_joules;
        *tenant = tenants->list[--tenants->count];
    }
}

/* --- attribution ---------------------------------------------------------------------------------------- */

joule_class tenant_class(joule_class a, joule_class b)
{
    a = a > JOULE_CLASS_DERIVED ? a : JOULE_CLASS_DERIVED;
    return a > b ? a : b;
}

/* Divides the processors' joules of the window by CPU time. If they are unknown, only the CPU time is
 * counted. */
static void share_cpu(struct tenants *tenants, joule_quantity joules)
{
    double capacity_s = tenants->cpu_count * (double)(tenants->end_ns - tenants->begin_ns) * 1e-9, used_s = 0;
    for (size_t i = 0; i < tenants->count; i++)
        used_s += tenants->list[i].pending_cpu_s;
    if (tenants->processes)
        process_share_cpu(tenants->processes, &joules, capacity_s);
    capacity_s = fmax(capacity_s, used_s); /* the counts are not read at the same instant */
    double given = 0;
    for (size_t i = 0; i < tenants->count; i++) {
        struct tenant *tenant = &tenants->list[i];
        double share = isnan(joules.value) ? 0 : joules.value * tenant->pending_cpu_s / capacity_s;
        tenant->cpu_joules += share;
        given += share;
        tenant->cpu_s += tenant->pending_cpu_s;
        tenant->pending_cpu_s = 0;
    }
    if (isnan(joules.value))
        return;
    tenants->rest_cpu_joules += fmax(0, joules.value - given);
    tenants->cpu_class = tenant_class(tenants->cpu_class, joules.cls);
}

struct tenant *tenants_of_process(const struct tenants *tenants, uint64_t pid)
{
    char file[64], text[4096];
    string_print(file, sizeof file, "/proc/%llu/cgroup", (unsigned long long)pid);
    if (!host_read_text(tenants->meter->host, file, text, sizeof text))
        return NULL;
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path || (tenants->is_v2 ? path != controllers + 1 : !strstr(controllers, "cpuacct")))
            continue;
        for (path++; *path; *(strrchr(path, '/') ? strrchr(path, '/') : path) = '\0') {
            struct tenant *tenant = find(tenants, path);
            if (tenant)
                return tenant;
        }
    }
    return NULL;
}

/* Divides a device's joules by the time in which each process ran on it. A single process with unknown time
 * counts as having run whenever the device was busy. If the times of several processes are unknown, the
 * joules go to the rest. */
static void share_device(struct tenants *tenants, const joule_device *device, const joule_quantity *joules)
{
    joule_device_process list[MAX_PROCESSES];
    size_t count = joule_device_processes(tenants->meter, device->name, list, MAX_PROCESSES);
    double busy = 0, to_tenants = 0, to_processes = 0;
    count = count < MAX_PROCESSES ? count : MAX_PROCESSES;
    if (count == 1 && isnan(list[0].busy))
        list[0].busy = device->busy;
    for (size_t i = 0; i < count; i++)
        busy += list[i].busy > 0 ? list[i].busy : 0;
    for (size_t i = 0; i < count; i++) {
        if (!(list[i].busy > 0))
            continue;
        double share = joules->value * list[i].busy / fmax(1, busy);
        struct tenant *tenant = tenants_of_process(tenants, list[i].pid);
        if (tenant)
            tenant->gpu_joules += share;
        to_tenants += tenant ? share : 0;
        if (tenants->processes)
            to_processes += process_share_device(tenants->processes, list[i].pid, share);
    }
    tenants->rest_gpu_joules += fmax(0, joules->value - to_tenants);
    if (tenants->processes)
        process_leave_device(tenants->processes, joules, to_processes);
}

/* Returns true for NVIDIA's MPS server, which runs work of clients that the driver does not list. The kernel
 * truncates names to 15 bytes. */
static bool is_mps_server(struct joule_host *host, uint64_t pid)
{
    char file[64], name[32];
    string_print(file, sizeof file, "/proc/%llu/comm", (unsigned long long)pid);
    return host_read_text(host, file, name, sizeof name) && strcmp(name, "nvidia-cuda-mps") == 0;
}

/* Finds the pod and container of all processes on a device. Returns false if the processes belong to several
 * pods or none, or are not all known. Drivers of other vendors rely on /proc, where some processes may not be
 * visible. */
static bool find_pod(const struct tenants *tenants, const joule_device *device, struct tenant_name *out_pod)
{
    joule_device_process list[MAX_PROCESSES];
    size_t count = joule_device_processes(tenants->meter, device->name, list, MAX_PROCESSES);
    if (strcmp(device->vendor, "nvidia") != 0 || !device->has_process_list || device->state != JOULE_OK ||
        count == 0 || count >= MAX_PROCESSES) /* there may be more processes than fit in the list */
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct tenant *tenant = tenants_of_process(tenants, list[i].pid);
        if (!tenant || !tenant->name.pod[0] || is_mps_server(tenants->meter->host, list[i].pid) ||
            (i > 0 && strcmp(tenant->name.pod_uid, out_pod->pod_uid) != 0))
            return false;
        if (i == 0)
            *out_pod = tenant->name;
        else if (strcmp(tenant->name.container_id, out_pod->container_id) != 0)
            out_pod->container[0] = '\0';
    }
    return true;
}

/* Returns a device's entry, and adds it if there is none. A new entry counts joules from the start of the
 * window. Returns NULL if out of memory. */
static struct tenant_device *row_of(struct tenants *tenants, const char *device)
{
    for (size_t i = 0; i < tenants->device_count; i++)
        if (strcmp(tenants->devices[i].device, device) == 0)
            return &tenants->devices[i];
    if (!ARRAY_ROOM(tenants->devices, tenants->device_capacity, tenants->device_count))
        return NULL;
    struct tenant_device *row = &tenants->devices[tenants->device_count++];
    *row = (struct tenant_device){.begin_ns = tenants->begin_ns};
    string_copy(row->device, sizeof row->device, device);
    return row;
}

const struct tenant_name *tenants_pod_on(const struct tenants *tenants, const char *device)
{
    for (size_t i = 0; i < tenants->device_count; i++)
        if (tenants->devices[i].has_pod && strcmp(tenants->devices[i].device, device) == 0)
            return &tenants->devices[i].pod;
    return NULL;
}

/* Sets *out_joules to the joules of a device that are not attributed yet, up to its sensor's last tick before
 * the window's end. Moves row->begin_ns to that tick. Returns false, and changes nothing, if there is no such
 * energy yet. */
static bool take_joules(const struct tenants *tenants, int32_t domain, struct tenant_device *row,
                        joule_quantity *out_joules)
{
    struct cover cover;
    meter_cover(tenants->meter, domain, row->begin_ns, tenants->end_ns, &cover);
    int64_t end_ns = meter_cover_horizon_ns(tenants->meter, &cover);
    end_ns = end_ns < tenants->end_ns ? end_ns : tenants->end_ns;
    if (end_ns <= row->begin_ns)
        return false;
    struct window w = meter_cover_window(tenants->meter, &cover, row->begin_ns, end_ns);
    if (isnan(w.joules.value))
        return false;
    *out_joules = estimate_quantity(&w.joules);
    row->begin_ns = end_ns;
    return true;
}

/* Attributes the joules of all devices, and finds the pod of each device. */
static void share_devices(struct tenants *tenants)
{
    bool is_host = host_is_in_root_pid_namespace(tenants->meter->host);
    for (size_t i = 0; i < tenants->device_count; i++)
        tenants->devices[i].has_pod = false;
    for (size_t i = 0; i < joule_device_count(tenants->meter); i++) {
        joule_device device = {.struct_size = sizeof device};
        struct tenant_device *row =
            joule_device_get(tenants->meter, i, &device) == JOULE_OK ? row_of(tenants, device.name) : NULL;
        if (!row)
            continue;
        joule_quantity joules;
        row->has_pod = is_host && find_pod(tenants, &device, &row->pod);
        if (device.domain < 0 || !take_joules(tenants, device.domain, row, &joules))
            continue;
        tenants->gpu_class = tenant_class(tenants->gpu_class, joules.cls);
        share_device(tenants, &device, &joules);
    }
}

/* Attributes the energy of the window that the last update ended. Returns false if the processors' sensors
 * have not ticked past its end. If a sensor hangs, its joules up to its last tick are attributed. Later
 * joules are not estimated, because they would be counted twice when the sensor ticks again. */
static bool settle(struct tenants *tenants, int64_t now_ns)
{
    joule_quantity joules;
    if (tenants->end_ns == tenants->begin_ns)
        return true;
    struct tenant_device late = {.begin_ns = tenants->begin_ns};
    joule_status status =
        joule_window_joules(tenants->meter, JOULE_CPU, tenants->begin_ns, tenants->end_ns, &joules, NULL);
    if (status != JOULE_PENDING)
        late.begin_ns = tenants->end_ns;
    else if (now_ns - tenants->end_ns < SETTLE_TIMEOUT_NS)
        return false;
    else if (!take_joules(tenants, JOULE_CPU, &late, &joules))
        joules = quantity_unknown();
    share_cpu(tenants, joules);
    share_devices(tenants);
    if (tenants->processes)
        process_settle(tenants->processes, now_ns);
    tenants->begin_ns = late.begin_ns;
    return true;
}

void tenants_settle(struct tenants *tenants)
{
    settle(tenants, meter_now_ns(tenants->meter));
}

joule_status tenants_update(struct tenants *tenants)
{
    int64_t now_ns = meter_now_ns(tenants->meter);
    bool has_tree = find_root(tenants);
    if (!has_tree && !tenants->processes)
        return JOULE_ABSENT;
    if (!tenants->cpu_count)
        tenants->cpu_count = count_cpus(tenants->meter->host);
    if (!settle(tenants, now_ns))
        return JOULE_OK; /* the next update includes the CPU time used until then */
    if (!tenants->begin_ns)
        tenants->begin_ns = tenants->meter->begin_ns; /* the meter's energy so far cannot be attributed */
    joule_status status = has_tree ? read_cgroups_below(tenants, "", 0, now_ns) : JOULE_ABSENT;
    pods_name(tenants, now_ns);
    joule_status processes_status =
        tenants->processes ? process_shares_update(tenants->processes, tenants, now_ns) : JOULE_OK;
    tenants->end_ns = now_ns;
    forget_ended(tenants, now_ns);
    return processes_status == JOULE_OK ? status : processes_status;
}

void tenants_free(struct tenants *tenants)
{
    free(tenants->list);
    free(tenants->devices);
    tenants->list = NULL;
    tenants->devices = NULL;
    tenants->count = tenants->capacity = tenants->device_count = tenants->device_capacity = 0;
}
