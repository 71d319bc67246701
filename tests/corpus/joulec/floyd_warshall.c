/* tests/corpus/joulec/floyd_warshall.c - shortest paths between all pairs of 40 nodes, by the Floyd-Warshall
 * algorithm.
 *
 * The programs visit rows and read the invariant value again or keep it in a register, use pointers to rows,
 * or visit columns.
 */
#include <string.h>
#include "corpus.h"

#define N    40
#define NONE 1000000 /* longer than any path; twice this length does not overflow */

static int32_t edges[N][N], paths[N][N], *rows[N];

/* Edges are undirected. */
static void prepare(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) {
            int32_t length = 1 + (int32_t)(corpus_random() % 1000);
            edges[i][j] = edges[j][i] = corpus_random() % 4 ? NONE : length;
        }
    for (int i = 0; i < N; i++)
        rows[i] = paths[i];
}

static inline int32_t shorter(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static uint64_t floyd_warshall_rows(void)
{
    memcpy(paths, edges, sizeof paths);
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                paths[i][j] = shorter(paths[i][j], paths[i][k] + paths[k][j]);
    return 0;
}

/* The distance to the intermediate node does not change while its row is used. */
static uint64_t floyd_warshall_kept(void)
{
    memcpy(paths, edges, sizeof paths);
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++) {
            int32_t begin = paths[i][k];
            for (int j = 0; j < N; j++)
                paths[i][j] = shorter(paths[i][j], begin + paths[k][j]);
        }
    return 0;
}

static uint64_t floyd_warshall_columns(void)
{
    memcpy(paths, edges, sizeof paths);
    for (int k = 0; k < N; k++)
        for (int j = 0; j < N; j++) {
            int32_t rest = paths[k][j];
            for (int i = 0; i < N; i++)
                paths[i][j] = shorter(paths[i][j], paths[i][k] + rest);
        }
    return 0;
}

/* Accesses rows through a table of pointers. The compiler must assume that the rows may overlap. */
static uint64_t floyd_warshall_addresses(void)
{
    memcpy(paths, edges, sizeof paths);
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++) {
            int32_t *row = rows[i], *rest = rows[k], begin = row[k];
            for (int j = 0; j < N; j++)
                row[j] = shorter(row[j], begin + rest[j]);
        }
    return 0;
}

const struct group floyd_warshall = {prepare,
                                     paths,
                                     sizeof paths,
                                     {PROGRAM(floyd_warshall_rows), PROGRAM(floyd_warshall_kept),
                                      PROGRAM(floyd_warshall_addresses), PROGRAM(floyd_warshall_columns)}};
