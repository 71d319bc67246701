/* tools/forge/serve_metrics.h - the figures of /metrics, in Prometheus' text format.
 *
 * Most families (named groups of samples) have the names and meanings of vLLM's, so that its dashboards and
 * load generators work. The names of the families of energy begin with "tensorforge:".
 * Note: an unknown value is omitted. */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include <forge/engine.h>
#include "base/string.h"

#define HISTOGRAM_MAX_BOUNDS 24

struct histogram {
    /* counts[i]: values up to bound i and above bound i - 1; then those above all bounds. */
    uint64_t counts[HISTOGRAM_MAX_BOUNDS + 1];
    uint64_t total;
    double sum;
};

/* The reasons why answers end, as vLLM names them. */
enum finished_reason { FINISHED_STOP, FINISHED_LENGTH, FINISHED_ABORT, FINISHED_REASONS };

/* The figures of a server. Initialise with zeros. The caller protects them with a lock. */
struct serve_metrics {
    forge_engine_facts facts; /* the engine's facts after the last step */
    uint64_t refused;         /* HTTP requests that were refused because the queue was full */
    uint64_t failed;          /* choices that failed */
    uint64_t finished[FINISHED_REASONS];
    struct histogram first_token_s, token_s, latency_s, queue_s, inference_s, prefill_s, decode_s;
    struct histogram prompt_tokens, answer_tokens, step_tokens, joules;
    double prefill_joules, decode_joules; /* sums over ended answers whose energy is known */
};

/* Sets the engine's facts after a step. */
void metrics_set_facts(struct serve_metrics *metrics, const forge_engine_facts *facts);
/* Adds an answer that ended, with the time since it was submitted. */
void metrics_add_answer(struct serve_metrics *metrics, const forge_engine_event *last, double seconds);
/* Adds the first token of an answer, with the time since the answer was submitted. */
void metrics_add_first_token(struct serve_metrics *metrics, double seconds);
/* Adds a later token, with the time since the previous token. */
void metrics_add_token(struct serve_metrics *metrics, double seconds);

/* A copy of the metrics, with the other values that the page shows. */
struct metrics_page {
    struct serve_metrics metrics;
    const char *model_name;
    double power_cap_watts; /* 0: none */
    size_t queued;          /* choices that were submitted, but not yet added to the engine */
};
/* Writes all families. context: struct metrics_page. */
void metrics_print(const void *context, struct text *out);

#endif
