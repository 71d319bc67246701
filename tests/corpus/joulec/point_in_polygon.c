/* tests/corpus/joulec/point_in_polygon.c - tests whether points are inside a polygon of 24 edges, by the
 * parity of crossings. Coordinates are small integers, so that the result is exact in any order.
 *
 * The programs use branches, the signs of products, or a division, or test all points with one edge at a
 * time.
 */
#include "corpus.h"

#define EDGES  24
#define POINTS 2048
#define SIZE   1024 /* side of the square that contains all points */

struct point {
    int32_t x, y;
};

static struct point corners[EDGES + 1], points[POINTS]; /* the last corner repeats the first one */
static uint8_t is_inside[POINTS];
static int32_t xs[POINTS], ys[POINTS], crossings[POINTS];

/* Makes a star whose corners are on rays around the middle, in order of angle. */
static void prepare(void)
{
    static const struct point rays[EDGES / 4] = {{64, 0}, {62, 17}, {55, 32}, {45, 45}, {32, 55}, {17, 62}};
    for (int i = 0; i < EDGES; i++) {
        struct point ray = rays[i % 6];
        int32_t length = 3 + (int32_t)(corpus_random() % 5);
        for (int turn = 0; turn < i / 6; turn++)
            ray = (struct point){-ray.y, ray.x};
        corners[i] = (struct point){SIZE / 2 + ray.x * length, SIZE / 2 + ray.y * length};
    }
    corners[EDGES] = corners[0];
    for (int i = 0; i < POINTS; i++) {
        xs[i] = points[i].x = (int32_t)(corpus_random() % SIZE);
        ys[i] = points[i].y = (int32_t)(corpus_random() % SIZE);
    }
}

/* Returns a positive number if the point is to the left of the edge. */
static inline int32_t side_of(struct point a, struct point b, int32_t x, int32_t y)
{
    return (b.x - a.x) * (y - a.y) - (x - a.x) * (b.y - a.y);
}

static uint64_t point_in_polygon_branches(void)
{
    for (int i = 0; i < POINTS; i++) {
        struct point p = points[i];
        uint8_t inside = 0;
        for (int e = 0; e < EDGES; e++) {
            struct point a = corners[e], b = corners[e + 1];
            if ((a.y <= p.y) != (b.y <= p.y)) {
                __asm__ volatile(""); /* prevents a conditional move */
                int32_t side = side_of(a, b, p.x, p.y);
                if (a.y < b.y ? side > 0 : side < 0)
                    inside ^= 1;
            }
        }
        is_inside[i] = inside;
    }
    return 0;
}

static uint64_t point_in_polygon_signs(void)
{
    for (int i = 0; i < POINTS; i++) {
        struct point p = points[i];
        uint32_t inside = 0;
        for (int e = 0; e < EDGES; e++) {
            struct point a = corners[e], b = corners[e + 1];
            int32_t side = side_of(a, b, p.x, p.y);
            uint32_t is_up = a.y <= p.y && p.y < b.y, is_down = b.y <= p.y && p.y < a.y;
            inside ^= (is_up & (side > 0)) | (is_down & (side < 0));
        }
        is_inside[i] = (uint8_t)inside;
    }
    return 0;
}

/* Computes where the edge has the y of the point. The quotient cannot round up to the next integer. */
static uint64_t point_in_polygon_division(void)
{
    for (int i = 0; i < POINTS; i++) {
        float x = (float)points[i].x, y = (float)points[i].y;
        uint8_t inside = 0;
        for (int e = 0; e < EDGES; e++) {
            float ax = (float)corners[e].x, ay = (float)corners[e].y;
            float bx = (float)corners[e + 1].x, by = (float)corners[e + 1].y;
            if ((ay <= y) != (by <= y) && x - ax < (bx - ax) * (y - ay) / (by - ay))
                inside = !inside;
        }
        is_inside[i] = inside;
    }
    return 0;
}

/* Tests all points with one edge, then with the next. */
static uint64_t point_in_polygon_edges(void)
{
    for (int i = 0; i < POINTS; i++)
        crossings[i] = 0;
    for (int e = 0; e < EDGES; e++) {
        struct point low = corners[e], high = corners[e + 1];
        if (high.y < low.y) {
            low = corners[e + 1];
            high = corners[e];
        }
        for (int i = 0; i < POINTS; i++) {
            int32_t side = side_of(low, high, xs[i], ys[i]);
            crossings[i] += (low.y <= ys[i]) & (ys[i] < high.y) & (side > 0);
        }
    }
    for (int i = 0; i < POINTS; i++)
        is_inside[i] = crossings[i] & 1;
    return 0;
}

const struct group point_in_polygon = {prepare,
                                       is_inside,
                                       sizeof is_inside,
                                       {PROGRAM(point_in_polygon_branches), PROGRAM(point_in_polygon_signs),
                                        PROGRAM(point_in_polygon_division), PROGRAM(point_in_polygon_edges)}};
