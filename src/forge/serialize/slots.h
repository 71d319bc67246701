/* serialize/slots.h - all slots to and from one open file, for whoever adds something of his own (checkpoint.c). */
#ifndef FORGE_SERIALIZE_SLOTS_H
#define FORGE_SERIALIZE_SLOTS_H

#include "forge/serialize/safetensors.h"

joule_status slots_load(forge_states *states, const forge_safetensors *file, uint32_t flags,
                        joule_error *out_error);
joule_status slots_save(forge_states *states, const char *path, bool (*keeps)(const char *, void *),
                        void *context, const forge_metadata *metadata, size_t metadata_count,
                        joule_error *out_error);

#endif
