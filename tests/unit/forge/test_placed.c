/* Checks one graph on several devices: the same bits as on one device, parallel work, failures that reach the
 * caller, and refused graphs. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include <forge/nn.h>
#include <forge/optim.h>
#include <forge/placed.h>
#include <forge/random.h>
#include "forge/hal/backend.h"
#include "forge/ir/graph.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/random_graph.h"

static joule_error error;

/* --- devices that can be watched ------------------------------------------------------------------------ */

/* A wrapper around a real device, with its state. The wrapper's run function calls that of the real
 * device. */
static struct watched {
    forge_device *device;
    struct device_ops ops;
    unsigned runs, fails_at; /* number of the run that fails; 0: none */
    bool meets;              /* each run waits until the other device also runs */
} watched[2];
static const struct device_ops *real;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static unsigned arrived;
static bool have_met;

/* Returns when both devices have called meet(), or after a timeout. */
static void meet(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 20;
    pthread_mutex_lock(&lock);
    have_met |= ++arrived == 2;
    pthread_cond_broadcast(&came);
    while (!have_met && pthread_cond_timedwait(&came, &lock, &end) == 0)
        continue;
    pthread_mutex_unlock(&lock);
}

static joule_status watched_run(forge_device *device, const struct bound_launch *launches, size_t count,
                                int64_t *ends_ns, joule_error *out_error)
{
    struct watched *w = &watched[device == watched[1].device];
    if (++w->runs == w->fails_at) {
        strcpy(out_error->message, "the board is gone");
        return out_error->status = JOULE_FAILED;
    }
    if (w->meets)
        meet();
    return real->run(device, launches, count, ends_ns, out_error);
}

static void watch(void)
{
    arrived = 0;
    have_met = false;
    for (int i = 0; i < 2; i++) {
        watched[i] = (struct watched){0};
        assert_ok(forge_device_open("cpu", &watched[i].device, &error), &error);
        real = watched[i].device->ops;
        watched[i].ops = *real;
        watched[i].ops.run = watched_run;
        watched[i].device->ops = &watched[i].ops;
    }
}

static void watch_no_more(void)
{
    for (int i = 0; i < 2; i++)
        forge_device_close(watched[i].device);
}

/* --- both ways of running a graph ----------------------------------------------------------------------- */

enum { DEVICES = 3 };

struct side {
    forge_device *devices[DEVICES];
    forge_states *states[DEVICES];
    forge_program *program;
    forge_instance *instance;
    forge_placed *placed; /* NULL: the graph runs on one device */
    forge_placed_instance *placed_instance;
};

static void load_placed(struct side *s, const forge_graph *graph, const char *const *names, size_t count)
{
    forge_place places[DEVICES];
    for (size_t i = 0; i < count; i++) {
        assert_ok(forge_device_open("cpu", &s->devices[i], &error), &error);
        assert_ok(forge_states_new(s->devices[i], 7, &s->states[i], &error), &error);
        places[i] = (forge_place){names[i], s->devices[i]};
    }
    assert_ok(forge_compile_placed(graph, places, count, &s->placed, &error), &error);
    assert_ok(forge_placed_instance_new(s->placed, s->states, count, &s->placed_instance, &error), &error);
}

static void load_plain(struct side *s, const forge_graph *graph)
{
    assert_ok(forge_device_open("cpu", &s->devices[0], &error), &error);
    assert_ok(forge_states_new(s->devices[0], 7, &s->states[0], &error), &error);
    assert_ok(forge_compile(graph, s->devices[0], &s->program, &error), &error);
    assert_ok(forge_instance_new(s->program, s->devices[0], s->states[0], &s->instance, &error), &error);
}

static void unload(struct side *s)
{
    forge_instance_free(s->instance);
    forge_program_free(s->program);
    forge_placed_instance_free(s->placed_instance);
    forge_placed_free(s->placed);
    for (size_t i = 0; i < DEVICES; i++) {
        forge_states_free(s->states[i]);
        forge_device_close(s->devices[i]);
    }
}

static void step(const struct side *s, const forge_graph *graph, uint32_t round)
{
    for (size_t i = 0; i < graph->input_count; i++) {
        const struct value *value = &graph->values[graph->inputs[i].value];
        forge_tensor x;
        assert_ok(forge_tensor_new(value->dtype, &value->shape, &x, &error), &error);
        if (value->dtype == FORGE_F32)
            forge_random_uniform(&(forge_random){.key = round, .stream = (uint32_t)i}, 0,
                                 forge_tensor_elements(&x), forge_tensor_data(&x));
        assert_ok(s->placed ? forge_placed_instance_set(s->placed_instance, graph->inputs[i].name, &x, &error)
                            : forge_instance_set(s->instance, graph->inputs[i].name, &x, &error),
                  &error);
        forge_buffer_release(x.buffer);
    }
    assert_ok(s->placed ? forge_placed_instance_run(s->placed_instance, &error)
                        : forge_instance_run(s->instance, &error),
              &error);
}

static void find(const struct side *s, const char *slot, forge_tensor *out)
{
    size_t found = 0;
    for (size_t i = 0; i < DEVICES; i++)
        found += s->states[i] && forge_states_find(s->states[i], slot, out) == JOULE_OK;
    if (found != 1)
        fail_msg("slot '%s' is on %zu devices", slot, found);
}

static void assert_same(const forge_tensor *a, const forge_tensor *b, uint64_t seed, const char *name)
{
    size_t bytes = forge_dtype_size_bytes(a->dtype, forge_tensor_elements(a));
    if (memcmp(forge_tensor_data(a), forge_tensor_data(b), bytes) != 0)
        fail_msg("graph of seed %llu: '%s' differs", (unsigned long long)seed, name);
}

static void compare(const struct side *plain, const struct side *placed, const forge_graph *graph,
                    uint64_t seed)
{
    forge_tensor x, y;
    for (size_t i = 0; i < graph->output_count; i++) {
        assert_ok(forge_instance_get(plain->instance, graph->outputs[i].name, &x, &error), &error);
        assert_ok(forge_placed_instance_get(placed->placed_instance, graph->outputs[i].name, &y, &error),
                  &error);
        assert_same(&x, &y, seed, graph->outputs[i].name);
    }
    for (size_t i = 0; i < graph->slot_count; i++)
        if (graph->slots[i].write) {
            find(plain, graph->slots[i].name, &x);
            find(placed, graph->slots[i].name, &y);
            assert_same(&x, &y, seed, graph->slots[i].name);
        }
}

/* Runs the graph on one and on several devices and compares all bits. Frees the graph. */
static void assert_same_bits(forge_graph *graph, uint64_t seed)
{
    static const char *const names[] = {NULL, "a", "b"};
    struct side plain = {0}, placed = {0};
    load_plain(&plain, graph);
    load_placed(&placed, graph, names, 3);
    for (uint32_t round = 0; round < 3; round++) {
        step(&plain, graph, round);
        step(&placed, graph, round);
        compare(&plain, &placed, graph, seed);
    }
    unload(&plain);
    unload(&placed);
    forge_graph_free(graph);
}

/* --- the same bits -------------------------------------------------------------------------------------- */

/* Layers alternate between places a and b; the loss is on the program's own place. */
static forge_graph *training(void)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(16, 24));
    forge_init init = {FORGE_INIT_NORMAL, 0, 0.2};
    for (int i = 0; i < 4; i++) {
        forge_place_set(b, i % 2 ? "b" : "a");
        forge_value w =
            forge_parameter(b, (char[]){'w', (char)('0' + i), 0}, FORGE_F32, forge_shape_of(24, 24), init);
        x = forge_softmax(b, forge_tanh(b, forge_matmul(b, x, w, 0)));
    }
    forge_place_set(b, NULL);
    forge_value loss = forge_reduce(b, FORGE_MEAN, forge_unary(b, FORGE_SQUARE, x), 3, false);
    forge_adamw_options adamw = {
        .struct_size = sizeof adamw, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .max_norm = 1};
    forge_output(b, "norm", forge_adamw(b, loss, forge_scalar(b, FORGE_F32, 0.01), &adamw));
    forge_output(b, "loss", loss);
    return graph_of(b);
}

static void training_on_three_devices_gives_the_bits_of_one(void **state)
{
    (void)state;
    assert_same_bits(training(), 0);
}

static void random_graphs_give_the_bits_of_one_device(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++)
        assert_same_bits(random_graph(seed, 50, RANDOM_GRAPH_PLACES | (seed % 2)), seed);
}

/* Slots exchange their old values, on one device and across devices. Some old values are read after the new
 * values were computed. */
static void slots_may_change_places(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_slot slots[5];
    forge_value values[5];
    for (int i = 0; i < 5; i++) {
        forge_place_set(b, i == 3 ? "b" : "a");
        slots[i] = forge_state(b, (char[]){'s', (char)('0' + i), 0}, FORGE_F32, forge_shape_of(2),
                               (forge_init){FORGE_INIT_UNIFORM, 0, 1});
        values[i] = forge_read(b, slots[i]);
    }
    forge_place_set(b, "a");
    forge_value early = forge_exp(b, values[4]);
    forge_write(b, slots[0], values[1], false);
    forge_write(b, slots[1], forge_transfer(b, values[3], "a"), false);
    forge_write(b, slots[2], values[0], false);
    forge_write(b, slots[3], forge_transfer(b, values[2], "b"), false);
    forge_write(b, slots[4], early, false);
    forge_place_set(b, "b");
    forge_value late = forge_exp(b, early);
    forge_place_set(b, "a");
    late = forge_mul(b, forge_sub(b, late, values[2]), forge_add(b, values[1], values[4]));
    forge_output(b, "y", late);
    assert_same_bits(graph_of(b), 0);
}

/* The outputs are an input, a constant and an old value. One input is not used. */
static void results_without_launches_are_copied(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = input_on(b, "x", "a");
    input_on(b, "unused", "b");
    forge_slot slot = forge_state(b, "s", FORGE_F32, forge_shape_of(2), (forge_init){0});
    forge_place_set(b, "b");
    forge_output(b, "old", forge_read(b, slot));
    forge_output(b, "constant", forge_scalar(b, FORGE_F32, 2.5));
    forge_output(b, "input", forge_transfer(b, x, "b"));
    forge_write(b, slot, forge_transfer(b, x, "b"), false);
    assert_same_bits(graph_of(b), 0);
}

/* --- segments ------------------------------------------------------------------------------------------- */

/* Returns a graph in which each of two batches passes through both devices. */
static forge_graph *pipeline(void)
{
    forge_builder *b = forge_builder_new();
    for (int batch = 0; batch < 2; batch++) {
        forge_value x = input_on(b, batch ? "x1" : "x0", "a");
        forge_place_set(b, "a");
        x = forge_exp(b, forge_neg(b, x));
        forge_place_set(b, "b");
        forge_output(b, batch ? "y1" : "y0", forge_tanh(b, forge_mul(b, x, x)));
    }
    return graph_of(b);
}

static void segment_ends_where_the_device_changes(void **state)
{
    (void)state;
    forge_graph *graph = pipeline();
    struct side s = {0};
    forge_segment_facts facts = {.struct_size = sizeof facts};
    load_placed(&s, graph, (const char *const[]){"a", "b"}, 2);
    for (size_t i = 0; i < 4; i++) {
        assert_ok(forge_placed_segment(s.placed, i, &facts), &error);
        assert_ptr_equal(facts.device, s.devices[i % 2]);
        /* the value is transferred once, although both operands use it */
        assert_int_equal(facts.transfer_count, i % 2);
        assert_int_equal(facts.transfer_bytes, i % 2 * 8);
    }
    assert_int_equal(forge_placed_segment(s.placed, 4, &facts), JOULE_INVALID);
    unload(&s);
    s = (struct side){0};
    assert_ok(forge_device_open("cpu", &s.devices[0], &error), &error); /* both places are the same device */
    assert_ok(forge_compile_placed(graph, (forge_place[]){{"a", s.devices[0]}, {"b", s.devices[0]}}, 2,
                                   &s.placed, &error),
              &error);
    assert_ok(forge_placed_segment(s.placed, 0, &facts), &error);
    assert_int_equal(forge_placed_segment(s.placed, 1, &facts), JOULE_INVALID);
    unload(&s);
    forge_graph_free(graph);
}

/* --- events --------------------------------------------------------------------------------------------- */

struct placed_run {
    forge_graph *graph;
    forge_placed *placed;
    forge_states *states[2];
    forge_placed_instance *instance;
};

/* Starts the graph on the two wrapped devices. */
static struct placed_run begin(forge_graph *graph)
{
    struct placed_run r = {.graph = graph};
    forge_place places[2] = {{"a", watched[0].device}, {"b", watched[1].device}};
    assert_ok(forge_compile_placed(graph, places, 2, &r.placed, &error), &error);
    for (int i = 0; i < 2; i++)
        assert_ok(forge_states_new(watched[i].device, 1, &r.states[i], &error), &error);
    assert_ok(forge_placed_instance_new(r.placed, r.states, 2, &r.instance, &error), &error);
    assert_int_equal(forge_placed_instance_run(r.instance, &error), JOULE_INVALID);
    assert_contains(error.message, "was never set");
    assert_int_equal(forge_placed_instance_set_zeros(r.instance, "no such", &error), JOULE_ABSENT);
    assert_ok(forge_placed_instance_set_zeros(r.instance, NULL, &error), &error);
    return r;
}

static void end(struct placed_run *r)
{
    forge_placed_instance_free(r->instance);
    forge_states_free(r->states[0]);
    forge_states_free(r->states[1]);
    forge_placed_free(r->placed);
    forge_graph_free(r->graph);
}

/* Each device waits for the other in the middle of its work. If they ran one after the other, the wait would
 * time out. */
static void two_devices_work_at_once(void **state)
{
    (void)state;
    watch();
    forge_builder *b = forge_builder_new();
    forge_value x = input_on(b, "x", NULL);
    forge_place_set(b, "a");
    forge_value of_a = forge_exp(b, x);
    forge_place_set(b, "b");
    forge_value of_b = forge_neg(b, x);
    forge_place_set(b, "a");
    forge_output(b, "y", forge_add(b, of_a, of_b));
    struct placed_run r = begin(graph_of(b));
    watched[0].meets = watched[1].meets = true;
    assert_ok(forge_placed_instance_run(r.instance, &error), &error);
    assert_true(have_met);
    assert_int_equal(watched[0].runs, 2);
    assert_int_equal(watched[1].runs, 1);
    end(&r);
    watch_no_more();
}

static void a_failure_reaches_the_caller(void **state)
{
    (void)state;
    watch();
    struct placed_run r = begin(pipeline());
    watched[1].fails_at = 3;
    assert_ok(forge_placed_instance_run(r.instance, &error), &error);
    assert_int_equal(forge_placed_instance_run(r.instance, &error), JOULE_FAILED);
    assert_string_equal(error.message, "segment 1, on the device cpu: the board is gone");
    assert_int_equal(watched[1].runs, 3); /* later work of this device has not started */
    assert_int_equal(forge_placed_instance_run(r.instance, &error), JOULE_FAILED);
    assert_string_equal(error.message, "an earlier run failed midway: state may be partially updated");
    end(&r);
    watch_no_more();
}

/* The first device fails while the second waits for its result. */
static void failure_ends_the_wait_of_other_devices(void **state)
{
    (void)state;
    watch();
    struct placed_run r = begin(pipeline());
    watched[0].fails_at = 1;
    assert_int_equal(forge_placed_instance_run(r.instance, &error), JOULE_FAILED);
    assert_string_equal(error.message, "segment 0, on the device cpu: the board is gone");
    assert_int_equal(watched[1].runs, 0);
    end(&r);
    watch_no_more();
}

/* --- refused inputs ------------------------------------------------------------------------------------- */

static void assert_refused(const forge_graph *graph, const forge_place *places, size_t count,
                           joule_status status, const char *message)
{
    forge_placed *placed = NULL;
    assert_int_equal(forge_compile_placed(graph, places, count, &placed, &error), status);
    assert_string_equal(error.message, message);
}

static void wrong_placements_are_refused(void **state)
{
    (void)state;
    forge_device *devices[9];
    forge_place places[9];
    forge_graph *graph = pipeline();
    for (int i = 0; i < 9; i++) {
        assert_ok(forge_device_open("cpu", &devices[i], &error), &error);
        places[i] =
            (forge_place){(const char *[]){"a", "b", "c", "d", "e", "f", "g", "h", "i"}[i], devices[i]};
    }
    assert_refused(graph, places, 0, JOULE_INVALID, "no device is given");
    assert_refused(graph, places, 1, JOULE_INVALID, "no device is given for the place 'b'");
    assert_refused(graph, places, 9, JOULE_INVALID, "a placed program can have at most 8 devices");
    places[1].name = "a";
    assert_refused(graph, places, 2, JOULE_INVALID, "a place is given twice");
    forge_graph_free(graph);

    forge_builder *b = forge_builder_new();
    forge_dim batch = forge_symbol(b, "B", 1, 8, 1);
    forge_output(b, "y", forge_exp(b, forge_input(b, "x", FORGE_F32, forge_shape_of(batch))));
    graph = graph_of(b);
    assert_refused(graph, places, 1, JOULE_INVALID,
                   "a placed program cannot have symbolic sizes: give them numbers with forge_graph_bind");
    forge_graph_free(graph);

    b = forge_builder_new();
    forge_slot slot = forge_state(b, "s", FORGE_F32, forge_shape_of(2), (forge_init){0});
    forge_place_set(b, "a");
    forge_value moved = forge_transfer(b, forge_exp(b, forge_read(b, slot)), "b");
    forge_place_set(b, "b");
    moved = forge_transfer(b, forge_exp(b, moved), "a");
    forge_write(b, slot, moved, true);
    graph = graph_of(b);
    places[1].name = "b";
    assert_refused(graph, places, 2, JOULE_FAILED,
                   "slot 's' cannot be written in place: another segment computes its value");
    forge_graph_free(graph);
    for (int i = 0; i < 9; i++)
        forge_device_close(devices[i]);
}

static void instance_needs_all_states_and_inputs(void **state)
{
    (void)state;
    forge_graph *graph = pipeline();
    forge_placed_instance *none = NULL;
    forge_device *estimated = NULL;
    forge_tensor y;
    struct side s = {0};
    load_placed(&s, graph, (const char *const[]){"a", "b"}, 2);
    assert_int_equal(forge_placed_instance_new(s.placed, s.states, 1, &none, &error), JOULE_INVALID);
    assert_string_equal(error.message, "the placed program needs states for device 1 (cpu)");
    assert_int_equal(forge_placed_instance_get(s.placed_instance, "z", &y, &error), JOULE_ABSENT);
    assert_string_equal(error.message, "the program has no output 'z'");
    assert_ok(forge_tensor_new(FORGE_F32, &(forge_shape){.rank = 1, .dims = {3}}, &y, &error), &error);
    assert_int_equal(forge_placed_instance_set(s.placed_instance, "z", &y, &error), JOULE_ABSENT);
    assert_string_equal(error.message, "the program has no input 'z'");
    assert_int_equal(forge_placed_instance_set(s.placed_instance, "x1", &y, &error), JOULE_INVALID);
    assert_string_equal(error.message, "input 'x1' must be f32[2], packed, not f32[3]");
    forge_buffer_release(y.buffer);
    unload(&s);

    s = (struct side){0};
    assert_ok(forge_device_open("cpu", &s.devices[0], &error), &error);
    assert_ok(forge_device_open("estimated", &estimated, &error), &error);
    assert_ok(forge_compile_placed(graph, (forge_place[]){{"a", s.devices[0]}, {"b", estimated}}, 2,
                                   &s.placed, &error),
              &error);
    assert_int_equal(forge_placed_instance_new(s.placed, s.states, 0, &none, &error), JOULE_UNSUPPORTED);
    assert_string_equal(error.message,
                        "cannot transfer values from the device estimated, because it only estimates");
    unload(&s);
    forge_device_close(estimated);
    forge_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_on_three_devices_gives_the_bits_of_one),
        cmocka_unit_test(random_graphs_give_the_bits_of_one_device),
        cmocka_unit_test(slots_may_change_places),
        cmocka_unit_test(results_without_launches_are_copied),
        cmocka_unit_test(segment_ends_where_the_device_changes),
        cmocka_unit_test(two_devices_work_at_once),
        cmocka_unit_test(a_failure_reaches_the_caller),
        cmocka_unit_test(failure_ends_the_wait_of_other_devices),
        cmocka_unit_test(wrong_placements_are_refused),
        cmocka_unit_test(instance_needs_all_states_and_inputs),
    };
    return cmocka_run_group_tests_name("placed", tests, NULL, NULL);
}
