/* tools/common/options.c - see options.h. */
#include "common/options.h"

#include <joule/quantity.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/nearest.h"
#include "base/string.h"

#define HELP_COLUMN 26

/* Returns the text between the program's name and `command` in messages: " ", or "" if `command` is empty. */
static const char *gap_before(const char *command)
{
    return *command ? " " : "";
}

/* Adds a message. Control characters and bytes that are not UTF-8 become '?', because messages may quote
 * bytes from a file. */
static void add_printable(struct text *text, const char *message)
{
    size_t left = strlen(message);
    for (size_t length; left; message += length, left -= length) {
        length = string_utf8_length(message, left);
        unsigned char first = (unsigned char)message[0];
        bool is_control = (first < ' ' && first != '\n') || first == 0x7f ||
                          (first == 0xc2 && (unsigned char)message[1] < 0xa0);
        if (length && !is_control) {
            text_add_bytes(text, message, length);
            continue;
        }
        text_add(text, "?");
        length = length ? length : 1;
    }
}

void complain(const char *subcommand, const char *format, ...)
{
    char line[1024];
    struct text text;
    text_init(&text, line, sizeof line - 1);
    text_printf(&text, "%s%s%s: ", tool_name, gap_before(subcommand), subcommand);
    char message[800];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    add_printable(&text, message);
    text_add(&text, "\n");
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written; /* a failed write to stderr cannot be reported */
}

/* --- help ----------------------------------------------------------------------------------------------- */

static void print_option(const struct option *option)
{
    char left[64];
    struct text text;
    text_init(&text, left, sizeof left);
    if (option->letter)
        text_printf(&text, "-%c, ", option->letter);
    else
        text_add(&text, "    ");
    text_printf(&text, "--%s", option->name);
    if (option->argument)
        text_printf(&text, " %s", option->argument);
    printf("  %-*s  %s\n", HELP_COLUMN, left, option->help);
}

static void print_help(const struct option *table, const struct command_text *text)
{
    printf("usage: %s\n\n%s\n\n", text->usage, text->summary);
    for (const struct option *option = table; option->name; option++)
        print_option(option);
    const struct option help = {.name = "help", .letter = 'h', .help = "print this and exit"};
    print_option(&help);
    if (text->notes)
        printf("\n%s", text->notes);
}

/* --- reading -------------------------------------------------------------------------------------------- */

static const char *option_name_at(size_t index, const void *context)
{
    return ((const struct option *)context)[index].name;
}

static const struct option *find_long(const struct option *table, const char *name, size_t length)
{
    for (; table->name; table++)
        if (strlen(table->name) == length && strncmp(table->name, name, length) == 0)
            return table;
    return NULL;
}

static const struct option *find_letter(const struct option *table, char letter)
{
    for (; table->name; table++)
        if (table->letter == letter)
            return table;
    return NULL;
}

static bool store_quantity(const char *command, const struct option *option, const char *text)
{
    bool is_energy = option->kind == OPTION_ENERGY;
    joule_error error;
    double value;
    if (joule_parse(text, is_energy ? JOULE_DIMENSION_ENERGY : JOULE_DIMENSION_TIME, &value, &error) !=
        JOULE_OK) {
        complain(command, "--%s: %s", option->name, error.message);
        return false;
    }
    if (!(value > 0)) {
        complain(command, "--%s must be more than 0", option->name);
        return false;
    }
    *(double *)option->value = value;
    return true;
}

static bool store_count(const char *command, const struct option *option, unsigned max, const char *text)
{
    uint64_t count;
    if (!string_to_u64(text, 10, &count) || count < 1 || count > max) {
        complain(command, "--%s takes a whole number from 1 to %u, not '%s'", option->name, max, text);
        return false;
    }
    *(unsigned *)option->value = (unsigned)count;
    return true;
}

static bool store_number(const char *command, const struct option *option, const char *text)
{
    double number;
    if (string_to_double(text, &number) && number >= 0) {
        *(double *)option->value = number;
        return true;
    }
    complain(command, "--%s takes a number of 0 or more, not '%s'", option->name, text);
    return false;
}

static bool store(const char *command, const struct option *option, const char *text)
{
    struct option_list *list = option->value;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)option->value = true;
        return true;
    case OPTION_TEXT:
        *(const char **)option->value = text;
        return true;
    case OPTION_COUNT:
        return store_count(command, option, 1000000, text);
    case OPTION_PID:
        return store_count(command, option, INT_MAX, text);
    case OPTION_NUMBER:
        return store_number(command, option, text);
    case OPTION_ENERGY:
    case OPTION_TIME:
        return store_quantity(command, option, text);
    case OPTION_LIST:
        if (list->count < OPTION_LIST_MAX) {
            list->items[list->count++] = text;
            return true;
        }
        complain(command, "--%s may be given at most %d times", option->name, OPTION_LIST_MAX);
        return false;
    }
    return false;
}

static void complain_unknown(const struct option *table, const char *command, const char *word)
{
    char name[NEAREST_MAX_LENGTH + 1];
    size_t count = 0;
    struct text text;
    while (table[count].name)
        count++;
    bool is_long = string_starts(word, "--");
    text_init(&text, name, sizeof name);
    text_add_bytes(&text, word + 2 * is_long, strcspn(word + 2 * is_long, "="));
    const char *near = is_long ? nearest_word(name, count, option_name_at, table) : NULL;
    if (near)
        complain(command, "unknown option --%s; did you mean --%s? See %s%s%s --help", name, near, tool_name,
                 gap_before(command), command);
    else
        complain(command, "unknown option %s; see %s%s%s --help", word, tool_name, gap_before(command),
                 command);
}

/* Parses the option at argv[*index]. If the next argument is its value, increments *index. Returns false
 * after a message if the option is wrong. */
static bool read_option(const struct option *table, const char *command, char **argv, int *index)
{
    const char *word = argv[*index];
    bool is_long = word[1] == '-';
    const char *name = word + 1 + is_long;
    size_t length = is_long ? strcspn(name, "=") : 1;
    const struct option *option = is_long ? find_long(table, name, length) : find_letter(table, *name);
    bool is_flag = option && option->kind == OPTION_FLAG;
    const char *value = name[length] ? name + length + is_long : NULL;
    if (!option || (is_flag && value && !is_long)) {
        complain_unknown(table, command, word);
        return false;
    }
    if (is_flag && value) {
        complain(command, "--%s takes no value", option->name);
        return false;
    }
    if (!is_flag && !value && !(value = argv[++*index])) {
        complain(command, "--%s needs a value: --%s %s", option->name, option->name, option->argument);
        return false;
    }
    return store(command, option, value);
}

int options_read(const struct option *table, const struct command_text *text, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            print_help(table, text);
            return OPTIONS_HELP;
        }
        if (!read_option(table, argv[0], argv, &i))
            return OPTIONS_WRONG;
    }
    return i;
}

int options_read_operands(const struct option *table, const struct command_text *text,
                          const struct program_operand *operands, size_t count, int argc, char **argv)
{
    char *command = argv[0];
    size_t found = 0;
    bool has_ended = false; /* "--" was read, so all other arguments are operands */
    for (int used = 0;;) {
        int first = has_ended ? 1 : options_read(table, text, argc - used, argv + used);
        if (first <= OPTIONS_HELP)
            return first;
        used += first;
        has_ended = has_ended || (first > 1 && strcmp(argv[used - 1], "--") == 0);
        if (used >= argc)
            break;
        if (found == count) {
            complain(command, "unexpected argument '%s'; see %s %s --help", argv[used], tool_name, command);
            return OPTIONS_WRONG;
        }
        *operands[found++].value = argv[used];
        argv[used] = command; /* argv[0] of the remaining command line is the subcommand's name */
    }
    if (found == count || operands[found].is_optional)
        return 1;
    complain(command, "%s is missing; see %s %s --help", operands[found].name, tool_name, command);
    return OPTIONS_WRONG;
}

int options_read_operand(const struct option *table, const struct command_text *text, const char *what,
                         int argc, char **argv, const char **out_operand)
{
    const struct program_operand operand = {what, out_operand, false};
    *out_operand = NULL;
    return options_read_operands(table, text, &operand, 1, argc, argv);
}
