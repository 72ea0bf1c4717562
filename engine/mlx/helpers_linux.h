#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include <pthread.h>

// Helpers are threads that share work with the thread that has it. They live as long as the process
// does, because a thread takes longer to start than most products take.
class Helpers {
public:
	static Helpers& all() {
		static Helpers* helpers = new Helpers;
		return *helpers;
	}

	// share calls work(i) for each i below items, which may not throw, on at most so many threads. A
	// caller that finds the helpers with another one works alone.
	template <class Work>
	void share(int threads, int items, const Work& work) noexcept {
		std::unique_lock mine(caller_, std::try_to_lock);
		if (mine && threads > 1 && items > 1)
			start(threads - 1);
		if (!mine || threads < 2 || items < 2 || count_ == 0) {
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
			wanted_ = threads - 1;
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

	Helpers() = default;

	// start starts helpers until there are so many.
	void start(int helpers) noexcept {
		try {
			for (; asked_ < helpers; count_++)
				std::thread([this, own = asked_++] { help(own); }).detach();
		} catch (const std::exception&) {
			asked_ = helpers; // those that began are all there are
		}
	}

	// name gives the thread a name that tools show.
	static void name() { pthread_setname_np(pthread_self(), "mlx-helper"); }

	static void pause() {
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	}

	// help does the work of all rounds for which more helpers than own are wanted.
	[[noreturn]] void help(int own) {
		name();
		for (uint32_t seen = 0;;) {
			for (int i = 0; i < spins && round_.load(std::memory_order_relaxed) == seen; i++)
				i % 64 < 63 ? pause() : std::this_thread::yield(); // another thread may have work for this core
			round_.wait(seen);
			seen = round_.load();
			const void* work;
			{
				std::lock_guard lock(mutex_);
				work = own < wanted_ ? work_ : nullptr;
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
	std::mutex mutex_; // of the next three
	const void* work_ = nullptr;
	void (*call_)(const void*) = nullptr;
	int wanted_ = 0; // helpers
	std::atomic<int> busy_{0};
	std::atomic<uint32_t> round_{0};
	int count_ = 0, asked_ = 0; // helpers that began, and that had to
};
