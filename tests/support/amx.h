/* support/amx.h - the tiles of AMX in plain C, for isa/linear_amx.inc on processors without them.
 *
 * Intel's manual, volume 2: LDTILECFG, TILELOADD, TILESTORED, TILEZERO, TDPBSUD, TDPBF16PS. As the processor
 * does, an instruction on a tile that is not configured, or with operands whose sizes do not fit, fails: here
 * the process aborts. */
#ifndef SUPPORT_AMX_H
#define SUPPORT_AMX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define AMX_IS_EMULATED
#define AMX
#define has_amx()                       true
#define tile_load_config(config)        amx_load_config(config)
#define tile_release()                  memset(&amx, 0, sizeof amx)
#define tile_zero(tile)                 amx_zero(tile)
#define tile_load(tile, from, stride)   amx_load(tile, from, stride)
#define tile_store(tile, to, stride)    amx_store(tile, to, stride)
#define tile_add_bytes(sum, x, weights) amx_add_bytes(sum, x, weights)
#define tile_add_bf16(sum, x, weights)  amx_add_bf16(sum, x, weights)

enum { AMX_TILES = 8, AMX_TILE_ROWS = 16, AMX_TILE_ROW_BYTES = 64 };

struct amx_tile {
    size_t rows, row_bytes; /* 0: not configured */
    uint8_t bytes[AMX_TILE_ROWS][AMX_TILE_ROW_BYTES];
};
static struct {
    struct amx_tile tiles[AMX_TILES];
} amx;

static void amx_check(bool condition)
{
    if (!condition)
        abort();
}

static struct amx_tile *amx_tile_of(int tile)
{
    amx_check(tile >= 0 && tile < AMX_TILES && amx.tiles[tile].rows > 0 && amx.tiles[tile].row_bytes > 0);
    return &amx.tiles[tile];
}

static void amx_load_config(const void *config)
{
    const uint8_t *c = config;
    amx_check(c[0] == 1);
    memset(&amx, 0, sizeof amx);
    for (size_t i = 0; i < AMX_TILES; i++) {
        amx.tiles[i].row_bytes = c[16 + 2 * i] | (size_t)c[17 + 2 * i] << 8;
        amx.tiles[i].rows = c[48 + i];
        amx_check(amx.tiles[i].rows <= AMX_TILE_ROWS && amx.tiles[i].row_bytes <= AMX_TILE_ROW_BYTES);
    }
}

static void amx_zero(int tile)
{
    struct amx_tile *t = amx_tile_of(tile);
    memset(t->bytes, 0, sizeof t->bytes);
}

static void amx_load(int tile, const void *from, size_t stride)
{
    struct amx_tile *t = amx_tile_of(tile);
    memset(t->bytes, 0, sizeof t->bytes);
    for (size_t row = 0; row < t->rows; row++)
        memcpy(t->bytes[row], (const uint8_t *)from + row * stride, t->row_bytes);
}

static void amx_store(int tile, void *to, size_t stride)
{
    const struct amx_tile *t = amx_tile_of(tile);
    for (size_t row = 0; row < t->rows; row++)
        memcpy((uint8_t *)to + row * stride, t->bytes[row], t->row_bytes);
}

/* Checks the sizes of the operands of a product: sum [m, n words], x [m, k words], weights [k, n words]. */
static void amx_check_product(const struct amx_tile *sum, const struct amx_tile *x,
                              const struct amx_tile *weights)
{
    amx_check(sum->rows == x->rows && sum->row_bytes == weights->row_bytes &&
              x->row_bytes == 4 * weights->rows);
}

static void amx_add_bytes(int to, int left, int right)
{
    struct amx_tile *sum = amx_tile_of(to), *x = amx_tile_of(left), *weights = amx_tile_of(right);
    amx_check_product(sum, x, weights);
    for (size_t row = 0; row < sum->rows; row++)
        for (size_t k = 0; k < weights->rows; k++)
            for (size_t column = 0; column < sum->row_bytes / 4; column++) {
                int32_t total;
                memcpy(&total, &sum->bytes[row][4 * column], 4);
                for (size_t i = 0; i < 4; i++)
                    total += (int8_t)x->bytes[row][4 * k + i] * weights->bytes[k][4 * column + i];
                memcpy(&sum->bytes[row][4 * column], &total, 4);
            }
}

static float amx_bf16(const uint8_t *from)
{
    uint16_t upper;
    memcpy(&upper, from, sizeof upper);
    uint32_t bits = (uint32_t)upper << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void amx_add_bf16(int to, int left, int right)
{
    struct amx_tile *sum = amx_tile_of(to), *x = amx_tile_of(left), *weights = amx_tile_of(right);
    amx_check_product(sum, x, weights);
    for (size_t row = 0; row < sum->rows; row++)
        for (size_t k = 0; k < weights->rows; k++)
            for (size_t column = 0; column < sum->row_bytes / 4; column++) {
                float total;
                memcpy(&total, &sum->bytes[row][4 * column], 4);
                for (size_t i = 0; i < 4; i += 2)
                    total +=
                        amx_bf16(&x->bytes[row][4 * k + i]) * amx_bf16(&weights->bytes[k][4 * column + i]);
                memcpy(&sum->bytes[row][4 * column], &total, 4);
            }
}

#endif
