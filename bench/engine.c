/* bench/engine.c - time of the parts of a step of the language-model engine: scheduling, cache (page tables,
 * prefixes), copies to and from the program, energy, sampling and output.
 *
 * usage: bench_engine MODEL [TOKENIZER] Prints the medians of steps that decode, in us, for each batch size,
 * as text and as JSON. */
#include <forge/engine.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROMPT = 32, STEPS = 100, PAGE = 16, PARTS = 9 };

static const char *const names[PARTS] = {"step",   "program", "schedule", "cache",         "copy",
                                         "energy", "sample",  "output",   "schedule_cache"};

static int fail(const joule_error *error)
{
    fprintf(stderr, "bench_engine: %s\n", error->message);
    return 1;
}

static bool add_requests(forge_engine *engine, uint32_t count, joule_error *error)
{
    int32_t prompt[PROMPT + PAGE];
    for (uint32_t i = 0; i < count; i++) {
        uint64_t id;
        for (int k = 0; k < PROMPT + PAGE; k++)
            prompt[k] = 3 + (int32_t)((i * 7 + (uint32_t)k * 13) % 200);
        forge_request request = {.struct_size = sizeof request,
                                 .prompt = prompt,
                                 .prompt_count = PROMPT + i % PAGE, /* pages become full in different steps */
                                 .sampling = forge_sampling_default(),
                                 .max_tokens = 10 * STEPS,
                                 .ignores_end = true};
        request.sampling.temperature = 0;
        if (forge_engine_add(engine, &request, &id, error) != JOULE_OK)
            return false;
    }
    return true;
}

/* Writes the time that the engine has spent in each part so far, in us. */
static void read_times(const forge_engine *engine, double out_times[PARTS])
{
    forge_engine_facts f = {.struct_size = sizeof f};
    forge_engine_query(engine, &f);
    const double seconds[PARTS] = {f.step_seconds,   f.run_seconds,    f.schedule_seconds,
                                   f.cache_seconds,  f.copy_seconds,   f.energy_seconds,
                                   f.sample_seconds, f.output_seconds, f.schedule_seconds + f.cache_seconds};
    for (int part = 0; part < PARTS; part++)
        out_times[part] = 1e6 * seconds[part];
}

/* Computes steps. out_times: [PARTS][steps], times of the parts in us; may be NULL. */
static bool run(forge_engine *engine, int steps, double (*out_times)[STEPS], joule_error *error)
{
    forge_engine_event event = {.struct_size = sizeof event};
    for (int i = 0; i < steps; i++) {
        double before[PARTS], after[PARTS];
        read_times(engine, before);
        if (forge_engine_step(engine, error) != JOULE_OK)
            return false;
        while (forge_engine_next(engine, &event) == JOULE_OK)
            continue;
        read_times(engine, after);
        for (int part = 0; out_times && part < PARTS; part++)
            out_times[part][i] = after[part] - before[part];
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints the median of each part. */
static void print_times(uint32_t batch, double (*times)[STEPS])
{
    double medians[PARTS];
    for (int part = 0; part < PARTS; part++) {
        qsort(times[part], STEPS, sizeof times[part][0], compare);
        medians[part] = times[part][STEPS / 2];
    }
    printf("batch %4u", batch);
    for (int part = 0; part < PARTS; part++)
        printf("  %s %.1f us", names[part], medians[part]);
    printf("\n{\"batch\": %u", batch);
    for (int part = 0; part < PARTS; part++)
        printf(", \"%s_us\": %.2f", names[part], medians[part]);
    printf("}\n");
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
    static double times[PARTS][STEPS];
    bool is_good = add_requests(engine, batch, error) &&
                   run(engine, (int)((PROMPT + PAGE) * batch / 512 + 4), NULL, error) &&
                   run(engine, STEPS, times, error);
    forge_engine_free(engine);
    if (is_good)
        print_times(batch, times);
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
