/* support/test_data.h - where recordings that nobody in this project made are found.
 *
 * Owns the search: JOULE_TEST_DATA, else ../shared/data beside the checkout. Newcomers: the data may be absent; a test
 * then says so and exits with TEST_SKIPPED instead of passing.
 */
#ifndef TEST_DATA_H
#define TEST_DATA_H

#include <stddef.h>

#define TEST_SKIPPED 77

/* Path of a file or folder below the data, in static storage (one call at a time); NULL where it is absent. */
const char *test_data(const char *relative);
/* The whole file, terminated, for free(); NULL where it cannot be read. */
char *test_read_file(const char *path, size_t *out_length);

#endif
