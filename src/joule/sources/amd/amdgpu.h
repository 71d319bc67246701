/* joule/sources/amd/amdgpu.h - internal to the source "amdgpu": reads a board's identity and facts. */
#ifndef JOULE_AMDGPU_H
#define JOULE_AMDGPU_H

#include "joule/sources/device.h"
#include "joule/sources/drm_card.h"
#include "joule/sources/amd/kfd.h"

/* Sets vendor, model, unique id, architecture and driver of the device. Unknown texts are empty. */
void amdgpu_set_identity(struct source *source, const struct drm_card *card, const struct kfd *kfd,
                         struct device *device);
/* Writes the hwmon folder of the card, such as "/sys/class/drm/card1/device/hwmon/hwmon4", or an empty text
 * if it has none. */
void amdgpu_find_hwmon(struct source *source, const struct drm_card *card, char *out_folder, size_t size);
/* Returns the board's memory, power limits, fan and PCIe replays; other facts are unknown. folder: the card's
 * folder. hwmon: the folder of the card's hardware monitor, or empty. */
struct device_facts amdgpu_facts(struct joule_host *host, const char *folder, const char *hwmon);
/* Writes the board's partition modes, such as "CPX/NPS4", or an empty text if it is not partitioned. */
void amdgpu_mode(struct joule_host *host, const char *folder, char *out_mode, size_t size);

#endif
