// Compiles and links one product's kernels; needs no GPU to run.
#include <kq/kq.cuh>

#include <cstdio>

int main() {
    using gemv = kq::gemv<kq::q4_k>;
    const kq::dense_arguments a{.n = 4096, .k = 4096};
    const size_t bytes = gemv::workspace_bytes(a);
    const kq::status done = gemv::launch(a, {}, nullptr);
    std::printf("device: %zu bytes of workspace, %s\n", bytes, kq::message(done).c_str());
    return bytes > 0 && !done.ok() ? 0 : 1; // there is no workspace, perhaps no GPU either
}
