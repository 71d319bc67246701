/* infer/engine/engine.h - the structure of an engine, and functions that its files share. See
 * <forge/engine.h>. */
#ifndef FORGE_INFER_ENGINE_H
#define FORGE_INFER_ENGINE_H

#include <forge/engine.h>
#include <pthread.h>
#include "base/clock.h"
#include "forge/infer/engine/batch_policy.h"
#include "forge/infer/engine/constraint.h"
#include "forge/infer/engine/power_limit.h"
#include "forge/infer/engine/request_energy.h"
#include "forge/infer/engine/runner.h"
#include "forge/infer/engine/sampler.h"
#include "forge/infer/engine/scheduler.h"
#include "forge/infer/engine/speculation.h"
#include "forge/infer/engine/step_cost.h"

/* A request with its answer so far. */
struct answer {
    struct sequence sequence; /* must be the first member */
    struct answer *next;      /* in the engine's list */
    uint64_t id;
    size_t prompt_count;
    struct sampler *sampler;
    struct constraint *constraint; /* NULL: any text */
    forge_request options;         /* its pointers are not used */
    int32_t *stop_tokens;
    size_t cached_tokens;                         /* tokens of the prompt found in the cache */
    size_t reported_prompt;                       /* number of tokens of the prompt that were reported */
    bool is_cancelled;                            /* protected by engine->lock */
    int64_t added_ns, started_ns, first_token_ns; /* 0: not yet */
    struct draft_state drafts;
    struct spending spending;
    double budget_joules; /* 0: none */
};

/* Times of the parts of all steps, in ns. */
struct part_times {
    int64_t schedule, cache, copy, energy, sample, output;
};

struct forge_engine {
    const forge_model *model;
    forge_device *device;
    struct runner runner;
    struct scheduler scheduler;
    struct speculation speculation;
    struct token_trie *trie; /* trie of the tokenizer; NULL: no request needed it yet */
    float *probabilities;    /* work memory: [max_drafts + 1, vocabulary] */
    struct answer *answers;
    pthread_mutex_t lock; /* protects `answers` and has_cancelled against forge_engine_cancel */
    bool has_cancelled;   /* an answer was cancelled since the last step */
    uint64_t next_id;
    forge_engine_event *events; /* [event_count]; the first event_first events were already returned */
    size_t event_first, event_count, event_capacity;
    bool disables_prefix_cache, has_failed;
    struct request_energy energy;
    struct step_cost cost;
    struct power_limit power_limit;
    struct batch_policy policy;
    size_t max_rows, max_sequences; /* maxima of a step; the policy may lower them */
    double max_request_joules;
    size_t
        power_rows; /* rows that a step may have because of the power limit, as far as the last step shows */
    bool has_budgets; /* a request had a budget: read the meter after each step */
    bool is_idle;     /* the last call of forge_engine_step computed nothing */
    uint64_t energy_limited;
    uint64_t steps, rows, prompt_tokens, answer_tokens;
    int64_t step_ns, part_ns; /* time in steps; end of the last part of the present step */
    struct part_times times;
};

/* Returns the answer of a sequence. */
static inline struct answer *answer_of(struct sequence *sequence)
{
    return (struct answer *)sequence;
}

/* Ends a part of a step: adds the time since the end of the last part to *part. */
static inline void engine_end_part(forge_engine *engine, int64_t *part)
{
    int64_t now = clock_now_ns();
    *part += now - engine->part_ns;
    engine->part_ns = now;
}

/* Copies the options, sets the members that are 0 to their defaults, and checks them. options: NULL means all
 * defaults. */
joule_status engine_read_options(const forge_model *model, const forge_engine_options *options,
                                 forge_engine_options *out_options, joule_error *out_error);

/* Appends an event. Returns JOULE_NO_MEMORY if out of memory. */
joule_status engine_add_event(forge_engine *engine, const forge_engine_event *event, joule_error *out_error);
/* Ends an answer: adds its last event, and frees the answer. */
joule_status engine_end(forge_engine *engine, struct answer *answer, forge_end reason,
                        joule_error *out_error);

/* Reads the meter, and attributes the joules to the requests. */
void engine_read_meter(forge_engine *engine);
/* Sets the limits of the next step, and ends the requests whose next step would exceed their budget. */
joule_status engine_limit_energy(forge_engine *engine, joule_error *out_error);
/* Makes the planned step smaller, and waits, as the power limit demands. */
void engine_limit_power(forge_engine *engine);
/* Adds the cost of the last batch to the requests in it. */
void engine_add_cost(forge_engine *engine);

#endif
