// The transpose of a matrix, tile by tile: both reads and writes are of neighbouring elements.
#pragma once

#include "measure.cuh"

namespace transpose {

constexpr int TILE = 32;
constexpr int ROWS = 8;

__global__ void transpose_kernel(const float* __restrict__ from, float* __restrict__ to, int side) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int row = 0; row < TILE; row += ROWS) tile[threadIdx.y + row][threadIdx.x] = from[(y + row) * side + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int row = 0; row < TILE; row += ROWS) to[(y + row) * side + x] = tile[threadIdx.x][threadIdx.y + row];
}

inline void run(Bench& bench) {
    if (!bench.settings.wants("transpose")) return;
    const size_t side = bench.settings.size(8192, 128);
    Buffer<float> from(between(2, side * side, 0.0f, 1.0f)), to(side * side);
    const dim3 groups(unsigned(side / TILE), unsigned(side / TILE));
    auto times = bench.time([&](Launches& launch) {
        launch([&] { transpose_kernel<<<groups, dim3(TILE, ROWS)>>>(from.data, to.data, int(side)); });
    });
    bench.report({"transpose", "f32", side, 8 * side * side}, times, to);
}

}  // namespace transpose
