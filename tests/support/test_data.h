/* support/test_data.h - finds recordings that were made outside this project.
 *
 * Searches JOULE_TEST_DATA, else ../shared/data beside the checkout. Note: the data may be absent. A test
 * then says so and exits with TEST_SKIPPED. */
#ifndef TEST_DATA_H
#define TEST_DATA_H

#include <stddef.h>

#define TEST_SKIPPED 77

/* Returns the path of a file or folder below the data, in static storage (one call at a time), or NULL if it
 * is absent. */
const char *test_data(const char *relative);
/* Returns the whole file, NUL-terminated, or NULL if it cannot be read; the caller calls free(). */
char *test_read_file(const char *path, size_t *out_length);

#endif
