// The baselines of `cargo schism bench opencl`: the kernels of benches/src/bin/gpu_schism in OpenCL C, with the same
// algorithms, sizes, data and groups. Kernels without groups leave the group's size to the runtime.
//
// Contraction is off, so every operation is rounded, as in Rust.

#pragma OPENCL FP_CONTRACT OFF

#define GROUP 256

// BabelStream's kernels.

#define STREAM(T)                                                                                                      \
    kernel void copy_##T(global const T *restrict a, global T *restrict c) {                                           \
        size_t i = get_global_id(0);                                                                                   \
        c[i] = a[i];                                                                                                   \
    }                                                                                                                  \
    kernel void mul_##T(global T *restrict b, global const T *restrict c) {                                            \
        size_t i = get_global_id(0);                                                                                   \
        b[i] = (T)0.4 * c[i];                                                                                          \
    }                                                                                                                  \
    kernel void add_##T(global const T *restrict a, global const T *restrict b, global T *restrict c) {                \
        size_t i = get_global_id(0);                                                                                   \
        c[i] = a[i] + b[i];                                                                                            \
    }                                                                                                                  \
    kernel void triad_##T(global T *restrict a, global const T *restrict b, global const T *restrict c) {              \
        size_t i = get_global_id(0);                                                                                   \
        a[i] = b[i] + (T)0.4 * c[i];                                                                                   \
    }                                                                                                                  \
    T sum_group_##T(local T *tile, T value) {                                                                          \
        int place = get_local_id(0);                                                                                   \
        tile[place] = value;                                                                                           \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {                                               \
            if (place < half_size) tile[place] += tile[place + half_size];                                             \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
        }                                                                                                              \
        return tile[0];                                                                                                \
    }                                                                                                                  \
    kernel void dot_##T(global const T *restrict a, global const T *restrict b, global T *restrict sums, int n) {      \
        local T tile[GROUP];                                                                                           \
        T sum = 0;                                                                                                     \
        for (int i = get_global_id(0); i < n; i += get_global_size(0)) sum += a[i] * b[i];                             \
        sum = sum_group_##T(tile, sum);                                                                                \
        if (get_local_id(0) == 0) sums[get_group_id(0)] = sum;                                                         \
    }

STREAM(float)
STREAM(double)

kernel void reduction(global const float *restrict from, global float *restrict sums, int n) {
    local float tile[GROUP];
    float sum = 0.0f;
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) sum += from[i];
    sum = sum_group_float(tile, sum);
    if (get_local_id(0) == 0) sums[get_group_id(0)] = sum;
}

// The scan: tiles, then the sums of the tiles before each.

#define EACH 4
#define SCANNED (GROUP * EACH)

kernel void scan_tiles(global const uint *restrict from, global uint *restrict scanned, global uint *restrict sums, int n) {
    local uint shared[GROUP];
    int lane = get_local_id(0);
    int begin = (int)get_global_id(0) * EACH;
    uint own[EACH], total = 0;
    for (int k = 0; k < EACH; k++) {
        own[k] = begin + k < n ? from[begin + k] : 0;
        total += own[k];
    }
    shared[lane] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int distance = 1; distance < GROUP; distance *= 2) {
        uint before = lane >= distance ? shared[lane - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[lane] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    uint sum = shared[lane] - total;
    for (int k = 0; k < EACH; k++) {
        sum += own[k];
        if (begin + k < n) scanned[begin + k] = sum;
    }
    if (lane == 0) sums[get_group_id(0)] = shared[GROUP - 1];
}

kernel void scan_add(global uint *restrict scanned, global const uint *restrict sums) {
    int place = get_global_id(0);
    if (place >= SCANNED) scanned[place] += sums[place / SCANNED - 1];
}

// The transpose, through tiles in local memory.

#define TILE 32
#define ROWS 8

kernel void transpose(global const float *restrict from, global float *restrict to, int side) {
    local float tile[TILE][TILE + 1];
    int column = get_local_id(0), row = get_local_id(1);
    int left = get_group_id(0) * TILE, top = get_group_id(1) * TILE;
    for (int step = 0; step < TILE; step += ROWS)
        tile[row + step][column] = from[(top + row + step) * side + left + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 0; step < TILE; step += ROWS)
        to[(left + row + step) * side + top + column] = tile[column][row + step];
}

// All pairs of bodies, by tiles in local memory.

kernel void nbody(global const float4 *restrict bodies, global float4 *restrict to, int n) {
    local float4 tile[GROUP];
    int lane = get_local_id(0);
    float4 body = bodies[get_global_id(0)];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int first = 0; first < n; first += GROUP) {
        tile[lane] = bodies[first + lane];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < GROUP; k++) {
            float4 other = tile[k];
            float x = other.x - body.x, y = other.y - body.y, z = other.z - body.z;
            float squared = x * x + y * y + z * z + 0.01f;
            float inverse = 1.0f / sqrt(squared);
            float pull = other.w * (inverse * inverse * inverse);
            ax += x * pull;
            ay += y * pull;
            az += z * pull;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    to[get_global_id(0)] = (float4)(ax, ay, az, 0.0f);
}

// The product of two matrices.

kernel void sgemm_naive(global const float *restrict a, global const float *restrict b, global float *restrict c, int side) {
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (int k = 0; k < side; k++) sum += a[row * side + k] * b[k * side + column];
    c[row * side + column] = sum;
}

kernel void sgemm_tiled(global const float *restrict a, global const float *restrict b, global float *restrict c, int side) {
    local float a_tile[TILE][TILE];
    local float b_tile[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (int first = 0; first < side; first += TILE) {
        a_tile[y][x] = a[row * side + first + x];
        b_tile[y][x] = b[(first + y) * side + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++) sum += a_tile[y][k] * b_tile[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * side + column] = sum;
}

kernel void stencil(global const float *restrict from, global float *restrict to, int side) {
    int x = get_global_id(0), y = get_global_id(1);
    int at = y * side + x;
    if (y == 0 || x == 0 || y == side - 1 || x == side - 1) {
        to[at] = from[at];
    } else {
        to[at] = 0.2f * (from[at] + from[at - 1] + from[at + 1] + from[at - side] + from[at + side]);
    }
}

// Counts of each byte.

kernel void histogram_clear(global uint *restrict counts) {
    counts[get_global_id(0)] = 0;
}

kernel void histogram(global const uint *restrict words, volatile global uint *restrict counts, int n) {
    local uint bins[GROUP];
    int lane = get_local_id(0);
    bins[lane] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
        uint word = words[i];
        atomic_inc(&bins[word & 0xff]);
        atomic_inc(&bins[word >> 8 & 0xff]);
        atomic_inc(&bins[word >> 16 & 0xff]);
        atomic_inc(&bins[word >> 24]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&counts[lane], bins[lane]);
}

kernel void mandelbrot(global uint *restrict picture, int side) {
    int column = get_global_id(0), row = get_global_id(1);
    float scale = 3.0f / (float)side;
    float cx = (float)column * scale - 2.25f, cy = (float)row * scale - 1.5f;
    float x = 0.0f, y = 0.0f;
    uint steps = 0;
    while (steps < 512) {
        float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f) break;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
        steps++;
    }
    picture[row * side + column] = steps;
}

// Prices of options. `exp` and `log` are the runtime's.

float normal_distribution(float d) {
    float t = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float polynomial = t * 1.3302744f;
    polynomial = t * (-1.8212559f + polynomial);
    polynomial = t * (1.7814779f + polynomial);
    polynomial = t * (-0.35656378f + polynomial);
    polynomial = t * (0.31938154f + polynomial);
    float tail = 0.3989423f * exp(-0.5f * d * d) * polynomial;
    return d > 0.0f ? 1.0f - tail : tail;
}

kernel void black_scholes(global float *restrict call, global float *restrict put, global const float *restrict prices,
                          global const float *restrict strikes, global const float *restrict times) {
    size_t i = get_global_id(0);
    float price = prices[i], strike = strikes[i], years = times[i];
    float root = sqrt(years);
    float d1 = (log(price / strike) + (0.02f + 0.5f * 0.30f * 0.30f) * years) / (0.30f * root);
    float d2 = d1 - 0.30f * root;
    float n1 = normal_distribution(d1), n2 = normal_distribution(d2);
    float discounted = strike * exp(-0.02f * years);
    call[i] = price * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - price * (1.0f - n1);
}

// The product of a sparse matrix and a vector.

#define LANES 32

kernel void spmv_scalar(global const uint *restrict rows, global const uint *restrict columns,
                        global const float *restrict values, global const float *restrict x, global float *restrict y) {
    size_t row = get_global_id(0);
    float sum = 0.0f;
    for (uint k = rows[row]; k < rows[row + 1]; k++) sum += values[k] * x[columns[k]];
    y[row] = sum;
}

kernel void spmv_vector(global const uint *restrict rows, global const uint *restrict columns,
                        global const float *restrict values, global const float *restrict x, global float *restrict y) {
    local float sums[GROUP];
    int place = get_local_id(0), lane = place % LANES;
    size_t row = get_global_id(0) / LANES;
    uint end = rows[row + 1];
    float sum = 0.0f;
    for (uint k = rows[row] + lane; k < end; k += LANES) sum += values[k] * x[columns[k]];
    sums[place] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = LANES / 2; half_size > 0; half_size /= 2) {
        if (lane < half_size) sums[place] += sums[place + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0) y[row] = sums[place];
}

// The suite `breadth`: kernels that no pass was made for.

#define ROTATE(x, by) ((x) >> (by) | (x) << (32 - (by)))

constant uint SHA256[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

kernel void sha256(global const uint *restrict from, global uint *restrict to) {
    size_t i = get_global_id(0);
    const uint initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint words[64], s[8];
    for (int t = 0; t < 16; t++) words[t] = from[16 * i + t];
    for (int t = 16; t < 64; t++) {
        uint early = words[t - 15], late = words[t - 2];
        uint first = ROTATE(early, 7) ^ ROTATE(early, 18) ^ (early >> 3);
        uint second = ROTATE(late, 17) ^ ROTATE(late, 19) ^ (late >> 10);
        words[t] = words[t - 16] + first + words[t - 7] + second;
    }
    for (int k = 0; k < 8; k++) s[k] = initial[k];
    for (int t = 0; t < 64; t++) {
        uint choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint first = ROTATE(s[4], 6) ^ ROTATE(s[4], 11) ^ ROTATE(s[4], 25);
        uint second = ROTATE(s[0], 2) ^ ROTATE(s[0], 13) ^ ROTATE(s[0], 22);
        uint one = s[7] + first + choice + SHA256[t] + words[t], two = second + majority;
        s[7] = s[6];
        s[6] = s[5];
        s[5] = s[4];
        s[4] = s[3] + one;
        s[3] = s[2];
        s[2] = s[1];
        s[1] = s[0];
        s[0] = one + two;
    }
    uint all_words = 0;
    for (int k = 0; k < 8; k++) all_words ^= s[k] + initial[k];
    to[i] = all_words;
}

kernel void fnv(global const uchar *restrict bytes, global const uint *restrict ends, global uint *restrict to) {
    size_t i = get_global_id(0);
    uint hash = 0x811c9dc5, end = ends[i + 1];
    for (uint at = ends[i]; at < end; at++) hash = (hash ^ bytes[at]) * 0x01000193;
    to[i] = hash;
}

kernel void solve4(global const double *restrict from, global double *restrict to) {
    size_t i = get_global_id(0);
    double rows[4][5], solution[4];
    for (int r = 0; r < 4; r++)
        for (int k = 0; k < 5; k++) rows[r][k] = from[20 * i + 5 * r + k];
    for (int column = 0; column < 4; column++) {
        int pivot = column;
        for (int row = column + 1; row < 4; row++)
            if (fabs(rows[row][column]) > fabs(rows[pivot][column])) pivot = row;
        for (int k = 0; k < 5; k++) {
            double other = rows[column][k];
            rows[column][k] = rows[pivot][k];
            rows[pivot][k] = other;
        }
        for (int row = column + 1; row < 4; row++) {
            double factor = rows[row][column] / rows[column][column];
            for (int k = column; k < 5; k++) rows[row][k] -= factor * rows[column][k];
        }
    }
    for (int row = 3; row >= 0; row--) {
        double rest = rows[row][4];
        for (int k = row + 1; k < 4; k++) rest -= rows[row][k] * solution[k];
        solution[row] = rest / rows[row][row];
    }
    double sum = -0.0;
    for (int k = 0; k < 4; k++) sum += solution[k];
    to[i] = sum;
}

#define SIDE 6

kernel void cholesky6(global const float *restrict from, global float *restrict to) {
    size_t at = get_global_id(0);
    global const float *a = from + SIDE * SIDE * at;
    float m[SIDE][SIDE];
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < SIDE; j++) {
            float sum = -0.0f;
            for (int k = 0; k < SIDE; k++) sum += a[SIDE * i + k] * a[SIDE * j + k];
            m[i][j] = sum;
        }
        m[i][i] += (float)SIDE;
    }
    float product = 1.0f;
    for (int j = 0; j < SIDE; j++) {
        for (int k = 0; k < j; k++)
            for (int i = j; i < SIDE; i++) m[i][j] -= m[i][k] * m[j][k];
        float diagonal = sqrt(m[j][j]);
        for (int i = j; i < SIDE; i++) m[i][j] /= diagonal;
        product *= diagonal;
    }
    to[at] = product;
}

#define TAPS 5

kernel void convolve(global const float *restrict from, global float *restrict to, constant float *weights, int side) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int dy = 0; dy < TAPS; dy++) {
        int at_y = clamp(y + dy - TAPS / 2, 0, side - 1);
        for (int dx = 0; dx < TAPS; dx++) {
            int at_x = clamp(x + dx - TAPS / 2, 0, side - 1);
            sum += weights[TAPS * dy + dx] * from[at_y * side + at_x];
        }
    }
    to[y * side + x] = sum;
}

kernel void blur9(global const float *restrict from, global float *restrict to, constant float *weights, int n) {
    int i = get_global_id(0);
    float sum = -0.0f;
    for (int k = 0; k < 9; k++) sum += weights[k] * from[clamp(i + k - 4, 0, n - 1)];
    to[i] = sum;
}

#define AT(dy, dx) (int)from[clamp(y + (dy), 0, side - 1) * side + clamp(x + (dx), 0, side - 1)]

kernel void sobel(global const uchar *restrict from, global uchar *restrict to, int side) {
    int x = get_global_id(0), y = get_global_id(1);
    int across = AT(-1, 1) + 2 * AT(0, 1) + AT(1, 1) - AT(-1, -1) - 2 * AT(0, -1) - AT(1, -1);
    int down = AT(1, -1) + 2 * AT(1, 0) + AT(1, 1) - AT(-1, -1) - 2 * AT(-1, 0) - AT(-1, 1);
    to[y * side + x] = (uchar)fmin(sqrt((float)(across * across + down * down)), 255.0f);
}

#define ROW 64

kernel void chain(global const float *restrict matrix, global const float *restrict weights, global float *restrict to) {
    size_t i = get_global_id(0);
    global const float *row = matrix + ROW * i;
    float sum = -0.0f;
    for (int k = 3; k < ROW; k += 2) sum += row[k] * weights[ROW - 1 - k];
    to[i] = sum;
}

kernel void windows(global const float *restrict matrix, global const float *restrict weights, global float *restrict to) {
    size_t i = get_global_id(0);
    global const float *row = matrix + ROW * i;
    float largest = 0.0f;
    for (int k = 0; k + 2 < ROW; k++) largest = fmax(largest, fabs(row[k] - 2.0f * row[k + 1] + row[k + 2]));
    to[i] = largest;
}

kernel void chunks(global const float *restrict matrix, global const float *restrict weights, global float *restrict to) {
    size_t i = get_global_id(0);
    global const float *row = matrix + ROW * i;
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

kernel void until(global const float *restrict matrix, global const float *restrict weights, global float *restrict to) {
    size_t i = get_global_id(0);
    global const float *row = matrix + ROW * i;
    float sum = -0.0f;
    for (int k = 0; k < ROW && row[k] < 0.95f; k++) sum += row[k] * weights[k];
    to[i] = sum;
}

kernel void pieces(global const float *restrict matrix, global const float *restrict weights, global float *restrict to) {
    size_t i = get_global_id(0);
    global const float *row = matrix + ROW * i;
    float sum = -0.0f;
    for (int k = 0; k < ROW / 8; k++)
        for (int j = 0; j < 3; j++) sum += row[8 * k + 7 - j] * weights[3 * k + j];
    to[i] = sum;
}

kernel void monte_carlo(global uint *restrict to, int points) {
    size_t i = get_global_id(0);
    ulong state = ((ulong)i + 1) * 0x9e3779b97f4a7c15ul;
    uint count = 0;
    for (int point = 0; point < points; point++) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        ulong bits = state * 0x2545f4914f6cdd1dul;
        float x = (float)(bits >> 40) / 16777216.0f, y = (float)(bits & 0xffffff) / 16777216.0f;
        if (x * x + y * y < 1.0f) count++;
    }
    to[i] = count;
}

kernel void collatz(global uint *restrict to) {
    size_t i = get_global_id(0);
    ulong number = (ulong)i + 1;
    uint count = 0;
    while (number != 1) {
        number = number % 2 == 0 ? number / 2 : 3 * number + 1;
        count++;
    }
    to[i] = count;
}

kernel void crc(global const uint *restrict table, global uint *restrict to) {
    size_t i = get_global_id(0);
    uint state = (uint)i | 1, rest = ~0u;
    for (int word = 0; word < 64; word++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        for (int byte = 0; byte < 4; byte++) rest = rest >> 8 ^ table[(rest ^ state >> (8 * byte)) & 0xff];
    }
    to[i] = ~rest;
}

#define WORD 32

kernel void edit_distance(global const uchar *restrict a, global const uchar *restrict b, global uint *restrict to) {
    size_t at = get_global_id(0);
    uint row[WORD + 1];
    for (int j = 0; j <= WORD; j++) row[j] = j;
    for (int i = 0; i < WORD; i++) {
        uchar x = a[WORD * at + i];
        uint diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < WORD; j++) {
            uint changed = diagonal + (x != b[WORD * at + j]);
            diagonal = row[j + 1];
            row[j + 1] = min(min(changed, row[j] + 1), diagonal + 1);
        }
    }
    to[at] = row[WORD];
}

#define SORTED 512

kernel void bitonic(global const uint *restrict from, global uint *restrict to) {
    local uint tile[SORTED];
    int own = get_local_id(0);
    size_t first = get_group_id(0) * SORTED;
    tile[own] = from[first + own];
    tile[own + SORTED / 2] = from[first + own + SORTED / 2];
    for (int size = 2; size <= SORTED; size *= 2) {
        for (int distance = size / 2; distance > 0; distance /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            int low = 2 * own - own % distance;
            uint a = tile[low], b = tile[low + distance];
            bool is_up = (low & size) == 0;
            if ((a > b) == is_up) {
                tile[low] = b;
                tile[low + distance] = a;
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    to[first + own] = tile[own];
    to[first + own + SORTED / 2] = tile[own + SORTED / 2];
}

#define POINTS 256

kernel void fft(global const float *restrict from, global const float *restrict factors, global float *restrict to) {
    local float re[POINTS], im[POINTS];
    int own = get_local_id(0);
    size_t first = get_group_id(0) * POINTS;
    for (int place = own; place < POINTS; place += POINTS / 2) {
        uint reversed = 0;
        for (int bit = 0; bit < 8; bit++) reversed |= (place >> bit & 1) << (7 - bit);
        re[place] = from[first + reversed];
        im[place] = 0.0f;
    }
    for (int half_size = 1; half_size < POINTS; half_size *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        int k = own % half_size, low = 2 * own - k, high = low + half_size, factor = k * (POINTS / 2 / half_size);
        float cosine = factors[factor], sine = factors[POINTS / 2 + factor];
        float x = re[high] * cosine - im[high] * sine, y = re[high] * sine + im[high] * cosine;
        float a = re[low], b = im[low];
        re[high] = a - x;
        im[high] = b - y;
        re[low] = a + x;
        im[low] = b + y;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int place = own; place < POINTS; place += POINTS / 2) to[first + place] = re[place] * re[place] + im[place] * im[place];
}

#define DIMENSIONS 8

kernel void kmeans(global const float *restrict points, global const float *restrict centres, global uint *restrict to, int count) {
    size_t i = get_global_id(0);
    float least = INFINITY;
    uint nearest = 0;
    for (int centre = 0; centre < count; centre++) {
        float distance = -0.0f;
        for (int k = 0; k < DIMENSIONS; k++) {
            float difference = points[DIMENSIONS * i + k] - centres[DIMENSIONS * centre + k];
            distance += difference * difference;
        }
        if (distance < least) {
            least = distance;
            nearest = centre;
        }
    }
    to[i] = nearest;
}
