// Kernels that exchange values in shared memory.
#pragma once

#include "measure.cuh"

namespace breadth {
namespace groups {

constexpr int SORTED = 512, POINTS = 256, ROW = 1024;

__global__ void bitonic_kernel(const uint32_t* __restrict__ from, uint32_t* __restrict__ to) {
    __shared__ uint32_t tile[SORTED];
    const int own = threadIdx.x;
    const size_t first = size_t(blockIdx.x) * SORTED;
    tile[own] = from[first + own];
    tile[own + SORTED / 2] = from[first + own + SORTED / 2];
    for (int size = 2; size <= SORTED; size *= 2) {
        for (int distance = size / 2; distance > 0; distance /= 2) {
            __syncthreads();
            const int low = 2 * own - own % distance;
            const uint32_t a = tile[low], b = tile[low + distance];
            const bool is_up = (low & size) == 0;
            if ((a > b) == is_up) {
                tile[low] = b;
                tile[low + distance] = a;
            }
        }
    }
    __syncthreads();
    to[first + own] = tile[own];
    to[first + own + SORTED / 2] = tile[own + SORTED / 2];
}

__global__ void fft_kernel(const float* __restrict__ from, const float* __restrict__ factors, float* __restrict__ to) {
    __shared__ float re[POINTS], im[POINTS];
    const int own = threadIdx.x;
    const size_t first = size_t(blockIdx.x) * POINTS;
    for (int place = own; place < POINTS; place += POINTS / 2) {
        re[place] = from[first + (__brev(place) >> 24)];
        im[place] = 0.0f;
    }
    for (int half = 1; half < POINTS; half *= 2) {
        __syncthreads();
        const int k = own % half, low = 2 * own - k, high = low + half, factor = k * (POINTS / 2 / half);
        const float cos = factors[factor], sin = factors[POINTS / 2 + factor];
        const float x = re[high] * cos - im[high] * sin, y = re[high] * sin + im[high] * cos;
        const float a = re[low], b = im[low];
        re[high] = a - x;
        im[high] = b - y;
        re[low] = a + x;
        im[low] = b + y;
    }
    __syncthreads();
    for (int place = own; place < POINTS; place += POINTS / 2) to[first + place] = re[place] * re[place] + im[place] * im[place];
}

template <class F>
__device__ float reduce(float own, float* shared, F both) {
    for (int distance = 16; distance > 0; distance /= 2) own = both(own, __shfl_xor_sync(0xffffffffu, own, distance));
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = own;
    __syncthreads();
    float all = shared[0];
    for (int warp = 1; warp < ROW / 4 / 32; warp++) all = both(all, shared[warp]);
    return all;
}

__global__ void normalise_kernel(const float* __restrict__ from, float* __restrict__ to) {
    __shared__ float shared[ROW / 4 / 32];
    const size_t first = size_t(blockIdx.x) * ROW + threadIdx.x;
    float own[4], largest = -INFINITY, least = INFINITY;
    for (int k = 0; k < 4; k++) own[k] = from[first + k * (ROW / 4)];
    for (int k = 0; k < 4; k++) largest = fmaxf(largest, own[k]);
    for (int k = 0; k < 4; k++) least = fminf(least, own[k]);
    largest = reduce(largest, shared, [](float a, float b) { return fmaxf(a, b); });
    least = reduce(least, shared, [](float a, float b) { return fminf(a, b); });
    for (int k = 0; k < 4; k++) to[first + k * (ROW / 4)] = (own[k] - least) / (largest - least);
}

inline void run(Bench& bench) {
    const Settings& settings = bench.settings;
    if (settings.wants("bitonic")) {
        const size_t n = settings.size(1 << 22, 1 << 11);
        std::vector<uint32_t> keys(n);
        for (size_t i = 0; i < n; i++) keys[i] = mix(uint32_t(i));
        Buffer<uint32_t> from(keys), to(n);
        auto times = bench.time([&](Launches& launch) {
            launch([&] { bitonic_kernel<<<unsigned(n / SORTED), SORTED / 2>>>(from.data, to.data); });
        });
        bench.report({"bitonic", "u32", n, 0}, times, to);
    }
    if (settings.wants("fft")) {
        const size_t n = settings.size(1 << 22, 1 << 11);
        std::vector<float> factors(POINTS);
        for (int k = 0; k < POINTS / 2; k++) {
            const double angle = -2.0 * 3.14159265358979323846 * double(k) / double(POINTS);
            factors[k] = float(std::cos(angle));
            factors[POINTS / 2 + k] = float(std::sin(angle));
        }
        Buffer<float> from(between(67u << 20, n, -1.0f, 1.0f)), by(factors), to(n);
        auto times = bench.time([&](Launches& launch) {
            launch([&] { fft_kernel<<<unsigned(n / POINTS), POINTS / 2>>>(from.data, by.data, to.data); });
        });
        bench.report({"fft", "f32", n, 0}, times, to);
    }
    if (settings.wants("normalise")) {
        const size_t rows = settings.size(1 << 15, 8), n = rows * ROW;
        Buffer<float> from(between(71u << 20, n, -3.0f, 5.0f)), to(n);
        auto times = bench.time([&](Launches& launch) {
            launch([&] { normalise_kernel<<<unsigned(rows), ROW / 4>>>(from.data, to.data); });
        });
        bench.report({"normalise", "f32", n, 8 * n}, times, to);
    }
}

}  // namespace groups
}  // namespace breadth
