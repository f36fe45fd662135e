// Kernels that no pass was made for, as one writes them in CUDA: benches/src/bin/gpu_schism/breadth has the same, in safe Rust.
#pragma once

#include "breadth_groups.cuh"
#include "breadth_items.cuh"

namespace breadth {

inline void run(Bench& bench) {
    items::run(bench);
    groups::run(bench);
}

}  // namespace breadth
