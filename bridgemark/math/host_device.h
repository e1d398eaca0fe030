#pragma once

// Marks scalar mathematics that the oracle, the CPU kernels and the CUDA kernels share.
#ifdef __CUDACC__
#define BM_HD __host__ __device__
#else
#define BM_HD
#endif
