/* infer/engine/runner.c - see runner.h. */
#include "forge/infer/engine/runner.h"

#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/string.h"

static joule_status add_weight(struct runner *r, const struct model_tensor *tensor, joule_error *error)
{
    forge_buffer *buffer;
    forge_tensor view;
    /* The cast is safe, because the program only reads weights and never writes the mapped memory. */
    joule_status status =
        forge_buffer_wrap((void *)(uintptr_t)tensor->data, tensor->size_bytes, NULL, NULL, &buffer, error);
    if (status != JOULE_OK)
        return status;
    status = forge_tensor_view(buffer, 0, tensor->dtype, &tensor->shape, &view, error);
    if (status == JOULE_OK)
        status = forge_states_add(r->states, tensor->name, &view, error);
    forge_buffer_release(buffer);
    return status;
}

static joule_status load_program(struct runner *r, forge_device *device, joule_error *error)
{
    const struct model_file *file = r->model->file;
    forge_graph *graph = NULL;
    joule_status status = model_graph_build(file, &r->sizes, &graph, error);
    if (status == JOULE_OK)
        status = forge_compile(graph, device, &r->program, error);
    forge_graph_free(graph);
    if (status == JOULE_OK)
        status = forge_states_new(device, 0, &r->states, error);
    for (size_t i = 0; status == JOULE_OK && i < file->tensor_count; i++)
        status = add_weight(r, &file->tensors[i], error);
    if (status == JOULE_OK)
        status = forge_instance_new(r->program, device, r->states, &r->instance, error);
    return status;
}

/* Returns the memory that new processes can use without swapping, in bytes; UINT64_MAX: unknown. */
static uint64_t available_bytes(void)
{
    size_t size;
    char *text = file_read_whole("/proc/meminfo", FILE_REGULAR, 1 << 16, &size);
    uint64_t bytes = text ? string_meminfo_bytes(text, "MemAvailable:") : UINT64_MAX;
    free(text);
    return bytes;
}

/* Repacks the weights, unless there is too little memory. */
static joule_status repack_weights(struct runner *r, joule_error *error)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < r->model->file->tensor_count; i++)
        bytes += r->model->file->tensors[i].size_bytes;
    if (bytes > available_bytes() / 4 * 3)
        return JOULE_OK;
    joule_status status = forge_instance_repack(r->instance, &r->repacked_bytes, error);
    return status == JOULE_NO_MEMORY ? JOULE_OK : status;
}

static joule_status make_inputs(struct runner *r, joule_error *error)
{
    const struct model_graph_sizes *s = &r->sizes;
    size_t rows = (size_t)s->max_rows;
    r->inputs = (struct step_inputs){calloc(rows, sizeof(int32_t)),
                                     calloc(rows, sizeof(int32_t)),
                                     calloc(rows, sizeof(int32_t)),
                                     calloc(rows, sizeof(int32_t)),
                                     calloc((size_t)(s->max_sequences * s->sequence_pages), sizeof(int32_t)),
                                     calloc((size_t)s->max_outputs, sizeof(int32_t))};
    if (!r->inputs.tokens || !r->inputs.positions || !r->inputs.sequences || !r->inputs.places ||
        !r->inputs.tables || !r->inputs.output_rows)
        return error_set(error, JOULE_NO_MEMORY, "cannot load a model: out of memory");
    return JOULE_OK;
}

joule_status runner_open(struct runner *runner, const forge_model *model, forge_device *device,
                         const struct model_graph_sizes *sizes, bool keeps_weights_mapped,
                         joule_error *out_error)
{
    *runner = (struct runner){.model = model, .sizes = *sizes};
    joule_status status =
        page_pool_new((size_t)sizes->pages, (size_t)sizes->page_size, NULL, &runner->pool, out_error);
    if (status == JOULE_OK)
        status = make_inputs(runner, out_error);
    if (status == JOULE_OK)
        status = load_program(runner, device, out_error);
    return status == JOULE_OK && !keeps_weights_mapped ? repack_weights(runner, out_error) : status;
}

void runner_close(struct runner *r)
{
    forge_instance_free(r->instance);
    forge_states_free(r->states);
    forge_program_free(r->program);
    page_pool_free(r->pool);
    free(r->inputs.tokens);
    free(r->inputs.positions);
    free(r->inputs.sequences);
    free(r->inputs.places);
    free(r->inputs.tables);
    free(r->inputs.output_rows);
    *r = (struct runner){0};
}

/* --- steps ---------------------------------------------------------------------------------------------- */

void runner_begin(struct runner *r)
{
    r->rows = r->outputs = r->spans = 0;
}

/* Returns token i of the list that consists of a sequence's tokens and its drafts. */
static int32_t token_at(const struct sequence *sequence, size_t i)
{
    return i < sequence->token_count ? sequence->tokens[i] : sequence->drafts[i - sequence->token_count];
}

void runner_add(struct runner *r, const struct sequence *sequence, const struct page_table *table,
                size_t first, size_t count, size_t outputs)
{
    size_t size = (size_t)r->sizes.page_size, table_size = (size_t)r->sizes.sequence_pages;
    int32_t *pages = r->inputs.tables + r->spans * table_size;
    /* The program reads only the pages of positions up to that of the row, so the others may be of earlier
     * steps. */
    for (size_t i = 0; i < table->page_count; i++)
        if (pages[i] != (int32_t)table->pages[i]) {
            pages[i] = (int32_t)table->pages[i];
            r->has_new_pages = true;
        }
    for (size_t i = 0; i < outputs; i++)
        r->inputs.output_rows[r->outputs++] = (int32_t)(r->rows + count - outputs + i);
    for (size_t i = 0; i < count; i++, r->rows++) {
        size_t position = first + i;
        r->inputs.tokens[r->rows] = token_at(sequence, position);
        r->inputs.positions[r->rows] = (int32_t)position;
        r->inputs.sequences[r->rows] = (int32_t)r->spans;
        r->inputs.places[r->rows] = (int32_t)(table->pages[position / size] * size + position % size);
    }
    r->spans++;
}

static joule_status set_input(struct runner *r, const char *name, int32_t *data, forge_shape shape,
                              joule_error *error)
{
    forge_buffer *buffer;
    forge_tensor tensor;
    size_t bytes = forge_shape_elements(&shape) * sizeof *data;
    joule_status status = forge_buffer_wrap(data, bytes, NULL, NULL, &buffer, error);
    if (status != JOULE_OK)
        return status;
    status = forge_tensor_view(buffer, 0, FORGE_I32, &shape, &tensor, error);
    if (status == JOULE_OK)
        status = forge_instance_set(r->instance, name, &tensor, error);
    forge_buffer_release(buffer);
    return status;
}

static joule_status set_inputs(struct runner *r, joule_error *error)
{
    forge_dim rows = (forge_dim)r->rows, outputs = r->outputs ? (forge_dim)r->outputs : 1;
    const struct {
        const char *name;
        int32_t *data;
        forge_shape shape;
    } inputs[] = {
        {"tokens", r->inputs.tokens, forge_shape_of(rows)},
        {"positions", r->inputs.positions, forge_shape_of(rows)},
        {"sequences", r->inputs.sequences, forge_shape_of(rows)},
        {"places", r->inputs.places, forge_shape_of(rows)},
        {"output_rows", r->inputs.output_rows, forge_shape_of(outputs)},
    };
    joule_status status = JOULE_OK;
    if (r->outputs == 0)
        r->inputs.output_rows[0] = 0; /* the program must compute at least one row of logits */
    for (size_t i = 0; status == JOULE_OK && i < sizeof inputs / sizeof *inputs; i++)
        status = set_input(r, inputs[i].name, inputs[i].data, inputs[i].shape, error);
    /* The tables are the largest input, and most steps do not change them. */
    if (status == JOULE_OK && (r->has_new_pages || r->set_spans != r->spans))
        status = set_input(r, "tables", r->inputs.tables,
                           forge_shape_of((forge_dim)r->spans, r->sizes.sequence_pages), error);
    r->has_new_pages = false;
    r->set_spans = r->spans;
    return status;
}

joule_status runner_run(struct runner *r, const float **out_logits, joule_error *out_error)
{
    forge_tensor logits;
    joule_status status = set_inputs(r, out_error);
    int64_t begin_ns = clock_now_ns();
    if (status == JOULE_OK)
        status = forge_instance_run(r->instance, out_error);
    r->run_ns += clock_now_ns() - begin_ns;
    if (status == JOULE_OK)
        status = forge_instance_get(r->instance, "logits", &logits, out_error);
    if (status == JOULE_OK)
        *out_logits = forge_tensor_data(&logits);
    return status;
}
