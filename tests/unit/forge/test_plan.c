/* Checks memory plans: items alive at one time never overlap, the size is the end of the highest item, and
 * each item is in the lowest gap.
 *
 * The planner must find this gap without comparing an item with all others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "forge/compiler/plan.h"

static void test_plans_never_overlap(void **state)
{
    (void)state;
    enum { ITEMS = 120, LAUNCHES = 60 };
    srand(3);
    for (int round = 0; round < 200; round++) {
        struct plan_item items[ITEMS];
        uint64_t end = 0;
        struct plan_result result;
        for (int i = 0; i < ITEMS; i++) {
            uint32_t first = (uint32_t)rand() % LAUNCHES, length = (uint32_t)rand() % 12;
            items[i] = (struct plan_item){.size_bytes = 64 * (uint64_t)(rand() % 50),
                                          .first = first,
                                          .last = first + length < LAUNCHES ? first + length : LAUNCHES - 1};
        }
        assert_true(plan(items, ITEMS, LAUNCHES, &result));
        for (int i = 0; i < ITEMS; i++) {
            end = items[i].offset_bytes + items[i].size_bytes > end
                      ? items[i].offset_bytes + items[i].size_bytes
                      : end;
            for (int k = 0; k < i; k++)
                if (items[i].first <= items[k].last && items[k].first <= items[i].last)
                    assert_true(items[i].offset_bytes >= items[k].offset_bytes + items[k].size_bytes ||
                                items[k].offset_bytes >= items[i].offset_bytes + items[i].size_bytes);
        }
        assert_true(end == result.size_bytes && end >= result.bound_bytes);
    }
}

/* --- many items ----------------------------------------------------------------------------------------- */

enum { MANY = 2000, SPAN = 2 * MANY };

/* As in training, most items are alive for a few launches, and others until the backward pass. */
static struct plan_item *many_items(uint64_t sizes)
{
    struct plan_item *items = calloc(MANY, sizeof *items);
    assert_non_null(items);
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t first = rand() % 8 ? i : (uint32_t)rand() % SPAN, last = first + (uint32_t)rand() % 10;
        if (rand() % 2)
            last = SPAN - 1 - first > first ? SPAN - 1 - first : first;
        items[i] = (struct plan_item){.size_bytes = 64 * (1 + (uint64_t)rand() % sizes),
                                      .first = first,
                                      .last = last < SPAN ? last : SPAN - 1};
    }
    return items;
}

static int by_size(const void *left, const void *right)
{
    const struct plan_item *a = left, *b = right;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? 1 : -1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static bool meet(const struct plan_item *a, const struct plan_item *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Returns the lowest free offset of item `i`, given the offsets of earlier items in any order. */
static uint64_t lowest(const struct plan_item *items, size_t i)
{
    uint64_t offset = 0;
    for (size_t k = 0; k < i; k++)
        if (meet(&items[k], &items[i]) && items[k].offset_bytes < offset + items[i].size_bytes &&
            offset < items[k].offset_bytes + items[k].size_bytes) {
            offset = items[k].offset_bytes + items[k].size_bytes;
            k = SIZE_MAX; /* restart with the first item at the new offset */
        }
    return offset;
}

/* The test computes each offset by definition: items are placed in order of size, each as low as earlier
 * items permit. */
static void test_each_item_is_in_the_lowest_gap(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1, 3, 40, 100000};
    srand(11);
    for (size_t round = 0; round < 4; round++) {
        struct plan_item *items = many_items(sizes[round]);
        struct plan_result result;
        qsort(items, MANY, sizeof *items, by_size);
        assert_true(plan(items, MANY, SPAN, &result));
        for (size_t i = 0; i < MANY; i += 1 + (size_t)rand() % 40)
            assert_int_equal(items[i].offset_bytes, lowest(items, i));
        free(items);
    }
}

/* The number of examined items must be a small part of all pairs of items, although half of all items are
 * alive at one time. Each layer has one item until the backward pass, and another for a short time. */
static void test_search_visits_few_items(void **state)
{
    (void)state;
    enum { LAYERS = MANY, ITEMS = 3 * LAYERS };
    struct plan_item *items = calloc(ITEMS, sizeof *items);
    struct plan_result result;
    assert_non_null(items);
    for (uint32_t i = 0; i < LAYERS; i++) {
        items[3 * i] = (struct plan_item){.size_bytes = 256, .first = i, .last = SPAN - 1 - i};
        items[3 * i + 1] = (struct plan_item){.size_bytes = 64, .first = i, .last = i + 1};
        items[3 * i + 2] = (struct plan_item){.size_bytes = 512, .first = SPAN - 2 - i, .last = SPAN - 1 - i};
    }
    assert_true(plan(items, ITEMS, SPAN, &result));
    assert_in_range(result.comparisons, ITEMS, (uint64_t)ITEMS * ITEMS / 15);
    assert_true(result.size_bytes == result.bound_bytes);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans_never_overlap),
        cmocka_unit_test(test_each_item_is_in_the_lowest_gap),
        cmocka_unit_test(test_search_visits_few_items),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
