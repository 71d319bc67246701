/* joule/picture/skyline_marks.c - see skyline_marks.h.
 *
 * Note: regions shorter than a column are merged with their neighbours in the row, so that the number of
 * marks is limited by the number of columns.
 * */
#include "joule/picture/skyline_marks.h"

#include <stdlib.h>
#include "base/array.h"

#define MAX_DEPTH 16

/* The open regions of a thread. */
struct track {
    uint32_t thread;
    uint64_t ends_ns[MAX_DEPTH];
    size_t depth;
};

struct row {
    uint32_t thread;
    size_t depth;
    size_t last_mark; /* index + 1; 0: none yet */
};

struct layout {
    struct skyline *skyline;
    struct track tracks[SKYLINE_MAX_ROWS];
    size_t track_count;
    struct row rows[SKYLINE_MAX_ROWS];
    size_t row_count;
    struct skyline_mark *marks;
    size_t mark_count, mark_capacity;
};

static struct track *find_track(struct layout *layout, uint32_t thread)
{
    for (size_t i = 0; i < layout->track_count; i++) {
        if (layout->tracks[i].thread == thread)
            return &layout->tracks[i];
    }
    if (layout->track_count == SKYLINE_MAX_ROWS)
        return NULL;
    layout->tracks[layout->track_count].thread = thread;
    return &layout->tracks[layout->track_count++];
}

static struct row *find_row(struct layout *layout, uint32_t thread, size_t depth)
{
    for (size_t i = 0; i < layout->row_count; i++) {
        if (layout->rows[i].thread == thread && layout->rows[i].depth == depth)
            return &layout->rows[i];
    }
    if (layout->row_count == SKYLINE_MAX_ROWS)
        return NULL;
    layout->rows[layout->row_count] = (struct row){.thread = thread, .depth = depth};
    return &layout->rows[layout->row_count++];
}

static size_t column_of(const struct skyline *skyline, int64_t time_ns)
{
    double part = (double)(time_ns - skyline->begin_ns) / (double)(skyline->end_ns - skyline->begin_ns);
    return (size_t)(part * (double)skyline->column_count);
}

/* Extends the last mark of a row by a region, if both have the same name and no visible gap, or if the region
 * is not visible next to the mark. */
static bool merge(const struct skyline *skyline, struct skyline_mark *last, const struct skyline_mark *mark)
{
    size_t last_column = column_of(skyline, last->end_ns);
    bool is_same = last->name == mark->name && column_of(skyline, mark->begin_ns) <= last_column + 1 &&
                   mark->begin_ns - last->end_ns < (int64_t)(skyline->column_s * 1e9);
    bool is_hidden = column_of(skyline, mark->end_ns) <= last_column;
    if (is_same && mark->end_ns > last->end_ns)
        last->end_ns = mark->end_ns;
    return is_same || is_hidden;
}

static bool add_mark(struct layout *layout, const struct skyline_region *region, size_t depth,
                     enum colour colour)
{
    struct skyline *skyline = layout->skyline;
    struct row *row = find_row(layout, region->thread, depth);
    if (!row)
        return true;
    int64_t begin_ns = (int64_t)region->begin_ns;
    int64_t end_ns = region->end_ns < (uint64_t)skyline->end_ns ? (int64_t)region->end_ns : skyline->end_ns;
    struct skyline_mark mark = {.begin_ns = begin_ns > skyline->begin_ns ? begin_ns : skyline->begin_ns,
                                .end_ns = end_ns,
                                .name = region->name,
                                .row = (uint32_t)(row - layout->rows),
                                .colour = colour};
    if (row->last_mark && merge(skyline, &layout->marks[row->last_mark - 1], &mark))
        return true;
    if (!ARRAY_ROOM(layout->marks, layout->mark_capacity, layout->mark_count))
        return false;
    layout->marks[layout->mark_count++] = mark;
    row->last_mark = layout->mark_count;
    return true;
}

/* Orders rows by thread and depth, and renumbers the marks. */
static void order_rows(struct layout *layout)
{
    uint32_t place[SKYLINE_MAX_ROWS];
    for (size_t i = 0; i < layout->row_count; i++) {
        place[i] = 0;
        for (size_t k = 0; k < layout->row_count; k++) {
            const struct row *a = &layout->rows[k], *b = &layout->rows[i];
            place[i] += a->thread != b->thread ? a->thread < b->thread : a->depth < b->depth;
        }
    }
    for (size_t i = 0; i < layout->mark_count; i++)
        layout->marks[i].row = place[layout->marks[i].row];
    for (size_t i = 0; i < layout->row_count; i++)
        layout->skyline->row_threads[place[i]] = layout->rows[i].thread;
}

static enum colour colour_of(const struct skyline *skyline, const struct mark_request *request,
                             const struct skyline_region *region)
{
    uint8_t layer = request->name_layers ? request->name_layers[region->name] : NO_LAYER;
    return layer == NO_LAYER ? COLOUR_OTHER : skyline->layers[layer].colour;
}

bool skyline_add_marks(struct skyline *skyline, const struct mark_request *request)
{
    struct layout *layout = calloc(1, sizeof *layout);
    bool succeeded = layout != NULL;
    for (size_t i = 0; succeeded && i < request->region_count; i++) {
        layout->skyline = skyline;
        const struct skyline_region *region = &request->regions[i];
        struct track *track = find_track(layout, region->thread);
        if (!track)
            continue;
        while (track->depth > 0 && track->ends_ns[track->depth - 1] <= region->begin_ns)
            track->depth--;
        if (track->depth == MAX_DEPTH)
            continue;
        enum colour colour = colour_of(skyline, request, region);
        succeeded = add_mark(layout, region, track->depth, colour);
        track->ends_ns[track->depth++] = region->end_ns;
    }
    if (succeeded && layout->mark_count) {
        layout->skyline = skyline;
        order_rows(layout);
        skyline->marks = arena_alloc(&skyline->arena, layout->mark_count * sizeof *skyline->marks);
        for (size_t i = 0; skyline->marks && i < layout->mark_count; i++)
            skyline->marks[i] = layout->marks[i];
        succeeded = skyline->marks != NULL;
        skyline->mark_count = succeeded ? layout->mark_count : 0;
        skyline->row_count = layout->row_count;
    }
    if (layout)
        free(layout->marks);
    free(layout);
    return succeeded;
}
