/* joule/report/at_exit.c - returns a report as JSON, and writes one at exit if JOULE_ENERGY_JSON is set.
 *
 * If the variable is set, the default meter opens when the library is loaded. The program, and each child
 * process that used the library, writes one line when it ends normally.
 * Note: libjoule writes nothing else, except for the warnings that JOULE_BUDGET_WARN requests
 * (api/budget_scope.c). The program `joule` is not linked with this file, so only the command that it runs
 * obeys the variable.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "joule/api/budget_scope.h"
#include "joule/api/open.h"
#include "joule/report/report.h"

#define VARIABLE "JOULE_ENERGY_JSON"

/* Reads the sensors, then fills the report for the time from the opening of the meter until now. The caller
 * frees the report, also after an error. */
static joule_status collect_all(struct report *report, joule_meter *meter, const char *program)
{
    joule_sample_now(meter);
    return report_collect(report, meter, program, meter->begin_ns, meter_now_ns(meter));
}

joule_status joule_report_json(joule_meter *meter, const char *program, char *out_text, size_t size,
                               size_t *out_length)
{
    meter = meter_or_default(meter);
    if (!meter || meter->pid != getpid())
        return meter ? JOULE_STALE : JOULE_FAILED;
    if (!out_text && size)
        return JOULE_INVALID;
    struct report report;
    struct text text;
    joule_status status = collect_all(&report, meter, program);
    if (status == JOULE_OK) {
        text_init(&text, out_text, size);
        report_json(&report, &text);
        if (out_length)
            *out_length = text.length;
    }
    report_free(&report);
    return status;
}

/* --- at exit -------------------------------------------------------------------------------------------- */

/* process that loaded the library; no other process may write to a file without %p in its path */
static pid_t loaded_by;

/* Returns the variable's value; NULL: no report is requested. Ignores the variable in a set-user-id program,
 * which must not write a file that its caller names. */
static const char *requested_path(void)
{
    const char *value = secure_getenv(VARIABLE);
    return value && *value && strcmp(value, "0") != 0 ? value : NULL;
}

/* Replaces "%p" by the process id and "%%" by a percent sign. Returns false if the result is too long. */
static bool expand_path(const char *pattern, pid_t process, char *path, size_t size)
{
    struct text text;
    text_init(&text, path, size);
    for (; *pattern; pattern++) {
        bool is_escape = pattern[0] == '%' && (pattern[1] == 'p' || pattern[1] == '%');
        if (is_escape && *++pattern == 'p')
            text_printf(&text, "%" PRIdMAX, (intmax_t)process);
        else
            text_add_bytes(&text, pattern, 1);
    }
    return text.length < size;
}

/* Returns true if all processes would write into the same regular file: `where` is not "1" and does not
 * contain %p. */
static bool is_one_file(const char *where)
{
    char own[4096], other[4096];
    struct stat info;
    return strcmp(where, "1") != 0 && expand_path(where, getpid(), own, sizeof own) &&
           expand_path(where, 0, other, sizeof other) && strcmp(own, other) == 0 &&
           (stat(own, &info) != 0 || S_ISREG(info.st_mode));
}

/* Writes to a pipe or a device. Returns false and sets errno on failure. A pipe without a reader is an error,
 * because an ending program does not wait for a reader. */
static bool write_stream(const char *path, const char *line, size_t length)
{
    int fd = file_open_stream(path);
    if (fd < 0) {
        errno = -fd;
        return false;
    }
    bool done = file_write_all(fd, line, length);
    return close(fd) == 0 && done;
}

/* Replaces the file atomically: however the program ends, the file has the old content or the new one.
 * Returns false and sets errno on failure. */
static bool replace_file(const char *path, const char *line, size_t length)
{
    struct file_draft draft;
    int reason = file_draft_begin(&draft, path, false);
    if (!reason && !file_write_all(draft.fd, line, length)) {
        reason = errno;
        file_draft_discard(&draft);
    } else if (!reason) {
        reason = file_draft_commit(&draft);
    }
    if (!reason)
        reason = file_sync_folder(path);
    errno = reason;
    return !reason;
}

/* Writes the line to standard error ("1"), a pipe, a device or a file. Returns false and sets errno on
 * failure. */
static bool write_line(const char *where, const char *line, size_t length)
{
    char path[4096];
    if (strcmp(where, "1") == 0)
        return file_write_all(STDERR_FILENO, line, length);
    if (!expand_path(where, getpid(), path, sizeof path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return write_stream(path, line, length);
    return replace_file(path, line, length);
}

/* Like write_line. If the line exceeds the limit on the size of files, returns false instead of letting
 * SIGXFSZ end the program. */
static bool write_line_within_limit(const char *where, const char *line, size_t length)
{
#ifdef SIGXFSZ
    struct sigaction before, ignore = {.sa_handler = SIG_IGN};
    bool is_ignored = sigaction(SIGXFSZ, &ignore, &before) == 0;
    bool done = write_line(where, line, length);
    int reason = errno;
    if (is_ignored)
        sigaction(SIGXFSZ, &before, NULL);
    errno = reason;
    return done;
#else
    return write_line(where, line, length);
#endif
}

static void complain(const char *where, const char *reason)
{
    char message[512];
    struct text text;
    text_init(&text, message, sizeof message);
    text_printf(&text, "joule: cannot write report to %.300s (" VARIABLE "): %s\n", where, reason);
    file_write_all(STDERR_FILENO, message, strlen(message));
}

/* Writes the report. A child process that fork created runs this handler, too. The child writes a report only
 * if it used the library itself, and never into its parent's file. */
static void at_exit(void)
{
    const char *where = requested_path();
    joule_meter *meter = meter_default_if_open();
    if (!where || !meter)
        return;
    if (getpid() != loaded_by && is_one_file(where)) {
        complain(where, "the parent process writes this file; add %p to the path");
        return;
    }
    struct report report;
    struct text text;
    text_init(&text, NULL, 0);
    bool is_whole = collect_all(&report, meter, NULL) == JOULE_OK;
    budget_scopes_check(meter); /* after all regions have their energy */
    report_json(&report, &text);
    size_t size = text.length + 2;
    char *line = is_whole ? malloc(size) : NULL;
    if (line) {
        text_init(&text, line, size);
        report_json(&report, &text);
        text_add(&text, "\n");
    }
    if (!line || !write_line_within_limit(where, line, text.length))
        complain(where, line ? strerror(errno) : "out of memory");
    free(line);
    report_free(&report);
}

/* Registers the handler when the library is loaded. So the handler runs after the program's own handlers,
 * but before the meter is stopped. */
__attribute__((constructor)) static void at_load(void)
{
    if (requested_path() && atexit(at_exit) == 0)
        meter_default_keep();
    loaded_by = getpid();
}
