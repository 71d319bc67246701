/* compiler/compile_placed.c - compiles a graph for several devices; see <forge/placed.h>. */
#include "forge/compiler/placed.h"

#include <stdlib.h>
#include "base/abi.h"
#include "base/error.h"
#include "forge/compiler/pass.h"

static joule_status compile_segment(forge_placed *placed, size_t i, joule_error *error)
{
    struct placed_segment *segment = &placed->segments[i];
    forge_device *device = placed->devices[segment->device];
    joule_error reason = {0};
    joule_status status = forge_compile(segment->graph, device, &segment->program, &reason);
    forge_graph_free(segment->graph);
    segment->graph = NULL;
    if (status != JOULE_OK)
        error_set(error, status, "segment %zu, on the device %s: %s", i, forge_device_name(device),
                  reason.message);
    return status;
}

/* Runs the passes transfer and fold. They must see the whole graph, before it is split, and do not use a
 * device. */
static joule_status prepare(const forge_graph *graph, forge_graph **out_graph, joule_error *error)
{
    forge_graph *placed = NULL;
    joule_status status = pass_transfer(graph, NULL, NULL, &placed, error);
    if (status == JOULE_OK)
        status = pass_fold(placed, NULL, NULL, out_graph, error);
    forge_graph_free(placed);
    return status;
}

joule_status forge_compile_placed(const forge_graph *graph, const forge_place *places, size_t count,
                                  forge_placed **out_placed, joule_error *out_error)
{
    forge_graph *whole = NULL;
    if (graph->dims.count)
        return error_set(
            out_error, JOULE_INVALID,
            "a placed program cannot have symbolic sizes: give them numbers with forge_graph_bind");
    forge_placed *placed = calloc(1, sizeof *placed);
    if (!placed)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot compile a placed program: out of memory");
    joule_status status = prepare(graph, &whole, out_error);
    if (status == JOULE_OK)
        status = placed_split(whole, places, count, placed, out_error);
    for (size_t i = 0; status == JOULE_OK && i < placed->segment_count; i++)
        status = compile_segment(placed, i, out_error);
    forge_graph_free(whole);
    if (status == JOULE_OK)
        *out_placed = placed;
    else
        forge_placed_free(placed);
    return status;
}

void forge_placed_free(forge_placed *placed)
{
    if (!placed)
        return;
    for (size_t i = 0; i < placed->segment_count; i++) {
        forge_graph_free(placed->segments[i].graph);
        forge_program_free(placed->segments[i].program);
    }
    free(placed->segments);
    free(placed->edges);
    free(placed);
}

joule_status forge_placed_segment(const forge_placed *placed, size_t i, forge_segment_facts *out_facts)
{
    if (i >= placed->segment_count || !abi_has_room(out_facts, SIZE_UP_TO(forge_segment_facts, program)))
        return JOULE_INVALID;
    const struct placed_segment *segment = &placed->segments[i];
    forge_segment_facts facts = {.device = placed->devices[segment->device], .program = segment->program};
    for (size_t k = 0; k < placed->edge_count; k++)
        if (placed->edges[k].to == i) {
            facts.transfer_count++;
            facts.transfer_bytes += placed->edges[k].size_bytes;
        }
    abi_write(out_facts, &facts, sizeof facts);
    return JOULE_OK;
}
