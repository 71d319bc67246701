/* tools/joulec/libjoule_link.c - see libjoule_link.h. */
#include "libjoule_link.h"

#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/string.h"
#include "clang_options.h"
#include "common/options.h"
#include "common/program_folder.h"
#include "joulec/verdict/instrument.h"

/* --- search for calls ----------------------------------------------------------------------------------- */

static bool has_names(const char *bytes, size_t size)
{
    bool is_found = false;
    for (const char *const *name = instrument_calls; *name && !is_found; name++)
        is_found = memmem(bytes, size, *name, strlen(*name)) != NULL;
    return is_found;
}

/* Returns true if the bytes contain a name of libjoule's functions. Objects, archives, assembly and bitcode
 * contain names as plain text. Always returns true for a thin archive, which contains only paths, and false
 * for a shared library, which names the libjoule that it needs. */
static bool bytes_call(const char *bytes, size_t size)
{
    static const char thin[] = "!<thin>\n";
    bool is_shared = size > EI_NIDENT && memcmp(bytes, ELFMAG, SELFMAG) == 0 && bytes[EI_NIDENT] == ET_DYN;
    bool is_thin = size >= sizeof thin - 1 && memcmp(bytes, thin, sizeof thin - 1) == 0;
    return !is_shared && (is_thin || has_names(bytes, size));
}

/* Returns true if the file calls libjoule. Note: clang reports files that cannot be read. */
static bool file_calls(const char *path)
{
    struct stat status;
    bool is_found = false;
    int fd = file_open_kind(path, FILE_REGULAR);
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0) {
        size_t size = (size_t)status.st_size;
        char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            is_found = bytes_call(bytes, size);
            munmap(bytes, size);
        }
    }
    if (fd >= 0)
        close(fd);
    return is_found;
}

/* Returns true if the archive lib`name`.a in the folder calls libjoule. ":NAME" stands for the file NAME. */
static bool archive_calls(const char *folder, size_t length, const char *name)
{
    char path[PATH_MAX];
    if (name[0] == ':')
        string_print(path, sizeof path, "%.*s/%s", (int)length, folder, name + 1);
    else
        string_print(path, sizeof path, "%.*s/lib%s.a", (int)length, folder, name);
    return file_calls(path);
}

/* Returns true if the archive that -l`name` names calls libjoule. Searches the folders of -L and
 * LIBRARY_PATH, and /usr/local/lib. */
static bool library_calls(const struct arguments *a, const char *name)
{
    bool is_found = archive_calls("/usr/local/lib", strlen("/usr/local/lib"), name);
    for (size_t i = 1; i < a->clang_count && !is_found; i++) {
        bool is_pair = strcmp(a->clang[i], "-L") == 0 && i + 1 < a->clang_count;
        const char *folder = is_pair ? a->clang[i + 1] : a->clang[i] + strlen("-L");
        is_found = string_starts(a->clang[i], "-L") && archive_calls(folder, strlen(folder), name);
    }
    for (const char *at = getenv("LIBRARY_PATH"); at && *at && !is_found; at += *at == ':') {
        size_t length = strcspn(at, ":");
        is_found = length && archive_calls(at, length, name);
        at += length;
    }
    return is_found;
}

/* Returns true if a file among the words of -Wl calls libjoule. words: such as
 * "--start-group,a.a,b.a,--end-group". */
static bool parts_call(const char *words)
{
    char path[PATH_MAX];
    bool is_found = false;
    for (const char *at = words; *at && !is_found; at += *at == ',') {
        size_t length = strcspn(at, ",");
        string_print(path, sizeof path, "%.*s", (int)length, at);
        is_found = file_calls(path);
        at += length;
    }
    return is_found;
}

/* Returns true if an argument names a library, object or source that calls libjoule. next: the following
 * argument, or NULL. */
static bool word_calls(const struct arguments *a, const char *word, const char *next)
{
    if (string_starts(word, "-l"))
        return word[2] ? library_calls(a, word + 2) : next && library_calls(a, next);
    if (string_starts(word, "-Wl,"))
        return parts_call(word + strlen("-Wl,"));
    if (strcmp(word, "-Xlinker") == 0)
        return next && file_calls(next);
    bool is_list = word[0] == '@'; /* a response file that was not expanded may contain calls */
    return is_list || (word[0] != '-' && file_calls(word));
}

static bool line_calls(const struct arguments *a)
{
    bool is_found = false;
    for (size_t i = 1; i < a->clang_count && !is_found; i++) {
        const char *word = a->clang[i];
        is_found = word_calls(a, word, i + 1 < a->clang_count ? a->clang[i + 1] : NULL);
        i += clang_option_takes_next(word);
    }
    return is_found;
}

/* --- arguments that link it ----------------------------------------------------------------------------- */

/* Returns true for the name of a folder of one architecture, such as "x86_64-linux-gnu". */
static bool is_multiarch(const char *name)
{
    return strstr(name, "-linux-") && !strchr(name, '/');
}

/* Returns true for folders in which the dynamic linker searches by default. It does not search in other
 * folders below them, such as /usr/lib/joule. */
static bool is_usual_folder(const char *folder)
{
    static const char *const usual[] = {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", NULL};
    bool is_usual = string_is_one_of(folder, usual);
    for (size_t i = 0; usual[i] && !is_usual; i++) {
        size_t length = strlen(usual[i]);
        is_usual =
            string_starts(folder, usual[i]) && folder[length] == '/' && is_multiarch(folder + length + 1);
    }
    return is_usual;
}

/* Returns the arguments that link the shared library by its path, because one more -L folder could change
 * which other libraries are found. The path follows -Xlinker, because the user may have set -x c for all
 * files that follow. */
static const char **shared_words(struct arena *arena, const char *folder, const char *path)
{
    const char *const words[] = {"-Wl,--push-state,--as-needed",
                                 "-Xlinker",
                                 path,
                                 "-Wl,--pop-state",
                                 is_usual_folder(folder) ? NULL : "-Xlinker",
                                 "-rpath",
                                 "-Xlinker",
                                 folder,
                                 NULL};
    const char **copy = arena_alloc(arena, sizeof words);
    if (copy)
        memcpy(copy, words, sizeof words);
    return copy;
}

static const char **static_words(struct arena *arena, const char *path)
{
    const char *const words[] = {"-Xlinker", path, "-lm", "-lpthread", "-ldl", NULL};
    const char **copy = arena_alloc(arena, sizeof words);
    if (copy)
        memcpy(copy, words, sizeof words);
    return copy;
}

const char **library_arguments(struct arena *arena, const struct arguments *arguments, bool is_called)
{
    static const char *const static_options[] = {"-static", "-static-pie", NULL};
    static const char *const own_options[] = {"-ljoule", NULL};
    static const char *none[] = {NULL};
    char found[PATH_MAX];
    if (!arguments->links || !arguments->runs || !(is_called || line_calls(arguments)))
        return none;
    find_from_program(JOULEC_LIBRARY_FOLDER, found);
    bool is_archive = arguments_last_of(arguments, static_options);
    size_t size = strlen(found) + sizeof "/libjoule.so";
    const char *folder = arena_copy(arena, found, strlen(found));
    char *path = arena_alloc(arena, size);
    if (!folder || !path) {
        complain("", "out of memory");
        return NULL;
    }
    string_print(path, size, "%s/libjoule.%s", folder, is_archive ? "a" : "so");
    if (access(path, R_OK) != 0 && arguments_last_of(arguments, own_options))
        return none;
    if (access(path, R_OK) != 0) {
        complain("",
                 "cannot find %s, which functions with budgets call%s\nhint: --energy-run=no compiles them "
                 "without these calls",
                 path, is_archive ? " in a program that is linked with -static" : "");
        return NULL;
    }
    return is_archive ? static_words(arena, path) : shared_words(arena, folder, path);
}
