// Prices of European options by the formula of Black and Scholes, with a polynomial for the normal distribution.
#pragma once

#include "measure.cuh"

namespace black_scholes {

__device__ inline float normal(float d) {
    const float t = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float polynomial = t * 1.3302744f;
    polynomial = t * (-1.8212559f + polynomial);
    polynomial = t * (1.7814779f + polynomial);
    polynomial = t * (-0.35656378f + polynomial);
    polynomial = t * (0.31938154f + polynomial);
    const float tail = 0.3989423f * expf(-0.5f * d * d) * polynomial;
    return d > 0.0f ? 1.0f - tail : tail;
}

__global__ void prices_kernel(float* __restrict__ call, float* __restrict__ put, const float* __restrict__ prices,
                              const float* __restrict__ strikes, const float* __restrict__ times, int n) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    const float interest = 0.02f, volatility = 0.30f;
    const float price = prices[i], strike = strikes[i], years = times[i];
    const float root = sqrtf(years);
    const float d1 = (logf(price / strike) + (interest + 0.5f * volatility * volatility) * years) / (volatility * root);
    const float d2 = d1 - volatility * root;
    const float n1 = normal(d1), n2 = normal(d2);
    const float discounted = strike * expf(-interest * years);
    call[i] = price * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - price * (1.0f - n1);
}

inline void run(Bench& bench) {
    if (!bench.settings.wants("black_scholes")) return;
    const size_t n = bench.settings.size(size_t(1) << 25, 1 << 14);
    Buffer<float> price(between(23u << 20, n, 5.0f, 30.0f)), strike(between(29u << 20, n, 1.0f, 100.0f));
    Buffer<float> years(between(31u << 20, n, 0.25f, 10.0f)), call(n), put(n);
    auto times = bench.time([&](Launches& launch) {
        launch([&] {
            prices_kernel<<<unsigned((n + 255) / 256), 256>>>(call.data, put.data, price.data, strike.data, years.data, int(n));
        });
    });
    bench.report({"black_scholes", "f32", n, 20 * n}, times, call);
}

}  // namespace black_scholes
