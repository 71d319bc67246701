/* backends/cpu/update.c - see update.h. */
#include "forge/backends/cpu/update.h"

#include "forge/backends/cpu/packed.h"
#include "forge/ir/library.h"

#define MIN_THREAD_WORK 16384 /* minimum work per thread, in elements */

static bool takes_adamw(const struct launch *launch, forge_dtype dtype)
{
    const forge_shape *shape = &launch->outputs[0].shape;
    if (launch->input_count != ADAMW_INPUTS || launch->output_count != 3)
        return false;
    bool are_valid = true;
    for (size_t i = 0; i < ADAMW_INPUTS; i++)
        are_valid &= view_has(&launch->inputs[i], dtype, i < ADAMW_KEEP ? shape : &(forge_shape){0});
    for (size_t i = 0; i < 3; i++)
        are_valid &= view_has(&launch->outputs[i], dtype, shape);
    return are_valid;
}

bool update_takes_adamw(const struct launch *launch)
{
    return takes_adamw(launch, FORGE_F32);
}

bool update_takes_adamw_narrow(const struct launch *launch)
{
    forge_dtype dtype = launch->outputs[0].dtype;
    return dtype_is_narrow(dtype) && takes_adamw(launch, dtype);
}

size_t update_pieces(const struct launch *launch, size_t *out_grain)
{
    *out_grain = MIN_THREAD_WORK / UPDATE_PIECE;
    return (forge_shape_elements(&launch->outputs[0].shape) + UPDATE_PIECE - 1) / UPDATE_PIECE;
}
