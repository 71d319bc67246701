/* tests/corpus/joulec/sort.c - sorts many short arrays by elementary methods.
 *
 * The programs use insertion sort, selection sort, bubble sort, ranks, or shell sort.
 */
#include <joule/budget.h>
#include "corpus.h"

#define ARRAYS 1024
#define N      16

static int32_t in[ARRAYS][N], out[ARRAYS][N];

static void prepare(void)
{
    for (int a = 0; a < ARRAYS; a++)
        for (int i = 0; i < N; i++)
            in[a][i] = (int32_t)(corpus_random() >> 8);
}

static uint64_t sort_insertion(void)
{
    for (int a = 0; a < ARRAYS; a++)
        for (int i = 0; i < N; i++) {
            int32_t v = in[a][i];
            int k = i;
            for (; k > 0 && out[a][k - 1] > v; k--)
                out[a][k] = out[a][k - 1];
            out[a][k] = v;
        }
    return 0;
}

static void copy(void)
{
    for (int a = 0; a < ARRAYS; a++)
        for (int i = 0; i < N; i++)
            out[a][i] = in[a][i];
}

static uint64_t sort_selection(void)
{
    copy();
    for (int a = 0; a < ARRAYS; a++)
        for (int i = 0; i < N - 1; i++) {
            int smallest = i;
            for (int k = i + 1; k < N; k++)
                if (out[a][k] < out[a][smallest])
                    smallest = k;
            int32_t v = out[a][i];
            out[a][i] = out[a][smallest];
            out[a][smallest] = v;
        }
    return 0;
}

static uint64_t sort_bubble(void)
{
    copy();
    for (int a = 0; a < ARRAYS; a++)
        for (int last = N - 1; last > 0; last--)
            for (int k = 0; k < last; k++)
                if (out[a][k] > out[a][k + 1]) {
                    int32_t v = out[a][k];
                    out[a][k] = out[a][k + 1];
                    out[a][k + 1] = v;
                }
    return 0;
}

/* The index of a value is the number of values that are smaller than the value, or equal to it and before
 * it. */
static uint64_t sort_rank(void)
{
    for (int a = 0; a < ARRAYS; a++)
        for (int i = 0; i < N; i++) {
            int rank = 0;
            for (int k = 0; k < N; k++)
                rank += (in[a][k] < in[a][i]) | ((in[a][k] == in[a][i]) & (k < i));
            out[a][rank] = in[a][i];
        }
    return 0;
}

/* Sorts with a gap of four, and then with a gap of one. */
static uint64_t sort_shell(void)
{
    copy();
    for (int a = 0; a < ARRAYS; a++)
        for (int gap = 4; gap > 0; gap -= 3)
            for (int i = gap; i < N; i++) {
                int32_t v = out[a][i];
                int k = i;
                JOULE_LOOP(0, 15)
                for (; k >= gap && out[a][k - gap] > v; k -= gap)
                    out[a][k] = out[a][k - gap];
                out[a][k] = v;
            }
    return 0;
}

const struct group sort = {prepare,
                           out,
                           sizeof out,
                           {PROGRAM(sort_insertion), PROGRAM(sort_selection), PROGRAM(sort_bubble),
                            PROGRAM(sort_rank), PROGRAM(sort_shell)}};
