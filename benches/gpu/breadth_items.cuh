// Kernels without groups.
#pragma once

#include "measure.cuh"

namespace breadth {
namespace items {

constexpr int GROUP = 256;

inline unsigned blocks(size_t n) { return unsigned((n + GROUP - 1) / GROUP); }

// ---- SHA-256 and FNV-1a

struct Block {
    uint32_t words[16];
};

__constant__ uint32_t CONSTANTS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ inline uint32_t rotr(uint32_t x, int by) { return x >> by | x << (32 - by); }

__global__ void sha256_kernel(const Block* __restrict__ from, uint32_t* __restrict__ to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint32_t words[64];
    for (int t = 0; t < 16; t++) words[t] = from[i].words[t];
    for (int t = 16; t < 64; t++) {
        const uint32_t early = words[t - 15], late = words[t - 2];
        const uint32_t first = rotr(early, 7) ^ rotr(early, 18) ^ (early >> 3);
        const uint32_t second = rotr(late, 17) ^ rotr(late, 19) ^ (late >> 10);
        words[t] = words[t - 16] + first + words[t - 7] + second;
    }
    uint32_t s[8];
    for (int k = 0; k < 8; k++) s[k] = initial[k];
    for (int t = 0; t < 64; t++) {
        const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        const uint32_t first = rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25);
        const uint32_t second = rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22);
        const uint32_t one = s[7] + first + choice + CONSTANTS[t] + words[t];
        const uint32_t two = second + majority;
        s[7] = s[6];
        s[6] = s[5];
        s[5] = s[4];
        s[4] = s[3] + one;
        s[3] = s[2];
        s[2] = s[1];
        s[1] = s[0];
        s[0] = one + two;
    }
    uint32_t all = 0;
    for (int k = 0; k < 8; k++) all ^= s[k] + initial[k];
    to[i] = all;
}

__global__ void fnv_kernel(const uint8_t* __restrict__ bytes, const uint32_t* __restrict__ ends, uint32_t* __restrict__ to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t hash = 0x811c9dc5;
    for (uint32_t at = ends[i]; at < ends[i + 1]; at++) hash = (hash ^ bytes[at]) * 0x01000193;
    to[i] = hash;
}

// ---- Small algebra

struct System {
    double rows[4][5];
};

__global__ void solve4_kernel(const System* __restrict__ from, double* __restrict__ to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double rows[4][5];
    for (int r = 0; r < 4; r++)
        for (int k = 0; k < 5; k++) rows[r][k] = from[i].rows[r][k];
    for (int column = 0; column < 4; column++) {
        int pivot = column;
        for (int row = column + 1; row < 4; row++)
            if (fabs(rows[row][column]) > fabs(rows[pivot][column])) pivot = row;
        for (int k = 0; k < 5; k++) {
            const double other = rows[column][k];
            rows[column][k] = rows[pivot][k];
            rows[pivot][k] = other;
        }
        for (int row = column + 1; row < 4; row++) {
            const double factor = rows[row][column] / rows[column][column];
            for (int k = column; k < 5; k++) rows[row][k] -= factor * rows[column][k];
        }
    }
    double solution[4];
    for (int row = 3; row >= 0; row--) {
        double rest = rows[row][4];
        for (int k = row + 1; k < 4; k++) rest -= rows[row][k] * solution[k];
        solution[row] = rest / rows[row][row];
    }
    double sum = -0.0;
    for (int k = 0; k < 4; k++) sum += solution[k];
    to[i] = sum;
}

constexpr int SIDE = 6;
struct Matrix {
    float rows[SIDE][SIDE];
};

__global__ void cholesky6_kernel(const Matrix* __restrict__ from, float* __restrict__ to, int n) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;
    const Matrix& a = from[at];
    float m[SIDE][SIDE];
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < SIDE; j++) {
            float sum = -0.0f;
            for (int k = 0; k < SIDE; k++) sum += a.rows[i][k] * a.rows[j][k];
            m[i][j] = sum;
        }
        m[i][i] += float(SIDE);
    }
    float product = 1.0f;
    for (int j = 0; j < SIDE; j++) {
        for (int k = 0; k < j; k++)
            for (int i = j; i < SIDE; i++) m[i][j] -= m[i][k] * m[j][k];
        const float diagonal = sqrtf(m[j][j]);
        for (int i = j; i < SIDE; i++) m[i][j] /= diagonal;
        product *= diagonal;
    }
    to[at] = product;
}

__device__ inline uint64_t times(uint64_t a, uint64_t b, uint64_t modulus) {
    return uint64_t((unsigned __int128)a * b % modulus);
}

__global__ void powmod_kernel(const uint64_t* __restrict__ bases, const uint64_t* __restrict__ moduli, uint64_t* __restrict__ to,
                              uint32_t exponent, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint64_t modulus = moduli[i];
    uint64_t result = 1, square = bases[i] % modulus;
    for (uint32_t rest = exponent; rest != 0; rest >>= 1) {
        if (rest & 1) result = times(result, square, modulus);
        square = times(square, square, modulus);
    }
    to[i] = result;
}

// ---- Filters

constexpr int TAPS = 5;
struct Weights {
    float taps[TAPS][TAPS];
};
struct Weights9 {
    float taps[9];
};

__global__ void convolve_kernel(const float* __restrict__ from, float* __restrict__ to, int side, Weights weights) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side) return;
    float sum = 0.0f;
    for (int dy = 0; dy < TAPS; dy++) {
        const int at_y = min(max(y + dy - TAPS / 2, 0), side - 1);
        for (int dx = 0; dx < TAPS; dx++) {
            const int at_x = min(max(x + dx - TAPS / 2, 0), side - 1);
            sum += weights.taps[dy][dx] * from[at_y * side + at_x];
        }
    }
    to[y * side + x] = sum;
}

__global__ void blur9_kernel(const float* __restrict__ from, float* __restrict__ to, int n, Weights9 weights) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = -0.0f;
    for (int k = 0; k < 9; k++) sum += weights.taps[k] * from[min(max(i + k - 4, 0), n - 1)];
    to[i] = sum;
}

__global__ void sobel_kernel(const uint8_t* __restrict__ from, uint8_t* __restrict__ to, int side) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side) return;
    auto at = [&](int dy, int dx) { return int(from[min(max(y + dy, 0), side - 1) * side + min(max(x + dx, 0), side - 1)]); };
    const int across = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
    const int down = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
    to[y * side + x] = uint8_t(min(sqrtf(float(across * across + down * down)), 255.0f));
}

// ---- Rows

constexpr int ROW = 64;

__global__ void chain_kernel(const float* __restrict__ matrix, const float* __restrict__ weights, float* __restrict__ to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* row = matrix + size_t(i) * ROW;
    float sum = -0.0f;
    for (int k = 3; k < ROW; k += 2) sum += row[k] * weights[ROW - 1 - k];
    to[i] = sum;
}

__global__ void windows_kernel(const float* __restrict__ matrix, const float*, float* __restrict__ to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* row = matrix + size_t(i) * ROW;
    float largest = 0.0f;
    for (int k = 0; k + 2 < ROW; k++) largest = fmaxf(largest, fabsf(row[k] - 2.0f * row[k + 1] + row[k + 2]));
    to[i] = largest;
}

__global__ void chunks_kernel(const float* __restrict__ matrix, const float* __restrict__ weights, float* __restrict__ to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* row = matrix + size_t(i) * ROW;
    float sum = -0.0f;
    for (int k = 0; k < ROW; k += 4) {
        float product = 1.0f, weight = -0.0f;
        for (int j = k; j < k + 4; j++) {
            product *= row[j];
            weight += weights[j];
        }
        sum += product * weight;
    }
    to[i] = sum;
}

__global__ void until_kernel(const float* __restrict__ matrix, const float* __restrict__ weights, float* __restrict__ to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* row = matrix + size_t(i) * ROW;
    float sum = -0.0f;
    for (int k = 0; k < ROW && row[k] < 0.95f; k++) sum += row[k] * weights[k];
    to[i] = sum;
}

__global__ void pieces_kernel(const float* __restrict__ matrix, const float* __restrict__ weights, float* __restrict__ to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* row = matrix + size_t(i) * ROW;
    float sum = -0.0f;
    for (int k = 0; k < ROW / 8; k++)
        for (int j = 0; j < 3; j++) sum += row[8 * k + 7 - j] * weights[3 * k + j];
    to[i] = sum;
}

// ---- Random numbers, and loops of unknown length

__global__ void monte_carlo_kernel(uint32_t* __restrict__ to, uint32_t points, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint64_t state = (uint64_t(i) + 1) * 0x9e3779b97f4a7c15ull;
    uint32_t count = 0;
    for (uint32_t point = 0; point < points; point++) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        const uint64_t bits = state * 0x2545f4914f6cdd1dull;
        const float x = float(bits >> 40) / 16777216.0f, y = float(bits & 0xffffff) / 16777216.0f;
        if (x * x + y * y < 1.0f) count++;
    }
    to[i] = count;
}

__global__ void collatz_kernel(uint32_t* __restrict__ to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint64_t number = uint64_t(i) + 1;
    uint32_t count = 0;
    while (number != 1) {
        number = number % 2 == 0 ? number / 2 : 3 * number + 1;
        count++;
    }
    to[i] = count;
}

__global__ void quotients_kernel(uint32_t* __restrict__ to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    using Wide = unsigned __int128;
    uint64_t state = (uint64_t(i) + 1) * 0x9e3779b97f4a7c15ull;
    auto next = [&] {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return Wide(state);
    };
    Wide sum = 0;
    for (int round = 0; round < 16; round++) {
        Wide number = next() << 64;
        number |= next();
        Wide divisor = next() << 64;
        divisor |= next();
        divisor = divisor >> (8 * round) | 1;
        sum ^= number / divisor ^ number % divisor;
    }
    to[i] = uint32_t(sum ^ sum >> 32 ^ sum >> 64 ^ sum >> 96);
}

struct Crc {
    uint32_t of[256];
};

constexpr Crc make_crc() {
    Crc table{};
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++) rest = rest >> 1 ^ (rest & 1 ? 0xedb88320u : 0u);
        table.of[byte] = rest;
    }
    return table;
}

// Threads look at different places, so it is no `__constant__`.
__device__ const Crc CRC = make_crc();

__global__ void crc_kernel(uint32_t* __restrict__ to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t state = uint32_t(i) | 1, rest = ~0u;
    for (int word = 0; word < 64; word++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        for (int byte = 0; byte < 4; byte++) rest = rest >> 8 ^ CRC.of[(rest ^ state >> (8 * byte)) & 0xff];
    }
    to[i] = ~rest;
}

// ---- Graphs and words

__global__ void relax_edges_kernel(const uint32_t* __restrict__ ends, const uint32_t* __restrict__ targets,
                                   const uint32_t* __restrict__ lengths, const uint32_t* __restrict__ distances, uint32_t* nearest, int n) {
    const int vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= n) return;
    const uint32_t distance = distances[vertex], end = ends[vertex + 1];
    for (uint32_t edge = ends[vertex]; edge < end; edge++) atomicMin(&nearest[targets[edge]], distance + lengths[edge]);
}

constexpr int WORD = 32;
struct Word {
    uint8_t letters[WORD];
};

__global__ void edit_distance_kernel(const Word* __restrict__ a, const Word* __restrict__ b, uint32_t* __restrict__ to, int n) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;
    uint32_t row[WORD + 1];
    for (int j = 0; j <= WORD; j++) row[j] = j;
    for (int i = 0; i < WORD; i++) {
        const uint8_t x = a[at].letters[i];
        uint32_t diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < WORD; j++) {
            const uint32_t changed = diagonal + (x != b[at].letters[j]);
            diagonal = row[j + 1];
            row[j + 1] = min(min(changed, row[j] + 1), diagonal + 1);
        }
    }
    to[at] = row[WORD];
}

// ---- Records

struct Particle {
    float position[3], velocity[3], mass, charge;
};

__global__ void particles_kernel(const Particle* __restrict__ from, Particle* __restrict__ to, float step, int n) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;
    Particle p = from[at];
    const float field[3] = {0.1f, 0.2f * p.position[0], 1.0f - 0.1f * p.position[1]};
    float push[3], t[3], s[3], minus[3], prime[3], velocity[3], squared = -0.0f;
    for (int i = 0; i < 3; i++) push[i] = -0.5f * p.position[i] * step * p.charge / p.mass;
    for (int i = 0; i < 3; i++) t[i] = 0.5f * field[i] * step * p.charge / p.mass;
    for (int i = 0; i < 3; i++) squared += t[i] * t[i];
    for (int i = 0; i < 3; i++) minus[i] = p.velocity[i] + 0.5f * push[i];
    for (int i = 0; i < 3; i++) s[i] = 2.0f * t[i] / (1.0f + squared);
    auto cross = [](const float* a, const float* b, int i) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        return a[j] * b[k] - a[k] * b[j];
    };
    for (int i = 0; i < 3; i++) prime[i] = minus[i] + cross(minus, t, i);
    for (int i = 0; i < 3; i++) velocity[i] = minus[i] + cross(prime, s, i) + 0.5f * push[i];
    for (int i = 0; i < 3; i++) {
        p.position[i] += velocity[i] * step;
        p.velocity[i] = velocity[i];
    }
    to[at] = p;
}

constexpr int DIMENSIONS = 8, CENTRES = 16;
struct Point {
    float at[DIMENSIONS];
};

__global__ void kmeans_kernel(const Point* __restrict__ points, const Point* __restrict__ centres, int count, uint32_t* __restrict__ to,
                              int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Point point = points[i];
    uint32_t best = 0;
    float least = INFINITY;
    for (int c = 0; c < count; c++) {
        float squared = -0.0f;
        for (int k = 0; k < DIMENSIONS; k++) squared += (point.at[k] - centres[c].at[k]) * (point.at[k] - centres[c].at[k]);
        if (squared < least) {
            least = squared;
            best = c;
        }
    }
    to[i] = best;
}

// ---- The host's side

template <class T, class F>
std::vector<T> made(size_t n, F of) {
    std::vector<T> all(n);
    for (size_t i = 0; i < n; i++) all[i] = of(i);
    return all;
}

template <class R, class F>
void measure(Bench& bench, const char* kernel, const char* element, size_t size, size_t bytes, const Buffer<R>& to, F launch_kernel) {
    auto times = bench.time([&](Launches& launch) { launch(launch_kernel); });
    bench.report({kernel, element, size, bytes}, times, to);
}

inline void hashing(Bench& bench) {
    if (bench.settings.wants("sha256")) {
        const size_t n = bench.settings.size(1 << 21, 1 << 11);
        Buffer<Block> from(made<Block>(n, [](size_t i) {
            Block block;
            for (uint32_t word = 0; word < 16; word++) block.words[word] = mix(uint32_t(16 * i + word));
            return block;
        }));
        Buffer<uint32_t> to(n);
        measure(bench, "sha256", "u32", n, 0, to, [&] { sha256_kernel<<<blocks(n), GROUP>>>(from.data, to.data, int(n)); });
    }
    if (bench.settings.wants("fnv")) {
        const size_t n = bench.settings.size(1 << 20, 1 << 10);
        std::vector<uint32_t> ends{0};
        for (uint32_t text = 0; text < n; text++) ends.push_back(ends.back() + 8 + mix(text) % 25);
        Buffer<uint8_t> bytes(made<uint8_t>(ends.back(), [](size_t i) { return uint8_t(mix(uint32_t(i))); }));
        Buffer<uint32_t> texts(ends), to(n);
        measure(bench, "fnv", "u32", n, 0, to, [&] { fnv_kernel<<<blocks(n), GROUP>>>(bytes.data, texts.data, to.data, int(n)); });
    }
}

inline void algebra(Bench& bench) {
    if (bench.settings.wants("solve4")) {
        const size_t n = bench.settings.size(1 << 21, 1 << 10);
        Buffer<System> from(made<System>(n, [](size_t i) {
            System system;
            for (size_t row = 0; row < 4; row++)
                for (size_t k = 0; k < 5; k++) system.rows[row][k] = double(unit(uint32_t(20 * i + 5 * row + k))) - 0.5;
            return system;
        }));
        Buffer<double> to(n);
        measure(bench, "solve4", "f64", n, 168 * n, to, [&] { solve4_kernel<<<blocks(n), GROUP>>>(from.data, to.data, int(n)); });
    }
    if (bench.settings.wants("cholesky6")) {
        const size_t n = bench.settings.size(1 << 20, 1 << 10);
        Buffer<Matrix> from(made<Matrix>(n, [](size_t i) {
            Matrix matrix;
            for (size_t row = 0; row < SIDE; row++)
                for (size_t column = 0; column < SIDE; column++)
                    matrix.rows[row][column] = unit(uint32_t(SIDE * SIDE * i + SIDE * row + column) ^ 0x12340000u) - 0.5f;
            return matrix;
        }));
        Buffer<float> to(n);
        measure(bench, "cholesky6", "f32", n, 148 * n, to, [&] { cholesky6_kernel<<<blocks(n), GROUP>>>(from.data, to.data, int(n)); });
    }
    if (bench.settings.wants("powmod")) {
        const size_t n = bench.settings.size(1 << 20, 1 << 10);
        auto wide = [](size_t place) { return uint64_t(mix(uint32_t(place))) << 32 | mix(uint32_t(place) ^ 0x77770000u); };
        Buffer<uint64_t> bases(made<uint64_t>(n, wide));
        Buffer<uint64_t> moduli(made<uint64_t>(n, [&](size_t place) { return wide(place + n) >> (place % 40) | 1; }));
        Buffer<uint64_t> to(n);
        measure(bench, "powmod", "u64", n, 0, to,
                [&] { powmod_kernel<<<blocks(n), GROUP>>>(bases.data, moduli.data, to.data, 65537, int(n)); });
    }
}

inline void filters(Bench& bench) {
    const dim3 group(32, 8);
    if (bench.settings.wants("convolve")) {
        const size_t side = bench.settings.size(4096, 64);
        auto taps = between(43u << 20, TAPS * TAPS, -1.0f, 1.0f);
        Weights weights;
        for (int k = 0; k < TAPS * TAPS; k++) weights.taps[k / TAPS][k % TAPS] = taps[k];
        Buffer<float> from(between(41u << 20, side * side, 0.0f, 1.0f)), to(side * side);
        const dim3 grid(unsigned(side / 32), unsigned(side / 8));
        measure(bench, "convolve", "f32", side, 0, to,
                [&] { convolve_kernel<<<grid, group>>>(from.data, to.data, int(side), weights); });
    }
    if (bench.settings.wants("blur9")) {
        const size_t n = bench.settings.size(1 << 25, 1 << 12);
        auto taps = between(53u << 20, 9, 0.0f, 0.2f);
        Weights9 weights;
        for (int k = 0; k < 9; k++) weights.taps[k] = taps[k];
        Buffer<float> from(between(47u << 20, n, 0.0f, 1.0f)), to(n);
        measure(bench, "blur9", "f32", n, 8 * n, to, [&] { blur9_kernel<<<blocks(n), GROUP>>>(from.data, to.data, int(n), weights); });
    }
    if (bench.settings.wants("sobel")) {
        const size_t side = bench.settings.size(8192, 64);
        Buffer<uint8_t> from(made<uint8_t>(side * side, [](size_t i) { return uint8_t(mix(uint32_t(i))); })), to(side * side);
        const dim3 grid(unsigned(side / 32), unsigned(side / 8));
        measure(bench, "sobel", "u8", side, 0, to, [&] { sobel_kernel<<<grid, group>>>(from.data, to.data, int(side)); });
    }
}

inline void chains(Bench& bench) {
    const std::pair<const char*, void (*)(const float*, const float*, float*, int)> all[] = {
        {"chain", chain_kernel}, {"windows", windows_kernel}, {"chunks", chunks_kernel},
        {"until", until_kernel}, {"pieces", pieces_kernel}};
    const size_t n = bench.settings.size(1 << 20, 1 << 10);
    for (auto [name, kernel] : all) {
        if (!bench.settings.wants(name)) continue;
        Buffer<float> matrix(between(59u << 20, n * ROW, -1.0f, 1.0f)), weights(between(61u << 20, ROW, -1.0f, 1.0f)), to(n);
        auto of = kernel;
        measure(bench, name, "f32", n, 4 * ROW * n + 4 * n, to,
                [&] { of<<<blocks(n), GROUP>>>(matrix.data, weights.data, to.data, int(n)); });
    }
}

inline void random(Bench& bench) {
    if (bench.settings.wants("monte_carlo")) {
        const size_t n = bench.settings.size(1 << 20, 1 << 10);
        const uint32_t points = uint32_t(bench.settings.size(1000, 50));
        Buffer<uint32_t> to(n);
        measure(bench, "monte_carlo", "u32", n, 0, to, [&] { monte_carlo_kernel<<<blocks(n), GROUP>>>(to.data, points, int(n)); });
    }
    if (bench.settings.wants("collatz")) {
        const size_t n = bench.settings.size(1 << 22, 1 << 10);
        Buffer<uint32_t> to(n);
        measure(bench, "collatz", "u32", n, 0, to, [&] { collatz_kernel<<<blocks(n), GROUP>>>(to.data, int(n)); });
    }
    const std::pair<const char*, void (*)(uint32_t*, int)> all[] = {{"quotients", quotients_kernel}, {"crc", crc_kernel}};
    for (auto [name, kernel] : all) {
        if (!bench.settings.wants(name)) continue;
        const size_t n = bench.settings.size(1 << 20, 1 << 10);
        Buffer<uint32_t> to(n);
        auto of = kernel;
        measure(bench, name, "u32", n, 0, to, [&] { of<<<blocks(n), GROUP>>>(to.data, int(n)); });
    }
}

inline void graphs(Bench& bench) {
    if (bench.settings.wants("relax_edges")) {
        const size_t n = bench.settings.size(1 << 20, 1 << 10);
        std::vector<uint32_t> ends{0};
        for (uint32_t vertex = 0; vertex < n; vertex++) ends.push_back(ends.back() + mix(vertex) % 17);
        const size_t edges = ends.back();
        auto distances = made<uint32_t>(n, [](size_t i) { return mix(uint32_t(i) ^ 0x66660000u) % 1000; });
        Buffer<uint32_t> ends_of(ends), from(distances), to(distances);
        Buffer<uint32_t> targets(made<uint32_t>(edges, [&](size_t i) { return mix(uint32_t(i) ^ 0x22220000u) % uint32_t(n); }));
        Buffer<uint32_t> lengths(made<uint32_t>(edges, [](size_t i) { return mix(uint32_t(i) ^ 0x44440000u) % 100; }));
        measure(bench, "relax_edges", "u32", n, 0, to, [&] {
            relax_edges_kernel<<<blocks(n), GROUP>>>(ends_of.data, targets.data, lengths.data, from.data, to.data, int(n));
        });
    }
    if (bench.settings.wants("edit_distance")) {
        const size_t n = bench.settings.size(1 << 18, 1 << 9);
        auto word = [](size_t i, uint32_t seed) {
            Word word;
            for (size_t letter = 0; letter < WORD; letter++) word.letters[letter] = uint8_t(mix(uint32_t(WORD * i + letter) ^ seed) % 4);
            return word;
        };
        Buffer<Word> a(made<Word>(n, [&](size_t i) { return word(i, 0); })), b(made<Word>(n, [&](size_t i) { return word(i, 0x0f0f0000u); }));
        Buffer<uint32_t> to(n);
        measure(bench, "edit_distance", "u32", n, 0, to,
                [&] { edit_distance_kernel<<<blocks(n), GROUP>>>(a.data, b.data, to.data, int(n)); });
    }
}

// What a checksum is made of: see measure.cuh.
inline uint64_t bits_of(const Particle& p) {
    const auto three = [](const float* v) { return ::bits_of(v[0]) ^ ::bits_of(v[1]) << 16 ^ ::bits_of(v[2]) << 32; };
    return three(p.position) * 31 ^ three(p.velocity);
}
inline double value_of(const Particle& p) {
    double sum = 0;
    for (float x : p.position) sum += x;
    for (float x : p.velocity) sum += x;
    return sum;
}

inline void records(Bench& bench) {
    if (bench.settings.wants("particles")) {
        const size_t n = bench.settings.size(1 << 22, 1 << 10);
        Buffer<Particle> from(made<Particle>(n, [](size_t i) {
            auto number = [&](size_t k) { return unit(uint32_t(8 * i + k) ^ 0x30300000u); };
            Particle p;
            for (int k = 0; k < 3; k++) p.position[k] = number(k) - 0.5f;
            for (int k = 0; k < 3; k++) p.velocity[k] = number(k + 3) - 0.5f;
            p.mass = 1.0f + number(6);
            p.charge = number(7) - 0.5f;
            return p;
        }));
        Buffer<Particle> to(n);
        measure(bench, "particles", "particle", n, 64 * n, to,
                [&] { particles_kernel<<<blocks(n), GROUP>>>(from.data, to.data, 0.01f, int(n)); });
    }
    if (bench.settings.wants("kmeans")) {
        const size_t n = bench.settings.size(1 << 22, 1 << 10);
        auto point = [](size_t i, uint32_t seed) {
            Point point;
            for (size_t k = 0; k < DIMENSIONS; k++) point.at[k] = unit(uint32_t(DIMENSIONS * i + k) ^ seed);
            return point;
        };
        Buffer<Point> points(made<Point>(n, [&](size_t i) { return point(i, 0); }));
        Buffer<Point> centres(made<Point>(CENTRES, [&](size_t i) { return point(i, 0x50500000u); }));
        Buffer<uint32_t> to(n);
        measure(bench, "kmeans", "u32", n, 36 * n, to,
                [&] { kmeans_kernel<<<blocks(n), GROUP>>>(points.data, centres.data, CENTRES, to.data, int(n)); });
    }
}

inline void run(Bench& bench) {
    hashing(bench);
    algebra(bench);
    filters(bench);
    chains(bench);
    random(bench);
    graphs(bench);
    records(bench);
}

}  // namespace items
}  // namespace breadth
