/* support/graphs.h - returns the graphs of builders, texts and passes, and checks a builder's errors and
 * shapes.
 *
 * Note: each function that finishes a builder frees the builder, also if it fails. All functions fail the
 * test on an error. */
#ifndef SUPPORT_GRAPHS_H
#define SUPPORT_GRAPHS_H

#include <forge/compiler.h>
#include <forge/graph.h>
#include "forge/ir/builder.h"
#include "support/check.h"

/* Returns the graph of a builder; the caller frees it. Fails the test if the builder has an error. */
static inline forge_graph *graph_of(forge_builder *b)
{
    forge_graph *graph = NULL;
    joule_error error = {0};
    assert_ok(forge_builder_finish(b, &graph, &error), &error);
    return graph;
}

/* Fails the test unless the builder returns JOULE_INVALID and a message that contains `words`. */
static inline void assert_builder_refused(forge_builder *b, const char *words)
{
    forge_graph *graph = NULL;
    joule_error error = {0};
    assert_int_equal(forge_builder_finish(b, &graph, &error), JOULE_INVALID);
    assert_null(graph);
    assert_contains(error.message, words);
}

/* Fails the test unless the printed shape of the value equals `expected` and the builder has no error. A
 * symbol is printed by its name. */
static inline void assert_value_shape(const forge_builder *b, forge_value value, const char *expected)
{
    char buffer[200] = "";
    struct text text;
    forge_shape shape = forge_value_shape(b, value);
    if (b->has_failed)
        fail_msg("%s", b->error.message);
    text_init(&text, buffer, sizeof buffer);
    dim_print_shape(&b->graph->dims, &shape, &text);
    assert_string_equal(buffer, expected);
}

/* Returns the graph of a text; the caller frees it. */
forge_graph *graph_parsed(const char *text);
/* Returns the text of a graph; the caller frees it. */
char *graph_printed(const forge_graph *graph);
/* Returns the graph after the pass, which was verified; the caller frees it. Frees `graph`. context: of the
 * pass. */
forge_graph *graph_after(forge_graph *graph, forge_pass_fn pass, forge_device *device, void *context);
/* Returns the text of the graph after the pass; the caller frees it. Frees `graph`. */
char *text_after(forge_graph *graph, forge_pass_fn pass, forge_device *device, void *context);
/* Fails the test unless the pass makes the text `after` from the text `before`. */
void assert_pass_makes(forge_pass_fn pass, forge_device *device, void *context, const char *before,
                       const char *after);

/* Returns the first composite with this name; NULL if there is none. */
const struct node *graph_composite(const forge_graph *graph, const char *name);
/* Returns the number of composites with this name. */
size_t graph_composites(const forge_graph *graph, const char *name);

/* Returns an f32 input of two elements on `place`. */
static inline forge_value input_on(forge_builder *b, const char *name, const char *place)
{
    const char *before = forge_place_set(b, place);
    forge_value value = forge_input(b, name, FORGE_F32, forge_shape_of(2));
    forge_place_set(b, before);
    return value;
}

#endif
