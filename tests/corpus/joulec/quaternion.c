/* tests/corpus/joulec/quaternion.c - rotations of 96 bodies of 20 points each by quaternions, which are not
 * normalised. Numbers before the last division are small integers, so that the result is exact in any order.
 *
 * The programs use two products of quaternions, cross products, a matrix for each body, or this matrix with
 * points in columns.
 */
#include "corpus.h"

#define BODIES 96
#define POINTS 20

struct vector {
    double x, y, z;
};

struct quaternion {
    double w;
    struct vector v;
};

static struct quaternion turns[BODIES];
static struct vector points[BODIES][POINTS], turned[BODIES][POINTS];
static double xs[BODIES][POINTS], ys[BODIES][POINTS], zs[BODIES][POINTS];

static double small(uint32_t most)
{
    return (double)(corpus_random() % (2 * most + 1)) - most;
}

static void prepare(void)
{
    for (int b = 0; b < BODIES; b++) {
        turns[b] = (struct quaternion){1 + corpus_random() % 8, {small(8), small(8), small(8)}};
        for (int i = 0; i < POINTS; i++) {
            xs[b][i] = small(500);
            ys[b][i] = small(500);
            zs[b][i] = small(500);
            points[b][i] = (struct vector){xs[b][i], ys[b][i], zs[b][i]};
        }
    }
}

static inline double product(struct vector a, struct vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline struct vector cross(struct vector a, struct vector b)
{
    return (struct vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline struct quaternion times(struct quaternion a, struct quaternion b)
{
    struct vector c = cross(a.v, b.v);
    return (struct quaternion){
        a.w * b.w - product(a.v, b.v),
        {a.w * b.v.x + b.w * a.v.x + c.x, a.w * b.v.y + b.w * a.v.y + c.y, a.w * b.v.z + b.w * a.v.z + c.z}};
}

static inline double square(struct quaternion q)
{
    return q.w * q.w + product(q.v, q.v);
}

/* Returns v / by. Adding 0 makes negative zeros positive, because the sign of a zero differs between
 * programs. */
static inline struct vector divided(struct vector v, double by)
{
    return (struct vector){v.x / by + 0.0, v.y / by + 0.0, v.z / by + 0.0};
}

static uint64_t quaternion_products(void)
{
    for (int b = 0; b < BODIES; b++) {
        struct quaternion q = turns[b], back = {q.w, {-q.v.x, -q.v.y, -q.v.z}};
        for (int i = 0; i < POINTS; i++) {
            struct quaternion point = {0, points[b][i]};
            turned[b][i] = divided(times(times(q, point), back).v, square(q));
        }
    }
    return 0;
}

static uint64_t quaternion_crosses(void)
{
    for (int b = 0; b < BODIES; b++) {
        struct vector axis = turns[b].v;
        double w = turns[b].w;
        for (int i = 0; i < POINTS; i++) {
            struct vector p = points[b][i], across = cross(axis, p);
            double along = 2 * product(axis, p), same = w * w - product(axis, axis);
            struct vector sum = {same * p.x + along * axis.x + 2 * w * across.x,
                                 same * p.y + along * axis.y + 2 * w * across.y,
                                 same * p.z + along * axis.z + 2 * w * across.z};
            turned[b][i] = divided(sum, square(turns[b]));
        }
    }
    return 0;
}

static inline void matrix_of(struct quaternion q, struct vector *rows)
{
    double w = q.w, x = q.v.x, y = q.v.y, z = q.v.z;
    rows[0] = (struct vector){w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)};
    rows[1] = (struct vector){2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)};
    rows[2] = (struct vector){2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z};
}

static uint64_t quaternion_matrix(void)
{
    for (int b = 0; b < BODIES; b++) {
        struct vector rows[3];
        matrix_of(turns[b], rows);
        for (int i = 0; i < POINTS; i++) {
            struct vector p = points[b][i];
            struct vector sum = {product(rows[0], p), product(rows[1], p), product(rows[2], p)};
            turned[b][i] = divided(sum, square(turns[b]));
        }
    }
    return 0;
}

static uint64_t quaternion_columns(void)
{
    for (int b = 0; b < BODIES; b++) {
        struct vector rows[3];
        double length = square(turns[b]), sums[3][POINTS];
        matrix_of(turns[b], rows);
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < POINTS; i++)
                sums[k][i] =
                    (rows[k].x * xs[b][i] + rows[k].y * ys[b][i] + rows[k].z * zs[b][i]) / length + 0.0;
        for (int i = 0; i < POINTS; i++)
            turned[b][i] = (struct vector){sums[0][i], sums[1][i], sums[2][i]};
    }
    return 0;
}

const struct group quaternion = {prepare,
                                 turned,
                                 sizeof turned,
                                 {PROGRAM(quaternion_products), PROGRAM(quaternion_crosses),
                                  PROGRAM(quaternion_matrix), PROGRAM(quaternion_columns)}};
