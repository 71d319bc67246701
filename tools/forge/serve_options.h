/* tools/forge/serve_options.h - the fields of a request that completions and chat completions share. */
#ifndef SERVE_OPTIONS_H
#define SERVE_OPTIONS_H

#include <forge/sampling.h>
#include "base/arena.h"
#include "serve_fields.h"

#define MAX_STOPS      4
#define MAX_STOP_BYTES 1024

/* How answers are computed. All pointers point to memory of the job's arena. */
struct answer_options {
    forge_sampling sampling;
    uint32_t n; /* answers per prompt */
    uint32_t max_tokens, min_tokens;
    bool has_max_tokens;
    uint32_t logprobs;     /* alternatives per token */
    bool reports_logprobs; /* reports the log-probabilities of the answer's tokens */
    bool echoes;           /* the answer begins with the prompt */
    const char *stops[MAX_STOPS];
    size_t stop_sizes[MAX_STOPS], stop_count;
    size_t max_stop_bytes; /* size of the longest stop string */
    int32_t *stop_tokens;
    size_t stop_token_count;
    const char *cache_salt;
    int32_t priority;
    bool ignores_end;
    const char *json_schema; /* NULL: none */
    bool needs_json_object;
    double max_joules; /* 0: none */
    bool streams, includes_usage, has_continuous_usage;
};

/* Reads the fields that both kinds of requests have. max_joules_header: the header X-Max-Joules; NULL: none.
 * vocabulary: number of tokens of the model. Returns false with a failure. */
bool answer_options_read(const struct fields *fields, const char *max_joules_header, int64_t vocabulary,
                         struct arena *arena, struct answer_options *out);

#endif
