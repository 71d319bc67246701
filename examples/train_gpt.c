/* train_gpt.c - trains a GPT of characters on any text, and prints the energy of a step.
 *
 * The graph is built once: inputs are windows of text, the output is the loss, and parameters are slots that
 * the optimiser writes. It is compiled to a program. An instance runs the program and attributes energy to
 * its operations.
 *
 *     cc train_gpt.c $(pkg-config --cflags --libs forge) -o train_gpt && ./train_gpt TEXT [STEPS]
 */
#include <forge/data.h>
#include <forge/energy.h>
#include <forge/optim.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 16, CONTEXT = 64, ROWS = BATCH * CONTEXT, WIDTH = 64, LAYERS = 2, HEADS = 4 };

struct run {
    forge_text *text;
    forge_dataset *windows;
    forge_loader *loader;
    forge_device *device;
    forge_states *states;
    forge_program *program;
    forge_instance *instance;
    joule_meter *meter;
    joule_error error;
};

/* tokens: [b, t + 1]; in each row the first t tokens are the input, and the last t are the labels */
static joule_status build(struct run *run, forge_graph **out_graph)
{
    forge_gpt_options gpt = {.struct_size = sizeof gpt,
                             .layers = LAYERS,
                             .heads = HEADS,
                             .vocabulary = (int64_t)forge_text_vocabulary(run->text),
                             .context = CONTEXT,
                             .width = WIDTH,
                             .is_training = true};
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    adamw.max_norm = 1;
    forge_dtype dtype = forge_text_tokens(run->text).dtype;
    forge_builder *b = forge_builder_new();
    forge_value tokens = forge_input(b, "tokens", dtype, forge_shape_of(BATCH, CONTEXT + 1));
    forge_value logits = forge_gpt(b, NULL, forge_slice_along(b, tokens, 1, 0, CONTEXT), &gpt);
    forge_value next = forge_slice_along(b, tokens, 1, 1, CONTEXT + 1);
    forge_value loss = forge_cross_entropy(b, forge_reshape(b, logits, forge_shape_of(ROWS, gpt.vocabulary)),
                                           forge_reshape(b, next, forge_shape_of(ROWS)));
    forge_output(b, "loss", loss);
    forge_adamw(b, loss, forge_scalar(b, FORGE_F32, 0.003), &adamw);
    return forge_builder_finish(b, out_graph, &run->error);
}

static joule_status load(struct run *run, const char *path)
{
    forge_loader_options how = {
        .struct_size = sizeof how, .batch_size = BATCH, .shuffle = true, .stride = CONTEXT};
    forge_graph *graph = NULL;
    joule_status status = forge_text_read(path, FORGE_TEXT_CHARACTERS, &run->text, &run->error);
    if (status == JOULE_OK)
        status = forge_dataset_text(run->text, false, CONTEXT, &run->windows, &run->error);
    if (status == JOULE_OK)
        status = forge_loader_new(run->windows, &how, &run->loader, &run->error);
    if (status == JOULE_OK)
        status = build(run, &graph);
    if (status == JOULE_OK)
        status = forge_device_open("cpu", &run->device, &run->error);
    if (status == JOULE_OK)
        status = forge_compile(graph, run->device, &run->program, &run->error);
    forge_graph_free(graph);
    if (status == JOULE_OK)
        status = forge_states_new(run->device, 1, &run->states, &run->error);
    if (status == JOULE_OK)
        status = forge_instance_new(run->program, run->device, run->states, &run->instance, &run->error);
    if (status == JOULE_OK)
        status = joule_open(NULL, &run->meter, &run->error);
    if (status == JOULE_OK)
        status = forge_energy_start(run->instance, run->meter, JOULE_TOTAL, &run->error);
    return status;
}

static joule_status step(struct run *run, long number)
{
    forge_tensor batch, loss;
    joule_quantity joules;
    joule_status status = forge_loader_next(run->loader, &batch, NULL, &run->error);
    if (status == JOULE_OK)
        status = forge_instance_set(run->instance, "tokens", &batch, &run->error);
    if (status == JOULE_OK)
        status = forge_instance_run(run->instance, &run->error);
    if (status == JOULE_OK)
        status = forge_instance_get(run->instance, "loss", &loss, &run->error);
    if (status != JOULE_OK || number % 10)
        return status;
    forge_energy_collect(run->instance);
    /* the result is NaN until the sensors have been read after the step */
    forge_step_energy(run->instance, FORGE_ALL_PHASES, &joules);
    printf("step %4ld  loss %.4f  %.3g J/step (%.2g to %.2g, %s)\n", number,
           (double)*(const float *)forge_tensor_data(&loss), joules.value, joules.low, joules.high,
           joule_class_name(joules.cls));
    return status;
}

int main(int argc, char **argv)
{
    struct run run = {0};
    char *end = NULL;
    long steps = argc > 2 ? strtol(argv[2], &end, 10) : 500;
    joule_status status = argc > 1 && steps > 0 && !(end && *end) ? load(&run, argv[1]) : JOULE_INVALID;
    for (long i = 1; status == JOULE_OK && i <= steps; i++)
        status = step(&run, i);
    if (status != JOULE_OK)
        fprintf(stderr, "train_gpt: %s\n", *run.error.message ? run.error.message : "usage: TEXT [STEPS]");
    forge_instance_free(run.instance);
    forge_program_free(run.program);
    forge_states_free(run.states);
    forge_device_close(run.device);
    forge_loader_free(run.loader);
    forge_dataset_free(run.windows);
    forge_text_free(run.text);
    joule_close(run.meter);
    return status != JOULE_OK;
}
