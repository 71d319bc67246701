/* tests/corpus/joulec/rasterizer.c - 200 triangles, painted over each other into an image of 64 x 64 bytes.
 *
 * The programs test each pixel of the bounding box, update the edge functions, fill rows between ends found
 * by division, or fill squares of 8 x 8 pixels.
 */
#include <joule/budget.h>
#include <stdbool.h>
#include <string.h>
#include "corpus.h"

#define N         64
#define TRIANGLES 200
#define MAX_WIDTH 16 /* maximum width of a triangle */
#define SQUARE    8

struct point {
    int x, y;
};

/* An edge. Pixels with a * x + b * y + c >= 0 are on it or to the left of it. */
struct edge {
    int a, b, c;
};

struct box {
    int left, right, top, bottom; /* inclusive bounds */
};

static struct point corners[TRIANGLES][3]; /* corners in counterclockwise order */
static uint8_t colours[TRIANGLES], picture[N][N];

static inline int side_of(struct point from, struct point to, int x, int y)
{
    return (to.x - from.x) * (y - from.y) - (to.y - from.y) * (x - from.x);
}

static void prepare(void)
{
    for (int t = 0; t < TRIANGLES; t++) {
        struct point *p = corners[t];
        int left = (int)(corpus_random() % (N - MAX_WIDTH + 1)),
            top = (int)(corpus_random() % (N - MAX_WIDTH + 1)), side;
        do {
            for (int i = 0; i < 3; i++)
                p[i] = (struct point){left + (int)(corpus_random() % MAX_WIDTH),
                                      top + (int)(corpus_random() % MAX_WIDTH)};
            side = side_of(p[0], p[1], p[2].x, p[2].y);
        } while (side == 0);
        if (side < 0) {
            struct point kept = p[1];
            p[1] = p[2];
            p[2] = kept;
        }
        colours[t] = (uint8_t)(1 + corpus_random() % 255);
    }
}

static inline int minimum(int a, int b, int c)
{
    int d = a < b ? a : b;
    return c < d ? c : d;
}

static inline int maximum(int a, int b, int c)
{
    int d = a > b ? a : b;
    return c > d ? c : d;
}

static inline struct box box_of(const struct point *p)
{
    return (struct box){minimum(p[0].x, p[1].x, p[2].x), maximum(p[0].x, p[1].x, p[2].x),
                        minimum(p[0].y, p[1].y, p[2].y), maximum(p[0].y, p[1].y, p[2].y)};
}

static inline struct edge edge_of(struct point from, struct point to)
{
    return (struct edge){from.y - to.y, to.x - from.x, from.x * to.y - from.y * to.x};
}

static inline int value_at(struct edge e, int x, int y)
{
    return e.a * x + e.b * y + e.c;
}

static uint64_t rasterizer_sides(void)
{
    memset(picture, 0, sizeof picture);
    for (int t = 0; t < TRIANGLES; t++) {
        const struct point *p = corners[t];
        struct box box = box_of(p);
        JOULE_LOOP(1, MAX_WIDTH)
        for (int y = box.top; y <= box.bottom; y++) {
            JOULE_LOOP(1, MAX_WIDTH)
            for (int x = box.left; x <= box.right; x++)
                if (side_of(p[0], p[1], x, y) >= 0 && side_of(p[1], p[2], x, y) >= 0 &&
                    side_of(p[2], p[0], x, y) >= 0)
                    picture[y][x] = colours[t];
        }
    }
    return 0;
}

static uint64_t rasterizer_sums(void)
{
    memset(picture, 0, sizeof picture);
    for (int t = 0; t < TRIANGLES; t++) {
        const struct point *p = corners[t];
        struct edge e = edge_of(p[0], p[1]), f = edge_of(p[1], p[2]), g = edge_of(p[2], p[0]);
        struct box box = box_of(p);
        int row_e = value_at(e, box.left, box.top), row_f = value_at(f, box.left, box.top),
            row_g = value_at(g, box.left, box.top);
        JOULE_LOOP(1, MAX_WIDTH)
        for (int y = box.top; y <= box.bottom; y++) {
            int at_e = row_e, at_f = row_f, at_g = row_g;
            JOULE_LOOP(1, MAX_WIDTH)
            for (int x = box.left; x <= box.right; x++) {
                if ((at_e | at_f | at_g) >= 0)
                    picture[y][x] = colours[t];
                at_e += e.a;
                at_f += f.a;
                at_g += g.a;
            }
            row_e += e.b;
            row_f += f.b;
            row_g += g.b;
        }
    }
    return 0;
}

/* Limits a row from *first to *last to the pixels on the left of the edge. */
static inline void clip(struct edge e, int y, int *first, int *last)
{
    int rest = e.b * y + e.c;
    if (e.a > 0) {
        int from = rest >= 0 ? 0 : (e.a - 1 - rest) / e.a;
        *first = from > *first ? from : *first;
    } else if (e.a < 0) {
        int to = rest < 0 ? -1 : rest / -e.a;
        *last = to < *last ? to : *last;
    } else if (rest < 0) {
        *last = -1;
    }
}

static uint64_t rasterizer_rows(void)
{
    memset(picture, 0, sizeof picture);
    for (int t = 0; t < TRIANGLES; t++) {
        const struct point *p = corners[t];
        struct edge edges[3] = {edge_of(p[0], p[1]), edge_of(p[1], p[2]), edge_of(p[2], p[0])};
        struct box box = box_of(p);
        JOULE_LOOP(1, MAX_WIDTH)
        for (int y = box.top; y <= box.bottom; y++) {
            int first = box.left, last = box.right;
            for (int i = 0; i < 3; i++)
                clip(edges[i], y, &first, &last);
            if (first <= last)
                memset(&picture[y][first], colours[t], (size_t)(last - first + 1));
        }
    }
    return 0;
}

/* Returns the number of corners of a square that are to the left of an edge. */
static inline int count_left(struct edge e, int x, int y)
{
    int at = value_at(e, x, y), right = e.a * (SQUARE - 1), down = e.b * (SQUARE - 1);
    return (at >= 0) + (at + right >= 0) + (at + down >= 0) + (at + right + down >= 0);
}

static inline void paint_square(const struct edge *edges, uint8_t colour, int left, int top)
{
    for (int y = top; y < top + SQUARE; y++)
        for (int x = left; x < left + SQUARE; x++) {
            bool is_inside =
                (value_at(edges[0], x, y) | value_at(edges[1], x, y) | value_at(edges[2], x, y)) >= 0;
            picture[y][x] = is_inside ? colour : picture[y][x];
        }
}

static uint64_t rasterizer_squares(void)
{
    memset(picture, 0, sizeof picture);
    for (int t = 0; t < TRIANGLES; t++) {
        const struct point *p = corners[t];
        struct edge edges[3] = {edge_of(p[0], p[1]), edge_of(p[1], p[2]), edge_of(p[2], p[0])};
        struct box box = box_of(p);
        JOULE_LOOP(1, MAX_WIDTH / SQUARE + 1)
        for (int y = box.top / SQUARE * SQUARE; y <= box.bottom; y += SQUARE) {
            JOULE_LOOP(1, MAX_WIDTH / SQUARE + 1)
            for (int x = box.left / SQUARE * SQUARE; x <= box.right; x += SQUARE) {
                int e = count_left(edges[0], x, y), f = count_left(edges[1], x, y),
                    g = count_left(edges[2], x, y);
                if (!e || !f || !g)
                    continue;
                if (e + f + g < 12) {
                    paint_square(edges, colours[t], x, y);
                    continue;
                }
                for (int row = 0; row < SQUARE; row++)
                    memset(&picture[y + row][x], colours[t], SQUARE);
            }
        }
    }
    return 0;
}

const struct group rasterizer = {prepare,
                                 picture,
                                 sizeof picture,
                                 {PROGRAM(rasterizer_sides), PROGRAM(rasterizer_sums),
                                  PROGRAM(rasterizer_rows), PROGRAM(rasterizer_squares)}};
