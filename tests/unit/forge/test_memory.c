/* Checks a device's memory: size classes, cached and released blocks, the limit, and the users named in the
 * out-of-memory message. */
#include <pthread.h>
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "forge/hal/memory.h"
#include "support/check.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static forge_device *open_cpu(void)
{
    forge_device *device = NULL;
    joule_error error = {0};
    assert_ok(forge_device_open("cpu", &device, &error), &error);
    return device;
}

static forge_memory_facts facts_of(forge_device *device)
{
    forge_memory_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(forge_device_memory(device, &facts), JOULE_OK);
    return facts;
}

static forge_buffer *take(forge_device *device, size_t size_bytes, const char *purpose)
{
    forge_buffer *buffer = NULL;
    joule_error error = {0};
    assert_ok(device_take(device, size_bytes, purpose, &buffer, &error), &error);
    assert_int_equal(forge_buffer_size_bytes(buffer), size_bytes);
    assert_int_equal((uintptr_t)forge_buffer_data(buffer) % PROGRAM_ALIGNMENT, 0);
    return buffer;
}

static void classes_lose_less_than_an_eighth(void **state)
{
    (void)state;
    size_t before = 0;
    for (size_t size = 1; size < 100 * MIB; size += 1 + size / 57) {
        size_t class_bytes = memory_class_bytes(size);
        assert_true(class_bytes >= size && class_bytes >= before);
        assert_true(size <= 256 || (class_bytes - size) * 8 < size);
        assert_int_equal(memory_class_bytes(class_bytes), class_bytes);
        before = class_bytes;
    }
    assert_int_equal(memory_class_bytes(SIZE_MAX), SIZE_MAX);
}

static void memory_is_used_again_and_zeroed(void **state)
{
    (void)state;
    forge_device *device = open_cpu();
    forge_buffer *buffer = take(device, 3 * MIB, "one");
    void *data = forge_buffer_data(buffer);
    memset(data, 0x5a, 3 * MIB);
    forge_buffer_release(buffer);
    assert_int_equal(facts_of(device).used_bytes, 0);
    assert_int_equal(facts_of(device).held_bytes, 3 * MIB);
    buffer = take(device, 3 * MIB - 5, "another");
    assert_ptr_equal(forge_buffer_data(buffer), data);
    for (size_t i = 0; i < 3 * MIB - 5; i++)
        assert_int_equal(((char *)data)[i], 0);
    assert_int_equal(facts_of(device).held_bytes, 0);
    forge_buffer_release(buffer);
    forge_device_close(device);
}

static void peak_is_the_maximum_in_use(void **state)
{
    (void)state;
    forge_device *device = open_cpu();
    forge_buffer *a = take(device, MIB, "a"), *b = take(device, 2 * MIB, "b");
    forge_buffer_release(a);
    forge_buffer *c = take(device, MIB / 2, "c");
    forge_memory_facts facts = facts_of(device);
    assert_int_equal(facts.used_bytes, 2 * MIB + MIB / 2);
    assert_int_equal(facts.peak_bytes, 3 * MIB);
    forge_device_trim(device);
    facts = facts_of(device);
    assert_int_equal(facts.held_bytes, 0);
    assert_int_equal(facts.peak_bytes, facts.used_bytes);
    forge_buffer_release(b);
    forge_buffer_release(c);
    forge_device_close(device);
}

static void limit_error_names_the_request_and_the_largest_user(void **state)
{
    (void)state;
    forge_device *device = open_cpu();
    forge_device_limit_memory(device, 8 * MIB);
    forge_buffer *held = take(device, 3 * MIB, "gone"), *buffer = NULL;
    forge_buffer_release(held);
    forge_buffer *small = take(device, 100 * KIB, "input 'x'");
    /* cached blocks are released to make space */
    forge_buffer *large = take(device, 5 * MIB, "slot 'wte.weight'");
    assert_int_equal(facts_of(device).held_bytes, 0);
    joule_error error = {0};
    assert_int_equal(device_take(device, 4 * MIB, "slot 'h.0.weight'", &buffer, &error), JOULE_NO_MEMORY);
    assert_string_equal(
        error.message,
        "out of memory on cpu for slot 'h.0.weight': 4.0 MiB needed, 5.1 MiB of the limit of 8.0 MiB "
        "in use; largest: slot 'wte.weight' with 5.0 MiB, input 'x' with 104.0 KiB");
    assert_null(buffer);
    /* the limit is below the current use: only new requests are refused */
    forge_device_limit_memory(device, MIB);
    assert_int_equal(device_take(device, 1, "a byte", &buffer, &error), JOULE_NO_MEMORY);
    forge_device_limit_memory(device, 0);
    forge_buffer_release(take(device, 4 * MIB, "slot 'h.0.weight'"));
    forge_buffer_release(large);
    forge_buffer_release(small);
    forge_device_close(device);
}

/* Simulates a system with 2 MiB in total. */
static size_t left_bytes;

static void give_to_small(void *size_bytes)
{
    left_bytes += (uintptr_t)size_bytes;
}

static joule_status take_of_small(forge_device *device, size_t size_bytes, forge_buffer **out_buffer,
                                  joule_error *out_error)
{
    static alignas(PROGRAM_ALIGNMENT) char memory[2 * MIB];
    (void)device;
    if (size_bytes > left_bytes)
        return JOULE_NO_MEMORY;
    left_bytes -= size_bytes;
    return forge_buffer_wrap(memory, size_bytes, give_to_small, (void *)size_bytes, out_buffer, out_error);
}

static void cached_memory_is_freed_on_demand(void **state)
{
    (void)state;
    const struct device_ops small = {.name = "small", .allocate = take_of_small};
    forge_device device = {.ops = &small, .memory = device_memory_new()};
    forge_buffer *buffer = NULL;
    joule_error error = {0};
    left_bytes = 2 * MIB;
    forge_buffer_release(take(&device, MIB, "held"));
    assert_int_equal(left_bytes, MIB);
    forge_buffer *largest = take(&device, 7 * MIB / 4, "most");
    assert_int_equal(left_bytes, MIB / 4);
    assert_int_equal(device_take(&device, MIB, "a dream", &buffer, &error), JOULE_NO_MEMORY);
    assert_string_equal(
        error.message,
        "out of memory on small for a dream: 1.0 MiB needed, 1.8 MiB in use; largest: most with 1.8 MiB");
    assert_int_equal(device_take(&device, SIZE_MAX, "more", &buffer, &error), JOULE_NO_MEMORY);
    forge_buffer_release(largest);
    device_memory_close(device.memory);
    assert_int_equal(left_bytes, 2 * MIB);
}

static void buffers_outlive_their_device(void **state)
{
    (void)state;
    forge_device *device = open_cpu();
    forge_buffer *first = take(device, MIB, "first"), *second = take(device, KIB, "second");
    forge_device_close(device);
    memset(forge_buffer_data(first), 1, MIB);
    forge_buffer_release(first);
    memset(forge_buffer_data(second), 1, KIB);
    forge_buffer_release(second);
}

static void *take_and_give(void *device)
{
    for (size_t i = 1; i <= 2000; i++) {
        forge_buffer *buffer = NULL;
        if (device_take(device, 64 * (i % 40), "piece", &buffer, NULL) != JOULE_OK)
            return device;
        memset(forge_buffer_data(buffer), 0x11, 64 * (i % 40));
        forge_buffer_release(buffer);
    }
    return NULL;
}

static void threads_may_share_a_device(void **state)
{
    (void)state;
    forge_device *device = open_cpu();
    pthread_t threads[4];
    void *failed;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, device), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(facts_of(device).used_bytes, 0);
    assert_true(facts_of(device).peak_bytes <= 4 * memory_class_bytes(64 * 39));
    forge_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_lose_less_than_an_eighth),
        cmocka_unit_test(memory_is_used_again_and_zeroed),
        cmocka_unit_test(peak_is_the_maximum_in_use),
        cmocka_unit_test(limit_error_names_the_request_and_the_largest_user),
        cmocka_unit_test(cached_memory_is_freed_on_demand),
        cmocka_unit_test(buffers_outlive_their_device),
        cmocka_unit_test(threads_may_share_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
