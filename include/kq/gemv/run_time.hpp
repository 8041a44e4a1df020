// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/plan.hpp>
#include <kq/gemv/kernel/parameters.hpp>
#include <kq/gemv/mapping/all.hpp>

#include <string>

/// Kernels for policies that are known at run time only: NVRTC compiles them, the driver launches
/// them, and here is what both need to be told. Plain host C++, which calls neither.
namespace kq::inline KQ_ABI {

/// How the text of a program spells a type, and the header that defines it.
struct spelling {
    const char* name;
    const char* header;
};

/// The spelling of an element, an encoding, a mapping (without its `Sets`) or an epilogue.
/// Specialize it for your own; of an encoding the header is the dot's.
template <class T>
inline constexpr spelling spelling_of = {};

template <>
inline constexpr spelling spelling_of<float>{"float", ""};
template <>
inline constexpr spelling spelling_of<f16>{"kq::f16", "kq/core/numeric.hpp"};
template <>
inline constexpr spelling spelling_of<bf16>{"kq::bf16", "kq/core/numeric.hpp"};

#define KQ_ENTRY(encoding, gguf_type)                                                              \
    template <>                                                                                    \
    inline constexpr spelling spelling_of<encoding>{"kq::" #encoding, "kq/dot/" #encoding ".hpp"};
KQ_ENCODINGS(KQ_ENTRY)
#undef KQ_ENTRY
struct q8_0_aligned;
template <>
inline constexpr spelling spelling_of<q8_0_aligned>{"kq::q8_0_aligned", "kq/dot/q8_0_aligned.hpp"};

template <int Sets>
inline constexpr spelling spelling_of<mappings::dense<Sets>>{"kq::mappings::dense",
                                                             "kq/gemv/mapping/dense.hpp"};
template <int Sets>
inline constexpr spelling spelling_of<mappings::stacked<Sets>>{"kq::mappings::stacked",
                                                               "kq/gemv/mapping/stacked.hpp"};
template <int Sets>
inline constexpr spelling spelling_of<mappings::experts<Sets>>{"kq::mappings::experts",
                                                               "kq/gemv/mapping/experts.hpp"};
template <int Sets>
inline constexpr spelling spelling_of<mappings::block_diagonal<Sets>>{
    "kq::mappings::block_diagonal", "kq/gemv/mapping/block_diagonal.hpp"};

template <>
inline constexpr spelling spelling_of<epilogues::store>{"kq::epilogues::store",
                                                        "kq/gemv/epilogue/epilogue.hpp"};
template <>
inline constexpr spelling spelling_of<epilogues::gated>{"kq::epilogues::gated",
                                                        "kq/gemv/epilogue/epilogue.hpp"};
template <>
inline constexpr spelling spelling_of<epilogues::weighted_sum>{"kq::epilogues::weighted_sum",
                                                               "kq/gemv/epilogue/epilogue.hpp"};

/// What NVRTC must be told beside the architecture and where kq's and CCCL's headers are.
inline constexpr const char* run_time_options[] = {"-std=c++20", "-default-device"};

/// A kernel's launch, as the driver takes it. Nothing is to be launched where `shape.grid` is 0.
template <class Parameters>
struct kernel_launch {
    launch_shape shape = {};
    Parameters parameters = {}; ///< the kernel's one argument
};

/// `gemv` for a policy that is known at run time only.
///
/// Compile `source()` with `run_time_options` and the names of the quantizer and of the kernel as
/// name expressions; then, for each product, `plan` it and launch first `quantize`, then `multiply`
/// on one stream. docs/run-time-compilation.md shows all of it.
///
/// `Encoding`, `Mapping`, `Epilogue`: as of `gemv`. Results are the bits of `gemv` with the policy.
template <dottable Encoding, template <int> class Mapping = mappings::dense,
          epilogue Epilogue = epilogues::store>
    requires row_mapping<Mapping<Epilogue::weight_sets>>
struct run_time_gemv {
    using product = kq::product<Encoding, Mapping, Epilogue>;
    using mapping = typename product::mapping;
    using arguments = typename product::arguments;
    using image = typename product::image;
    using parameters = parameters_of<product>;
    static_assert(spelling_of<Encoding>.name != nullptr && spelling_of<mapping>.name != nullptr &&
                      spelling_of<Epilogue>.name != nullptr,
                  "kq: specialize spelling_of for a type of your own");

    /// A product.
    struct launches {
        kernel_launch<quantizations<void, 1>> quantize; ///< the kernel `quantizer_name`
        kernel_launch<parameters> multiply;     ///< the kernel `kernel_name(policy, method)`
        kq::method method = kq::method::direct; ///< decided
    };

    /// The text of a program. Texts of several products may follow each other in one program.
    static std::string source() {
        std::string text;
        const char* headers[] = {spelling_of<Encoding>.header, spelling_of<mapping>.header,
                                 spelling_of<Epilogue>.header, "kq/activation/kernel.cuh",
                                 "kq/gemv/kernel/kernel.cuh"};
        for (const char* header : headers) {
            text += std::string("#include <") + header + ">\n";
        }
        const auto same_size = [&](const std::string& type, size_t size) {
            text += "static_assert(sizeof(" + type + ") == " + std::to_string(size) +
                    ", \"kq: the host lays arguments out otherwise\");\n";
        };
        same_size("kq::parameters_of<" + product_name() + ">", sizeof(parameters));
        same_size("kq::quantizations<void, 1>", sizeof(quantizations<void, 1>));
        return text;
    }

    /// The name expression of the kernel that multiplies by one method. Policies that differ in
    /// stages and pieces only have one kernel.
    /// Requires: a policy and a method that `plan` accepts.
    static std::string kernel_name(const policy& p, method by) {
        // Bindings, so that a new field does not go unnoticed.
        const auto [order, rows, batch, warps, method, direct, bulk] =
            compiled_part(with_method(p, by));
        const auto [lanes] = order;
        const auto [prefetch] = direct;
        const auto [stages, piece_bytes] = bulk;
        const auto list = [](auto... numbers) {
            std::string text;
            ((text += (text.empty() ? "" : ", ") + std::to_string(numbers)), ...);
            return text;
        };
        return "kq::gemv_kernel<kq::config<" + product_name() + ", kq::policy{kq::order{" +
               list(lanes) + "}, " + list(rows, batch, warps) +
               ", kq::method::" + (method == method::bulk ? "bulk" : "direct") +
               ", kq::direct_options{" + list(prefetch) + "}, kq::bulk_options{" +
               list(stages, piece_bytes) + "}}>>";
    }

    /// The name expression of the kernel that quantizes activations of one type.
    static std::string quantizer_name(element_type activation) {
        const std::string element =
            with_element(activation, []<class Element>() { return spelling_of<Element>.name; });
        return "kq::quantize_kernel<" + element + ", " + std::to_string(detail::quantizer_warps) +
               ", kq::quantizer_policy::warp_per_block, kq::image_of<" +
               spelling_of<Encoding>.name + ">>";
    }

    /// As `gemv::workspace_bytes`; the same for every policy.
    static size_t workspace_bytes(const arguments& a) {
        product_sizes sizes;
        return measure<product>(a, sizes).ok() ? static_cast<size_t>(sizes.workspace_bytes) : 0;
    }

    /// As `gemv::can_implement`.
    static status can_implement(const policy& p, const arguments& a, workspace space,
                                const device_facts& device, launch_options options = {}) {
        launches out;
        return plan(p, a, space, device, out, options);
    }

    /// As `gemv::describe`.
    static status describe(const policy& p, const arguments& a, const device_facts& device,
                           launch_plan& plan, launch_options options = {}) {
        product_sizes sizes;
        const status s = measure<product>(a, sizes);
        return s.ok() ? plan_launch(product::facts, p, sizes, device, options, plan) : s;
    }

    /// Checks all arguments and makes the launches. Allocates nothing.
    ///
    /// Errors: names the argument and the rule it breaks, as `gemv::launch` does, and what `gemv`
    /// refuses to compile: a policy whose fields are out of range, or do not go with the encoding,
    /// the mapping or the method.
    static status plan(const policy& p, const arguments& a, workspace space,
                       const device_facts& device, launches& out, launch_options options = {}) {
        out = {};
        launch_plan planned;
        if (const status s = describe(p, a, device, planned, options); !s.ok()) {
            return s;
        }
        if (const status s = check_pointers<product>(a, planned.sizes, space);
            !s.ok() || planned.sizes.is_empty()) {
            return s;
        }
        out.quantize = quantization(planned.sizes.activation, space, planned.options);
        out.multiply = {planned.shape, bind<product>(a, planned, space)};
        out.method = planned.method;
        return {};
    }

private:
    static std::string product_name() {
        return std::string("kq::product<") + spelling_of<Encoding>.name + ", " +
               spelling_of<mapping>.name + ", " + spelling_of<Epilogue>.name + ">";
    }

    static kernel_launch<quantizations<void, 1>>
    quantization(const activation_rows& rows, workspace space, launch_options options) {
        return with_element(rows.activation.type, [&]<class Element>() {
            auto p = quantizer_plan<image>::template parameters<Element>(rows, {{space}});
            launch_shape shape = plan_quantizer<quantizer_policy::warp_per_block, image>(p);
            shape.dependent = options.dependent;
            return kernel_launch<quantizations<void, 1>>{shape,
                                                         kq::bit_cast<quantizations<void, 1>>(p)};
        });
    }
};

} // namespace kq::inline KQ_ABI
