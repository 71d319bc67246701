/* bench/levels.c - loops whose data fits in a certain cache level. bench/levels.py compares their cost with
 * joulec's predictions.
 *
 * Arrays are filled once, and each function is called repeatedly, so that its data is in the cache where the
 * previous call left it. joulec assumes the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KIB    (1024 / sizeof(double))
#define NEAR   (4 * KIB)
#define MIDDLE (256 * KIB)
#define FAR    (65536 * KIB)
#define SIDE   1024
#define NODES  (1u << 20)

struct node {
    struct node *next;
    uint64_t key[7];
};

double far_a[FAR], far_b[FAR], square[SIDE][SIDE], product[SIDE][SIDE];
uint32_t ring_near[1024], ring_far[1u << 24];
struct node nodes[NODES];

#define KERNEL static __attribute__((noinline)) double

KERNEL sum_near(void)
{
    double sum = 0;
    for (size_t i = 0; i < NEAR; i++)
        sum += far_a[i];
    return sum;
}

KERNEL sum_middle(void)
{
    double sum = 0;
    for (size_t i = 0; i < MIDDLE; i++)
        sum += far_a[i];
    return sum;
}

KERNEL sum_far(void)
{
    double sum = 0;
    for (size_t i = 0; i < FAR; i++)
        sum += far_a[i];
    return sum;
}

KERNEL count_far(void) /* no dependence chain: cache lines limit the speed */
{
    uint64_t count = 0;
    for (size_t i = 0; i < FAR; i += 8)
        count += far_a[i] > 0.5;
    return (double)count;
}

KERNEL axpy_near(void)
{
    for (size_t i = 0; i < NEAR / 2; i++)
        far_b[i] += 1.5 * far_a[i];
    return far_b[0];
}

KERNEL axpy_middle(void)
{
    for (size_t i = 0; i < MIDDLE; i++)
        far_b[i] += 1.5 * far_a[i];
    return far_b[0];
}

KERNEL axpy_far(void)
{
    for (size_t i = 0; i < FAR; i++)
        far_b[i] += 1.5 * far_a[i];
    return far_b[0];
}

KERNEL rows(void)
{
    double sum = 0;
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++)
            sum += square[i][j];
    return sum;
}

KERNEL columns(void)
{
    double sum = 0;
    for (size_t j = 0; j < SIDE; j++)
        for (size_t i = 0; i < SIDE; i++)
            sum += square[i][j];
    return sum;
}

KERNEL transpose(void)
{
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++)
            product[j][i] = square[i][j];
    return product[1][2];
}

KERNEL chase_near(void)
{
    uint32_t at = 0;
    for (int i = 0; i < 10000; i++)
        at = ring_near[at & 1023];
    return at;
}

KERNEL chase_far(void)
{
    uint32_t at = 0;
    for (int i = 0; i < 10000; i++)
        at = ring_far[at & 0xffffff];
    return at;
}

KERNEL list(void)
{
    uint64_t sum = 0;
    const struct node *at = nodes;
    for (int i = 0; i < 100000; i++) {
        sum += at->key[0];
        at = at->next;
    }
    return (double)sum;
}

KERNEL gather_far(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 100000; i++)
        sum += ring_far[i * 2654435761u >> 8];
    return (double)sum;
}

KERNEL stencil(void)
{
    for (size_t i = 1; i + 1 < SIDE; i++)
        for (size_t j = 1; j + 1 < SIDE; j++)
            product[i][j] =
                square[i][j] + square[i - 1][j] + square[i + 1][j] + square[i][j - 1] + square[i][j + 1];
    return product[3][4];
}

/* --- measuring ------------------------------------------------------------------------------------------ */

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Creates one cycle through all elements, in random order. */
static void make_ring(uint32_t *ring, uint32_t count)
{
    uint64_t state = count;
    for (uint32_t i = 0; i < count; i++)
        ring[i] = i;
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t k = (uint32_t)(draw(&state) % i), kept = ring[i];
        ring[i] = ring[k];
        ring[k] = kept;
    }
}

static void fill(void)
{
    for (size_t i = 0; i < FAR; i++)
        far_a[i] = (double)(i % 7), far_b[i] = 1;
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++)
            square[i][j] = product[i][j] = (double)(i ^ j);
    make_ring(ring_near, 1024);
    make_ring(ring_far, 1u << 24);
    uint32_t *order = malloc(NODES * sizeof *order);
    if (!order)
        exit(1);
    make_ring(order, NODES);
    for (uint32_t i = 0; i < NODES; i++)
        nodes[i] = (struct node){.next = &nodes[order[i]], .key = {i}};
    free(order);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double run(double (*kernel)(void), long calls)
{
    volatile double kept;
    double begin = now();
    for (long i = 0; i < calls; i++)
        kept = kernel();
    (void)kept;
    return now() - begin;
}

/* Returns the CPU seconds of one call. The result is the minimum of several runs, so it excludes most other
 * load. */
static double measure(double (*kernel)(void))
{
    long calls = 1;
    double least = run(kernel, 1); /* this run also warms up */
    while (run(kernel, calls) < 0.02)
        calls *= 2;
    for (int i = 0; i < 9; i++) {
        double each = run(kernel, calls) / (double)calls;
        least = each < least ? each : least;
    }
    return least;
}

int main(void)
{
    static const struct {
        const char *name;
        double (*kernel)(void);
    } all[] = {{"sum_near", sum_near},
               {"sum_middle", sum_middle},
               {"sum_far", sum_far},
               {"count_far", count_far},
               {"axpy_near", axpy_near},
               {"axpy_middle", axpy_middle},
               {"axpy_far", axpy_far},
               {"rows", rows},
               {"columns", columns},
               {"transpose", transpose},
               {"chase_near", chase_near},
               {"chase_far", chase_far},
               {"list", list},
               {"gather_far", gather_far},
               {"stencil", stencil}};
    fill();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        printf("%s %.4g\n", all[i].name, measure(all[i].kernel));
    return 0;
}
