/* backends/cpu/paged_attention.c - see paged_attention.h. */
#include "forge/backends/cpu/paged_attention.h"

#include "forge/backends/cpu/kernel.h"
#include "forge/backends/cpu/packed.h"

#define MIN_THREAD_WORK 32768 /* minimum work per thread, in multiply-adds */

enum { Q, KEYS, VALUES, TABLES, SEQUENCE, POSITION, INPUTS };

static struct paged_cache cache_of(const struct view *view)
{
    return (struct paged_cache){view->data, view->dtype,
                                forge_dtype_size_bytes(view->dtype, (size_t)view->shape.dims[2])};
}

struct paged_attention paged_attention_of(const struct launch *launch)
{
    const struct composite_attributes *attributes = launch->attributes;
    const struct view *in = launch->inputs;
    size_t groups = (size_t)in[KEYS].shape.dims[1];
    return (struct paged_attention){.q = in[Q].data,
                                    .out = launch->outputs[0].data,
                                    .keys = cache_of(&in[KEYS]),
                                    .values = cache_of(&in[VALUES]),
                                    .tables = in[TABLES].data,
                                    .sequence = in[SEQUENCE].data,
                                    .position = in[POSITION].data,
                                    .groups = groups,
                                    .shared = (size_t)in[Q].shape.dims[1] / groups,
                                    .d = (size_t)in[Q].shape.dims[2],
                                    .places = in[KEYS].shape.dims[0],
                                    .sequences = in[TABLES].shape.dims[0],
                                    .pages = in[TABLES].shape.dims[1],
                                    .page_size = attributes->numbers[0],
                                    .scale = (float)attributes->reals[0]};
}

static bool is_packed_i32(const struct view *view, uint32_t rank)
{
    return view->dtype == FORGE_I32 && view->shape.rank == rank && view_is_packed(view);
}

static bool is_cache(const struct view *view)
{
    return (view->dtype == FORGE_F32 || view->dtype == FORGE_F16 || view->dtype == FORGE_BF16 ||
            view->dtype == FORGE_Q8_0) &&
           view->shape.rank == 3 && view_is_packed(view) && view->shape.dims[1] > 0 &&
           view->shape.dims[2] <= PAGED_MAX_DIMS &&
           view->shape.dims[2] % (int64_t)forge_dtype_block_elements(view->dtype) == 0;
}

bool paged_attention_takes(const struct launch *launch)
{
    const struct composite_attributes *attributes = launch->attributes;
    const struct view *in = launch->inputs;
    if (launch->input_count != INPUTS || launch->output_count != 1 || attributes->numbers[0] == 0 ||
        in[Q].shape.rank != 3 || !is_cache(&in[KEYS]) || !is_cache(&in[VALUES]) ||
        !is_packed_i32(&in[TABLES], 2) || !is_packed_i32(&in[SEQUENCE], 1) ||
        !is_packed_i32(&in[POSITION], 1))
        return false;
    const int64_t *q = in[Q].shape.dims, *keys = in[KEYS].shape.dims;
    int64_t length = in[TABLES].shape.dims[1] * attributes->numbers[0];
    return forge_shape_equal(&in[KEYS].shape, &in[VALUES].shape) && q[1] % keys[1] == 0 && q[2] == keys[2] &&
           in[SEQUENCE].shape.dims[0] == q[0] && in[POSITION].shape.dims[0] == q[0] &&
           (size_t)length + 64 < KERNEL_SCRATCH_BYTES / sizeof(float) && view_is(&in[Q], &in[Q].shape) &&
           view_is(&launch->outputs[0], &in[Q].shape);
}

size_t paged_attention_pieces(const struct launch *launch, size_t *out_grain)
{
    struct paged_attention a = paged_attention_of(launch);
    size_t rows = (size_t)launch->inputs[Q].shape.dims[0];
    /* Assumes that the sequence fills all its pages, so that the division depends only on shapes. */
    size_t work = a.shared * a.d * 2 * (size_t)(a.pages * a.page_size) + 1;
    *out_grain = MIN_THREAD_WORK / work + 1;
    return rows * a.groups;
}

size_t paged_attention_length(const struct paged_attention *a, size_t row)
{
    int64_t length = (int64_t)a->position[row] + 1, max = a->pages * a->page_size;
    return length < 0 ? 0 : (size_t)(length < max ? length : max);
}

int64_t paged_attention_place(const struct paged_attention *a, size_t row, size_t position)
{
    int64_t sequence = a->sequence[row] < 0 ? a->sequence[row] + a->sequences : a->sequence[row];
    int64_t page = sequence >= 0 && sequence < a->sequences
                       ? a->tables[sequence * a->pages + (int64_t)position / a->page_size]
                       : 0;
    int64_t place = page * a->page_size + (int64_t)position % a->page_size;
    place += place < 0 ? a->places : 0;
    return place >= 0 && place < a->places ? place : -1;
}
