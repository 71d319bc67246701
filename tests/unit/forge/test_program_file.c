/* Checks program files: the same bits in another process, no partially written files, and malicious files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <forge/compiler.h>
#include "support/check.h"
#include "support/random_graph.h"
#include "support/small_program.h"

static forge_device *device;
static char folder[] = "/tmp/forge_program_XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return !mkdtemp(folder) || forge_device_open("cpu", &device, NULL) != JOULE_OK;
}

static int tear_down(void **state)
{
    (void)state;
    forge_device_close(device);
    return rmdir(folder);
}

static const char *in_folder(const char *name)
{
    static char paths[2][100];
    static int which;
    which = !which;
    snprintf(paths[which], sizeof paths[which], "%s/%s", folder, name);
    return paths[which];
}

static forge_program *compile(uint64_t seed, unsigned nodes, unsigned flags)
{
    forge_graph *graph = random_graph(seed, nodes, flags);
    forge_program *program = NULL;
    joule_error error = {0};
    if (forge_compile(graph, device, &program, &error) != JOULE_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    forge_graph_free(graph);
    return program;
}

static forge_program *copy_of(const forge_program *program)
{
    forge_program *copy = aligned_alloc(PROGRAM_ALIGNMENT, program->size_bytes);
    return memcpy(copy, program, program->size_bytes);
}

static uint64_t hash_of_outputs(const forge_program *program)
{
    uint64_t hash = 1;
    assert_int_equal(program_try(program, device, program_hash_bytes, &hash), JOULE_OK);
    return hash;
}

/* --- another process ------------------------------------------------------------------------------------ */

/* Prints the hash of the program's outputs. main calls this function if the test is started with a path. */
static int run_file(const char *path)
{
    forge_program *program = NULL;
    uint64_t hash = 1;
    if (forge_device_open("cpu", &device, NULL) != JOULE_OK ||
        forge_program_read(path, &program, NULL) != JOULE_OK ||
        program_try(program, device, program_hash_bytes, &hash) != JOULE_OK)
        return 1;
    printf("%016llx\n", (unsigned long long)hash);
    forge_program_free(program);
    forge_device_close(device);
    return 0;
}

static void test_another_process_has_the_same_bits(void **state)
{
    (void)state;
    const char *path = in_folder("program.fprog");
    for (uint64_t seed = 0; seed < 8; seed++) {
        forge_program *program =
            compile(seed, 30, RANDOM_GRAPH_GRADIENTS | (unsigned)seed % 2 * RANDOM_GRAPH_SYMBOLS);
        assert_int_equal(forge_program_write(program, path, NULL), JOULE_OK);
        char command[200], expected[24], found[24] = "";
        snprintf(expected, sizeof expected, "%016llx\n", (unsigned long long)hash_of_outputs(program));
        snprintf(command, sizeof command, "/proc/%ld/exe %s", (long)getpid(), path);
        FILE *other = popen(command, "r");
        assert_non_null(other);
        assert_non_null(fgets(found, sizeof found, other));
        assert_int_equal(pclose(other), 0);
        assert_string_equal(found, expected);
        forge_program_free(program);
    }
    unlink(path);
}

static void test_compiled_programs_are_accepted(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        forge_program *program = compile(seed, 25, (unsigned)seed % 4);
        joule_error error = {0};
        if (program_check(program, program->size_bytes, &error) != JOULE_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        forge_program_free(program);
    }
}

/* --- files ---------------------------------------------------------------------------------------------- */

static void test_written_programs_read_back(void **state)
{
    (void)state;
    forge_program *program = compile(3, 20, 0), *again = NULL;
    joule_error error = {0};
    const char *path = in_folder("program.fprog");
    assert_int_equal(forge_program_write(program, path, NULL), JOULE_OK);
    assert_int_equal(forge_program_write(program, path, NULL), JOULE_OK); /* replaces the existing file */
    assert_int_equal(forge_program_read(path, &again, NULL), JOULE_OK);
    assert_memory_equal(program, again, program->size_bytes);
    forge_program_free(again);
    unlink(path);
    assert_int_equal(forge_program_read(path, &again, &error), JOULE_ABSENT);
    assert_int_equal(forge_program_write(program, "/nowhere/x.fprog", &error), JOULE_FAILED);
    assert_int_equal(forge_program_read(folder, &again, &error), JOULE_UNSUPPORTED);
    assert_contains(error.message, "it is a directory, not a file");
    assert_int_equal(forge_program_read("/dev/zero", &again, &error), JOULE_UNSUPPORTED);
    assert_contains(error.message, "not a regular file");
    /* a folder cannot be replaced, and no temporary file may remain */
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(forge_program_write(program, path, &error), JOULE_FAILED);
    rmdir(path);
    forge_program_free(program);
}

static void test_printed_program_lists_buffers_and_launches(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_graph *graph = NULL;
    forge_program *program = NULL;
    char *page = NULL;
    forge_scope_push(b, "fc1");
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3));
    forge_output(b, "y", forge_matmul(b, x, forge_transpose(b, x, (uint32_t[]){1, 0}), 0));
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    assert_int_equal(forge_compile(graph, device, &program, NULL), JOULE_OK);
    assert_int_equal(forge_program_print(program, &page, NULL), JOULE_OK);
    assert_contains(page, "input    f32[2,3], 24 bytes \"x\"");
    assert_contains(
        page, "$0 f32[2,3], $0 f32[3,2] (+0, strides 1 3) -> $1 f32[2,2]; 24 FLOP, 64 bytes @fc1 forward");
    free(page);
    forge_program_free(program);
    forge_graph_free(graph);
}

/* --- malicious input ------------------------------------------------------------------------------------ */

static void assert_refused(const forge_program *program, size_t size, const char *words)
{
    joule_error error = {0};
    assert_int_not_equal(program_check(program, size, &error), JOULE_OK);
    assert_contains(error.message, words);
}

static void test_truncated_programs_are_refused(void **state)
{
    (void)state;
    forge_program *program = compile(1, 3, 0);
    for (size_t size = 0; size < program->size_bytes; size++) {
        forge_program *cut =
            aligned_alloc(PROGRAM_ALIGNMENT, size + PROGRAM_ALIGNMENT - size % PROGRAM_ALIGNMENT);
        memcpy(cut, program, size);
        assert_refused(cut, size,
                       size < sizeof *cut ? "its first bytes are not those of a program"
                                          : "but its header states");
        free(cut);
    }
    forge_program_free(program);
}

static void test_every_damage_of_the_head(void **state)
{
    (void)state;
    forge_program *program = compile(2, 10, 0);
    size_t size = program->size_bytes;
    for (size_t bit = 0; bit < 8 * sizeof *program; bit++) {
        ((unsigned char *)program)[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_refused(program, size, "");
        ((unsigned char *)program)[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    assert_int_equal(program_check(program, program->size_bytes, NULL), JOULE_OK);
    program->version++;
    assert_int_equal(program_check(program, program->size_bytes, NULL), JOULE_UNSUPPORTED);
    forge_program_free(program);
}

/* Changes one word of the program and corrects the hash. The program must be refused, or run within its own
 * memory. */
static void try_with(const forge_program *program, size_t at, uint32_t word)
{
    forge_program *other = copy_of(program);
    memcpy((char *)other + at, &word, sizeof word);
    if (other->size_bytes != program->size_bytes) { /* the size in the header differs from the size of the
                                                     * contents */
        assert_refused(other, program->size_bytes, "");
        free(other);
        return;
    }
    other->hash = program_hash(other);
    if (program_check(other, other->size_bytes, NULL) == JOULE_OK && program_is_small(other))
        program_try(other, device, program_ignore, NULL);
    free(other);
}

static void test_any_changed_word_is_harmless(void **state)
{
    (void)state;
    static const uint32_t words[] = {0, 1, 7, 64, 1u << 20, 0x7fffffff, 0x80000000, UINT32_MAX};
    for (unsigned flags = 0; flags <= RANDOM_GRAPH_SYMBOLS; flags += RANDOM_GRAPH_SYMBOLS) {
        forge_program *program = compile(5, 14, flags);
        size_t end = program->bytes.offset + program->bytes.count;
        assert_int_equal(program->dims.count > 0, flags > 0);
        for (size_t at = 0; at < end; at += 4)
            try_with(program, at, words[at / 4 % 8] + (uint32_t)(at / 64 % 3));
        forge_program_free(program);
    }
}

static struct program_launch *launch_of(forge_program *program, enum op op)
{
    for (size_t i = 0; i < program->launches.count; i++)
        if (program_launches(program)[i].op == op)
            return (struct program_launch *)&program_launches(program)[i];
    fail_msg("no %s", op_name(op));
    return NULL;
}

static forge_program *product(void)
{
    forge_builder *b = forge_builder_new();
    forge_graph *graph = NULL;
    forge_program *program = NULL;
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(4, 4));
    forge_slot w = forge_state(b, "w", FORGE_F32, forge_shape_of(4, 4), (forge_init){0});
    forge_output(b, "y", forge_relu(b, forge_matmul(b, x, forge_read(b, w), 0)));
    forge_output(b, "z", forge_matmul(b, x, x, 0));
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    const forge_compile_options options = {.struct_size = sizeof options, .skip = "fuse"};
    assert_int_equal(forge_compile_with(graph, device, &options, &program, NULL), JOULE_OK);
    forge_graph_free(graph);
    return program;
}

static void test_wrong_programs_are_refused(void **state)
{
    (void)state;
    forge_program *program = product();
    struct program_launch *matmul = launch_of(program, OP_MATMUL);
    struct program_binding *bindings = (struct program_binding *)program_bindings(program);
    struct program_binding before = bindings[matmul->first_binding + 2];
    bindings[matmul->first_binding + 2].buffer = bindings[matmul->first_binding].buffer;
    program->hash = program_hash(program);
    assert_refused(program, program->size_bytes, "writes an input or a constant");
    bindings[matmul->first_binding + 2] = before;
    bindings[matmul->first_binding].strides[0] = 5;
    program->hash = program_hash(program);
    assert_refused(program, program->size_bytes, "lies outside its buffer");
    bindings[matmul->first_binding].strides[0] = 4;
    bindings[matmul->first_binding].negative_strides = 1;
    program->hash = program_hash(program);
    assert_refused(program, program->size_bytes, "lies outside its buffer");
    bindings[matmul->first_binding].negative_strides = 0;
    bindings[matmul->first_binding].strides[0] = -1;
    program->hash = program_hash(program);
    assert_refused(program, program->size_bytes, "view 0 is invalid");
    bindings[matmul->first_binding].strides[0] = 4;
    matmul->op = OP_UNARY;
    program->hash = program_hash(program);
    assert_refused(program, program->size_bytes, "does not have the operands of unary");
    forge_program_free(program);
}

/* A kernel of another operation is refused, because it would read operands that do not exist. */
static void test_a_kernel_has_to_be_of_its_operation(void **state)
{
    (void)state;
    forge_program *program = product();
    launch_of(program, OP_UNARY)->kernel = launch_of(program, OP_MATMUL)->kernel;
    program->hash = program_hash(program);
    assert_int_equal(program_check(program, program->size_bytes, NULL), JOULE_OK);
    assert_int_equal(program_try(program, device, program_ignore, NULL), JOULE_UNSUPPORTED);
    forge_program_free(program);
}

int main(int count, char **arguments)
{
    if (count == 2)
        return run_file(arguments[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_process_has_the_same_bits),
        cmocka_unit_test(test_compiled_programs_are_accepted),
        cmocka_unit_test(test_written_programs_read_back),
        cmocka_unit_test(test_printed_program_lists_buffers_and_launches),
        cmocka_unit_test(test_truncated_programs_are_refused),
        cmocka_unit_test(test_every_damage_of_the_head),
        cmocka_unit_test(test_any_changed_word_is_harmless),
        cmocka_unit_test(test_wrong_programs_are_refused),
        cmocka_unit_test(test_a_kernel_has_to_be_of_its_operation),
    };
    return cmocka_run_group_tests_name("program_file", tests, set_up, tear_down);
}
