// Multiplies one block on the CPU, with a plain C++ compiler.
#include <kq/host.hpp>

#include <cstdio>

int main() {
    const kq::q8_0::block weights[] = {{.d = {0x3c00}, .q = {2}}}; // 1 * 2
    const float activation[32] = {127};
    float product = 0;
    const kq::status done = kq::host_model<kq::q8_0>::launch(
        {.weights = weights, .activation = activation, .output = &product, .n = 1, .k = 32});
    std::printf("host: %s, %g\n", kq::message(done).c_str(), product);
    return done.ok() && product == 254 ? 0 : 1;
}
