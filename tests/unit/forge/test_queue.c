/* Checks timelines and queues: dependencies, failures that propagate, and two devices that take turns. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <forge/queue.h>
#include "support/check.h"

#define ROUNDS 40

static forge_timeline *make_timeline(void)
{
    forge_timeline *timeline = NULL;
    joule_error error = {0};
    assert_ok(forge_timeline_new(&timeline, &error), &error);
    return timeline;
}

static forge_queue *make_queue(void)
{
    forge_queue *queue = NULL;
    joule_error error = {0};
    assert_ok(forge_queue_new(&queue, &error), &error);
    return queue;
}

/* --- timelines ------------------------------------------------------------------------------------------ */

static void a_timeline_only_grows(void **state)
{
    (void)state;
    forge_timeline *timeline = make_timeline();
    joule_error error = {0};
    assert_int_equal(forge_timeline_value(timeline), 0);
    assert_int_equal(forge_timeline_wait(timeline, 0, 0, &error), JOULE_OK);
    assert_int_equal(forge_timeline_wait(timeline, 1, 0.001, &error), JOULE_PENDING);
    assert_string_equal(error.message, "the timeline is at 0, and has not reached 1");
    assert_ok(forge_timeline_signal(timeline, 5, &error), &error);
    assert_int_equal(forge_timeline_wait(timeline, 5, -1, &error), JOULE_OK);
    assert_int_equal(forge_timeline_signal(timeline, 5, &error), JOULE_INVALID);
    assert_string_equal(error.message, "cannot set a timeline from 5 to 5: values must increase");
    assert_int_equal(forge_timeline_value(timeline), 5);
    forge_timeline_free(timeline);
}

static void failed_timeline_has_its_first_reason(void **state)
{
    (void)state;
    forge_timeline *timeline = make_timeline();
    joule_error error = {0};
    assert_ok(forge_timeline_signal(timeline, 2, &error), &error);
    forge_timeline_fail(timeline, "the first reason");
    forge_timeline_fail(timeline, "the second");
    /* point 2 was reached before the failure */
    assert_int_equal(forge_timeline_wait(timeline, 2, -1, &error), JOULE_OK);
    assert_int_equal(forge_timeline_wait(timeline, 3, 1e300, &error), JOULE_FAILED);
    assert_string_equal(error.message, "the first reason");
    assert_int_equal(forge_timeline_signal(timeline, 3, &error), JOULE_FAILED);
    forge_timeline_free(timeline);
}

struct relay {
    forge_timeline *mine, *other;
    uint64_t *sum; /* only the timelines synchronise accesses to *sum */
};

static void *run_relay(void *argument)
{
    struct relay *relay = argument;
    for (uint64_t i = 1; i <= 500; i++) {
        if (forge_timeline_wait(relay->other, i - 1, 10, NULL) != JOULE_OK)
            return argument;
        *relay->sum += i;
        if (forge_timeline_signal(relay->mine, i, NULL) != JOULE_OK)
            return argument;
    }
    return NULL;
}

static void writes_before_a_signal_are_visible_after_it(void **state)
{
    (void)state;
    forge_timeline *forth = make_timeline(), *back = make_timeline();
    uint64_t sum = 0;
    struct relay relay = {forth, back, &sum};
    pthread_t thread;
    void *failed;
    assert_int_equal(pthread_create(&thread, NULL, run_relay, &relay), 0);
    for (uint64_t i = 1; i <= 500; i++) {
        assert_int_equal(forge_timeline_wait(forth, i, 10, NULL), JOULE_OK);
        assert_int_equal(sum, i * i);
        sum += i - 1;
        sum += 1;
        assert_int_equal(forge_timeline_signal(back, i, NULL), JOULE_OK);
    }
    pthread_join(thread, &failed);
    assert_null(failed);
    forge_timeline_free(forth);
    forge_timeline_free(back);
}

/* --- queues --------------------------------------------------------------------------------------------- */

static joule_status note(void *context, joule_error *error)
{
    (void)error;
    ++*(int *)context;
    return JOULE_OK;
}

static joule_status refuse(void *context, joule_error *error)
{
    strcpy(error->message, context);
    return JOULE_FAILED;
}

static forge_order order_of(const forge_point *wait, const forge_point *signal)
{
    return (forge_order){.struct_size = sizeof(forge_order),
                         .wait_count = wait != NULL,
                         .signal_count = signal != NULL,
                         .waits = wait,
                         .signals = signal};
}

static void failure_reaches_only_dependent_orders(void **state)
{
    (void)state;
    forge_queue *queue = make_queue();
    forge_timeline *a = make_timeline(), *b = make_timeline(), *c = make_timeline();
    forge_order first = order_of(NULL, &(forge_point){a, 1});
    forge_order second = order_of(&(forge_point){a, 1}, &(forge_point){b, 1});
    forge_order third = order_of(NULL, &(forge_point){c, 1});
    int runs = 0;
    joule_error error = {0};
    assert_ok(forge_queue_call(queue, refuse, (void *)"the disk is full", &first, &error), &error);
    assert_ok(forge_queue_call(queue, note, &runs, &second, &error), &error);
    assert_ok(forge_queue_call(queue, note, &runs, &third, &error), &error);
    assert_int_equal(forge_timeline_wait(c, 1, 10, &error), JOULE_OK);
    assert_int_equal(runs, 1);
    assert_int_equal(forge_timeline_wait(b, 1, 10, &error), JOULE_FAILED);
    assert_string_equal(error.message, "the disk is full");
    forge_queue_free(queue);
    forge_timeline_free(a);
    forge_timeline_free(b);
    forge_timeline_free(c);
}

static void freeing_a_queue_ends_waiting_orders(void **state)
{
    (void)state;
    forge_queue *queue = make_queue();
    forge_timeline *never = make_timeline(), *done = make_timeline(), *after = make_timeline();
    forge_order stuck = order_of(&(forge_point){never, 1}, &(forge_point){done, 1});
    forge_order last = order_of(NULL, &(forge_point){after, 1});
    int runs = 0;
    joule_error error = {0};
    assert_ok(forge_queue_call(queue, note, &runs, NULL, &error), &error);
    assert_ok(forge_queue_call(queue, note, &runs, &stuck, &error), &error);
    assert_ok(forge_queue_call(queue, note, &runs, &last, &error), &error);
    forge_queue_free(queue);
    assert_int_equal(runs, 1);
    assert_int_equal(forge_timeline_wait(done, 1, 0, &error), JOULE_FAILED);
    assert_string_equal(error.message, "the queue was freed while it waited for a timeline");
    assert_int_equal(forge_timeline_wait(after, 1, 0, &error), JOULE_FAILED);
    assert_string_equal(error.message, "the queue was freed before this entry began");
    forge_timeline_free(never);
    forge_timeline_free(done);
    forge_timeline_free(after);
    forge_queue_free(NULL);
}

static void bad_orders_are_refused(void **state)
{
    (void)state;
    forge_queue *queue = make_queue();
    forge_point points[FORGE_MAX_POINTS + 1] = {{0}};
    forge_order order = {.struct_size = sizeof order, .wait_count = FORGE_MAX_POINTS + 1, .waits = points};
    int runs = 0;
    joule_error error = {0};
    assert_int_equal(forge_queue_call(queue, note, &runs, &order, &error), JOULE_INVALID);
    order.struct_size = 4;
    assert_int_equal(forge_queue_call(queue, note, &runs, &order, &error), JOULE_INVALID);
    forge_queue_free(queue);
    assert_int_equal(runs, 0);
}

/* --- two devices ---------------------------------------------------------------------------------------- */

/* One device with a program y = tanh(x w). */
struct half {
    forge_device *device;
    forge_states *states;
    forge_program *program;
    forge_instance *instance;
};

static void open_half(struct half *half, uint64_t seed)
{
    joule_error error = {0};
    forge_graph *graph = NULL;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(33, 17));
    forge_slot slot = forge_state(b, "w", FORGE_F32, forge_shape_of(17, 17),
                                  (forge_init){.kind = FORGE_INIT_NORMAL, .a = 0, .b = 0.3});
    forge_output(b, "y", forge_tanh(b, forge_matmul(b, x, forge_read(b, slot), 0)));
    assert_ok(forge_builder_finish(b, &graph, &error), &error);
    assert_ok(forge_device_open("cpu", &half->device, &error), &error);
    assert_ok(forge_states_new(half->device, seed, &half->states, &error), &error);
    assert_ok(forge_compile(graph, half->device, &half->program, &error), &error);
    assert_ok(forge_instance_new(half->program, half->device, half->states, &half->instance, &error), &error);
    forge_graph_free(graph);
}

static void close_half(struct half *half)
{
    forge_instance_free(half->instance);
    forge_program_free(half->program);
    forge_states_free(half->states);
    forge_device_close(half->device);
}

struct hand_over {
    struct half *from, *to;
};

static joule_status hand_over(void *context, joule_error *error)
{
    struct hand_over *hand = context;
    forge_tensor y;
    joule_status status = forge_instance_get(hand->from->instance, "y", &y, error);
    return status == JOULE_OK ? forge_instance_set(hand->to->instance, "x", &y, error) : status;
}

static void set_ones(struct half *half, float ones[33 * 17])
{
    forge_tensor tensor;
    forge_buffer *buffer = NULL;
    joule_error error = {0};
    for (int i = 0; i < 33 * 17; i++)
        ones[i] = (float)(i % 13) / 13;
    assert_ok(forge_buffer_wrap(ones, 33 * 17 * sizeof *ones, NULL, NULL, &buffer, &error), &error);
    forge_shape shape = forge_shape_of(33, 17);
    assert_ok(forge_tensor_view(buffer, 0, FORGE_F32, &shape, &tensor, &error), &error);
    assert_ok(forge_instance_set(half->instance, "x", &tensor, &error), &error);
    forge_buffer_release(buffer);
}

static void read_result(struct half *half, float out[33 * 17])
{
    forge_tensor y;
    joule_error error = {0};
    assert_ok(forge_instance_get(half->instance, "y", &y, &error), &error);
    memcpy(out, forge_tensor_data(&y), 33 * 17 * sizeof *out);
}

/* Runs a, b, a, ... in turns. Each device has a queue. Only points of timelines determine the order of the
 * runs. */
static void run_with_queues(struct half *a, struct half *b)
{
    forge_queue *queues[2] = {make_queue(), make_queue()};
    forge_timeline *done = make_timeline();
    struct half *halves[2] = {a, b};
    struct hand_over hands[2] = {{a, b}, {b, a}};
    joule_error error = {0};
    for (uint64_t i = 0; i < ROUNDS; i++) {
        forge_point before = {done, 2 * i}, between = {done, 2 * i + 1}, after = {done, 2 * i + 2};
        forge_order run = order_of(&before, &between), give = order_of(&between, &after);
        assert_ok(forge_queue_run(queues[i % 2], halves[i % 2]->instance, &run, &error), &error);
        assert_ok(forge_queue_call(queues[i % 2], hand_over, &hands[i % 2], &give, &error), &error);
    }
    assert_ok(forge_timeline_wait(done, 2 * ROUNDS, 60, &error), &error);
    forge_queue_free(queues[0]);
    forge_queue_free(queues[1]);
    forge_timeline_free(done);
}

static void two_devices_give_the_bits_of_one_after_the_other(void **state)
{
    (void)state;
    struct half a, b;
    float ones[33 * 17], by_queues[33 * 17], one_by_one[33 * 17];
    open_half(&a, 1);
    open_half(&b, 2);
    set_ones(&a, ones);
    run_with_queues(&a, &b);
    read_result(&b, by_queues);
    set_ones(&a, ones);
    struct hand_over hands[2] = {{&a, &b}, {&b, &a}};
    joule_error error = {0};
    for (int i = 0; i < ROUNDS; i++) {
        assert_ok(forge_instance_run(i % 2 ? b.instance : a.instance, &error), &error);
        assert_ok(hand_over(&hands[i % 2], &error), &error);
    }
    read_result(&b, one_by_one);
    assert_memory_equal(by_queues, one_by_one, sizeof one_by_one);
    assert_true(one_by_one[5] != 0);
    close_half(&a);
    close_half(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timeline_only_grows),
        cmocka_unit_test(failed_timeline_has_its_first_reason),
        cmocka_unit_test(writes_before_a_signal_are_visible_after_it),
        cmocka_unit_test(failure_reaches_only_dependent_orders),
        cmocka_unit_test(freeing_a_queue_ends_waiting_orders),
        cmocka_unit_test(bad_orders_are_refused),
        cmocka_unit_test(two_devices_give_the_bits_of_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
