/* tools/forge/trainee.c - see trainee.h. */
#include "trainee.h"

#include <math.h>
#include <string.h>
#include "base/error.h"

#define CLASSES    10
#define TEST_BATCH 500

/* --- models -------------------------------------------------------------------------------------------------- */

static forge_value mlp(forge_builder *b, forge_value images)
{
    forge_shape shape = forge_value_shape(b, images);
    forge_value rows = forge_reshape(b, images, forge_shape_of(shape.dims[0], shape.dims[1] * shape.dims[2]));
    return forge_mlp(b, "mlp", rows, (int64_t[]){128, CLASSES}, 2);
}

static forge_value cnn(forge_builder *b, forge_value images)
{
    forge_shape shape = forge_value_shape(b, images);
    forge_value one_channel =
        forge_reshape(b, images, forge_shape_of(shape.dims[0], 1, shape.dims[1], shape.dims[2]));
    return forge_cnn(b, "cnn", one_channel, (int64_t[]){16, 32, 64, CLASSES});
}

static const struct model {
    const char *name;
    forge_value (*build)(forge_builder *b, forge_value images); /* f32 [n, 28, 28] to logits [n, 10] */
} models[] = {
    {"mlp", mlp},
    {"cnn", cnn},
};

size_t trainee_models(void)
{
    return sizeof models / sizeof *models;
}

const char *trainee_model(size_t index, const void *context)
{
    (void)context;
    return models[index].name;
}

static const struct model *find_model(const char *name)
{
    for (size_t i = 0; i < trainee_models(); i++)
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    return NULL;
}

/* --- programs ------------------------------------------------------------------------------------------------ */

/* Bytes to numbers of mean 0 and sd 1 over MNIST's training images (0.1307 and 0.3081). */
static forge_value normalised(forge_builder *b, forge_value bytes)
{
    forge_phase phase = forge_phase_set(b, FORGE_PHASE_DATA);
    forge_scope_push(b, "data");
    forge_value x =
        forge_mul(b, forge_cast(b, FORGE_F32, bytes), forge_scalar(b, FORGE_F32, 1 / (255 * 0.3081)));
    x = forge_sub(b, x, forge_scalar(b, FORGE_F32, 0.1307 / 0.3081));
    forge_scope_pop(b);
    forge_phase_set(b, phase);
    return x;
}

static forge_value logits_of(const struct trainee *t, forge_builder *b, int64_t examples,
                             forge_value *out_labels)
{
    forge_tensor images = forge_dataset_column(t->train, 0);
    forge_shape shape = forge_shape_of(examples, images.shape.dims[1], images.shape.dims[2]);
    forge_value bytes = forge_input(b, "images", FORGE_U8, shape);
    *out_labels = forge_input(b, "labels", FORGE_U8, forge_shape_of(examples));
    return find_model(t->options.model)->build(b, normalised(b, bytes));
}

static joule_status load(struct trainee *t, forge_builder *b, forge_program **out_program,
                         forge_instance **out_instance, joule_error *error)
{
    forge_graph *graph = NULL;
    joule_status status = forge_builder_finish(b, &graph, error);
    if (status == JOULE_OK)
        status = forge_compile(graph, t->device, out_program, error);
    forge_graph_free(graph);
    if (status == JOULE_OK)
        status = forge_instance_new(*out_program, t->device, t->states, out_instance, error);
    return status;
}

static void count_parameters(struct trainee *t, forge_builder *b)
{
    for (size_t i = 0; i < forge_parameter_count(b); i++) {
        forge_shape shape = forge_value_shape(b, forge_read(b, forge_parameter_slot(b, i)));
        t->parameters += forge_shape_elements(&shape);
    }
}

static void add_optimiser(const struct trainee_options *o, forge_builder *b, forge_value loss,
                          forge_value rate)
{
    forge_sgd_options sgd = {.struct_size = sizeof sgd,
                             .momentum = o->momentum,
                             .weight_decay = o->weight_decay,
                             .max_norm = o->max_norm};
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    adamw.weight_decay = o->weight_decay;
    adamw.max_norm = o->max_norm;
    if (o->is_adamw)
        forge_adamw(b, loss, rate, &adamw);
    else
        forge_sgd(b, loss, rate, &sgd);
}

static joule_status load_training(struct trainee *t, joule_error *error)
{
    forge_builder *b = forge_builder_new();
    forge_value labels, logits = logits_of(t, b, t->options.batch_size, &labels);
    forge_value rate = forge_input(b, "learning_rate", FORGE_F32, (forge_shape){0});
    forge_scope_push(b, "loss");
    forge_value loss = forge_cross_entropy(b, logits, labels);
    forge_scope_pop(b);
    forge_output(b, "loss", loss);
    count_parameters(t, b);
    add_optimiser(&t->options, b, loss, rate);
    return load(t, b, &t->program, &t->instance, error);
}

/* --- life ---------------------------------------------------------------------------------------------------- */

static joule_status open_data(struct trainee *t, joule_error *error)
{
    joule_status status = forge_dataset_mnist(t->options.data, false, &t->train, error);
    if (status == JOULE_OK)
        status = forge_dataset_mnist(t->options.data, true, &t->test, error);
    if (status != JOULE_OK)
        return status;
    forge_loader_options how = {.struct_size = sizeof how,
                                .batch_size = t->options.batch_size,
                                .seed = t->options.seed,
                                .shuffles = true,
                                .workers = 1};
    status = forge_loader_new(t->train, &how, &t->loader, error);
    if (status == JOULE_OK)
        t->steps_per_epoch = forge_loader_batches_per_epoch(t->loader);
    return status;
}

joule_status trainee_open(struct trainee *t, const struct trainee_options *options, joule_error *error)
{
    t->options = *options;
    if (!find_model(options->model))
        return error_set(error, JOULE_ABSENT, "there is no model '%s'", options->model);
    joule_status status = forge_device_open(options->device, &t->device, error);
    if (status == JOULE_OK && options->threads)
        status = forge_device_set_threads(t->device, options->threads, error);
    if (status == JOULE_OK)
        status = forge_states_new(t->device, options->seed, &t->states, error);
    if (status == JOULE_OK)
        status = open_data(t, error);
    if (status == JOULE_OK)
        status = load_training(t, error);
    if (status == JOULE_OK)
        status = forge_buffer_wrap(&t->rate, sizeof t->rate, NULL, NULL, &t->rate_buffer, error);
    return status;
}

void trainee_close(struct trainee *t)
{
    forge_instance_free(t->instance);
    forge_program_free(t->program);
    forge_buffer_release(t->rate_buffer);
    forge_loader_free(t->loader);
    forge_dataset_free(t->train);
    forge_dataset_free(t->test);
    forge_states_free(t->states);
    forge_device_close(t->device);
}

/* --- work ---------------------------------------------------------------------------------------------------- */

static joule_status set_batch(forge_instance *instance, const forge_tensor *columns, joule_error *error)
{
    joule_status status = forge_instance_set(instance, "images", &columns[0], error);
    return status == JOULE_OK ? forge_instance_set(instance, "labels", &columns[1], error) : status;
}

static joule_status set_rate(struct trainee *t, joule_error *error)
{
    forge_schedule schedule = {.struct_size = sizeof schedule,
                               .kind = t->options.schedule,
                               .rate = t->options.learning_rate,
                               .warm_up_steps = t->options.warm_up_steps,
                               .steps = t->steps_per_epoch * t->options.epochs};
    forge_tensor tensor;
    t->rate = (float)forge_schedule_rate(&schedule, t->steps);
    joule_status status = forge_tensor_view(t->rate_buffer, 0, FORGE_F32, &(forge_shape){0}, &tensor, error);
    return status == JOULE_OK ? forge_instance_set(t->instance, "learning_rate", &tensor, error) : status;
}

joule_status trainee_step(struct trainee *t, double *out_loss, joule_error *error)
{
    forge_tensor columns[FORGE_DATASET_MAX_COLUMNS], loss;
    joule_status status = forge_loader_next(t->loader, columns, NULL, error);
    if (status == JOULE_OK)
        status = set_batch(t->instance, columns, error);
    if (status == JOULE_OK)
        status = set_rate(t, error);
    if (status == JOULE_OK)
        status = forge_instance_run(t->instance, error);
    if (status == JOULE_OK)
        status = forge_instance_get(t->instance, "loss", &loss, error);
    if (status != JOULE_OK)
        return status;
    *out_loss = (double)*(float *)forge_tensor_data(&loss);
    t->steps++;
    return JOULE_OK;
}

forge_cursor trainee_cursor(const struct trainee *t)
{
    return (forge_cursor){t->steps / t->steps_per_epoch, t->steps % t->steps_per_epoch};
}

joule_status trainee_seek(struct trainee *t, forge_cursor cursor, joule_error *error)
{
    joule_status status = forge_loader_seek(t->loader, cursor, error);
    if (status == JOULE_OK)
        t->steps = cursor.epoch * t->steps_per_epoch + cursor.batch;
    return status;
}

joule_status trainee_check(struct trainee *t, joule_error *error)
{
    forge_tensor slot;
    const char *name;
    for (size_t i = 0; forge_states_get(t->states, i, &slot, &name) == JOULE_OK; i++) {
        const float *numbers = forge_tensor_data(&slot);
        size_t count = slot.dtype == FORGE_F32 ? forge_tensor_elements(&slot) : 0;
        for (size_t k = 0; k < count; k++)
            if (!isfinite(numbers[k]))
                return error_set(error, JOULE_FAILED, "step %llu has made %g of element %zu of %s",
                                 (unsigned long long)t->steps, (double)numbers[k], k, name);
    }
    return JOULE_OK;
}

/* A view of `count` rows of a column. */
static joule_status rows_of(const forge_dataset *dataset, size_t column, size_t first, size_t count,
                            forge_tensor *out_rows, joule_error *error)
{
    forge_tensor whole = forge_dataset_column(dataset, column);
    size_t row =
        forge_tensor_elements(&whole) / (size_t)whole.shape.dims[0] * forge_dtype_block_bytes(whole.dtype);
    whole.shape.dims[0] = (forge_dim)count;
    return forge_tensor_view(whole.buffer, whole.offset_bytes + first * row, whole.dtype, &whole.shape,
                             out_rows, error);
}

/* How many of the examples [first, end) are found, in batches of `batch`, which divides their number. */
static joule_status count_found(struct trainee *t, size_t first, size_t end, size_t batch, size_t *found,
                                joule_error *error)
{
    forge_program *program = NULL;
    forge_instance *instance = NULL;
    forge_tensor columns[2], count;
    forge_builder *b = forge_builder_new();
    forge_value labels, logits = logits_of(t, b, (int64_t)batch, &labels);
    forge_value class = forge_reduce(b, FORGE_ARGMAX, logits, 2, false);
    forge_value is_found = forge_binary(b, FORGE_EQ, class, forge_cast(b, FORGE_I64, labels));
    forge_output(b, "found", forge_reduce(b, FORGE_SUM, forge_cast(b, FORGE_I64, is_found), 1, false));
    joule_status status = load(t, b, &program, &instance, error);
    for (; status == JOULE_OK && first < end; first += batch) {
        for (size_t i = 0; status == JOULE_OK && i < 2; i++)
            status = rows_of(t->test, i, first, batch, &columns[i], error);
        if (status == JOULE_OK)
            status = set_batch(instance, columns, error);
        if (status == JOULE_OK)
            status = forge_instance_run(instance, error);
        if (status == JOULE_OK)
            status = forge_instance_get(instance, "found", &count, error);
        if (status == JOULE_OK)
            *found += (size_t) * (int64_t *)forge_tensor_data(&count);
    }
    forge_instance_free(instance);
    forge_program_free(program);
    return status;
}

joule_status trainee_test(struct trainee *t, double *out_accuracy, joule_error *error)
{
    size_t examples = forge_dataset_examples(t->test), whole = examples / TEST_BATCH * TEST_BATCH, found = 0;
    joule_status status = JOULE_OK;
    if (whole)
        status = count_found(t, 0, whole, TEST_BATCH, &found, error);
    if (status == JOULE_OK && whole < examples)
        status = count_found(t, whole, examples, examples - whole, &found, error);
    *out_accuracy = (double)found / (double)examples;
    return status;
}
