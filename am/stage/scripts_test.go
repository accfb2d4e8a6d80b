package stage

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/internal/golden"
)

// scripted is policies that do what a script says.
type scripted struct {
	due     bool
	copies  []Copy
	cuts    []Cut
	worth   map[string]bool // hosts on which copies are worth while; nil: all
	dropped bool            // copies are worth while nowhere any more
	m       *Planner
}

func (p *scripted) Due(*Facts) bool                 { return p.due }
func (p *scripted) Ended(Stage, int, time.Duration) {}

func (p *scripted) Round(*Round) []Copy {
	out := p.copies
	p.copies = nil
	return out
}

func (p *scripted) Split(*Round) []Cut {
	out := p.cuts
	p.cuts = nil
	return out
}

func (p *scripted) Worth(_ Copy, _ time.Duration, _ Running, node int) bool {
	return !p.dropped && (node < 0 || p.worth == nil || p.worth[p.m.nodes[node].name])
}

// TestScripts plays the jobs in testdata. A line is what happens, such as "3 ready 0": at 3 s slot 0 wants a task. What the planner wants then
// is indented. "facts" shows where the job is.
func TestScripts(t *testing.T) {
	golden.Scripts(t, func(t *testing.T, script string) string {
		var out strings.Builder
		var m *Planner
		p := &scripted{}
		for i, line := range strings.Split(strings.TrimSuffix(script, "\n"), "\n") {
			if strings.HasPrefix(line, " ") {
				continue // what it was
			}
			out.WriteString(line + "\n")
			f := strings.Fields(line)
			switch {
			case len(f) == 0 || strings.HasPrefix(line, "#"):
			case f[0] == "job":
				m = New(scriptedJob(t, p, f[1:]))
				p.m = m
			case f[0] == "facts":
				x := m.Facts()
				_, failed, done := m.Stage(Map)
				_, lost, reduced := m.Stage(Reduce)
				fmt.Fprintf(&out, "  maps %d+%d+%d, %d failed, %.6f; reduces %d+%d+%d, %d failed, %.6f; slots %d, released %d, available %d; %d bytes, mean %v\n", x.Maps.Waiting,
					x.Maps.Running, x.Maps.Done, failed, done, x.Reduces.Waiting, x.Reduces.Running, x.Reduces.Done, lost, reduced, x.Slots, x.Released, x.Available,
					x.Maps.OutBytes, x.Maps.Mean)
			case f[0] == "attempts":
				id := attemptIn(f[1] + ".0")
				for _, a := range m.Attempts(id.TaskID) {
					fmt.Fprintf(&out, "  %s on %d: state %d, phase %d, copy %v, %v to %v, fetched %v, seen %v, paused %v, %d of %d, %d bytes\n", a.ID.short(), a.Slot, a.State,
						a.Phase, a.Copy, a.Begun, a.Ended, a.Fetched, a.Seen, a.Paused, a.Done, a.Total, a.OutBytes)
				}
			case f[0] == "due":
				p.due = f[1] == "yes"
			case f[0] == "worth":
				p.worth, p.dropped = map[string]bool{}, len(f) == 1
				for _, h := range f[1:] {
					p.worth[h] = true
				}
			case f[0] == "copy":
				p.copies = append(p.copies, Copy{Of: attemptIn(f[1])})
			case f[0] == "cut":
				p.cuts = append(p.cuts, Cut{Of: attemptIn(f[1]), At: float(f[2]), Parts: number(f[3])})
			default:
				e := eventIn(f[1:])
				if e == nil {
					t.Fatalf("line %d: %q isn't known", i+1, line)
				}
				for _, a := range m.Step(time.Duration(float(f[0])*float64(time.Second)), e) {
					fmt.Fprintf(&out, "  %s\n", actionText(a))
				}
				if !m.over {
					m.check(t)
				}
			}
		}
		return out.String()
	})
}

func number(s string) int { return int(float(s)) }

func float(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(err)
	}
	return x
}

// attemptIn reads "m3.0": the first attempt at map 3.
func attemptIn(s string) AttemptID {
	id := AttemptID{}
	if s[0] == 'r' {
		id.Stage = Reduce
	}
	index, n, _ := strings.Cut(s[1:], ".")
	id.Index, id.Number = number(index), number(n)
	return id
}

func (a AttemptID) short() string {
	return fmt.Sprintf("%s%d.%d", a.Stage.String()[:1], a.Index, a.Number)
}

func scriptedJob(t *testing.T, p *scripted, words []string) Job {
	j := Job{Tries: [2]int{4, 4}, NodeFailures: 3, Starter: p}
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		switch k {
		case "maps":
			j.Maps = number(v)
		case "reduces":
			j.Reduces = number(v)
		case "reduce-memory":
			j.ReduceMemory = int64(number(v))
		case "tries":
			maps, reduces, _ := strings.Cut(v+","+v, ",")
			reduces, _, _ = strings.Cut(reduces, ",")
			j.Tries = [2]int{number(maps), number(reduces)}
		case "silence":
			j.Silence = time.Duration(number(v)) * time.Second
		case "per-task":
			j.PerTask = true
		case "nodes-serve":
			j.NodesServe = true
		case "freezes":
			j.Freezes = true
		case "copies":
			j.Speculator, j.Splitter = p, p
		case "hosts": // of each map, separated by /
			lists := strings.Split(v, "/")
			j.Hosts = func(i int) []string {
				return slices.DeleteFunc(strings.Split(lists[i%len(lists)], ","), func(h string) bool { return h == "" })
			}
		default:
			t.Fatalf("%q isn't known", w)
		}
	}
	return j
}

// eventIn reads an event; nil if it isn't one.
func eventIn(f []string) Event {
	slot := func() SlotID { return SlotID(number(f[1])) }
	switch f[0] {
	case "tick":
		return Tick{}
	case "nodes":
		return Nodes{number(f[1])}
	case "granted": // request, slot, host, memory
		return Granted{RequestID(number(f[1])), SlotID(number(f[2])), f[3], int64(number(f[4]))}
	case "refused":
		return Refused{errors.New("no")}
	case "ready":
		return Ready{slot()}
	case "heard":
		return Heard{slot()}
	case "progressed": // slot, attempt, done of total, and for reduces what it does
		done, total, _ := strings.Cut(f[3], "/")
		e := Progressed{Slot: slot(), Attempt: attemptIn(f[2]), Done: int64(number(done)), Total: int64(number(total))}
		if len(f) > 4 {
			e.Phase = map[string]Phase{"shuffles": Shuffling, "reduces": Reducing}[f[4]]
		}
		return e
	case "finished": // slot, attempt, bytes, and "held" if the slot has the output
		return Finished{Slot: slot(), Attempt: attemptIn(f[2]), OutBytes: int64(number(f[3])), Held: len(f) > 4}
	case "failed":
		return Failed{slot(), attemptIn(f[2]), errors.New("it failed")}
	case "gone":
		return Gone{Slot: slot(), Fault: f[2] == "fault", Err: errors.New("it is gone")}
	case "suspended":
		return Suspended{slot()}
	case "resumed":
		return Resumed{slot()}
	case "unfrozen":
		return Unfrozen{slot()}
	case "lost":
		return NodeLost{f[1]}
	case "unreachable":
		return Unreachable{f[1]}
	case "reachable":
		return Reachable{f[1]}
	case "stopped": // slot, attempt, kept, hosts of parts separated by /
		e := Stopped{Slot: slot(), Attempt: attemptIn(f[2]), Kept: float(f[3])}
		if len(f) > 4 {
			for _, list := range strings.Split(f[4], "/") {
				e.Hosts = append(e.Hosts, strings.Split(list, ","))
			}
		}
		return e
	case "unfetchable": // slot, map and attempt, missing
		id := attemptIn(f[2])
		return Unfetchable{Slot: slot(), Map: id.Index, Number: id.Number, Missing: len(f) > 3, Err: errors.New("no answer")}
	}
	return nil
}

func actionText(a Action) string {
	switch a := a.(type) {
	case Want:
		text := fmt.Sprintf("want %d for %v %d", a.Request, a.Task.Stage, a.Task.Index)
		if len(a.Hosts) > 0 {
			text += " on " + strings.Join(a.Hosts, ",")
		}
		if a.Strict {
			text += " only"
		}
		return text
	case Withdraw:
		return fmt.Sprintf("withdraw %d", a.Request)
	case Start:
		return fmt.Sprintf("start %d", a.Slot)
	case GiveBack:
		if a.Lost {
			return fmt.Sprintf("give back %d, which is lost", a.Slot)
		}
		if a.Room {
			return fmt.Sprintf("give back %d for its room", a.Slot)
		}
		return fmt.Sprintf("give back %d", a.Slot)
	case Launch:
		if a.Copy {
			return fmt.Sprintf("launch %s on %d, a copy", a.Attempt.short(), a.Slot)
		}
		return fmt.Sprintf("launch %s on %d", a.Attempt.short(), a.Slot)
	case Cancel:
		return fmt.Sprintf("cancel %s on %d, %s", a.Attempt.short(), a.Slot, []string{"overtaken", "in the way"}[a.Why])
	case Stop:
		return fmt.Sprintf("stop %s on %d at %v, %d parts", a.Attempt.short(), a.Slot, a.At, a.Parts)
	case Divide:
		return fmt.Sprintf("divide %s: %d from %d on", a.Attempt.short(), a.Parts, a.First)
	case Freeze:
		if a.For == 0 {
			return fmt.Sprintf("freeze %s on %d", a.Attempt.short(), a.Slot)
		}
		return fmt.Sprintf("freeze %s on %d for %d", a.Attempt.short(), a.Slot, a.For)
	case Thaw:
		return fmt.Sprintf("thaw %s on %d", a.Attempt.short(), a.Slot)
	case Accept:
		return fmt.Sprintf("accept %s of %d", a.Attempt.short(), a.Slot)
	case Revoke:
		return fmt.Sprintf("revoke %s", a.Attempt.short())
	case Fault:
		return "fault: " + a.Error()
	case Avoid:
		if a.Failures == 0 {
			return fmt.Sprintf("avoid %s, which doesn't answer", a.Host)
		}
		return fmt.Sprintf("avoid %s, %d failures", a.Host, a.Failures)
	case Forgive:
		if a.Answers {
			return fmt.Sprintf("use %s again, which answers", strings.Join(a.Hosts, ","))
		}
		return "forgive " + strings.Join(a.Hosts, ",")
	case End:
		return fmt.Sprintf("end: %v", a.Err)
	}
	return fmt.Sprintf("%T%+v", a, a)
}
