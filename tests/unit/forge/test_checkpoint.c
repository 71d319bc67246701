/* Checks checkpoints: contents are restored, training continues with the same bits, and a writer that is
 * killed at any byte leaves the previous checkpoint whole.
 *
 * JOULE_TEST_FULL=1 kills more often. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <forge/checkpoint.h>
#include <forge/optim.h>
#include "support/check.h"
#include "support/scratch.h"
#include "support/workbench.h"

static const char *const path = scratch_path, *const partial = scratch_partial;
static joule_error error;

/* --- a layer with state --------------------------------------------------------------------------------- */

static joule_status begin(struct workbench *m, forge_builder *b, uint64_t seed)
{
    joule_status status = workbench_begin(m, seed, &error);
    return status == JOULE_OK ? workbench_try_load(m, b, &error) : status;
}

/* Returns a graph with two slots of `elements` elements. Each run adds 1 to every element. */
static forge_builder *counters(int64_t elements)
{
    forge_builder *b = forge_builder_new();
    const char *names[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        forge_slot slot = forge_state(b, names[i], FORGE_F32, forge_shape_of(elements), (forge_init){0});
        forge_value next = forge_add(b, forge_read(b, slot), forge_scalar(b, FORGE_F32, 1));
        forge_write(b, slot, next, true);
    }
    return b;
}

static forge_checkpoint checkpoint_of(uint64_t step)
{
    return (forge_checkpoint){.struct_size = sizeof(forge_checkpoint),
                              .seed = 7,
                              .step = step,
                              .energy = {NAN, NAN, NAN, JOULE_CLASS_NONE, 0}};
}

/* Reads a checkpoint of counters and checks every element of both slots. Returns the checkpoint's step. */
static uint64_t read_whole(const char *file_path)
{
    forge_checkpoint c = {.struct_size = sizeof c};
    forge_safetensors *file = NULL;
    if (forge_checkpoint_query(file_path, &c, &error) != JOULE_OK ||
        forge_safetensors_open(file_path, &file, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(forge_safetensors_count(file), 2);
    for (size_t i = 0; i < 2; i++) {
        forge_tensor tensor;
        assert_int_equal(forge_safetensors_read(file, i, &tensor, NULL), JOULE_OK);
        for (size_t k = 0; k < forge_tensor_elements(&tensor); k++)
            if (((float *)forge_tensor_data(&tensor))[k] != (float)c.step)
                fail_msg("step %llu: element %zu of slot %zu is %g", (unsigned long long)c.step, k, i,
                         (double)((float *)forge_tensor_data(&tensor))[k]);
        forge_buffer_release(tensor.buffer);
    }
    forge_safetensors_close(file);
    return c.step;
}

/* --- round trips ---------------------------------------------------------------------------------------- */

static void test_written_checkpoint_reads_back(void **state)
{
    (void)state;
    struct workbench m, n;
    assert_int_equal(begin(&m, counters(3), 1), JOULE_OK);
    assert_int_equal(begin(&n, counters(3), 1), JOULE_OK);
    assert_int_equal(forge_instance_run(m.instance, NULL), JOULE_OK);
    forge_checkpoint in = {.struct_size = sizeof in,
                           .seed = UINT64_MAX,
                           .step = 1,
                           .cursor = {3, 1000},
                           .energy = {0.1, 1e-300, 12345.678901234567, JOULE_CLASS_DERIVED, 0}},
                     out = {.struct_size = sizeof out};
    const forge_metadata texts[] = {{"model", "mlp"}, {"note", "a\nb"}};
    assert_ok(forge_checkpoint_write(path, m.states, &in, texts, 2, &error), &error);
    assert_int_equal(read_whole(path), 1);
    assert_ok(forge_checkpoint_read(path, n.states, &out, &error), &error);
    assert_memory_equal(&in, &out, sizeof in);
    forge_tensor tensor;
    assert_int_equal(forge_states_find(n.states, "b", &tensor), JOULE_OK);
    assert_true(((float *)forge_tensor_data(&tensor))[2] == 1);
    forge_safetensors *file;
    assert_int_equal(forge_safetensors_open(path, &file, NULL), JOULE_OK);
    assert_string_equal(forge_safetensors_metadata(file, "note"), "a\nb");
    forge_safetensors_close(file);

    in.energy = (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    assert_int_equal(forge_checkpoint_write(path, m.states, &in, NULL, 0, &error), JOULE_OK);
    assert_int_equal(forge_checkpoint_query(path, &out, &error), JOULE_OK);
    assert_true(isnan(out.energy.value) && isnan(out.energy.low) && out.energy.cls == JOULE_CLASS_NONE);
    workbench_end(&m);
    workbench_end(&n);
}

static void expect_refused(const forge_metadata *metadata, size_t count, joule_status status,
                           const char *part)
{
    forge_checkpoint c = {.struct_size = sizeof c};
    memset(&error, 0, sizeof error);
    assert_int_equal(forge_safetensors_write(path, NULL, 0, metadata, count, NULL), JOULE_OK);
    assert_int_equal(forge_checkpoint_query(path, &c, &error), status);
    assert_contains(error.message, part);
    assert_contains(error.message, path);
}

static void test_other_files_are_refused(void **state)
{
    (void)state;
    forge_metadata m[] = {{"forge.checkpoint", "1"},
                          {"forge.seed", "1"},
                          {"forge.step", "2"},
                          {"forge.epoch", "0"},
                          {"forge.batch", "0"},
                          {"forge.energy_joules", "1.5"},
                          {"forge.energy_joules_low", "1"},
                          {"forge.energy_joules_high", "unknown"},
                          {"forge.energy_class", "none"}};
    enum { COUNT = sizeof m / sizeof *m };
    forge_checkpoint c = {.struct_size = sizeof c};
    assert_int_equal(forge_safetensors_write(path, NULL, 0, m, COUNT, NULL), JOULE_OK);
    assert_int_equal(forge_checkpoint_query(path, &c, NULL), JOULE_OK);
    expect_refused(NULL, 0, JOULE_INVALID, "no 'forge.checkpoint'");
    expect_refused(m, COUNT - 1, JOULE_INVALID, "'forge.energy_class' is '(missing)'");
    const struct {
        size_t field;
        const char *text, *part;
    } wrong[] = {
        {0, "2", "a checkpoint of version '2'"},      {1, "-1", "'forge.seed' is '-1'"},
        {2, "18446744073709551616", "forge.step"},    {4, "", "'forge.batch' is ''"},
        {5, "nan", "'forge.energy_joules' is 'nan'"}, {8, "guessed", "'forge.energy_class' is 'guessed'"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        forge_metadata right = m[wrong[i].field];
        m[wrong[i].field].text = wrong[i].text;
        expect_refused(m, COUNT, i == 0 ? JOULE_UNSUPPORTED : JOULE_INVALID, wrong[i].part);
        m[wrong[i].field] = right;
    }
    assert_int_equal(forge_checkpoint_query(path, NULL, NULL), JOULE_INVALID);
    unlink(path);
    assert_int_equal(forge_checkpoint_query(path, &c, NULL), JOULE_ABSENT);
}

/* A checkpoint of another network is refused. The slots and the seed do not change. */
static void test_checkpoint_of_another_model_is_refused(void **state)
{
    (void)state;
    struct workbench m, n;
    assert_int_equal(begin(&m, counters(3), 1), JOULE_OK);
    assert_int_equal(begin(&n, counters(4), 1), JOULE_OK);
    forge_checkpoint c = checkpoint_of(0);
    const forge_metadata taken[] = {{"forge.step", "9"}};
    assert_int_equal(forge_checkpoint_write(path, m.states, &c, taken, 1, &error), JOULE_INVALID);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(forge_checkpoint_write(path, m.states, &c, NULL, 0, &error), JOULE_OK);
    assert_int_equal(forge_instance_run(n.instance, NULL), JOULE_OK);
    assert_int_equal(forge_checkpoint_read(path, n.states, NULL, &error), JOULE_INVALID);
    assert_contains(error.message, "wrong: 'a' is f32[3], not f32[4]");
    forge_tensor tensor;
    assert_int_equal(forge_states_find(n.states, "a", &tensor), JOULE_OK);
    assert_true(((float *)forge_tensor_data(&tensor))[0] == 1);
    c.struct_size = 4;
    assert_int_equal(forge_checkpoint_write(path, m.states, &c, NULL, 0, &error), JOULE_INVALID);
    assert_int_equal(forge_checkpoint_write(path, m.states, NULL, NULL, 0, &error), JOULE_INVALID);
    workbench_end(&m);
    workbench_end(&n);
}

/* --- continuing ----------------------------------------------------------------------------------------- */

enum { EXAMPLES = 50, BATCH = 8, FEATURES = 6, CLASSES = 3 };

struct training {
    struct workbench m;
    forge_dataset *data;
    forge_loader *loader;
    uint64_t step;
};

static forge_builder *learner(void)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(BATCH, FEATURES));
    forge_value label = forge_input(b, "label", FORGE_I32, forge_shape_of(BATCH));
    forge_value logits =
        forge_mlp(b, "mlp", forge_dropout(b, "drop", x, 0.2, true), (int64_t[]){16, CLASSES}, 2);
    forge_value loss = forge_cross_entropy(b, logits, label);
    forge_adamw_options options = FORGE_ADAMW_OPTIONS;
    options.max_norm = 1;
    forge_adamw(b, loss, forge_scalar(b, FORGE_F32, 0.05), &options);
    forge_output(b, "loss", loss);
    return b;
}

static void begin_training(struct training *t, uint64_t seed)
{
    forge_tensor columns[2];
    forge_shape rows = forge_shape_of(EXAMPLES, FEATURES), row = forge_shape_of(EXAMPLES);
    assert_int_equal(forge_tensor_new(FORGE_F32, &rows, &columns[0], NULL), JOULE_OK);
    assert_int_equal(forge_tensor_new(FORGE_I32, &row, &columns[1], NULL), JOULE_OK);
    for (int i = 0; i < EXAMPLES; i++) {
        for (int k = 0; k < FEATURES; k++)
            ((float *)forge_tensor_data(&columns[0]))[i * FEATURES + k] = (float)sin(i * 1.7 + k);
        ((int32_t *)forge_tensor_data(&columns[1]))[i] = i % CLASSES;
    }
    *t = (struct training){0};
    assert_int_equal(forge_dataset_new(columns, 2, &t->data, NULL), JOULE_OK);
    forge_buffer_release(columns[0].buffer);
    forge_buffer_release(columns[1].buffer);
    forge_loader_options options = {
        .struct_size = sizeof options, .batch_size = BATCH, .seed = seed, .shuffle = true, .workers = 1};
    assert_int_equal(forge_loader_new(t->data, &options, &t->loader, NULL), JOULE_OK);
    assert_ok(begin(&t->m, learner(), seed), &error);
}

static void end_training(struct training *t)
{
    workbench_end(&t->m);
    forge_loader_free(t->loader);
    forge_dataset_free(t->data);
}

/* Trains for some steps. *cursor gets the position of the next batch. */
static void train(struct training *t, int steps, forge_cursor *cursor)
{
    forge_tensor columns[2];
    for (int i = 0; i < steps; i++, t->step++) {
        assert_int_equal(forge_loader_next(t->loader, columns, cursor, NULL), JOULE_OK);
        assert_int_equal(forge_instance_set(t->m.instance, "x", &columns[0], &error), JOULE_OK);
        assert_int_equal(forge_instance_set(t->m.instance, "label", &columns[1], &error), JOULE_OK);
        assert_int_equal(forge_instance_run(t->m.instance, &error), JOULE_OK);
    }
    if (++cursor->batch == forge_loader_batches_per_epoch(t->loader))
        *cursor = (forge_cursor){cursor->epoch + 1, 0};
}

static void test_resumed_training_has_the_same_bits(void **state)
{
    (void)state;
    struct training whole, first, second;
    forge_cursor cursor;
    forge_checkpoint c = checkpoint_of(0), found = {.struct_size = sizeof found};
    begin_training(&whole, 11);
    train(&whole, 20, &cursor);

    begin_training(&first, 11);
    train(&first, 10, &c.cursor);
    c.seed = 11;
    c.step = first.step;
    assert_int_equal(forge_checkpoint_write(path, first.m.states, &c, NULL, 0, &error), JOULE_OK);
    end_training(&first);

    assert_int_equal(forge_checkpoint_query(path, &found, &error), JOULE_OK);
    begin_training(&second, found.seed);
    assert_ok(forge_checkpoint_read(path, second.m.states, &found, &error), &error);
    second.step = found.step;
    assert_int_equal(forge_loader_seek(second.loader, found.cursor, &error), JOULE_OK);
    train(&second, 10, &cursor);

    assert_true(whole.step == 20 && second.step == 20);
    size_t count = forge_states_count(whole.m.states);
    assert_true(count == 4 * 3 + 3 && count == forge_states_count(second.m.states));
    for (size_t i = 0; i < count; i++) {
        forge_tensor a, b;
        const char *name;
        assert_int_equal(forge_states_get(whole.m.states, i, &a, &name), JOULE_OK);
        assert_int_equal(forge_states_find(second.m.states, name, &b), JOULE_OK);
        if (memcmp(forge_tensor_data(&a), forge_tensor_data(&b),
                   forge_dtype_size_bytes(a.dtype, forge_tensor_elements(&a))) != 0)
            fail_msg("slot %s has other bits", name);
    }
    end_training(&whole);
    end_training(&second);
}

/* --- ends in the middle --------------------------------------------------------------------------------- */

static int rounds(void)
{
    return is_full_test() ? 50 : 10;
}

/* Loads the last checkpoint. Then repeats a run and a checkpoint until the process is killed. From the second
 * checkpoint on, the kernel kills the process if a file exceeds max_bytes. 0 means no limit. */
_Noreturn static void write_until_killed(int pipe_ends, rlim_t max_bytes)
{
    struct workbench m;
    forge_checkpoint c = {.struct_size = sizeof c};
    if (begin(&m, counters(1 << 18), 7) != JOULE_OK)
        _exit(2);
    if (forge_checkpoint_read(path, m.states, &c, &error) != JOULE_OK)
        c = checkpoint_of(0);
    for (bool is_first = true;; is_first = false) {
        c.step++;
        if (forge_instance_run(m.instance, NULL) != JOULE_OK ||
            forge_checkpoint_write(path, m.states, &c, NULL, 0, &error) != JOULE_OK)
            _exit(3);
        if (is_first && write(pipe_ends, "", 1) != 1)
            _exit(4);
        const struct rlimit none = {0, 0}, limit = {max_bytes, max_bytes};
        if (max_bytes && (setrlimit(RLIMIT_CORE, &none) != 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0))
            _exit(5);
    }
}

/* Starts a process with write_until_killed. Returns when it has written its first checkpoint. */
static pid_t start_writer(rlim_t max_bytes)
{
    int pipe_ends[2];
    char byte;
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(pipe_ends[0]);
        alarm(60);
        write_until_killed(pipe_ends[1], max_bytes);
    }
    close(pipe_ends[1]);
    assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
    close(pipe_ends[0]);
    return child;
}

static void expect_killed(pid_t child, int by_signal)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), by_signal);
}

static void test_killed_writer_leaves_a_whole_checkpoint(void **state)
{
    (void)state;
    uint64_t last = 0;
    int in_the_middle = 0;
    unlink(path);
    srand(5);
    for (int i = 0; i < rounds(); i++) {
        pid_t child = start_writer(0);
        usleep((useconds_t)(rand() % 30000));
        assert_int_equal(kill(child, SIGKILL), 0);
        expect_killed(child, SIGKILL);
        in_the_middle += access(partial, F_OK) == 0;
        uint64_t step = read_whole(path);
        assert_true(step > last); /* each writer continued from the last checkpoint of the killed one */
        last = step;
    }
    print_message("%d of %d kills came while a file was half written\n", in_the_middle, rounds());
}

/* Writers are killed at chosen bytes, by a limit on the file size. The kernel kills a process that writes
 * beyond this limit. */
static void test_writer_killed_at_any_byte_leaves_a_whole_checkpoint(void **state)
{
    (void)state;
    const rlim_t size = 2 << 20; /* without the header */
    unlink(path);
    srand(6);
    for (int i = 0; i < rounds(); i++) {
        rlim_t at = i < 3 ? (rlim_t)(1 + i * 4) : i < 6 ? size + (rlim_t)i * 10 : (rlim_t)rand() % size + 1;
        expect_killed(start_writer(at), SIGXFSZ);
        struct stat facts;
        assert_int_equal(stat(partial, &facts), 0);
        assert_int_equal(facts.st_size, at);
        assert_int_equal(read_whole(path), i + 1);
    }
}

/* A writer that is not killed returns an error and removes its temporary file. */
static void test_failed_write_keeps_the_old_checkpoint(void **state)
{
    (void)state;
    struct workbench m;
    struct rlimit old, tight;
    forge_checkpoint c = checkpoint_of(1);
    unlink(path);
    assert_int_equal(begin(&m, counters(1 << 16), 7), JOULE_OK);
    assert_int_equal(forge_instance_run(m.instance, NULL), JOULE_OK);
    assert_int_equal(forge_checkpoint_write(path, m.states, &c, NULL, 0, &error), JOULE_OK);
    assert_int_equal(forge_instance_run(m.instance, NULL), JOULE_OK);
    c.step = 2;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = old;
    tight.rlim_cur = 100000;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    joule_status status = forge_checkpoint_write(path, m.states, &c, NULL, 0, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, before);
    assert_int_equal(status, JOULE_FAILED);
    assert_contains(error.message, "File too large; the old file is unchanged");
    assert_int_equal(access(partial, F_OK), -1);
    assert_int_equal(read_whole(path), 1);
    assert_int_equal(forge_checkpoint_write(path, m.states, &c, NULL, 0, &error), JOULE_OK);
    assert_int_equal(read_whole(path), 2);
    workbench_end(&m);
}

/* --- a full disk ---------------------------------------------------------------------------------------- */

static bool write_text(const char *file, const char *text)
{
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return done;
}

/* Mounts a file system of 1 MiB on the folder. Only this process sees it. Without root privileges, the
 * process becomes root of a user namespace. */
static bool mount_small(void)
{
    char users[40], groups[40];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) {
        if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", users) ||
            !write_text("/proc/self/gid_map", groups))
            return false;
    } else if (unshare(CLONE_NEWNS) != 0) {
        return false;
    }
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", scratch_folder, "tmpfs", 0, "size=1m") == 0;
}

/* Ends the child process if `holds` is false. Note: a failed cmocka assertion would run the remaining tests
 * in the child. */
static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "on a full disk: %s: %s\n", what, error.message);
    _exit(1);
}

static void fill_disk(const char *file)
{
    char junk[4096] = {1};
    int fd = open(file, O_CREAT | O_WRONLY, 0600);
    require(fd >= 0, "filler");
    while (write(fd, junk, sizeof junk) > 0)
        ;
    require(errno == ENOSPC, "filled");
    close(fd);
}

_Noreturn static void write_to_a_full_disk(void)
{
    struct workbench m;
    char filler[64];
    forge_checkpoint c = checkpoint_of(1);
    if (!mount_small())
        _exit(77);
    snprintf(filler, sizeof filler, "%s/filler", scratch_folder);
    require(begin(&m, counters(1 << 15), 7) == JOULE_OK, "begin"); /* the slots have 256 KiB */
    require(forge_instance_run(m.instance, NULL) == JOULE_OK, "run");
    require(forge_checkpoint_write(path, m.states, &c, NULL, 0, &error) == JOULE_OK, "first");
    fill_disk(filler);
    require(forge_instance_run(m.instance, NULL) == JOULE_OK, "run again");
    c.step = 2;
    joule_status status = forge_checkpoint_write(path, m.states, &c, NULL, 0, &error);
    require(status == JOULE_FAILED &&
                strstr(error.message, "No space left on device; the old file is unchanged"),
            "second");
    require(access(partial, F_OK) != 0 && read_whole(path) == 1, "the first is whole");
    require(unlink(filler) == 0, "unlink");
    require(forge_checkpoint_write(path, m.states, &c, NULL, 0, &error) == JOULE_OK && read_whole(path) == 2,
            "third");
    workbench_end(&m);
    _exit(0);
}

static void test_full_disk_keeps_the_old_checkpoint(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        write_to_a_full_disk();
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("no file system may be mounted here: skipped\n");
        skip();
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_checkpoint_reads_back),
        cmocka_unit_test(test_other_files_are_refused),
        cmocka_unit_test(test_checkpoint_of_another_model_is_refused),
        cmocka_unit_test(test_resumed_training_has_the_same_bits),
        cmocka_unit_test(test_killed_writer_leaves_a_whole_checkpoint),
        cmocka_unit_test(test_writer_killed_at_any_byte_leaves_a_whole_checkpoint),
        cmocka_unit_test(test_failed_write_keeps_the_old_checkpoint),
        cmocka_unit_test(test_full_disk_keeps_the_old_checkpoint),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, scratch_set_up, scratch_tear_down);
}
