/* infer/engine/engine_step.c - computes steps: inputs of the program, and tokens from its logits. */
#include "forge/infer/engine/engine.h"

#include <math.h>
#include <string.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "forge/infer/engine/sampling_filters.h"
#include "forge/infer/tokenizer/tokenizer.h"

/* --- rows ---------------------------------------------------------------------------------------------- */

/* Returns the number of scheduled rows that need logits. If the request wants the probabilities of its
 * prompt, all rows of the prompt need them. Otherwise only the sequence's last token and its drafts need
 * them. */
static size_t output_rows(const struct scheduled *scheduled)
{
    const struct sequence *sequence = scheduled->sequence;
    const struct answer *answer = answer_of(scheduled->sequence);
    size_t end = scheduled->first + scheduled->count;
    if (answer->options.reports_prompt && scheduled->first < answer->prompt_count)
        return scheduled->count;
    return end < sequence->token_count ? 0 : end - sequence->token_count + 1;
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
    event->top_count = answer->options.logprobs;
    sampler_logprobs(logits, runner_vocabulary(&e->runner), token, &event->logprob, event->top,
                     event->top_count);
}

/* Reports the log-probabilities of tokens of the prompt: row i predicts the token after it. logits: [count,
 * vocabulary]. */
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
        set_logprobs(e, answer, logits + i * runner_vocabulary(&e->runner), event.token, &event);
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
    if (!ARRAY_ROOM(sequence->tokens, sequence->token_capacity, sequence->token_count) ||
        !page_table_reserve(&sequence->table, sequence->token_count + MAX_DRAFTS + 2))
        return error_set(error, JOULE_NO_MEMORY, "cannot add a token: out of memory");
    if (answer->options.reports_logprobs || answer->options.logprobs)
        set_logprobs(e, answer, logits, token, &event);
    if (!sampler_add_token(answer->sampler, token, false))
        return error_set(error, JOULE_NO_MEMORY, "cannot add a token: out of memory");
    if (answer->constraint)
        constraint_add(answer->constraint, token);
    sequence->tokens[sequence->token_count++] = token;
    e->answer_tokens++;
    return engine_add_event(e, &event, error);
}

/* Before min_tokens, forbids the tokens that end the answer. made: number of tokens of the answer; logits:
 * [vocabulary]. */
static void forbid_end(const forge_engine *e, const struct answer *answer, size_t made, float *logits)
{
    const forge_tokenizer *tokenizer = answer->options.ignores_end ? NULL : e->model->tokenizer;
    size_t vocabulary = runner_vocabulary(&e->runner);
    if (made >= answer->options.min_tokens)
        return;
    for (size_t i = 0; i < answer->options.stop_count; i++)
        if (answer->stop_tokens[i] >= 0 && (size_t)answer->stop_tokens[i] < vocabulary)
            logits[answer->stop_tokens[i]] = -INFINITY;
    for (size_t i = 0; tokenizer && i < tokenizer->end_count; i++)
        logits[tokenizer->end_tokens[i]] = -INFINITY;
}

/* Computes the probabilities of the token that follows the first `row` drafts, from the logits in row `row`
 * of e->probabilities, which they replace. made: number of tokens of the answer without drafts. Returns false
 * if no token is possible. */
static bool set_row_probabilities(forge_engine *e, struct answer *answer, size_t row, size_t made)
{
    float *logits = e->probabilities + row * runner_vocabulary(&e->runner);
    const uint32_t *mask = NULL;
    forbid_end(e, answer, made + row, logits);
    if (answer->constraint)
        mask = constraint_mask(answer->constraint, answer->sequence.drafts, row);
    return (mask || !answer->constraint) && sampler_probabilities(answer->sampler, logits, mask);
}

/* Computes the probabilities of the tokens after the answer and after each draft. logits: [*drafts + 1,
 * vocabulary]. Lowers *drafts to the number of drafts that the schema allows. Returns false if no token is
 * possible after the answer so far. */
static bool set_probabilities(forge_engine *e, struct answer *answer, const float *logits, size_t *drafts)
{
    size_t vocabulary = runner_vocabulary(&e->runner), row = 0,
           made = answer->sequence.token_count - answer->prompt_count;
    memcpy(e->probabilities, logits, (*drafts + 1) * vocabulary * sizeof *logits);
    if (!set_row_probabilities(e, answer, 0, made))
        return false;
    while (row < *drafts && sampler_add_token(answer->sampler, answer->sequence.drafts[row], false)) {
        if (set_row_probabilities(e, answer, row + 1, made)) {
            row++;
            continue;
        }
        sampler_remove_tokens(answer->sampler, 1);
        break;
    }
    sampler_remove_tokens(answer->sampler, row);
    *drafts = row;
    return true;
}

/* Returns the number of rows before the first row that contains NaN or infinity. logits: [rows,
 * vocabulary]. */
static size_t finite_rows(const float *logits, size_t rows, size_t vocabulary)
{
    size_t row = 0;
    while (row < rows && filter_is_finite(logits + row * vocabulary, vocabulary))
        row++;
    return row;
}

static bool is_full(const forge_engine *e, const struct answer *answer)
{
    size_t made = answer->sequence.token_count - answer->prompt_count;
    return (answer->options.max_tokens && made >= answer->options.max_tokens) ||
           answer->sequence.token_count >= e->scheduler.options.max_length;
}

/* Chooses the next tokens of an answer: the accepted ones of its `drafts` drafts, and one more. logits:
 * [drafts + 1, vocabulary]. *out_end: set to the reason if the answer ends. */
static joule_status choose(forge_engine *e, struct answer *answer, const float *logits, size_t drafts,
                           forge_end *out_end, joule_error *error)
{
    struct sequence *sequence = &answer->sequence;
    int32_t tokens[MAX_DRAFTS + 1];
    size_t before = sequence->token_count, vocabulary = runner_vocabulary(&e->runner);
    size_t rows = finite_rows(logits, drafts + 1, vocabulary), possible = rows > 0 ? rows - 1 : 0;
    if (rows == 0 || !set_probabilities(e, answer, logits, &possible)) {
        /* With finite logits, the schema or the options allow only tokens that end the answer. If the text is
         * incomplete, no token continues it: the vocabulary has none, or the state of the grammar has too
         * little room. */
        bool is_complete = !answer->constraint || constraint_is_complete(answer->constraint);
        *out_end = rows == 0 ? FORGE_END_FAILED : is_complete ? FORGE_END_TOKEN : FORGE_END_LENGTH;
        return JOULE_OK;
    }
    size_t count = sampler_accept(answer->sampler, e->probabilities, answer->drafts.probabilities,
                                  sequence->drafts, possible, before - answer->prompt_count, tokens);
    speculation_record(&e->speculation, &answer->drafts, before, drafts, count - 1);
    scheduler_reject(sequence, drafts - (count - 1));
    sequence->draft_count = 0;
    engine_end_part(e, &e->times.sample);
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && *out_end == FORGE_END_NONE && i < count; i++) {
        if (ends_answer(e, answer, tokens[i])) {
            *out_end = FORGE_END_TOKEN;
            break;
        }
        status = add_token(e, answer, tokens[i], logits + i * vocabulary, error);
        if (is_full(e, answer))
            *out_end = FORGE_END_LENGTH;
    }
    return status;
}

/* --- drafts --------------------------------------------------------------------------------------------- */

/* Returns the maximum number of drafts of a sequence: as many as fit in the answer and in the step. */
static size_t draft_room(const forge_engine *e, const struct answer *answer)
{
    size_t made = answer->sequence.token_count - answer->prompt_count,
           length = e->scheduler.options.max_length;
    size_t room = length - answer->sequence.token_count;
    if (answer->options.max_tokens && answer->options.max_tokens - made < room)
        room = answer->options.max_tokens - made;
    room = room > 0 ? room - 1 : 0; /* the step adds one token to the accepted drafts */
    size_t rows = e->scheduler.options.max_rows, running = e->scheduler.running.count,
           spare = rows > running ? rows - running : 0;
    room = room < spare ? room : spare;
    return room < e->speculation.max_drafts ? room : e->speculation.max_drafts;
}

/* Proposes drafts for the running sequences that have one token to compute. */
static joule_status propose(forge_engine *e, joule_error *error)
{
    size_t count = 0;
    for (struct sequence *at = e->scheduler.running.first; at; at = at->next) {
        struct answer *answer = answer_of(at);
        size_t room = draft_room(e, answer);
        at->draft_count = 0;
        if (at->computed + 1 != at->token_count || room == 0)
            continue;
        e->speculation.requests[count++] =
            (struct draft_request){.sequence = at,
                                   .state = &answer->drafts,
                                   .sampler = answer->sampler,
                                   .position = at->token_count - answer->prompt_count,
                                   .room = room,
                                   .is_greedy = answer->options.sampling.temperature < 1e-5};
    }
    return count ? speculation_propose(&e->speculation, count, error) : JOULE_OK;
}

/* Chooses tokens from the logits of the batch, [outputs, vocabulary], and adds events. */
static joule_status take_outputs(forge_engine *e, const float *logits, joule_error *error)
{
    struct scheduler *s = &e->scheduler;
    size_t vocabulary = runner_vocabulary(&e->runner);
    joule_status status = JOULE_OK;
    int64_t now = clock_now_ns();
    for (size_t i = 0; status == JOULE_OK && i < s->batch_count; i++) {
        struct scheduled scheduled = s->batch[i];
        struct answer *answer = answer_of(scheduled.sequence);
        size_t count = output_rows(&scheduled);
        forge_end end = FORGE_END_NONE;
        if (answer->options.reports_prompt && scheduled.first < answer->prompt_count)
            status = report_prompt(e, &scheduled, logits, error);
        size_t end_row = scheduled.first + scheduled.count, drafts = 0;
        bool is_at_end = end_row >= answer->sequence.token_count;
        if (is_at_end)
            drafts = end_row - answer->sequence.token_count;
        if (is_at_end && !answer->first_token_ns)
            answer->first_token_ns = now;
        if (status == JOULE_OK && is_at_end)
            status = choose(e, answer, logits + (count - 1 - drafts) * vocabulary, drafts, &end, error);
        logits += count * vocabulary;
        if (status == JOULE_OK && end != FORGE_END_NONE)
            status = engine_end(e, answer, end, error);
        engine_end_part(e, &e->times.output);
    }
    return status;
}

/* --- steps ---------------------------------------------------------------------------------------------- */

static joule_status end_cancelled(forge_engine *e, joule_error *error)
{
    joule_status status = JOULE_OK;
    pthread_mutex_lock(&e->lock);
    bool has_cancelled = e->has_cancelled;
    e->has_cancelled = false;
    pthread_mutex_unlock(&e->lock);
    for (struct answer *answer = e->answers, *next; has_cancelled && status == JOULE_OK && answer;
         answer = next) {
        pthread_mutex_lock(&e->lock);
        next = answer->next;
        bool is_cancelled = answer->is_cancelled;
        pthread_mutex_unlock(&e->lock);
        if (is_cancelled)
            status = engine_end(e, answer, FORGE_END_CANCELLED, error);
    }
    return status;
}

/* Plans the step. Returns false if there is nothing to compute. */
static bool plan(forge_engine *e)
{
    struct scheduler *s = &e->scheduler;
    bool has_rows = scheduler_plan(s);
    for (size_t i = 0; i < s->preempted_count; i++)
        speculation_release(&answer_of(s->preempted[i])->drafts);
    return has_rows;
}

static void record_starts(forge_engine *e)
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
    const float *logits;
    const struct scheduler *s = &e->scheduler;
    bool is_decode = true;
    runner_begin(&e->runner);
    for (size_t i = 0; i < s->batch_count; i++) {
        const struct sequence *sequence = s->batch[i].sequence;
        runner_add(&e->runner, sequence, &sequence->table, s->batch[i].first, s->batch[i].count,
                   output_rows(&s->batch[i]));
        is_decode = is_decode && s->batch[i].first + 1 >= sequence->token_count;
    }
    engine_end_part(e, &e->times.cache);
    int64_t begin_ns = e->runner.run_ns;
    joule_status status = runner_run(&e->runner, &logits, error);
    if (status != JOULE_OK)
        return status;
    int64_t run_ns = e->runner.run_ns - begin_ns;
    if (is_decode)
        step_times_add(&e->speculation.model_times, (double)s->rows, clock_seconds(run_ns));
    e->steps++;
    e->rows += s->rows;
    e->part_ns += run_ns;
    engine_end_part(e, &e->times.copy);
    scheduler_complete(&e->scheduler);
    engine_end_part(e, &e->times.cache);
    engine_add_cost(e);
    engine_end_part(e, &e->times.energy);
    return take_outputs(e, logits, error);
}

joule_status forge_engine_step(forge_engine *e, joule_error *out_error)
{
    int64_t begin = clock_now_ns();
    if (e->has_failed)
        return error_set(out_error, JOULE_FAILED, "cannot compute a step: an earlier step failed");
    e->part_ns = begin;
    joule_status status = end_cancelled(e, out_error);
    engine_end_part(e, &e->times.schedule);
    if (status == JOULE_OK && e->scheduler.running.count + e->scheduler.waiting.count > 0)
        status = engine_limit_energy(e, out_error);
    engine_end_part(e, &e->times.energy);
    if (status == JOULE_OK && e->speculation.kind != FORGE_SPECULATION_NONE) {
        status = propose(e, out_error);
        e->part_ns = clock_now_ns();
    }
    if (status == JOULE_OK && !plan(e)) {
        engine_read_meter(e);
        e->is_idle = true;
        return e->event_first < e->event_count ? JOULE_OK : JOULE_ABSENT;
    }
    if (status == JOULE_OK) {
        engine_end_part(e, &e->times.schedule);
        engine_limit_power(e);
        engine_end_part(e, &e->times.energy);
        record_starts(e);
        status = run_step(e, out_error);
    }
    e->has_failed = status != JOULE_OK;
    e->step_ns += clock_now_ns() - begin;
    return status;
}
