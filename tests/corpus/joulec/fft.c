/* tests/corpus/joulec/fft.c - the discrete Fourier transform of 256 complex samples. All programs compute the
 * same sums and products, so they round in the same way.
 *
 * Three programs work in place by stages: inline, with calls for products, or with separate real and
 * imaginary parts. The others work between two arrays without reordering (Stockham), or call a function for
 * each size.
 */
#include "corpus.h"

#define SIGNALS 12
#define LOG     8
#define N       (1 << LOG)

struct complex {
    double re, im;
};

static struct complex in[SIGNALS][N], out[SIGNALS][N];
static struct complex roots[N / 2]; /* roots of unity */
static uint8_t reversed[N];         /* bit-reversed indices */
static double root_re[N / 2], root_im[N / 2];

static inline struct complex product(struct complex a, struct complex b)
{
    return (struct complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static void prepare(void)
{
    /* cos and -sin of 2 pi / 256 */
    const struct complex first = {0.99969881869620425, -0.024541228522912288};
    struct complex root = {1.0, 0.0};
    for (int i = 0; i < N / 2; i++) {
        roots[i] = root;
        root_re[i] = root.re;
        root_im[i] = root.im;
        root = product(root, first);
    }
    for (int i = 0; i < N; i++)
        reversed[i] = (uint8_t)(reversed[i / 2] / 2 | (i & 1) << (LOG - 1));
    for (int s = 0; s < SIGNALS; s++)
        for (int i = 0; i < N; i++) {
            in[s][i].re = (double)(int32_t)corpus_random() / 65536.0;
            in[s][i].im = (double)(int32_t)corpus_random() / 65536.0;
        }
}

static inline void butterfly(struct complex *a, struct complex *b, struct complex root)
{
    struct complex low = *a, high = product(*b, root);
    *a = (struct complex){low.re + high.re, low.im + high.im};
    *b = (struct complex){low.re - high.re, low.im - high.im};
}

/* The first index of a pair is a number below N / 2 with a 0 inserted at the bit of the stage. */
static uint64_t fft_stages(void)
{
    for (int s = 0; s < SIGNALS; s++) {
        struct complex *v = out[s];
        for (int i = 0; i < N; i++)
            v[i] = in[s][reversed[i]];
        for (int stage = 0; stage < LOG; stage++) {
            uint32_t half = 1u << stage;
            for (uint32_t i = 0; i < N / 2; i++) {
                uint32_t k = i & (half - 1), low = (i - k) * 2 + k;
                butterfly(&v[low], &v[low + half], roots[k << (LOG - 1 - stage)]);
            }
        }
    }
    return 0;
}

__attribute__((noinline)) static struct complex called_product(struct complex a, struct complex b)
{
    return product(a, b);
}

static inline void stage_of_calls(struct complex *v, int half)
{
    for (int block = 0; block < N; block += 2 * half)
        for (int k = 0; k < half; k++) {
            struct complex low = v[block + k];
            struct complex high = called_product(v[block + k + half], roots[k * (N / 2 / half)]);
            v[block + k] = (struct complex){low.re + high.re, low.im + high.im};
            v[block + k + half] = (struct complex){low.re - high.re, low.im - high.im};
        }
}

/* Calls functions for complex arithmetic, as with a library. */
static uint64_t fft_calls(void)
{
    for (int s = 0; s < SIGNALS; s++) {
        for (int i = 0; i < N; i++)
            out[s][i] = in[s][reversed[i]];
        stage_of_calls(out[s], 1);
        stage_of_calls(out[s], 2);
        stage_of_calls(out[s], 4);
        stage_of_calls(out[s], 8);
        stage_of_calls(out[s], 16);
        stage_of_calls(out[s], 32);
        stage_of_calls(out[s], 64);
        stage_of_calls(out[s], 128);
    }
    return 0;
}

static inline void stage_apart(double *re, double *im, int half)
{
    for (int block = 0; block < N; block += 2 * half)
        for (int k = 0; k < half; k++) {
            double root_r = root_re[k * (N / 2 / half)], root_i = root_im[k * (N / 2 / half)];
            int a = block + k, b = a + half;
            double r = re[b] * root_r - im[b] * root_i, i = re[b] * root_i + im[b] * root_r;
            re[b] = re[a] - r;
            im[b] = im[a] - i;
            re[a] += r;
            im[a] += i;
        }
}

static uint64_t fft_apart(void)
{
    static double re[N], im[N];
    for (int s = 0; s < SIGNALS; s++) {
        for (int i = 0; i < N; i++) {
            re[i] = in[s][reversed[i]].re;
            im[i] = in[s][reversed[i]].im;
        }
        stage_apart(re, im, 1);
        stage_apart(re, im, 2);
        stage_apart(re, im, 4);
        stage_apart(re, im, 8);
        stage_apart(re, im, 16);
        stage_apart(re, im, 32);
        stage_apart(re, im, 64);
        stage_apart(re, im, 128);
        for (int i = 0; i < N; i++)
            out[s][i] = (struct complex){re[i], im[i]};
    }
    return 0;
}

/* Reads pairs whose distance is half an array. Stores the results so that pairs have this distance in the
 * next stage, too. */
static void stockham_stage(const struct complex *from, struct complex *to, int blocks, int stride)
{
    for (int i = 0; i < N / 2; i++) {
        int k = i / stride, rest = i % stride;
        struct complex low = from[2 * k * stride + rest];
        struct complex high = product(from[(2 * k + 1) * stride + rest], roots[k * stride]);
        to[k * stride + rest] = (struct complex){low.re + high.re, low.im + high.im};
        to[(k + blocks) * stride + rest] = (struct complex){low.re - high.re, low.im - high.im};
    }
}

static uint64_t fft_stockham(void)
{
    static struct complex other[N];
    for (int s = 0; s < SIGNALS; s++) {
        stockham_stage(in[s], other, 1, N / 2);
        stockham_stage(other, out[s], 2, N / 4);
        stockham_stage(out[s], other, 4, N / 8);
        stockham_stage(other, out[s], 8, N / 16);
        stockham_stage(out[s], other, 16, N / 32);
        stockham_stage(other, out[s], 32, N / 64);
        stockham_stage(out[s], other, 64, N / 128);
        stockham_stage(other, out[s], 128, 1);
    }
    return 0;
}

static inline void transform_2(const struct complex *from, struct complex *to, int stride)
{
    to[0] = from[0];
    to[1] = from[stride];
    butterfly(&to[0], &to[1], roots[0]);
}

/* Transforms even samples into the lower half and odd samples into the upper half, and combines the
 * halves. */
#define TRANSFORM(size, half_size)                                                                           \
    __attribute__((noinline)) static void transform_##size(const struct complex *from, struct complex *to,   \
                                                           int stride)                                       \
    {                                                                                                        \
        transform_##half_size(from, to, 2 * stride);                                                         \
        transform_##half_size(from + stride, to + half_size, 2 * stride);                                    \
        for (int k = 0; k < half_size; k++)                                                                  \
            butterfly(&to[k], &to[k + half_size], roots[k * (N / size)]);                                    \
    }

TRANSFORM(4, 2)
TRANSFORM(8, 4)
TRANSFORM(16, 8)
TRANSFORM(32, 16)
TRANSFORM(64, 32)
TRANSFORM(128, 64)
TRANSFORM(256, 128)

static uint64_t fft_halves(void)
{
    for (int s = 0; s < SIGNALS; s++)
        transform_256(in[s], out[s], 1);
    return 0;
}

const struct group fft = {prepare,
                          out,
                          sizeof out,
                          {PROGRAM(fft_stages), PROGRAM(fft_calls), PROGRAM(fft_apart), PROGRAM(fft_stockham),
                           PROGRAM(fft_halves)}};
