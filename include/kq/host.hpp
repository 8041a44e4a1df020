// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything that needs no nvcc: formats, the reference, the host model, sizes and plans.

#include <kq/blocks/repack.hpp>
#include <kq/core/check.hpp>
#include <kq/core/version.hpp>
#include <kq/dot/all.hpp>
#include <kq/dot/q8_0_aligned.hpp>
#include <kq/gemv/describe.hpp>
#include <kq/gemv/dispatch.hpp>
#include <kq/gemv/host_model.hpp>
#include <kq/gemv/mapping/all.hpp>
#include <kq/gemv/policy/short_k.hpp>
#include <kq/gemv/policy/tuning/tuned.hpp>
#include <kq/gemv/run_time.hpp>
#include <kq/reference/reference.hpp>
