/* tools/forge/serve.h - settings and state that the files of `forge serve` share.
 *
 * The main thread waits for signals. One thread (serve_engine.c) uses the engine: it adds requests, computes
 * steps and passes events to jobs. libmicrohttpd runs one thread for each connection, which parses a request,
 * submits a job (serve_job.h) and turns the job's events into text (serve_text.h).
 * Note: the engine's thread never waits for a client, and only copies events.
 */
#ifndef SERVE_H
#define SERVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "common/options.h"
#include "http/host_names.h"
#include "http/listen.h"
#include "language_model.h"
#include "serve_keys.h"
#include "serve_metrics.h"

#define SERVE "serve" /* name of the subcommand in messages */

struct serve_settings {
    struct language_options language;
    const char *alias;         /* name of the model in requests; NULL: from the name of the model's file */
    const char *chat_template; /* family of the template; NULL: the model's own template */
    const char *draft_model;   /* path of a smaller model that proposes tokens; NULL: none */
    unsigned max_queue;        /* requests that may wait in addition to the batch size of the engine */
    unsigned max_connections;
    size_t max_body_bytes;
    double grace_s; /* after a signal, time for running answers to finish */
    forge_engine_options engine;
    struct option_list allowed_hosts;
    struct host_names names;
    struct serve_keys keys;
};

/* The state of a server. It changes only from earlier values of this list to later ones. */
enum serve_state {
    SERVE_LOADING,  /* the model is being loaded */
    SERVE_READY,    /* requests are accepted */
    SERVE_STOPPING, /* no new requests; running requests finish */
    SERVE_ENDING,   /* running requests are cancelled */
    SERVE_FAILED,   /* the model cannot be loaded, or a step failed */
};

struct choice;

struct server {
    const struct serve_settings *settings;
    int64_t created_s; /* start of the server in seconds since 1970 */
    char name[256];    /* name of the model in requests and answers */
    /* Set by the engine's thread before the state becomes SERVE_READY, then constant. */
    struct language_model language; /* only the engine's thread may use language.engine, except to cancel */
    forge_model *draft_model;       /* NULL: none */
    struct control_tokens *control_tokens; /* see serve_tokens.h */
    size_t max_length;                     /* maximum number of tokens of a request with its answer */

    pthread_mutex_t lock; /* protects the members from here to `engine_failure` */
    pthread_cond_t wake;  /* wakes the engine's thread */
    enum serve_state state;
    /* List of choices that were submitted, but not yet added to the engine. */
    struct choice *queue, **queue_end;
    size_t unfinished; /* choices that were submitted and have not ended */
    struct serve_metrics metrics;
    joule_error engine_failure; /* the reason of SERVE_FAILED */

    atomic_uint exchanges;    /* complete HTTP requests whose answer has not been sent completely yet */
    atomic_size_t body_bytes; /* memory of the bodies of all requests */
    /* Allows one request at a time to be parsed, because trees of JSON need much memory. */
    pthread_mutex_t parse_lock;
    int failed_fd; /* eventfd, which becomes readable after SERVE_FAILED */
};

/* Returns the server's state. Any thread. */
enum serve_state serve_state_of(struct server *server);

#endif
