// The kernels of `cargo schism bench cpu` for ISPC, each over a part of its range.
//
// Same operations in the same order as the Rust functions in benches/src/items.rs, without FMA and
// without fast mathematics; `exp` and `log` are ISPC's own. Sizes are those of benches/src/cpu.

static const uniform int WIDTH = 1024;
static const uniform int HEIGHT = 768;
static const uniform int SIDE = 512;
static const uniform int GROUP = 256;

export void saxpy(uniform int begin, uniform int end, const uniform float x[], uniform float y[]) {
    foreach (i = begin ... end) y[i] += 0.5f * x[i];
}

export void triad(uniform int begin, uniform int end, const uniform float b[],
                  const uniform float c[], uniform float a[]) {
    foreach (i = begin ... end) a[i] = b[i] + 3.0f * c[i];
}

export void mandelbrot(uniform int begin, uniform int end, uniform unsigned int out[]) {
    foreach (i = begin ... end) {
        float x = (float)(i % WIDTH) / 1024.0f * 3.0f - 2.0f;
        float y = (float)(i / WIDTH) / 768.0f * 2.0f - 1.0f;
        float a = x, b = y;
        unsigned int n;
        for (n = 0; n < 256; ++n) {
            if (a * a + b * b > 4.0f) break;
            float next = a * a - b * b + x;
            b = 2.0f * a * b + y;
            a = next;
        }
        out[i] = n;
    }
}

struct Body {
    float position[3];
    float mass;
    float velocity[3];
};

export void nbody(uniform int begin, uniform int end, const uniform Body bodies[],
                  uniform Body out[]) {
    foreach (i = begin ... end) {
        Body own = bodies[i];
        float ax = 0.0f, ay = 0.0f, az = 0.0f;
        for (uniform int k = 0; k < 4096; ++k) {
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
        for (uniform int axis = 0; axis < 3; ++axis)
            own.position[axis] += own.velocity[axis] * 0.001f;
        out[i] = own;
    }
}

static inline float normal(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * abs(d));
    float poly = k * (0.31938154f + k * (-0.35656378f + k * (1.7814779f
               + k * (-1.821256f + k * 1.3302745f))));
    float tail = 0.3989423f * exp(-0.5f * d * d) * poly;
    return d > 0.0f ? 1.0f - tail : tail;
}

export void black_scholes(uniform int begin, uniform int end, const uniform float prices[],
                          const uniform float strikes[], const uniform float years[],
                          uniform float out[]) {
    foreach (i = begin ... end) {
        float price = prices[i], strike = strikes[i], t = years[i];
        float root = sqrt(t);
        float d1 = (log(price / strike) + (0.02f + 0.5f * 0.3f * 0.3f) * t) / (0.3f * root);
        float d2 = d1 - 0.3f * root;
        float n1 = normal(d1), n2 = normal(d2);
        float discounted = strike * exp(-0.02f * t);
        out[2 * i] = price * n1 - discounted * n2;
        out[2 * i + 1] = discounted * (1.0f - n2) - price * (1.0f - n1);
    }
}

// The picture of the filter.
static const uniform int ACROSS = 2048;
static const uniform int DOWN = 1536;

export void luminance(uniform int begin, uniform int end, const uniform unsigned int8 pixels[],
                      const uniform float weights[], uniform float gray[], uniform float smooth[],
                      uniform unsigned int8 edges[]) {
    foreach (i = begin ... end)
        gray[i] = 0.2126f * (float)pixels[3 * i] + 0.7152f * (float)pixels[3 * i + 1]
                + 0.0722f * (float)pixels[3 * i + 2];
}

export void blur_x(uniform int begin, uniform int end, const uniform unsigned int8 pixels[],
                   const uniform float weights[], uniform float gray[], uniform float smooth[],
                   uniform unsigned int8 edges[]) {
    for (uniform int row = begin / ACROSS; row < end / ACROSS; ++row) {
        const uniform float * uniform from = gray + row * ACROSS;
        foreach (x = 0 ... ACROSS) {
            float sum = weights[0] * from[x];
            for (uniform int d = 1; d <= 5; ++d)
                sum += weights[d] * (from[min(x + d, ACROSS - 1)] + from[max(x - d, 0)]);
            smooth[row * ACROSS + x] = sum;
        }
    }
}

export void blur_y(uniform int begin, uniform int end, const uniform unsigned int8 pixels[],
                   const uniform float weights[], uniform float gray[], uniform float smooth[],
                   uniform unsigned int8 edges[]) {
    for (uniform int row = begin / ACROSS; row < end / ACROSS; ++row) {
        foreach (x = 0 ... ACROSS) {
            float sum = weights[0] * smooth[row * ACROSS + x];
            for (uniform int d = 1; d <= 5; ++d)
                sum += weights[d] * (smooth[min(row + d, DOWN - 1) * ACROSS + x]
                                     + smooth[max(row - d, 0) * ACROSS + x]);
            gray[row * ACROSS + x] = sum;
        }
    }
}

export void sobel(uniform int begin, uniform int end, const uniform unsigned int8 pixels[],
                  const uniform float weights[], uniform float gray[], uniform float smooth[],
                  uniform unsigned int8 edges[]) {
    for (uniform int row = begin / ACROSS; row < end / ACROSS; ++row) {
        const uniform float * uniform above = gray + max(row - 1, 0) * ACROSS;
        const uniform float * uniform here = gray + row * ACROSS;
        const uniform float * uniform below = gray + min(row + 1, DOWN - 1) * ACROSS;
        foreach (x = 0 ... ACROSS) {
            int left = max(x - 1, 0), right = min(x + 1, ACROSS - 1);
            float gx = (above[right] + 2.0f * here[right] + below[right])
                     - (above[left] + 2.0f * here[left] + below[left]);
            float gy = (below[left] + 2.0f * below[x] + below[right])
                     - (above[left] + 2.0f * above[x] + above[right]);
            float strength = sqrt(gx * gx + gy * gy);
            int i = 3 * (row * ACROSS + x);
            if (strength == 0.0f) {
                edges[i] = 0;
                edges[i + 1] = 0;
                edges[i + 2] = 0;
            } else {
                float a = gx / strength, b = gy / strength;
                float p1 = -0.5f * a + 0.866f * b, p2 = -0.5f * a - 0.866f * b;
                edges[i] = (int)min(strength * (0.55f + 0.45f * a), 255.0f);
                edges[i + 1] = (int)min(strength * (0.55f + 0.45f * p1), 255.0f);
                edges[i + 2] = (int)min(strength * (0.55f + 0.45f * p2), 255.0f);
            }
        }
    }
}

export void convolution(uniform int begin, uniform int end, const uniform float picture[],
                        const uniform float weights[], uniform float out[]) {
    for (uniform int y = begin / WIDTH; y < end / WIDTH; ++y) {
        foreach (x = 0 ... WIDTH) {
            float sum = 0.0f;
            for (uniform int dy = 0; dy < 5; ++dy) {
                uniform int row = clamp(y + dy - 2, 0, HEIGHT - 1);
                for (uniform int dx = 0; dx < 5; ++dx)
                    sum += weights[dy * 5 + dx]
                         * picture[row * WIDTH + clamp(x + dx - 2, 0, WIDTH - 1)];
            }
            out[y * WIDTH + x] = sum;
        }
    }
}

export void ray_spheres(uniform int begin, uniform int end, const uniform float spheres[],
                        uniform float out[]) {
    foreach (i = begin ... end) {
        float x = (float)(i % WIDTH) / 1024.0f - 0.5f;
        float y = (float)(i / WIDTH) / 768.0f - 0.5f;
        float length = sqrt(x * x + y * y + 1.0f);
        float rx = x / length, ry = y / length, rz = 1.0f / length;
        float nearest = 3.40282347e+38f;
        float hx = 0.0f, hy = 0.0f, hz = 0.0f, hr = 0.0f;
        for (uniform int k = 0; k < 32; ++k) {
            uniform float cx = spheres[4 * k], cy = spheres[4 * k + 1], cz = spheres[4 * k + 2];
            uniform float radius = spheres[4 * k + 3];
            float along = cx * rx + cy * ry + cz * rz;
            float apart = cx * cx + cy * cy + cz * cz - along * along;
            float inside = radius * radius - apart;
            if (inside > 0.0f) {
                float t = along - sqrt(inside);
                if (t > 0.001f && t < nearest) {
                    nearest = t;
                    hx = cx;
                    hy = cy;
                    hz = cz;
                    hr = radius;
                }
            }
        }
        if (nearest == 3.40282347e+38f) {
            out[i] = 0.1f + 0.2f * y;
        } else {
            float nx = (rx * nearest - hx) / hr;
            float ny = (ry * nearest - hy) / hr;
            float nz = (rz * nearest - hz) / hr;
            float light = nx * 0.57f + ny * -0.57f + nz * -0.57f;
            out[i] = light > 0.0f ? light : 0.0f;
        }
    }
}

static const uniform unsigned int ROUNDS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2 };

static inline unsigned int rotr(unsigned int v, uniform int n) {
    return (v >> n) | (v << (32 - n));
}

export void sha256(uniform int begin, uniform int end, uniform unsigned int out[]) {
    foreach (i = begin ... end) {
        unsigned int w[64];
        for (uniform int t = 0; t < 16; ++t) w[t] = 0;
        w[0] = i;
        w[1] = 0x80000000;
        w[15] = 32;
        for (uniform int t = 16; t < 64; ++t) {
            unsigned int a = w[t - 15], b = w[t - 2];
            unsigned int s0 = rotr(a, 7) ^ rotr(a, 18) ^ (a >> 3);
            unsigned int s1 = rotr(b, 17) ^ rotr(b, 19) ^ (b >> 10);
            w[t] = w[t - 16] + s0 + w[t - 7] + s1;
        }
        unsigned int a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a;
        unsigned int e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
        for (uniform int t = 0; t < 64; ++t) {
            unsigned int s1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
            unsigned int t1 = h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[t] + w[t];
            unsigned int s0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
            unsigned int t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
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
}

export void binary_search(uniform int begin, uniform int end, const uniform unsigned int keys[],
                          const uniform unsigned int table[], uniform unsigned int out[]) {
    foreach (i = begin ... end) {
        unsigned int key = keys[i];
        int low = 0, high = 1 << 20;
        while (low < high) {
            int middle = low + (high - low) / 2;
            if (table[middle] < key) low = middle + 1;
            else high = middle;
        }
        out[i] = low;
    }
}

export void spmv(uniform int begin, uniform int end, const uniform unsigned int starts[],
                 const uniform unsigned int columns[], const uniform float values[],
                 const uniform float x[], uniform float out[]) {
    foreach (row = begin ... end) {
        float sum = 0.0f;
        int last = starts[row + 1];
        for (int k = starts[row]; k < last; ++k) sum += values[k] * x[columns[k]];
        out[row] = sum;
    }
}

// Four rows at once, in registers.
export void sgemm(uniform int begin, uniform int end, const uniform float a[],
                  const uniform float b[], uniform float c[]) {
    for (uniform int row = begin / SIDE; row < end / SIDE; row += 4) {
        foreach (column = 0 ... SIDE) {
            float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
            for (uniform int k = 0; k < SIDE; ++k) {
                float v = b[k * SIDE + column];
                s0 += a[row * SIDE + k] * v;
                s1 += a[(row + 1) * SIDE + k] * v;
                s2 += a[(row + 2) * SIDE + k] * v;
                s3 += a[(row + 3) * SIDE + k] * v;
            }
            c[row * SIDE + column] = s0;
            c[(row + 1) * SIDE + column] = s1;
            c[(row + 2) * SIDE + column] = s2;
            c[(row + 3) * SIDE + column] = s3;
        }
    }
}

export void reduction(uniform int begin, uniform int end, const uniform unsigned int from[],
                      uniform unsigned int sums[]) {
    for (uniform int group = begin / GROUP; group < end / GROUP; ++group) {
        unsigned int sum = 0;
        foreach (i = group * GROUP ... (group + 1) * GROUP) sum += from[i];
        sums[group] = (uniform unsigned int)reduce_add(sum);
    }
}

export void scan(uniform int begin, uniform int end, const uniform unsigned int from[],
                 uniform unsigned int to[]) {
    for (uniform int group = begin / GROUP; group < end / GROUP; ++group) {
        uniform unsigned int before = 0;
        foreach (i = group * GROUP ... (group + 1) * GROUP) {
            unsigned int value = from[i];
            unsigned int sum = exclusive_scan_add(value) + value + before;
            to[i] = sum;
            before = extract(sum, programCount - 1);
        }
    }
}

export void transpose(uniform int begin, uniform int end, const uniform float a[],
                      uniform float c[]) {
    for (uniform int first = begin / SIDE; first < end / SIDE; first += 16)
        for (uniform int column = 0; column < SIDE; column += 16)
            for (uniform int row = first; row < first + 16; ++row)
                foreach (x = column ... column + 16) c[row * SIDE + x] = a[x * SIDE + row];
}

// Each lane has counts of its own.
export void histogram(uniform int begin, uniform int end, const uniform unsigned int words[],
                      uniform unsigned int counts[]) {
    unsigned int bins[256];
    for (uniform int bin = 0; bin < 256; ++bin) bins[bin] = 0;
    foreach (i = begin ... end) {
        unsigned int word = words[i];
        ++bins[word & 255];
        ++bins[(word >> 8) & 255];
        ++bins[(word >> 16) & 255];
        ++bins[word >> 24];
    }
    for (uniform int bin = 0; bin < 256; ++bin) {
        uniform unsigned int sum = (uniform unsigned int)reduce_add(bins[bin]);
        atomic_add_global(&counts[bin], sum);
    }
}

export void clear(uniform int begin, uniform int end, const uniform unsigned int words[],
                  uniform unsigned int counts[]) {
    foreach (i = begin ... end) counts[i] = 0;
}

// A launch of nothing to do.
export void add_two(uniform int begin, uniform int end, uniform unsigned int values[]) {
    foreach (i = begin ... end) values[i] += 2;
}
