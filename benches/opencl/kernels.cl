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
