/* Fuzz target: program files. Reading must not crash. If an accepted program is small, it is run and must
 * stay within its own memory. The target first corrects the hash of the file, so that the contents are read.
 * The hash detects damage by accident, not by an attacker. */
#include <stdlib.h>
#include "../support/small_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static forge_device *device;
    if (!device && (forge_device_open("cpu", &device, NULL) != JOULE_OK ||
                    forge_device_set_threads(device, 1, NULL) != JOULE_OK))
        abort();
    size_t whole = size / PROGRAM_ALIGNMENT * PROGRAM_ALIGNMENT;
    forge_program *program = aligned_alloc(PROGRAM_ALIGNMENT, whole + PROGRAM_ALIGNMENT);
    if (!program)
        return 0;
    __builtin_memcpy(program, data, whole);
    if (whole >= sizeof *program) {
        program->size_bytes = whole;
        program->hash = program_hash(program);
    }
    joule_error error = {0};
    joule_status status = program_check(program, whole, &error);
    if ((status == JOULE_OK) != (error.message[0] == '\0'))
        abort();
    if (status == JOULE_OK) {
        char *page;
        if (forge_program_print(program, &page, NULL) == JOULE_OK)
            free(page);
        if (program_is_small(program))
            program_try(program, device, program_ignore, NULL);
    }
    free(program);
    return 0;
}
