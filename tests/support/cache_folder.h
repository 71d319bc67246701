/* support/cache_folder.h - an empty folder in $XDG_CACHE_HOME for the compiled code of one test.
 *
 * Note: tests that compile need a C compiler. Call skip() if cache_folder_has_compiler returns false. */
#ifndef SUPPORT_CACHE_FOLDER_H
#define SUPPORT_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

extern char cache_folder[]; /* the folder that XDG_CACHE_HOME names */

/* Set-up and tear-down of a test. Tear-down removes the folder with all files that the device creates in it,
 * and unsets CC. */
int cache_folder_set_up(void **state);
int cache_folder_tear_down(void **state);

/* Returns true if a device finds a compiler, or prints why the test is skipped. out_command: [256], the
 * command, such as "cc"; may be NULL. Fails the test on another error. */
bool cache_folder_has_compiler(char *out_command);

/* Returns the number of files with code, and writes the path of the last one. Fails the test if there are
 * other files. out_path: [300], may be NULL. */
size_t cache_folder_files(char *out_path);

#endif
