// CUB beside schism's algorithms: the lines of benches/src/bin/algorithms_schism.rs, for the sizes on the command line. Each time is that of
// the host, from the call until the result is there.
//
//     nvcc -O3 -std=c++17 -arch=native -o algorithms_cub algorithms.cu

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
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

constexpr int REPEATS = 9;

inline uint32_t mix(uint32_t bits) {
    bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
    bits = (bits ^ (bits >> 13)) * 0xc2b2ae35u;
    return bits ^ (bits >> 16);
}

inline uint64_t bits_at(size_t i) { return uint64_t(mix(uint32_t(i))) << 32 | mix(uint32_t(i) ^ 0x5bd1e995u); }

template <class T>
struct Number;
template <>
struct Number<uint32_t> {
    static constexpr const char* NAME = "u32";
    static uint32_t any(uint64_t bits) { return uint32_t(bits >> 32); }
    static uint32_t small(uint64_t bits) { return uint32_t(bits >> 52); }
    static uint64_t bits(uint32_t own) { return own; }
};
template <>
struct Number<uint64_t> {
    static constexpr const char* NAME = "u64";
    static uint64_t any(uint64_t bits) { return bits; }
    static uint64_t small(uint64_t bits) { return bits >> 52; }
    static uint64_t bits(uint64_t own) { return own; }
};
template <>
struct Number<float> {
    static constexpr const char* NAME = "f32";
    static float any(uint64_t bits) { return float(bits >> 40) / 16777216.0f - 0.5f; }
    static float small(uint64_t bits) { return float(bits >> 62 & 1) - float(bits >> 63); }
    static uint64_t bits(float own) {
        uint32_t bits;
        std::memcpy(&bits, &own, 4);
        return bits;
    }
};
template <>
struct Number<double> {
    static constexpr const char* NAME = "f64";
    static double any(uint64_t bits) { return double(bits >> 11) / 9007199254740992.0 - 0.5; }
    static double small(uint64_t bits) { return double(bits >> 62 & 1) - double(bits >> 63); }
    static uint64_t bits(double own) {
        uint64_t bits;
        std::memcpy(&bits, &own, 8);
        return bits;
    }
};

template <class T>
uint64_t checksum(const std::vector<T>& elements) {
    uint64_t sum = 0;
    for (size_t at = 0; at < elements.size(); at += elements.size() / 4099 + 1) sum = sum * 31 + Number<T>::bits(elements[at]);
    return sum;
}

// Memory of the device.
template <class T>
struct Buffer {
    T* data = nullptr;
    size_t len;
    explicit Buffer(size_t count) : len(count) { CHECK(cudaMalloc(&data, count * sizeof(T))); }
    explicit Buffer(const std::vector<T>& from) : Buffer(from.size()) {
        CHECK(cudaMemcpy(data, from.data(), len * sizeof(T), cudaMemcpyHostToDevice));
    }
    Buffer(const Buffer&) = delete;
    ~Buffer() { cudaFree(data); }
    std::vector<T> to_vec(size_t count) const {
        std::vector<T> all(count);
        CHECK(cudaMemcpy(all.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
        return all;
    }
};

template <class T, class F>
std::vector<T> made(size_t n, F element) {
    std::vector<T> all(n);
    for (size_t i = 0; i < n; i++) all[i] = element(bits_at(i));
    return all;
}

// `call` takes CUB's temporary memory and its size; it is allocated once.
template <class F, class R, class C>
void measure(const std::string& name, int log2, F call, R result, C sum) {
    size_t bytes = 0;
    CHECK(call(static_cast<void*>(nullptr), bytes));
    Buffer<char> memory(bytes + 1);
    double best = std::numeric_limits<double>::infinity();
    for (int repeat = 0; repeat <= REPEATS; repeat++) {
        CHECK(cudaDeviceSynchronize());
        auto start = std::chrono::steady_clock::now();
        CHECK(call(static_cast<void*>(memory.data), bytes));
        result();
        CHECK(cudaDeviceSynchronize());
        double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (repeat != 0 && seconds < best) best = seconds;
    }
    std::printf("%s/2^%d %.9f %llx\n", name.c_str(), log2, best, (unsigned long long)sum());
    std::fflush(stdout);
}

struct Add {
    template <class T>
    __host__ __device__ T operator()(T a, T b) const {
        return a + b;
    }
};
struct Less {
    template <class T>
    __host__ __device__ bool operator()(T a, T b) const {
        return a < b;
    }
};
struct IsEven {
    __host__ __device__ bool operator()(uint32_t own) const { return own % 2 == 0; }
};

template <class T>
void sums(int log2) {
    const size_t n = size_t(1) << log2;
    Buffer<T> input(made<T>(n, Number<T>::small)), output(n), sum(1);
    T value{};
    std::string type = Number<T>::NAME;
    measure(
        "scan_" + type, log2,
        [&](void* memory, size_t& bytes) {
            return cub::DeviceScan::InclusiveScan(memory, bytes, input.data, output.data, Add(), int(n));
        },
        [] {}, [&] { return checksum(output.to_vec(n)); });
    measure(
        "reduce_" + type, log2,
        [&](void* memory, size_t& bytes) {
            return cub::DeviceReduce::Reduce(memory, bytes, input.data, sum.data, int(n), Add(), T(0));
        },
        [&] { CHECK(cudaMemcpy(&value, sum.data, sizeof(T), cudaMemcpyDeviceToHost)); },
        [&] { return Number<T>::bits(value); });
}

void filter(int log2) {
    const size_t n = size_t(1) << log2;
    Buffer<uint32_t> input(made<uint32_t>(n, Number<uint32_t>::any)), output(n);
    Buffer<int> count(1);
    int value = 0;
    measure(
        "copy_if_u32", log2,
        [&](void* memory, size_t& bytes) {
            return cub::DeviceSelect::If(memory, bytes, input.data, output.data, count.data, int(n), IsEven());
        },
        [&] { CHECK(cudaMemcpy(&value, count.data, sizeof(int), cudaMemcpyDeviceToHost)); },
        [&] { return checksum(output.to_vec(size_t(value))); });
}

template <class T>
void sorts(int log2) {
    const size_t n = size_t(1) << log2;
    std::vector<uint32_t> places(n);
    for (size_t i = 0; i < n; i++) places[i] = uint32_t(i);
    Buffer<T> keys(made<T>(n, Number<T>::any)), sorted(n);
    Buffer<uint32_t> values(places), moved(n);
    std::string type = Number<T>::NAME;
    measure(
        "sort_" + type, log2,
        [&](void* memory, size_t& bytes) {
            return cub::DeviceRadixSort::SortKeys(memory, bytes, keys.data, sorted.data, int(n));
        },
        [] {}, [&] { return checksum(sorted.to_vec(n)); });
    measure(
        "sort_pairs_" + type, log2,
        [&](void* memory, size_t& bytes) {
            return cub::DeviceRadixSort::SortPairs(memory, bytes, keys.data, sorted.data, values.data, moved.data, int(n));
        },
        [] {}, [&] { return checksum(moved.to_vec(n)); });
}

void comparison_sort(int log2) {
    const size_t n = size_t(1) << log2;
    Buffer<uint32_t> keys(made<uint32_t>(n, Number<uint32_t>::any)), sorted(n);
    measure(
        "stable_sort_u32", log2,
        [&](void* memory, size_t& bytes) {
            return cub::DeviceMergeSort::StableSortKeysCopy(memory, bytes, keys.data, sorted.data, int(n), Less());
        },
        [] {}, [&] { return checksum(sorted.to_vec(n)); });
}

int main(int count, char** arguments) {
    for (int at = 1; at < count; at++) {
        const int log2 = std::atoi(arguments[at]);
        sums<uint32_t>(log2);
        sums<float>(log2);
        sums<double>(log2);
        filter(log2);
        sorts<uint32_t>(log2);
        sorts<uint64_t>(log2);
        sorts<float>(log2);
        sorts<double>(log2);
        comparison_sort(log2);
    }
    return 0;
}
