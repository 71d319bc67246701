/* tools/joulec/budget_scan.c - see budget_scan.h. */
#include "budget_scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/string.h"

/* A list of strings without repetitions. */
struct names {
    const char **list;
    size_t count;
    size_t *slots; /* slots of a hash table: indices + 1; 0: free */
    size_t slot_count;
};

struct scan {
    struct arena arena;
    struct names files;    /* files to read, in order */
    struct names searched; /* names already searched in the folders */
    struct names folders;  /* folders that are searched for headers */
    bool is_found;         /* something to check was found, or the scan cannot exclude it */
};

/* --- names ---------------------------------------------------------------------------------------------- */

/* Returns the slot of a name, or a free one. */
static size_t *slot_of(const struct names *names, const char *name)
{
    size_t at = hash_bytes(HASH_START, name, strlen(name)) % names->slot_count;
    while (names->slots[at] && strcmp(names->list[names->slots[at] - 1], name) != 0)
        at = (at + 1) % names->slot_count;
    return &names->slots[at];
}

static bool grow(struct arena *arena, struct names *names)
{
    struct names more = {.slot_count = names->slot_count ? 2 * names->slot_count : 256};
    more.list = arena_alloc(arena, more.slot_count / 2 * sizeof *more.list);
    more.slots = arena_alloc(arena, more.slot_count * sizeof *more.slots);
    if (!more.list || !more.slots)
        return false;
    for (size_t i = 0; i < names->count; i++) {
        more.list[i] = names->list[i];
        *slot_of(&more, more.list[i]) = ++more.count;
    }
    *names = more;
    return true;
}

/* Adds a string to a list. Returns false if the list already contains the string. If out of memory, sets
 * is_found and returns false. */
static bool add_name(struct scan *s, struct names *names, const char *name)
{
    if (2 * names->count >= names->slot_count && !grow(&s->arena, names))
        s->is_found = true; /* out of memory: the check reports it */
    size_t *slot = s->is_found ? NULL : slot_of(names, name);
    if (!slot || *slot)
        return false;
    const char *copy = arena_copy(&s->arena, name, strlen(name));
    s->is_found = s->is_found || !copy;
    if (!copy)
        return false;
    names->list[names->count] = copy;
    *slot = ++names->count;
    return true;
}

/* --- folders -------------------------------------------------------------------------------------------- */

static void add_list(struct scan *s, const char *variable)
{
    const char *list = getenv(variable);
    char folder[PATH_MAX];
    while (list && *list) {
        size_t length = strcspn(list, ":");
        string_print(folder, sizeof folder, "%.*s", (int)length, length ? list : ".");
        add_name(s, &s->folders, folder);
        list += length + (list[length] == ':');
    }
}

/* Adds the folders in `parent` whose names contain `part`, each extended by `below`. */
static void add_matching(struct scan *s, const char *parent, const char *part, const char *below)
{
    char folder[PATH_MAX];
    DIR *list = opendir(parent);
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (entry->d_name[0] != '.' && strstr(entry->d_name, part)) {
            string_print(folder, sizeof folder, "%s/%s%s", parent, entry->d_name, below);
            add_name(s, &s->folders, folder);
        }
    if (list)
        closedir(list);
}

/* Writes the path of the file that execvp would start. Returns false if there is none. */
static bool find_program(const char *name, char out_path[PATH_MAX])
{
    char path[PATH_MAX];
    const char *list = getenv("PATH");
    if (strchr(name, '/'))
        return realpath(name, out_path);
    while (list && *list) {
        size_t length = strcspn(list, ":");
        string_print(path, sizeof path, "%.*s/%s", (int)length, list, name);
        if (access(path, X_OK) == 0)
            return realpath(path, out_path);
        list += length + (list[length] == ':');
    }
    return false;
}

/* Adds the folders that clang searches by default, for its own headers and for the system's. */
static void add_default_folders(struct scan *s, const char *clang)
{
    char path[PATH_MAX], versions[PATH_MAX + 32];
    add_name(s, &s->folders, "/usr/local/include");
    add_name(s, &s->folders, "/usr/include");
    add_name(s, &s->folders, "/include");
    add_matching(s, "/usr/include", "-linux-", "");
    char *slash = find_program(clang, path) ? strrchr(path, '/') : NULL;
    if (!slash)
        return;
    *slash = '\0';
    static const char *const places[] = {"../lib/clang", "../lib64/clang", "../lib32/clang"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        string_print(versions, sizeof versions, "%s/%s", path, places[i]);
        add_matching(s, versions, "", "/include");
    }
}

/* --- options -------------------------------------------------------------------------------------------- */

/* Returns true if an option may make clang read headers that this scan does not find. */
static bool hides_headers(const char *word)
{
    static const char *const begins[] = {"-include-pch",
                                         "-fmodule",
                                         "-fcxx-modules",
                                         "-ivfsoverlay",
                                         "-vfsoverlay",
                                         "--sysroot",
                                         "-isysroot",
                                         "-iwith",
                                         "-iprefix",
                                         "-iframework",
                                         "-F",
                                         "-B",
                                         "--prefix",
                                         "-resource-dir",
                                         "-working-dir",
                                         "-target",
                                         "--target",
                                         "-Xclang",
                                         "-Xpreprocessor",
                                         "--config",
                                         "-cc1",
                                         "-gcc-toolchain",
                                         "--gcc-toolchain",
                                         "-ccc-",
                                         "-fplugin",
                                         "-fpch",
                                         "-fprebuilt",
                                         "-fembed",
                                         "--include-"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (string_starts(word, begins[i]))
            return true;
    return string_starts(word, "-Wp,") && (strstr(word, ",-i") || strstr(word, ",-I"));
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns true if the name at `at`, which begins with JOULE, may be a macro of <joule/budget.h>. A prefix
 * counts, because the preprocessor may join it with what follows. */
static bool is_mark(const char *at, const char *end)
{
    static const char *const marks[] = {"JOULE_BUDGET", "JOULE_DEPTH", "JOULE_GPU_KERNEL", "JOULE_LOOP",
                                        "JOULE_THERMAL_AWARE"};
    size_t length = 0;
    while (at + length < end && is_name(at[length]))
        length++;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t all = strlen(marks[i]);
        if (memcmp(at, marks[i], length < all ? length : all) == 0)
            return true;
    }
    return false;
}

/* Returns true if the text contains an annotation ("joule.budget:"), a pragma (joule loop), or a macro
 * that makes one. Other names of libjoule, such as joule_open or <joule/region.h>, do not count, because
 * they are not judged. */
static bool names_joule(const char *text, size_t size)
{
    const char *end = text + size, *upper = text, *lower = text;
    while ((upper = memmem(upper, (size_t)(end - upper), "JOULE", strlen("JOULE")))) {
        if (is_mark(upper, end))
            return true;
        upper += strlen("JOULE");
    }
    while ((lower = memmem(lower, (size_t)(end - lower), "joule", strlen("joule")))) {
        lower += strlen("joule");
        bool is_header = string_starts(lower, ".h>") || string_starts(lower, ".h\"") || *lower == '/';
        if (!is_header && !is_name(*lower))
            return true;
    }
    return false;
}

/* Returns the value of `option` from `word` or the next word; NULL: `word` is another option. */
static const char *value_of(const char *word, const char *next, const char *option)
{
    if (!string_starts(word, option))
        return NULL;
    const char *value = word + strlen(option);
    return *value ? value : next;
}

static void take_word(struct scan *s, const char *word, const char *next)
{
    static const char *const folders[] = {"-I", "-iquote", "-isystem", "-idirafter", "-isystem-after"};
    const char *value;
    if (hides_headers(word))
        s->is_found = true;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if ((value = value_of(word, next, folders[i])))
            add_name(s, &s->folders, value);
    for (int i = 0; i < 2; i++)
        if ((value = value_of(word, next, i ? "-include" : "-imacros"))) {
            add_name(s, &s->files, value);
            add_name(s, &s->searched, value);
        }
    if ((value = value_of(word, next, "-D")) && names_joule(value, strlen(value)))
        s->is_found = true;
    if (string_starts(word, "-Wp,") && names_joule(word, strlen(word)))
        s->is_found = true;
}

static void take_words(struct scan *s, const struct arguments *a)
{
    for (size_t i = 1; i < a->clang_count; i++)
        if (a->clang[i][0] == '-')
            take_word(s, a->clang[i], i + 1 < a->clang_count ? a->clang[i + 1] : "");
    add_list(s, "CPATH");
    add_list(s, "C_INCLUDE_PATH");
    add_list(s, "CPLUS_INCLUDE_PATH");
    add_list(s, "OBJC_INCLUDE_PATH");
    add_default_folders(s, a->clang[0]);
}

/* --- files ---------------------------------------------------------------------------------------------- */

static void add_file(struct scan *s, const char *folder, size_t folder_length, const char *name)
{
    char path[PATH_MAX];
    string_print(path, sizeof path, "%.*s%s%s", (int)folder_length, folder, folder_length ? "/" : "", name);
    if (access(path, R_OK) == 0)
        add_name(s, &s->files, path);
}

/* Adds the header `name` from every folder that contains it, because #include_next may read further ones. */
static void add_from_folders(struct scan *s, const char *name)
{
    if (name[0] == '/')
        add_file(s, "", 0, name);
    else if (add_name(s, &s->searched, name))
        for (size_t i = 0; i < s->folders.count; i++)
            add_file(s, s->folders.list[i], strlen(s->folders.list[i]), name);
}

/* Returns the position after blanks and comments. */
static const char *after_blanks(const char *at)
{
    for (;;) {
        at += strspn(at, " \t");
        const char *end = string_starts(at, "/*") ? strstr(at + 2, "*/") : NULL;
        if (!end)
            return at;
        at = end + 2;
    }
}

/* Adds the file that an #include names; `at`: after its keyword. */
static void take_include(struct scan *s, const char *file, const char *at)
{
    char name[PATH_MAX];
    at = after_blanks(at);
    char end = *at == '<' ? '>' : '"';
    const char *slash = strrchr(file, '/');
    size_t length = strcspn(at + (*at != '\0'), (char[]){end, '\n', '\0'});
    if ((*at != '<' && *at != '"') || at[1 + length] != end || length >= sizeof name) {
        s->is_found = true; /* the name may come from a macro */
        return;
    }
    string_print(name, sizeof name, "%.*s", (int)length, at + 1);
    if (end == '"' && name[0] != '/')
        add_file(s, file, slash ? (size_t)(slash - file) : 0, name);
    add_from_folders(s, name);
}

/* Returns true if only white space, or the end of a comment, precedes `at` in its line. */
static bool begins_line(const char *text, const char *at)
{
    while (at > text && (at[-1] == ' ' || at[-1] == '\t'))
        at--;
    return at == text || at[-1] == '\n' || at[-1] == '/';
}

/* Reads #include, #include_next and #import, also in parts that #if excludes. */
static void take_includes(struct scan *s, const char *file, const char *text, size_t size)
{
    static const char *const words[] = {"include_next", "include", "import"};
    const char *end = text + size;
    for (const char *at = text; !s->is_found && (at = memchr(at, '#', (size_t)(end - at))); at++) {
        const char *word = after_blanks(at + 1);
        for (size_t i = 0; i < sizeof words / sizeof *words && begins_line(text, at); i++)
            if (string_starts(word, words[i])) {
                const char *behind = word + strlen(words[i]);
                if (*behind && strchr(" \t<\"\\/", *behind))
                    take_include(s, file, behind);
                break;
            }
    }
}

/* Returns the text of a whole file, terminated by a NUL. The caller frees it. Returns NULL if the file cannot
 * be read. */
static char *read_text(const char *path, size_t *out_size)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_file = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    size_t size = is_file ? (size_t)info.st_size : 0, got = 0;
    char *text = is_file ? malloc(size + 1) : NULL;
    for (ssize_t part = 1; text && got < size && part > 0; got += part > 0 ? (size_t)part : 0)
        part = read(fd, text + got, size - got);
    if (fd >= 0)
        close(fd);
    if (text && got == size) {
        text[got] = '\0';
        *out_size = got;
        return text;
    }
    free(text);
    return NULL;
}

/* Returns true for libjoule's headers, which define the macros of budgets but contain no budget. */
static bool is_public_header(const char *path)
{
    char beside[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) : 0;
    string_print(beside, sizeof beside, "%.*s/meter.h", (int)folder, path);
    return folder >= strlen("joule") && memcmp(slash - strlen("joule"), "joule", strlen("joule")) == 0 &&
           access(beside, R_OK) == 0;
}

static void read_file(struct scan *s, const char *path)
{
    size_t size;
    struct stat info;
    if (is_public_header(path))
        return;
    char *text = read_text(path, &size);
    if (!text)
        s->is_found = stat(path, &info) == 0 && !S_ISDIR(info.st_mode); /* a folder is not a header */
    else if (names_joule(text, size))
        s->is_found = true;
    else
        take_includes(s, path, text, size);
    free(text);
}

static void add_sources(struct scan *s, const char *const *sources, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        s->is_found = s->is_found || strcmp(sources[i], "-") == 0;
        add_name(s, &s->files, sources[i]);
    }
}

static bool scan_finds(const struct arguments *a, const char *const *sources, size_t count,
                       const char *const *others, size_t other_count)
{
    struct scan s = {.is_found = false};
    take_words(&s, a);
    for (size_t i = 0; i < s.searched.count && !s.is_found; i++) { /* -include also searches the folders */
        const char *name = s.searched.list[i];
        for (size_t k = 0; k < s.folders.count; k++)
            add_file(&s, s.folders.list[k], strlen(s.folders.list[k]), name);
    }
    add_sources(&s, sources, count);
    add_sources(&s, others, other_count);
    for (size_t i = 0; i < s.files.count && !s.is_found; i++)
        read_file(&s, s.files.list[i]);
    bool is_found = s.is_found;
    arena_free(&s.arena);
    return is_found;
}

bool budget_scan_is_enough(const struct arguments *a)
{
    bool is_of_all = a->database || a->page != PAGE_NONE || a->report || a->html || a->advises_all ||
                     a->baseline || !isnan(a->file_joules);
    return !is_of_all && !a->sarif && !a->gitlab && !a->profile;
}

bool budget_scan_finds(const struct arguments *arguments, const char *source)
{
    return scan_finds(arguments, &source, 1, NULL, 0);
}

bool budget_scan_finds_any(const struct arguments *a)
{
    return scan_finds(a, a->sources, a->source_count, a->others, a->other_count);
}
