// The kernels of `cargo schism bench cpu` for OpenCL.
//
// Same operations in the same order as the Rust functions in benches/src/items.rs and as the
// kernels in benches/src/bin/cpu_schism, without contraction and without fast mathematics; `exp`
// and `log` are the device's own. Sizes are those of benches/src/cpu.

#pragma OPENCL FP_CONTRACT OFF

#define WIDTH 1024
#define HEIGHT 768
#define SIDE 512
#define TILE 16
#define GROUP 256

kernel void saxpy(global const float *restrict x, global float *restrict y) {
    size_t i = get_global_id(0);
    y[i] += 0.5f * x[i];
}

kernel void triad(global const float *restrict b, global const float *restrict c,
                  global float *restrict a) {
    size_t i = get_global_id(0);
    a[i] = b[i] + 3.0f * c[i];
}

kernel void mandelbrot(global uint *restrict out) {
    uint i = get_global_id(0);
    float x = (float)(i % WIDTH) / 1024.0f * 3.0f - 2.0f;
    float y = (float)(i / WIDTH) / 768.0f * 2.0f - 1.0f;
    float a = x, b = y;
    uint n;
    for (n = 0; n < 256; ++n) {
        if (a * a + b * b > 4.0f) break;
        float next = a * a - b * b + x;
        b = 2.0f * a * b + y;
        a = next;
    }
    out[i] = n;
}

typedef struct {
    float position[3];
    float mass;
    float velocity[3];
} Body;

kernel void nbody(global const Body *restrict bodies, global Body *restrict out) {
    size_t i = get_global_id(0);
    Body own = bodies[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int k = 0; k < 4096; ++k) {
        float x = bodies[k].position[0] - own.position[0];
        float y = bodies[k].position[1] - own.position[1];
        float z = bodies[k].position[2] - own.position[2];
        float squared = x * x + y * y + z * z + 0.01f;
        float pull = bodies[k].mass / (squared * sqrt(squared));
        ax += x * pull;
        ay += y * pull;
        az += z * pull;
    }
    own.velocity[0] += ax * 0.001f;
    own.velocity[1] += ay * 0.001f;
    own.velocity[2] += az * 0.001f;
    for (int axis = 0; axis < 3; ++axis) own.position[axis] += own.velocity[axis] * 0.001f;
    out[i] = own;
}

float normal_distribution(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float poly = k * (0.31938154f + k * (-0.35656378f + k * (1.7814779f
               + k * (-1.821256f + k * 1.3302745f))));
    float tail = 0.3989423f * exp(-0.5f * d * d) * poly;
    return d > 0.0f ? 1.0f - tail : tail;
}

kernel void black_scholes(global const float *restrict prices, global const float *restrict strikes,
                          global const float *restrict years, global float2 *restrict out) {
    size_t i = get_global_id(0);
    float price = prices[i], strike = strikes[i], t = years[i];
    float root = sqrt(t);
    float d1 = (log(price / strike) + (0.02f + 0.5f * 0.3f * 0.3f) * t) / (0.3f * root);
    float d2 = d1 - 0.3f * root;
    float n1 = normal_distribution(d1), n2 = normal_distribution(d2);
    float discounted = strike * exp(-0.02f * t);
    out[i] = (float2)(price * n1 - discounted * n2,
                      discounted * (1.0f - n2) - price * (1.0f - n1));
}

// The picture of the filter.
#define ACROSS 2048
#define DOWN 1536

kernel void luminance(global const uchar *restrict pixels, global const float *restrict weights,
                      global float *restrict gray, global float *restrict smooth,
                      global uchar *restrict edges) {
    size_t i = get_global_id(0);
    gray[i] = 0.2126f * pixels[3 * i] + 0.7152f * pixels[3 * i + 1] + 0.0722f * pixels[3 * i + 2];
}

kernel void blur_x(global const uchar *restrict pixels, global const float *restrict weights,
                   global float *restrict gray, global float *restrict smooth,
                   global uchar *restrict edges) {
    int x = get_global_id(0), y = get_global_id(1);
    global const float *from = gray + y * ACROSS;
    float sum = weights[0] * from[x];
    for (int d = 1; d <= 5; ++d)
        sum += weights[d] * (from[min(x + d, ACROSS - 1)] + from[max(x - d, 0)]);
    smooth[y * ACROSS + x] = sum;
}

kernel void blur_y(global const uchar *restrict pixels, global const float *restrict weights,
                   global float *restrict gray, global float *restrict smooth,
                   global uchar *restrict edges) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = weights[0] * smooth[y * ACROSS + x];
    for (int d = 1; d <= 5; ++d)
        sum += weights[d] * (smooth[min(y + d, DOWN - 1) * ACROSS + x]
                             + smooth[max(y - d, 0) * ACROSS + x]);
    gray[y * ACROSS + x] = sum;
}

kernel void sobel(global const uchar *restrict pixels, global const float *restrict weights,
                  global float *restrict gray, global float *restrict smooth,
                  global uchar *restrict edges) {
    int x = get_global_id(0), y = get_global_id(1);
    global const float *above = gray + max(y - 1, 0) * ACROSS;
    global const float *here = gray + y * ACROSS;
    global const float *below = gray + min(y + 1, DOWN - 1) * ACROSS;
    int left = max(x - 1, 0), right = min(x + 1, ACROSS - 1);
    float gx = (above[right] + 2.0f * here[right] + below[right])
             - (above[left] + 2.0f * here[left] + below[left]);
    float gy = (below[left] + 2.0f * below[x] + below[right])
             - (above[left] + 2.0f * above[x] + above[right]);
    float strength = sqrt(gx * gx + gy * gy);
    uint red = 0, green = 0, blue = 0;
    if (strength != 0.0f) {
        float a = gx / strength, b = gy / strength;
        float p1 = -0.5f * a + 0.866f * b, p2 = -0.5f * a - 0.866f * b;
        red = (int)min(strength * (0.55f + 0.45f * a), 255.0f);
        green = (int)min(strength * (0.55f + 0.45f * p1), 255.0f);
        blue = (int)min(strength * (0.55f + 0.45f * p2), 255.0f);
    }
    vstore3((uchar3)(red, green, blue), y * ACROSS + x, edges);
}

kernel void convolution(global const float *restrict picture, constant float *weights,
                        global float *restrict out) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int dy = 0; dy < 5; ++dy) {
        int row = clamp(y + dy - 2, 0, HEIGHT - 1);
        for (int dx = 0; dx < 5; ++dx)
            sum += weights[dy * 5 + dx] * picture[row * WIDTH + clamp(x + dx - 2, 0, WIDTH - 1)];
    }
    out[y * WIDTH + x] = sum;
}

kernel void ray_spheres(global const float4 *restrict spheres, global float *restrict out) {
    uint i = get_global_id(0);
    float x = (float)(i % WIDTH) / 1024.0f - 0.5f;
    float y = (float)(i / WIDTH) / 768.0f - 0.5f;
    float len = sqrt(x * x + y * y + 1.0f);
    float rx = x / len, ry = y / len, rz = 1.0f / len;
    float nearest = FLT_MAX;
    float4 hit = 0.0f;
    for (int k = 0; k < 32; ++k) {
        float4 s = spheres[k];
        float along = s.x * rx + s.y * ry + s.z * rz;
        float apart = s.x * s.x + s.y * s.y + s.z * s.z - along * along;
        float inside = s.w * s.w - apart;
        if (inside > 0.0f) {
            float t = along - sqrt(inside);
            if (t > 0.001f && t < nearest) {
                nearest = t;
                hit = s;
            }
        }
    }
    if (nearest == FLT_MAX) {
        out[i] = 0.1f + 0.2f * y;
    } else {
        float nx = (rx * nearest - hit.x) / hit.w;
        float ny = (ry * nearest - hit.y) / hit.w;
        float nz = (rz * nearest - hit.z) / hit.w;
        float light = nx * 0.57f + ny * -0.57f + nz * -0.57f;
        out[i] = light > 0.0f ? light : 0.0f;
    }
}

constant uint ROUNDS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2 };

#define ROTR(v, n) rotate((v), (uint)(32 - (n)))

kernel void sha256(global uint *restrict out) {
    uint i = get_global_id(0);
    uint w[64];
    for (int t = 0; t < 16; ++t) w[t] = 0;
    w[0] = i;
    w[1] = 0x80000000;
    w[15] = 32;
    for (int t = 16; t < 64; ++t) {
        uint a = w[t - 15], b = w[t - 2];
        uint s0 = ROTR(a, 7) ^ ROTR(a, 18) ^ (a >> 3);
        uint s1 = ROTR(b, 17) ^ ROTR(b, 19) ^ (b >> 10);
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    uint a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a;
    uint e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
    for (int t = 0; t < 64; ++t) {
        uint s1 = ROTR(e, 6) ^ ROTR(e, 11) ^ ROTR(e, 25);
        uint t1 = h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[t] + w[t];
        uint s0 = ROTR(a, 2) ^ ROTR(a, 13) ^ ROTR(a, 22);
        uint t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    out[i] = a + 0x6a09e667;
}

kernel void binary_search(global const uint *restrict keys, global const uint *restrict table,
                          global uint *restrict out) {
    size_t i = get_global_id(0);
    uint key = keys[i];
    int low = 0, high = 1 << 20;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (table[middle] < key) low = middle + 1;
        else high = middle;
    }
    out[i] = low;
}

kernel void spmv(global const uint *restrict starts, global const uint *restrict columns,
                 global const float *restrict values, global const float *restrict x,
                 global float *restrict out) {
    size_t row = get_global_id(0);
    float sum = 0.0f;
    uint last = starts[row + 1];
    for (uint k = starts[row]; k < last; ++k) sum += values[k] * x[columns[k]];
    out[row] = sum;
}

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void sgemm(global const float *restrict a, global const float *restrict b,
           global float *restrict c) {
    local float at[TILE][TILE], bt[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (int first = 0; first < SIDE; first += TILE) {
        at[y][x] = a[row * SIDE + first + x];
        bt[y][x] = b[(first + y) * SIDE + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; ++k) sum += at[y][k] * bt[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * SIDE + column] = sum;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduction(global const uint *restrict from, global uint *restrict sums) {
    local uint tile[GROUP];
    uint i = get_local_id(0);
    tile[i] = from[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = GROUP / 2; half_size > 0; half_size /= 2) {
        if (i < half_size) tile[i] += tile[i + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i == 0) sums[get_group_id(0)] = tile[0];
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan(global const uint *restrict from, global uint *restrict to) {
    local uint one[GROUP], two[GROUP];
    local uint *tile = one, *other = two;
    uint i = get_local_id(0);
    tile[i] = from[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint distance = 1; distance < GROUP; distance *= 2) {
        uint before = i >= distance ? tile[i - distance] : 0;
        other[i] = tile[i] + before;
        barrier(CLK_LOCAL_MEM_FENCE);
        local uint *swapped = tile;
        tile = other;
        other = swapped;
    }
    to[get_global_id(0)] = tile[i];
}

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void transpose(global const float *restrict a, global float *restrict c) {
    local float tile[TILE][TILE + 1];
    int x = get_local_id(0), y = get_local_id(1);
    tile[y][x] = a[get_global_id(1) * SIDE + get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    int row = get_group_id(0) * TILE + y, column = get_group_id(1) * TILE + x;
    c[row * SIDE + column] = tile[x][y];
}

kernel void clear(global const uint *restrict words, global uint *restrict counts) {
    counts[get_global_id(0)] = 0;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void histogram(global const uint *restrict words, global uint *restrict counts) {
    local uint bins[256];
    uint lane = get_local_id(0);
    bins[lane] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < 1 << 20; i += get_global_size(0)) {
        uint word = words[i];
        atomic_inc(&bins[word & 255]);
        atomic_inc(&bins[(word >> 8) & 255]);
        atomic_inc(&bins[(word >> 16) & 255]);
        atomic_inc(&bins[word >> 24]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&counts[lane], bins[lane]);
}

// A launch of nothing to do.
kernel void add_two(global uint *restrict values) { values[get_global_id(0)] += 2; }
