// The sum of a vector: groups sum shares of it, one more group sums their sums.
#pragma once

#include "measure.cuh"

namespace reduction {

constexpr int GROUP = 256;

inline unsigned groups(const Settings& settings) { return unsigned(settings.size(8 * 132, 8)); }

template <class T>
__device__ inline T sum_group(T* tile, T value) {
    const int place = threadIdx.x;
    tile[place] = value;
    __syncthreads();
    for (int half = GROUP / 2; half > 0; half /= 2) {
        if (place < half) tile[place] += tile[place + half];
        __syncthreads();
    }
    return tile[0];
}

__global__ void sum_kernel(const float* __restrict__ from, float* __restrict__ sums, int n) {
    __shared__ float tile[GROUP];
    float sum = 0.0f;
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += from[i];
    sum = sum_group(tile, sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

inline void run(Bench& bench) {
    if (!bench.settings.wants("reduction")) return;
    const size_t n = bench.settings.size(size_t(1) << 27, 1 << 16);
    const unsigned sharing = groups(bench.settings);
    Buffer<float> from(between(1, n, 0.0f, 1.0f)), sums(sharing), all(1);
    auto times = bench.time([&](Launches& launch) {
        launch([&] { sum_kernel<<<sharing, GROUP>>>(from.data, sums.data, int(n)); });
        launch([&] { sum_kernel<<<1, GROUP>>>(sums.data, all.data, int(sharing)); });
    });
    bench.report({"reduction", "f32", n, 4 * n}, times, all);
}

}  // namespace reduction
