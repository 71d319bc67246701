/* tools/forge/inspect_graph.c - `forge inspect` of a graph: its operations, inputs, outputs and slots.
 *
 * Note: the FLOP of a composite are those of its body, and its bytes are those of its operands. FLOP and
 * bytes are unknown if a size is a symbol. */
#include "inspect_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/error.h"
#include "files.h"
#include "forge/ir/operation_cost.h"
#include "forge/ir/text.h"

/* Sums over the nodes of one operation. NaN: unknown, because a size is a symbol. */
struct tally {
    size_t nodes;
    double flop, bytes;
};

/* --- counting ------------------------------------------------------------------------------------------- */

joule_status graph_page_make(struct graph_page *page, const char *path, const forge_graph *graph,
                             joule_error *out_error)
{
    *page = (struct graph_page){path, graph, .tallies = calloc(OP_COUNT, sizeof *page->tallies)};
    if (!page->tallies)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot count operations: out of memory");
    struct body_costs known = {0};
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        struct program_cost cost = cost_of_kernel(graph, node, &known);
        struct tally *tally = &page->tallies[node->op];
        tally->nodes++;
        tally->flop += cost.flop;
        tally->bytes += cost.read_bytes + cost.written_bytes;
    }
    body_costs_free(&known);
    return JOULE_OK;
}

void graph_page_free(struct graph_page *page)
{
    free(page->tallies);
}

/* --- showing -------------------------------------------------------------------------------------------- */

static void print_type(struct text *out, const forge_graph *graph, forge_dtype dtype,
                       const forge_shape *shape)
{
    text_printf(out, " %s", forge_dtype_name(dtype));
    dim_print_shape(&graph->dims, shape, out);
}

static void print_ports(struct text *out, const forge_graph *graph, const char *what,
                        const struct port *ports, size_t count)
{
    text_printf(out, "\n%s: %zu\n", what, count);
    for (size_t i = 0; i < count; i++) {
        const struct value *value = &graph->values[ports[i].value];
        text_add(out, "  ");
        text_add_path(out, ports[i].name);
        print_type(out, graph, value->dtype, &value->shape);
        text_add(out, "\n");
    }
}

/* Returns the bytes of a slot; NaN if a size is a symbol. */
static double slot_bytes(const struct slot *slot)
{
    size_t elements = forge_shape_elements(&slot->shape);
    return elements == SIZE_MAX ? NAN : (double)forge_dtype_size_bytes(slot->dtype, elements);
}

static void print_slots(struct text *out, const forge_graph *graph)
{
    char bytes[BYTES_TEXT];
    if (graph->slot_count)
        text_printf(out, "\nslots: %zu\n", graph->slot_count);
    for (size_t i = 0; i < graph->slot_count; i++) {
        const struct slot *slot = &graph->slots[i];
        text_add(out, "  ");
        text_add_path(out, slot->name);
        print_type(out, graph, slot->dtype, &slot->shape);
        text_printf(out, ", %s%s%s\n", bytes_text(slot_bytes(slot), bytes),
                    slot->is_parameter ? ", parameter" : "", slot->write ? ", written" : "");
    }
}

static void print_tally(struct text *out, const char *name, const struct tally *tally)
{
    char flop[BYTES_TEXT], bytes[BYTES_TEXT];
    text_printf(out, "  %-12s %6zu %16s %16s\n", name, tally->nodes, flop_text(tally->flop, flop),
                bytes_text(tally->bytes, bytes));
}

static void print_operations(struct text *out, const struct graph_page *page)
{
    struct tally all = {0};
    text_printf(out, "\n  %-12s %6s %16s %16s\n", "operation", "nodes", "FLOP", "bytes moved");
    for (int op = 0; op < OP_COUNT; op++) {
        const struct tally *tally = &page->tallies[op];
        if (tally->nodes)
            print_tally(out, op_name((enum op)op), tally);
        all.nodes += tally->nodes;
        all.flop += tally->flop;
        all.bytes += tally->bytes;
    }
    print_tally(out, "all", &all);
}

void graph_page_print(const void *context, struct text *out)
{
    const struct graph_page *page = context;
    const forge_graph *graph = page->graph;
    double parameters = 0, bytes = 0;
    char count[32] = "unknown", size[BYTES_TEXT];
    for (size_t i = 0; i < graph->slot_count; i++)
        if (graph->slots[i].is_parameter) {
            parameters += (double)forge_shape_elements(&graph->slots[i].shape);
            bytes += slot_bytes(&graph->slots[i]);
        }
    if (!isnan(bytes))
        snprintf(count, sizeof count, "%.0f", parameters);
    text_printf(out, "%s: graph, %zu nodes, %s parameters (%s)\n", page->path, graph->node_count, count,
                bytes_text(bytes, size));
    for (size_t i = 0; i < graph->dims.count; i++) {
        const struct dim *dim = &graph->dims.entries[i];
        if (dim->kind != DIM_SYMBOL)
            continue;
        text_add(out, "symbol ");
        text_add_word(out, dim->name);
        text_printf(out, ": %lld to %lld\n", (long long)dim->min, (long long)dim->max);
    }
    print_ports(out, graph, "inputs", graph->inputs, graph->input_count);
    print_ports(out, graph, "outputs", graph->outputs, graph->output_count);
    print_slots(out, graph);
    print_operations(out, page);
}
