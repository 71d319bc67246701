/* reference/reference_window.c - sliding windows: reductions (window), their gradient (share), unfold and
 * fold.
 *
 * A window slides along some dimensions. Along all other dimensions, it has one tap. Each tile of an output
 * row reads one run of the input for each tap. Padding is skipped.
 */
#include "forge/reference/reference.h"
#include "forge/reference/reference_slide.h"
#include "forge/reference/reference_walk.h"

#include <math.h>

/* The dimensions of an output, and how they read the input. */
struct sliding {
    uint32_t rank; /* number of dimensions, at least 1 */
    int64_t out[FORGE_MAX_RANK];
    struct slide dims[FORGE_MAX_RANK];
    int64_t strides[FORGE_MAX_RANK];     /* strides of the input along each dimension */
    int64_t tap_strides[FORGE_MAX_RANK]; /* strides along the taps, if the input has a dimension for them
                                          * (fold); otherwise 0 */
    const struct view *x;
};

static struct slide slide_of(const struct windows *w, uint32_t k, int64_t in)
{
    if (!(w->axes >> k & 1))
        return slide_none(in);
    return (struct slide){in, w->size[k], w->stride[k], w->dilation[k], w->before[k], false};
}

/* Returns the dimensions of an operation whose input and output have the same rank. */
static struct sliding sliding_of(const struct launch *launch, const struct windows *w)
{
    const struct view *x = &launch->inputs[0];
    const forge_shape *out = &launch->outputs[0].shape;
    struct sliding s = {.rank = out->rank, .x = x};
    for (uint32_t k = 0; k < out->rank; k++) {
        s.out[k] = out->dims[k];
        s.dims[k] = slide_of(w, k, x->shape.dims[k]);
        s.strides[k] = x->strides[k];
    }
    return s;
}

/* Finds the indices of a row along all dimensions except the last. index: [rank]. */
static void find_row(const struct sliding *s, size_t row, int64_t *index)
{
    for (uint32_t k = s->rank - 1; k-- > 0;) {
        size_t size = s->out[k] > 0 ? (size_t)s->out[k] : 1;
        index[k] = (int64_t)(row % size);
        row /= size;
    }
}

/* Finds the offset, in elements, of the input line that a row reads through these taps. Returns false if the
 * line is padding. */
static bool find_line(const struct sliding *s, const int64_t *index, const int64_t *taps, int64_t *out_offset)
{
    int64_t offset = 0;
    for (uint32_t k = 0; k < s->rank; k++) {
        int64_t at = k + 1 < s->rank ? slide_input(&s->dims[k], index[k], taps[k]) : 0;
        if (at < 0)
            return false;
        offset += at * s->strides[k] + taps[k] * s->tap_strides[k];
    }
    *out_offset = offset;
    return true;
}

/* Advances to the next tap of the window. Returns false after the last. */
static bool next_tap(const struct sliding *s, int64_t *taps)
{
    for (uint32_t k = s->rank; k-- > 0; taps[k] = 0)
        if (++taps[k] < s->dims[k].taps)
            return true;
    return false;
}

static bool has_taps(const struct sliding *s)
{
    for (uint32_t k = 0; k < s->rank; k++)
        if (s->dims[k].taps == 0)
            return false;
    return true;
}

/* --- window and fold ------------------------------------------------------------------------------------ */

/* Partial results of a part of a row. Integers are stored after an XOR with `flip`, so that an unsigned
 * comparison orders them. */
struct fold {
    forge_reduce_kind kind;
    uint64_t flip;
    union {
        double numbers[TILE];
        uint64_t bits[TILE];
    } best;
    uint32_t counts[TILE];
};

static void begin_fold(struct fold *fold, forge_reduce_kind kind, const struct dtype_row *dtype, size_t count)
{
    double number = kind == FORGE_MAXIMUM ? -INFINITY : kind == FORGE_MINIMUM ? INFINITY : 0;
    fold->kind = kind;
    fold->flip = dtype->kind == DTYPE_SIGNED && kind != FORGE_SUM ? UINT64_C(1) << 63 : 0;
    for (size_t i = 0; i < count; i++) {
        fold->counts[i] = 0;
        if (dtype->kind == DTYPE_FLOAT)
            fold->best.numbers[i] = number;
        else
            fold->best.bits[i] = kind == FORGE_MINIMUM ? UINT64_MAX : 0;
    }
}

static double better_number(forge_reduce_kind kind, double best, double x)
{
    if (kind == FORGE_SUM || kind == FORGE_MEAN)
        return best + x;
    return isnan(x) || (kind == FORGE_MAXIMUM ? x > best : x < best) ? x : best;
}

static uint64_t better_bits(forge_reduce_kind kind, uint64_t best, uint64_t x)
{
    if (kind == FORGE_SUM)
        return best + x;
    return (kind == FORGE_MAXIMUM ? x > best : x < best) ? x : best;
}

/* Folds the elements of a run into the results. offset: offset of the line in x, in elements. */
static void fold_run(struct fold *fold, const struct sliding *s, int64_t offset, struct slide_run run)
{
    uint32_t last = s->rank - 1;
    struct walk line = {.dtype = dtype_row(s->x->dtype),
                        .data = s->x->data,
                        .start = offset + run.in * s->strides[last],
                        .rank = 1,
                        .dims = {run.count},
                        .strides = {run.in_step * s->strides[last]}};
    bool is_float = line.dtype->kind == DTYPE_FLOAT;
    double numbers[TILE];
    uint64_t bits[TILE];
    if (is_float)
        walk_load(&line, 0, (size_t)run.count, numbers);
    else
        walk_load_bits(&line, 0, (size_t)run.count, bits);
    for (int64_t i = 0, at = run.out; i < run.count; i++, at += run.out_step) {
        fold->counts[at]++;
        if (is_float)
            fold->best.numbers[at] = better_number(fold->kind, fold->best.numbers[at], numbers[i]);
        else
            fold->best.bits[at] = better_bits(fold->kind, fold->best.bits[at], bits[i] ^ fold->flip);
    }
}

static void fold_windows(const struct sliding *s, const int64_t *index, struct tile part, struct fold *fold)
{
    int64_t taps[FORGE_MAX_RANK] = {0}, offset;
    bool has_tap = has_taps(s);
    for (; has_tap; has_tap = next_tap(s, taps)) {
        struct slide_run run =
            slide_run(&s->dims[s->rank - 1], taps[s->rank - 1], (int64_t)part.first, (int64_t)part.count);
        if (run.count && find_line(s, index, taps, &offset))
            fold_run(fold, s, offset, run);
    }
}

static void store_fold(const struct fold *fold, const struct view *out, size_t at, size_t count)
{
    const struct dtype_row *dtype = dtype_row(out->dtype);
    uint64_t bits[TILE];
    if (dtype->kind == DTYPE_FLOAT) {
        dtype->store(out->data, at, count, fold->best.numbers);
        return;
    }
    for (size_t i = 0; i < count; i++)
        bits[i] = fold->best.bits[i] ^ fold->flip;
    dtype->store_bits(out->data, at, count, bits);
}

/* Computes rows [first, end) of a window reduction. divisor: the divisor of means. 0 means: divide by the
 * number of elements of the window that are not padding. */
static void fold_rows(const struct launch *launch, const struct sliding *s, forge_reduce_kind kind,
                      double divisor, size_t first, size_t end)
{
    const struct view *out = &launch->outputs[0];
    size_t columns = (size_t)s->out[s->rank - 1];
    for (size_t row = first; row < end; row++) {
        int64_t index[FORGE_MAX_RANK];
        find_row(s, row, index);
        for (struct tile part = tile_from(0, columns); part.count; part = tile_next(part)) {
            struct fold fold;
            begin_fold(&fold, kind, dtype_row(out->dtype), part.count);
            fold_windows(s, index, part, &fold);
            for (size_t i = 0; kind == FORGE_MEAN && i < part.count; i++)
                fold.best.numbers[i] /= divisor > 0 ? divisor : fold.counts[i];
            store_fold(&fold, out, row * columns + part.first, part.count);
        }
    }
}

/* x: any shape. Output: the shape of x, but the size along each of the windows' axes is the number of
 * windows. */
void reference_window(const struct launch *launch, size_t first, size_t end)
{
    const struct window_attributes *a = launch->attributes;
    struct sliding s = sliding_of(launch, &a->windows);
    double size = 1;
    for (uint32_t k = 0; k < s.rank; k++)
        size *= (double)s.dims[k].taps;
    fold_rows(launch, &s, (forge_reduce_kind)a->kind, a->count_padding ? size : 0, first, end);
}

/* --- share ---------------------------------------------------------------------------------------------- */

static double number_at(const struct view *view, const int64_t *index)
{
    const struct dtype_row *dtype = dtype_row(view->dtype);
    int64_t offset = 0;
    double number = 0;
    for (uint32_t k = 0; k < view->shape.rank; k++)
        offset += index[k] * view->strides[k];
    dtype->load((const char *)view->data + offset * (int64_t)dtype->block_bytes, 0, 1, &number);
    return number;
}

/* Computes, for each dimension, the index `to` that the index `from` reads through a tap (see slide_input).
 * Returns false if any tap is in the padding or between two inputs. */
static bool follow(const struct slide *dims, uint32_t rank, const int64_t *from, const int64_t *taps,
                   int64_t *to)
{
    bool is_there = true;
    for (uint32_t k = 0; k < rank; k++) {
        to[k] = slide_input(&dims[k], from[k], taps[k]);
        is_there &= to[k] >= 0;
    }
    return is_there;
}

/* Returns the share that each element of this window gets if it equals the window's y. */
static double share_of(const struct sliding *s, const struct launch *launch, const int64_t *window)
{
    double y = number_at(&launch->inputs[1], window), count = 0;
    int64_t taps[FORGE_MAX_RANK] = {0}, at[FORGE_MAX_RANK] = {0};
    do
        count += follow(s->dims, s->rank, window, taps, at) && number_at(s->x, at) == y;
    while (next_tap(s, taps));
    return number_at(&launch->inputs[2], window) / count;
}

/* Returns the sum of the shares that the element at `index` gets from all windows that contain it. back: for
 * each dimension, the slide that maps an element to its windows. */
static double sum_of_shares(const struct sliding *s, const struct slide *back, const struct launch *launch,
                            const int64_t *index)
{
    double x = number_at(s->x, index), sum = 0;
    int64_t taps[FORGE_MAX_RANK] = {0}, window[FORGE_MAX_RANK] = {0};
    do
        if (follow(back, s->rank, index, taps, window) && number_at(&launch->inputs[1], window) == x)
            sum += share_of(s, launch, window);
    while (next_tap(s, taps));
    return sum;
}

/* Inputs: x; y and parts, with one element for each window. Output: x's shape. */
void reference_share(const struct launch *launch, size_t first, size_t end)
{
    const struct share_attributes *a = launch->attributes;
    struct sliding s = sliding_of(launch, &a->windows);
    struct slide back[FORGE_MAX_RANK];
    size_t columns = (size_t)s.out[s.rank - 1];
    for (uint32_t k = 0; k < s.rank; k++) {
        back[k] = s.dims[k];
        back[k].is_transposed = true;
        back[k].in = launch->inputs[1].shape.dims[k];
    }
    for (size_t at = first * columns; at < end * columns; at++) {
        int64_t index[FORGE_MAX_RANK];
        find_row(&s, at / columns, index);
        index[s.rank - 1] = (int64_t)(at % columns);
        double sum = sum_of_shares(&s, back, launch, index);
        dtype_row(s.x->dtype)->store(launch->outputs[0].data, at, 1, &sum);
    }
}

/* --- fold and unfold ------------------------------------------------------------------------------------ */

/* x: the shape of the output, but the size along each of the windows' axes is the number of windows. The
 * sizes of a window follow as more dimensions. */
void reference_fold(const struct launch *launch, size_t first, size_t end)
{
    const struct fold_attributes *a = launch->attributes;
    struct sliding s = sliding_of(launch, &a->windows);
    for (uint32_t k = 0, own = s.rank; k < s.rank; k++) {
        s.dims[k].is_transposed = true;
        if (a->windows.axes >> k & 1)
            s.tap_strides[k] = launch->inputs[0].strides[own++];
    }
    fold_rows(launch, &s, FORGE_SUM, 0, first, end);
}

/* Finds the offset in x, in elements, of an output row of unfold. index: the position of the window in each
 * dimension, then the tap in each dimension. The row runs along the taps of dimension `last`; the offset is
 * for index 0 of this dimension. Returns false if the row is padding. */
static bool find_window(const struct view *x, const struct windows *w, uint32_t last, const int64_t *index,
                        int64_t *out_offset)
{
    int64_t offset = 0;
    for (uint32_t k = 0, own = x->shape.rank; k < x->shape.rank; k++) {
        struct slide slide = slide_of(w, k, x->shape.dims[k]);
        int64_t tap = w->axes >> k & 1 && k != last ? index[own++] : 0;
        int64_t at = k == last ? 0 : slide_input(&slide, index[k], tap);
        if (at < 0)
            return false;
        offset += at * x->strides[k];
    }
    *out_offset = offset;
    return true;
}

/* Writes the elements of a window to a part of an output row, and skips padding. The row runs along the taps,
 * so stride and dilation are swapped. */
static void lay_out(const struct view *x, const struct windows *w, uint32_t last, int64_t place,
                    int64_t offset, struct tile part, double *values)
{
    struct slide slide = slide_of(w, last, x->shape.dims[last]);
    slide = (struct slide){slide.in, 0, slide.dilation, slide.stride, slide.before, false};
    struct slide_run run = slide_run(&slide, place, (int64_t)part.first, (int64_t)part.count);
    struct walk line = {.dtype = dtype_row(x->dtype),
                        .data = x->data,
                        .start = offset + run.in * x->strides[last],
                        .rank = 1,
                        .dims = {run.count},
                        .strides = {run.in_step * x->strides[last]}};
    if (run.count)
        walk_load(&line, 0, (size_t)run.count, values + run.out);
}

/* Output: the shape of x, but the size along each of the windows' axes is the number of windows. The sizes of
 * a window follow as more dimensions. */
void reference_unfold(const struct launch *launch, size_t first, size_t end)
{
    const struct unfold_attributes *a = launch->attributes;
    const struct view *x = &launch->inputs[0], *out = &launch->outputs[0];
    uint32_t last = 31 - (uint32_t)__builtin_clz(a->windows.axes);
    struct sliding rows = {.rank = out->shape.rank};
    for (uint32_t k = 0; k < rows.rank; k++)
        rows.out[k] = out->shape.dims[k];
    size_t columns = (size_t)rows.out[rows.rank - 1];
    for (size_t row = first; row < end; row++) {
        int64_t index[FORGE_MAX_RANK] = {0}, offset = 0;
        find_row(&rows, row, index);
        bool is_inside = find_window(x, &a->windows, last, index, &offset);
        for (struct tile part = tile_from(0, columns); part.count; part = tile_next(part)) {
            double values[TILE];
            for (size_t i = 0; i < part.count; i++)
                values[i] = a->padding;
            if (is_inside)
                lay_out(x, &a->windows, last, index[last], offset, part, values);
            dtype_row(out->dtype)->store(out->data, row * columns + part.first, part.count, values);
        }
    }
}
