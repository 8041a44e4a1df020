// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "candidates.hpp"

#include <kq/gemv/gemv.cuh>
#include <kq/gemv/mapping/experts.hpp>

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

using kq::policies::bulk;
using kq::policies::direct;

constexpr int whole_row = 1 << 20;

template <class Encoding, int Batch>
auto batched() {
    return list<Encoding, kq::mappings::dense, kq::epilogues::store, direct(1, Batch, 16),
                bulk(1, Batch, 16, {2, 2304}), bulk(1, Batch, 16, {2, 4608}),
                bulk(1, Batch, 16, {1, whole_row}), bulk(1, Batch, 16, {3, 2304}),
                bulk(2, Batch, 16, {2, 1152}), bulk(2, Batch, 16, {2, 2304}),
                bulk(2, Batch, 16, {1, whole_row}), bulk(2, Batch, 16, {1, 2304}),
                bulk(2, Batch, 8, {2, 2304}), bulk(4, Batch, 8, {2, whole_row}),
                bulk(4, Batch, 8, {1, whole_row})>();
}

template <class Encoding, class Epilogue>
auto experts() {
    return list<
        Encoding, kq::mappings::experts, Epilogue, direct(2, 1, 16), bulk(1, 1, 16, {2, whole_row}),
        bulk(1, 1, 16, {2, 4608}), bulk(1, 1, 16, {1, whole_row}), bulk(1, 1, 16, {2, 2304}),
        bulk(2, 1, 16, {2, 2304}), bulk(2, 1, 16, {2, whole_row}), bulk(2, 1, 16, {1, whole_row}),
        bulk(4, 1, 16, {1, whole_row}), bulk(4, 1, 16, {2, 1152}), bulk(4, 1, 16, {2, whole_row}),
        bulk(2, 1, 24, {2, whole_row})>();
}

/// Terms go to the warps in turn, so that rows are short work.
template <class Encoding>
auto summed() {
    return list<Encoding, kq::mappings::experts, kq::epilogues::weighted_sum, direct(2, 1, 16),
                direct(4, 1, 16), bulk(1, 1, 16, {2, whole_row}), bulk(2, 1, 16, {1, whole_row}),
                bulk(2, 1, 16, {2, whole_row}), bulk(2, 1, 16, {2, 2304}),
                bulk(4, 1, 16, {1, whole_row}), bulk(4, 1, 16, {2, whole_row}),
                bulk(4, 1, 16, {3, whole_row}), bulk(4, 1, 16, {2, 1152}),
                bulk(4, 1, 24, {1, whole_row}), bulk(6, 1, 12, {1, whole_row}),
                bulk(8, 1, 8, {1, whole_row}), bulk(8, 1, 8, {2, whole_row}),
                bulk(8, 1, 16, {1, whole_row})>();
}

} // namespace detail

template <class Encoding>
std::vector<candidate<kq::dense_arguments>> candidates<Encoding>::dense() {
    using namespace detail;
    return list<
        Encoding, kq::mappings::dense, kq::epilogues::store, direct(1, 1, 16), direct(2, 1, 16),
        direct(1, 1, 16, {2}), bulk(1, 1, 16, {1, whole_row}), bulk(1, 1, 16, {2, whole_row}),
        bulk(1, 1, 16, {2, 4608}), bulk(1, 1, 16, {2, 2304}), bulk(1, 1, 16, {3, 2304}),
        bulk(2, 1, 16, {1, whole_row}), bulk(2, 1, 16, {2, whole_row}), bulk(2, 1, 16, {2, 2304}),
        bulk(2, 1, 16, {2, 1152}), bulk(2, 1, 16, {3, 1152}), bulk(4, 1, 16, {1, whole_row}),
        bulk(4, 1, 16, {2, whole_row}), bulk(4, 1, 16, {2, 1152}), bulk(4, 1, 8, {1, whole_row}),
        bulk(4, 1, 8, {2, whole_row}), bulk(4, 1, 8, {2, 2304}), bulk(1, 1, 28, {2, 1152}),
        bulk(2, 1, 28, {2, whole_row}), bulk(4, 1, 24, {1, whole_row}),
        bulk(6, 1, 12, {1, whole_row}), bulk(8, 1, 8, {1, whole_row})>();
}

template <class Encoding>
std::vector<candidate<kq::dense_arguments>> candidates<Encoding>::batched(int batch) {
    return batch == 2   ? detail::batched<Encoding, 2>()
           : batch == 4 ? detail::batched<Encoding, 4>()
           : batch == 8 ? detail::batched<Encoding, 8>()
                        : std::vector<candidate<kq::dense_arguments>>{};
}

template <class Encoding>
std::vector<candidate<kq::experts_arguments>> candidates<Encoding>::experts() {
    return detail::experts<Encoding, kq::epilogues::store>();
}

template <class Encoding>
std::vector<candidate<kq::experts_arguments>> candidates<Encoding>::experts_gated() {
    return detail::experts<Encoding, kq::epilogues::gated>();
}

template <class Encoding>
std::vector<candidate<kq::experts_arguments>> candidates<Encoding>::experts_sum() {
    return detail::summed<Encoding>();
}

} // namespace bench
