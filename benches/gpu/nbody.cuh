// Bodies under gravity, all pairs: a group keeps as many bodies in shared memory as it has work-items.
#pragma once

#include "measure.cuh"

namespace nbody {

constexpr int GROUP = 256;

__global__ void nbody_kernel(const float4* __restrict__ bodies, float4* __restrict__ to, int n) {
    __shared__ float4 tile[GROUP];
    const int place = blockIdx.x * GROUP + threadIdx.x;
    const float4 body = bodies[place];
    float4 acceleration = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int first = 0; first < n; first += GROUP) {
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < GROUP; k++) {
            const float4 other = tile[k];
            const float x = other.x - body.x, y = other.y - body.y, z = other.z - body.z;
            const float squared = x * x + y * y + z * z + 0.01f;
            const float inverse = 1.0f / sqrtf(squared);
            const float pull = other.w * (inverse * inverse * inverse);
            acceleration.x += x * pull;
            acceleration.y += y * pull;
            acceleration.z += z * pull;
        }
        __syncthreads();
    }
    to[place] = acceleration;
}

inline void run(Bench& bench) {
    if (!bench.settings.wants("nbody")) return;
    const size_t n = bench.settings.size(size_t(1) << 16, 1 << 10);
    auto x = between(3u << 20, n, -1.0f, 1.0f), y = between(5u << 20, n, -1.0f, 1.0f);
    auto z = between(7u << 20, n, -1.0f, 1.0f), mass = between(11u << 20, n, -1.0f, 1.0f);
    std::vector<float4> bodies(n);
    for (size_t i = 0; i < n; i++) bodies[i] = make_float4(x[i], y[i], z[i], std::fabs(mass[i]) / float(n));
    Buffer<float4> from(bodies), to(n);
    auto times = bench.time([&](Launches& launch) {
        launch([&] { nbody_kernel<<<unsigned(n / GROUP), GROUP>>>(from.data, to.data, int(n)); });
    });
    bench.report({"nbody", "f32x4", n, 0}, times, to);
}

}  // namespace nbody
