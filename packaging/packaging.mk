# SPDX-License-Identifier: BSD-3-Clause
# packaging/packaging.mk - the source archive, and the packages that are made from it.

DIST := pmlua-$(VERSION)
DIST_DIR := $(B)/dist
ARCHIVE := $(DIST_DIR)/$(DIST).tar.gz
# Where the recipes fetch the archive from.
DIST_URL ?= file://$(abspath $(ARCHIVE))
# What the checkout has under version control, or all of an unpacked archive.
DIST_FILES = if [ -e .git ]; then git ls-files; else find . -path ./$(B) -prune -o ! -type d -printf '%P\n'; fi

# When the last commit was made, or what the archive says of that.
DIST_TIME = $${SOURCE_DATE_EPOCH:-$$(if [ -e .git ]; then git log -1 --format=%ct; else stat -c %Y Makefile; fi)}

# Two archives of the same files are the same bytes.
.PHONY: dist
dist: ## the source archive, recipes for Spack and LuaRocks that fetch it, and checksums, into build/dist; DIST_URL=where from
	@rm -rf $(DIST_DIR) && mkdir -p $(DIST_DIR)/spack/packages/pmlua
	@$(DIST_FILES) | LC_ALL=C sort | tar --transform='s|^|$(DIST)/|S' --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw \
	  --mtime=@$(DIST_TIME) -cf - -T - | gzip -9n >$(ARCHIVE)
	@sed -e "s|@SHA256@|$$(sha256sum <$(ARCHIVE) | cut -d' ' -f1)|" -e 's|@URL@|$(DIST_URL)|' -e 's|@VERSION@|$(VERSION)|' \
	  packaging/spack/package.py >$(DIST_DIR)/spack/packages/pmlua/package.py
	@printf 'repo:\n  namespace: pmlua\n' >$(DIST_DIR)/spack/repo.yaml
	@sed -e 's|^version = .*|version = "$(VERSION)-1"|' \
	  -e "s|^source = .*|source = { url = \"$(DIST_URL)\", dir = \"$(DIST)\", md5 = \"$$(md5sum <$(ARCHIVE) | cut -d' ' -f1)\" }|" \
	  pmlua-scm-1.rockspec >$(DIST_DIR)/$(DIST)-1.rockspec
	@cd $(DIST_DIR) && sha256sum $(DIST).tar.gz $(DIST)-1.rockspec spack/repo.yaml spack/packages/pmlua/package.py | tee SHA256SUMS

# --- Debian -----------------------------------------------------------------------------------------------------------

DEB_DIR := $(B)/deb
DEB_DEPS := debhelper chrpath lintian dpkg-dev clang libclang-dev libomp-dev llvm-14-dev libmpich-dev libopenmpi-dev

.PHONY: deb
deb: dist ## the packages pmlua, lua-pmlua, libpmlua1, libpmlua-dev and pmlua-doc, into build/deb
	$(call need,$(RUN_DEPS) $(DEB_DEPS))
	@rm -rf $(DEB_DIR) && mkdir -p $(DEB_DIR)
	@cp $(ARCHIVE) $(DEB_DIR)/pmlua_$(VERSION).orig.tar.gz && tar -xzf $(ARCHIVE) -C $(DEB_DIR)
	@cp -R packaging/debian $(DEB_DIR)/$(DIST)/debian
	@sed -i -e 's|@VERSION@|$(VERSION)|' -e "s|@DATE@|$$(date -R -u -d @$(DIST_TIME))|" \
	  $(DEB_DIR)/$(DIST)/debian/changelog
	cd $(DEB_DIR)/$(DIST) && env -u MAKEFLAGS -u B dpkg-buildpackage -us -uc
	lintian --fail-on error --suppress-tags bad-distribution-in-changes-file $(DEB_DIR)/pmlua_$(VERSION)-1_*.changes
