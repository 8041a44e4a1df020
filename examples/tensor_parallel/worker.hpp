// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cuda.hpp"
#include "common/graph.hpp"
#include "split.hpp"

#include <kq/blocks/encoding.hpp>
#include <kq/gemv/mapping/all.hpp>
#include <kq/gemv/plan/plan.hpp>

#include <cstdint>
#include <vector>

namespace tensor_parallel {

/// y = W x, with W [n, k] of noise.
struct problem {
    kq::encoding encoding;
    std::int64_t n;
    std::int64_t k;
    std::uint64_t seed;

    std::int64_t elements() const; ///< of a weight block
    std::int64_t row_blocks() const { return k / elements(); }
    std::size_t bytes() const; ///< of W
};

/// The product with a part of the matrix, whose weights alone are in the current device's memory,
/// in so many copies that each launch of a series finds them outside the L2 cache.
class part_product {
public:
    /// Launches of a series, the same on all ranks.
    static constexpr std::size_t launches = 64;

    /// `x`: [all columns]. `y`: [rows of the part]. Device memory.
    part_product(const problem& p, range rows, range blocks, const float* x, float* y,
                 cudaStream_t stream);

    /// Puts a launch of a series on the stream.
    void launch(std::size_t number) const;

    bool is_cold() const { return copies_ * bytes_ >= common::cold_bytes(); }

private:
    kq::encoding encoding_;
    kq::dense_arguments arguments_;
    cudaStream_t stream_;
    kq::device_facts facts_;
    std::size_t bytes_;
    std::size_t copies_;
    std::size_t workspace_bytes_ = 0;
    common::device_memory weights_; ///< [copies], `pitch` bytes each
    common::device_memory workspace_;
};

/// What a rank has on its GPU.
class worker {
public:
    worker(const problem& p, int ranks, int rank, int device);
    ~worker();
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    common::device_stream on() const { return {device_, stream_.get()}; }

    /// Makes the rank's GPU the current device.
    void enter() const;

    void multiply_rows(std::size_t number) const;    ///< own rows of W; writes own_rows()
    void multiply_columns(std::size_t number) const; ///< own columns of W; writes sum()
    void multiply_all(std::size_t number) const;     ///< W, on rank 0; writes expected()
    bool is_cold() const { return rows_.is_cold() && columns_.is_cold(); }

    float* own_rows() const; ///< [rows_of_rank()] in gathered(), at the rank's place
    std::size_t rows_of_rank() const { return rows_of_rank_; }
    float* gathered() const { return as_floats(gathered_); } ///< [ranks, rows_of_rank()]
    float* sum() const { return as_floats(sum_); }           ///< [n], a part of each sum
    float* expected() const { return as_floats(expected_); } ///< [n]

    /// Fills outputs with NaNs.
    void clear() const;

    /// Waits for the stream and copies n numbers.
    std::vector<float> download(const float* numbers) const;

private:
    static float* as_floats(const common::device_memory& m) { return static_cast<float*>(m.get()); }

    int device_;
    int rank_;
    std::size_t n_;
    std::size_t rows_of_rank_;
    std::size_t gathered_count_;
    common::stream_handle stream_;
    common::device_memory x_;
    common::device_memory gathered_;
    common::device_memory sum_;
    common::device_memory expected_;
    part_product rows_;
    part_product columns_;
    std::vector<part_product> all_; ///< one on rank 0, else none
};

} // namespace tensor_parallel
