package browser

import (
	_ "embed"
	"strings"
)

// axe is axe-core 4.10.3 as npm has it (axe.min.js; Mozilla Public License 2.0).
//
//go:embed testdata/axe.min.js
var axe string

const axeSum = "880970c081707360e64f34cea25ff91892f5bc95675b0776925b9709dd8a68bb"

// Violations checks the page that is open with axe-core, in both themes, and returns what it finds, as "theme: rule: …". Rules in without aren't checked.
func (tab *Tab) Violations(without ...string) (found []string) {
	tab.t.Helper()
	tab.Eval(axe+";0", nil)
	off := ""
	for _, rule := range without {
		off += `"` + rule + `": { enabled: false },`
	}
	for theme, what := range map[string]string{"light": "{ rules: {" + off + "} }", "dark": `{ runOnly: ["color-contrast"] }`} { // the rest is the same in both
		tab.Theme(theme)
		var all []string
		tab.Eval(`axe.run(`+what+`).then((r) => r.violations.map((v) => v.id + ": " + v.help + " " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + n.failureSummary).join(" | ")))`, &all)
		for _, v := range all {
			found = append(found, theme+": "+strings.TrimSpace(v))
		}
	}
	return found
}
