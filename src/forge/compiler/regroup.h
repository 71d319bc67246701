/* compiler/regroup.h - the parts of the pass `regroup`. */
#ifndef FORGE_COMPILER_REGROUP_H
#define FORGE_COMPILER_REGROUP_H

#include "forge/compiler/pass.h"

struct regrouping {
    forge_device *device;
    uint32_t *readers; /* by value: the number of its readers, outputs and slots included */
};

/* If the node is the last product of an attention made of other operations, returns the result of the
 * composite "attention", which replaces it. Returns FORGE_NO_VALUE if it is not, if a value inside is needed
 * elsewhere, or if the device has no kernel. */
forge_value regroup_attention(forge_builder *builder, const forge_graph *graph, const struct node *node,
                              const forge_value *map, const struct regrouping *r);

#endif
