/* compiler/compile.c - forge_compile: passes, then launches. */
#include "forge/compiler/lower.h"
#include "forge/compiler/pass.h"

#include <stdlib.h>

joule_status forge_compile(const forge_graph *graph, forge_device *device, forge_program **out_program,
                           joule_error *out_error)
{
    forge_graph *plain = NULL;
    joule_status status = passes_run(graph, &plain, out_error);
    if (status == JOULE_OK)
        status = lower(plain, device, out_program, out_error);
    forge_graph_free(plain);
    return status;
}

void forge_program_free(forge_program *program)
{
    free(program);
}
