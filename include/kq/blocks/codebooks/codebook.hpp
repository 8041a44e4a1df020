// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

/// The codebooks of the GGUF IQ encodings: facts of the file format.
namespace kq::inline KQ_ABI::codebooks {

/// A codebook of 256 entries; an entry's magnitudes are its bytes, the lowest first.
template <class Entry>
struct codebook {
    Entry entries[256];
};

} // namespace kq::inline KQ_ABI::codebooks
