-- SPDX-License-Identifier: BSD-3-Clause
-- spec/wrap/heavy_recipes_spec.lua - the recipes of large libraries, which take minutes: make check-wrap.

local recipe = require "spec.wrap.recipe"

recipe.describe("openblas", {
  ["cblas_dgemm:M"] = { 5, 10, 30, 50 },
  ["cblas_dgemm:N"] = { 5, 5, 15, 25 },
  ["cblas_dgemm:K"] = { 5, 2, 6, 10 },
})
recipe.describe("petsc", {
  ["KSPSolve:return"] = { 5, 0, 0, 0 },
  ["VecSet:2"] = { 5, 1, 3, 5 },
})
recipe.describe("qt5", {
  ["_ZN6QImageC1EiiNS_6FormatE:1"] = { 5, 10, 30, 50 },
  ["_ZN8QPainter9drawLinesEPK5QLinei:2"] = { 75, 1, 1, 1 },
})
