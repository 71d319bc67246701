/* tests/corpus/joulec/percentile.c - the 95th percentile of each of 96 series of 111 samples of 24 bits.
 *
 * The programs use quickselect (Hoare), bisection of the value, a heap of the largest samples, or a radix
 * sort.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define SERIES 96
#define N      111
#define RANK   105        /* number of samples before the percentile in sorted order */
#define TOP    (N - RANK) /* the percentile and all samples after it */

static uint32_t samples[SERIES][N], found[SERIES];

/* Makes mostly small samples, like waiting times. */
static void prepare(void)
{
    for (int s = 0; s < SERIES; s++)
        for (int i = 0; i < N; i++) {
            uint32_t a = corpus_random() >> 16, b = corpus_random() >> 16;
            samples[s][i] = a * b >> 8;
        }
}

static uint64_t percentile_parted(void)
{
    for (int s = 0; s < SERIES; s++) {
        uint32_t v[N];
        int low = 0, high = N - 1;
        memcpy(v, samples[s], sizeof v);
        JOULE_LOOP(1, N)
        while (low < high) {
            uint32_t middle = v[(low + high) / 2];
            int i = low, k = high;
            JOULE_LOOP(1, N)
            do {
                JOULE_LOOP(0, N)
                while (v[i] < middle)
                    i++;
                JOULE_LOOP(0, N)
                while (v[k] > middle)
                    k--;
                if (i <= k) {
                    uint32_t kept = v[i];
                    v[i++] = v[k];
                    v[k--] = kept;
                }
            } while (i <= k);
            if (RANK <= k)
                high = k;
            else if (RANK >= i)
                low = i;
            else
                low = high = RANK;
        }
        found[s] = v[RANK];
    }
    return 0;
}

/* Finds the largest value with at most RANK samples below it, by bisection. */
static uint64_t percentile_halving(void)
{
    for (int s = 0; s < SERIES; s++) {
        uint32_t value = 0;
        for (uint32_t bit = 0x800000; bit > 0; bit >>= 1) {
            uint32_t below = 0;
            for (int i = 0; i < N; i++)
                below += samples[s][i] < (value | bit);
            value |= below <= RANK ? bit : 0;
        }
        found[s] = value;
    }
    return 0;
}

/* Replaces the entry `at` of a min-heap by `value` and restores the order of the heap. */
static inline void sink(uint32_t *heap, int at, uint32_t value)
{
    JOULE_LOOP(0, 2)
    while (2 * at + 1 < TOP) {
        int child = 2 * at + 1;
        if (child + 1 < TOP && heap[child + 1] < heap[child])
            child++;
        if (value <= heap[child])
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

static uint64_t percentile_heap(void)
{
    for (int s = 0; s < SERIES; s++) {
        uint32_t heap[TOP];
        memcpy(heap, samples[s], sizeof heap);
        for (int i = TOP / 2 - 1; i >= 0; i--)
            sink(heap, i, heap[i]);
        for (int i = TOP; i < N; i++)
            if (samples[s][i] > heap[0])
                sink(heap, 0, samples[s][i]);
        found[s] = heap[0];
    }
    return 0;
}

static inline void sort_by_byte(const uint32_t *from, uint32_t *to, int shift)
{
    uint16_t begins[256] = {0}, sum = 0;
    for (int i = 0; i < N; i++)
        begins[from[i] >> shift & 255]++;
    for (int i = 0; i < 256; i++) {
        uint16_t count = begins[i];
        begins[i] = sum;
        sum = (uint16_t)(sum + count);
    }
    for (int i = 0; i < N; i++)
        to[begins[from[i] >> shift & 255]++] = from[i];
}

static uint64_t percentile_sorted(void)
{
    for (int s = 0; s < SERIES; s++) {
        uint32_t v[N], other[N];
        sort_by_byte(samples[s], v, 0);
        sort_by_byte(v, other, 8);
        sort_by_byte(other, v, 16);
        found[s] = v[RANK];
    }
    return 0;
}

const struct group percentile = {prepare,
                                 found,
                                 sizeof found,
                                 {PROGRAM(percentile_parted), PROGRAM(percentile_halving),
                                  PROGRAM(percentile_heap), PROGRAM(percentile_sorted)}};
