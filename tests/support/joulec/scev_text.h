/* support/joulec/scev_text.h - reads facts about loops from the text of LLVM's print<scalar-evolution>.
 *
 * Tests describe loops in this notation. Understands the text of LLVM 14 to 19. Lines that are not understood
 * are skipped.
 */
#ifndef SUPPORT_JOULEC_SCEV_TEXT_H
#define SUPPORT_JOULEC_SCEV_TEXT_H

#include "joulec/trips/scev_facts.h"

/* Reads text[0..size), which need not end with a zero. Returns false if out of memory, and *out is then
 * empty. The caller frees *out with scev_facts_free(). */
bool scev_text_read(const char *text, size_t size, struct scev_facts *out);
/* Reads one expression, which must fill text[0..length). Returns the unknown expression if the text is not
 * understood. The pool owns the result. */
const struct expr *scev_expression(struct expr_pool *pool, const char *text, size_t length);

#endif
