// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "candidates.hpp"

#include <kq/kq.cuh>

namespace bench {
namespace detail {

template <class Encoding, template <int> class Mapping, class Epilogue, kq::policy... Policies>
auto list() {
    using arguments = typename Mapping<Epilogue::weight_sets>::arguments;
    return std::vector<candidate<arguments>>{
        {Policies, kq::gemv<Encoding, Policies, Mapping, Epilogue>::workspace_bytes,
         kq::gemv<Encoding, Policies, Mapping, Epilogue>::quantize,
         kq::gemv<Encoding, Policies, Mapping, Epilogue>::multiply}...};
}

constexpr int whole_row = 1 << 20;

constexpr kq::policy bulk(int rows, int warps, int stages, int piece_bytes, int batch = 1) {
    return {.rows = rows,
            .batch = batch,
            .warps = warps,
            .stages = stages,
            .piece_bytes = piece_bytes,
            .via = kq::transport::bulk};
}
constexpr kq::policy direct(int rows, int prefetch, int warps, int batch = 1) {
    return {.rows = rows,
            .prefetch = prefetch,
            .batch = batch,
            .warps = warps,
            .via = kq::transport::direct};
}

template <class Encoding, int Batch>
auto batched() {
    return list<
        Encoding, kq::mappings::dense, kq::epilogues::store, direct(1, 1, 16, Batch),
        bulk(1, 16, 2, 2304, Batch), bulk(1, 16, 2, 4608, Batch), bulk(1, 16, 1, whole_row, Batch),
        bulk(1, 16, 3, 2304, Batch), bulk(2, 16, 2, 1152, Batch), bulk(2, 16, 2, 2304, Batch),
        bulk(2, 16, 1, whole_row, Batch), bulk(2, 16, 1, 2304, Batch), bulk(2, 8, 2, 2304, Batch),
        bulk(4, 8, 2, whole_row, Batch), bulk(4, 8, 1, whole_row, Batch)>();
}

template <class Encoding, class Epilogue>
auto grouped() {
    return list<Encoding, kq::mappings::grouped, Epilogue, direct(2, 1, 16),
                bulk(1, 16, 2, whole_row), bulk(1, 16, 2, 4608), bulk(1, 16, 1, whole_row),
                bulk(1, 16, 2, 2304), bulk(2, 16, 2, 2304), bulk(2, 16, 2, whole_row),
                bulk(2, 16, 1, whole_row), bulk(4, 16, 1, whole_row), bulk(4, 16, 2, 1152),
                bulk(4, 16, 2, whole_row), bulk(2, 24, 2, whole_row)>();
}

/// Terms go to the warps in turn, so that rows are short work.
template <class Encoding>
auto summed() {
    return list<Encoding, kq::mappings::grouped, kq::epilogues::weighted_sum, direct(2, 1, 16),
                direct(4, 1, 16), bulk(1, 16, 2, whole_row), bulk(2, 16, 1, whole_row),
                bulk(2, 16, 2, whole_row), bulk(2, 16, 2, 2304), bulk(4, 16, 1, whole_row),
                bulk(4, 16, 2, whole_row), bulk(4, 16, 3, whole_row), bulk(4, 16, 2, 1152),
                bulk(4, 24, 1, whole_row), bulk(6, 12, 1, whole_row), bulk(8, 8, 1, whole_row),
                bulk(8, 8, 2, whole_row), bulk(8, 16, 1, whole_row)>();
}

} // namespace detail

template <class Encoding>
std::vector<candidate<kq::dense_arguments>> candidates<Encoding>::dense() {
    using namespace detail;
    return list<Encoding, kq::mappings::dense, kq::epilogues::store, direct(1, 1, 16),
                direct(2, 1, 16), direct(1, 2, 16), bulk(1, 16, 1, whole_row),
                bulk(1, 16, 2, whole_row), bulk(1, 16, 2, 4608), bulk(1, 16, 2, 2304),
                bulk(1, 16, 3, 2304), bulk(2, 16, 1, whole_row), bulk(2, 16, 2, whole_row),
                bulk(2, 16, 2, 2304), bulk(2, 16, 2, 1152), bulk(2, 16, 3, 1152),
                bulk(4, 16, 1, whole_row), bulk(4, 16, 2, whole_row), bulk(4, 16, 2, 1152),
                bulk(4, 8, 1, whole_row), bulk(4, 8, 2, whole_row), bulk(4, 8, 2, 2304),
                bulk(1, 28, 2, 1152), bulk(2, 28, 2, whole_row), bulk(4, 24, 1, whole_row),
                bulk(6, 12, 1, whole_row), bulk(8, 8, 1, whole_row)>();
}

template <class Encoding>
std::vector<candidate<kq::dense_arguments>> candidates<Encoding>::batched(int batch) {
    return batch == 2   ? detail::batched<Encoding, 2>()
           : batch == 4 ? detail::batched<Encoding, 4>()
           : batch == 8 ? detail::batched<Encoding, 8>()
                        : std::vector<candidate<kq::dense_arguments>>{};
}

template <class Encoding>
std::vector<candidate<kq::grouped_arguments>> candidates<Encoding>::grouped() {
    return detail::grouped<Encoding, kq::epilogues::store>();
}

template <class Encoding>
std::vector<candidate<kq::grouped_arguments>> candidates<Encoding>::grouped_gated() {
    return detail::grouped<Encoding, kq::epilogues::gated>();
}

template <class Encoding>
std::vector<candidate<kq::grouped_arguments>> candidates<Encoding>::grouped_sum() {
    return detail::summed<Encoding>();
}

} // namespace bench
