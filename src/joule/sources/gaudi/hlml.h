/* joule/sources/gaudi/hlml.h - Intel's Gaudi boards through Habana's own library.
 *
 * Owns what the two files of the source share: hlml_library.c loads and says what return codes mean, hlml.c reads.
 * Newcomers: the library writes a log of its own, into the folder that HABANA_LOGS names. That is the user's to set; it is
 * left alone here.
 */
#ifndef JOULE_HLML_H
#define JOULE_HLML_H

#include "joule/sources/gaudi/hlml_abi.h"
#include "joule/sources/source.h"

#define HLML_FOLDER "/sys/bus/pci/drivers/habanalabs"

/* Whether the boards' driver is there, or the source was asked for by name and `variable` says what to ask instead. */
bool hlml_has_driver(struct source *source, const char *variable);
/* Whether the library can be loaded. */
bool hlml_is_there(struct joule_host *host);
/* Loads and initialises the library (JOULE_HLML_LIB names another one). OK, or why not, with a remedy for a person. */
joule_status hlml_load(struct joule_host *host, struct hlml_api *out_api, char *out_remedy, size_t size);
/* What a return code means for a channel. */
joule_status hlml_status(hlml_return code);

#endif
