/* tools/joulec/check/project.c - see project.h. */
#include "project.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "children.h"
#include "common/options.h"
#include "common/page.h"
#include "joulec/source/database.h"
#include "joulec/source/place.h"
#include "joulec/source/whole_file.h"
#include "other_languages.h"

#define AHEAD 16 /* maximum results per process that wait until results of earlier entries are printed */

struct project {
    const struct machine *machine;
    const struct arguments *arguments;
    const char *root;
    struct arena arena;
    char *text; /* text of the database; freed with free() */
    struct database database;
    const struct database_entry **chosen;
    size_t chosen_count;
    struct child_result *results; /* results of the chosen entries */
    bool *has_result;
    size_t begun, printed; /* number of chosen entries whose check has begun; number of those whose result is
                            * printed */
    bool shows_progress;
    struct outputs outputs;
    struct tally tally;
    size_t checked, refused, broken, not_c, foreign;
    char unknown[64]; /* an option that clang does not know, from one of the `foreign` entries */
    bool has_failed;
    enum outcome outcome;
};

/* --- the database --------------------------------------------------------------------------------------- */

static bool read_database(struct project *p)
{
    char path[PATH_MAX];
    size_t size;
    joule_error error;
    const char *name = p->arguments->database;
    p->text = whole_file(name, &size);
    if (!p->text || !source_absolute(p->root, name, path, sizeof path)) {
        complain("",
                 "cannot read %s: %s\nhint: cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON writes a compilation "
                 "database",
                 name, strerror(errno));
        return false;
    }
    *strrchr(path, '/') = '\0'; /* the folder of the database */
    if (database_read(&p->arena, p->text, size, name, path[0] ? path : "/", &p->database, &error) == JOULE_OK)
        return true;
    complain("", "%s", error.message);
    return false;
}

static bool is_wanted(const struct project *p, const struct database_entry *e)
{
    const char *only = p->arguments->only;
    return !only || (e->path && strstr(e->path, only)) || (e->output && strstr(e->output, only));
}

static void find_folder(struct database_entry *e)
{
    struct stat info;
    if (!e->problem && (stat(e->folder, &info) != 0 || !S_ISDIR(info.st_mode)))
        e->problem = "its 'directory' does not exist";
}

static void leave_out(struct project *p, const struct database_entry *e)
{
    p->not_c++;
    if (is_wanted(p, e) && e->path && other_languages_may_have_budget(e->path))
        complain("", "%s: not checked: it has a JOULE_BUDGET, but is not in C", e->file);
}

/* Selects the C files that are wanted, and reports invalid entries. */
static bool choose(struct project *p)
{
    p->chosen = arena_alloc(&p->arena, (p->database.count + 1) * sizeof *p->chosen);
    p->results = arena_alloc(&p->arena, (p->database.count + 1) * sizeof *p->results);
    p->has_result = arena_alloc(&p->arena, (p->database.count + 1) * sizeof *p->has_result);
    if (!p->chosen || !p->results || !p->has_result) {
        complain("", "out of memory");
        return false;
    }
    for (size_t i = 0; i < p->database.count; i++) {
        struct database_entry *e = &p->database.entries[i];
        find_folder(e);
        if (e->problem)
            complain("", "%s: entry %zu%s%s: %s; the entry is ignored", p->arguments->database, i + 1,
                     e->file ? ", " : "", e->file ? e->file : "", e->problem);
        if (e->problem)
            p->broken++;
        else if (!e->is_c)
            leave_out(p, e);
        else if (is_wanted(p, e))
            p->chosen[p->chosen_count++] = e;
    }
    return true;
}

/* --- one entry, in a child process ---------------------------------------------------------------------- */

/* Returns the entry's arguments followed by those of the command line. */
static char **words_of(struct project *p, const struct database_entry *e)
{
    const struct arguments *all = p->arguments;
    char **words = arena_alloc(&p->arena, (e->word_count + all->clang_count + 2) * sizeof *words);
    if (!words)
        return NULL;
    words[0] = (char *)tool_name;
    memcpy(words + 1, e->words, e->word_count * sizeof *words);
    memcpy(words + 1 + e->word_count, all->clang + 1, (all->clang_count - 1) * sizeof *words);
    return words;
}

/* Removes the options that clang has reported as unknown, and clang's messages. Returns false if there were
 * none. */
static bool drop_unknown(struct project *p, struct arguments *own, struct check_result *out)
{
    static const char said[] = "unknown argument: '";
    const char *text = whole_fd(&p->arena, STDERR_FILENO);
    size_t kept = 1;
    if (!text)
        return false;
    for (size_t i = 1; i < own->clang_count; i++) {
        char message[512];
        string_print(message, sizeof message, "%s%s'", said, own->clang[i]);
        if (strstr(text, message))
            string_copy(out->unknown, sizeof out->unknown, own->clang[i]);
        else
            own->clang[kept++] = own->clang[i];
    }
    bool is_less = kept < own->clang_count;
    own->clang_count = kept;
    own->clang[kept] = NULL;
    return is_less && ftruncate(STDERR_FILENO, 0) == 0 && lseek(STDERR_FILENO, 0, SEEK_SET) == 0;
}

static void check_entry(void *context, size_t number, struct outputs *part, struct check_result *out)
{
    struct project *p = context;
    const struct database_entry *e = p->chosen[number];
    char from[PATH_MAX];
    struct arguments entry, own = *p->arguments;
    char **words = words_of(p, e);
    out->is_broken = !words || !arguments_read(&p->arena, e->folder, words, &entry);
    if (out->is_broken)
        return;
    own.clang = entry.clang; /* the entry decides how to compile; the command line decides how to check */
    own.clang_count = entry.clang_count;
    own.inputs = entry.inputs;
    own.input_count = entry.input_count;
    own.sources = entry.sources;
    own.languages = entry.languages;
    own.source_count = entry.source_count;
    own.compiles = entry.compiles;
    own.links = entry.links;
    struct order order = {
        p->machine, &own, e->folder, e->file, source_from(p->root, e->path, from, sizeof from), false, NULL};
    out->has_failed = !check_source(&order, part, &out->checked);
    if (out->checked.is_refused && drop_unknown(p, &own, out))
        out->has_failed = !check_source(&order, part, &out->checked);
}

/* --- all entries ---------------------------------------------------------------------------------------- */

static void show_progress(const struct project *p)
{
    char from[PATH_MAX];
    if (!p->shows_progress || p->printed == p->chosen_count)
        return;
    const char *name = source_from(p->root, p->chosen[p->printed]->path, from, sizeof from);
    size_t length = strlen(name), most = 60;
    fprintf(stderr, "\r\033[K[%zu/%zu] %s", p->printed, p->chosen_count,
            name + (length > most ? length - most : 0));
}

static void hide_progress(const struct project *p)
{
    if (p->shows_progress)
        fputs("\r\033[K", stderr);
}

static void count(struct project *p, const struct database_entry *e, const struct check_result *result)
{
    bool is_refused = result->checked.is_refused;
    p->checked += !result->is_broken && !result->has_failed && !is_refused;
    p->broken += result->is_broken;
    p->refused += is_refused;
    p->foreign += result->unknown[0] != '\0';
    if (result->unknown[0])
        string_copy(p->unknown, sizeof p->unknown, result->unknown);
    p->has_failed = p->has_failed || result->has_failed;
    p->outcome = outcome_worse(p->outcome, result->checked.outcome);
    if (is_refused)
        outputs_refused(&p->outputs, e->path);
    tally_merge(&p->tally, &result->tally);
}

static void print_result(struct project *p, const struct child_result *result)
{
    char from[PATH_MAX];
    const struct database_entry *e = p->chosen[result->number];
    const char *name = source_from(p->root, e->path, from, sizeof from);
    hide_progress(p);
    for (int i = 0; i < PIECES; i++)
        if (result->bytes[i])
            outputs_add(&p->outputs, (enum piece)i, result->bytes[i], result->sizes[i]);
    if (result->signal)
        complain("", "%s: not checked: signal %d (%s) ended its check", name, result->signal,
                 strsignal(result->signal));
    if (result->check.is_broken)
        complain("", "%s: not checked: its command in %s is invalid, see above", name,
                 p->arguments->database);
    if (result->check.checked.is_refused)
        complain("", "%s: not checked: clang rejects it, see above", name);
    count(p, e, &result->check);
}

/* Starts as many checks as may run now. Returns false after a message. */
static bool start_some(struct project *p, struct children *children)
{
    while (children->count < children->max_count && p->begun < p->chosen_count &&
           p->begun < p->printed + AHEAD * children->max_count)
        if (!children_start(children, &p->outputs, p->begun++, check_entry, p))
            return false;
    return true;
}

static bool check_chosen(struct project *p, struct children *children)
{
    while (p->printed < p->chosen_count) {
        struct child_result result;
        show_progress(p);
        if (!start_some(p, children) || !children_wait(children, &result))
            return false;
        p->results[result.number] = result;
        p->has_result[result.number] = true;
        while (p->printed < p->chosen_count && p->has_result[p->printed]) {
            print_result(p, &p->results[p->printed]);
            child_result_free(&p->results[p->printed]);
            p->has_result[p->printed++] = false;
        }
    }
    return true;
}

static void forget_rest(struct project *p)
{
    for (size_t i = p->printed; i < p->begun; i++)
        if (p->has_result[i])
            child_result_free(&p->results[i]);
}

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Counts the functions in files of the stored report that are no longer in the database. Does nothing with
 * --energy-only, because the other files may still exist. */
static void find_gone(struct project *p)
{
    char from[PATH_MAX];
    const struct baseline *baseline = p->arguments->compared;
    bool *is_there = baseline ? arena_alloc(&p->arena, baseline->unit_count + 1) : NULL;
    if (!is_there || p->arguments->only)
        return;
    for (size_t i = 0; i < p->database.count; i++) {
        const struct database_entry *e = &p->database.entries[i];
        const char *name = e->path ? source_from(p->root, e->path, from, sizeof from) : NULL;
        const struct baseline_unit *unit = name ? baseline_find(baseline, name, "") : NULL;
        for (size_t k = 0; unit && k < baseline->unit_count; k++)
            is_there[k] = is_there[k] || strcmp(baseline->units[k].program, unit->program) == 0;
    }
    for (size_t k = 0; k < baseline->unit_count; k++)
        if (!is_there[k])
            change_tally_add_gone(&p->tally.changes, &baseline->units[k]);
}

static void print_summary(const struct project *p)
{
    const struct arguments *a = p->arguments;
    struct tally_page page = {&p->tally, p->checked, p->refused, p->broken,
                              p->not_c,  p->foreign, p->unknown, a->compared};
    size_t length;
    char *text = page_make("", tally_print, &page, &length);
    if (text && (is_stdout(a->report) || is_stdout(a->sarif) || is_stdout(a->gitlab) || is_stdout(a->html)))
        fputs(text, stderr);
    else if (text)
        output_print(text, length);
    free(text);
}

static int exit_code(const struct project *p)
{
    if (p->has_failed)
        return EXIT_OWN_FAILURE;
    if (p->broken)
        return EXIT_USAGE;
    return p->refused ? 1 : check_exit_code(p->outcome);
}

/* Ends this program by the signal, with the default action. */
static void end_by(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

static int check_files(struct project *p)
{
    struct children children;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = p->arguments->jobs ? p->arguments->jobs : processors > 0 ? (size_t)processors : 1;
    if (!outputs_open(&p->outputs, p->arguments, p->root))
        return EXIT_OWN_FAILURE;
    bool is_open = children_open(&children, most < MAX_JOBS ? most : MAX_JOBS);
    bool is_whole = is_open && check_chosen(p, &children);
    hide_progress(p);
    forget_rest(p);
    if (is_open)
        children_close(&children);
    bool is_written = outputs_close(&p->outputs, is_whole);
    if (is_open && children.signal)
        end_by(children.signal);
    if (!is_whole || !is_written)
        return EXIT_OWN_FAILURE;
    find_gone(p);
    print_summary(p);
    return exit_code(p);
}

int project_check(const struct machine *machine, const struct arguments *arguments, const char *root)
{
    const char *terminal = getenv("TERM");
    struct project p = {.machine = machine,
                        .arguments = arguments,
                        .root = root,
                        .shows_progress = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0};
    int code = EXIT_USAGE;
    if (read_database(&p) && choose(&p)) {
        if (p.chosen_count)
            code = check_files(&p);
        else
            complain("", "%s: %s", arguments->database,
                     arguments->only ? "no C file matches --energy-only" : "it contains no C file");
    }
    arena_free(&p.arena);
    free(p.text);
    return code;
}
