/* tools/forge/size_options.c - see size_options.h. */
#include "size_options.h"

#include <stdio.h>
#include <string.h>
#include "base/string.h"
#include "forge_commands.h"

bool sizes_read(struct sizes *sizes, const char *subcommand, const struct option_list *items)
{
    for (sizes->count = 0; sizes->count < items->count; sizes->count++) {
        const char *item = items->items[sizes->count], *equals = strchr(item, '=');
        char *name = sizes->names[sizes->count];
        forge_size *size = &sizes->list[sizes->count];
        size_t length = equals ? (size_t)(equals - item) : 0;
        if (length == 0 || length >= sizeof sizes->names[0] || !string_to_i64(equals + 1, 10, &size->value)) {
            complain(subcommand, "--size takes NAME=N, not '%s'", item);
            return false;
        }
        memcpy(name, item, length);
        name[length] = '\0';
        size->symbol = name;
    }
    return true;
}

void sizes_print(const forge_program *program)
{
    forge_symbol_facts symbol = {.struct_size = sizeof symbol};
    size_t count = 0;
    for (; forge_program_symbol(program, count, &symbol) == JOULE_OK; count++) {
        printf("%s %s from %lld to %lld", count ? "," : "at the largest sizes:", symbol.name,
               (long long)symbol.min, (long long)symbol.max);
        if (symbol.multiple > 1)
            printf(" by %lld", (long long)symbol.multiple);
    }
    if (count)
        printf("\n");
}
