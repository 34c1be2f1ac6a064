/* SPDX-License-Identifier: Apache-2.0
 *
 * See measure.h.
 */
#include "measure.h"

#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <malloc.h>
#include <memory>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>

namespace bench {

namespace {

void sleep_ns(uint64_t duration) {
    timespec left{static_cast<time_t>(duration / 1000000000), static_cast<long>(duration % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) != 0) {
    }
}

struct ProcessUsage {
    double cpu_ns;
    long switches;
};
ProcessUsage usage_now() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return {static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec),
            usage.ru_nvcsw + usage.ru_nivcsw};
}

/* Started, and with its first jobs behind it. */
class Warm {
  public:
    explicit Warm(const Pool &pool) : pool_(pool), state_(pool.create()) {
        const uint64_t counted = jobs_counted();
        for (unsigned job = 0; job < 64; ++job) {
            pool.run_one(
                state_, [](void *) { count_job(); }, nullptr);
        }
        is_well_ = wait_for_jobs(counted + 64);
    }
    ~Warm() {
        pool_.destroy(state_);
    }
    Warm(const Warm &) = delete;
    void *state() const {
        return state_;
    }
    std::string fault() const {
        return is_well_ ? "" : "the first jobs have not run";
    }

  private:
    const Pool &pool_;
    void *state_;
    bool is_well_;
};

double as_double(uint64_t value) {
    return static_cast<double>(value);
}

} // namespace

std::string measure_submissions(const Pool &pool, const Submission &submission, unsigned threads,
                                uint64_t jobs, SubmitOutcome *outcome) {
    Warm warm(pool);
    const uint64_t share = std::min(jobs, submission.most_jobs) / threads, total = share * threads;
    struct Submitter {
        void *prepared;
        uint64_t end_ns = 0;
    };
    std::vector<Submitter> submitters(threads);
    for (Submitter &submitter : submitters) {
        submitter.prepared = submission.prepare(warm.state(), share);
    }
    std::atomic<unsigned> gathered{0};
    std::atomic<bool> begins{false};
    auto body = [&](Submitter &submitter) {
        submission.submit(warm.state(), submitter.prepared, share);
        submitter.end_ns = now_ns();
        if (submission.finish != nullptr) {
            submission.finish(warm.state(), submitter.prepared);
        }
    };
    std::vector<std::thread> others;
    for (unsigned index = 1; index < threads; ++index) {
        others.emplace_back([&, index] {
            gathered.fetch_add(1);
            while (!begins.load(std::memory_order_acquire)) {
                sched_yield();
            }
            body(submitters[index]);
        });
    }
    while (gathered.load() < threads - 1) {
        sched_yield();
    }
    sleep_ns(1000000); /* the pool's threads are idle */
    const uint64_t counted = jobs_counted();
    const ProcessUsage before = usage_now();
    const uint64_t begin_ns = now_ns();
    begins.store(true, std::memory_order_release);
    body(submitters[0]);
    const bool all_ran = wait_for_jobs(counted + total);
    const uint64_t end_ns = now_ns();
    const ProcessUsage after = usage_now();
    uint64_t submitted_ns = 0;
    for (std::thread &other : others) {
        other.join();
    }
    sleep_ns(1000000); /* the last job has counted, and may not have returned */
    for (Submitter &submitter : submitters) {
        submitted_ns = std::max(submitted_ns, submitter.end_ns);
        if (all_ran) {
            submission.release(submitter.prepared);
        }
    }
    const uint64_t ran = jobs_counted() - counted;
    if (!warm.fault().empty() || ran != total) {
        return warm.fault() + std::to_string(ran) + " of " + std::to_string(total) + " jobs have run";
    }
    outcome->job_ns.push_back(as_double(end_ns - begin_ns) / as_double(total));
    outcome->submit_ns.push_back(as_double(submitted_ns - begin_ns) / as_double(share));
    outcome->cpu_ns.push_back((after.cpu_ns - before.cpu_ns) / as_double(total));
    outcome->switches.push_back(static_cast<double>(after.switches - before.switches) * 1000 /
                                as_double(total));
    return "";
}

/* Several in a row: a scheduler takes milliseconds to put the threads of a pool that was idle on cores of their own
 * where other processes use them too. */
template <class Body> void SpanOutcome::add_span(const Body &body) {
    enum { warming = 2, measured = 6 };
    for (int pass = 0; pass < warming; ++pass) {
        body();
    }
    const ProcessUsage before = usage_now();
    const uint64_t begin_ns = now_ns();
    for (int pass = 0; pass < measured; ++pass) {
        body();
    }
    ns.push_back(as_double(now_ns() - begin_ns) / measured);
    cpu_ns.push_back((usage_now().cpu_ns - before.cpu_ns) / measured);
}

uint64_t fibonacci_of(unsigned number) {
    uint64_t first = 0, second = 1;
    for (; number > 0; --number) {
        second += first;
        first = second - first;
    }
    return first;
}

/* A call for 2 and more forks once: f(n) = 1 + f(n - 1) + f(n - 2). */
uint64_t fibonacci_forks(unsigned number) {
    return fibonacci_of(number + 1) - 1;
}

std::string measure_fibonacci(const Pool &pool, unsigned number, SpanOutcome *outcome) {
    Warm warm(pool);
    uint64_t wrong = 0;
    outcome->add_span([&] { wrong += pool.fibonacci(warm.state(), number) != fibonacci_of(number); });
    return warm.fault() + (wrong == 0 ? "" : "fib was wrong " + std::to_string(wrong) + " times");
}

std::string measure_loop(const Pool &pool, uint64_t count, bool is_uneven, SpanOutcome *outcome) {
    Warm warm(pool);
    outcome->add_span([&] { pool.loop(warm.state(), count, is_uneven); });
    return warm.fault();
}

void measure_serial_loop(uint64_t count, bool is_uneven, SpanOutcome *outcome) {
    outcome->add_span([&] { loop_part(0, count, count, is_uneven); });
}

std::string measure_wakes(const Pool &pool, unsigned wakes, uint64_t pause_ns, WakeOutcome *outcome) {
    Warm warm(pool);
    Histogram waits;
    std::atomic<uint64_t> ran{0}; /* when the job did, in ticks */
    sleep_ns(pause_ns);
    const ProcessUsage before = usage_now();
    for (unsigned wake = 0; wake < wakes && warm.fault().empty(); ++wake) {
        sleep_ns(pause_ns); /* the workers sleep */
        ran.store(0, std::memory_order_relaxed);
        const uint64_t begin = ticks();
        pool.run_one(
            warm.state(),
            [](void *ran) {
                static_cast<std::atomic<uint64_t> *>(ran)->store(ticks(), std::memory_order_release);
            },
            &ran);
        const uint64_t end = ticks();
        uint64_t when;
        while ((when = ran.load(std::memory_order_acquire)) == 0) {
            sleep_ns(20000); /* off the core: the worker may need it */
        }
        waits.record(when > begin ? when - begin : 0);
        outcome->calls.record(end - begin);
    }
    sleep_ns(pause_ns);
    outcome->cpu_ns.push_back((usage_now().cpu_ns - before.cpu_ns) / wakes);
    outcome->waits.add(waits);
    outcome->p50_ns.push_back(waits.quantile(0.5) / ticks_per_ns());
    outcome->p99_ns.push_back(waits.quantile(0.99) / ticks_per_ns());
    return warm.fault();
}

std::string measure_idling(const Pool &pool, IdleOutcome *outcome) {
    Warm warm(pool);
    sleep_ns(100000000);
    const ProcessUsage before = usage_now();
    sleep_ns(1000000000);
    const ProcessUsage after = usage_now();
    outcome->cpu_us.push_back((after.cpu_ns - before.cpu_ns) / 1e3);
    outcome->switches.push_back(static_cast<double>(after.switches - before.switches));
    return warm.fault();
}

/* ---- Memory ---- */

namespace {

double resident_bytes() {
    long pages = 0, resident = 0;
    FILE *file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) {
        resident = 0;
    }
    if (file != nullptr) {
        std::fclose(file);
    }
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double heap_bytes() {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

unsigned thread_count() {
    unsigned count = 0;
    if (DIR *folder = opendir("/proc/self/task")) {
        while (const dirent *entry = readdir(folder)) {
            count += entry->d_name[0] != '.';
        }
        closedir(folder);
    }
    return count;
}

MemoryOutcome memory_here(const Pool &pool) {
    enum : uint64_t { jobs = 100000 };
    MemoryOutcome outcome;
    std::atomic<bool> opened{false};
    count_job(); /* this thread's own count, and the heap itself */
    const double heap_before = heap_bytes(), resident_before = resident_bytes();
    const unsigned threads_before = thread_count();
    void *state = pool.create();
    outcome.heap_bytes = heap_bytes() - heap_before;
    auto block = [](void *opened) {
        while (!static_cast<std::atomic<bool> *>(opened)->load(std::memory_order_acquire)) {
            sleep_ns(1000000);
        }
        count_job();
    };
    for (unsigned job = 0; job < 32; ++job) {
        pool.run_one(state, block, &opened);
    }
    sleep_ns(50000000);
    outcome.resident_bytes = resident_bytes() - resident_before;
    outcome.threads = thread_count() - threads_before;
    const Submission &submission = pool.submissions.front();
    if (submission.most_jobs >= jobs) {
        const double before = resident_bytes();
        void *prepared = submission.prepare(state, jobs);
        submission.submit(state, prepared, jobs);
        outcome.job_bytes = (resident_bytes() - before) / jobs;
    }
    opened.store(true, std::memory_order_release);
    return outcome;
}

} // namespace

MemoryOutcome measure_memory(const Pool &pool) {
    MemoryOutcome outcome;
    int ends[2];
    pid_t child;
    std::fflush(nullptr);
    if (pipe(ends) != 0 || (child = fork()) < 0) {
        std::perror("error: cannot measure memory");
        std::exit(2);
    }
    if (child == 0) {
        outcome = memory_here(pool);
        const bool written = write(ends[1], &outcome, sizeof outcome) == sizeof outcome;
        _exit(written ? 0 : 1); /* with its jobs: the process ends here */
    }
    close(ends[1]);
    if (read(ends[0], &outcome, sizeof outcome) != sizeof outcome) {
        std::fprintf(stderr, "error: %s: memory could not be measured\n", pool.name.c_str());
    }
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return outcome;
}

} // namespace bench
