/* joule/session/session_board.c - the totals that the measuring process publishes to its clients.
 *
 * The session's mapping contains several rings of readings, called levels. Each reading is guarded by a
 * sequence number. There is one writer and any number of readers; none of them waits. A client converts the
 * readings to a curve, and queries it as the meter queries its curves.
 * Note: the totals are cumulative, so dropping older readings does not make the remaining ones less accurate.
 * Time before the oldest reading of the highest level is not covered, and windows report it as such.
 */
#include <math.h>
#include "joule/session/session.h"

#define SUM(domain) (JOULE_TOTAL - (domain)) /* JOULE_TOTAL: 0, JOULE_CPU: 1, JOULE_GPU: 2 */

/* One sum of one entry of the board. */
struct reading {
    int64_t time_ns;
    double joules, gain_sd;
    joule_class cls;
};

/* Returns the relative standard error of a quantity. The whole error is treated as a gain error, which is
 * correct for long times. */
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

/* Writes an entry of the board so that a concurrent reader can detect the change. */
static void put_entry(struct board_entry *entry, uint64_t number, int64_t time_ns,
                      const joule_quantity *const sums[BOARD_SUMS])
{
    /* The stores are release stores, so a reader that sees new content also sees the odd sequence number. */
    atomic_store_explicit(&entry->sequence, 2 * number + 1, memory_order_relaxed);
    atomic_store_explicit(&entry->time_ns, time_ns, memory_order_release);
    for (int i = 0; i < BOARD_SUMS; i++)
        put_sum(entry, i, sums[i]);
    atomic_store_explicit(&entry->sequence, 2 * number + 2, memory_order_release);
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
    uint64_t step = 1;
    for (int level = 0; level < SESSION_LEVELS && number % step == 0; level++, step *= SESSION_LEVEL_RATIO)
        put_entry(&map->board[level][number / step % SESSION_BOARD], number, time_ns,
                  (const joule_quantity *[]){total, cpu, gpu});
    atomic_store_explicit(&map->board_count, number + 1, memory_order_release);
}

/* Reads an entry. Returns true if the entry is complete, has this number and contains plausible values. */
static bool read_entry(struct board_entry *entry, uint64_t number, int sum, struct reading *out)
{
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

/* The readings of one sum in order of time. */
struct board_curve {
    struct curve_point points[SESSION_LEVELS * SESSION_BOARD];
    size_t count;
    struct curve_traits traits;
    double last_joules;
};

/* Adds a reading to the curve. Ignores a reading that is not later than the last one, or whose joules
 * decrease. */
static void add_point(struct board_curve *c, int sum, const struct reading *r)
{
    const struct curve_point *last = c->count ? &c->points[c->count - 1] : NULL;
    if (last && (r->time_ns <= last->time_ns || r->joules < last->joules))
        return;
    double step_s = last ? (double)(r->time_ns - last->time_ns) * 1e-9 : 0;
    c->points[c->count++] = (struct curve_point){
        .time_ns = r->time_ns,
        .joules = r->joules,
        .covered_s = (last ? last->covered_s : 0) + step_s,
    };
    c->traits = (struct curve_traits){
        .cls = r->cls,
        .gain_sd = r->gain_sd,
        .tick_s = step_s,
        .cause = sum == SUM(JOULE_GPU) ? CAUSE_GPU_GAIN : CAUSE_RAPL_GAIN,
    };
    c->last_joules = r->joules;
}

/* Returns the number of the oldest entry that a level still contains. end: number of the next entry; step:
 * distance between the numbers of the level's entries. */
static uint64_t oldest_of(uint64_t end, uint64_t step)
{
    uint64_t of_level = end / step + (end % step != 0);
    return of_level > SESSION_BOARD ? (of_level - SESSION_BOARD) * step : 0;
}

/* Reads all entries in order of time. From each level it reads only the entries that are older than those of
 * the level below. */
static void read_points(struct session_map *map, int sum, struct board_curve *out)
{
    uint64_t end = atomic_load_explicit(&map->board_count, memory_order_acquire), step = 1;
    for (int level = 1; level < SESSION_LEVELS; level++)
        step *= SESSION_LEVEL_RATIO;
    out->count = 0;
    for (int level = SESSION_LEVELS - 1; level >= 0; level--, step /= SESSION_LEVEL_RATIO) {
        uint64_t until = level ? oldest_of(end, step / SESSION_LEVEL_RATIO) : end;
        for (uint64_t number = oldest_of(end, step); number < until; number += step) {
            struct reading r;
            if (read_entry(&map->board[level][number / step % SESSION_BOARD], number, sum, &r))
                add_point(out, sum, &r);
        }
    }
}

/* Returns the curve of the board's readings, which is stored in *out. */
static struct curve read_board(struct session *session, int32_t domain, struct board_curve *out)
{
    struct session_map *map = session_map(session);
    out->count = 0;
    out->traits = (struct curve_traits){0};
    out->last_joules = 0;
    if (map && domain <= JOULE_TOTAL && domain >= JOULE_GPU)
        read_points(map, SUM(domain), out);
    return (struct curve){.points = out->points,
                          .count = out->count,
                          .capacity = out->count,
                          .read_ns = out->count ? out->points[out->count - 1].time_ns : 0};
}

static struct window window_of(const struct curve *curve, const struct board_curve *board, int64_t begin_ns,
                               int64_t end_ns)
{
    if (curve->count < 2)
        return (struct window){.joules = estimate_unknown(), .length_s = (double)(end_ns - begin_ns) * 1e-9};
    return curve_window(curve, &board->traits, begin_ns, end_ns);
}

struct window session_window(struct session *session, int32_t domain, int64_t begin_ns, int64_t end_ns)
{
    struct board_curve board; /* 100 KiB; not cleared, because read_board sets all that is used */
    struct curve curve = read_board(session, domain, &board);
    struct window w = window_of(&curve, &board, begin_ns, end_ns);
    if (curve.count && begin_ns < board.points[0].time_ns)
        w.joules = estimate_unknown(); /* the board has no reading at or before begin_ns */
    return w;
}

struct window session_energy(struct session *session, int32_t domain, int64_t begin_ns,
                             double base_joules[BOARD_SUMS])
{
    struct board_curve board;
    struct curve curve = read_board(session, domain, &board);
    struct window w = window_of(&curve, &board, begin_ns, curve.read_ns);
    if (isnan(w.joules.value)) /* no energy in the window, or the board does not contain this domain */
        return w;
    double *base = &base_joules[SUM(domain)];
    if (isnan(*base))
        *base = board.last_joules - w.joules.value;
    w.joules.value = fmax(0, board.last_joules - *base);
    return w;
}

size_t session_ticks(struct session *session, int32_t domain, int64_t after_ns, int64_t *out_ticks_ns,
                     size_t capacity)
{
    struct board_curve board;
    struct curve curve = read_board(session, domain, &board);
    return curve_ticks(&curve, after_ns, curve.read_ns, out_ticks_ns, capacity);
}
