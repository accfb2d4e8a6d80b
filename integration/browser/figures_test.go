package browser

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every figure on every page is what REST says at that moment: the test reads the pages as they are drawn, and computes each figure from REST's answers. A figure that it doesn't know fails it, as does
// one that the page lacks. heddle's commands print the same.
func TestEveryFigureIsWhatRESTSays(t *testing.T) {
	s := standsStill(t)
	tab := Open(t, 1400, 1000)
	tab.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": listens}, nil)
	node := s.Address("nm2", "yarn.nodemanager.address")
	for path, figures := range map[string]func(*seen){
		"/cluster/overview": overviewFigures, "/cluster/waiting": waitingFigures, "/cluster/apps": appsFigures, "/cluster/app/" + s.app("ann"): appFigures, "/cluster/app/" + s.app("bob"): appFigures,
		"/cluster/app/" + s.app("dan"): appFigures, "/cluster/scheduler": queuesFigures, "/cluster/queue/root.prod": queueFigures, "/cluster/queue/root": queueFigures, "/cluster/nodes": nodesFigures,
		"/cluster/nodes/map": mapFigures, "/cluster/node/" + url.PathEscape(node): nodeFigures, "/cluster/preemptions": preemptionFigures, "/cluster/users": usersFigures, "/cluster/user/ann": userFigures,
		"/cluster/nodelabels": labelsFigures, "/cluster/cluster": clusterFigures,
	} {
		s.walk(tab, path, figures)
	}
	s.configuration(tab)
	s.commands(node)
	// Chromium asks for an icon of what isn't a page, such as /conf, sooner or later.
	if said := slices.DeleteFunc(tab.Errors(), func(s string) bool { return strings.Contains(s, "favicon.ico") }); len(said) > 0 {
		t.Errorf("the pages said %q", said)
	}
}

// seen is what a page shows, and the answers of REST that it was drawn from.
type seen struct {
	path    string
	Shown   map[string]string
	Answers map[string]any
	want    map[string][]string // what is shown where: one of these
}

// of is the answer to the question that begins with a path.
func (x *seen) of(path string, keys ...string) any {
	for _, p := range slices.Sorted(maps.Keys(x.Answers)) {
		if strings.HasPrefix(p, "/ws/v1/"+path) {
			return at(x.Answers[p], keys...)
		}
	}
	return nil
}

// is says what is shown somewhere.
func (x *seen) is(where string, oneOf ...string) { x.want[where] = oneOf }

// row says what a row of a table has, by the heads of columns.
func (x *seen) row(where string, cells ...string) {
	for i := 0; i < len(cells); i += 2 {
		x.is(where+"/"+cells[i], cells[i+1])
	}
}

// plain are texts that have a figure and tell none of the cluster.
var plain = regexp.MustCompile(`^(\d+ (minutes|hours?|days?)|From samples each 10 s\. Download 30 days as CSV)$`)

// problems compares what is shown with what should be.
func (x *seen) problems() (out []string) {
	for where, oneOf := range x.want {
		if got, ok := x.Shown[where]; !ok || !slices.Contains(oneOf, got) {
			out = append(out, fmt.Sprintf("%s: %q is %q, want %q", x.path, where, got, oneOf))
		}
	}
	for where, got := range x.Shown {
		if _, ok := x.want[where]; !ok && strings.ContainsAny(got, "0123456789") && !plain.MatchString(got) {
			out = append(out, fmt.Sprintf("%s: nothing says what %q should be; it is %q", x.path, where, got))
		}
	}
	slices.Sort(out)
	return out
}

// moving are fields of REST that change though nothing happens.
var moving = map[string]bool{
	"elapsedTime": true, "memorySeconds": true, "vcoreSeconds": true, "resourceSecondsMap": true, "resourceInfo": true, "to": true, "totalMs": true, "ms": true, "text": true, "diagnostics": true, "summary": true, "behind": true,
	"utilizedMB": true, "utilizedMBPercent": true, "utilizedVirtualCores": true, "utilizedVirtualCoresPercent": true, "lastHealthUpdate": true, "resourceUtilization": true,
	"machine": true, "from": true, "now": true, "lastUpdate": true, "utilization": true, "containerAssignedPerSecond": true, "lastrun": true,
}

// differ says where two answers of REST differ, apart from what moves; "" if they don't.
func differ(where string, a, b any) string {
	switch x := a.(type) {
	case map[string]any:
		y, _ := b.(map[string]any)
		for k, v := range x {
			if moving[k] {
				continue
			}
			if d := differ(where+"/"+k, v, y[k]); d != "" {
				return d
			}
		}
		if len(x) == len(y) {
			return ""
		}
	case []any:
		y, _ := b.([]any)
		for i := range min(len(x), len(y)) {
			if d := differ(fmt.Sprintf("%s/%d", where, i), x[i], y[i]); d != "" {
				return d
			}
		}
		if len(x) == len(y) {
			return ""
		}
	default:
		if a == b {
			return ""
		}
	}
	return fmt.Sprintf("%s: REST says %v to the page and %v to the test", where, a, b)
}

// walk reads a page, and compares it with REST, which the test asks, too. Samples and events come meanwhile, so it tries again.
func (s *still) walk(tab *Tab, path string, figures func(*seen)) {
	s.Helper()
	var problems []string
	for range 8 {
		tab.Go(s.at + path)
		tab.Until(`document.querySelector("main h1") && document.querySelector("#state").textContent && !document.querySelector("#state.lost")`)
		x := &seen{path: path, want: map[string][]string{}}
		tab.Eval(reads, x)
		figures(x)
		if problems = x.problems(); len(problems) > 0 {
			continue
		}
		for question, answer := range x.Answers {
			var now any
			s.rest(question, &now)
			if d := differ(question, answer, now); d != "" {
				problems = append(problems, d)
			}
		}
		if len(problems) == 0 {
			return
		}
	}
	for _, p := range problems {
		s.Error(p)
	}
}
