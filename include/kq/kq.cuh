// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything kq offers, but for `kq/gemv/workspace_pool.cuh`: the headers of `std::mutex` and
/// `std::thread` would cost each program two seconds.

#include <kq/blocks/repack.cuh>
#include <kq/gemv/gemv.cuh>
#include <kq/host.hpp>
