/* bench/nvml/square_wave.cu - a GPU load that switches on and off. square_wave HIGH_MS LOW_MS SECONDS [PHASE]
 *
 * Keeps every multiprocessor busy with fused multiply-adds for HIGH_MS, then waits for LOW_MS, and repeats
 * for SECONDS. At the end it prints "PHASE,up,TIME" and "PHASE,down,TIME" (CLOCK_MONOTONIC microseconds) for
 * each edge, and the number of operations. Uses a few megabytes of device memory. Note: a kernel takes a
 * quarter of a millisecond, so an edge is at most half a millisecond late.
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

static const int ROUNDS_PER_CHECK = 256;

__global__ void burn(float *values, long long rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = values[i], b = a + 1, c = a + 2, d = a + 3;
    for (long long r = 0; r < rounds; r++) {
#pragma unroll 8
        for (int k = 0; k < ROUNDS_PER_CHECK; k++) {
            a = fmaf(a, 0.999f, 0.25f);
            b = fmaf(b, 0.999f, 0.25f);
            c = fmaf(c, 0.999f, 0.25f);
            d = fmaf(d, 0.999f, 0.25f);
        }
    }
    values[i] = a + b + c + d;
}

static long long now_us()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void sleep_until(long long when_us)
{
    timespec t = {(time_t)(when_us / 1000000), (long)(when_us % 1000000 * 1000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) {
    }
}

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "square_wave: %s\n", cudaGetErrorString(error));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: square_wave HIGH_MS LOW_MS SECONDS [PHASE]\n");
        return 2;
    }
    const double high_us = atof(argv[1]) * 1e3, low_us = atof(argv[2]) * 1e3, total_us = atof(argv[3]) * 1e6;
    const char *phase = argc > 4 ? argv[4] : "load";
    cudaDeviceProp board;
    check(cudaGetDeviceProperties(&board, 0));
    const int blocks = board.multiProcessorCount * 2, threads = 1024;
    const size_t count = (size_t)blocks * threads;
    float *values;
    check(cudaMalloc(&values, count * sizeof *values));
    check(cudaMemset(values, 0, count * sizeof *values));

    /* Find the number of rounds that takes a quarter of a millisecond. */
    long long rounds = 8, start;
    burn<<<blocks, threads>>>(values, rounds);
    check(cudaDeviceSynchronize());
    start = now_us();
    burn<<<blocks, threads>>>(values, rounds * 32);
    check(cudaDeviceSynchronize());
    long long took_us = now_us() - start;
    rounds = took_us > 0 ? rounds * 32 * 250 / took_us : rounds;
    if (rounds < 1)
        rounds = 1;

    cudaEvent_t ends[2];
    check(cudaEventCreateWithFlags(&ends[0], cudaEventDisableTiming));
    check(cudaEventCreateWithFlags(&ends[1], cudaEventDisableTiming));
    std::vector<long long> up, down;
    long long kernels = 0, begin = now_us(), edge = begin;
    while (edge < begin + total_us) {
        sleep_until(edge);
        up.push_back(now_us());
        long long high_end = edge + (long long)(high_us < total_us ? high_us : total_us);
        if (high_end > begin + total_us)
            high_end = begin + (long long)total_us;
        while (now_us() < high_end - 250) {
            burn<<<blocks, threads>>>(values, rounds);
            check(cudaEventRecord(ends[kernels % 2]));
            /* Wait for the previous kernel. The kernel that was just queued keeps the board busy in the
             * meantime. */
            check(cudaEventSynchronize(ends[++kernels % 2]));
        }
        check(cudaDeviceSynchronize());
        down.push_back(now_us());
        edge = high_end + (long long)low_us;
    }
    for (size_t i = 0; i < up.size(); i++)
        printf("%s,up,%lld\n%s,down,%lld\n", phase, up[i], phase, down[i]);
    fprintf(stderr, "square_wave: %s: %lld kernels, %.3g FMA, %zu periods\n", phase, kernels,
            (double)kernels * rounds * ROUNDS_PER_CHECK * 4 * count, up.size());
    check(cudaFree(values));
    return 0;
}
