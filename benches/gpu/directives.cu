// The loops of benches/src/bin/directives_schism.rs in CUDA C++. Times are the host's, from the call until the result is there.
//
//     nvcc -O3 -std=c++17 -arch=native -fmad=false -o directives_cuda directives.cu

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <cub/cub.cuh>
#include <cuda_runtime.h>

inline void check(cudaError_t result, int line) {
    if (result != cudaSuccess) {
        std::fprintf(stderr, "error: line %d: %s\n", line, cudaGetErrorString(result));
        std::exit(1);
    }
}
#define CHECK(call) check(call, __LINE__)

constexpr int REPEATS = 15;
constexpr size_t LENGTH = 1 << 22;
constexpr size_t SIDE = 1024;
constexpr size_t ROWS = 14000;
constexpr size_t NZ = 200, NX = 400, HALO = 2;
constexpr double C0 = 27.562941092972594, GAMMA = 1.400278940027894;

template <class T>
std::vector<T> numbers(size_t count) {
    std::vector<T> all(count);
    for (uint64_t i = 0; i < count; i++) all[i] = T(double(i * 2654435761ull >> 7 & 1023) / 1024.0);
    return all;
}

// Memory of the device.
template <class T>
struct Buffer {
    T* data = nullptr;
    size_t len;
    explicit Buffer(const std::vector<T>& from) : len(from.size()) {
        CHECK(cudaMalloc(&data, len * sizeof(T)));
        CHECK(cudaMemcpy(data, from.data(), len * sizeof(T), cudaMemcpyHostToDevice));
    }
    Buffer(const Buffer&) = delete;
    ~Buffer() { cudaFree(data); }
    std::vector<T> to_host() const {
        std::vector<T> all(len);
        CHECK(cudaMemcpy(all.data(), data, len * sizeof(T), cudaMemcpyDeviceToHost));
        return all;
    }
};

template <class F>
double timed(F run) {
    run();
    CHECK(cudaDeviceSynchronize());
    double best = 1e9;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        auto start = std::chrono::steady_clock::now();
        run();
        CHECK(cudaDeviceSynchronize());
        std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        if (time.count() < best) best = time.count();
    }
    return best;
}

template <class T>
void print(const char* name, double seconds, const std::vector<T>& elements) {
    size_t step = elements.size() / 4099 + 1, count = 0;
    double sum = 0;
    for (size_t at = 0; at < elements.size(); at += step, count++) sum += double(elements[at]);
    std::printf("%s/cuda %.9f %.17e\n", name, seconds, sum / double(count));
}

inline unsigned blocks(size_t items, size_t block) { return unsigned((items + block - 1) / block); }

__global__ void saxpy(size_t n, const float* __restrict__ x, float* __restrict__ y) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < n) y[i] += 0.5f * x[i];
}

void run_saxpy() {
    Buffer<float> x(numbers<float>(LENGTH)), y(numbers<float>(LENGTH));
    double seconds = timed([&] { saxpy<<<blocks(LENGTH, 256), 256>>>(LENGTH, x.data, y.data); });
    print("saxpy", seconds, y.to_host());
}

// The sum of each block of a grid that is as large as the device.
__global__ void dot(size_t n, const double* __restrict__ x, const double* __restrict__ y, double* sums) {
    using Reduce = cub::BlockReduce<double, 256>;
    __shared__ typename Reduce::TempStorage storage;
    double sum = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) sum += x[i] * y[i];
    sum = Reduce(storage).Sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void total(int n, const double* sums, double* to) {
    using Reduce = cub::BlockReduce<double, 256>;
    __shared__ typename Reduce::TempStorage storage;
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += sums[i];
    sum = Reduce(storage).Sum(sum);
    if (threadIdx.x == 0) *to = sum;
}

void run_dot() {
    Buffer<double> x(numbers<double>(LENGTH)), y(numbers<double>(LENGTH));
    int multiprocessors = 0;
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    int grid = 8 * multiprocessors;
    Buffer<double> sums((std::vector<double>(grid))), to((std::vector<double>(1)));
    double sum = 0;
    double seconds = timed([&] {
        dot<<<grid, 256>>>(LENGTH, x.data, y.data, sums.data);
        total<<<1, 256>>>(grid, sums.data, to.data);
        CHECK(cudaMemcpy(&sum, to.data, sizeof(double), cudaMemcpyDeviceToHost));
    });
    print("dot", seconds, std::vector<double>{sum});
}

__global__ void sweep(size_t n, const float* __restrict__ plate, float* __restrict__ next) {
    size_t x = blockIdx.x * size_t(blockDim.x) + threadIdx.x + 1, y = blockIdx.y * size_t(blockDim.y) + threadIdx.y + 1;
    if (x >= n - 1 || y >= n - 1) return;
    size_t at = y * n + x;
    next[at] = 0.25f * (plate[at - n] + plate[at + n] + plate[at - 1] + plate[at + 1]);
}

__global__ void keep(size_t n, float* __restrict__ plate, const float* __restrict__ next) {
    size_t x = blockIdx.x * size_t(blockDim.x) + threadIdx.x + 1, y = blockIdx.y * size_t(blockDim.y) + threadIdx.y + 1;
    if (x >= n - 1 || y >= n - 1) return;
    plate[y * n + x] = next[y * n + x];
}

void run_jacobi() {
    size_t n = SIDE;
    Buffer<float> plate(numbers<float>(n * n)), next((std::vector<float>(n * n)));
    dim3 block(32, 8), grid(blocks(n - 2, 32), blocks(n - 2, 8));
    double seconds = timed([&] {
        sweep<<<grid, block>>>(n, plate.data, next.data);
        keep<<<grid, block>>>(n, plate.data, next.data);
    });
    print("jacobi", seconds, plate.to_host());
}

__global__ void sparse(
    size_t rows, const size_t* __restrict__ begins, const uint32_t* __restrict__ columns, const double* __restrict__ values,
    const double* __restrict__ p, double* __restrict__ q
) {
    size_t row = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (size_t k = begins[row]; k < begins[row + 1]; k++) sum += values[k] * p[columns[k]];
    q[row] = sum;
}

void run_sparse() {
    std::vector<size_t> begins{0};
    std::vector<uint32_t> columns;
    for (size_t row = 0; row < ROWS; row++) {
        size_t entries = 60 + row * 7919 % 140;
        for (size_t k = 0; k < entries; k++) columns.push_back(uint32_t((row * 37 + k * (k + 7919)) % ROWS));
        begins.push_back(columns.size());
    }
    Buffer<size_t> rows(begins);
    Buffer<uint32_t> places(columns);
    Buffer<double> values(numbers<double>(columns.size())), p(numbers<double>(ROWS)), q((std::vector<double>(ROWS)));
    double seconds = timed([&] { sparse<<<blocks(ROWS, 64), 64>>>(ROWS, rows.data, places.data, values.data, p.data, q.data); });
    print("sparse", seconds, q.to_host());
}

__global__ void fluxes(
    const double* __restrict__ state, const double* __restrict__ density, const double* __restrict__ heat, double* __restrict__ flux
) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x, k = blockIdx.y * size_t(blockDim.y) + threadIdx.y;
    if (i >= NX + 1 || k >= NZ) return;
    constexpr size_t row = NX + 2 * HALO, plane = row * (NZ + 2 * HALO), faces = NZ * (NX + 1);
    double mean[4], third[4];
    for (int q = 0; q < 4; q++) {
        size_t at = q * plane + (k + HALO) * row + i;
        double a = state[at], b = state[at + 1], c = state[at + 2], d = state[at + 3];
        mean[q] = 7.0 / 12.0 * (b + c) - (a + d) / 12.0;
        third[q] = d - a + 3.0 * (b - c);
    }
    double r = mean[0] + density[k + HALO], u = mean[1] / r, w = mean[2] / r, theta = (mean[3] + heat[k + HALO]) / r;
    double pressure = C0 * pow(r * theta, GAMMA);
    size_t face = k * (NX + 1) + i;
    flux[face] = r * u + 0.1 * third[0];
    flux[faces + face] = r * u * u + pressure + 0.1 * third[1];
    flux[2 * faces + face] = r * u * w + 0.1 * third[2];
    flux[3 * faces + face] = r * u * theta + 0.1 * third[3];
}

__global__ void tendencies(const double* __restrict__ flux, double* __restrict__ tend) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x, own = blockIdx.y * size_t(blockDim.y) + threadIdx.y;
    if (i >= NX || own >= 4 * NZ) return;
    size_t face = own * (NX + 1) + i;
    tend[own * NX + i] = (flux[face] - flux[face + 1]) / 50.0;
}

void run_weather() {
    size_t rows = NZ + 2 * HALO, row = NX + 2 * HALO, faces = NZ * (NX + 1);
    std::vector<double> cells = numbers<double>(4 * rows * row), air(rows), warm(rows);
    for (double& own : cells) own *= 1e-3;
    for (size_t k = 0; k < rows; k++) {
        air[k] = 1.2 - 0.002 * double(k);
        warm[k] = air[k] * 300.0;
    }
    Buffer<double> state(cells), density(air), heat(warm);
    Buffer<double> flux((std::vector<double>(4 * faces))), tend((std::vector<double>(4 * NZ * NX)));
    dim3 block(32, 8);
    double seconds = timed([&] {
        fluxes<<<dim3(blocks(NX + 1, 32), blocks(NZ, 8)), block>>>(state.data, density.data, heat.data, flux.data);
        tendencies<<<dim3(blocks(NX, 32), blocks(4 * NZ, 8)), block>>>(flux.data, tend.data);
    });
    print("weather", seconds, tend.to_host());
}

int main() {
    run_saxpy();
    run_dot();
    run_jacobi();
    run_sparse();
    run_weather();
}
