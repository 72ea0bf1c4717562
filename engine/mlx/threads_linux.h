#pragma once

#include <algorithm>
#include <cstdlib>
#include <thread>

// tandem_threads returns on how many threads an operation of our own may work: one for each core,
// and no more than OpenBLAS may have.
inline int tandem_threads() {
	const int cores = std::max<int>(std::thread::hardware_concurrency(), 1);
	const char* text = std::getenv("OPENBLAS_NUM_THREADS");
	const int most = text != nullptr ? std::atoi(text) : 0;
	return most > 0 ? std::min(most, cores) : cores;
}
