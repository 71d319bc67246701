/* base/nearest.c - see nearest.h. */
#include "base/nearest.h"

#include <string.h>

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned d = a < b ? a : b;
    return d < c ? d : c;
}

/* Returns the minimum number of letters to change, insert, delete or swap with a neighbour, to turn `a` into
 * `b`. Returns NEAREST_MAX_LENGTH if a word is longer than NEAREST_MAX_LENGTH. */
static unsigned distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned d[NEAREST_MAX_LENGTH + 1][NEAREST_MAX_LENGTH + 1];
    if (n > NEAREST_MAX_LENGTH || m > NEAREST_MAX_LENGTH)
        return NEAREST_MAX_LENGTH;
    for (size_t i = 0; i <= n; i++) {
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = (unsigned)(i + j);
                continue;
            }
            unsigned change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = min3(d[i][j], d[i - 2][j - 2] + 1, d[i][j]);
        }
    }
    return d[n][m];
}

const char *nearest_word(const char *word, size_t count,
                         const char *(*word_at)(size_t index, const void *context), const void *context)
{
    const char *best = NULL;
    unsigned best_distance = strlen(word) > 3 ? 3 : 2; /* exclusive */
    for (size_t i = 0; i < count; i++) {
        unsigned d = distance(word, word_at(i, context));
        if (d < best_distance) {
            best_distance = d;
            best = word_at(i, context);
        }
    }
    return best;
}
