/* support/check.h - checks of numbers, texts and statuses; a failure prints the values.
 *
 * Note: arguments of the macros are evaluated once. */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <joule/base.h>

/* Fails the test unless |value - expected| <= tolerance. */
#define assert_near(value, expected, tolerance) check_near(value, expected, tolerance, __FILE__, __LINE__)
/* Fails the test unless |value - expected| <= tolerance * (1 + |expected|), or both are NaN. */
#define assert_relative(value, expected, tolerance)                                                          \
    check_relative(value, expected, tolerance, __FILE__, __LINE__)
/* Fails the test unless `part` occurs in `text`. */
#define assert_contains(text, part) check_contains(text, part, __FILE__, __LINE__)
/* Fails the test with the error's message unless the status is JOULE_OK. */
#define assert_ok(status, error) check_ok(status, error, __FILE__, __LINE__)

/* Returns true if JOULE_TEST_FULL requests the long form of tests, which have more repetitions. */
static inline bool is_full_test(void)
{
    const char *full = getenv("JOULE_TEST_FULL");
    return full && *full && strcmp(full, "0") != 0;
}

static inline void check_near(double value, double expected, double tolerance, const char *file, int line)
{
    if (!(fabs(value - expected) <= tolerance)) {
        print_error("%.12g is not within %.3g of %.12g\n", value, tolerance, expected);
        _fail(file, line);
    }
}

static inline void check_relative(double value, double expected, double tolerance, const char *file, int line)
{
    if (!isnan(value) || !isnan(expected))
        check_near(value, expected, tolerance * (1 + fabs(expected)), file, line);
}

static inline void check_contains(const char *text, const char *part, const char *file, int line)
{
    if (!strstr(text, part)) {
        print_error("\"%s\" is not in:\n%s\n", part, text);
        _fail(file, line);
    }
}

static inline void check_ok(joule_status status, const joule_error *error, const char *file, int line)
{
    if (status != JOULE_OK) {
        print_error("status %d: %s\n", (int)status, error->message);
        _fail(file, line);
    }
}

#endif
