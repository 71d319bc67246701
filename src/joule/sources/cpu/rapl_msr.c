/* joule/sources/cpu/rapl_msr.c - the source "rapl_msr": RAPL energy from model-specific registers, for CPUs
 * that the kernel's drivers do not know.
 *
 * This file contains the register addresses for Intel, AMD and Hygon, and the energy units that differ
 * between models. Registers are readable only with the kernel module msr and CAP_SYS_RAWIO.
 * Note: the counter is the low 32 bits of a register. If a register is missing (EIO) or 0, the domain does
 * not exist on this model. A unit register of 0 means that a hypervisor hides the registers. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/cpu/rapl.h"

#define INTEL_UNIT    0x606
#define AMD_UNIT      0xC0010299
#define COUNT_MASK    UINT64_C(0xffffffff)
#define REMEDY_LOAD   "the module msr is not loaded: sudo modprobe msr"
#define REMEDY_DENIED "registers need root with CAP_SYS_RAWIO; the remedy of rapl_perf needs fewer privileges"

struct domain_register {
    uint32_t address;
    enum rapl_domain domain;
    const char *label;
};

static const struct domain_register intel_registers[] = {
    {0x64D, RAPL_PSYS, "MSR_PLATFORM_ENERGY_COUNTER"}, /* first, because it contains the packages */
    {0x611, RAPL_PACKAGE, "MSR_PKG_ENERGY_STATUS"},    {0x639, RAPL_CORES, "MSR_PP0_ENERGY_STATUS"},
    {0x641, RAPL_UNCORE, "MSR_PP1_ENERGY_STATUS"},     {0x619, RAPL_DRAM, "MSR_DRAM_ENERGY_STATUS"},
};
static const struct domain_register amd_package = {0xC001029B, RAPL_PACKAGE, "PKG_ENERGY_STAT"};
static const struct domain_register amd_core = {0xC001029A, RAPL_ONE_CORE, "CORE_ENERGY_STAT"};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool is_one_of(const struct cpu_info *cpu, const unsigned *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (cpu_is_intel(cpu, numbers[i]))
            return true;
    return false;
}

/* Returns the joules per count of a domain, or 0 if the machine has no counters. unit_register: content of
 * MSR_RAPL_POWER_UNIT. */
static double unit_of(const struct cpu_info *cpu, enum rapl_domain domain, uint64_t unit_register)
{
    /* models whose unit is 2^N uJ: Silvermont, Airmont */
    static const unsigned microjoules[] = {0x37, 0x4A, 0x4C, 0x4D, 0x5A};
    /* Models whose DRAM unit is 2^-16 J, independent of the unit register: servers of Haswell, Broadwell,
     * Skylake, Cascade Lake and Ice Lake, and Xeon Phi. */
    static const unsigned dram_16[] = {0x3F, 0x4F, 0x56, 0x55, 0x6A, 0x6C, 0x57, 0x85};
    /* models whose unit of psys is 1 J: Sapphire and Emerald Rapids */
    static const unsigned psys_1[] = {0x8F, 0xCF};
    int exponent = (int)(unit_register >> 8 & 0x1f);
    if (unit_register == 0)
        return 0;
    if (domain == RAPL_DRAM && is_one_of(cpu, dram_16, COUNT(dram_16)))
        return 0x1p-16;
    if (domain == RAPL_PSYS && is_one_of(cpu, psys_1, COUNT(psys_1)))
        return 1;
    if (is_one_of(cpu, microjoules, COUNT(microjoules)))
        return ldexp(1e-6, exponent);
    return ldexp(1, -exponent);
}

/* Adds the domain if its register can be read and is not 0. Returns false only if out of memory. */
static bool add_register(struct source *source, const struct rapl_place *place, uint64_t unit_register,
                         const struct domain_register *reg)
{
    const struct host_ops *ops = source->host->ops;
    struct rapl *rapl = source->data;
    uint64_t count;
    int handle = ops->open_register(source->host, place->cpu);
    if (handle < 0)
        return true;
    if (ops->read_register(source->host, handle, reg->address, &count) != 0 || (count & COUNT_MASK) == 0) {
        ops->close_handle(source->host, handle);
        return true;
    }
    rapl->has_psys = rapl->has_psys || reg->domain == RAPL_PSYS;
    struct rapl_reading *reading = rapl_add(source, reg->domain, place, reg->label);
    if (!reading) {
        ops->close_handle(source->host, handle);
        return false;
    }
    reading->address = reg->address;
    reading->channel->rank = RANK_MSR;
    reading->channel->counter.modulus = COUNT_MASK + 1;
    reading->channel->counter.unit_joules = unit_of(rapl->cpu, reg->domain, unit_register);
    rapl_set_handle(reading, handle, "");
    return true;
}

static void add_all(struct source *source, const char *online, uint64_t unit_register)
{
    const struct rapl *rapl = source->data;
    bool is_amd = cpu_is_amd(rapl->cpu), ok = true;
    struct rapl_place *packages, *cores;
    size_t package_count = rapl_find_places(source, online, RAPL_PER_PACKAGE, &packages);
    for (size_t i = 0; i < package_count && is_amd; i++)
        ok = ok && add_register(source, &packages[i], unit_register, &amd_package);
    for (size_t r = 0; r < COUNT(intel_registers) && !is_amd; r++)
        for (size_t i = 0; i < package_count; i++)
            if (intel_registers[r].domain != RAPL_PSYS || i == 0)
                ok = ok && add_register(source, &packages[i], unit_register, &intel_registers[r]);
    size_t core_count = is_amd ? rapl_find_places(source, online, RAPL_PER_CORE, &cores) : 0;
    for (size_t i = 0; i < core_count; i++)
        ok = ok && add_register(source, &cores[i], unit_register, &amd_core);
}

static joule_status set_no_access(struct source *source, unsigned cpu, int error)
{
    if (error != EACCES && error != EPERM)
        return source_set_state(source, JOULE_ABSENT, "%s", error == ENOENT ? REMEDY_LOAD : strerror(error));
    struct rapl_place place = {.cpu = cpu, .unit.die = -1};
    cpu_read_topology(source->host, cpu, "physical_package_id", &place.unit.package);
    struct rapl_reading *reading = rapl_add(source, RAPL_PACKAGE, &place, "energy registers");
    if (reading) {
        reading->channel->rank = RANK_MSR;
        rapl_set_handle(reading, -error, REMEDY_DENIED);
    }
    return rapl_set_state(source);
}

/* Opens, reads and closes a register of a CPU. Returns 0 or -errno. If the read fails, errno is EACCES, EPERM
 * or EIO. */
static int read_once(struct joule_host *host, unsigned cpu, uint32_t address, uint64_t *out_value)
{
    int handle = host->ops->open_register(host, cpu);
    if (handle < 0)
        return handle;
    int rc = host->ops->read_register(host, handle, address, out_value);
    host->ops->close_handle(host, handle);
    return rc == 0 || rc == -EACCES || rc == -EPERM ? rc : -EIO;
}

static void keep_first(unsigned cpu, void *context)
{
    if (*(unsigned *)context == UINT32_MAX)
        *(unsigned *)context = cpu;
}

static joule_status open_rapl_msr(struct source *source)
{
    char online[1024];
    unsigned cpu = UINT32_MAX;
    uint64_t unit_register = 0;
    const struct rapl *rapl = rapl_create(source);
    if (!rapl)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    bool is_amd = cpu_is_amd(rapl->cpu);
    if (!is_amd && strcmp(rapl->cpu->vendor, "intel") != 0)
        return source_set_state(source, JOULE_ABSENT,
                                "energy registers are known only for Intel, AMD and Hygon CPUs");
    if (!host_read_text(source->host, "/sys/devices/system/cpu/online", online, sizeof online))
        string_copy(online, sizeof online, "0");
    string_each_cpu(online, keep_first, &cpu);
    int rc = read_once(source->host, cpu, is_amd ? AMD_UNIT : INTEL_UNIT, &unit_register);
    if (rc != 0 && rc != -EIO)
        return set_no_access(source, cpu, -rc);
    if (rc == 0 && unit_register != 0)
        add_all(source, online, unit_register);
    if (source->channel_count > 0)
        return rapl_set_state(source);
    return source_set_state(source, JOULE_UNSUPPORTED, "%s",
                            rapl->cpu->is_virtual
                                ? "the hypervisor hides the energy registers: ask the host's operator"
                                : "this CPU has no energy registers, or a hypervisor hides them");
}

static int read_count(struct joule_host *host, const struct rapl_reading *reading, uint64_t *out_raw)
{
    uint64_t value = 0;
    int rc = host->ops->read_register(host, reading->handle, reading->address, &value);
    *out_raw = value & COUNT_MASK;
    return rc;
}

static void read_rapl_msr(struct source *source, struct sink *sink)
{
    rapl_read(source, sink, read_count);
}

const struct source_ops source_rapl_msr = {
    .name = "rapl_msr",
    .measurement = "rapl",
    .tier = 2,
    .open = open_rapl_msr,
    .read = read_rapl_msr,
    .close = rapl_close,
    .close_channel = rapl_close_channel,
};
