/* tools/forge/compiled_code.c - see compiled_code.h. */
#include "compiled_code.h"

#include "common/options.h"

void compiled_code_begin(forge_device *device, const char *subcommand, bool is_wanted)
{
    joule_error error = {0};
    if (is_wanted && forge_device_set_compiled(device, true, &error) != JOULE_OK)
        complain(subcommand, "%s", error.message);
}

void compiled_code_end(forge_device *device, const char *subcommand)
{
    forge_compiled_facts facts = {.struct_size = sizeof facts};
    if (forge_device_query_compiled(device, &facts) == JOULE_OK && facts.failed)
        complain(subcommand, "%zu of %zu groups of fused operations are not compiled: %s", facts.failed,
                 facts.failed + facts.compiled + facts.cached, facts.reason);
}
