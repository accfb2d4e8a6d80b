package browser

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
)

// listens keeps the last answer of REST to each question of the page.
const listens = `(() => {
	window.answers = {};
	const ask = window.fetch;
	window.fetch = async (...a) => {
		const r = await ask(...a);
		if (r.ok) {
			const url = new URL(r.url);
			try { window.answers[url.pathname + url.search] = JSON.parse(await r.clone().text()); } catch { /* not JSON */ }
		}
		return r;
	};
})()`

// reads lists what a page shows, by where it stands: "heading/tile NAME", "heading/NAME" of a list of facts, "heading/row/column" of a table.
const reads = `(() => {
	const shown = {};
	const text = (e) => (e?.innerText ?? e?.textContent ?? "").replace(/\s+/g, " ").trim();
	let heading = "";
	for (const d of document.querySelectorAll("#racks, main details:not([id])")) d.open = true; // text that isn't drawn is empty
	const put = (name, value) => {
		let key = name;
		for (let i = 2; key in shown; i++) key = name + " #" + i;
		shown[key] = value;
	};
	for (const e of document.querySelectorAll("main h1, main h2, main summary, main .tile, main dl, main table, main .pager [role=status], main .chips a, main .news li, main .plot, main .notice, main p")) {
		const scope = e.closest("details[id]");
		const where = (scope ? scope.id : heading) + "/";
		if (/^H[12]$/.test(e.tagName)) heading = text(e);
		else if (e.matches(".tile")) {
			const [, name, of] = /^(.*?)( of .*)?$/.exec(text(e.querySelector("span")));
			put(where + "tile " + name, text(e.querySelector("b")) + (of ?? ""));
		} else if (e.tagName === "DL") {
			for (const dt of e.querySelectorAll(":scope > dt")) put(where + text(dt), text(dt.nextElementSibling));
		} else if (e.tagName === "TABLE") {
			const heads = [...e.querySelectorAll("thead th")].map(text);
			for (const row of e.querySelectorAll("tbody tr")) [...row.cells].forEach((c, i) => put(where + (row.dataset.key ?? text(row.cells[0])) + "/" + heads[i], text(c)));
		} else if (e.matches(".plot")) put(where + "chart", e.getAttribute("aria-label") ?? "");
		else put(where + e.tagName.toLowerCase(), text(e));
	}
	return { Shown: shown, Answers: window.answers };
})()`

// at goes into an answer of REST: keys name members, and the members of lists by a field of theirs, as "id=nm1".
func at(answer any, keys ...string) any {
	for _, k := range keys {
		switch x := answer.(type) {
		case map[string]any:
			answer = x[k]
		case []any:
			field, value, _ := strings.Cut(k, "=")
			answer = nil
			for _, e := range x {
				if fmt.Sprint(at(e, field)) == value {
					answer = e
				}
			}
		default:
			return nil
		}
	}
	return answer
}

// all are the members of a list of REST's, which may be absent.
func all(answer any, keys ...string) []any {
	switch x := at(answer, keys...).(type) {
	case []any:
		return x
	case nil:
		return nil
	default:
		return []any{x}
	}
}

func num(answer any, keys ...string) float64 {
	n, _ := at(answer, keys...).(float64)
	return n
}

func str(answer any, keys ...string) string {
	s, _ := at(answer, keys...).(string)
	return s
}

// The forms in which pages write, by docs/design.md.

// whole writes a whole number with commas.
func whole(n float64) string {
	s := fmt.Sprintf("%.0f", n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// tenths is a number with one decimal, rounded as by JavaScript's toFixed: the exact value counts (0.35 is a little less than that), and halves go up.
func tenths(n float64) string {
	exact := new(big.Rat).SetFloat64(n)
	if exact == nil {
		return fmt.Sprint(n) // no number: what is shown instead isn't that
	}
	exact.Add(exact.Mul(exact, big.NewRat(10, 1)), big.NewRat(1, 2))
	return new(big.Rat).SetFrac(new(big.Int).Div(exact.Num(), exact.Denom()), big.NewInt(10)).FloatString(1)
}

// short is a number with at most one decimal.
func short(n float64) string { return strings.TrimSuffix(tenths(n), ".0") }

// mb writes an amount of memory.
func mb(n float64) string {
	for i, unit := range []string{"MB", "GB", "TB"} {
		switch {
		case n < 1024 || unit == "TB":
			if n < 10 && i > 0 {
				return short(n) + " " + unit
			}
			return whole(math.Round(n)) + " " + unit
		default:
			n /= 1024
		}
	}
	return ""
}

// counted is a number with its thing.
func counted(n float64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return whole(n) + " " + thing + "s"
}

// bars is a part in percent.
func bars(n float64) string { return tenths(n) + " %" }

// clock is a moment of today, or a dash.
func clock(ms float64) string {
	if ms <= 0 {
		return "—"
	}
	t := time.UnixMilli(int64(ms))
	if t.YearDay() != time.Now().YearDay() {
		return t.Format("2 Jan 15:04")
	}
	return t.Format("15:04:05")
}

// lasting is a span of time.
func lasting(ms float64) string {
	s := int64(math.Round(ms / 1000))
	var parts []string
	for _, unit := range []struct {
		name string
		n    int64
	}{{"d", 86400}, {"h", 3600}, {"min", 60}} {
		if s >= unit.n {
			parts = append(parts, fmt.Sprintf("%d %s", s/unit.n, unit.name))
		}
		s %= unit.n
	}
	if len(parts) < 2 {
		parts = append(parts, fmt.Sprintf("%d s", s))
	}
	return strings.Join(parts, " ")
}

// amount writes memory and vcores, of an amount in Heddle's REST (memoryMB) or YARN's (memory).
func amount(a any) string {
	m := num(a, "memoryMB")
	if m == 0 {
		m = num(a, "memory")
	}
	return mb(m) + ", " + counted(num(a, "vCores"), "vcore")
}
