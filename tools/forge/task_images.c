/* tools/forge/task_images.c - the task of classifying MNIST images, and its models; see task.h. */
#include "task.h"

#include <forge/data.h>
#include <forge/nn.h>

enum { CLASSES = 10 };

static joule_status open_images(struct trainee *t, joule_error *error)
{
    joule_status status = forge_dataset_mnist(t->options.data, false, &t->train, error);
    t->stride = t->units = 1;
    t->classes = CLASSES;
    return status == JOULE_OK ? forge_dataset_mnist(t->options.data, true, &t->test, error) : status;
}

/* Scales bytes to mean 0 and standard deviation 1 over MNIST's training images (0.1307 and 0.3081 of the
 * range). */
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

static struct prediction predict(const struct trainee *t, forge_builder *b, int64_t examples,
                                 bool is_training)
{
    forge_tensor images = forge_dataset_column(t->train, 0);
    forge_shape shape = forge_shape_of(examples, images.shape.dims[1], images.shape.dims[2]);
    forge_value bytes = forge_input(b, "images", FORGE_U8, shape);
    forge_value labels = forge_input(b, "labels", FORGE_U8, forge_shape_of(examples));
    forge_value logits = t->model->build(&t->options, t->classes, b, normalised(b, bytes), is_training);
    return (struct prediction){logits, labels};
}

/* Returns the number of correct predictions. */
static forge_value measure(forge_builder *b, struct prediction p)
{
    forge_value class = forge_reduce(b, FORGE_ARGMAX, p.logits, 2, false);
    forge_value is_found = forge_binary(b, FORGE_EQ, class, forge_cast(b, FORGE_I64, p.labels));
    return forge_reduce(b, FORGE_SUM, forge_cast(b, FORGE_F64, is_found), 1, false);
}

static void print_score(double score, uint64_t units, FILE *to)
{
    fprintf(to, "  accuracy %.2f %% on %llu test examples\n", score * 100, (unsigned long long)units);
}

const struct task task_images = {
    .unit = "samples",
    .score = "accuracy",
    .inputs = {"images", "labels"},
    .input_count = 2,
    .test_batch = 500,
    .adamw_beta2 = 0.999,
    .defaults = {.batch_size = 128, .epochs = 3, .adamw_rate = 0.001, .adamw_decay = 0.01},
    .open = open_images,
    .predict = predict,
    .measure = measure,
    .print_score = print_score};

/* --- models: images f32 [n, 28, 28] to logits ----------------------------------------------------------- */

forge_value model_mlp(const struct trainee_options *options, int64_t classes, forge_builder *b,
                      forge_value images, bool is_training)
{
    (void)options, (void)is_training;
    forge_shape shape = forge_value_shape(b, images);
    forge_value rows = forge_reshape(b, images, forge_shape_of(shape.dims[0], shape.dims[1] * shape.dims[2]));
    return forge_mlp(b, "mlp", rows, (int64_t[]){128, classes}, 2);
}

static forge_value as_one_channel(forge_builder *b, forge_value images)
{
    forge_shape shape = forge_value_shape(b, images);
    return forge_reshape(b, images, forge_shape_of(shape.dims[0], 1, shape.dims[1], shape.dims[2]));
}

forge_value model_cnn(const struct trainee_options *options, int64_t classes, forge_builder *b,
                      forge_value images, bool is_training)
{
    (void)options, (void)is_training;
    return forge_cnn(b, "cnn", as_one_channel(b, images), (int64_t[]){16, 32, 64, classes});
}

forge_value model_resnet18(const struct trainee_options *options, int64_t classes, forge_builder *b,
                           forge_value images, bool is_training)
{
    forge_resnet_options resnet = {.struct_size = sizeof resnet,
                                   .depth = 18,
                                   .classes = classes,
                                   .width = options->width,
                                   .is_for_small_images = true,
                                   .is_training = is_training,
                                   .checkpoint_activations = options->checkpoint_activations};
    return forge_resnet(b, NULL, as_one_channel(b, images), &resnet);
}
