/* Checks that IDX files of every type, plain or compressed, are read as they were written. Errors must name
 * the byte of the damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>
#include <forge/data.h>
#include <zlib.h>
#include "support/check.h"
#include "support/scratch.h"

static const char *const path = scratch_path;
static joule_error error;

static void write_file(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Compresses `bytes` to one gzip member in `out`. Returns its size in bytes. */
static size_t pack(const void *bytes, size_t size, uint8_t *out, size_t room)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes,
                  .avail_in = (uInt)size,
                  .next_out = out,
                  .avail_out = (uInt)room};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&z), Z_OK);
    return z.total_out;
}

static joule_status read_bytes(const void *bytes, size_t size, forge_tensor *out_tensor)
{
    memset(&error, 0, sizeof error);
    write_file(bytes, size);
    return forge_idx_read(path, out_tensor, &error);
}

/* Expects an error whose message contains the file's name and `part`. */
static void expect_invalid(const void *bytes, size_t size, const char *part)
{
    forge_tensor tensor = {0};
    assert_int_equal(read_bytes(bytes, size, &tensor), JOULE_INVALID);
    assert_null(tensor.buffer);
    assert_int_equal(error.status, JOULE_INVALID);
    assert_contains(error.message, path);
    assert_contains(error.message, part);
}

static void expect_tensor(const void *file, size_t size, forge_dtype dtype, const forge_shape *shape,
                          const void *elements)
{
    forge_tensor tensor;
    assert_ok(read_bytes(file, size, &tensor), &error);
    assert_int_equal(tensor.dtype, dtype);
    assert_true(forge_shape_equal(&tensor.shape, shape));
    assert_true(forge_tensor_is_packed(&tensor));
    size_t bytes = forge_dtype_size_bytes(dtype, forge_tensor_elements(&tensor));
    assert_int_equal(forge_buffer_size_bytes(tensor.buffer), bytes);
    assert_memory_equal(forge_tensor_data(&tensor), elements, bytes);
    forge_buffer_release(tensor.buffer);
}

static const uint8_t sample[] = {0, 0, 0x0b, 2,    0,    0,    0,    2, 0,    0,    0, 3, /* i16 [2,3] */
                                 0, 1, 0xff, 0xfe, 0x7f, 0xff, 0x80, 0, 0x12, 0x34, 0, 0};
static const int16_t sample_elements[] = {1, -2, 32767, -32768, 0x1234, 0};

static void test_every_type_is_read(void **state)
{
    (void)state;
    static const struct {
        uint8_t file[8 + 16]; /* a header and two elements of up to 8 bytes */
        forge_dtype dtype;
        union {
            uint8_t u8[2];
            int8_t i8[2];
            int16_t i16[2];
            int32_t i32[2];
            float f32[2];
            double f64[2];
        } elements;
    } cases[] = {
        {{0, 0, 0x08, 1, 0, 0, 0, 2, 7, 255}, FORGE_U8, {.u8 = {7, 255}}},
        {{0, 0, 0x09, 1, 0, 0, 0, 2, 7, 0x80}, FORGE_I8, {.i8 = {7, -128}}},
        {{0, 0, 0x0b, 1, 0, 0, 0, 2, 1, 2, 0xff, 0xfe}, FORGE_I16, {.i16 = {258, -2}}},
        {{0, 0, 0x0c, 1, 0, 0, 0, 2, 1, 2, 3, 4, 0x80, 0, 0, 0}, FORGE_I32, {.i32 = {16909060, INT32_MIN}}},
        {{0, 0, 0x0d, 1, 0, 0, 0, 2, 0x3f, 0xc0, 0, 0, 0xc2, 0xc8, 0, 0}, FORGE_F32, {.f32 = {1.5F, -100}}},
        {{0, 0, 0x0e, 1, 0, 0, 0, 2, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0x40, 0x59, 0, 0, 0, 0, 0, 0},
         FORGE_F64,
         {.f64 = {1.5, 100}}},
    };
    forge_shape shape = forge_shape_of(2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = 8 + forge_dtype_size_bytes(cases[i].dtype, 2);
        expect_tensor(cases[i].file, size, cases[i].dtype, &shape, &cases[i].elements);
        uint8_t packed[100];
        size_t packed_size = pack(cases[i].file, size, packed, sizeof packed);
        expect_tensor(packed, packed_size, cases[i].dtype, &shape, &cases[i].elements);
    }
}

static void test_shapes_are_read(void **state)
{
    (void)state;
    expect_tensor(sample, sizeof sample, FORGE_I16, &forge_shape_of(2, 3), sample_elements);
    static const uint8_t empty[] = {0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 28};
    expect_tensor(empty, sizeof empty, FORGE_U8, &forge_shape_of(0, 28), "");
    static const uint8_t deep[4 + 8 * 4 + 1] = {0, 0, 8, 8, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,
                                                1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 42};
    expect_tensor(deep, sizeof deep, FORGE_U8, &forge_shape_of(1, 1, 1, 1, 1, 1, 1, 1), "*");
}

/* The file is larger than any buffer with which it is read. */
static void test_large_files_are_read(void **state)
{
    (void)state;
    enum { COUNT = 1000003 };
    uint8_t *file = malloc(8 + COUNT), *packed = malloc(2 * COUNT);
    static const uint8_t header[] = {0, 0, 8, 1, 0, 0x0f, 0x42, 0x43};
    memcpy(file, header, sizeof header);
    uint32_t x = 1;
    for (size_t i = 0; i < COUNT; i++)
        file[8 + i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
    expect_tensor(file, 8 + COUNT, FORGE_U8, &forge_shape_of(COUNT), file + 8);
    size_t size = pack(file, 8 + COUNT, packed, 2 * COUNT);
    expect_tensor(packed, size, FORGE_U8, &forge_shape_of(COUNT), file + 8);
    /* Consecutive gzip members are one file, wherever the boundary between members is. */
    size = pack(file, 500000, packed, 2 * COUNT);
    size += pack(file + 500000, 8 + COUNT - 500000, packed + size, 2 * COUNT - size);
    expect_tensor(packed, size, FORGE_U8, &forge_shape_of(COUNT), file + 8);
    free(file);
    free(packed);
}

static void test_damaged_headers_are_refused(void **state)
{
    (void)state;
    uint8_t file[sizeof sample];
    static const struct {
        size_t at;
        uint8_t value;
        const char *part;
    } cases[] = {
        {0, 1, "byte 0: 0100"}, {1, 8, "byte 0: 0008"},  {2, 0x0a, "byte 2: unknown element type 0a"},
        {2, 0, "byte 2: "},     {3, 0, "byte 3: 0 dim"}, {3, 9, "byte 3: 9 dimensions where 1 to 8"},
        {3, 255, "byte 3: 255"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(file, sample, sizeof file);
        file[cases[i].at] = cases[i].value;
        expect_invalid(file, sizeof file, cases[i].part);
    }
    static const char text[] = "not an array at all";
    expect_invalid(text, strlen(text), "this is not an IDX file");
}

static void test_truncated_files_are_refused(void **state)
{
    (void)state;
    char part[60];
    for (size_t size = 0; size < sizeof sample; size++) {
        snprintf(part, sizeof part, "byte %zu: the file ends", size);
        expect_invalid(sample, size, part);
    }
    uint8_t packed[100];
    size_t packed_size = pack(sample, sizeof sample, packed, sizeof packed);
    for (size_t size = 0; size < packed_size; size++) {
        snprintf(part, sizeof part, "byte %zu: the file ends", size);
        expect_invalid(packed, size, part);
    }
}

/* The file was truncated before compression, so the gzip data itself is valid. */
static void test_truncated_contents_of_gzip_are_refused(void **state)
{
    (void)state;
    uint8_t packed[100];
    char part[60];
    for (size_t size = 0; size < sizeof sample; size++) {
        snprintf(part, sizeof part, "byte %zu (unpacked): the file ends", size);
        expect_invalid(packed, pack(sample, size, packed, sizeof packed), part);
    }
}

static void test_longer_files_are_refused(void **state)
{
    (void)state;
    uint8_t file[sizeof sample + 1] = {0}, packed[200];
    memcpy(file, sample, sizeof sample);
    expect_invalid(file, sizeof file, "byte 24: the file should end here, after i16[2,3]");
    size_t size = pack(file, sizeof file, packed, sizeof packed);
    expect_invalid(packed, size, "byte 24 (unpacked): the file should end here");

    size = pack(sample, sizeof sample, packed, sizeof packed);
    char part[60];
    snprintf(part, sizeof part, "byte %zu: the gzip data ends here", size);
    packed[size] = 0;
    expect_invalid(packed, size + 1, part);
    packed[size] = 0x1f; /* looks like the first byte of another member */
    packed[size + 1] = 0;
    expect_invalid(packed, size + 2, "invalid gzip data");
    size += pack("", 0, packed + size, sizeof packed - size);
    expect_tensor(packed, size, FORGE_I16, &forge_shape_of(2, 3), sample_elements);
}

/* A flipped bit must be detected. Exceptions are gzip header fields without influence on the contents, and
 * padding bits at the end of the compressed data. In these cases the contents must be correct. */
static void test_flipped_bits_of_gzip_are_found(void **state)
{
    (void)state;
    enum { GZIP_FLAGS = 3, GZIP_DATA = 10, GZIP_TRAILER = 8 };
    uint8_t packed[100];
    size_t size = pack(sample, sizeof sample, packed, sizeof packed);
    forge_tensor tensor;
    for (size_t at = 0; at < size; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            packed[at] ^= (uint8_t)(1 << bit);
            if (read_bytes(packed, size, &tensor) == JOULE_OK) {
                assert_true((at >= GZIP_FLAGS && at < GZIP_DATA) || at == size - GZIP_TRAILER - 1);
                assert_memory_equal(forge_tensor_data(&tensor), sample_elements, sizeof sample_elements);
                forge_buffer_release(tensor.buffer);
            } else {
                assert_contains(error.message, "byte ");
            }
            packed[at] ^= (uint8_t)(1 << bit);
        }
    packed[size - 8] ^= 1;
    expect_invalid(packed, size, "incorrect data check");
    packed[size - 8] ^= 1;
    packed[size - 1] ^= 1;
    expect_invalid(packed, size, "incorrect length check");
}

static void test_false_sizes_allocate_nothing(void **state)
{
    (void)state;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    long before_kib = usage.ru_maxrss;
    /* the header claims 2^50 elements of 8 bytes, but the file is small */
    uint8_t file[12 + 100000] = {0, 0, 0x0e, 2, 0x02, 0, 0, 0, 0x02, 0, 0, 0};
    expect_invalid(file, sizeof file, "the file ends after 100000 bytes of elements; its header (f64");
    uint8_t *packed = malloc(sizeof file);
    expect_invalid(packed, pack(file, sizeof file, packed, sizeof file),
                   "(unpacked): the file ends after 100000");
    free(packed);
    memset(file + 4, 0xff, 8);
    expect_invalid(file, 12, "exceed the address space");
    file[2] = 8;
    file[3] = 8;
    memset(file + 4, 0xff, 32);
    expect_invalid(file, 36, "exceed the address space");
    getrusage(RUSAGE_SELF, &usage);
    assert_true(usage.ru_maxrss - before_kib < 64 * 1024);
}

static void test_missing_files_and_folders_are_refused(void **state)
{
    (void)state;
    forge_tensor tensor;
    assert_int_equal(forge_idx_read("/nowhere/at/all", &tensor, &error), JOULE_ABSENT);
    assert_contains(error.message, "/nowhere/at/all");
    assert_int_not_equal(forge_idx_read("/tmp", &tensor, &error), JOULE_OK);
    assert_contains(error.message, "/tmp is a folder, not a file");
    assert_int_equal(forge_idx_read(NULL, &tensor, &error), JOULE_INVALID);
    assert_int_equal(forge_idx_read(path, NULL, &error), JOULE_INVALID);
    assert_int_equal(forge_idx_read("/nowhere/at/all", &tensor, NULL), JOULE_ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_is_read),
        cmocka_unit_test(test_shapes_are_read),
        cmocka_unit_test(test_large_files_are_read),
        cmocka_unit_test(test_damaged_headers_are_refused),
        cmocka_unit_test(test_truncated_files_are_refused),
        cmocka_unit_test(test_truncated_contents_of_gzip_are_refused),
        cmocka_unit_test(test_longer_files_are_refused),
        cmocka_unit_test(test_flipped_bits_of_gzip_are_found),
        cmocka_unit_test(test_false_sizes_allocate_nothing),
        cmocka_unit_test(test_missing_files_and_folders_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
