/* support/test_data.h - finds recordings that were made outside this project.
 *
 * Searches the folder that the variable JOULE_TEST_DATA names. If the variable is not set, searches
 * ../shared/data beside the checkout. Note: the data may be absent. A test then prints the reason and exits
 * with TEST_SKIPPED. */
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
