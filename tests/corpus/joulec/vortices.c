/* tests/corpus/joulec/vortices.c - the velocity of each vortex of a plane that all other vortices cause. All
 * programs add in the same order, so that sums are equal to the last bit.
 *
 * The programs visit each pair twice or once, use structures or columns, or work in two steps.
 */
#include "corpus.h"

#define N 256
/* added to squared distances, so that the distance of a vortex from itself is not 0 */
#define SOFTENING 0.001f

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

/* Returns the reciprocal of the squared distance. */
static inline float nearness(float x, float y)
{
    return 1.0f / (x * x + y * y + SOFTENING);
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

/* Visits each pair once, for both vortices. */
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

/* Adds the effect of one vortex on all others. */
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

/* Computes the reciprocals for one vortex first, and then the sums. */
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
