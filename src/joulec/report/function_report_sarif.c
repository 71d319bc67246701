/* joulec/report/function_report_sarif.c - prints findings as SARIF 2.1.0 (OASIS, 2020).
 *
 * Note: a comma precedes each result, because add_result does not know which one is the first. outputs.c
 * removes the first comma.
 */
#include "joulec/report/function_report.h"

#include <joule/base.h>
#include <limits.h>
#include <string.h>
#include "base/hash.h"
#include "base/json_writer.h"
#include "joulec/source/place.h"

#define SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"
#define ROOT   "%SRCROOT%" /* the usual name of the root folder in SARIF */

/* --- paths ---------------------------------------------------------------------------------------------- */

/* Adds `path`, with all characters percent-encoded except unreserved ones and '/' (RFC 3986). */
static void add_escaped(struct text *out, const char *path)
{
    for (; *path; path++) {
        bool is_plain = (*path >= '0' && *path <= '9') || (*path >= 'a' && *path <= 'z') ||
                        (*path >= 'A' && *path <= 'Z') || strchr("/-._~", *path);
        text_printf(out, is_plain ? "%c" : "%%%02X", (unsigned char)*path);
    }
}

static void add_uri(struct json *json, const char *root, const char *path)
{
    char from[PATH_MAX], uri[3 * PATH_MAX + 8];
    const char *shown = source_from(root, path, from, sizeof from);
    struct text text;
    text_init(&text, uri, sizeof uri);
    text_add(&text, shown[0] == '/' ? "file://" : "");
    add_escaped(&text, shown);
    json_string(json, "uri", uri);
    if (shown[0] != '/')
        json_string(json, "uriBaseId", ROOT);
}

static void add_folder(struct json *json, const char *key, const char *root)
{
    char uri[3 * PATH_MAX + 8];
    struct text text;
    text_init(&text, uri, sizeof uri);
    text_add(&text, "file://");
    add_escaped(&text, root);
    text_add(&text, string_ends(root, "/") ? "" : "/");
    json_open(json, key, '{');
    json_string(json, "uri", uri);
    json_close(json, '}');
}

/* --- results -------------------------------------------------------------------------------------------- */

static void add_text(struct json *json, const char *key, const char *words)
{
    json_open(json, key, '{');
    json_string(json, "text", words);
    json_close(json, '}');
}

/* Adds a place. length: number of characters at the place; 0: unknown. */
static void add_place(struct json *json, const struct judged *judged, const struct source_place *place,
                      size_t length)
{
    unsigned column = source_column(place);
    json_open(json, "physicalLocation", '{');
    json_open(json, "artifactLocation", '{');
    add_uri(json, judged->root, place->file ? place->file : judged->source);
    json_close(json, '}');
    if (place->file && place->line) {
        json_open(json, "region", '{');
        json_integer(json, "startLine", place->line);
        if (column)
            json_integer(json, "startColumn", column);
        if (column && length)
            json_integer(json, "endColumn", (int64_t)(column + length));
        json_close(json, '}');
    }
    json_close(json, '}');
}

/* The list of notes that belong to a result. */
struct related {
    struct json *json;
    const struct judged *judged;
    int64_t count;
};

static void add_related(void *context, const struct note *note)
{
    struct related *related = context;
    json_open(related->json, NULL, '{');
    json_integer(related->json, "id", ++related->count);
    add_place(related->json, related->judged, &note->place, 0);
    add_text(related->json, "message", note->words);
    json_close(related->json, '}');
}

static void add_figure(struct json *json, const char *key, const struct figure *figure)
{
    json_open(json, key, '{');
    json_double(json, "low", figure->low);
    json_double(json, "estimate", figure->est);
    json_double(json, "high", figure->high);
    json_close(json, '}');
}

static void add_properties(struct json *json, const struct finding *f)
{
    const struct judgement *j = &f->result->judgement;
    json_open(json, "properties", '{');
    add_figure(json, "energyJoules", &j->joules);
    add_figure(json, "powerWatts", &j->watts);
    add_figure(json, "temperatureRiseKelvin", &j->kelvin);
    json_string(json, "budget", f->result->budget_words);
    if (f->limit) {
        json_double(json, f->what, f->limit->limit);
        json_double(json, "probabilityWithin", f->limit->probability);
        json_string(json, "verdict", verdict_name(f->limit->verdict));
    }
    if (f->comparison) {
        json_double(json, "baselineJoules", f->comparison->before->joules[BOUND_EST]);
        json_double(json, "failOver", f->judged->comparisons->baseline->fail_over);
        json_double(json, "ratio", f->comparison->ratio);
        json_double(json, "ratioLow", f->comparison->low);
        json_double(json, "ratioHigh", f->comparison->high);
        json_double(json, "probabilityWithin", f->comparison->probability);
        json_string(json, "change", change_name(f->comparison->change));
    }
    json_string(json, "quality", (char[2]){j->quality, '\0'});
    json_string(json, "class", joule_class_name(f->judged->analysis->target.table.cls));
    json_string(json, "table", f->judged->analysis->target.table.id);
    json_close(json, '}');
}

static void add_message(struct json *json, const struct finding *f)
{
    char words[1024];
    struct text text;
    text_init(&text, words, sizeof words);
    finding_say(f, &text);
    if (finding_has_estimate(f)) {
        text_add(&text, ": ");
        finding_budget(f, &text);
        text_add(&text, ", estimate ");
        finding_estimate(f, &text);
    }
    add_text(json, "message", words);
}

static void add_location(struct json *json, const struct finding *f)
{
    const char *name = f->result->function->name;
    bool is_whole = f->result == &f->judged->analysis->whole;
    bool is_name = !is_whole && !f->advice && f->mark == MARK_NONE && f->name.column > 1;
    json_open(json, "locations", '[');
    json_open(json, NULL, '{');
    add_place(json, f->judged, &f->name, is_name ? strlen(name) : 0);
    if (!is_whole) {
        json_open(json, "logicalLocations", '[');
        json_open(json, NULL, '{');
        json_string(json, "name", name);
        json_string(json, "kind", "function");
        json_close(json, '}');
        json_close(json, ']');
    }
    json_close(json, '}');
    json_close(json, ']');
}

/* Adds to the hash the members that distinguish a finding from other findings of the same rule and function.
 * Returns the new hash. */
static uint64_t hash_detail(const struct finding *f, uint64_t hash)
{
    if (f->advice) { /* a function may have several pieces of advice of each kind */
        size_t nth = (size_t)(f->advice - f->result->advice);
        return hash_bytes(hash, (const char *)&nth, sizeof nth);
    }
    const struct marks *marks = f->judged->analysis->options.marks;
    if (f->what)
        hash = hash_bytes(hash, f->what, strlen(f->what) + 1);
    if (!marks || f->mark == MARK_NONE)
        return hash;
    const char *words = marks->list[f->mark].words;
    for (uint32_t i = 0; i <= f->mark; i++) /* counts equal marks up to this one, which distinguishes them */
        if (strcmp(marks->list[i].words, words) == 0)
            hash = hash_bytes(hash, words, strlen(words) + 1);
    return hash;
}

uint64_t report_fingerprint(const struct finding *f)
{
    char from[PATH_MAX];
    const char *path = f->name.file ? f->name.file : f->judged->source;
    const char *words[] = {rule_words(f->rule)->id, source_from(f->judged->root, path, from, sizeof from),
                           f->result->function->name};
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = hash_bytes(hash, words[i], strlen(words[i]) + 1);
    return hash_detail(f, hash);
}

static void add_result(void *context, const struct finding *f)
{
    struct text *out = context;
    struct json json = {.out = out, .follows = true};
    struct related related = {&json, f->judged, 0};
    char fingerprint[20];
    string_print(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)report_fingerprint(f));
    json_open(&json, NULL, '{');
    json_string(&json, "ruleId", rule_words(f->rule)->id);
    json_integer(&json, "ruleIndex", f->rule);
    json_string(&json, "level", f->is_error ? "error" : f->is_note ? "note" : "warning");
    add_message(&json, f);
    add_location(&json, f);
    json_open(&json, "relatedLocations", '[');
    finding_notes(f, add_related, &related);
    json_close(&json, ']');
    json_open(&json, "partialFingerprints", '{');
    json_string(&json, "joulecRuleAndFunction/v1", fingerprint);
    json_close(&json, '}');
    add_properties(&json, f);
    json_close(&json, '}');
    text_add(out, "\n");
}

void report_sarif(const void *judged, struct text *out)
{
    findings_each(judged, add_result, out);
}

/* --- the log -------------------------------------------------------------------------------------------- */

static void add_rule(struct json *json, enum rule rule)
{
    const struct rule_words *words = rule_words(rule);
    json_open(json, NULL, '{');
    json_string(json, "id", words->id);
    json_string(json, "name", words->name);
    add_text(json, "shortDescription", words->summary);
    add_text(json, "fullDescription", words->description);
    add_text(json, "help", words->help);
    json_open(json, "defaultConfiguration", '{');
    json_string(json, "level", words->is_error ? "error" : rule_is_advice(rule) ? "note" : "warning");
    json_close(json, '}');
    json_close(json, '}');
}

void report_sarif_begin(const void *log, struct text *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "$schema", SCHEMA);
    json_string(&json, "version", "2.1.0");
    json_open(&json, "runs", '[');
    json_open(&json, NULL, '{');
    json_open(&json, "tool", '{');
    json_open(&json, "driver", '{');
    json_string(&json, "name", "joulec");
    json_string(&json, "version", joule_version());
    json_open(&json, "rules", '[');
    for (int i = 0; i < RULES; i++)
        add_rule(&json, (enum rule)i);
    json_close(&json, ']');
    json_close(&json, '}');
    json_close(&json, '}');
    json_string(&json, "columnKind", "unicodeCodePoints");
    json_open(&json, "originalUriBaseIds", '{');
    add_folder(&json, ROOT, ((const struct sarif_log *)log)->root);
    json_close(&json, '}');
    json_open(&json, "results", '[');
    text_add(out, "\n");
}

void report_sarif_end(const void *log, struct text *out)
{
    const struct sarif_log *l = log;
    struct json json = {.out = out};
    char words[PATH_MAX + 64];
    json_close(&json, ']');
    json_open(&json, "invocations", '[');
    json_open(&json, NULL, '{');
    json_bool(&json, "executionSuccessful", l->refused_count == 0);
    add_folder(&json, "workingDirectory", l->root);
    json_open(&json, "toolExecutionNotifications", '[');
    for (size_t i = 0; i < l->refused_count; i++) {
        json_open(&json, NULL, '{');
        json_string(&json, "level", "error");
        string_print(words, sizeof words, "%s was not checked: clang rejects it", l->refused[i]);
        add_text(&json, "message", words);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
    json_close(&json, ']');
    json_close(&json, '}');
    json_close(&json, ']');
    json_close(&json, '}');
    text_add(out, "\n");
}
