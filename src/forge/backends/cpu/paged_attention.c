/* backends/cpu/paged_attention.c - see paged_attention.h. */
#include "forge/backends/cpu/paged_attention.h"

#include "forge/backends/cpu/packed.h"

#define WORTH_A_THREAD 32768 /* minimum work per thread, in multiply-adds */

enum { Q, KEYS, VALUES, TABLES, SEQUENCE, POSITION, INPUTS };

static struct paged_cache cache_of(const struct view *view)
{
    return (struct paged_cache){view->data, view->dtype,
                                forge_dtype_size_bytes(view->dtype, (size_t)view->shape.dims[2])};
}

/* Returns the maximum number of rows of a block: the mean number of rows of a sequence, so that single rows
 * of different sequences can run on different threads. It depends only on shapes. */
static size_t block_rows(size_t rows, int64_t sequences, size_t shared)
{
    size_t most = PAGED_LINES / shared, mean = sequences > 0 ? rows / (size_t)sequences : rows;
    most = mean < most ? mean : most;
    return most > 0 ? most : 1;
}

struct paged_attention paged_attention_of(const struct launch *launch)
{
    const struct composite_attributes *attributes = launch->attributes;
    const struct view *in = launch->inputs;
    size_t rows = (size_t)in[Q].shape.dims[0], groups = (size_t)in[KEYS].shape.dims[1];
    size_t shared = (size_t)in[Q].shape.dims[1] / groups;
    int64_t sequences = in[TABLES].shape.dims[0];
    return (struct paged_attention){.q = in[Q].data,
                                    .out = launch->outputs[0].data,
                                    .keys = cache_of(&in[KEYS]),
                                    .values = cache_of(&in[VALUES]),
                                    .tables = in[TABLES].data,
                                    .sequence = in[SEQUENCE].data,
                                    .position = in[POSITION].data,
                                    .rows = rows,
                                    .groups = groups,
                                    .shared = shared,
                                    .d = (size_t)in[Q].shape.dims[2],
                                    .block_rows = block_rows(rows, sequences, shared),
                                    .places = in[KEYS].shape.dims[0],
                                    .sequences = sequences,
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
    return forge_shape_equal(&in[KEYS].shape, &in[VALUES].shape) && q[1] % keys[1] == 0 && q[1] > 0 &&
           q[2] == keys[2] && in[SEQUENCE].shape.dims[0] == q[0] && in[POSITION].shape.dims[0] == q[0] &&
           length < PAGED_SCORES - 2 * PAGED_TILE && view_is(&in[Q], &in[Q].shape) &&
           view_is(&launch->outputs[0], &in[Q].shape);
}

size_t paged_attention_pieces(const struct launch *launch, size_t *out_grain)
{
    struct paged_attention a = paged_attention_of(launch);
    /* The work of a block with all its pages in use, so that the division depends only on shapes. */
    size_t work = a.block_rows * a.shared * a.d * 2 * (size_t)(a.pages * a.page_size) + 1;
    *out_grain = WORTH_A_THREAD / work + 1;
    return (a.rows + a.block_rows - 1) / a.block_rows * a.groups;
}

/* Returns the sequence of a row. Negative numbers count from the end. */
static int64_t sequence_of(const struct paged_attention *a, size_t row)
{
    return a->sequence[row] < 0 ? a->sequence[row] + a->sequences : a->sequence[row];
}

size_t paged_attention_run(const struct paged_attention *a, size_t row, size_t end)
{
    size_t count = 1;
    while (row + count < end && sequence_of(a, row + count) == sequence_of(a, row))
        count++;
    return count;
}

size_t paged_attention_length(const struct paged_attention *a, size_t row)
{
    int64_t length = (int64_t)a->position[row] + 1, most = a->pages * a->page_size;
    return length < 0 ? 0 : (size_t)(length < most ? length : most);
}

void paged_attention_places(const struct paged_attention *a, size_t row, size_t first, size_t count,
                            int64_t *out_places)
{
    int64_t sequence = sequence_of(a, row);
    const int32_t *table = sequence >= 0 && sequence < a->sequences ? a->tables + sequence * a->pages : NULL;
    int64_t page = (int64_t)first / a->page_size, offset = (int64_t)first % a->page_size;
    for (size_t i = 0; i < count; i++) {
        int64_t place = (table ? table[page] : 0) * a->page_size + offset;
        place += place < 0 ? a->places : 0;
        out_places[i] = place >= 0 && place < a->places ? place : -1;
        if (++offset == a->page_size) {
            offset = 0;
            page++;
        }
    }
}
