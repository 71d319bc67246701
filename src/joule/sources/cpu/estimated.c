/* joule/sources/cpu/estimated.c - estimates the CPU packages' energy with the cost model, for machines
 * without an energy counter.
 *
 * The counted work is the elapsed time, for idle power, and the busy time of cores from /proc/stat. Busy time
 * is weighted by frequency if the kernel reports it. The cost model converts work to joules (cost/cost.h).
 * Note: busy times in /proc/stat advance in ticks of 10 ms, sometimes by several ticks at once. A reading
 * therefore counts at most the elapsed time for each CPU, and carries the excess to later readings. Otherwise
 * a CPU could be more than 100 % busy. Other files are not more accurate: /proc/schedstat omits the running
 * task and is huge on large machines; cpuidle's times omit the current sleep. */
#include "joule/sources/cpu/estimated.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/cpu/cpu_map.h"

#define STAT_PATH   "/proc/stat"
#define TICKS_PER_S 100 /* USER_HZ, the same on every supported kernel */
#define TICK_NS     10000000
#define UNIT_JOULES 1e-6
/* Pause after a read of /proc/stat, as a multiple of the read's duration. Reading the file is slow on large
 * machines. */
#define PAUSE_FACTOR    500
#define FREQUENCY_READS 4 /* maximum number of busy CPUs whose frequency is read at each reading, in turn */
#define BUSY_SHARE      0.05 /* minimum busy fraction at which a CPU's frequency is read */
#define MAX_SPEEDUP     2.0  /* largest plausible frequency, as a multiple of the reference frequency */

struct work {
    uint64_t ticks;   /* busy ticks in the last read of /proc/stat */
    double waiting_s; /* busy time reported but not yet counted */
    double share;     /* busy fraction of the last interval, 0 to 1 */
    double cubic;     /* (frequency / reference)^3 */
    /* Only for a core's first CPU: the product of the idle fractions, and the sum of the busy fractions, of
     * the core's threads. */
    double idle, sum;
};

struct package {
    struct channel *channel;
    struct cost_features features; /* sums since the source opened */
};

struct estimated {
    struct cpu_map map;
    struct cost_table table;
    struct work *works; /* indexed by CPU number */
    struct package *packages;
    char *text; /* start of /proc/stat, with all CPU lines */
    size_t text_size;
    int handle;
    unsigned next_frequency;  /* CPU at which the next search for busy CPUs begins */
    int64_t read_ns;          /* time of the last reading */
    int64_t stat_ns, rest_ns; /* time of the last read of /proc/stat, and the pause before the next read */
    double lump_s; /* longest possible busy time of a CPU between the last two reads of /proc/stat */
};

/* --- busy time ------------------------------------------------------------------------------------------ */

/* Parses a line "cpu3 user nice system idle iowait irq softirq ...". These fields are busy ticks, except idle
 * and iowait. Fields after softirq are not counted: steal is time of other virtual machines, and guest is
 * included in user. Returns false for other lines. */
static bool parse_line(const char *line, unsigned *out_cpu, uint64_t *out_ticks)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, FIELDS };
    uint64_t fields[FIELDS];
    if (line[3] < '0' || line[3] > '9')
        return false; /* the line "cpu ", which contains the sum of all CPUs */
    char *at = NULL;
    unsigned long cpu = strtoul(line + 3, &at, 10);
    for (int i = 0; i < FIELDS; i++) {
        if (at[0] != ' ' || at[1] < '0' || at[1] > '9')
            return false;
        fields[i] = strtoull(at, &at, 10);
    }
    *out_cpu = cpu < UINT_MAX ? (unsigned)cpu : UINT_MAX;
    *out_ticks = fields[USER] + fields[NICE] + fields[SYSTEM] + fields[IRQ] + fields[SOFTIRQ];
    return true;
}

/* Reads /proc/stat. Unless is_first, adds each CPU's busy time since the last read to waiting_s. Offline CPUs
 * have no line. */
static joule_status read_ticks(struct joule_host *host, struct estimated *e, bool is_first)
{
    ssize_t length = host->ops->read_handle(host, e->handle, e->text, e->text_size);
    if (length < 0)
        return status_of_errno((int)-length);
    bool found = false;
    char *line = e->text, *end;
    for (; string_starts(line, "cpu") && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        unsigned cpu;
        uint64_t ticks;
        if (!parse_line(line, &cpu, &ticks) || cpu >= e->map.count)
            continue;
        struct work *work = &e->works[cpu];
        if (!is_first && ticks > work->ticks)
            work->waiting_s += (double)(ticks - work->ticks) / TICKS_PER_S;
        work->ticks = ticks;
        found = true;
    }
    return found ? JOULE_OK : JOULE_FAILED;
}

static joule_status update_ticks(struct joule_host *host, struct estimated *e, int64_t now_ns)
{
    if (now_ns - e->stat_ns < e->rest_ns)
        return JOULE_OK;
    joule_status status = read_ticks(host, e, false);
    int64_t cost_ns = host->ops->clock_ns(host, CLOCK_MONOTONIC) - now_ns;
    e->lump_s = (double)(now_ns - e->stat_ns) * 1e-9 + 2.0 / TICKS_PER_S;
    e->stat_ns = now_ns;
    e->rest_ns = cost_ns > TICK_NS / PAUSE_FACTOR ? cost_ns * PAUSE_FACTOR : TICK_NS;
    return status;
}

/* Sets each CPU's busy fraction of the interval from its waiting busy time. Carries at most lump_s of excess
 * time to later intervals. */
static void update_shares(struct estimated *e, double elapsed_s)
{
    for (unsigned i = 0; i < e->map.count; i++) {
        struct work *work = &e->works[i];
        double taken_s = fmin(work->waiting_s, elapsed_s);
        work->share = elapsed_s > 0 ? taken_s / elapsed_s : 0;
        work->waiting_s = fmin(work->waiting_s - taken_s, e->lump_s);
    }
}

static void read_frequencies(struct joule_host *host, struct estimated *e)
{
    unsigned read_count = 0;
    for (unsigned i = 0; i < e->map.count && read_count < FREQUENCY_READS; i++) {
        unsigned cpu = e->next_frequency;
        e->next_frequency = (cpu + 1) % e->map.count;
        if (e->works[cpu].share < BUSY_SHARE)
            continue;
        double ratio = cpu_map_frequency_hz(host, cpu) / e->map.reference_hz;
        if (ratio > 0)
            e->works[cpu].cubic = pow(fmin(ratio, MAX_SPEEDUP), 3);
        read_count++;
    }
}

/* --- from work to energy -------------------------------------------------------------------------------- */

/* Adds the work of the interval. A core is busy unless all its threads are idle. The threads of a core are
 * assumed to be busy at independent times. */
static void count_work(struct estimated *e, double elapsed_s)
{
    for (unsigned i = 0; i < e->map.unit_count; i++)
        e->packages[i].features.amount[COST_PACKAGE_SECONDS] += elapsed_s;
    for (unsigned i = 0; i < e->map.count; i++) {
        e->works[i].idle = 1;
        e->works[i].sum = 0;
    }
    for (unsigned i = 0; i < e->map.count; i++) {
        struct work *core = &e->works[e->map.places[i].core];
        core->idle *= 1 - e->works[i].share;
        core->sum += e->works[i].share;
    }
    for (unsigned i = 0; i < e->map.count; i++) {
        const struct work *core = &e->works[i];
        if (core->sum == 0)
            continue; /* idle, or not a core's first CPU */
        double *amount = e->packages[e->map.places[i].unit].features.amount;
        double busy_s = (1 - core->idle) * elapsed_s;
        amount[COST_CORE_SECONDS] += busy_s;
        amount[COST_CUBIC_SECONDS] += busy_s * core->cubic;
        amount[COST_SHARED_SECONDS] += core->sum * elapsed_s - busy_s;
    }
}

static void estimated_read(struct source *source, struct sink *sink)
{
    struct estimated *e = source->data;
    int64_t now_ns = sink_now(sink);
    joule_status status = update_ticks(source->host, e, now_ns);
    double elapsed_s = (double)(now_ns - e->read_ns) * 1e-9;
    e->read_ns = now_ns;
    update_shares(e, elapsed_s);
    if (e->map.reference_hz > 0)
        read_frequencies(source->host, e);
    count_work(e, elapsed_s);
    for (unsigned i = 0; i < e->map.unit_count; i++) {
        struct package *package = &e->packages[i];
        double joules = cost_joules(&e->table, &package->features);
        if (status == JOULE_OK)
            sink_counter(sink, package->channel, now_ns, now_ns, (uint64_t)(joules / UNIT_JOULES));
        else
            sink_fail(sink, package->channel, status);
    }
}

/* --- opening and closing -------------------------------------------------------------------------------- */

/* Returns one second of work of a package with half of its cores busy. */
static struct cost_features half_load(const struct cost_cpu *cpu, double cubic)
{
    double cores = (double)cpu->cores / cpu->packages;
    return (struct cost_features){.version = COST_VERSION, .amount = {1, cores / 2, cores / 2 * cubic, 0}};
}

static void write_names(const struct cpu_unit *unit, struct channel *channel)
{
    joule_domain *info = &channel->info;
    cpu_unit_name(*unit, "package", info->name, sizeof info->name);
    cpu_unit_zone(*unit, "package", channel->zone, sizeof channel->zone);
    string_print(info->device, sizeof info->device, "cpu:%u", unit->package);
    info->device_index = (int32_t)unit->package;
}

static void describe(const struct estimated *e, const struct cpu_unit *unit, struct channel *channel)
{
    const struct cost_cpu *cpu = &e->map.cpu;
    joule_domain *info = &channel->info;
    write_names(unit, channel);
    info->scope = JOULE_SCOPE_PACKAGE;
    info->cls = JOULE_CLASS_MODELLED;
    info->update_period_s = 1.0 / TICKS_PER_S;
    string_print(info->label, sizeof info->label, "%s%s", cpu->is_virtual ? "guest's part of " : "",
                 e->table.id);
    string_copy(info->vendor, sizeof info->vendor, e->map.info.vendor);
    string_copy(info->model, sizeof info->model, e->map.info.model);
    channel->mode = CHANNEL_COUNTER;
    channel->rank = RANK_MODEL;

    struct cost_features typical = half_load(cpu, 1),
                         extreme = half_load(cpu, MAX_SPEEDUP * MAX_SPEEDUP * MAX_SPEEDUP);
    struct estimate watts = cost_of(&e->table, &typical).total;
    channel->gain_sd = estimate_sd(&watts) / watts.value;
    channel->cause = CAUSE_CPU_SEED;
    channel->counter.unit_joules = UNIT_JOULES;
    channel->counter.tick_s = 1.0 / TICKS_PER_S;
    channel->counter.max_watts = 4 * cost_joules(&e->table, &extreme);
}

static bool prepare(struct source *source, struct estimated *e)
{
    if (!cpu_map_read(source->host, source->cpu, &source->arena, &e->map))
        return false;
    cost_cpu_table(&e->map.cpu, &e->table);
    e->text_size = 256 * ((size_t)e->map.count + 1);
    e->text = arena_alloc(&source->arena, e->text_size);
    e->works = arena_alloc(&source->arena, e->map.count * sizeof *e->works);
    e->packages = arena_alloc(&source->arena, e->map.unit_count * sizeof *e->packages);
    if (!e->text || !e->works || !e->packages)
        return false;
    for (unsigned i = 0; i < e->map.count; i++)
        e->works[i].cubic = 1;
    return true;
}

/* Reads /proc/stat once and adds the channels of the packages. e->handle must be open. */
static joule_status begin(struct source *source, struct estimated *e)
{
    struct joule_host *host = source->host;
    if (!prepare(source, e))
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory for the state of %u CPUs",
                                e->map.count);
    joule_status status = read_ticks(host, e, true);
    if (status != JOULE_OK)
        return source_set_state(source, status, STAT_PATH " lists no CPU");
    e->rest_ns = TICK_NS;
    e->read_ns = e->stat_ns = host->ops->clock_ns(host, CLOCK_MONOTONIC);
    for (unsigned i = 0; i < e->map.unit_count; i++) {
        e->packages[i].features.version = COST_VERSION;
        e->packages[i].channel = source_add_channel(source);
        if (!e->packages[i].channel)
            return source_set_state(source, JOULE_NO_MEMORY, "out of memory for %u packages",
                                    e->map.unit_count);
        describe(e, &e->map.units[i], e->packages[i].channel);
    }
    return JOULE_OK;
}

static void estimated_close(struct source *source)
{
    const struct estimated *e = source->data;
    source->host->ops->close_handle(source->host, e->handle);
}

static joule_status estimated_open(struct source *source)
{
    struct joule_host *host = source->host;
    struct estimated *e = source->data = arena_alloc(&source->arena, sizeof *e);
    if (!e)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    e->handle = host->ops->open_file(host, STAT_PATH);
    if (e->handle < 0)
        return source_set_state(source, status_of_errno(-e->handle),
                                STAT_PATH " cannot be read: %s; is /proc mounted?", strerror(-e->handle));
    joule_status status = begin(source, e);
    if (status != JOULE_OK)
        estimated_close(source);
    return status;
}

const struct cost_cpu *estimated_cpu(const struct source *source)
{
    const struct estimated *e = source->data;
    return source->ops == &source_estimated && source->state == JOULE_OK && e ? &e->map.cpu : NULL;
}

const struct source_ops source_estimated = {
    .name = "estimated",
    .measurement = "estimated",
    .tier = 1,
    .open = estimated_open,
    .read = estimated_read,
    .close = estimated_close,
};
