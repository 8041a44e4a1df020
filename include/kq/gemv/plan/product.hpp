// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/arithmetic.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/gemv/epilogue/epilogue.hpp>
#include <kq/gemv/mapping/dense.hpp>

namespace kq::inline KQ_ABI {

/// What is multiplied, as one type: weights of `Encoding`, rows that meet by `Mapping`, dots that
/// end in `Epilogue`. How it is computed, a policy or a selector of policies, comes beside it.
///
/// `facts` is the same as data, which is all that the host needs to plan a launch.
template <dottable Encoding, template <int> class Mapping = mappings::dense,
          epilogue Epilogue = epilogues::store>
    requires row_mapping<Mapping<Epilogue::weight_sets>>
struct product {
    using encoding = Encoding;
    using mapping = Mapping<Epilogue::weight_sets>;
    using epilogue = Epilogue;
    using arguments = typename mapping::arguments;
    using image = image_of<Encoding>;

    static_assert(!Epilogue::sums_terms || mapping::chosen_on_device,
                  "kq: a weighted sum needs the experts mapping");

    static constexpr product_facts facts{.weights = facts_of<Encoding>,
                                         .image = image::facts,
                                         .slices = decoder<Encoding>::slices,
                                         .table_bytes = table_bytes<Encoding>,
                                         .weight_sets = Epilogue::weight_sets,
                                         .sums_terms = Epilogue::sums_terms,
                                         .batchable = mapping::batchable,
                                         .chosen_on_device = mapping::chosen_on_device};
};

namespace detail {

/// Fills in the sizes that follow from what a mapping says.
///
/// Errors: an activation row that is too long.
constexpr status finish_sizes(const product_facts& facts, product_sizes& sizes) {
    const int64_t activation_blocks = sizes.activation.k / facts.image.block_elements;
    if (facts.image.panels(activation_blocks) > most_int / facts.image.panel_bytes) {
        return status::invalid("k", "a quantized activation row must stay below 2^31 bytes");
    }
    sizes.row_blocks = static_cast<int>(sizes.k / facts.weights.elements);
    sizes.row_bytes = int64_t{sizes.row_blocks} * facts.weights.block_bytes;
    sizes.image_row_bytes = facts.image.row_bytes(activation_blocks);
    sizes.workspace_bytes = sizes.is_empty() ? 0 : sizes.activation.m * sizes.image_row_bytes;
    // A segment that does not begin with a panel may touch one panel more.
    const int64_t slots = int64_t{sizes.row_blocks} * facts.slices;
    const bool whole_panels = sizes.k == sizes.activation.k || slots % 32 == 0;
    const int64_t panels = ceil_div(whole_panels ? slots : slots + 31, 32);
    sizes.unit_image_bytes =
        static_cast<int>(lesser(panels * facts.image.panel_bytes, sizes.image_row_bytes));
    return {};
}

} // namespace detail

/// Checks what can be checked of a product's arguments without pointers, a policy or a device, and
/// computes the sizes: rows, columns, bytes of weights, images and workspace.
///
///     kq::product_sizes sizes;
///     kq::status s = kq::measure<kq::product<kq::q4_k>>({.n = 4096, .k = 4096}, sizes);
///
/// Errors: names the argument and the rule it breaks. Sizes of zero are no error.
template <class Product>
status measure(const typename Product::arguments& a, product_sizes& sizes) {
    sizes = {};
    const status s = Product::mapping::measure(a, Product::facts, sizes);
    return s.ok() ? detail::finish_sizes(Product::facts, sizes) : s;
}

/// Checks the pointers and the workspace of measured arguments.
///
/// Errors: names the argument and the rule it breaks. An empty product needs none.
template <class Product>
status check_pointers(const typename Product::arguments& a, const product_sizes& sizes,
                      const workspace& space) {
    if (sizes.is_empty()) {
        return {};
    }
    if (const status s = Product::mapping::check(a, Product::facts, sizes); !s.ok()) {
        return s;
    }
    return sizes.k == 0 ? status()
                        : detail::check_workspace(space, sizes.workspace_bytes,
                                                  "must hold workspace_bytes(arguments) bytes");
}

} // namespace kq::inline KQ_ABI
