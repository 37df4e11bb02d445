"""report.html in a real headless browser: pointing at it, links, exports, its plates (page_case.py)."""

import csv
import xml.etree.ElementTree as ET

from browser import open_page, until
from page_case import PageCase, main, number
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


class Pointing(PageCase):
    def test_hover_tells_all(self):
        at = self.lonely()
        x, y, ident, title = self.pixel(at)
        self.move(x, y)
        text = until(self.tooltips, "a tooltip")
        row = self.js("const {b, row} = panels[0].shown[arguments[0]]; return row", at)
        self.assertIn(title, text)
        for part in (row["dtype"], row["shape"], "4 threads", "time", "bound by", "of roof", "of advertised", "clock 3.45 GHz",
                     "GB/s at", "FLOP/byte", "…"):  # fmt: skip
            self.assertIn(part, text)

    def test_how_far_the_bounds_overlap(self):
        words = """const b = benchmarks.find((b) => b.kernel === arguments[0] && b.variant === arguments[1] &&
                     b.dtype === "f32" && b.shape === arguments[2]);
                   return overlapWords(overlapOf(b))"""
        # 0.609 us of arithmetic, 1.240 in L1, 2.709 in L2: 2.709 to 4.558, and it took 3.035.
        self.assertEqual(self.js(words, "dot", "avx2", "N:131072"), "82 %")
        # 4.988 ms of arithmetic, 0.726, 0.370 and 0.082 in L1, L2 and L3: 6.165 of the 17.379.
        self.assertEqual(self.js(words, "matmul", "avx2_blocked", "M:1024/N:1024/K:1024"), "lost 65 %")
        self.assertEqual(self.js(words, "dot", "avx2", "N:65536"), "", "above its roof")

    def move(self, x, y, click=False):
        actions = ActionChains(self.browser)
        actions.w3c_actions.pointer_action.move_to_location(int(round(x)), int(round(y)))
        if click:
            actions.w3c_actions.pointer_action.click()
        actions.perform()

    def test_pan_and_zoom(self):
        ranges = "const {x_range: x, y_range: y} = panels[0].plot; return [x.start, x.end, y.start, y.end]"
        whole = self.js(ranges)
        x, y, _, _ = self.pixel(self.lonely())
        chain = ActionChains(self.browser)
        pointer = chain.w3c_actions.pointer_action
        pointer.move_to_location(int(x) + 40, int(y) + 40)
        pointer.pointer_down()
        pointer.move_to_location(int(x) + 120, int(y) + 40)
        pointer.pointer_up()
        chain.perform()
        until(lambda: self.js(ranges)[1] < 0.9 * whole[1], "panned to lower intensities")
        self.js("panels[0].plot.toolbar.tools.find((t) => t.type === 'WheelZoomTool').active = true")
        before = self.js(ranges)
        self.js("arguments[0].scrollIntoView({block: 'center'})", self.find("#panels .plot"))
        origin = ScrollOrigin.from_element(self.find("#panels .plot"))
        ActionChains(self.browser).scroll_from_origin(origin, 0, -300).perform()
        zoomed = until(lambda: self.js(ranges) != before and self.js(ranges), "zoomed in")
        self.assertLess(zoomed[1] / zoomed[0], before[1] / before[0])
        self.js("panels[0].entry.view.reset()")
        for now, then in zip(self.js(ranges), whole):
            self.assertAlmostEqual(now / then, 1)

    def test_copy_link(self):
        self.click("#copy-link")
        until(lambda: self.find("#copy-link").text in ("Copied", "See the address bar"), "an answer")

    def test_click_point_marks_row(self):
        x, y, ident, title = self.pixel(self.lonely())
        self.move(x, y, click=True)
        row = until(
            lambda: self.browser.find_elements(By.CSS_SELECTOR, "#table tr[aria-selected=true]"),
            "a marked row",
        )[0]
        self.assertEqual(row.get_attribute("data-id"), ident)
        self.assertIn(title, self.find("#detail").text)

    def test_click_row_marks_point(self):
        self.click("#table tbody tr:nth-child(3)")
        ident = self.find("#table tr[aria-selected=true]").get_attribute("data-id")
        ring = self.js("return panels.flatMap((p) => Array.from(p.ring.data.y))")
        self.assertEqual(ring, [self.js("return benchmarkById.get(arguments[0]).rate", ident)])
        self.click("#isolate")
        self.assertEqual(len(self.table()), 1)
        self.assertEqual(len(self.points()), 1)
        self.click("#isolate")
        self.assertEqual(self.points(), self.drawn(self.rows))

    def test_keyboard(self):
        row = self.find("#table tbody tr")
        self.js("arguments[0].focus()", row)
        self.browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
        self.browser.switch_to.active_element.send_keys(Keys.ENTER)
        second = self.find("#table tbody tr:nth-child(2)")
        self.assertEqual(second.get_attribute("aria-selected"), "true")
        heading = self.find("#table th[data-column=rate] button")
        self.js("arguments[0].focus()", heading)
        heading.send_keys(Keys.ENTER)
        self.assertEqual(self.find("#table th[aria-sort]").get_attribute("data-column"), "rate")
        self.assertEqual(self.browser.switch_to.active_element, heading)
        chart = self.find("#panels .plot")
        self.js("arguments[0].focus()", chart)
        chart.send_keys(Keys.ARROW_RIGHT)
        first = self.js("return state.selected")
        chart.send_keys(Keys.ARROW_RIGHT)
        self.assertNotEqual(self.js("return state.selected"), first)
        self.assertEqual(
            self.find("#table tr[aria-selected=true]").get_attribute("data-id"),
            self.js("return state.selected"),
        )

    def test_arrows_walk_through_all_levels(self):
        """A benchmark with points at several levels does not hold them up."""
        self.js("change({level: 'all'})")
        met = self.js(
            "const met = new Set(), [panel] = panels;"
            "for (const _ of panel.shown) {"
            "  panel.walk({key: 'ArrowRight', preventDefault() {}}); met.add(state.selected); }"
            "return [met.size, new Set(panel.shown.map(({b}) => b.id)).size, panel.shown.length]"
        )
        self.assertEqual(met[0], met[1])
        self.assertGreater(met[2], met[1])

    def test_sort(self):
        for order, sign in (("descending", -1), ("ascending", 1)):
            self.click("#table th[data-column=rate] button")
            self.assertEqual(
                self.find("#table th[data-column=rate]").get_attribute("aria-sort"), order
            )
            rates = [float(r["rate"]) for r in self.table()]
            self.assertEqual(rates, sorted(rates, key=lambda v: sign * v))

    def test_permalink(self):
        self.js(
            "change({kernel: new Set(['matmul', 'dot']), level: 'L2', q: 'N:', sort: 'rate', colour: 'dtype'})"
        )
        self.click("#table tbody tr:nth-child(2)")
        rows, points, link = self.table(), self.points(), self.browser.current_url
        selected = self.js("return state.selected")
        open_page(self.browser, self.page, "#" + link.split("#", 1)[1])
        self.assertEqual(
            (self.js("return state.selected"), self.table(), self.points()),
            (selected, rows, points),
        )
        self.assertEqual(self.find("#select-level").get_attribute("value"), "L2")
        open_page(self.browser, self.page, "#colour=none-of-them&level=L2")
        self.assertEqual(self.find("#select-colour").get_attribute("value"), "kernel")
        self.assertTrue(self.points())


class TakingAway(PageCase):
    def downloaded(self, pattern):
        # The browser makes the file before it fills it.
        path = until(lambda: next((p for p in self.downloads.glob(pattern) if p.stat().st_size), None),
                     pattern)
        data = path.read_bytes()
        path.unlink()
        return data

    def test_export_pictures(self):
        self.click("#panels .export-png")
        data = self.downloaded("*.png")
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        self.assertGreater(int.from_bytes(data[16:20], "big"), 600)
        self.click("#panels .export-svg")
        root = ET.fromstring(self.downloaded("*.svg"))
        text = "".join(root.itertext())
        self.assertIn("45.6 GB/s", text)
        self.assertIn("arithmetic intensity", text)

    def test_export_csv(self):
        self.js("change({kernel: new Set(['dot']), sort: 'rate'})")
        self.click("#export-csv")
        rows = list(csv.DictReader(self.downloaded("*.csv").decode().splitlines()))
        shown = self.table()
        self.assertEqual([(r["variant"], number(r["rate"]), number(r["time_s"])) for r in rows],
                         [(r["variant"], number(r["rate"]), number(r["time_s"])) for r in shown])  # fmt: skip

    def test_print(self):
        self.js("dispatchEvent(new Event('beforeprint'))")
        images = self.js(
            "return [...document.querySelectorAll('img.print')].map((i) => i.src.length)"
        )
        self.assertEqual(len(images), self.js("return PLOTS.length"))
        self.assertGreater(min(images), 2000)
        self.js("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.js("return document.querySelectorAll('img.print').length"), 0)
        self.assertTrue(self.browser.print_page().startswith("JVBER"))  # %PDF in base64
        # Their drop-downs are not printed.
        titles = self.js("return PLOTS.map(({view}) => view.model.title.text)")
        self.assertIn("\u2068cpu: core clock\u2069", titles)
        self.assertTrue(all(titles))

    def test_themes(self):
        ground = "return getComputedStyle(document.body).backgroundColor"
        light = self.js(ground)
        self.click("#theme")
        self.click("#theme")
        self.assertEqual(self.find("#theme").text, "Theme: dark")
        self.assertNotEqual(self.js(ground), light)
        until(
            lambda: self.js(
                "return panels.every((p) => p.entry && p.plot.background_fill_color === "
                "getComputedStyle(document.documentElement).getPropertyValue('--plate').trim())"
            ),
            "dark charts",
        )
        until(lambda: self.points() == self.drawn(self.rows), "points in the dark")


class Plates(PageCase):
    def test_plates(self):
        for key in ("ladder", "sweep", "batch", "decode", "ratio", "trace"):
            with self.subTest(key):
                self.assertGreater(self.find(f"#plate-{key} .plot").rect["height"], 80)
        options = [
            o.text for o in self.browser.find_elements(By.CSS_SELECTOR, "#plate-trace option")
        ]
        self.assertEqual(options, ["cpu: core clock", "cpu: power", "cpu: load: runnable tasks",
                                   "cpu: steal: CPU time taken by the hypervisor"])  # fmt: skip
        highest = ("const {view} = PLOTS.find((p) => p.fileName.startsWith('sweep'));"
                   "return view.model.y_range.end")  # fmt: skip
        self.assertGreater(self.js(highest), 1e9)  # bytes/s
        options = self.browser.find_elements(By.CSS_SELECTOR, "#plate-sweep option")
        next(option for option in options if "latency" in option.text).click()
        until(lambda: self.js(highest) < 1, "a plate in seconds")

    def test_sweep_curves(self):
        """Of each access the fastest; one of a single size, as a probe of L1, only where it is alone."""
        curves = self.js("""
          const row = (operation, variant, size_bytes, measured) =>
              ({resource: "bandwidth", operation, variant, dtype: "", size_bytes, measured});
          return sweepCurves([row("read", "sm80_shared", 1, 33), row("read", "sm80", 8, 4), row("read", "sm80", 4, 9),
                              row("read", "slow", 4, 2), row("read", "slow", 8, 2), row("write", "one", 4, 5)])
              .map(([operation, rows]) => [operation, rows.map((r) => r.variant + r.size_bytes)]);""")
        self.assertEqual(curves, [["read", ["sm804", "sm808"]], ["write", ["one4"]]])
        looks = self.js("return sweepLooks(['copy', 'copy_nt', 'read', 'triad', 'triad_nt', 'write', 'write_nt'])")
        for part in zip(*looks):
            self.assertEqual(len(set(part)), 7, part)

    def test_ticks_of_few_decades(self):
        ticks = ("return Array.from(new DecadeTicker({desired_num_ticks: 5})"
                 ".get_ticks_no_defaults(arguments[0], arguments[1], null, 5).major)")  # fmt: skip
        self.assertEqual(self.js(ticks, 3e9, 6e10), [5e9, 1e10, 2e10, 5e10])
        self.assertEqual(self.js(ticks, 9e-10, 3e-9), [1e-9, 2e-9])
        self.assertEqual(self.js(ticks, 0.5, 2e4), [1, 10, 100, 1000, 10000])
        shared = self.js("return PLOTS.map(({view: {model: {below, center}}}) => below[0].ticker === "
                         "center.find((part) => part.dimension === 0 && part.ticker).ticker)")  # fmt: skip
        self.assertEqual(set(shared), {True})

    def test_words_of_plates_have_room(self):
        """Beside bars and points up to the chart's edge, above them in lines."""
        for key in ("ladder", "ratio"):
            over = self.js("""
              const {view: {model: plot, frame, canvas_view}} = PLOTS.find((p) => p.fileName.startsWith(arguments[0]));
              const {data} = plot.renderers.map((r) => r.data_source).find((s) => s.data.text);
              const at = data.ratios ?? data.shares, edge = canvas_view.el.getBoundingClientRect().width;
              return Math.max(...data.text.map(
                  (text, i) => frame.x_scale.compute(at[i]) + widthOf(text))) - edge;""", key)  # fmt: skip
            self.assertLessEqual(over, 0, key)
        names = ("return PLOTS.find((p) => p.fileName.startsWith('decode')).view.model.y_range.factors")
        self.assertRegex(self.js(names)[0].replace("\n", " "), "batch:.* 4 threads")
        work = "attention bf16 batch:1/context:8192/heads:32/kv_heads:8/head_dim:128/layout:contiguous cold"
        lines = self.js("return rowNames([arguments[0]])[0]", work).split("\n")
        self.assertEqual(len(lines), 3)
        self.assertLessEqual(max(map(len, lines)), 40)  # marks of isolation included
        self.assertEqual("".join(lines).strip("1 \u2068\u2069").replace(" ", ""), work.replace(" ", ""))

    def test_programs_and_their_parts(self):
        options = self.browser.find_elements(By.CSS_SELECTOR, "#plate-decode option")
        self.assertEqual([o.text for o in options],
                         ["whole programs", "parts of decode/avx2_packed/f32/batch:1/warm"])  # fmt: skip
        times = ("return PLOTS.find((p) => p.fileName.startsWith('decode')).view.model.renderers"
                 ".map((r) => r.data_source.data.time).find((t) => t).map((t) => 1e3 * t)")  # fmt: skip
        self.assertEqual(sorted(self.js(times)), [20, 40])
        options[1].click()
        until(lambda: self.js(times) == [5], "the parts of a program")
        self.assertEqual(
            self.js("return [222 * 0.2, 3 * 0.2].map((v) => TRACES.temperature_c[1](v))"),
            ["44.4 °C", "0.6 °C"],
        )  # fmt: skip

    def test_batch_curve(self):
        """f32, D = F = 4096 on the fixture's 430.56e9 FLOP/s and 45.6e9 B/s, worked out by hand:
        B = 1 moves 4 (4096 + 4096^2 + 4096) bytes for 2 4096^2 FLOP; compute-bound from 19.06."""
        curve = self.js("return runs[0].batchCurves.find((c) => c.dtype === 'f32' && c.device === 'cpu')")
        self.assertEqual((curve["D"], curve["F"], curve["batches"][0]), (4096, 4096, 1))
        self.assertAlmostEqual(curve["rates"][0] / (2 * 4096**2 / 67141632 * 45.6e9), 1, places=9)
        self.assertAlmostEqual(curve["critical_batch"], 19.06, places=2)
        self.assertAlmostEqual(curve["rates"][-1] / 430.56e9, 1, places=9)
        choose = "const s = document.querySelector('#plate-batch select');"
        at = self.js(choose + "return [...s.options].findIndex((o) => /f32, D=4096/.test(o.text))")
        self.js(choose + "s.selectedIndex = arguments[0]; s.dispatchEvent(new Event('change'))", at)
        drawn = ("const {view} = PLOTS.find((p) => p.fileName.startsWith('batch'));"
                 "return view.model.renderers.map((r) => r.data_source.data)"
                 ".map(({x, y}) => [Array.from(x), Array.from(y)])")  # fmt: skip
        until(lambda: self.js(drawn)[0] == [curve["batches"], curve["rates"]], "the curve")
        measured = {
            (float(r["shape"].split("/")[0][2:]), float(r["achieved_flops_per_s"]))
            for r in self.rows
            if (r["kernel"], r["dtype"], r["device"], r["temperature"], r["threads"])
            == ("matmul", "f32", "cpu", "cold", "4") and "N:4096/K:4096" in r["shape"]
        }  # fmt: skip
        self.assertGreater(len(measured), 1)
        self.assertEqual({tuple(point) for point in zip(*self.js(drawn)[1])}, measured)

    def test_words(self):
        for script, expected in (
            ("quantity(1.794e12, 'B/s')", "1.79 TB/s"), ("quantity(999.7e9, 'B/s')", "1.00 TB/s"),
            ("quantity(12, 'B/s')", "12.0 B/s"), ("quantity(2.5e-9, 's')", "2.50 ns"), ("quantity(null, 's')", ""),
            ("size(16384)", "16 KiB"), ("percent(0.643)", "64 %"), ("percent(0.012)", "1.2 %"),
            ("plain('a\\u202eb\\n')", "a\ufffdb\ufffd"), ("shorten('M:1024/N:1024/K:9', 11)", "M:1024…/K:9"),
            ("shortenApart(['M:10/N:10/K:10', 'M:10/N:11/K:10'], 9)", ["M:10/N:10/K:10", "M:10/N:11/K:10"]),
            ("shortenApart(['M:10/N:10/K:10', 'M:10/N:10/K:11'], 9)", ["M:10/…:10", "M:10/…:11"]),
            ("wrapped('parts of decode/avx2/f32 warm', 15)", "parts of\ndecode/avx2/f32\nwarm"),
        ):  # fmt: skip
            self.assertEqual(self.js(f"return {script}"), expected)


if __name__ == "__main__":
    main()
