/* joule/sources/hwmon/thermal_clock.c - the mean clock of each CPU package. See thermal.h.
 *
 * The mean is that of scaling_cur_freq over some CPUs. Machines without cpufreq, such as most virtual
 * machines, use the "cpu MHz" lines of /proc/cpuinfo, which usually show the nominal clock.
 * Note: only a sample of the CPUs is read, because some kernels wake each CPU that is read. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/sysfs.h"
#include "joule/sources/hwmon/thermal.h"

#define MAX_MHZ 20000.0 /* above the clock of any CPU; higher values are invalid */

/* Returns the index of the package's channel, and adds the channel if necessary. Returns CLOCK_MAX_PACKAGES
 * if there are too many packages or if out of memory. */
static size_t channel_of_package(struct source *source, struct clocks *clocks, unsigned package)
{
    char name[32];
    string_print(name, sizeof name, "clock-cpu%u", package);
    for (size_t i = 0; i < clocks->channel_count; i++)
        if (strcmp(clocks->channels[i]->info.name, name) == 0)
            return i;
    if (clocks->channel_count == CLOCK_MAX_PACKAGES)
        return CLOCK_MAX_PACKAGES;
    struct channel *ch = thermal_add_gauge(source, JOULE_READING_CLOCK, name, "mean clock");
    if (!ch)
        return CLOCK_MAX_PACKAGES;
    ch->info.device_index = (int)package;
    string_print(ch->info.device, sizeof ch->info.device, "cpu:%u", package);
    clocks->channels[clocks->channel_count] = ch;
    return clocks->channel_count++;
}

static void add_cpu(struct source *source, struct clocks *clocks, unsigned cpu)
{
    char path[96];
    unsigned package = 0; /* stays 0 if the firmware reports -1, which means unknown */
    if (clocks->cpu_count == CLOCK_MAX_CPUS)
        return;
    string_print(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", cpu);
    int handle = source->host->ops->open_file(source->host, path);
    if (handle < 0)
        return;
    cpu_read_topology(source->host, cpu, "physical_package_id", &package);
    size_t index = channel_of_package(source, clocks, package);
    if (index == CLOCK_MAX_PACKAGES) {
        source->host->ops->close_handle(source->host, handle);
        return;
    }
    clocks->cpus[clocks->cpu_count].handle = handle;
    clocks->cpus[clocks->cpu_count++].package = index;
}

/* Returns how many of the names have the form "cpuN". Writes each N if out_cpus is not NULL. */
static size_t each_cpu(char **names, ssize_t count, unsigned *out_cpus)
{
    size_t found = 0;
    for (ssize_t i = 0; i < count; i++) {
        unsigned cpu;
        if (!sysfs_parse_numbered(names[i], "cpu", &cpu))
            continue;
        if (out_cpus)
            out_cpus[found] = cpu;
        found++;
    }
    return found;
}

/* Sum and number of the lines "cpu MHz : 2100.000" by package. If the kernel reports packages, the line
 * "physical id" of the same CPU follows. */
struct cpuinfo {
    double sum_mhz[CLOCK_MAX_PACKAGES];
    unsigned count[CLOCK_MAX_PACKAGES];
};

static void scan_cpuinfo(const char *text, struct cpuinfo *out)
{
    double mhz = NAN, package;
    *out = (struct cpuinfo){0};
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *colon = strchr(line, ':');
        if (!colon)
            break;
        const char *value = colon + 1 + (colon[1] == ' ');
        if (string_starts(line, "cpu MHz"))
            mhz = string_scan_double(value, &mhz) ? mhz : NAN;
        if (!string_starts(line, "physical id") || !string_scan_double(value, &package))
            continue;
        if (mhz > 0 && mhz <= MAX_MHZ && package >= 0 && package < CLOCK_MAX_PACKAGES) {
            out->sum_mhz[(int)package] += mhz;
            out->count[(int)package]++;
        }
        mhz = NAN;
    }
}

/* Sums the clocks of the CPUs that one read of the first 4 KiB of /proc/cpuinfo returns. */
static bool read_cpuinfo(struct source *source, const struct clocks *clocks, struct cpuinfo *out)
{
    char text[4096];
    if (source->host->ops->read_handle(source->host, clocks->cpuinfo, text, sizeof text) <= 0)
        return false;
    scan_cpuinfo(text, out);
    return true;
}

static void open_cpuinfo(struct source *source, struct clocks *clocks)
{
    struct cpuinfo info;
    clocks->cpuinfo = source->host->ops->open_file(source->host, "/proc/cpuinfo");
    if (clocks->cpuinfo < 0 || !read_cpuinfo(source, clocks, &info))
        return;
    for (unsigned p = 0; p < CLOCK_MAX_PACKAGES; p++)
        if (info.count[p])
            channel_of_package(source, clocks, p);
}

void clocks_open(struct source *source, struct clocks *clocks)
{
    char **names;
    clocks->cpuinfo = -1;
    ssize_t listed = source->host->ops->list(source->host, "/sys/devices/system/cpu", &source->arena, &names);
    size_t count = listed > 0 ? each_cpu(names, listed, NULL) : 0;
    unsigned *cpus = count ? arena_alloc(&source->arena, count * sizeof *cpus) : NULL;
    if (cpus) {
        each_cpu(names, listed, cpus);
        size_t stride = (count + CLOCK_MAX_CPUS - 1) / CLOCK_MAX_CPUS;
        for (size_t i = 0; i < count; i += stride)
            add_cpu(source, clocks, cpus[i]);
    }
    if (clocks->cpu_count == 0)
        open_cpuinfo(source, clocks);
}

static void report_clock(struct sink *sink, struct channel *ch, double sum_mhz, unsigned count)
{
    double mhz = sum_mhz / count;
    if (count && mhz > 0 && mhz <= MAX_MHZ)
        sink_gauge(sink, ch, mhz);
    else
        sink_fail(sink, ch, JOULE_FAILED);
}

void clocks_read(struct source *source, const struct clocks *clocks, struct sink *sink)
{
    struct cpuinfo sums = {0};
    if (clocks->cpuinfo >= 0 && read_cpuinfo(source, clocks, &sums)) {
        for (size_t i = 0; i < clocks->channel_count; i++) {
            int package = clocks->channels[i]->info.device_index;
            report_clock(sink, clocks->channels[i], sums.sum_mhz[package], sums.count[package]);
        }
        return;
    }
    for (size_t i = 0; i < clocks->cpu_count; i++) {
        int64_t khz;
        if (sysfs_read_i64(source->host, clocks->cpus[i].handle, &khz) != JOULE_OK || khz <= 0)
            continue; /* the CPU has gone offline */
        sums.sum_mhz[clocks->cpus[i].package] += (double)khz * 1e-3;
        sums.count[clocks->cpus[i].package]++;
    }
    for (size_t i = 0; i < clocks->channel_count; i++)
        report_clock(sink, clocks->channels[i], sums.sum_mhz[i], sums.count[i]);
}

void clocks_close(struct source *source, struct clocks *clocks)
{
    for (size_t i = 0; i < clocks->cpu_count; i++)
        source->host->ops->close_handle(source->host, clocks->cpus[i].handle);
    if (clocks->cpuinfo >= 0)
        source->host->ops->close_handle(source->host, clocks->cpuinfo);
}
