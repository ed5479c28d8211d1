#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace cidery {

/// How many workers a request for `threads` means: 0 asks for one per core, and there are never
/// more than `pieces`.
inline unsigned worker_count(unsigned threads, std::size_t pieces) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::clamp<std::size_t>(pieces, 1, threads));
}

/// Threads that are waited for, whatever happens: libc++ has no std::jthread yet.
struct JoinedThreads {
  std::vector<std::thread> threads;

  JoinedThreads() = default;
  JoinedThreads(const JoinedThreads&) = delete;
  JoinedThreads& operator=(const JoinedThreads&) = delete;
  ~JoinedThreads() {
    for (std::thread& thread : threads) thread.join();
  }
};

/// Runs work(worker) for worker = 0 … workers-1, the last one on the calling thread, and rethrows
/// the first error. Threads live only as long as the call: nothing survives that a forked process
/// would miss.
template <class Work>
void run_workers(unsigned workers, const Work& work) {
  if (workers <= 1) {
    work(0u);
    return;
  }
  std::vector<std::exception_ptr> errors(workers);
  const auto guarded = [&](unsigned worker) {
    try {
      work(worker);
    } catch (...) {
      errors[worker] = std::current_exception();
    }
  };
  {
    JoinedThreads joined;
    joined.threads.reserve(workers - 1);
    for (unsigned worker = 0; worker + 1 < workers; ++worker) {
      joined.threads.emplace_back(guarded, worker);
    }
    guarded(workers - 1);
  }
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

/// Where worker's contiguous share of [0, count) begins.
inline std::size_t share_begin(std::size_t count, unsigned worker, unsigned workers) {
  return count * worker / workers;
}

/// Calls work(begin, end, worker) on contiguous shares of [0, count), in parallel.
template <class Work>
void parallel_shares(std::size_t count, unsigned workers, const Work& work) {
  run_workers(workers, [&](unsigned worker) {
    work(share_begin(count, worker, workers), share_begin(count, worker + 1, workers), worker);
  });
}

}  // namespace cidery
