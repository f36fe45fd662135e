// The product of two square matrices: naive, and by tiles in shared memory.
#pragma once

#include "measure.cuh"

namespace sgemm {

constexpr int TILE = 32;

__global__ void naive_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int side) {
    const int column = blockDim.x * blockIdx.x + threadIdx.x;
    const int row = blockDim.y * blockIdx.y + threadIdx.y;
    if (row >= side || column >= side) return;
    float sum = 0.0f;
    for (int k = 0; k < side; k++) sum += a[row * side + k] * b[k * side + column];
    c[row * side + column] = sum;
}

__global__ void tiled_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int side) {
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * TILE + x;
    const int row = blockIdx.y * TILE + y;
    float sum = 0.0f;
    for (int first = 0; first < side; first += TILE) {
        a_tile[y][x] = a[row * side + first + x];
        b_tile[y][x] = b[(first + y) * side + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += a_tile[y][k] * b_tile[k][x];
        __syncthreads();
    }
    c[row * side + column] = sum;
}

inline void run(Bench& bench) {
    const Settings& settings = bench.settings;
    if (!settings.wants("sgemm_naive") && !settings.wants("sgemm_tiled")) return;
    const size_t side = settings.size(4096, 96);
    Buffer<float> a(between(13u << 20, side * side, -1.0f, 1.0f)), b(between(17u << 20, side * side, -1.0f, 1.0f));
    Buffer<float> c(side * side);
    if (settings.wants("sgemm_naive")) {
        const dim3 group(32, 8);
        const dim3 groups(unsigned((side + 31) / 32), unsigned((side + 7) / 8));
        auto times = bench.time([&](Launches& launch) {
            launch([&] { naive_kernel<<<groups, group>>>(a.data, b.data, c.data, int(side)); });
        });
        bench.report({"sgemm_naive", "f32", side, 0}, times, c);
    }
    if (settings.wants("sgemm_tiled")) {
        const dim3 groups(unsigned(side / TILE), unsigned(side / TILE));
        auto times = bench.time([&](Launches& launch) {
            launch([&] { tiled_kernel<<<groups, dim3(TILE, TILE)>>>(a.data, b.data, c.data, int(side)); });
        });
        bench.report({"sgemm_tiled", "f32", side, 0}, times, c);
    }
}

}  // namespace sgemm
