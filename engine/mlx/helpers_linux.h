#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

// Helpers are threads that share work with the thread that has it. They live as long as the process
// does, because a thread takes longer to start than most products take.
class Helpers {
public:
	static Helpers& all() {
		static Helpers* helpers = new Helpers;
		return *helpers;
	}

	// most returns on how many threads work may be shared: one for each core, and no more than OpenBLAS
	// may have.
	static int most() {
		const int cores = std::max<int>(std::thread::hardware_concurrency(), 1);
		const char* text = std::getenv("OPENBLAS_NUM_THREADS");
		const int given = text != nullptr ? std::atoi(text) : 0;
		return given > 0 ? std::min(given, cores) : cores;
	}

	// share calls work(i) for each i below items, which may not throw. A caller that finds the helpers
	// with another one works alone.
	template <class Work>
	void share(int items, const Work& work) noexcept {
		std::unique_lock mine(caller_, std::try_to_lock);
		if (!mine || count_ == 0 || items < 2) {
			for (int i = 0; i < items; i++)
				work(i);
			return;
		}
		std::atomic<int> next{0};
		auto take = [&] {
			for (int i; (i = next.fetch_add(1, std::memory_order_relaxed)) < items;)
				work(i);
		};
		{
			std::lock_guard lock(mutex_);
			call_ = [](const void* t) { (*static_cast<const decltype(take)*>(t))(); };
			work_ = &take;
		}
		round_.fetch_add(1);
		round_.notify_all();
		take();
		{
			std::lock_guard lock(mutex_);
			work_ = nullptr; // who comes now is too late
		}
		for (int i = 0; busy_.load() > 0; i++)
			i < spins ? pause() : std::this_thread::yield();
	}

private:
	static constexpr int spins = 4000; // about 100 microseconds, longer than products lie apart

	Helpers() {
		const int threads = most();
		try {
			for (; count_ + 1 < threads; count_++)
				std::thread([this] { help(); }).detach();
		} catch (const std::exception&) {
			// The threads that began are all there are.
		}
	}

	static void pause() {
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	}

	[[noreturn]] void help() {
		for (uint32_t seen = 0;;) {
			for (int i = 0; i < spins && round_.load(std::memory_order_relaxed) == seen; i++)
				pause();
			round_.wait(seen);
			seen = round_.load();
			const void* work;
			{
				std::lock_guard lock(mutex_);
				work = work_;
				if (work != nullptr)
					busy_.fetch_add(1);
			}
			if (work != nullptr) {
				call_(work);
				busy_.fetch_sub(1);
			}
		}
	}

	std::mutex caller_; // held by the thread that has the helpers
	std::mutex mutex_; // of work_ and call_
	const void* work_ = nullptr;
	void (*call_)(const void*) = nullptr;
	std::atomic<int> busy_{0};
	std::atomic<uint32_t> round_{0};
	int count_ = 0;
};
