// What a copy costs between the memory of the host, as programs have it, and that of the device: by way of cudaMemcpy.
#pragma once

#include "measure.cuh"

namespace copies {

// Times something that returns when it is done.
template <class F>
std::vector<double> time(Bench& bench, F run) {
    auto once = [&] {
        double start = now();
        run();
        return now() - start;
    };
    bench.first = once();
    for (int at = 1; at < Bench::WARM_UP; at++) once();
    std::vector<double> times;
    for (int at = 0; at < bench.settings.runs; at++) times.push_back(once());
    return times;
}

inline void run(Bench& bench) {
    if (!bench.settings.wants("copy_in") && !bench.settings.wants("copy_out")) return;
    const size_t numbers = bench.settings.size(size_t(1) << 26, 1 << 16);
    const size_t bytes = numbers * sizeof(float);
    const std::vector<float> from = between(3, numbers, 0.0f, 1.0f);
    Buffer<float> buffer = filled(numbers, 0.0f);
    auto copy_in = [&] { CHECK(cudaMemcpy(buffer.data, from.data(), bytes, cudaMemcpyHostToDevice)); };
    if (bench.settings.wants("copy_in")) {
        auto times = time(bench, copy_in);
        bench.report({"copy_in", "f32", numbers, bytes}, times, buffer, false);
    }
    copy_in();
    std::vector<float> to(numbers);
    if (bench.settings.wants("copy_out")) {
        auto times = time(bench, [&] { CHECK(cudaMemcpy(to.data(), buffer.data, bytes, cudaMemcpyDeviceToHost)); });
        bench.report_values({"copy_out", "f32", numbers, bytes}, times, to, false);
    }
}

}  // namespace copies
