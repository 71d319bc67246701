/* reference/reference_slide.h - how a window slides along one dimension: the index arithmetic of convolutions
 * and windows.
 *
 * A tap is one element of the window or kernel. Through a tap, output o reads input o * stride + tap *
 * dilation - before. In a transposed slide, output p * stride + tap * dilation - before reads input p. A run
 * is the set of all outputs that read an input through one tap. The outputs of a run are equally spaced, and
 * so are the inputs that they read.
 */
#ifndef FORGE_REFERENCE_SLIDE_H
#define FORGE_REFERENCE_SLIDE_H

#include <stdbool.h>
#include <stdint.h>

/* One dimension along which a window slides. */
struct slide {
    int64_t in, taps;                 /* size of the input, number of taps */
    int64_t stride, dilation, before; /* before: elements of padding before the input */
    bool is_transposed;
};

/* Returns the slide of a dimension without a window, as a window of one tap. */
static inline struct slide slide_none(int64_t in)
{
    return (struct slide){.in = in, .taps = 1, .stride = 1, .dilation = 1};
}

/* Returns the index of the input that output o reads through this tap. Returns -1 if the tap is in the
 * padding, or if it is between two inputs of a transposed slide. */
static inline int64_t slide_input(const struct slide *s, int64_t o, int64_t tap)
{
    int64_t at =
        s->is_transposed ? o + s->before - tap * s->dilation : o * s->stride - s->before + tap * s->dilation;
    if (s->is_transposed && s->stride > 1) {
        if (at < 0 || at % s->stride)
            return -1;
        at /= s->stride;
    }
    return at >= 0 && at < s->in ? at : -1;
}

/* A run: the first output and the first input, and the steps to the next ones. */
struct slide_run {
    int64_t count;
    int64_t out, out_step; /* out: counted from the first requested output */
    int64_t in, in_step;
};

/* Returns a / b rounded up; b > 0. */
static inline int64_t slide_quotient_up(int64_t a, int64_t b)
{
    if (b == 1)
        return a;
    return a > 0 ? (a - 1) / b + 1 : -(-a / b);
}

/* Returns the run of this tap, restricted to the outputs [first, first + count). */
static inline struct slide_run slide_run(const struct slide *s, int64_t tap, int64_t first, int64_t count)
{
    int64_t offset = tap * s->dilation - s->before, end, limit;
    struct slide_run run = {.out_step = 1, .in_step = s->stride};
    if (s->is_transposed) { /* output p * stride + offset reads input p */
        int64_t p = slide_quotient_up(first - offset, s->stride);
        limit = slide_quotient_up(first + count - offset, s->stride);
        run.in = p > 0 ? p : 0;
        end = limit < s->in ? limit : s->in;
        run.out = run.in * s->stride + offset - first;
        run.out_step = s->stride;
        run.in_step = 1;
        run.count = end > run.in ? end - run.in : 0;
        return run;
    }
    int64_t o = slide_quotient_up(-offset, s->stride);
    limit = slide_quotient_up(s->in - offset, s->stride);
    o = o > first ? o : first;
    end = limit < first + count ? limit : first + count;
    run.out = o - first;
    run.in = o * s->stride + offset;
    run.count = end > o ? end - o : 0;
    return run;
}

#endif
