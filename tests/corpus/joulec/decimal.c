/* tests/corpus/joulec/decimal.c - the eight digits of numbers below 100 million.
 *
 * The programs divide by 10, divide by 100 and use a table, use a fraction, keep several digits in one word,
 * or compute one decimal place of all numbers at a time.
 */
#include "corpus.h"

#define N      4096
#define DIGITS 8

static uint32_t x[N], rest[N];
static char text[N][DIGITS], pair[100][2];

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        x[i] = corpus_random() % 100000000;
    for (int k = 0; k < 100; k++) {
        pair[k][0] = (char)('0' + k / 10);
        pair[k][1] = (char)('0' + k % 10);
    }
}

static uint64_t decimal_tens(void)
{
    for (int i = 0; i < N; i++) {
        uint32_t v = x[i];
        for (int k = DIGITS - 1; k >= 0; k--) {
            text[i][k] = (char)('0' + v % 10);
            v /= 10;
        }
    }
    return 0;
}

static uint64_t decimal_hundreds(void)
{
    for (int i = 0; i < N; i++) {
        uint32_t v = x[i];
        for (int k = DIGITS - 2; k >= 0; k -= 2) {
            text[i][k] = pair[v % 100][0];
            text[i][k + 1] = pair[v % 100][1];
            v /= 100;
        }
    }
    return 0;
}

/* The integer part of a fixed-point number is the first digit. After the fraction is multiplied by ten, its
 * integer part is the next digit. */
static uint64_t decimal_fraction(void)
{
    const uint64_t one = UINT64_C(1) << 60;
    for (int i = 0; i < N; i++) {
        uint64_t v = x[i] * (one / 10000000 + 1);
        for (int k = 0; k < DIGITS; k++) {
            text[i][k] = (char)('0' + v / one);
            v = v % one * 10;
        }
    }
    return 0;
}

/* Splits a word into two fields of four digits, then into four fields of two digits, then into eight fields
 * of one digit. */
static uint64_t decimal_fields(void)
{
    for (int i = 0; i < N; i++) {
        uint64_t v = x[i] / 10000 | (uint64_t)(x[i] % 10000) << 32;
        uint64_t hundreds = v * 10486 >> 20 & 0x0000007f0000007f;
        v = hundreds | (v - hundreds * 100) << 16;
        uint64_t tens = v * 103 >> 10 & 0x000f000f000f000f;
        v = (tens | (v - tens * 10) << 8) + 0x3030303030303030;
        for (int k = 0; k < DIGITS; k++)
            text[i][k] = (char)(v >> (8 * k));
    }
    return 0;
}

/* Computes the last digit of all numbers, then the digit before it. */
static uint64_t decimal_by_place(void)
{
    for (int i = 0; i < N; i++)
        rest[i] = x[i];
    for (int k = DIGITS - 1; k >= 0; k--)
        for (int i = 0; i < N; i++) {
            text[i][k] = (char)('0' + rest[i] % 10);
            rest[i] /= 10;
        }
    return 0;
}

const struct group decimal = {prepare,
                              text,
                              sizeof text,
                              {PROGRAM(decimal_tens), PROGRAM(decimal_hundreds), PROGRAM(decimal_fraction),
                               PROGRAM(decimal_fields), PROGRAM(decimal_by_place)}};
