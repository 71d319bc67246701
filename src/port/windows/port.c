/* port/windows/port.c - see port.h and dlfcn.h. */
#include <dlfcn.h>
#include <stdint.h>
#include <windows.h>

const char *port_program_name(void)
{
    static char path[MAX_PATH]; /* all threads write the same content */
    GetModuleFileNameA(NULL, path, sizeof path - 1);
    const char *slash = strrchr(path, '\\');
    return slash ? slash + 1 : path;
}

char *strsep(char **string, const char *separators)
{
    char *word = *string;
    if (!word)
        return NULL;
    char *end = word + strcspn(word, separators);
    *string = *end ? end + 1 : NULL;
    *end = '\0';
    return word;
}

void *memrchr(const void *bytes, int byte, size_t size)
{
    const unsigned char *first = bytes;
    while (size > 0)
        if (first[--size] == (unsigned char)byte)
            return (void *)(uintptr_t)(first + size);
    return NULL;
}

void *memmem(const void *bytes, size_t size, const void *wanted, size_t wanted_size)
{
    const unsigned char *first = bytes;
    for (size_t at = 0; wanted_size <= size && at <= size - wanted_size; at++)
        if (memcmp(first + at, wanted, wanted_size) == 0)
            return (void *)(uintptr_t)(first + at);
    return NULL;
}

ssize_t pread(int fd, void *buffer, size_t size, off_t offset)
{
    if (_lseeki64(fd, offset, SEEK_SET) < 0)
        return -1;
    return read(fd, buffer, size < INT_MAX ? (unsigned)size : INT_MAX);
}

static void free_entries(struct dirent **entries, size_t count)
{
    while (count > 0)
        free(entries[--count]);
    free(entries);
}

/* Appends an entry. Returns false if out of memory. */
static bool add_entry(struct dirent ***entries, size_t count, const struct dirent *entry)
{
    struct dirent **longer = realloc(*entries, (count + 1) * sizeof *longer);
    if (!longer)
        return false;
    *entries = longer;
    longer[count] = malloc(sizeof *entry);
    if (longer[count])
        *longer[count] = *entry;
    return longer[count] != NULL;
}

int scandir(const char *path, struct dirent ***out_entries, int (*is_wanted)(const struct dirent *entry),
            int (*compare)(const struct dirent **a, const struct dirent **b))
{
    DIR *folder = opendir(path);
    if (!folder)
        return -1;
    struct dirent **entries = NULL;
    size_t count = 0;
    bool has_memory = true;
    for (const struct dirent *entry; has_memory && (entry = readdir(folder)) != NULL;)
        if (is_wanted(entry) && (has_memory = add_entry(&entries, count, entry)))
            count++;
    closedir(folder);
    if (!has_memory) {
        free_entries(entries, count);
        errno = ENOMEM;
        return -1;
    }
    if (count)
        qsort(entries, count, sizeof *entries, (int (*)(const void *, const void *))compare);
    *out_entries = entries;
    return (int)count;
}

void *dlopen(const char *name, int flags)
{
    (void)flags;
    bool is_path = strpbrk(name, "\\/") != NULL;
    return (void *)LoadLibraryExA(name, NULL,
                                  is_path ? LOAD_WITH_ALTERED_SEARCH_PATH : LOAD_LIBRARY_SEARCH_SYSTEM32);
}

void *dlsym(void *library, const char *name)
{
    return (void *)(uintptr_t)GetProcAddress((HMODULE)library, name);
}

char *dlerror(void)
{
    return NULL;
}
