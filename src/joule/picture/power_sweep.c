/* joule/picture/power_sweep.c - see power_sweep.h. */
#include "joule/picture/power_sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joule/session/session_layout.h"

#define SEEN_SLOTS 1024 /* a power of two, more than POWER_SWEEP_OPEN */

struct open_regions {
    size_t items[POWER_SWEEP_OPEN]; /* indices of regions, in order of their begins */
    size_t count;
    struct power_share shares[POWER_GROUPS][POWER_SWEEP_OPEN];
    size_t share_count[POWER_GROUPS];
    struct {
        uint32_t thread, round;
    } seen[SEEN_SLOTS]; /* threads that have got a share in this round */
    uint32_t round;
};

struct state {
    const struct power_sweep *sweep;
    struct open_regions open;
    size_t next_begin, next_end; /* positions in regions and ends */
    size_t cursors[POWER_SWEEP_CURVES];
    double joules[POWER_SWEEP_CURVES], covered_s[POWER_SWEEP_CURVES];
};

int64_t power_sweep_edge_ns(int64_t begin_ns, int64_t end_ns, size_t column_count, size_t column)
{
    uint64_t length = (uint64_t)(end_ns - begin_ns), whole = length / column_count,
             rest = length % column_count;
    return begin_ns + (int64_t)(whole * column + rest * column / column_count);
}

/* --- regions -------------------------------------------------------------------------------------------- */

static bool claims(const struct skyline_region *region, enum power_group group)
{
    uint32_t devices = region->flags & (JOULE_REGION_CPU | JOULE_REGION_GPU);
    return devices == 0 || (group == POWER_CPU && devices & JOULE_REGION_CPU) ||
           (group == POWER_GPU && devices & JOULE_REGION_GPU);
}

/* Marks a thread as seen. Returns false if it was seen already. A foreign span is a thread of its own. */
static bool see_thread(struct open_regions *open, const struct skyline_region *region)
{
    if (region->thread >= SESSION_SLOTS || region->flags & SPAN_FOREIGN)
        return true;
    size_t slot = region->thread % SEEN_SLOTS;
    while (open->seen[slot].round == open->round) {
        if (open->seen[slot].thread == region->thread)
            return false;
        slot = (slot + 1) % SEEN_SLOTS;
    }
    open->seen[slot].round = open->round;
    open->seen[slot].thread = region->thread;
    return true;
}

static void share_group(struct state *state, enum power_group group)
{
    struct open_regions *open = &state->open;
    size_t count = 0;
    open->round++;
    for (size_t i = open->count; i-- > 0;) { /* the innermost region of a thread is the last one */
        const struct skyline_region *region = &state->sweep->regions[open->items[i]];
        if (claims(region, group) && see_thread(open, region))
            open->shares[group][count++].name = region->name;
    }
    for (size_t i = 0; i < count; i++)
        open->shares[group][i].share = 1 / (double)count;
    open->share_count[group] = count;
}

static void close_region(struct open_regions *open, size_t region)
{
    for (size_t i = open->count; i-- > 0;) {
        if (open->items[i] == region) {
            open->count--;
            memmove(&open->items[i], &open->items[i + 1], (open->count - i) * sizeof open->items[0]);
            return;
        }
    }
}

/* Opens and closes the regions whose edges are at or before time_ns. */
static void update_regions(struct state *state, int64_t time_ns)
{
    const struct power_sweep *sweep = state->sweep;
    uint64_t time = (uint64_t)time_ns;
    bool has_changed = false;
    while (state->next_begin < sweep->region_count || state->next_end < sweep->region_count) {
        const struct skyline_region *begins =
            state->next_begin < sweep->region_count ? &sweep->regions[state->next_begin] : NULL;
        const struct power_end *end =
            state->next_end < sweep->region_count ? &sweep->ends[state->next_end] : NULL;
        if (end && end->time_ns <= time && (!begins || end->time_ns <= begins->begin_ns)) {
            close_region(&state->open, end->region);
            state->next_end++;
            has_changed = true;
        } else if (begins && begins->begin_ns <= time) {
            size_t region = state->next_begin++;
            if (begins->end_ns > begins->begin_ns && state->open.count < POWER_SWEEP_OPEN)
                state->open.items[state->open.count++] = region;
            has_changed = true;
        } else {
            break;
        }
    }
    for (int group = 0; has_changed && group < POWER_GROUPS; group++)
        share_group(state, (enum power_group)group);
}

/* Returns the time of the next edge of a region after the edges that update_regions has visited. */
static int64_t next_region_ns(const struct state *state)
{
    const struct power_sweep *sweep = state->sweep;
    uint64_t next = INT64_MAX;
    if (state->next_begin < sweep->region_count)
        next = sweep->regions[state->next_begin].begin_ns;
    if (state->next_end < sweep->region_count) {
        uint64_t end = sweep->ends[state->next_end].time_ns;
        next = end < next ? end : next;
    }
    return next > INT64_MAX ? INT64_MAX : (int64_t)next;
}

/* --- curves --------------------------------------------------------------------------------------------- */

/* Sets the joules and the covered time of a curve between two times that lie in the step at the cursor. */
static void read_curve(struct state *state, size_t c, int64_t begin_ns, int64_t end_ns)
{
    const struct power_curve *curve = &state->sweep->curves[c];
    size_t i = state->cursors[c];
    state->joules[c] = state->covered_s[c] = 0;
    if (i + 1 >= curve->count || begin_ns < curve->points[0].time_ns)
        return;
    const struct power_point *from = &curve->points[i], *to = from + 1;
    double part = (double)(end_ns - begin_ns) / (double)(to->time_ns - from->time_ns);
    state->joules[c] = (to->joules - from->joules) * part;
    state->covered_s[c] = (to->covered_s - from->covered_s) * part;
}

/* Moves the cursor to the last point at or before time_ns. Returns the time of the next point. */
static int64_t move_cursor(struct state *state, size_t c, int64_t time_ns)
{
    const struct power_curve *curve = &state->sweep->curves[c];
    size_t *i = &state->cursors[c];
    if (curve->count == 0)
        return INT64_MAX;
    if (time_ns < curve->points[0].time_ns)
        return curve->points[0].time_ns;
    while (*i + 1 < curve->count && curve->points[*i + 1].time_ns <= time_ns)
        ++*i;
    return *i + 1 < curve->count ? curve->points[*i + 1].time_ns : INT64_MAX;
}

static void visit_slice(struct state *state, size_t column, int64_t begin_ns, int64_t end_ns,
                        power_slice_fn visit, void *context)
{
    struct power_slice slice = {.begin_ns = begin_ns,
                                .end_ns = end_ns,
                                .column = column,
                                .joules = state->joules,
                                .covered_s = state->covered_s};
    for (int group = 0; group < POWER_GROUPS; group++) {
        slice.shares[group] = state->open.shares[group];
        slice.share_count[group] = state->open.share_count[group];
    }
    for (size_t c = 0; c < state->sweep->curve_count; c++)
        read_curve(state, c, begin_ns, end_ns);
    visit(&slice, context);
}

bool power_sweep_run(const struct power_sweep *sweep, power_slice_fn visit, void *context)
{
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        return false;
    state->sweep = sweep;
    size_t column = 0;
    int64_t edge_ns = power_sweep_edge_ns(sweep->begin_ns, sweep->end_ns, sweep->column_count, 1);
    for (int64_t at_ns = sweep->begin_ns; at_ns < sweep->end_ns;) {
        while (edge_ns <= at_ns)
            edge_ns = power_sweep_edge_ns(sweep->begin_ns, sweep->end_ns, sweep->column_count, ++column + 1);
        update_regions(state, at_ns);
        int64_t next_ns = next_region_ns(state);
        next_ns = edge_ns < next_ns ? edge_ns : next_ns;
        for (size_t c = 0; c < sweep->curve_count; c++) {
            int64_t point_ns = move_cursor(state, c, at_ns);
            next_ns = point_ns < next_ns ? point_ns : next_ns;
        }
        visit_slice(state, column, at_ns, next_ns, visit, context);
        at_ns = next_ns;
    }
    free(state);
    return true;
}
