/* tools/forge/serve_reply.c - see serve_reply.h. */
#include "serve_reply.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "base/clock.h"

#define WAIT_MS       200 /* longest wait for an event; then the client's connection is checked */
#define CHECK_NS      (NS_PER_S / 10)
#define CLIENT_CLOSED 499 /* status for a client that has left; it is never sent */

/* --- creation ------------------------------------------------------------------------------------------- */

static bool set_id(struct reply *reply)
{
    uint8_t bytes[12];
    struct text text;
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return false;
    text_init(&text, reply->id, sizeof reply->id);
    text_add(&text, reply->is_chat ? "chatcmpl-" : "cmpl-");
    for (size_t i = 0; i < sizeof bytes; i++)
        text_printf(&text, "%02x", bytes[i]);
    return true;
}

struct reply *reply_new(struct server *server, bool is_chat, struct failure *failure)
{
    struct reply *reply = calloc(1, sizeof *reply);
    if (reply) {
        *reply =
            (struct reply){.server = server, .is_chat = is_chat, .client_fd = -1, .created_s = time(NULL)};
        reply->job = job_new(server);
        if (reply->job && set_id(reply))
            return reply;
    }
    reply_free(reply);
    failure_set_no_memory(failure);
    return NULL;
}

/* Fills in the request of answer `i` to a prompt. */
static void set_request(const struct reply *reply, const struct prompt *prompt, uint32_t i,
                        forge_request *out)
{
    const struct answer_options *o = &reply->options;
    *out = (forge_request){.struct_size = sizeof *out,
                           .prompt = prompt->tokens,
                           .prompt_count = prompt->count,
                           .sampling = o->sampling,
                           .max_tokens = o->has_max_tokens && o->max_tokens == 0 ? 1 : o->max_tokens,
                           .min_tokens = o->min_tokens,
                           .logprobs = o->logprobs,
                           .stop_tokens = o->stop_tokens,
                           .stop_count = o->stop_token_count,
                           .cache_salt = o->cache_salt,
                           .priority = o->priority,
                           .reports_logprobs = o->reports_logprobs,
                           .reports_prompt = o->reports_logprobs && o->echoes,
                           .ignores_end = o->ignores_end,
                           .json_schema = o->json_schema,
                           .needs_json_object = o->needs_json_object,
                           .max_joules = o->max_joules};
    out->sampling.seed += i;
}

bool reply_set_prompts(struct reply *reply, const struct prompt *prompts, size_t count,
                       struct failure *failure)
{
    const struct server *server = reply->server;
    uint32_t n = reply->options.n;
    size_t capacity = (size_t)server->settings->engine.max_batch_size + server->settings->max_queue;
    if (reply->options.has_max_tokens && reply->options.min_tokens > reply->options.max_tokens)
        return failure_set(failure, "min_tokens", "'min_tokens' is above the maximum of %u tokens",
                           reply->options.max_tokens);
    if (count > capacity / n)
        return failure_set(failure, n > 1 ? "n" : "prompt",
                           "%zu prompts with %u answers each are more than this server accepts at once (%zu)",
                           count, n, capacity);
    for (size_t p = 0; p < count; p++) {
        if (prompts[p].count >= server->max_length) {
            failure_set(failure, reply->is_chat ? "messages" : "prompt",
                        "the prompt has %zu tokens, but this server allows %zu with the answer",
                        prompts[p].count, server->max_length);
            failure->code = "context_length_exceeded";
            return false;
        }
        reply->prompt_tokens += prompts[p].count;
    }
    if (!job_set_count(reply->job, count * n))
        return failure_set_no_memory(failure);
    reply->answers = calloc(count * n, sizeof *reply->answers);
    reply->has_ended = calloc(count * n, sizeof *reply->has_ended);
    reply->taken = calloc(count * n, sizeof *reply->taken);
    if (!reply->answers || !reply->has_ended || !reply->taken)
        return failure_set_no_memory(failure);
    for (size_t i = 0; i < count * n; i++) {
        const struct prompt *prompt = &prompts[i / n];
        set_request(reply, prompt, (uint32_t)(i % n), &reply->job->choices[i].request);
        reply_text_begin(&reply->answers[i], server->language.tokenizer, &reply->options, prompt->has_text);
        if (reply->options.echoes && !bytes_add(&reply->answers[i].text, prompt->text, prompt->text_size))
            return failure_set_no_memory(failure);
    }
    return true;
}

void reply_free(struct reply *reply)
{
    if (!reply)
        return;
    if (reply->job)
        job_cancel_all(reply->job);
    size_t count = reply->job ? reply->job->count : 0;
    for (size_t i = 0; reply->answers && i < count; i++)
        reply_text_end(&reply->answers[i]);
    for (size_t i = 0; reply->taken && i < count; i++)
        token_events_free(&reply->taken[i]);
    job_release(reply->job);
    free(reply->answers);
    free(reply->taken);
    free(reply->has_ended);
    free(reply);
}

/* --- waiting -------------------------------------------------------------------------------------------- */

/* Sets the failure that explains why a choice failed. */
static bool explain(const struct reply *reply, const struct choice *choice, struct failure *failure)
{
    joule_status status = choice->failure.status;
    if (status == JOULE_OK)
        return failure_set_status(failure, 503, "unavailable_error", "stopping", "the server is stopping");
    if (status == JOULE_NO_MEMORY)
        return failure_set_no_memory(failure);
    if (status != JOULE_INVALID && status != JOULE_UNSUPPORTED)
        return failure_set_status(failure, 500, "server_error", NULL, "%s", choice->failure.message);
    failure_set(failure,
                choice->is_over_budget ? "max_joules"
                : reply->is_chat       ? "messages"
                                       : "prompt",
                "%s", choice->failure.message);
    if (choice->is_over_budget)
        failure->code = "energy_budget_too_small";
    return false;
}

/* Returns true if the choice failed, or was cancelled although the reply has not finished its text. */
static bool has_failed(const struct reply *reply, size_t i)
{
    const struct choice *choice = &reply->job->choices[i];
    if (!choice->has_ended)
        return false;
    return choice->failure.status != JOULE_OK ||
           (choice->last.end == FORGE_END_CANCELLED && !reply->answers[i].discards);
}

/* Returns true if the client has closed its connection. Checks at most every CHECK_NS. */
static bool has_left(struct reply *reply)
{
    int64_t now = clock_now_ns();
    struct pollfd client = {.fd = reply->client_fd, .events = POLLRDHUP};
    if (now - reply->checked_ns < CHECK_NS)
        return false;
    reply->checked_ns = now;
    return reply->client_fd >= 0 && poll(&client, 1, 0) > 0 &&
           (client.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static bool fail_left(struct failure *failure)
{
    return failure_set_status(failure, CLIENT_CLOSED, "server_error", NULL, "the client has left");
}

bool reply_submit(struct reply *reply, struct failure *failure)
{
    struct job *job = reply->job;
    bool is_ok = true, is_waiting = true;
    switch (job_submit(job)) {
    case SUBMITTED:
        break;
    case SUBMISSION_FULL:
        failure_set_status(failure, 429, "rate_limit_error", "queue_full",
                           "too many requests wait; try again later");
        failure->retry_after_s = 1;
        return false;
    case SUBMISSION_STOPPED:
        return failure_set_status(failure, 503, "unavailable_error", "stopping", "the server is not ready");
    }
    pthread_mutex_lock(&job->lock);
    for (;;) {
        is_waiting = false;
        for (size_t i = 0; is_ok && i < job->count; i++) {
            is_waiting = is_waiting || (!job->choices[i].id && !job->choices[i].has_ended);
            if (has_failed(reply, i))
                is_ok = explain(reply, &job->choices[i], failure);
        }
        if (!is_ok || !is_waiting)
            break;
        job_wait(job, WAIT_MS);
    }
    pthread_mutex_unlock(&job->lock);
    return is_ok;
}

/* Moves the events of all choices to the reply, by exchanging the lists. Returns true if a choice had new
 * events or has ended. The caller holds the job's lock. */
static bool take(struct reply *reply)
{
    struct job *job = reply->job;
    bool has_news = false;
    for (size_t i = 0; i < job->count; i++) {
        struct token_events empty = reply->taken[i];
        if (reply->has_ended[i])
            continue;
        has_news = has_news || job->choices[i].events.count > 0 || job->choices[i].has_ended;
        reply->taken[i] = job->choices[i].events;
        job->choices[i].events = empty;
        reply->has_ended[i] = job->choices[i].has_ended;
    }
    return has_news;
}

/* Converts the events that were taken from a choice to text. If a stop string ends the text, cancels the
 * choice. */
static bool add_text(struct reply *reply, size_t i, struct failure *failure)
{
    struct reply_text *answer = &reply->answers[i];
    struct choice *choice = &reply->job->choices[i];
    bool had_all = answer->discards;
    if (!reply_text_take(answer, &reply->taken[i]))
        return failure_set_no_memory(failure);
    if (!reply->has_ended[i]) {
        if (answer->discards && !had_all) {
            pthread_mutex_lock(&reply->job->lock);
            job_cancel(choice);
            pthread_mutex_unlock(&reply->job->lock);
        }
        return true;
    }
    if (has_failed(reply, i))
        return explain(reply, choice, failure);
    return answer->finish_reason || reply_text_finish(answer, choice->last.end) ||
           failure_set_no_memory(failure);
}

bool reply_take(struct reply *reply, bool *out_has_news, struct failure *failure)
{
    struct job *job = reply->job;
    bool is_ok = true;
    pthread_mutex_lock(&job->lock);
    *out_has_news = take(reply);
    if (!*out_has_news && !reply_has_ended(reply)) {
        job_wait(job, WAIT_MS);
        *out_has_news = take(reply);
    }
    pthread_mutex_unlock(&job->lock);
    /* Without the lock, so that the engine's thread does not wait for the conversion to text. */
    for (size_t i = 0; is_ok && *out_has_news && i < job->count; i++)
        is_ok = add_text(reply, i, failure);
    return is_ok && (!has_left(reply) || fail_left(failure));
}

bool reply_has_ended(const struct reply *reply)
{
    for (size_t i = 0; i < reply->job->count; i++)
        if (!reply->has_ended[i])
            return false;
    return true;
}

bool reply_wait(struct reply *reply, struct failure *failure)
{
    bool has_news;
    while (!reply_has_ended(reply))
        if (!reply_take(reply, &has_news, failure))
            return false;
    return true;
}
