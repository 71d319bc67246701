/* Checks unary and binary operations on integers and bool against 128-bit arithmetic: all pairs of 8-bit
 * numbers, and limits and random numbers of wider types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/core/dtype.h"
#include "support/views.h"

static const forge_dtype integers[] = {FORGE_U8, FORGE_U16, FORGE_U32, FORGE_U64,
                                       FORGE_I8, FORGE_I16, FORGE_I32, FORGE_I64};
enum { INTEGERS = 8 };

/* --- integers ------------------------------------------------------------------------------------------- */

typedef __int128 wide;

static wide widened(forge_dtype dtype, uint64_t bits)
{
    return dtype_row(dtype)->kind == DTYPE_SIGNED ? (wide)(int64_t)bits : (wide)bits;
}

static uint64_t power_wanted(wide base, wide exponent)
{
    uint64_t power = 1;
    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 ? UINT64_MAX : 1) : 0;
    if (base == 0 || base == 1 || base == -1)
        return exponent == 0 || base == 1 ? 1 : base == 0 ? 0 : exponent % 2 ? UINT64_MAX : 1;
    if (base % 2 == 0 && exponent > 64)
        return 0;
    for (wide i = 0; i < exponent % ((wide)1 << 20); i++)
        power *= (uint64_t)base;
    return power;
}

static uint64_t integers_wanted(forge_binary_kind kind, wide a, wide b)
{
    wide rest = b ? a % b : 0;
    switch (kind) {
    case FORGE_ADD:
        return (uint64_t)(a + b);
    case FORGE_SUB:
        return (uint64_t)(a - b);
    case FORGE_MUL:
        return (uint64_t)a * (uint64_t)b;
    case FORGE_DIV:
        return b ? (uint64_t)(a / b) : 0;
    case FORGE_POW:
        return power_wanted(a, b);
    case FORGE_MAX:
        return (uint64_t)(a > b ? a : b);
    case FORGE_MIN:
        return (uint64_t)(a < b ? a : b);
    case FORGE_MOD:
        return (uint64_t)(rest && (rest < 0) != (b < 0) ? rest + b : rest);
    case FORGE_AND:
        return (uint64_t)(a & b);
    case FORGE_OR:
        return (uint64_t)(a | b);
    case FORGE_XOR:
        return (uint64_t)(a ^ b);
    case FORGE_EQ:
        return a == b;
    case FORGE_NE:
        return a != b;
    case FORGE_LT:
        return a < b;
    case FORGE_LE:
        return a <= b;
    case FORGE_GT:
        return a > b;
    case FORGE_GE:
        return a >= b;
    default:
        fail_msg("kind %d", kind);
        return 0;
    }
}

/* Checks all operations for each a with each b. */
static void check_integers(forge_dtype dtype, const uint64_t *a, size_t a_count, const uint64_t *b,
                           size_t b_count)
{
    size_t count = a_count * b_count;
    uint64_t *packed = malloc((a_count + b_count) * sizeof *packed),
             *results = malloc(count * sizeof *results);
    assert_true(packed && results);
    struct view in[2] = {view_packed(dtype, packed, forge_shape_of((forge_dim)a_count, 1)),
                         view_packed(dtype, packed + a_count, forge_shape_of((forge_dim)b_count))};
    dtype_row(dtype)->store_bits(in[0].data, 0, a_count, a);
    dtype_row(dtype)->store_bits(in[1].data, 0, b_count, b);
    for (uint32_t kind = 0; kind < FORGE_BINARY_KINDS; kind++) {
        struct view out = view_packed(kind >= FORGE_EQ ? FORGE_BOOL : dtype, results,
                                      forge_shape_of((forge_dim)a_count, (forge_dim)b_count));
        if (dtype == FORGE_BOOL && kind < FORGE_EQ && kind != FORGE_AND && kind != FORGE_OR &&
            kind != FORGE_XOR)
            continue;
        run_reference(OP_BINARY, &(struct kind_attributes){kind}, in, 2, &out, 1);
        for (size_t i = 0; i < count; i++) {
            uint64_t x, y, want[1];
            unsigned char wanted[8];
            dtype_row(dtype)->load_bits(in[0].data, i / b_count, 1, &x);
            dtype_row(dtype)->load_bits(in[1].data, i % b_count, 1, &y);
            if (kind == FORGE_POW && widened(dtype, y) > 300)
                continue;
            want[0] = integers_wanted((forge_binary_kind)kind, widened(dtype, x), widened(dtype, y));
            dtype_row(out.dtype)->store_bits(wanted, 0, 1, want);
            if (memcmp(wanted, view_address(&out, &out.shape, i), forge_dtype_block_bytes(out.dtype)) != 0)
                fail_msg("kind %u of %s %lld, %lld", kind, forge_dtype_name(dtype), (long long)x,
                         (long long)y);
        }
    }
    free(packed);
    free(results);
}

static void test_binary_operations_of_integers_equal_the_definition(void **state)
{
    (void)state;
    uint64_t all[256], some[60];
    for (size_t i = 0; i < 256; i++)
        all[i] = i;
    check_integers(FORGE_BOOL, all, 2, all, 2);
    check_integers(FORGE_U8, all, 256, all, 256);
    check_integers(FORGE_I8, all, 256, all, 256);
    for (size_t t = 0; t < INTEGERS; t++) {
        unsigned bits = dtype_row(integers[t])->bits;
        uint64_t top = UINT64_C(1) << (bits - 1);
        uint64_t ends[] = {0, 1, 2, 3, 7, UINT64_MAX, UINT64_MAX - 1, top, top - 1, top + 1, 64, 255};
        for (size_t i = 0; i < 60; i++)
            some[i] = i < 12 ? ends[i] : random_bits() >> (random_bits() % bits);
        check_integers(integers[t], some, 60, some, 60);
    }
}

static uint64_t integer_wanted(forge_unary_kind kind, wide x)
{
    switch (kind) {
    case FORGE_NEG:
        return (uint64_t)-x;
    case FORGE_ABS:
        return (uint64_t)(x < 0 ? -x : x);
    case FORGE_SIGN:
        return (uint64_t)((x > 0) - (x < 0));
    case FORGE_SQUARE:
        return (uint64_t)x * (uint64_t)x;
    default:
        return (uint64_t)(x > 0 ? x : 0);
    }
}

static void test_unary_operations_of_integers_equal_the_definition(void **state)
{
    (void)state;
    static const forge_unary_kind kinds[] = {FORGE_NEG, FORGE_ABS, FORGE_SIGN, FORGE_SQUARE, FORGE_RELU};
    for (size_t t = 0; t < INTEGERS; t++)
        for (size_t k = 0; k < 5; k++) {
            uint64_t data[300], results[300], top = UINT64_C(1) << (dtype_row(integers[t])->bits - 1);
            uint64_t ends[] = {0, 1, UINT64_MAX, top, top - 1};
            for (size_t i = 0; i < 300; i++)
                data[i] = i < 5 ? ends[i] : random_bits();
            dtype_row(integers[t])->store_bits(data, 0, 300, memcpy(results, data, sizeof data));
            struct view in = view_packed(integers[t], data, forge_shape_of(300)),
                        out = view_packed(integers[t], results, in.shape);
            run_reference(OP_UNARY, &(struct kind_attributes){kinds[k]}, &in, 1, &out, 1);
            for (size_t i = 0; i < 300; i++) {
                uint64_t x, got, want;
                unsigned char wanted[8];
                dtype_row(integers[t])->load_bits(data, i, 1, &x);
                dtype_row(integers[t])->load_bits(results, i, 1, &got);
                want = integer_wanted(kinds[k], widened(integers[t], x));
                dtype_row(integers[t])->store_bits(wanted, 0, 1, &want);
                dtype_row(integers[t])->load_bits(wanted, 0, 1, &want);
                assert_true(got == want);
            }
        }
    unsigned char truths[2] = {0, 1}, not_truths[2];
    struct view in = view_packed(FORGE_BOOL, truths, forge_shape_of(2)),
                out = view_packed(FORGE_BOOL, not_truths, in.shape);
    run_reference(OP_UNARY, &(struct kind_attributes){FORGE_NOT}, &in, 1, &out, 1);
    assert_memory_equal(not_truths, "\1\0", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binary_operations_of_integers_equal_the_definition),
        cmocka_unit_test(test_unary_operations_of_integers_equal_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
