/* joule/stats/piecewise_cost.c - see piecewise_cost.h. */
#include "joule/stats/piecewise_cost.h"

#include <math.h>
#include <string.h>

#define FIRST_CAPACITY 64

/* Ensures that both lists have capacity for `count` pieces. */
static bool reserve(struct piecewise_cost *cost, size_t count)
{
    if (count <= cost->capacity)
        return true;
    size_t capacity = 2 * count;
    struct cost_piece *pieces = arena_alloc(cost->arena, capacity * sizeof *pieces);
    struct cost_piece *spare = arena_alloc(cost->arena, capacity * sizeof *spare);
    if (!pieces || !spare)
        return false;
    if (cost->count)
        memcpy(pieces, cost->pieces, cost->count * sizeof *pieces);
    cost->pieces = pieces;
    cost->spare = spare;
    cost->capacity = capacity;
    return true;
}

bool piecewise_cost_begin(struct piecewise_cost *cost, struct arena *arena)
{
    *cost = (struct piecewise_cost){.arena = arena};
    if (!reserve(cost, FIRST_CAPACITY))
        return false;
    cost->pieces[cost->count++] = (struct cost_piece){.begin = -INFINITY};
    return true;
}

/* Appends a piece to the next function, unless it continues the last piece. */
static void emit(struct piecewise_cost *cost, size_t *count, struct cost_piece piece)
{
    if (*count) {
        const struct cost_piece *last = &cost->spare[*count - 1];
        if (last->origin == piece.origin && last->base == piece.base && last->weight == piece.weight &&
            last->center == piece.center)
            return;
    }
    cost->spare[(*count)++] = piece;
}

/* Makes the `count` emitted pieces the function. */
static void replace(struct piecewise_cost *cost, size_t count)
{
    struct cost_piece *pieces = cost->pieces;
    cost->pieces = cost->spare;
    cost->spare = pieces;
    cost->count = count;
}

/* Returns the end of a piece. */
static double piece_end(const struct piecewise_cost *cost, size_t i)
{
    return i + 1 < cost->count ? cost->pieces[i + 1].begin : INFINITY;
}

bool piecewise_cost_limit(struct piecewise_cost *cost, double limit, size_t origin)
{
    size_t count = 0;
    if (!reserve(cost, 3 * cost->count))
        return false;
    for (size_t i = 0; i < cost->count; i++) {
        struct cost_piece kept = cost->pieces[i], limited = {kept.begin, limit, 0, 0, origin};
        double end = piece_end(cost, i);
        double reach = kept.base > limit ? -INFINITY
                       : kept.weight > 0 ? sqrt((limit - kept.base) / kept.weight)
                                         : INFINITY;
        double low = kept.center - reach, high = kept.center + reach;
        if (low >= end || high <= kept.begin) {
            emit(cost, &count, limited);
            continue;
        }
        if (low > kept.begin) {
            emit(cost, &count, limited);
            kept.begin = low;
        }
        emit(cost, &count, kept);
        limited.begin = high;
        if (high < end)
            emit(cost, &count, limited);
    }
    replace(cost, count);
    return true;
}

/* Returns the sum of a piece and (value - mean)^2, as a quadratic with its center. */
static struct cost_piece plus_square(struct cost_piece piece, double value)
{
    double weight = piece.weight + 1, distance = value - piece.center;
    piece.base += piece.weight / weight * distance * distance;
    piece.center += distance / weight;
    piece.weight = weight;
    return piece;
}

bool piecewise_cost_add(struct piecewise_cost *cost, double value, double width)
{
    size_t count = 0;
    const double bounds[] = {-INFINITY, value - width, value + width, INFINITY};
    if (!reserve(cost, cost->count + 2))
        return false;
    for (size_t i = 0; i < cost->count; i++) {
        double begin = cost->pieces[i].begin, end = piece_end(cost, i);
        for (int zone = 0; zone < 3; zone++) {
            struct cost_piece piece = cost->pieces[i];
            if (fmax(begin, bounds[zone]) >= fmin(end, bounds[zone + 1]))
                continue;
            if (zone == 1)
                piece = plus_square(piece, value);
            else
                piece.base += width * width;
            piece.begin = fmax(begin, bounds[zone]);
            emit(cost, &count, piece);
        }
    }
    replace(cost, count);
    return true;
}

void piecewise_cost_minimise(struct piecewise_cost *cost)
{
    cost->least = INFINITY;
    for (size_t i = 0; i < cost->count; i++) {
        /* A center may lie outside its piece. The function is there at most `base`, because a piece ends only
         * where another is lower. So the least base is the least cost. */
        if (cost->pieces[i].base < cost->least) {
            cost->least = cost->pieces[i].base;
            cost->best_origin = cost->pieces[i].origin;
        }
    }
}
