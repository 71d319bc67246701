/* tools/forge/sizes.h - the option --size NAME=N, and what sizes a program can have.
 *
 * Newcomers: whether there is such a symbol, and whether it can be this number, is for libforge to say.
 */
#ifndef FORGE_SIZES_TOOL_H
#define FORGE_SIZES_TOOL_H

#include <forge/program.h>
#include "common/options.h"

struct sizes {
    forge_size list[OPTION_LIST_MAX];
    size_t count;
    char names[OPTION_LIST_MAX][64];
};

/* False after a message about an item that has no such form. */
bool sizes_read(struct sizes *sizes, const char *subcommand, const struct option_list *items);
/* A line such as "at the largest sizes, of batch from 1 to 64, length from 8 to 512 by 8"; none where nothing can change. */
void sizes_print(const forge_program *program);

#endif
