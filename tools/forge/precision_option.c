/* tools/forge/precision_option.c - see precision_option.h. */
#include "precision_option.h"

#include <stddef.h>
#include <string.h>
#include "common/options.h"

static const char *const names[] = {
    [FORGE_PRECISION_F32] = "f32", [FORGE_PRECISION_BF16] = "bf16", [FORGE_PRECISION_F16] = "f16"};
enum { PRECISIONS = sizeof names / sizeof *names };

const char *precision_name(forge_precision precision)
{
    return names[precision];
}

bool precision_read(forge_precision *out, const char *subcommand, const char *name)
{
    for (size_t i = 0; name && i < PRECISIONS; i++)
        if (strcmp(names[i], name) == 0) {
            *out = (forge_precision)i;
            return true;
        }
    if (name)
        complain(subcommand, "--precision must be f32, bf16 or f16, not '%s'", name);
    return !name;
}
