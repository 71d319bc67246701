/* support/ttar.c - see ttar.h.
 *
 * An archive consists of lines: "Path: p", "Lines: n", n lines of content, "SymlinkTo: t". */
#include "support/ttar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"

static bool starts(const char *line, const char *key, const char **out_value)
{
    *out_value = line + strlen(key);
    return string_starts(line, key);
}

/* Reads the content of the next `count` lines. EOF at the end of a line means that no newline follows.
 * NULLBYTE stands for a NUL byte. */
static char *read_lines(FILE *archive, unsigned long count)
{
    char *line = NULL, *content = calloc(1, 1);
    size_t line_size = 0, length = 0;
    for (; count > 0 && getline(&line, &line_size, archive) > 0; count--) {
        char *mark = strstr(line, "NULLBYTE");
        if (mark)
            *mark = '\0'; /* readers use the text up to the NUL byte */
        else if (string_ends(line, "EOF\n"))
            line[strlen(line) - 4] = '\0';
        content = realloc(content, length + strlen(line) + 1);
        memcpy(content + length, line, strlen(line) + 1);
        length += strlen(line);
    }
    free(line);
    return content;
}

static void load(struct joule_host *host, FILE *archive)
{
    char *line = NULL, path[1024] = "";
    const char *value;
    size_t size = 0;
    while (getline(&line, &size, archive) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (starts(line, "Path: ", &value)) {
            snprintf(path, sizeof path, "/%s", value);
        } else if (starts(line, "SymlinkTo: ", &value)) {
            host_script_link(host, path, value);
        } else if (starts(line, "Lines: ", &value)) {
            char *content = read_lines(archive, strtoul(value, NULL, 10));
            host_script_text(host, path, content);
            free(content);
        }
    }
    free(line);
}

struct joule_host *ttar_load(const char *path)
{
    char command[4200];
    snprintf(command, sizeof command, "exec gzip -dc '%s'", path);
    FILE *archive = popen(command, "r");
    struct joule_host *host = host_script_open();
    if (archive && host)
        load(host, archive);
    if (archive && pclose(archive) == 0)
        return host;
    if (host)
        host->ops->close(host);
    return NULL;
}
