/* tools/forge/energy_table.c - see energy_table.h. */
#include "energy_table.h"

#include <forge/energy.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINES 40

struct line {
    forge_energy_facts facts;
    size_t place;   /* index of the item, see forge_energy_get */
    double seconds; /* run time of its launches in seconds, also outside the meter's windows */
};

/* Orders lines for qsort: the longest time first. */
static int by_seconds(const void *a, const void *b)
{
    const struct line *left = a, *right = b;
    return left->seconds < right->seconds ? 1 : left->seconds > right->seconds ? -1 : 0;
}

/* Orders lines for qsort: groups by decreasing energy, members of a group in program order. */
static int by_joules(const void *a, const void *b)
{
    const struct line *left = a, *right = b;
    double less = left->facts.group_joules.value, more = right->facts.group_joules.value;
    if (left->facts.group == right->facts.group)
        return left->place < right->place ? -1 : 1;
    if (less != more)
        return less < more ? 1 : -1;
    return left->facts.group < right->facts.group ? -1 : 1;
}

/* Formats "12.3 J (11 to 14, derived)". */
static void write_joules(joule_quantity joules, char *out, size_t size)
{
    char energy[32], low[32], high[32];
    joule_format(joules.value, JOULE_DIMENSION_ENERGY, 3, energy, sizeof energy);
    joule_format(joules.low, JOULE_DIMENSION_ENERGY, 2, low, sizeof low);
    joule_format(joules.high, JOULE_DIMENSION_ENERGY, 2, high, sizeof high);
    snprintf(out, size, "%s (%s to %s, %s)", energy, low, high, joule_class_name(joules.cls));
}

const char *basis_text(forge_energy_basis basis)
{
    static const char *const texts[] = {"of an unknown origin", "by the whole machine",
                                        "by this process's CPU time", "expected"};
    return texts[basis];
}

const char *basis_name(forge_energy_basis basis)
{
    static const char *const names[] = {NULL, "machine", "process", "expected"};
    return names[basis];
}

static int operation_width(const struct line *lines, size_t count)
{
    size_t width = 10;
    for (size_t i = 0; i < count; i++)
        width = strlen(lines[i].facts.op) > width ? strlen(lines[i].facts.op) : width;
    return (int)width;
}

static void print_line(const struct line *line, int width, bool is_first, double all_joules, double steps,
                       FILE *to)
{
    const forge_energy_facts *f = &line->facts;
    bool is_between = !*f->op;
    char name[64], share[16] = "", energy[128] = "", rate[32] = "";
    snprintf(name, sizeof name, "%s%s", is_first ? "" : "+ ",
             is_between  ? "(between operations)"
             : *f->scope ? f->scope
                         : "-");
    if (is_first) {
        snprintf(share, sizeof share, "%.1f %%", f->group_joules.value / all_joules * 100);
        write_joules(f->group_joules, energy, sizeof energy);
    }
    if (f->flop > 0 && f->seconds > 0)
        snprintf(rate, sizeof rate, "%.2f", f->flop * steps / f->seconds * 1e-9);
    fprintf(to, "%-24s %-10s %-*s %9.3f s %8s %9s  %s\n", name, is_between ? "" : forge_phase_name(f->phase),
            width, f->op, f->seconds, rate, share, energy);
}

/* Returns the total joules of lines `first` to the last; `first` must begin a group. */
static double rest_of(const struct line *lines, size_t first, size_t count)
{
    double joules = 0;
    for (size_t i = first; i < count; i++)
        joules += lines[i].facts.joules.value;
    return joules;
}

static void print_rest(const char *name, int width, double joules, double all_joules, FILE *to)
{
    char energy[32], share[16];
    joule_format(joules, JOULE_DIMENSION_ENERGY, 3, energy, sizeof energy);
    snprintf(share, sizeof share, "%.1f %%", joules / all_joules * 100);
    fprintf(to, "%-24s %-10s %-*s %11s %8s %9s  %s\n", name, "", width, "", "", "", share, energy);
}

/* Prints the first MAX_LINES lines, and further lines until the last of their groups is complete. */
static void print_lines(const struct line *lines, size_t count, double all_joules, double unattributed_joules,
                        double steps, FILE *to)
{
    size_t i = 0;
    int width = operation_width(lines, count);
    fprintf(to, "%-24s %-10s %-*s %11s %8s %9s  %s\n", "layer", "phase", width, "operation", "time",
            "GFLOP/s", "share", "energy");
    for (; i < count; i++) {
        bool is_first = i == 0 || lines[i].facts.group != lines[i - 1].facts.group;
        if (is_first && i >= MAX_LINES)
            break;
        print_line(&lines[i], width, is_first, all_joules, steps, to);
    }
    if (i < count)
        print_rest("(further rows: see --json)", width, rest_of(lines, i, count), all_joules, to);
    if (unattributed_joules > 0)
        print_rest("(unattributed)", width, unattributed_joules, all_joules, to);
}

static void print_head(const forge_energy_sum *sum, FILE *to)
{
    char energy[128];
    write_joules(sum->all_joules, energy, sizeof energy);
    fprintf(to, "\n%s in %.1f s %s; 90 %% intervals.\n", energy, sum->seconds, basis_text(sum->basis));
    if (sum->covered_seconds < 0.995 * sum->seconds)
        fprintf(to, "The energy of %.1f s of this time could not be attributed.\n",
                sum->seconds - sum->covered_seconds);
    if (sum->windows)
        fprintf(
            to,
            "Attributed by %llu windows of %s. Rows with \"+\" form a group: only its sum is known well.\n",
            (unsigned long long)sum->windows,
            sum->basis == FORGE_ENERGY_OF_PROCESS ? "CPU time" : "the meter");
    fputc('\n', to);
}

static void print_unknown(const struct line *lines, size_t count, FILE *to)
{
    fprintf(to,
            "\nEnergy unknown: the meter has no reading in this time. Use a longer run.\n\n"
            "%-24s %-10s %-10s %11s\n",
            "layer", "phase", "operation", "time");
    for (size_t i = 0; i < count; i++)
        if (*lines[i].facts.op)
            fprintf(to, "%-24s %-10s %-10s %9.3f s\n", *lines[i].facts.scope ? lines[i].facts.scope : "-",
                    forge_phase_name(lines[i].facts.phase), lines[i].facts.op, lines[i].seconds);
}

static double seconds_of(const forge_instance *instance, const forge_energy_facts *item)
{
    double seconds = 0;
    forge_launch_facts launch = {.struct_size = sizeof launch};
    for (size_t i = 0; forge_instance_launch(instance, i, &launch) == JOULE_OK; i++)
        if (launch.phase == item->phase && strcmp(launch.op, item->op) == 0 &&
            strcmp(launch.scope, item->scope) == 0)
            seconds += launch.seconds;
    return seconds;
}

static void print_foot(joule_quantity all, double steps, double units, const char *unit, FILE *to)
{
    joule_quantity step = {all.value / steps, all.low / steps, all.high / steps, all.cls, 0};
    char energy[128], of_unit[32];
    write_joules(step, energy, sizeof energy);
    joule_quantity rate = forge_per_joule(units, step);
    joule_format(step.value / units, JOULE_DIMENSION_ENERGY, 3, of_unit, sizeof of_unit);
    fprintf(to, "\n%s each step of %.0f %s: %.4g %s/J (%.4g to %.4g), %s each\n", energy, units, unit,
            rate.value, unit, rate.low, rate.high, of_unit);
}

void energy_table_print(forge_instance *instance, double units, const char *unit, FILE *to)
{
    size_t count = forge_energy_count(instance);
    forge_energy_sum sum = {.struct_size = sizeof sum};
    struct line *lines = calloc(count + 1, sizeof *lines);
    if (!lines)
        return;
    double launch_s = 0, run_s = 0, steps = 0;
    forge_launch_facts launch = {.struct_size = sizeof launch};
    for (size_t i = 0; forge_instance_launch(instance, i, &launch) == JOULE_OK; i++) {
        launch_s += launch.seconds;
        steps = (double)launch.runs;
    }
    forge_energy_total(instance, &sum);
    for (size_t i = 0; i < count; i++) {
        lines[i] = (struct line){.facts = {.struct_size = sizeof lines[i].facts}, .place = i};
        forge_energy_get(instance, i, &lines[i].facts);
        lines[i].seconds = seconds_of(instance, &lines[i].facts);
        run_s += *lines[i].facts.op ? lines[i].facts.seconds : 0;
    }
    double runs = steps;
    steps *= launch_s > 0 ? run_s / launch_s : 0; /* the part of the steps that the meter measured */
    if (isnan(sum.joules.value)) {
        qsort(lines, count, sizeof *lines, by_seconds);
        print_unknown(lines, count, to);
        free(lines);
        return;
    }
    qsort(lines, count, sizeof *lines, by_joules);
    print_head(&sum, to);
    print_lines(lines, count, sum.all_joules.value, sum.unattributed_joules.value, steps, to);
    print_foot(sum.all_joules, runs, units, unit, to);
    free(lines);
}
