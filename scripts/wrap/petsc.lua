-- SPDX-License-Identifier: BSD-3-Clause
-- PETSc's KSP, Mat and Vec, on real numbers: the return codes of solvers.
--
-- Other parts (PC, SNES, TS, DM) are left out; add their headers to the filter to wrap them. KSPGetConvergedReason returns by
-- a pointer whether a solver converged; the return code is PETSc's error. Inline functions of the headers are part of the
-- program. PETSc passes on the addresses of many functions (VecDestroy, VecRestoreArray, KSPConvergedDefault): a run-time
-- wrapper sees its own calls of these, pmlua record does not. Functions for options that Debian leaves out (Mathematica,
-- Chaco, Party, CUDA, SAWs) are in no library.
--
--     pmlua wrap init --recipe petsc

return {
  name = "petsc",
  title = "PETSc: KSP, Mat, Vec",
  package = "petsc-dev",
  headers = { "petscksp.h" },
  cflags = "$(pkg-config --cflags PETSc mpi-c)",
  libs = "$(pkg-config --libs PETSc) $(pkg-config --libs-only-L mpi-c) -lmpi",
  record = { "KSPSolve:return", "VecSet:2" },
  filter = [[
SCOREP_FILE_NAMES_BEGIN
  EXCLUDE *
  INCLUDE */petscksp.h */petscmat.h */petscvec.h
SCOREP_FILE_NAMES_END
# what Debian's PETSc is built without, or keeps for itself
SCOREP_REGION_NAMES_BEGIN
  EXCLUDE PetscViewerMathematica* MatPartitioningChaco* MatPartitioningParty* MatPartitioningParmetis*
  EXCLUDE *HPDDM* *SAWs* *CUFFT* *CUSPARSE* *ViennaCL*
  EXCLUDE VecCreateNode MatMeshToCellGraph MatMPISBAIJSetHashTableFactor MatHeaderMerge KSPAddOptionsChecker
SCOREP_REGION_NAMES_END
]],
  calls = { MatCreateSeqAIJ = 1, MatSetValues = 298, MatAssemblyBegin = 1, MatAssemblyEnd = 1, MatCreateVecs = 1,
    VecSet = 5, VecDuplicate = 1, MatMult = 5, VecAXPY = 5, VecNorm = 5, KSPCreate = 1, KSPSetOperators = 1,
    KSPSetType = 1, KSPSetTolerances = 1, KSPSolve = 5, KSPDestroy = 1, VecDestroy = 3, MatDestroy = 1 },
  example = [[
/* A difference equation on 100 points, solved for five right-hand sides, each known to be a matrix times a vector. */
#include "headers.h"

#include <stdio.h>

enum { N = 100 };

static PetscErrorCode matrix(Mat *a) {
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, N, N, 3, NULL, a));
  for (PetscInt i = 0; i < N; i++)
    for (PetscInt j = i - 1; j <= i + 1; j++) {
      PetscScalar v = i == j ? 3 : -1;
      if (j >= 0 && j < N) PetscCall(MatSetValues(*a, 1, &i, 1, &j, &v, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(*a, MAT_FINAL_ASSEMBLY));
  return MatAssemblyEnd(*a, MAT_FINAL_ASSEMBLY);
}

static PetscErrorCode solve(PetscReal *worst) {
  Mat a;
  Vec x, b, y;
  KSP ksp;
  PetscCall(matrix(&a));
  PetscCall(MatCreateVecs(a, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, a, a));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  for (int i = 1; i <= 5; i++) {
    PetscReal error;
    PetscCall(VecSet(x, i));
    PetscCall(MatMult(a, x, b));
    PetscCall(KSPSolve(ksp, b, y));
    PetscCall(VecAXPY(y, -1, x));
    PetscCall(VecNorm(y, NORM_2, &error));
    if (error > *worst) *worst = error;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  return MatDestroy(&a);
}

int main(int argc, char **argv) {
  PetscReal worst = 0;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(solve(&worst));
  PetscCall(PetscFinalize());
  printf("solved: %d\n", worst < 1e-6);
  return worst < 1e-6 ? 0 : 1;
}
]],
}
