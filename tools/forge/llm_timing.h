/* tools/forge/llm_timing.h - measures speed and energy of a language model for given numbers of tokens. */
#ifndef FORGE_LLM_TIMING_H
#define FORGE_LLM_TIMING_H

#include "base/json_writer.h"
#include "language_model.h"

enum { LLM_MAX_REPEATS = 1000 };

/* A test: `batch` sequences at the same time, each with `tokens` tokens. */
struct llm_test {
    bool is_prompt; /* the tokens are a prompt; false: they are generated one by one after one token */
    unsigned tokens, batch, repeats;
};

/* The results of a test. */
struct llm_timing {
    struct llm_test test;
    unsigned runs;           /* finished repeats */
    double median, min, max; /* tokens per second, of all sequences together */
    double steps;            /* of the engine, per repeat */
    double joules_tokens;    /* tokens of the repeats with known energy */
    joule_quantity joules;   /* of these repeats together; unknown: NaN */
};

/* Runs the test `repeats` times, after a short run to warm up. An interrupt ends the test; then `runs` is
 * smaller. */
joule_status llm_timing_measure(struct language_model *m, const struct llm_test *test,
                                struct llm_timing *out_timing, joule_error *out_error);

/* Returns the seconds for one token of one sequence. */
double llm_timing_seconds_per_token(const struct llm_timing *timing);
/* Returns the speed at which the steps read weights, in GB/s. step_bytes: weights that a step reads. */
double llm_timing_gb_per_s(const struct llm_timing *timing, double step_bytes);
/* Returns the joules per token. */
joule_quantity llm_timing_joules_per_token(const struct llm_timing *timing);
/* Returns the number of bytes of weights that a step reads: all, but only single rows of embeddings. */
uint64_t llm_step_bytes(const struct language_model *m);

/* Prints the titles of the columns, or the row of a test. */
void llm_timing_print_head(void);
void llm_timing_print(const struct llm_timing *timing, double step_bytes);
/* Adds a test as an object to the open JSON array. */
void llm_timing_json(struct json *json, const struct llm_timing *timing, double step_bytes,
                     const char *energy_source);

#endif
