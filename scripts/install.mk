# Where the program goes when it is installed, and the archive of the sources.

.PHONY: install uninstall dist
DEST_BIN := $(DESTDIR)$(PREFIX)/bin
DEST_LIB := $(DESTDIR)$(PREFIX)/lib
DEST_INC := $(DESTDIR)$(PREFIX)/include/moonloop
DEST_DATA := $(DESTDIR)$(PREFIX)/share
DEST_SHARE := $(DEST_DATA)/moonloop
MAN_PAGE  := $(DEST_DATA)/man/man1/moonloop.1
# bash, zsh and fish look there
SHELL_FILES := bash:$(DEST_DATA)/bash-completion/completions/moonloop \
               zsh:$(DEST_DATA)/zsh/site-functions/_moonloop \
               fish:$(DEST_DATA)/fish/vendor_completions.d/moonloop.fish
install: all $(if $(MAIN_SRC),$(BUILD)/moonloop.1)
	mkdir -p $(DEST_BIN) $(DEST_LIB) $(DEST_INC) $(DEST_SHARE) $(dir $(MAN_PAGE))
	$(if $(MAIN_SRC),install -m 644 $(BUILD)/moonloop.1 $(MAN_PAGE))
	$(if $(MAIN_SRC),set -e; for f in $(SHELL_FILES); do mkdir -p "$$(dirname "$${f#*:}")"; \
	    $(OUT)/moonloop --manual="$${f%%:*}" >"$${f#*:}"; done)
	$(if $(PROGRAMS),install -m 755 $(PROGRAMS) $(DEST_BIN))
	install -m 644 $(LIB) $(DEST_LIB)
	sh scripts/install-headers.sh $(BUILD)/include $(dir $(DEST_INC))
	$(if $(MODULE),mkdir -p $(DESTDIR)$(LUA_CMOD) && install -m 755 $(MODULE) $(DESTDIR)$(LUA_CMOD))
	rm -rf $(DEST_SHARE)/lua $(DEST_SHARE)/examples && cp -R lua examples $(DEST_SHARE)

uninstall:
	rm -f $(DEST_BIN)/moonloop $(DEST_BIN)/moonloop-draw $(DEST_LIB)/libmoonloop.a $(DESTDIR)$(LUA_CMOD)/moonloop.so
	rm -f $(MAN_PAGE) $(foreach f,$(SHELL_FILES),$(lastword $(subst :, ,$(f))))
	rm -rf $(DEST_INC) $(DEST_SHARE)

dist:
	@mkdir -p $(BUILD)
	git archive --format=tar.gz --prefix=moonloop-$(VERSION)/ -o $(BUILD)/moonloop-$(VERSION).tar.gz HEAD
	@echo '$(BUILD)/moonloop-$(VERSION).tar.gz'
