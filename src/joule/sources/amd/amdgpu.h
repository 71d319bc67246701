/* joule/sources/amd/amdgpu.h - inside the source "amdgpu": a board's identity and facts, read from sysfs. */
#ifndef JOULE_AMDGPU_H
#define JOULE_AMDGPU_H

#include "joule/sources/device.h"
#include "joule/sources/drm_card.h"
#include "joule/sources/amd/kfd.h"

/* Sets model, unique id, architecture and driver of the device. */
void amdgpu_set_identity(struct source *source, const struct drm_card *card, const struct kfd *kfd,
                         struct device *device);
/* Writes the folder of its sensors, "/sys/class/drm/card1/device/hwmon/hwmon4"; empty: none. */
void amdgpu_find_hwmon(struct source *source, const struct drm_card *card, char *out_folder, size_t size);
/* Reads the board's memory, power limits, fan and link; `folder` is the card's. */
struct device_facts amdgpu_facts(struct joule_host *host, const char *folder, const char *hwmon);
/* Writes its partition modes, such as "CPX/NPS4"; empty if it is not partitioned. */
void amdgpu_mode(struct joule_host *host, const char *folder, char *out_mode, size_t size);

#endif
