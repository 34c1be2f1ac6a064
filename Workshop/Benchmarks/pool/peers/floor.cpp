/* SPDX-License-Identifier: Apache-2.0
 *
 * The floor: a queue under a mutex with a condition variable, as it is written by hand, and std::async.
 */
#include "../contender.h"

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

namespace bench {
namespace {

struct Job {
    void (*function)(void *);
    void *context;
};

class Queue {
  public:
    Queue() {
        for (unsigned index = 0; index < std::max(1u, std::thread::hardware_concurrency()); ++index) {
            threads_.emplace_back([this] { work(); });
        }
    }
    ~Queue() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            ends_ = true;
        }
        filled_.notify_all();
        for (std::thread &thread : threads_) {
            thread.join();
        }
    }
    void push(Job job) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            jobs_.push_back(job);
        }
        filled_.notify_one();
    }
    /* By a thread that waits for a job: the latest one, which is the likeliest to be it. */
    bool run_latest() {
        Job job;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (jobs_.empty()) {
                return false;
            }
            job = jobs_.back();
            jobs_.pop_back();
        }
        job.function(job.context);
        return true;
    }
    size_t thread_count() const {
        return threads_.size();
    }

  private:
    void work() {
        for (;;) {
            Job job;
            {
                std::unique_lock<std::mutex> lock(mutex_);
                filled_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
                if (jobs_.empty()) {
                    return;
                }
                job = jobs_.front();
                jobs_.pop_front();
            }
            job.function(job.context);
        }
    }

    std::mutex mutex_;
    std::condition_variable filled_;
    std::deque<Job> jobs_;
    bool ends_ = false;
    std::vector<std::thread> threads_;
};

void *create() {
    return new Queue;
}
void destroy(void *pool) {
    delete static_cast<Queue *>(pool);
}
void run_one(void *pool, void (*function)(void *), void *context) {
    static_cast<Queue *>(pool)->push({function, context});
}
void *prepare(void *, uint64_t) {
    return nullptr;
}
void release(void *) {}
void submit(void *pool, void *, uint64_t count) {
    for (uint64_t index = 0; index < count; ++index) {
        static_cast<Queue *>(pool)->push({[](void *) { count_job(); }, nullptr});
    }
}

struct Call {
    Queue *queue;
    unsigned number;
    uint64_t result = 0;
    std::atomic<bool> is_done{false};
};

void fibonacci(void *context) {
    Call *call = static_cast<Call *>(context);
    if (call->number < 2) {
        call->result = call->number;
    } else {
        Call forked{call->queue, call->number - 1}, called{call->queue, call->number - 2};
        call->queue->push({fibonacci, &forked});
        fibonacci(&called);
        while (!forked.is_done.load(std::memory_order_acquire)) {
            if (!call->queue->run_latest()) {
                std::this_thread::yield();
            }
        }
        call->result = forked.result + called.result;
    }
    call->is_done.store(true, std::memory_order_release);
}

uint64_t run_fibonacci(void *pool, unsigned number) {
    Call call{static_cast<Queue *>(pool), number};
    fibonacci(&call); /* the caller takes part */
    return call.result;
}

/* Chunks of 1024, as one would write it. */
void run_loop(void *pool, uint64_t count, bool is_uneven) {
    struct Loop {
        std::atomic<uint64_t> next{0}, left;
        uint64_t count;
        bool is_uneven;
    };
    Queue *queue = static_cast<Queue *>(pool);
    Loop loop;
    loop.left = queue->thread_count();
    loop.count = count;
    loop.is_uneven = is_uneven;
    auto part = [](void *context) {
        Loop *loop = static_cast<Loop *>(context);
        for (uint64_t first; (first = loop->next.fetch_add(1024, std::memory_order_relaxed)) < loop->count;) {
            loop_part(first, std::min(first + 1024, loop->count), loop->count, loop->is_uneven);
        }
        if (loop->left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            count_job();
        }
    };
    const uint64_t counted = jobs_counted();
    for (size_t index = 0; index < queue->thread_count(); ++index) {
        queue->push({part, &loop});
    }
    (void)wait_for_jobs(counted + 1);
}

/* Destroying the future waits for the job, so that it must live as long. */
struct Futures {
    std::vector<std::future<void>> list;
};
void *prepare_futures(void *, uint64_t count) {
    Futures *futures = new Futures;
    futures->list.reserve(count);
    return futures;
}
void release_futures(void *futures) {
    delete static_cast<Futures *>(futures);
}
void submit_async(void *, void *futures, uint64_t count) {
    for (uint64_t index = 0; index < count; ++index) {
        static_cast<Futures *>(futures)->list.push_back(std::async(std::launch::async, count_job));
    }
}
void *create_none() {
    return new Futures;
}
void destroy_none(void *futures) {
    release_futures(futures);
}
void run_async(void *futures, void (*function)(void *), void *context) {
    Futures *all = static_cast<Futures *>(futures);
    if (all->list.size() == 64) {
        all->list.clear();
    }
    all->list.push_back(std::async(std::launch::async, function, context));
}

const EnlistedPool queue{8,
                         {"mutex and condition",
                          create,
                          destroy,
                          run_one,
                          {{"mutex and condition", prepare, submit, nullptr, release}},
                          run_fibonacci,
                          run_loop}};
const EnlistedPool async{9,
                         {"std::async",
                          create_none,
                          destroy_none,
                          run_async,
                          {{"std::async", prepare_futures, submit_async, nullptr, release_futures, 1000}}}};

} // namespace
} // namespace bench
