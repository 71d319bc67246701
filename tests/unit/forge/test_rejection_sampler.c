/* Checks rejection sampling of drafts. For any draft model, the tokens have the distribution of the model
 * alone, and drafts are accepted as often as possible. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include "forge/infer/engine/sampler.h"
#include "support/chance.h"
#include "support/check.h"

enum { DRAWS = 1000000, MAX_TOKENS = 64 };

static struct sampler *new_sampler(size_t vocabulary, uint64_t seed)
{
    struct sampler *sampler = NULL;
    joule_error error;
    forge_sampling o = forge_sampling_default();
    o.seed = seed;
    assert_ok(sampler_new(&o, vocabulary, &sampler, &error), &error);
    return sampler;
}

/* Checks that the counts [size] of `draws` draws agree with the probabilities. The chi-square statistic is at
 * most six standard deviations above its mean. The total variation distance is not larger than random
 * deviations. */
static void expect_distribution(const size_t *counts, const double *probabilities, size_t size, double draws)
{
    double chi_square = 0, freedom = -1, distance = 0, bound = 0;
    for (size_t i = 0; i < size; i++) {
        double expected = draws * probabilities[i], difference = (double)counts[i] - expected;
        if (expected < 1e-9)
            assert_int_equal(counts[i], 0);
        distance += fabs(difference) / draws / 2;
        bound += sqrt(probabilities[i] / draws);
        if (expected > 5) {
            chi_square += difference * difference / expected;
            freedom++;
        }
    }
    assert_true(distance <= 2 * bound);
    assert_true(chi_square <= freedom + 6 * sqrt(2 * freedom) + 20);
}

/* Draws a token from `draft`, and then accepts or rejects it, DRAWS times at different positions. Checks the
 * distribution of the results. Returns the part of accepted tokens. draft NULL: the token is always
 * `fixed`. */
static double expect_exact(const float *target, const float *draft, int32_t fixed, size_t vocabulary,
                           uint64_t seed)
{
    struct sampler *sampler = new_sampler(vocabulary, seed);
    size_t counts[MAX_TOKENS] = {0}, bonus[MAX_TOKENS] = {0}, accepted = 0;
    double probabilities[MAX_TOKENS], total = 0;
    for (size_t i = 0; i < vocabulary; i++)
        total += (double)target[i];
    for (size_t i = 0; i < vocabulary; i++)
        probabilities[i] = (double)target[i] / total;
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        float work[2 * MAX_TOKENS];
        int32_t out[2] = {-1, -1},
                token = draft ? sampler_draw(sampler, draft, 2 * draw, SAMPLER_TOKEN) : fixed;
        memcpy(work, target, vocabulary * sizeof *work);
        memcpy(work + vocabulary, target, vocabulary * sizeof *work);
        size_t count = sampler_accept(sampler, work, draft, &token, 1, 2 * draw, out);
        counts[out[0]]++;
        if (count == 2) {
            assert_int_equal(out[0], token);
            bonus[out[1]]++;
            accepted++;
        } else {
            assert_true(count == 1 && out[1] == -1);
        }
    }
    expect_distribution(counts, probabilities, vocabulary, DRAWS);
    if (accepted > 0)
        expect_distribution(bonus, probabilities, vocabulary, (double)accepted);
    sampler_free(sampler);
    return (double)accepted / DRAWS;
}

/* Returns the probability of acceptance: the sum of min(target, draft). */
static double overlap(const float *target, const float *draft, size_t vocabulary)
{
    double sum = 0;
    for (size_t i = 0; i < vocabulary; i++)
        sum += (double)fminf(target[i], draft[i]);
    return sum;
}

static void expect_rate(double rate, double probability)
{
    assert_near(rate, probability, 6 * sqrt(probability * (1 - probability) / DRAWS) + 1e-9);
}

/* --- one token ------------------------------------------------------------------------------------------ */

static void test_any_draft_gives_the_target_distribution(void **state)
{
    (void)state;
    static const float targets[][5] = {{.1f, .2f, .3f, .4f, 0},
                                       {.5f, 0, .25f, 0, .25f},
                                       {.2f, .2f, .2f, .2f, .2f},
                                       {.96f, .01f, .01f, .01f, .01f}};
    static const float drafts[][5] = {
        {.4f, .3f, .2f, 0, .1f}, {0, .5f, 0, .5f, 0}, {.5f, 0, 0, .5f, 0}, {.01f, .96f, .01f, .01f, .01f}};
    for (size_t i = 0; i < 4; i++) {
        double rate = expect_exact(targets[i], drafts[i], 0, 5, i);
        expect_rate(rate, overlap(targets[i], drafts[i], 5));
    }
}

static void test_random_distributions_give_the_target_distribution(void **state)
{
    (void)state;
    chance_state = CHANCE_SEED;
    float target[50], draft[50], target_sum = 0, draft_sum = 0;
    for (size_t i = 0; i < 50; i++) {
        target_sum += target[i] = chance() < .2 ? 0 : (float)chance_scale(.001, 1);
        draft_sum += draft[i] = chance() < .2 ? 0 : (float)chance_scale(.001, 1);
    }
    for (size_t i = 0; i < 50; i++) {
        target[i] /= target_sum;
        draft[i] /= draft_sum;
    }
    expect_rate(expect_exact(target, draft, 0, 50, 17), overlap(target, draft, 50));
}

static void test_equal_distributions_are_always_accepted(void **state)
{
    (void)state;
    static const float p[4] = {.1f, .2f, 0, .7f};
    assert_true(expect_exact(p, p, 0, 4, 3) == 1);
}

static void test_disjoint_supports_are_never_accepted(void **state)
{
    (void)state;
    static const float p[4] = {.25f, 0, .75f, 0}, q[4] = {0, .5f, 0, .5f};
    assert_true(expect_exact(p, q, 0, 4, 4) == 0);
}

static void test_certain_drafts_are_accepted_with_their_target_probability(void **state)
{
    (void)state;
    static const float p[4] = {.125f, .5f, 0, .375f}, certain[4] = {0, 1, 0, 0};
    for (int32_t token = 0; token < 4; token++)
        expect_rate(expect_exact(p, NULL, token, 4, 5), (double)p[token]);
    assert_true(expect_exact(certain, NULL, 1, 4, 6) == 1); /* the case of temperature 0 */
    assert_true(expect_exact(certain, NULL, 2, 4, 6) == 0);
    assert_true(expect_exact(p, NULL, 4, 4, 7) == 0); /* the draft is outside the vocabulary */
    assert_true(expect_exact(p, NULL, -1, 4, 7) == 0);
}

/* --- several tokens ------------------------------------------------------------------------------------- */

/* Probabilities of the first token, and of the second token after each first token. */
static const float first_target[3] = {.5f, .3f, .2f}, first_draft[3] = {.2f, .2f, .6f};
static const float second_target[3][3] = {{.1f, .2f, .7f}, {.6f, .4f, 0}, {.25f, .25f, .5f}};
static const float second_draft[3][3] = {{.3f, .3f, .4f}, {0, .5f, .5f}, {.25f, .25f, .5f}};

/* Generates two tokens with two drafts. */
static void generate_two(const struct sampler *sampler, uint64_t position, int32_t out[2])
{
    float target[9], draft[6];
    int32_t drafts[2], accepted[3];
    memcpy(draft, first_draft, sizeof first_draft);
    drafts[0] = sampler_draw(sampler, draft, position, SAMPLER_TOKEN);
    memcpy(draft + 3, second_draft[drafts[0]], sizeof first_draft);
    drafts[1] = sampler_draw(sampler, draft + 3, position + 1, SAMPLER_TOKEN);
    memcpy(target, first_target, sizeof first_target);
    memcpy(target + 3, second_target[drafts[0]], sizeof first_target);
    memcpy(target + 6, first_target, sizeof first_target);
    size_t count = sampler_accept(sampler, target, draft, drafts, 2, position, accepted);
    out[0] = accepted[0];
    out[1] = accepted[1];
    if (count == 1) { /* the next step drafts the second token again, at the same position */
        drafts[0] = sampler_draw(sampler, second_draft[out[0]], position + 1, SAMPLER_TOKEN);
        memcpy(target, second_target[out[0]], sizeof first_target);
        sampler_accept(sampler, target, second_draft[out[0]], drafts, 1, position + 1, accepted);
        out[1] = accepted[0];
    }
}

static void test_two_tokens_have_the_joint_distribution(void **state)
{
    (void)state;
    struct sampler *sampler = new_sampler(3, 8);
    size_t counts[9] = {0};
    double probabilities[9];
    for (size_t i = 0; i < 9; i++)
        probabilities[i] = (double)first_target[i / 3] * (double)second_target[i / 3][i % 3];
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        int32_t out[2];
        generate_two(sampler, 4 * draw, out);
        counts[3 * out[0] + out[1]]++;
    }
    expect_distribution(counts, probabilities, 9, DRAWS);
    sampler_free(sampler);
}

static void test_without_drafts_one_token_is_drawn(void **state)
{
    (void)state;
    float target[3] = {.5f, .25f, .25f}, same[3] = {.5f, .25f, .25f};
    struct sampler *sampler = new_sampler(3, 9);
    for (uint64_t position = 0; position < 100; position++) {
        int32_t out = -1;
        assert_int_equal(sampler_accept(sampler, target, NULL, NULL, 0, position, &out), 1);
        assert_int_equal(out, sampler_draw(sampler, same, position, SAMPLER_TOKEN));
    }
    sampler_free(sampler);
}

static void test_rounding_leaves_a_token_to_draw(void **state)
{
    (void)state;
    /* The draft's probabilities are above the target's for all tokens, so target - draft is positive for no
     * token after a rejection. */
    static const float draft[2] = {.6f, .6f};
    struct sampler *sampler = new_sampler(2, 10);
    size_t rejected = 0;
    for (uint64_t position = 0; position < 10000; position++) {
        float target[4] = {.25f, .25f, .5f, .5f};
        int32_t token = 0, out[2];
        if (sampler_accept(sampler, target, draft, &token, 1, position, out) == 1) {
            rejected++;
            assert_true(out[0] == 0 || out[0] == 1);
        }
    }
    assert_true(rejected > 0);
    sampler_free(sampler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_draft_gives_the_target_distribution),
        cmocka_unit_test(test_random_distributions_give_the_target_distribution),
        cmocka_unit_test(test_equal_distributions_are_always_accepted),
        cmocka_unit_test(test_disjoint_supports_are_never_accepted),
        cmocka_unit_test(test_certain_drafts_are_accepted_with_their_target_probability),
        cmocka_unit_test(test_two_tokens_have_the_joint_distribution),
        cmocka_unit_test(test_without_drafts_one_token_is_drawn),
        cmocka_unit_test(test_rounding_leaves_a_token_to_draw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
