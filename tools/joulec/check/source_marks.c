/* tools/joulec/check/source_marks.c - see source_marks.h. */
#include "source_marks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"
#include "common/options.h"

/* A file's bytes; NULL where it is empty or cannot be mapped. */
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

static bool file_may_have_marks(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct view view = view_open(fd);
    bool may = view.bytes && marks_are_possible(view.bytes, view.size);
    view_close(view);
    if (fd >= 0)
        close(fd);
    return may;
}

/* The next file of a rule of make, without the escapes; false: there is none. */
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

/* The options, too, may define one. */
static bool may_have_marks(const struct arguments *arguments, const struct view *rule)
{
    char path[PATH_MAX];
    size_t at = 0;
    bool may = !rule->bytes;
    for (size_t i = 1; i < arguments->clang_count && !may; i++)
        may = strstr(arguments->clang[i], "joule loop") != NULL;
    while (!may && next_file(rule, &at, path, sizeof path))
        may = file_may_have_marks(path);
    return may;
}

static bool read_text(const struct arguments *arguments, const char *source, int fd, struct marks *out)
{
    struct arena arena = {0};
    const char **words = arguments_of_text(&arena, arguments, source);
    int code = words ? check_run_clang(words, fd, true) : -1;
    arena_free(&arena);
    if (code != 0) {
        if (code > 0)
            complain("", "%s: clang -E ends with %d, so no JOULE_LOOP can be read", source, code);
        return false;
    }
    struct view text = view_open(fd);
    bool done = marks_read(text.bytes, text.size, out);
    view_close(text);
    if (!done)
        complain("", "%s: no memory for its JOULE_LOOP", source);
    return done;
}

bool source_marks_read(const struct arguments *arguments, const char *source, int dependencies,
                       struct marks *out_marks)
{
    struct view rule = view_open(dependencies);
    bool may = may_have_marks(arguments, &rule);
    view_close(rule);
    *out_marks = (struct marks){0};
    if (!may)
        return true;
    int fd = memfd_create("joulec-text", MFD_CLOEXEC);
    if (fd < 0) {
        complain("", "%s: %s", source, strerror(errno));
        return false;
    }
    bool done = read_text(arguments, source, fd, out_marks);
    close(fd);
    return done;
}
