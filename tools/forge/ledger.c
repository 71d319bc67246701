/* tools/forge/ledger.c - see ledger.h. */
#include "ledger.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LINES 256

struct line {
    const char *scope, *op;
    forge_phase phase;
    double seconds, flop;
};

struct ledger {
    struct line lines[MAX_LINES];
    size_t count;
    double seconds; /* of all lines */
};

static struct line *line_of(struct ledger *ledger, const forge_launch_facts *facts)
{
    for (size_t i = 0; i < ledger->count; i++) {
        struct line *line = &ledger->lines[i];
        if (line->phase == facts->phase && strcmp(line->scope, facts->scope) == 0 &&
            strcmp(line->op, facts->op) == 0)
            return line;
    }
    if (ledger->count == MAX_LINES - 1) /* the last one takes the rest */
        return &ledger->lines[ledger->count];
    ledger->lines[ledger->count] =
        (struct line){.scope = facts->scope, .op = facts->op, .phase = facts->phase};
    return &ledger->lines[ledger->count++];
}

static int by_seconds(const void *a, const void *b)
{
    double left = ((const struct line *)a)->seconds, right = ((const struct line *)b)->seconds;
    return left < right ? 1 : left > right ? -1 : 0;
}

static void print_line(const char *scope, const char *phase, const char *op, double seconds, double share,
                       joule_quantity joules, double flop, FILE *to)
{
    char energy[32], rate[32] = "";
    joule_format(joules.value * share, JOULE_DIMENSION_ENERGY, 3, energy, sizeof energy);
    if (flop > 0 && seconds > 0)
        snprintf(rate, sizeof rate, "%.2f", flop / seconds * 1e-9);
    fprintf(to, "%-24s %-10s %-10s %9.3f s %6.1f %% %12s %9s\n", scope, phase, op, seconds, share * 100,
            energy, rate);
}

void ledger_print(const forge_instance *instance, joule_quantity joules, double seconds, FILE *to)
{
    struct ledger ledger = {0};
    forge_launch_facts facts = {.struct_size = sizeof facts};
    for (size_t i = 0; forge_instance_launch(instance, i, &facts) == JOULE_OK; i++) {
        struct line *line = line_of(&ledger, &facts);
        line->seconds += facts.seconds;
        line->flop += facts.flop * (double)facts.runs;
        ledger.seconds += facts.seconds;
    }
    qsort(ledger.lines, ledger.count, sizeof *ledger.lines, by_seconds);
    char energy[32], low[32], high[32];
    joule_format(joules.value, JOULE_DIMENSION_ENERGY, 3, energy, sizeof energy);
    joule_format(joules.low, JOULE_DIMENSION_ENERGY, 2, low, sizeof low);
    joule_format(joules.high, JOULE_DIMENSION_ENERGY, 2, high, sizeof high);
    fprintf(to, "\n%s in %.1f s by the whole machine (90 %%: %s to %s, %s), shared by time:\n\n", energy,
            seconds, low, high, joule_class_name(joules.cls));
    fprintf(to, "%-24s %-10s %-10s %11s %8s %12s %9s\n", "layer", "phase", "operation", "time", "share",
            "energy", "GFLOP/s");
    for (size_t i = 0; i < ledger.count; i++) {
        const struct line *line = &ledger.lines[i];
        print_line(*line->scope ? line->scope : "-", forge_phase_name(line->phase), line->op, line->seconds,
                   line->seconds / seconds, joules, line->flop, to);
    }
    print_line("(between operations)", "", "", seconds - ledger.seconds, 1 - ledger.seconds / seconds, joules,
               0, to);
}
