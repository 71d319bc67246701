/* Checks Philox: known answers, distributions of its random numbers, and independence of the size of
 * requests.
 *
 * The known answers are three in this file and, if its file is available, all answers of Random123. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/random.h>
#include "support/test_data.h"

struct known_answer {
    uint32_t counter[4], key[2], expected[4];
};

static void check_answer(const struct known_answer *known)
{
    uint32_t out[4];
    forge_philox4x32(known->counter, known->key, out);
    assert_memory_equal(out, known->expected, sizeof out);
    memcpy(out, known->counter, sizeof out);
    forge_philox4x32(out, known->key, out); /* the result overwrites the counter */
    assert_memory_equal(out, known->expected, sizeof out);
}

static void test_blocks_equal_published_values(void **state)
{
    (void)state;
    static const struct known_answer known[] = {
        {{0}, {0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
         {UINT32_MAX, UINT32_MAX},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, /* the counter and key are digits of pi */
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        check_answer(&known[i]);
}

static void test_known_answers_of_random123(void **state)
{
    (void)state;
    const char *path = test_data("rng/kat_vectors");
    if (!path)
        skip();
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char line[512];
    int found = 0;
    while (fgets(line, sizeof line, file)) {
        struct known_answer k;
        uint32_t *c = k.counter, *e = k.expected;
        if (sscanf(line, "philox4x32 10 %x %x %x %x %x %x %x %x %x %x", &c[0], &c[1], &c[2], &c[3], &k.key[0],
                   &k.key[1], &e[0], &e[1], &e[2], &e[3]) != 10)
            continue;
        check_answer(&k);
        found++;
    }
    fclose(file);
    assert_true(found >= 3);
}

static void test_numbers_are_those_of_philox_blocks(void **state)
{
    (void)state;
    const forge_random random = {
        .key = UINT64_C(0x299f31d0a4093822), .step = 0x13198a2e, .stream = 0x03707344};
    const uint64_t block = UINT64_C(0x05a308d3243f6a88); /* this block number times 4 fits in 64 bits */
    const uint32_t counter[4] = {0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344},
                   key[2] = {0xa4093822, 0x299f31d0};
    uint32_t expected[4], bits[4];
    forge_philox4x32(counter, key, expected);
    forge_random_bits(&random, 4 * block, 4, bits);
    assert_memory_equal(bits, expected, sizeof bits);
    float uniform[4];
    forge_random_uniform(&random, 4 * block, 4, uniform);
    for (int i = 0; i < 4; i++)
        assert_true(uniform[i] == ldexpf((float)(bits[i] / 256), -24));
    float normal[4];
    forge_random_normal(&random, 4 * block, 4, normal);
    for (int i = 0; i < 4; i++) {
        double radius = sqrt(-2 * log((bits[i / 2 * 2] + 1.0) / 4294967296.0));
        double angle = 2 * acos(-1) * bits[i / 2 * 2 + 1] / 4294967296.0;
        assert_true(fabs(normal[i] - radius * (i % 2 ? sin(angle) : cos(angle))) < 1e-6);
    }
}

/* Number i is the same for requests of any size. */
static void test_any_split_gives_the_same(void **state)
{
    (void)state;
    enum { COUNT = 131 };
    const forge_random random = {.key = 7, .step = 3, .stream = 1};
    /* the low word of the counter overflows within the request */
    const uint64_t start = (UINT64_C(1) << 34) - 50;
    uint32_t bits[COUNT], part_bits[COUNT];
    float uniform[COUNT], normal[COUNT], part[COUNT];
    forge_random_bits(&random, start, COUNT, bits);
    forge_random_uniform(&random, start, COUNT, uniform);
    forge_random_normal(&random, start, COUNT, normal);
    for (size_t first = 0; first < COUNT; first++)
        for (size_t count = 0; count <= COUNT - first; count += 1 + count / 5) {
            forge_random_bits(&random, start + first, count, part_bits);
            assert_memory_equal(part_bits, bits + first, count * sizeof *bits);
            forge_random_uniform(&random, start + first, count, part);
            assert_memory_equal(part, uniform + first, count * sizeof *part);
            forge_random_normal(&random, start + first, count, part);
            assert_memory_equal(part, normal + first, count * sizeof *part);
        }
}

static void test_keys_steps_and_streams_give_other_numbers(void **state)
{
    (void)state;
    const forge_random randoms[] = {{0}, {.key = 1}, {.key = UINT64_C(1) << 32}, {.step = 1}, {.stream = 1}};
    enum { RANDOMS = sizeof randoms / sizeof randoms[0] };
    uint32_t bits[RANDOMS][8];
    for (int i = 0; i < RANDOMS; i++) {
        forge_random_bits(&randoms[i], 0, 8, bits[i]);
        for (int j = 0; j < i; j++)
            for (int k = 0; k < 8; k++)
                assert_int_not_equal(bits[i][k], bits[j][k]);
    }
}

/* Computes the means of x, x^2, x^3 and x^4, and of x times the next x. */
static void find_moments(const float *x, int count, double moments[5])
{
    memset(moments, 0, 5 * sizeof *moments);
    for (int i = 0; i < count; i++) {
        double power = 1;
        for (int m = 0; m < 4; m++)
            moments[m] += (power *= x[i]) / count;
        moments[4] += (double)x[i] * x[(i + 1) % count] / count;
    }
}

static void test_moments_are_those_of_the_distributions(void **state)
{
    (void)state;
    enum { COUNT = 1 << 20 };
    const forge_random random = {.key = 2024};
    float *x = malloc(COUNT * sizeof *x);
    assert_non_null(x);
    double moments[5];
    const double sigmas = 5 / sqrt(COUNT);

    forge_random_uniform(&random, 0, COUNT, x);
    find_moments(x, COUNT, moments);
    for (int m = 0; m < 4; m++) {
        double sd = sqrt(1 / (2 * m + 3.0) - 1 / ((m + 2.0) * (m + 2.0)));
        assert_true(fabs(moments[m] - 1 / (m + 2.0)) < sigmas * sd);
    }
    assert_true(fabs(moments[4] - 0.25) < sigmas * 0.5);
    for (int i = 0; i < COUNT; i++)
        assert_true(x[i] >= 0 && x[i] < 1);

    forge_random_normal(&random, 0, COUNT, x);
    find_moments(x, COUNT, moments);
    static const double expected[5] = {0, 1, 0, 3, 0}, variances[5] = {1, 2, 15, 96, 1};
    int tail = 0;
    for (int m = 0; m < 5; m++)
        assert_true(fabs(moments[m] - expected[m]) < sigmas * sqrt(variances[m]));
    for (int i = 0; i < COUNT; i++)
        tail += fabsf(x[i]) > 3;
    assert_true(fabs((double)tail / COUNT - 0.0026998) < sigmas * sqrt(0.0026998));
    free(x);
}

static void test_permutation_has_each_number_once(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    uint32_t order[COUNT];
    bool is_seen[COUNT] = {false};
    const forge_random random = {.key = 5};
    forge_random_permutation(&random, COUNT, order);
    int in_place = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(order[i] < COUNT && !is_seen[order[i]]);
        is_seen[order[i]] = true;
        in_place += order[i] == i;
    }
    assert_true(in_place < 10);
    forge_random_permutation(&random, 0, NULL);
    order[0] = 9;
    forge_random_permutation(&random, 1, order);
    assert_int_equal(order[0], 0);
}

/* The expected permutation is the shuffle defined in random.h, computed draw by draw. */
static void test_permutation_equals_its_definition(void **state)
{
    (void)state;
    enum { COUNT = 50 };
    const forge_random random = {.key = 11, .step = 2};
    uint32_t words[2 * COUNT], order[COUNT], expected[COUNT];
    forge_random_bits(&random, 0, 2 * COUNT, words);
    for (uint32_t i = 0; i < COUNT; i++)
        expected[i] = i;
    for (uint32_t i = COUNT - 1, k = 0; i > 0; i--, k += 2) {
        uint64_t j = (words[k] + ((uint64_t)words[k + 1] << 32)) % (i + 1);
        uint32_t kept = expected[i];
        expected[i] = expected[j];
        expected[j] = kept;
    }
    forge_random_permutation(&random, COUNT, order);
    assert_memory_equal(order, expected, sizeof order);
}

/* All 24 permutations of four elements must be equally frequent. */
static void test_permutations_are_fair(void **state)
{
    (void)state;
    enum { ROUNDS = 24000 };
    int counts[256] = {0};
    double chi_square = 0;
    int orders = 0;
    for (uint32_t step = 0; step < ROUNDS; step++) {
        uint32_t order[4];
        forge_random_permutation(&(forge_random){.key = 1, .step = step}, 4, order);
        counts[order[0] | order[1] << 2 | order[2] << 4 | order[3] << 6]++;
    }
    for (int i = 0; i < 256; i++)
        if (counts[i] > 0) {
            orders++;
            chi_square += (counts[i] - 1000.0) * (counts[i] - 1000.0) / 1000;
        }
    assert_int_equal(orders, 24);
    assert_true(chi_square < 57); /* 23 degrees of freedom: 1 seed of 10,000 exceeds this limit */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_equal_published_values),
        cmocka_unit_test(test_known_answers_of_random123),
        cmocka_unit_test(test_numbers_are_those_of_philox_blocks),
        cmocka_unit_test(test_any_split_gives_the_same),
        cmocka_unit_test(test_keys_steps_and_streams_give_other_numbers),
        cmocka_unit_test(test_moments_are_those_of_the_distributions),
        cmocka_unit_test(test_permutation_has_each_number_once),
        cmocka_unit_test(test_permutation_equals_its_definition),
        cmocka_unit_test(test_permutations_are_fair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
