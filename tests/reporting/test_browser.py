"""Pages of `mate report` as headless Chromium shows them (make test-browser)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mate_cli.cli.main import main
from mate_cli.config.plain import to_plain
from tests.config.test_config import train_config
from tests.reporting.run_folders import hits, write_run

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"

EMPTY_TABLES = """
return [...document.querySelectorAll('table')].filter(table => {
    const rows = [...table.rows].filter(row => row.querySelector('td'));
    return !rows.some(row => [...row.cells].some(cell => cell.textContent.trim()));
}).map(table => table.outerHTML.slice(0, 200));
"""
BROKEN_PICTURES = "return [...document.images].filter(own => !own.complete || !own.naturalWidth).map(own => own.alt);"
LOADED = "return performance.getEntriesByType('resource').map(own => own.name).filter(own => !own.startsWith('data:'));"
BEYOND = "return document.documentElement.scrollWidth - document.documentElement.clientWidth;"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window, which may not reach anything but files."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.fail("make test-browser needs Chromium (Debian: apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,1600"):
        options.add_argument(word)
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    yield chrome
    chrome.quit()


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """The page of some runs, one with a curve, and of tables and figures of the paper without runs behind them."""
    plain, folder = to_plain(train_config("backbone=tiny", "schedule=smoke")), tmp_path / "runs" / "sample"
    for seed in range(3):
        write_run(folder / f"mate-{seed}", {**plain, "seed": seed}, {"test": hits(0.5 + seed / 10)}, seconds=60)
    other = {**plain, "model": {**plain["model"], "name": "<b>tapas</b>"}}
    parent = {"run": str(folder / "mate-0")}
    first = write_run(folder / "tapas", other, {"test": hits(0.4)}, origin=parent, seconds=90)
    lines = ["dev_hits@1,epoch,loss,lr,step", *(f",0,{4 - step / 100},0.1,{step}" for step in range(300))]
    (first.path / "metrics.csv").write_text("\n".join([*lines, "0.25,0,,,150", "0.5,0,,,299"]))
    tables = tmp_path / "reproduced"
    words = ("what=all", "backbone=tiny", "dry_run=true")
    assert main(["reproduce", *words, f"paths.runs={folder}", f"to={tables}"]) == 0
    assert main(["report", f"paths.runs={folder}", f"tables=[{tables}]", f"to={tmp_path / 'report.html'}"]) == 0
    return tmp_path / "report.html"


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """The page of what is in results/."""
    page = tmp_path / "results.html"
    assert main(["report", f"paths.runs={tmp_path}", f"tables=[{ROOT / 'results'}]", f"to={page}"]) == 0
    return page


@pytest.mark.browser
@pytest.mark.parametrize("name", ["made", "shipped"])
def test_a_page_as_a_browser_shows_it(name: str, browser: Any, request: pytest.FixtureRequest) -> None:
    page: Path = request.getfixturevalue(name)
    browser.get(page.as_uri())
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(SCREENSHOTS / f"{name}.png"))
    assert browser.get_log("browser") == []
    assert browser.execute_script(EMPTY_TABLES) == []
    assert browser.execute_script(BROKEN_PICTURES) == []
    assert browser.execute_script(LOADED) == []
    assert browser.execute_script(BEYOND) <= 0
    assert len(browser.find_elements("tag name", "table")) >= 10
    assert len(browser.find_elements("tag name", "img")) >= 4


@pytest.mark.browser
def test_every_link_leads_to_its_place(made: Path, browser: Any) -> None:
    browser.get(made.as_uri())
    links = browser.find_elements("css selector", "a[href^='#']")
    assert len(links) >= 16 + 1 + 4 + 1  # tables, the task, its runs, the parent of one
    for link in links:
        place = link.get_attribute("href").partition("#")[2]
        link.click()
        assert browser.current_url == f"{made.as_uri()}#{place}"
        assert browser.execute_script("return document.querySelector(':target')?.id") == place
    outside = browser.find_elements("css selector", "a:not([href^='#'])")
    assert all(link.get_attribute("href").startswith("https://") for link in outside)


@pytest.mark.browser
def test_what_it_looks_for_is_found_where_it_is(tmp_path: Path, browser: Any) -> None:
    """The checks themselves, on a page that has each fault."""
    page = tmp_path / "bad.html"
    page.write_text(
        "<table><tr><th>a</th></tr><tr><td> </td></tr></table><img src='gone.png' alt='gone'>"
        "<script>console.error('x')</script><div style='width: 9000px'>w</div>"
    )
    browser.get(page.as_uri())
    assert len(browser.execute_script(EMPTY_TABLES)) == 1
    assert browser.execute_script(BROKEN_PICTURES) == ["gone"]
    assert browser.execute_script(BEYOND) > 0
    assert len(browser.get_log("browser")) >= 2
