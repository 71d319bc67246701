/* joule/collector/regions.c - turns the reader's output into regions that wait for their energy.
 *
 * The end of a region may arrive from any ring buffer. find_open then finds the open region by its begin time
 * and its index in the open table. regions.c adds to the counts and durations of a tag; attribute_energy.c
 * adds to its energy.
 * Note: a region that left the open table without an end is "lost" for at most a second. The end is in the
 * ring buffer of another thread, or was folded, or will never arrive.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joule/collector/collector_state.h"

#define MAX_REGIONS      (1u << 20) /* maximum number of waiting regions; further regions are folded */
#define LOST_AFTER_NS    NS_PER_S   /* how long a lost region waits for its end before it is abandoned */
#define SPAN_HOLD_NS     NS_PER_S   /* how long attribution waits for foreign spans, once there are any */
#define SPAN_HOLD_MAX_NS (10 * NS_PER_S)

struct tag_state *regions_get_tag(struct collector *c, uint32_t tag)
{
    struct tag_state *state = c->tags[tag];
    if (!state) {
        state = c->tags[tag] = calloc(1, sizeof *state);
        if (!state)
            return NULL;
        session_tag_name(c->session, tag, state->name);
        if (tag >= c->tags_end)
            c->tags_end = tag + 1;
        state->first_ns = INT64_MAX;
    }
    return state;
}

uint16_t regions_claims(uint8_t flags, uint8_t device)
{
    uint32_t claims = 0;
    if (flags & JOULE_REGION_CPU)
        claims |= 1u << GROUP_CPU;
    if (flags & SPAN_FOREIGN && device != SPAN_ALL_GPUS) {
        unsigned group = GROUP_GPU0 + device;
        return (uint16_t)(claims | 1u << (group < GROUPS ? group : GROUPS - 1));
    }
    if (flags & JOULE_REGION_GPU)
        claims |= GROUPS_GPU;
    return (uint16_t)(claims ? claims : GROUPS_ALL);
}

/* Regions that represent a batch have a separate limit: another MAX_REGIONS. */
uint32_t regions_add(struct collector *c, const struct region *region)
{
    if (c->region_count >= MAX_REGIONS && !region->batch)
        return NO_REGION;
    if (c->region_count == c->region_capacity) {
        size_t capacity = c->region_capacity ? 2 * c->region_capacity : 256;
        struct region *regions =
            capacity > 2 * MAX_REGIONS ? NULL : realloc(c->regions, capacity * sizeof *regions);
        if (!regions)
            return NO_REGION;
        c->regions = regions;
        c->region_capacity = capacity;
    }
    c->regions[c->region_count] = *region;
    c->knows_regions = true;
    return (uint32_t)c->region_count++;
}

/* Adds a finished region to the counts and times of its tag. */
static void count_finished(struct collector *c, const struct region *r)
{
    struct tag_state *tag = regions_get_tag(c, r->tag);
    if (!tag)
        return;
    tag->count++;
    tag->waiting++;
    tag->duration_s += (double)(r->end_ns - r->begin_ns) * 1e-9;
    tag->first_ns = r->begin_ns < tag->first_ns ? r->begin_ns : tag->first_ns;
    tag->last_ns = r->end_ns > tag->last_ns ? r->end_ns : tag->last_ns;
    tag->flags |= r->flags;
    tag->claims |= r->claims;
    if (r->flags & JOULE_REGION_GPU) {
        tag->gpu_spans += (r->flags & SPAN_FOREIGN) != 0;
        tag->unsynchronised += !(r->flags & (SPAN_FOREIGN | SPAN_SYNCHRONISED));
    }
}

/* Sets c->hold_ns, the time for which attribution waits for foreign spans. It grows with the lateness of a
 * new span, which ended at end_ns. */
static void learn_hold(struct collector *c, int64_t end_ns)
{
    int64_t late_ns = c->swept_ns - end_ns;
    int64_t hold_ns = late_ns > 0 ? c->hold_ns + 2 * late_ns : SPAN_HOLD_NS;
    if (hold_ns > c->hold_ns)
        c->hold_ns = hold_ns < SPAN_HOLD_MAX_NS ? hold_ns : SPAN_HOLD_MAX_NS;
}

static void remove_lost(struct collector *c, size_t i)
{
    memmove(&c->lost[i], &c->lost[i + 1], (--c->lost_count - i) * sizeof c->lost[0]);
}

/* Finds the lost region that this span ends and removes it from the list. Returns its number, or
 * NO_REGION. */
static uint32_t find_lost(struct collector *c, const struct span *span)
{
    for (size_t i = 0; i < c->lost_count; i++) {
        const struct region *r = &c->regions[c->lost[i].region];
        if (r->track == span->slot && r->index == span->index && r->begin_ns == span->begin_ns) {
            uint32_t found = c->lost[i].region;
            remove_lost(c, i);
            return found;
        }
    }
    return NO_REGION;
}

/* Finds the open or lost region that this span ends, and removes it from its table. Returns its number, or
 * NO_REGION. */
static uint32_t find_open(struct collector *c, const struct span *span)
{
    if (span->index == SPAN_NOT_LISTED)
        return NO_REGION;
    uint32_t *place = &c->open_at[span->slot][span->index];
    if (*place == NONE_OPEN || c->regions[*place - 1].begin_ns != span->begin_ns)
        return c->lost_count ? find_lost(c, span) : NO_REGION;
    uint32_t found = *place - 1;
    *place = NONE_OPEN;
    return found;
}

/* Adds the span's time to `overflow` for regions_attribute_overflow. If out of memory, the span is only
 * counted. */
static void fold_span(struct collector *c, const struct span *span)
{
    double duration_s = (double)(span->end_ns - span->begin_ns) * 1e-9;
    double nested_s = span->flags & SPAN_FOREIGN ? 0 : (double)span->error_ns * 1e-9;
    if (!c->overflow)
        c->overflow = calloc(SESSION_TAGS, sizeof *c->overflow);
    if (!c->overflow) {
        struct tag_state *tag = regions_get_tag(c, span->tag);
        c->folded++;
        if (tag)
            tag->count++;
        return;
    }
    struct fold_update *fold = &c->overflow[span->tag];
    fold->flags |= span->flags & (uint8_t)~FOLD_UNSYNCHRONISED;
    fold->count++;
    fold->duration_s += duration_s;
    fold->own_s += fmax(0, duration_s - nested_s);
    if (span->tag >= c->overflow_tags)
        c->overflow_tags = span->tag + 1;
    if (c->overflow_end_ns == 0 || span->begin_ns < c->overflow_begin_ns)
        c->overflow_begin_ns = span->begin_ns;
    if (span->end_ns > c->overflow_end_ns)
        c->overflow_end_ns = span->end_ns;
}

void regions_attribute_overflow(struct collector *c)
{
    size_t count = 0;
    for (uint32_t tag = 0; tag < c->overflow_tags && c->overflow_end_ns; tag++) {
        struct fold_update fold = c->overflow[tag];
        fold.tag = (uint16_t)tag;
        c->overflow[tag] = (struct fold_update){0};
        if (fold.count)
            c->overflow[count++] = fold;
    }
    struct fold_time time = {.begin_ns = c->overflow_begin_ns, .end_ns = c->overflow_end_ns};
    if (count)
        folded_add(c, TRACK_ALONE, c->overflow, count, &time);
    if (count)
        memset(c->overflow, 0, count * sizeof *c->overflow);
    c->overflow_begin_ns = c->overflow_end_ns = 0;
}

void regions_add_span(struct collector *c, const struct span *span)
{
    bool is_foreign = span->flags & SPAN_FOREIGN;
    if (is_foreign)
        learn_hold(c, span->end_ns);
    uint32_t i = is_foreign ? NO_REGION : find_open(c, span);
    if (i == NO_REGION) {
        i = regions_add(c, &(struct region){.begin_ns = span->begin_ns,
                                            .tag = span->tag,
                                            .claims = regions_claims(span->flags, span->device),
                                            .track = is_foreign ? TRACK_ALONE : span->slot,
                                            .index = span->index,
                                            .error_ns = is_foreign ? span->error_ns : 0});
        if (i == NO_REGION) {
            fold_span(c, span);
            return;
        }
    }
    c->regions[i].end_ns = span->end_ns;
    c->regions[i].flags = span->flags & (uint8_t)~REGION_ABANDONED;
    count_finished(c, &c->regions[i]);
}

/* Ends the region that has been lost for the longest time, without counting it. */
static void abandon_oldest(struct collector *c)
{
    struct region *oldest = &c->regions[c->lost[0].region];
    oldest->end_ns = c->swept_ns;
    oldest->flags |= REGION_ABANDONED;
    remove_lost(c, 0);
}

/* Adds a region to the list of lost regions. If the list is full, abandons the oldest. */
static void add_lost(struct collector *c, uint32_t region, int64_t now_ns)
{
    if (c->lost_count == MAX_LOST)
        abandon_oldest(c);
    c->lost[c->lost_count++] = (struct lost){region, now_ns};
}

/* Adds an open region if the collector does not know it yet. */
static void take_open(struct collector *c, uint32_t slot, const struct open_update *update, int64_t now_ns)
{
    uint32_t *place = &c->open_at[slot][update->index];
    if (*place != NONE_OPEN) {
        if (c->regions[*place - 1].begin_ns == update->begin_ns)
            return;
        add_lost(c, *place - 1, now_ns);
    }
    uint32_t region = regions_add(c, &(struct region){.begin_ns = update->begin_ns,
                                                      .end_ns = STILL_OPEN,
                                                      .tag = update->tag,
                                                      .claims = regions_claims(update->flags, SPAN_ALL_GPUS),
                                                      .track = (uint16_t)slot,
                                                      .index = update->index,
                                                      .flags = update->flags});
    *place = region == NO_REGION ? NONE_OPEN : region + 1;
}

/* Marks a region as lost if it is no longer open and its end did not arrive with this slot. The end may come
 * from another thread's ring buffer or in the next round. It never comes if the region was folded or its
 * thread has ended. */
static void find_lost_regions(struct collector *c, const struct slot_update *update, int64_t now_ns)
{
    uint64_t is_open = 0;
    for (size_t i = 0; i < update->open_count; i++)
        is_open |= UINT64_C(1) << update->open[i].index;
    for (unsigned i = 0; i < SESSION_OPEN; i++) {
        uint32_t *place = &c->open_at[update->slot][i];
        if (*place == NONE_OPEN || is_open >> i & 1)
            continue;
        add_lost(c, *place - 1, now_ns);
        *place = NONE_OPEN;
    }
}

/* Attributes the folds of one update. A region is folded only while the ring buffer is full. So the time of
 * the folds begins at the end of the last short span in the buffer. Without a short span, it begins when the
 * slots were last read. */
static void take_folds(struct collector *c, const struct slot_update *update, int64_t now_ns)
{
    struct fold_time time = {.begin_ns = c->slots_read_ns,
                             .end_ns = now_ns,
                             .spans = update->spans,
                             .span_count = update->span_count};
    if (update->fold_count == 0)
        return;
    if (time.begin_ns < c->meter->begin_ns)
        time.begin_ns = c->meter->begin_ns;
    if (update->fold_end_ns > time.begin_ns && update->fold_end_ns < now_ns)
        time.end_ns = update->fold_end_ns;
    for (size_t i = 0; i < update->span_count; i++) {
        const struct span *span = &update->spans[i];
        bool is_short = span->end_ns - span->begin_ns < SESSION_LONG_NS && !(span->flags & SPAN_FOREIGN);
        if (is_short && span->end_ns > time.begin_ns && span->end_ns < time.end_ns)
            time.begin_ns = span->end_ns;
    }
    bool is_slotless = update->slot == READER_SLOTLESS;
    uint64_t folded = c->folded;
    folded_add(c, is_slotless ? TRACK_ALONE : (uint16_t)update->slot, update->folds, update->fold_count,
               &time);
    c->slotless += is_slotless ? c->folded - folded : 0;
}

void regions_read_slot(struct collector *c, const struct slot_update *update)
{
    int64_t now_ns = meter_now_ns(c->meter);
    for (size_t i = 0; i < update->open_count; i++)
        if (update->open[i].begin_ns <= now_ns)
            take_open(c, update->slot, &update->open[i], now_ns);
    for (size_t i = 0; i < update->span_count; i++)
        if (update->spans[i].end_ns <= now_ns + NS_PER_S)
            regions_add_span(c, &update->spans[i]);
        else
            c->implausible++;
    take_folds(c, update, now_ns);
    if (update->slot != READER_SLOTLESS)
        find_lost_regions(c, update, now_ns);
}

void regions_abandon_lost(struct collector *c, int64_t now_ns)
{
    while (c->lost_count && now_ns - c->lost[0].since_ns >= LOST_AFTER_NS)
        abandon_oldest(c);
}
