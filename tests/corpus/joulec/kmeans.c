/* tests/corpus/joulec/kmeans.c - which of eight centres each point of a plane is nearest to, the first of several. All values are
 * integers, so that every way to the squares is exact. */
#include "corpus.h"

#define N       4096
#define CENTRES 8

struct point {
    float x, y;
};

static struct point points[N], centres[CENTRES];
static float xs[N], ys[N], least[N];
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

/* One centre after the other, for all points. */
static uint64_t kmeans_by_centre(void)
{
    for (int i = 0; i < N; i++) {
        least[i] = 1e9f;
        nearest[i] = 0;
    }
    for (int k = 0; k < CENTRES; k++) {
        float x = centres[k].x, y = centres[k].y;
        for (int i = 0; i < N; i++) {
            float here = (xs[i] - x) * (xs[i] - x) + (ys[i] - y) * (ys[i] - y);
            nearest[i] = here < least[i] ? k : nearest[i];
            least[i] = here < least[i] ? here : least[i];
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

/* The better of two, and the better of those. */
static uint64_t kmeans_rounds(void)
{
    for (int i = 0; i < N; i++) {
        struct best low = better(of_two(points[i], 0), of_two(points[i], 2));
        nearest[i] = better(low, better(of_two(points[i], 4), of_two(points[i], 6))).at;
    }
    return 0;
}

/* Without the square of the point, which is the same for all. */
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

const struct group kmeans = {
    prepare,
    nearest,
    sizeof nearest,
    {PROGRAM(kmeans_choice), PROGRAM(kmeans_by_centre), PROGRAM(kmeans_rounds), PROGRAM(kmeans_products)}};
