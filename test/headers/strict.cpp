// SPDX-License-Identifier: Apache-2.0
// What users instantiate: a template is not warned of where only the compiler sees its text.
#include <kq/host.hpp>

#define INSTANTIATE(encoding, number) template class kq::host_model<kq::encoding>;
KQ_ENCODINGS(INSTANTIATE)
template class kq::host_model<kq::q8_0_aligned>;
template class kq::host_model<kq::q4_k, kq::order{16}, kq::mappings::dense, kq::epilogues::gated>;
template class kq::host_model<kq::q4_k, kq::order{}, kq::mappings::stacked>;
template class kq::host_model<kq::q4_k, kq::order{}, kq::mappings::block_diagonal>;
template class kq::host_model<kq::q4_k, kq::order{}, kq::mappings::experts, kq::epilogues::gated>;
template class kq::host_model<kq::q4_k, kq::order{}, kq::mappings::experts,
                              kq::epilogues::weighted_sum>;
template struct kq::run_time_gemv<kq::q4_k>;

int main() {
    using choice = kq::detail::selector_of<kq::tuned>::type;
    using product = kq::product<kq::q4_k, kq::mappings::experts, kq::epilogues::weighted_sum>;
    constexpr auto list = choice::policies<product>();
    static_assert(list.has_one_order());
    kq::launch_plan plan;
    const kq::status s = kq::plan_launch(product::facts, list.of[0], {}, {}, {}, plan);
    return kq::dispatch_policy<kq::policies::warp, kq::policies::batch<4>>(
               kq::name_of(plan.policy),
               [&]<kq::policy P>() {
                   return s;
               }).ok() &&
                   !kq::to_string(plan).empty() && !kq::message(s).empty()
               ? choice::choose<product>({}, {}, {})
               : 1;
}
