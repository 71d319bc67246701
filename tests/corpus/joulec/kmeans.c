/* tests/corpus/joulec/kmeans.c - the nearest of eight centres for each point of a plane. If several centres
 * are equally near, the result is the first of them. All values are integers, so that squares are exact.
 *
 * The programs use conditional moves, visit all points for one centre at a time, use a tournament of pairs,
 * or use products.
 */
#include "corpus.h"

#define N       4096
#define CENTRES 8

struct point {
    float x, y;
};

static struct point points[N], centres[CENTRES];
static float xs[N], ys[N], minimum[N];
static int32_t nearest[N];

static void prepare(void)
{
    for (int i = 0; i < N; i++) {
        points[i].x = xs[i] = (float)(corpus_random() % 1024);
        points[i].y = ys[i] = (float)(corpus_random() % 1024);
    }
    for (int k = 0; k < CENTRES; k++)
        centres[k] = (struct point){(float)(corpus_random() % 1024), (float)(corpus_random() % 1024)};
}

static inline float square(struct point p, struct point q)
{
    return (p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y);
}

static uint64_t kmeans_choice(void)
{
    for (int i = 0; i < N; i++) {
        float best = square(points[i], centres[0]);
        int32_t at = 0;
        for (int k = 1; k < CENTRES; k++) {
            float here = square(points[i], centres[k]);
            at = here < best ? k : at;
            best = here < best ? here : best;
        }
        nearest[i] = at;
    }
    return 0;
}

/* Visits all points for one centre, then for the next. */
static uint64_t kmeans_by_centre(void)
{
    for (int i = 0; i < N; i++) {
        minimum[i] = 1e9f;
        nearest[i] = 0;
    }
    for (int k = 0; k < CENTRES; k++) {
        float x = centres[k].x, y = centres[k].y;
        for (int i = 0; i < N; i++) {
            float here = (xs[i] - x) * (xs[i] - x) + (ys[i] - y) * (ys[i] - y);
            nearest[i] = here < minimum[i] ? k : nearest[i];
            minimum[i] = here < minimum[i] ? here : minimum[i];
        }
    }
    return 0;
}

struct best {
    float square;
    int32_t at;
};

static inline struct best better(struct best p, struct best q)
{
    return q.square < p.square ? q : p;
}

static inline struct best of_two(struct point p, int32_t k)
{
    return better((struct best){square(p, centres[k]), k}, (struct best){square(p, centres[k + 1]), k + 1});
}

/* Compares pairs of centres, then the winners. */
static uint64_t kmeans_tournament(void)
{
    for (int i = 0; i < N; i++) {
        struct best low = better(of_two(points[i], 0), of_two(points[i], 2));
        nearest[i] = better(low, better(of_two(points[i], 4), of_two(points[i], 6))).at;
    }
    return 0;
}

/* Omits the square of the point from the distance, because it is equal for all centres. */
static uint64_t kmeans_products(void)
{
    for (int i = 0; i < N; i++) {
        double best = 0;
        int32_t at = 0;
        for (int k = 0; k < CENTRES; k++) {
            double x = centres[k].x, y = centres[k].y;
            double here = x * x + y * y - 2 * (points[i].x * x + points[i].y * y);
            at = k == 0 || here < best ? k : at;
            best = k == 0 || here < best ? here : best;
        }
        nearest[i] = at;
    }
    return 0;
}

const struct group kmeans = {prepare,
                             nearest,
                             sizeof nearest,
                             {PROGRAM(kmeans_choice), PROGRAM(kmeans_by_centre), PROGRAM(kmeans_tournament),
                              PROGRAM(kmeans_products)}};
