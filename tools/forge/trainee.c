/* tools/forge/trainee.c - see trainee.h. */
#include "trainee.h"

#include <math.h>
#include <string.h>
#include "base/error.h"
#include "compiled_code.h"
#include "task.h"

/* --- programs ------------------------------------------------------------------------------------------- */

joule_status trainee_load(struct trainee *t, forge_builder *b, forge_program **out_program,
                          forge_instance **out_instance, joule_error *error)
{
    forge_graph *graph = NULL;
    const forge_compile_options options = {.struct_size = sizeof options, .precision = t->options.precision};
    joule_status status = forge_builder_finish(b, &graph, error);
    if (status == JOULE_OK)
        status = forge_compile_with(graph, t->device, &options, out_program, error);
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

static void add_optimiser(const struct trainee *t, forge_builder *b, forge_value loss, forge_value rate)
{
    const struct trainee_options *o = &t->options;
    const struct task *task = t->model->task;
    forge_parameter_group undecayed = {.ranks = task->ranks_without_decay, .has_no_decay = true};
    forge_sgd_options sgd = {.struct_size = sizeof sgd,
                             .momentum = o->momentum,
                             .weight_decay = o->weight_decay,
                             .max_norm = o->max_norm};
    forge_loss_scale_options loss_scale = FORGE_LOSS_SCALE_OPTIONS;
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    adamw.weight_decay = o->weight_decay;
    adamw.max_norm = o->max_norm;
    adamw.beta2 = task->adamw_beta2;
    if (o->precision == FORGE_PRECISION_F16)
        sgd.loss_scale = adamw.loss_scale = &loss_scale;
    if (task->ranks_without_decay) {
        sgd.groups = adamw.groups = &undecayed;
        sgd.group_count = adamw.group_count = 1;
    }
    if (o->is_adamw)
        forge_adamw(b, loss, rate, &adamw);
    else
        forge_sgd(b, loss, rate, &sgd);
}

static joule_status load_training(struct trainee *t, joule_error *error)
{
    forge_builder *b = forge_builder_new();
    struct prediction p = t->model->task->predict(t, b, t->options.batch_size, true);
    forge_value rate = forge_input(b, "learning_rate", FORGE_F32, (forge_shape){0});
    forge_scope_push(b, "loss");
    forge_value loss = forge_cross_entropy(b, p.logits, p.labels);
    forge_scope_pop(b);
    forge_output(b, "loss", loss);
    count_parameters(t, b);
    add_optimiser(t, b, loss, rate);
    return trainee_load(t, b, &t->program, &t->instance, error);
}

/* --- opening and closing -------------------------------------------------------------------------------- */

static joule_status open_data(struct trainee *t, joule_error *error)
{
    joule_status status = t->model->task->open(t, error);
    if (status != JOULE_OK)
        return status;
    forge_loader_options how = {.struct_size = sizeof how,
                                .batch_size = t->options.batch_size,
                                .seed = t->options.seed,
                                .shuffle = true,
                                .workers = 1,
                                .stride = t->stride};
    status = forge_loader_new(t->train, &how, &t->loader, error);
    if (status == JOULE_INVALID)
        error_set(error, status,
                  "cannot train on %s: fewer examples than a batch of %u; use a smaller --batch",
                  t->options.data, t->options.batch_size);
    if (status == JOULE_OK)
        t->steps_per_epoch = forge_loader_batches_per_epoch(t->loader);
    return status;
}

joule_status trainee_open(struct trainee *t, const struct trainee_options *options, joule_error *error)
{
    t->options = *options;
    t->model = model_find(options->model);
    if (!t->model)
        return error_set(error, JOULE_ABSENT, "unknown model '%s'", options->model);
    joule_status status = forge_device_open(options->device, &t->device, error);
    if (status == JOULE_OK && options->threads)
        status = forge_device_set_threads(t->device, options->threads, error);
    if (status == JOULE_OK)
        compiled_code_begin(t->device, "train", options->is_compiled);
    if (status == JOULE_OK)
        status = forge_states_new(t->device, options->seed, &t->states, error);
    if (status == JOULE_OK)
        status = open_data(t, error);
    if (status == JOULE_OK)
        status = load_training(t, error);
    if (status == JOULE_OK)
        compiled_code_end(t->device, "train");
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
    forge_text_free(t->text);
    forge_states_free(t->states);
    forge_device_close(t->device);
}

/* --- training ------------------------------------------------------------------------------------------- */

static joule_status set_batch(const struct task *task, forge_instance *instance, const forge_tensor *columns,
                              joule_error *error)
{
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && i < task->input_count; i++)
        status = forge_instance_set(instance, task->inputs[i], &columns[i], error);
    return status;
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
        status = set_batch(t->model->task, t->instance, columns, error);
    if (status == JOULE_OK)
        status = set_rate(t, error);
    if (status == JOULE_OK)
        status = t->found ? forge_instance_run_checked(t->instance, t->found, error)
                          : forge_instance_run(t->instance, error);
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
                return error_set(error, JOULE_FAILED, "step %llu has set element %zu of %s to %g",
                                 (unsigned long long)t->steps, k, name, (double)numbers[k]);
    }
    return JOULE_OK;
}

bool trainee_loss_scale(const struct trainee *t, double *out_scale, uint64_t *out_skipped)
{
    forge_tensor scale, skipped;
    if (t->options.precision != FORGE_PRECISION_F16 ||
        forge_states_find(t->states, "loss_scale.scale", &scale) != JOULE_OK ||
        forge_states_find(t->states, "loss_scale.skipped_steps", &skipped) != JOULE_OK)
        return false;
    *out_scale = (double)*(const float *)forge_tensor_data(&scale);
    *out_skipped = (uint64_t) * (const int64_t *)forge_tensor_data(&skipped);
    return true;
}

/* --- the test ------------------------------------------------------------------------------------------- */

/* The test program for batches of one size. */
struct test {
    forge_program *program;
    forge_instance *instance;
    int64_t examples;
};

static void end_test(struct test *test)
{
    forge_instance_free(test->instance);
    forge_program_free(test->program);
    *test = (struct test){0};
}

static joule_status begin_test(struct trainee *t, struct test *test, int64_t examples, joule_error *error)
{
    const struct task *task = t->model->task;
    if (test->examples == examples)
        return JOULE_OK;
    end_test(test);
    test->examples = examples;
    forge_builder *b = forge_builder_new();
    forge_output(b, "sum", task->measure(b, task->predict(t, b, examples, false)));
    return trainee_load(t, b, &test->program, &test->instance, error);
}

static joule_status test_batch(struct trainee *t, struct test *test, const forge_tensor *columns, double *sum,
                               joule_error *error)
{
    forge_tensor part;
    joule_status status = begin_test(t, test, columns[0].shape.dims[0], error);
    if (status == JOULE_OK)
        status = set_batch(t->model->task, test->instance, columns, error);
    if (status == JOULE_OK)
        status = forge_instance_run(test->instance, error);
    if (status == JOULE_OK)
        status = forge_instance_get(test->instance, "sum", &part, error);
    if (status == JOULE_OK)
        *sum += *(double *)forge_tensor_data(&part);
    return status;
}

joule_status trainee_test(struct trainee *t, double *out_score, uint64_t *out_units, joule_error *error)
{
    forge_loader_options how = {.struct_size = sizeof how,
                                .batch_size = t->model->task->test_batch,
                                .keep_last = true,
                                .stride = t->stride};
    forge_loader *loader = NULL;
    forge_tensor columns[FORGE_DATASET_MAX_COLUMNS];
    struct test test = {0};
    double sum = 0;
    *out_units = 0;
    joule_status status = forge_loader_new(t->test, &how, &loader, error);
    uint64_t batches = status == JOULE_OK ? forge_loader_batches_per_epoch(loader) : 0;
    for (uint64_t i = 0; status == JOULE_OK && i < batches; i++) {
        status = forge_loader_next(loader, columns, NULL, error);
        if (status == JOULE_OK)
            status = test_batch(t, &test, columns, &sum, error);
        *out_units += status == JOULE_OK ? (uint64_t)columns[0].shape.dims[0] * t->units : 0;
    }
    end_test(&test);
    forge_loader_free(loader);
    *out_score = sum / (double)*out_units;
    return status;
}
