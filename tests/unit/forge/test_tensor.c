/* Checks shapes, buffers and tensors: arithmetic overflow, references from many threads, and invalid
 * views. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <forge/tensor.h>
#include "support/check.h"

static void test_shapes_have_sizes_and_equality(void **state)
{
    (void)state;
    const forge_shape scalar = {0}, shape = forge_shape_of(2, 3, 4);
    assert_int_equal(forge_shape_elements(&scalar), 1);
    assert_int_equal(forge_shape_elements(&shape), 24);
    assert_true(forge_shape_equal(&shape, &forge_shape_of(2, 3, 4)));
    assert_false(forge_shape_equal(&shape, &forge_shape_of(2, 3, 5)));
    assert_false(forge_shape_equal(&forge_shape_of(2), &forge_shape_of(2, 0)));
    assert_int_equal(forge_shape_elements(&forge_shape_of(5, 0, 7)), 0);
    assert_int_equal(forge_shape_elements(&forge_shape_of(1, 1, 1, 1, 1, 1, 1, 9)), 9);
}

static void test_sizes_of_huge_shapes_saturate(void **state)
{
    (void)state;
    const forge_dim huge = INT64_C(1) << 31;
    assert_true(forge_shape_elements(&forge_shape_of(huge, huge)) == (size_t)1 << 62);
    assert_true(forge_shape_elements(&forge_shape_of(INT64_MAX)) == (size_t)INT64_MAX);
    assert_true(forge_shape_elements(&forge_shape_of(huge, huge, 2)) == SIZE_MAX);
    assert_true(forge_shape_elements(&forge_shape_of(huge, huge, huge, huge)) == SIZE_MAX);
    assert_true(forge_shape_elements(&forge_shape_of(huge, huge, 2, 0)) == SIZE_MAX);
    assert_true(forge_shape_elements(&forge_shape_of(0, huge, huge, 2)) == SIZE_MAX);
    assert_true(forge_shape_elements(&forge_shape_of(3, -1)) == SIZE_MAX);
    assert_true(forge_shape_elements(&forge_shape_of(0, -1)) == SIZE_MAX);
    assert_true(forge_shape_elements(&(forge_shape){.rank = 9}) == SIZE_MAX);
}

static void test_shapes_are_printed(void **state)
{
    (void)state;
    char text[200];
    assert_int_equal(forge_shape_format(&(forge_shape){0}, text, sizeof text), 2);
    assert_string_equal(text, "[]");
    assert_int_equal(forge_shape_format(&forge_shape_of(2, 3, 4), text, sizeof text), 7);
    assert_string_equal(text, "[2,3,4]");
    assert_int_equal(forge_shape_format(&forge_shape_of(2, 3, 4), text, 5), 7);
    assert_string_equal(text, "[2,3");
    assert_int_equal(forge_shape_format(&forge_shape_of(2, 3, 4), NULL, 0), 7);
    /* must not read beyond the array of dimensions */
    forge_shape_format(&(forge_shape){.rank = UINT32_MAX}, text, sizeof text);
}

static void count_release(void *context)
{
    ++*(int *)context;
}

static void test_buffers_are_aligned_and_zero(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        forge_buffer *buffer;
        assert_int_equal(forge_buffer_new(sizes[i], &buffer, NULL), JOULE_OK);
        unsigned char *bytes = forge_buffer_data(buffer);
        assert_int_equal((uintptr_t)bytes % 64, 0);
        assert_int_equal(forge_buffer_size_bytes(buffer), sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(bytes[k], 0);
        memset(bytes, 0xff, sizes[i]);
        forge_buffer_release(buffer);
    }
    forge_buffer_release(NULL);

    joule_error error;
    forge_buffer *untouched = NULL;
    assert_int_equal(forge_buffer_new(SIZE_MAX, &untouched, &error), JOULE_NO_MEMORY);
    assert_contains(error.message, "18446744073709551615");
    assert_int_equal(forge_buffer_new(PTRDIFF_MAX, &untouched, &error), JOULE_NO_MEMORY);
    assert_int_equal(forge_buffer_new(1, NULL, &error), JOULE_INVALID);
    assert_null(untouched);
}

static void test_wrapped_memory_is_released_once(void **state)
{
    (void)state;
    char memory[16];
    int releases = 0;
    forge_buffer *buffer;
    assert_int_equal(forge_buffer_wrap(memory, sizeof memory, count_release, &releases, &buffer, NULL),
                     JOULE_OK);
    assert_ptr_equal(forge_buffer_data(buffer), memory);
    forge_buffer_retain(buffer);
    forge_buffer_release(buffer);
    assert_int_equal(releases, 0);
    forge_buffer_release(buffer);
    assert_int_equal(releases, 1);
    assert_int_equal(forge_buffer_wrap(memory, sizeof memory, NULL, NULL, &buffer, NULL), JOULE_OK);
    forge_buffer_release(buffer);
    joule_error error;
    assert_int_equal(forge_buffer_wrap(NULL, 1, count_release, &releases, &buffer, &error), JOULE_INVALID);
    assert_int_equal(forge_buffer_wrap(memory, 1, count_release, &releases, NULL, &error), JOULE_INVALID);
    assert_int_equal(releases, 1);
    assert_int_equal(forge_buffer_wrap(NULL, 0, count_release, &releases, &buffer, NULL), JOULE_OK);
    forge_buffer_release(buffer);
    assert_int_equal(releases, 2);
}

static void *retain_and_release(void *buffer)
{
    for (int i = 0; i < 20000; i++) {
        forge_buffer_retain(buffer);
        forge_buffer_release(buffer);
    }
    forge_buffer_release(buffer);
    return NULL;
}

static void test_references_from_many_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    char memory[1];
    int releases = 0;
    forge_buffer *buffer;
    pthread_t threads[THREADS];
    assert_int_equal(forge_buffer_wrap(memory, 1, count_release, &releases, &buffer, NULL), JOULE_OK);
    for (int i = 0; i < THREADS; i++) {
        forge_buffer_retain(buffer);
        assert_int_equal(pthread_create(&threads[i], NULL, retain_and_release, buffer), 0);
    }
    forge_buffer_release(buffer);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(releases, 1);
}

static void test_new_tensors_are_packed(void **state)
{
    (void)state;
    forge_tensor tensor;
    assert_int_equal(forge_tensor_new(FORGE_F32, &forge_shape_of(2, 3, 4), &tensor, NULL), JOULE_OK);
    assert_int_equal(forge_buffer_size_bytes(tensor.buffer), 96);
    assert_int_equal(forge_tensor_elements(&tensor), 24);
    assert_int_equal(tensor.strides[0], 12);
    assert_int_equal(tensor.strides[1], 4);
    assert_int_equal(tensor.strides[2], 1);
    assert_ptr_equal(forge_tensor_data(&tensor), forge_buffer_data(tensor.buffer));
    assert_true(forge_tensor_is_packed(&tensor));
    forge_buffer_release(tensor.buffer);

    assert_int_equal(forge_tensor_new(FORGE_U4, &forge_shape_of(3, 3), &tensor, NULL), JOULE_OK);
    assert_int_equal(forge_buffer_size_bytes(tensor.buffer), 5);
    forge_buffer_release(tensor.buffer);
    assert_int_equal(forge_tensor_new(FORGE_Q8_0, &forge_shape_of(3, 64), &tensor, NULL), JOULE_OK);
    assert_int_equal(forge_buffer_size_bytes(tensor.buffer), 6 * 34);
    forge_buffer_release(tensor.buffer);
    assert_int_equal(forge_tensor_new(FORGE_F64, &forge_shape_of(4, 0, 2), &tensor, NULL), JOULE_OK);
    assert_int_equal(forge_tensor_elements(&tensor), 0);
    assert_true(forge_tensor_is_packed(&tensor));
    forge_buffer_release(tensor.buffer);
}

static void refuse(forge_dtype dtype, forge_shape shape, joule_status expected, const char *words)
{
    joule_error error;
    forge_tensor tensor = {.offset_bytes = 1234};
    assert_int_equal(forge_tensor_new(dtype, &shape, &tensor, &error), expected);
    assert_contains(error.message, words);
    assert_int_equal(error.status, expected);
    assert_int_equal(tensor.offset_bytes, 1234);
}

static void test_wrong_tensors_are_refused(void **state)
{
    (void)state;
    refuse(FORGE_DTYPE_NONE, forge_shape_of(2), JOULE_INVALID, "type");
    refuse((forge_dtype)1000, forge_shape_of(2), JOULE_INVALID, "1000");
    refuse(FORGE_F32, forge_shape_of(2, -3), JOULE_INVALID, "f32[2,-3]: dimension 1");
    refuse(FORGE_F32, forge_shape_of(0, -3), JOULE_INVALID, "negative");
    refuse(FORGE_F32, forge_shape_of(INT64_MAX, 2), JOULE_INVALID, "too many elements");
    refuse(FORGE_F32, forge_shape_of(INT64_MAX, 2, 0), JOULE_INVALID, "too many elements");
    refuse(FORGE_F32, forge_shape_of(INT64_MAX), JOULE_INVALID, "too many bytes");
    refuse(FORGE_Q4_0, forge_shape_of(2, 16), JOULE_INVALID, "blocks of 32");
    refuse(FORGE_Q8_0, (forge_shape){0}, JOULE_INVALID, "blocks of 32");
    refuse(FORGE_U8, (forge_shape){.rank = 9}, JOULE_INVALID, "rank 9");
    refuse(FORGE_U8, forge_shape_of(INT64_MAX), JOULE_NO_MEMORY,
           "u8[9223372036854775807] of 9223372036854775807 bytes");
    forge_tensor tensor;
    assert_int_equal(forge_tensor_new(FORGE_F32, NULL, &tensor, NULL), JOULE_INVALID);
    assert_int_equal(forge_tensor_new(FORGE_F32, &forge_shape_of(1), NULL, NULL), JOULE_INVALID);
}

static void test_views_share_their_buffer(void **state)
{
    (void)state;
    forge_buffer *buffer;
    forge_tensor view;
    joule_error error;
    const forge_shape three = forge_shape_of(3);
    assert_int_equal(forge_buffer_new(100, &buffer, NULL), JOULE_OK);
    assert_int_equal(forge_tensor_view(buffer, 88, FORGE_F32, &three, &view, NULL), JOULE_OK);
    assert_ptr_equal(forge_tensor_data(&view), (char *)forge_buffer_data(buffer) + 88);
    assert_int_equal(forge_tensor_view(buffer, 92, FORGE_F32, &three, &view, &error), JOULE_INVALID);
    assert_contains(error.message, "12 bytes at offset 92");
    assert_int_equal(forge_tensor_view(buffer, SIZE_MAX - 3, FORGE_F32, &three, &view, &error),
                     JOULE_INVALID);
    assert_int_equal(forge_tensor_view(buffer, 6, FORGE_F32, &three, &view, &error), JOULE_INVALID);
    assert_contains(error.message, "offset 6 is not a multiple of the 4 bytes that f32 needs");
    assert_int_equal(forge_tensor_view(buffer, 97, FORGE_U8, &three, &view, NULL), JOULE_OK);
    assert_int_equal(forge_tensor_view(buffer, 6, FORGE_Q8_0, &forge_shape_of(32), &view, NULL), JOULE_OK);
    assert_int_equal(forge_tensor_view(buffer, 7, FORGE_Q8_0, &forge_shape_of(32), &view, NULL),
                     JOULE_INVALID);
    assert_int_equal(forge_tensor_view(buffer, 100, FORGE_F64, &forge_shape_of(0), &view, NULL),
                     JOULE_INVALID);
    assert_int_equal(forge_tensor_view(buffer, 96, FORGE_F64, &forge_shape_of(0), &view, NULL), JOULE_OK);
    assert_int_equal(forge_tensor_view(NULL, 0, FORGE_F64, &three, &view, &error), JOULE_INVALID);
    forge_buffer_release(buffer);
}

static void test_packed_tensors_are_recognised(void **state)
{
    (void)state;
    forge_tensor tensor = {.dtype = FORGE_F32, .shape = forge_shape_of(2, 1, 3), .strides = {3, 77, 1}};
    assert_true(forge_tensor_is_packed(&tensor)); /* the stride of a dimension of size 1 has no effect */
    tensor.strides[0] = 4;
    assert_false(forge_tensor_is_packed(&tensor));
    tensor.strides[0] = 3;
    tensor.strides[2] = -1;
    assert_false(forge_tensor_is_packed(&tensor));
    tensor.strides[2] = 0;
    assert_false(forge_tensor_is_packed(&tensor));
    tensor.shape = forge_shape_of(2, 0, 3);
    assert_true(forge_tensor_is_packed(&tensor));
    assert_true(forge_tensor_is_packed(&(forge_tensor){.dtype = FORGE_F32}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_have_sizes_and_equality),
        cmocka_unit_test(test_sizes_of_huge_shapes_saturate),
        cmocka_unit_test(test_shapes_are_printed),
        cmocka_unit_test(test_buffers_are_aligned_and_zero),
        cmocka_unit_test(test_wrapped_memory_is_released_once),
        cmocka_unit_test(test_references_from_many_threads),
        cmocka_unit_test(test_new_tensors_are_packed),
        cmocka_unit_test(test_wrong_tensors_are_refused),
        cmocka_unit_test(test_views_share_their_buffer),
        cmocka_unit_test(test_packed_tensors_are_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
