/* Checks that the tensors of GGUF files are found, and that impossible tensors are refused. The message names
 * the tensor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit/forge/gguf_trial.h"

static void test_alignment_of_the_file_is_used(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin(&b, NULL);
    b.alignment = 256;
    gguf_add_integer(&b, "general.alignment", 4, 256);
    gguf_add_small_tensors(&b);
    struct model_file *file = open_built(&b);
    for (size_t i = 0; i < file->tensor_count; i++)
        assert_int_equal((uintptr_t)file->tensors[i].data % 256, 0);
    model_file_close(file);
}

static void test_missing_wrong_and_unknown_tensors_are_refused(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin(&b, "blk.0.ffn_up.weight");
    gguf_add_small_tensors(&b);
    refuse_built(&b, JOULE_INVALID, "tensor 'blk.0.ffn_up.weight' is missing, which the architecture llama");
    begin(&b, "token_embd.weight");
    gguf_add_small_tensors(&b);
    refuse_built(&b, JOULE_INVALID, "tensor 'token_embd.weight' is missing");
    begin(&b, NULL);
    refuse_built(&b, JOULE_INVALID, "the file has no tensors, only a vocabulary");
    begin(&b, NULL);
    gguf_add_small_tensors(&b);
    gguf_add_tensor(&b, "blk.0.attn_q.bias", 0, 4, 0, 16);
    refuse_built(&b, JOULE_UNSUPPORTED,
                 "tensor 'blk.0.attn_q.bias' is not supported for the architecture llama");
    begin(&b, NULL);
    gguf_add_small_tensors(&b);
    gguf_add_tensor(&b, "blk.00.attn_q.weight", 0, 4, 4, 64);
    refuse_built(&b, JOULE_INVALID, "a layer has two numbers");
    begin(&b, NULL);
    gguf_add_small_tensors(&b);
    gguf_add_tensor(&b, "blk.0.attn_q.weight", 0, 4, 4, 64);
    refuse_built(&b, JOULE_INVALID, "there are two tensors 'blk.0.attn_q.weight'");
    begin(&b, "blk.0.ffn_down.weight");
    gguf_add_small_tensors(&b);
    b.left_out = NULL;
    gguf_add_tensor(&b, "blk.0.ffn_down.weight", 0, 4, 6, 96);
    refuse_built(&b, JOULE_INVALID,
                 "tensor 'blk.0.ffn_down.weight' has the shape [6,4], but the model's sizes "
                 "require [4,6]");
}

static void refuse_tensor(uint32_t type, uint64_t columns, uint64_t rows, uint64_t size, joule_status status,
                          const char *part)
{
    struct gguf_builder b;
    begin(&b, "output.weight");
    gguf_add_small_tensors(&b);
    b.left_out = NULL;
    gguf_add_tensor(&b, "output.weight", type, columns, rows, size);
    refuse_built(&b, status, part);
}

static void test_unsupported_types_are_named(void **state)
{
    (void)state;
    refuse_tensor(13, 256, 3, 528, JOULE_UNSUPPORTED, "tensor 'output.weight' has the type Q5_K (13)");
    refuse_tensor(5, 4, 3, 48, JOULE_UNSUPPORTED, "tensor 'output.weight' has the type unknown (5)");
    refuse_tensor(41, 4, 3, 48, JOULE_UNSUPPORTED, "has the type unknown (41)");
    refuse_tensor(UINT32_MAX, 4, 3, 48, JOULE_UNSUPPORTED, "has the type unknown (4294967295)");
}

static void test_impossible_tensors_are_refused(void **state)
{
    (void)state;
    refuse_tensor(8, 4, 3, 102, JOULE_INVALID, "has rows of 4 elements; q8_0 has blocks of 32");
    refuse_tensor(12, 32, 3, 144, JOULE_INVALID, "has rows of 32 elements; q4_k has blocks of 256");
    refuse_tensor(0, 0, 3, 0, JOULE_INVALID, "tensor 'output.weight' has a dimension of 0");
    refuse_tensor(0, UINT64_MAX, 3, 0, JOULE_INVALID, "a dimension of 18446744073709551615");
    refuse_tensor(0, INT64_MAX, 3, 0, JOULE_INVALID, "tensor 'output.weight' is larger than the file");
    refuse_tensor(0, INT64_MAX, 0, 0, JOULE_INVALID, "tensor 'output.weight' is larger than the file");
    refuse_tensor(0, 4, 3, 0, JOULE_INVALID, "tensor 'output.weight' has 48 bytes from byte");
    refuse_tensor(0, UINT64_C(1) << 32, UINT64_C(1) << 32, 0, JOULE_INVALID, "is larger than the file");
}

static void test_overlapping_tensors_are_refused(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin(&b, NULL);
    gguf_add_small_tensors(&b);
    b.data_size -= 32;
    gguf_add_tensor(&b, "output.weight", 0, 4, 3, 64);
    refuse_built(&b, JOULE_INVALID, "tensors 'blk.0.ffn_down.weight' and 'output.weight' overlap");
    begin(&b, NULL);
    gguf_add_small_tensors(&b);
    b.data_size += 4;
    gguf_add_tensor(&b, "output.weight", 0, 4, 3, 96);
    refuse_built(&b, JOULE_INVALID, "which is not a multiple of 32");
    begin(&b, NULL);
    gguf_add_small_tensors(&b);
    uint64_t size = b.data_size;
    b.data_size = UINT64_MAX - 31;
    gguf_add_tensor(&b, "output.weight", 0, 4, 3, 64);
    b.data_size = size;
    refuse_built(&b, JOULE_INVALID, "tensor 'output.weight' has 48 bytes from byte 18446744073709551584");
}

static void test_names_of_tensors_are_checked(void **state)
{
    (void)state;
    static const char *const names[] = {"", "a b", "a\n",
                                        "12345678901234567890123456789012345678901234567890123456789012345"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct gguf_builder b;
        begin(&b, NULL);
        gguf_add_tensor(&b, names[i], 0, 4, 3, 48);
        refuse_built(&b, JOULE_INVALID, "the name of a tensor is empty, has more than 64 bytes");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment_of_the_file_is_used),
        cmocka_unit_test(test_missing_wrong_and_unknown_tensors_are_refused),
        cmocka_unit_test(test_unsupported_types_are_named),
        cmocka_unit_test(test_impossible_tensors_are_refused),
        cmocka_unit_test(test_overlapping_tensors_are_refused),
        cmocka_unit_test(test_names_of_tensors_are_checked),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
