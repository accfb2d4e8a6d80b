package webui

import (
	"io/fs"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	rootRule = regexp.MustCompile(`(?s):root \{(.*?)\}`)
	token    = regexp.MustCompile(`--([a-z0-9-]+): ([^;]+);`)
	colour   = regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(`)
	used     = regexp.MustCompile(`var\(--([a-z0-9-]+)\)`)
)

func stylesheet(t *testing.T) string {
	t.Helper()
	b, err := files.ReadFile("static/heddle.css")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// themes returns the tokens of the light and the dark theme. The dark one has those of the light one that it doesn't change.
func themes(t *testing.T) (light, dark map[string]string) {
	t.Helper()
	rules := rootRule.FindAllStringSubmatch(stylesheet(t), -1)
	if len(rules) < 2 {
		t.Fatal("the stylesheet has no two themes")
	}
	light, dark = map[string]string{}, map[string]string{}
	for _, m := range token.FindAllStringSubmatch(rules[0][1], -1) {
		light[m[1]], dark[m[1]] = m[2], m[2]
	}
	for _, m := range token.FindAllStringSubmatch(rules[1][1], -1) {
		if light[m[1]] == "" {
			t.Errorf("the dark theme has --%s, and the light one hasn't", m[1])
		}
		dark[m[1]] = m[2]
	}
	return light, dark
}

// luminance is WCAG's relative luminance of a colour #rrggbb.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(hex, "#"), 16, 32)
	if err != nil || len(hex) != 7 {
		t.Fatalf("%q is no colour #rrggbb", hex)
	}
	part := func(shift uint) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}

func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Readers with weak eyes can read every text in both themes (WCAG 2.1: 4.5 to 1; 3 to 1 for controls and graphics).
func TestContrast(t *testing.T) {
	light, dark := themes(t)
	for name, theme := range map[string]map[string]string{"light": light, "dark": dark} {
		for least, fronts := range map[float64][]string{
			4.5: {"ink", "soft", "accent", "good", "busy", "wait", "bad", "off"},
			3:   {"edge", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8"},
		} {
			for _, front := range fronts {
				for _, ground := range []string{"paper", "card", "accent-soft"} {
					if least == 3 && ground == "accent-soft" {
						continue // a row under the pointer has no controls, and no charts
					}
					if c := contrast(t, theme[front], theme[ground]); c < least {
						t.Errorf("%s: --%s on --%s has %.2f to 1, less than %.1f", name, front, ground, c, least)
					}
				}
			}
		}
	}
}

// Colours stand in the tokens alone, and every token that is used exists.
func TestColoursAreTokens(t *testing.T) {
	light, _ := themes(t)
	css := stylesheet(t)
	for _, m := range used.FindAllStringSubmatch(css, -1) {
		if light[m[1]] == "" {
			t.Errorf("the stylesheet uses --%s, which is no token", m[1])
		}
	}
	if got := colour.FindString(rootRule.ReplaceAllString(css, "")); got != "" {
		t.Errorf("the stylesheet has the colour %s outside of the tokens", got)
	}
	err := fs.WalkDir(files, "static", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".js") || strings.HasPrefix(path, "static/vendor/") {
			return err
		}
		b, err := files.ReadFile(path)
		if got := colour.Find(b); got != nil {
			t.Errorf("%s has the colour %s: use a token", path, got)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The nodes' own pages and that of heddle mr's ApplicationMaster have the tokens of these, in both themes.
func TestOtherPagesHaveTheSameTokens(t *testing.T) {
	of := regexp.MustCompile(`\[(fill|stroke)="[^"]*"\]`) // colours of pictures, which the page replaces
	for _, path := range []string{"../nm/rest/look/look.css", "../am/mapreduce/page.html"} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rules, own := rootRule.FindAllStringSubmatch(string(b), -1), rootRule.FindAllStringSubmatch(stylesheet(t), -1)
		if len(rules) != 2 {
			t.Fatalf("%s has no two themes", path)
		}
		for i := range rules {
			want := map[string]string{}
			for _, m := range token.FindAllStringSubmatch(own[i][1], -1) {
				want[m[1]] = m[2]
			}
			all := token.FindAllStringSubmatch(rules[i][1], -1)
			for _, m := range all {
				if want[m[1]] != m[2] {
					t.Errorf("%s, theme %d has --%s: %s, and the cluster's pages %q", path, i, m[1], m[2], want[m[1]])
				}
			}
			if len(all) < 10 {
				t.Errorf("%s, theme %d has %d tokens", path, i, len(all))
			}
		}
		if got := colour.FindString(of.ReplaceAllString(rootRule.ReplaceAllString(string(b), ""), "")); got != "" {
			t.Errorf("%s has the colour %s outside of the tokens", path, got)
		}
	}
}
