/* tests/corpus/joulec/rgb_to_yuv.c - conversion of RGB pixels to luma and chroma.
 *
 * The programs use products, a table for each product, tables of packed results, or planes of colours.
 */
#include <string.h>
#include "corpus.h"

#define N 2048

struct pixel {
    uint8_t red, green, blue;
};

static struct pixel pixels[N];
static uint8_t planes[3][N];
static int32_t tables[3][3][256];
static uint64_t packed[3][256];
static int16_t colours[3][N];

/* Factors of BT.601 for luma that begins at 16, times 256. The last column is the offset, which includes half
 * a unit for rounding. */
static const int32_t factors[3][4] = {
    {66, 129, 25, (16 << 8) + 128}, {-38, -74, 112, (128 << 8) + 128}, {112, -94, -18, (128 << 8) + 128}};

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        pixels[i] =
            (struct pixel){(uint8_t)corpus_random(), (uint8_t)corpus_random(), (uint8_t)corpus_random()};
    memset(packed, 0, sizeof packed);
    for (int p = 0; p < 3; p++)
        for (int c = 0; c < 3; c++)
            for (int v = 0; v < 256; v++) {
                tables[p][c][v] = factors[p][c] * v + (c == 0 ? factors[p][3] : 0);
                packed[c][v] += (uint64_t)tables[p][c][v] << (20 * p);
            }
}

static uint64_t rgb_to_yuv_products(void)
{
    for (int i = 0; i < N; i++) {
        int32_t r = pixels[i].red, g = pixels[i].green, b = pixels[i].blue;
        planes[0][i] = (uint8_t)((66 * r + 129 * g + 25 * b + factors[0][3]) >> 8);
        planes[1][i] = (uint8_t)((-38 * r - 74 * g + 112 * b + factors[1][3]) >> 8);
        planes[2][i] = (uint8_t)((112 * r - 94 * g - 18 * b + factors[2][3]) >> 8);
    }
    return 0;
}

static uint64_t rgb_to_yuv_tables(void)
{
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < N; i++) {
            int32_t sum =
                tables[p][0][pixels[i].red] + tables[p][1][pixels[i].green] + tables[p][2][pixels[i].blue];
            planes[p][i] = (uint8_t)(sum >> 8);
        }
    return 0;
}

/* Uses fields of 20 bits, whose sums are never negative. */
static uint64_t rgb_to_yuv_packed(void)
{
    for (int i = 0; i < N; i++) {
        uint64_t sum = packed[0][pixels[i].red] + packed[1][pixels[i].green] + packed[2][pixels[i].blue];
        planes[0][i] = (uint8_t)(sum >> 8);
        planes[1][i] = (uint8_t)(sum >> 28);
        planes[2][i] = (uint8_t)(sum >> 48);
    }
    return 0;
}

/* Separates the three colours first, and then computes one result after the other. */
static uint64_t rgb_to_yuv_planes(void)
{
    for (int i = 0; i < N; i++) {
        colours[0][i] = pixels[i].red;
        colours[1][i] = pixels[i].green;
        colours[2][i] = pixels[i].blue;
    }
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < N; i++) {
            int32_t sum =
                factors[p][0] * colours[0][i] + factors[p][1] * colours[1][i] + factors[p][2] * colours[2][i];
            planes[p][i] = (uint8_t)((sum + factors[p][3]) >> 8);
        }
    return 0;
}

const struct group rgb_to_yuv = {prepare,
                                 planes,
                                 sizeof planes,
                                 {PROGRAM(rgb_to_yuv_products), PROGRAM(rgb_to_yuv_tables),
                                  PROGRAM(rgb_to_yuv_packed), PROGRAM(rgb_to_yuv_planes)}};
