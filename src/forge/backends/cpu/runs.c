/* backends/cpu/runs.c - see runs.h. */
#include "forge/backends/cpu/runs.h"

enum { PIECE = 4096 }; /* elements in a piece of work */
/* Runs with fewer elements than SHORT are joined in blocks of GATHERED elements, unless more than
 * MAX_GATHERED inputs must be copied for this. */
enum { SHORT = 64, GATHERED = 512, MAX_GATHERED = 4, MAX_ELEMENT_BYTES = 8 };
#define MIN_THREAD_WORK_NS 20000 /* minimum work per thread, in ns: a few times the cost of waking a thread */

static int64_t stride_of(const struct view *view, const forge_shape *shape, uint32_t dim)
{
    uint32_t missing = shape->rank - view->shape.rank;
    return dim < missing || view->shape.dims[dim - missing] == 1 ? 0 : view->strides[dim - missing];
}

/* Adds dimension `dim` of the output as the new innermost dimension. Joins this dimension with the previous
 * one if each input has a constant step across both. */
static void add(struct runs *runs, const struct launch *launch, uint32_t dim)
{
    const forge_shape *shape = &launch->outputs[0].shape;
    size_t size = (size_t)shape->dims[dim];
    uint32_t last = runs->rank - 1;
    bool can_join = true;
    for (size_t i = 0; i < runs->input_count; i++)
        can_join &= runs->strides[i][last] == stride_of(&launch->inputs[i], shape, dim) * (int64_t)size;
    if (size == 1)
        return;
    if (!can_join && runs->dims[last] > 1)
        last = runs->rank++;
    runs->dims[last] = can_join ? runs->dims[last] * size : size;
    for (size_t i = 0; i < runs->input_count; i++)
        runs->strides[i][last] = stride_of(&launch->inputs[i], shape, dim);
}

/* Returns the run that begins at element `position` of the output and ends at element `end` at the latest. */
static struct run run_at(const struct runs *runs, const struct launch *launch, size_t position, size_t end)
{
    uint32_t last = runs->rank - 1;
    size_t rest = position, place = 0;
    int64_t offsets[RUN_INPUTS];
    for (size_t i = 0; i < runs->input_count; i++)
        offsets[i] = 0;
    for (uint32_t dim = runs->rank; dim-- > 0; rest /= runs->dims[dim]) {
        size_t index = dim ? rest % runs->dims[dim] : rest;
        place = dim == last ? index : place;
        for (size_t i = 0; i < runs->input_count; i++)
            offsets[i] += (int64_t)index * runs->strides[i][dim];
    }
    struct run run; /* members of inputs that do not exist are not set: runs may be short */
    run.out = (char *)launch->outputs[0].data + position * runs->out_bytes;
    run.count = runs->dims[last] - place;
    if (run.count > end - position)
        run.count = end - position;
    for (size_t i = 0; i < runs->input_count; i++) {
        run.inputs[i] = (const char *)launch->inputs[i].data + offsets[i] * (int64_t)runs->input_bytes[i];
        run.steps[i] = runs->strides[i][last];
    }
    return run;
}

/* --- short runs ----------------------------------------------------------------------------------------- */

static bool has_constant_step(const struct runs *runs, size_t input)
{
    const int64_t *strides = runs->strides[input];
    for (uint32_t dim = 0; dim + 1 < runs->rank; dim++)
        if (strides[dim] != strides[dim + 1] * (int64_t)runs->dims[dim + 1])
            return false;
    return true;
}

/* Returns true if the runs are so short that it pays to copy inputs without a constant step to memory in
 * which they have one. */
static bool are_short(const struct runs *runs)
{
    size_t copied = 0;
    if (runs->rank == 1 || runs->dims[runs->rank - 1] >= SHORT)
        return false;
    for (size_t i = 0; i < runs->input_count; i++)
        if (!has_constant_step(runs, i) &&
            (copied++ == MAX_GATHERED || runs->input_bytes[i] > MAX_ELEMENT_BYTES))
            return false;
    return true;
}

struct runs runs_of(const struct launch *launch)
{
    struct runs runs = {.rank = 1,
                        .dims = {1},
                        .input_count = launch->input_count,
                        .out_bytes = forge_dtype_block_bytes(launch->outputs[0].dtype)};
    for (size_t i = 0; i < launch->input_count; i++)
        runs.input_bytes[i] = forge_dtype_block_bytes(launch->inputs[i].dtype);
    for (uint32_t dim = 0; dim < launch->outputs[0].shape.rank; dim++)
        add(&runs, launch, dim);
    runs.are_short = are_short(&runs);
    return runs;
}

void runs_copy(void *to, const void *from, int64_t step, size_t count, size_t bytes)
{
    switch (bytes) {
    case 1:
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)to)[i] = ((const uint8_t *)from)[(int64_t)i * step];
        break;
    case 2:
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)to)[i] = ((const uint16_t *)from)[(int64_t)i * step];
        break;
    case 4:
        for (size_t i = 0; i < count; i++)
            ((uint32_t *)to)[i] = ((const uint32_t *)from)[(int64_t)i * step];
        break;
    default:
        for (size_t i = 0; i < count; i++)
            ((uint64_t *)to)[i] = ((const uint64_t *)from)[(int64_t)i * step];
    }
}

/* Copies the elements of an input that the output's elements [position, position + count) need. */
static void gather(const struct runs *runs, const struct view *view, size_t input, size_t position,
                   size_t count, char *out)
{
    const int64_t *strides = runs->strides[input];
    uint32_t last = runs->rank - 1;
    size_t index[FORGE_MAX_RANK] = {0}, bytes = runs->input_bytes[input], rest = position;
    int64_t offset = 0;
    for (uint32_t dim = runs->rank; dim-- > 0; rest /= runs->dims[dim]) {
        index[dim] = dim ? rest % runs->dims[dim] : rest;
        offset += (int64_t)index[dim] * strides[dim];
    }
    for (size_t done = 0, n; done < count; done += n) {
        n = runs->dims[last] - index[last];
        n = n < count - done ? n : count - done;
        runs_copy(out + done * bytes, (const char *)view->data + offset * (int64_t)bytes, strides[last], n,
                  bytes);
        index[last] += n;
        offset += (int64_t)n * strides[last];
        for (uint32_t dim = last; dim > 0 && index[dim] == runs->dims[dim]; dim--) {
            offset += strides[dim - 1] - (int64_t)runs->dims[dim] * strides[dim];
            index[dim] = 0;
            index[dim - 1]++;
        }
    }
}

/* Like runs_between, for short runs: each call of fn gets a block of runs. */
static void gather_between(const struct runs *runs, const struct launch *launch, size_t at, size_t stop,
                           run_fn *fn, const void *context)
{
    _Alignas(64) char copies[MAX_GATHERED][GATHERED * MAX_ELEMENT_BYTES];
    for (size_t count; at < stop; at += count) {
        size_t copied = 0;
        struct run run = {.out = (char *)launch->outputs[0].data + at * runs->out_bytes};
        run.count = count = stop - at < GATHERED ? stop - at : GATHERED;
        for (size_t i = 0; i < runs->input_count; i++) {
            int64_t step = runs->strides[i][runs->rank - 1];
            run.steps[i] = 1;
            if (has_constant_step(runs, i)) {
                run.steps[i] = step;
                run.inputs[i] =
                    (const char *)launch->inputs[i].data + (int64_t)(at * runs->input_bytes[i]) * step;
                continue;
            }
            gather(runs, &launch->inputs[i], i, at, count, copies[copied]);
            run.inputs[i] = copies[copied++];
        }
        fn(context, &run);
    }
}

/* --- all runs ------------------------------------------------------------------------------------------- */

void runs_between(const struct runs *runs, const struct launch *launch, size_t at, size_t stop, run_fn *fn,
                  const void *context)
{
    if (runs->are_short) {
        gather_between(runs, launch, at, stop, fn, context);
        return;
    }
    while (at < stop) {
        struct run run = run_at(runs, launch, at, stop);
        fn(context, &run);
        at += run.count;
    }
}

void runs_each(const struct launch *launch, size_t first, size_t end, run_fn *fn, const void *context)
{
    struct runs runs = runs_of(launch);
    size_t count = forge_shape_elements(&launch->outputs[0].shape), stop = end * PIECE;
    runs_between(&runs, launch, first * PIECE, stop < count ? stop : count, fn, context);
}

size_t runs_pieces(const struct launch *launch, double ns, size_t *out_grain)
{
    *out_grain = (size_t)(MIN_THREAD_WORK_NS / (ns * PIECE / 1000)) + 1;
    return (forge_shape_elements(&launch->outputs[0].shape) + PIECE - 1) / PIECE;
}
