/* support/region_bench.c - see region_bench.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include "support/check.h"
#include "support/machine.h"
#include "support/region_bench.h"

#define FIRST_SLOT  100
#define SWING_WATTS 30.0

static double swing_watts;
static bool has_board;

int64_t bench_at(double s)
{
    return (int64_t)llround((BENCH_START_S + s) * 1e9);
}

double bench_seconds(int64_t time_ns)
{
    return (double)time_ns * 1e-9 - BENCH_START_S;
}

void bench_run(struct bench *bench, double seconds)
{
    machine_run(bench->meter, seconds, BENCH_TICK_S);
}

/* --- the machine ---------------------------------------------------------------------------------------- */

static ssize_t package_uj(void *unused, int64_t time_ns, char *buffer, size_t size)
{
    (void)unused;
    double t = bench_seconds(time_ns), joules = 1000 + BENCH_WATTS * t + swing_watts * (1 - cos(3 * t)) / 3;
    return snprintf(buffer, size, "%lld\n", (long long)(joules * 1e6));
}

static ssize_t board_uj(void *unused, int64_t time_ns, char *buffer, size_t size)
{
    (void)unused;
    return snprintf(buffer, size, "%lld\n",
                    (long long)((500 + BENCH_GPU_WATTS * bench_seconds(time_ns)) * 1e6));
}

static struct joule_host *make_host(void)
{
    struct joule_host *host = host_script_open();
    host_script_set_time(host, bench_at(0));
    host_script_text(host, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
    host_script_text(host, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    host_script_file(host, "/sys/class/powercap/intel-rapl:0/energy_uj", package_uj, NULL);
    if (has_board) {
        host_script_text(host, "/sys/class/hwmon/hwmon0/name", "xe\n");
        host_script_text(host, "/sys/class/hwmon/hwmon0/energy1_label", "card\n");
        host_script_file(host, "/sys/class/hwmon/hwmon0/energy1_input", board_uj, NULL);
    }
    return host;
}

static void take_slots(struct bench *bench)
{
    struct session_map *map = session_map(session_current());
    for (uint32_t i = 0; i < BENCH_THREADS; i++) {
        atomic_store(&map->owners[FIRST_SLOT + i], session_owner(0, i + 1));
        bench->slots[i] = &map->slots[FIRST_SLOT + i];
    }
    if (atomic_load(&map->slots_used) < FIRST_SLOT + BENCH_THREADS)
        atomic_store(&map->slots_used, FIRST_SLOT + BENCH_THREADS);
}

/* --- around a test -------------------------------------------------------------------------------------- */

static int set_up(void **state, double swing, bool with_board)
{
    static struct bench bench;
    swing_watts = swing;
    has_board = with_board;
    bench = (struct bench){.host = make_host()};
    bench.meter = machine_open(bench.host, "rapl_powercap,hwmon");
    take_slots(&bench);
    *state = &bench;
    return 0;
}

int bench_set_up_steady(void **state)
{
    return set_up(state, 0, false);
}

int bench_set_up_wandering(void **state)
{
    return set_up(state, SWING_WATTS, false);
}

int bench_set_up_with_board(void **state)
{
    return set_up(state, 0, true);
}

int bench_tear_down(void **state)
{
    struct bench *bench = *state;
    joule_close(bench->meter);
    bench->host->ops->close(bench->host);
    struct session_map *map = session_map(session_current());
    for (uint32_t i = 0; i < BENCH_THREADS; i++) {
        for (int k = 0; k < SESSION_OPEN; k++)
            bench->slots[i]->open[k].begin_ns = 0;
        atomic_store(&map->owners[FIRST_SLOT + i], 0);
    }
    return 0;
}

/* --- regions -------------------------------------------------------------------------------------------- */

joule_region bench_put(struct bench *bench, unsigned thread, uint32_t tag, uint32_t flags, double begin_s,
                       double end_s)
{
    struct span span = {.begin_ns = bench_at(begin_s),
                        .end_ns = bench_at(end_s),
                        .tag = (uint16_t)tag,
                        .slot = (uint16_t)(FIRST_SLOT + thread),
                        .index = SPAN_NOT_LISTED,
                        .flags = (uint8_t)flags,
                        .device = SPAN_ALL_GPUS};
    assert_true(slot_push(bench->slots[thread], &span));
    return (joule_region){.begin_ns = (uint64_t)span.begin_ns,
                          .end_ns = (uint64_t)span.end_ns,
                          .tag = tag,
                          .flags = flags,
                          .slot = (FIRST_SLOT + thread) | SPAN_NOT_LISTED << 16};
}

void bench_fold(struct bench *bench, unsigned thread, uint32_t tag, unsigned count, double duration_s,
                double own_s, double end_s)
{
    int64_t each_ns = llround(duration_s / count * 1e9), own_ns = llround(own_s / count * 1e9);
    struct span span = {
        .begin_ns = bench_at(end_s) - each_ns, .end_ns = bench_at(end_s), .tag = (uint16_t)tag};
    for (unsigned i = 0; i < count; i++)
        slot_fold(bench->slots[thread], &span, own_ns);
}

unsigned bench_open(struct bench *bench, unsigned thread, uint32_t tag, double begin_s)
{
    return slot_open(bench->slots[thread], bench_at(begin_s), open_what(tag, 0));
}

void bench_lose(struct bench *bench, unsigned thread, unsigned index, double begin_s)
{
    int64_t nested_ns;
    assert_true(slot_close(bench->slots[thread], index, bench_at(begin_s), true, &nested_ns));
}

void bench_end(struct bench *bench, unsigned thread, unsigned index, uint32_t tag, double begin_s,
               double end_s, unsigned ender)
{
    struct span span = {.begin_ns = bench_at(begin_s),
                        .end_ns = bench_at(end_s),
                        .tag = (uint16_t)tag,
                        .slot = (uint16_t)(FIRST_SLOT + thread),
                        .index = (uint8_t)index};
    assert_true(slot_push(bench->slots[ender], &span));
}

void bench_close(struct bench *bench, unsigned thread, unsigned index, uint32_t tag, double begin_s,
                 double end_s, unsigned ender)
{
    int64_t nested_ns;
    assert_true(slot_close(bench->slots[thread], index, bench_at(begin_s), thread == ender, &nested_ns));
    bench_end(bench, thread, index, tag, begin_s, end_s, ender);
}

joule_result bench_result(struct bench *bench, const joule_region *region, joule_status expected)
{
    joule_result result = {.struct_size = sizeof result};
    assert_int_equal(joule_region_result(bench->meter, region, &result), expected);
    return result;
}

joule_result bench_tag(struct bench *bench, uint32_t tag, joule_status expected)
{
    joule_result result = {.struct_size = sizeof result};
    assert_int_equal(joule_tag_result(bench->meter, tag, &result), expected);
    return result;
}
