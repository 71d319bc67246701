/* joule/doctor/doctor_facts.c - see doctor_facts.h. */
#include "joule/doctor/doctor_facts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "base/string.h"

#define CAP_SYS_ADMIN 21 /* <linux/capability.h> */
#define CAP_PERFMON   38

#define MSR_PACKAGE_CONTROLS 0xbc /* bit 0: energy readings are filtered */

#define PMU   "/sys/bus/event_source/devices/power"
#define ZONES "/sys/class/powercap"
#define CLOCK "/sys/devices/system/clocksource/clocksource0"

static bool exists(struct joule_host *host, const char *path)
{
    char byte[2];
    struct arena arena = {0};
    char **names;
    bool found = host->ops->read_file(host, path, byte, sizeof byte) >= 0 ||
                 host->ops->list(host, path, &arena, &names) >= 0;
    arena_free(&arena);
    return found;
}

/* --- environment ---------------------------------------------------------------------------------------- */

static const struct {
    const char *signature, *name;
} hypervisors[] = {{"KVMKVMKVM", "KVM"},          {"Microsoft Hv", "Hyper-V"}, {"VMwareVMware", "VMware"},
                   {"XenVMMXenVMM", "Xen"},       {"TCGTCGTCGTCG", "QEMU"},    {"bhyve bhyve", "bhyve"},
                   {"VBoxVBoxVBox", "VirtualBox"}};

/* Sets facts->hypervisor from the signature in the hypervisor's first CPUID leaf. Leaves it empty if
 * unknown. */
static void name_hypervisor(struct joule_host *host, struct doctor_facts *facts)
{
    uint32_t r[4];
    char signature[13] = "";
    if (!host->ops->cpuid || !host->ops->cpuid(host, 0x40000000, 0, r))
        return;
    memcpy(signature, &r[1], 4);
    memcpy(signature + 4, &r[2], 4);
    memcpy(signature + 8, &r[3], 4);
    for (size_t i = 0; i < sizeof hypervisors / sizeof hypervisors[0]; i++)
        if (strncmp(signature, hypervisors[i].signature, strlen(hypervisors[i].signature)) == 0)
            string_copy(facts->hypervisor, sizeof facts->hypervisor, hypervisors[i].name);
}

static void query_machine(struct joule_host *host, struct doctor_facts *facts)
{
    char vendor[96];
    cpu_info_read(host, &facts->cpu);
    host_read_text(host, "/sys/class/dmi/id/sys_vendor", vendor, sizeof vendor);
    host_read_text(host, "/sys/class/dmi/id/product_name", facts->product, sizeof facts->product);
    facts->is_virtual = facts->cpu.is_virtual || cpu_firmware_is_virtual(vendor, facts->product);
    if (facts->cpu.is_virtual)
        name_hypervisor(host, facts);
}

static void find_container(struct joule_host *host, struct doctor_facts *facts)
{
    static const struct {
        const char *word, *name;
    } marks[] = {{"kubepods", "kubernetes"},
                 {"/docker/", "docker"},
                 {"docker-", "docker"},
                 {"libpod-", "podman"},
                 {"cri-containerd-", "containerd"},
                 {"/lxc/", "lxc"},
                 {"lxc.payload", "lxc"}}; /* "docker.service" is the daemon, not a container */
    char text[4096];
    const char *name = exists(host, "/.dockerenv") ? "docker" : NULL;
    if (!name && exists(host, "/run/.containerenv"))
        name = "podman";
    if (host_read_text(host, "/proc/self/cgroup", text, sizeof text))
        for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
            if (!name && strstr(text, marks[i].word))
                name = marks[i].name;
    const char *variable = host->ops->env(host, "container"); /* systemd-nspawn, podman */
    if (!name && variable && *variable)
        name = variable;
    facts->is_container = name != NULL;
    string_copy(facts->container, sizeof facts->container, name ? name : "");
}

/* --- events and capabilities ---------------------------------------------------------------------------- */

/* Returns whether the capability set `set` ("CapEff:") of /proc/self/status contains CAP_PERFMON or
 * CAP_SYS_ADMIN. */
static enum known has_capability(const char *status, const char *set)
{
    const char *line = strstr(status, set);
    char hex[32];
    uint64_t mask;
    if (!line)
        return UNKNOWN;
    string_print(hex, sizeof hex, "%.*s", (int)strcspn(line + strlen(set), "\n"), line + strlen(set));
    if (!string_to_u64(hex, 16, &mask))
        return UNKNOWN;
    return (mask >> CAP_PERFMON & 1) || (mask >> CAP_SYS_ADMIN & 1);
}

static void query_events(struct joule_host *host, struct doctor_facts *facts)
{
    char text[4096];
    int64_t level;
    facts->has_power_pmu = exists(host, PMU "/type");
    facts->has_package_event = exists(host, PMU "/events/energy-pkg");
    facts->perf_paranoid = INT_MAX;
    if (host_read_text(host, "/proc/sys/kernel/perf_event_paranoid", text, sizeof text) &&
        string_to_i64(text, 10, &level) && level > INT_MIN && level < INT_MAX)
        facts->perf_paranoid = (int)level;
    host_read_text(host, "/proc/self/status", text, sizeof text);
    facts->has_perfmon = has_capability(text, "CapEff:");
    facts->bound_perfmon = has_capability(text, "CapBnd:");
}

/* --- cgroups -------------------------------------------------------------------------------------------- */

static enum known is_root(const char *status)
{
    unsigned real, effective;
    const char *line = strstr(status, "Uid:");
    if (!line || sscanf(line, "Uid: %u %u", &real, &effective) != 2)
        return UNKNOWN;
    return effective == 0;
}

/* Returns true if the mountinfo line that contains `type` (" - cgroup2 ...") has the option ro: in its sixth
 * field (options of this mount) or in its last field (options of the whole file system). */
static bool is_read_only(const char *mounts, const char *type)
{
    const char *line = type, *end = type + strcspn(type, "\n");
    char options[128] = "", all[128] = "";
    while (line > mounts && line[-1] != '\n')
        line--;
    sscanf(line, "%*s %*s %*s %*s %*s %127s", options);
    const char *last = memrchr(line, ' ', (size_t)(end - line));
    string_print(all, sizeof all, "%.*s", (int)(end - last - 1), last + 1);
    return strcmp(options, "ro") == 0 || string_starts(options, "ro,") || strcmp(all, "ro") == 0 ||
           string_starts(all, "ro,");
}

static void query_cgroups(struct joule_host *host, struct doctor_facts *facts)
{
    enum { SIZE = 65536 };
    struct arena arena = {0};
    char *text = arena_alloc(&arena, SIZE), path[256];
    facts->is_root = facts->has_cgroup2 = facts->knows_cgroup2 = UNKNOWN;
    if (text && host_read_text(host, "/proc/self/status", text, SIZE))
        facts->is_root = is_root(text);
    if (text && host_read_text(host, "/proc/filesystems", text, SIZE))
        facts->knows_cgroup2 = strstr(text, "cgroup2") != NULL;
    if (text && host_read_text(host, "/proc/self/mountinfo", text, SIZE)) {
        const char *type = strstr(text, " - cgroup2 ");
        facts->has_cgroup2 = type != NULL;
        facts->is_cgroup2_read_only = type && is_read_only(text, type);
    }
    arena_free(&arena);
    const char *runtime = host->ops->env(host, "XDG_RUNTIME_DIR");
    string_print(path, sizeof path, "%s/systemd", runtime ? runtime : "");
    facts->has_own_systemd = runtime && *runtime && exists(host, path);
}

/* --- zones and registers -------------------------------------------------------------------------------- */

static void query_zone(struct joule_host *host, const char *name, struct doctor_facts *facts)
{
    char path[256], text[64];
    string_print(path, sizeof path, ZONES "/%s/name", name);
    if (host->ops->read_file(host, path, text, sizeof text) == -ENOENT) {
        /* /sys/class/powercap lists the zone, but an empty folder is mounted over the zone */
        facts->is_zone_masked = true;
        return;
    }
    facts->has_zones = true;
    string_print(path, sizeof path, ZONES "/%s/energy_uj", name);
    ssize_t length = host->ops->read_file(host, path, text, sizeof text);
    if (length > 0)
        facts->can_read_zone = YES;
    else if (facts->can_read_zone == UNKNOWN && (length == -EACCES || length == -EPERM))
        facts->can_read_zone = NO;
}

static void query_zones(struct joule_host *host, struct doctor_facts *facts)
{
    struct arena arena = {0};
    char **names, *mounts = arena_alloc(&arena, 65536);
    facts->can_read_zone = UNKNOWN;
    ssize_t count = host->ops->list(host, ZONES, &arena, &names);
    for (ssize_t i = 0; i < count; i++)
        if (string_starts(names[i], "intel-rapl:"))
            query_zone(host, names[i], facts);
    if (mounts && host->ops->read_file(host, "/proc/self/mountinfo", mounts, 65536) > 0 &&
        strstr(mounts, " /sys/devices/virtual/powercap "))
        facts->is_zone_masked = true;
    arena_free(&arena);
}

static void query_registers(struct joule_host *host, struct doctor_facts *facts)
{
    char block[8192];
    uint64_t value;
    facts->is_filtered = UNKNOWN;
    if (strcmp(facts->cpu.vendor, "intel") != 0)
        return;
    host_read_text(host, "/proc/cpuinfo", block, sizeof block);
    facts->has_sgx = strstr(block, " sgx") != NULL;
    int handle = host->ops->open_register(host, 0);
    if (handle < 0)
        return;
    if (host->ops->read_register(host, handle, MSR_PACKAGE_CONTROLS, &value) == 0)
        facts->is_filtered = value & 1;
    host->ops->close_handle(host, handle);
}

/* --- GPUs ----------------------------------------------------------------------------------------------- */

#define PCI "/sys/bus/pci/devices"

static bool read_pci(struct joule_host *host, const char *address, const char *file, char *out, size_t size)
{
    char path[128];
    string_print(path, sizeof path, PCI "/%s/%s", address, file);
    return host_read_text(host, path, out, size);
}

/* Returns true if the PCI device is a display controller, a 3D controller or an accelerator of AMD, Intel or
 * NVIDIA. Then sets *out_vendor. */
static bool is_gpu(struct joule_host *host, const char *address, enum gpu_vendor *out_vendor)
{
    static const char *const ids[] = {[GPU_AMD] = "0x1002", [GPU_INTEL] = "0x8086", [GPU_NVIDIA] = "0x10de"};
    char vendor[16], kind[16];
    if (!read_pci(host, address, "class", kind, sizeof kind) ||
        !(string_starts(kind, "0x03") || string_starts(kind, "0x1200")) ||
        !read_pci(host, address, "vendor", vendor, sizeof vendor))
        return false;
    for (*out_vendor = GPU_AMD; *out_vendor < GPU_VENDORS; ++*out_vendor)
        if (strcmp(vendor, ids[*out_vendor]) == 0)
            return true;
    return false;
}

/* Returns true if the GPU is part of the processor. Such a GPU is on the first bus. On AMD it may also be in
 * the same slot as other parts of the processor (vendor 0x1022). Returns false in a virtual machine, whose
 * buses do not show the hardware. */
static bool is_inside(struct joule_host *host, const struct doctor_facts *facts, const struct doctor_gpu *gpu)
{
    char sibling[16], vendor[16];
    if (facts->is_virtual || gpu->vendor == GPU_NVIDIA)
        return false;
    if (string_starts(gpu->address, "0000:00:"))
        return true;
    string_copy(sibling, sizeof sibling, gpu->address);
    for (char function = '0'; function <= '7' && gpu->vendor == GPU_AMD; function++) {
        sibling[strlen(sibling) - 1] = function;
        if (read_pci(host, sibling, "vendor", vendor, sizeof vendor) && strcmp(vendor, "0x1022") == 0)
            return true;
    }
    return false;
}

static void query_gpu(struct joule_host *host, const char *address, struct doctor_facts *facts)
{
    char path[128], target[256];
    enum gpu_vendor vendor;
    if (facts->gpu_count == DOCTOR_MAX_GPUS || !is_gpu(host, address, &vendor))
        return;
    struct doctor_gpu *gpu = &facts->gpus[facts->gpu_count];
    *gpu = (struct doctor_gpu){.vendor = vendor};
    if (!string_copy(gpu->address, sizeof gpu->address, address))
        return;
    string_print(path, sizeof path, PCI "/%s/driver", gpu->address);
    ssize_t length = host->ops->read_link(host, path, target, sizeof target);
    const char *slash = length > 0 ? strrchr(target, '/') : NULL;
    string_copy(gpu->driver, sizeof gpu->driver, slash ? slash + 1 : "");
    gpu->is_inside = is_inside(host, facts, gpu);
    facts->gpu_count++;
}

/* Returns true for "nvidia0", "nvidia1" ..., but not for "nvidiactl". */
static bool is_board_node(const char *name)
{
    return string_starts(name, "nvidia") && name[6] >= '0' && name[6] <= '9';
}

static void find_gpus(struct joule_host *host, struct doctor_facts *facts)
{
    struct arena arena = {0};
    char **names;
    ssize_t count = host->ops->list(host, "/dev", &arena, &names);
    for (ssize_t i = 0; i < count; i++)
        facts->nvidia_nodes += is_board_node(names[i]);
    count = host->ops->list(host, PCI, &arena, &names);
    for (ssize_t i = 0; i < count; i++)
        query_gpu(host, names[i], facts);
    arena_free(&arena);
    facts->has_gpu_module[GPU_AMD] = exists(host, "/sys/module/amdgpu");
    facts->has_gpu_module[GPU_INTEL] = exists(host, "/sys/module/i915") || exists(host, "/sys/module/xe");
    facts->has_nvidia_driver = exists(host, "/proc/driver/nvidia/version");
    facts->has_nvml = host->ops->open_library(host, "libnvidia-ml.so.1") != NULL;
}

static void find_helper(struct joule_host *host, struct doctor_facts *facts)
{
    static const char *const programs[] = {"/usr/sbin/joule-helper", "/usr/local/sbin/joule-helper"};
    static const char *const units[] = {"/etc/systemd/system/joule-helper.socket",
                                        "/usr/lib/systemd/system/joule-helper.socket",
                                        "/usr/local/lib/systemd/system/joule-helper.socket"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        facts->has_helper |= exists(host, programs[i]);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        facts->has_helper_unit |= exists(host, units[i]);
}

void doctor_query_facts(struct joule_host *host, struct doctor_facts *out_facts)
{
    *out_facts = (struct doctor_facts){0};
    query_machine(host, out_facts);
    find_container(host, out_facts);
    query_events(host, out_facts);
    query_cgroups(host, out_facts);
    query_zones(host, out_facts);
    query_registers(host, out_facts);
    find_helper(host, out_facts);
    find_gpus(host, out_facts);
    host_read_text(host, CLOCK "/current_clocksource", out_facts->clocksource, sizeof out_facts->clocksource);
    host_read_text(host, CLOCK "/available_clocksource", out_facts->clocksources,
                   sizeof out_facts->clocksources);
}
