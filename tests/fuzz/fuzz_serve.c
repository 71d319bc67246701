/* Fuzz target: network input of `joule serve` and `joule top --hosts`.
 *
 * The first byte selects the kind of input. 0 is a report of another machine, 1 is a Host header, and any
 * other value is an Authorization header. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "auth.h"
#include "hosts.h"
#include "http/host_names.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

const char tool_name[] = "fuzz_serve";

/* A line of the user file; the password is "b". */
static const char users[] =
    "bob:$6$rounds=1000$T2ppDFWcH7ZUshDY$gUGvPVBeKE.Q7BeUImpqHe97xHxvUK4/rkZWUp4koQgMPnuVqDDnMKN4hOmtKM6E"
    "1lEgtr5Q3AGhkv8n5Ob1K0\n";
static struct auth *auth;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char path[64];
    int fd = memfd_create("users", 0);
    (void)argc, (void)argv;
    require(fd >= 0 && fchmod(fd, 0600) == 0 &&
            write(fd, users, sizeof users - 1) == (ssize_t)sizeof users - 1);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    setenv("JOULE_SERVE_TOKEN", "sesame", 1);
    require(auth_open(NULL, path, &auth));
    return 0;
}

/* Reads a report. Checks that unknown values are NaN, that energy never decreases, and that every value can
 * be shown on the page. */
static void take_report(char *text, size_t size)
{
    static struct frame frame;
    struct hosts hosts = {0};
    joule_error error;
    char again[4096];
    require(hosts_read(&hosts, "node", false, &error));
    struct host_row *row = hosts.list;
    size_t kept = size < sizeof again ? size : sizeof again - 1;
    memcpy(again, text, kept);
    again[kept] = '\0';
    if (host_parse_report(row, text, size, 1)) {
        require(!(row->watts.value < 0) && !(row->joules < 0));
        require(isnan(row->watts.value) == (row->watts.cls == JOULE_CLASS_NONE));
        host_parse_report(row, again, kept, 2);
        require(!(row->joules < 0));
    }
    hosts_tick(&hosts, 2);
    require(hosts_draw_once(&frame, &hosts, 3, 90));
    hosts_free(&hosts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct option_list none;
    const struct host_names names = {.machine = "node-7", .allowed = &none};
    if (size == 0)
        return 0;
    char *text = malloc(size);
    require(text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] == 0)
        take_report(text, size - 1);
    else if (data[0] == 1)
        require(!host_names_contain(&names, text, -1) || strncasecmp(text, "node-7", 6) == 0 ||
                strcasestr(text, "localhost") || strstr(text, "127.") || strchr(text, '['));
    else
        require(auth_check(auth, text) != AUTH_GOOD || strcasestr(text, "Bearer ") ||
                strcasestr(text, "Basic "));
    free(text);
    return 0;
}
