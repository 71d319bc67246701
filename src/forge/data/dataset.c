/* data/dataset.c - a dataset: columns of examples.
 *
 * A dataset owns a reference to the buffer of each column. Readers such as mnist.c read the columns; loader.c
 * makes batches. Example i is row i of every column, so all columns have the same first dimension. Rows may
 * overlap in memory.
 */
#include <forge/data.h>
#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>

struct forge_dataset {
    size_t column_count;
    forge_tensor columns[FORGE_DATASET_MAX_COLUMNS];
};

/* Makes a view of a column: [rows, ...]. Each row is packed; the distance between rows is arbitrary. Checks
 * only that the last row lies in the buffer, because all other rows are before it. */
static joule_status view_rows(const forge_tensor *column, size_t index, forge_tensor *out_view,
                              joule_error *out_error)
{
    forge_tensor row = *column;
    forge_dim rows = row.shape.rank ? row.shape.dims[0] : 0;
    int64_t offset = 0, stride = column->strides[0];
    if (row.shape.rank)
        row.shape.rank--;
    for (uint32_t k = 0; k < row.shape.rank; k++) {
        row.shape.dims[k] = column->shape.dims[k + 1];
        row.strides[k] = column->strides[k + 1];
    }
    if (rows < 1 || stride < 0 || !forge_tensor_is_packed(&row))
        return error_set(out_error, JOULE_INVALID,
                         "dataset: the rows of column %zu are not packed; copy the column first", index);
    int64_t bytes = (int64_t)forge_dtype_size_bytes(row.dtype, 1);
    if (__builtin_mul_overflow(stride, rows - 1, &offset) || __builtin_mul_overflow(offset, bytes, &offset) ||
        __builtin_add_overflow(offset, (int64_t)column->offset_bytes, &offset))
        return error_set(out_error, JOULE_INVALID, "dataset: column %zu is larger than its buffer", index);
    *out_view = *column;
    return forge_tensor_view(row.buffer, (size_t)offset, row.dtype, &row.shape, &row, out_error);
}

/* Adds a column. Fails if the column does not lie in its buffer, or if it has a different number of rows than
 * the other columns. */
static joule_status take_column(struct forge_dataset *dataset, const forge_tensor *column,
                                joule_error *out_error)
{
    size_t index = dataset->column_count;
    forge_tensor view;
    joule_status status = forge_tensor_is_packed(column)
                              ? forge_tensor_view(column->buffer, column->offset_bytes, column->dtype,
                                                  &column->shape, &view, out_error)
                              : view_rows(column, index, &view, out_error);
    if (status != JOULE_OK)
        return status;
    if (forge_dtype_block_elements(view.dtype) != 1)
        return error_set(out_error, JOULE_INVALID,
                         "dataset: column %zu is of %s, whose elements have no address; convert it first",
                         index, forge_dtype_name(view.dtype));
    if (view.shape.rank == 0)
        return error_set(out_error, JOULE_INVALID, "dataset: column %zu is a single element, without rows",
                         index);
    if (index > 0 && view.shape.dims[0] != dataset->columns[0].shape.dims[0])
        return error_set(out_error, JOULE_INVALID,
                         "dataset: column %zu has %" PRId64 " rows, but column 0 has %" PRId64, index,
                         view.shape.dims[0], dataset->columns[0].shape.dims[0]);
    forge_buffer_retain(view.buffer);
    dataset->columns[dataset->column_count++] = view;
    return JOULE_OK;
}

joule_status forge_dataset_new(const forge_tensor *columns, size_t count, forge_dataset **out_dataset,
                               joule_error *out_error)
{
    if (!columns || !out_dataset)
        return error_set(out_error, JOULE_INVALID, "forge_dataset_new: %s is NULL",
                         columns ? "out_dataset" : "columns");
    if (count == 0 || count > FORGE_DATASET_MAX_COLUMNS)
        return error_set(out_error, JOULE_INVALID, "a dataset has 1 to %d columns, not %zu",
                         FORGE_DATASET_MAX_COLUMNS, count);
    forge_dataset *dataset = calloc(1, sizeof *dataset);
    if (!dataset)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot make a dataset: out of memory");
    joule_status status = JOULE_OK;
    for (size_t i = 0; i < count && status == JOULE_OK; i++)
        status = take_column(dataset, &columns[i], out_error);
    if (status != JOULE_OK) {
        forge_dataset_free(dataset);
        return status;
    }
    *out_dataset = dataset;
    return JOULE_OK;
}

void forge_dataset_free(forge_dataset *dataset)
{
    if (!dataset)
        return;
    for (size_t i = 0; i < dataset->column_count; i++)
        forge_buffer_release(dataset->columns[i].buffer);
    free(dataset);
}

size_t forge_dataset_examples(const forge_dataset *dataset)
{
    return (size_t)dataset->columns[0].shape.dims[0];
}

size_t forge_dataset_columns(const forge_dataset *dataset)
{
    return dataset->column_count;
}

forge_tensor forge_dataset_column(const forge_dataset *dataset, size_t column)
{
    return column < dataset->column_count ? dataset->columns[column] : (forge_tensor){0};
}
