/* compiler/compile.c - forge_compile: runs the passes, and lowers the result to a program. */
#include "forge/compiler/lower.h"
#include "forge/compiler/pass.h"

#include <stdlib.h>
#include "base/error.h"

/* Returns JOULE_INVALID if the objective or a bound is impossible. */
static joule_status check_wish(const forge_compile_options *options, joule_error *error)
{
    if ((unsigned)options->objective > FORGE_MINIMISE_EDP || !(options->max_seconds >= 0))
        return error_set(error, JOULE_INVALID,
                         "cannot compile a program: the objective or max_seconds is invalid");
    if (options->objective == FORGE_MINIMISE_NONE && (options->max_seconds > 0 || options->max_arena_bytes))
        return error_set(error, JOULE_INVALID,
                         "cannot compile a program: a bound of seconds or bytes needs an objective");
    return JOULE_OK;
}

joule_status forge_compile_with(const forge_graph *graph, forge_device *device,
                                const forge_compile_options *options, forge_program **out_program,
                                joule_error *out_error)
{
    forge_graph *plain = NULL;
    forge_compile_options own;
    forge_schedule_facts facts;
    joule_status status = compile_options_read(options, &own, out_error);
    if (status == JOULE_OK && own.stop_after)
        return error_set(out_error, JOULE_INVALID,
                         "cannot compile a program: stop_after is set, but all passes are needed");
    if (status == JOULE_OK)
        status = check_wish(&own, out_error);
    if (status == JOULE_OK)
        status = forge_passes_run(graph, device, &own, &plain, out_error);
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
