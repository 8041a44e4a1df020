// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/gemv.cuh>
#include <kq/gemv/policy/tuning/select.hpp>
#include <kq/gemv/policy/tuning/shipped.hpp>

#include <cuda/std/utility>

namespace kq::inline KQ_ABI {

namespace detail {

/// Which rows of a table serve a composition.
template <class Mapping, class Epilogue>
constexpr tuning::row_mapping tuned_as() {
    return !Mapping::chosen_on_device   ? tuning::row_mapping::dense
           : Epilogue::sums_terms       ? tuning::row_mapping::grouped_sum
           : Epilogue::weight_sets == 2 ? tuning::row_mapping::grouped_gated
                                        : tuning::row_mapping::grouped;
}

/// The policies that a table may choose for an encoding and a mapping, each once.
struct policy_set {
    static constexpr int most = 64;
    policy of[most] = {};
    int count = 0;
    bool fits = true;

    constexpr void add(const policy& p) {
        if (find(p) >= 0) {
            return;
        }
        fits = count < most;
        if (fits) {
            of[count++] = p;
        }
    }
    constexpr bool has_lanes(int lanes) const {
        for (int i = 0; i < count; ++i) {
            if (of[i].lanes != lanes) {
                return false;
            }
        }
        return true;
    }
    constexpr int find(const policy& p) const {
        for (int i = 0; i < count; ++i) {
            if (of[i] == p) {
                return i;
            }
        }
        return -1;
    }
};

template <class Mapping>
constexpr policy_set policies_of(const tuning::table& rows, encoding e, tuning::row_mapping as) {
    const bool batched = as == tuning::row_mapping::dense && Mapping::batchable;
    policy_set set;
    set.add(by(policies::warp, transport::direct)); // runs on every device
    set.add(tuning::untuned(1));
    if (batched) {
        set.add(tuning::untuned(2));
    }
    for (const tuning::row& r : rows) {
        for (const policy& p : {r.best, r.best_dependent}) {
            if (r.encoding == e && r.mapping == as && (p.batch == 1 || batched)) {
                set.add(p);
            }
        }
    }
    return set;
}

} // namespace detail

/// `gemv` with the policy that a table of measurements holds for the shape and the device, chosen
/// at each launch. All of them have 32 lanes an output row, so the bits are those of `warp`,
/// whichever is chosen (contract C3).
///
/// `Encoding`, `Mapping`, `Epilogue`: as of `gemv`. `Rows`: the table; `kq_tune` writes one for the
/// GPU that it runs on. Each policy that it names for the encoding is instantiated.
template <dottable Encoding, template <int> class Mapping = mappings::dense,
          epilogue Epilogue = epilogues::store, const tuning::table& Rows = tuning::shipped>
    requires row_mapping<Mapping<Epilogue::weight_sets>>
class tuned_gemv {
    using plain = gemv<Encoding, by(policies::warp, transport::direct), Mapping, Epilogue>;

public:
    using mapping = typename plain::mapping;
    using arguments = typename plain::arguments;
    using image = typename plain::image;

    /// The policy for a launch with these arguments on this device. Arguments that `launch` refuses
    /// have one too.
    static policy choose(const arguments& a, const device_facts& device,
                         launch_options options = {}) {
        gemv_plan plan;
        if (!plan_sizes<Encoding, Epilogue>(a, plan).ok()) {
            return fallback;
        }
        const policy p = tuning::choose(
            Rows, {.compute_capability = device.compute_capability,
                   .encoding = Encoding::id,
                   .mapping = as,
                   .n = plan.of.n,
                   .k = plan.of.k,
                   .batch = batch_of(a),
                   .dependent = options.dependent && device.compute_capability >= 90});
        const bool suits = plan_shape<Encoding, Epilogue>(p, a, device, plan).ok();
        return suits && set.find(p) >= 0 ? p : fallback;
    }

    /// As `gemv::workspace_bytes`; the same for every policy.
    static size_t workspace_bytes(const arguments& a) { return plain::workspace_bytes(a); }

    /// As `gemv::can_implement`.
    static status can_implement(const arguments& a, workspace space, const device_facts& device) {
        return with_policy(a, device, {},
                           [&]<class Gemv>() { return Gemv::can_implement(a, space, device); });
    }

    /// As `gemv::describe`.
    static status describe(const arguments& a, const device_facts& device, description& out,
                           launch_options options = {}) {
        return with_policy(a, device, options,
                           [&]<class Gemv>() { return Gemv::describe(a, device, out, options); });
    }

    /// As `gemv::quantize`.
    static status quantize(const arguments& a, workspace space, cudaStream_t stream,
                           const device_facts& device, launch_options options = {}) {
        return plain::quantize(a, space, stream, device, options);
    }

    /// As `gemv::multiply`.
    static status multiply(const arguments& a, workspace space, cudaStream_t stream,
                           const device_facts& device, launch_options options = {}) {
        return with_policy(a, device, options, [&]<class Gemv>() {
            return Gemv::multiply(a, space, stream, device, options);
        });
    }

    /// As `gemv::launch`.
    static status launch(const arguments& a, workspace space, cudaStream_t stream,
                         const device_facts& device, launch_options options = {}) {
        return with_policy(a, device, options, [&]<class Gemv>() {
            return Gemv::launch(a, space, stream, device, options);
        });
    }

    /// As `gemv::launch`, on the current device.
    static status launch(const arguments& a, workspace space, cudaStream_t stream) {
        device_facts device;
        if (const status s = query_device(device); !s.ok()) {
            return s;
        }
        return launch(a, space, stream, device);
    }

private:
    static constexpr tuning::row_mapping as = detail::tuned_as<mapping, Epilogue>();
    static constexpr policy fallback = by(policies::warp, transport::direct);
    static constexpr detail::policy_set set = detail::policies_of<mapping>(Rows, Encoding::id, as);
    static_assert(set.fits, "kq: a table names at most 61 policies for an encoding and mapping");
    static_assert(set.has_lanes(fallback.lanes),
                  "kq: policies of a table have 32 lanes, so that all give the same bits");

    static int64_t batch_of(const arguments& a) {
        if constexpr (mapping::chosen_on_device) {
            return a.slots;
        } else if constexpr (mapping::batchable) {
            return a.m;
        } else {
            return 1;
        }
    }

    template <class Call>
    static status with_policy(const arguments& a, const device_facts& device,
                              launch_options options, Call&& call) {
        const int chosen = set.find(choose(a, device, options));
        status result;
        [&]<int... Index>(cuda::std::integer_sequence<int, Index...>) {
            (void)((Index == chosen &&
                    (result = call.template
                              operator()<gemv<Encoding, set.of[Index], Mapping, Epilogue>>(),
                     true)) ||
                   ...);
        }
        (cuda::std::make_integer_sequence<int, set.count>{});
        return result;
    }
};

} // namespace kq::inline KQ_ABI
