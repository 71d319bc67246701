/* backends/cpu/update.c - see update.h. */
#include "forge/backends/cpu/update.h"

#include "forge/backends/cpu/packed.h"
#include "forge/ir/library.h"

#define MIN_THREAD_WORK 16384 /* minimum work per thread, in elements */

bool update_takes_adamw(const struct launch *launch)
{
    const forge_shape *shape = &launch->outputs[0].shape;
    if (launch->input_count != ADAMW_INPUTS || launch->output_count != 3)
        return false;
    bool are_valid = true;
    for (size_t i = 0; i < ADAMW_INPUTS; i++)
        are_valid &= view_is(&launch->inputs[i], i < ADAMW_KEEP ? shape : &(forge_shape){0});
    for (size_t i = 0; i < 3; i++)
        are_valid &= view_is(&launch->outputs[i], shape);
    return are_valid;
}

size_t update_pieces(const struct launch *launch, size_t *out_grain)
{
    *out_grain = MIN_THREAD_WORK / UPDATE_PIECE;
    return (forge_shape_elements(&launch->outputs[0].shape) + UPDATE_PIECE - 1) / UPDATE_PIECE;
}
