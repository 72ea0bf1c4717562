#pragma once

// Memory in pages of 2 MiB, where the system has them, for arrays that are read whole for each token. In pages of 4 KiB
// a reader waits for the address of each, and the processor does not read ahead beyond one.

#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>

#include <sys/mman.h>

#include "mlx/allocator.h"

// LargePages has regions, each of an array or of several small ones. A region goes back to the system with its last
// array.
class LargePages {
public:
	static LargePages& all() {
		static LargePages* pages = new LargePages;
		return *pages;
	}

	// take returns memory at a multiple of 64 bytes. It throws std::bad_alloc.
	mlx::core::allocator::Data take(size_t bytes) {
		const std::lock_guard lock(mutex_);
		const size_t need = (before + bytes + align - 1) / align * align;
		const bool small = need <= region / 2;
		if (small && (current_ == nullptr || current_->used + need > current_->size))
			current_ = new Region(region);
		Region* r = small ? current_ : new Region(need);
		const size_t at = r->used;
		char* data = r->begin + at + before;
		r->used += need;
		r->arrays++;
		bytes_ += need;
		size_t* header = reinterpret_cast<size_t*>(data) - 1; // where MLX looks for the size
		*header = bytes;
		return {mlx::core::allocator::Buffer(header),
			[this, r, at, need](mlx::core::allocator::Buffer) { give(r, at, need); }};
	}

	// bytes returns how many are taken.
	size_t bytes() const { return bytes_; }

private:
	static constexpr size_t page = 2 << 20, region = 8 * page, align = 64, before = align;

	struct Region {
		char* begin;
		size_t size, used = 0;
		int arrays = 0;

		explicit Region(size_t bytes) : size((bytes + page - 1) / page * page) {
			void* all = mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (all == MAP_FAILED)
				throw std::bad_alloc();
			const size_t skipped = -reinterpret_cast<size_t>(all) % page;
			begin = static_cast<char*>(all) + skipped;
			if (skipped > 0)
				munmap(all, skipped);
			munmap(begin + size, page - skipped);
			madvise(begin, size, MADV_HUGEPAGE); // if there are none, those that there are
		}
		~Region() { munmap(begin, size); }
	};

	void give(Region* r, size_t at, size_t need) {
		const std::lock_guard lock(mutex_);
		bytes_ -= need;
		if (at + need == r->used) // the next one takes its place
			r->used = at;
		if (--r->arrays > 0)
			return;
		if (r == current_)
			current_ = nullptr;
		delete r;
	}

	std::mutex mutex_;
	Region* current_ = nullptr; // that small arrays go to
	std::atomic<size_t> bytes_{0};
};
