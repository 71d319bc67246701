/* Any bytes as an .npy file: no crash, no leak, no memory for what is only claimed. What was read and is written again is
 * read as the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <forge/serialize.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/dev/shm/fuzz_npy.XXXXXX", copy[64];

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void remove_copy(void)
{
    unlink(copy);
    rmdir(folder);
}

static joule_status read_bytes(const uint8_t *bytes, size_t size, forge_tensor *out_tensor)
{
    static int fd = -1;
    static char path[40];
    if (fd < 0) {
        fd = memfd_create("npy", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        require(mkdtemp(folder) != NULL);
        snprintf(copy, sizeof copy, "%s/x", folder);
        atexit(remove_copy);
    }
    require(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size);
    joule_error error = {0};
    joule_status status = forge_npy_read(path, out_tensor, &error);
    require(error.status == status && (status == JOULE_OK) == (error.message[0] == '\0'));
    require(status == JOULE_OK || status == JOULE_INVALID || status == JOULE_UNSUPPORTED);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    forge_tensor tensor, again;
    if (read_bytes(data, size, &tensor) != JOULE_OK)
        return 0;
    size_t bytes = forge_dtype_size_bytes(tensor.dtype, forge_tensor_elements(&tensor));
    require(bytes < size && forge_tensor_is_packed(&tensor));
    require(forge_npy_write(copy, &tensor, NULL) == JOULE_OK);
    require(forge_npy_read(copy, &again, NULL) == JOULE_OK);
    require(again.dtype == tensor.dtype && forge_shape_equal(&again.shape, &tensor.shape));
    require(memcmp(forge_tensor_data(&again), forge_tensor_data(&tensor), bytes) == 0);
    forge_buffer_release(again.buffer);
    forge_buffer_release(tensor.buffer);
    return 0;
}
