/* Checks that MNIST is found in a folder, as one file or in parts, and that the published data set has its
 * known properties. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <forge/data.h>
#include <zlib.h>
#include "support/check.h"
#include "support/test_data.h"

enum { PIXELS = 28 * 28 };

static char folder[] = "/tmp/test_data_mnist.XXXXXX";
static char names[16][64]; /* names of the files in the folder */
static size_t name_count;
static joule_error error;

static int set_up(void **state)
{
    (void)state;
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char path[128];
    while (name_count > 0) {
        snprintf(path, sizeof path, "%s/%s", folder, names[--name_count]);
        unlink(path);
    }
    return rmdir(folder);
}

/* Writes `count` rows of `row` bytes; all bytes of row i are first + i. If `row` is PIXELS, the file has the
 * header of a file of images, otherwise of labels. gzopen compresses if the name ends in .gz. */
static void put(const char *name, size_t row, unsigned first, unsigned count)
{
    const uint8_t header[16] = {0, 0, 8, row == PIXELS ? 3 : 1, 0, 0, 0, (uint8_t)count, 0, 0, 0, 28, 0,
                                0, 0, 28};
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_true(name_count < sizeof names / sizeof *names);
    strcpy(names[name_count++], name);
    gzFile file = gzopen(path, strstr(name, ".gz") ? "wb" : "wbT");
    assert_non_null(file);
    assert_true(gzwrite(file, header, row == PIXELS ? 16 : 8) > 0);
    for (unsigned i = 0; i < count; i++)
        for (size_t b = 0; b < row; b++)
            assert_int_equal(gzputc(file, (int)(first + i)), (int)(first + i));
    assert_int_equal(gzclose(file), Z_OK);
}

/* Expects the folder's training set to have images and labels 0, 1, ... count - 1. */
static void expect_counting(size_t count)
{
    forge_dataset *dataset;
    assert_ok(forge_dataset_mnist(folder, false, &dataset, &error), &error);
    assert_int_equal(forge_dataset_examples(dataset), count);
    assert_int_equal(forge_dataset_columns(dataset), 2);
    forge_tensor images = forge_dataset_column(dataset, 0), labels = forge_dataset_column(dataset, 1);
    assert_true(forge_shape_equal(&images.shape, &forge_shape_of((forge_dim)count, 28, 28)));
    assert_true(forge_shape_equal(&labels.shape, &forge_shape_of((forge_dim)count)));
    const uint8_t *pixels = forge_tensor_data(&images), *numbers = forge_tensor_data(&labels);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(numbers[i], i);
        assert_int_equal(pixels[i * PIXELS], i);
        assert_int_equal(pixels[i * PIXELS + PIXELS - 1], i);
    }
    forge_dataset_free(dataset);
}

static void expect_status(joule_status status, const char *part)
{
    forge_dataset *dataset = NULL;
    assert_int_equal(forge_dataset_mnist(folder, false, &dataset, &error), status);
    assert_null(dataset);
    assert_contains(error.message, part);
}

static void test_whole_files_are_read(void **state)
{
    (void)state;
    put("train-images-idx3-ubyte.gz", PIXELS, 0, 5);
    put("train-labels-idx1-ubyte", 1, 0, 5);
    put("t10k-images-idx3-ubyte", PIXELS, 100, 9); /* images of the other set, which is not requested here */
    expect_counting(5);
    forge_dataset *dataset;
    assert_int_equal(forge_dataset_mnist(folder, true, &dataset, &error), JOULE_ABSENT);
    assert_contains(error.message, "t10k-labels-idx1-ubyte");
}

static void test_parts_are_read_in_order(void **state)
{
    (void)state;
    put("train-images-part10-idx3-ubyte.gz", PIXELS, 5, 2);
    put("train-images-part2-idx3-ubyte", PIXELS, 3, 2);
    put("train-images-part0-idx3-ubyte.gz", PIXELS, 0, 3);
    put("train-labels-part0-idx1-ubyte", 1, 0, 1);
    put("train-labels-part1-idx1-ubyte.gz", 1, 1, 6);
    put("train-images-part3-idx3-ubyte.bak", PIXELS, 99, 2);
    put("train-images-notes", 1, 99, 2);
    expect_counting(7);
}

static void test_duplicate_files_are_read_once(void **state)
{
    (void)state;
    put("train-labels-idx1-ubyte", 1, 0, 4);
    put("train-labels-idx1-ubyte.gz", 1, 0, 4);
    put("train-images-part0-idx3-ubyte", PIXELS, 0, 3);
    put("train-images-part0-idx3-ubyte.gz", PIXELS, 0, 3);
    put("train-images-part1-idx3-ubyte.gz", PIXELS, 3, 1);
    expect_counting(4);
    put("train-images-idx3-ubyte.gz", PIXELS, 0, 4); /* if the whole file exists, the parts are not read */
    expect_counting(4);
}

static void test_missing_files_are_named(void **state)
{
    (void)state;
    expect_status(JOULE_ABSENT, "neither train-images-idx3-ubyte nor train-images-part*-idx3-ubyte");
    put("train-images-idx3-ubyte.gz", PIXELS, 0, 5);
    expect_status(JOULE_ABSENT, "train-labels-idx1-ubyte");
    forge_dataset *dataset;
    assert_int_equal(forge_dataset_mnist("/nowhere/at/all", true, &dataset, &error), JOULE_ABSENT);
    assert_contains(error.message, "/nowhere/at/all");
    assert_int_equal(forge_dataset_mnist(NULL, true, &dataset, &error), JOULE_INVALID);
}

static void test_wrong_contents_are_refused(void **state)
{
    (void)state;
    put("train-images-part0-idx3-ubyte", PIXELS, 0, 4);
    put("train-labels-idx1-ubyte", 1, 0, 5);
    expect_status(JOULE_INVALID, "4 images but 5 labels");
    put("train-images-part1-idx3-ubyte", 1, 4, 1); /* a file of labels with a name for images */
    expect_status(JOULE_INVALID, "train-images-part1-idx3-ubyte: contains u8[1] where MNIST has u8[n,28,28]");
}

static void expect_labels(const forge_dataset *dataset, const unsigned expected[10])
{
    forge_tensor labels = forge_dataset_column(dataset, 1);
    const uint8_t *numbers = forge_tensor_data(&labels);
    unsigned counts[256] = {0};
    for (size_t i = 0; i < forge_tensor_elements(&labels); i++)
        counts[numbers[i]]++;
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(counts[i], expected[i]);
}

/* Compares the published data set with its known counts. */
static void test_published_data_set_has_its_counts(void **state)
{
    (void)state;
    const char *real = test_data("ml-data/mnist");
    if (!real)
        skip();
    forge_dataset *dataset;
    assert_ok(forge_dataset_mnist(real, true, &dataset, &error), &error);
    assert_int_equal(forge_dataset_examples(dataset), 10000);
    expect_labels(dataset, (unsigned[10]){980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009});
    forge_dataset_free(dataset);

    assert_ok(forge_dataset_mnist(real, false, &dataset, &error), &error);
    assert_int_equal(forge_dataset_examples(dataset), 60000);
    expect_labels(dataset, (unsigned[10]){5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949});
    forge_tensor images = forge_dataset_column(dataset, 0);
    assert_true(forge_shape_equal(&images.shape, &forge_shape_of(60000, 28, 28)));
    const uint8_t *pixels = forge_tensor_data(&images);
    uint64_t sum = 0;
    for (size_t i = 0; i < (size_t)60000 * PIXELS; i++)
        sum += pixels[i];
    char mean[32];
    snprintf(mean, sizeof mean, "%.6f", (double)sum / (60000.0 * PIXELS));
    assert_string_equal(mean, "33.318421");
    forge_dataset_free(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whole_files_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parts_are_read_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_duplicate_files_are_read_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_files_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_contents_are_refused, set_up, tear_down),
        cmocka_unit_test(test_published_data_set_has_its_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
