/* tools/forge/serve_job.h - the requests to the engine that answer one HTTP request.
 *
 * A job has one choice for each answer (n answers for each prompt). The HTTP thread creates the job, submits
 * it, and takes the events of its choices. The engine's thread adds the events.
 * Note: the HTTP thread and each unfinished choice hold a reference to the job. So the HTTP thread can end at
 * any time, for example because its client has left. */
#ifndef SERVE_JOB_H
#define SERVE_JOB_H

#include <forge/engine.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "base/arena.h"

struct job;
struct server;

/* A token of an answer or of its prompt, with its log-probability. */
struct token_event {
    int32_t token;
    float logprob; /* NaN: not requested, or unknown */
    bool is_prompt;
    uint32_t top_first, top_count; /* range of alternatives in token_events.tops */
};

/* Token events in the order of their arrival. Initialise with zeros. */
struct token_events {
    struct token_event *list;
    size_t count, capacity;
    forge_token_logprob *tops;
    size_t top_count, top_capacity;
};
/* Appends the token of an event. Returns false if out of memory. */
bool token_events_add(struct token_events *events, const forge_engine_event *event);
/* Appends event number `i` of `from`. Returns false if out of memory. */
bool token_events_copy(struct token_events *events, const struct token_events *from, size_t i);
void token_events_free(struct token_events *events);

/* One answer. */
struct choice {
    struct job *job;
    struct choice *next;   /* in the server's queue */
    forge_request request; /* its memory belongs to the job */
    /* Protected by the job's lock. */
    uint64_t id;                /* number in the engine; 0: not added yet */
    struct token_events events; /* events that the HTTP thread has not taken yet */
    bool is_cancelled;          /* the HTTP thread needs no further events */
    bool has_ended;             /* no further events will come */
    joule_error failure;        /* status not JOULE_OK: the reason why the choice failed */
    /* Reason of the failure: the first token alone would need more than max_joules. */
    bool is_over_budget;
    forge_engine_event last; /* the last event; valid if the choice ended without a failure */
    /* Only for the engine's thread. */
    int64_t submitted_ns, first_token_ns, last_token_ns; /* 0: not yet */
};

struct job {
    struct server *server;
    struct arena arena; /* memory of prompts and options */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a choice has new events, or ended */
    atomic_uint references;
    size_t count;
    struct choice *choices; /* [count] */
};

/* Creates a job without choices. The caller owns one reference. NULL: out of memory. */
struct job *job_new(struct server *server);
/* Adds `count` choices with empty requests to a job without choices. Returns false if out of memory. */
bool job_set_count(struct job *job, size_t count);
/* Releases a reference. The last one frees the job. */
void job_release(struct job *job);

/* The result of job_submit. */
enum submission {
    SUBMITTED,
    SUBMISSION_FULL,    /* too many requests wait */
    SUBMISSION_STOPPED, /* the server is loading, stopping or failed */
};
/* Passes all choices to the engine's thread. If the result is not SUBMITTED, no choice was passed. */
enum submission job_submit(struct job *job);
/* Waits until a choice has new events or has ended, but at most `timeout_ms`. The caller holds the job's
 * lock. */
void job_wait(struct job *job, int timeout_ms);
/* Cancels a choice. The caller holds the job's lock. */
void job_cancel(struct choice *choice);
/* Cancels all choices that have not ended. The caller does not hold the job's lock. */
void job_cancel_all(struct job *job);

#endif
