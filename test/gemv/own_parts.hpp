// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/epilogue/epilogue.hpp>
#include <kq/gemv/mapping/dense.hpp>
#include <kq/gemv/policy/selector.hpp>

/// Parts of one's own, as docs/composition.md shows them.
namespace own {

/// An epilogue: the square of what is above zero, before the steps that all epilogues share.
struct squared_relu : kq::epilogues::store {
    KQ_API float finish(const state& dot, const kq::destination& to) const {
        const float x = kq::is_less(dot, 0) ? 0 : dot; // lets a NaN through
        return value(kq::mul_rn(x, x), to);
    }
};

/// The arguments of a mapping: those of a dense product, and where its outputs go.
struct permuted_arguments : kq::dense_arguments {
    const int32_t* places = nullptr; ///< [n] in device memory, of each weight row's output
};

/// A mapping: a dense product whose row r is stored at `places[r]`.
template <int Sets>
struct permuted : kq::mappings::dense<Sets> {
    using dense = kq::mappings::dense<Sets>;
    using arguments = permuted_arguments;

    const int32_t* places;

    KQ_API kq::destination to(int64_t unit, int r) const { return dense::to(unit, places[r]); }

    static kq::status check(const arguments& a, const kq::product_facts& facts,
                            const kq::product_sizes& sizes) {
        return a.places == nullptr ? kq::status::invalid("places", "must not be null")
                                   : dense::check(a, facts, sizes);
    }
    static permuted bind(const arguments& a, const kq::product_facts& facts,
                         const kq::product_sizes& sizes, kq::image_rows images) {
        return {dense::bind(a, facts, sizes, images), a.places};
    }
};

/// A selector of policies: more rows at once where there are many.
struct by_size {
    template <class Product>
    static constexpr kq::policy_list<2> policies() {
        return {{kq::policies::direct(1, 1, 8), kq::policies::bulk(4, 1, 16)}};
    }
    template <class Product>
    static constexpr int choose(const kq::product_sizes& sizes, const kq::device_facts&,
                                const kq::launch_options&) {
        return sizes.n < 4096 ? 0 : 1;
    }
};

} // namespace own
