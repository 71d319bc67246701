/* Tests that a report is refused as a whole if any allocation for the report fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "joule/report/report.h"
#include "support/region_bench.h"

#define TAGS 70 /* more than a report's initial capacity */

static int allowed = -1; /* number of allocations that succeed before one fails; < 0 means that none fails */

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    if (allowed >= 0 && allowed-- == 0)
        return NULL;
    return __real_calloc(count, size);
}

static void put_regions(struct bench *bench)
{
    bench_run(bench, 1);
    for (unsigned i = 0; i < TAGS; i++) {
        char name[16];
        snprintf(name, sizeof name, "part %u", i);
        bench_put(bench, i % BENCH_THREADS, joule_tag(name), 0, 0.1, 0.9);
    }
    bench_run(bench, 1);
}

static size_t parts_in(const char *json)
{
    size_t count = 0;
    for (const char *at = json; (at = strstr(at, "\"part ")); at++)
        count++;
    return count;
}

static void a_part_that_finds_no_memory_fails_the_whole(void **state)
{
    static char text[1 << 16];
    joule_status status = JOULE_NO_MEMORY;
    int failing = 0;
    put_regions(*state);
    for (; status != JOULE_OK && failing < 100; failing++) {
        size_t length = 0;
        *text = '\0';
        allowed = failing;
        status = joule_report_json(((struct bench *)*state)->meter, "p", text, sizeof text, &length);
        allowed = -1;
        assert_true(status == JOULE_OK || (status == JOULE_NO_MEMORY && !*text && length == 0));
    }
    assert_int_equal(status, JOULE_OK);
    assert_int_equal(parts_in(text), TAGS);
    assert_true(failing > 3); /* at least the text and two lists of functions are allocated */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        a_part_that_finds_no_memory_fails_the_whole, bench_set_up_steady, bench_tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
