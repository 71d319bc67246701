/* tools/forge/serve_reply.h - the answer to one request for completions: its choices, usage and energy. */
#ifndef SERVE_REPLY_H
#define SERVE_REPLY_H

#include <joule/quantity.h>
#include "serve.h"
#include "serve_text.h"

struct reply {
    struct server *server;
    struct job *job;
    struct answer_options options;
    struct reply_text *answers; /* [job->count]; answer i belongs to prompt i / options.n */
    struct token_events *taken; /* [job->count]: events that were taken from the choices */
    bool *has_ended;            /* [job->count]: the choice has ended and all its events were taken */
    bool is_chat;
    char id[40];
    int64_t created_s;
    uint64_t prompt_tokens; /* number of tokens of all prompts */
    int client_fd;          /* socket of the client; -1: unknown */
    int64_t checked_ns;     /* time of the last check of the client's connection */
};

/* A prompt. Its pointers point to memory of the job's arena. */
struct prompt {
    int32_t *tokens;
    size_t count;
    const char *text; /* text that `echo` repeats */
    size_t text_size;
    bool has_text; /* the prompt contains text, so a leading space is part of the answer */
};

/* Creates a reply whose job has no choices yet. Returns NULL with a failure if out of memory. The caller
 * frees the reply with reply_free. */
struct reply *reply_new(struct server *server, bool is_chat, struct failure *failure);
/* Adds the choices for `count` prompts with the reply's options. Returns false with a failure. */
bool reply_set_prompts(struct reply *reply, const struct prompt *prompts, size_t count,
                       struct failure *failure);
/* Submits the job, and waits until the engine has accepted all its requests. Returns false with a failure. */
bool reply_submit(struct reply *reply, struct failure *failure);
/* Waits until all answers are complete. Returns false with a failure; status 499: the client has left. */
bool reply_wait(struct reply *reply, struct failure *failure);
/* Takes all events that have arrived. If there are none, waits a short time for an event. *out_has_news: at
 * least one event was taken. Returns false with a failure. */
bool reply_take(struct reply *reply, bool *out_has_news, struct failure *failure);
/* Returns true if all answers are complete. */
bool reply_has_ended(const struct reply *reply);
/* Cancels all choices that have not ended, and frees the reply. NULL is allowed. */
void reply_free(struct reply *reply);

/* --- JSON (serve_reply_json.c) -------------------------------------------------------------------------- */

/* Prints a whole answer. context: struct reply. */
void reply_print(const void *context, struct text *out);

/* The kinds of events of a stream. */
enum chunk_kind {
    CHUNK_ROLE,  /* the first event of a choice of a chat */
    CHUNK_TEXT,  /* text that is ready */
    CHUNK_END,   /* the end of a choice; for completions with the last text */
    CHUNK_USAGE, /* the usage of the whole request */
};
struct chunk {
    const struct reply *reply;
    enum chunk_kind kind;
    size_t index; /* number of the choice */
    bool is_last; /* the last event, which contains the energy */
};
/* Prints an event of a stream, with "data: " before it and an empty line after it. context: struct chunk. */
void chunk_print(const void *context, struct text *out);

#endif
