/* tests/corpus/joulec/piecewise_linear.c - a piecewise linear function with eight pieces. All values are
 * small integers, so that the result is exact in any order.
 *
 * The programs find the piece by bisection or by a table, interpolate between the ends of the piece, or add
 * changes of slope.
 */
#include "corpus.h"

#define N      4096
#define PIECES 8
#define STEP   64 /* all pieces begin at a multiple of STEP */
#define RANGE  4096
#define FIRST  1000 /* value at 0 */

static int32_t x[N], y[N];
static int32_t begins[PIECES + 1], heights[PIECES + 1];
static int32_t slopes[PIECES], offsets[PIECES]; /* y = offset + slope * x */
static float places[N], begins_float[PIECES];
static float bends[PIECES]; /* changes of slope from one piece to the next */
static uint8_t piece_at[RANGE / STEP];

static void prepare(void)
{
    int32_t here = 0;
    for (int k = 0; k < PIECES; k++) {
        begins[k] = k == 0 ? 0 : begins[k - 1] + STEP * (int32_t)(1 + corpus_random() % 9);
        slopes[k] = (int32_t)(corpus_random() % 64) - 32;
        here += k == 0 ? FIRST : slopes[k - 1] * (begins[k] - begins[k - 1]);
        offsets[k] = here - slopes[k] * begins[k];
        heights[k] = here;
        begins_float[k] = (float)begins[k];
        bends[k] = (float)(slopes[k] - (k == 0 ? 0 : slopes[k - 1]));
        for (int place = begins[k] / STEP; place < RANGE / STEP; place++)
            piece_at[place] = (uint8_t)k;
    }
    begins[PIECES] = RANGE;
    heights[PIECES] = offsets[PIECES - 1] + slopes[PIECES - 1] * RANGE;
    for (int i = 0; i < N; i++) {
        x[i] = (int32_t)(corpus_random() % RANGE);
        places[i] = (float)x[i];
    }
}

static uint64_t piecewise_linear_halving(void)
{
    for (int i = 0; i < N; i++) {
        int piece = 0;
        for (int step = PIECES / 2; step > 0; step /= 2)
            piece += begins[piece + step] <= x[i] ? step : 0;
        y[i] = offsets[piece] + slopes[piece] * x[i];
    }
    return 0;
}

static uint64_t piecewise_linear_table(void)
{
    for (int i = 0; i < N; i++) {
        uint8_t piece = piece_at[x[i] / STEP];
        y[i] = offsets[piece] + slopes[piece] * x[i];
    }
    return 0;
}

/* Interpolates between the values at both ends of a piece. */
static uint64_t piecewise_linear_quotient(void)
{
    for (int i = 0; i < N; i++) {
        uint8_t piece = piece_at[x[i] / STEP];
        int32_t begin = begins[piece], low = heights[piece];
        y[i] = low + (heights[piece + 1] - low) * (x[i] - begin) / (begins[piece + 1] - begin);
    }
    return 0;
}

/* Each change of slope adds to all values after it. */
static uint64_t piecewise_linear_slope_changes(void)
{
    for (int i = 0; i < N; i++) {
        float sum = FIRST;
        for (int k = 0; k < PIECES; k++) {
            float beyond = places[i] - begins_float[k];
            sum += bends[k] * (beyond > 0 ? beyond : 0);
        }
        y[i] = (int32_t)sum;
    }
    return 0;
}

const struct group piecewise_linear = {prepare,
                                       y,
                                       sizeof y,
                                       {PROGRAM(piecewise_linear_halving), PROGRAM(piecewise_linear_table),
                                        PROGRAM(piecewise_linear_slope_changes),
                                        PROGRAM(piecewise_linear_quotient)}};
