/* infer/sampler.h - chooses a token from logits: penalties, filters, and a draw that depends only on the seed
 * and the position of the token.
 *
 * Threads: several threads may use different samplers.
 */
#ifndef FORGE_INFER_SAMPLER_H
#define FORGE_INFER_SAMPLER_H

#include <forge/sampling.h>
#include <stddef.h>
#include <stdint.h>

struct sampler; /* options, counts of the tokens so far, and work memory for one sequence */

/* Creates a sampler for a vocabulary. Copies the options, which must be valid (sampling_check). The caller owns
 * the sampler (sampler_free). */
joule_status sampler_new(const forge_sampling *options, size_t vocabulary, struct sampler **out_sampler,
                         joule_error *out_error);
void sampler_free(struct sampler *sampler);
/* Returns JOULE_INVALID with a message that names the option, unless all options are in range. */
joule_status sampling_check(const forge_sampling *options, size_t vocabulary, joule_error *out_error);

/* Tells the sampler that a token was added: is_prompt tells whether the token is part of the prompt. */
void sampler_add_token(struct sampler *sampler, int32_t token, bool is_prompt);
/* Takes back the last `count` added output tokens, which were rejected drafts. */
void sampler_remove_tokens(struct sampler *sampler, size_t count);

/* Replaces logits [vocabulary] by probabilities after all penalties, masks and filters; with temperature 0 (or
 * below 1e-5) the most likely token has probability 1. mask: bit i allows token i ([vocabulary / 32 rounded up]
 * words); NULL: all are allowed. Returns false if no token is allowed. */
bool sampler_probabilities(struct sampler *sampler, float *logits, const uint32_t *mask);
/* Returns the token that the draw number `position` of this seed selects. purpose: separates independent draws
 * of one position (0: the token, 1: acceptance of a draft, 2: the token after a rejection). */
int32_t sampler_draw(const struct sampler *sampler, const float *probabilities, uint64_t position,
                     uint32_t purpose);
/* Returns a number in [0, 1) for the draw `position` and purpose. */
double sampler_uniform(const struct sampler *sampler, uint64_t position, uint32_t purpose);

/* Rejection sampling of speculative decoding (Leviathan et al., 2023; Chen et al., 2023). target: probabilities
 * of the model for the `count` + 1 positions, [count + 1][vocabulary]; draft: those of the draft model,
 * [count][vocabulary], or NULL if each draft token has probability 1. Writes the accepted tokens and one more
 * token to out_tokens, [count + 1]. Returns their number (1 to count + 1). The distribution of the tokens is
 * that of sampling from `target` without drafts. target is used as work memory. */
size_t sampler_accept(const struct sampler *sampler, float *target, const float *draft, const int32_t *tokens,
                      size_t count, uint64_t position, int32_t *out_tokens);

/* A token with its log-probability before penalties and filters. */
struct token_logprob {
    int32_t token;
    float logprob;
};
/* Writes the `count` most likely tokens of logits [vocabulary] in descending order, and the log-probability of
 * `token` to *out_logprob. */
void sampler_logprobs(const float *logits, size_t vocabulary, int32_t token, float *out_logprob,
                      struct token_logprob *out_top, size_t count);

#endif
