/* SPDX-License-Identifier: Apache-2.0
 *
 * Without a library: a circular buffer, a mutex, and a condition variable for each side.
 */
#include "../contender.h"

#include <condition_variable>
#include <mutex>

namespace bench {
namespace {

template <class T> struct MutexRing : AnyCapacity {
    static constexpr const char *name = "mutex and condition";
    static constexpr Sides sides = Sides::many;
    static constexpr bool bounded = true;
    static constexpr unsigned transfers = trying | blocking | batches;
    using Producer = Anonymous;
    using Consumer = Anonymous;

    MutexRing(size_t capacity, unsigned, unsigned) : slots_(capacity) {}

    BENCH_INLINE bool try_push(Producer &, const T &element) {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            if (count_ == slots_.size()) {
                return false;
            }
            put(element);
        }
        not_empty_.notify_one();
        return true;
    }
    BENCH_INLINE bool try_pop(Consumer &, T &element) {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            if (count_ == 0) {
                return false;
            }
            get(element);
        }
        not_full_.notify_one();
        return true;
    }
    BENCH_INLINE void push(Producer &, const T &element) {
        {
            std::unique_lock<std::mutex> guard(mutex_);
            not_full_.wait(guard, [this] { return count_ < slots_.size(); });
            put(element);
        }
        not_empty_.notify_one();
    }
    BENCH_INLINE void pop(Consumer &, T &element) {
        {
            std::unique_lock<std::mutex> guard(mutex_);
            not_empty_.wait(guard, [this] { return count_ > 0; });
            get(element);
        }
        not_full_.notify_one();
    }
    BENCH_INLINE size_t try_push_many(Producer &, const T *elements, size_t count) {
        size_t pushed;
        {
            std::lock_guard<std::mutex> guard(mutex_);
            pushed = std::min(count, slots_.size() - count_);
            for (size_t index = 0; index < pushed; ++index) {
                put(elements[index]);
            }
        }
        not_empty_.notify_all();
        return pushed;
    }
    BENCH_INLINE size_t try_pop_many(Consumer &, T *elements, size_t count) {
        size_t popped;
        {
            std::lock_guard<std::mutex> guard(mutex_);
            popped = std::min(count, count_);
            for (size_t index = 0; index < popped; ++index) {
                get(elements[index]);
            }
        }
        not_full_.notify_all();
        return popped;
    }

  private:
    BENCH_INLINE void put(const T &element) {
        slots_[tail_] = element;
        tail_ = tail_ + 1 == slots_.size() ? 0 : tail_ + 1;
        ++count_;
    }
    BENCH_INLINE void get(T &element) {
        element = slots_[head_];
        head_ = head_ + 1 == slots_.size() ? 0 : head_ + 1;
        --count_;
    }

    std::mutex mutex_;
    std::condition_variable not_empty_, not_full_;
    std::vector<T> slots_;
    size_t head_ = 0, tail_ = 0, count_ = 0;
};

const EnlistedRings mutex_ring{90, make_ring_contenders<MutexRing>()};

} // namespace
} // namespace bench
