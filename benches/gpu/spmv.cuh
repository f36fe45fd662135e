// A sparse matrix by a vector, its rows compressed: a work-item for each row, or some that share one.
#pragma once

#include "measure.cuh"

namespace spmv {

constexpr int GROUP = 256;
constexpr int LANES = 32;

__global__ void scalar_kernel(const uint32_t* __restrict__ rows, const uint32_t* __restrict__ columns,
                              const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y, int side) {
    const int row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row >= side) return;
    float sum = 0.0f;
    for (uint32_t k = rows[row]; k < rows[row + 1]; k++) sum += values[k] * x[columns[k]];
    y[row] = sum;
}

// A shared array and barriers, not shuffles: the same algorithm on both sides.
__global__ void vector_kernel(const uint32_t* __restrict__ rows, const uint32_t* __restrict__ columns,
                              const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y) {
    __shared__ float sums[GROUP];
    const int place = threadIdx.x, lane = place % LANES;
    const int row = (blockIdx.x * GROUP + place) / LANES;
    const uint32_t end = rows[row + 1];
    float sum = 0.0f;
    for (uint32_t k = rows[row] + lane; k < end; k += LANES) sum += values[k] * x[columns[k]];
    sums[place] = sum;
    __syncthreads();
    for (int half = LANES / 2; half > 0; half /= 2) {
        if (lane < half) sums[place] += sums[place + half];
        __syncthreads();
    }
    if (lane == 0) y[row] = sums[place];
}

inline void run(Bench& bench) {
    const Settings& settings = bench.settings;
    if (!settings.wants("spmv_scalar") && !settings.wants("spmv_vector")) return;
    const size_t side = settings.size(size_t(1) << 20, 1 << 11);
    std::vector<uint32_t> host_rows{0}, host_columns;
    for (uint32_t row = 0; row < side; row++) host_rows.push_back(host_rows.back() + 16 + mix(row) % 33);
    std::vector<float> host_values;
    for (uint32_t place = 0; place < host_rows.back(); place++) {
        host_columns.push_back(mix(place ^ 0x55550000u) % uint32_t(side));
        host_values.push_back(unit(place ^ 0x33330000u));
    }
    Buffer<uint32_t> rows(host_rows), columns(host_columns);
    Buffer<float> values(host_values), x(between(37u << 20, side, -1.0f, 1.0f)), y(side);
    const size_t bytes = 8 * values.len + 12 * side;
    if (settings.wants("spmv_scalar")) {
        auto times = bench.time([&](Launches& launch) {
            launch([&] {
                scalar_kernel<<<unsigned((side + 255) / 256), 256>>>(rows.data, columns.data, values.data, x.data, y.data,
                                                                     int(side));
            });
        });
        bench.report({"spmv_scalar", "f32", side, bytes}, times, y);
    }
    if (settings.wants("spmv_vector")) {
        auto times = bench.time([&](Launches& launch) {
            launch([&] {
                vector_kernel<<<unsigned(side * LANES / GROUP), GROUP>>>(rows.data, columns.data, values.data, x.data, y.data);
            });
        });
        bench.report({"spmv_vector", "f32", side, bytes}, times, y);
    }
}

}  // namespace spmv
