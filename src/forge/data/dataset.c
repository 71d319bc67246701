/* data/dataset.c - columns of examples.
 *
 * Owns a reference to each column's buffer. Where the columns came from is the reader's (mnist.c); which examples make a
 * batch is the loader's.
 * Newcomers: example i is row i of every column, so that all have the same first dimension.
 */
#include <forge/data.h>
#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>

struct forge_dataset {
    size_t column_count;
    forge_tensor columns[FORGE_DATASET_MAX_COLUMNS];
};

/* Takes a view of the column, which also checks that it lies in its buffer. */
static joule_status take_column(struct forge_dataset *dataset, const forge_tensor *column,
                                joule_error *out_error)
{
    size_t index = dataset->column_count;
    forge_tensor view;
    joule_status status = forge_tensor_view(column->buffer, column->offset_bytes, column->dtype,
                                            &column->shape, &view, out_error);
    if (status != JOULE_OK)
        return status;
    if (forge_dtype_block_elements(view.dtype) != 1)
        return error_set(out_error, JOULE_INVALID,
                         "dataset: column %zu is of %s, whose elements have no address; convert it first",
                         index, forge_dtype_name(view.dtype));
    if (!forge_tensor_is_packed(column))
        return error_set(out_error, JOULE_INVALID, "dataset: column %zu is not packed; copy it first", index);
    if (view.shape.rank == 0)
        return error_set(out_error, JOULE_INVALID, "dataset: column %zu is a single element, without rows",
                         index);
    if (index > 0 && view.shape.dims[0] != dataset->columns[0].shape.dims[0])
        return error_set(out_error, JOULE_INVALID,
                         "dataset: column %zu has %" PRId64 " rows where column 0 has %" PRId64, index,
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
        return error_set(out_error, JOULE_NO_MEMORY, "no memory for a dataset");
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
