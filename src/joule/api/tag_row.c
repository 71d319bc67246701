/* joule/api/tag_row.c - see tag_row.h. */
#include "joule/api/tag_row.h"

#include <math.h>
#include <stdlib.h>
#include "joule/collector/collector.h"
#include "joule/curve/estimate.h"
#include "joule/session/session.h"

#define MAX_REGION_JOULES 1e15 /* limit of plausible joules; other processes can write the shared memory */
#define PERIODS_TO_JUDGE  100  /* sensor periods that calls must span together before their mean is judged */
/* Relative standard error of the time that timestamps take. Most empty regions take 1.1 to 1.2 times as long
 * as the shortest one. */
#define TIMESTAMPS_SD 0.1

/* Returns the energy in joules that a tag is allowed: its total limit, plus its limit per region times the
 * number of regions in the result. Returns NaN if the tag has no budget. */
static double budget_of(struct session *session, const struct tag_row *row)
{
    double in_all = session_get_budget(session, row->tag), each = session_get_call_budget(session, row->tag);
    double calls = each * (double)(row->attributed_count ? row->attributed_count : row->result.count);
    return isnan(each) ? in_all : isnan(in_all) ? calls : in_all + calls;
}

/* Sets the row's energy to the expected energy of its counted calls. Their durations are unknown, and so are
 * the regions that ran at the same time. max_joules: all energy of the devices, which limits the calls'
 * energy. */
static void expect_joules(struct session *session, const struct tag_sums *sums, double max_joules,
                          struct tag_row *row)
{
    joule_quantity all = quantity_scale(session_get_expected(session, row->tag), (double)sums->counted);
    double limit = fmin(max_joules, MAX_REGION_JOULES);
    row->flags |= TAG_COUNTED;
    if (!(all.low <= limit))
        all = quantity_unknown();
    else
        all.value = fmin(all.value, limit);
    row->result.attributed = quantity_limit_high(all, limit);
    row->result.duration_s = NAN;
    row->result.coverage = NAN;
}

/* Returns the quantity joules * (1 - part). The interval includes the error of `part`. */
static joule_quantity subtract_timestamps(joule_quantity joules, double part)
{
    joule_quantity left = quantity_scale(joules, 1 - part);
    double error = Z90 * TIMESTAMPS_SD * part * joules.value;
    left.low = fmax(0, left.value - hypot(left.value - left.low, error));
    left.high = left.value + hypot(left.high - left.value, error);
    return left;
}

/* Moves the energy of taking timestamps from `attributed` to `timestamp_joules`. A region contains the second
 * half of its first timestamp and the first half of its last one. The energy of timestamps is assumed to be
 * proportional to their time. */
static void separate_timestamps(struct session *session, const struct tag_sums *sums, struct tag_row *row)
{
    double timestamps_s = session_timestamp_seconds(session) * (double)(sums->result.count - sums->counted);
    double part = sums->duration_s > 0 ? fmin(1, timestamps_s / sums->duration_s) : NAN;
    if (isnan(part) || isnan(row->result.attributed.value))
        return;
    row->timestamp_joules = quantity_scale(row->result.attributed, part);
    row->result.attributed = subtract_timestamps(row->result.attributed, part);
}

static struct tag_row make_row(struct session *session, const struct tag_sums *sums, double max_joules)
{
    uint32_t own = TAG_COUNTED | TAG_BRIEF; /* flags of this file; another process may have set these bits in
                                             * the shared memory */
    struct tag_row row = {.tag = sums->tag,
                          .name = sums->name,
                          .flags = sums->flags & ~own,
                          .result = sums->result,
                          .unsynchronised = sums->result.unsynchronised,
                          .attributed_count = sums->attributed_count,
                          .timestamp_joules = quantity_unknown()};
    row.budget_joules = budget_of(session, &row);
    if (sums->counted && !row.attributed_count)
        expect_joules(session, sums, max_joules, &row);
    else if (!isnan(session_get_call_budget(session, row.tag))) {
        separate_timestamps(session, sums, &row);
        if (sums->duration_s < PERIODS_TO_JUDGE * sums->sensor_period_s)
            row.flags |= TAG_BRIEF;
    }
    return row;
}

bool tag_row_get(joule_meter *meter, uint32_t tag, struct tag_row *out_row)
{
    struct collector *collector = collector_of(meter);
    struct tag_sums sums;
    if (!collector || !collector_sums(collector, tag, &sums))
        return false;
    bool is_counted = sums.counted && !sums.attributed_count;
    *out_row = make_row(meter->session, &sums, is_counted ? collector_max_joules(collector) : NAN);
    return true;
}

/* --- the list ------------------------------------------------------------------------------------------- */

/* The largest rows so far. */
struct list {
    struct session *session;
    double max_joules; /* see expect_joules */
    struct tag_row *rows;
    size_t count, size;
};

static int by_attributed(const void *a, const void *b)
{
    double x = ((const struct tag_row *)a)->result.attributed.value;
    double y = ((const struct tag_row *)b)->result.attributed.value;
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x < y) - (x > y);
}

/* Adds the row of a tag. If the list is full, replaces its smallest row if the new row is larger. */
static void add_row(void *context, const struct tag_sums *sums)
{
    struct list *list = context;
    struct tag_row row = make_row(list->session, sums, list->max_joules);
    if (list->count < list->size) {
        list->rows[list->count++] = row;
        return;
    }
    size_t smallest = 0;
    for (size_t i = 1; i < list->count; i++)
        if (by_attributed(&list->rows[i], &list->rows[smallest]) > 0)
            smallest = i;
    if (list->count && by_attributed(&row, &list->rows[smallest]) < 0)
        list->rows[smallest] = row;
}

size_t tag_row_list(joule_meter *meter, struct tag_row *out_rows, size_t size)
{
    struct collector *collector = collector_of(meter);
    if (!collector)
        return 0;
    struct list list = {.session = meter->session,
                        .max_joules = collector_max_joules(collector),
                        .rows = out_rows,
                        .size = size};
    collector_each_tag(collector, add_row, &list);
    qsort(out_rows, list.count, sizeof *out_rows, by_attributed);
    return list.count;
}
