/* bench/engine.c - time of a step of the language-model engine outside the model's program: scheduling,
 * pages, inputs and sampling.
 *
 * usage: bench_engine MODEL [TOKENIZER] Prints a line for each batch size, and the same as JSON. */
#include <forge/engine.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROMPT = 32, STEPS = 100 };

static int fail(const joule_error *error)
{
    fprintf(stderr, "bench_engine: %s\n", error->message);
    return 1;
}

static bool add_requests(forge_engine *engine, uint32_t count, joule_error *error)
{
    int32_t prompt[PROMPT];
    for (uint32_t i = 0; i < count; i++) {
        uint64_t id;
        for (int k = 0; k < PROMPT; k++)
            prompt[k] = 3 + (int32_t)((i * 7 + (uint32_t)k * 13) % 200);
        forge_request request = {.struct_size = sizeof request,
                                 .prompt = prompt,
                                 .prompt_count = PROMPT,
                                 .sampling = forge_sampling_default(),
                                 .max_tokens = 10 * STEPS,
                                 .ignores_end = true};
        request.sampling.temperature = 0;
        if (forge_engine_add(engine, &request, &id, error) != JOULE_OK)
            return false;
    }
    return true;
}

static bool run(forge_engine *engine, int steps, joule_error *error)
{
    forge_engine_event event = {.struct_size = sizeof event};
    for (int i = 0; i < steps; i++) {
        if (forge_engine_step(engine, error) != JOULE_OK)
            return false;
        while (forge_engine_next(engine, &event) == JOULE_OK)
            continue;
    }
    return true;
}

/* Measures decode steps of `batch` requests. */
static bool measure(const forge_model *model, forge_device *device, uint32_t batch, joule_error *error)
{
    forge_engine *engine;
    const forge_engine_options options = {.struct_size = sizeof options,
                                          .max_batch_size = batch,
                                          .max_length = 256,
                                          .cache_tokens = 256u * batch + 256};
    if (forge_engine_new(model, device, &options, &engine, error) != JOULE_OK)
        return false;
    forge_engine_facts before = {.struct_size = sizeof before}, after = before;
    bool is_good = add_requests(engine, batch, error) && run(engine, (int)(PROMPT * batch / 512 + 4), error);
    forge_engine_query(engine, &before);
    is_good = is_good && run(engine, STEPS, error);
    forge_engine_query(engine, &after);
    forge_engine_free(engine);
    double step = (after.step_seconds - before.step_seconds) / STEPS,
           program = (after.run_seconds - before.run_seconds) / STEPS;
    if (is_good) {
        printf("batch %4u  step %9.1f us  outside the program %7.1f us  %5.2f %%\n", batch, step * 1e6,
               (step - program) * 1e6, 100 * (step - program) / step);
        printf("{\"batch\": %u, \"step_us\": %.2f, \"outside_us\": %.2f}\n", batch, step * 1e6,
               (step - program) * 1e6);
    }
    return is_good;
}

int main(int argc, char **argv)
{
    static const uint32_t batches[] = {1, 8, 64};
    forge_device *device;
    forge_model *model;
    joule_error error = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: bench_engine MODEL [TOKENIZER]\n");
        return 2;
    }
    if (forge_device_open("cpu", &device, &error) != JOULE_OK ||
        forge_model_open(argv[1], argc > 2 ? argv[2] : NULL, &model, &error) != JOULE_OK)
        return fail(&error);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        if (!measure(model, device, batches[i], &error))
            return fail(&error);
    forge_model_free(model);
    forge_device_close(device);
    return 0;
}
