/* support.h - what the examples share: arguments, Ctrl-C, a clock, pseudo-random numbers and checksums.
 *
 * Each example defines PROGRAM, its name in messages, before it includes this file.
 */
#ifndef EXAMPLES_SUPPORT_H
#define EXAMPLES_SUPPORT_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

/* Prints the usage to stderr after a wrong argument, and ends the program. */
static inline _Noreturn void fail_usage(const char *usage)
{
    fputs(usage, stderr);
    exit(EXIT_USAGE);
}

/* Returns the number in `text`, min to max. Ends the program if `text` is anything else. */
static inline double parse_number(const char *what, const char *text, double min, double max)
{
    char *end;
    double number = strtod(text, &end);
    if (end != text && *end == '\0' && number >= min && number <= max)
        return number;
    fprintf(stderr, PROGRAM ": cannot use %s '%s': it must be a number from %g to %.15g\n", what, text, min,
            max);
    exit(EXIT_USAGE);
}

/* Like parse_number, for whole numbers. */
static inline long parse_count(const char *what, const char *text, long min, long max)
{
    double number = parse_number(what, text, (double)min, (double)max);
    if (number == (double)(long)number)
        return (long)number;
    fprintf(stderr, PROGRAM ": cannot use %s '%s': it must be a whole number\n", what, text);
    exit(EXIT_USAGE);
}

/* Returns `size_bytes` bytes of memory, set to zero; the caller frees them. Ends the program without
 * memory. */
static inline void *allocate(size_t size_bytes)
{
    void *memory = calloc(1, size_bytes);
    if (memory)
        return memory;
    fprintf(stderr, PROGRAM ": cannot allocate %zu bytes: out of memory\n", size_bytes);
    exit(EXIT_FAILURE);
}

static atomic_bool is_interrupted; /* set by Ctrl-C; long loops test it and end early */

static inline void note_interrupt(int number)
{
    (void)number;
    atomic_store(&is_interrupted, true);
}

static inline void catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = note_interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Returns the exit status of a program whose work has ended, and says so if it was interrupted. */
static inline int finish(int status)
{
    if (fflush(stdout) != 0) {
        perror(PROGRAM ": cannot write the results");
        return EXIT_FAILURE;
    }
    if (!atomic_load(&is_interrupted))
        return status;
    fputs(PROGRAM ": interrupted\n", stderr);
    return EXIT_INTERRUPTED;
}

/* Returns the time in seconds since an arbitrary moment. */
static inline double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Sleeps; Ctrl-C ends the sleep early. The parts of 0.1 s are for a signal that arrives just before a
 * sleep. */
static inline void sleep_s(double seconds)
{
    double end_s = now_s() + seconds;
    for (double left_s = seconds; left_s > 0 && !atomic_load(&is_interrupted); left_s = end_s - now_s()) {
        struct timespec part = {0, left_s < 0.1 ? (long)(1e9 * left_s) : 100000000};
        nanosleep(&part, NULL);
    }
}

/* Returns the number of processors, at least 1. */
static inline int count_cpus(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > 1024 ? 1024 : (int)count;
}

/* Returns the next number of the sequence that the first value of *state determines (splitmix64). */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Fills `values` with numbers from -1 to 1. */
static inline void fill_random(float *values, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(next_random(&seed) >> 40) / 8388608.0f - 1.0f;
}

/* Returns a number that changes if any byte changes (FNV-1a). Equal results have equal checksums. */
static inline uint64_t checksum(const void *data, size_t size_bytes)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size_bytes; i++)
        sum = (sum ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
    return sum;
}

#endif
