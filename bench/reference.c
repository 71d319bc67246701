/* bench/reference.c - measures the reference's kernels; source of the figures in
 * src/forge/backends/estimated/reference_rates.c.
 *
 * Measures the CPU time of one thread, so that other load matters little. The work of a kernel is the larger
 * of two numbers: its FLOP, and the elements that it reads and writes. The device "estimated" uses the same
 * definition.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "check_case.h"
#include "forge/reference/reference.h"
#include "forge/runtime/instance.h"
#include "forge/ir/operation_cost.h"

#define MIN_SECONDS 0.2

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct bench {
    forge_device *device;
    forge_states *states;
    forge_program *program;
    forge_instance *instance;
};

static void need(joule_status status, const joule_error *error)
{
    if (status == JOULE_OK)
        return;
    fprintf(stderr, "reference: %s\n", error->message);
    exit(1);
}

static void load(struct bench *b, const forge_graph *graph)
{
    joule_error error = {0};
    need(forge_device_open("cpu", &b->device, &error), &error);
    need(forge_states_new(b->device, 1, &b->states, &error), &error);
    need(forge_compile(graph, b->device, &b->program, &error), &error);
    need(forge_instance_new(b->program, b->device, b->states, &b->instance, &error), &error);
    need(forge_instance_set_zeros(b->instance, NULL, &error), &error);
}

static void unload(struct bench *b)
{
    forge_instance_free(b->instance);
    forge_program_free(b->program);
    forge_states_free(b->states);
    forge_device_close(b->device);
}

/* Returns the work per second of the slowest launch of the family `op`. Sets *out_of_row to the seconds that
 * this launch needs for one row of its output. */
static double rate_of(const struct bench *b, enum op op, double *out_of_row)
{
    double worst = INFINITY;
    for (size_t i = 0; i < b->program->launches.count; i++) {
        const struct launch *launch = &b->instance->launches[i].launch;
        if (launch->op != op)
            continue;
        struct program_cost cost = b->instance->launches[i].cost;
        size_t element = forge_dtype_size_bytes(launch->outputs[0].dtype, 1), runs = 0,
               rows = launch_rows(launch);
        double work = fmax(cost.flop, (cost.read_bytes + cost.written_bytes) / (double)element),
               begin_s = cpu_s();
        do {
            reference_of(op)(launch, 0, launch_pieces(launch));
            runs++;
        } while (cpu_s() - begin_s < MIN_SECONDS);
        double seconds = (cpu_s() - begin_s) / (double)runs;
        if (work / seconds < worst) {
            worst = work / seconds;
            *out_of_row = seconds / (double)(rows ? rows : 1);
        }
    }
    return worst;
}

static void show(const char *name, enum op op, const struct check_case *c)
{
    struct bench b = {0};
    joule_error error = {0};
    double of_row = NAN;
    load(&b, c->graph);
    for (size_t i = 0; i < c->input_count; i++)
        need(forge_instance_set(b.instance, c->inputs[i].name, &c->inputs[i].tensor, &error), &error);
    double rate = rate_of(&b, op, &of_row);
    printf("%-24s %10.3g work/s %10.3g ns a row\n", name, rate, of_row * 1e9);
    fflush(stdout);
    unload(&b);
}

/* Prints how the time of a copy depends on the row size. */
static void show_rows(enum op op, int64_t columns)
{
    char name[48];
    joule_error error = {0};
    forge_graph *graph = NULL;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of((1 << 20) / columns, columns));
    forge_value y = x;
    if (op == OP_CONCAT)
        y = forge_concat(b, (forge_value[]){x, x, x}, 3, 1);
    else if (op == OP_PAD)
        y = forge_pad(b, x, (int64_t[]){0, 1}, (int64_t[]){0, 1}, 0);
    forge_output(b, "y", y);
    snprintf(name, sizeof name, "%s, rows of %lld", op_name(op), (long long)columns);
    need(forge_builder_finish(b, &graph, &error), &error);
    show(name, op, &(struct check_case){.graph = graph});
    forge_graph_free(graph);
}

int main(void)
{
    for (enum op op = 0; op < OP_COUNT; op++) {
        struct check_case c;
        joule_error error = {0};
        if (!reference_of(op) || case_make(op, CASE_TIME, 1, &c, &error) != JOULE_OK)
            continue;
        show(op_name(op), op, &c);
        case_free(&c);
    }
    for (int64_t columns = 1; columns <= 256; columns *= 4) {
        show_rows(OP_CONCAT, columns);
        show_rows(OP_PAD, columns);
    }
    return 0;
}
