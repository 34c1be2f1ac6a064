/* SPDX-License-Identifier: Apache-2.0
 *
 * A histogram of durations with 16 buckets to each power of two: a value is known to about 6 %. Each thread
 * fills its own; they are added up. The Rust crate shares the layout, and fills one in place.
 */
#ifndef INTERLOCK_BENCHMARKS_HISTOGRAM_H
#define INTERLOCK_BENCHMARKS_HISTOGRAM_H

#include <algorithm>
#include <cstdint>

namespace bench {

struct Histogram {
    static constexpr unsigned sub_bits = 4;
    static constexpr unsigned bucket_count = (64 - sub_bits + 1) << sub_bits;

    uint64_t buckets[bucket_count] = {};
    uint64_t largest = 0;

    /* Values under 2^sub_bits have a bucket each; above, the leading bit picks the power of two, the next
     * sub_bits the bucket within. */
    static unsigned bucket_of(uint64_t value) {
        if (value < (1u << sub_bits)) {
            return static_cast<unsigned>(value);
        }
        unsigned shift = 63 - static_cast<unsigned>(__builtin_clzll(value)) - sub_bits;
        return (shift << sub_bits) + static_cast<unsigned>(value >> shift);
    }

    /* The middle of a bucket. */
    static double value_of(unsigned bucket) {
        if (bucket < (2u << sub_bits)) {
            return bucket;
        }
        unsigned shift = (bucket >> sub_bits) - 1;
        uint64_t low = static_cast<uint64_t>((bucket & ((1u << sub_bits) - 1)) | (1u << sub_bits)) << shift;
        return static_cast<double>(low) + static_cast<double>(uint64_t{1} << shift) / 2;
    }

    void record(uint64_t value) {
        ++buckets[bucket_of(value)];
        largest = std::max(largest, value);
    }

    void add(const Histogram &other) {
        for (unsigned bucket = 0; bucket < bucket_count; ++bucket) {
            buckets[bucket] += other.buckets[bucket];
        }
        largest = std::max(largest, other.largest);
    }

    uint64_t count() const {
        uint64_t sum = 0;
        for (uint64_t bucket : buckets) {
            sum += bucket;
        }
        return sum;
    }

    /* The value that `share` of all do not exceed; 0 of an empty histogram. */
    double quantile(double share) const {
        uint64_t total = count(), seen = 0;
        for (unsigned bucket = 0; bucket < bucket_count; ++bucket) {
            seen += buckets[bucket];
            if (seen != 0 && static_cast<double>(seen) >= share * static_cast<double>(total)) {
                return std::min(value_of(bucket), static_cast<double>(largest));
            }
        }
        return 0;
    }
};

} // namespace bench

#endif
