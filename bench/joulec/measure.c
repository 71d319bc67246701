/* bench/joulec/measure.c - runs the programs of the corpus in turns, and says how long each took and whether it was right.
 *
 * usage: measure ROUNDS MILLISECONDS. Prints "group program nanoseconds right" for each, in the order of the groups; the
 * time is the lower quartile over rounds of a call's, each round at least so many milliseconds long. Exit status 1: one was
 * wrong.
 * Newcomers: GROUPS is the list of them, given by who builds this; a wrong program is timed as any other. What is predicted is
 * a core that nobody shares; where another thread runs on it now and then, a median carries that already.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "../bench.h"
#include "corpus.h"

#define DECLARE(name) extern const struct group name;
#define LIST(name)    {#name, &name},

GROUPS(DECLARE)
static const struct {
    const char *name;
    const struct group *group;
} groups[] = {GROUPS(LIST)};

#define GROUP_COUNT  (sizeof groups / sizeof *groups)
#define MOST         (GROUP_COUNT * 8)
#define MOST_ROUNDS  101
#define WRONG_OUTPUT 0xa5 /* what nobody leaves behind */

struct contest {
    const char *group;
    const struct program *program;
    int64_t calls; /* in a round */
    bool is_right;
    double ns[MOST_ROUNDS];
};

uint32_t corpus_random(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

static int64_t time_of(const struct program *program, int64_t calls)
{
    static volatile uint64_t result;
    int64_t begin = thread_ns();
    for (int64_t i = 0; i < calls; i++)
        result = program->run();
    (void)result;
    return thread_ns() - begin;
}

/* What a program returns and leaves behind, in one number. */
static uint64_t outcome_of(const struct group *group, const struct program *program)
{
    if (group->output)
        memset(group->output, WRONG_OUTPUT, group->output_bytes);
    uint64_t hash = program->run() ^ 0xcbf29ce484222325u;
    for (size_t i = 0; i < group->output_bytes; i++)
        hash = (hash ^ ((const uint8_t *)group->output)[i]) * 0x100000001b3u;
    return hash;
}

/* Also warms up. As many calls as fill a round. */
static size_t prepare_group(size_t index, struct contest *out, int64_t round_ns)
{
    const struct group *group = groups[index].group;
    size_t count = 0;
    group->prepare();
    uint64_t expected = outcome_of(group, &group->programs[0]);
    for (; group->programs[count].run; count++) {
        const struct program *program = &group->programs[count];
        bool is_right = outcome_of(group, program) == expected;
        int64_t ns = time_of(program, 1);
        out[count] = (struct contest){groups[index].name, program, 1 + round_ns / (ns + 1), is_right, {0}};
    }
    return count;
}

int main(int argc, char **argv)
{
    static struct contest contests[MOST];
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    int64_t round_ns = (argc > 2 ? atoi(argv[2]) : 1) * INT64_C(1000000);
    size_t count = 0;
    bool is_right = true;
    rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    for (size_t i = 0; i < GROUP_COUNT; i++)
        count += prepare_group(i, contests + count, round_ns);
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < count; i++)
            contests[i].ns[round] =
                (double)time_of(contests[i].program, contests[i].calls) / (double)contests[i].calls;
    for (size_t i = 0; i < count; i++) {
        struct contest *c = &contests[i];
        printf("%s %s %.1f %s\n", c->group, c->program->name, lower_quartile(c->ns, (size_t)rounds),
               c->is_right ? "right" : "wrong");
        is_right = is_right && c->is_right;
    }
    return is_right ? 0 : 1;
}
