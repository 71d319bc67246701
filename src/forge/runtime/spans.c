/* runtime/spans.c - see spans.h. */
#include "forge/runtime/spans.h"

#include <stdlib.h>
#include "base/clock.h"

bool spans_init(struct spans *spans, size_t launches, size_t size_bytes)
{
    size_t row = (launches + 1) * sizeof *spans->timestamps;
    *spans = (struct spans){.launches = launches, .capacity = size_bytes / row, .lost_ns = INT64_MIN};
    if (spans->capacity < 2)
        spans->capacity = 2;
    spans->timestamps = calloc(spans->capacity, row);
    return spans->timestamps != NULL;
}

void spans_free(struct spans *spans)
{
    free(spans->timestamps);
    *spans = (struct spans){0};
}

static int64_t *row_of(const struct spans *spans, uint64_t run)
{
    return spans->timestamps + run % spans->capacity * (spans->launches + 1);
}

int64_t *spans_next_row(struct spans *spans)
{
    int64_t *row = row_of(spans, spans->runs);
    if (spans->runs - spans->taken == spans->capacity) {
        spans->lost_ns = row[spans->launches];
        spans->taken++;
        spans->next = 0;
    }
    return row;
}

void spans_add_row(struct spans *spans)
{
    spans->runs++;
}

/* Adds the time of one run's launches between two times. Returns false if the run continues after end_ns. */
static bool take_run(struct spans *spans, const int64_t *timestamps, int64_t begin_ns, int64_t end_ns,
                     const uint32_t *item_of, double *active_s)
{
    for (; spans->next < spans->launches; spans->next++) {
        size_t i = spans->next;
        int64_t from_ns = timestamps[i] > begin_ns ? timestamps[i] : begin_ns;
        int64_t to_ns = timestamps[i + 1] < end_ns ? timestamps[i + 1] : end_ns;
        if (to_ns > from_ns)
            active_s[item_of[i]] += clock_seconds(to_ns - from_ns);
        if (timestamps[i + 1] > end_ns)
            return false;
    }
    return true;
}

bool spans_take(struct spans *spans, int64_t begin_ns, int64_t end_ns, const uint32_t *item_of,
                double *active_s)
{
    for (; spans->taken < spans->runs; spans->taken++, spans->next = 0)
        if (!take_run(spans, row_of(spans, spans->taken), begin_ns, end_ns, item_of, active_s))
            break;
    return spans->lost_ns <= begin_ns;
}
