// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/run_time.hpp>

#include <nvrtc.h>

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

/// Programs that NVRTC compiles, for tests.
namespace nvrtc {

inline void check(nvrtcResult r, const std::string& what) {
    if (r != NVRTC_SUCCESS) {
        throw std::runtime_error(what + ": " + nvrtcGetErrorString(r));
    }
}

/// CCCL's headers: where the build found them, or elsewhere on the machine that runs the test.
inline std::string cccl() {
    const char* elsewhere = std::getenv("KQ_CCCL_INCLUDE_DIR");
    return elsewhere != nullptr ? elsewhere : KQ_CCCL_INCLUDE_DIR;
}

/// A program for one architecture.
class program {
public:
    /// `names`: of the kernels, as name expressions. `capability`: 10 * major + minor.
    program(const std::string& source, const std::vector<std::string>& names, int capability) {
        nvrtcProgram p = nullptr;
        check(nvrtcCreateProgram(&p, source.c_str(), "program.cu", 0, nullptr, nullptr), "create");
        try {
            for (const std::string& name : names) {
                check(nvrtcAddNameExpression(p, name.c_str()), name);
            }
            compile(p, capability);
            for (const std::string& name : names) {
                const char* lowered = nullptr;
                check(nvrtcGetLoweredName(p, name.c_str(), &lowered), name);
                lowered_[name] = lowered;
            }
            size_t bytes = 0;
            check(nvrtcGetCUBINSize(p, &bytes), "size of the cubin");
            cubin_.resize(bytes);
            check(nvrtcGetCUBIN(p, cubin_.data()), "cubin");
        } catch (...) {
            nvrtcDestroyProgram(&p);
            throw;
        }
        nvrtcDestroyProgram(&p);
    }

    const std::string& cubin() const { return cubin_; }
    /// The symbol of a kernel.
    const std::string& lowered(const std::string& name) const { return lowered_.at(name); }
    /// Whether there is code of that symbol.
    bool holds(const std::string& symbol) const {
        return cubin_.find(std::string(".text.") + symbol + '\0') != std::string::npos;
    }

private:
    static void compile(nvrtcProgram p, int capability) {
        const std::string architecture = "-arch=sm_" + std::to_string(capability);
        const std::string cccl_folder = "-I" + cccl();
        const std::string toolkit_folder = cccl_folder + "/.."; // for newer CCCL's <cuda/ptx>
        std::vector<const char*> options(std::begin(kq::run_time_options),
                                         std::end(kq::run_time_options));
        options.insert(options.end(), {architecture.c_str(), "-Iinclude", "-Itest",
                                       cccl_folder.c_str(), toolkit_folder.c_str()});
        const nvrtcResult r =
            nvrtcCompileProgram(p, static_cast<int>(options.size()), options.data());
        size_t bytes = 0;
        check(nvrtcGetProgramLogSize(p, &bytes), "size of the log");
        std::string log(bytes, '\0');
        check(nvrtcGetProgramLog(p, log.data()), "log");
        check(r, log);
    }

    std::string cubin_;
    std::map<std::string, std::string> lowered_;
};

} // namespace nvrtc
