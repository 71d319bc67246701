/* Tests the shared memory of regions: tags, slots, rings, folding, and the board. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "support/session_rounds.h"

static void equal_names_get_equal_numbers(void **state)
{
    (void)state;
    uint32_t a = joule_tag("alpha"), b = joule_tag("beta");
    assert_int_not_equal(a, b);
    assert_int_equal(a, joule_tag("alpha"));
    assert_int_equal(b, joule_tag("beta"));
    assert_int_equal(joule_tag(NULL), TAG_OTHER);
    assert_int_equal(joule_tag(""), TAG_OTHER);
    char name[SESSION_NAME];
    session_tag_name(session_current(), a, name);
    assert_string_equal(name, "alpha");
    session_tag_name(session_current(), 4000000000u, name);
    assert_string_equal(name, "(other)");
}

static void long_names_are_cut_between_characters(void **state)
{
    (void)state;
    char long_name[SESSION_NAME + 10], name[SESSION_NAME];
    memset(long_name, 'x', sizeof long_name);
    /* a character of two bytes begins at the last byte that a name may have, so it does not fit */
    memcpy(long_name + SESSION_NAME - 2, "\xc3\xa9", 2);
    long_name[sizeof long_name - 1] = '\0';
    session_tag_name(session_current(), joule_tag(long_name), name);
    assert_int_equal(strlen(name), SESSION_NAME - 2);
    assert_int_equal(name[SESSION_NAME - 3], 'x');
}

static bool fill_tags(void *unused)
{
    (void)unused;
    uint32_t seen[SESSION_TAGS] = {0};
    for (int i = 0; i < SESSION_TAGS + 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "tag %d", i);
        uint32_t tag = joule_tag(name);
        if (tag != joule_tag(name) || (tag != TAG_OTHER && seen[tag]++))
            return false;
    }
    char name[SESSION_NAME];
    session_tag_name(session_current(), SESSION_TAGS - 1, name);
    uint64_t unnamed = session_map(session_current())->unnamed_tags;
    return joule_tag("one more") == TAG_OTHER && strncmp(name, "tag ", 4) == 0 &&
           session_map(session_current())->unnamed_tags == unnamed + 1 && unnamed > 100;
}

static void full_table_gives_the_tag_other(void **state)
{
    (void)state;
    assert_true(session_in_child(fill_tags, NULL));
}

static void *make_tags(void *numbers)
{
    uint32_t *out = numbers;
    for (int i = 0; i < 500; i++) {
        char name[32];
        snprintf(name, sizeof name, "shared %d", i);
        out[i] = joule_tag(name);
    }
    return NULL;
}

static void threads_agree_on_names(void **state)
{
    (void)state;
    static uint32_t numbers[4][500];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_tags, numbers[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i < 4; i++)
        assert_memory_equal(numbers[0], numbers[i], sizeof numbers[0]);
}

static void a_region_is_open_then_finished(void **state)
{
    (void)state;
    uint32_t tag = joule_tag("one");
    joule_region outer = joule_begin_with(tag, JOULE_REGION_CPU), inner = joule_begin(tag);
    assert_int_equal(session_read_all(false).open, 2);
    assert_int_equal(joule_end(&inner), JOULE_OK);
    struct seen seen = session_read_all(false);
    assert_int_equal(seen.open, 1);
    assert_int_equal(seen.spans, 1);
    assert_int_equal(joule_end(&outer), JOULE_OK);
    seen = session_read_all(false);
    assert_int_equal(seen.open, 0);
    assert_int_equal(seen.spans, 1);
    assert_int_equal(seen.last.begin_ns, (int64_t)outer.begin_ns);
    assert_int_equal(seen.last.end_ns, (int64_t)outer.end_ns);
    assert_int_equal(seen.last.tag, tag);
    assert_int_equal(seen.last.flags, JOULE_REGION_CPU);
    assert_int_equal(session_read_all(false).spans, 0);
}

static void a_region_ends_once(void **state)
{
    (void)state;
    joule_region region = joule_begin(1), copy = region, never = {0};
    assert_int_equal(joule_end(&region), JOULE_OK);
    assert_int_equal(joule_end(&region), JOULE_INVALID);
    assert_int_equal(joule_end(&copy), JOULE_INVALID);
    assert_int_equal(joule_end(&never), JOULE_INVALID);
    assert_int_equal(joule_end(NULL), JOULE_INVALID);
    assert_int_equal(session_read_all(false).spans, 1);
}

static void ends_may_come_in_any_order(void **state)
{
    (void)state;
    joule_region regions[5];
    for (int i = 0; i < 5; i++)
        regions[i] = joule_begin(1);
    static const int order[] = {2, 0, 4, 1, 3};
    for (int i = 0; i < 5; i++)
        assert_int_equal(joule_end(&regions[order[i]]), JOULE_OK);
    struct seen seen = session_read_all(false);
    assert_int_equal(seen.spans, 5);
    assert_int_equal(seen.open, 0);
}

static void deep_nesting_is_timed_although_not_listed(void **state)
{
    (void)state;
    joule_region regions[SESSION_OPEN + 20];
    for (int i = 0; i < SESSION_OPEN + 20; i++)
        regions[i] = joule_begin(1);
    assert_int_equal(session_read_all(false).open, SESSION_OPEN);
    for (int i = SESSION_OPEN + 19; i >= 0; i--)
        assert_int_equal(joule_end(&regions[i]), JOULE_OK);
    assert_int_equal(session_read_all(false).spans, SESSION_OPEN + 20);
}

static void *end_it(void *region)
{
    return joule_end(region) == JOULE_OK ? region : NULL;
}

static void another_thread_may_end_a_region_unless_it_is_owned(void **state)
{
    (void)state;
    joule_region free_region = joule_begin(1), owned = joule_begin_with(1, JOULE_REGION_THREAD_OWNED);
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, end_it, &free_region), 0);
    pthread_join(thread, &result);
    assert_non_null(result);
    assert_int_equal(pthread_create(&thread, NULL, end_it, &owned), 0);
    pthread_join(thread, &result);
    assert_null(result);
    struct seen seen = session_read_all(false);
    assert_int_equal(seen.open, 1);
    assert_int_equal(seen.spans, 1);
    assert_int_equal(seen.last.begin_ns, (int64_t)free_region.begin_ns);
    assert_int_equal(joule_end(&owned), JOULE_OK);
}

static void a_full_ring_folds_and_keeps_counting(void **state)
{
    (void)state;
    enum { COUNT = 3 * SESSION_RING };
    uint32_t tags[4] = {joule_tag("f0"), joule_tag("f1"), joule_tag("f2"), joule_tag("f3")};
    double duration_s = 0;
    for (int i = 0; i < COUNT; i++) {
        joule_region region = joule_begin(tags[i % 4]);
        assert_int_equal(joule_end(&region), JOULE_OK);
        duration_s += (double)(region.end_ns - region.begin_ns) * 1e-9;
    }
    struct seen seen = session_read_all(false);
    assert_int_equal(seen.spans + seen.folded, COUNT);
    assert_true(seen.folded > 0 && seen.folded_s > 0 && seen.folded_s < duration_s);
    assert_true(fabs(seen.folded_s + seen.span_s - duration_s) < 1e-9);
    assert_true(fabs(seen.own_s - seen.folded_s) < 1e-9);
    assert_int_equal(session_read_all(false).folded, 0);
}

static double length_s(const joule_region *region)
{
    return (double)(region->end_ns - region->begin_ns) * 1e-9;
}

/* Expected sums of folded regions. own_s: total time without nested regions. */
struct folded_sums {
    uint64_t count;
    double total_s, own_s;
};

/* Adds a finished region if it was too short for its own entry. nested_s: seconds of regions inside it. */
static void expect_folded(struct folded_sums *sums, const joule_region *region, double nested_s)
{
    if (region->end_ns - region->begin_ns >= SESSION_LONG_NS)
        return; /* the thread was interrupted, and the region has its own entry */
    sums->count++;
    sums->total_s += length_s(region);
    sums->own_s += length_s(region) - nested_s;
}

static void a_folded_region_knows_the_time_of_those_in_it(void **state)
{
    (void)state;
    struct folded_sums sums = {0};
    for (int i = 0; i < SESSION_RING; i++) {
        joule_region filler = joule_begin(1);
        joule_end(&filler);
    }
    for (int i = 0; i < 1000; i++) {
        joule_region outer = joule_begin(2), middle = joule_begin(3), inner = joule_begin(4);
        joule_end(&inner);
        joule_end(&middle);
        joule_region second = joule_begin(4);
        joule_end(&second);
        joule_end(&outer);
        expect_folded(&sums, &inner, 0);
        expect_folded(&sums, &middle, length_s(&inner));
        expect_folded(&sums, &second, 0);
        expect_folded(&sums, &outer, length_s(&middle) + length_s(&second));
    }
    struct seen filled = session_read_all(false);
    assert_true(filled.folded >= sums.count);
    /* Regions that only filled the ring and then found it full are also folded. They have no nested
     * regions. */
    double fillers_s = filled.folded_s - sums.total_s;
    assert_true(fillers_s >= -1e-9);
    assert_true(fabs(filled.own_s - sums.own_s - fillers_s) < 1e-6);
}

static void long_regions_find_room_in_a_full_ring(void **state)
{
    (void)state;
    joule_region outer = joule_begin(1);
    struct timespec while_ = {.tv_nsec = 2 * SESSION_LONG_NS};
    nanosleep(&while_, NULL);
    for (int i = 0; i < 2 * SESSION_RING; i++) {
        joule_region region = joule_begin(2);
        joule_end(&region);
    }
    assert_int_equal(joule_end(&outer), JOULE_OK);
    struct seen seen = session_read_all(false);
    assert_int_equal(seen.last.begin_ns, (int64_t)outer.begin_ns);
}

static void every_tag_has_a_fold_of_its_own(void **state)
{
    (void)state;
    static struct slot slot;
    for (uint32_t tag = 0; tag < SESSION_TAGS; tag++)
        slot_fold(&slot, &(struct span){.end_ns = 10, .tag = (uint16_t)tag}, 7);
    for (uint32_t tag = 0; tag < SESSION_TAGS; tag++) {
        assert_int_equal(slot.folds[tag].count, 1);
        assert_int_equal(slot.folds[tag].duration_ns, 10);
        assert_int_equal(slot.folds[tag].own_ns, 7);
    }
    folds_clear(&slot.fold_mark, slot.folds);
    assert_int_equal(slot.folds[SESSION_TAGS - 1].count, 0);
}

/* --- the board ------------------------------------------------------------------------------------------ */

static bool publish_and_query(void *unused)
{
    (void)unused;
    struct session *session = session_current();
    for (int i = 0; i <= 3000; i++) {
        joule_quantity total = {10.0 * i, 9.0 * i, 11.0 * i, JOULE_CLASS_MEASURED, 0};
        joule_quantity none = quantity_unknown();
        session_publish(session, 1000 + i * 1000000000LL, &total, &total, &none);
    }
    struct window w =
        session_window(session, JOULE_TOTAL, 2500 * 1000000000LL, 2600 * 1000000000LL + 500000000);
    struct window gpu =
        session_window(session, JOULE_GPU, 2500 * 1000000000LL, 2600 * 1000000000LL + 500000000);
    joule_quantity q = estimate_quantity(&w.joules);
    return w.is_final && q.value > 1004.9 && q.value < 1005.1 && q.low < 0.92 * q.value &&
           q.high > 1.08 * q.value && gpu.covered_s == 0;
}

static void clients_read_the_board(void **state)
{
    (void)state;
    assert_true(session_in_child(publish_and_query, NULL));
}

static bool publish_late_and_query(void *unused)
{
    (void)unused;
    struct session *session = session_current();
    for (int i = 0; i <= 3; i++) {
        joule_quantity total = {10.0 * i, 9.0 * i, 11.0 * i, JOULE_CLASS_MEASURED, 0};
        session_publish(session, (10 + i) * 1000000000LL, &total, &total, &total);
    }
    struct window w = session_window(session, JOULE_TOTAL, 5 * 1000000000LL, 12 * 1000000000LL);
    struct window whole = session_window(session, JOULE_TOTAL, 10 * 1000000000LL, 12 * 1000000000LL);
    return isnan(w.joules.value) && w.is_final && fabs(whole.joules.value - 20) < 1e-9;
}

static void regions_before_the_board_are_unknown(void **state)
{
    (void)state;
    assert_true(session_in_child(publish_late_and_query, NULL));
}

#define READING_NS 50000000LL

/* Returns the joules that reading i shows since reading 0. Each reading shows 0.5 to 6.5 J more than the
 * previous one. */
static double shown_joules(int64_t i)
{
    return 0.5 * (double)i + 21.0 * (double)(i / 7) + (double)((i % 7) * (i % 7 + 1) / 2);
}

static bool about(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fabs(b);
}

/* Publishes many readings. Queries the energy since a time that is a third of the way from reading 70 to
 * reading 71. */
static bool publish_for_hours(void *unused)
{
    (void)unused;
    struct session *session = session_current();
    joule_quantity none = quantity_unknown();
    int64_t begin_ns = 1000 + 70 * READING_NS + READING_NS / 3, last = 200000;
    double at_begin = (2 * shown_joules(70) + shown_joules(71)) / 3, before = 0;
    double base[BOARD_SUMS] = {NAN, NAN, NAN}, late_base[BOARD_SUMS] = {NAN, NAN, NAN};
    for (int64_t i = 0; i <= last; i++) {
        double joules = shown_joules(i);
        joule_quantity total = {joules, joules * 0.98, joules * 1.02, JOULE_CLASS_MEASURED, 0};
        session_publish(session, 1000 + i * READING_NS, &total, &total, &none);
        if (i < 72 || (i > 1000 && i % 97))
            continue;
        struct window w = session_energy(session, JOULE_TOTAL, begin_ns, base);
        if (!about(w.joules.value, joules - at_begin, 1e-7) || w.joules.value < before)
            return false;
        before = w.joules.value;
    }
    /* At its first query for a begin time, a caller gets the energy since then, but less exactly. */
    struct window late = session_energy(session, JOULE_TOTAL, begin_ns, late_base);
    struct window half =
        session_window(session, JOULE_TOTAL, 1000 + last / 2 * READING_NS, 1000 + last * READING_NS);
    return about(late.joules.value, shown_joules(last) - at_begin, 1e-4) &&
           about(late.covered_s, late.length_s, 1e-4) &&
           about(half.joules.value, shown_joules(last) - shown_joules(last / 2), 1e-4) &&
           about(half.covered_s, half.length_s, 1e-4);
}

static void the_board_reaches_back_for_hours(void **state)
{
    (void)state;
    assert_true(session_in_child(publish_for_hours, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(equal_names_get_equal_numbers, session_forget),
        cmocka_unit_test_setup(long_names_are_cut_between_characters, session_forget),
        cmocka_unit_test_setup(full_table_gives_the_tag_other, session_forget),
        cmocka_unit_test_setup(threads_agree_on_names, session_forget),
        cmocka_unit_test_setup(a_region_is_open_then_finished, session_forget),
        cmocka_unit_test_setup(a_region_ends_once, session_forget),
        cmocka_unit_test_setup(ends_may_come_in_any_order, session_forget),
        cmocka_unit_test_setup(deep_nesting_is_timed_although_not_listed, session_forget),
        cmocka_unit_test_setup(another_thread_may_end_a_region_unless_it_is_owned, session_forget),
        cmocka_unit_test_setup(a_full_ring_folds_and_keeps_counting, session_forget),
        cmocka_unit_test_setup(a_folded_region_knows_the_time_of_those_in_it, session_forget),
        cmocka_unit_test_setup(long_regions_find_room_in_a_full_ring, session_forget),
        cmocka_unit_test_setup(every_tag_has_a_fold_of_its_own, session_forget),
        cmocka_unit_test_setup(clients_read_the_board, session_forget),
        cmocka_unit_test_setup(regions_before_the_board_are_unknown, session_forget),
        cmocka_unit_test_setup(the_board_reaches_back_for_hours, session_forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
