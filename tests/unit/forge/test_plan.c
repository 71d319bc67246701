/* Plans of memory: what lives at one time never overlaps, and the size is what the last item ends at. */
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
        uint64_t size, end = 0;
        for (int i = 0; i < ITEMS; i++) {
            uint32_t first = (uint32_t)rand() % LAUNCHES, length = (uint32_t)rand() % 12;
            items[i] = (struct plan_item){.size_bytes = 64 * (uint64_t)(rand() % 50),
                                          .first = first,
                                          .last = first + length < LAUNCHES ? first + length : LAUNCHES - 1};
        }
        assert_true(plan(items, ITEMS, &size));
        for (int i = 0; i < ITEMS; i++) {
            end = items[i].offset_bytes + items[i].size_bytes > end
                      ? items[i].offset_bytes + items[i].size_bytes
                      : end;
            for (int k = 0; k < i; k++)
                if (items[i].first <= items[k].last && items[k].first <= items[i].last)
                    assert_true(items[i].offset_bytes >= items[k].offset_bytes + items[k].size_bytes ||
                                items[k].offset_bytes >= items[i].offset_bytes + items[i].size_bytes);
        }
        assert_true(end == size && size >= plan_bound(items, ITEMS, LAUNCHES));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans_never_overlap),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
