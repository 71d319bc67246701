/* joulec/source/place.c - see place.h. */
#include "joulec/source/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "base/file.h"

#define MAX_FILE_BYTES (512 << 20)

int source_place_order(const struct source_place *a, const struct source_place *b)
{
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    return strcmp(a->file ? a->file : "", b->file ? b->file : "");
}

/* Cache of the last file that was read, because thousands of messages may refer to the same file. */
static struct {
    char *path, *text;
    size_t size, room;
    size_t *begin; /* offsets of each line and of the end, in bytes */
    size_t line_count, line_room;
    struct stat stat;
} last;

static bool is_last(const char *path, const struct stat *now)
{
    return last.path && strcmp(last.path, path) == 0 && last.stat.st_dev == now->st_dev &&
           last.stat.st_ino == now->st_ino && last.stat.st_size == now->st_size &&
           last.stat.st_mtim.tv_sec == now->st_mtim.tv_sec &&
           last.stat.st_mtim.tv_nsec == now->st_mtim.tv_nsec;
}

static bool begin_line(size_t at)
{
    if (!ARRAY_ROOM(last.begin, last.line_room, last.line_count))
        return false;
    last.begin[last.line_count++] = at;
    return true;
}

/* Reads the whole file into the cache. Returns false if it cannot be read, or if out of memory. */
static bool read_last(int fd, const char *path, const struct stat *now)
{
    free(last.path);
    last.path = NULL;
    last.size = last.line_count = 0;
    bool is_good = true;
    for (ssize_t got = 1; got > 0 && is_good; last.size += (size_t)got) {
        is_good = array_reserve((void **)&last.text, &last.room, last.size + 4096, 1);
        got = is_good ? TEMP_FAILURE_RETRY(read(fd, last.text + last.size, last.room - last.size)) : 0;
        is_good = is_good && got >= 0;
        got = got < 0 ? 0 : got;
    }
    is_good = is_good && begin_line(0);
    for (size_t at = 0; at < last.size && is_good; at++)
        if (last.text[at] == '\n' || at + 1 == last.size)
            is_good = begin_line(at + 1);
    last.stat = *now;
    last.path = is_good ? strdup(path) : NULL;
    return last.path;
}

static bool find_file(const char *path)
{
    struct stat now;
    int fd = file_open_kind(path, FILE_REGULAR);
    bool is_good = fd >= 0 && fstat(fd, &now) == 0 && now.st_size <= MAX_FILE_BYTES &&
                   (is_last(path, &now) || read_last(fd, path, &now));
    if (fd >= 0)
        close(fd);
    return is_good;
}

char *source_line(const struct source_place *place)
{
    if (!place->file || !place->line || !find_file(place->file) || place->line >= last.line_count)
        return NULL;
    size_t begin = last.begin[place->line - 1], length = last.begin[place->line] - begin;
    char *line = malloc(length + 1);
    if (!line)
        return NULL;
    memcpy(line, last.text + begin, length);
    line[length] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    return line;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Returns the first occurrence of `name` as a whole word before a parenthesis. If there is none, returns its
 * first occurrence as a whole word; NULL: none. */
static const char *find_word(const char *line, const char *name)
{
    const char *found = NULL;
    size_t length = strlen(name);
    for (const char *at = strstr(line, name); at && length; at = strstr(at + 1, name)) {
        if ((at > line && is_word(at[-1])) || is_word(at[length]))
            continue;
        if (at[length + strspn(at + length, " \t")] == '(')
            return at;
        found = found ? found : at;
    }
    return found;
}

struct source_place source_place_of_name(const struct function *function)
{
    struct source_place place = function->place;
    char *line = source_line(&place);
    const char *at = line ? find_word(line, function->name) : NULL;
    place.column = at ? (unsigned)(at - line) + 1 : 1;
    free(line);
    return place;
}

static const char *next_mark(const char *from)
{
    const char *macro = strstr(from, "JOULE_LOOP"), *pragma = strstr(from, "pragma");
    return !macro || (pragma && pragma < macro) ? pragma : macro;
}

struct source_place source_place_of_mark(const struct source_place *mark, unsigned nth)
{
    struct source_place place = *mark;
    char *line = source_line(&place);
    const char *at = line ? next_mark(line) : NULL;
    for (; at && nth; nth--)
        at = next_mark(at + 1);
    if (line)
        place.column = (unsigned)(at ? (size_t)(at - line) : strspn(line, " \t")) + 1;
    free(line);
    return place;
}

unsigned source_column(const struct source_place *place)
{
    char *line = place->column > 1 ? source_line(place) : NULL;
    unsigned column = place->column;
    if (line && strlen(line) + 1 >= column) {
        size_t before = column - 1;
        column = 1;
        for (size_t at = 0; at < before; column++) {
            size_t length = string_utf8_length(line + at, before - at);
            at += length ? length : 1;
        }
    }
    free(line);
    return column;
}

/* Removes the last component of a path and the '/' before it. An empty path stays empty. */
static void drop_part(char *path, size_t *length)
{
    while (*length && path[--*length] != '/')
        ;
    path[*length] = '\0';
}

static bool add_parts(char *out, size_t size, size_t *length, const char *path)
{
    while (*path) {
        size_t part = strcspn(path, "/");
        if (part == 2 && memcmp(path, "..", 2) == 0) {
            drop_part(out, length);
        } else if (part && !(part == 1 && *path == '.')) {
            if (*length + part + 2 > size)
                return false;
            out[(*length)++] = '/';
            memcpy(out + *length, path, part);
            *length += part;
            out[*length] = '\0';
        }
        path += part + (path[part] == '/');
    }
    return true;
}

bool source_absolute(const char *here, const char *path, char *out, size_t size)
{
    size_t length = 0;
    if (size < 2 || (path[0] != '/' && here[0] != '/'))
        return false;
    out[0] = '\0';
    if (path[0] != '/' && !add_parts(out, size, &length, here))
        return false;
    if (!add_parts(out, size, &length, path))
        return false;
    if (!length)
        string_copy(out, size, "/");
    return true;
}

const char *source_from(const char *root, const char *path, char *buffer, size_t size)
{
    if (!root || !source_absolute(root, path, buffer, size))
        return path;
    size_t length = strlen(root);
    while (length && root[length - 1] == '/')
        length--;
    return strncmp(buffer, root, length) == 0 && buffer[length] == '/' ? buffer + length + 1 : buffer;
}
