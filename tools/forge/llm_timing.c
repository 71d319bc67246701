/* tools/forge/llm_timing.c - see llm_timing.h. */
#include "llm_timing.h"

#include <forge/random.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/error.h"
#include "forge/infer/model/model.h"
#include "interrupt.h"
#include "prediction.h"

enum { WARM_UP_TOKENS = 16 };

/* --- one run -------------------------------------------------------------------------------------------- */

/* Adds a sequence to the engine. prompt: room for the test's tokens. */
static joule_status add_sequence(struct language_model *m, const struct llm_test *test, uint32_t *prompt,
                                 uint64_t number, joule_error *error)
{
    uint64_t id;
    size_t count = test->is_prompt ? test->tokens : 1;
    forge_random_bits(&(forge_random){.key = number}, 0, count, prompt);
    for (size_t i = 0; i < count; i++)
        prompt[i] %= (uint32_t)m->facts.vocabulary;
    forge_request request = {.struct_size = sizeof request,
                             .max_tokens = test->is_prompt ? 1 : test->tokens,
                             .prompt = (const int32_t *)prompt,
                             .prompt_count = count,
                             .sampling = forge_sampling_default(),
                             .ignores_end = true};
    request.sampling.temperature = 0;
    return forge_engine_add(m->engine, &request, &id, error);
}

static void add_joules(joule_quantity *sum, const joule_quantity *joules)
{
    bool is_known = joules->cls != JOULE_CLASS_NONE;
    sum->value += is_known ? joules->value : NAN;
    sum->low += is_known ? joules->low : NAN;
    sum->high += is_known ? joules->high : NAN;
    sum->cls = joules->cls > sum->cls ? joules->cls : sum->cls;
}

/* Computes all steps of the sequences. Adds their joules to *sum. */
static joule_status run_steps(struct language_model *m, joule_quantity *sum, joule_error *error)
{
    joule_status status;
    forge_engine_event event = {.struct_size = sizeof event};
    while ((status = forge_engine_step(m->engine, error)) == JOULE_OK && !interrupted_by)
        while (forge_engine_next(m->engine, &event) == JOULE_OK) {
            if (event.end == FORGE_END_FAILED)
                return error_set(error, JOULE_FAILED, "%s", event.failure);
            if (event.end != FORGE_END_NONE)
                add_joules(sum, &event.joules);
        }
    return status == JOULE_ABSENT ? JOULE_OK : status;
}

static uint64_t steps_of(const struct language_model *m)
{
    forge_engine_facts facts = {.struct_size = sizeof facts};
    forge_engine_query(m->engine, &facts);
    return facts.computed_steps;
}

static joule_status run(struct language_model *m, const struct llm_test *test, uint64_t number,
                        struct llm_timing *timing, double *out_seconds, joule_error *error)
{
    uint32_t *prompt = malloc(test->tokens * sizeof *prompt);
    joule_quantity joules = {0, 0, 0, JOULE_CLASS_NONE, 0};
    if (!prompt)
        return error_set(error, JOULE_NO_MEMORY, "cannot measure times: out of memory");
    uint64_t steps = steps_of(m);
    int64_t begin_ns = clock_now_ns();
    joule_status status = JOULE_OK;
    for (unsigned i = 0; status == JOULE_OK && i < test->batch; i++)
        status = add_sequence(m, test, prompt, number * test->batch + i, error);
    if (status == JOULE_OK)
        status = run_steps(m, &joules, error);
    *out_seconds = clock_seconds(clock_now_ns() - begin_ns);
    timing->steps = (double)(steps_of(m) - steps);
    if (!isnan(joules.value) && !interrupted_by) {
        timing->joules_tokens += (double)test->tokens * test->batch;
        timing->joules.value += joules.value;
        timing->joules.low += joules.low;
        timing->joules.high += joules.high;
        timing->joules.cls = joules.cls;
    }
    free(prompt);
    return status;
}

/* --- repeats -------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void set_speeds(struct llm_timing *t, double *speeds)
{
    unsigned n = t->runs;
    qsort(speeds, n, sizeof *speeds, by_value);
    t->min = n ? speeds[0] : NAN;
    t->max = n ? speeds[n - 1] : NAN;
    t->median = n ? (speeds[(n - 1) / 2] + speeds[n / 2]) / 2 : NAN;
    if (t->joules_tokens == 0)
        t->joules = (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
}

joule_status llm_timing_measure(struct language_model *m, const struct llm_test *test, struct llm_timing *out,
                                joule_error *out_error)
{
    double speeds[LLM_MAX_REPEATS], seconds;
    struct llm_test warm_up = *test;
    struct llm_timing ignored = {0};
    warm_up.tokens = test->tokens < WARM_UP_TOKENS ? test->tokens : WARM_UP_TOKENS;
    *out = (struct llm_timing){.test = *test};
    joule_status status = run(m, &warm_up, 0, &ignored, &seconds, out_error);
    for (unsigned i = 0; status == JOULE_OK && i < test->repeats && !interrupted_by; i++) {
        status = run(m, test, i + 1, out, &seconds, out_error);
        if (!interrupted_by)
            speeds[out->runs++] = (double)test->tokens * test->batch / seconds;
    }
    set_speeds(out, speeds);
    return status;
}

/* --- results -------------------------------------------------------------------------------------------- */

double llm_timing_seconds_per_token(const struct llm_timing *t)
{
    return t->test.batch / t->median;
}

double llm_timing_gb_per_s(const struct llm_timing *t, double step_bytes)
{
    double seconds = (double)t->test.tokens * t->test.batch / t->median;
    return step_bytes * t->steps / seconds * 1e-9;
}

joule_quantity llm_timing_joules_per_token(const struct llm_timing *t)
{
    joule_quantity q = t->joules;
    return (joule_quantity){q.value / t->joules_tokens, q.low / t->joules_tokens, q.high / t->joules_tokens,
                            q.cls, 0};
}

uint64_t llm_step_bytes(const struct language_model *m)
{
    const struct model_file *file = m->model->file;
    const struct model_tensor *embedding = model_file_find(file, "token_embd.weight");
    bool is_tied = !model_file_find(file, "output.weight");
    return m->facts.weight_bytes - (is_tied || !embedding ? 0 : embedding->size_bytes);
}

static const char *name_of(const struct llm_test *test, char out[24])
{
    string_print(out, 24, "%s%u", test->is_prompt ? "pp" : "tg", test->tokens);
    return out;
}

void llm_timing_print_head(void)
{
    printf("%-8s %5s %10s %10s %10s %10s %8s  %s\n", "test", "batch", "tokens/s", "min", "max", "ms/token",
           "GB/s", "energy of a token");
    fflush(stdout);
}

void llm_timing_print(const struct llm_timing *t, double step_bytes)
{
    char name[24], energy[QUANTITY_TEXT];
    joule_quantity joules = llm_timing_joules_per_token(t);
    printf("%-8s %5u %10.2f %10.2f %10.2f %10.3f %8.2f  %s%s%s\n", name_of(&t->test, name), t->test.batch,
           t->median, t->min, t->max, llm_timing_seconds_per_token(t) * 1e3,
           llm_timing_gb_per_s(t, step_bytes), quantity_text(joules, JOULE_DIMENSION_ENERGY, energy),
           isnan(joules.value) ? "" : ", ", isnan(joules.value) ? "" : joule_class_name(joules.cls));
    fflush(stdout);
}

void llm_timing_json(struct json *json, const struct llm_timing *t, double step_bytes, const char *source)
{
    char name[24];
    joule_quantity joules = llm_timing_joules_per_token(t);
    bool is_known = !isnan(joules.value);
    json_open(json, NULL, '{');
    json_string(json, "name", name_of(&t->test, name));
    json_string(json, "kind", t->test.is_prompt ? "prompt" : "generate");
    json_integer(json, "tokens", t->test.tokens);
    json_integer(json, "batch", t->test.batch);
    json_integer(json, "repeats", t->runs);
    json_double(json, "tokens_per_s", t->median);
    json_double(json, "min_tokens_per_s", t->min);
    json_double(json, "max_tokens_per_s", t->max);
    json_double(json, "seconds_per_token", llm_timing_seconds_per_token(t));
    json_double(json, "steps", t->steps);
    json_double(json, "gb_per_s", llm_timing_gb_per_s(t, step_bytes));
    json_open(json, "energy", '{');
    json_double(json, "joules_per_token", joules.value);
    json_double(json, "low", joules.low);
    json_double(json, "high", joules.high);
    json_string(json, "class", joule_class_name(is_known ? joules.cls : JOULE_CLASS_NONE));
    json_string(json, "source", is_known ? source : NULL);
    json_close(json, '}');
    json_close(json, '}');
}
