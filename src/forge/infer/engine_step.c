/* infer/engine_step.c - computes steps: inputs of the program, and tokens from its logits. */
#include "forge/infer/engine.h"

#include <math.h>
#include <string.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "forge/infer/tokenizer.h"

/* --- inputs --------------------------------------------------------------------------------------------- */

/* Returns token i of a sequence's tokens and drafts. */
static int32_t token_at(const struct sequence *sequence, size_t i)
{
    return i < sequence->token_count ? sequence->tokens[i] : sequence->drafts[i - sequence->token_count];
}

/* Returns the number of rows that need logits: none before the end of the prompt, then the last token and all
 * drafts; or all rows if the probabilities of the prompt are requested. */
static size_t output_rows(const struct scheduled *scheduled)
{
    const struct sequence *sequence = scheduled->sequence;
    const struct answer *answer = (const struct answer *)sequence;
    size_t end = scheduled->first + scheduled->count;
    if (answer->options.reports_prompt && scheduled->first < answer->prompt_count)
        return scheduled->count;
    return end < sequence->token_count ? 0 : end - sequence->token_count + 1;
}

/* Writes the inputs of one sequence from row `row` on. index: its row in the page tables. */
static void set_rows(forge_engine *e, const struct scheduled *scheduled, size_t index, size_t row)
{
    const struct sequence *sequence = scheduled->sequence;
    size_t size = (size_t)e->sizes.page_size, pages = (size_t)e->sizes.sequence_pages;
    int32_t *table = e->inputs.tables + index * pages;
    memset(table, 0, pages * sizeof *table);
    for (size_t i = 0; i < sequence->page_count; i++)
        table[i] = (int32_t)sequence->pages[i];
    for (size_t i = 0; i < scheduled->count; i++, row++) {
        size_t position = scheduled->first + i;
        e->inputs.tokens[row] = token_at(sequence, position);
        e->inputs.positions[row] = (int32_t)position;
        e->inputs.sequences[row] = (int32_t)index;
        e->inputs.places[row] = (int32_t)(sequence->pages[position / size] * size + position % size);
    }
}

static joule_status set_input(forge_engine *e, const char *name, int32_t *data, forge_shape shape,
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
        status = forge_instance_set(e->instance, name, &tensor, error);
    forge_buffer_release(buffer);
    return status;
}

joule_status engine_set_inputs(forge_engine *e, size_t *out_outputs, joule_error *error)
{
    const struct scheduler *s = &e->scheduler;
    size_t row = 0, outputs = 0;
    for (size_t i = 0; i < s->batch_count; i++) {
        size_t count = s->batch[i].count, wanted = output_rows(&s->batch[i]);
        set_rows(e, &s->batch[i], i, row);
        for (size_t k = 0; k < wanted; k++)
            e->inputs.output_rows[outputs++] = (int32_t)(row + count - wanted + k);
        row += count;
    }
    *out_outputs = outputs;
    if (outputs == 0)
        e->inputs.output_rows[0] = 0; /* the program computes at least one row of logits */
    forge_dim rows = (forge_dim)row, sequences = (forge_dim)s->batch_count;
    forge_dim wanted = outputs ? (forge_dim)outputs : 1;
    const struct {
        const char *name;
        int32_t *data;
        forge_shape shape;
    } inputs[] = {
        {"tokens", e->inputs.tokens, forge_shape_of(rows)},
        {"positions", e->inputs.positions, forge_shape_of(rows)},
        {"sequences", e->inputs.sequences, forge_shape_of(rows)},
        {"places", e->inputs.places, forge_shape_of(rows)},
        {"tables", e->inputs.tables, forge_shape_of(sequences, e->sizes.sequence_pages)},
        {"output_rows", e->inputs.output_rows, forge_shape_of(wanted)},
    };
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && i < sizeof inputs / sizeof *inputs; i++)
        status = set_input(e, inputs[i].name, inputs[i].data, inputs[i].shape, error);
    return status;
}

/* --- outputs -------------------------------------------------------------------------------------------- */

static bool ends_answer(const forge_engine *e, const struct answer *answer, int32_t token)
{
    for (size_t i = 0; i < answer->options.stop_count; i++)
        if (answer->stop_tokens[i] == token)
            return true;
    return !answer->options.ignores_end && e->model->tokenizer &&
           forge_token_is_end(e->model->tokenizer, token);
}

static void set_logprobs(const forge_engine *e, const struct answer *answer, const float *logits,
                         int32_t token, forge_engine_event *event)
{
    struct token_logprob top[FORGE_MAX_LOGPROBS];
    event->top_count = answer->options.logprobs;
    sampler_logprobs(logits, (size_t)e->model->file->config.vocabulary, token, &event->logprob, top,
                     event->top_count);
    for (size_t i = 0; i < event->top_count; i++)
        event->top[i] = (forge_token_logprob){top[i].token, top[i].logprob};
}

/* Reports the probabilities of the tokens of a prompt after each scheduled row. logits: [count, vocabulary]. */
static joule_status report_prompt(forge_engine *e, const struct scheduled *scheduled, const float *logits,
                                  joule_error *error)
{
    struct answer *answer = answer_of(scheduled->sequence);
    joule_status status = JOULE_OK;
    if (scheduled->first == 0 && answer->reported_prompt == 0) {
        forge_engine_event event = {
            .request = answer->id, .token = answer->sequence.tokens[0], .is_prompt = true, .logprob = NAN};
        status = engine_add_event(e, &event, error);
        answer->reported_prompt = 1;
    }
    for (size_t i = 0; status == JOULE_OK && i < scheduled->count; i++) {
        size_t next = scheduled->first + i + 1;
        if (next != answer->reported_prompt || next >= answer->prompt_count)
            continue;
        forge_engine_event event = {
            .request = answer->id, .token = answer->sequence.tokens[next], .is_prompt = true};
        set_logprobs(e, answer, logits + i * (size_t)e->model->file->config.vocabulary, event.token, &event);
        status = engine_add_event(e, &event, error);
        answer->reported_prompt++;
    }
    return status;
}

/* Appends a token to the answer and reports it. */
static joule_status add_token(forge_engine *e, struct answer *answer, int32_t token, const float *logits,
                              joule_error *error)
{
    struct sequence *sequence = &answer->sequence;
    forge_engine_event event = {.request = answer->id, .token = token, .logprob = NAN};
    if (!ARRAY_ROOM(sequence->tokens, sequence->token_capacity, sequence->token_count))
        return error_set(error, JOULE_NO_MEMORY, "cannot add a token: out of memory");
    if (answer->options.reports_logprobs || answer->options.logprobs)
        set_logprobs(e, answer, logits, token, &event);
    sequence->tokens[sequence->token_count++] = token;
    sampler_add_token(answer->sampler, token, false);
    e->answer_tokens++;
    return engine_add_event(e, &event, error);
}

/* Chooses the next token of an answer from logits: [vocabulary]. *out_end: the reason if the answer ends. */
static joule_status choose(forge_engine *e, struct answer *answer, const float *logits, forge_end *out_end,
                           joule_error *error)
{
    struct sequence *sequence = &answer->sequence;
    size_t vocabulary = (size_t)e->model->file->config.vocabulary,
           made = sequence->token_count - answer->prompt_count;
    memcpy(e->logits, logits, vocabulary * sizeof *logits);
    for (size_t i = 0; made < answer->options.min_tokens && i < vocabulary; i++)
        if (ends_answer(e, answer, (int32_t)i))
            e->logits[i] = -INFINITY;
    if (!sampler_probabilities(answer->sampler, e->logits, NULL))
        return error_set(error, JOULE_FAILED, "request %llu: the model computed no finite logits",
                         (unsigned long long)answer->id);
    int32_t token = sampler_draw(answer->sampler, e->logits, made, 0);
    if (ends_answer(e, answer, token)) {
        *out_end = FORGE_END_TOKEN;
        return JOULE_OK;
    }
    joule_status status = add_token(e, answer, token, logits, error);
    bool is_full = (answer->options.max_tokens && made + 1 >= answer->options.max_tokens) ||
                   sequence->token_count >= e->scheduler.options.max_length;
    if (is_full)
        *out_end = FORGE_END_LENGTH;
    return status;
}

joule_status engine_take_outputs(forge_engine *e, const float *logits, joule_error *error)
{
    struct scheduler *s = &e->scheduler;
    size_t vocabulary = (size_t)e->model->file->config.vocabulary;
    joule_status status = JOULE_OK;
    int64_t now = clock_now_ns();
    for (size_t i = 0; status == JOULE_OK && i < s->batch_count; i++) {
        struct scheduled scheduled = s->batch[i];
        struct answer *answer = answer_of(scheduled.sequence);
        size_t count = output_rows(&scheduled);
        forge_end end = FORGE_END_NONE;
        if (answer->options.reports_prompt && scheduled.first < answer->prompt_count)
            status = report_prompt(e, &scheduled, logits, error);
        bool is_at_end = scheduled.first + scheduled.count >= answer->sequence.token_count;
        if (is_at_end && !answer->first_token_ns)
            answer->first_token_ns = now;
        if (status == JOULE_OK && is_at_end)
            status = choose(e, answer, logits + (count - 1) * vocabulary, &end, error);
        logits += count * vocabulary;
        if (status == JOULE_OK && end != FORGE_END_NONE)
            status = engine_end(e, answer, end, error);
    }
    return status;
}

/* --- steps ---------------------------------------------------------------------------------------------- */

static joule_status end_cancelled(forge_engine *e, joule_error *error)
{
    joule_status status = JOULE_OK;
    for (struct answer *answer = e->answers, *next; status == JOULE_OK && answer; answer = next) {
        pthread_mutex_lock(&e->lock);
        next = answer->next;
        bool is_cancelled = answer->is_cancelled;
        pthread_mutex_unlock(&e->lock);
        if (is_cancelled)
            status = engine_end(e, answer, FORGE_END_CANCELLED, error);
    }
    return status;
}

static void note_starts(forge_engine *e)
{
    int64_t now = clock_now_ns();
    for (size_t i = 0; i < e->scheduler.batch_count; i++) {
        struct answer *answer = answer_of(e->scheduler.batch[i].sequence);
        if (answer->started_ns)
            continue;
        answer->started_ns = now;
        answer->cached_tokens = answer->sequence.found;
        e->prompt_tokens += answer->prompt_count;
    }
}

static joule_status run_step(forge_engine *e, joule_error *error)
{
    size_t outputs;
    forge_tensor logits;
    joule_status status = engine_set_inputs(e, &outputs, error);
    int64_t begin = clock_now_ns();
    if (status == JOULE_OK)
        status = forge_instance_run(e->instance, error);
    e->run_ns += clock_now_ns() - begin;
    if (status == JOULE_OK)
        status = forge_instance_get(e->instance, "logits", &logits, error);
    if (status != JOULE_OK)
        return status;
    e->steps++;
    e->rows += e->scheduler.rows;
    engine_add_cost(e);
    scheduler_complete(&e->scheduler);
    return engine_take_outputs(e, forge_tensor_data(&logits), error);
}

joule_status forge_engine_step(forge_engine *e, joule_error *out_error)
{
    int64_t begin = clock_now_ns();
    if (e->has_failed)
        return error_set(out_error, JOULE_FAILED, "cannot compute a step: an earlier step failed");
    joule_status status = end_cancelled(e, out_error);
    if (status == JOULE_OK && e->scheduler.running.count + e->scheduler.waiting.count > 0)
        status = engine_limit_energy(e, out_error);
    if (status == JOULE_OK && !scheduler_plan(&e->scheduler)) {
        engine_read_meter(e);
        e->is_idle = true;
        return e->event_first < e->event_count ? JOULE_OK : JOULE_ABSENT;
    }
    if (status == JOULE_OK) {
        note_starts(e);
        status = run_step(e, out_error);
    }
    e->has_failed = status != JOULE_OK;
    e->step_ns += clock_now_ns() - begin;
    return status;
}
