/* tools/forge/serve_metrics.h - the figures of /metrics, in Prometheus' text format.
 *
 * Most families have the names and meanings of vLLM's, so that its dashboards and load generators work. The
 * families of energy begin with "tensorforge:".
 * Note: an unknown value has no sample.
 */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include <forge/engine.h>
#include "base/string.h"

#define HISTOGRAM_MAX_BOUNDS 24

struct histogram {
    uint64_t counts[HISTOGRAM_MAX_BOUNDS + 1]; /* values up to each bound of its family, then the others */
    uint64_t total;
    double sum;
};

/* The reasons why answers end, as vLLM names them. */
enum finished_reason { FINISHED_STOP, FINISHED_LENGTH, FINISHED_ABORT, FINISHED_REASONS };

/* Initialise with zeros. The caller serialises all access. */
struct serve_metrics {
    forge_engine_facts facts; /* of the last step */
    uint64_t refused;         /* HTTP requests that were refused because the queue was full */
    uint64_t failed;          /* choices that failed */
    uint64_t finished[FINISHED_REASONS];
    struct histogram first_token_s, token_s, latency_s, queue_s, inference_s, prefill_s, decode_s;
    struct histogram prompt_tokens, answer_tokens, step_tokens, joules;
    double prefill_joules, decode_joules; /* of answers that have ended and whose energy is known */
};

/* Sets the engine's facts after a step. */
void metrics_set_facts(struct serve_metrics *metrics, const forge_engine_facts *facts);
/* Adds an answer that ended, with the time since it was submitted. */
void metrics_add_answer(struct serve_metrics *metrics, const forge_engine_event *last, double seconds);
/* Adds the first token of an answer, with the time since the answer was submitted. */
void metrics_add_first_token(struct serve_metrics *metrics, double seconds);
/* Adds a later token, with the time since the previous token. */
void metrics_add_token(struct serve_metrics *metrics, double seconds);

/* A copy of the metrics, with what else the page needs. */
struct metrics_page {
    struct serve_metrics metrics;
    const char *model_name;
    double power_cap_watts; /* 0: none */
    size_t queued;          /* submitted, not yet added to the engine */
};
/* Writes all families. context: struct metrics_page. */
void metrics_print(const void *context, struct text *out);

#endif
