/* tests/corpus/joulec/measure_programs.c - runs the programs of the corpus in turns, and prints the time and
 * the correctness of each.
 *
 * usage: measure_programs ROUNDS MILLISECONDS [same]
 *
 * Prints "group program nanoseconds right" (or "wrong") for each program, in the order of the groups. The
 * time of a call is the lower quartile over all rounds. Each round takes at least MILLISECONDS. Exit status
 * 1: a program was wrong. Wrong programs are timed, too.
 *
 * The build defines GROUPS, the list of the groups. New inputs are made before each call; this time is not
 * measured. The reason is that a processor learns thousands of branches if it sees the same data a thousand
 * times, but real programs rarely process the same data twice. With "same", inputs are made only once.
 * Note: predictions are for a core that no other thread uses. The lower quartile leaves out most calls that
 * another thread interrupted.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "bench.h"
#include "corpus.h"

#define DECLARE(name) extern const struct group name;
#define LIST(name)    {#name, &name},

GROUPS(DECLARE)
static const struct {
    const char *name;
    const struct group *group;
} groups[] = {GROUPS(LIST)};

#define GROUP_COUNT  (sizeof groups / sizeof *groups)
#define MAX_PROGRAMS (GROUP_COUNT * 8)
#define MAX_ROUNDS   101
#define FILL_BYTE    0xa5 /* a value that no program writes to each byte of its output */

struct contest {
    const char *name;
    const struct group *group;
    const struct program *program;
    bool is_right;
    double ns[MAX_ROUNDS];
};

static uint64_t random_state = 88172645463325252u;

uint32_t corpus_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32);
}

static volatile uint64_t result;

static int64_t time_calls(const struct program *program, int64_t calls)
{
    int64_t begin = thread_ns();
    for (int64_t i = 0; i < calls; i++)
        result = program->run();
    return thread_ns() - begin;
}

/* Returns the mean time of a call in ns. The calls together take about `round_ns`. */
static double time_same(const struct program *program, int64_t round_ns)
{
    int64_t calls = 1 + round_ns / (time_calls(program, 1) + 1);
    return (double)time_calls(program, calls) / (double)calls;
}

/* Returns the minimum time between two reads of the clock, in ns. */
static int64_t clock_read_ns(void)
{
    int64_t minimum = INT64_MAX;
    for (int i = 0; i < 32; i++) {
        int64_t begin = clock_ns(CLOCK_MONOTONIC), took = clock_ns(CLOCK_MONOTONIC) - begin;
        minimum = took < minimum ? took : minimum;
    }
    return minimum;
}

/* Like time_same, with new inputs for each call. */
static double time_new(const struct group *group, const struct program *program, int64_t round_ns)
{
    int64_t calls = 0, sum_ns = 0, read_ns = clock_read_ns();
    for (int64_t begin = clock_ns(CLOCK_MONOTONIC); clock_ns(CLOCK_MONOTONIC) - begin < round_ns || !calls;
         calls++) {
        group->prepare();
        int64_t from = clock_ns(CLOCK_MONOTONIC);
        result = program->run();
        sum_ns += clock_ns(CLOCK_MONOTONIC) - from - read_ns;
    }
    return (double)sum_ns / (double)calls;
}

/* Returns a hash of the return value and the output of a program. */
static uint64_t outcome_of(const struct group *group, const struct program *program)
{
    if (group->output)
        memset(group->output, FILL_BYTE, group->output_bytes);
    uint64_t hash = program->run() ^ 0xcbf29ce484222325u;
    for (size_t i = 0; i < group->output_bytes; i++)
        hash = (hash ^ ((const uint8_t *)group->output)[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t outcome_of_all(const struct group *group)
{
    uint64_t hash = 0;
    for (const struct program *program = group->programs; program->run; program++)
        hash = hash * 31 + outcome_of(group, program);
    return hash;
}

/* Returns true if inputs depend on the random sequence only, and not on earlier inputs. */
static bool are_inputs_new(const struct group *group)
{
    uint64_t state = random_state;
    group->prepare();
    uint64_t outcome = outcome_of_all(group);
    group->prepare(); /* other inputs */
    random_state = state;
    group->prepare();
    return outcome_of_all(group) == outcome;
}

/* Fills `out` with the programs of a group and returns their number. Also warms up. */
static size_t prepare_group(size_t index, struct contest *out)
{
    const struct group *group = groups[index].group;
    size_t count = 0;
    bool are_new = are_inputs_new(group);
    uint64_t expected = outcome_of(group, &group->programs[0]);
    for (; group->programs[count].run; count++) {
        const struct program *program = &group->programs[count];
        bool is_right = outcome_of(group, program) == expected && are_new;
        out[count] = (struct contest){groups[index].name, group, program, is_right, {0}};
    }
    return count;
}

int main(int argc, char **argv)
{
    static struct contest contests[MAX_PROGRAMS];
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    int64_t round_ns = (argc > 2 ? atoi(argv[2]) : 1) * INT64_C(1000000);
    bool is_same = argc > 3 && strcmp(argv[3], "same") == 0, is_right = true;
    size_t count = 0;
    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    for (size_t i = 0; i < GROUP_COUNT; i++)
        count += prepare_group(i, contests + count);
    for (int round = 0; round < rounds; round++) {
        uint64_t first_inputs = random_state;
        for (size_t i = 0; i < count; i++) {
            struct contest *c = &contests[i];
            if (i > 0 && c->group != contests[i - 1].group)
                first_inputs = random_state;
            random_state = first_inputs; /* all programs of a group begin with the same inputs */
            c->ns[round] =
                is_same ? time_same(c->program, round_ns) : time_new(c->group, c->program, round_ns);
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct contest *c = &contests[i];
        printf("%s %s %.1f %s\n", c->name, c->program->name, lower_quartile(c->ns, (size_t)rounds),
               c->is_right ? "right" : "wrong");
        is_right = is_right && c->is_right;
    }
    return is_right ? 0 : 1;
}
