/* tools/forge/precision_option.h - parses the option --precision. */
#ifndef FORGE_PRECISION_OPTION_H
#define FORGE_PRECISION_OPTION_H

#include <forge/compiler.h>

#define PRECISION_HELP "type of products: f32 (default), bf16 or f16; see forge-compile(1)"

/* Sets *out from the name of a type. name NULL: leaves *out unchanged. Returns false after a message if there
 * is no such precision. */
bool precision_read(forge_precision *out, const char *subcommand, const char *name);
/* Returns the name of a precision, in static storage. */
const char *precision_name(forge_precision precision);

#endif
