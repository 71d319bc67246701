/* tests/corpus/joulec/dither.c - error-diffusion dithering of a 96 x 64 grey image. Each pixel passes its
 * error on to four later pixels.
 *
 * The programs keep errors in a copy of the image, in two rows or in one row, or use a table of shares.
 */
#include <string.h>
#include "corpus.h"

#define WIDTH  96
#define HEIGHT 64
#define WHITE  255

static uint8_t picture[HEIGHT][WIDTH], dots[HEIGHT][WIDTH];

/* Shares of a pixel's error. The last share is the remainder, so that the sum of all shares is exact. */
struct shares {
    int8_t right, below_left, below, below_right;
};

static struct shares shares_of[WHITE + 1];

static inline int clamped(int v)
{
    return v < 0 ? 0 : v > WHITE ? WHITE : v;
}

static inline struct shares share(int error)
{
    int right = error * 7 / 16, below_left = error * 3 / 16, below = error * 5 / 16;
    return (struct shares){(int8_t)right, (int8_t)below_left, (int8_t)below,
                           (int8_t)(error - right - below_left - below)};
}

/* Makes an image of waves and noise. */
static void prepare(void)
{
    uint32_t phase = corpus_random() % 64, slope = 1 + corpus_random() % 7;
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t x = 0; x < WIDTH; x++) {
            uint32_t wave = (phase + slope * x + 3 * y) % 384;
            uint32_t light = wave < 192 ? wave : 384 - wave;
            picture[y][x] = (uint8_t)(light + corpus_random() % 64);
        }
    for (int v = 0; v <= WHITE; v++)
        shares_of[v] = share(v > WHITE / 2 ? v - WHITE : v);
}

static uint64_t dither_copy(void)
{
    static int16_t copy[HEIGHT + 1][WIDTH + 2]; /* with a border for errors outside the image */
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            copy[y][x + 1] = picture[y][x];
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            int v = clamped(copy[y][x + 1]);
            dots[y][x] = v > WHITE / 2 ? WHITE : 0;
            struct shares s = share(v - dots[y][x]);
            copy[y][x + 2] = (int16_t)(copy[y][x + 2] + s.right);
            copy[y + 1][x] = (int16_t)(copy[y + 1][x] + s.below_left);
            copy[y + 1][x + 1] = (int16_t)(copy[y + 1][x + 1] + s.below);
            copy[y + 1][x + 2] = (int16_t)(copy[y + 1][x + 2] + s.below_right);
        }
    return 0;
}

static uint64_t dither_rows(void)
{
    int errors[2][WIDTH + 2];
    memset(errors, 0, sizeof errors);
    for (int y = 0; y < HEIGHT; y++) {
        int *here = errors[y % 2] + 1, *next = errors[1 - y % 2] + 1;
        memset(next - 1, 0, sizeof errors[0]);
        for (int x = 0; x < WIDTH; x++) {
            int v = clamped(picture[y][x] + here[x]), error = v;
            dots[y][x] = 0;
            if (v > WHITE / 2) {
                dots[y][x] = WHITE;
                error = v - WHITE;
            }
            struct shares s = share(error);
            here[x + 1] += s.right;
            next[x - 1] += s.below_left;
            next[x] += s.below;
            next[x + 1] += s.below_right;
        }
    }
    return 0;
}

/* Keeps the error for the next pixel, and incomplete errors of the row below, in registers. */
static uint64_t dither_row(void)
{
    int16_t errors[WIDTH + 1] = {0}; /* errors[x + 1] belongs to pixel x of the row below */
    for (int y = 0; y < HEIGHT; y++) {
        int right = 0, below = 0, below_right = 0;
        for (int x = 0; x < WIDTH; x++) {
            int v = clamped(picture[y][x] + errors[x + 1] + right);
            int dot = v > WHITE / 2 ? WHITE : 0;
            struct shares s = share(v - dot);
            dots[y][x] = (uint8_t)dot;
            right = s.right;
            errors[x] = (int16_t)(below + s.below_left);
            below = below_right + s.below;
            below_right = s.below_right;
        }
        errors[WIDTH] = (int16_t)below;
    }
    return 0;
}

static uint64_t dither_table(void)
{
    int16_t errors[WIDTH + 2] = {0};
    for (int y = 0; y < HEIGHT; y++) {
        struct shares last = {0, 0, 0, 0};
        int below = 0;
        for (int x = 0; x < WIDTH; x++) {
            int v = clamped(picture[y][x] + errors[x + 1] + last.right);
            struct shares s = shares_of[v];
            dots[y][x] = (uint8_t) - (v >> 7);
            errors[x] = (int16_t)(below + s.below_left);
            below = last.below_right + s.below;
            last = s;
        }
        errors[WIDTH] = (int16_t)below;
    }
    return 0;
}

const struct group dither = {
    prepare,
    dots,
    sizeof dots,
    {PROGRAM(dither_copy), PROGRAM(dither_rows), PROGRAM(dither_row), PROGRAM(dither_table)}};
