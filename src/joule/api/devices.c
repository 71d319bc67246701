/* joule/api/devices.c - the public queries of <joule/devices.h>.
 *
 * A device's description combines identity and facts from every source that knows it. Gauges are added by
 * their roles; energy and power come from the domain that covers the device best.
 * Note: if two sources know the same fact, the source whose lane comes first is used. Sources that at first
 * seemed absent share the first lane. The other lanes follow in the order of the table of sources.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "joule/struct_sizes.h"
#include "joule/api/open.h"

#define MAX_DEVICE_ENTRIES 256
#define STALE_FACTS_S      3.0 /* after three missed readings of facts */

/* --- list of devices ------------------------------------------------------------------------------------ */

/* A device as one source describes it. */
struct device_entry {
    struct lane *lane;
    const struct source *source;
    struct device *device;
};

/* Lists the devices of all sources, one entry for each source. Returns their number, at most
 * MAX_DEVICE_ENTRIES. A lane that still opens its sources is left out, because the lists of these sources
 * still grow. */
static size_t gather(joule_meter *meter, struct device_entry out_list[MAX_DEVICE_ENTRIES])
{
    size_t count = 0;
    for (size_t l = 0; l < meter->lane_count; l++) {
        struct lane *lane = meter->lanes[l];
        pthread_mutex_lock(&lane->lock);
        bool is_open = lane->opened;
        pthread_mutex_unlock(&lane->lock);
        for (size_t s = 0; s < lane->source_count && is_open; s++)
            for (size_t d = 0; d < lane->sources[s]->device_count && count < MAX_DEVICE_ENTRIES; d++)
                out_list[count++] =
                    (struct device_entry){lane, lane->sources[s], lane->sources[s]->devices[d]};
    }
    return count;
}

static bool is_gpu(const struct device *device)
{
    return string_starts(device->name, "gpu:");
}

/* Compares devices for sort(): GPUs first, then by kind and index. Entries of one device are equal, so they
 * keep the order of their sources. */
static int compare_entries(const void *a, const void *b)
{
    const struct device *left = ((const struct device_entry *)a)->device,
                        *right = ((const struct device_entry *)b)->device;
    if (is_gpu(left) != is_gpu(right))
        return is_gpu(left) ? -1 : 1;
    size_t kind = strcspn(left->name, ":");
    int order = strncmp(left->name, right->name, kind + 1);
    if (order)
        return order;
    return left->index != right->index ? (left->index < right->index ? -1 : 1) : 0;
}

/* Sorts entries by compare_entries, keeping the order of equal ones. */
static void sort(struct device_entry *list, size_t count)
{
    for (size_t i = 1; i < count; i++) { /* insertion sort: stable, and the list is short */
        struct device_entry moved = list[i];
        size_t k = i;
        for (; k > 0 && compare_entries(&list[k - 1], &moved) > 0; k--)
            list[k] = list[k - 1];
        list[k] = moved;
    }
}

/* Returns true if entry `i` of a sorted list is the first of its device. */
static bool is_first(const struct device_entry *list, size_t i)
{
    return i == 0 || strcmp(list[i].device->name, list[i - 1].device->name) != 0;
}

/* Returns the first entry of the device at `position` in a sorted list; NULL: no such device. *out_count:
 * number of its entries. */
static const struct device_entry *find_position(const struct device_entry *list, size_t count,
                                                size_t position, size_t *out_count)
{
    size_t first = 0;
    for (; first < count; first++)
        if (is_first(list, first) && position-- == 0)
            break;
    *out_count = 1;
    while (first + *out_count < count && !is_first(list, first + *out_count))
        ++*out_count;
    return first < count ? list + first : NULL;
}

/* Copies the facts of the first source for which knows() is true about the device. Returns false if there is
 * none. */
static bool find_facts(joule_meter *meter, const char *name, bool (*knows)(const struct device_facts *),
                       struct device_facts *out_facts)
{
    struct device_entry list[MAX_DEVICE_ENTRIES];
    size_t count = gather(meter, list);
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) {
        if (strcmp(list[i].device->name, name) != 0)
            continue;
        pthread_mutex_lock(&list[i].lane->lock);
        found = knows(&list[i].device->facts);
        if (found)
            *out_facts = list[i].device->facts;
        pthread_mutex_unlock(&list[i].lane->lock);
    }
    return found;
}

size_t joule_device_count(joule_meter *meter)
{
    struct device_entry list[MAX_DEVICE_ENTRIES];
    if (meter_take(&meter) != JOULE_OK)
        return 0;
    size_t count = gather(meter, list), devices = 0;
    sort(list, count);
    for (size_t i = 0; i < count; i++)
        devices += is_first(list, i);
    return devices;
}

/* --- identity and facts --------------------------------------------------------------------------------- */

/* Returns a device without any known property. */
static joule_device unknown_device(void)
{
    return (joule_device){.struct_size = sizeof(joule_device),
                          .state = JOULE_PENDING,
                          .clock_reasons = JOULE_CLOCKS_UNKNOWN,
                          .memory_total_bytes = JOULE_BYTES_UNKNOWN,
                          .memory_used_bytes = JOULE_BYTES_UNKNOWN,
                          .memory_free_bytes = JOULE_BYTES_UNKNOWN,
                          .busy = NAN,
                          .memory_busy = NAN,
                          .temperature_celsius = NAN,
                          .memory_temperature_celsius = NAN,
                          .clock_megahertz = NAN,
                          .memory_clock_megahertz = NAN,
                          .power_limit_watts = NAN,
                          .power_limit_default_watts = NAN,
                          .power_limit_enforced_watts = NAN,
                          .power_limit_min_watts = NAN,
                          .power_limit_max_watts = NAN,
                          .power_watts = quantity_unknown(),
                          .energy_joules = quantity_unknown(),
                          .domain = -1,
                          .age_s = NAN,
                          .fan_rpm = NAN,
                          .fan_ratio = NAN,
                          .encoder_busy = NAN,
                          .decoder_busy = NAN,
                          .pcie_receive_bytes_per_second = NAN,
                          .pcie_transmit_bytes_per_second = NAN,
                          .pcie_replays = NAN,
                          .ecc_corrected = NAN,
                          .ecc_uncorrected = NAN,
                          .ecc_corrected_lifetime = NAN,
                          .ecc_uncorrected_lifetime = NAN,
                          .xid_count = NAN,
                          .last_xid = NAN};
}

/* Copy a text, a number of bytes or a number from a source. Have no effect if an earlier source supplied the
 * value. */
static void take_text(char *ours, size_t size, const char *theirs)
{
    if (!ours[0])
        string_copy(ours, size, theirs);
}

static void take_bytes(uint64_t *ours, uint64_t theirs)
{
    if (*ours == JOULE_BYTES_UNKNOWN)
        *ours = theirs;
}

static void take_number(double *ours, double theirs)
{
    if (isnan(*ours))
        *ours = theirs;
}

/* Adds the parts of a device's identity that one source knows. */
static void take_identity(joule_device *d, const struct device *device)
{
    d->index = device->index;
    take_text(d->name, sizeof d->name, device->name);
    take_text(d->vendor, sizeof d->vendor, device->vendor);
    take_text(d->model, sizeof d->model, device->model);
    take_text(d->architecture, sizeof d->architecture, device->architecture);
    take_text(d->compute_capability, sizeof d->compute_capability, device->compute_capability);
    take_text(d->uuid, sizeof d->uuid, device->uuid);
    take_text(d->pci_address, sizeof d->pci_address, device->pci_address);
    take_text(d->driver, sizeof d->driver, device->driver);
    take_text(d->remedy, sizeof d->remedy, device->remedy);
}

/* Adds memory sizes. Used and free memory come from the same source, because two sources may count the
 * driver's own memory differently. */
static void take_memory(joule_device *d, const struct device_facts *facts)
{
    if (d->memory_used_bytes == JOULE_BYTES_UNKNOWN && d->memory_free_bytes == JOULE_BYTES_UNKNOWN) {
        d->memory_used_bytes = facts->memory_used_bytes;
        d->memory_free_bytes = facts->memory_free_bytes;
    }
    take_bytes(&d->memory_total_bytes, facts->memory_total_bytes);
}

/* Adds figures of fans, video engines, the PCIe link and errors. */
static void take_condition(joule_device *d, const struct device_facts *facts)
{
    take_number(&d->fan_rpm, facts->fan_rpm);
    take_number(&d->fan_ratio, facts->fan_ratio);
    take_number(&d->encoder_busy, facts->encoder_busy);
    take_number(&d->decoder_busy, facts->decoder_busy);
    take_number(&d->pcie_receive_bytes_per_second, facts->pcie_receive_bytes_per_second);
    take_number(&d->pcie_transmit_bytes_per_second, facts->pcie_transmit_bytes_per_second);
    take_number(&d->pcie_replays, facts->pcie_replays);
    take_number(&d->ecc_corrected, facts->ecc_corrected);
    take_number(&d->ecc_uncorrected, facts->ecc_uncorrected);
    take_number(&d->ecc_corrected_lifetime, facts->ecc_corrected_lifetime);
    take_number(&d->ecc_uncorrected_lifetime, facts->ecc_uncorrected_lifetime);
    take_number(&d->xid_count, facts->xid_count);
    take_number(&d->last_xid, facts->last_xid);
}

/* Adds the parts of a device's state that one source knows. */
static void take_facts(joule_device *d, const struct device_facts *facts)
{
    take_memory(d, facts);
    take_condition(d, facts);
    take_number(&d->power_limit_watts, facts->limit_watts);
    take_number(&d->power_limit_default_watts, facts->default_limit_watts);
    take_number(&d->power_limit_enforced_watts, facts->enforced_limit_watts);
    take_number(&d->power_limit_min_watts, facts->min_limit_watts);
    take_number(&d->power_limit_max_watts, facts->max_limit_watts);
    if (d->clock_reasons == JOULE_CLOCKS_UNKNOWN)
        d->clock_reasons = facts->clock_reasons;
    if (!d->has_process_list && facts->has_process_list) {
        d->has_process_list = 1;
        d->process_count = (uint32_t)facts->process_count;
    }
    if (d->partition_count == 0)
        d->partition_count = (uint32_t)facts->partition_count;
}

/* --- state ---------------------------------------------------------------------------------------------- */

/* The answers of the sources and channels of a device. */
struct answers {
    int64_t answered_ns; /* time of the latest answer; 0: never */
    double max_age_s;    /* allowed age in seconds for the slowest source or channel */
    joule_status worst;  /* status of a source or channel that did not answer; OK: all did */
};

/* Adds the answer of one source or channel. answered_ns 0: it never answered. */
static void add_answer(struct answers *answers, const struct lane *lane, int64_t answered_ns,
                       joule_status status)
{
    double max_age_s = fmax(STALE_FACTS_S, 3 * (double)lane->period_ns * 1e-9);
    if (answered_ns > answers->answered_ns)
        answers->answered_ns = answered_ns;
    if (max_age_s > answers->max_age_s)
        answers->max_age_s = max_age_s;
    if (status != JOULE_OK && status != JOULE_PENDING)
        answers->worst = status;
}

/* Sets the state and age of a device: OK if any source or channel of the device answered recently. (Each
 * domain also has a state.) */
static void settle_state(joule_meter *meter, joule_device *d, const struct answers *answers)
{
    if (answers->answered_ns) {
        d->age_s = fmax(0, (double)(meter_now_ns(meter) - answers->answered_ns) * 1e-9);
        if (d->age_s <= answers->max_age_s)
            d->state = JOULE_OK;
        else
            d->state = answers->worst != JOULE_OK ? answers->worst : JOULE_STALE;
    } else if (answers->worst != JOULE_OK) {
        d->state = answers->worst;
    }
}

/* --- channels ------------------------------------------------------------------------------------------- */

/* Stores the value of gauge `id` in the member for its role. If several gauges have the same role, the first
 * is used; for temperatures, the highest. */
static void take_gauge(joule_meter *meter, joule_device *d, int32_t id, enum gauge_role role)
{
    double *const places[] = {
        [ROLE_BUSY] = &d->busy,
        [ROLE_MEMORY_BUSY] = &d->memory_busy,
        [ROLE_TEMPERATURE] = &d->temperature_celsius,
        [ROLE_MEMORY_TEMPERATURE] = &d->memory_temperature_celsius,
        [ROLE_CLOCK] = &d->clock_megahertz,
        [ROLE_MEMORY_CLOCK] = &d->memory_clock_megahertz,
    };
    double value;
    if (role >= sizeof places / sizeof places[0] || !places[role] ||
        joule_gauge(meter, id, &value) != JOULE_OK)
        return;
    bool is_highest = role == ROLE_TEMPERATURE && value > *places[role];
    if (isnan(*places[role]) || is_highest)
        *places[role] = value;
}

/* Returns true if a channel measures the energy of the whole device. */
static bool is_whole_device(const struct channel *ch)
{
    return ch->mode != CHANNEL_GAUGE && !string_starts(ch->parent_zone, "gpu") &&
           (ch->info.scope == JOULE_SCOPE_GPU || ch->info.scope == JOULE_SCOPE_MODULE);
}

/* Properties of a device's domain, copied while its lane's lock was held. */
struct choice {
    int32_t id; /* -1: none */
    bool has_moved, is_module;
    uint32_t rank;
    char remedy[sizeof((joule_domain *)NULL)->remedy]; /* empty if the domain is read */
};

/* Returns true if a channel is preferred to the choice so far, by the rule of covers: first a channel whose
 * energy has increased, then a channel that excludes the CPU, then the lower rank. */
static bool is_better(const struct channel *ch, const struct choice *best)
{
    if (best->id < 0)
        return true;
    if (ch->moved != best->has_moved)
        return ch->moved;
    bool is_module = ch->info.scope == JOULE_SCOPE_MODULE; /* includes the joules of a CPU */
    return is_module != best->is_module ? best->is_module : ch->rank < best->rank;
}

/* Stores a channel as the choice so far. */
static void take_choice(struct choice *best, const struct channel *ch)
{
    *best = (struct choice){.id = ch->info.id,
                            .has_moved = ch->moved,
                            .is_module = ch->info.scope == JOULE_SCOPE_MODULE,
                            .rank = ch->rank};
    if (ch->info.state != JOULE_OK)
        string_copy(best->remedy, sizeof best->remedy, ch->info.remedy);
}

/* Adds `term` to *sum, which may be unknown. Intervals add linearly. */
static void add_quantity(joule_quantity *sum, joule_quantity term)
{
    if (isnan(sum->value)) {
        *sum = term;
        return;
    }
    sum->value += term.value;
    sum->low += term.low; /* errors of the parts of one board may be correlated */
    sum->high += term.high;
    sum->cls = term.cls > sum->cls ? term.cls : sum->cls;
}

/* Sets energy and power to the sums over the parts of a device. Used if the sensor of the whole device does
 * not change. Returns false if no part has energy. */
static bool take_parts(joule_meter *meter, joule_device *d)
{
    struct cover cover;
    meter_cover(meter, JOULE_GPU, meter->begin_ns, meter_now_ns(meter), &cover);
    bool has_parts = false;
    for (size_t i = 0; i < cover.count; i++) {
        joule_quantity watts, joules;
        if (strcmp(meter->channels[cover.ids[i]].channel->info.device, d->name) != 0)
            continue;
        joule_power_watts(meter, cover.ids[i], &watts);
        joule_energy_joules(meter, cover.ids[i], &joules);
        add_quantity(&d->power_watts, watts);
        add_quantity(&d->energy_joules, joules);
        d->domain = has_parts ? d->domain : cover.ids[i];
        has_parts = true;
    }
    return has_parts;
}

/* Adds the gauges, energy and power of a device from its channels, and adds the channels' answers to
 * `answers`. */
static void take_channels(joule_meter *meter, joule_device *d, struct answers *answers)
{
    struct choice best = {.id = -1};
    for (size_t i = 0; i < meter_channel_count(meter); i++) {
        const struct meter_channel *mc = &meter->channels[i];
        if (strcmp(mc->channel->info.device, d->name) != 0)
            continue;
        pthread_mutex_lock(&mc->lane->lock);
        add_answer(answers, mc->lane, mc->channel->read_ns, mc->channel->info.state);
        if (is_whole_device(mc->channel) && is_better(mc->channel, &best))
            take_choice(&best, mc->channel);
        pthread_mutex_unlock(&mc->lane->lock);
        take_gauge(meter, d, (int32_t)i, mc->channel->role);
    }
    if (best.id < 0 || (!best.has_moved && take_parts(meter, d)))
        return;
    d->domain = best.id;
    string_copy(d->remedy, sizeof d->remedy, best.remedy);
    joule_power_watts(meter, d->domain, &d->power_watts);
    joule_energy_joules(meter, d->domain, &d->energy_joules);
}

/* --- queries -------------------------------------------------------------------------------------------- */

joule_status joule_device_get(joule_meter *meter, size_t position, joule_device *out_device)
{
    if (!abi_has_room(out_device, DEVICE_SIZE_1))
        return JOULE_INVALID;
    joule_status status = meter_take(&meter);
    if (status != JOULE_OK)
        return status;
    struct device_entry list[MAX_DEVICE_ENTRIES];
    size_t count = gather(meter, list), seen;
    sort(list, count);
    const struct device_entry *mine = find_position(list, count, position, &seen);
    if (!mine)
        return JOULE_INVALID;
    joule_device d = unknown_device();
    struct answers answers = {0};
    for (size_t i = 0; i < seen; i++) {
        take_identity(&d, mine[i].device);
        pthread_mutex_lock(&mine[i].lane->lock);
        take_facts(&d, &mine[i].device->facts);
        add_answer(&answers, mine[i].lane, mine[i].device->queried_ns, mine[i].device->state);
        pthread_mutex_unlock(&mine[i].lane->lock);
    }
    take_channels(meter, &d, &answers);
    settle_state(meter, &d, &answers);
    abi_write(out_device, &d, sizeof d);
    return JOULE_OK;
}

static bool has_process_list(const struct device_facts *facts)
{
    return facts->has_process_list;
}

static bool knows_partitions(const struct device_facts *facts)
{
    return facts->partition_count > 0;
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t joule_device_processes(joule_meter *meter, const char *name, joule_device_process *out_processes,
                              size_t size)
{
    struct device_facts facts;
    if (!name || meter_take(&meter) != JOULE_OK || !find_facts(meter, name, has_process_list, &facts))
        return 0;
    if (min_size(size, facts.process_count))
        memcpy(out_processes, facts.processes, min_size(size, facts.process_count) * sizeof *out_processes);
    return facts.process_count;
}

size_t joule_device_partitions(joule_meter *meter, const char *name, joule_device_partition *out_partitions,
                               size_t size)
{
    struct device_facts facts;
    if (!name || meter_take(&meter) != JOULE_OK || !find_facts(meter, name, knows_partitions, &facts))
        return 0;
    if (min_size(size, facts.partition_count))
        memcpy(out_partitions, facts.partitions,
               min_size(size, facts.partition_count) * sizeof *out_partitions);
    return facts.partition_count;
}
