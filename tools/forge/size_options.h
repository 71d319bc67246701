/* tools/forge/size_options.h - parses the option --size NAME=N, and prints the sizes of a program that are
 * not fixed.
 *
 * Note: libforge checks whether the symbol exists and can have this value.
 */
#ifndef FORGE_SIZE_OPTIONS_H
#define FORGE_SIZE_OPTIONS_H

#include <forge/program.h>
#include "common/options.h"

struct sizes {
    forge_size list[OPTION_LIST_MAX];
    size_t count;
    char names[OPTION_LIST_MAX][64];
};

/* Parses all items. Returns false after a message if an item is not NAME=N. Do not copy *sizes, because
 * `list` points to `names`. */
bool sizes_read(struct sizes *sizes, const char *subcommand, const struct option_list *items);
/* Prints a line such as "at the largest sizes: batch from 1 to 64, length from 8 to 512 by 8". Prints
 * nothing if all sizes are fixed. */
void sizes_print(const forge_program *program);

#endif
