/* infer/engine/engine.c - creates engines, and adds and ends requests; see <forge/engine.h>. */
#include "forge/infer/engine/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/abi.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"

#define MAX_STOPS 65536 /* maximum number of a request's stop tokens */

/* --- creation ------------------------------------------------------------------------------------------- */

static struct model_graph_sizes sizes_of(const forge_engine_options *o)
{
    return (struct model_graph_sizes){.max_rows = o->max_batch_tokens,
                                      .max_sequences = o->max_batch_size,
                                      .max_outputs = o->max_batch_tokens,
                                      .page_size = o->page_size,
                                      .sequence_pages = (o->max_length + o->page_size - 1) / o->page_size,
                                      .pages = (int64_t)(o->cache_tokens / o->page_size),
                                      .cache_dtype = o->cache_dtype,
                                      .keeps_f32 = o->keeps_f32_inputs};
}

static joule_status open_parts(forge_engine *e, const forge_engine_options *o, joule_error *error)
{
    const struct model_graph_sizes sizes = sizes_of(o);
    size_t room = (size_t)((sizes.pages - 1) * sizes.page_size);
    const struct scheduler_options options = {.max_rows = (size_t)sizes.max_rows,
                                              .max_sequences = (size_t)sizes.max_sequences,
                                              .max_length = o->max_length < room ? o->max_length : room,
                                              .chunk = o->chunk_tokens,
                                              .is_by_priority = o->is_by_priority};
    joule_status status =
        runner_open(&e->runner, e->model, e->device, &sizes, o->keeps_weights_mapped, error);
    if (status == JOULE_OK)
        status = scheduler_open(&e->scheduler, &options, e->runner.pool, error);
    if (status == JOULE_OK)
        status =
            speculation_open(&e->speculation, o, e->device, &sizes, runner_vocabulary(&e->runner), error);
    if (status != JOULE_OK)
        return status;
    size_t rows = (e->speculation.kind ? e->speculation.max_drafts : 0) + 1;
    e->probabilities = malloc(rows * runner_vocabulary(&e->runner) * sizeof *e->probabilities);
    return e->probabilities ? JOULE_OK
                            : error_set(error, JOULE_NO_MEMORY, "cannot create an engine: out of memory");
}

static void open_energy(forge_engine *e, const forge_engine_options *o)
{
    e->cost = step_cost_of(e->model->file, e->runner.sizes.cache_dtype);
    power_limit_open(&e->power_limit, o->max_power_watts,
                     o->energy_source ? o->energy_source->idle_watts : NAN);
    e->policy.objective = o->objective;
    e->max_rows = e->power_rows = e->scheduler.options.max_rows;
    e->max_sequences = e->scheduler.options.max_sequences;
    /* Like a budget, this objective needs a reading of the meter after each step. */
    e->has_budgets |= o->objective == FORGE_OBJECTIVE_ENERGY;
    e->max_request_joules = o->max_request_joules;
    e->is_idle = true;
    request_energy_open(&e->energy, o->energy_source, o->meter, e->runner.instance);
}

joule_status forge_engine_new(const forge_model *model, forge_device *device,
                              const forge_engine_options *options, forge_engine **out_engine,
                              joule_error *out_error)
{
    forge_engine_options o;
    if (!out_engine)
        return error_set(out_error, JOULE_INVALID, "cannot create an engine: out_engine is NULL");
    joule_status status = engine_read_options(model, options, &o, out_error);
    if (status != JOULE_OK)
        return status;
    forge_engine *e = calloc(1, sizeof *e);
    if (!e)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot create an engine: out of memory");
    e->model = model;
    e->device = device;
    e->next_id = 1;
    e->disables_prefix_cache = o.disables_prefix_cache;
    pthread_mutex_init(&e->lock, NULL);
    status = open_parts(e, &o, out_error);
    if (status == JOULE_OK) {
        open_energy(e, &o);
        *out_engine = e;
    } else {
        forge_engine_free(e);
    }
    return status;
}

static void free_answer(struct answer *answer)
{
    sampler_free(answer->sampler);
    constraint_free(answer->constraint);
    free(answer->sequence.tokens);
    page_table_free(&answer->sequence.table);
    free(answer->stop_tokens);
    free(answer);
}

void forge_engine_free(forge_engine *e)
{
    if (!e)
        return;
    for (struct answer *answer = e->answers, *next; answer; answer = next) {
        next = answer->next;
        speculation_release(&answer->drafts);
        free_answer(answer);
    }
    speculation_close(&e->speculation);
    scheduler_close(&e->scheduler);
    runner_close(&e->runner);
    token_trie_free(e->trie);
    free(e->probabilities);
    free(e->events);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* --- requests ------------------------------------------------------------------------------------------- */

double forge_engine_expected_joules(const forge_engine *e, size_t prompt_count)
{
    const struct scheduler_options *options = &e->scheduler.options;
    size_t rows = options->max_rows;
    double weight = 0;
    if (options->chunk && options->chunk < rows)
        rows = options->chunk;
    for (size_t first = 0; first < prompt_count; first += rows) {
        size_t count = prompt_count - first < rows ? prompt_count - first : rows;
        struct row_cost cost = step_cost_rows(&e->cost, first, count, count);
        weight += row_cost_sum(&cost);
    }
    return request_energy_expect(&e->energy, weight);
}

/* Returns the limit of a request in joules; 0: none. */
static double budget_of(const forge_engine *e, const forge_request *r)
{
    double max = e->max_request_joules;
    return r->max_joules > 0 && (max == 0 || r->max_joules < max) ? r->max_joules : max;
}

static joule_status check_request(const forge_engine *e, const forge_request *r, joule_error *error)
{
    int64_t vocabulary = e->model->file->config.vocabulary;
    if (!r->prompt || r->prompt_count == 0)
        return error_set(error, JOULE_INVALID, "the prompt is empty: it needs at least one token");
    for (size_t i = 0; i < r->prompt_count; i++)
        if (r->prompt[i] < 0 || r->prompt[i] >= vocabulary)
            return error_set(error, JOULE_INVALID,
                             "token %zu of the prompt is %d, but the vocabulary has %lld tokens", i,
                             r->prompt[i], (long long)vocabulary);
    if (r->stop_count > 0 && (!r->stop_tokens || r->stop_count > MAX_STOPS))
        return error_set(error, JOULE_INVALID, "stop_tokens is NULL, or stop_count %zu is above %d",
                         r->stop_count, MAX_STOPS);
    if (r->logprobs > FORGE_MAX_LOGPROBS)
        return error_set(error, JOULE_INVALID, "logprobs %u is above %d", r->logprobs, FORGE_MAX_LOGPROBS);
    if (!scheduler_can_admit(&e->scheduler, r->prompt_count))
        return error_set(
            error, JOULE_INVALID,
            "the prompt of %zu tokens is too long: this engine allows %zu tokens per request and "
            "has %zu tokens in its cache",
            r->prompt_count, e->scheduler.options.max_length,
            (size_t)(e->runner.sizes.pages * e->runner.sizes.page_size));
    if (!(r->max_joules >= 0))
        return error_set(error, JOULE_INVALID, "max_joules is negative");
    double budget = budget_of(e, r), expected = forge_engine_expected_joules(e, r->prompt_count);
    if (budget > 0 && expected > budget)
        return error_set(error, JOULE_INVALID,
                         "max_joules %g is too small: the prompt and one token are expected to use %.3g J",
                         budget, expected);
    return sampling_check(&r->sampling, (size_t)vocabulary, error);
}

/* Compiles the schema of a request, if it has one. */
static joule_status set_constraint(forge_engine *e, const forge_request *r, struct answer *answer,
                                   joule_error *error)
{
    const forge_tokenizer *tokenizer = e->model->tokenizer;
    joule_status status = JOULE_OK;
    if (!r->json_schema && !r->needs_json_object)
        return JOULE_OK;
    if (!tokenizer)
        return error_set(error, JOULE_UNSUPPORTED,
                         "cannot constrain an answer to JSON: the model has no vocabulary");
    if (!e->trie)
        status = constraint_trie_new(tokenizer, &e->trie, error);
    return status == JOULE_OK ? constraint_new(r->json_schema, tokenizer, e->trie,
                                               runner_vocabulary(&e->runner), &answer->constraint, error)
                              : status;
}

static joule_status new_answer(forge_engine *e, const forge_request *r, struct answer **out_answer,
                               joule_error *error)
{
    size_t vocabulary = (size_t)e->model->file->config.vocabulary, count = r->prompt_count;
    struct answer *a = calloc(1, sizeof *a);
    if (a) {
        a->options = *r;
        a->prompt_count = count;
        a->sequence.token_capacity = count + 64;
        a->sequence.tokens = malloc(a->sequence.token_capacity * sizeof *a->sequence.tokens);
        a->sequence.table.pool = e->runner.pool;
        a->sequence.table.shares_prefixes = !e->disables_prefix_cache;
        a->stop_tokens = malloc((r->stop_count + 1) * sizeof *a->stop_tokens);
    }
    if (!a || !a->sequence.tokens || !a->stop_tokens ||
        !page_table_reserve(&a->sequence.table, a->sequence.token_capacity + MAX_DRAFTS + 1)) {
        if (a)
            free_answer(a);
        return error_set(error, JOULE_NO_MEMORY, "cannot add a request: out of memory");
    }
    memcpy(a->sequence.tokens, r->prompt, count * sizeof *r->prompt);
    if (r->stop_count)
        memcpy(a->stop_tokens, r->stop_tokens, r->stop_count * sizeof *r->stop_tokens);
    a->sequence.token_count = count;
    a->sequence.priority = r->priority;
    a->sequence.avoids_prefixes = r->reports_prompt;
    a->sequence.table.start =
        page_pool_hash_start(e->runner.pool, r->cache_salt, r->cache_salt ? strlen(r->cache_salt) : 0);
    joule_status status = sampler_new(&r->sampling, vocabulary, &a->sampler, error);
    for (size_t i = 0; status == JOULE_OK && i < count; i++)
        if (!sampler_add_token(a->sampler, r->prompt[i], true))
            status = error_set(error, JOULE_NO_MEMORY, "cannot add a request: out of memory");
    if (status == JOULE_OK)
        status = set_constraint(e, r, a, error);
    if (status != JOULE_OK)
        free_answer(a);
    else
        *out_answer = a;
    return status;
}

joule_status forge_engine_add(forge_engine *e, const forge_request *request, uint64_t *out_id,
                              joule_error *out_error)
{
    forge_request r = {0};
    struct answer *answer;
    if (!out_id)
        return error_set(out_error, JOULE_INVALID, "cannot add a request: out_id is NULL");
    joule_status status = abi_read(&r, sizeof r, SIZE_UP_TO(forge_request, reserved2), request);
    if (status != JOULE_OK)
        return error_set(out_error, status,
                         "cannot add a request: it has a wrong struct_size, or an unknown member is set");
    status = check_request(e, &r, out_error);
    if (status == JOULE_OK)
        status = new_answer(e, &r, &answer, out_error);
    if (status != JOULE_OK)
        return status;
    answer->added_ns = clock_now_ns();
    answer->budget_joules = budget_of(e, &r);
    e->has_budgets |= answer->budget_joules > 0;
    pthread_mutex_lock(&e->lock);
    answer->id = e->next_id++;
    answer->next = e->answers;
    e->answers = answer;
    pthread_mutex_unlock(&e->lock);
    scheduler_add(&e->scheduler, &answer->sequence);
    *out_id = answer->id;
    return JOULE_OK;
}

void forge_engine_cancel(forge_engine *e, uint64_t id)
{
    pthread_mutex_lock(&e->lock);
    for (struct answer *answer = e->answers; answer; answer = answer->next)
        if (answer->id == id)
            answer->is_cancelled = e->has_cancelled = true;
    pthread_mutex_unlock(&e->lock);
}

joule_status engine_end(forge_engine *e, struct answer *answer, forge_end reason, joule_error *out_error)
{
    int64_t now = clock_now_ns(), started = answer->started_ns ? answer->started_ns : now,
            first = answer->first_token_ns ? answer->first_token_ns : now;
    forge_engine_event event = {.end = reason,
                                .request = answer->id,
                                .token = -1,
                                .logprob = NAN,
                                .prompt_tokens = (uint32_t)answer->prompt_count,
                                .answer_tokens =
                                    (uint32_t)(answer->sequence.token_count - answer->prompt_count),
                                .cached_tokens = (uint32_t)answer->cached_tokens,
                                .queue_seconds = clock_seconds(started - answer->added_ns),
                                .prefill_seconds = clock_seconds(first - started),
                                .decode_seconds = clock_seconds(now - first)};
    if (spending_is_open(&answer->spending))
        engine_read_meter(e);
    request_energy_end(&e->energy, &answer->spending);
    event.joules = request_energy_spent(&e->energy, &answer->spending, SPENDING_PHASES);
    event.prefill_joules = request_energy_spent(&e->energy, &answer->spending, PHASE_PREFILL);
    event.decode_joules = request_energy_spent(&e->energy, &answer->spending, PHASE_DECODE);
    event.budget_joules = answer->budget_joules;
    if (reason == FORGE_END_FAILED)
        event.failure = "cannot choose a token: the model computed logits that are not finite";
    e->energy_limited += reason == FORGE_END_ENERGY;
    scheduler_remove(&e->scheduler, &answer->sequence);
    speculation_release(&answer->drafts);
    pthread_mutex_lock(&e->lock);
    struct answer **at = &e->answers;
    while (*at != answer)
        at = &(*at)->next;
    *at = answer->next;
    pthread_mutex_unlock(&e->lock);
    free_answer(answer);
    return engine_add_event(e, &event, out_error);
}

/* --- events and facts ----------------------------------------------------------------------------------- */

joule_status engine_add_event(forge_engine *e, const forge_engine_event *event, joule_error *out_error)
{
    /* Removes the returned events when they are more than half of the array, so that the array does not grow
     * without limit. */
    if (2 * e->event_first > e->event_count) {
        e->event_count -= e->event_first;
        memmove(e->events, e->events + e->event_first, e->event_count * sizeof *e->events);
        e->event_first = 0;
    }
    if (!ARRAY_ROOM(e->events, e->event_capacity, e->event_count))
        return error_set(out_error, JOULE_NO_MEMORY, "cannot report a token: out of memory");
    e->events[e->event_count] = *event;
    e->events[e->event_count++].struct_size = sizeof *event;
    return JOULE_OK;
}

joule_status forge_engine_next(forge_engine *e, forge_engine_event *out_event)
{
    if (!abi_has_room(out_event, SIZE_UP_TO(forge_engine_event, budget_joules)))
        return JOULE_INVALID;
    if (e->event_first == e->event_count)
        return JOULE_ABSENT;
    abi_write(out_event, &e->events[e->event_first++], sizeof *e->events);
    return JOULE_OK;
}

joule_status forge_engine_query(const forge_engine *e, forge_engine_facts *out_facts)
{
    if (!abi_has_room(out_facts, SIZE_UP_TO(forge_engine_facts, energy_source)))
        return JOULE_INVALID;
    forge_engine_facts facts = {.running = (uint32_t)e->scheduler.running.count,
                                .waiting = (uint32_t)e->scheduler.waiting.count,
                                .page_size = (uint32_t)e->runner.sizes.page_size,
                                .pages = (uint64_t)e->runner.sizes.pages,
                                .free_pages = page_pool_free_count(e->runner.pool),
                                .computed_steps = e->steps,
                                .computed_rows = e->rows,
                                .preemptions = e->scheduler.preemptions,
                                .prompt_tokens = e->prompt_tokens,
                                .answer_tokens = e->answer_tokens,
                                .prefix_queries = e->scheduler.queried_tokens,
                                .prefix_hits = e->scheduler.found_tokens,
                                .step_seconds = clock_seconds(e->step_ns),
                                .run_seconds = clock_seconds(e->runner.run_ns),
                                .power_watts = power_limit_watts(&e->power_limit),
                                .energy_limited = e->energy_limited};
    facts.proposals = e->speculation.proposals;
    facts.draft_tokens = e->speculation.proposed;
    facts.accepted_tokens = e->speculation.accepted;
    memcpy(facts.accepted_at, e->speculation.accepted_at, sizeof facts.accepted_at);
    facts.schedule_seconds = clock_seconds(e->times.schedule);
    facts.cache_seconds = clock_seconds(e->times.cache);
    facts.copy_seconds = clock_seconds(e->times.copy);
    facts.energy_seconds = clock_seconds(e->times.energy);
    facts.sample_seconds = clock_seconds(e->times.sample);
    facts.output_seconds = clock_seconds(e->times.output);
    request_energy_query(&e->energy, &facts);
    abi_write(out_facts, &facts, sizeof facts);
    return JOULE_OK;
}
