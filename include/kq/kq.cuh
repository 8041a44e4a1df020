// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything kq offers.

#include <kq/activation/image.hpp>
#include <kq/activation/rule.hpp>
#include <kq/activation/kernel.cuh>
#include <kq/blocks/all.hpp>
#include <kq/blocks/repack.cuh>
#include <kq/blocks/repack.hpp>
#include <kq/dot/all.hpp>
#include <kq/dot/q8_0_aligned.hpp>
#include <kq/gemv/describe.hpp>
#include <kq/gemv/dispatch.hpp>
#include <kq/gemv/host_model.hpp>
#include <kq/gemv/gemv.cuh>
#include <kq/gemv/quantizer.cuh>
#include <kq/gemv/run_time.hpp>
#include <kq/gemv/policy/short_k.hpp>
#include <kq/gemv/tuned.cuh>
#include <kq/gemv/workspace_pool.cuh>
#include <kq/reference/reference.hpp>
#include <kq/core/status.hpp>
#include <kq/core/version.hpp>
