/* Checks that safetensors files are read as they were written, also files of other programs. Errors must name
 * the byte of the damage, and false sizes must not allocate memory. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <forge/serialize.h>
#include "support/check.h"
#include "support/scratch.h"
#include "support/test_data.h"

static const char *const path = scratch_path, *const partial = scratch_partial;
static joule_error error;

static void write_file(const char *header, size_t header_size, size_t data_size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < 8; i++)
        fputc((int)((uint64_t)header_size >> 8 * i & 0xff), file);
    fwrite(header, 1, strlen(header), file);
    for (size_t i = 0; i < data_size; i++)
        fputc((int)i, file);
    assert_int_equal(fclose(file), 0);
}

static forge_safetensors *open_text(const char *header, size_t data_size)
{
    forge_safetensors *file = NULL;
    write_file(header, strlen(header), data_size);
    if (forge_safetensors_open(path, &file, &error) != JOULE_OK)
        fail_msg("%s: %s", header, error.message);
    return file;
}

static void expect_invalid(const char *header, size_t data_size, const char *part)
{
    forge_safetensors *file = NULL;
    memset(&error, 0, sizeof error);
    write_file(header, strlen(header), data_size);
    assert_int_equal(forge_safetensors_open(path, &file, &error), JOULE_INVALID);
    assert_null(file);
    assert_contains(error.message, part);
    assert_contains(error.message, path);
    assert_contains(error.message, ": byte ");
}

#define ENTRY(name, dtype, shape, offsets)                                                                   \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

/* --- reading -------------------------------------------------------------------------------------------- */

static void test_tensors_are_read(void **state)
{
    (void)state;
    forge_safetensors *file =
        open_text("{ \"b\" : {\"shape\":[2 , 2],\"data_offsets\":[4,8],\"dtype\":\"U8\"},\n" ENTRY(
                      "a\\u00e9\\ud83d\\ude00\\/", "I32", "[]", "[0,4]") ",\"__metadata__\":{\"k\":\"v\\n\","
                                                                         "\"\":\"\"} }   ",
                  8);
    const char *name;
    forge_dtype dtype;
    forge_shape shape;
    forge_tensor tensor;
    size_t i;
    assert_int_equal(forge_safetensors_count(file), 2);
    assert_int_equal(forge_safetensors_entry(file, 0, &name, &dtype, &shape), JOULE_OK);
    assert_string_equal(name, "a\xc3\xa9\xf0\x9f\x98\x80/");
    assert_true(dtype == FORGE_I32 && shape.rank == 0);
    assert_int_equal(forge_safetensors_entry(file, 2, &name, &dtype, &shape), JOULE_INVALID);
    assert_int_equal(forge_safetensors_find(file, "b", &i), JOULE_OK);
    assert_int_equal(i, 1);
    assert_int_equal(forge_safetensors_find(file, "c", &i), JOULE_ABSENT);
    assert_int_equal(forge_safetensors_find(file, "a", &i), JOULE_ABSENT);
    assert_int_equal(forge_safetensors_read(file, 1, &tensor, &error), JOULE_OK);
    assert_memory_equal(forge_tensor_data(&tensor), ((uint8_t[]){4, 5, 6, 7}), 4);
    assert_true(tensor.shape.rank == 2 && tensor.shape.dims[1] == 2);
    forge_buffer_release(tensor.buffer);
    assert_string_equal(forge_safetensors_metadata(file, "k"), "v\n");
    assert_string_equal(forge_safetensors_metadata(file, ""), "");
    assert_null(forge_safetensors_metadata(file, "v"));
    forge_safetensors_close(file);
}

static void test_empty_files_and_tensors_are_read(void **state)
{
    (void)state;
    forge_safetensors *file = open_text("{}", 0);
    assert_int_equal(forge_safetensors_count(file), 0);
    forge_safetensors_close(file);
    forge_tensor tensor;
    file = open_text("{" ENTRY("e", "F64", "[3,0]", "[1,1]") "," ENTRY("x", "U8", "[1]", "[0,1]") "}", 1);
    assert_int_equal(forge_safetensors_read(file, 1, &tensor, &error), JOULE_OK);
    assert_int_equal(tensor.dtype, FORGE_F64);
    forge_buffer_release(tensor.buffer);
    forge_safetensors_close(file);
}

/* --- damage --------------------------------------------------------------------------------------------- */

static void test_invalid_headers_are_refused(void **state)
{
    (void)state;
    expect_invalid("", 0, "byte 8: the text ends where '{' is expected");
    expect_invalid("[]", 0, "byte 8: '[' where '{' is expected");
    expect_invalid("{", 0, "byte 9: the text ends where a string is expected");
    expect_invalid("{}x", 0, "byte 10: 'x' where the end is expected");
    expect_invalid("{\"a\"}", 0, "byte 12: '}' where ':' is expected");
    expect_invalid("{\"a\":1}", 0, "byte 13: '1' where '{' is expected");
    expect_invalid("{\"a", 0, "byte 9: unterminated string");
    expect_invalid("{\"a\\x\"}", 0, "byte 11: invalid character");
    expect_invalid("{\"a\\u12g4\"}", 0, "byte 11: invalid character");
    expect_invalid("{\"\\ud800x\"}", 0, "byte 10: invalid character");
    expect_invalid("{\"\\udc00\"}", 0, "byte 10: invalid character");
    expect_invalid("{\"\\ud800\\u0041\"}", 0, "byte 10: invalid character");
    expect_invalid("{\"\\u0000\"}", 0, "byte 10: invalid character");
    expect_invalid("{\"\x01\"}", 0, "byte 10: invalid character");
    expect_invalid("{\"\xc0\xaf\"}", 0, "byte 10: invalid character");
    expect_invalid("{\"\\", 0, "byte 10: invalid character");
    expect_invalid("{\xff", 0, "byte ff where a string is expected");
    expect_invalid("{" ENTRY("a", "U8", "[1]", "[0,1]") ",}", 1, "'}' where a string is expected");
    expect_invalid("{" ENTRY("a", "U8", "[1]", "[0,1]") " " ENTRY("b", "U8", "[0]", "[1,1]") "}", 1,
                   "where ',' or '}' is expected");
    expect_invalid("{" ENTRY("a", "U8", "[1 1]", "[0,1]") "}", 1, "where ',' or ']' is expected");
    expect_invalid("{" ENTRY("a", "U8", "[01]", "[0,1]") "}", 1, "a leading zero");
    expect_invalid("{" ENTRY("a", "U8", "[-1]", "[0,1]") "}", 1, "'-' where a whole number");
    expect_invalid("{" ENTRY("a", "U8", "[1.0]", "[0,1]") "}", 1, "'.' where");
    expect_invalid("{" ENTRY("a", "U8", "[1e0]", "[0,1]") "}", 1, "'e' where");
    expect_invalid("{" ENTRY("a", "U8", "[18446744073709551616]", "[0,1]") "}", 1, "above 2^64");
    expect_invalid("{\"__metadata__\":{\"k\":1}}", 0, "'1' where a string is expected");
}

static void test_impossible_offsets_are_refused(void **state)
{
    (void)state;
    expect_invalid("{" ENTRY("a", "U8", "[2]", "[0,2]") "}", 1,
                   "has bytes 0 to 2 of the data, which has 1 bytes");
    expect_invalid("{" ENTRY("a", "U8", "[1]", "[1,0]") "}", 1, "has bytes 1 to 0");
    expect_invalid("{" ENTRY("a", "F32", "[3]", "[0,8]") "}", 8, "is f32[3], which does not have 8 bytes");
    expect_invalid("{" ENTRY("a", "F32", "[4611686018427387904,4]", "[0,0]") "}", 0,
                   "which does not have 0 bytes");
    expect_invalid("{" ENTRY("a", "F32", "[9223372036854775807]", "[0,4]") "}", 4,
                   "which does not have 4 bytes");
    expect_invalid("{" ENTRY("a", "F32", "[9223372036854775808]", "[0,4]") "}", 4, "a dimension above 2^63");
    expect_invalid("{" ENTRY("a", "F4", "[1]", "[0,1]") "}", 1, "has the type 'F4', which is not supported");
    expect_invalid("{" ENTRY("a", "f32", "[1]", "[0,4]") "}", 4, "has the type 'f32'");
    expect_invalid("{" ENTRY("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1, "more than 8 dimensions");
    expect_invalid("{" ENTRY("a", "U8", "[1]", "[0,1,1]") "}", 1, "more than two offsets");
    expect_invalid("{" ENTRY("a", "U8", "[1]", "[0]") "}", 1, "fewer than two offsets");
    expect_invalid("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "lacks dtype, shape or data_offsets");
    expect_invalid("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 1, "a member 'dtype' twice");
    expect_invalid("{\"a\":{\"type\":\"U8\"}}", 1, "a member 'type' that the format does not know");
    expect_invalid("{" ENTRY("a\\n", "U8", "[1]", "[0,1]") "}", 1, "a control character");
    expect_invalid("{" ENTRY("a", "U8", "[1]", "[0,1]") "," ENTRY("a", "U8", "[1]", "[1,2]") "}", 2,
                   "byte 61: there are two tensors 'a'");
    expect_invalid("{" ENTRY("a", "U8", "[1]", "[0,1]") "," ENTRY("b", "U8", "[1]", "[2,3]") "}", 3,
                   "begins at byte 2 of the data, and the tensor before it ends at byte 1");
    expect_invalid("{" ENTRY("a", "U8", "[2]", "[0,2]") "," ENTRY("b", "U8", "[2]", "[1,3]") "}", 3,
                   "begins at byte 1 of the data");
    expect_invalid("{" ENTRY("a", "U8", "[1]", "[1,2]") "}", 2, "begins at byte 1 of the data");
    expect_invalid("{" ENTRY("a", "U8", "[1]", "[0,1]") "}", 3, "the file has 2 more bytes");
    expect_invalid("{}", 3, "there are 3 bytes of data, but no tensors");
    expect_invalid("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "a second __metadata__");
    expect_invalid("{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}", 0, "two texts 'a'");
}

static void test_truncated_and_foreign_files_are_refused(void **state)
{
    (void)state;
    forge_safetensors *file = NULL;
    write_file("{}", 3, 0);
    assert_int_equal(forge_safetensors_open(path, &file, &error), JOULE_INVALID);
    assert_contains(error.message, "byte 0: a header of 3 bytes, but 2 bytes follow");
    assert_int_equal(truncate(path, 7), 0);
    assert_int_equal(forge_safetensors_open(path, &file, &error), JOULE_INVALID);
    assert_contains(error.message, "byte 7: the file ends before");
    assert_int_equal(forge_safetensors_open("/dev/zero", &file, &error), JOULE_UNSUPPORTED);
    assert_int_equal(forge_safetensors_open(scratch_folder, &file, &error), JOULE_UNSUPPORTED);
    assert_int_equal(forge_safetensors_open("/nowhere/x", &file, &error), JOULE_ABSENT);
    assert_int_equal(forge_safetensors_open(NULL, &file, &error), JOULE_INVALID);
}

/* Reading a file that became shorter after it was opened must not crash. */
static void test_shrinking_file_is_an_error(void **state)
{
    (void)state;
    forge_safetensors *file = open_text("{" ENTRY("a", "U8", "[9]", "[0,9]") "}", 9);
    forge_tensor tensor;
    assert_int_equal(truncate(path, 65), 0);
    assert_int_equal(forge_safetensors_read(file, 0, &tensor, &error), JOULE_INVALID);
    assert_contains(error.message, "the file ends here, but had");
    forge_safetensors_close(file);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool is_sanitized = true; /* the sanitizer's own memory exceeds any limit */
#else
static const bool is_sanitized = false;
#endif

/* A header may state any size. The process has 64 MiB in total, so an allocation of a false size would
 * fail. */
static void test_false_sizes_allocate_nothing(void **state)
{
    (void)state;
    struct rlimit old, tight;
    assert_int_equal(getrlimit(RLIMIT_DATA, &old), 0);
    tight = old;
    tight.rlim_cur = 64 << 20;
    if (!is_sanitized)
        assert_int_equal(setrlimit(RLIMIT_DATA, &tight), 0);
    expect_invalid("{" ENTRY("a", "F32", "[1000000000000]", "[0,4000000000000]") "}", 4, "has bytes 0 to");
    write_file("{}", (size_t)1 << 40, 0);
    forge_safetensors *file = NULL;
    assert_int_equal(forge_safetensors_open(path, &file, &error), JOULE_INVALID);
    assert_int_equal(setrlimit(RLIMIT_DATA, &old), 0);
}

/* --- writing -------------------------------------------------------------------------------------------- */

static forge_tensor make(forge_dtype dtype, forge_shape shape, int seed)
{
    forge_tensor tensor;
    assert_int_equal(forge_tensor_new(dtype, &shape, &tensor, NULL), JOULE_OK);
    uint8_t *bytes = forge_tensor_data(&tensor);
    for (size_t i = 0; i < forge_buffer_size_bytes(tensor.buffer); i++)
        bytes[i] = (uint8_t)((size_t)seed * 31 + i * 7);
    return tensor;
}

static void test_written_tensors_read_back(void **state)
{
    (void)state;
    forge_named_tensor tensors[FORGE_F8_E5M2 + 1];
    char names[FORGE_F8_E5M2 + 1][24];
    size_t count = 0, i;
    for (int d = FORGE_BOOL; d <= FORGE_F8_E5M2; d++) {
        snprintf(names[count], sizeof names[count], "%s \"\\\xc3\xa9", forge_dtype_name((forge_dtype)d));
        forge_shape shapes[] = {{0}, forge_shape_of(3), forge_shape_of(2, 0, 5), forge_shape_of(2, 1, 3)};
        tensors[count] = (forge_named_tensor){names[count], make((forge_dtype)d, shapes[d % 4], d)};
        count++;
    }
    const forge_metadata metadata[] = {{"z", "line\nand \"more\" \\ \x01"}, {"a", ""}};
    assert_ok(forge_safetensors_write(path, tensors, count, metadata, 2, &error), &error);
    assert_int_equal(access(partial, F_OK), -1);
    forge_safetensors *file = NULL;
    assert_ok(forge_safetensors_open(path, &file, &error), &error);
    assert_int_equal(forge_safetensors_count(file), count);
    for (size_t k = 0; k < count; k++) {
        forge_tensor is, *wanted = &tensors[k].tensor;
        assert_int_equal(forge_safetensors_find(file, names[k], &i), JOULE_OK);
        assert_int_equal(forge_safetensors_read(file, i, &is, &error), JOULE_OK);
        assert_true(is.dtype == wanted->dtype && forge_shape_equal(&is.shape, &wanted->shape));
        assert_memory_equal(forge_tensor_data(&is), forge_tensor_data(wanted),
                            forge_dtype_size_bytes(is.dtype, forge_tensor_elements(&is)));
        forge_buffer_release(is.buffer);
        forge_buffer_release(wanted->buffer);
    }
    assert_string_equal(forge_safetensors_metadata(file, "z"), metadata[0].text);
    assert_string_equal(forge_safetensors_metadata(file, "a"), "");
    forge_safetensors_close(file);
}

static void expect_unwritten(const forge_named_tensor *tensors, size_t count, const forge_metadata *metadata,
                             joule_status status, const char *part)
{
    memset(&error, 0, sizeof error);
    assert_int_equal(forge_safetensors_write(path, tensors, count, metadata, metadata ? 2 : 0, &error),
                     status);
    assert_contains(error.message, part);
}

static void test_invalid_tensors_are_not_written(void **state)
{
    (void)state;
    unlink(path);
    forge_tensor x = make(FORGE_F32, forge_shape_of(2, 3), 1), q = make(FORGE_Q8_0, forge_shape_of(32), 1),
                 turned = x;
    turned.shape = (forge_shape)forge_shape_of(3, 2);
    turned.strides[0] = 1;
    turned.strides[1] = 3;
    expect_unwritten((forge_named_tensor[]){{"a", x}, {"b", q}}, 2, NULL, JOULE_UNSUPPORTED,
                     "tensor 'b' has the type q8_0, which safetensors files cannot contain");
    expect_unwritten((forge_named_tensor[]){{"a", turned}}, 1, NULL, JOULE_INVALID, "'a' is not packed");
    expect_unwritten((forge_named_tensor[]){{"a", x}, {"b", x}, {"a", x}}, 3, NULL, JOULE_INVALID,
                     "two tensors 'a'");
    expect_unwritten((forge_named_tensor[]){{"\xff", x}}, 1, NULL, JOULE_INVALID, "cannot be the name");
    expect_unwritten((forge_named_tensor[]){{"b", x}, {"a\nb", x}}, 2, NULL, JOULE_INVALID,
                     "the name of tensor 1 contains a control character"); /* readers would refuse it */
    assert_null(strchr(error.message, '\n'));
    expect_unwritten((forge_named_tensor[]){{"a\x7f", x}}, 1, NULL, JOULE_INVALID, "control character");
    expect_unwritten((forge_named_tensor[]){{NULL, x}}, 1, NULL, JOULE_INVALID, "cannot be the name");
    expect_unwritten((forge_named_tensor[]){{"__metadata__", x}}, 1, NULL, JOULE_INVALID,
                     "cannot be the name");
    expect_unwritten(NULL, 0, (forge_metadata[]){{"a", "b"}, {"a", "c"}}, JOULE_INVALID, "two texts 'a'");
    expect_unwritten(NULL, 0, (forge_metadata[]){{"a", "b"}, {"c", NULL}}, JOULE_INVALID, "text 1");
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(forge_safetensors_write("/nowhere/x", NULL, 0, NULL, 0, &error), JOULE_FAILED);
    forge_buffer_release(x.buffer);
    forge_buffer_release(q.buffer);
}

/* If two writers use the same path, their data is not mixed: one writer returns an error, and the caller may
 * retry. The temporary file of a killed writer is reused. */
static void test_one_writer_at_a_time(void **state)
{
    (void)state;
    int fd = open(partial, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0 && write(fd, "left over", 9) == 9);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(forge_safetensors_write(path, NULL, 0, NULL, 0, &error), JOULE_PENDING);
    assert_contains(error.message, "another process is writing it");
    assert_int_equal(access(partial, F_OK), 0);
    close(fd);
    assert_int_equal(forge_safetensors_write(path, NULL, 0, NULL, 0, &error), JOULE_OK);
    assert_int_equal(access(partial, F_OK), -1);
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_size, 16);
}

/* --- files of other programs ---------------------------------------------------------------------------- */

static void test_published_weights_are_read(void **state)
{
    (void)state;
    const char *found = test_data("weights/mnist_cnn.safetensors");
    forge_safetensors *file = NULL;
    forge_tensor tensor;
    size_t i;
    if (!found) {
        print_message("no weights in the test data: skipped\n");
        skip();
    }
    assert_ok(forge_safetensors_open(found, &file, &error), &error);
    assert_int_equal(forge_safetensors_find(file, "fc1.weight", &i), JOULE_OK);
    assert_int_equal(forge_safetensors_read(file, i, &tensor, &error), JOULE_OK);
    assert_true(tensor.dtype == FORGE_F32 && tensor.shape.dims[0] == 32 && tensor.shape.dims[1] == 11616);
    const float *w = forge_tensor_data(&tensor);
    double squares = 0;
    for (size_t k = 0; k < 32 * 11616; k++)
        squares += (double)w[k] * (double)w[k];
    assert_true(squares > 1 && squares < 1e4);
    forge_buffer_release(tensor.buffer);
    forge_safetensors_close(file);

    found = test_data("weights/formats/safetensors/overall.safetensors");
    assert_non_null(found);
    assert_ok(forge_safetensors_open(found, &file, &error), &error);
    assert_int_equal(forge_safetensors_count(file), 9);
    assert_string_equal(forge_safetensors_metadata(file, "test"), "a");
    forge_safetensors_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors_are_read),
        cmocka_unit_test(test_empty_files_and_tensors_are_read),
        cmocka_unit_test(test_invalid_headers_are_refused),
        cmocka_unit_test(test_impossible_offsets_are_refused),
        cmocka_unit_test(test_truncated_and_foreign_files_are_refused),
        cmocka_unit_test(test_shrinking_file_is_an_error),
        cmocka_unit_test(test_false_sizes_allocate_nothing),
        cmocka_unit_test(test_written_tensors_read_back),
        cmocka_unit_test(test_invalid_tensors_are_not_written),
        cmocka_unit_test(test_one_writer_at_a_time),
        cmocka_unit_test(test_published_weights_are_read),
    };
    return cmocka_run_group_tests_name("safetensors", tests, scratch_set_up, scratch_tear_down);
}
