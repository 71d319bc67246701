/* Fuzz target: output of AMD's programs. Checks that nothing is read beyond the input, that values are
 * numbers or unknown, and that addresses are valid bus addresses. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "joule/sources/amd/amd_smi_json.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct amd_card *card)
{
    require(isnan(card->watts) || card->watts > 0);
    require(isnan(card->limit_watts) || card->limit_watts > 0);
    require(isnan(card->busy) || (card->busy >= 0 && card->busy <= 1));
    require(!card->has_place || (card->bus <= 0xff && card->slot <= 0x1f));
    require(memchr(card->model, '\0', sizeof card->model) && memchr(card->uuid, '\0', sizeof card->uuid));
}

static void read_as(bool (*words)(struct arena *, char *, size_t, struct amd_cards *), const uint8_t *data,
                    size_t size)
{
    struct arena arena = {0};
    struct amd_cards cards;
    char *text = malloc(size + !size);
    require(text);
    if (size)
        memcpy(text, data, size);
    require(words(&arena, text, size, &cards));
    for (size_t i = 0; i < cards.count; i++)
        check(&cards.list[i]);
    arena_free(&arena);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as(rocm_smi_parse_json, data, size);
    read_as(amd_smi_parse_json, data, size);
    return 0;
}
