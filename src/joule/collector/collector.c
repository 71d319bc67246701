/* joule/collector/collector.c - see collector.h.
 *
 * A region enters a collector when it is first read: open in a slot, or finished in a ring buffer. It stays
 * until a sweep has passed its end. After that only the sums of its tag and, for some time, the region's
 * figures remain.
 * Note: all collectors of a process share one reader, because reading removes regions from a ring buffer. The
 * hub is locked before a collector; engine.h lists the whole order of locks.
 */
#include "joule/collector/collector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "joule/collector/collector_state.h"

#define MAX_LAG_NS   (10 * NS_PER_S) /* longest delay caused by a sensor without new readings */
#define IDLE_HOLD_NS NS_PER_S        /* how late a span may arrive if no region waits */

/* --- the hub: one reader for all collectors of a process ------------------------------------------------ */

/* The hub: all collectors of this process, and their reader. Guarded by `lock`. */
static struct {
    pthread_mutex_t lock;
    struct collector *first;
    struct reader reader;
} hub = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Passes the update of one slot to all collectors. The caller holds the hub's lock. */
static void pass_to_all(void *context, const struct slot_update *update)
{
    (void)context;
    for (struct collector *c = hub.first; c; c = c->next) {
        pthread_mutex_lock(&c->lock);
        regions_read_slot(c, update);
        pthread_mutex_unlock(&c->lock);
    }
}

/* Records the time of a round in all collectors, because a round serves all of them. Each collector records
 * the time of its meter's clock. now_ns: the time of the collector `reading`. */
static void record_round(struct collector *reading, int64_t now_ns)
{
    for (struct collector *c = hub.first; c; c = c->next)
        c->slots_read_ns = c == reading ? now_ns : meter_now_ns(c->meter);
}

/* Reads all slots if there may be updates, and passes the updates to all collectors. check_owners: also reads
 * slots of ended threads. */
static void drain(struct collector *c, bool check_owners)
{
    pthread_mutex_lock(&hub.lock);
    int64_t now_ns = meter_now_ns(c->meter);
    struct session_map *map = session_map(c->session);
    if (hub.reader.map != map)
        reader_start(&hub.reader, map, session_begin_ns(c->session));
    /* If the collector knows regions, the slots are always read. A region can leave the open table without an
     * entry in a ring buffer, and only a reading shows this. */
    if (check_owners || c->knows_regions || reader_has_updates(&hub.reader, clock_now_ns()))
        reader_round(&hub.reader, clock_now_ns(), check_owners, pass_to_all, NULL);
    record_round(c, now_ns);
    pthread_mutex_unlock(&hub.lock);
}

/* Empties the hub in a child after fork. The parent's threads do not exist in the child, so the parent's
 * collectors are not used there. */
static void renew_hub(void)
{
    pthread_mutex_init(&hub.lock, NULL);
    hub.first = NULL;
    hub.reader.map = NULL;
}

__attribute__((constructor)) static void at_load(void)
{
    pthread_atfork(NULL, NULL, renew_hub);
}

static void destroy(struct collector *c)
{
    pthread_mutex_destroy(&c->lock);
    for (size_t i = 0; i < c->region_count; i++) {
        free(c->regions[i].history);
        if (c->regions[i].batch)
            folded_release(c, c->regions[i].batch);
    }
    for (size_t i = 0; i < c->tags_end; i++)
        free(c->tags[i]);
    free(c->overflow);
    sweep_free(&c->sweep);
    free(c->regions);
    free(c->shares);
    free(c->recent);
    free(c);
}

static void free_listener(struct meter_listener *listener)
{
    struct collector *c = (struct collector *)listener;
    pthread_mutex_lock(&hub.lock);
    struct collector **link = &hub.first;
    while (*link && *link != c)
        link = &(*link)->next;
    if (*link)
        *link = c->next;
    pthread_mutex_unlock(&hub.lock);
    destroy(c);
}

static void advance_listener(struct meter_listener *listener, int64_t now_ns)
{
    collector_advance((struct collector *)listener, now_ns);
}

static const struct meter_listener_ops collector_ops = {.after_round = advance_listener,
                                                        .free = free_listener};

struct collector *collector_of(joule_meter *meter)
{
    return (struct collector *)meter_find_listener(meter, &collector_ops);
}

struct collector *collector_create(joule_meter *meter)
{
    if (session_is_client(meter->session))
        return NULL;
    struct collector *c = calloc(1, sizeof *c);
    if (c)
        c->recent = calloc(RECENT, sizeof *c->recent);
    if (!c || !c->recent) {
        free(c);
        return NULL;
    }
    c->listener.ops = &collector_ops;
    c->meter = meter;
    c->session = meter->session;
    c->read_ns = c->swept_ns = meter->begin_ns;
    pthread_mutex_init(&c->lock, NULL);
    if (!meter_add_listener(meter, &c->listener)) {
        destroy(c);
        return NULL;
    }
    pthread_mutex_lock(&hub.lock);
    c->next = hub.first;
    hub.first = c;
    pthread_mutex_unlock(&hub.lock);
    drain(c, false); /* regions that were folded before this meter began get none of its energy */
    return c;
}

void collector_on_region(struct collector *c, collector_region_fn function, void *context)
{
    pthread_mutex_lock(&c->lock);
    c->on_region = function;
    c->on_region_context = context;
    pthread_mutex_unlock(&c->lock);
}

/* --- rounds --------------------------------------------------------------------------------------------- */

/* Returns the time up to which all sensors have readings, at most MAX_LAG_NS before horizon_ns. */
static int64_t reached_ns(struct collector *c, int64_t horizon_ns)
{
    collector_choose_covers(c, horizon_ns);
    int64_t reached = c->covers.known ? horizon_ns : 0;
    for (unsigned g = 0; g < GROUPS; g++) {
        if (!(c->covers.known & 1u << g))
            continue;
        int64_t group_ns = meter_cover_horizon_ns(c->meter, &c->covers.covers[g]);
        reached = group_ns < reached ? group_ns : reached;
    }
    return reached > horizon_ns - MAX_LAG_NS ? reached : horizon_ns - MAX_LAG_NS;
}

/* Attributes energy up to horizon_ns - hold_ns, or up to the last reading of the slowest sensor, whichever is
 * earlier. */
static void sweep_to(struct collector *c, int64_t horizon_ns, int64_t hold_ns)
{
    if (c->region_count == 0) { /* no region waits; swept_ns stays at least IDLE_HOLD_NS behind, so that late
                                 * spans still get energy */
        int64_t idle_ns = horizon_ns - (hold_ns > IDLE_HOLD_NS ? hold_ns : IDLE_HOLD_NS);
        c->swept_ns = idle_ns > c->swept_ns ? idle_ns : c->swept_ns;
        return;
    }
    int64_t end_ns = reached_ns(c, horizon_ns);
    if (end_ns > horizon_ns - hold_ns)
        end_ns = horizon_ns - hold_ns;
    if (end_ns > c->swept_ns)
        collector_attribute_until(c, end_ns);
}

void collector_advance(struct collector *c, int64_t read_ns)
{
    drain(c, false);
    pthread_mutex_lock(&c->lock);
    regions_abandon_lost(c, read_ns);
    regions_attribute_overflow(c);
    sweep_to(c, c->read_ns, c->hold_ns);
    if (read_ns > c->read_ns)
        c->read_ns = read_ns;
    pthread_mutex_unlock(&c->lock);
}

void collector_give(struct collector *c, const struct span *span)
{
    pthread_mutex_lock(&c->lock);
    regions_add_span(c, span);
    pthread_mutex_unlock(&c->lock);
}

void collector_finish(struct collector *c)
{
    drain(c, true);
    pthread_mutex_lock(&c->lock);
    int64_t now_ns = meter_now_ns(c->meter);
    regions_attribute_overflow(c);
    sweep_to(c, now_ns, 0);
    if (c->region_count && now_ns > c->swept_ns)
        collector_attribute_until(c, now_ns);
    pthread_mutex_unlock(&c->lock);
}

/* --- results -------------------------------------------------------------------------------------------- */

/* Returns a / b, at most 1; 0 if b is 0. */
static double part(double a, double b)
{
    return b > 0 ? fmin(1, a / b) : 0;
}

/* Returns the summed energy of those groups (bits of `groups`) whose energy is known. The sum is unknown if
 * the energy of no group is known. */
static struct window groups_window(struct collector *c, uint32_t groups, int64_t begin_ns, int64_t end_ns)
{
    struct window sum = {.joules = estimate_unknown(), .covered_s = INFINITY, .is_final = true};
    for (unsigned g = 0; g < GROUPS; g++)
        if (groups & 1u << g) {
            struct window w = meter_cover_window(c->meter, &c->covers.covers[g], begin_ns, end_ns);
            sum = window_add(sum, &w);
        }
    if (isnan(sum.joules.value)) {
        sum.covered_s = 0;
        sum.is_final = false;
    }
    return sum;
}

/* Returns `joules` as a part of `whole`. The relative gain errors are those of `whole`. The relative
 * independent error is that of the stored figure recent->window. is_share: the class is derived at best. */
static joule_quantity part_of(const struct window *whole, const struct recent *recent, double joules,
                              bool is_share)
{
    if (!(whole->joules.value > 0) || !(recent->window > 0))
        return quantity_unknown();
    struct estimate e = estimate_scale(whole->joules, joules / whole->joules.value);
    e.variance = recent->variance * joules * joules / (recent->window * recent->window);
    if (is_share)
        e = estimate_weaken(e, JOULE_CLASS_DERIVED);
    return estimate_quantity(&e);
}

/* Returns the fraction `share` of a window, with an interval from 0 to the whole window. */
static joule_quantity part_of_window(joule_quantity window, double share)
{
    joule_class cls = window.cls > JOULE_CLASS_DERIVED ? window.cls : JOULE_CLASS_DERIVED;
    return (joule_quantity){
        .value = window.value * fmin(1, fmax(0, share)), .low = 0, .high = window.high, .cls = cls};
}

/* Sets `attributed` and `self` of a region whose figures are not stored, from its tag's average share of
 * windows. */
static void estimate_shares(const struct tag_state *tag, uint32_t groups, joule_result *out)
{
    double window = 0, attributed = 0, self = 0;
    for (unsigned g = 0; g < GROUPS; g++) {
        if (!(groups & 1u << g))
            continue;
        window += tag->ledger.lines[g].window;
        attributed += tag->ledger.lines[g].attributed;
        self += tag->ledger.lines[g].self;
    }
    if (!(window > 0) || isnan(out->window.value))
        return;
    out->folded = 1;
    out->attributed = part_of_window(out->window, attributed / window);
    out->self = part_of_window(out->window, self / window);
}

/* Fills the energies and coverage of a region's result. recent: the region's stored figures; NULL: none. tag:
 * may be NULL. */
static void fill_windows(struct collector *c, uint32_t claims, int64_t begin_ns, int64_t end_ns,
                         const struct recent *recent, const struct tag_state *tag, joule_result *out)
{
    uint32_t groups = group_covers_summed(&c->covers, claims);
    struct window all = groups_window(c, groups, begin_ns, end_ns);
    struct window cpu = groups_window(c, groups & 1u << GROUP_CPU, begin_ns, end_ns);
    struct window gpu = groups_window(c, groups & GROUPS_GPU, begin_ns, end_ns);
    if (!recent) {
        out->coverage = part(all.covered_s, out->duration_s);
        out->window = estimate_quantity(&all.joules);
        out->cpu = estimate_quantity(&cpu.joules);
        out->gpu = estimate_quantity(&gpu.joules);
        if (tag && out->is_final)
            estimate_shares(tag, groups, out);
        return;
    }
    out->coverage = part(recent->covered_s, out->duration_s);
    out->window = part_of(&all, recent, recent->window, false);
    out->attributed = part_of(&all, recent, recent->attributed, true);
    out->self = part_of(&all, recent, recent->self, true);
    out->cpu = part_of(&cpu, recent, recent->cpu, false);
    out->gpu = part_of(&gpu, recent, recent->gpu, false);
}

joule_status collector_region(struct collector *c, const joule_region *region, joule_result *out_result)
{
    int64_t begin_ns = (int64_t)region->begin_ns, end_ns = (int64_t)region->end_ns;
    drain(c, false);
    pthread_mutex_lock(&c->lock);
    collector_choose_covers(c, end_ns);
    uint32_t place = region->slot & 0xffffff; /* slot and index in its open table, as in struct recent */
    const struct recent *recent = collector_find_recent(c, begin_ns, place);
    if (recent->begin_ns != begin_ns || recent->end_ns != end_ns || recent->place != place)
        recent = NULL;
    out_result->count = 1;
    out_result->duration_s = (double)(end_ns - begin_ns) * 1e-9;
    out_result->is_final = recent || c->swept_ns >= end_ns;
    const struct tag_state *tag = region->tag < SESSION_TAGS ? c->tags[region->tag] : NULL;
    fill_windows(c, regions_claims((uint8_t)region->flags, SPAN_ALL_GPUS), begin_ns, end_ns, recent, tag,
                 out_result);
    pthread_mutex_unlock(&c->lock);
    return out_result->is_final ? JOULE_OK : JOULE_PENDING;
}

/* Returns the upper bound, in joules, of the energy of the claimed devices since the meter began; INFINITY if
 * sensors did not cover that time. */
static double max_joules_of(struct collector *c, uint32_t claims)
{
    int64_t now_ns = meter_now_ns(c->meter);
    collector_choose_covers(c, now_ns);
    struct window all = groups_window(c, group_covers_summed(&c->covers, claims), c->meter->begin_ns, now_ns);
    joule_quantity joules = estimate_quantity(&all.joules);
    bool is_covered = all.covered_s >= 0.9 * clock_seconds(now_ns - c->meter->begin_ns);
    return is_covered && joules.high > 0 ? joules.high : INFINITY;
}

/* Returns `joules` with a higher upper bound. Folded regions may have used all energy of the devices in time
 * for which no energy was attributed. This energy is added to the bound. window: joules of the tag's
 * windows. */
static joule_quantity with_uncovered(joule_quantity joules, const struct tag_state *tag, double window)
{
    double uncovered_s = tag->duration_s - tag->covered_s;
    if (tag->folded && tag->covered_s > 0 && uncovered_s > 0)
        joules.high += uncovered_s * window / tag->covered_s;
    return joules;
}

/* Fills the result of a tag. */
static void fill_tag(struct collector *c, const struct tag_state *tag, joule_result *out)
{
    out->count = tag->count;
    out->folded = tag->folded;
    out->is_final = tag->waiting == 0;
    out->duration_s = tag->duration_s;
    out->coverage = part(tag->covered_s, tag->duration_s);
    out->unsynchronised = tag->unsynchronised > 0 && tag->gpu_spans == 0;
    ledger_result(&tag->ledger, tag->claims, &c->covers, c->meter, tag->first_ns, tag->last_ns, out);
    double window = out->window.value, limit = max_joules_of(c, tag->claims);
    out->window = with_uncovered(out->window, tag, window);
    out->attributed = quantity_limit_high(with_uncovered(out->attributed, tag, window), limit);
    out->self = quantity_limit_high(with_uncovered(out->self, tag, window), limit);
}

joule_status collector_tag(struct collector *c, uint32_t tag, joule_result *out_result)
{
    joule_status status = JOULE_ABSENT;
    drain(c, false);
    pthread_mutex_lock(&c->lock);
    const struct tag_state *state = tag < SESSION_TAGS ? c->tags[tag] : NULL;
    if (state && state->count) {
        fill_tag(c, state, out_result);
        status = out_result->is_final ? JOULE_OK : JOULE_PENDING;
    }
    pthread_mutex_unlock(&c->lock);
    return status;
}

/* Returns the update period in seconds of the slowest sensor that measures a region's energy; 0 if no sensor
 * measures it. */
static double sensor_period_of(struct collector *c, uint32_t claims)
{
    double tick_s = 0;
    uint32_t summed = group_covers_summed(&c->covers, claims);
    for (unsigned g = 0; g < GROUPS; g++)
        for (size_t i = 0; summed & 1u << g && i < c->covers.covers[g].count; i++) {
            const struct meter_channel *mc = &c->meter->channels[c->covers.covers[g].ids[i]];
            pthread_mutex_lock(&mc->lane->lock);
            struct curve_traits traits = meter_channel_traits(mc->channel);
            pthread_mutex_unlock(&mc->lane->lock);
            if (traits.cls == JOULE_CLASS_MEASURED || traits.cls == JOULE_CLASS_DERIVED)
                tick_s = fmax(tick_s, traits.tick_s);
        }
    return tick_s;
}

/* Returns the number of regions with known energy. Excludes waiting regions, calls without timestamps, and
 * folded regions that got no energy. */
static uint64_t count_attributed(const struct tag_state *tag)
{
    uint64_t without = tag->waiting + tag->counted + tag->unattributed;
    return tag->count > without ? tag->count - without : 0;
}

/* Returns the sums of a tag that has finished regions. */
static struct tag_sums make_sums(struct collector *c, uint32_t tag)
{
    const struct tag_state *state = c->tags[tag];
    struct tag_sums sums = {.tag = tag,
                            .name = state->name,
                            .flags = state->flags,
                            .result = result_unknown(),
                            .attributed_count = count_attributed(state),
                            .counted = state->counted,
                            .duration_s = state->duration_s};
    fill_tag(c, state, &sums.result);
    sums.sensor_period_s = sensor_period_of(c, state->claims);
    return sums;
}

static bool has_finished_regions(const struct collector *c, uint32_t tag)
{
    return tag < c->tags_end && c->tags[tag] && c->tags[tag]->count;
}

bool collector_sums(struct collector *c, uint32_t tag, struct tag_sums *out_sums)
{
    drain(c, false);
    pthread_mutex_lock(&c->lock);
    bool is_known = has_finished_regions(c, tag);
    if (is_known)
        *out_sums = make_sums(c, tag);
    pthread_mutex_unlock(&c->lock);
    return is_known;
}

void collector_each_tag(struct collector *c, collector_visit_fn visit, void *context)
{
    drain(c, false);
    pthread_mutex_lock(&c->lock);
    for (uint32_t tag = 0; tag < c->tags_end; tag++)
        if (has_finished_regions(c, tag)) {
            struct tag_sums sums = make_sums(c, tag);
            visit(context, &sums);
        }
    pthread_mutex_unlock(&c->lock);
}

double collector_max_joules(struct collector *c)
{
    pthread_mutex_lock(&c->lock);
    double joules = max_joules_of(c, GROUPS_ALL);
    pthread_mutex_unlock(&c->lock);
    return joules;
}

uint64_t collector_folded(struct collector *c)
{
    pthread_mutex_lock(&c->lock);
    uint64_t folded = c->folded;
    pthread_mutex_unlock(&c->lock);
    return folded;
}

/* Returns `count`, which any process of the session may have written. If it exceeds the session's age in
 * nanoseconds, returns 0 and increments *implausible: a memory cell cannot be incremented more than once per
 * nanosecond. */
static uint64_t plausible_count(uint64_t count, int64_t life_ns, uint64_t *implausible)
{
    bool is_plausible = life_ns > 0 && count <= (uint64_t)life_ns;
    *implausible += !is_plausible;
    return is_plausible ? count : 0;
}

struct region_limits collector_limits(struct collector *c)
{
    struct session_map *map = session_map(c->session);
    int64_t life_ns = clock_now_ns() - session_begin_ns(c->session);
    pthread_mutex_lock(&hub.lock);
    pthread_mutex_lock(&c->lock);
    struct region_limits limits = {.slotless = c->slotless,
                                   .implausible = hub.reader.implausible + c->implausible};
    pthread_mutex_unlock(&c->lock);
    pthread_mutex_unlock(&hub.lock);
    if (map) {
        limits.unnamed_tags = plausible_count(atomic_load(&map->unnamed_tags), life_ns, &limits.implausible);
        limits.unstored = plausible_count(atomic_load(&map->unstored), life_ns, &limits.implausible);
    }
    return limits;
}
