/* tests/cross/cmocka.h - the part of cmocka that the unit tests of kernels use, for neon.sh.
 *
 * The first failed assertion, set-up or tear-down ends the program with status 1. The tests whose names are
 * in the environment variable CROSS_LEFT_OUT are not run. */
#ifndef CROSS_CMOCKA_H
#define CROSS_CMOCKA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
    int (*set_up)(void **state), (*tear_down)(void **state); /* NULL: none */
};

static inline void fail_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));

static inline void fail_at(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%s:%d: ", file, line);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    exit(1);
}

static inline int run_all(const char *group, const struct CMUnitTest *tests, size_t count)
{
    const char *left_out = getenv("CROSS_LEFT_OUT");
    size_t passed = 0;
    for (size_t i = 0; i < count; i++) {
        void *state = NULL;
        if (left_out && strstr(left_out, tests[i].name)) {
            printf("%s: %s: left out\n", group, tests[i].name);
            continue;
        }
        if (tests[i].set_up && tests[i].set_up(&state) != 0)
            fail_at(group, 0, "%s: the set-up failed", tests[i].name);
        clock_t begin = clock();
        tests[i].run(&state);
        if (tests[i].tear_down && tests[i].tear_down(&state) != 0)
            fail_at(group, 0, "%s: the tear-down failed", tests[i].name);
        printf("%s: %s: passed, %.1f s\n", group, tests[i].name, (double)(clock() - begin) / CLOCKS_PER_SEC);
        fflush(stdout);
        passed++;
    }
    printf("%s: %zu tests passed\n", group, passed);
    return 0;
}

#define fail_msg(...)                       fail_at(__FILE__, __LINE__, __VA_ARGS__)
#define _fail(file, line)                   fail_at(file, line, "failed")
#define print_message(...)                  printf(__VA_ARGS__)
#define print_error(...)                    printf(__VA_ARGS__)
#define skip()                              return
#define assert_true(x)                      ((x) ? (void)0 : fail_at(__FILE__, __LINE__, "not true: %s", #x))
#define assert_null(x)                      assert_true((x) == NULL)
#define assert_non_null(x)                  assert_true((x) != NULL)
#define assert_int_equal(a, b)              assert_true((a) == (b))
#define assert_string_equal(a, b)           assert_true(strcmp(a, b) == 0)
#define assert_memory_equal(a, b, bytes)    assert_true(memcmp(a, b, bytes) == 0)
#define assert_memory_not_equal(a, b, size) assert_true(memcmp(a, b, size) != 0)
#define cmocka_unit_test(function)          ((struct CMUnitTest){#function, function, NULL, NULL})
#define cmocka_unit_test_setup_teardown(function, set_up, tear_down)                                         \
    ((struct CMUnitTest){#function, function, set_up, tear_down})
#define cmocka_run_group_tests_name(group, tests, setup, teardown)                                           \
    run_all(group, tests, sizeof(tests) / sizeof *(tests))
#define cmocka_run_group_tests(tests, setup, teardown)                                                       \
    cmocka_run_group_tests_name("tests", tests, setup, teardown)

#endif
