#!/usr/bin/env python3
"""Tests the pages of `report`, `dash` and `draw` in a real Chromium: what they show, and how they react to the
pointer and to keys.

Skips without Chromium, chromedriver or selenium (Debian: chromium chromium-driver python3-selenium).
"""
import os
import shutil
import signal
import subprocess
import time
import unittest

import junit
from made_run import MadeRun, loss_at
from scenario import TINY_NET, Scenario

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select, WebDriverWait
except ImportError:
    webdriver = None

PROGRAMS = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
MISSING = [name for name, path in PROGRAMS.items() if not path] + ([] if webdriver else ["python3-selenium"])


def start_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = PROGRAMS["chromium"]
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(PROGRAMS["chromedriver"]), options=options)


@unittest.skipIf(MISSING, "not installed: " + ", ".join(MISSING))
class BrowserTest(Scenario):
    @classmethod
    def setUpClass(cls):
        cls.browser = start_browser()
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        super().setUp()
        self.browser.get("about:blank")
        self.browser.get_log("browser")
        self.browser.get_log("performance")

    def tearDown(self):
        # No case may cause an error in the page.
        self.assertEqual([], [line["message"] for line in self.browser.get_log("browser") if line["level"] == "SEVERE"])

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        """Returns an element's text in one step; an element that is redrawn often may be gone in a
        second step."""
        return self.browser.execute_script("const e = document.querySelector(arguments[0]); return e?.innerText ?? e?.textContent ?? ''", selector)

    def path_of(self, selector):
        return self.browser.execute_script("return document.querySelector(arguments[0])?.getAttribute('d')", selector)

    def wait(self, condition, seconds=20):
        return WebDriverWait(self.browser, seconds, poll_frequency=0.1).until(lambda _: condition())

    def chart(self, title):
        return '[data-chart="%s"]' % title

    def open_report(self, *runs):
        self.assertEqual(0, self.doppio("report", *runs).returncode)
        self.browser.get("file://" + self.path("report.html"))
        self.wait(lambda: self.all(".chart .line"))

    def two_runs(self):
        MadeRun(self.path("runs/slow"), rate=0.01).train(0, 1000).test(0, 0.1).test(1000, 0.8)
        MadeRun(self.path("runs/fast"), rate=0.05).train(0, 1000).test(0, 0.1).test(1000, 0.95)

    def hover(self, selector, across=0.5):
        svg = self.one(selector + " svg.chart")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", svg)
        width = svg.size["width"]
        ActionChains(self.browser).move_to_element_with_offset(svg, int((across - 0.5) * width), 0).perform()

    def tip(self, selector):
        self.wait(lambda: self.one(selector + " .tip").is_displayed())
        head = self.one(selector + " .tip strong").text
        rows = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in self.all(selector + " .tip tr")]
        return int(head.replace("iteration ", "").replace(",", "")), {row[1]: float(row[2].replace(",", "")) for row in rows}

    def test_hovering_shows_the_values_of_every_run_there(self):
        self.two_runs()
        self.open_report("runs/slow", "runs/fast")
        self.hover(self.chart("Loss"))
        iteration, values = self.tip(self.chart("Loss"))
        self.assertTrue(300 < iteration < 700, iteration)
        point = round(iteration, -1)
        for name, rate in ("slow", 0.01), ("fast", 0.05):
            near = [loss_at(i, rate) for i in (point - 10, point + 10)]
            self.assertTrue(near[1] <= values[name] <= near[0], (name, values, near))
        # The cursor is shown in the other charts, too.
        self.assertEqual(2, len(self.all(self.chart("Learning rate") + " .cursor circle")))

    def test_times_are_rounded_before_they_are_split(self):
        self.two_runs()
        self.open_report("runs/slow")
        self.assertEqual(["59.4 s", "1 min 0 s", "2 min 0 s", "1 h 0 min"],
                         self.browser.execute_script("return [59.4, 59.6, 119.7, 3599.8].map(duration)"))

    def test_labels_of_ticks_differ(self):
        self.two_runs()
        self.open_report("runs/slow")
        labels = "return linearAxis(...arguments).ticks.map((tick, i, all) => tickLabel(tick, all[1] - all[0]))"
        self.assertEqual(["9.85e-5", "9.9e-5", "9.95e-5", "1e-4"], self.browser.execute_script(labels, 9.84e-5, 1e-4, 4))
        self.assertEqual(["0", "5e-6", "1e-5", "1.5e-5"], self.browser.execute_script(labels, 0, 1.6e-5, 4))
        self.assertEqual(["1e9", "1.2e9", "1.4e9", "1.6e9", "1.8e9", "2e9"], self.browser.execute_script(labels, 1e9, 2e9, 4))

    def test_compares_runs_in_a_table_and_hides_them(self):
        self.two_runs()
        self.open_report("runs/slow", "runs/fast")
        self.assertEqual(["base_lr"], [th.text for th in self.all("#runs > .scroll th.differs")])
        rows = {row.get_attribute("data-run"): row.text for row in self.all("#runs > .scroll tbody tr")}
        self.assertIn("0.8", rows["slow"])
        titles = [th.text for th in self.all("#runs > .scroll th")]
        self.assertEqual([True, True, False], [title in titles for title in ("best accuracy", "last loss", "accuracy")])
        best = [cell.text for cell in self.all("#runs td.best")]
        self.assertIn("0.95", best)
        self.assertEqual(2, len(self.all(self.chart("Loss") + " .line")))
        self.one('.legend [data-run="slow"]').click()
        self.wait(lambda: len(self.all(self.chart("Loss") + " .line")) == 1)
        self.assertEqual("false", self.one('.legend [data-run="slow"]').get_attribute("aria-pressed"))
        self.one('.legend [data-run="slow"]').send_keys(Keys.SPACE)
        self.wait(lambda: len(self.all(self.chart("Loss") + " .line")) == 2)
        # The axes are the settings and the results.
        self.assertEqual(2, len(self.all(".parallel .run")))
        self.assertEqual(["base_lr", "best accuracy"], [name.text for name in self.all(".parallel .axis .name")])

    def test_a_drag_along_an_axis_keeps_the_runs_there(self):
        self.two_runs()
        self.open_report("runs/slow", "runs/fast")
        axis = self.one(".parallel .axis .handle")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", axis)
        high = axis.size["height"]
        # Drags from the top, where the larger base_lr is, to the middle.
        (ActionChains(self.browser).move_to_element_with_offset(axis, 0, int(-0.49 * high)).click_and_hold()
         .move_by_offset(0, int(0.5 * high)).release().perform())
        self.wait(lambda: len(self.all(self.chart("Loss") + " .line")) == 1)
        self.assertEqual("fast", self.one(self.chart("Loss") + " .line").get_attribute("data-run"))
        self.assertEqual(["slow"], [line.get_attribute("data-run") for line in self.all(".parallel .run.out")])
        self.one(self.chart("Settings and results") + " header button").click()
        self.wait(lambda: len(self.all(self.chart("Loss") + " .line")) == 2)

    def test_a_drag_in_a_chart_zooms_all_of_them(self):
        self.two_runs()
        self.open_report("runs/slow")
        svg = self.one(self.chart("Loss") + " svg.chart")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", svg)
        whole = self.text(self.chart("Learning rate") + " .axes")
        ActionChains(self.browser).move_to_element(svg).click_and_hold().move_by_offset(80, 0).release().perform()
        self.wait(lambda: self.text(self.chart("Learning rate") + " .axes") != whole)
        ActionChains(self.browser).double_click(svg).perform()
        self.wait(lambda: self.text(self.chart("Learning rate") + " .axes") == whole)

    def test_keys_move_the_cursor_and_zoom(self):
        self.two_runs()
        self.open_report("runs/slow")
        svg = self.one(self.chart("Loss") + " svg.chart")
        svg.send_keys(Keys.END)
        self.assertEqual(1000, self.tip(self.chart("Loss"))[0])
        svg.send_keys(Keys.HOME)
        self.assertEqual((0, {"slow": 2.0}), self.tip(self.chart("Loss")))
        svg.send_keys(Keys.ARROW_RIGHT)
        self.assertEqual(10, self.tip(self.chart("Loss"))[0])
        svg.send_keys("+")
        reset = self.one(".controls button:nth-last-of-type(1)")
        self.assertTrue(reset.is_displayed())
        svg.send_keys(Keys.ESCAPE)
        self.assertFalse(reset.is_displayed())
        self.assertFalse(self.one(self.chart("Loss") + " .tip").is_displayed())

    def test_log_scale_smoothing_and_axes_redraw_the_curves(self):
        self.two_runs()
        self.open_report("runs/slow")
        shape = lambda: self.path_of(self.chart("Loss") + " .line")
        plain = shape()
        self.one(self.chart("Loss") + " .log").click()
        logarithmic = shape()
        self.assertNotEqual(plain, logarithmic)
        self.browser.execute_script("const s = document.getElementById('smoothing'); s.value = 0.9; s.dispatchEvent(new Event('input'))")
        self.assertNotEqual(logarithmic, shape())
        self.assertEqual(1, len(self.all(self.chart("Loss") + " .raw")))
        # 1000 iterations are 10 epochs and 100 seconds.
        for axis, label in ("epoch", "8"), ("time", "80 s"):
            Select(self.one("#axis")).select_by_value(axis)
            self.assertIn(label, [text.text for text in self.all(self.chart("Loss") + " .axes .x")])

    def test_theme_follows_the_system_until_it_is_chosen(self):
        self.two_runs()
        self.open_report("runs/slow")
        color = lambda: self.browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        def prefer(theme):
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]})
        self.addCleanup(prefer, "light")
        prefer("light")
        light = color()
        prefer("dark")
        dark = color()
        self.assertNotEqual(light, dark)
        self.one(".theme").click()
        self.assertEqual(light, color())
        self.browser.execute_script("localStorage.clear()")

    def test_fits_a_narrow_screen(self):
        self.two_runs()
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True})
        self.open_report("runs/slow", "runs/fast")
        self.assertEqual(390, self.browser.execute_script("return document.documentElement.scrollWidth"))

    def test_an_evaluation_is_shown_on_any_screen(self):
        self.write("net.prototxt", TINY_NET)
        self.write("solver.prototxt", 'net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 30 test_interval: 30 test_iter: 10 '
                                      'random_seed: 5 display: 0 snapshot_prefix: "run"')
        self.train("--run_dir=runs/one")
        run = self.doppio("test", "--model=net.prototxt", "--weights=run_iter_30.caffemodel", "--page=page.html")
        self.assertEqual(0, run.returncode, run.stderr)
        self.open_report("runs/one")
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})
        for page in "report.html", "page.html":
            for width in 1280, 400:
                self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                             {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == 400})
                self.browser.get("file://" + self.path(page))
                self.wait(lambda: self.all("[data-evaluation]"))
                titles = [card.get_attribute("data-evaluation") for card in self.all("[data-evaluation]")]
                for title in "Scores", "Confusion matrix", "ROC", "Precision and recall", "Calibration", "Wrong with the greatest confidence":
                    self.assertIn(title, titles)
                self.assertGreater(len(self.all("svg.matrix rect")), 10)
                self.assertGreater(len(self.all(".thumbnails img")), 3)
                self.assertEqual(width, self.browser.execute_script("return document.documentElement.scrollWidth"))

    def start_dash(self):
        dash = self.start("dash", "--runs=runs", "--bind=127.0.0.1:0", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (dash.kill(), dash.communicate()))
        url = dash.stdout.readline().strip()
        self.assertRegex(url, r"^http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{32}$")
        self.assertIn("ssh -L ", dash.stdout.readline())
        return dash, url

    def test_dash_follows_a_run_and_finds_new_ones(self):
        run = MadeRun(self.path("runs/first"), status="running").train(0, 100)
        dash, url = self.start_dash()
        self.browser.get(url)
        self.wait(lambda: self.all(self.chart("Loss") + " .line"))
        # The token is no longer in the address.
        self.assertEqual(url.split("?")[0], self.browser.current_url)
        row = lambda: self.text('#runs tr[data-run="first"]')
        before = self.path_of(self.chart("Loss") + " .line")
        self.assertIn("101 / 1,000", row())
        run.train(110, 600)
        self.wait(lambda: "601 / 1,000" in row())
        self.wait(lambda: self.path_of(self.chart("Loss") + " .line") != before)
        # A heartbeat alone updates the time.
        run.tell("running", 600, seconds=4000)
        self.wait(lambda: "1 h 6 min" in row())
        MadeRun(self.path("runs/sweep/t000"), rate=0.03).train(0, 500)
        self.wait(lambda: self.all('#runs tr[data-run="sweep/t000"]'))
        self.wait(lambda: len(self.all(self.chart("Loss") + " .line")) == 2)
        run.tell("finished", 600)
        self.wait(lambda: "finished" in row())
        dash.send_signal(signal.SIGINT)
        self.assertEqual(0, dash.wait(10))
        self.wait(lambda: "does not answer" in self.text(".top p"))
        # Discards the error that the browser has logged for this.
        self.browser.get_log("browser")

    def test_dash_lists_the_results_of_runs_that_are_not_shown(self):
        for k in range(7):
            MadeRun(self.path("runs/r%d" % k), rate=0.02).train(0, 50)
        _, url = self.start_dash()
        self.browser.get(url)
        self.wait(lambda: len(self.all(self.chart("Loss") + " .line")) == 6)
        # 2 / (1 + 0.02 * 50)
        self.wait(lambda: self.text("#runs tr.off").split()[:1] == ["r0"] and " 1 " in " ".join(self.text("#runs tr.off").split()))
        self.one("#runs tr.off input").click()
        self.wait(lambda: len(self.all(self.chart("Loss") + " .line")) == 7)

    def test_dash_shows_nothing_without_the_token(self):
        MadeRun(self.path("runs/first")).train(0, 100)
        dash, url = self.start_dash()
        self.browser.delete_all_cookies()
        self.browser.get(url.split("?")[0])
        self.assertIn("open the address that doppio dash has printed", self.one("body").text)
        dash.send_signal(signal.SIGTERM)
        self.assertEqual(0, dash.wait(10))
        self.browser.get_log("browser")

    def test_nothing_is_fetched_from_anywhere(self):
        self.two_runs()
        self.open_report("runs/slow", "runs/fast")
        asked = [line["message"] for line in self.browser.get_log("performance") if "Network.requestWillBeSent\"" in line["message"]]
        self.assertEqual([], [message for message in asked if '"url":"http' in message])

    def test_a_net_describes_its_layers(self):
        self.write("net.prototxt", """name: "two ways"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } } }
layer { name: "left" type: "Convolution" bottom: "data" top: "left" convolution_param { num_output: 4 kernel_size: 3 } }
layer { name: "right" type: "Convolution" bottom: "data" top: "right" convolution_param { num_output: 4 kernel_size: 3 } }
layer { name: "sum" type: "Eltwise" bottom: "left" bottom: "right" top: "sum" }
""")
        self.assertEqual(0, self.doppio("draw", "net.prototxt", "net.html").returncode)
        self.browser.get("file://" + self.path("net.html"))
        boxes = {box.get_attribute("data-node"): box for box in self.all(".node.learned, .node.other")}
        self.assertEqual({"left", "right", "sum"}, set(boxes))
        ActionChains(self.browser).move_to_element(boxes["left"]).perform()
        self.wait(lambda: self.one(".about").is_displayed())
        about = self.one(".about").text
        for said in ("Convolution", "1×4×6×6", "1×3×8×8", "112", "kernel_size: 3"):
            self.assertIn(said, about)
        self.assertEqual(2, len(self.all(".wire.near")))
        # The two layers are side by side, above the layer that reads both.
        place = {name: box.rect for name, box in boxes.items()}
        self.assertEqual(place["left"]["y"], place["right"]["y"])
        self.assertNotEqual(place["left"]["x"], place["right"]["x"])
        self.assertGreater(place["sum"]["y"], place["left"]["y"])
        wide = place["left"]["width"]
        self.one('[aria-label="Zoom in"]').click()
        self.assertGreater(boxes["left"].rect["width"], wide)
        self.one('input[type="search"]').send_keys("right")
        self.assertEqual(["right"], [box.get_attribute("data-node") for box in self.all(".node.found")])


if __name__ == "__main__":
    junit.main()
