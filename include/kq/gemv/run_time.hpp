// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/describe.hpp>
#include <kq/gemv/plan/plan.hpp>
#include <kq/activation/plan.hpp>
#include <kq/launch/options.hpp>
#include <kq/launch/shape.hpp>

#include <cuda/std/bit>

#include <string>

/// Kernels for policies that are known at run time only: NVRTC compiles them, the driver launches
/// them, and here is what both need to be told. Plain host C++, which calls neither.
namespace kq::inline KQ_ABI {

/// How the text of a program spells a type, and the header that defines it.
struct spelling {
    const char* name;
    const char* header;
};

/// The spelling of an encoding, of a mapping (without its `Sets`) or of an epilogue. Specialize it
/// for your own; of an encoding the header is the dot's.
template <class T>
inline constexpr spelling spelling_of = {};

#define KQ_ENTRY(encoding, gguf_type)                                                              \
    template <>                                                                                    \
    inline constexpr spelling spelling_of<encoding>{"kq::" #encoding, "kq/dot/" #encoding ".hpp"};
KQ_ENCODINGS(KQ_ENTRY)
#undef KQ_ENTRY
template <>
inline constexpr spelling spelling_of<q8_0_aligned>{"kq::q8_0_aligned", "kq/dot/q8_0_aligned.hpp"};

template <int Sets>
inline constexpr spelling spelling_of<mappings::dense<Sets>>{"kq::mappings::dense",
                                                             "kq/gemv/mapping/mapping.hpp"};
template <int Sets>
inline constexpr spelling spelling_of<mappings::stacked<Sets>>{"kq::mappings::stacked",
                                                               "kq/gemv/mapping/mapping.hpp"};
template <int Sets>
inline constexpr spelling spelling_of<mappings::grouped<Sets>>{"kq::mappings::grouped",
                                                               "kq/gemv/mapping/mapping.hpp"};
template <int Sets>
inline constexpr spelling spelling_of<mappings::block_diagonal<Sets>>{
    "kq::mappings::block_diagonal", "kq/gemv/mapping/mapping.hpp"};

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
    using mapping = Mapping<Epilogue::weight_sets>;
    using arguments = typename mapping::arguments;
    using image = image_of<Encoding>;
    using parameters = kernel_parameters<mapping, Epilogue>;
    static_assert(spelling_of<Encoding>.name != nullptr && spelling_of<mapping>.name != nullptr &&
                      spelling_of<Epilogue>.name != nullptr,
                  "kq: specialize spelling_of for a type of your own");

    /// A product.
    struct launches {
        kernel_launch<quantizations<void, 1>> quantize; ///< the kernel `quantizer_name`
        kernel_launch<parameters> multiply;             ///< the kernel `kernel_name(policy, via)`
        transport via = transport::direct;
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
        same_size("kq::kernel_parameters<" + name_of_mapping() + ", " + spelling_of<Epilogue>.name +
                      ">",
                  sizeof(parameters));
        same_size("kq::quantizations<void, 1>", sizeof(quantizations<void, 1>));
        return text;
    }

    /// The name expression of the kernel that multiplies by one transport. Policies that differ in
    /// stages and pieces only have one kernel.
    /// Requires: a policy and a transport that `plan` accepts.
    static std::string kernel_name(const policy& p, transport via) {
        // A binding, so that a new field does not go unnoticed.
        const auto [lanes, rows, prefetch, batch, warps, stages, piece_bytes, by_one] =
            compiled_part(by(p, via));
        std::string fields;
        const int numbers[] = {lanes, rows, prefetch, batch, warps, stages, piece_bytes};
        for (const int number : numbers) {
            fields += std::to_string(number) + ", ";
        }
        fields += by_one == transport::bulk ? "kq::transport::bulk" : "kq::transport::direct";
        return std::string("kq::gemv_kernel<kq::config<") + spelling_of<Encoding>.name +
               ", kq::policy{" + fields + "}, " + name_of_mapping() + ", " +
               spelling_of<Epilogue>.name + ">>";
    }

    /// The name expression of the kernel that quantizes activations of one type.
    static std::string quantizer_name(element_type activation) {
        const char* element = activation == element_type::f16    ? "kq::f16"
                              : activation == element_type::bf16 ? "kq::bf16"
                                                                 : "float";
        return std::string("kq::quantize_kernel<") + element + ", " +
               std::to_string(detail::quantizer_warps) +
               ", kq::quantizer_policy::warp_per_block, kq::sliced_dot<" +
               spelling_of<Encoding>.name + ">::image>";
    }

    /// As `gemv::workspace_bytes`; the same for every policy.
    static size_t workspace_bytes(const arguments& a) {
        gemv_plan plan;
        const status s = plan_sizes<Encoding, Epilogue>(a, plan);
        return s.ok() ? static_cast<size_t>(plan.workspace_bytes) : 0;
    }

    /// As `gemv::can_implement`.
    static status can_implement(const policy& p, const arguments& a, workspace space,
                                const device_facts& device) {
        launches out;
        return plan(p, a, space, device, out);
    }

    /// As `gemv::describe`.
    static status describe(const policy& p, const arguments& a, const device_facts& device,
                           description& out, launch_options options = {}) {
        const status s = check_policy(p);
        return s.ok() ? describe_launch<Encoding, Epilogue>(p, a, device, out, options) : s;
    }

    /// Checks all arguments and makes the launches. Allocates nothing.
    ///
    /// Errors: names the argument and the rule it breaks, as `gemv::launch` does, and what `gemv`
    /// refuses to compile: a policy whose fields are out of range, or do not go with the encoding,
    /// the mapping or the transport.
    static status plan(const policy& p, const arguments& a, workspace space,
                       const device_facts& device, launches& out, launch_options options = {}) {
        out = {};
        gemv_plan planned;
        if (const status s = check_policy(p); !s.ok()) {
            return s;
        }
        if (const status s = check_options<mapping>(device, options); !s.ok()) {
            return s;
        }
        if (const status s = plan_launch<Encoding, Epilogue>(p, a, space, device, planned);
            !s.ok() || planned.of.is_empty()) {
            return s;
        }
        const activation_rows rows = activation_rows_of(planned.of);
        if (const status s = quantizer_plan<image>::check(rows, {{space}}); !s.ok()) {
            return s;
        }
        out.quantize = quantization_of(rows, space, options);
        out.multiply = {shape_of(planned, options),
                        parameters_of<Encoding, Epilogue>(a, planned, space, options)};
        out.via = planned.via;
        return {};
    }

private:
    static std::string name_of_mapping() {
        return std::string(spelling_of<mapping>.name) + "<" +
               std::to_string(Epilogue::weight_sets) + ">";
    }

    /// What `gemv` checks when it is compiled.
    static status check_policy(const policy& p) {
        if (p.batch != 1 && !mapping::batchable) {
            return status::invalid("policy", "a batch of activation rows needs the dense or the "
                                             "stacked mapping");
        }
        return kq::check_policy<Encoding>(p);
    }

    static kernel_launch<quantizations<void, 1>>
    quantization_of(const activation_rows& rows, workspace space, launch_options options) {
        const auto as = [&]<class Element>() {
            auto p = quantizer_plan<image>::template parameters<Element>(rows, {{space}});
            launch_shape shape = plan_quantizer<quantizer_policy::warp_per_block, image>(p);
            shape.dependent = options.dependent;
            return kernel_launch<quantizations<void, 1>>{
                shape, cuda::std::bit_cast<quantizations<void, 1>>(p)};
        };
        switch (rows.activation.type) {
        case element_type::f16:
            return as.template operator()<f16>();
        case element_type::bf16:
            return as.template operator()<bf16>();
        case element_type::f32:
            break;
        }
        return as.template operator()<float>();
    }
};

} // namespace kq::inline KQ_ABI
