/* Any bytes as clang's assembly: bodies lie inside it, and all of them are asked. Any bytes as llvm-mca's answer: what is taken is
 * above zero and finite. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joulec/work/simulator.h"
#include "require.h"

#define LOOPS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find(const char *text, size_t size, struct assembly_loop *loops)
{
    struct text count;
    size_t least = 0;
    assembly_find(text, size, loops, LOOPS);
    for (int i = 0; i < LOOPS; i++) {
        if (!loops[i].body)
            continue;
        require(loops[i].body >= text && loops[i].body_bytes > 0);
        require(loops[i].body + loops[i].body_bytes <= text + size);
        least += loops[i].body_bytes;
    }
    text_init(&count, NULL, 0);
    simulator_ask(loops, LOOPS, "x86_64", &count);
    require(count.length >= least);
}

static void answer(const char *text, size_t size, struct assembly_loop *loops)
{
    joule_error error;
    char *copy = malloc(size + 1);
    if (!copy)
        return;
    memcpy(copy, text, size);
    copy[size] = '\0';
    simulator_read(copy, size, loops, LOOPS, &error);
    free(copy);
    for (int i = 0; i < LOOPS; i++)
        require(isfinite(loops[i].loop->simulated.cycles) && loops[i].loop->simulated.cycles >= 0 &&
                loops[i].loop->simulated.unit_cycles >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[LOOPS][2] = {{"f", "a"}, {"f", "for.body"}, {"g", "a"}, {"", "a"}};
    struct wide_loop wide[LOOPS] = {0};
    struct assembly_loop loops[LOOPS];
    for (int i = 0; i < LOOPS; i++) {
        wide[i].only_block = names[i][1];
        loops[i] = (struct assembly_loop){.function = names[i][0], .loop = &wide[i]};
    }
    find((const char *)data, size, loops);
    answer((const char *)data, size, loops);
    return 0;
}
