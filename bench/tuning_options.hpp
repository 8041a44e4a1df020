// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "choice.hpp"

#include <kq/blocks/all.hpp>

#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// What kq_tune is asked for. Read before a GPU is touched; what is wrong is refused by name.
namespace bench {

/// A refused option: `what` is one line for the user.
struct refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Positive numbers with an `x` between them, if `text` is that many of them and nothing else.
inline std::optional<std::vector<int64_t>> numbers_of(std::string_view text, size_t count) {
    std::vector<int64_t> numbers;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (true) {
        int64_t number = 0;
        const auto [rest, wrong] = std::from_chars(at, end, number);
        if (wrong != std::errc{} || number < 1 || number > (int64_t{1} << 31) - 1) {
            return {};
        }
        numbers.push_back(number);
        if (rest == end) {
            break;
        }
        if (*rest != 'x') {
            return {};
        }
        at = rest + 1;
    }
    return numbers.size() == count ? std::optional(numbers) : std::nullopt;
}

/// The options as they are written.
struct tuning_options {
    std::vector<std::string> encodings = {"all"};
    std::vector<std::string> shapes = {"4096x4096", "14336x4096", "4096x14336", "129280x7168",
                                       "1536x7168", "2048x7168",  "512x4096"};
    std::vector<std::string> experts = {"64x2048x7168x8", "128x768x2048x8"};
    std::vector<std::string> batches = {"1"};
};

namespace detail {

inline std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : ", ") + word;
    }
    return text;
}

/// What of `known` is asked for, in its order.
inline std::vector<std::string> chosen_encodings(const std::vector<std::string>& asked,
                                                 const std::vector<std::string>& known) {
    std::vector<std::string> all;
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        (all.emplace_back(kq::name_of(Encodings::id)), ...);
    }(kq::encodings{});
    const auto has = [](const std::vector<std::string>& in, const std::string& name) {
        return std::find(in.begin(), in.end(), name) != in.end();
    };
    std::vector<std::string> wanted;
    for (const std::string& name : asked) {
        if (name == "all") {
            wanted.insert(wanted.end(), all.begin(), all.end());
        } else if (has(all, name)) {
            wanted.push_back(name);
        } else {
            throw refusal("--encodings: " + name + " is none of " + joined(all) + " and all");
        }
    }
    std::vector<std::string> chosen, missing;
    for (const std::string& name : all) {
        if (has(wanted, name)) {
            (has(known, name) ? chosen : missing).push_back(name);
        }
    }
    if (!missing.empty()) {
        throw refusal("--encodings: this kq_tune has candidates of " + joined(known) +
                      " only, not of " + joined(missing) +
                      "; the one that preset benchmarks builds has those of all");
    }
    return chosen;
}

} // namespace detail

/// The products to tune for. `known`: names of the encodings that there are candidates of.
///
/// Errors: a `refusal` that names option and rule.
inline std::vector<problem> problems_of(const tuning_options& o,
                                        const std::vector<std::string>& known) {
    struct dense_shape {
        int64_t n, k;
    };
    struct expert_shape {
        int64_t experts, n, k, top_k;
    };
    std::vector<dense_shape> shapes;
    for (const std::string& text : o.shapes) {
        const auto s = numbers_of(text, 2);
        if (!s) {
            throw refusal("--shapes: \"" + text + "\" is not n x k, such as 4096x14336");
        }
        shapes.push_back({(*s)[0], (*s)[1]});
    }
    std::vector<expert_shape> experts;
    for (const std::string& text : o.experts) {
        const auto s = numbers_of(text, 4);
        if (!s) {
            throw refusal("--experts: \"" + text +
                          "\" is not experts x n x k x experts of a token, such as 64x2048x7168x8");
        }
        if ((*s)[3] > (*s)[0] || (*s)[0] > 65536) {
            throw refusal("--experts: \"" + text +
                          "\" has a token with more experts than there are, or more than 65536");
        }
        experts.push_back({(*s)[0], (*s)[1], (*s)[2], (*s)[3]});
    }
    std::vector<int> row_counts;
    for (const std::string& text : o.batches) {
        const auto m = numbers_of(text, 1);
        if (!m || m->front() > 64) {
            throw refusal("--batches: \"" + text + "\" is not one of 1 to 64");
        }
        row_counts.push_back(static_cast<int>(m->front()));
    }

    std::vector<problem> problems;
    const auto add_all = [&]<class Encoding>(std::type_identity<Encoding>) {
        using kq::tuning::product_kind;
        const auto check_columns = [&](int64_t k, const std::string& option) {
            if (k % Encoding::elements != 0) {
                throw refusal(option + ": " + std::to_string(k) + " columns of " +
                              kq::name_of(Encoding::id) + " are not whole blocks of " +
                              std::to_string(Encoding::elements));
            }
        };
        for (const dense_shape& s : shapes) {
            check_columns(s.k, "--shapes");
            for (const int m : row_counts) {
                problems.push_back({Encoding::id, product_kind::dense, s.n, s.k, m, 0});
            }
        }
        for (const expert_shape& s : experts) {
            check_columns(s.k, "--experts");
            check_columns(s.n, "--experts, the way back");
            const auto count = static_cast<int>(s.experts), top_k = static_cast<int>(s.top_k);
            problems.push_back({Encoding::id, product_kind::experts, s.n, s.k, top_k, count});
            problems.push_back({Encoding::id, product_kind::experts_gated, s.n, s.k, top_k, count});
            // The way back: what these experts' outputs meet next.
            problems.push_back({Encoding::id, product_kind::experts_sum, s.k, s.n, top_k, count});
        }
    };
    const std::vector<std::string> chosen = detail::chosen_encodings(o.encodings, known);
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        const auto consider = [&]<class Encoding>(std::type_identity<Encoding> type) {
            if (std::find(chosen.begin(), chosen.end(), kq::name_of(Encoding::id)) !=
                chosen.end()) {
                add_all(type);
            }
        };
        (consider(std::type_identity<Encodings>{}), ...);
    }(kq::encodings{});
    return problems;
}

} // namespace bench
