/* serialize/slots.h - loads and saves slots, with additional metadata for checkpoint.c. */
#ifndef FORGE_SERIALIZE_SLOTS_H
#define FORGE_SERIALIZE_SLOTS_H

#include "forge/serialize/safetensors.h"

/* Fills the slots from an open file, as forge_states_load does. flags: FORGE_LOAD_*. */
joule_status slots_load(forge_states *states, const forge_safetensors *file, uint32_t flags,
                        joule_error *out_error);
/* Writes slots to a file, as forge_states_save does. metadata: [metadata_count], texts that are also
 * written. */
joule_status slots_save(forge_states *states, const char *path, bool (*keeps)(const char *, void *),
                        void *context, const forge_metadata *metadata, size_t metadata_count,
                        joule_error *out_error);

#endif
