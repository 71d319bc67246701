/* Checks .npy files of all versions, orders and types. Errors must name the byte of the damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <forge/serialize.h>
#include "support/check.h"
#include "support/scratch.h"
#include "support/test_data.h"

static const char *const path = scratch_path;
static joule_error error;

static void write_file(int version, size_t length, const char *header, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file, "\x93NUMPY%c%c", version, 0);
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        fputc((int)(length >> 8 * i & 0xff), file);
    fputs(header, file);
    fwrite(data, 1, size, file);
    assert_int_equal(fclose(file), 0);
}

static forge_tensor read_back(int version, const char *header, const void *data, size_t size)
{
    forge_tensor tensor;
    write_file(version, strlen(header), header, data, size);
    if (forge_npy_read(path, &tensor, &error) != JOULE_OK)
        fail_msg("%s: %s", header, error.message);
    assert_true(forge_tensor_is_packed(&tensor));
    return tensor;
}

static void expect(int version, const char *header, const void *data, size_t size, forge_dtype dtype,
                   forge_shape shape, const void *wanted)
{
    forge_tensor tensor = read_back(version, header, data, size);
    assert_int_equal(tensor.dtype, dtype);
    assert_true(forge_shape_equal(&tensor.shape, &shape));
    if (size)
        assert_memory_equal(forge_tensor_data(&tensor), wanted, size);
    forge_buffer_release(tensor.buffer);
}

#define HEADER(descr, order, shape)                                                                          \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }        \n"

static void test_versions_and_spelling(void **state)
{
    (void)state;
    const float f[] = {1, 2, 3, 4, 5, 6};
    for (int version = 1; version <= 3; version++)
        expect(version, HEADER("<f4", "False", "(2, 3)"), f, sizeof f, FORGE_F32,
               (forge_shape)forge_shape_of(2, 3), f);
    expect(1, "{\"shape\":(6,),\"descr\":\"f4\",\"fortran_order\":False}", f, sizeof f, FORGE_F32,
           (forge_shape)forge_shape_of(6), f);
    expect(1, "{'shape': (6L, 1L), 'descr': '=f4', 'fortran_order': False}", f, sizeof f, FORGE_F32,
           (forge_shape)forge_shape_of(6, 1), f);
    expect(1, HEADER("<f4", "False", "()"), f, 4, FORGE_F32, (forge_shape){0}, f);
    expect(1, HEADER("<f4", "True", "(0, 3)"), f, 0, FORGE_F32, (forge_shape)forge_shape_of(0, 3), f);
}

static void test_fortran_and_c_order_are_read(void **state)
{
    (void)state;
    /* The array has shape (2, 3, 2) and a[i][j][k] = 100 i + 10 j + k. In Fortran order, the first index
     * changes fastest. */
    int16_t fortran[12], c[12];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 2; k++) {
                fortran[i + 2 * j + 6 * k] = (int16_t)(100 * i + 10 * j + k);
                c[6 * i + 2 * j + k] = (int16_t)(100 * i + 10 * j + k);
            }
    expect(1, HEADER("<i2", "True", "(2, 3, 2)"), fortran, sizeof c, FORGE_I16,
           (forge_shape)forge_shape_of(2, 3, 2), c);
    uint8_t turned[24];
    for (size_t i = 0; i < 24; i++)
        turned[i] = ((uint8_t *)fortran)[i ^ 1];
    expect(2, HEADER(">i2", "True", "(2, 3, 2)"), turned, sizeof c, FORGE_I16,
           (forge_shape)forge_shape_of(2, 3, 2), c);
    expect(1, HEADER(">f8", "False", "(1,)"), "\x3f\xf8\0\0\0\0\0\0", 8, FORGE_F64,
           (forge_shape)forge_shape_of(1), &(double){1.5});
    expect(1, HEADER(">u4", "False", "(1,)"), "\1\2\3\4", 4, FORGE_U32, (forge_shape)forge_shape_of(1),
           &(uint32_t){0x01020304});
}

static void expect_refused(int version, const char *header, size_t size, joule_status status,
                           const char *part)
{
    static const char data[64];
    forge_tensor tensor;
    memset(&error, 0, sizeof error);
    write_file(version, strlen(header), header, data, size);
    assert_int_equal(forge_npy_read(path, &tensor, &error), status);
    assert_contains(error.message, part);
    assert_contains(error.message, path);
}

static void test_damaged_headers_are_refused(void **state)
{
    (void)state;
    expect_refused(1, HEADER("<f4", "False", "(2,)"), 7, JOULE_INVALID,
                   "the header describes f32[2], but 7 bytes follow");
    expect_refused(1, HEADER("<f4", "False", "(2,)"), 9, JOULE_INVALID, "but 9 bytes follow");
    expect_refused(1, HEADER("<f4", "False", "(4611686018427387904, 4)"), 8, JOULE_INVALID,
                   "but 8 bytes follow");
    expect_refused(1, HEADER("<f4", "False", "(9223372036854775808,)"), 8, JOULE_INVALID,
                   "'shape' is not a tuple of sizes");
    expect_refused(1, HEADER("<f4", "False", "(2)"), 8, JOULE_INVALID, "'shape' is a number");
    expect_refused(1, HEADER("<f4", "False", "(2 3)"), 8, JOULE_INVALID, "not a tuple of sizes");
    expect_refused(1, HEADER("<f4", "False", "(-2,)"), 8, JOULE_INVALID, "not a tuple of sizes");
    expect_refused(1, HEADER("<f4", "False", "[2]"), 8, JOULE_INVALID, "'shape' is not a tuple");
    expect_refused(1, HEADER("<f4", "False", "(1,1,1,1,1,1,1,1,1)"), 8, JOULE_UNSUPPORTED,
                   "more than 8 dimensions");
    expect_refused(1, HEADER("<f4", "Maybe", "(2,)"), 8, JOULE_INVALID, "neither True nor False");
    expect_refused(1, HEADER("<c8", "False", "(1,)"), 8, JOULE_UNSUPPORTED, "elements of type '<c8'");
    expect_refused(1, HEADER("", "False", "(1,)"), 8, JOULE_UNSUPPORTED, "elements of type ''");
    expect_refused(1, HEADER("<U1", "False", "(2,)"), 8, JOULE_UNSUPPORTED, "elements of type '<U1'");
    expect_refused(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4,
                   JOULE_UNSUPPORTED, "arrays of structures");
    expect_refused(1, "{'descr': '<f4', 'shape': (1,)}", 4, JOULE_INVALID, "byte 10: the header lacks");
    expect_refused(1, "{'descr': '<f4', 'descr': '<f4'}", 4, JOULE_INVALID,
                   "byte 27: the header contains a member");
    expect_refused(1, "{'description': 1}", 4, JOULE_INVALID, "an unknown member");
    expect_refused(1, "{'descr' '<f4'}", 4, JOULE_INVALID, "the header is not a dictionary here");
    expect_refused(1, "{'descr", 4, JOULE_INVALID, "the header is not a dictionary here");
    expect_refused(1, "None", 4, JOULE_INVALID, "byte 10: the header is not a dictionary");
    expect_refused(2, HEADER("<f4", "False", "(1,)") "x", 4, JOULE_INVALID, "continues after its dictionary");
    expect_refused(4, HEADER("<f4", "False", "(1,)"), 4, JOULE_UNSUPPORTED, "byte 6: version 4.0");
}

static void test_truncated_and_foreign_files_are_refused(void **state)
{
    (void)state;
    forge_tensor tensor;
    write_file(2, (size_t)1 << 31, "{}", "", 0);
    assert_int_equal(forge_npy_read(path, &tensor, &error), JOULE_INVALID);
    assert_contains(error.message, "byte 8: a header of 2147483648 bytes in a file of 14");
    assert_int_equal(truncate(path, 11), 0);
    assert_int_equal(forge_npy_read(path, &tensor, &error), JOULE_INVALID);
    assert_int_equal(truncate(path, 9), 0);
    assert_int_equal(forge_npy_read(path, &tensor, &error), JOULE_INVALID);
    assert_contains(error.message, "byte 9: the file ends before");
    assert_int_equal(forge_npy_read("/proc/self/exe", &tensor, &error), JOULE_INVALID);
    assert_contains(error.message, "not an .npy file");
    assert_int_equal(forge_npy_read("/dev/null", &tensor, &error), JOULE_UNSUPPORTED);
    assert_int_equal(forge_npy_read("/nowhere.npy", &tensor, &error), JOULE_ABSENT);
}

static void test_written_files_read_back(void **state)
{
    (void)state;
    for (int d = FORGE_BOOL; d <= FORGE_F64; d++) {
        forge_tensor tensor, is;
        forge_shape shapes[] = {{0}, forge_shape_of(3), forge_shape_of(2, 0, 5), forge_shape_of(2, 1, 3)};
        assert_int_equal(forge_tensor_new((forge_dtype)d, &shapes[d % 4], &tensor, NULL), JOULE_OK);
        size_t size = forge_buffer_size_bytes(tensor.buffer);
        for (size_t i = 0; i < size; i++)
            ((uint8_t *)forge_tensor_data(&tensor))[i] = (uint8_t)(i * 37 + 1);
        joule_status status = forge_npy_write(path, &tensor, &error);
        assert_int_equal(status, d == FORGE_BF16 ? JOULE_UNSUPPORTED : JOULE_OK);
        if (status == JOULE_OK) {
            assert_ok(forge_npy_read(path, &is, &error), &error);
            assert_true(is.dtype == tensor.dtype && forge_shape_equal(&is.shape, &tensor.shape));
            assert_memory_equal(forge_tensor_data(&is), forge_tensor_data(&tensor), size);
            forge_buffer_release(is.buffer);
        }
        forge_buffer_release(tensor.buffer);
    }
}

/* A transposed view is written in the order of its indices. The data of every file is aligned. */
static void test_written_views_read_back(void **state)
{
    (void)state;
    forge_tensor tensor, is;
    forge_shape shape = forge_shape_of(2, 3);
    assert_int_equal(forge_tensor_new(FORGE_I32, &shape, &tensor, NULL), JOULE_OK);
    for (int i = 0; i < 6; i++)
        ((int32_t *)forge_tensor_data(&tensor))[i] = i;
    forge_tensor turned = tensor;
    turned.shape = (forge_shape)forge_shape_of(3, 2);
    turned.strides[0] = 1;
    turned.strides[1] = 3;
    assert_int_equal(forge_npy_write(path, &turned, &error), JOULE_OK);
    assert_int_equal(forge_npy_read(path, &is, &error), JOULE_OK);
    assert_memory_equal(forge_tensor_data(&is), ((int32_t[]){0, 3, 1, 4, 2, 5}), 24);
    size_t size;
    char *file = test_read_file(path, &size);
    assert_int_equal(size, 128 + 24);
    assert_memory_equal(file,
                        "\x93NUMPY\1\0\x76\0{'descr': '<i4', 'fortran_order': False, 'shape': (3, 2), }", 67);
    assert_int_equal(file[127], '\n');
    free(file);
    forge_buffer_release(is.buffer);
    forge_buffer_release(tensor.buffer);
}

static void test_a_file_that_numpy_wrote(void **state)
{
    (void)state;
    const char *found = test_data("weights/formats/test.npy");
    forge_tensor tensor;
    if (!found) {
        print_message("no weights in the test data: skipped\n");
        skip();
    }
    assert_ok(forge_npy_read(found, &tensor, &error), &error);
    assert_true(tensor.dtype == FORGE_I64 && tensor.shape.rank == 1 && tensor.shape.dims[0] == 10);
    for (int64_t i = 0; i < 10; i++)
        assert_int_equal(((int64_t *)forge_tensor_data(&tensor))[i], i);
    forge_buffer_release(tensor.buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions_and_spelling),
        cmocka_unit_test(test_fortran_and_c_order_are_read),
        cmocka_unit_test(test_damaged_headers_are_refused),
        cmocka_unit_test(test_truncated_and_foreign_files_are_refused),
        cmocka_unit_test(test_written_files_read_back),
        cmocka_unit_test(test_written_views_read_back),
        cmocka_unit_test(test_a_file_that_numpy_wrote),
    };
    return cmocka_run_group_tests_name("npy", tests, scratch_set_up, scratch_tear_down);
}
