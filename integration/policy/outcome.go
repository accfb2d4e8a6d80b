package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"heddle/yarn/records"
)

// Outcome has the results of a scenario's steps, in their order.
type Outcome []Act

// Act is the result of one step.
type Act struct {
	Step    string
	Refused string   // class and message of the exception; empty if the step succeeded
	Apps    []App    // results of settle, by name
	Queues  []string // results of queues, by path, or of attributes, by host: what the ResourceManager reports
}

// App is an application after the cluster has settled.
type App struct {
	Name, State, Queue, User string
	Containers, Reserved     int // for accepted and running applications, including the ApplicationMaster's
	Used                     records.Resource
	Preempted                int            // preempted containers so far
	Priority                 int32          // 0 also if not recorded
	Lifetime                 int64          // in seconds from the submission; 0: without limit
	Nodes                    map[string]int // containers except the ApplicationMaster's; nil: not recorded
	OfQueue                  string         // percent of the queue's guarantee or share; "": not recorded
	Diagnostics              string         // diagnostics of failed applications
}

// Patterns of ids, which differ from run to run.
var (
	anyApplication = regexp.MustCompile(`application_\d+_\d+`)
	anyAttempt     = regexp.MustCompile(`appattempt_\d+_\d+_\d+`)
)

// String returns the form in golden files: a line for each step, with its results indented.
func (o Outcome) String() string {
	var b strings.Builder
	for _, act := range o {
		fmt.Fprintln(&b, act.Step)
		if act.Refused != "" {
			fmt.Fprintf(&b, "\trefused: %s\n", act.Refused)
		}
		for _, a := range act.Apps {
			fmt.Fprintf(&b, "\t%v\n", a)
		}
		for _, q := range act.Queues {
			fmt.Fprintf(&b, "\t%s\n", q)
		}
	}
	return b.String()
}

// String is one line.
func (a App) String() string {
	s := fmt.Sprintf("%s %s queue=%s user=%s containers=%d used=%s", a.Name, a.State, a.Queue, a.User, a.Containers, plain(a.Used))
	if a.Reserved > 0 {
		s += fmt.Sprintf(" reserved=%d", a.Reserved)
	}
	if a.Preempted > 0 {
		s += fmt.Sprintf(" preempted=%d", a.Preempted)
	}
	if a.Priority != 0 {
		s += fmt.Sprintf(" priority=%d", a.Priority)
	}
	if a.Lifetime > 0 {
		s += fmt.Sprintf(" lifetime=%d", a.Lifetime)
	}
	if a.Nodes != nil {
		var on []string
		for _, n := range slices.Sorted(maps.Keys(a.Nodes)) {
			on = append(on, fmt.Sprintf("%s:%d", n, a.Nodes[n]))
		}
		s += " nodes=" + strings.Join(on, ",")
	}
	if a.OfQueue != "" {
		s += " of-queue=" + a.OfQueue
	}
	if a.Diagnostics != "" {
		s += " diagnostics: " + a.Diagnostics
	}
	return s
}

// plain lists the amounts of a resource by index, without trailing zeros.
func plain(r records.Resource) string {
	n := len(r)
	for n > 2 && r[n-1] == 0 {
		n--
	}
	words := make([]string, n)
	for i := range words {
		words[i] = strconv.FormatInt(r[i], 10)
	}
	return strings.Join(words, ",")
}

// ParseOutcome reads a golden file.
func ParseOutcome(text string) (Outcome, error) {
	var o Outcome
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		inner, indented := strings.CutPrefix(line, "\t")
		switch {
		case !indented:
			o = append(o, Act{Step: line})
		case len(o) == 0:
			return nil, fmt.Errorf("line %d belongs to no step", i+1)
		case strings.HasPrefix(inner, "refused: "):
			o[len(o)-1].Refused = strings.TrimPrefix(inner, "refused: ")
		case isReport(inner):
			o[len(o)-1].Queues = append(o[len(o)-1].Queues, inner)
		default:
			a, err := parseApp(inner)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			o[len(o)-1].Apps = append(o[len(o)-1].Apps, a)
		}
	}
	return o, nil
}

// isReport tells a line of Act.Queues from one of Act.Apps.
func isReport(line string) bool {
	return slices.ContainsFunc([]string{"root", "attributes ", "rejected ", "kinds ", "reservation "}, func(first string) bool {
		return strings.HasPrefix(line, first)
	})
}

func parseApp(line string) (App, error) {
	line, diagnostics, _ := strings.Cut(line, " diagnostics: ")
	words := strings.Fields(line)
	if len(words) < 2 {
		return App{}, fmt.Errorf("%q is not an application", line)
	}
	a := App{Name: words[0], State: words[1], Diagnostics: diagnostics}
	for _, w := range words[2:] {
		key, value, _ := strings.Cut(w, "=")
		var err error
		switch key {
		case "queue":
			a.Queue = value
		case "user":
			a.User = value
		case "of-queue":
			a.OfQueue = value
		case "containers":
			a.Containers, err = strconv.Atoi(value)
		case "reserved":
			a.Reserved, err = strconv.Atoi(value)
		case "preempted":
			a.Preempted, err = strconv.Atoi(value)
		case "priority":
			var n int
			n, err = strconv.Atoi(value)
			a.Priority = int32(n)
		case "lifetime":
			a.Lifetime, err = strconv.ParseInt(value, 10, 64)
		case "used":
			for i, part := range strings.Split(value, ",") {
				if i < len(a.Used) && err == nil {
					a.Used[i], err = strconv.ParseInt(part, 10, 64)
				}
			}
		case "nodes":
			a.Nodes = map[string]int{}
			for part := range strings.SplitSeq(value, ",") {
				if name, count, ok := strings.Cut(part, ":"); ok && err == nil {
					a.Nodes[name], err = strconv.Atoi(count)
				}
			}
		default:
			err = fmt.Errorf("unknown word")
		}
		if err != nil {
			return App{}, fmt.Errorf("%s: %w", w, err)
		}
	}
	return a, nil
}

// Compare lists how got differs from want. Applications, and their sums over users and queues, may differ by Tolerance
// containers, each at most as large as the largest container that the scenario asks for.
func (sc *Scenario) Compare(want, got Outcome, types records.ResourceTypes) []string {
	var out []string
	if len(want) != len(got) {
		return []string{fmt.Sprintf("%d steps were recorded, %d were done: record again", len(want), len(got))}
	}
	var slack records.Resource
	for _, s := range sc.Steps {
		if s.Verb == "ask" {
			if r, err := parseResource(s.Args[2], types); err == nil {
				slack = slack.Max(r)
			}
		}
	}
	slack = slack.Times(int64(sc.Tolerance))
	for i := range want {
		w, g := want[i], got[i]
		differ := func(format string, args ...any) {
			out = append(out, fmt.Sprintf("step %d, %s: ", i+1, g.Step)+fmt.Sprintf(format, args...))
		}
		if w.Step != g.Step {
			differ("%q was recorded: record again", w.Step)
			return out
		}
		if w.Refused != g.Refused {
			differ("refused %q, stock: %q", g.Refused, w.Refused)
		}
		for at := range max(len(w.Queues), len(g.Queues)) {
			if a, b := line(w.Queues, at), line(g.Queues, at); a != b {
				differ("%s\n\tstock: %s", b, a)
			}
		}
		apps := map[string]App{}
		for _, a := range g.Apps {
			apps[a.Name] = a
		}
		for _, a := range w.Apps {
			b, ok := apps[a.Name]
			delete(apps, a.Name)
			switch {
			case !ok:
				differ("%s is missing, stock: %v", a.Name, a)
			case a.State != b.State || a.Queue != b.Queue || a.User != b.User || a.Diagnostics != b.Diagnostics || a.Lifetime != b.Lifetime || a.Priority != b.Priority,
				abs(a.Containers-b.Containers) > sc.Tolerance, abs(a.Preempted-b.Preempted) > sc.Tolerance,
				(a.Reserved > 0) != (b.Reserved > 0), !near(a.Used, b.Used, slack), !maps.Equal(a.Nodes, b.Nodes), a.OfQueue != b.OfQueue:
				differ("%v\n\tstock: %v", b, a)
			}
		}
		for name, a := range apps {
			differ("%s is not there on stock: %v", name, a)
		}
		ws, gs := sums(w.Apps), sums(g.Apps)
		for name := range ws {
			if !near(ws[name], gs[name], slack) {
				differ("%s uses %v, stock: %v", name, gs[name], ws[name])
			}
		}
	}
	return out
}

func line(lines []string, at int) string {
	if at < len(lines) {
		return lines[at]
	}
	return "nothing"
}

// sums adds up what queues and their users use.
func sums(apps []App) map[string]records.Resource {
	out := map[string]records.Resource{}
	for _, a := range apps {
		out["queue "+a.Queue] = out["queue "+a.Queue].Add(a.Used)
		user := "user " + a.User + " of " + a.Queue
		out[user] = out[user].Add(a.Used)
	}
	return out
}

func near(a, b, slack records.Resource) bool {
	return a.FitsIn(b.Add(slack)) && b.FitsIn(a.Add(slack))
}

func abs(n int) int { return max(n, -n) }
