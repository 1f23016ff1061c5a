# SPDX-License-Identifier: Apache-2.0
# A thin front to meson, for who has just cloned this:
#
#	make		the program and the library, in build/release
#	make test	installs what is missing (Debian), builds twice, runs all tests
#	make demo	the same build, then a tour that ends in figures
#	make install	to PREFIX (/usr/local), below DESTDIR if that is set
#	make uninstall	removes what the last install put there
#	make check	the quick tests of the release build, installing nothing
#	make clean	removes build/
#
# docs/HACKING.md has the commands behind it.
MESON = meson
PREFIX = /usr/local
# A new meson.build anywhere has to be noticed: what existed when a build was configured, ninja watches.
MESON_FILES := $(wildcard meson.build */meson.build */*/meson.build)
RELEASE = build/release
ASAN = build/asan

# configure DIRECTORY,OPTIONS: what meson says is of interest only when it fails.
, := ,
define configure
@echo "configuring $(1) $(2)"
@mkdir -p build
@$(MESON) setup $(if $(wildcard $@),--reconfigure) $(2) $(1) >build/setup.log 2>&1 || \
	{ cat build/setup.log >&2; exit 1; }
@touch $@
endef

all: $(RELEASE)/build.ninja
	ninja -C $(RELEASE)

setup:
	@tools/setup-debian

$(RELEASE)/build.ninja: $(MESON_FILES)
	@tools/setup-debian --check build
	$(call configure,$(RELEASE),--prefix=$(PREFIX))

$(ASAN)/build.ninja: $(MESON_FILES)
	$(call configure,$(ASAN),-Db_sanitize=address$(,)undefined)

# In steps of their own, for what the first installs the second looks for.
test:
	@rm -f build/test-summary
	@tools/setup-debian
	@$(MAKE) --no-print-directory $(RELEASE)/build.ninja $(ASAN)/build.ninja >&2
	@tools/run-tests $(RELEASE) $(ASAN)

check: $(RELEASE)/build.ninja
	@tools/run-tests -s unit -s style -s sim $(RELEASE)

demo:
	@tools/setup-debian build
	@$(MAKE) --no-print-directory $(RELEASE)/build.ninja >&2
	@ninja -C $(RELEASE) src/cli/penstock >&2
	@tests/demo.sh $(RELEASE)

# An earlier build may have been configured for another prefix.
install: all
	@$(MESON) configure $(RELEASE) -Dprefix=$(PREFIX)
	ninja -C $(RELEASE)
	$(MESON) install --no-rebuild -C $(RELEASE)

uninstall:
	ninja -C $(RELEASE) uninstall

clean:
	rm -rf build

.PHONY: all setup test check demo install uninstall clean
