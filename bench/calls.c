/* bench/calls.c - measures the cycles of functions of the C library: the throughput of independent calls and,
 * for libm, the latency of dependent calls.
 *
 * The figures of src/joulec/work/library_call.c come from here. The throughput is the minimum of many rounds.
 * Strings and memory blocks in arguments are short. Note: calls use volatile pointers, so that the compiler
 * cannot replace the functions.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define COUNT  1024
#define ROUNDS 200
#define ADDS   20000
#define TINY   0x1p-60 /* scales a result that is added to the next argument; this costs 8 cycles */

/* These arrays are not static. The compiler must assume other readers, so it cannot remove the calls. */
double calls_x[COUNT], calls_y[COUNT], calls_z[COUNT];
float calls_f[COUNT], calls_g[COUNT], calls_h[COUNT];
char calls_to[64], calls_from[64] = "1", calls_other[64] = "2";
FILE *calls_null, *calls_zero;
void *calls_block, *calls_room;

struct times {
    /* time of independent calls and of dependent calls; 0 means not measured */
    int64_t beside_ns, waiting_ns;
};

#define MEASURE(out_ns, statement)                                                                           \
    do {                                                                                                     \
        *(out_ns) = INT64_MAX;                                                                               \
        for (int times = 0; times < ROUNDS; times++) {                                                       \
            int64_t begin_ns = thread_ns();                                                                  \
            for (int i = 0; i < COUNT; i++)                                                                  \
                statement;                                                                                   \
            __asm__ volatile("" : : : "memory");                                                             \
            int64_t took_ns = thread_ns() - begin_ns;                                                        \
            *(out_ns) = took_ns < *(out_ns) ? took_ns : *(out_ns);                                           \
        }                                                                                                    \
    } while (0)

/* Defines the measurement of a function of floating-point numbers. x and y: arrays of arguments. z: array of
 * results. call: one of many independent calls. call_waiting: a call whose argument depends on `last`, the
 * previous result. */
#define NUMBERS(name, type, parameters, x, y, z, call, call_waiting)                                         \
    static type(*volatile pointer_##name) parameters = name;                                                 \
    static void measure_##name(struct times *out)                                                            \
    {                                                                                                        \
        type(*f) parameters = pointer_##name, last = 0;                                                      \
        MEASURE(&out->beside_ns, z[i] = call);                                                               \
        MEASURE(&out->waiting_ns, last = call_waiting);                                                      \
        z[0] = last;                                                                                         \
    }
#define OF_DOUBLE(name)                                                                                      \
    NUMBERS(name, double, (double), calls_x, calls_y, calls_z, f(calls_x[i]), f(calls_x[i] + TINY * last))
#define OF_TWO(name)                                                                                         \
    NUMBERS(name, double, (double, double), calls_x, calls_y, calls_z, f(calls_x[i], calls_y[i]),            \
            f(calls_x[i] + TINY * last, calls_y[i]))
#define OF_THREE(name)                                                                                       \
    NUMBERS(name, double, (double, double, double), calls_x, calls_y, calls_z,                               \
            f(calls_x[i], calls_y[i], calls_x[i]), f(calls_x[i] + TINY * last, calls_y[i], calls_x[i]))
#define OF_FLOAT(name)                                                                                       \
    NUMBERS(name, float, (float), calls_f, calls_g, calls_h, f(calls_f[i]),                                  \
            f(calls_f[i] + (float)TINY * last))
#define OF_TWO_FLOATS(name)                                                                                  \
    NUMBERS(name, float, (float, float), calls_f, calls_g, calls_h, f(calls_f[i], calls_g[i]),               \
            f(calls_f[i] + (float)TINY * last, calls_g[i]))
/* Defines the measurement of a function with other arguments, of which only independent calls are measured.
 * `statement` calls the function through the pointer `f`. */
#define OTHER(name, result, parameters, statement)                                                           \
    static result(*volatile pointer_##name) parameters = name;                                               \
    static void measure_##name(struct times *out)                                                            \
    {                                                                                                        \
        result(*f) parameters = pointer_##name;                                                              \
        MEASURE(&out->beside_ns, statement);                                                                 \
    }

OF_DOUBLE(acos)
OF_DOUBLE(asin)
OF_DOUBLE(atan)
OF_TWO(atan2)
OF_DOUBLE(cbrt)
OF_DOUBLE(ceil)
OF_DOUBLE(cos)
OF_FLOAT(cosf)
OF_DOUBLE(exp)
OF_FLOAT(expf)
OF_DOUBLE(floor)
OF_THREE(fma)
OF_TWO(fmod)
OF_TWO(hypot)
OF_DOUBLE(log)
OF_DOUBLE(log10)
OF_DOUBLE(log2)
OF_FLOAT(logf)
OF_TWO(pow)
OF_TWO_FLOATS(powf)
OF_DOUBLE(round)
OF_DOUBLE(sin)
OF_FLOAT(sinf)
OF_DOUBLE(sqrt)
OF_FLOAT(sqrtf)
OF_DOUBLE(tan)
OF_DOUBLE(tanh)

OTHER(atof, double, (const char *), calls_z[0] = f(calls_from))
OTHER(atoi, int, (const char *), calls_to[8] = (char)f(calls_from))
OTHER(calloc, void *, (size_t, size_t), free(calls_block = f(1, 16)))
OTHER(fflush, int, (FILE *), f(calls_null))
OTHER(fprintf, int, (FILE *, const char *, ...), f(calls_null, "1"))
OTHER(fputc, int, (int, FILE *), f('1', calls_null))
OTHER(fputs, int, (const char *, FILE *), f("1", calls_null))
OTHER(fread, size_t, (void *, size_t, size_t, FILE *), calls_to[8] = (char)f(calls_to, 1, 1, calls_zero))
OTHER(fwrite, size_t, (const void *, size_t, size_t, FILE *), f("1", 1, 1, calls_null))
OTHER(getc, int, (FILE *), calls_to[8] = (char)f(calls_zero))
OTHER(malloc, void *, (size_t), free(calls_block = f(16)))
OTHER(memchr, void *, (const void *, int, size_t), calls_block = f(calls_from, '1', 1))
OTHER(memcmp, int, (const void *, const void *, size_t), calls_to[8] = (char)f(calls_from, calls_other, 1))
OTHER(memcpy, void *, (void *, const void *, size_t), f(calls_to, calls_from, 1))
OTHER(memmove, void *, (void *, const void *, size_t), f(calls_to, calls_from, 1))
OTHER(memset, void *, (void *, int, size_t), f(calls_to, 0, 1))
OTHER(rand, int, (void), calls_to[8] = (char)f())
OTHER(realloc, void *, (void *, size_t), calls_room = f(calls_room, 16))
OTHER(snprintf, int, (char *, size_t, const char *, ...), f(calls_to, sizeof calls_to, "1"))
OTHER(sprintf, int, (char *, const char *, ...), f(calls_to, "1"))
OTHER(strcat, char *, (char *, const char *), (calls_to[0] = 0, f(calls_to, calls_from)))
OTHER(strchr, char *, (const char *, int), calls_block = f(calls_from, '1'))
OTHER(strcmp, int, (const char *, const char *), calls_to[8] = (char)f(calls_from, calls_other))
OTHER(strcpy, char *, (char *, const char *), f(calls_to, calls_from))
OTHER(strdup, char *, (const char *), free(calls_block = f(calls_from)))
OTHER(strlen, size_t, (const char *), calls_to[8] = (char)f(calls_from))
OTHER(strncmp, int, (const char *, const char *, size_t), calls_to[8] = (char)f(calls_from, calls_other, 1))
OTHER(strncpy, char *, (char *, const char *, size_t), f(calls_to, calls_from, 1))
OTHER(strtod, double, (const char *, char **), calls_z[0] = f(calls_from, NULL))
OTHER(strtol, long, (const char *, char **, int), calls_to[8] = (char)f(calls_from, NULL, 10))

/* clang-format off */
#define ROW(name) {#name, measure_##name}
static const struct {
    const char *name;
    void (*measure)(struct times *out);
} functions[] = {
    ROW(acos), ROW(asin), ROW(atan), ROW(atan2), ROW(cbrt), ROW(ceil), ROW(cos), ROW(cosf), ROW(exp),
    ROW(expf), ROW(floor), ROW(fma), ROW(fmod), ROW(hypot), ROW(log), ROW(log10), ROW(log2), ROW(logf),
    ROW(pow), ROW(powf), ROW(round), ROW(sin), ROW(sinf), ROW(sqrt), ROW(sqrtf), ROW(tan), ROW(tanh),
    ROW(atof), ROW(atoi), ROW(calloc), ROW(fflush), ROW(fprintf), ROW(fputc), ROW(fputs), ROW(fread),
    ROW(fwrite), ROW(getc), ROW(malloc), ROW(memchr), ROW(memcmp), ROW(memcpy), ROW(memmove), ROW(memset),
    ROW(rand), ROW(realloc), ROW(snprintf), ROW(sprintf), ROW(strcat), ROW(strchr), ROW(strcmp),
    ROW(strcpy), ROW(strdup), ROW(strlen), ROW(strncmp), ROW(strncpy), ROW(strtod), ROW(strtol)};
/* clang-format on */

/* Measures cycles per ns with a chain of additions, each of which takes one cycle. */
static double cycles_per_ns(void)
{
    int64_t best_ns = INT64_MAX;
    for (int times = 0; times < ROUNDS; times++) {
        int64_t begin_ns = thread_ns();
        uint64_t value = 1;
        for (int i = 0; i < ADDS; i++) {
            value++;
            __asm__ volatile("" : "+r"(value));
        }
        int64_t took_ns = thread_ns() - begin_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
    }
    return ADDS / (double)best_ns;
}

int main(void)
{
    calls_null = fopen("/dev/null", "w");
    calls_zero = fopen("/dev/zero", "r");
    calls_room = malloc(16);
    if (!calls_null || !calls_zero || !calls_room) {
        fprintf(stderr, "bench_calls: /dev/null and /dev/zero are needed\n");
        return EXIT_FAILURE;
    }
    srand(1);
    for (int i = 0; i < COUNT; i++) {
        calls_x[i] = 0.1 + 0.9 * rand() / RAND_MAX;
        calls_y[i] = 0.1 + 7.0 * rand() / RAND_MAX;
        calls_f[i] = (float)calls_x[i];
        calls_g[i] = (float)calls_y[i];
    }
    double per_ns = cycles_per_ns();
    printf("cycles of a call at %.2f GHz\n            minimum dependent\n", per_ns);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        struct times times = {0, 0};
        functions[i].measure(&times);
        printf("%-8s %10.1f", functions[i].name, (double)times.beside_ns / COUNT * per_ns);
        if (times.waiting_ns)
            printf(" %9.1f", (double)times.waiting_ns / COUNT * per_ns);
        printf("\n");
    }
    return EXIT_SUCCESS;
}
