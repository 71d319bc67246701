/* tests/corpus/joulec/floyd_warshall.c - the shortest way between any two towns of 40, of which not all have a road to each other, through
 * one town after the other (Floyd, Warshall): by rows, with what stays the same read again or kept, by addresses of rows,
 * by columns. */
#include <string.h>
#include "corpus.h"

#define N    40
#define NONE 1000000 /* further than any way; twice as much is a number, too */

static int32_t roads[N][N], ways[N][N], *rows[N];

/* Roads lead both ways. */
static void prepare(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) {
            int32_t length = 1 + (int32_t)(corpus_random() % 1000);
            roads[i][j] = roads[j][i] = corpus_random() % 4 ? NONE : length;
        }
    for (int i = 0; i < N; i++)
        rows[i] = ways[i];
}

static inline int32_t shorter(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static uint64_t floyd_warshall_rows(void)
{
    memcpy(ways, roads, sizeof ways);
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                ways[i][j] = shorter(ways[i][j], ways[i][k] + ways[k][j]);
    return 0;
}

/* The way to the town in between does not change while its row is in use. */
static uint64_t floyd_warshall_kept(void)
{
    memcpy(ways, roads, sizeof ways);
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++) {
            int32_t begin = ways[i][k];
            for (int j = 0; j < N; j++)
                ways[i][j] = shorter(ways[i][j], begin + ways[k][j]);
        }
    return 0;
}

static uint64_t floyd_warshall_columns(void)
{
    memcpy(ways, roads, sizeof ways);
    for (int k = 0; k < N; k++)
        for (int j = 0; j < N; j++) {
            int32_t rest = ways[k][j];
            for (int i = 0; i < N; i++)
                ways[i][j] = shorter(ways[i][j], ways[i][k] + rest);
        }
    return 0;
}

/* The addresses of rows are in a table, and nobody promises that they differ. */
static uint64_t floyd_warshall_addresses(void)
{
    memcpy(ways, roads, sizeof ways);
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++) {
            int32_t *row = rows[i], *rest = rows[k], begin = row[k];
            for (int j = 0; j < N; j++)
                row[j] = shorter(row[j], begin + rest[j]);
        }
    return 0;
}

const struct group floyd_warshall = {prepare,
                                     ways,
                                     sizeof ways,
                                     {PROGRAM(floyd_warshall_rows), PROGRAM(floyd_warshall_kept),
                                      PROGRAM(floyd_warshall_addresses), PROGRAM(floyd_warshall_columns)}};
