/* joulec/report/function_report_ci.c - prints findings as annotations: workflow commands of GitHub, and
 * GitLab's code quality report.
 *
 * Note: neither format supports notes, so the message of a finding contains them.
 */
#include "joulec/report/function_report.h"

#include <limits.h>
#include <string.h>
#include "base/json_writer.h"
#include "joulec/source/place.h"

#define MAX_MESSAGE_BYTES 4096 /* maximum size of a message with its notes; longer messages are truncated */

static void add_note(void *context, const struct note *note)
{
    struct text *text = context;
    const char *file = note->place.file ? strrchr(note->place.file, '/') : NULL;
    if (note->place.file && note->place.line)
        text_printf(text, "\n%s:%u: %s", file ? file + 1 : note->place.file, note->place.line, note->words);
    else
        text_printf(text, "\n%s", note->words);
}

static void print_all(const struct finding *f, struct text *text)
{
    finding_say(f, text);
    if (finding_has_estimate(f)) {
        text_add(text, "\n");
        finding_budget(f, text);
        text_add(text, ", estimate ");
        finding_estimate(f, text);
    }
    finding_notes(f, add_note, text);
}

static const char *path_of(const struct finding *f, char buffer[PATH_MAX])
{
    return source_from(f->judged->root, f->name.file ? f->name.file : f->judged->source, buffer, PATH_MAX);
}

/* --- GitHub --------------------------------------------------------------------------------------------- */

/* Adds escaped text. Note: ':' and ',' must be escaped only in properties. */
static void add_escaped(struct text *out, const char *words, bool is_property)
{
    for (; *words; words++)
        if (strchr(is_property ? "%\r\n:," : "%\r\n", *words))
            text_printf(out, "%%%02X", (unsigned char)*words);
        else
            text_add_bytes(out, words, 1);
}

static void add_command(void *context, const struct finding *f)
{
    struct text *out = context, text;
    char path[PATH_MAX], words[MAX_MESSAGE_BYTES];
    unsigned column = source_column(&f->name);
    text_init(&text, words, sizeof words);
    print_all(f, &text);
    text_printf(out, "::%s file=", f->is_error ? "error" : f->is_note ? "notice" : "warning");
    add_escaped(out, path_of(f, path), true);
    if (f->name.line)
        text_printf(out, ",line=%u,col=%u", f->name.line, column ? column : 1);
    text_printf(out, ",title=joulec %s::", rule_words(f->rule)->id);
    add_escaped(out, words, false);
    text_add(out, "\n");
}

void report_github(const void *judged, struct text *out)
{
    findings_each(judged, add_command, out);
}

/* --- GitLab --------------------------------------------------------------------------------------------- */

static const char *severity_of(const struct finding *f)
{
    if (f->rule == RULE_VACUOUS || f->is_note)
        return "info";
    if (!f->is_error)
        return "minor";
    return f->limit && f->limit->verdict == VERDICT_VIOLATED ? "critical" : "major";
}

static void add_quality(void *context, const struct finding *f)
{
    struct text *out = context, text;
    struct json json = {.out = out, .follows = true};
    char path[PATH_MAX], words[MAX_MESSAGE_BYTES], fingerprint[20];
    text_init(&text, words, sizeof words);
    print_all(f, &text);
    string_print(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)report_fingerprint(f));
    json_open(&json, NULL, '{');
    json_string(&json, "description", words);
    json_string(&json, "check_name", rule_words(f->rule)->id);
    json_string(&json, "fingerprint", fingerprint);
    json_string(&json, "severity", severity_of(f));
    json_open(&json, "location", '{');
    json_string(&json, "path", path_of(f, path));
    json_open(&json, "lines", '{');
    json_integer(&json, "begin", f->name.line ? f->name.line : 1);
    json_close(&json, '}');
    json_close(&json, '}');
    json_close(&json, '}');
    text_add(out, "\n");
}

void report_gitlab(const void *judged, struct text *out)
{
    findings_each(judged, add_quality, out);
}
