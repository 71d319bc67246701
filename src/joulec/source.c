/* joulec/source.c - see source.h. */
#include "joulec/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *source_line(const struct source_place *place)
{
    char *line = NULL;
    size_t size = 0;
    FILE *file = place->file && place->line ? fopen(place->file, "re") : NULL;
    ssize_t length = file ? 0 : -1;
    for (unsigned n = 0; n < place->line && length >= 0; n++)
        length = getline(&line, &size, file);
    if (file)
        fclose(file);
    if (length >= 0) {
        line[strcspn(line, "\r\n")] = '\0';
        return line;
    }
    free(line);
    return NULL;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* `name` as a word of its own, best before a bracket. */
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

/* Takes the last part away; "/" stays. */
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
