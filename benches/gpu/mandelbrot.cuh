// The Mandelbrot set: how many steps each point takes to leave.
#pragma once

#include "measure.cuh"

namespace mandelbrot {

constexpr uint32_t STEPS = 512;

__global__ void mandelbrot_kernel(uint32_t* __restrict__ picture, int side) {
    const int column = blockDim.x * blockIdx.x + threadIdx.x;
    const int row = blockDim.y * blockIdx.y + threadIdx.y;
    if (row >= side || column >= side) return;
    const float scale = 3.0f / float(side);
    const float cx = float(column) * scale - 2.25f, cy = float(row) * scale - 1.5f;
    float x = 0.0f, y = 0.0f;
    uint32_t steps = 0;
    while (steps < STEPS) {
        const float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f) break;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
        steps++;
    }
    picture[row * side + column] = steps;
}

inline void run(Bench& bench) {
    if (!bench.settings.wants("mandelbrot")) return;
    const size_t side = bench.settings.size(4096, 128);
    Buffer<uint32_t> picture(side * side);
    const dim3 group(32, 8);
    const dim3 groups(unsigned((side + 31) / 32), unsigned((side + 7) / 8));
    auto times = bench.time([&](Launches& launch) {
        launch([&] { mandelbrot_kernel<<<groups, group>>>(picture.data, int(side)); });
    });
    bench.report({"mandelbrot", "u32", side, 0}, times, picture);
}

}  // namespace mandelbrot
