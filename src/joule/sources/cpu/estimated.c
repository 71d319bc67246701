/* joule/sources/cpu/estimated.c - the CPU packages' energy by the cost model, for machines without an energy counter.
 *
 * Owns the counting of work: seconds for the idle share, which are exact, and busy seconds of cores from /proc/stat,
 * weighted with the frequency where the kernel tells it. The joules are the cost model's (cost/cost.h).
 * Newcomers: /proc/stat moves in ticks of 10 ms, and per CPU in lumps. A lump is spread over no more time than has
 * passed, so that no CPU is ever more than busy. Finer files do not help: /proc/schedstat leaves out whoever runs right
 * now and is huge on large machines; cpuidle's times leave out whoever sleeps right now.
 */
#include "joule/sources/cpu/estimated.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/cpu/cpu_map.h"

#define STAT_PATH       "/proc/stat"
#define TICKS_PER_S     100 /* USER_HZ: the same on every kernel that this runs on */
#define TICK_NS         10000000
#define UNIT_JOULES     1e-6
#define OWN_COST        500  /* /proc/stat of large machines is slow: rest for so many times what it took */
#define FREQUENCY_READS 4    /* busy CPUs asked at each reading; they take turns */
#define BUSY_SHARE      0.05 /* below, a CPU's frequency matters to nobody */
#define FASTEST         2.0  /* times the reference frequency: beyond, the kernel's figure is wrong */

struct work {
    uint64_t ticks;   /* busy ones, as the kernel last told */
    double waiting_s; /* busy time told and not yet counted */
    double share;     /* of the last interval in which it ran, 0 to 1 */
    double cubic;     /* (frequency / reference)^3 */
    double idle, sum; /* of a core's first CPU: product of its threads' idle shares, sum of their busy ones */
};

struct package {
    struct channel *channel;
    struct cost_features features; /* since open */
};

struct estimated {
    struct cpu_map map;
    struct cost_table table;
    struct work *works; /* by CPU number */
    struct package *packages;
    char *text; /* /proc/stat, cut after its CPU lines */
    size_t text_size;
    int handle;
    unsigned next_frequency;  /* the CPU whose turn it is */
    int64_t read_ns;          /* last reading */
    int64_t stat_ns, rest_ns; /* last look at /proc/stat, and how long not to look again */
    double lump_s;            /* the most that a CPU can have done between the last two looks */
};

/* --- what ran ----------------------------------------------------------------------------------------------- */

/* One line "cpu3 user nice system idle iowait irq softirq ...": busy are all but idle and iowait. What a hypervisor
 * stole ran on no CPU of ours, and guests are in user already. */
static bool parse_line(const char *line, unsigned *out_cpu, uint64_t *out_ticks)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, FIELDS };
    uint64_t fields[FIELDS];
    if (line[3] < '0' || line[3] > '9')
        return false; /* the sum of all CPUs */
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

/* Adds what each CPU did since it was last looked at; CPUs that went offline have no line. */
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

static joule_status look_again(struct joule_host *host, struct estimated *e, int64_t now_ns)
{
    if (now_ns - e->stat_ns < e->rest_ns)
        return JOULE_OK;
    joule_status status = read_ticks(host, e, false);
    int64_t cost_ns = host->ops->clock_ns(host, CLOCK_MONOTONIC) - now_ns;
    e->lump_s = (double)(now_ns - e->stat_ns) * 1e-9 + 2.0 / TICKS_PER_S;
    e->stat_ns = now_ns;
    e->rest_ns = cost_ns > TICK_NS / OWN_COST ? cost_ns * OWN_COST : TICK_NS;
    return status;
}

/* Turns the busy time that waits into shares of the interval. What does not fit waits on, but for what no CPU can
 * have done. */
static void take_shares(struct estimated *e, double elapsed_s)
{
    for (unsigned i = 0; i < e->map.count; i++) {
        struct work *work = &e->works[i];
        double taken_s = fmin(work->waiting_s, elapsed_s);
        work->share = elapsed_s > 0 ? taken_s / elapsed_s : 0;
        work->waiting_s = fmin(work->waiting_s - taken_s, e->lump_s);
    }
}

static void ask_frequencies(struct joule_host *host, struct estimated *e)
{
    unsigned asked = 0;
    for (unsigned i = 0; i < e->map.count && asked < FREQUENCY_READS; i++) {
        unsigned cpu = e->next_frequency;
        e->next_frequency = (cpu + 1) % e->map.count;
        if (e->works[cpu].share < BUSY_SHARE)
            continue;
        double ratio = cpu_map_frequency_hz(host, cpu) / e->map.reference_hz;
        if (ratio > 0)
            e->works[cpu].cubic = pow(fmin(ratio, FASTEST), 3);
        asked++;
    }
}

/* --- what it amounts to ------------------------------------------------------------------------------------- */

/* Threads of a core are taken to run independently: it is busy unless all of them are idle. */
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
            continue; /* idle, or no core's first CPU */
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
    joule_status status = look_again(source->host, e, now_ns);
    double elapsed_s = (double)(now_ns - e->read_ns) * 1e-9;
    e->read_ns = now_ns;
    take_shares(e, elapsed_s);
    if (e->map.reference_hz > 0)
        ask_frequencies(source->host, e);
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

/* --- life --------------------------------------------------------------------------------------------------- */

/* A package with half of its cores busy. */
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

    struct cost_features typical = half_load(cpu, 1), extreme = half_load(cpu, FASTEST * FASTEST * FASTEST);
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

/* With e->handle open. */
static joule_status begin(struct source *source, struct estimated *e)
{
    struct joule_host *host = source->host;
    if (!prepare(source, e))
        return source_say(source, JOULE_NO_MEMORY, "no memory for the state of %u CPUs", e->map.count);
    joule_status status = read_ticks(host, e, true);
    if (status != JOULE_OK)
        return source_say(source, status, STAT_PATH " tells of no CPU");
    e->rest_ns = TICK_NS;
    e->read_ns = e->stat_ns = host->ops->clock_ns(host, CLOCK_MONOTONIC);
    for (unsigned i = 0; i < e->map.unit_count; i++) {
        e->packages[i].features.version = COST_VERSION;
        e->packages[i].channel = source_add_channel(source);
        if (!e->packages[i].channel)
            return source_say(source, JOULE_NO_MEMORY, "no memory for %u packages", e->map.unit_count);
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
        return source_say(source, JOULE_NO_MEMORY, "no memory");
    e->handle = host->ops->open_file(host, STAT_PATH);
    if (e->handle < 0)
        return source_say(source, status_of_errno(-e->handle),
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
