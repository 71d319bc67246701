/* tools/joulec/check/source_marks.c - see source_marks.h. */
#include "source_marks.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "common/options.h"
#include "joulec/source/place.h"
#include "clang_commands.h"

/* A mapped file. bytes NULL: the file is empty or cannot be mapped. */
struct view {
    const char *bytes;
    size_t size;
};

static struct view view_open(int fd)
{
    struct stat file;
    if (fd < 0 || fstat(fd, &file) || file.st_size <= 0)
        return (struct view){NULL, 0};
    void *bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    return bytes == MAP_FAILED ? (struct view){NULL, 0} : (struct view){bytes, (size_t)file.st_size};
}

static void view_close(struct view view)
{
    if (view.bytes)
        munmap((void *)view.bytes, view.size);
}

typedef bool text_test(const char *text, size_t size);

static bool file_passes(const char *path, text_test *test)
{
    int fd = file_open_kind(path, FILE_REGULAR);
    struct view view = view_open(fd);
    bool passes = view.bytes && test(view.bytes, view.size);
    view_close(view);
    if (fd >= 0)
        close(fd);
    return passes;
}

/* Returns true if "omp" follows the word pragma. Also returns true if "omp" begins a string or a macro's
 * argument, because a macro may make a pragma of it. */
static bool openmp_is_possible(const char *text, size_t size)
{
    static const char word[] = "pragma";
    const char *end = text + size;
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), "omp", strlen("omp"))); at++) {
        const char *before = at;
        while (before > text && (before[-1] == ' ' || before[-1] == '\t'))
            before--;
        size_t length = (size_t)(before - text);
        if (length && (before[-1] == '"' || before[-1] == '('))
            return true;
        if (before < at && length >= strlen(word) && memcmp(before - strlen(word), word, strlen(word)) == 0)
            return true;
    }
    return false;
}

/* Writes the next file name of a rule for make, without escapes. Returns false if there are no more. */
static bool next_file(const struct view *rule, size_t *at, char *out, size_t size)
{
    size_t length = 0;
    for (; *at < rule->size; (*at)++) {
        char c = rule->bytes[*at], next = *at + 1 < rule->size ? rule->bytes[*at + 1] : '\0';
        bool is_escape = (c == '\\' && (next == ' ' || next == '#')) || (c == '$' && next == '$');
        bool is_between = c == ' ' || c == '\n' || (c == '\\' && next == '\n');
        if (is_between && length)
            break;
        *at += is_escape;
        if (!is_between && length + 1 < size)
            out[length++] = is_escape ? next : c;
    }
    out[length] = '\0';
    return length > 0;
}

/* Returns a path that this program can open, for a path that is relative to the folder in which clang
 * runs. */
static const char *from_here(const struct order *order, const char *name, char *path, size_t size)
{
    if (!order->folder || name[0] == '/')
        return name;
    string_print(path, size, "%s/%s", order->folder, name);
    return path;
}

/* Returns true if a file passes the test, or if an option contains `word`, because the option may define a
 * macro that a file uses. Also returns true if the files are unknown. */
static bool any_passes(const struct order *order, const struct view *rule, const char *word, text_test *test)
{
    const struct arguments *arguments = order->arguments;
    char name[PATH_MAX], path[PATH_MAX];
    size_t at = 0;
    bool may = !rule->bytes || strcmp(order->source, "-") == 0;
    for (size_t i = 1; i < arguments->clang_count && !may; i++)
        may = strstr(arguments->clang[i], word) != NULL;
    while (!may && next_file(rule, &at, name, sizeof name))
        may = file_passes(from_here(order, name, path, sizeof path), test);
    return may;
}

bool source_may_have_openmp(const struct order *order, int dependencies)
{
    struct view rule = view_open(dependencies);
    bool may = any_passes(order, &rule, "omp ", openmp_is_possible);
    view_close(rule);
    return may;
}

/* Replaces the paths of files by paths for messages. Neighbouring marks are usually in the same file, so the
 * last path is stored and used again. */
static bool rename_files(const struct order *order, const char *root, struct marks *marks)
{
    const char *last = NULL, *renamed = NULL;
    for (size_t i = 0; i < marks->count + marks->keyword_count; i++) {
        const char **file =
            i < marks->count ? &marks->list[i].place.file : &marks->keywords[i - marks->count].file;
        char path[PATH_MAX], from[PATH_MAX];
        if (*file && (!last || strcmp(*file, last) != 0)) {
            last = *file;
            const char *shown =
                source_from(root, from_here(order, last, path, sizeof path), from, sizeof from);
            renamed = arena_copy(&marks->arena, shown, strlen(shown));
        }
        *file = *file ? renamed : NULL;
    }
    return !marks->arena.is_out_of_memory;
}

static bool read_text(const struct order *order, const char *root, int fd, struct marks *out)
{
    struct arena arena = {0};
    const char **words = command_preprocess(&arena, order->arguments, order->source);
    int code = words ? check_run_clang(order, words, fd) : -1;
    arena_free(&arena);
    if (code != 0) {
        if (code > 0)
            complain("", "%s: cannot read JOULE_LOOP: clang -E ended with status %d", order->name, code);
        return false;
    }
    struct view text = view_open(fd);
    bool done = marks_read(text.bytes, text.size, out) && (!order->folder || rename_files(order, root, out));
    view_close(text);
    if (!done)
        complain("", "%s: out of memory", order->name);
    return done;
}

bool source_marks_read(const struct order *order, const char *root, int dependencies, struct marks *out_marks)
{
    struct view rule = view_open(dependencies);
    bool may = any_passes(order, &rule, "joule loop", marks_are_possible);
    view_close(rule);
    *out_marks = (struct marks){0};
    if (!may)
        return true;
    int fd = memfd_create("joulec-text", MFD_CLOEXEC);
    if (fd < 0) {
        complain("", "%s: %s", order->name, strerror(errno));
        return false;
    }
    bool done = read_text(order, root, fd, out_marks);
    close(fd);
    return done;
}
