/* tools/forge/forge_chat.c - `forge chat`: a conversation with a language model.
 *
 * Note: each line of standard input is a message. The prefix cache keeps the keys and values of earlier
 * turns, so that a turn computes only its new tokens.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "answer.h"
#include "base/error.h"
#include "conversation.h"
#include "forge_commands.h"
#include "interrupt.h"
#include "sampling_options.h"
#include "visible_text.h"

enum { DEFAULT_MAX_TOKENS = 512, DEFAULT_CONTEXT = 8192 };

static const char commands_help[] = "/reset  forget the conversation\n"
                                    "/quit   end the program\n"
                                    "/help   print this\n";

struct chat_options {
    struct language_options language;
    struct sampling_options sampling;
    const char *family, *system;
    struct option_list stops;
    unsigned max_tokens, context;
    double max_joules;
};

struct chat {
    const struct chat_options *options;
    struct language_model model;
    struct conversation conversation;
    forge_sampling sampling;
    size_t length; /* maximum number of tokens of the conversation */
    bool is_terminal;
};

/* --- turns ---------------------------------------------------------------------------------------------- */

static void print_answer_end(const struct answer *a)
{
    if (a->size == 0 || a->text[a->size - 1] != '\n')
        visible_text_print("\n", 1);
    answer_print_summary(a);
}

/* Converts the conversation to tokens, with room for an answer. */
static joule_status make_prompt(struct chat *chat, int32_t **out_tokens, size_t *out_count,
                                joule_error *error)
{
    size_t removed, answer = chat->options->max_tokens;
    if (answer > chat->length / 4)
        answer = chat->length / 4;
    joule_status status = conversation_tokens(&chat->conversation, chat->length - answer - 1, out_tokens,
                                              out_count, &removed, error);
    if (status == JOULE_OK && removed)
        complain("chat", "the oldest %zu turn%s forgotten: the context has %zu tokens", removed,
                 removed == 1 ? " is" : "s are", chat->length);
    return status;
}

/* Answers the last message, and adds the answer to the conversation. */
static joule_status answer_last(struct chat *chat, const int32_t *prompt, size_t count, joule_error *error)
{
    struct answer answer;
    const struct question question = {.prompt = prompt,
                                      .prompt_count = count,
                                      .sampling = chat->sampling,
                                      .max_tokens = chat->options->max_tokens,
                                      .max_joules = chat->options->max_joules,
                                      .stops = &chat->options->stops};
    joule_status status = answer_compute(&chat->model, &question, &answer, error);
    if (status == JOULE_OK)
        print_answer_end(&answer);
    if (status == JOULE_OK)
        status = conversation_add(&chat->conversation, "assistant", answer.text, answer.size, error);
    answer_free(&answer);
    chat->sampling.seed++; /* equal messages get different answers */
    return status;
}

static joule_status take_message(struct chat *chat, const char *line, size_t size, joule_error *error)
{
    int32_t *prompt;
    size_t count;
    joule_status status = conversation_add(&chat->conversation, "user", line, size, error);
    if (status == JOULE_OK)
        status = make_prompt(chat, &prompt, &count, error);
    if (status == JOULE_INVALID) { /* other messages can still be answered */
        complain("chat", "%s", error->message);
        conversation_remove_last(&chat->conversation);
        return JOULE_OK;
    }
    if (status != JOULE_OK)
        return status;
    status = answer_last(chat, prompt, count, error);
    free(prompt);
    return status;
}

/* --- input ---------------------------------------------------------------------------------------------- */

/* Runs a command such as "/help". Returns false for /quit. */
static bool run_command(struct chat *chat, const char *line)
{
    if (strcmp(line, "/quit") == 0)
        return false;
    if (strcmp(line, "/reset") == 0)
        conversation_clear(&chat->conversation);
    else if (strcmp(line, "/help") == 0)
        fputs(commands_help, stderr);
    else
        complain("chat", "unknown command '%s'; /help lists the commands", line);
    return true;
}

/* Returns true if the program continues after an interrupt: on a terminal, which gets the next prompt. */
static bool continues_after_interrupt(const struct chat *chat)
{
    if (interrupted_by && (interrupted_by != SIGINT || !chat->is_terminal))
        return false;
    if (interrupted_by) {
        interrupted_by = 0;
        interrupt_handle();
    }
    return true;
}

/* Prints a prompt, and waits until a line can be read or an interrupt arrives. Signals are blocked except
 * while ppoll() waits, because an interrupt just before read() would not end read(). */
static void wait_on_terminal(void)
{
    sigset_t interrupts, before;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    sigaddset(&interrupts, SIGTERM);
    fputs("> ", stderr);
    sigprocmask(SIG_BLOCK, &interrupts, &before);
    if (!interrupted_by)
        ppoll(&input, 1, NULL, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static joule_status talk(struct chat *chat, joule_error *error)
{
    char *line = NULL;
    size_t capacity = 0;
    joule_status status = JOULE_OK;
    while (status == JOULE_OK && continues_after_interrupt(chat)) {
        if (chat->is_terminal)
            wait_on_terminal();
        ssize_t size = interrupted_by ? -1 : getline(&line, &capacity, stdin);
        if (size < 0 || interrupted_by)
            break;
        while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r'))
            line[--size] = '\0';
        if (line[0] == '/' && !run_command(chat, line))
            break;
        if (size > 0 && line[0] != '/')
            status = take_message(chat, line, (size_t)size, error);
    }
    if (chat->is_terminal && (interrupted_by || feof(stdin)))
        fputc('\n', stderr);
    if (status == JOULE_OK && ferror(stdin) && !interrupted_by)
        status = error_set(error, JOULE_FAILED, "cannot read standard input: %s", strerror(errno));
    free(line);
    return status;
}

/* --- run ------------------------------------------------------------------------------------------------ */

static joule_status start(struct chat *chat, joule_error *error)
{
    const struct chat_options *o = chat->options;
    joule_status status = language_model_open(&chat->model, &o->language, error);
    if (status == JOULE_OK)
        status = language_model_need_tokenizer(&chat->model, error);
    if (status == JOULE_OK)
        status = conversation_begin(&chat->conversation, &chat->model, o->family, o->system, error);
    if (status != JOULE_OK)
        return status;
    size_t longest = (size_t)chat->model.facts.context;
    chat->length = o->context ? o->context : DEFAULT_CONTEXT;
    if (o->context > longest)
        return error_set(error, JOULE_INVALID, "--context %u is above the model's context of %zu tokens",
                         o->context, longest);
    chat->length = chat->length < longest ? chat->length : longest;
    const forge_engine_options engine = {
        .struct_size = sizeof engine, .max_batch_size = 1, .max_length = (uint32_t)chat->length};
    return language_model_start(&chat->model, &o->language, &engine, error);
}

static int chat(const struct chat_options *options, const forge_sampling *sampling)
{
    joule_error error = {0};
    struct chat chat = {.options = options, .sampling = *sampling, .is_terminal = isatty(STDIN_FILENO)};
    joule_status status = start(&chat, &error);
    interrupt_handle();
    if (status == JOULE_OK && chat.is_terminal)
        fprintf(stderr, "%s; /help lists the commands\n",
                chat.model.facts.name ? chat.model.facts.name : chat.model.path);
    if (status == JOULE_OK)
        status = talk(&chat, &error);
    if (status != JOULE_OK)
        complain("chat", "%s", error.message);
    conversation_end(&chat.conversation);
    language_model_close(&chat.model);
    return status == JOULE_OK ? interrupt_exit_code(0) : EXIT_OWN_FAILURE;
}

int chat_main(int argc, char **argv)
{
    struct chat_options o = {.max_tokens = DEFAULT_MAX_TOKENS};
    forge_sampling sampling;
    struct option table[LANGUAGE_ROWS + SAMPLING_ROWS + 7] = {
        {"system", 0, OPTION_TEXT, &o.system, "TEXT",
         "instructions that the model gets before the conversation"},
        {"chat-template", 0, OPTION_TEXT, &o.family, "FAMILY",
         "chatml, llama2, llama3, mistral, zephyr, gemma or phi3 (default: the model's template)"},
        {"max-tokens", 'n', OPTION_COUNT, &o.max_tokens, "N", "maximum length of an answer (default: 512)"},
        {"context", 'c', OPTION_COUNT, &o.context, "N",
         "tokens of the conversation that the model sees (default: the model's context, at most 8192)"},
        {"stop", 0, OPTION_LIST, &o.stops, "TEXT", "end an answer before this text; may be repeated"},
        {"max-joules", 0, OPTION_ENERGY, &o.max_joules, "JOULES",
         "end an answer when it has used this energy, such as 5J"},
    };
    size_t count = 6;
    count += sampling_options_add(&o.sampling, table + count);
    language_options_add(&o.language, table + count);
    const struct command_text text = {"forge chat MODEL [OPTIONS]",
                                      "Answers each line of standard input with a language model.", NULL};
    int read = options_read_operand(table, &text, "MODEL", argc, argv, &o.language.model);
    if (read <= OPTIONS_HELP)
        return read == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (!sampling_options_read(&o.sampling, "chat", &sampling) || !stops_check(&o.stops, "chat"))
        return EXIT_USAGE;
    return chat(&o, &sampling);
}
