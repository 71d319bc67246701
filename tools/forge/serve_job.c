/* tools/forge/serve_job.c - see serve_job.h. */
#include "serve_job.h"

#include <math.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/clock.h"
#include "serve.h"

/* --- events --------------------------------------------------------------------------------------------- */

static bool add(struct token_events *events, struct token_event event, const forge_token_logprob *top)
{
    if (!ARRAY_ROOM(events->list, events->capacity, events->count) ||
        !array_reserve((void **)&events->tops, &events->top_capacity, events->top_count + event.top_count + 1,
                       sizeof *events->tops))
        return false;
    event.top_first = (uint32_t)events->top_count;
    for (size_t i = 0; i < event.top_count; i++)
        events->tops[events->top_count++] = top[i];
    events->list[events->count++] = event;
    return true;
}

bool token_events_add(struct token_events *events, const forge_engine_event *event)
{
    struct token_event token = {.token = event->token,
                                .logprob = event->logprob,
                                .is_prompt = event->is_prompt,
                                .top_count = event->top_count};
    return add(events, token, event->top);
}

bool token_events_copy(struct token_events *events, const struct token_events *from, size_t i)
{
    return add(events, from->list[i], from->tops + from->list[i].top_first);
}

void token_events_free(struct token_events *events)
{
    free(events->list);
    free(events->tops);
    *events = (struct token_events){0};
}

/* --- jobs ----------------------------------------------------------------------------------------------- */

struct job *job_new(struct server *server)
{
    struct job *job = calloc(1, sizeof *job);
    pthread_condattr_t attributes;
    if (!job)
        return NULL;
    job->server = server;
    pthread_mutex_init(&job->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&job->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    atomic_init(&job->references, 1);
    return job;
}

bool job_set_count(struct job *job, size_t count)
{
    job->choices = calloc(count, sizeof *job->choices);
    if (!job->choices)
        return false;
    job->count = count;
    for (size_t i = 0; i < count; i++)
        job->choices[i].job = job;
    return true;
}

void job_release(struct job *job)
{
    if (!job || atomic_fetch_sub(&job->references, 1) != 1)
        return;
    for (size_t i = 0; i < job->count; i++)
        token_events_free(&job->choices[i].events);
    pthread_cond_destroy(&job->changed);
    pthread_mutex_destroy(&job->lock);
    arena_free(&job->arena);
    free(job->choices);
    free(job);
}

enum submission job_submit(struct job *job)
{
    struct server *server = job->server;
    size_t capacity = (size_t)server->settings->engine.max_batch_size + server->settings->max_queue;
    int64_t now = clock_now_ns();
    enum submission result = SUBMITTED;
    pthread_mutex_lock(&server->lock);
    if (server->state != SERVE_READY)
        result = SUBMISSION_STOPPED;
    else if (server->unfinished + job->count > capacity)
        result = SUBMISSION_FULL;
    for (size_t i = 0; result == SUBMITTED && i < job->count; i++) {
        job->choices[i].submitted_ns = now;
        atomic_fetch_add(&job->references, 1);
        *server->queue_end = &job->choices[i];
        server->queue_end = &job->choices[i].next;
        server->unfinished++;
    }
    if (result == SUBMISSION_FULL)
        server->metrics.refused++;
    pthread_cond_signal(&server->wake);
    pthread_mutex_unlock(&server->lock);
    return result;
}

void job_wait(struct job *job, int timeout_ms)
{
    struct timespec until = clock_timespec(clock_now_ns() + timeout_ms * (NS_PER_S / 1000));
    pthread_cond_timedwait(&job->changed, &job->lock, &until);
}

void job_cancel(struct choice *choice)
{
    if (choice->is_cancelled || choice->has_ended)
        return;
    choice->is_cancelled = true;
    if (choice->id)
        forge_engine_cancel(choice->job->server->language.engine, choice->id);
}

void job_cancel_all(struct job *job)
{
    pthread_mutex_lock(&job->lock);
    for (size_t i = 0; i < job->count; i++)
        job_cancel(&job->choices[i]);
    pthread_mutex_unlock(&job->lock);
}
