// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/memory.hpp"
#include "instances/instances.hpp"
#include "samples.hpp"

#include <kq/dot/all.hpp>

#include <cstring>
#include <type_traits>

/// Products on the GPU and what they are compared with.
namespace gpu {

inline constexpr placement placements[] = {placement::exact, placement::before_hole,
                                           placement::after_hole};

inline kq::device_facts device() {
    kq::device_facts facts;
    kq::check(instances::query_device(facts));
    return facts;
}

/// Launches with exactly the workspace that the product asks for, and waits.
template <class Arguments>
void run(const instances::launcher<Arguments>& gemv, const std::type_identity_t<Arguments>& a,
         const kq::device_facts& facts = device()) {
    const buffer space(gemv.workspace_bytes(a), placement::exact);
    kq::check(gemv.launch(a, {space.data(), space.bytes()}, nullptr, facts, {}));
    check(cudaDeviceSynchronize(), "synchronize");
}
template <class Gemv>
void run(const typename Gemv::arguments& a, const kq::device_facts& facts = device()) {
    run(instances::launcher_of<Gemv>, a, facts);
}

/// `samples::for_each_encoding` for those that a composition is compiled for; once in a test case.
template <kq::policy Policy, template <int> class Mapping = kq::mappings::dense,
          class Epilogue = kq::epilogues::store, class Test>
void for_each_encoding_with(Test&& test) {
    samples::for_each_encoding([&]<class E>() {
        if constexpr (instances::has<E, Policy, Mapping, Epilogue>) {
            test.template operator()<E>();
        }
    });
}

/// Calls `test` with the policies `direct` and `bulk`, where these are compiled for an encoding, a
/// mapping and an epilogue.
template <class E, template <int> class Mapping, class Epilogue, class Test>
void for_each_method(Test&& test) {
    if constexpr (instances::has<E, instances::direct, Mapping, Epilogue>) {
        test.template operator()<instances::direct>();
    }
    if constexpr (instances::has<E, instances::bulk, Mapping, Epilogue>) {
        test.template operator()<instances::bulk>();
    }
}

/// The launchers of a product by the methods `direct` and `bulk`, as far as they are compiled.
template <class E, template <int> class Mapping, class Epilogue>
auto launchers_by_method() {
    using arguments = typename Mapping<Epilogue::weight_sets>::arguments;
    std::vector<instances::launcher<arguments>> launchers;
    for_each_method<E, Mapping, Epilogue>([&]<kq::policy Policy>() {
        launchers.push_back(instances::launcher_of<instances::gemv<E, Policy, Mapping, Epilogue>>);
    });
    return launchers;
}

/// `kq::host_model<E>::launch`, compiled once, in host_models.cpp.
template <class E>
kq::status launch_host_model(const kq::dense_arguments& a);

using bytes = std::vector<unsigned char>;

template <class T>
bytes bytes_of(const std::vector<T>& elements) {
    const auto* first = reinterpret_cast<const unsigned char*>(elements.data());
    return bytes(first, first + elements.size() * sizeof(T));
}

/// An encoding as data, so that what compares its products is compiled once for all encodings.
struct weights_type {
    int elements;
    int64_t block_bytes;
    bytes (*random_weights)(int64_t n, int64_t k, uint64_t seed);
    kq::status (*launch_host_model)(const kq::dense_arguments&);

    int64_t row_bytes(int64_t k) const { return k / elements * block_bytes; }
};

template <class E>
inline constexpr weights_type weights_type_of{E::elements, sizeof(typename E::block),
                                              [](int64_t n, int64_t k, uint64_t seed) {
                                                  return bytes_of(
                                                      samples::random_weights<E>(n, k, seed));
                                              },
                                              launch_host_model<E>};

/// An output, pre-filled with a pattern that must survive where nothing is stored.
class output {
public:
    static constexpr float pattern = -12345.0f;

    explicit output(int64_t elements)
        : memory_(std::vector<float>(static_cast<size_t>(elements), pattern), placement::exact) {}
    float* data() const { return memory_.as<float>(); }
    std::vector<float> download() const { return memory_.download<float>(); }
    bool holds(const std::vector<float>& expected) const {
        const auto y = download();
        return y.size() == expected.size() &&
               std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)) == 0;
    }

private:
    buffer memory_;
};

/// The plain product [m, n] of the host model, whose bits gemv.cpp shows to be the kernel's.
/// `w`: [n, k / elements] blocks. `x`: [m, k].
template <class E>
std::vector<float> host_product(const typename E::block* w, const float* x, int64_t n, int64_t k,
                                int64_t m = 1) {
    std::vector<float> y(static_cast<size_t>(n * m));
    kq::check(launch_host_model<E>(
        {.weights = w, .activation = x, .output = y.data(), .n = n, .k = k, .m = m}));
    return y;
}

inline std::vector<float> host_product(const weights_type& type, const unsigned char* w,
                                       const float* x, int64_t n, int64_t k, int64_t m = 1) {
    std::vector<float> y(static_cast<size_t>(n * m));
    kq::check(type.launch_host_model(
        {.weights = w, .activation = x, .output = y.data(), .n = n, .k = k, .m = m}));
    return y;
}

} // namespace gpu
