/* tests/corpus/joulec/lcs.c - the length of the longest common subsequence of two texts.
 *
 * The programs fill a whole table, compute two rows in one pass, use the maximum of all candidates, or visit
 * diagonals.
 */
#include "corpus.h"

#define N 192

static uint8_t a[N], b[N];
static uint16_t table[N + 1][N + 1], rows[2][N + 1], row[N + 1];
static uint32_t diagonals[3][N + 1];

static void prepare(void)
{
    for (int i = 0; i < N; i++) {
        a[i] = (uint8_t)(corpus_random() % 4);
        b[i] = (uint8_t)(corpus_random() % 4);
    }
}

static uint16_t longer(uint16_t x, uint16_t y)
{
    return x > y ? x : y;
}

static uint64_t lcs_table(void)
{
    for (int i = 0; i <= N; i++)
        table[i][0] = table[0][i] = 0;
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++)
            table[i][j] = a[i - 1] == b[j - 1] ? (uint16_t)(table[i - 1][j - 1] + 1)
                                               : longer(table[i - 1][j], table[i][j - 1]);
    return table[N][N];
}

/* Computes two rows in one pass over one array. */
static uint64_t lcs_two_rows(void)
{
    for (int j = 0; j <= N; j++)
        row[j] = 0;
    for (int i = 0; i < N; i += 2) {
        uint16_t corner = 0, left = 0, below = 0;
        for (int j = 1; j <= N; j++) {
            uint16_t above = row[j];
            uint16_t here = longer(longer(above, left), (uint16_t)(corner + (a[i] == b[j - 1])));
            below = longer(longer(here, below), (uint16_t)(left + (a[i + 1] == b[j - 1])));
            row[j] = below;
            corner = above;
            left = here;
        }
    }
    return row[N];
}

/* Neighbours differ by at most 1. So the maximum of all three candidates is correct, whether the letters are
 * equal or not. */
static uint64_t lcs_longest(void)
{
    for (int j = 0; j <= N; j++)
        rows[0][j] = 0;
    for (int i = 0; i < N; i++) {
        uint16_t left = 0;
        for (int j = 1; j <= N; j++)
            rows[1][j] = longer(rows[0][j], (uint16_t)(rows[0][j - 1] + (a[i] == b[j - 1])));
        for (int j = 1; j <= N; j++)
            rows[0][j] = left = longer(left, rows[1][j]);
    }
    return rows[0][N];
}

/* Cells with equal i + j form a diagonal, and do not depend on each other. Cells outside of the table stay
 * 0. */
static uint64_t lcs_diagonals(void)
{
    for (int k = 0; k < 3; k++)
        for (int i = 0; i <= N; i++)
            diagonals[k][i] = 0;
    uint32_t *before = diagonals[0], *last = diagonals[1], *here = diagonals[2];
    for (int d = 2; d <= 2 * N; d++) {
        int first = d > N ? d - N : 1, end = d > N ? N : d - 1;
        for (int i = first; i <= end; i++) {
            uint32_t same = before[i - 1] + (a[i - 1] == b[d - i - 1]), longest = last[i - 1];
            longest = longest > last[i] ? longest : last[i];
            here[i] = longest > same ? longest : same;
        }
        uint32_t *kept = before;
        before = last;
        last = here;
        here = kept;
    }
    return last[N];
}

const struct group lcs = {
    prepare,
    NULL,
    0,
    {PROGRAM(lcs_table), PROGRAM(lcs_two_rows), PROGRAM(lcs_longest), PROGRAM(lcs_diagonals)}};
