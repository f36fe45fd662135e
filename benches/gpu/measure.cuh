// What all baselines share: options, data, timing, checksums.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

inline void check(cudaError_t result, const char* what, int line) {
    if (result != cudaSuccess) {
        std::fprintf(stderr, "error: line %d: %s: %s\n", line, what, cudaGetErrorString(result));
        std::exit(1);
    }
}
#define CHECK(call) check(call, #call, __LINE__)

// The command line.
struct Settings {
    bool small = false, tuned = true, breadth = false;
    bool device_clock = true;
    size_t elements = 0;
    int runs = 30;
    std::vector<std::string> only;

    Settings(int count, char** arguments) {
        for (int at = 1; at < count; at++) {
            std::string option = arguments[at];
            auto value = [&]() -> std::string {
                if (at + 1 == count) fail(option + " needs a value");
                return arguments[++at];
            };
            if (option == "--small") {
                small = true;
            } else if (option == "--suite") {
                const std::string suite = value();
                tuned = suite != "breadth";
                breadth = suite != "tuned";
            } else if (option == "--elements") {
                elements = std::strtoull(value().c_str(), nullptr, 10);
                if (elements == 0 || elements % 256 != 0) fail("--elements takes a multiple of 256");
            } else if (option == "--runs") {
                runs = std::atoi(value().c_str());
                if (runs < 1) fail("--runs takes a number above zero");
            } else if (option == "--clock") {
                device_clock = value() == "device";
            } else if (option == "--only") {
                std::string rest = value();
                while (!rest.empty()) {
                    size_t comma = std::min(rest.find(','), rest.size());
                    only.push_back(rest.substr(0, comma));
                    rest.erase(0, comma + 1);
                }
            } else {
                fail("`" + option + "` is no option");
            }
        }
    }

    [[noreturn]] static void fail(const std::string& text) {
        std::fprintf(stderr, "error: %s\n", text.c_str());
        std::exit(1);
    }

    size_t size(size_t full, size_t small_one) const { return small ? small_one : full; }

    size_t stream_elements() const { return elements ? elements : size(size_t(1) << 28, 1 << 14); }

    bool wants(const char* kernel) const {
        return only.empty() || std::find(only.begin(), only.end(), kernel) != only.end();
    }
};

// The inputs: as in data.rs.
inline uint32_t mix(uint32_t bits) {
    bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
    bits = (bits ^ (bits >> 13)) * 0xc2b2ae35u;
    return bits ^ (bits >> 16);
}

inline float unit(uint32_t number) { return float(mix(number) >> 8) / 16777216.0f; }

// The host's compiler must not contract this either: a product is stored before it is added.
inline std::vector<float> between(uint32_t seed, size_t count, float low, float high) {
    std::vector<float> numbers(count);
    for (size_t place = 0; place < count; place++) {
        volatile float product = (high - low) * unit(seed + uint32_t(place));
        numbers[place] = low + product;
    }
    return numbers;
}

// Memory of the device, with elements.
template <class T>
struct Buffer {
    T* data = nullptr;
    size_t len = 0;

    explicit Buffer(size_t count) : len(count) { CHECK(cudaMalloc(&data, count * sizeof(T))); }

    explicit Buffer(const std::vector<T>& from) : Buffer(from.size()) {
        CHECK(cudaMemcpy(data, from.data(), len * sizeof(T), cudaMemcpyHostToDevice));
    }

    Buffer(Buffer&& other) : data(std::exchange(other.data, nullptr)), len(other.len) {}
    Buffer(const Buffer&) = delete;
    ~Buffer() { cudaFree(data); }

    std::vector<T> to_vec() const {
        std::vector<T> all(len);
        CHECK(cudaMemcpy(all.data(), data, len * sizeof(T), cudaMemcpyDeviceToHost));
        return all;
    }
};

template <class T>
__global__ void fill_kernel(T* data, size_t len, T value) {
    size_t place = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (place < len) data[place] = value;
}

template <class T>
Buffer<T> filled(size_t len, T value) {
    Buffer<T> buffer(len);
    fill_kernel<<<unsigned((len + 255) / 256), 256>>>(buffer.data, len, value);
    CHECK(cudaDeviceSynchronize());
    return buffer;
}

template <class T>
__global__ void sample_kernel(const T* from, T* to, size_t len, size_t step) {
    size_t place = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (place < len) to[place] = from[place * step];
}

// What a checksum is made of.
inline uint64_t bits_of(uint8_t x) { return x; }
inline uint64_t bits_of(uint32_t x) { return x; }
inline uint64_t bits_of(uint64_t x) { return x; }
inline uint64_t bits_of(float x) { uint32_t bits; std::memcpy(&bits, &x, 4); return bits; }
inline uint64_t bits_of(double x) { uint64_t bits; std::memcpy(&bits, &x, 8); return bits; }
inline uint64_t bits_of(float4 v) { return bits_of(v.x) ^ bits_of(v.y) << 16 ^ bits_of(v.z) << 32; }
inline double value_of(uint8_t x) { return x; }
inline double value_of(uint32_t x) { return x; }
inline double value_of(uint64_t x) { return double(x); }
inline double value_of(float x) { return x; }
inline double value_of(double x) { return x; }
inline double value_of(float4 v) { return double(v.x) + double(v.y) + double(v.z); }

template <class T>
const char* type_name() {
    if (std::is_same<T, uint32_t>::value) return "u32";
    if (std::is_same<T, float>::value) return "f32";
    if (std::is_same<T, double>::value) return "f64";
    return "f32x4";
}

// What is measured.
struct Case {
    const char* kernel;
    const char* element;
    size_t size;
    size_t bytes;
};

// The launches of one run: each is timed by itself, by a pair of events.
class Launches {
    std::vector<std::pair<cudaEvent_t, cudaEvent_t>> events;
    size_t used = 0;
    bool device_clock;

  public:
    explicit Launches(bool device) : device_clock(device) {}

    template <class F>
    void operator()(F launch) {
        if (!device_clock) {
            // Each launch is waited for, as the other program does.
            launch();
            CHECK(cudaGetLastError());
            CHECK(cudaDeviceSynchronize());
            return;
        }
        if (used == events.size()) {
            events.emplace_back();
            CHECK(cudaEventCreate(&events.back().first));
            CHECK(cudaEventCreate(&events.back().second));
        }
        auto [begin, end] = events[used++];
        CHECK(cudaEventRecord(begin));
        launch();
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
    }

    // Waits for all, and sums their times.
    double seconds() {
        CHECK(cudaDeviceSynchronize());
        double sum = 0;
        for (size_t at = 0; at < used; at++) {
            float milliseconds = 0;
            CHECK(cudaEventElapsedTime(&milliseconds, events[at].first, events[at].second));
            sum += milliseconds * 1e-3;
        }
        used = 0;
        return sum;
    }
};

inline double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Bench {
    static constexpr size_t SAMPLE = 4096;

  public:
    static constexpr int WARM_UP = 3;
    const Settings& settings;
    double first = 0;

    explicit Bench(const Settings& s) : settings(s) {}

    // Times a kernel: `run` launches it by way of what it is given.
    template <class F>
    std::vector<double> time(F run) {
        Launches launches(settings.device_clock);
        auto once = [&] {
            double start = now();
            run(launches);
            double device = launches.seconds();
            double host = now() - start;
            return settings.device_clock ? std::make_pair(host, device) : std::make_pair(host, host);
        };
        first = once().first;
        for (int at = 1; at < WARM_UP; at++) once();
        std::vector<double> times;
        for (int at = 0; at < settings.runs; at++) times.push_back(once().second);
        return times;
    }

    // Prints the line of a kernel whose result is in a buffer.
    template <class T>
    void report(const Case& what, const std::vector<double>& times, const Buffer<T>& result) {
        report(what, times, result, settings.device_clock);
    }

    template <class T>
    void report(const Case& what, const std::vector<double>& times, const Buffer<T>& result, bool device) {
        size_t step = std::max(result.len / SAMPLE, size_t(1));
        Buffer<T> sample(std::min(result.len, SAMPLE));
        sample_kernel<<<unsigned((sample.len + 255) / 256), 256>>>(result.data, sample.data, sample.len, step);
        CHECK(cudaGetLastError());
        report_values(what, times, sample.to_vec(), device);
    }

    template <class T>
    void report_values(const Case& what, std::vector<double> times, const std::vector<T>& result, bool device) {
        uint64_t bits = 0;
        double sum = 0;
        for (T x : result) {
            bits = bits * 31 + bits_of(x);
            sum += value_of(x);
        }
        std::sort(times.begin(), times.end());
        auto at = [&](double share) { return times[size_t(std::lround((times.size() - 1) * share))]; };
#ifdef PRECISE
        const char* variant = "nofma";
#else
        const char* variant = "fma";
#endif
        std::printf("result kernel=%s variant=%s type=%s size=%zu bytes=%zu clock=%s median=%.9f min=%.9f p95=%.9f first=%.9f "
                    "runs=%zu bits=%016llx sum=%.9e\n",
                    what.kernel, variant, what.element, what.size, what.bytes, device ? "device" : "host", at(0.5), at(0.0),
                    at(0.95), first, times.size(), (unsigned long long)bits, sum);
        std::fflush(stdout);
    }
};
