"""A headless Chromium for the tests of report.html: one that the distribution packages, with its
own driver. Found on the Python that has Selenium; exit code 77 (skipped) where one is missing.
"""

import os
import shutil
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent


def _skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ModuleNotFoundError:
    python = REPOSITORY / "build" / "venv" / "bin" / "python3"
    if python.exists() and Path(sys.prefix) != REPOSITORY / "build" / "venv":
        os.execv(python, [str(python), *sys.argv])
    _skip("no Python with Selenium (scripts/setup.sh --test)")


def _program(*names):
    return next((path for path in map(shutil.which, names) if path), None)


def _packaged(program):
    """Ubuntu's chromium is a script that starts a snap, which a container cannot."""
    return program and b"/snap/" not in Path(program).read_bytes()[:4096]


def start(downloads):
    """A browser whose downloads go to a folder."""
    chromium, driver = _program("chromium", "chromium-browser"), _program("chromedriver")
    if not _packaged(chromium) or not _packaged(driver):
        _skip("no Chromium with chromedriver as packages of the distribution")
    options = Options()
    options.binary_location = chromium
    options.add_argument("--headless=new")
    options.add_argument("--window-size=1600,1000")
    options.add_argument("--disable-dev-shm-usage")  # /dev/shm of a container is small
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # it refuses root otherwise
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    browser.set_script_timeout(60)
    return browser


def until(condition, what, seconds=20):
    """The first true value of a condition."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what}")


def open_page(browser, path, fragment=""):
    browser.get("about:blank")  # a change of the fragment alone would not load the page
    browser.get_log("browser")
    browser.get(f"file://{path}{fragment}")
    until(lambda: browser.execute_script("return document.body.dataset.ready"), "page ready", 60)


def complaints(browser):
    """Errors and warnings of the page since it was opened."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] != "INFO"]
