/* tests/corpus/joulec/runge_kutta.c - Runge-Kutta steps of the Lorenz system from 32 start points. All
 * programs round in the same way.
 *
 * The programs compute one point or two points at once, make a call for each slope, or use vectors and a
 * function pointer.
 */
#include "corpus.h"

#define PLACES 32
#define STEPS  24
#define STEP   0.0078125
#define SIGMA  10.0
#define RHO    28.0
#define BETA   2.6640625

struct place {
    double x, y, z;
};

static struct place starts[PLACES], ends[PLACES];

static void prepare(void)
{
    for (int i = 0; i < PLACES; i++) {
        double parts[3];
        for (int d = 0; d < 3; d++)
            parts[d] = (double)(corpus_random() >> 16) / 4096.0 - 8.0;
        starts[i] = (struct place){parts[0], parts[1], parts[2] + 20.0};
    }
}

static inline struct place flow(struct place p)
{
    return (struct place){SIGMA * (p.y - p.x), p.x * (RHO - p.z) - p.y, p.x * p.y - BETA * p.z};
}

static inline struct place moved(struct place p, struct place by, double time)
{
    return (struct place){p.x + time * by.x, p.y + time * by.y, p.z + time * by.z};
}

static inline struct place step(struct place p)
{
    struct place a = flow(p), b = flow(moved(p, a, STEP / 2)), c = flow(moved(p, b, STEP / 2)),
                 d = flow(moved(p, c, STEP));
    struct place sum = {a.x + 2 * (b.x + c.x) + d.x, a.y + 2 * (b.y + c.y) + d.y,
                        a.z + 2 * (b.z + c.z) + d.z};
    return moved(p, sum, STEP / 6);
}

static uint64_t runge_kutta_each(void)
{
    for (int i = 0; i < PLACES; i++) {
        struct place p = starts[i];
        for (int n = 0; n < STEPS; n++)
            p = step(p);
        ends[i] = p;
    }
    return 0;
}

static uint64_t runge_kutta_two(void)
{
    for (int i = 0; i < PLACES; i += 2) {
        struct place p = starts[i], q = starts[i + 1];
        for (int n = 0; n < STEPS; n++) {
            p = step(p);
            q = step(q);
        }
        ends[i] = p;
        ends[i + 1] = q;
    }
    return 0;
}

__attribute__((noinline)) static struct place called_flow(const struct place *p)
{
    return flow(*p);
}

static uint64_t runge_kutta_called(void)
{
    for (int i = 0; i < PLACES; i++) {
        struct place p = starts[i];
        for (int n = 0; n < STEPS; n++) {
            struct place a = called_flow(&p), sum = a, next = moved(p, a, STEP / 2);
            struct place b = called_flow(&next);
            next = moved(p, b, STEP / 2);
            struct place c = called_flow(&next);
            next = moved(p, c, STEP);
            struct place d = called_flow(&next);
            sum.x = a.x + 2 * (b.x + c.x) + d.x;
            sum.y = a.y + 2 * (b.y + c.y) + d.y;
            sum.z = a.z + 2 * (b.z + c.z) + d.z;
            p = moved(p, sum, STEP / 6);
        }
        ends[i] = p;
    }
    return 0;
}

__attribute__((noinline)) static void flow_of_vector(const double *p, double *slope)
{
    slope[0] = SIGMA * (p[1] - p[0]);
    slope[1] = p[0] * (RHO - p[2]) - p[1];
    slope[2] = p[0] * p[1] - BETA * p[2];
}

__attribute__((noinline)) static void step_of_vector(double *p, void (*derive)(const double *, double *))
{
    static const double times[3] = {STEP / 2, STEP / 2, STEP};
    double k[4][3], next[3];
    derive(p, k[0]);
    for (int stage = 0; stage < 3; stage++) {
        for (int d = 0; d < 3; d++)
            next[d] = p[d] + times[stage] * k[stage][d];
        derive(next, k[stage + 1]);
    }
    for (int d = 0; d < 3; d++)
        p[d] += STEP / 6 * (k[0][d] + 2 * (k[1][d] + k[2][d]) + k[3][d]);
}

static uint64_t runge_kutta_vectors(void)
{
    for (int i = 0; i < PLACES; i++) {
        double p[3] = {starts[i].x, starts[i].y, starts[i].z};
        for (int n = 0; n < STEPS; n++)
            step_of_vector(p, flow_of_vector);
        ends[i] = (struct place){p[0], p[1], p[2]};
    }
    return 0;
}

const struct group runge_kutta = {prepare,
                                  ends,
                                  sizeof ends,
                                  {PROGRAM(runge_kutta_each), PROGRAM(runge_kutta_two),
                                   PROGRAM(runge_kutta_called), PROGRAM(runge_kutta_vectors)}};
