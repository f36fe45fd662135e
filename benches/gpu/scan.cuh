// Inclusive scan of integers: each group scans a tile, the tiles' sums are scanned in the same way, and added.
#pragma once

#include "measure.cuh"

namespace scan {

constexpr int GROUP = 256;
constexpr int EACH = 4;
constexpr int TILE = GROUP * EACH;

__global__ void tiles_kernel(const uint32_t* __restrict__ from, uint32_t* __restrict__ scanned, uint32_t* __restrict__ sums, int n) {
    __shared__ uint32_t shared[GROUP];
    const int lane = threadIdx.x;
    const int begin = (blockIdx.x * GROUP + lane) * EACH;
    uint32_t own[EACH], total = 0;
    for (int k = 0; k < EACH; k++) {
        own[k] = begin + k < n ? from[begin + k] : 0;
        total += own[k];
    }

    shared[lane] = total;
    __syncthreads();
    for (int distance = 1; distance < GROUP; distance *= 2) {
        const uint32_t before = lane >= distance ? shared[lane - distance] : 0;
        __syncthreads();
        shared[lane] += before;
        __syncthreads();
    }

    uint32_t sum = shared[lane] - total;
    for (int k = 0; k < EACH; k++) {
        sum += own[k];
        if (begin + k < n) scanned[begin + k] = sum;
    }
    if (lane == 0) sums[blockIdx.x] = shared[GROUP - 1];
}

__global__ void add_kernel(uint32_t* __restrict__ scanned, const uint32_t* __restrict__ sums, int n) {
    const int place = blockDim.x * blockIdx.x + threadIdx.x;
    if (place < n && place >= TILE) scanned[place] += sums[place / TILE - 1];
}

struct Level {
    Buffer<uint32_t> scanned, sums;
    explicit Level(size_t len) : scanned(len), sums((len + TILE - 1) / TILE) {}
};

inline void run(Bench& bench) {
    if (!bench.settings.wants("scan")) return;
    const size_t n = bench.settings.size(size_t(1) << 26, 1 << 15);
    std::vector<uint32_t> numbers(n);
    for (size_t place = 0; place < n; place++) numbers[place] = mix(uint32_t(place)) >> 20;
    Buffer<uint32_t> from(numbers);
    Level first(n), second(first.sums.len), third(second.sums.len);
    auto tiles = [](Launches& launch, const Buffer<uint32_t>& from, Level& to) {
        launch([&] {
            tiles_kernel<<<unsigned((from.len + TILE - 1) / TILE), GROUP>>>(from.data, to.scanned.data, to.sums.data,
                                                                           int(from.len));
        });
    };
    auto add = [](Launches& launch, Buffer<uint32_t>& scanned, const Buffer<uint32_t>& sums) {
        launch([&] {
            add_kernel<<<unsigned((scanned.len + 255) / 256), 256>>>(scanned.data, sums.data, int(scanned.len));
        });
    };
    auto times = bench.time([&](Launches& launch) {
        tiles(launch, from, first);
        tiles(launch, first.sums, second);
        tiles(launch, second.sums, third);
        add(launch, second.scanned, third.scanned);
        add(launch, first.scanned, second.scanned);
    });
    bench.report({"scan", "u32", n, 8 * n}, times, first.scanned);
}

}  // namespace scan
