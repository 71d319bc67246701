/* Gradients of families that move elements, against differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "support/derivative.h"

static forge_value square(forge_builder *b, forge_value x)
{
    return forge_unary(b, FORGE_SQUARE, x);
}

static forge_value joined(forge_builder *b, const forge_value *x, int axis)
{
    forge_value parts[] = {x[0], square(b, x[1]), x[0], forge_exp(b, x[2])};
    return square(b, forge_concat(b, parts, 4, (uint32_t)axis));
}

static void test_concat(void **state)
{
    (void)state;
    for (int axis = 0; axis < 2; axis++) {
        forge_shape two = axis ? forge_shape_of(2, 4) : forge_shape_of(4, 3),
                    none = axis ? forge_shape_of(2, 0) : forge_shape_of(0, 3);
        derivative_check(
            &(struct function){"concat", joined, axis, 3, {forge_shape_of(2, 3), two, none}, -1, 1, true});
    }
}

static forge_value sliced(forge_builder *b, const forge_value *x, int kind)
{
    static const int64_t steps[][2] = {{1, 1}, {2, 1}, {-1, 3}, {-2, -3}};
    static const forge_dim start[] = {1, 2}, limit[] = {6, 7};
    return square(b, forge_slice(b, x[0], kind & 4 ? start : NULL, kind & 8 ? limit : NULL, steps[kind & 3]));
}

static void test_slice(void **state)
{
    (void)state;
    for (int kind = 0; kind < 16; kind++)
        derivative_check(&(struct function){"slice", sliced, kind, 1, {forge_shape_of(7, 8)}, -1, 1, true});
}

static forge_value padded(forge_builder *b, const forge_value *x, int value)
{
    return square(b, forge_pad(b, x[0], (int64_t[]){1, 0, 2}, (int64_t[]){0, 3, 1}, value));
}

static void test_pad(void **state)
{
    (void)state;
    for (int value = 0; value < 2; value++)
        derivative_check(&(struct function){"pad", padded, value, 1, {forge_shape_of(2, 1, 3)}, -1, 1, true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_concat),
        cmocka_unit_test(test_slice),
        cmocka_unit_test(test_pad),
    };
    return cmocka_run_group_tests_name("gradient_move", tests, NULL, NULL);
}
