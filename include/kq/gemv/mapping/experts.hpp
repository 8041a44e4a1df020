// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/mapping/mapping.hpp>

namespace kq::inline KQ_ABI {

/// Which activation row an expert slot uses.
enum class slot_activation {
    per_slot,  ///< [slots, k]
    per_token, ///< [slots / top_k, k]: the slots of a token share its row
    broadcast, ///< [1, k]
};

/// Products with stacked experts, chosen on the device: slot s uses expert `expert_ids[s]`. Slots
/// whose id is outside `[0, experts)` store zeros, without the epilogue; a weighted sum leaves them
/// out and scales and adds to what remains.
///
/// The pitches are those of gate and up alike, so that a matrix that holds both is multiplied in
/// place, `weights` pointing at its first gate row and `up_weights` at its first up row. Where an
/// expert has its n gate rows before its n up rows, `expert_pitch` is the bytes of 2 n rows; where
/// the rows alternate, `weight_pitch` is the bytes of two.
struct experts_arguments {
    weights_pointer weights = {};        ///< [experts, n, k / elements] blocks
    weights_pointer up_weights = {};     ///< as `weights`, gated products only
    input_pointer activation = {};       ///< see `activation_rows`
    output_pointer output = {};          ///< [slots, n]; of a weighted sum [slots / top_k, n]
    const int32_t* expert_ids = nullptr; ///< [slots] in device memory
    int64_t experts = 0;
    int64_t n = 0; ///< weight rows of an expert
    int64_t k = 0;
    int64_t slots = 0; ///< tokens * top_k
    int64_t top_k = 1; ///< slots of a token; of a weighted sum at most 64
    slot_activation activation_rows = slot_activation::per_slot;
    int64_t weight_pitch = 0;      ///< bytes between weight rows; 0 means back to back
    int64_t expert_pitch = 0;      ///< bytes between experts; 0 means n rows with their pitch
    int64_t activation_stride = 0; ///< in elements, at least k; 0 means k
    int64_t output_stride = 0;     ///< in elements, at least n; 0 means n
    epilogue_arguments epilogue = {};
};

namespace mappings {

/// Each slot meets the expert that its id chooses. A unit is a slot or, where an output sums the
/// terms of a token's slots, a token.
///
/// `Sets`: 2 where every weight matrix comes twice, as gate and up.
template <int Sets>
struct experts {
    using arguments = experts_arguments;
    static constexpr bool batchable = false;
    static constexpr bool chosen_on_device = true;

    int n;
    weight_matrix weights[static_cast<size_t>(Sets)]; ///< the rows of all experts
    int64_t expert_pitch;                             ///< bytes between experts
    const int32_t* ids;                               ///< [slots]
    int64_t count;                                    ///< experts
    image_rows images;
    slot_activation activation;
    int64_t top_k;
    int slots_of_unit; ///< 1, or top_k where an output sums its terms
    output_pointer output;
    int64_t output_stride;

    KQ_API bool ragged() const { return detail::any_ragged(weights); }
    KQ_API int terms() const { return Sets * slots_of_unit; }
    KQ_API int64_t slot(int64_t unit, int term) const {
        return unit * slots_of_unit + (slots_of_unit > 1 ? term : 0);
    }
    KQ_API bool has_term(int64_t unit, int term) const {
        const int32_t id = ids[slot(unit, term)];
        return id >= 0 && id < count;
    }
    KQ_API weight_row row(int64_t unit, int term, int r) const {
        const int64_t id = ids[slot(unit, term)];
        const weight_matrix& set = weights[term % Sets];
        return set.row_at(id * expert_pitch + r * set.pitch, id * n + r, id);
    }
    KQ_API int64_t image_row(int64_t unit, int term) const {
        const int64_t s = slot(unit, term);
        return activation == slot_activation::per_slot    ? s
               : activation == slot_activation::per_token ? s / top_k
                                                          : 0;
    }
    KQ_API int64_t first_block(int64_t) const { return 0; }
    KQ_API destination to(int64_t unit, int r) const {
        return {output, unit * output_stride + r, unit, r};
    }

    static status measure(const arguments& a, const product_facts& facts, product_sizes& out) {
        if (a.top_k < 1) {
            return status::invalid("top_k", "must be at least 1");
        }
        if (const status s = detail::first_error(detail::check_count("n", a.n),
                                                 detail::check_count("slots", a.slots),
                                                 detail::check_count("experts", a.experts),
                                                 detail::check_columns(facts.weights, a.k));
            !s.ok()) {
            return s;
        }
        if (a.activation_rows < slot_activation::per_slot ||
            a.activation_rows > slot_activation::broadcast) {
            return status::invalid("activation_rows", "must be one of slot_activation's");
        }
        if (a.slots % a.top_k != 0) {
            return status::invalid("top_k", "must divide slots");
        }
        if (a.top_k > 64 && facts.sums_terms) {
            return status::invalid("top_k", "must be at most 64 for a weighted sum");
        }
        const int64_t tokens = a.slots / a.top_k;
        const bool per_slot = a.activation_rows == slot_activation::per_slot;
        const int64_t rows = per_slot                                          ? a.slots
                             : a.activation_rows == slot_activation::per_token ? tokens
                                                                               : 1;
        out.n = a.n;
        out.k = a.k;
        out.units = facts.sums_terms ? tokens : a.slots;
        out.output_rows = a.n;
        out.most_rows = a.n * (a.slots < a.experts ? a.slots : a.experts) * Sets;
        out.images_of_unit = facts.sums_terms && per_slot ? static_cast<int>(a.top_k) : 1;
        out.summed_terms = facts.sums_terms ? static_cast<int>(a.top_k) : 0;
        out.activation = {a.activation, a.k, rows, detail::stride_or(a.activation_stride, a.k)};
        const int64_t row_bytes = detail::row_bytes(facts.weights, a.k);
        out.adjacent_rows = detail::stride_or(a.weight_pitch, row_bytes) == row_bytes;
        if (const status s =
                detail::check_weight_pitch(facts.weights, a.weight_pitch, row_bytes, a.n);
            !s.ok()) {
            return s;
        }
        const int64_t row_step = detail::stride_or(a.weight_pitch, row_bytes);
        if (const status s = detail::check_pitch(
                facts.weights, "expert_pitch", a.expert_pitch,
                detail::extent(a.n, row_step, row_bytes), a.experts,
                "must be 0 or at least the bytes of an expert's rows, and keep rows aligned");
            !s.ok()) {
            return s;
        }
        const int64_t expert_bytes = a.n * detail::greater(row_bytes * Sets, row_step);
        if (expert_bytes != 0 && a.experts > detail::most_int64 / expert_bytes) {
            return status::invalid("experts", "all weights must stay below 2^63 bytes");
        }
        return detail::first_error(
            detail::check_stride("activation_stride", a.activation_stride, a.k, rows),
            detail::check_stride("output_stride", a.output_stride, a.n, out.units),
            detail::check_epilogue(a.epilogue, Sets, a.n, out.units));
    }

    static status check(const arguments& a, const product_facts& facts,
                        const product_sizes& sizes) {
        if (const status s = detail::check_elements("output", a.output.data, a.output.type);
            !s.ok()) {
            return s;
        }
        if (a.expert_ids == nullptr || !detail::is_aligned(a.expert_ids, 4)) {
            return status::invalid("expert_ids", "must be a 4-byte aligned device pointer");
        }
        const status steps = detail::check_steps(a.epilogue, Sets, facts.sums_terms);
        if (sizes.k == 0) {
            return steps;
        }
        return detail::first_error(
            a.experts == 0 ? status() : detail::check_sets(facts, a.weights, a.up_weights),
            detail::check_elements("activation", a.activation.data, a.activation.type), steps);
    }

    static experts bind(const arguments& a, const product_facts& facts, const product_sizes& sizes,
                        image_rows images) {
        experts map{};
        const int64_t row_step = detail::stride_or(a.weight_pitch, sizes.row_bytes);
        map.expert_pitch = detail::stride_or(a.expert_pitch, a.n * row_step);
        const int64_t expert_bytes = detail::extent(a.n, row_step, sizes.row_bytes);
        const int64_t bytes = detail::extent(a.experts, map.expert_pitch, expert_bytes);
        map.weights[0] = weight_matrix::bind_range(a.weights, bytes, row_step);
        if constexpr (Sets == 2) {
            map.weights[1] = weight_matrix::bind_range(a.up_weights, bytes, row_step);
        }
        map.ids = a.expert_ids;
        map.count = a.experts;
        map.images = images;
        map.activation = a.activation_rows;
        map.top_k = a.top_k;
        map.slots_of_unit = facts.sums_terms ? static_cast<int>(a.top_k) : 1;
        map.output = a.output;
        map.output_stride = detail::stride_or(a.output_stride, a.n);
        map.n = static_cast<int>(a.n);
        return map;
    }
};

static_assert(row_mapping<experts<1>> && row_mapping<experts<2>>);

} // namespace mappings

} // namespace kq::inline KQ_ABI
