/* accumulate.c - computes a batch in parts and accumulates their gradients before the optimiser's step.
 *
 * Two programs share the same slots (named state: parameters, sums of gradients). The first program runs for
 * all parts but the last, and adds gradients to slots. The second program adds the gradients of the last
 * part, clips the sums, and makes the optimiser's step. Compile it with
 *
 *     cc accumulate.c $(pkg-config --cflags --libs forge) -lm -o accumulate && ./accumulate
 */
#include <forge/forge.h>
#include <math.h>
#include <stdio.h>

enum { PARTS = 4, ROWS = 8, IN = 3, STEPS = 200 };

struct run {
    forge_device *device;
    forge_states *states;
    forge_program *programs[2]; /* the second program is for the last part */
    forge_instance *instances[2];
    joule_error error;
};

/* Builds and loads a program that computes the loss of a linear layer on one part. It accumulates the
 * gradients or, for the last part, applies them. */
static joule_status load(struct run *run, int is_last)
{
    forge_gradient gradients[2];
    forge_graph *graph = NULL;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(ROWS, IN));
    forge_value wanted = forge_input(b, "y", FORGE_F32, forge_shape_of(ROWS, 1));
    forge_value y = forge_linear(b, "layer", x, 1, true);
    forge_value loss =
        forge_reduce(b, FORGE_MEAN, forge_unary(b, FORGE_SQUARE, forge_sub(b, y, wanted)), 3, false);
    forge_output(b, "loss", loss);
    size_t count = forge_parameter_gradients(b, loss, NULL, 0, gradients);
    forge_accumulate_gradients(b, gradients, count, PARTS, is_last);
    if (is_last)
        forge_sgd_step(b, gradients, count, forge_scalar(b, FORGE_F32, 0.1),
                       &(forge_sgd_options){.struct_size = sizeof(forge_sgd_options), .max_norm = 1});
    joule_status status = forge_builder_finish(b, &graph, &run->error);
    if (status == JOULE_OK)
        status = forge_compile(graph, run->device, &run->programs[is_last], &run->error);
    forge_graph_free(graph);
    if (status == JOULE_OK)
        status = forge_instance_new(run->programs[is_last], run->device, run->states,
                                    &run->instances[is_last], &run->error);
    return status;
}

static joule_status set(struct run *run, forge_instance *instance, const char *name, float *numbers,
                        forge_shape shape)
{
    forge_buffer *buffer;
    forge_tensor tensor;
    size_t size_bytes = forge_dtype_size_bytes(FORGE_F32, forge_shape_elements(&shape));
    joule_status status = forge_buffer_wrap(numbers, size_bytes, NULL, NULL, &buffer, &run->error);
    if (status == JOULE_OK)
        status = forge_tensor_view(buffer, 0, FORGE_F32, &shape, &tensor, &run->error);
    if (status == JOULE_OK)
        status = forge_instance_set(instance, name, &tensor, &run->error);
    forge_buffer_release(buffer);
    return status;
}

/* Runs one part. The labels are y = x0 - 2 x1 + 0.5 x2 + 1. */
static joule_status compute(struct run *run, int part, int step, double *out_loss)
{
    float x[ROWS * IN], y[ROWS];
    forge_instance *instance = run->instances[part == PARTS - 1];
    forge_tensor loss;
    for (int i = 0; i < ROWS * IN; i++)
        x[i] = sinf((float)(i + 7 * part + 31 * step));
    for (int i = 0; i < ROWS; i++)
        y[i] = x[IN * i] - 2 * x[IN * i + 1] + 0.5f * x[IN * i + 2] + 1;
    joule_status status = set(run, instance, "x", x, forge_shape_of(ROWS, IN));
    if (status == JOULE_OK)
        status = set(run, instance, "y", y, forge_shape_of(ROWS, 1));
    if (status == JOULE_OK)
        status = forge_instance_run(instance, &run->error);
    if (status == JOULE_OK)
        status = forge_instance_get(instance, "loss", &loss, &run->error);
    if (status == JOULE_OK)
        *out_loss += (double)*(const float *)forge_tensor_data(&loss) / PARTS;
    return status;
}

int main(void)
{
    struct run run = {0};
    double loss = 0;
    joule_status status = forge_device_open("cpu", &run.device, &run.error);
    if (status == JOULE_OK)
        status = forge_states_new(run.device, 1, &run.states, &run.error);
    for (int is_last = 0; status == JOULE_OK && is_last < 2; is_last++)
        status = load(&run, is_last);
    for (int step = 0; status == JOULE_OK && step < STEPS; step++) {
        loss = 0;
        for (int part = 0; status == JOULE_OK && part < PARTS; part++)
            status = compute(&run, part, step, &loss);
    }
    if (status == JOULE_OK)
        printf("loss after %d steps of %d parts: %.6f\n", STEPS, PARTS, loss);
    else
        fprintf(stderr, "accumulate: %s\n", run.error.message);
    for (int i = 0; i < 2; i++) {
        forge_instance_free(run.instances[i]);
        forge_program_free(run.programs[i]);
    }
    forge_states_free(run.states);
    forge_device_close(run.device);
    return status != JOULE_OK;
}
