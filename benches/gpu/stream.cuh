// BabelStream's kernels: copy, mul, add, triad, dot. Beside them the driver's own copy, as the measure of what memory can do.
#pragma once

#include "measure.cuh"
#include "reduction.cuh"

namespace stream {

template <class T>
__global__ void copy_kernel(const T* __restrict__ a, T* __restrict__ c) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    c[i] = a[i];
}

template <class T>
__global__ void mul_kernel(T* __restrict__ b, const T* __restrict__ c) {
    const T scalar = T(0.4);
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    b[i] = scalar * c[i];
}

template <class T>
__global__ void add_kernel(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    c[i] = a[i] + b[i];
}

template <class T>
__global__ void triad_kernel(T* __restrict__ a, const T* __restrict__ b, const T* __restrict__ c) {
    const T scalar = T(0.4);
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    a[i] = b[i] + scalar * c[i];
}

template <class T>
__global__ void dot_kernel(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ sums, int n) {
    __shared__ T tile[reduction::GROUP];
    T sum = T(0);
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += a[i] * b[i];
    sum = reduction::sum_group(tile, sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <class T>
void run(Bench& bench) {
    const Settings& settings = bench.settings;
    bool any = settings.wants("memcpy");
    for (const char* kernel : {"copy", "mul", "add", "triad", "dot"}) any = any || settings.wants(kernel);
    if (!any) return;
    const size_t n = settings.stream_elements();
    const unsigned groups = unsigned(n / 256);
    auto a = filled<T>(n, T(0.1));
    auto b = filled<T>(n, T(0.2));
    auto c = filled<T>(n, T(0.0));
    auto what = [&](const char* kernel, size_t vectors) {
        return Case{kernel, type_name<T>(), n, vectors * n * sizeof(T)};
    };

    // Wherever one of the five is measured.
    auto times = bench.time([&](Launches& launch) {
        launch([&] { CHECK(cudaMemcpyAsync(c.data, a.data, n * sizeof(T), cudaMemcpyDeviceToDevice)); });
    });
    bench.report(what("memcpy", 2), times, c);
    if (settings.wants("copy")) {
        auto times = bench.time([&](Launches& launch) {
            launch([&] { copy_kernel<<<groups, 256>>>(a.data, c.data); });
        });
        bench.report(what("copy", 2), times, c);
    }
    if (settings.wants("mul")) {
        auto times = bench.time([&](Launches& launch) {
            launch([&] { mul_kernel<<<groups, 256>>>(b.data, c.data); });
        });
        bench.report(what("mul", 2), times, b);
    }
    if (settings.wants("add")) {
        auto times = bench.time([&](Launches& launch) {
            launch([&] { add_kernel<<<groups, 256>>>(a.data, b.data, c.data); });
        });
        bench.report(what("add", 3), times, c);
    }
    if (settings.wants("triad")) {
        auto times = bench.time([&](Launches& launch) {
            launch([&] { triad_kernel<<<groups, 256>>>(a.data, b.data, c.data); });
        });
        bench.report(what("triad", 3), times, a);
    }
    if (settings.wants("dot")) {
        const unsigned sharing = reduction::groups(settings);
        Buffer<T> sums(sharing);
        auto times = bench.time([&](Launches& launch) {
            launch([&] { dot_kernel<<<sharing, reduction::GROUP>>>(a.data, b.data, sums.data, int(n)); });
        });
        T sum = T(0);
        for (T group : sums.to_vec()) sum += group;
        bench.report_values(what("dot", 2), times, std::vector<T>{sum}, settings.device_clock);
    }
}

}  // namespace stream
