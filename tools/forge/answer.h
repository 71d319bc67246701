/* tools/forge/answer.h - computes the answer to one prompt, and prints its text as it is computed. */
#ifndef FORGE_ANSWER_H
#define FORGE_ANSWER_H

#include "base/json_writer.h"
#include "language_model.h"

/* A prompt, and limits of its answer. A member that is 0 is off. */
struct question {
    const int32_t *prompt; /* [prompt_count] tokens */
    size_t prompt_count;
    forge_sampling sampling;
    unsigned max_tokens;
    double max_joules;
    const struct option_list *stops; /* texts that end the answer; they are not part of it; NULL: none */
    bool continues; /* the answer continues the prompt's text, so a leading space is part of the answer */
    bool is_quiet;  /* print nothing */
};

struct answer {
    char *text; /* [size], UTF-8; does not contain the stop text */
    size_t size, capacity, printed;
    int32_t *tokens; /* [token_count] */
    size_t token_count, token_capacity;
    forge_engine_event last; /* the last event: reason, counts, times, joules */
    bool has_stop;           /* a stop text ended the answer */
    forge_text_stream stream;
    char *piece; /* text of one token */
};

/* Returns false, and prints a message of `subcommand`, if a text of --stop is empty. */
bool stops_check(const struct option_list *stops, const char *subcommand);
/* Computes an answer until it ends, or until an interrupt (interrupt.h). Sets *out_answer even after an
 * error; the caller always calls answer_free. Joules that are unknown are NaN. */
joule_status answer_compute(struct language_model *m, const struct question *question,
                            struct answer *out_answer, joule_error *out_error);
void answer_free(struct answer *answer);

/* Return the speed in tokens per second: of the prompt's tokens that were computed, and of the answer's
 * tokens after the first. NaN: no such tokens. */
double answer_prompt_rate(const struct answer *answer);
double answer_rate(const struct answer *answer);
/* Returns the joules of prompt and answer per token of the answer. NaN: unknown. */
joule_quantity answer_joules_per_token(const struct answer *answer);

/* Writes one line to standard error: tokens, speed, joules. */
void answer_print_summary(const struct answer *answer);
/* Adds the members "usage", "timings" and "energy" to the open JSON object. energy_source: NULL means
 * unknown. */
void answer_json(struct json *json, const struct answer *answer, const char *energy_source);
/* Returns the reason why the answer ended, for JSON: "end", "stop", "length", "energy" or "interrupted". */
const char *answer_end_name(const struct answer *answer);

#endif
