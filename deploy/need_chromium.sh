#!/bin/sh
# The browser tests need Chromium. Finds it, installs it where that is possible without
# asking, or says exactly what is missing.
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "Installing Chromium for the browser tests …"
    apt-get update -qq
    # The shell is Chromium without its windows: tests take a quarter less of a core.
    for package in chromium-headless-shell chromium; do
        apt-get install -y -qq "$package" >/dev/null && exit 0
    done
fi
echo "The browser tests need Chromium, and it is not installed." >&2
echo "Install it (Debian, Ubuntu: apt-get install chromium) and run make test-slow again." >&2
exit 1
