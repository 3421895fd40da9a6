# SPDX-License-Identifier: BSD-3-Clause
# packaging/packaging.mk - the source archive, and the packages that are made from it.

DIST := pmlua-$(VERSION)
DIST_DIR := $(B)/dist
ARCHIVE := $(DIST_DIR)/$(DIST).tar.gz
# Where the recipes fetch the archive from.
DIST_URL ?= file://$(abspath $(ARCHIVE))
# What the checkout has under version control, or all of an unpacked archive.
DIST_FILES = if [ -e .git ]; then git ls-files; else find . -path ./$(B) -prune -o ! -type d -printf '%P\n'; fi

# Two archives of the same files are the same bytes.
.PHONY: dist
dist: ## the source archive with its checksum, and recipes for Spack and LuaRocks that fetch it, into build/dist; DIST_URL=where from
	@rm -rf $(DIST_DIR) && mkdir -p $(DIST_DIR)/spack/packages/pmlua
	@$(DIST_FILES) | LC_ALL=C sort | tar --transform='s|^|$(DIST)/|S' --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw \
	  --mtime=@$${SOURCE_DATE_EPOCH:-0} -cf - -T - | gzip -9n >$(ARCHIVE)
	@cd $(DIST_DIR) && sha256sum $(DIST).tar.gz >$(DIST).tar.gz.sha256
	@sed -e "s|@SHA256@|$$(cut -d' ' -f1 $(ARCHIVE).sha256)|" -e 's|@URL@|$(DIST_URL)|' -e 's|@VERSION@|$(VERSION)|' \
	  packaging/spack/package.py >$(DIST_DIR)/spack/packages/pmlua/package.py
	@printf 'repo:\n  namespace: pmlua\n' >$(DIST_DIR)/spack/repo.yaml
	@sed -e 's|^version = .*|version = "$(VERSION)-1"|' \
	  -e "s|^source = .*|source = { url = \"$(DIST_URL)\", dir = \"$(DIST)\", md5 = \"$$(md5sum <$(ARCHIVE) | cut -d' ' -f1)\" }|" \
	  pmlua-scm-1.rockspec >$(DIST_DIR)/$(DIST)-1.rockspec
	@cat $(ARCHIVE).sha256
