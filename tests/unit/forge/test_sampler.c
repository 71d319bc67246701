/* Checks the sampler: filters against a full sort, penalties, masks, draws and log-probabilities. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "forge/infer/engine/sampler.h"
#include "support/chance.h"
#include "support/check.h"

static joule_error error;

static struct sampler *new_sampler(const forge_sampling *options, size_t vocabulary)
{
    struct sampler *sampler = NULL;
    assert_ok(sampler_new(options, vocabulary, &sampler, &error), &error);
    return sampler;
}

static void *allocate(size_t count, size_t size)
{
    void *items = calloc(count, size);
    assert_non_null(items);
    return items;
}

/* Checks the probabilities that the options make of the four probabilities .1, .2, .3 and .4. */
static void expect_of_four(const forge_sampling *options, const double expected[4])
{
    float logits[4] = {logf(.1f), logf(.2f), logf(.3f), logf(.4f)};
    struct sampler *sampler = new_sampler(options, 4);
    assert_true(sampler_probabilities(sampler, logits, NULL));
    for (size_t i = 0; i < 4; i++)
        assert_near((double)logits[i], expected[i], 2e-6);
    sampler_free(sampler);
}

/* --- filters -------------------------------------------------------------------------------------------- */

static void test_filters_keep_the_known_tokens(void **state)
{
    (void)state;
    static const double all[4] = {.1, .2, .3, .4}, three[4] = {0, 2 / 9.0, 3 / 9.0, 4 / 9.0};
    static const double two[4] = {0, 0, 3 / 7.0, 4 / 7.0}, one[4] = {0, 0, 0, 1};
    for (int order = 0; order < 2; order++) {
        forge_sampling o = forge_sampling_default();
        o.order = (forge_sampling_order)order;
        expect_of_four(&o, all);
        static const struct {
            double top_p, min_p;
            int32_t top_k;
            const double *expected;
        } cases[] = {
            {.7, 0, 0, two},     {.8, 0, 0, three}, {.71, 0, 0, three}, {.4, 0, 0, one},    {.41, 0, 0, two},
            {1e-9, 0, 0, one},   {.9, 0, 0, three}, {.91, 0, 0, all},   {1, 0, 3, three},   {1, 0, 1, one},
            {1, 0, 4, all},      {1, 0, 9, all},    {1, 0, -1, all},    {1, .26, 0, three}, {1, .24, 0, all},
            {1, .74, 0, two},    {1, .76, 0, one},  {1, 1, 0, one},     {.57, 0, 2, one},   {.58, 0, 2, two},
            {.78, .4, 0, three}, {.77, .4, 3, two},
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            if (order == 1 && i >= sizeof cases / sizeof *cases - 2)
                break; /* these cases expect min-p before the other filters */
            o.top_p = cases[i].top_p;
            o.min_p = cases[i].min_p;
            o.top_k = cases[i].top_k;
            expect_of_four(&o, cases[i].expected);
        }
    }
}

static void test_order_decides_whether_filters_see_the_temperature(void **state)
{
    (void)state;
    /* At temperature 0.5, the probabilities are .1^2, .2^2, .3^2 and .4^2, each divided by their sum .3. */
    static const double two[4] = {0, 0, 9 / 25.0, 16 / 25.0}, three[4] = {0, 4 / 29.0, 9 / 29.0, 16 / 29.0};
    static const double one[4] = {0, 0, 0, 1};
    forge_sampling o = forge_sampling_default();
    o.temperature = 0.5;
    o.top_p = .75; /* with temperature first, .533 + .3 reach it with two tokens; otherwise .4 + .3 do not */
    expect_of_four(&o, two);
    o.order = FORGE_ORDER_TEMPERATURE_LAST;
    expect_of_four(&o, three);
    o.top_p = 1;
    o.min_p = .6; /* .3 / .4 is above .6, so two tokens are kept; .3^2 / .4^2 is below */
    expect_of_four(&o, two);
    o.order = FORGE_ORDER_TEMPERATURE_FIRST;
    expect_of_four(&o, one);
}

/* A token in the reference. */
struct item {
    double logit, weight;
    int32_t token;
};

static int by_logit(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit > y->logit ? -1 : 1;
    return x->token < y->token ? -1 : 1;
}

static void weigh(struct item *items, size_t count, double temperature)
{
    for (size_t i = 0; i < count; i++)
        items[i].weight = exp((items[i].logit - items[0].logit) / temperature);
}

static size_t min_p_of(const struct item *items, size_t count, double min_p)
{
    size_t kept = 0;
    while (kept < count && items[kept].weight >= min_p)
        kept++;
    return kept;
}

static size_t top_p_of(const struct item *items, size_t count, double top_p)
{
    double total = 0, sum = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        total += items[i].weight;
    while (kept < count && sum < top_p * (1 - 1e-6) * total)
        sum += items[kept++].weight;
    return kept;
}

/* Computes the probabilities with a full sort. */
static void reference(const forge_sampling *o, const float *logits, size_t vocabulary, double *out)
{
    struct item *items = allocate(vocabulary, sizeof *items);
    size_t count = 0;
    bool is_first = o->order == FORGE_ORDER_TEMPERATURE_FIRST;
    for (size_t i = 0; i < vocabulary; i++)
        if (logits[i] > -INFINITY)
            items[count++] = (struct item){.logit = (double)logits[i], .token = (int32_t)i};
    qsort(items, count, sizeof *items, by_logit);
    weigh(items, count, is_first ? o->temperature : 1);
    if (is_first && o->min_p > 0)
        count = min_p_of(items, count, o->min_p);
    if (o->top_k > 0 && (size_t)o->top_k < count)
        count = (size_t)o->top_k;
    if (o->top_p < 1)
        count = top_p_of(items, count, o->top_p);
    if (!is_first && o->min_p > 0)
        count = min_p_of(items, count, o->min_p);
    weigh(items, count, o->temperature);
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += items[i].weight;
    memset(out, 0, vocabulary * sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[items[i].token] = items[i].weight / total;
    free(items);
}

static forge_sampling random_options(size_t vocabulary)
{
    forge_sampling o = forge_sampling_default();
    o.order = (forge_sampling_order)(chance_bits() >> 20 & 1);
    o.temperature = chance_scale(0.1, 4);
    if (chance() < .6)
        o.top_p = chance();
    if (chance() < .4)
        o.min_p = chance_scale(1e-5, .5);
    if (chance() < .6)
        o.top_k = (int32_t)(chance_scale(1, 2.0 * (double)vocabulary));
    return o;
}

static void test_filters_agree_with_a_full_sort(void **state)
{
    (void)state;
    chance_state = CHANCE_SEED;
    for (int trial = 0; trial < 600; trial++) {
        size_t vocabulary = (size_t)chance_scale(1, trial % 20 == 0 ? 20000 : 700);
        float *logits = allocate(vocabulary, sizeof *logits), *result = allocate(vocabulary, sizeof *result);
        double *expected = allocate(vocabulary, sizeof *expected);
        bool has_ties = trial % 3 == 0;
        for (size_t i = 0; i < vocabulary; i++) {
            logits[i] = (float)(chance_normal() * 3);
            if (has_ties)
                logits[i] = roundf(logits[i] * 2) / 2;
            if (chance() < .05)
                logits[i] = -INFINITY;
        }
        logits[0] = 0;
        forge_sampling o = random_options(vocabulary);
        reference(&o, logits, vocabulary, expected);
        memcpy(result, logits, vocabulary * sizeof *logits);
        struct sampler *sampler = new_sampler(&o, vocabulary);
        assert_true(sampler_probabilities(sampler, result, NULL));
        for (size_t i = 0; i < vocabulary; i++) {
            if (!(fabs((double)result[i] - expected[i]) <= 1e-7 + 3e-6 * expected[i]))
                print_error("trial %d token %zu of %zu\n", trial, i, vocabulary);
            assert_near((double)result[i], expected[i], 1e-7 + 3e-6 * expected[i]);
            assert_true((result[i] > 0) == (expected[i] > 1e-37) || expected[i] < 1e-36);
        }
        sampler_free(sampler);
        free(logits);
        free(result);
        free(expected);
    }
}

static void test_ties_keep_the_lowest_tokens(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    static float logits[COUNT];
    for (int filter = 0; filter < 3; filter++) {
        forge_sampling o = forge_sampling_default();
        size_t expected = filter == 2 ? 1 : 250;
        if (filter == 0)
            o.top_k = 250;
        else if (filter == 1)
            o.top_p = .25;
        else
            o.temperature = 0;
        struct sampler *sampler = new_sampler(&o, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            logits[i] = i % 2 ? -0.0f : 0.0f; /* 0 and -0 count as equal */
        assert_true(sampler_probabilities(sampler, logits, NULL));
        for (size_t i = 0; i < COUNT; i++)
            assert_near((double)logits[i], i < expected ? 1.0 / (double)expected : 0, 1e-8);
        sampler_free(sampler);
    }
}

/* --- masks and special values --------------------------------------------------------------------------- */

static void test_masked_and_nan_tokens_are_not_allowed(void **state)
{
    (void)state;
    enum { COUNT = 131 };
    float logits[COUNT];
    const uint32_t none[5] = {0, 0, 0, 0, 0xfffffff8}; /* only bits beyond the vocabulary */
    for (int is_greedy = 0; is_greedy < 2; is_greedy++) {
        forge_sampling o = forge_sampling_default();
        o.temperature = is_greedy ? 0 : 1;
        struct sampler *sampler = new_sampler(&o, COUNT);
        uint32_t mask[5] = {1u << 3 | 1u << 30, 0, UINT32_MAX, 0, 1u << 2};
        for (size_t i = 0; i < COUNT; i++)
            logits[i] = i == 70 ? NAN : i < 64 ? 5 : 1;
        assert_true(sampler_probabilities(sampler, logits, mask));
        double total = 0;
        for (size_t i = 0; i < COUNT; i++) {
            bool is_allowed = (mask[i / 32] >> i % 32 & 1) && i != 70;
            assert_true(is_greedy ? logits[i] == (i == 3) : (logits[i] > 0) == is_allowed);
            total += (double)logits[i];
        }
        assert_near(total, 1, 1e-6);
        assert_false(sampler_probabilities(sampler, logits, none));
        for (size_t i = 0; i < COUNT; i++)
            logits[i] = i % 2 ? NAN : -INFINITY;
        assert_false(sampler_probabilities(sampler, logits, NULL));
        sampler_free(sampler);
    }
}

static void test_infinite_and_huge_logits_share_the_probability(void **state)
{
    (void)state;
    forge_sampling o = forge_sampling_default();
    struct sampler *sampler = new_sampler(&o, 4);
    float infinite[4] = {INFINITY, 0, INFINITY, -3e38f}, huge[4] = {-3e38f, 3e38f, 1, 2};
    assert_true(sampler_probabilities(sampler, infinite, NULL));
    assert_true(infinite[0] == .5f && infinite[1] == 0 && infinite[2] == .5f && infinite[3] == 0);
    assert_true(sampler_probabilities(sampler, huge, NULL));
    assert_true(huge[0] == 0 && huge[1] == 1 && huge[2] == 0 && huge[3] == 0);
    sampler_free(sampler);
}

static void test_low_temperature_is_greedy(void **state)
{
    (void)state;
    forge_sampling o = forge_sampling_default();
    static const double temperatures[] = {0, 9e-6, 2e-5};
    for (size_t i = 0; i < 3; i++) {
        float logits[5] = {1, 3, NAN, 3, 2};
        o.temperature = temperatures[i];
        struct sampler *sampler = new_sampler(&o, 5);
        assert_true(sampler_probabilities(sampler, logits, NULL));
        assert_true(logits[1] == (i < 2 ? 1 : .5f) && logits[3] == (i < 2 ? 0 : .5f));
        sampler_free(sampler);
    }
}

/* --- penalties ------------------------------------------------------------------------------------------ */

/* Checks the logits that the sampler makes of 1, -1, 2, -2, 0.5. A constant may be added to all of them. */
static void expect_logits(struct sampler *sampler, const double expected[5])
{
    float logits[5] = {1, -1, 2, -2, .5f};
    assert_true(sampler_probabilities(sampler, logits, NULL));
    for (size_t i = 1; i < 5; i++)
        assert_near(log((double)logits[i] / (double)logits[0]), expected[i] - expected[0], 1e-5);
}

static void test_penalties_use_their_sets_and_counts(void **state)
{
    (void)state;
    forge_sampling o = forge_sampling_default();
    const forge_logit_bias biases[] = {{4, 1}, {4, .5f}, {3, -1}};
    o.repetition_penalty = 2;
    o.presence_penalty = .25;
    o.frequency_penalty = .125;
    struct sampler *sampler = new_sampler(&o, 5);
    for (int i = 0; i < 3; i++)
        assert_true(sampler_add_token(sampler, 0, true));
    assert_true(sampler_add_token(sampler, 1, true));
    expect_logits(sampler, (double[]){.5, -2, 2, -2, .5});
    for (int i = 0; i < 2; i++)
        assert_true(sampler_add_token(sampler, 2, false));
    assert_true(sampler_add_token(sampler, 1, false));
    expect_logits(sampler, (double[]){.5, -2.375, 1 - .25 - .25, -2, .5});
    assert_true(sampler_add_token(sampler, -1, false) && sampler_add_token(sampler, 5, true));
    expect_logits(sampler, (double[]){.5, -2.375, .5, -2, .5});
    sampler_free(sampler);
    o.biases = biases;
    o.bias_count = 3;
    sampler = new_sampler(&o, 5);
    assert_true(sampler_add_token(sampler, 4, true) && sampler_add_token(sampler, 3, true));
    expect_logits(sampler, (double[]){1, -1, 2, -6, 1}); /* biases come before penalties */
    sampler_free(sampler);
}

static void test_removed_tokens_leave_no_trace(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    forge_sampling o = forge_sampling_default();
    o.repetition_penalty = 1.3;
    o.presence_penalty = -.5;
    o.frequency_penalty = .3;
    struct sampler *with = new_sampler(&o, COUNT), *without = new_sampler(&o, COUNT);
    float a[COUNT], b[COUNT];
    chance_state = CHANCE_SEED;
    for (int round = 0; round < 200; round++) {
        size_t drafts = (size_t)(chance() * 8);
        int32_t token = (int32_t)(chance() * COUNT);
        bool is_prompt = round < 50;
        assert_true(sampler_add_token(with, token, is_prompt) &&
                    sampler_add_token(without, token, is_prompt));
        for (size_t i = 0; i < drafts; i++)
            assert_true(sampler_add_token(with, (int32_t)(chance() * COUNT), false));
        sampler_remove_tokens(with, drafts);
        for (size_t i = 0; i < COUNT; i++)
            a[i] = b[i] = (float)chance_normal();
        assert_true(sampler_probabilities(with, a, NULL) && sampler_probabilities(without, b, NULL));
        assert_memory_equal(a, b, sizeof a);
    }
    sampler_remove_tokens(with, 100000); /* more tokens than were added */
    sampler_free(with);
    sampler_free(without);
}

/* --- draws ---------------------------------------------------------------------------------------------- */

static void test_draws_depend_on_seed_position_and_purpose_only(void **state)
{
    (void)state;
    forge_sampling o = forge_sampling_default();
    struct sampler *a = new_sampler(&o, 100), *b = new_sampler(&o, 7);
    o.seed = UINT64_C(1) << 32;
    struct sampler *c = new_sampler(&o, 100);
    double sum = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        double u = sampler_uniform(a, i, 0);
        sum += u;
        assert_true(u >= 0 && u < 1 && u == sampler_uniform(b, i, 0));
        assert_true(u != sampler_uniform(a, i, 1) && u != sampler_uniform(c, i, 0));
        assert_true(u != sampler_uniform(a, i + (UINT64_C(1) << 32), 0));
    }
    assert_near(sum / 1000, .5, .05);
    /* If these numbers change, the text of every seed changes. */
    assert_near(sampler_uniform(a, 0, SAMPLER_TOKEN), 0.5954144489142222, 1e-16);
    assert_near(sampler_uniform(c, 5, SAMPLER_RESIDUAL), 0.30304879544008456, 1e-16);
    sampler_free(a);
    sampler_free(b);
    sampler_free(c);
}

static void test_draws_have_the_given_probabilities(void **state)
{
    (void)state;
    enum { COUNT = 200, DRAWS = 400000 };
    float probabilities[COUNT] = {0};
    size_t counts[COUNT] = {0};
    double total = 0, chi_square = 0, freedom = -1;
    forge_sampling o = forge_sampling_default();
    o.seed = 99;
    struct sampler *sampler = new_sampler(&o, COUNT);
    chance_state = CHANCE_SEED;
    for (size_t i = 0; i < COUNT; i++) {
        probabilities[i] = i % 3 ? (float)chance_scale(.01, 1) : 0;
        total += (double)probabilities[i];
    }
    for (uint64_t i = 0; i < DRAWS; i++)
        counts[sampler_draw(sampler, probabilities, i, SAMPLER_TOKEN)]++;
    for (size_t i = 0; i < COUNT; i++) {
        double expected = DRAWS * (double)probabilities[i] / total;
        assert_true(expected > 0 || counts[i] == 0);
        if (expected > 0)
            chi_square += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
        freedom += expected > 0;
    }
    /* At most six standard deviations above the mean. */
    assert_true(chi_square < freedom + 6 * sqrt(2 * freedom));
    memset(probabilities, 0, sizeof probabilities);
    assert_int_equal(sampler_draw(sampler, probabilities, 0, SAMPLER_TOKEN), -1);
    probabilities[199] = 1e-30f;
    assert_int_equal(sampler_draw(sampler, probabilities, 0, SAMPLER_TOKEN), 199);
    sampler_free(sampler);
}

/* --- log-probabilities ---------------------------------------------------------------------------------- */

static void test_log_probabilities_are_sorted_and_normalised(void **state)
{
    (void)state;
    float logits[6] = {logf(.2f) + 7, logf(.1f) + 7, NAN, logf(.4f) + 7, logf(.2f) + 7, logf(.1f) + 7};
    static const int32_t order[] = {3, 0, 4, 1, 5};
    static const double expected[] = {.4, .2, .2, .1, .1};
    forge_token_logprob top[8];
    float logprob;
    for (size_t count = 0; count <= 8; count++) {
        sampler_logprobs(logits, 6, 4, &logprob, top, count);
        assert_near((double)logprob, log(.2), 1e-6);
        for (size_t i = 0; i < count && i < 5; i++) {
            assert_int_equal(top[i].token, order[i]);
            assert_near((double)top[i].logprob, log(expected[i]), 1e-6);
        }
        for (size_t i = 5; i < count; i++)
            assert_true(top[i].token == -1 && top[i].logprob == -INFINITY);
    }
    sampler_logprobs(logits, 6, 2, &logprob, top, 1);
    assert_true(logprob == -INFINITY);
    sampler_logprobs(logits, 6, 6, &logprob, NULL, 0);
    assert_true(logprob == -INFINITY);
}

/* --- options -------------------------------------------------------------------------------------------- */

static void expect_invalid(const forge_sampling *o, const char *part)
{
    struct sampler *sampler;
    memset(&error, 0, sizeof error);
    assert_int_equal(sampling_check(o, 10, &error), JOULE_INVALID);
    assert_contains(error.message, part);
    assert_int_equal(sampler_new(o, 10, &sampler, NULL), JOULE_INVALID);
    assert_null(sampler);
}

static void test_options_out_of_range_are_named(void **state)
{
    (void)state;
    const forge_sampling standard = forge_sampling_default();
    const forge_logit_bias outside = {10, 0}, negative = {-1, 0}, large = {0, 101};
    assert_ok(sampling_check(&standard, 10, &error), &error);
#define EXPECT_INVALID(member, value)                                                                        \
    do {                                                                                                     \
        forge_sampling changed = standard;                                                                   \
        changed.member = value;                                                                              \
        expect_invalid(&changed, #member);                                                                   \
    } while (0)
    EXPECT_INVALID(temperature, -1);
    EXPECT_INVALID(temperature, NAN);
    EXPECT_INVALID(temperature, 101);
    EXPECT_INVALID(top_p, 0);
    EXPECT_INVALID(top_p, 1.01);
    EXPECT_INVALID(min_p, -.1);
    EXPECT_INVALID(min_p, 1.1);
    EXPECT_INVALID(repetition_penalty, 0);
    EXPECT_INVALID(presence_penalty, 3);
    EXPECT_INVALID(frequency_penalty, -3);
    EXPECT_INVALID(top_k, -2);
    EXPECT_INVALID(order, (forge_sampling_order)2);
    EXPECT_INVALID(struct_size, 4);
    EXPECT_INVALID(bias_count, 1);
    forge_sampling o = standard;
    o.bias_count = 100000;
    expect_invalid(&o, "100000 biases");
    o.bias_count = 1;
    o.biases = &outside;
    expect_invalid(&o, "biases[0].token is 10");
    o.biases = &negative;
    expect_invalid(&o, "biases[0].token is -1");
    o.biases = &large;
    expect_invalid(&o, "biases[0].bias is 101");
}

/* --- large vocabularies --------------------------------------------------------------------------------- */

/* Prints times, but does not check them. Checks only that the result is a distribution. */
static void test_large_vocabulary_is_handled(void **state)
{
    (void)state;
    enum { COUNT = 152000, REPEATS = 20 };
    float *logits = allocate(COUNT, sizeof *logits), *work = allocate(COUNT, sizeof *work);
    static const struct {
        int32_t top_k;
        double top_p, min_p;
    } cases[] = {{50, .9, 0}, {0, .9, 0}, {0, 1, .05}, {20000, 1, 0}, {0, 1, 0}, {50, .9, 0}};
    chance_state = CHANCE_SEED;
    for (size_t i = 0; i < COUNT; i++)
        logits[i] = (float)(chance_normal() * 2.5);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        forge_sampling o = forge_sampling_default();
        o.top_k = cases[c].top_k;
        o.top_p = cases[c].top_p;
        o.min_p = cases[c].min_p;
        struct sampler *sampler = new_sampler(&o, COUNT);
        double best_ms = INFINITY, total = 0;
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            struct timespec begin, end;
            memcpy(work, logits, COUNT * sizeof *work);
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
            assert_true(sampler_probabilities(sampler, work, NULL));
            int32_t token = sampler_draw(sampler, work, (uint64_t)repeat, SAMPLER_TOKEN);
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
            assert_true(work[token] > 0);
            best_ms = fmin(best_ms, (double)(end.tv_sec - begin.tv_sec) * 1e3 +
                                        (double)(end.tv_nsec - begin.tv_nsec) * 1e-6);
        }
        for (size_t i = 0; i < COUNT; i++)
            total += (double)work[i];
        assert_near(total, 1, 1e-4);
        print_message("top-k %d, top-p %g, min-p %g of %d tokens: %.3f ms\n", o.top_k, o.top_p, o.min_p,
                      COUNT, best_ms);
        sampler_free(sampler);
    }
    free(logits);
    free(work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters_keep_the_known_tokens),
        cmocka_unit_test(test_order_decides_whether_filters_see_the_temperature),
        cmocka_unit_test(test_filters_agree_with_a_full_sort),
        cmocka_unit_test(test_ties_keep_the_lowest_tokens),
        cmocka_unit_test(test_masked_and_nan_tokens_are_not_allowed),
        cmocka_unit_test(test_infinite_and_huge_logits_share_the_probability),
        cmocka_unit_test(test_low_temperature_is_greedy),
        cmocka_unit_test(test_penalties_use_their_sets_and_counts),
        cmocka_unit_test(test_removed_tokens_leave_no_trace),
        cmocka_unit_test(test_draws_depend_on_seed_position_and_purpose_only),
        cmocka_unit_test(test_draws_have_the_given_probabilities),
        cmocka_unit_test(test_log_probabilities_are_sorted_and_normalised),
        cmocka_unit_test(test_options_out_of_range_are_named),
        cmocka_unit_test(test_large_vocabulary_is_handled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
