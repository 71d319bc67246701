/* joule/sources/cpu/cpu_info.c - see cpu_info.h. */
#include "joule/sources/cpu/cpu_info.h"

#include <math.h>
#include <string.h>
#include "base/string.h"

#define BLOCK_SIZE 8192 /* maximum bytes of one CPU's block, which is mostly flags */

/* Returns the value of `key` in the first block of /proc/cpuinfo, or NULL if the key is missing. The value
 * ends at the end of the line, not with a NUL. */
static const char *find_field(const char *block, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = block; *line && *line != '\n';
         line += strcspn(line, "\n"), line += *line == '\n') {
        const char *after = line + length;
        if (strncmp(line, key, length) == 0 && after[strspn(after, " \t")] == ':')
            return after + strspn(after, " \t:");
    }
    return NULL;
}

/* Copies the value of `key`. Returns false if the key is missing. */
static bool copy_field(const char *block, const char *key, char *value, size_t size)
{
    const char *found = find_field(block, key);
    if (found)
        string_print(value, size, "%.*s", (int)strcspn(found, "\n"), found);
    return found;
}

static unsigned number_field(const char *block, const char *key, int base)
{
    char value[64];
    uint64_t number = 0;
    if (copy_field(block, key, value, sizeof value))
        string_to_u64(value, base, &number);
    return number <= UINT32_MAX ? (unsigned)number : 0;
}

static const char *vendor_of_arm(unsigned implementer)
{
    switch (implementer) {
    case 0x41:
        return "arm";
    case 0x42:
        return "broadcom";
    case 0x46:
        return "fujitsu";
    case 0x48:
        return "hisilicon";
    case 0x4e:
        return "nvidia";
    case 0x51:
        return "qualcomm";
    case 0x61:
        return "apple";
    case 0xc0:
        return "ampere";
    default:
        return "";
    }
}

static const char *vendor_of(const char *block)
{
    char id[64] = "";
    if (!copy_field(block, "vendor_id", id, sizeof id))
        return vendor_of_arm(number_field(block, "CPU implementer", 0));
    if (strcmp(id, "GenuineIntel") == 0)
        return "intel";
    if (strcmp(id, "AuthenticAMD") == 0)
        return "amd";
    if (strcmp(id, "HygonGenuine") == 0)
        return "hygon";
    return "";
}

/* Removes every occurrence of `word`. */
static void cut_word(char *text, const char *word)
{
    size_t length = strlen(word);
    for (char *at = text; (at = strstr(at, word)) != NULL;)
        memmove(at, at + length, strlen(at + length) + 1);
}

/* Parses the frequency in "Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz". Returns hertz, or NaN if there is no
 * frequency. */
static double nominal_hz(const char *model)
{
    double ghz;
    const char *at = strstr(model, " @ ");
    const char *unit = at ? string_scan_double(at + 3, &ghz) : NULL;
    return unit && string_starts(unit, "GHz") && ghz > 0 ? ghz * 1e9 : NAN;
}

/* Changes "Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz" into "Xeon E5-2620 v4". */
static void clean_model(char *model)
{
    static const char *const noise[] = {"(R)",  "(r)",    "(TM)",       "(tm)", "Intel ",
                                        "AMD ", "Hygon ", " Processor", " CPU"};
    char *at = strstr(model, " @ ");
    if (at)
        *at = '\0';
    for (size_t i = 0; i < sizeof noise / sizeof noise[0]; i++)
        cut_word(model, noise[i]);
    for (char *blank; (blank = strstr(model, "  ")) != NULL;)
        memmove(blank, blank + 1, strlen(blank));
    const char *trimmed = string_trim(model);
    memmove(model, trimmed, strlen(trimmed) + 1);
}

bool cpu_firmware_is_virtual(const char *vendor, const char *product)
{
    static const char *const names[] = {"QEMU", "KVM", "VMware", "VirtualBox", "Bochs", "OpenStack", "Xen"};
    if (strcmp(vendor, "Amazon EC2") == 0)
        return !strstr(product, ".metal");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strstr(vendor, names[i]) || strstr(product, names[i]))
            return true;
    return strcmp(vendor, "Microsoft Corporation") == 0 && strcmp(product, "Virtual Machine") == 0;
}

/* Returns true if the firmware's names belong to a hypervisor. Used only for CPUs without a hypervisor flag
 * (Arm). */
static bool is_guest_by_firmware(struct joule_host *host)
{
    char vendor[64], product[64];
    host_read_text(host, "/sys/class/dmi/id/sys_vendor", vendor, sizeof vendor);
    host_read_text(host, "/sys/class/dmi/id/product_name", product, sizeof product);
    return cpu_firmware_is_virtual(vendor, product) ||
           /* Bare-metal x86 machines report "Google Compute" too, but for x86 the hypervisor flag is used. */
           strstr(product, "Google Compute");
}

static void count_cpu(unsigned cpu, void *context)
{
    (void)cpu;
    ++*(unsigned *)context;
}

/* Sets the numbers of threads, cores and packages. The first block of /proc/cpuinfo has the numbers of CPUs
 * and cores per package, so other blocks are not needed. */
static void count_parts(struct joule_host *host, const char *block, struct cpu_info *info)
{
    char online[1024];
    if (host_read_text(host, "/sys/devices/system/cpu/online", online, sizeof online))
        string_each_cpu(online, count_cpu, &info->threads);
    if (info->threads == 0)
        return;
    unsigned siblings = number_field(block, "siblings", 10), cores = number_field(block, "cpu cores", 10);
    info->packages = siblings ? (info->threads + siblings - 1) / siblings : 1;
    info->cores = cores ? cores * info->packages : info->threads;
    if (info->cores > info->threads)
        info->cores = info->threads;
}

/* Returns true if the first line of `flags` contains `flag`, which must begin with a blank. */
static bool has_flag(const char *flags, const char *flag)
{
    return memmem(flags, strcspn(flags, "\n"), flag, strlen(flag)) != NULL;
}

/* Corrects the CPU model of a virtual machine. To allow migration, a hypervisor may report an older model
 * than the host's, but it rarely hides instructions. AMX tiles first appeared in Sapphire Rapids. */
static void unmask_model(const char *flags, struct cpu_info *info)
{
    static const unsigned models_with_tiles[] = {143, 207, 173, 174};
    bool is_masked = info->is_virtual && strcmp(info->vendor, "intel") == 0 && info->family == 6 &&
                     has_flag(flags, " amx_tile");
    for (size_t i = 0; i < sizeof models_with_tiles / sizeof *models_with_tiles; i++)
        is_masked = is_masked && info->number != models_with_tiles[i];
    if (is_masked)
        info->number = models_with_tiles[0];
}

void cpu_info_read(struct joule_host *host, struct cpu_info *out_info)
{
    char block[BLOCK_SIZE];
    block[0] = '\0';
    *out_info = (struct cpu_info){0};
    host->ops->read_file(host, "/proc/cpuinfo", block, sizeof block);
    string_copy(out_info->vendor, sizeof out_info->vendor, vendor_of(block));
    if (!copy_field(block, "model name", out_info->model, sizeof out_info->model))
        copy_field(block, "cpu", out_info->model, sizeof out_info->model);
    out_info->nominal_hz = nominal_hz(out_info->model);
    clean_model(out_info->model);
    out_info->family = number_field(block, "cpu family", 10);
    out_info->number = number_field(block, "model", 10);
    if (out_info->number == 0)
        out_info->number = number_field(block, "CPU part", 0);
    out_info->stepping = number_field(block, "stepping", 10);
    const char *flags = find_field(block, "flags");
    out_info->is_virtual = flags ? has_flag(flags, " hypervisor") : is_guest_by_firmware(host);
    if (flags)
        unmask_model(flags, out_info);
    count_parts(host, block, out_info);
}

bool cpu_is_intel(const struct cpu_info *info, unsigned number)
{
    return strcmp(info->vendor, "intel") == 0 && info->family == 6 && info->number == number;
}

bool cpu_is_amd(const struct cpu_info *info)
{
    return strcmp(info->vendor, "amd") == 0 || strcmp(info->vendor, "hygon") == 0;
}

bool cpu_read_topology(struct joule_host *host, unsigned cpu, const char *what, unsigned *out_value)
{
    char path[128];
    uint64_t value;
    string_print(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, what);
    if (!host_read_u64(host, path, &value) || value > UINT16_MAX)
        return false;
    *out_value = (unsigned)value;
    return true;
}

bool cpu_find_unit(struct joule_host *host, const struct cpu_info *info, unsigned cpu,
                   struct cpu_unit *out_unit)
{
    unsigned die;
    *out_unit = (struct cpu_unit){.die = -1};
    bool is_known = cpu_read_topology(host, cpu, "physical_package_id", &out_unit->package);
    /* on AMD, one counter covers all dies */
    if (!cpu_is_amd(info) && cpu_read_topology(host, cpu, "die_id", &die))
        out_unit->die = (int)die;
    return is_known;
}

void cpu_unit_zone(struct cpu_unit unit, const char *part, char *out_zone, size_t size)
{
    if (unit.die >= 0)
        string_print(out_zone, size, "cpu%u.%d/%s", unit.package, unit.die, part);
    else
        string_print(out_zone, size, "cpu%u/%s", unit.package, part);
}

void cpu_unit_name(struct cpu_unit unit, const char *part, char *out_name, size_t size)
{
    if (unit.die >= 0)
        string_print(out_name, size, "%s-%u-die-%d", part, unit.package, unit.die);
    else
        string_print(out_name, size, "%s-%u", part, unit.package);
}

bool cpu_is_same_unit(struct cpu_unit a, struct cpu_unit b)
{
    return a.package == b.package && a.die == b.die;
}

static struct cpu_unit *nth(struct cpu_unit *units, size_t i, size_t stride)
{
    return (struct cpu_unit *)((char *)units + i * stride);
}

void cpu_unset_single_dies(struct cpu_unit *units, size_t count, size_t stride)
{
    for (size_t i = 0; i < count; i++) {
        struct cpu_unit *unit = nth(units, i, stride);
        bool is_single = true;
        for (size_t k = 0; k < count; k++) {
            const struct cpu_unit *other = nth(units, k, stride);
            is_single =
                is_single && (other->package != unit->package || other->die == -1 || other->die == unit->die);
        }
        if (is_single)
            unit->die = -1;
    }
}
