/* forge/engine.h - answers many requests to one language model at the same time.
 *
 * The engine keeps the keys and values of all requests in pages of one cache, and computes one token or a
 * part of the prompt of each request in every step (continuous batching). The tokens of a request depend only
 * on its prompt, options and seed, not on other requests.
 *
 *     forge_engine_add(engine, &request, &id, &error);
 *     while (forge_engine_step(engine, &error) == JOULE_OK)
 *         while (forge_engine_next(engine, &event) == JOULE_OK)
 *             ... event.token ...
 *
 * Threads: one thread at a time may use an engine, except for forge_engine_cancel. */
#ifndef FORGE_ENGINE_H
#define FORGE_ENGINE_H

#include <forge/model.h>
#include <forge/program.h>
#include <joule/meter.h>
#include <forge/sampling.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct forge_engine forge_engine;

/* The figure that the engine minimises when it chooses how many requests and tokens a step computes. */
typedef enum forge_objective {
    FORGE_OBJECTIVE_THROUGHPUT = 0, /* seconds per token of all requests together */
    FORGE_OBJECTIVE_LATENCY = 1,    /* seconds until the next token of a running request */
    FORGE_OBJECTIVE_ENERGY = 2,     /* joules per token */
} forge_objective;

/* A source of energy that replaces the meter, for tests and for callers with their own meter. Its layout is
 * final. */
typedef struct forge_energy_source {
    const char *name; /* for example "scripted"; must outlive the engine */
    /* Writes the joules since a fixed time, which the source chooses, to *out_joules. The joules never
     * decrease. JOULE_PENDING: the joules are not known yet. */
    joule_status (*read)(void *context, joule_quantity *out_joules);
    /* Returns the present time in ns. The engine measures all its waits with this clock. */
    int64_t (*now_ns)(void *context);
    /* Waits until now_ns returns `until_ns` or more. */
    void (*wait)(void *context, int64_t until_ns);
    void *context;
    double idle_watts; /* power without requests; NaN: unknown */
} forge_energy_source;

/* The origin of draft tokens, which the model verifies several at a time. */
typedef enum forge_speculation {
    FORGE_SPECULATION_NONE = 0,
    FORGE_SPECULATION_LOOKUP = 1, /* the tokens after the last earlier occurrence of the last tokens */
    FORGE_SPECULATION_MODEL = 2,  /* the tokens that draft_model predicts */
} forge_speculation;
#define FORGE_MAX_DRAFT_TOKENS 32

/* Options of an engine. A member that is 0 has the default value that its comment states. */
typedef struct forge_engine_options {
    uint32_t struct_size;      /* sizeof(forge_engine_options) */
    uint32_t page_size;        /* tokens per page of the cache: 1 to 1024; default 16 */
    uint32_t max_batch_size;   /* maximum number of requests in one step; default 16 */
    uint32_t max_batch_tokens; /* maximum number of tokens in one step; default 512 */
    /* Maximum number of tokens of a prompt with its answer; default: the model's context. */
    uint32_t max_length;
    /* Maximum number of tokens of one prompt in one step; default: max_batch_tokens. */
    uint32_t chunk_tokens;
    uint64_t cache_tokens; /* tokens in the cache; default: max_batch_size * max_length, at most 1 GiB */
    /* FORGE_F32, FORGE_F16, FORGE_BF16 or FORGE_Q8_0; default: FORGE_F32 if the model is in f32, else
     * FORGE_F16. */
    forge_dtype cache_dtype;
    bool disables_prefix_cache; /* do not reuse keys and values of earlier prompts with the same beginning */
    /* Requests with a lower priority number run first. A request that has waited for 512 steps in all runs
     * before all others. false: requests run in order of arrival. */
    bool is_by_priority;
    uint8_t reserved[2];
    /* Energy. */
    forge_objective objective;
    uint32_t reserved2;
    /* Limit for the mean power over any second, which one step may exceed; 0: no limit. The engine waits
     * before steps, and computes fewer tokens and requests in a step that would use more than a second may
     * use. */
    double max_power_watts;
    /* Limit for requests whose max_joules is 0, and upper limit for max_joules; 0: no limit. */
    double max_request_joules;
    joule_meter *meter;                       /* NULL: the default meter */
    const forge_energy_source *energy_source; /* NULL: the meter; copied */
    /* Speculative decoding. It changes neither the distribution of sampled answers nor any greedy answer. */
    forge_speculation speculation;
    uint32_t draft_tokens; /* maximum number of drafts in a step; default 4; fewer if drafts save no time */
    const forge_model *draft_model; /* must have the vocabulary of the model, and outlive the engine */
    /* FORGE_SPECULATION_LOOKUP: minimum and maximum number of last tokens whose earlier occurrence is
     * searched; default 2 and 4. */
    uint32_t min_match, max_match;
    /* Propose draft_tokens drafts in every step, even if they save no time. Useful for measurements. */
    bool keeps_draft_tokens;
    /* Read the weights where the model's file is mapped, instead of from copies in the order of bytes that
     * the device reads fastest. Saves memory of about the file's size; steps take longer. */
    bool keeps_weights_mapped;
    /* Do not round the inputs of products with weights in bf16 to bf16. Steps take longer. */
    bool keeps_f32_inputs;
    uint8_t reserved3[5];
} forge_engine_options;

/* Creates an engine on a device. options: NULL means all defaults. Model and device must outlive the engine.
 * The caller owns the engine (forge_engine_free). */
FORGE_API joule_status forge_engine_new(const forge_model *model, forge_device *device,
                                        const forge_engine_options *options, forge_engine **out_engine,
                                        joule_error *out_error);
/* Frees an engine and its requests. NULL is allowed. */
FORGE_API void forge_engine_free(forge_engine *engine);

/* A request for an answer. An optional member that is 0 has no effect. */
typedef struct forge_request {
    uint32_t struct_size;       /* sizeof(forge_request) */
    uint32_t max_tokens;        /* limit for the answer; 0: it ends with the end token or at max_length */
    const int32_t *prompt;      /* [prompt_count] tokens, copied */
    size_t prompt_count;        /* at least 1 */
    forge_sampling sampling;    /* begin with forge_sampling_default() */
    uint32_t min_tokens;        /* minimum length of the answer; no token may end it earlier */
    uint32_t logprobs;          /* number of alternatives per token to report, at most FORGE_MAX_LOGPROBS */
    const int32_t *stop_tokens; /* [stop_count] further tokens that end the answer, at most 65536, copied */
    size_t stop_count;
    const char *cache_salt; /* prompts share keys and values only with prompts of the same salt; NULL: none */
    int32_t priority;
    bool reports_logprobs; /* report the log-probability of each token of the answer */
    bool reports_prompt;   /* report the log-probability of each token of the prompt */
    bool ignores_end;      /* the end token does not end the answer */
    uint8_t reserved;
    double max_joules; /* limit of the request's energy; 0: the engine's max_request_joules */
    /* The answer is a JSON text that satisfies this schema; NULL: any text. docs/serving.md lists the
     * supported subset of JSON Schema. The model must have a vocabulary. */
    const char *json_schema;
    bool needs_json_object; /* if json_schema is NULL: the answer is any JSON object */
    uint8_t reserved2[7];
} forge_request;
#define FORGE_MAX_LOGPROBS 20

/* Adds a request. *out_id: its number, from 1. JOULE_INVALID: a member is out of range, or prompt and answer
 * can never fit in the cache. */
FORGE_API joule_status forge_engine_add(forge_engine *engine, const forge_request *request, uint64_t *out_id,
                                        joule_error *out_error);
/* Returns the joules that a request with `prompt_count` tokens is expected to use until its first token. The
 * figure is computed from the steps so far. Returns NaN before the first step with known energy. */
FORGE_API double forge_engine_expected_joules(const forge_engine *engine, size_t prompt_count);
/* Ends a request before the next step. The last event of the request has the reason FORGE_END_CANCELLED. Has
 * no effect if the request has already ended. Any thread may call it. */
FORGE_API void forge_engine_cancel(forge_engine *engine, uint64_t id);

/* Computes one step. JOULE_ABSENT: there is no request to compute. Other errors: the step failed, and the
 * engine cannot be used any more. If the model computes numbers for one request that are not finite, only
 * this request ends (FORGE_END_FAILED). */
FORGE_API joule_status forge_engine_step(forge_engine *engine, joule_error *out_error);

/* The reason why an answer ended. */
typedef enum forge_end {
    FORGE_END_NONE = 0,  /* the answer has not ended */
    FORGE_END_TOKEN = 1, /* the end token or a stop token; the token is not part of the answer */
    /* The answer reached max_tokens, or the request its maximum length, or no token continues the JSON. */
    FORGE_END_LENGTH = 2,
    FORGE_END_CANCELLED = 3, /* forge_engine_cancel */
    FORGE_END_ENERGY = 4,    /* the request would exceed max_joules */
    FORGE_END_FAILED = 5,    /* the request failed, and others continue; `failure` states the reason */
} forge_end;

/* A new token of a request, or its end. */
typedef struct forge_engine_event {
    uint32_t struct_size; /* sizeof(forge_engine_event) */
    forge_end end;        /* not FORGE_END_NONE: the last event of the request, without a token */
    uint64_t request;     /* number of the request */
    int32_t token;        /* -1: none */
    bool is_prompt;       /* a token of the prompt (reports_prompt) */
    uint8_t reserved[3];
    /* Log-probability of the token; NaN: not requested, or the token is the first of the prompt. */
    float logprob;
    uint32_t top_count; /* number of alternatives in `top`, most likely first */
    forge_token_logprob top[FORGE_MAX_LOGPROBS];
    /* The following members are set in the last event only. */
    uint32_t prompt_tokens, answer_tokens;
    uint32_t cached_tokens; /* tokens of the prompt whose keys and values were reused */
    uint32_t reserved2;
    /* Times from the request to its first step, from there to the first token, and from there to the end. */
    double queue_seconds, prefill_seconds, decode_seconds;
    joule_quantity joules;                        /* energy of the request; unknown: NaN, class none */
    joule_quantity prefill_joules, decode_joules; /* parts before and after the first token */
    double budget_joules;                         /* limit of the request's energy; 0: none */
    const char *failure; /* FORGE_END_FAILED: a message in static storage; NULL: the request did not fail */
} forge_engine_event;
/* Returns the next event. JOULE_ABSENT: there is none. JOULE_INVALID: struct_size too small. */
FORGE_API joule_status forge_engine_next(forge_engine *engine, forge_engine_event *out_event);

/* The state and the counters of an engine. */
typedef struct forge_engine_facts {
    uint32_t struct_size;      /* sizeof(forge_engine_facts) */
    uint32_t running, waiting; /* requests */
    uint32_t page_size;
    uint64_t pages, free_pages;
    uint64_t computed_steps, computed_rows; /* steps, and the tokens that they computed */
    uint64_t preemptions;
    uint64_t prompt_tokens, answer_tokens; /* tokens computed so far; a recomputed token counts once */
    uint64_t prefix_queries, prefix_hits;  /* tokens looked up in the prefix cache, and tokens found */
    double step_seconds,
        run_seconds; /* total time in forge_engine_step, and in the model's program as a part of it */
    /* Energy since the engine was created: meter = requests + idle + unattributed. */
    joule_quantity meter_joules, request_joules, idle_joules, unattributed_joules;
    double power_watts;      /* mean power of the last second; NaN: unknown */
    uint64_t energy_limited; /* requests that max_joules ended */
    /* Number of proposals, of draft tokens in them, and of accepted tokens; accepted_at[i]: accepted tokens
     * at position i of a proposal. */
    uint64_t proposals, draft_tokens, accepted_tokens, accepted_at[FORGE_MAX_DRAFT_TOKENS];
    const char *energy_source; /* "meter" or the name of the caller's source; lives as long as the engine */
    /* Parts of step_seconds, besides run_seconds: the choice of the step's tokens and their pages; page
     * tables, and pages that become findable; copies to and from the program; energy, with waits for the
     * power limit; the choice of tokens from logits; events and the ends of requests. */
    double schedule_seconds, cache_seconds, copy_seconds, energy_seconds, sample_seconds, output_seconds;
} forge_engine_facts;
/* Describes an engine. JOULE_INVALID: struct_size too small. */
FORGE_API joule_status forge_engine_query(const forge_engine *engine, forge_engine_facts *out_facts);

#ifdef __cplusplus
}
#endif
#endif
