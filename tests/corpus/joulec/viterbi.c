/* tests/corpus/joulec/viterbi.c - Viterbi decoding of frames of 64 bits. The encoder has 16 states and makes
 * two samples of each bit. The samples contain noise.
 *
 * Two programs compare the two states before each state, with the costs of four symbols or with distances.
 * The others compute pairs that share costs, or store the decoded bits of each state instead of a traceback.
 */
#include "corpus.h"

#define FRAMES 16
#define STEPS  64
#define STATES 16
#define FAR    60000 /* cost above that of all paths */
#define FIRST  023   /* generator polynomials of the first and the second sample */
#define SECOND 035

static uint8_t samples[FRAMES][STEPS][2]; /* values near 0 or near 255 */
static uint64_t frames[FRAMES];           /* the highest bit is the first one */
/* output of the encoder; the index consists of the state and the next bit */
static uint8_t symbols[2 * STATES];
static uint8_t clear[2 * STATES][2]; /* samples of a symbol without noise */

static uint32_t parity(uint32_t v)
{
    return (uint32_t)__builtin_popcount(v) & 1;
}

/* Makes frames and noisy samples. The last four bits are 0, so the encoder ends in state 0. */
static void prepare(void)
{
    for (uint32_t i = 0; i < 2 * STATES; i++)
        symbols[i] = (uint8_t)(parity(i & FIRST) << 1 | parity(i & SECOND));
    for (int i = 0; i < 2 * STATES; i++) {
        clear[i][0] = symbols[i] & 2 ? 255 : 0;
        clear[i][1] = symbols[i] & 1 ? 255 : 0;
    }
    for (int f = 0; f < FRAMES; f++) {
        uint32_t state = 0;
        for (int step = 0; step < STEPS; step++) {
            uint32_t coded = (state << 1 | (step < STEPS - 4 && corpus_random() >> 31)) & (2 * STATES - 1);
            state = coded % STATES;
            for (int k = 0; k < 2; k++) {
                uint32_t noise = (corpus_random() % 180 + corpus_random() % 180) / 2;
                samples[f][step][k] = (uint8_t)(symbols[coded] >> (1 - k) & 1 ? 255 - noise : noise);
            }
        }
    }
}

/* Computes the costs of the four symbols for a pair of samples. */
static inline void find_costs(const uint8_t *sample, int *costs)
{
    costs[0] = sample[0] + sample[1];
    costs[1] = sample[0] + 255 - sample[1];
    costs[2] = 255 - sample[0] + sample[1];
    costs[3] = 255 - sample[0] + 255 - sample[1];
}

static inline void begin(int *metrics)
{
    metrics[0] = 0;
    for (int s = 1; s < STATES; s++)
        metrics[s] = FAR;
}

/* Returns the decoded bits. The lowest bit of a state is the bit that was sent; came_from selects the
 * state before it. */
static inline uint64_t trace_back(const uint8_t (*came_from)[STATES])
{
    uint32_t state = 0;
    uint64_t frame = 0;
    for (int step = STEPS - 1; step >= 0; step--) {
        frame |= (uint64_t)(state & 1) << (STEPS - 1 - step);
        state = came_from[step][state];
    }
    return frame;
}

static uint64_t viterbi_from(void)
{
    static uint8_t came_from[STEPS][STATES];
    for (int f = 0; f < FRAMES; f++) {
        int metrics[STATES], nexts[STATES], costs[4];
        begin(metrics);
        for (int step = 0; step < STEPS; step++) {
            find_costs(samples[f][step], costs);
            for (int s = 0; s < STATES; s++) {
                int low = s / 2, high = s / 2 + STATES / 2;
                int by_low = metrics[low] + costs[symbols[s]];
                int by_high = metrics[high] + costs[symbols[s + STATES]];
                nexts[s] = by_high < by_low ? by_high : by_low;
                came_from[step][s] = (uint8_t)(by_high < by_low ? high : low);
            }
            for (int s = 0; s < STATES; s++)
                metrics[s] = nexts[s];
        }
        frames[f] = trace_back(came_from);
    }
    return 0;
}

/* Returns the distance of a pair of samples from the samples of `coded` without noise. */
static inline int distance(const uint8_t *sample, uint32_t coded)
{
    int first = sample[0] - clear[coded][0], second = sample[1] - clear[coded][1];
    return (first < 0 ? -first : first) + (second < 0 ? -second : second);
}

static uint64_t viterbi_distances(void)
{
    static uint8_t came_from[STEPS][STATES];
    for (int f = 0; f < FRAMES; f++) {
        int metrics[2][STATES];
        begin(metrics[0]);
        for (int step = 0; step < STEPS; step++) {
            const int *here = metrics[step % 2];
            int *there = metrics[(step + 1) % 2];
            for (uint32_t s = 0; s < STATES; s++) {
                uint32_t low = s / 2, high = s / 2 + STATES / 2;
                int by_low = here[low] + distance(samples[f][step], s);
                int by_high = here[high] + distance(samples[f][step], s + STATES);
                there[s] = by_high < by_low ? by_high : by_low;
                came_from[step][s] = (uint8_t)(by_high < by_low ? high : low);
            }
        }
        frames[f] = trace_back(came_from);
    }
    return 0;
}

/* Both samples are inverted if the oldest or the newest bit changes, so that pairs of states share costs. */
static uint64_t viterbi_pairs(void)
{
    static uint16_t is_high[STEPS]; /* a bit for each state */
    for (int f = 0; f < FRAMES; f++) {
        int metrics[STATES], nexts[STATES], costs[4];
        begin(metrics);
        for (int step = 0; step < STEPS; step++) {
            uint32_t highs = 0;
            find_costs(samples[f][step], costs);
            for (int s = 0; s < STATES / 2; s++) {
                int same = costs[symbols[2 * s]], other = 510 - same;
                int low = metrics[s], high = metrics[s + STATES / 2];
                int is_even_high = high + other < low + same, is_odd_high = high + same < low + other;
                nexts[2 * s] = is_even_high ? high + other : low + same;
                nexts[2 * s + 1] = is_odd_high ? high + same : low + other;
                highs |= (uint32_t)(is_even_high | is_odd_high << 1) << (2 * s);
            }
            for (int s = 0; s < STATES; s++)
                metrics[s] = nexts[s];
            is_high[step] = (uint16_t)highs;
        }
        uint32_t state = 0;
        uint64_t frame = 0;
        for (int step = STEPS - 1; step >= 0; step--) {
            frame |= (uint64_t)(state & 1) << (STEPS - 1 - step);
            state = state / 2 | (is_high[step] >> state & 1u) * (STATES / 2);
        }
        frames[f] = frame;
    }
    return 0;
}

struct way {
    uint64_t sent;
    int metric;
};

static uint64_t viterbi_ways(void)
{
    for (int f = 0; f < FRAMES; f++) {
        struct way ways[2][STATES];
        int costs[4];
        for (int s = 0; s < STATES; s++)
            ways[0][s] = (struct way){0, s == 0 ? 0 : FAR};
        for (int step = 0; step < STEPS; step++) {
            const struct way *here = ways[step % 2];
            struct way *there = ways[(step + 1) % 2];
            find_costs(samples[f][step], costs);
            for (uint32_t s = 0; s < STATES; s++) {
                struct way low = here[s / 2], high = here[s / 2 + STATES / 2];
                low.metric += costs[symbols[s]];
                high.metric += costs[symbols[s + STATES]];
                struct way best = high.metric < low.metric ? high : low;
                there[s] = (struct way){best.sent << 1 | (s & 1), best.metric};
            }
        }
        frames[f] = ways[STEPS % 2][0].sent;
    }
    return 0;
}

const struct group viterbi = {
    prepare,
    frames,
    sizeof frames,
    {PROGRAM(viterbi_from), PROGRAM(viterbi_distances), PROGRAM(viterbi_pairs), PROGRAM(viterbi_ways)}};
