/* tests/corpus/joulec/iir.c - a second-order filter of eight channels. All programs round in the same way.
 *
 * The programs filter one channel or two channels at once, or call a function for each sample, for each pair
 * of channels, or for each channel in turn. The state is in variables or in memory.
 */
#include "corpus.h"

#define CHANNELS 8
#define N        512

struct state {
    float x1, x2, y1, y2;
};

static float in[N][CHANNELS], out[N][CHANNELS];
static struct state states[CHANNELS];
static const float b0 = 0.2f, b1 = 0.4f, b2 = 0.2f, a1 = -0.5f, a2 = 0.3f;

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        for (int c = 0; c < CHANNELS; c++)
            in[i][c] = (float)(corpus_random() >> 8) / 16777216.0f - 0.5f;
}

static inline float filtered(float x, float x1, float x2, float y1, float y2)
{
    return b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2;
}

static uint64_t iir_channels(void)
{
    for (int c = 0; c < CHANNELS; c++) {
        float x1 = 0, x2 = 0, y1 = 0, y2 = 0;
        for (int i = 0; i < N; i++) {
            float x = in[i][c], y = filtered(x, x1, x2, y1, y2);
            out[i][c] = y;
            x2 = x1;
            x1 = x;
            y2 = y1;
            y1 = y;
        }
    }
    return 0;
}

static uint64_t iir_pairs(void)
{
    for (int c = 0; c < CHANNELS; c += 2) {
        struct state s = {0, 0, 0, 0}, r = s;
        for (int i = 0; i < N; i++) {
            float x = in[i][c], y = filtered(x, s.x1, s.x2, s.y1, s.y2);
            float v = in[i][c + 1], w = filtered(v, r.x1, r.x2, r.y1, r.y2);
            out[i][c] = y;
            out[i][c + 1] = w;
            s = (struct state){x, s.x1, y, s.y1};
            r = (struct state){v, r.x1, w, r.y1};
        }
    }
    return 0;
}

__attribute__((noinline)) static float step(struct state *s, float x)
{
    float y = filtered(x, s->x1, s->x2, s->y1, s->y2);
    *s = (struct state){x, s->x1, y, s->y1};
    return y;
}

/* Calls a function for each sample, channel by channel. */
static uint64_t iir_calls(void)
{
    for (int c = 0; c < CHANNELS; c++) {
        states[c] = (struct state){0, 0, 0, 0};
        for (int i = 0; i < N; i++)
            out[i][c] = step(&states[c], in[i][c]);
    }
    return 0;
}

__attribute__((noinline)) static void step_two(struct state *s, const float *x, float *y)
{
    y[0] = filtered(x[0], s[0].x1, s[0].x2, s[0].y1, s[0].y2);
    y[1] = filtered(x[1], s[1].x1, s[1].x2, s[1].y1, s[1].y2);
    s[0] = (struct state){x[0], s[0].x1, y[0], s[0].y1};
    s[1] = (struct state){x[1], s[1].x1, y[1], s[1].y1};
}

/* Calls a function for two channels. */
static uint64_t iir_calls_of_two(void)
{
    for (int c = 0; c < CHANNELS; c += 2) {
        states[c] = states[c + 1] = (struct state){0, 0, 0, 0};
        for (int i = 0; i < N; i++)
            step_two(&states[c], &in[i][c], &out[i][c]);
    }
    return 0;
}

/* Calls a function for each channel, sample by sample. */
static uint64_t iir_calls_in_turn(void)
{
    for (int c = 0; c < CHANNELS; c++)
        states[c] = (struct state){0, 0, 0, 0};
    for (int i = 0; i < N; i++)
        for (int c = 0; c < CHANNELS; c++)
            out[i][c] = step(&states[c], in[i][c]);
    return 0;
}

const struct group iir = {prepare,
                          out,
                          sizeof out,
                          {PROGRAM(iir_channels), PROGRAM(iir_pairs), PROGRAM(iir_calls),
                           PROGRAM(iir_calls_of_two), PROGRAM(iir_calls_in_turn)}};
