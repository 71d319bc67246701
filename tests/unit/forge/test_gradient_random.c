/* Checks first and second derivatives of random functions against finite differences, also with parts
 * recomputed in the backward pass.
 *
 * JOULE_TEST_FULL=1 tests 10,000 functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/ir/graph.h"
#include "support/check.h"
#include "support/directional.h"
#include "support/random_function.h"
#include "support/workbench.h"

static unsigned functions(void)
{
#ifdef __SANITIZE_THREAD__ /* the test has one thread, and the sanitizer makes it twenty times slower */
    return 40;
#endif
    return is_full_test() ? 10000 : 400;
}

static struct random_function function(uint64_t seed, unsigned flags)
{
    return (struct random_function){.seed = seed, .nodes = 3 + (unsigned)seed % 22, .flags = flags};
}

static void test_slopes_of_random_functions_equal_differences(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < functions(); seed++) {
        struct random_function f = function(seed, seed % 3 ? 0 : RANDOM_FUNCTION_RECOMPUTES);
        directional_check(&(struct directional){.name = "a random function",
                                                .loss = random_function,
                                                .context = &f,
                                                .seed = seed,
                                                .points = 1,
                                                .is_second = true});
    }
    print_message("%u functions, %u times beside a kink\n", directional_points, directional_kinks);
    assert_true(directional_kinks * 10 < directional_points);
}

/* --- recomputed ----------------------------------------------------------------------------------------- */

enum { VARIABLES = 4, MAX_ELEMENTS = 12 };

struct result {
    double loss, gradients[VARIABLES][MAX_ELEMENTS];
    double flop;
};

static void load(struct workbench *m, struct random_function f)
{
    static const char *const names[VARIABLES] = {"g0", "g1", "g2", "g3"};
    forge_value variables[VARIABLES], gradients[VARIABLES];
    forge_builder *b = forge_builder_new();
    forge_value loss = random_function(b, &f);
    for (size_t i = 0; i < VARIABLES; i++)
        variables[i] = forge_read(b, forge_parameter_slot(b, i));
    forge_gradients(b, loss, variables, VARIABLES, gradients);
    forge_output(b, "loss", loss);
    for (size_t i = 0; i < VARIABLES; i++)
        forge_output(b, names[i], gradients[i]);
    workbench_load(m, b);
}

static void take(const struct workbench *m, const char *name, double *out)
{
    forge_tensor tensor = workbench_output(m, name);
    memcpy(out, forge_tensor_data(&tensor), forge_tensor_elements(&tensor) * sizeof *out);
}

static struct result results(uint64_t seed, unsigned flags)
{
    struct workbench m;
    struct result result = {0};
    assert_int_equal(workbench_begin(&m, seed, NULL), JOULE_OK);
    load(&m, function(seed, flags));
    workbench_run(&m);
    take(&m, "loss", &result.loss);
    take(&m, "g0", result.gradients[0]);
    take(&m, "g1", result.gradients[1]);
    take(&m, "g2", result.gradients[2]);
    take(&m, "g3", result.gradients[3]);
    result.flop = workbench_facts(&m).flop;
    workbench_end(&m);
    return result;
}

static void test_recomputed_gradients_have_the_same_bits(void **state)
{
    (void)state;
    unsigned recomputed = 0;
    for (uint64_t seed = 0; seed < 150; seed++) {
        struct result plain = results(seed, 0), again = results(seed, RANDOM_FUNCTION_RECOMPUTES);
        if (memcmp(&plain.loss, &again.loss, sizeof plain.loss) != 0 ||
            memcmp(plain.gradients, again.gradients, sizeof plain.gradients) != 0)
            fail_msg("seed %llu: other bits where parts are computed again", (unsigned long long)seed);
        recomputed += again.flop > plain.flop;
    }
    print_message("%u of 150 compute something again\n", recomputed);
    assert_true(recomputed > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slopes_of_random_functions_equal_differences),
        cmocka_unit_test(test_recomputed_gradients_have_the_same_bits),
    };
    return cmocka_run_group_tests_name("gradient_random", tests, NULL, NULL);
}
