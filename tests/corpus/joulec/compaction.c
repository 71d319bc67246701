/* tests/corpus/joulec/compaction.c - the values below a limit, in their order. One of eleven random values is
 * below the limit.
 *
 * The programs use a branch, store each value, make two passes, or work in blocks of four values.
 */
#include "corpus.h"

#define N     65536
#define LIMIT 0x18000000u

static uint32_t in[N], out[N + 4];
static uint16_t found[N + 4];

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        in[i] = corpus_random();
}

/* Clears the entries after the last result, which do not belong to the result, and returns the count. */
static uint64_t end(uint32_t count)
{
    for (uint32_t i = 0; i < 4; i++)
        out[count + i] = 0;
    return count;
}

static uint64_t compaction_branch(void)
{
    uint32_t count = 0;
    for (int i = 0; i < N; i++)
        if (in[i] < LIMIT)
            out[count++] = in[i];
    return end(count);
}

static uint64_t compaction_always(void)
{
    uint32_t count = 0;
    for (int i = 0; i < N; i++) {
        out[count] = in[i];
        count += in[i] < LIMIT;
    }
    return end(count);
}

/* Stores the indices first, and then reads the values. */
static uint64_t compaction_places(void)
{
    uint32_t count = 0;
    for (int i = 0; i < N; i++) {
        found[count] = (uint16_t)i;
        count += in[i] < LIMIT;
    }
    for (uint32_t i = 0; i < N * 3 / 32 - 500; i++)
        out[i] = in[found[i]];
    for (uint32_t i = N * 3 / 32 - 500; i < N * 3 / 32 + 500; i++)
        out[i] = i < count ? in[found[i]] : 0;
    return end(count);
}

/* Takes four values at a time, and skips blocks without a result. */
static uint64_t compaction_fours(void)
{
    uint32_t count = 0;
    for (int i = 0; i < N; i += 4) {
        uint32_t a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3];
        if ((a >= LIMIT) & (b >= LIMIT) & (c >= LIMIT) & (d >= LIMIT))
            continue;
        out[count] = a;
        count += a < LIMIT;
        out[count] = b;
        count += b < LIMIT;
        out[count] = c;
        count += c < LIMIT;
        out[count] = d;
        count += d < LIMIT;
    }
    return end(count);
}

const struct group compaction = {prepare,
                                 out,
                                 (N * 3 / 32 - 500) * sizeof *out,
                                 {PROGRAM(compaction_branch), PROGRAM(compaction_always),
                                  PROGRAM(compaction_places), PROGRAM(compaction_fours)}};
