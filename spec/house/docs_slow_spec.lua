-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/docs_slow_spec.lua - the pages of the documentation that say of themselves that they are slow, followed to the
-- letter as spec/house/docs_spec.lua follows the others.
--
-- Slow: they simulate, compile with counts, generate wrappers, and wait for programs.

local page = require "spec.page"

describe("A slow page of the documentation", function() page.specs(true) end)
