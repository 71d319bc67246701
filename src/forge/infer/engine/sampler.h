/* infer/engine/sampler.h - chooses a token from logits: penalties, filters, and a draw that depends only on
 * the seed and the position of the token.
 *
 * So a token does not depend on other sequences that are computed at the same time.
 *
 * Threads: several threads may use different samplers. */
#ifndef FORGE_INFER_SAMPLER_H
#define FORGE_INFER_SAMPLER_H

#include <forge/sampling.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sampler; /* options, counts of the tokens so far, and work memory for one sequence */

/* Creates a sampler for a vocabulary of at most 2^31 - 1 tokens. Copies the options. The caller owns the
 * sampler (sampler_free). Fails like sampling_check, or with JOULE_NO_MEMORY. */
joule_status sampler_new(const forge_sampling *options, size_t vocabulary, struct sampler **out_sampler,
                         joule_error *out_error);
void sampler_free(struct sampler *sampler);
/* Returns JOULE_INVALID, with a message that names the option, if an option is out of range;
 * JOULE_UNSUPPORTED if an unknown option is set. */
joule_status sampling_check(const forge_sampling *options, size_t vocabulary, joule_error *out_error);

/* Counts a token that was added to the sequence, as part of the prompt if is_prompt, otherwise as output.
 * Ids outside the vocabulary are ignored. Returns false, and changes nothing, if out of memory. */
bool sampler_add_token(struct sampler *sampler, int32_t token, bool is_prompt);
/* Removes the last `count` output tokens from the counts, for example rejected drafts. If there are fewer,
 * removes all. */
void sampler_remove_tokens(struct sampler *sampler, size_t count);

/* Replaces logits [vocabulary] by probabilities. Adds the biases first, then applies the penalties, the mask,
 * and temperature and filters in the order that the options state. With a temperature below 1e-5 the most
 * likely token has probability 1. Returns false if no token is allowed; logits are then undefined.
 * mask: bit i % 32 of word i / 32 allows token i, [vocabulary / 32 rounded up]; NULL: all are allowed.
 * Among equal logits, the lowest id counts as more likely. NaN and -INFINITY mean that a token is not
 * allowed. The repetition penalty applies once to each token of prompt and output; the presence and the
 * frequency penalty apply to tokens of the output only, as in vLLM. */
bool sampler_probabilities(struct sampler *sampler, float *logits, const uint32_t *mask);

/* Purposes of random numbers. Numbers of different purposes at one position are independent. */
enum sampler_purpose {
    SAMPLER_TOKEN = 0,    /* selects the token, also that of a draft model */
    SAMPLER_ACCEPT = 1,   /* accepts or rejects a draft */
    SAMPLER_RESIDUAL = 2, /* selects the token after a rejection */
};

/* Returns a number in [0, 1) that depends only on seed, position and purpose: the upper 53 bits of words 1
 * and 0 of the Philox block with counter {position, purpose, "samp"}. position: index of the token in the
 * sequence. Any thread. */
double sampler_uniform(const struct sampler *sampler, uint64_t position, uint32_t purpose);
/* Draws a token with the given probabilities [vocabulary], which need not be normalised. The result is the
 * first token at which the running sum of the probabilities exceeds sampler_uniform times their total. The
 * sum has double precision and runs in the order of the ids. Returns -1 if no probability is positive. Any
 * thread. */
int32_t sampler_draw(const struct sampler *sampler, const float *probabilities, uint64_t position,
                     uint32_t purpose);

/* Accepts or rejects drafted tokens (rejection sampling of speculative decoding: Leviathan et al.,
 * arXiv:2211.17192; Chen et al., arXiv:2302.01318). Writes the accepted tokens and one more token to
 * out_tokens [count + 1], and returns their number (1 to count + 1). The tokens have the same distribution as
 * tokens that are drawn from `target` without drafts.
 * target: probabilities of the model, [count + 1][vocabulary]; overwritten.
 * draft: probabilities from which the drafts were drawn, [count][vocabulary]; NULL: each draft had
 * probability 1.
 * tokens: the drafts, [count]; a draft outside the vocabulary is rejected. position: the index of tokens[0]
 * in the sequence.
 * Note: the draft model may draw token i with SAMPLER_TOKEN at position + i. After a rejection, the random
 * numbers of later positions are unused, so the next call may use them. */
size_t sampler_accept(const struct sampler *sampler, float *target, const float *draft, const int32_t *tokens,
                      size_t count, uint64_t position, int32_t *out_tokens);

/* Writes the `count` most likely tokens of logits [vocabulary] to out_top in descending order, and the
 * log-probability of `token` to *out_logprob. Equally likely tokens have ascending ids. Entries beyond the
 * vocabulary have token -1 and log-probability -INFINITY. The log-probability of a `token` outside the
 * vocabulary is -INFINITY, too. The time is at most proportional to vocabulary * count. Any thread. */
void sampler_logprobs(const float *logits, size_t vocabulary, int32_t token, float *out_logprob,
                      forge_token_logprob *out_top, size_t count);

#endif
