/* backends/cpu/matmul.c - see matmul.h. */
#include "forge/backends/cpu/matmul.h"

#include "forge/reference/reference_walk.h"

static bool takes(const struct launch *launch, forge_dtype dtype, forge_dtype accumulate)
{
    const struct matmul_attributes *attributes = launch->attributes;
    return launch->inputs[0].dtype == dtype && launch->inputs[1].dtype == dtype &&
           launch->outputs[0].dtype == dtype && attributes->accumulate == accumulate;
}

bool matmul_takes_f32(const struct launch *launch)
{
    return takes(launch, FORGE_F32, FORGE_F32);
}

bool matmul_takes_f64(const struct launch *launch)
{
    return takes(launch, FORGE_F64, FORGE_F64);
}

bool matmul_takes_bf16(const struct launch *launch)
{
    return takes(launch, FORGE_BF16, FORGE_F32);
}

bool matmul_takes_f16(const struct launch *launch)
{
    return takes(launch, FORGE_F16, FORGE_F32);
}

/* All products of a launch: the first product, and the operands' positions for the following products. */
struct products {
    struct gemm gemm;
    size_t count;
    struct walk a, b;
};

static struct gemm_side side_of(const struct view *view, bool lines_are_columns)
{
    const int64_t *strides = &view->strides[view->shape.rank - 2];
    return (struct gemm_side){
        .data = view->data, .next_line = strides[lines_are_columns], .next_k = strides[!lines_are_columns]};
}

/* Returns the stride of an operand along a leading dimension of the output; 0 if it is broadcast. from_last:
 * number of the dimension, counted from the last leading dimension. */
static int64_t leading_stride(const struct view *view, uint32_t from_last)
{
    uint32_t leading = view->shape.rank - 2;
    bool is_there = from_last < leading && view->shape.dims[leading - 1 - from_last] != 1;
    return is_there ? view->strides[leading - 1 - from_last] : 0;
}

/* Joins leading dimensions with the rows of one product, if b is broadcast along them and the rows of a have
 * a constant stride. Returns the other leading dimensions. */
static forge_shape join_rows(const struct launch *launch, struct gemm *gemm)
{
    forge_shape leading = launch->outputs[0].shape;
    leading.rank -= 2;
    for (uint32_t from_last = 0; leading.rank; from_last++, leading.rank--) {
        size_t count = (size_t)leading.dims[leading.rank - 1];
        int64_t a = leading_stride(&launch->inputs[0], from_last),
                b = leading_stride(&launch->inputs[1], from_last);
        if (count == 1)
            continue;
        if (gemm->rows == 1)
            gemm->a.next_line = a;
        if (b != 0 || a != (int64_t)gemm->rows * gemm->a.next_line)
            break;
        gemm->rows *= count;
    }
    return leading;
}

static struct products products_of(const struct launch *launch)
{
    const struct view *a = &launch->inputs[0], *b = &launch->inputs[1], *out = &launch->outputs[0];
    const struct matmul_attributes *attributes = launch->attributes;
    bool a_is_transposed = attributes->flags & FORGE_TRANSPOSE_A,
         b_is_transposed = attributes->flags & FORGE_TRANSPOSE_B;
    struct products products = {
        .gemm = {.rows = (size_t)out->shape.dims[out->shape.rank - 2],
                 .columns = (size_t)out->shape.dims[out->shape.rank - 1],
                 .depth = (size_t)a->shape.dims[a->shape.rank - (a_is_transposed ? 2 : 1)],
                 .a = side_of(a, a_is_transposed),
                 .b = side_of(b, !b_is_transposed),
                 .c = out->data,
                 .next_row = out->shape.dims[out->shape.rank - 1]}};
    forge_shape leading = join_rows(launch, &products.gemm);
    uint32_t joined = out->shape.rank - 2 - leading.rank;
    struct view heads[2] = {*a, *b};
    for (int i = 0; i < 2; i++) {
        uint32_t own = heads[i].shape.rank - 2;
        heads[i].shape.rank = own > joined ? own - joined : 0;
    }
    products.count = forge_shape_elements(&leading);
    products.a = walk_of(&heads[0], &leading);
    products.b = walk_of(&heads[1], &leading);
    return products;
}

static struct gemm product(const struct gemm_elements *elements, const struct products *products, size_t i)
{
    struct gemm gemm = products->gemm;
    size_t bytes = elements->bytes, step = elements->depth_step ? elements->depth_step : 1;
    gemm.a.data = (const char *)gemm.a.data + walk_offset(&products->a, i) * (int64_t)bytes;
    gemm.b.data = (const char *)gemm.b.data + walk_offset(&products->b, i) * (int64_t)bytes;
    gemm.c =
        (char *)gemm.c + i * gemm.rows * gemm.columns * gemm_c_bytes(gemm.finish, elements->narrow, bytes);
    gemm.a.pack = gemm.b.pack = elements->pack;
    gemm.a.depth = gemm.b.depth = gemm.depth;
    gemm.depth = (gemm.depth + step - 1) / step;
    gemm.narrow = elements->narrow;
    return gemm;
}

size_t matmul_pieces(const struct launch *launch, size_t *out_grain)
{
    struct products products = products_of(launch);
    const struct gemm *gemm = &products.gemm;
    struct gemm_cut cut = gemm_cut(gemm->rows, gemm->columns, gemm->depth);
    *out_grain = gemm_grain(&cut, gemm->depth);
    return products.count * cut.row_pieces * cut.column_pieces;
}

void matmul_run(const struct gemm_elements *elements, const struct launch *launch, size_t first, size_t end,
                const struct gemm_finish *finish, void *scratch)
{
    struct products products = products_of(launch);
    products.gemm.finish = finish;
    struct gemm_cut cut = gemm_cut(products.gemm.rows, products.gemm.columns, products.gemm.depth);
    size_t pieces = cut.row_pieces * cut.column_pieces;
    for (size_t i = first, done; i < end; i += done) {
        struct gemm gemm = product(elements, &products, i / pieces);
        done = gemm_run_piece(elements->code, &gemm, &cut, i % pieces, end - i, scratch);
    }
}
