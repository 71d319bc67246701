/* Tests CRC-32 against the published check value and against the bitwise algorithm of the first records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/crc32.h"

static void test_checksums_equal_published_values(void **state)
{
    (void)state;
    assert_int_equal(crc32_bytes("123456789", 9), 0xCBF43926);
    assert_int_equal(crc32_bytes("", 0), 0);
    assert_int_equal(crc32_bytes("\0\0\0\0", 4), 0x2144DF1C);
}

static uint32_t bit_by_bit(const uint8_t *bytes, size_t size)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xEDB88320u & -(crc & 1));
    }
    return ~crc;
}

static void test_every_byte_at_every_place(void **state)
{
    (void)state;
    uint8_t bytes[7] = {0};
    for (size_t place = 0; place < sizeof bytes; place++)
        for (unsigned byte = 0; byte < 256; byte++) {
            bytes[place] = (uint8_t)byte;
            assert_int_equal(crc32_bytes(bytes, sizeof bytes), bit_by_bit(bytes, sizeof bytes));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checksums_equal_published_values),
        cmocka_unit_test(test_every_byte_at_every_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
