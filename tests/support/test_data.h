/* support/test_data.h - finds recordings that were made outside this project.
 *
 * Searches the folder JOULE_TEST_DATA, or ../shared/data beside the checkout if that variable is not set.
 * Note: the data may be absent. A test then prints the reason and exits with TEST_SKIPPED. */
#ifndef TEST_DATA_H
#define TEST_DATA_H

#include <stddef.h>

#define TEST_SKIPPED 77

/* Returns the path of a file or folder below the data, or NULL if it is absent. The path is in static storage
 * and valid until the next call. */
const char *test_data(const char *relative);
/* Returns the whole file, NUL-terminated, or NULL if it cannot be read; the caller calls free(). */
char *test_read_file(const char *path, size_t *out_length);

#endif
