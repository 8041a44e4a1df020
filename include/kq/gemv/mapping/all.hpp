// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Every row mapping.

#include <kq/gemv/mapping/block_diagonal.hpp>
#include <kq/gemv/mapping/dense.hpp>
#include <kq/gemv/mapping/experts.hpp>
#include <kq/gemv/mapping/stacked.hpp>
