/* joule/collector/attribute_energy.c - attributes energy to the regions that wait for it.
 *
 * A sweep chooses the domains of each group and splits time at their readings into steps of constant power.
 * It then divides the energy (sweep.h) and adds each region's share to its tag.
 * Note: a region that is still open has a separate ledger. When the region ends, this ledger is added to the
 * ledger of its tag.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joule/collector/collector_state.h"

#define COVERS_EVERY_NS  NS_PER_S       /* maximum age of a choice of domains */
#define COVERS_WINDOW_NS (2 * NS_PER_S) /* minimum window from which domains are chosen */

/* Chooses the domains of each group. A choice is kept for COVERS_EVERY_NS. In the first COVERS_EVERY_NS after
 * new channels appeared, a choice is not kept: a counter is chosen only when it has increased. */
void collector_choose_covers(struct collector *c, int64_t now_ns)
{
    size_t channels = meter_channel_count(c->meter);
    int64_t age_ns = now_ns - c->covers_ns;
    if (!c->covers.known || channels != c->covers_channels)
        c->channels_ns = now_ns;
    else if (age_ns < COVERS_EVERY_NS && age_ns > -COVERS_EVERY_NS &&
             c->covers_ns - c->channels_ns >= COVERS_EVERY_NS)
        return;
    int64_t from_ns = now_ns - COVERS_WINDOW_NS;
    if (c->swept_ns < from_ns)
        from_ns = c->swept_ns;
    group_covers_choose(&c->covers, c->meter, from_ns, now_ns);
    c->covers_ns = now_ns;
    c->covers_channels = channels;
}

/* --- power over time ------------------------------------------------------------------------------------ */

/* Adds the times of a channel's readings inside (begin_ns, end_ns) as ends of steps. Returns the
 * new number of steps. */
static size_t add_reading_times(struct collector *c, int32_t id, int64_t begin_ns, int64_t end_ns,
                                size_t count)
{
    const struct meter_channel *mc = &c->meter->channels[id];
    pthread_mutex_lock(&mc->lane->lock);
    const struct curve *curve = &mc->channel->curve;
    for (size_t i = curve_count_until(curve, end_ns - 1);
         i > 0 && curve->points[i - 1].time_ns > begin_ns && count < MAX_STEPS - 1; i--)
        c->steps[count++].end_ns = curve->points[i - 1].time_ns;
    pthread_mutex_unlock(&mc->lane->lock);
    return count;
}

static int by_end(const void *a, const void *b)
{
    int64_t x = ((const struct step *)a)->end_ns, y = ((const struct step *)b)->end_ns;
    return (x > y) - (x < y);
}

/* Sets the ends of the sweep's steps: all readings in (begin_ns, end_ns), sorted, and end_ns. Returns their
 * number. */
static size_t list_steps(struct collector *c, int64_t begin_ns, int64_t end_ns)
{
    size_t count = 0, kept = 0;
    for (unsigned g = 0; g < GROUPS; g++)
        for (size_t i = 0; i < c->covers.covers[g].count; i++)
            count = add_reading_times(c, c->covers.covers[g].ids[i], begin_ns, end_ns, count);
    c->steps[count++].end_ns = end_ns;
    qsort(c->steps, count, sizeof *c->steps, by_end);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || c->steps[i].end_ns != c->steps[kept - 1].end_ns)
            c->steps[kept++].end_ns = c->steps[i].end_ns;
    return kept;
}

/* Sets one group's power in the step from begin_ns to step->end_ns, and adds the step's energy to that of the
 * sweep. The variance of the energy in the step's first half shows how far power may vary within the step. */
static void fill_step(struct collector *c, unsigned group, int64_t begin_ns, struct step *step)
{
    const struct cover *cover = &c->covers.covers[group];
    step->watts[group] = step->coverage[group] = 0;
    struct window w = meter_cover_window(c->meter, cover, begin_ns, step->end_ns);
    if (isnan(w.joules.value) || !(w.length_s > 0))
        return;
    struct window half =
        meter_cover_window(c->meter, cover, begin_ns, begin_ns + (step->end_ns - begin_ns) / 2);
    step->watts[group] = w.joules.value / w.length_s;
    step->coverage[group] = fmin(1, w.covered_s / w.length_s);
    c->energy.joules[group] += w.joules.value;
    if (!isnan(half.joules.value))
        c->energy.step_variance[group] += 4 * half.joules.variance;
}

/* Fills c->steps and c->energy for a sweep. Returns the number of steps. */
static size_t make_steps(struct collector *c, int64_t begin_ns, int64_t end_ns)
{
    size_t count = list_steps(c, begin_ns, end_ns);
    c->energy = (struct sweep_energy){0};
    for (unsigned g = 0; g < GROUPS; g++) {
        if (!(c->covers.known & 1u << g))
            continue;
        for (size_t i = 0; i < count; i++)
            fill_step(c, g, i ? c->steps[i - 1].end_ns : begin_ns, &c->steps[i]);
        struct window all = meter_cover_window(c->meter, &c->covers.covers[g], begin_ns, end_ns);
        c->energy.variance[g] = isnan(all.joules.value) ? 0 : all.joules.variance;
    }
    return count;
}

/* --- adding shares to tags ------------------------------------------------------------------------------ */

/* Records that a tag gets energy in this sweep, for close_tags. */
static void touch(struct collector *c, struct tag_state *tag, uint16_t number)
{
    if (tag->is_touched)
        return;
    tag->is_touched = true;
    c->touched[c->touched_count++] = number;
}

static void add_share(struct share *sum, const struct share *share)
{
    sum->window += share->window;
    sum->attributed += share->attributed;
    sum->self += share->self;
    sum->covered_s += share->covered_s;
}

/* Adds the variance from errors of foreign timestamps, which move energy across a region's edges. The errors
 * of the two edges are independent. */
static void add_timestamp_error(struct ledger_line *line, const struct region *r, const struct share *share)
{
    double length_s = (double)(r->end_ns - r->begin_ns) * 1e-9, error_s = (double)r->error_ns * 1e-9;
    if (!(error_s > 0) || !(length_s > 0))
        return;
    double edges = 2 * error_s * error_s / (length_s * length_s);
    line->window_var += edges * share->window * share->window;
    line->attributed_var += edges * share->attributed * share->attributed;
    line->self_var += edges * share->self * share->self;
}

/* Returns the groups from which region i got energy in this sweep. */
static uint32_t groups_of(const struct collector *c, size_t i)
{
    return c->regions[i].claims & c->sweep.groups;
}

/* Removes the lowest group from *left and returns it. */
static unsigned next_group(uint32_t *left)
{
    unsigned group = (unsigned)__builtin_ctz(*left);
    *left &= *left - 1;
    return group;
}

/* Adds the sweep's share of region i, which is still open, to the region's ledger. If out of memory, the
 * share is lost. */
static void keep_share(struct collector *c, size_t i)
{
    struct region *r = &c->regions[i];
    for (uint32_t left = groups_of(c, i); left;) {
        unsigned g = next_group(&left);
        if (!r->history)
            r->history = calloc(1, sizeof *r->history);
        if (r->history)
            ledger_add(r->history, g, sweep_share(&c->sweep, i, g), &c->energy);
    }
}

struct recent *collector_find_recent(struct collector *c, int64_t begin_ns, uint32_t place)
{
    uint64_t key = ((uint64_t)begin_ns << 8 ^ place) * UINT64_C(0x9e3779b97f4a7c15);
    return &c->recent[key >> 32 & (RECENT - 1)];
}

/* Returns region i's energy from one group, in this sweep and earlier sweeps. */
static struct share whole_share(const struct collector *c, size_t i, unsigned group)
{
    struct share sum = *sweep_share(&c->sweep, i, group);
    if (c->regions[i].history) {
        const struct ledger_line *line = &c->regions[i].history->lines[group];
        add_share(&sum, &(struct share){line->window, line->attributed, line->self, line->covered_s});
    }
    return sum;
}

/* Returns the variance, in J^2, of region i's window in one group, over all sweeps. */
static double window_variance(const struct collector *c, size_t i, unsigned group)
{
    const struct ledger *history = c->regions[i].history;
    double joules = sweep_share(&c->sweep, i, group)->window, all = c->energy.joules[group];
    double now = all > 0 ? share_variance(joules, fmin(1, joules / all), &c->energy, group) : 0;
    return now + (history ? history->lines[group].window_var : 0);
}

/* Returns the figures of region i over all its groups and sweeps. */
static struct recent add_up(const struct collector *c, size_t i)
{
    const struct region *r = &c->regions[i];
    uint32_t summed = group_covers_summed(&c->covers, r->claims);
    struct recent sum = {.begin_ns = r->begin_ns,
                         .end_ns = r->end_ns,
                         .place = (uint32_t)r->index << 16 | r->track,
                         .covered_s = groups_of(c, i) ? INFINITY : 0};
    for (uint32_t left = groups_of(c, i); left;) {
        unsigned g = next_group(&left);
        struct share share = whole_share(c, i, g);
        if (share.covered_s < sum.covered_s)
            sum.covered_s = share.covered_s;
        if (!(summed & 1u << g))
            continue;
        sum.window += share.window;
        sum.variance += window_variance(c, i, g);
        sum.attributed += share.attributed;
        sum.self += share.self;
        sum.cpu += g == GROUP_CPU ? share.window : 0;
        sum.gpu += 1u << g & GROUPS_GPU ? share.window : 0;
    }
    return sum;
}

/* Adds a finished region's energy to its tag, and stores the region's figures in `recent`. */
static void attribute_region(struct collector *c, size_t i, struct tag_state *tag)
{
    const struct region *r = &c->regions[i];
    struct recent sum = add_up(c, i);
    if (!(r->flags & SPAN_FOREIGN))
        *collector_find_recent(c, sum.begin_ns, sum.place) = sum;
    touch(c, tag, r->tag);
    tag->waiting -= tag->waiting > 0;
    tag->covered_s += sum.covered_s;
    for (uint32_t left = groups_of(c, i); left;) {
        unsigned g = next_group(&left);
        const struct share *share = sweep_share(&c->sweep, i, g);
        add_share(&tag->now[g], share);
        add_timestamp_error(&tag->ledger.lines[g], r, share);
    }
    if (r->history)
        ledger_merge(&tag->ledger, r->history);
}

/* Adds a fraction of `more` to `line`: the fraction `own` to `self`, and the fraction `part` to the other
 * members. more: energy that a region got in earlier sweeps. The region represents a batch (folded.h). */
static void add_history(struct ledger_line *line, const struct ledger_line *more, double part, double own)
{
    line->window += more->window * part;
    line->attributed += more->attributed * part;
    line->self += more->attributed * own;
    line->window_var += more->window_var * part * part;
    line->attributed_var += more->attributed_var * part * part;
    line->self_var += more->attributed_var * own * own;
    line->covered_s += more->covered_s * part;
}

/* Adds the part of region i's energy that belongs to one tag of the region's batch. The part is proportional
 * to the tag's time, but at most 1, because nested regions of the tag can have more time than the batch.
 * `self` is computed from the tag's own time, because region i may overlap another region of its thread by
 * chance. */
static void attribute_fold(struct collector *c, size_t i, const struct fold_update *fold, double covered_s)
{
    const struct region *r = &c->regions[i];
    struct tag_state *tag = regions_get_tag(c, fold->tag);
    if (!tag)
        return;
    double part = fold->duration_s / r->batch->own_s, own = fmin(1, fold->own_s / r->batch->own_s);
    touch(c, tag, fold->tag);
    tag->covered_s += covered_s * part;
    for (uint32_t left = groups_of(c, i) & regions_claims(fold->flags, SPAN_ALL_GPUS); left;) {
        unsigned g = next_group(&left);
        const struct share *share = sweep_share(&c->sweep, i, g);
        struct share scaled = {.window = share->window * fmin(1, part),
                               .attributed = share->attributed * fmin(1, part),
                               .self = share->attributed * own,
                               .covered_s = share->covered_s * part};
        add_share(&tag->now[g], &scaled);
        if (r->history)
            add_history(&tag->ledger.lines[g], &r->history->lines[g], fmin(1, part), own);
    }
}

/* Adds the energy of region i to the tags of the batch that it represents, and releases the batch. */
static void attribute_batch(struct collector *c, size_t i)
{
    struct batch *batch = c->regions[i].batch;
    double covered_s = add_up(c, i).covered_s;
    for (size_t k = 0; k < batch->count; k++)
        attribute_fold(c, i, &batch->folds[k], covered_s);
    folded_release(c, batch);
}

/* Attributes a region that has ended, and frees its ledger. */
static void finish_region(struct collector *c, size_t i)
{
    const struct region *r = &c->regions[i];
    if (r->batch) {
        attribute_batch(c, i);
        free(r->history);
        return;
    }
    struct tag_state *tag = r->flags & REGION_ABANDONED ? NULL : regions_get_tag(c, r->tag);
    if (tag) {
        attribute_region(c, i, tag);
        if (c->on_region)
            c->on_region(c->on_region_context, r->begin_ns, r->end_ns, r->tag, r->track, r->flags);
    }
    free(r->history);
}

/* Limits a tag's share to the group's energy. The share can be too large if regions of the tag are nested, or
 * if another program wrote false entries. */
static void limit_share(struct share *share, double joules)
{
    share->attributed = fmin(share->attributed, joules);
    share->self = fmin(share->self, joules);
}

/* Adds the sweep's shares to the tags' ledgers at the end of a sweep. The error of a share depends on the
 * part of the sweep in which the tag was present, and this part is known only at the end. */
static void close_tags(struct collector *c)
{
    for (unsigned g = 0; g < GROUPS; g++)
        c->swept_joules[g] += c->energy.joules[g];
    for (size_t i = 0; i < c->touched_count; i++) {
        struct tag_state *tag = c->tags[c->touched[i]];
        for (unsigned g = 0; g < GROUPS; g++) {
            struct ledger_line *line = &tag->ledger.lines[g];
            limit_share(&tag->now[g], c->energy.joules[g]);
            ledger_add(&tag->ledger, g, &tag->now[g], &c->energy);
            line->attributed = fmin(line->attributed, c->swept_joules[g]);
            line->self = fmin(line->self, c->swept_joules[g]);
        }
        memset(tag->now, 0, sizeof tag->now);
        tag->is_touched = false;
    }
    c->touched_count = 0;
}

/* --- a sweep -------------------------------------------------------------------------------------------- */

/* Ensures capacity for `needed` shares, and sets them to 0. Returns false if out of memory. */
static bool reserve_shares(struct collector *c, size_t needed)
{
    if (needed == 0)
        return true;
    if (needed > c->share_capacity) {
        struct share *shares = realloc(c->shares, needed * sizeof *shares);
        if (!shares)
            return false;
        c->shares = shares;
        c->share_capacity = needed;
    }
    memset(c->shares, 0, needed * sizeof *c->shares);
    return true;
}

/* Divides the energy from swept_ns to end_ns. Returns false if out of memory. */
static bool run_sweep(struct collector *c, int64_t end_ns)
{
    struct sweep *sweep = &c->sweep;
    sweep->regions = c->regions;
    sweep->region_count = c->region_count;
    sweep->begin_ns = c->swept_ns;
    sweep->end_ns = end_ns;
    sweep_set_groups(sweep, c->covers.known);
    sweep->steps = c->steps;
    sweep->step_count = make_steps(c, c->swept_ns, end_ns);
    if (!reserve_shares(c, c->region_count * sweep->columns))
        return false;
    sweep->shares = c->shares;
    return sweep_run(sweep);
}

/* Updates all stored indices of region `from`, which moves to index `to`. */
static void renumber(struct collector *c, uint32_t from, uint32_t to)
{
    const struct region *r = &c->regions[from];
    if (r->end_ns == STILL_OPEN && c->open_at[r->track][r->index] == from + 1)
        c->open_at[r->track][r->index] = to + 1;
    for (size_t i = 0; i < c->lost_count; i++)
        if (c->lost[i].region == from)
            c->lost[i].region = to;
}

void collector_attribute_until(struct collector *c, int64_t end_ns)
{
    if (!run_sweep(c, end_ns))
        sweep_set_groups(&c->sweep, 0); /* out of memory: no region gets energy, and coverage shows it */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->region_count; i++) {
        if (c->regions[i].end_ns <= end_ns) {
            finish_region(c, i);
            continue;
        }
        if (c->regions[i].begin_ns < end_ns)
            keep_share(c, i);
        if (i != kept) {
            renumber(c, i, kept);
            c->regions[kept] = c->regions[i];
        }
        kept++;
    }
    c->region_count = kept;
    c->knows_regions = kept > 0;
    close_tags(c);
    c->swept_ns = end_ns;
}
