// The baselines of the kernels in benches/src/bin/gpu_schism, in CUDA C++: the same algorithms, sizes, data and groups. One translation
// unit, because that is what nvcc compiles fastest:
//
//     nvcc -O3 -std=c++17 -arch=native -o gpu_baseline main.cu                            the variant `fma`
//     nvcc -O3 -std=c++17 -arch=native -fmad=false -DPRECISE -o gpu_baseline main.cu   the variant `nofma`
//
// It takes the options of gpu_schism and prints the same lines, which benches/src/bin/gpu_schism/measure.rs describes.

#include "measure.cuh"

#include "black_scholes.cuh"
#include "breadth.cuh"
#include "copies.cuh"
#include "histogram.cuh"
#include "launch.cuh"
#include "mandelbrot.cuh"
#include "nbody.cuh"
#include "reduction.cuh"
#include "scan.cuh"
#include "sgemm.cuh"
#include "spmv.cuh"
#include "stencil.cuh"
#include "stream.cuh"
#include "transpose.cuh"

void tuned(Bench& bench) {
    launch::run(bench);
    copies::run(bench);
    stream::run<float>(bench);
    stream::run<double>(bench);
    reduction::run(bench);
    scan::run(bench);
    transpose::run(bench);
    nbody::run(bench);
    sgemm::run(bench);
    stencil::run(bench);
    histogram::run(bench);
    mandelbrot::run(bench);
    black_scholes::run(bench);
    spmv::run(bench);
}

int main(int count, char** arguments) {
    Settings settings(count, arguments);
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    std::printf("device cuda:0 (%s, sm_%d%d)\n", properties.name, properties.major, properties.minor);
    Bench bench(settings);
    if (settings.tuned) tuned(bench);
    if (settings.breadth) breadth::run(bench);
    return 0;
}
