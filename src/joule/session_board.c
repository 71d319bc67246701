/* joule/session_board.c - the totals that the measuring process shows to its clients.
 *
 * Owns a ring of readings in the session's mapping, each guarded by a sequence number: one writer, any number of
 * readers, nobody waits. A client makes a curve of it and asks the curve, as the meter itself would.
 * Newcomers: the board reaches back as far as its entries do (100 s at the default period); what lies before is not
 * covered, and the window says so.
 */
#include <math.h>
#include "joule/session.h"

#define SUM(domain) (JOULE_TOTAL - (domain)) /* 0, 1, 2 */

struct reading {
    int64_t time_ns;
    double joules, gain_sd;
    joule_class cls;
};

/* The whole error is taken for one of gain: over a long time it is. */
static double relative_sd(const joule_quantity *q)
{
    if (!(q->value > 0))
        return 0;
    return q->cls >= JOULE_CLASS_MODELLED ? log(q->high / q->value) / Z90 : (q->high / q->value - 1) / Z90;
}

static void put_sum(struct board_entry *entry, int sum, const joule_quantity *q)
{
    atomic_store_explicit(&entry->sums[sum].joules, q->value, memory_order_release);
    atomic_store_explicit(&entry->sums[sum].gain_sd, relative_sd(q), memory_order_release);
    atomic_store_explicit(&entry->sums[sum].cls, (uint32_t)q->cls, memory_order_release);
}

void session_publish(struct session *session, int64_t time_ns, const joule_quantity *total,
                     const joule_quantity *cpu, const joule_quantity *gpu)
{
    struct session_map *map = session_map(session);
    if (!map)
        return;
    uint64_t number = atomic_load_explicit(&map->board_count, memory_order_relaxed);
    if (number == 0 && !session_populate(map->board, sizeof map->board))
        return;
    struct board_entry *entry = &map->board[number % SESSION_BOARD];
    /* Release stores from here on: a reader that sees new content also sees the odd sequence. */
    atomic_store_explicit(&entry->sequence, 2 * number + 1, memory_order_relaxed);
    atomic_store_explicit(&entry->time_ns, time_ns, memory_order_release);
    put_sum(entry, SUM(JOULE_TOTAL), total);
    put_sum(entry, SUM(JOULE_CPU), cpu);
    put_sum(entry, SUM(JOULE_GPU), gpu);
    atomic_store_explicit(&entry->sequence, 2 * number + 2, memory_order_release);
    atomic_store_explicit(&map->board_count, number + 1, memory_order_release);
}

/* Entry `number` if it is whole, still there and makes sense. */
static bool read_entry(struct session_map *map, uint64_t number, int sum, struct reading *out)
{
    struct board_entry *entry = &map->board[number % SESSION_BOARD];
    uint64_t sequence = 2 * number + 2;
    if (atomic_load_explicit(&entry->sequence, memory_order_acquire) != sequence)
        return false;
    out->time_ns = atomic_load_explicit(&entry->time_ns, memory_order_acquire);
    out->joules = atomic_load_explicit(&entry->sums[sum].joules, memory_order_acquire);
    out->gain_sd = atomic_load_explicit(&entry->sums[sum].gain_sd, memory_order_acquire);
    out->cls = (joule_class)atomic_load_explicit(&entry->sums[sum].cls, memory_order_acquire);
    return atomic_load_explicit(&entry->sequence, memory_order_relaxed) == sequence && out->time_ns > 0 &&
           out->time_ns < INT64_MAX / 2 && isfinite(out->joules) && isfinite(out->gain_sd) &&
           out->cls >= JOULE_CLASS_MEASURED && out->cls <= JOULE_CLASS_ASSUMED;
}

/* The points in order of time; what does not rise is left out. */
static size_t read_points(struct session_map *map, int sum, struct curve_point points[SESSION_BOARD],
                          struct curve_traits *out_traits)
{
    uint64_t end = atomic_load_explicit(&map->board_count, memory_order_acquire);
    size_t count = 0;
    for (uint64_t n = end > SESSION_BOARD ? end - SESSION_BOARD : 0; n < end; n++) {
        struct reading r;
        if (!read_entry(map, n, sum, &r))
            continue;
        const struct curve_point *last = count ? &points[count - 1] : NULL;
        if (last && (r.time_ns <= last->time_ns || r.joules < last->joules))
            continue;
        double step_s = last ? (double)(r.time_ns - last->time_ns) * 1e-9 : 0;
        points[count++] = (struct curve_point){
            .time_ns = r.time_ns,
            .joules = r.joules,
            .covered_s = (last ? last->covered_s : 0) + step_s,
        };
        *out_traits = (struct curve_traits){
            .cls = r.cls,
            .gain_sd = r.gain_sd,
            .tick_s = step_s,
            .cause = sum == SUM(JOULE_GPU) ? CAUSE_GPU_GAIN : CAUSE_RAPL_GAIN,
        };
    }
    return count;
}

struct window session_window(struct session *session, int32_t domain, int64_t begin_ns, int64_t end_ns)
{
    struct window none = {.joules = estimate_unknown(), .length_s = (double)(end_ns - begin_ns) * 1e-9};
    struct session_map *map = session_map(session);
    struct curve_point points[SESSION_BOARD];
    struct curve_traits traits = {0};
    bool is_there = map && domain <= JOULE_TOTAL && domain >= JOULE_GPU;
    size_t count = is_there ? read_points(map, SUM(domain), points, &traits) : 0;
    if (count < 2)
        return none;
    struct curve curve = {
        .points = points, .count = count, .capacity = count, .read_ns = points[count - 1].time_ns};
    return curve_window(&curve, &traits, begin_ns, end_ns);
}
