/* tests/corpus/joulec/vortices.c - how all vortices of a plane move each other: each pair once or twice, vortices as structures or in
 * columns. The sums of each have one order in all programs, so that they are equal to the last bit. */
#include "corpus.h"

#define N       256
#define SOFTEST 0.001f /* keeps a vortex from moving itself without end */

struct vortex {
    float x, y, strength;
};

struct motion {
    float x, y;
};

static struct vortex vortices_in[N];
static struct motion motions[N];
static float xs[N], ys[N], strengths[N], motion_x[N], motion_y[N], near[N];

static float random_part(void)
{
    return (float)(corpus_random() >> 8) / 16777216.0f;
}

static void prepare(void)
{
    for (int i = 0; i < N; i++) {
        vortices_in[i] = (struct vortex){random_part(), random_part(), random_part()};
        xs[i] = vortices_in[i].x;
        ys[i] = vortices_in[i].y;
        strengths[i] = vortices_in[i].strength;
    }
}

/* One over the square of their distance. */
static inline float nearness(float x, float y)
{
    return 1.0f / (x * x + y * y + SOFTEST);
}

static uint64_t vortices_each(void)
{
    for (int i = 0; i < N; i++) {
        struct motion sum = {0, 0};
        for (int j = 0; j < N; j++) {
            float x = vortices_in[j].x - vortices_in[i].x, y = vortices_in[j].y - vortices_in[i].y;
            float part = vortices_in[j].strength * nearness(x, y);
            sum.x += y * part;
            sum.y -= x * part;
        }
        motions[i] = sum;
    }
    return 0;
}

/* Of each pair once, for both. */
static uint64_t vortices_pairs(void)
{
    for (int i = 0; i < N; i++)
        motions[i] = (struct motion){0, 0};
    for (int i = 0; i < N; i++)
        for (int j = i + 1; j < N; j++) {
            float x = vortices_in[j].x - vortices_in[i].x, y = vortices_in[j].y - vortices_in[i].y;
            float both = nearness(x, y);
            float there = vortices_in[j].strength * both, here = vortices_in[i].strength * both;
            motions[i].x += y * there;
            motions[i].y -= x * there;
            motions[j].x -= y * here;
            motions[j].y += x * here;
        }
    return 0;
}

/* What one does to all others. */
static uint64_t vortices_columns(void)
{
    for (int i = 0; i < N; i++)
        motion_x[i] = motion_y[i] = 0;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            float x = xs[j] - xs[i], y = ys[j] - ys[i];
            float part = strengths[j] * nearness(x, y);
            motion_x[i] += y * part;
            motion_y[i] -= x * part;
        }
    for (int i = 0; i < N; i++)
        motions[i] = (struct motion){motion_x[i], motion_y[i]};
    return 0;
}

/* First how near all are to this one, then the sums. */
static uint64_t vortices_two_steps(void)
{
    for (int i = 0; i < N; i++) {
        struct motion sum = {0, 0};
        for (int j = 0; j < N; j++)
            near[j] = strengths[j] * nearness(xs[j] - xs[i], ys[j] - ys[i]);
        for (int j = 0; j < N; j++) {
            sum.x += (ys[j] - ys[i]) * near[j];
            sum.y -= (xs[j] - xs[i]) * near[j];
        }
        motions[i] = sum;
    }
    return 0;
}

const struct group vortices = {prepare,
                               motions,
                               sizeof motions,
                               {PROGRAM(vortices_each), PROGRAM(vortices_pairs), PROGRAM(vortices_columns),
                                PROGRAM(vortices_two_steps)}};
