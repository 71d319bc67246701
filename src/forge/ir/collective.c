/* ir/collective.c - collective operations, in which several processes take part: builder function and
 * inference.
 *
 * Note: all processes have the same graph, but each process has another x. The graph states which result is
 * needed, not which messages are sent.
 */
#include "forge/ir/infer.h"

#include <string.h>
#include "base/string.h"
#include "forge/ir/builder.h"

const char *collective_name(forge_collective_kind kind)
{
    static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter", "send_all",
                                        "reduce_to"};
    return (unsigned)kind < FORGE_COLLECTIVE_KINDS ? names[kind] : "unknown";
}

static bool is_along_axis(uint32_t kind)
{
    return kind == FORGE_ALL_GATHER || kind == FORGE_REDUCE_SCATTER;
}

static bool has_root(uint32_t kind)
{
    return kind == FORGE_SEND_ALL || kind == FORGE_REDUCE_TO;
}

forge_value forge_collective(forge_builder *builder, forge_collective_kind kind, const forge_group *group,
                             forge_value x, uint32_t axis_or_root)
{
    struct collective_attributes attributes = {.kind = kind,
                                               .axis = is_along_axis(kind) ? axis_or_root : 0,
                                               .root = has_root(kind) ? axis_or_root : 0,
                                               .size = group->size};
    if (builder_is_ok(builder) && !string_copy(attributes.group, sizeof attributes.group, group->name))
        forge_builder_fail(builder, "the name of a group may have at most %zu bytes",
                           sizeof attributes.group - 1);
    return builder_emit(builder, OP_COLLECTIVE, &attributes, sizeof attributes, &x, 1);
}

bool infer_collective(struct inference *i)
{
    const struct collective_attributes *a = i->attributes;
    const char *name = collective_name((forge_collective_kind)a->kind);
    forge_shape shape = i->inputs[0]->shape;
    bool adds = a->kind != FORGE_ALL_GATHER && a->kind != FORGE_SEND_ALL;
    if (a->kind >= FORGE_COLLECTIVE_KINDS)
        return infer_fail(i, "unknown kind %u", a->kind);
    if (!*a->group || a->size == 0 || a->root >= a->size)
        return infer_fail(i, "%s: invalid group '%s' of %u processes with root %u", name, a->group, a->size,
                          a->root);
    if (adds && i->inputs[0]->dtype == FORGE_BOOL)
        return infer_fail(i, "%s does not support bool", name);
    if (!is_along_axis(a->kind))
        return infer_add_output(i, i->inputs[0]->dtype, &shape);
    if (a->axis >= shape.rank)
        return infer_fail(i, "%s: axis %u does not exist", name, a->axis);
    forge_dim own = shape.dims[a->axis];
    forge_dim *dim = &shape.dims[a->axis];
    *dim = a->kind == FORGE_ALL_GATHER ? dim_mul(&i->graph->dims, own, a->size)
                                       : dim_div(&i->graph->dims, own, a->size);
    if (a->kind == FORGE_REDUCE_SCATTER && dim_mul(&i->graph->dims, *dim, a->size) != own)
        return infer_fail(i, "%s: axis %u cannot be divided into %u equal parts", name, a->axis, a->size);
    return infer_add_output(i, i->inputs[0]->dtype, &shape);
}
