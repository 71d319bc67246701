/* tests/corpus/joulec/word_count.c - the number of words of a text.
 *
 * The programs use branches, a table or pairs of bytes, or work on two halves of the text.
 */
#include "corpus.h"

#define N 32768

static char text[N + 1];
static uint8_t is_space[256];

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        text[i] = corpus_random() % 9 ? (char)('a' + corpus_random() % 26) : corpus_random() % 8 ? ' ' : '\n';
    is_space[' '] = is_space['\n'] = is_space['\t'] = 1;
}

static uint64_t word_count_branches(void)
{
    uint64_t count = 0;
    int is_inside = 0;
    for (int i = 0; i < N; i++) {
        if (text[i] == ' ' || text[i] == '\n' || text[i] == '\t') {
            is_inside = 0;
        } else if (!is_inside) {
            is_inside = 1;
            count++;
        }
    }
    return count;
}

static uint64_t word_count_table(void)
{
    uint64_t count = 0;
    unsigned was_space = 1;
    for (int i = 0; i < N; i++) {
        unsigned space = is_space[(uint8_t)text[i]];
        count += was_space & ~space & 1;
        was_space = space;
    }
    return count;
}

/* Reads the byte before each byte again. */
static uint64_t word_count_edges(void)
{
    uint64_t count = !is_space[(uint8_t)text[0]];
    for (int i = 1; i < N; i++)
        count += is_space[(uint8_t)text[i - 1]] && !is_space[(uint8_t)text[i]];
    return count;
}

/* Counts in two halves of the text at once. */
static uint64_t word_count_halves(void)
{
    uint64_t count = 0;
    unsigned left = 1, right = is_space[(uint8_t)text[N / 2 - 1]];
    for (int i = 0; i < N / 2; i++) {
        unsigned space = is_space[(uint8_t)text[i]], other = is_space[(uint8_t)text[i + N / 2]];
        count += (left & ~space & 1) + (right & ~other & 1);
        left = space;
        right = other;
    }
    return count;
}

const struct group word_count = {prepare,
                                 NULL,
                                 0,
                                 {PROGRAM(word_count_branches), PROGRAM(word_count_table),
                                  PROGRAM(word_count_edges), PROGRAM(word_count_halves)}};
