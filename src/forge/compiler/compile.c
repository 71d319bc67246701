/* compiler/compile.c - forge_compile: runs the passes, and lowers the result to a program. */
#include "forge/compiler/lower.h"
#include "forge/compiler/pass.h"

#include <stdlib.h>
#include "base/abi.h"
#include "base/error.h"

joule_status forge_compile_with(const forge_graph *graph, forge_device *device,
                                const forge_compile_options *options, forge_program **out_program,
                                joule_error *out_error)
{
    forge_graph *plain = NULL;
    if (abi_has_room(options, SIZE_UP_TO(forge_compile_options, stop_after)) && options->stop_after)
        return error_set(out_error, JOULE_INVALID,
                         "cannot compile a program: stop_after is set, but all passes are needed");
    joule_status status = forge_passes_run(graph, device, options, &plain, out_error);
    if (status == JOULE_OK)
        status = lower(plain, device, out_program, out_error);
    forge_graph_free(plain);
    return status;
}

joule_status forge_compile(const forge_graph *graph, forge_device *device, forge_program **out_program,
                           joule_error *out_error)
{
    return forge_compile_with(graph, device, NULL, out_program, out_error);
}

void forge_program_free(forge_program *program)
{
    free(program);
}
