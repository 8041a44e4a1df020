// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/standard.hpp>
#include <kq/gemv/epilogue/bind.hpp>
#include <kq/gemv/epilogue/epilogue.hpp>
#include <kq/gemv/mapping/facts.hpp>
#include <kq/gemv/mapping/matrix.hpp>
#include <kq/gemv/mapping/sizes.hpp>

namespace kq::inline KQ_ABI {

/// A row mapping says which weight rows and which activation row an output needs. Work comes in
/// units: a unit is an activation row (or what takes its place), and every unit has `n` output
/// rows. An output is made of `terms` terms, each a weight row times an activation row. The
/// activation rows of a batch of units follow each other, those of terms do too or are all one. For
/// a row past the last it gives some address, which nobody reads. It is `ragged` where a matrix
/// does not begin and end at multiples of 16 bytes.
///
/// All of a mapping is one struct: the type of the arguments; what the host does with them, as
/// static members (`measure` without pointers, `check` for pointers, `bind`, which makes the
/// mapping of checked arguments); and what the kernel asks. docs/composition.md shows one of a
/// user's own.
///
/// Requires: all of these. `batchable`: several units may share a weight fragment.
/// `chosen_on_device`: ids in device memory choose the weights, so none may be read early.
template <class Mapping>
concept row_mapping = requires(const Mapping& m, int64_t unit, int term, int r,
                               const typename Mapping::arguments& a, const product_facts& facts,
                               product_sizes& sizes, image_rows images) {
    { Mapping::batchable } -> standard::convertible_to<bool>;
    { Mapping::chosen_on_device } -> standard::convertible_to<bool>;
    // The host.
    { Mapping::measure(a, facts, sizes) } -> standard::same_as<status>;
    { Mapping::check(a, facts, sizes) } -> standard::same_as<status>;
    { Mapping::bind(a, facts, sizes, images) } -> standard::same_as<Mapping>;
    a.epilogue;
    // The kernel.
    { m.n } -> standard::convertible_to<int>;
    { m.images.first } -> standard::convertible_to<const unsigned char*>;
    { m.ragged() } -> standard::same_as<bool>;
    { m.terms() } -> standard::same_as<int>;
    { m.has_term(unit, term) } -> standard::same_as<bool>;
    { m.row(unit, term, r) } -> standard::same_as<weight_row>;
    { m.image_row(unit, term) } -> standard::same_as<int64_t>;
    { m.first_block(unit) } -> standard::same_as<int64_t>;
    { m.slot(unit, term) } -> standard::same_as<int64_t>;
    { m.to(unit, r) } -> standard::same_as<destination>;
};

namespace detail {

/// The pointers of arguments with one matrix (or a pair) and one output.
template <class Arguments>
status check_single(const Arguments& a, const product_facts& facts, const product_sizes& sizes) {
    if (const status s = check_elements("output", a.output.data, a.output.type); !s.ok()) {
        return s;
    }
    if (sizes.k == 0) { // stores what the epilogue makes of zeros
        return check_steps(a.epilogue, facts.weight_sets, facts.sums_terms);
    }
    return first_error(check_sets(facts, a.weights, a.up_weights),
                       check_elements("activation", a.activation.data, a.activation.type),
                       check_steps(a.epilogue, facts.weight_sets, facts.sums_terms));
}

} // namespace detail

} // namespace kq::inline KQ_ABI
