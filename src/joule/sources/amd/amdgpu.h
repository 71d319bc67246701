/* joule/sources/amd/amdgpu.h - inside the amdgpu source: what a board is, and how it does beside its joules.
 *
 * Owns what amdgpu.c, which reads energy and busy shares, asks of amdgpu_describe.c. Newcomers: all of it comes from files;
 * which board a file is about tells its PCI address.
 */
#ifndef JOULE_AMDGPU_H
#define JOULE_AMDGPU_H

#include "joule/sources/device.h"
#include "joule/sources/drm_card.h"
#include "joule/sources/amd/kfd.h"

/* Fills in the device of a card: model, unique id, architecture, driver. */
void amdgpu_introduce(struct source *source, const struct drm_card *card, const struct kfd *kfd,
                      struct device *device);
/* The folder of its sensors, "/sys/class/drm/card1/device/hwmon/hwmon4"; empty: it has none. */
void amdgpu_find_hwmon(struct source *source, const struct drm_card *card, char *out_folder, size_t size);
/* Reads the board's memory, power limits, fan and link; `folder` is the card's. */
struct device_facts amdgpu_facts(struct joule_host *host, const char *folder, const char *hwmon);
/* Its modes of partitions, "CPX/NPS4"; empty where it is whole. */
void amdgpu_mode(struct joule_host *host, const char *folder, char *out_mode, size_t size);

#endif
