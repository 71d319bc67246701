/* Regions joined to the energy of a scripted machine of known power, in virtual time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "joule/collector.h"
#include "joule/record.h"
#include "joule/session.h"
#include "support/machine.h"

#define START_S 1000.0
#define TICK_S  0.1

static void near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.15g is not within %.3g of %.15g", a, tolerance, b);
}

/* --- the machine: a package whose power may wander, and a board ---------------------------------------------- */

static double package_watts, package_swing_watts, board_watts;

static ssize_t package_uj(void *unused, int64_t time_ns, char *buffer, size_t size)
{
    (void)unused;
    double t = (double)time_ns * 1e-9 - START_S;
    double joules = 1000 + package_watts * t + package_swing_watts * (1 - cos(3 * t)) / 3;
    return snprintf(buffer, size, "%lld\n", (long long)(joules * 1e6));
}

static ssize_t board_uj(void *unused, int64_t time_ns, char *buffer, size_t size)
{
    (void)unused;
    return snprintf(buffer, size, "%lld\n",
                    (long long)((500 + board_watts * ((double)time_ns * 1e-9 - START_S)) * 1e6));
}

struct bench {
    struct joule_host *host;
    joule_meter *meter;
    struct slot *slots[8]; /* of threads that do not exist */
};

static int64_t at(double s)
{
    return (int64_t)llround((START_S + s) * 1e9);
}

static void put(struct joule_host *host, const char *path, const char *text)
{
    host_script_text(host, path, text);
}

static struct joule_host *make_host(void)
{
    struct joule_host *host = host_script_open();
    host_script_set_time(host, at(0));
    put(host, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
    put(host, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    host_script_file(host, "/sys/class/powercap/intel-rapl:0/energy_uj", package_uj, NULL);
    if (board_watts > 0) {
        put(host, "/sys/class/hwmon/hwmon0/name", "xe\n");
        put(host, "/sys/class/hwmon/hwmon0/energy1_label", "card\n");
        host_script_file(host, "/sys/class/hwmon/hwmon0/energy1_input", board_uj, NULL);
    }
    return host;
}

/* Slots 100 and up, so that real threads of this test are not in the way. Nobody can tell whether their owners live. */
static void take_slots(struct bench *bench)
{
    struct session_map *map = session_map(session_current());
    for (uint32_t i = 0; i < 8; i++) {
        atomic_store(&map->owners[100 + i], session_owner(0, i + 1));
        bench->slots[i] = &map->slots[100 + i];
    }
    if (atomic_load(&map->slots_used) < 108)
        atomic_store(&map->slots_used, 108);
}

static int set_up(void **state)
{
    static struct bench bench;
    bench = (struct bench){.host = make_host()};
    bench.meter = machine_open(bench.host, "rapl_powercap,hwmon");
    take_slots(&bench);
    *state = &bench;
    return 0;
}

static int set_up_steady(void **state)
{
    package_watts = 50;
    package_swing_watts = board_watts = 0;
    return set_up(state);
}

static int set_up_wandering(void **state)
{
    package_watts = 50;
    package_swing_watts = 30;
    board_watts = 0;
    return set_up(state);
}

static int set_up_with_board(void **state)
{
    package_watts = 50;
    package_swing_watts = 0;
    board_watts = 200;
    return set_up(state);
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    joule_close(bench->meter);
    bench->host->ops->close(bench->host);
    struct session_map *map = session_map(session_current());
    for (uint32_t i = 0; i < 8; i++) {
        for (int k = 0; k < SESSION_OPEN; k++)
            map->slots[100 + i].open[k].begin_ns = 0;
        atomic_store(&map->owners[100 + i], 0);
    }
    return 0;
}

/* A region whose edges happened at virtual times; it is in the ring when this returns. */
static joule_region put_region(struct bench *bench, unsigned thread, uint32_t tag, uint32_t flags,
                               double begin_s, double end_s)
{
    struct span span = {.begin_ns = at(begin_s),
                        .end_ns = at(end_s),
                        .tag = (uint16_t)tag,
                        .slot = (uint16_t)(100 + thread),
                        .index = SPAN_NOT_LISTED,
                        .flags = (uint8_t)flags,
                        .device = SPAN_ALL_GPUS};
    assert_true(slot_push(bench->slots[thread], &span));
    return (joule_region){.begin_ns = (uint64_t)span.begin_ns,
                          .end_ns = (uint64_t)span.end_ns,
                          .tag = tag,
                          .flags = flags,
                          .slot = (100 + thread) | SPAN_NOT_LISTED << 16};
}

static unsigned open_region(struct bench *bench, unsigned thread, uint32_t tag, double begin_s)
{
    return slot_open(bench->slots[thread], at(begin_s), open_what(tag, 0));
}

static void close_region(struct bench *bench, unsigned thread, unsigned index, uint32_t tag, double begin_s,
                         double end_s, unsigned ender)
{
    assert_true(slot_close(bench->slots[thread], index, at(begin_s), thread == ender));
    struct span span = {.begin_ns = at(begin_s),
                        .end_ns = at(end_s),
                        .tag = (uint16_t)tag,
                        .slot = (uint16_t)(100 + thread),
                        .index = (uint8_t)index};
    assert_true(slot_push(bench->slots[ender], &span));
}

static joule_result result_of(struct bench *bench, const joule_region *region, joule_status expected)
{
    joule_result result = {.struct_size = sizeof result};
    assert_int_equal(joule_region_result(bench->meter, region, &result), expected);
    return result;
}

static joule_result tag_of(struct bench *bench, uint32_t tag, joule_status expected)
{
    joule_result result = {.struct_size = sizeof result};
    assert_int_equal(joule_tag_result(bench->meter, tag, &result), expected);
    return result;
}

/* --- one device --------------------------------------------------------------------------------------------- */

static void a_region_alone_gets_its_window(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("alone");
    machine_run(bench->meter, 1, TICK_S);
    joule_region region = put_region(bench, 0, tag, 0, 0.23, 0.87);
    joule_result r = result_of(bench, &region, JOULE_PENDING);
    assert_int_equal(r.is_final, 0);
    assert_true(isnan(r.attributed.value));
    tag_of(bench, tag, JOULE_PENDING);
    machine_run(bench->meter, 0.3, TICK_S);
    r = result_of(bench, &region, JOULE_OK);
    near(r.duration_s, 0.64, 1e-12);
    near(r.coverage, 1, 1e-9);
    near(r.window.value, 32, 1e-4);
    near(r.attributed.value, r.window.value, 1e-9);
    near(r.self.value, r.window.value, 1e-9);
    near(r.cpu.value, r.window.value, 1e-9);
    assert_true(isnan(r.gpu.value));
    assert_int_equal(r.window.cls, JOULE_CLASS_MEASURED);
    assert_int_equal(r.attributed.cls, JOULE_CLASS_DERIVED);
    assert_int_equal(r.self.cls, JOULE_CLASS_DERIVED);
    assert_true(r.window.low < 32 && r.window.high > 32);
    joule_result t = tag_of(bench, tag, JOULE_OK);
    assert_int_equal(t.count, 1);
    near(t.attributed.value, r.attributed.value, 1e-9);
}

static void regions_before_the_first_reading_say_so(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("early");
    put_region(bench, 0, tag, 0, -5, -4);
    put_region(bench, 0, tag, 0, -1, 1);
    machine_run(bench->meter, 2, TICK_S);
    joule_result t = tag_of(bench, tag, JOULE_OK);
    assert_int_equal(t.count, 2);
    near(t.duration_s, 3, 1e-9);
    near(t.coverage, 1.0 / 3, 1e-3);
    near(t.window.value, 50, 0.1);
}

static void threads_share_equally_and_nested_ones_take_over(void **state)
{
    struct bench *bench = *state;
    uint32_t outer = joule_tag("outer"), inner = joule_tag("inner"), other = joule_tag("other");
    machine_run(bench->meter, 1.2, TICK_S);
    put_region(bench, 0, outer, 0, 0.1, 0.9);
    put_region(bench, 0, inner, 0, 0.3, 0.5);
    put_region(bench, 1, other, 0, 0.4, 0.8);
    machine_run(bench->meter, 0.3, TICK_S);
    joule_result o = tag_of(bench, outer, JOULE_OK), i = tag_of(bench, inner, JOULE_OK),
                 x = tag_of(bench, other, JOULE_OK);
    near(o.window.value, 40, 1e-3);
    near(o.attributed.value, 0.3 * 50 + 0.4 * 25 + 0.1 * 50, 1e-3);
    near(o.self.value, o.attributed.value - i.attributed.value, 1e-9);
    near(i.attributed.value, 0.1 * 50 + 0.1 * 25, 1e-3);
    near(x.attributed.value, 0.4 * 25, 1e-3);
    near(x.window.value, 20, 1e-3);
}

static void a_region_may_stay_open_for_many_readings(void **state)
{
    struct bench *bench = *state;
    uint32_t slow = joule_tag("slow"), quick = joule_tag("quick");
    machine_run(bench->meter, 0.5, TICK_S);
    unsigned index = open_region(bench, 0, slow, 0.45);
    for (int i = 0; i < 20; i++) {
        machine_run(bench->meter, TICK_S, TICK_S);
        put_region(bench, 0, quick, 0, 0.5 + i * TICK_S + 0.02, 0.5 + i * TICK_S + 0.07);
    }
    tag_of(bench, slow, JOULE_ABSENT);
    close_region(bench, 0, index, slow, 0.45, 2.48, 0);
    machine_run(bench->meter, 0.3, TICK_S);
    joule_result s = tag_of(bench, slow, JOULE_OK), q = tag_of(bench, quick, JOULE_OK);
    assert_int_equal(s.count, 1);
    assert_int_equal(q.count, 20);
    near(s.coverage, 1, 1e-9);
    near(s.window.value, 101.5, 1e-3);
    near(q.window.value, 50, 1e-3);
    near(s.attributed.value, s.window.value, 1e-9);
    near(s.self.value, s.window.value - q.window.value, 1e-9);
}

static void another_thread_may_end_it(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("handed over");
    machine_run(bench->meter, 0.5, TICK_S);
    unsigned index = open_region(bench, 3, tag, 0.45);
    machine_run(bench->meter, 1, TICK_S);
    close_region(bench, 3, index, tag, 0.45, 1.45, 1); /* slot 1 is read before slot 3 */
    machine_run(bench->meter, 0.3, TICK_S);
    joule_result r = tag_of(bench, tag, JOULE_OK);
    assert_int_equal(r.count, 1);
    near(r.window.value, 50, 1e-3);
    near(r.coverage, 1, 1e-9);
}

static void a_region_whose_end_never_comes_stops_taking(void **state)
{
    struct bench *bench = *state;
    uint32_t lost = joule_tag("lost"), kept = joule_tag("kept");
    machine_run(bench->meter, 0.5, TICK_S);
    unsigned index = open_region(bench, 0, lost, 0.45);
    machine_run(bench->meter, 0.2, TICK_S);
    assert_true(slot_close(bench->slots[0], index, at(0.45), true)); /* and no span: folded, or gone */
    machine_run(bench->meter, 3, TICK_S);
    put_region(bench, 1, kept, 0, 3, 3.5);
    machine_run(bench->meter, 0.3, TICK_S);
    tag_of(bench, lost, JOULE_ABSENT);
    joule_result k = tag_of(bench, kept, JOULE_OK);
    near(k.attributed.value, k.window.value, 1e-9);
}

static void folded_regions_count_without_energy(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("folded");
    machine_run(bench->meter, 1, TICK_S);
    put_region(bench, 0, tag, 0, 0.5, 0.6);
    for (int i = 0; i < 10; i++)
        slot_fold(bench->slots[0], tag, 10000000);
    machine_run(bench->meter, 0.3, TICK_S);
    joule_result r = tag_of(bench, tag, JOULE_OK);
    assert_int_equal(r.count, 11);
    assert_int_equal(r.folded, 10);
    near(r.duration_s, 0.2, 1e-9);
    near(r.coverage, 0.5, 1e-6);
    near(r.window.value, 5, 1e-3);
    assert_int_equal(collector_folded(bench->meter->collector), 10);
}

static void finish_does_not_wait_for_the_next_reading(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("last");
    machine_run(bench->meter, 1, TICK_S);
    host_script_set_time(bench->host, at(1.0002));
    put_region(bench, 0, tag, 0, 0.9, 1.0001);
    collector_finish(bench->meter->collector);
    joule_result r = tag_of(bench, tag, JOULE_OK);
    near(r.window.value, 5.005, 0.03);
    assert_true(r.coverage > 0.99);
}

static void a_region_that_costs_nothing_takes_no_place(void **state)
{
    struct bench *bench = *state;
    machine_run(bench->meter, 1, TICK_S);
    uint32_t tag = joule_tag("empty");
    joule_region region = put_region(bench, 0, tag, 0, 0.5, 0.5);
    machine_run(bench->meter, 0.3, TICK_S);
    joule_result r = result_of(bench, &region, JOULE_OK);
    assert_true(r.duration_s == 0 && r.coverage == 0);
}

static void bad_questions_are_refused(void **state)
{
    struct bench *bench = *state;
    joule_result r = {.struct_size = 8};
    joule_region running = {.begin_ns = 5, .tag = 1};
    assert_int_equal(joule_region_result(bench->meter, &running, &r), JOULE_INVALID);
    r.struct_size = sizeof r;
    assert_int_equal(joule_region_result(bench->meter, &running, &r), JOULE_INVALID);
    assert_int_equal(joule_region_result(bench->meter, NULL, &r), JOULE_INVALID);
    assert_int_equal(joule_tag_result(bench->meter, 4000, &r), JOULE_ABSENT);
    assert_int_equal(joule_tag_result(bench->meter, 4000000000u, &r), JOULE_ABSENT);
}

/* --- conservation ------------------------------------------------------------------------------------------- */

static uint64_t random_state;

static double draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) * 0x1p-53;
}

/* One thread holds one region all the time, seven have random ones at random depth, power wanders: all `self` add up to
 * what the meter saw, and thread shares to the window. */
static void all_shares_add_up_to_the_window(void **state)
{
    struct bench *bench = *state;
    enum { TAGS = 40, TICKS = 100 };
    uint32_t tags[TAGS], frame = joule_tag("frame");
    random_state = 42;
    for (int i = 0; i < TAGS; i++) {
        char name[32];
        snprintf(name, sizeof name, "random %d", i);
        tags[i] = joule_tag(name);
    }
    machine_run(bench->meter, 0.5, TICK_S);
    unsigned index = open_region(bench, 0, frame, 0.5);
    for (int tick = 0; tick < TICKS; tick++) {
        machine_run(bench->meter, TICK_S, TICK_S);
        double begin_s = 0.5 + tick * TICK_S;
        for (int i = 0; i < 200; i++) {
            double a = begin_s + draw() * TICK_S, b = a + draw() * draw() * (begin_s + TICK_S - a);
            put_region(bench, 1 + (unsigned)(draw() * 7), tags[(int)(draw() * TAGS)], 0, a, b);
        }
    }
    double end_s = 0.5 + TICKS * TICK_S;
    close_region(bench, 0, index, frame, 0.5, end_s, 0);
    machine_run(bench->meter, 0.5, TICK_S);
    double self = tag_of(bench, frame, JOULE_OK).self.value;
    uint64_t count = 0;
    for (int i = 0; i < TAGS; i++) {
        joule_result r = tag_of(bench, tags[i], JOULE_OK);
        self += r.self.value;
        count += r.count;
        assert_true(r.attributed.value <= r.window.value * (1 + 1e-12) && r.self.value >= 0);
    }
    assert_int_equal(count, 200 * TICKS);
    struct window w = meter_window(bench->meter, JOULE_TOTAL, at(0.5), at(end_s));
    near(self, w.joules.value, 1e-9 * w.joules.value);
    near(tag_of(bench, frame, JOULE_OK).window.value, w.joules.value, 1e-9 * w.joules.value);
}

static void parts_of_a_window_add_up(void **state)
{
    struct bench *bench = *state;
    machine_run(bench->meter, 5, TICK_S);
    uint32_t part = joule_tag("part"), whole = joule_tag("whole");
    random_state = 3;
    double at_s = 4;
    for (int i = 0; at_s < 4.8 && i < 3000; i++) {
        double next_s = fmin(4.8, at_s + draw() * 0.001);
        put_region(bench, 0, part, 0, at_s, next_s);
        at_s = next_s;
    }
    put_region(bench, 1, whole, 0, 4, 4.8);
    machine_run(bench->meter, 0.3, TICK_S);
    joule_result p = tag_of(bench, part, JOULE_OK), w = tag_of(bench, whole, JOULE_OK);
    near(p.window.value, w.window.value, 1e-9 * w.window.value);
    near(p.attributed.value + w.attributed.value, w.window.value, 1e-9 * w.window.value);
}

/* A tag that was there all the time is as sure as the meter; one that was there half of the time, in slices that the
 * sensor cannot tell apart, is less sure, and its interval holds the truth. */
static void unseen_slices_widen_the_interval(void **state)
{
    struct bench *bench = *state;
    uint32_t always = joule_tag("always"), slices = joule_tag("slices");
    machine_run(bench->meter, 1, TICK_S);
    unsigned index = open_region(bench, 0, always, 1);
    for (int tick = 0; tick < 50; tick++) {
        machine_run(bench->meter, TICK_S, TICK_S);
        for (int i = 0; i < 20; i++)
            put_region(bench, 1, slices, 0, 1 + tick * TICK_S + i * 0.005,
                       1 + tick * TICK_S + i * 0.005 + 0.0025);
    }
    close_region(bench, 0, index, always, 1, 6, 0);
    machine_run(bench->meter, 0.3, TICK_S);
    joule_result a = tag_of(bench, always, JOULE_OK), s = tag_of(bench, slices, JOULE_OK);
    struct window w = meter_window(bench->meter, JOULE_TOTAL, at(1), at(6));
    joule_quantity q = estimate_quantity(&w.joules);
    double width = (q.high - q.low) / q.value;
    near((a.window.high - a.window.low) / a.window.value, width, 0.2 * width);
    assert_true((s.window.high - s.window.low) / s.window.value > width);
    assert_true(s.window.low < q.value / 2 && s.window.high > q.value / 2);
}

/* Power that changes every 5 ms, which the readings cannot see. */
#define ROUGH_STEPS 20000
static double rough_joules[ROUGH_STEPS + 1];

static double rough_at(double s)
{
    double place = s / 0.005;
    int step = (int)place;
    return rough_joules[step] + (place - step) * (rough_joules[step + 1] - rough_joules[step]);
}

static ssize_t rough_uj(void *unused, int64_t time_ns, char *buffer, size_t size)
{
    (void)unused;
    return snprintf(buffer, size, "%lld\n",
                    (long long)(1e9 + rough_at((double)time_ns * 1e-9 - START_S) * 1e6));
}

/* Of single regions of 1 to 500 ms. The rule for slices is a bound, so more may be covered than asked. */
static void intervals_hold_the_truth(void **state)
{
    struct bench *bench = *state;
    random_state = 11;
    for (int i = 0; i < ROUGH_STEPS; i++)
        rough_joules[i + 1] = rough_joules[i] + 0.005 * (20 + 80 * draw());
    host_script_file(bench->host, "/sys/class/powercap/intel-rapl:0/energy_uj", rough_uj, NULL);
    machine_run(bench->meter, 3, TICK_S);
    int held = 0, runs = 0;
    double width = 0;
    for (double now_s = 3; now_s < 80; now_s += 0.6) {
        joule_region regions[4];
        double truth[4];
        machine_run(bench->meter, 0.6, TICK_S);
        for (int i = 0; i < 4; i++) {
            double length_s = 0.001 * pow(500, draw()), end_s = now_s + 0.5 + 0.1 * draw();
            regions[i] = put_region(bench, (unsigned)i, 1, 0, end_s - length_s, end_s);
            truth[i] = rough_at(end_s) - rough_at(end_s - length_s);
        }
        machine_run(bench->meter, 0.2, TICK_S);
        now_s += 0.2;
        for (int i = 0; i < 4; i++) {
            joule_quantity q = result_of(bench, &regions[i], JOULE_OK).window;
            held += q.low <= truth[i] && truth[i] <= q.high;
            width += (q.high - q.low) / truth[i];
            runs++;
        }
    }
    print_message("%d of %d intervals hold the truth; mean width %.2f of it\n", held, runs, width / runs);
    assert_true(held >= 0.86 * runs);
    assert_true(width / runs < 2);
}

/* --- two devices -------------------------------------------------------------------------------------------- */

static void regions_claim_devices(void **state)
{
    struct bench *bench = *state;
    machine_run(bench->meter, 1.2, TICK_S);
    joule_region cpu = put_region(bench, 0, joule_tag("c"), JOULE_REGION_CPU, 0.2, 0.8);
    joule_region gpu = put_region(bench, 1, joule_tag("g"), JOULE_REGION_GPU | SPAN_SYNCHRONISED, 0.2, 0.8);
    joule_region all = put_region(bench, 2, joule_tag("a"), 0, 0.4, 0.8);
    machine_run(bench->meter, 0.3, TICK_S);
    joule_result c = result_of(bench, &cpu, JOULE_OK), g = result_of(bench, &gpu, JOULE_OK),
                 a = result_of(bench, &all, JOULE_OK);
    near(c.window.value, 30, 0.01);
    near(c.attributed.value, 10 + 10, 0.01);
    assert_true(isnan(c.gpu.value));
    near(g.window.value, 120, 0.1);
    near(g.attributed.value, 40 + 40, 0.1);
    assert_true(isnan(g.cpu.value));
    assert_int_equal(g.unsynchronised, 0);
    near(a.window.value, 100, 0.1);
    near(a.cpu.value, 20, 0.01);
    near(a.gpu.value, 80, 0.1);
    near(a.attributed.value, 50, 0.1);
}

/* The innermost claimant of each device, not the innermost region, has the share. */
static void an_inner_region_takes_only_what_it_claims(void **state)
{
    struct bench *bench = *state;
    machine_run(bench->meter, 1.2, TICK_S);
    joule_region outer = put_region(bench, 0, joule_tag("step"), 0, 0.2, 0.8);
    joule_region inner = put_region(bench, 0, joule_tag("kernel"), JOULE_REGION_GPU, 0.4, 0.6);
    machine_run(bench->meter, 0.3, TICK_S);
    joule_result o = result_of(bench, &outer, JOULE_OK), i = result_of(bench, &inner, JOULE_OK);
    near(o.attributed.value, 0.6 * 250, 0.1);
    near(o.self.value, 0.6 * 50 + 0.4 * 200, 0.1);
    near(i.self.value, 0.2 * 200, 0.1);
    assert_int_equal(i.unsynchronised, 1);
    assert_int_equal(tag_of(bench, joule_tag("kernel"), JOULE_OK).unsynchronised, 1);
}

static int hook_calls;

static void hook(void *context)
{
    (*(int *)context)++;
}

static void the_hook_is_called_at_both_edges(void **state)
{
    (void)state;
    joule_set_sync(hook, &hook_calls);
    hook_calls = 0;
    joule_region gpu = joule_begin_with(1, JOULE_REGION_GPU);
    assert_int_equal(hook_calls, 1);
    joule_end(&gpu);
    assert_int_equal(hook_calls, 2);
    joule_region all = joule_begin(1), cpu = joule_begin_with(1, JOULE_REGION_CPU);
    joule_end(&cpu);
    joule_end(&all);
    assert_int_equal(hook_calls, 2);
    gpu = joule_begin_with(1, JOULE_REGION_GPU);
    joule_set_sync(NULL, NULL);
    joule_end(&gpu);
    assert_false(gpu.flags & SPAN_SYNCHRONISED);
}

static joule_status add_span(struct bench *bench, uint32_t tag, double begin_s, double end_s)
{
    /* A clock in microseconds that began 500 s into ours and runs 1 % fast. */
    double scale_ns = 1000 / 1.01;
    joule_span span = {.struct_size = sizeof span,
                       .tag = tag,
                       .flags = JOULE_REGION_GPU,
                       .device_index = -1,
                       .begin = ((START_S + begin_s) * 1e9 - 500e9) / scale_ns,
                       .end = ((START_S + end_s) * 1e9 - 500e9) / scale_ns,
                       .offset_ns = 500e9,
                       .scale_ns = scale_ns,
                       .error_ns = 1000};
    return joule_span_add(bench->meter, &span);
}

static void foreign_spans_share_like_threads(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("stream");
    machine_run(bench->meter, 1.2, TICK_S);
    assert_int_equal(add_span(bench, tag, 0.3, 0.7), JOULE_OK);
    assert_int_equal(add_span(bench, tag, 0.5, 0.9), JOULE_OK);
    joule_region host = put_region(bench, 0, joule_tag("host"), JOULE_REGION_CPU, 0.3, 0.9);
    machine_run(bench->meter, 2, TICK_S); /* spans are waited for, a second */
    joule_result r = tag_of(bench, tag, JOULE_OK), h = result_of(bench, &host, JOULE_OK);
    assert_int_equal(r.count, 2);
    near(r.coverage, 1, 1e-6);
    near(r.window.value, 160, 0.1);
    near(r.attributed.value, 0.6 * 200, 0.1);
    assert_int_equal(r.unsynchronised, 0);
    near(h.attributed.value, 30, 0.01);
}

static void late_spans_say_what_they_missed_and_are_waited_for(void **state)
{
    struct bench *bench = *state;
    uint32_t late = joule_tag("late span"), next = joule_tag("next span"), busy = joule_tag("busy");
    machine_run(bench->meter, 0.5, TICK_S);
    unsigned index = open_region(bench, 0, busy, 0.5); /* so that sharing goes on */
    machine_run(bench->meter, 4, TICK_S);
    assert_int_equal(add_span(bench, late, 1.5, 2.5), JOULE_OK);
    machine_run(bench->meter, 11, TICK_S);
    assert_true(tag_of(bench, late, JOULE_OK).coverage < 0.1);
    assert_int_equal(add_span(bench, next, 12.5, 13.5), JOULE_OK); /* as late as the other */
    tag_of(bench, next, JOULE_PENDING);
    machine_run(bench->meter, 15, TICK_S);
    joule_result r = tag_of(bench, next, JOULE_OK);
    near(r.coverage, 1, 1e-6);
    near(r.attributed.value, 100, 0.1);
    close_region(bench, 0, index, busy, 0.5, 30, 0);
}

static void nonsense_spans_are_refused(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(add_span(bench, 1, 0.5, 0.4), JOULE_INVALID);
    assert_int_equal(add_span(bench, 1, NAN, 0.4), JOULE_INVALID);
    assert_int_equal(add_span(bench, 1, 0.5, INFINITY), JOULE_INVALID);
    assert_int_equal(add_span(bench, 1, 0.5, 1e9), JOULE_INVALID);
    assert_int_equal(add_span(bench, 1, -1e9, 0.1), JOULE_INVALID);
    assert_int_equal(joule_span_add(bench->meter, NULL), JOULE_INVALID);
}

static void the_table_has_the_largest_first(void **state)
{
    struct bench *bench = *state;
    machine_run(bench->meter, 1.2, TICK_S);
    static const double lengths[] = {0.1, 0.5, 0.3, 0.2};
    for (unsigned i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "row %u", i);
        put_region(bench, i, joule_tag(name), JOULE_REGION_CPU, 0.1, 0.1 + lengths[i]);
    }
    machine_run(bench->meter, 0.3, TICK_S);
    struct tag_row rows[8];
    assert_int_equal(collector_table(bench->meter->collector, rows, 8), 4);
    assert_string_equal(rows[0].name, "row 1");
    assert_string_equal(rows[3].name, "row 0");
    assert_int_equal(rows[0].flags, JOULE_REGION_CPU);
    assert_int_equal(collector_table(bench->meter->collector, rows, 2), 2);
    assert_string_equal(rows[0].name, "row 1");
    assert_string_equal(rows[1].name, "row 2");
}

/* Two meters of one process both see every region. */
static void two_meters_share_what_is_read(void **state)
{
    struct bench *bench = *state;
    joule_meter *second = machine_open(bench->host, "rapl_powercap");
    uint32_t tag = joule_tag("both");
    for (int i = 0; i < 10; i++) {
        machine_run(bench->meter, TICK_S, TICK_S);
        meter_tick(second);
        if (i == 5)
            put_region(bench, 0, tag, JOULE_REGION_CPU, 0.2, 0.4);
    }
    joule_result r = {.struct_size = sizeof r};
    assert_int_equal(joule_tag_result(second, tag, &r), JOULE_OK);
    near(r.window.value, 10, 0.01);
    near(tag_of(bench, tag, JOULE_OK).window.value, 10, 0.01);
    joule_close(second);
}

static void finished_regions_go_into_the_record(void **state)
{
    struct bench *bench = *state;
    char path[] = "/tmp/joule-test-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    struct recorder *recorder = NULL;
    assert_int_equal(recorder_open(bench->meter, path, "test", &recorder, NULL), JOULE_OK);
    machine_run(bench->meter, 0.5, TICK_S);
    joule_region region = put_region(bench, 2, joule_tag("kept in a file"), JOULE_REGION_CPU, 0.2, 0.4);
    machine_run(bench->meter, 0.3, TICK_S);
    assert_int_equal(recorder_close(recorder, NULL), JOULE_OK);
    struct record record;
    assert_int_equal(record_read(path, &record, NULL), JOULE_OK);
    unlink(path);
    assert_int_equal(record.region_count, 1);
    assert_int_equal(record.regions[0].begin_ns, region.begin_ns);
    assert_int_equal(record.regions[0].end_ns, region.end_ns);
    assert_int_equal(record.regions[0].flags, JOULE_REGION_CPU);
    assert_string_equal(record.names[record.regions[0].name], "kept in a file");
    record_free(&record);
}

/* Full rings of 8 threads between two readings. */
static void many_regions_cost_little(void **state)
{
    struct bench *bench = *state;
    machine_run(bench->meter, 1, TICK_S);
    uint32_t tag = joule_tag("many");
    double spent_ms = 0;
    for (int round = 0; round < 5; round++) {
        for (unsigned thread = 0; thread < 8; thread++)
            for (int i = 0; i < 3500; i++)
                put_region(bench, thread, tag, 0, 0.9 + round * TICK_S + i * 2.8e-5,
                           0.9 + round * TICK_S + i * 2.8e-5 + 2e-5);
        struct timespec a, b;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        machine_run(bench->meter, TICK_S, TICK_S);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        spent_ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6;
    }
    print_message("28000 regions: %.2f ms\n", spent_ms);
    machine_run(bench->meter, 0.3, TICK_S);
    joule_result r = tag_of(bench, tag, JOULE_OK);
    assert_int_equal(r.count, 5 * 8 * 3500);
    near(r.attributed.value, 5 * 3500 * 2e-5 * 50, 0.01);
}

#define STEADY(test)    cmocka_unit_test_setup_teardown(test, set_up_steady, tear_down)
#define WANDERING(test) cmocka_unit_test_setup_teardown(test, set_up_wandering, tear_down)
#define BOARD(test)     cmocka_unit_test_setup_teardown(test, set_up_with_board, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STEADY(a_region_alone_gets_its_window),
        STEADY(regions_before_the_first_reading_say_so),
        STEADY(threads_share_equally_and_nested_ones_take_over),
        STEADY(a_region_may_stay_open_for_many_readings),
        STEADY(another_thread_may_end_it),
        STEADY(a_region_whose_end_never_comes_stops_taking),
        STEADY(folded_regions_count_without_energy),
        STEADY(finish_does_not_wait_for_the_next_reading),
        STEADY(a_region_that_costs_nothing_takes_no_place),
        STEADY(bad_questions_are_refused),
        WANDERING(all_shares_add_up_to_the_window),
        WANDERING(parts_of_a_window_add_up),
        WANDERING(unseen_slices_widen_the_interval),
        STEADY(intervals_hold_the_truth),
        BOARD(regions_claim_devices),
        BOARD(an_inner_region_takes_only_what_it_claims),
        BOARD(the_hook_is_called_at_both_edges),
        BOARD(foreign_spans_share_like_threads),
        BOARD(late_spans_say_what_they_missed_and_are_waited_for),
        BOARD(nonsense_spans_are_refused),
        STEADY(the_table_has_the_largest_first),
        BOARD(two_meters_share_what_is_read),
        STEADY(finished_regions_go_into_the_record),
        STEADY(many_regions_cost_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
