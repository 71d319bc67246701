/* Tests that regions get their energy on a scripted machine of known power, in virtual time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "joule/api/tag_row.h"
#include "joule/collector/collector_state.h"
#include "joule/record/record.h"
#include "support/check.h"
#include "support/region_bench.h"

static void a_region_alone_gets_its_window(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("alone");
    bench_run(bench, 1);
    joule_region region = bench_put(bench, 0, tag, 0, 0.23, 0.87);
    joule_result r = bench_result(bench, &region, JOULE_PENDING);
    assert_int_equal(r.is_final, 0);
    assert_true(isnan(r.attributed.value));
    bench_tag(bench, tag, JOULE_PENDING);
    bench_run(bench, 0.3);
    r = bench_result(bench, &region, JOULE_OK);
    assert_near(r.duration_s, 0.64, 1e-12);
    assert_near(r.coverage, 1, 1e-9);
    assert_near(r.window.value, 32, 1e-4);
    assert_near(r.attributed.value, r.window.value, 1e-9);
    assert_near(r.self.value, r.window.value, 1e-9);
    assert_near(r.cpu.value, r.window.value, 1e-9);
    assert_true(isnan(r.gpu.value));
    assert_int_equal(r.window.cls, JOULE_CLASS_MEASURED);
    assert_int_equal(r.attributed.cls, JOULE_CLASS_DERIVED);
    assert_int_equal(r.self.cls, JOULE_CLASS_DERIVED);
    assert_true(r.window.low < 32 && r.window.high > 32);
    joule_result t = bench_tag(bench, tag, JOULE_OK);
    assert_int_equal(t.count, 1);
    assert_near(t.attributed.value, r.attributed.value, 1e-9);
}

static void regions_before_the_first_reading_have_a_status(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("early");
    bench_put(bench, 0, tag, 0, -5, -4);
    bench_put(bench, 0, tag, 0, -1, 1);
    bench_run(bench, 2);
    joule_result t = bench_tag(bench, tag, JOULE_OK);
    assert_int_equal(t.count, 2);
    assert_near(t.duration_s, 3, 1e-9);
    assert_near(t.coverage, 1.0 / 3, 1e-3);
    assert_near(t.window.value, 50, 0.1);
}

static void threads_share_equally_and_nested_ones_take_over(void **state)
{
    struct bench *bench = *state;
    uint32_t outer = joule_tag("outer"), inner = joule_tag("inner"), other = joule_tag("other");
    bench_run(bench, 1.2);
    bench_put(bench, 0, outer, 0, 0.1, 0.9);
    bench_put(bench, 0, inner, 0, 0.3, 0.5);
    bench_put(bench, 1, other, 0, 0.4, 0.8);
    bench_run(bench, 0.3);
    joule_result o = bench_tag(bench, outer, JOULE_OK), i = bench_tag(bench, inner, JOULE_OK),
                 x = bench_tag(bench, other, JOULE_OK);
    assert_near(o.window.value, 40, 1e-3);
    assert_near(o.attributed.value, 0.3 * 50 + 0.4 * 25 + 0.1 * 50, 1e-3);
    assert_near(o.self.value, o.attributed.value - i.attributed.value, 1e-9);
    assert_near(i.attributed.value, 0.1 * 50 + 0.1 * 25, 1e-3);
    assert_near(x.attributed.value, 0.4 * 25, 1e-3);
    assert_near(x.window.value, 20, 1e-3);
}

static void a_region_may_stay_open_for_many_readings(void **state)
{
    struct bench *bench = *state;
    uint32_t slow = joule_tag("slow"), quick = joule_tag("quick");
    bench_run(bench, 0.5);
    unsigned index = bench_open(bench, 0, slow, 0.45);
    for (int i = 0; i < 20; i++) {
        bench_run(bench, BENCH_TICK_S);
        bench_put(bench, 0, quick, 0, 0.5 + i * BENCH_TICK_S + 0.02, 0.5 + i * BENCH_TICK_S + 0.07);
    }
    bench_tag(bench, slow, JOULE_ABSENT);
    bench_close(bench, 0, index, slow, 0.45, 2.48, 0);
    bench_run(bench, 0.3);
    joule_result s = bench_tag(bench, slow, JOULE_OK), q = bench_tag(bench, quick, JOULE_OK);
    assert_int_equal(s.count, 1);
    assert_int_equal(q.count, 20);
    assert_near(s.coverage, 1, 1e-9);
    assert_near(s.window.value, 101.5, 1e-3);
    assert_near(q.window.value, 50, 1e-3);
    assert_near(s.attributed.value, s.window.value, 1e-9);
    assert_near(s.self.value, s.window.value - q.window.value, 1e-9);
}

static void another_thread_may_end_a_region(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("handed over");
    bench_run(bench, 0.5);
    unsigned index = bench_open(bench, 3, tag, 0.45);
    bench_run(bench, 1);
    /* Thread 1 ends the region of thread 3. The reader reads slot 1 before slot 3. */
    bench_close(bench, 3, index, tag, 0.45, 1.45, 1);
    bench_run(bench, 0.3);
    joule_result r = bench_tag(bench, tag, JOULE_OK);
    assert_int_equal(r.count, 1);
    assert_near(r.window.value, 50, 1e-3);
    assert_near(r.coverage, 1, 1e-9);
}

static void region_without_end_stops_getting_energy(void **state)
{
    struct bench *bench = *state;
    uint32_t lost = joule_tag("lost"), kept = joule_tag("kept");
    bench_run(bench, 0.5);
    unsigned index = bench_open(bench, 0, lost, 0.45);
    bench_run(bench, 0.2);
    /* the region is no longer open, but its end is not in the ring, as if it was folded or lost */
    bench_lose(bench, 0, index, 0.45);
    bench_run(bench, 3);
    bench_put(bench, 1, kept, 0, 3, 3.5);
    bench_run(bench, 0.3);
    bench_tag(bench, lost, JOULE_ABSENT);
    joule_result k = bench_tag(bench, kept, JOULE_OK);
    assert_near(k.attributed.value, k.window.value, 1e-9);
}

/* A region that is no longer open waits until its end is read. Here more regions wait than the collector can
 * store. It drops only the region that has waited longest. */
static void too_many_lost_regions_give_up_the_oldest(void **state)
{
    struct bench *bench = *state;
    enum { FULL = MAX_LOST - 2 };
    uint32_t first = joule_tag("first"), oldest = joule_tag("oldest"), last = joule_tag("last"),
             rest = joule_tag("rest");
    unsigned places[FULL + 2];
    bench_run(bench, 0.5);
    unsigned first_place = bench_open(bench, 0, first, 0.45),
             oldest_place = bench_open(bench, 0, oldest, 0.45);
    for (unsigned i = 0; i < FULL + 2; i++)
        places[i] = bench_open(bench, 1 + i / SESSION_OPEN, i == FULL - 1 ? last : rest, 0.45);
    bench_run(bench, BENCH_TICK_S);
    bench_lose(bench, 0, first_place, 0.45);
    bench_lose(bench, 0, oldest_place, 0.45);
    bench_run(bench, BENCH_TICK_S);
    for (unsigned i = 0; i < FULL; i++)
        bench_lose(bench, 1 + i / SESSION_OPEN, places[i], 0.45);
    bench_run(bench, BENCH_TICK_S);
    bench_end(bench, 0, first_place, first, 0.45, 0.8, 7);
    bench_run(bench, BENCH_TICK_S);
    for (unsigned i = FULL; i < FULL + 2; i++)
        bench_lose(bench, 1 + i / SESSION_OPEN, places[i], 0.45);
    bench_run(bench, BENCH_TICK_S);
    bench_end(bench, 0, oldest_place, oldest, 0.45, 0.95, 7);
    bench_end(bench, 1 + (FULL - 1) / SESSION_OPEN, places[FULL - 1], last, 0.45, 0.95, 7);
    bench_run(bench, 0.3);
    assert_near(bench_tag(bench, first, JOULE_OK).coverage, 1, 1e-9);
    assert_near(bench_tag(bench, last, JOULE_OK).coverage, 1, 1e-9);
    assert_true(bench_tag(bench, oldest, JOULE_OK).coverage < 0.5);
}

static void finish_does_not_wait_for_the_next_reading(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("last");
    bench_run(bench, 1);
    host_script_set_time(bench->host, bench_at(1.0002));
    bench_put(bench, 0, tag, 0, 0.9, 1.0001);
    collector_finish(collector_of(bench->meter));
    joule_result r = bench_tag(bench, tag, JOULE_OK);
    assert_near(r.window.value, 5.005, 0.03);
    assert_true(r.coverage > 0.99);
}

static void a_region_that_costs_nothing_takes_no_place(void **state)
{
    struct bench *bench = *state;
    bench_run(bench, 1);
    uint32_t tag = joule_tag("empty");
    joule_region region = bench_put(bench, 0, tag, 0, 0.5, 0.5);
    bench_run(bench, 0.3);
    joule_result r = bench_result(bench, &region, JOULE_OK);
    assert_true(r.duration_s == 0 && r.coverage == 0);
}

static void wrong_queries_are_refused(void **state)
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

/* --- many regions ------------------------------------------------------------------------------------ */

static void the_table_has_the_largest_first(void **state)
{
    struct bench *bench = *state;
    bench_run(bench, 1.2);
    static const double lengths[] = {0.1, 0.5, 0.3, 0.2};
    for (unsigned i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "row %u", i);
        bench_put(bench, i, joule_tag(name), JOULE_REGION_CPU, 0.1, 0.1 + lengths[i]);
    }
    bench_run(bench, 0.3);
    struct tag_row rows[8];
    assert_int_equal(tag_row_list(bench->meter, rows, 8), 4);
    assert_string_equal(rows[0].name, "row 1");
    assert_string_equal(rows[3].name, "row 0");
    assert_int_equal(rows[0].flags, JOULE_REGION_CPU);
    assert_int_equal(tag_row_list(bench->meter, rows, 2), 2);
    assert_string_equal(rows[0].name, "row 1");
    assert_string_equal(rows[1].name, "row 2");
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
    bench_run(bench, 0.5);
    joule_region region = bench_put(bench, 2, joule_tag("kept in a file"), JOULE_REGION_CPU, 0.2, 0.4);
    bench_run(bench, 0.3);
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

/* The rings of 8 threads are filled between two readings. */
static void many_regions_cost_little(void **state)
{
    struct bench *bench = *state;
    bench_run(bench, 1);
    uint32_t tag = joule_tag("many");
    double spent_ms = 0;
    for (int round = 0; round < 5; round++) {
        for (unsigned thread = 0; thread < 8; thread++)
            for (int i = 0; i < 3500; i++)
                bench_put(bench, thread, tag, 0, 0.9 + round * BENCH_TICK_S + i * 2.8e-5,
                          0.9 + round * BENCH_TICK_S + i * 2.8e-5 + 2e-5);
        struct timespec a, b;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        bench_run(bench, BENCH_TICK_S);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        spent_ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6;
    }
    print_message("28000 regions: %.2f ms\n", spent_ms);
    bench_run(bench, 0.3);
    joule_result r = bench_tag(bench, tag, JOULE_OK);
    assert_int_equal(r.count, 5 * 8 * 3500);
    assert_near(r.attributed.value, 5 * 3500 * 2e-5 * 50, 0.01);
}

#define STEADY(test) cmocka_unit_test_setup_teardown(test, bench_set_up_steady, bench_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STEADY(a_region_alone_gets_its_window),
        STEADY(regions_before_the_first_reading_have_a_status),
        STEADY(threads_share_equally_and_nested_ones_take_over),
        STEADY(a_region_may_stay_open_for_many_readings),
        STEADY(another_thread_may_end_a_region),
        STEADY(region_without_end_stops_getting_energy),
        STEADY(too_many_lost_regions_give_up_the_oldest),
        STEADY(finish_does_not_wait_for_the_next_reading),
        STEADY(a_region_that_costs_nothing_takes_no_place),
        STEADY(wrong_queries_are_refused),
        STEADY(the_table_has_the_largest_first),
        STEADY(finished_regions_go_into_the_record),
        STEADY(many_regions_cost_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
