/* Checks minimum cuts and choices of places against all choices of small random problems, and the places of
 * graphs on simulated devices. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/placed.h>
#include "forge/compiler/min_cut.h"
#include "forge/compiler/place_choice.h"
#include "forge/compiler/schedule.h"
#include "forge/hal/backend.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/random_graph.h"
#include "support/side.h"
#include "support/simulation.h"

static joule_error error;

/* --- minimum cuts --------------------------------------------------------------------------------------- */

enum { MAX_NUMBERS = 10, MAX_PAIRS = 30 };

struct network {
    size_t count, pair_count;
    double zero[MAX_NUMBERS], one[MAX_NUMBERS];
    struct {
        size_t i, k;
        double cost;
    } pairs[MAX_PAIRS];
};

static double cost_of(const struct network *n, const bool *numbers)
{
    double sum = 0;
    for (size_t i = 0; i < n->count; i++)
        sum += numbers[i] ? n->one[i] : n->zero[i];
    for (size_t p = 0; p < n->pair_count; p++)
        sum += !numbers[n->pairs[p].i] && numbers[n->pairs[p].k] ? n->pairs[p].cost : 0;
    return sum;
}

static void check_cut(struct generator *g)
{
    struct network n = {.count = 1 + simulated_below(g, MAX_NUMBERS),
                        .pair_count = simulated_below(g, MAX_PAIRS)};
    struct min_cut *cut = min_cut_new(n.count, n.pair_count);
    bool numbers[MAX_NUMBERS];
    double least = INFINITY;
    assert_non_null(cut);
    for (size_t i = 0; i < n.count; i++) {
        n.zero[i] = simulated_between(g, -1, 1);
        n.one[i] = simulated_between(g, -1, 1);
        min_cut_add(cut, i, n.zero[i], n.one[i]);
    }
    for (size_t p = 0; p < n.pair_count; p++) {
        n.pairs[p].i = simulated_below(g, n.count);
        n.pairs[p].k = simulated_below(g, n.count);
        n.pairs[p].cost = simulated_between(g, 0, 1);
        min_cut_add_pair(cut, n.pairs[p].i, n.pairs[p].k, n.pairs[p].cost);
    }
    min_cut_solve(cut, numbers);
    double found = cost_of(&n, numbers);
    for (unsigned set = 0; set < 1u << n.count; set++) {
        for (size_t i = 0; i < n.count; i++)
            numbers[i] = set >> i & 1;
        least = fmin(least, cost_of(&n, numbers));
    }
    assert_near(found, least, 1e-9);
    min_cut_free(cut);
}

static void test_cuts_are_the_least(void **state)
{
    (void)state;
    struct generator fixed = {3}, fresh = {simulation_fresh_seed()};
    for (int i = 0; i < 2000; i++) {
        check_cut(&fixed);
        check_cut(&fresh);
    }
}

/* --- choices -------------------------------------------------------------------------------------------- */

enum { MAX_PARTS = 9, MAX_EDGES = 40 };

struct trial {
    struct place_cost costs[MAX_PARTS * MAX_PLACES];
    struct place_edge edges[MAX_EDGES];
    double bytes[MAX_PARTS];
    struct place_problem problem;
};

/* Makes a graph in which each part may read several earlier ones, and transfers that cost about as much as a
 * part. */
static void make_trial(struct trial *t, struct generator *g, size_t places, bool has_single_readers)
{
    struct place_problem *p = &t->problem;
    double ends[MAX_PLACES];
    *t = (struct trial){
        .problem = {.part_count = 2 + simulated_below(g, MAX_PARTS - 1),
                    .place_count = places,
                    .objective = (forge_minimise)(FORGE_MINIMISE_ENERGY + simulated_below(g, 3)),
                    .costs = t->costs,
                    .edges = t->edges,
                    .bytes = t->bytes}};
    p->value_count = p->part_count;
    for (size_t i = 0; i < p->part_count; i++) {
        t->bytes[i] = simulated_between(g, 0, 1);
        for (size_t k = 0; k < places; k++)
            t->costs[i * places + k] =
                simulated_below(g, 10) && k
                    ? (struct place_cost){simulated_between(g, 0, 1), simulated_between(g, 0, 1)}
                : k ? (struct place_cost){INFINITY, INFINITY}
                    : (struct place_cost){simulated_between(g, 0, 1), simulated_between(g, 0, 1)};
        for (size_t from = i; i && from > 0; from--)
            if (has_single_readers ? from == i : simulated_below(g, 3) == 0)
                t->edges[p->edge_count++] =
                    (struct place_edge){(uint32_t)from - 1, (uint32_t)from - 1, (uint32_t)i};
    }
    for (size_t i = 0; i < places; i++)
        ends[i] = simulated_between(g, 0, 0.5);
    for (size_t i = 0; i < places; i++)
        for (size_t k = 0; k < places; k++)
            if (i != k) {
                p->start[i][k] = (struct place_cost){0.01, 0.02};
                p->per_byte[i][k] = (struct place_cost){ends[i] + ends[k], 2 * (ends[i] + ends[k])};
            }
}

static double score_of(const struct trial *t, const uint8_t *places)
{
    uint8_t scratch[MAX_PARTS];
    return place_score(&t->problem, place_sum_of(&t->problem, places, scratch).cost);
}

/* Returns the score of the choice in relation to that of the best one. */
static double compare_with_all(const struct trial *t)
{
    uint8_t places[MAX_PARTS] = {0};
    assert_true(place_choose(&t->problem, places));
    double found = score_of(t, places), least = INFINITY;
    for (size_t place = 0; place < t->problem.place_count; place++) {
        memset(places, (int)place, sizeof places);
        assert_true(found <= score_of(t, places) * (1 + 1e-9));
    }
    memset(places, 0, sizeof places);
    for (size_t i = 0; i < t->problem.part_count;) {
        least = fmin(least, score_of(t, places));
        for (i = 0; i < t->problem.part_count && ++places[i] == t->problem.place_count; i++)
            places[i] = 0;
    }
    assert_true(found >= least * (1 - 1e-9));
    return found / least;
}

static void compare_many(uint64_t seed, size_t places, bool has_single_readers, double bound)
{
    struct generator g = {seed};
    size_t best = 0;
    double worst = 1;
    enum { COUNT = 300 };
    for (int i = 0; i < COUNT; i++) {
        struct trial t;
        make_trial(&t, &g, places, has_single_readers);
        double ratio = compare_with_all(&t);
        best += ratio <= 1 + 1e-9;
        worst = fmax(worst, ratio);
    }
    print_message("%zu places, %s: %zu of %d are the best; the worst costs %.2f %% more\n", places,
                  has_single_readers ? "chains" : "graphs", best, COUNT, 100 * (worst - 1));
    assert_true(worst <= bound && best >= COUNT * 9 / 10);
}

static void test_choices_are_near_the_best(void **state)
{
    (void)state;
    compare_many(11, 2, true, 1.05);
    compare_many(12, 2, false, 1.10);
    compare_many(13, 3, true, 1.05);
    compare_many(14, 3, false, 1.15);
}

/* --- graphs --------------------------------------------------------------------------------------------- */

/* Two devices with the CPU's memory and kernels, and with simulated rates: a host, and an accelerator that
 * computes 100 times as fast, for twice the power, and that data reaches only slowly. */
static struct device_ops simulated[2];
static struct device_rates rates[2];
static forge_device *devices[2];
static const char *names[2];

static joule_status host_rates(forge_device *device, struct device_rates *out_rates, joule_error *out_error)
{
    (void)device, (void)out_error;
    *out_rates = rates[0];
    return JOULE_OK;
}

static joule_status accelerator_rates(forge_device *device, struct device_rates *out_rates,
                                      joule_error *out_error)
{
    (void)device, (void)out_error;
    *out_rates = rates[1];
    return JOULE_OK;
}

static void simulated_work(forge_device *device, const struct launch *launch, const struct program_cost *cost,
                           struct launch_work *out_work)
{
    (void)device, (void)launch, (void)cost;
    *out_work = (struct launch_work){.parts = 1};
}

static int open_devices(void **state)
{
    (void)state;
    names[0] = "host";
    names[1] = "accelerator";
    for (int i = 0; i < 2; i++) {
        if (forge_device_open("cpu", &devices[i], NULL))
            return -1;
        simulated[i] = *devices[i]->ops;
        simulated[i].rates = i ? accelerator_rates : host_rates;
        simulated[i].work = simulated_work;
        devices[i]->ops = &simulated[i];
        rates[i] = (struct device_rates){.cores = 1,
                                         .flop_per_s = i ? 1e12 : 1e10,
                                         .launch_s = i ? 1e-5 : 1e-7,
                                         .static_watts = i ? 20 : 10};
        for (int level = 0; level < RATE_LEVELS; level++)
            rates[i].core_bytes_per_s[level] = rates[i].total_bytes_per_s[level] = 1e10;
    }
    return 0;
}

static int close_devices(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        forge_device_close(devices[i]);
    return 0;
}

static forge_graph *choose(const forge_graph *graph, forge_minimise objective, forge_places_facts *facts)
{
    const forge_place places[] = {{names[0], devices[0]}, {names[1], devices[1]}};
    forge_graph *chosen = NULL;
    *facts = (forge_places_facts){.struct_size = sizeof *facts};
    assert_ok(forge_choose_places(graph, places, 2, objective, &chosen, facts, &error), &error);
    assert_int_equal(chosen->node_count, graph->node_count);
    return chosen;
}

/* Returns the place of the first node of an operation. */
static const char *place_of(const forge_graph *graph, enum op op)
{
    for (size_t n = 0; n < graph->node_count; n++)
        if (graph->nodes[n].op == op)
            return graph->places[node_place(graph, &graph->nodes[n])];
    fail_msg("there is no %s", op_name(op));
    return NULL;
}

/* Returns `size` x `size` matrices: a sum, two products, and another sum. */
static forge_graph *products(int64_t size)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(size, size));
    forge_value y = forge_matmul(b, forge_matmul(b, x, x, 0), x, 0);
    forge_output(b, "y", forge_exp(b, y));
    return graph_of(b);
}

static void test_large_products_go_to_the_accelerator(void **state)
{
    (void)state;
    static const forge_minimise objectives[] = {FORGE_MINIMISE_ENERGY, FORGE_MINIMISE_TIME,
                                                FORGE_MINIMISE_EDP};
    for (int i = 0; i < 3; i++) {
        forge_places_facts small, large;
        forge_graph *few = products(32), *many = products(512);
        forge_graph *of_few = choose(few, objectives[i], &small),
                    *of_many = choose(many, objectives[i], &large);
        assert_string_equal(place_of(of_few, OP_MATMUL), "host");
        assert_string_equal(place_of(of_many, OP_MATMUL), "accelerator");
        assert_int_equal(small.transfer_count, 0);
        assert_true(large.chosen_seconds <= large.single_seconds);
        assert_int_equal(large.objective, objectives[i]);
        forge_graph_free(of_few);
        forge_graph_free(of_many);
        forge_graph_free(few);
        forge_graph_free(many);
    }
}

/* The reverse: elementwise operations of few FLOP per byte return to a host with faster memory. */
static void test_each_node_goes_where_it_costs_least(void **state)
{
    (void)state;
    forge_places_facts facts;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(512, 512));
    x = forge_matmul(b, x, x, 0);
    x = forge_reduce(b, FORGE_SUM, x, 2, false); /* 512 numbers */
    for (int i = 0; i < 20; i++)
        x = forge_unary(b, i % 2 ? FORGE_SIN : FORGE_COS, x); /* 20 launches, each of which takes 10 us */
    forge_output(b, "y", x);
    forge_graph *graph = graph_of(b), *chosen = choose(graph, FORGE_MINIMISE_TIME, &facts);
    assert_string_equal(place_of(chosen, OP_MATMUL), "accelerator");
    assert_string_equal(place_of(chosen, OP_REDUCE), "accelerator");
    assert_string_equal(place_of(chosen, OP_UNARY), "host");
    assert_int_equal(facts.transfer_count, 1);
    assert_near(facts.transfer_bytes, 2048, 0.5);
    assert_true(facts.chosen_seconds < facts.single_seconds && facts.moved >= 2);
    forge_graph_free(chosen);
    forge_graph_free(graph);
}

/* Runs a placed graph and a side with zeros as inputs, and compares all outputs. */
static void compare_placed(const forge_graph *placed_graph, const struct side *side)
{
    const forge_place places[] = {{names[0], devices[0]}, {names[1], devices[1]}};
    forge_states *states[2];
    forge_placed *placed = NULL;
    forge_placed_instance *instance = NULL;
    for (int i = 0; i < 2; i++)
        assert_ok(forge_states_new(devices[i], 1, &states[i], &error), &error);
    assert_ok(forge_compile_placed(placed_graph, places, 2, &placed, &error), &error);
    assert_ok(forge_placed_instance_new(placed, states, 2, &instance, &error), &error);
    assert_ok(forge_placed_instance_set_zeros(instance, NULL, &error), &error);
    assert_ok(forge_instance_set_zeros(side->instance, NULL, &error), &error);
    assert_ok(forge_placed_instance_run(instance, &error), &error);
    assert_ok(forge_instance_run(side->instance, &error), &error);
    for (size_t i = 0; i < placed_graph->output_count; i++) {
        forge_tensor x, y;
        const char *name = placed_graph->outputs[i].name;
        assert_ok(forge_placed_instance_get(instance, name, &x, &error), &error);
        assert_ok(forge_instance_get(side->instance, name, &y, &error), &error);
        assert_memory_equal(forge_tensor_data(&x), forge_tensor_data(&y),
                            forge_dtype_size_bytes(x.dtype, forge_tensor_elements(&x)));
    }
    forge_placed_instance_free(instance);
    forge_placed_free(placed);
    for (int i = 0; i < 2; i++)
        forge_states_free(states[i]);
}

/* The value that is written would be on the accelerator, and the reads of the slot on the host. */
static void test_a_slot_is_on_one_place(void **state)
{
    (void)state;
    forge_places_facts facts;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(512, 512));
    forge_slot slot = forge_state(b, "s", FORGE_F32, forge_shape_of(512, 512), (forge_init){0});
    forge_value r = forge_read(b, slot), w = forge_matmul(b, forge_matmul(b, x, x, 0), x, 0), y = w;
    for (int i = 0; i < 40; i++) {
        r = forge_unary(b, i % 2 ? FORGE_SIN : FORGE_COS, r);
        y = forge_unary(b, i % 2 ? FORGE_COS : FORGE_SIN, y);
    }
    forge_output(b, "r", r);
    forge_output(b, "y", y);
    forge_write(b, slot, w, false);
    forge_graph *graph = graph_of(b), *chosen = choose(graph, FORGE_MINIMISE_TIME, &facts);
    assert_ok(graph_verify(chosen, &error), &error);
    assert_string_equal(place_of(chosen, OP_READ), place_of(chosen, OP_MATMUL));
    struct side side = side_load(devices[0], graph, NULL);
    compare_placed(chosen, &side);
    side_unload(&side);
    forge_graph_free(chosen);
    forge_graph_free(graph);
}

/* An input is set on each device that reads it, so it needs no transfer. */
static void test_inputs_are_on_all_places(void **state)
{
    (void)state;
    const forge_place places[] = {{names[0], devices[0]}, {names[1], devices[1]}};
    forge_places_facts facts;
    forge_segment_facts segment = {.struct_size = sizeof segment};
    forge_placed *placed = NULL;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(512, 512)), y = x;
    for (int i = 0; i < 40; i++)
        y = forge_unary(b, i % 2 ? FORGE_SIN : FORGE_COS, y);
    forge_output(b, "y", y);
    forge_place_set(b, names[1]);
    forge_output(b, "z", forge_matmul(b, x, x, 0));
    rates[1].launch_s = 0.01;
    forge_graph *graph = graph_of(b), *chosen = choose(graph, FORGE_MINIMISE_TIME, &facts);
    assert_string_equal(place_of(chosen, OP_UNARY), "host");
    assert_int_equal(facts.transfer_count, 0);
    assert_ok(forge_compile_placed(chosen, places, 2, &placed, &error), &error);
    for (size_t i = 0; forge_placed_segment(placed, i, &segment) == JOULE_OK; i++)
        assert_int_equal(segment.transfer_count, 0);
    forge_placed_free(placed);
    forge_graph_free(chosen);
    forge_graph_free(graph);
}

static void test_given_places_stay(void **state)
{
    (void)state;
    forge_places_facts facts;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(512, 512));
    forge_place_set(b, "host");
    x = forge_matmul(b, x, x, 0);
    forge_place_set(b, NULL);
    forge_output(b, "y", forge_exp(b, x));
    forge_graph *graph = graph_of(b), *chosen = choose(graph, FORGE_MINIMISE_TIME, &facts);
    assert_string_equal(place_of(chosen, OP_MATMUL), "host");
    assert_string_equal(place_of(chosen, OP_UNARY), "host");
    assert_true(facts.chosen_seconds <= facts.single_seconds);
    forge_graph_free(chosen);
    const forge_place other[] = {{"elsewhere", devices[0]}};
    chosen = NULL;
    assert_int_equal(forge_choose_places(graph, other, 1, FORGE_MINIMISE_TIME, &chosen, NULL, &error),
                     JOULE_INVALID);
    assert_contains(error.message, "no device is given for the place 'host'");
    assert_int_equal(forge_choose_places(graph, other, 1, FORGE_MINIMISE_NONE, &chosen, NULL, &error),
                     JOULE_INVALID);
    assert_int_equal(forge_choose_places(graph, other, 0, FORGE_MINIMISE_TIME, &chosen, NULL, &error),
                     JOULE_INVALID);
    facts.struct_size = 4;
    assert_int_equal(forge_choose_places(graph, other, 1, FORGE_MINIMISE_TIME, &chosen, &facts, &error),
                     JOULE_INVALID);
    assert_null(chosen);
    forge_graph_free(graph);
}

/* The rates are random, so nodes are on both devices. Random graphs have nodes with the places "a" and
 * "b". */
static void test_placed_graphs_compute_the_same(void **state)
{
    (void)state;
    size_t transfers = 0;
    struct generator g = {21};
    names[0] = "a";
    names[1] = "b";
    for (uint64_t seed = 0; seed < 60; seed++) {
        forge_places_facts facts;
        forge_graph *graph = random_graph(300 + seed, 10 + seed % 40, RANDOM_GRAPH_GRADIENTS);
        for (int i = 0; i < 2; i++) {
            rates[i].launch_s = simulated_between(&g, 0, 1e-6);
            rates[i].flop_per_s = exp(simulated_between(&g, log(1e6), log(1e9)));
            for (int level = 0; level < RATE_LEVELS; level++)
                rates[i].core_bytes_per_s[level] = rates[i].total_bytes_per_s[level] =
                    exp(simulated_between(&g, log(1e7), log(1e10)));
        }
        forge_graph *chosen = choose(graph, (forge_minimise)(FORGE_MINIMISE_ENERGY + seed % 3), &facts);
        struct side side = side_load(devices[0], graph, NULL);
        compare_placed(chosen, &side);
        transfers += facts.transfer_count;
        side_unload(&side);
        forge_graph_free(chosen);
        forge_graph_free(graph);
    }
    print_message("%zu transfers\n", transfers);
    assert_true(transfers > 20);
}

int main(void)
{
#define WITH_DEVICES(test) cmocka_unit_test_setup_teardown(test, open_devices, close_devices)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts_are_the_least),
        cmocka_unit_test(test_choices_are_near_the_best),
        WITH_DEVICES(test_large_products_go_to_the_accelerator),
        WITH_DEVICES(test_each_node_goes_where_it_costs_least),
        WITH_DEVICES(test_a_slot_is_on_one_place),
        WITH_DEVICES(test_inputs_are_on_all_places),
        WITH_DEVICES(test_given_places_stay),
        WITH_DEVICES(test_placed_graphs_compute_the_same),
    };
    return cmocka_run_group_tests_name("place_choice", tests, NULL, NULL);
}
