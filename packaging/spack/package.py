# SPDX-License-Identifier: BSD-3-Clause
# packaging/spack/package.py - the recipe for Spack; make dist fills in the archive's version, address and checksum.

from spack.package import *


class Pmlua(MakefilePackage):
    """Performance experiments as Lua scripts over a fast C core: counters read in user space, event sets,
    sections, intercepted library calls, OTF2 traces and plots."""

    license("BSD-3-Clause")

    version("@VERSION@", sha256="@SHA256@", url="@URL@")

    variant("static", default=True, description="Install the static libraries")
    variant("llvm", default=False, description="Build what pmlua cc --count needs")
    variant("plots", default=True, description="Draw figures with gnuplot, flow graphs with Graphviz")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+llvm")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    extends("lua@5.4")
    depends_on("libpfm4", type=("build", "link"))
    depends_on("otf2", type=("build", "link"))
    depends_on("elfutils", type=("build", "link"))
    depends_on("zlib-api", type=("build", "link"))
    depends_on("lua-luafilesystem", type="run")
    depends_on("llvm@14:19+clang", type=("build", "link", "run"), when="+llvm")
    depends_on("gnuplot", type="run", when="+plots")
    depends_on("graphviz", type="run", when="+plots")

    # Spack has no packages of these.
    @run_after("install")
    def install_rocks(self):
        for rock in ("lua-cjson", "lua-zlib"):
            luarocks("--tree={0}".format(self.prefix), "install", rock)

    # Make's own words, so that the build's flags stay those of the Makefile.
    @property
    def build_targets(self):
        return ["all", "CC={0}".format(self.compiler.cc)]

    @property
    def install_targets(self):
        static = "yes" if self.spec.satisfies("+static") else "no"
        return ["install", "PREFIX={0}".format(self.prefix), "STATIC={0}".format(static)]
