/* joule/collector/sweep.c - see sweep.h.
 *
 * Each group has three running sums: energy E, energy per claimant S, covered seconds C. A region's window is
 * E(end) - E(begin), and its attributed energy is S(end) - S(begin). Its self energy is S summed over the
 * intervals in which it was the innermost claimant of its track.
 * Note: regions of one track need not nest, because ends may come in any order and from any thread. The
 * innermost region is the one that began last.
 */
#include "joule/collector/sweep.h"

#include <stdlib.h>
#include <string.h>

/* The open regions of one thread. */
struct track {
    uint32_t innermost;
    uint32_t claimant[GROUPS]; /* the innermost region that claims the group */
};

/* The running sums of one group. */
struct group {
    unsigned number; /* GROUP_... */
    double watts, coverage;
    double energy, per_claimant, covered_s; /* E, S, C */
    unsigned claimants;
    double unattributed;
};

/* State of one sweep_run. */
struct state {
    struct sweep *sweep;
    struct track tracks[SESSION_SLOTS];
    struct group groups[GROUPS]; /* [0, columns): groups in use */
    unsigned columns;
    int64_t now_ns;
    size_t step;
};

void sweep_set_groups(struct sweep *sweep, uint32_t groups)
{
    sweep->groups = groups;
    sweep->columns = 0;
    for (unsigned g = 0; g < GROUPS; g++)
        if (groups & 1u << g)
            sweep->column_of[g] = (uint8_t)sweep->columns++;
}

/* --- edges in order of time ----------------------------------------------------------------------------- */

/* Ensures capacity for two edges of each region. Returns false if out of memory. */
static bool reserve_edges(struct sweep *sweep)
{
    size_t needed = 2 * sweep->region_count;
    if (needed <= sweep->edge_capacity)
        return true;
    struct edge *edges = malloc(needed * sizeof *edges), *spare = malloc(needed * sizeof *spare);
    if (!edges || !spare) {
        free(edges);
        free(spare);
        return false;
    }
    free(sweep->edges);
    free(sweep->spare);
    sweep->edges = edges;
    sweep->spare = spare;
    sweep->edge_capacity = needed;
    return true;
}

/* Returns true if a region gets energy in this sweep. */
static bool takes_part(const struct sweep *sweep, const struct region *r)
{
    return r->end_ns > sweep->begin_ns && r->begin_ns < sweep->end_ns && r->end_ns > r->begin_ns &&
           (r->claims & sweep->groups);
}

/* Lists the edges of all regions that take part. Returns their number. */
static size_t list_edges(struct sweep *sweep)
{
    size_t count = 0;
    for (size_t i = 0; i < sweep->region_count; i++) {
        const struct region *r = &sweep->regions[i];
        if (!takes_part(sweep, r))
            continue;
        int64_t begin_ns = r->begin_ns > sweep->begin_ns ? r->begin_ns : sweep->begin_ns;
        sweep->edges[count++] = (struct edge){(uint64_t)(begin_ns - sweep->begin_ns), (uint32_t)i, false};
        if (r->end_ns <= sweep->end_ns)
            sweep->edges[count++] = (struct edge){(uint64_t)(r->end_ns - sweep->begin_ns), (uint32_t)i, true};
    }
    return count;
}

/* Sorts the edges by time with a stable radix sort by bytes: a few passes over up to 10^6 edges. */
static void sort_edges(struct sweep *sweep, size_t count)
{
    uint64_t length_ns = (uint64_t)(sweep->end_ns - sweep->begin_ns);
    for (unsigned shift = 0; shift < 64 && length_ns >> shift; shift += 8) {
        size_t starts[257] = {0};
        for (size_t i = 0; i < count; i++)
            starts[(sweep->edges[i].at_ns >> shift & 255) + 1]++;
        for (size_t i = 0; i < 256; i++)
            starts[i + 1] += starts[i];
        for (size_t i = 0; i < count; i++)
            sweep->spare[starts[sweep->edges[i].at_ns >> shift & 255]++] = sweep->edges[i];
        struct edge *sorted = sweep->spare;
        sweep->spare = sweep->edges;
        sweep->edges = sorted;
    }
}

/* --- running sums --------------------------------------------------------------------------------------- */

/* Sets the power of all groups from the current step. */
static void use_step(struct state *state)
{
    const struct step *step = &state->sweep->steps[state->step];
    for (unsigned c = 0; c < state->columns; c++) {
        state->groups[c].watts = step->watts[state->groups[c].number];
        state->groups[c].coverage = step->coverage[state->groups[c].number];
    }
}

/* Adds the time up to until_ns, at the current power, to the running sums. */
static void add_interval(struct state *state, int64_t until_ns)
{
    double length_s = (double)(until_ns - state->now_ns) * 1e-9;
    for (unsigned c = 0; c < state->columns; c++) {
        struct group *g = &state->groups[c];
        double joules = g->watts * length_s;
        g->energy += joules;
        g->covered_s += g->coverage * length_s;
        if (g->claimants)
            g->per_claimant += joules / g->claimants;
        else
            g->unattributed += joules;
    }
    state->now_ns = until_ns;
}

/* Moves the current time to until_ns, through all steps in between. */
static void advance(struct state *state, int64_t until_ns)
{
    const struct sweep *sweep = state->sweep;
    while (sweep->steps[state->step].end_ns < until_ns && state->step + 1 < sweep->step_count) {
        add_interval(state, sweep->steps[state->step].end_ns);
        state->step++;
        use_step(state);
    }
    if (until_ns > state->now_ns)
        add_interval(state, until_ns);
}

/* --- edges ---------------------------------------------------------------------------------------------- */

/* Returns the share of a region in a column. */
static struct share *share_of(struct state *state, uint32_t region, unsigned column)
{
    return &state->sweep->shares[(size_t)region * state->columns + column];
}

/* Adds the running sums to a region's share, with sign -1 at the region's start and +1 at its end. So the
 * share becomes the difference of the sums. */
static void take_sums(struct state *state, uint32_t region, double sign)
{
    uint32_t claims = state->sweep->regions[region].claims;
    for (unsigned c = 0; c < state->columns; c++) {
        const struct group *g = &state->groups[c];
        if (!(claims & 1u << g->number))
            continue;
        struct share *share = share_of(state, region, c);
        share->window += sign * g->energy;
        share->attributed += sign * g->per_claimant;
        share->covered_s += sign * g->covered_s;
    }
}

/* Replaces the track's claimant of a column: region `to` replaces region `from`. Either may be NO_REGION. */
static void hand_over(struct state *state, unsigned column, uint32_t from, uint32_t to)
{
    struct group *g = &state->groups[column];
    if (from != NO_REGION)
        share_of(state, from, column)->self += g->per_claimant;
    if (to != NO_REGION)
        share_of(state, to, column)->self -= g->per_claimant;
    g->claimants += (to != NO_REGION) - (from != NO_REGION);
}

/* Returns true if region a began after region b. */
static bool is_inside(const struct region *a, const struct region *b)
{
    return a->begin_ns != b->begin_ns ? a->begin_ns > b->begin_ns : a->index > b->index;
}

/* Adds region i to the open regions of its track, ordered by begin. */
static void link_region(struct track *track, struct region *regions, uint32_t i)
{
    uint32_t outer = track->innermost, inner = NO_REGION;
    while (outer != NO_REGION && is_inside(&regions[outer], &regions[i])) {
        inner = outer;
        outer = regions[outer].outer;
    }
    regions[i].outer = outer;
    regions[i].inner = inner;
    if (outer != NO_REGION)
        regions[outer].inner = i;
    if (inner != NO_REGION)
        regions[inner].outer = i;
    else
        track->innermost = i;
}

/* Removes region i from the open regions of its track. */
static void unlink_region(struct track *track, struct region *regions, uint32_t i)
{
    uint32_t outer = regions[i].outer, inner = regions[i].inner;
    if (outer != NO_REGION)
        regions[outer].inner = inner;
    if (inner != NO_REGION)
        regions[inner].outer = outer;
    else
        track->innermost = outer;
}

/* Returns the innermost open region of a track that claims a group, or NO_REGION. */
static uint32_t innermost_claimant(const struct track *track, const struct region *regions, unsigned group)
{
    uint32_t i = track->innermost;
    while (i != NO_REGION && !(regions[i].claims & 1u << group))
        i = regions[i].outer;
    return i;
}

/* Opens region i. The region becomes the claimant of its groups on its track. If a region inside region i is
 * running, that region stays the claimant of the groups that it claims. */
static void begin_region(struct state *state, uint32_t i)
{
    struct region *regions = state->sweep->regions;
    struct track *track = regions[i].track < SESSION_SLOTS ? &state->tracks[regions[i].track] : NULL;
    if (track)
        link_region(track, regions, i);
    for (unsigned c = 0; c < state->columns; c++) {
        unsigned group = state->groups[c].number;
        if (!(regions[i].claims & 1u << group))
            continue;
        uint32_t before = track ? track->claimant[c] : NO_REGION;
        if (before != NO_REGION && is_inside(&regions[before], &regions[i]))
            continue; /* a region inside region i is already running, because region i arrived late */
        hand_over(state, c, before, i);
        if (track)
            track->claimant[c] = i;
    }
    take_sums(state, i, -1);
}

/* Closes region i. The innermost remaining region of its track that claims a group becomes the group's
 * claimant. */
static void end_region(struct state *state, uint32_t i)
{
    struct region *regions = state->sweep->regions;
    struct track *track = regions[i].track < SESSION_SLOTS ? &state->tracks[regions[i].track] : NULL;
    take_sums(state, i, +1);
    if (track)
        unlink_region(track, regions, i);
    for (unsigned c = 0; c < state->columns; c++) {
        unsigned group = state->groups[c].number;
        if (!(regions[i].claims & 1u << group) || (track && track->claimant[c] != i))
            continue;
        uint32_t after = track ? innermost_claimant(track, regions, group) : NO_REGION;
        hand_over(state, c, i, after);
        if (track)
            track->claimant[c] = after;
    }
}

/* Adds the sums so far to regions that are still open. */
static void settle_open_regions(struct state *state)
{
    struct sweep *sweep = state->sweep;
    for (size_t i = 0; i < sweep->region_count; i++) {
        const struct region *r = &sweep->regions[i];
        if (!takes_part(sweep, r) || r->end_ns <= sweep->end_ns)
            continue;
        take_sums(state, (uint32_t)i, +1);
        for (unsigned c = 0; c < state->columns; c++)
            if (r->track >= SESSION_SLOTS ? (r->claims & 1u << state->groups[c].number) != 0
                                          : state->tracks[r->track].claimant[c] == i)
                share_of(state, (uint32_t)i, c)->self += state->groups[c].per_claimant;
    }
}

/* Initialises the state at the start of a sweep. */
static void start(struct state *state, struct sweep *sweep)
{
    memset(state, 0, sizeof *state);
    memset(state->tracks, 0xff, sizeof state->tracks); /* NO_REGION everywhere */
    state->sweep = sweep;
    state->now_ns = sweep->begin_ns;
    for (unsigned g = 0; g < GROUPS; g++)
        if (sweep->groups & 1u << g)
            state->groups[sweep->column_of[g]].number = g;
    state->columns = sweep->columns;
    use_step(state);
}

bool sweep_run(struct sweep *sweep)
{
    if (sweep->step_count == 0 || sweep->end_ns <= sweep->begin_ns || !reserve_edges(sweep))
        return false;
    struct state state;
    start(&state, sweep);
    size_t count = list_edges(sweep);
    sort_edges(sweep, count);
    for (size_t i = 0; i < count; i++) {
        const struct edge *edge = &sweep->edges[i];
        advance(&state, sweep->begin_ns + (int64_t)edge->at_ns);
        if (edge->is_end)
            end_region(&state, edge->region);
        else
            begin_region(&state, edge->region);
    }
    advance(&state, sweep->end_ns);
    settle_open_regions(&state);
    for (unsigned c = 0; c < state.columns; c++)
        sweep->unattributed[state.groups[c].number] += state.groups[c].unattributed;
    return true;
}

void sweep_free(struct sweep *sweep)
{
    free(sweep->edges);
    free(sweep->spare);
    *sweep = (struct sweep){0};
}
