/* tools/forge/serve_tools.h - reads what a chat template prints besides the texts of messages: tools, calls
 * of tools, and documents. */
#ifndef SERVE_TOOLS_H
#define SERVE_TOOLS_H

#include "base/arena.h"
#include "serve_endpoints.h"

/* The functions return false with a failure. Results are in memory of the arena, and contain no control
 * tokens of the model: control_tokens_divide was applied to all texts. */

/* Reads "tools". *out_tools: an array of at least one tool; NULL if there are no tools, or if "tool_choice"
 * is "none". */
bool tools_read(const struct call *call, struct arena *arena, const struct json_value **out_tools);
/* Reads "documents". *out_documents: an array of at least one object; NULL: there are no documents. */
bool documents_read(const struct call *call, struct arena *arena, const struct json_value **out_documents);
/* Reads "tool_calls", "tool_call_id" and "name" of message number `i`. *out_members: an object with these
 * members; NULL: the message has none of them. The arguments of calls, which are a text with JSON, become
 * values. *bytes: adds the size of the texts. */
bool message_members_read(const struct call *call, const struct json_value *message, size_t i,
                          struct arena *arena, size_t *bytes, const struct json_value **out_members);

#endif
