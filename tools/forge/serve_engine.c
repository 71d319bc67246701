/* tools/forge/serve_engine.c - see serve_engine.h. */
#include "serve_engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"
#include "serve_job.h"
#include "serve_tokens.h"

#define IDLE_NS NS_PER_S         /* time between updates of the metrics while there is no request */
#define BUSY_NS (NS_PER_S / 100) /* time to wait if the engine has requests, but cannot compute any now */

/* The choices that were added to the engine, in the order of their ids. */
struct active {
    struct choice **list;
    size_t count, capacity;
};

/* --- ending choices ------------------------------------------------------------------------------------- */

/* Ends a choice: wakes the HTTP thread, and releases the choice's reference to its job. last: the last event;
 * NULL: the choice failed for the reason `failure`. */
static void end_choice(struct server *server, struct choice *choice, const forge_engine_event *last,
                       const joule_error *failure)
{
    struct job *job = choice->job;
    pthread_mutex_lock(&server->lock);
    server->unfinished--;
    if (last)
        metrics_add_answer(&server->metrics, last, clock_seconds(clock_now_ns() - choice->submitted_ns));
    else
        server->metrics.failed++;
    pthread_mutex_unlock(&server->lock);
    pthread_mutex_lock(&job->lock);
    if (last)
        choice->last = *last;
    else if (choice->failure.status == JOULE_OK)
        choice->failure = *failure;
    choice->has_ended = true;
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
    job_release(job);
}

/* Empties the queue of choices that wait for the engine, and returns its first choice. The caller holds the
 * server's lock. */
static struct choice *take_queue(struct server *server)
{
    struct choice *queue = server->queue;
    server->queue = NULL;
    server->queue_end = &server->queue;
    return queue;
}

static void end_all(struct server *server, struct active *active, const joule_error *failure)
{
    pthread_mutex_lock(&server->lock);
    struct choice *queue = take_queue(server);
    pthread_mutex_unlock(&server->lock);
    for (struct choice *next; queue; queue = next) {
        next = queue->next;
        end_choice(server, queue, NULL, failure);
    }
    for (size_t i = 0; i < active->count; i++)
        end_choice(server, active->list[i], NULL, failure);
    active->count = 0;
}

/* --- adding requests ------------------------------------------------------------------------------------ */

/* Returns JOULE_INVALID with a message if the first token is expected to use more energy than the whole
 * request may use. If the energy is unknown, returns JOULE_OK. */
static joule_status check_budget(const struct server *server, struct choice *choice, joule_error *error)
{
    double limit = server->settings->engine.max_request_joules, own = choice->request.max_joules;
    if (own > 0 && (limit == 0 || own < limit))
        limit = own;
    double expected = forge_engine_expected_joules(server->language.engine, choice->request.prompt_count);
    if (limit == 0 || !(expected > limit))
        return JOULE_OK;
    choice->is_over_budget = true;
    return error_set(error, JOULE_INVALID,
                     "the first token is expected to use %.3g J, but the budget of the request is %.3g J",
                     expected, limit);
}

/* Adds a choice of the queue to the engine. */
static void add_choice(struct server *server, struct active *active, struct choice *choice)
{
    joule_error error = {0};
    uint64_t id;
    joule_status status = ARRAY_ROOM(active->list, active->capacity, active->count)
                              ? check_budget(server, choice, &error)
                              : error_set(&error, JOULE_NO_MEMORY, "out of memory");
    if (status == JOULE_OK)
        status = forge_engine_add(server->language.engine, &choice->request, &id, &error);
    if (status != JOULE_OK) {
        error.status = status;
        end_choice(server, choice, NULL, &error);
        return;
    }
    active->list[active->count++] = choice;
    pthread_mutex_lock(&choice->job->lock);
    choice->id = id;
    if (choice->is_cancelled)
        forge_engine_cancel(server->language.engine, id);
    pthread_cond_broadcast(&choice->job->changed);
    pthread_mutex_unlock(&choice->job->lock);
}

/* Waits for requests, and adds all queued ones. Returns false if the thread must end. is_blocked: the engine
 * has requests, but the last step computed nothing. */
static bool add_queued(struct server *server, struct active *active, bool is_blocked)
{
    int64_t wait_ns = active->count == 0 ? IDLE_NS : is_blocked ? BUSY_NS : 0;
    struct timespec until = clock_timespec(clock_now_ns() + wait_ns);
    pthread_mutex_lock(&server->lock);
    if (!server->queue && wait_ns && server->state != SERVE_ENDING)
        pthread_cond_timedwait(&server->wake, &server->lock, &until);
    bool is_ending = server->state == SERVE_ENDING;
    struct choice *queue = take_queue(server);
    pthread_mutex_unlock(&server->lock);
    for (struct choice *next; queue; queue = next) {
        next = queue->next;
        queue->next = NULL;
        add_choice(server, active, queue);
    }
    for (size_t i = 0; is_ending && i < active->count; i++)
        forge_engine_cancel(server->language.engine, active->list[i]->id);
    return !is_ending || active->count > 0;
}

/* --- events --------------------------------------------------------------------------------------------- */

/* Returns the position of the choice with this number in the engine, or active->count. */
static size_t find(const struct active *active, uint64_t id)
{
    size_t first = 0, end = active->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (active->list[middle]->id < id)
            first = middle + 1;
        else
            end = middle;
    }
    return first < active->count && active->list[first]->id == id ? first : active->count;
}

static void record_token_time(struct server *server, struct choice *choice, int64_t now)
{
    pthread_mutex_lock(&server->lock);
    if (!choice->first_token_ns)
        metrics_add_first_token(&server->metrics, clock_seconds(now - choice->submitted_ns));
    else
        metrics_add_token(&server->metrics, clock_seconds(now - choice->last_token_ns));
    pthread_mutex_unlock(&server->lock);
    if (!choice->first_token_ns)
        choice->first_token_ns = now;
    choice->last_token_ns = now;
}

static void add_token(struct server *server, struct choice *choice, const forge_engine_event *event)
{
    struct job *job = choice->job;
    if (!event->is_prompt)
        record_token_time(server, choice, clock_now_ns());
    pthread_mutex_lock(&job->lock);
    if (!choice->is_cancelled && !token_events_add(&choice->events, event)) {
        error_set(&choice->failure, JOULE_NO_MEMORY, "out of memory");
        job_cancel(choice);
    }
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
}

static void pass_events(struct server *server, struct active *active)
{
    forge_engine_event event = {.struct_size = sizeof event};
    joule_error failure = {0};
    while (forge_engine_next(server->language.engine, &event) == JOULE_OK) {
        size_t i = find(active, event.request);
        if (!active->list || i == active->count)
            continue;
        struct choice *choice = active->list[i];
        if (event.token >= 0)
            add_token(server, choice, &event);
        if (event.end == FORGE_END_NONE)
            continue;
        memmove(active->list + i, active->list + i + 1, (--active->count - i) * sizeof(struct choice *));
        if (event.end == FORGE_END_FAILED)
            error_set(&failure, JOULE_FAILED, "%s", event.failure);
        end_choice(server, choice, event.failure ? NULL : &event, &failure);
    }
}

static void update_facts(struct server *server)
{
    forge_engine_facts facts = {.struct_size = sizeof facts};
    forge_engine_query(server->language.engine, &facts);
    pthread_mutex_lock(&server->lock);
    metrics_set_facts(&server->metrics, &facts);
    pthread_mutex_unlock(&server->lock);
}

/* --- the thread ----------------------------------------------------------------------------------------- */

static joule_status load(struct server *server, joule_error *error)
{
    const struct serve_settings *settings = server->settings;
    forge_engine_options options = settings->engine;
    struct language_model *language = &server->language;
    joule_status status = language_model_open(language, &settings->language, error);
    if (status == JOULE_OK)
        status = language_model_need_tokenizer(language, error);
    if (status == JOULE_OK && settings->draft_model)
        status = forge_model_open(settings->draft_model, settings->language.tokenizer, &server->draft_model,
                                  error);
    options.draft_model = server->draft_model;
    if (status == JOULE_OK)
        status = language_model_start(language, &settings->language, &options, error);
    if (status != JOULE_OK)
        return status;
    server->max_length =
        settings->engine.max_length ? settings->engine.max_length : (size_t)language->facts.context;
    server->control_tokens = control_tokens_new(language->tokenizer);
    return server->control_tokens ? JOULE_OK : error_set(error, JOULE_NO_MEMORY, "out of memory");
}

static void fail(struct server *server, const joule_error *error)
{
    uint64_t one = 1;
    pthread_mutex_lock(&server->lock);
    server->state = SERVE_FAILED;
    server->engine_failure = *error;
    pthread_mutex_unlock(&server->lock);
    ssize_t written = write(server->failed_fd, &one, sizeof one);
    (void)written; /* write() to an eventfd fails only if its counter overflows, which is impossible here */
}

/* Answers requests until the server ends. Returns the status of the last step. */
static joule_status answer(struct server *server, struct active *active, joule_error *error)
{
    joule_status status = JOULE_OK;
    while (add_queued(server, active, status == JOULE_ABSENT)) {
        status = forge_engine_step(server->language.engine, error);
        if (status != JOULE_OK && status != JOULE_ABSENT)
            return status;
        pass_events(server, active);
        update_facts(server);
    }
    return JOULE_OK;
}

static void *run(void *context)
{
    struct server *server = context;
    struct active active = {0};
    joule_error error = {0};
    joule_status status = load(server, &error);
    if (status == JOULE_OK) {
        update_facts(server);
        pthread_mutex_lock(&server->lock);
        if (server->state == SERVE_LOADING)
            server->state = SERVE_READY;
        pthread_mutex_unlock(&server->lock);
        complain(SERVE, "the model %s is ready", server->name);
        status = answer(server, &active, &error);
    }
    if (status != JOULE_OK) {
        error.status = status;
        fail(server, &error);
        end_all(server, &active, &error);
    }
    free(active.list);
    return NULL;
}

bool serve_engine_start(struct server *server, pthread_t *out_thread)
{
    int reason = pthread_create(out_thread, NULL, run, server);
    if (reason)
        complain(SERVE, "cannot start a thread: %s", strerror(reason));
    return reason == 0;
}

void serve_engine_stop(struct server *server, enum serve_state state)
{
    pthread_mutex_lock(&server->lock);
    if (server->state < state)
        server->state = state;
    pthread_cond_signal(&server->wake);
    pthread_mutex_unlock(&server->lock);
}

size_t serve_engine_unfinished(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    size_t count = server->unfinished;
    pthread_mutex_unlock(&server->lock);
    return count;
}

enum serve_state serve_state_of(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    enum serve_state state = server->state;
    pthread_mutex_unlock(&server->lock);
    return state;
}

void serve_engine_free(struct server *server)
{
    language_model_close(&server->language);
    forge_model_free(server->draft_model);
    control_tokens_free(server->control_tokens);
}
