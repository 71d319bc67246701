/* compiler/compile.c - forge_compile: runs the passes, and lowers the result to a program. */
#include "forge/compiler/lower.h"
#include "forge/compiler/pass.h"

#include <stdlib.h>
#include "base/abi.h"
#include "base/error.h"

/* Returns JOULE_INVALID if the objective or a bound is impossible. */
static joule_status check_wish(const forge_compile_options *options, joule_error *error)
{
    forge_compile_options own = {.struct_size = sizeof own};
    if (!options ||
        abi_read(&own, sizeof own, SIZE_UP_TO(forge_compile_options, notify_context), options) != JOULE_OK)
        return JOULE_OK; /* forge_passes_run reports the error */
    if ((unsigned)own.objective > FORGE_MINIMISE_EDP || !(own.max_seconds >= 0))
        return error_set(error, JOULE_INVALID,
                         "cannot compile a program: the objective or max_seconds is invalid");
    if (own.objective == FORGE_MINIMISE_NONE && (own.max_seconds > 0 || own.max_arena_bytes))
        return error_set(error, JOULE_INVALID,
                         "cannot compile a program: a bound of seconds or bytes needs an objective");
    return JOULE_OK;
}

joule_status forge_compile_with(const forge_graph *graph, forge_device *device,
                                const forge_compile_options *options, forge_program **out_program,
                                joule_error *out_error)
{
    forge_graph *plain = NULL;
    forge_compile_options own = {.struct_size = sizeof own};
    forge_schedule_facts facts;
    if (abi_has_room(options, SIZE_UP_TO(forge_compile_options, stop_after)) && options->stop_after)
        return error_set(out_error, JOULE_INVALID,
                         "cannot compile a program: stop_after is set, but all passes are needed");
    joule_status status = check_wish(options, out_error);
    if (status == JOULE_OK)
        status = forge_passes_run(graph, device, options, &plain, out_error);
    if (status == JOULE_OK && options) /* forge_passes_run has checked the size */
        status = abi_read(&own, sizeof own, SIZE_UP_TO(forge_compile_options, notify_context), options);
    struct schedule_wish wish = {own.objective, own.max_seconds, own.max_arena_bytes};
    if (status == JOULE_OK)
        status = lower(plain, device, &wish, out_program, &facts, out_error);
    forge_graph_free(plain);
    if (status == JOULE_OK && wish.objective != FORGE_MINIMISE_NONE && own.notify_schedule)
        own.notify_schedule(&facts, own.notify_context);
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
