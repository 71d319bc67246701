/* infer/engine/speculation.h - proposes draft tokens, which the model verifies in one step.
 *
 * Drafts come from a smaller model, or from the sequence itself: the tokens that followed its last tokens
 * where these occurred before. The number of drafts is computed from the fraction of earlier drafts that was
 * accepted, and from the measured times of steps. It becomes 0 if drafts save no time. */
#ifndef FORGE_INFER_SPECULATION_H
#define FORGE_INFER_SPECULATION_H

#include <forge/engine.h>
#include "forge/infer/engine/runner.h"
#include "forge/infer/engine/sampler.h"

/* A linear fit of the seconds of a step as a function of its rows. Old steps have less weight. All 0: no
 * steps yet. */
struct step_times {
    double count, rows, seconds, rows_squared, rows_seconds;
};
void step_times_add(struct step_times *times, double rows, double seconds);
/* Returns the expected seconds of a step with `rows` rows; NaN: there was no step yet, or all steps had the
 * same number of rows. */
double step_times_expect(const struct step_times *times, double rows);

/* The drafts of one sequence. */
struct draft_state {
    struct page_table table; /* pages of the draft model's cache */
    size_t computed;         /* tokens whose keys and values are in the draft model's cache */
    float
        *probabilities; /* [max_drafts, vocabulary], of the draft model; NULL: each draft has probability 1 */
    double acceptance;  /* mean part of drafts that were accepted */
    size_t skipped;     /* tokens since drafts were last proposed */
    bool has_drafted;
};

/* A sequence that may get drafts. */
struct draft_request {
    struct sequence *sequence;
    struct draft_state *state;
    struct sampler *sampler;
    size_t position; /* index of the next token in the answer */
    size_t room;     /* maximum number of drafts */
    bool is_greedy;
    size_t wanted;   /* number of drafts; set by speculation_propose */
    bool has_logits; /* the present step of the draft model computes the next draft */
};

struct speculation {
    forge_speculation kind;
    bool keeps_count; /* always propose max_drafts */
    size_t max_drafts, min_match, max_match;
    struct draft_request *requests; /* [max_batch_size], for speculation_propose */
    struct runner draft;            /* FORGE_SPECULATION_MODEL only */
    float *logits;                  /* work memory: [vocabulary]; FORGE_SPECULATION_MODEL only */
    struct step_times model_times;
    double draft_seconds; /* mean time of a step of the draft model; 0: unknown */
    uint64_t proposals, proposed, accepted;
    uint64_t accepted_at[MAX_DRAFTS]; /* accepted drafts, by their position in the proposal */
};

/* Loads the draft model, if there is one, and allocates memory for drafts. The caller calls
 * speculation_close, also after an error. */
joule_status speculation_open(struct speculation *speculation, const forge_engine_options *options,
                              forge_device *device, const struct model_graph_sizes *sizes, size_t vocabulary,
                              joule_error *out_error);
void speculation_close(struct speculation *speculation);

/* Sets the drafts of the sequences of requests [0, count), which have exactly one token to compute. If
 * memory is missing, a sequence gets no drafts. */
joule_status speculation_propose(struct speculation *speculation, size_t count, joule_error *out_error);
/* Records that the first `accepted` of `proposed` drafts were accepted. */
void speculation_record(struct speculation *speculation, struct draft_state *state, size_t token_count,
                        size_t proposed, size_t accepted);
/* Frees the pages and the memory of a sequence's drafts. Later drafts begin with an empty cache. */
void speculation_release(struct draft_state *state);

#endif
