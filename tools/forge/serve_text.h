/* tools/forge/serve_text.h - the text of one answer: tokens become text, and stop strings end it. */
#ifndef SERVE_TEXT_H
#define SERVE_TEXT_H

#include <forge/tokenizer.h>
#include "common/page.h"
#include "serve_job.h"
#include "serve_options.h"

/* Bytes in memory that grows. Initialise with zeros, free `list` with free(). */
struct bytes {
    char *list;
    size_t length, capacity;
};
/* Ensures room for `size` more bytes. Returns false if out of memory. */
bool bytes_reserve(struct bytes *bytes, size_t size);
bool bytes_add(struct bytes *bytes, const char *added, size_t size);
/* Appends the text that `print` prints. May call `print` twice. Returns false if out of memory. */
bool bytes_print(struct bytes *bytes, page_print_fn print, const void *context);

/* An answer. Initialise with reply_text_begin. */
struct reply_text {
    const forge_tokenizer *tokenizer;
    const struct answer_options *options;
    forge_text_stream stream;
    /* Text that was not sent yet; its last `held` bytes may be the beginning of a stop string. */
    struct bytes text;
    size_t held;
    struct token_events tokens; /* tokens that were not sent yet; used only with log-probabilities */
    size_t sent_characters;     /* number of code points of the text that was sent */
    uint32_t token_count;       /* tokens of the answer so far */
    bool discards;              /* further tokens are not part of the answer */
    const char *finish_reason;  /* "stop" or "length", static storage; NULL: the answer is not complete */
    const char *stop;           /* the stop string that ended the answer; NULL: none */
    bool has_begun, is_done;    /* for streams: the first part, and the last part, were sent */
};

/* Initialises an answer. continues_text: the answer continues the prompt's text. */
void reply_text_begin(struct reply_text *answer, const forge_tokenizer *tokenizer,
                      const struct answer_options *options, bool continues_text);
/* Adds the tokens of events, and empties the list. Tokens after a stop string are dropped. Returns false
 * if out of memory. */
bool reply_text_take(struct reply_text *answer, struct token_events *events);
/* Ends the text. Has no effect if a stop string ended it. Returns false if out of memory. */
bool reply_text_finish(struct reply_text *answer, forge_end reason);
/* Returns the number of bytes of `text` that can be sent: all but those that may begin a stop string. */
size_t reply_text_ready(const struct reply_text *answer);
/* Removes the text and tokens that were sent. */
void reply_text_drop_ready(struct reply_text *answer);
void reply_text_end(struct reply_text *answer);

#endif
