// A five-point stencil over a plane; the border stays as it is.
#pragma once

#include "measure.cuh"

namespace stencil {

__global__ void stencil_kernel(const float* __restrict__ from, float* __restrict__ to, int side) {
    const int x = blockDim.x * blockIdx.x + threadIdx.x;
    const int y = blockDim.y * blockIdx.y + threadIdx.y;
    if (x >= side || y >= side) return;
    const int at = y * side + x;
    if (y == 0 || x == 0 || y == side - 1 || x == side - 1) {
        to[at] = from[at];
    } else {
        to[at] = 0.2f * (from[at] + from[at - 1] + from[at + 1] + from[at - side] + from[at + side]);
    }
}

inline void run(Bench& bench) {
    if (!bench.settings.wants("stencil")) return;
    const size_t side = bench.settings.size(8192, 128);
    Buffer<float> from(between(19u << 20, side * side, 0.0f, 1.0f)), to(side * side);
    const dim3 group(32, 8);
    const dim3 groups(unsigned((side + 31) / 32), unsigned((side + 7) / 8));
    auto times = bench.time([&](Launches& launch) {
        launch([&] { stencil_kernel<<<groups, group>>>(from.data, to.data, int(side)); });
    });
    bench.report({"stencil", "f32", side, 8 * side * side}, times, to);
}

}  // namespace stencil
