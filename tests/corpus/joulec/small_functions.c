/* tests/corpus/joulec/small_functions.c - a small function of many values.
 *
 * The function is inlined, is called for one, two or four values, or is called through another function.
 */
#include "corpus.h"

#define N 16384

struct pair {
    uint64_t left, right;
};

static uint64_t x[N], y[N];

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        x[i] = (uint64_t)corpus_random() << 32 | corpus_random();
}

static inline uint64_t mix(uint64_t v)
{
    v ^= v >> 30;
    v *= 0xbf58476d1ce4e5b9u;
    v ^= v >> 27;
    v *= 0x94d049bb133111ebu;
    return v ^ v >> 31;
}

__attribute__((noinline)) static uint64_t called(uint64_t v)
{
    return mix(v);
}

__attribute__((noinline)) static uint64_t through(uint64_t v, uint64_t seed)
{
    return called(v) + seed;
}

__attribute__((noinline)) static struct pair two(uint64_t left, uint64_t right)
{
    return (struct pair){mix(left), mix(right)};
}

__attribute__((noinline)) static void four(const uint64_t *from, uint64_t *to)
{
    to[0] = mix(from[0]);
    to[1] = mix(from[1]);
    to[2] = mix(from[2]);
    to[3] = mix(from[3]);
}

static uint64_t small_functions_none(void)
{
    for (int i = 0; i < N; i++)
        y[i] = mix(x[i]);
    return 0;
}

static uint64_t small_functions_each(void)
{
    for (int i = 0; i < N; i++)
        y[i] = called(x[i]);
    return 0;
}

static uint64_t small_functions_twice(void)
{
    for (int i = 0; i < N; i++)
        y[i] = through(x[i], 7) - 7;
    return 0;
}

static uint64_t small_functions_pairs(void)
{
    for (int i = 0; i < N; i += 2) {
        struct pair mixed = two(x[i], x[i + 1]);
        y[i] = mixed.left;
        y[i + 1] = mixed.right;
    }
    return 0;
}

static uint64_t small_functions_fours(void)
{
    for (int i = 0; i < N; i += 4)
        four(x + i, y + i);
    return 0;
}

const struct group small_functions = {prepare,
                                      y,
                                      sizeof y,
                                      {PROGRAM(small_functions_none), PROGRAM(small_functions_each),
                                       PROGRAM(small_functions_twice), PROGRAM(small_functions_pairs),
                                       PROGRAM(small_functions_fours)}};
