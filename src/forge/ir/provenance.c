/* ir/provenance.c - names, scopes, phases and places that a builder gives to new nodes.
 *
 * Note: equal nodes in different scopes or phases are merged, because scope and phase do not affect a node's
 * value. Equal nodes on different places are not merged.
 */
#include <stdio.h>
#include <string.h>
#include "base/array.h"
#include "forge/ir/builder.h"

static uint32_t out_of_memory(forge_builder *builder)
{
    builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
    return 0;
}

const char *builder_copy_name(forge_builder *builder, const char *name)
{
    char *copy = arena_copy(&builder->graph->arena, name, strlen(name));
    if (!copy)
        out_of_memory(builder);
    return copy;
}

uint32_t builder_add_scope(forge_builder *builder, const char *path)
{
    forge_graph *graph = builder->graph;
    uint32_t known = index_find(&builder->scope_index, graph, index_name(path)),
             scope = (uint32_t)graph->scope_count;
    if (known != INDEX_NONE)
        return known;
    const char *copy = builder_copy_name(builder, path);
    if (!copy || !ARRAY_ROOM(graph->scopes, graph->scope_capacity, graph->scope_count))
        return out_of_memory(builder);
    graph->scopes[graph->scope_count++] = copy;
    return index_add(&builder->scope_index, graph, scope) ? scope : out_of_memory(builder);
}

void forge_scope_push(forge_builder *builder, const char *name)
{
    if (!builder_is_ok(builder))
        return;
    char path[BUILDER_MAX_SCOPE + 1];
    const char *outer = builder->graph->scopes[builder->scope];
    if ((size_t)snprintf(path, sizeof path, "%s%s%s", outer, *outer ? "/" : "", name) >= sizeof path ||
        !*name || strchr(name, '/')) {
        forge_builder_fail(
            builder,
            "'%s' cannot be the name of a scope: it is empty, contains '/', or the scope's path is too long",
            name);
        return;
    }
    builder->scope = builder_add_scope(builder, path);
}

void forge_scope_pop(forge_builder *builder)
{
    if (!builder_is_ok(builder))
        return;
    char path[BUILDER_MAX_SCOPE + 1];
    string_copy(path, sizeof path, builder->graph->scopes[builder->scope]);
    char *end = strrchr(path, '/');
    *(end ? end : path) = '\0';
    builder->scope = builder_add_scope(builder, path);
}

uint32_t builder_add_place(forge_builder *builder, const char *name)
{
    forge_graph *graph = builder->graph;
    if (!name)
        return 0;
    for (size_t i = 1; i < graph->place_count; i++)
        if (strcmp(graph->places[i], name) == 0)
            return (uint32_t)i;
    if (!*name || strlen(name) > FORGE_PLACE_NAME) {
        forge_builder_fail(builder, "'%.40s' cannot be the name of a place: it must have 1 to %d bytes", name,
                           FORGE_PLACE_NAME);
        return 0;
    }
    const char *copy = builder_copy_name(builder, name);
    if (!copy || !ARRAY_ROOM(graph->places, graph->place_capacity, graph->place_count))
        return out_of_memory(builder);
    graph->places[graph->place_count++] = copy;
    return (uint32_t)graph->place_count - 1;
}

const char *forge_place_set(forge_builder *builder, const char *name)
{
    if (!builder_is_ok(builder))
        return NULL;
    const char *before = builder->graph->places[builder->place];
    builder->place = builder_add_place(builder, name);
    return before;
}

const char *forge_value_place(const forge_builder *builder, forge_value value)
{
    return builder && value < builder->graph->value_count
               ? builder->graph->places[builder->graph->values[value].place]
               : NULL;
}

const char *place_text(const forge_graph *graph, uint32_t place, char text[PLACE_TEXT])
{
    if (!place)
        return "the program's own place";
    snprintf(text, PLACE_TEXT, "'%s'", graph->places[place]);
    return text;
}

forge_phase forge_phase_set(forge_builder *builder, forge_phase phase)
{
    if (!builder)
        return phase;
    forge_phase before = builder->phase;
    builder->phase = phase;
    return before;
}

const char *forge_phase_name(forge_phase phase)
{
    static const char *const names[] = {"forward", "backward", "optimiser", "data"};
    return (unsigned)phase < sizeof names / sizeof *names ? names[phase] : "unknown";
}
