// What a launch costs: an empty kernel by way of the driver's cuLaunchKernel.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include "measure.cuh"

namespace launch {

constexpr int LAUNCHES = 1000;

__global__ void empty_kernel() {}

inline void run(Bench& bench) {
    using Launch = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**,
                                void**);
    using Synchronize = CUresult (*)(CUstream);
    // By name, so that the program needs no library of the driver's to be linked. The names' versions are those of cuda.h's macros.
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) Settings::fail("libcuda.so.1 cannot be opened");
    auto launch = reinterpret_cast<Launch>(dlsym(driver, "cuLaunchKernel"));
    auto synchronize = reinterpret_cast<Synchronize>(dlsym(driver, "cuStreamSynchronize"));
    if (!launch || !synchronize) Settings::fail("libcuda.so.1 lacks cuLaunchKernel");
    auto must = [](CUresult result) {
        if (result != CUDA_SUCCESS) Settings::fail("cuLaunchKernel failed: " + std::to_string(int(result)));
    };

    CUstream stream;
    CHECK(cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(&stream), cudaStreamNonBlocking));
    double begin = now();
    cudaFunction_t function;
    CHECK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(empty_kernel)));
    auto submit = [&] {
        must(launch(reinterpret_cast<CUfunction>(function), 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
    };
    auto once = [&] {
        double start = now();
        submit();
        must(synchronize(stream));
        return now() - start;
    };
    once();
    bench.first = now() - begin;

    int samples = bench.settings.runs * 10;
    if (bench.settings.wants("launch_wait")) {
        for (int at = 0; at < samples; at++) once();
        std::vector<double> times;
        for (int at = 0; at < samples; at++) times.push_back(once());
        bench.report_values({"launch_wait", "none", 1, 0}, times, std::vector<uint32_t>(), false);
    }
    if (bench.settings.wants("launch_submit")) {
        auto many = [&] {
            double start = now();
            for (int at = 0; at < LAUNCHES; at++) submit();
            must(synchronize(stream));
            return (now() - start) / LAUNCHES;
        };
        bench.first = many();
        std::vector<double> times;
        for (int at = 0; at < bench.settings.runs; at++) times.push_back(many());
        bench.report_values({"launch_submit", "none", 1, 0}, times, std::vector<uint32_t>(), false);
    }
    CHECK(cudaStreamDestroy(reinterpret_cast<cudaStream_t>(stream)));
}

}  // namespace launch
