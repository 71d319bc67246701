/* Tests that impossible entries which another program wrote into shared memory are rejected and counted, and
 * change no result. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "joule/api/tag_row.h"
#include "joule/collector/collector_state.h"
#include "support/check.h"
#include "support/region_bench.h"

/* Returns the number of entries rejected since the previous call. */
static uint64_t left_out(struct bench *bench)
{
    static uint64_t before;
    uint64_t all = collector_limits(collector_of(bench->meter)).implausible, more = all - before;
    before = all;
    return more;
}

static struct tag_row row_of(struct bench *bench, uint32_t tag)
{
    struct tag_row row;
    assert_true(tag_row_get(bench->meter, tag, &row));
    return row;
}

/* Fails if a value is negative, infinite, or above what the machine used. */
static void check_row(const struct tag_row *row, double machine_joules)
{
    const joule_quantity *quantities[] = {&row->result.attributed, &row->result.self, &row->timestamp_joules};
    for (int i = 0; i < 3; i++) {
        const joule_quantity *q = quantities[i];
        if (isnan(q->value))
            continue;
        assert_true(q->low >= 0 && q->low <= q->value && q->value <= q->high && q->high < 1e15);
        assert_true(q->value <= machine_joules * 1.5);
    }
    assert_true(row->result.count <= INT64_MAX && row->result.folded <= row->result.count);
    assert_true(isnan(row->result.duration_s) ||
                (row->result.duration_s >= 0 && row->result.duration_s < 1e15));
}

static void a_count_that_no_program_reaches_is_left_out(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("count");
    bench_run(bench, 1);
    bench_fold(bench, 0, tag, 10, 0.05, 0.05, 1.05);
    bench_run(bench, BENCH_TICK_S);
    struct fold *fold = &bench->slots[0]->folds[tag];
    static const uint64_t counts[] = {UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 62, 3};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        atomic_store(&fold->count, counts[i]);
        atomic_fetch_add(&bench->slots[0]->fold_mark.changes, 1);
        bench_run(bench, BENCH_TICK_S);
    }
    bench_run(bench, 0.3);
    struct tag_row row = row_of(bench, tag);
    assert_int_equal(row.result.count, 10);
    check_row(&row, 50 * 1.9);
    assert_int_equal(left_out(bench), 4);
}

static void impossible_durations_are_left_out(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("time");
    bench_run(bench, 1);
    struct fold *fold = &bench->slots[0]->folds[tag];
    atomic_store(&fold->count, 1);
    atomic_store(&fold->duration_ns, UINT64_MAX / 2);
    atomic_store(&fold->own_ns, UINT64_MAX / 2);
    atomic_store(&bench->slots[0]->fold_mark.tags, SESSION_TAGS);
    atomic_fetch_add(&bench->slots[0]->fold_mark.changes, 1);
    bench_run(bench, 0.5);
    joule_result result = {.struct_size = sizeof result};
    assert_int_equal(joule_tag_result(bench->meter, tag, &result), JOULE_ABSENT);
    assert_int_equal(left_out(bench), 1);
}

/* One thread has 1,000 regions, and each claims to last the whole second. */
static void overlapping_regions_get_at_most_the_energy_used(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("piled up");
    bench_run(bench, 1.2);
    for (int i = 0; i < 1000; i++)
        bench_put(bench, 0, tag, 0, 0.1, 1.1);
    bench_run(bench, 0.3);
    struct tag_row row = row_of(bench, tag);
    assert_true(row.result.attributed.value <= 1.2 * BENCH_WATTS);
    assert_true(row.result.self.value <= 1.2 * BENCH_WATTS);
}

static void a_future_region_is_left_out(void **state)
{
    struct bench *bench = *state;
    bench_run(bench, 1);
    left_out(bench);
    bench_put(bench, 0, joule_tag("future"), 0, 0.5, 1e6);
    bench_run(bench, 0.3);
    assert_int_equal(left_out(bench), 1);
}

static void expectations_are_limited_by_the_machine(void **state)
{
    struct bench *bench = *state;
    uint32_t sane = joule_tag("expected"), low = joule_tag("low end"), high = joule_tag("too much");
    struct session *session = session_current();
    bench_run(bench, 1);
    session_set_expected(session, sane, (joule_quantity){1e-3, 5e-4, 2e-3, JOULE_CLASS_ASSUMED, 0});
    session_set_expected(session, low, (joule_quantity){1e-3, -1e307, 1e300, JOULE_CLASS_ASSUMED, 0});
    session_set_expected(session, high, (joule_quantity){5.8e13, 5.7e13, 5.9e13, JOULE_CLASS_ASSUMED, 0});
    for (int i = 0; i < 10; i++) {
        slot_fold(bench->slots[0], &(struct span){.tag = (uint16_t)sane}, 0);
        slot_fold(bench->slots[0], &(struct span){.tag = (uint16_t)low}, 0);
        slot_fold(bench->slots[0], &(struct span){.tag = (uint16_t)high}, 0);
    }
    bench_run(bench, 0.3);
    struct tag_row rows[3] = {row_of(bench, sane), row_of(bench, low), row_of(bench, high)};
    for (int i = 0; i < 3; i++)
        check_row(&rows[i], 50 * 1.3);
    assert_near(rows[0].result.attributed.value, 0.01, 1e-12);
    assert_true(rows[1].result.attributed.low >= 0);
    assert_true(isnan(rows[2].result.attributed.value));
}

static void stamps_that_take_longer_than_any_are_unknown(void **state)
{
    (void)state;
    struct session_map *map = session_map(session_current());
    atomic_store(&map->stamp_seconds, 1e300);
    assert_true(isnan(session_timestamp_seconds(session_current())));
    atomic_store(&map->stamp_seconds, -1.0);
    assert_true(isnan(session_timestamp_seconds(session_current())));
    atomic_store(&map->stamp_seconds, 0.0);
}

static void ignore(void *context, const struct slot_update *update)
{
    (void)context, (void)update;
}

/* The begin of a shared session is known, so regions that begin earlier are rejected. */
static void a_region_older_than_the_session_is_left_out(void **state)
{
    (void)state;
    static struct reader reader;
    static struct session_map map;
    struct span spans[] = {{.begin_ns = 1, .end_ns = 2000, .index = SPAN_NOT_LISTED},
                           {.begin_ns = 1500, .end_ns = 2000, .index = SPAN_NOT_LISTED},
                           {.begin_ns = 1, .end_ns = 2000, .index = SPAN_NOT_LISTED, .flags = SPAN_FOREIGN}};
    for (int i = 0; i < 3; i++)
        slot_push(&map.slots[0], &spans[i]);
    map.owners[0] = session_owner(0, 1);
    map.slots_used = 1;
    struct slot_update *update = &reader.update;
    reader_start(&reader, &map, 1000);
    reader_round(&reader, 3000, false, ignore, NULL);
    assert_int_equal(update->span_count, 2);
    assert_int_equal(update->spans[0].begin_ns, 1500);
    assert_int_equal(update->spans[1].begin_ns, 1000);
    assert_int_equal(reader.implausible, 1);
}

#define STEADY(test) cmocka_unit_test_setup_teardown(test, bench_set_up_steady, bench_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STEADY(a_count_that_no_program_reaches_is_left_out),
        STEADY(impossible_durations_are_left_out),
        STEADY(overlapping_regions_get_at_most_the_energy_used),
        STEADY(a_future_region_is_left_out),
        STEADY(expectations_are_limited_by_the_machine),
        STEADY(stamps_that_take_longer_than_any_are_unknown),
        cmocka_unit_test(a_region_older_than_the_session_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
