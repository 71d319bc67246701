/* tests/corpus/joulec/number_parsing.c - parses numbers of one to seven digits from a text. A comma follows
 * each number.
 *
 * The programs work digit by digit, without a branch, with bit masks of the commas, or with all digits in one
 * word.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define NUMBERS 7000 /* a seventh of the numbers has each length */
#define DIGITS  7
#define N       (NUMBERS * (DIGITS + 3) / 2)
#define WORDS   ((N + 63) / 64)

static char text[WORDS * 64 + 8]; /* padded, so that words can be read up to the end */
static uint32_t numbers[NUMBERS];
static uint64_t commas[WORDS];

static void prepare(void)
{
    static uint8_t lengths[NUMBERS];
    uint32_t at = 0;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        uint32_t j = corpus_random() % (i + 1);
        lengths[i] = lengths[j];
        lengths[j] = (uint8_t)(1 + i % DIGITS);
    }
    for (uint32_t i = 0; i < NUMBERS; i++) {
        for (uint32_t k = 0; k < lengths[i]; k++)
            text[at++] = (char)('0' + corpus_random() % 10);
        text[at++] = ',';
    }
}

static uint64_t number_parsing_numbers(void)
{
    const char *at = text;
    for (int i = 0; i < NUMBERS; i++) {
        uint32_t number = (uint32_t)(*at++ - '0');
        JOULE_LOOP(0, DIGITS - 1)
        while (*at != ',')
            number = number * 10 + (uint32_t)(*at++ - '0');
        numbers[i] = number;
        at++;
    }
    return 0;
}

/* Stores the unfinished number at each byte. At a comma, the index advances, so that the number is kept. */
static uint64_t number_parsing_always(void)
{
    uint32_t count = 0, number = 0;
    for (int i = 0; i < N - 1; i++) {
        uint32_t is_end = text[i] == ',';
        numbers[count] = number;
        count += is_end;
        number = is_end ? 0 : number * 10 + (uint32_t)(text[i] - '0');
    }
    numbers[count] = number;
    return 0;
}

/* Makes bit masks of the commas first, and then converts the digits between two commas. */
static uint64_t number_parsing_commas(void)
{
    for (int w = 0; w < WORDS; w++) {
        uint64_t bits = 0;
        for (int b = 0; b < 64; b++)
            bits |= (uint64_t)(text[64 * w + b] == ',') << b;
        commas[w] = bits;
    }
    uint64_t bits = commas[0];
    uint32_t begin = 0, word = 0;
    for (int i = 0; i < NUMBERS; i++) {
        if (!bits)
            bits = commas[++word];
        uint32_t end = 64 * word + (uint32_t)__builtin_ctzll(bits), number = 0;
        bits &= bits - 1;
        JOULE_LOOP(1, DIGITS)
        for (uint32_t k = begin; k < end; k++)
            number = number * 10 + (uint32_t)(text[k] - '0');
        numbers[i] = number;
        begin = end + 1;
    }
    return 0;
}

/* Reads eight bytes at once and shifts the digits to the top. Three multiplications combine digits to groups
 * of two, four and eight. The lowest byte is the first digit. */
static uint64_t number_parsing_words(void)
{
    const char *at = text;
    for (int i = 0; i < NUMBERS; i++) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        /* in a digit bit 4 is set, in a comma it is not */
        uint64_t others = ~word & 0x1010101010101010u;
        uint32_t bits = (uint32_t)__builtin_ctzll(others) - 4;
        word = (word & 0x0f0f0f0f0f0f0f0fu) << (64 - bits);
        word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ffu;
        word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffffu;
        numbers[i] = (uint32_t)(word * 10000 + (word >> 32));
        at += bits / 8 + 1;
    }
    return 0;
}

const struct group number_parsing = {prepare,
                                     numbers,
                                     sizeof numbers,
                                     {PROGRAM(number_parsing_numbers), PROGRAM(number_parsing_always),
                                      PROGRAM(number_parsing_commas), PROGRAM(number_parsing_words)}};
