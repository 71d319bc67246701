/* tests/corpus/joulec/string_search.c - the positions of a pattern of eight letters in a text.
 *
 * The programs compare at each place with the first letter, use Horspool's jumps, use bits for each letter
 * (Shift-And), or use a table of states.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define N       32768
#define LENGTH  8
#define LETTERS 6
#define PLANTED 256
#define PLACES  (N - LENGTH + 1)

static uint8_t text[N], pattern[LENGTH];
static uint32_t masks[256], jumps[256];
static uint8_t states[LENGTH + 1][256];

/* Returns how many letters of the pattern match after its first `known` letters were followed by `letter`. */
static uint8_t next_state(uint32_t known, uint8_t letter)
{
    uint8_t seen[LENGTH + 1];
    memcpy(seen, pattern, known);
    seen[known] = letter;
    for (uint32_t length = known < LENGTH ? known + 1 : LENGTH; length > 0; length--)
        if (memcmp(pattern, seen + known + 1 - length, length) == 0)
            return (uint8_t)length;
    return 0;
}

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        text[i] = (uint8_t)('a' + corpus_random() % LETTERS);
    memcpy(pattern, "cabfadeb", LENGTH);
    for (int i = 0; i < PLANTED; i++)
        memcpy(text + corpus_random() % PLACES, pattern, LENGTH);
    for (int c = 0; c < 256; c++)
        jumps[c] = LENGTH;
    for (uint32_t k = 0; k < LENGTH; k++) {
        masks[pattern[k]] |= 1u << k;
        if (k < LENGTH - 1)
            jumps[pattern[k]] = LENGTH - 1 - k;
    }
    for (uint32_t known = 0; known <= LENGTH; known++)
        for (int c = 0; c < 256; c++)
            states[known][c] = next_state(known, (uint8_t)c);
}

/* Returns what a position adds to the result. The upper half of the result is the number of positions, and
 * the lower half is their sum. */
static inline uint64_t one_at(uint32_t place)
{
    return (UINT64_C(1) << 32) + place;
}

static uint64_t string_search_each(void)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < PLACES; i++)
        if (text[i] == pattern[0] && memcmp(text + i, pattern, LENGTH) == 0)
            found += one_at(i);
    return found;
}

/* The letter at the end of the window determines the jump to the next position. */
static uint64_t string_search_jumps(void)
{
    uint64_t found = 0;
    JOULE_LOOP(PLACES / LENGTH, PLACES)
    for (uint32_t i = 0; i < PLACES; i += jumps[text[i + LENGTH - 1]])
        if (memcmp(text + i, pattern, LENGTH) == 0)
            found += one_at(i);
    return found;
}

/* Bit k is set if the last k + 1 letters of the text are the first k + 1 letters of the pattern. */
static uint64_t string_search_bits(void)
{
    uint64_t found = 0;
    uint32_t known = 0;
    for (uint32_t i = 0; i < N; i++) {
        known = (known << 1 | 1) & masks[text[i]];
        if (known >> (LENGTH - 1))
            found += one_at(i - (LENGTH - 1));
    }
    return found;
}

static uint64_t string_search_states(void)
{
    uint64_t found = 0;
    uint32_t known = 0;
    for (uint32_t i = 0; i < N; i++) {
        known = states[known][text[i]];
        if (known == LENGTH)
            found += one_at(i - (LENGTH - 1));
    }
    return found;
}

const struct group string_search = {prepare,
                                    NULL,
                                    0,
                                    {PROGRAM(string_search_each), PROGRAM(string_search_jumps),
                                     PROGRAM(string_search_bits), PROGRAM(string_search_states)}};
