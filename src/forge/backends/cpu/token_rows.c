/* backends/cpu/token_rows.c - see token_rows.h. */
#include "forge/backends/cpu/token_rows.h"

#include "forge/backends/cpu/packed.h"

#define MIN_THREAD_WORK 16384 /* minimum work per thread, in elements */

static bool is_i32_vector(const struct view *view, int64_t count)
{
    return view->dtype == FORGE_I32 && view->shape.rank == 1 && view->shape.dims[0] == count &&
           view_is_packed(view);
}

static bool is_weight(const struct view *view)
{
    return forge_dtype_is_float(view->dtype) && view_is_packed(view) &&
           view->shape.dims[view->shape.rank - 1] % (int64_t)forge_dtype_block_elements(view->dtype) == 0;
}

bool token_rows_take_embedding(const struct launch *launch)
{
    const struct view *in = launch->inputs, *out = launch->outputs;
    return launch->input_count == 2 && launch->output_count == 1 && in[0].shape.rank == 2 &&
           in[0].shape.dims[0] > 0 && is_weight(&in[0]) && out->shape.rank == 2 &&
           out->shape.dims[1] == in[0].shape.dims[1] && is_i32_vector(&in[1], out->shape.dims[0]) &&
           view_is(out, &out->shape);
}

bool token_rows_take_rotary(const struct launch *launch)
{
    const struct view *in = launch->inputs, *out = launch->outputs;
    return launch->input_count == 3 && launch->output_count == 1 && in[0].shape.rank == 3 &&
           in[1].shape.rank == 2 && in[1].shape.dims[0] == in[0].shape.dims[0] &&
           2 * in[1].shape.dims[1] <= in[0].shape.dims[2] && view_is(&in[0], &in[0].shape) &&
           view_is(&in[1], &in[1].shape) && view_is(&in[2], &in[1].shape) && view_is(out, &in[0].shape);
}

bool token_rows_take_swiglu(const struct launch *launch)
{
    const struct view *in = launch->inputs;
    return launch->input_count == 2 && launch->output_count == 1 && in[0].shape.rank >= 1 &&
           view_is(&in[0], &in[0].shape) && view_is(&in[1], &in[0].shape) &&
           view_is(&launch->outputs[0], &in[0].shape);
}

bool token_rows_take_cache(const struct launch *launch)
{
    const struct view *in = launch->inputs, *out = launch->outputs;
    return launch->input_count == 3 && launch->output_count == 1 && in[0].shape.rank == 3 &&
           in[1].shape.rank == 3 && is_weight(&in[0]) && in[1].shape.dims[1] == in[0].shape.dims[1] &&
           in[1].shape.dims[2] == in[0].shape.dims[2] && view_is(&in[1], &in[1].shape) &&
           is_i32_vector(&in[2], in[1].shape.dims[0]) && out->dtype == in[0].dtype &&
           forge_shape_equal(&out->shape, &in[0].shape) && view_is_packed(out);
}

size_t token_rows_pieces(const struct launch *launch, size_t *out_grain)
{
    const forge_shape *shape = &launch->outputs[0].shape;
    size_t rows = (size_t)shape->dims[0], elements = forge_shape_elements(shape);
    *out_grain = MIN_THREAD_WORK / (elements / (rows + 1) + 1) + 1;
    return rows;
}

size_t token_rows_cache_pieces(const struct launch *launch, size_t *out_grain)
{
    (void)launch;
    *out_grain = 1;
    return 1;
}
