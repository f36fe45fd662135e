// How often each byte occurs: each group counts in shared memory, and adds its counts to the common ones.
#pragma once

#include "measure.cuh"
#include "reduction.cuh"

namespace histogram {

constexpr int BINS = 256;

__global__ void zero_kernel(uint32_t* counts) { counts[threadIdx.x] = 0; }

__global__ void histogram_kernel(const uint32_t* __restrict__ words, uint32_t* __restrict__ counts, int n) {
    __shared__ uint32_t bins[BINS];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        const uint32_t word = words[i];
        atomicAdd(&bins[word & 0xff], 1u);
        atomicAdd(&bins[word >> 8 & 0xff], 1u);
        atomicAdd(&bins[word >> 16 & 0xff], 1u);
        atomicAdd(&bins[word >> 24], 1u);
    }
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}

inline void run(Bench& bench) {
    if (!bench.settings.wants("histogram")) return;
    const size_t n = bench.settings.size(size_t(1) << 26, 1 << 15);
    std::vector<uint32_t> words(n);
    for (size_t place = 0; place < n; place++) words[place] = mix(uint32_t(place));
    Buffer<uint32_t> from(words), counts(BINS);
    auto times = bench.time([&](Launches& launch) {
        launch([&] { zero_kernel<<<1, BINS>>>(counts.data); });
        launch([&] {
            histogram_kernel<<<reduction::groups(bench.settings), reduction::GROUP>>>(from.data, counts.data, int(n));
        });
    });
    bench.report({"histogram", "u32", n, 4 * n}, times, counts);
}

}  // namespace histogram
