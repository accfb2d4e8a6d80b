package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/internal/golden"
	"heddle/rm/queue"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
)

// A script begins with what it proves, as comments. Its commands stand one to a line, what they answered below them, behind
// two spaces. Amounts are gigabytes, or gigabytes/cores.
//
//	capacity | fair      the lines up to "end" are capacity settings key=value, or an allocation file
//	node NAME RACK SIZE  a node joins; close, open [KIND of work], drop, resize NAME SIZE
//	app NAME QUEUE USER  an application comes; more: am=SIZE priority=N. end NAME, move NAME QUEUE, priority NAME N
//	ask NAME COUNT SIZE  more: at=HOST or RACK (also with count for it), strict, key=PRIORITY, work=KIND
//	black NAME ±HOST …   changes its blacklist
//	free NAME [COUNT]    its oldest containers end
//	hold NAME SIZE       its newest container is to take so much on its node; whether it can
//	doom NAME [COUNT]    its newest containers become killable; those that are killed are freed after the run
//	moveReservation NAME NODE  the first reservation of NAME is moved to another node
//	run [MS]             decisions are made, MS later than the last time
//	history SEED STEPS   a random history of all of this; see history_test.go
//	why NAME, queues, what-if QUEUE USER SIZE, activities NODE
func TestScripts(t *testing.T) { golden.Scripts(t, play) }

type script struct {
	t     *testing.T
	s     *Scheduler
	now   int64
	apps  map[string]handle.App
	names map[handle.App]string
	nodes map[string]handle.Node
	held  map[handle.App][]handle.Container
}

func play(t *testing.T, text string) string {
	p := &script{
		t: t, apps: map[string]handle.App{}, names: map[handle.App]string{}, nodes: map[string]handle.Node{},
		held: map[handle.App][]handle.Container{},
	}
	var out strings.Builder
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line + "\n")
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if words[0] == "capacity" || words[0] == "fair" {
			end := i + slices.Index(lines[i:], "end")
			for _, l := range lines[i+1 : end+1] {
				out.WriteString(l + "\n")
			}
			p.configure(words[0], lines[i+1:end])
			i = end
			continue
		}
		for _, answer := range p.command(words) {
			out.WriteString("  " + answer + "\n")
		}
		if err := p.s.core.Check(); err != nil {
			t.Fatalf("after %q: %v", line, err)
		}
	}
	return out.String()
}

func (p *script) configure(kind string, lines []string) {
	var tree *queue.Tree
	var err error
	if kind == "fair" {
		tree, err = queue.ParseFair([]byte(strings.Join(lines, "\n")))
	} else {
		settings := map[string]string{}
		for _, l := range lines {
			k, v, _ := strings.Cut(l, "=")
			settings[k] = v
		}
		tree, err = queue.ParseCapacity(settings)
	}
	switch {
	case err != nil:
		p.t.Fatal(err)
	case p.s == nil:
		p.s = New(Config{Tree: tree, Minimum: res(1, 1), Heartbeat: time.Second})
	default:
		if err := p.s.SetTree(tree); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *script) number(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *script) size(word string) (r [8]int64) {
	gb, cores, ok := strings.Cut(word, "/")
	if !ok {
		cores = gb
	}
	return res(p.number(gb), p.number(cores))
}

// works are the kinds of work that a node is opened to.
func (p *script) works(w []string) Works {
	if len(w) > 2 {
		return WorkOf(Work(p.number(w[2])))
	}
	return OpenIf(w[0] == "open")
}

func (p *script) command(w []string) []string {
	s := p.s
	switch w[0] {
	case "node":
		p.nodes[w[1]] = s.AddNode(NodeSpec{Host: w[1], Rack: w[2], Capability: p.size(w[3])})
	case "close", "open":
		s.At(p.nodes[w[1]]).SetOpen(p.nodes[w[1]], p.works(w))
	case "drop":
		s.At(p.nodes[w[1]]).RemoveNode(p.nodes[w[1]])
	case "resize":
		s.At(p.nodes[w[1]]).SetCapability(p.nodes[w[1]], p.size(w[2]))
	case "app":
		spec := AppSpec{Queue: w[2], User: w[3], Seq: int64(len(p.apps)), AM: res(1, 1)}
		for _, more := range w[4:] {
			switch k, v, _ := strings.Cut(more, "="); k {
			case "am":
				spec.AM = p.size(v)
			case "priority":
				spec.Priority = int32(p.number(v))
			}
		}
		h := s.AddApp(spec)
		p.apps[w[1]], p.names[h] = h, w[1]
	case "end":
		h := p.apps[w[1]]
		for _, c := range p.held[h] {
			s.Free(c)
		}
		p.held[h] = nil
		s.RemoveApp(h)
	case "move":
		s.MoveApp(p.apps[w[1]], w[2])
	case "priority":
		s.SetPriority(p.apps[w[1]], int32(p.number(w[2])))
	case "ask":
		p.ask(w[1:])
	case "black":
		var add, remove []string
		for _, name := range w[2:] {
			if name[0] == '+' {
				add = append(add, name[1:])
			} else {
				remove = append(remove, name[1:])
			}
		}
		s.UpdateBlacklist(p.apps[w[1]], add, remove)
	case "free":
		n := int64(1)
		if len(w) > 2 {
			n = p.number(w[2])
		}
		h := p.apps[w[1]]
		for _, c := range p.held[h][:n] {
			s.Free(c)
		}
		p.held[h] = p.held[h][n:]
	case "hold":
		held := p.held[p.apps[w[1]]]
		return []string{fmt.Sprintf("%v", s.Of(held[len(held)-1]).SetHeld(held[len(held)-1], p.size(w[2])))}
	case "doom":
		held, n := p.held[p.apps[w[1]]], int64(1)
		if len(w) > 2 {
			n = p.number(w[2])
		}
		for _, c := range slices.Backward(held) {
			if n > 0 && s.MakeKillable(c) {
				n--
			}
		}
	case "moveReservation":
		for _, c := range s.core.Reserved {
			if s.core.Containers[c].App == p.apps[w[1]] {
				return []string{fmt.Sprint(s.Of(c).MoveReservation(c, p.nodes[w[2]]))}
			}
		}
	case "run":
		if len(w) > 1 {
			p.now += p.number(w[1])
		}
		list := s.Schedule(p.now)
		out := p.decisions(list)
		for _, d := range slices.Clone(list) {
			if d.Kind == Kill {
				p.held[d.App] = slices.DeleteFunc(p.held[d.App], func(c handle.Container) bool { return c == d.Container })
				s.Free(d.Container)
			}
		}
		return out
	case "why":
		var out []string
		for _, r := range s.Explain(p.apps[w[1]]) {
			out = append(out, fmt.Sprintf("%s: %s", r.Limit, r.Text))
		}
		return out
	case "what-if":
		r, err := s.WhatIf(w[1], w[2], p.size(w[3]), false)
		if err != nil {
			return []string{err.Error()}
		}
		return []string{strings.TrimPrefix(fmt.Sprintf("%s: %s", r.Limit, r.Text), ": ")}
	case "history":
		return p.history(p.number(w[1]), p.number(w[2]))
	case "activities":
		return p.activities(s.Activities(p.nodes[w[1]]), "")
	case "queues":
		var out []string
		for _, q := range s.Queues() {
			out = append(out, fmt.Sprintf("%s: uses %d of %d GB, at most %d", q.Path, q.Used[0]>>10, q.Guaranteed[0]>>10, q.Maximum[0]>>10))
		}
		return out
	default:
		p.t.Fatalf("no such command: %q", w)
	}
	return nil
}

func (p *script) activities(a explain.Activity, indent string) []string {
	name := a.Queue
	switch {
	case a.Ask != nil:
		name = fmt.Sprintf("request %d", a.Ask.Priority)
	case a.OnNode:
		name = "the node"
	case a.App != handle.NoApp:
		name = p.names[a.App]
	}
	diagnostic := strings.ReplaceAll(a.Diagnostic, "\n", "; ")
	line := strings.TrimSuffix(fmt.Sprintf("%s%s %s: %s", indent, name, a.State, diagnostic), ": ")
	if a.From != handle.NoApp {
		line += " from " + p.names[a.From]
	}
	out := []string{line}
	for _, c := range a.Children {
		out = append(out, p.activities(c, indent+"  ")...)
	}
	return out
}

func (p *script) ask(w []string) {
	ask := Ask{Priority: 1, Name: Any, Count: int32(p.number(w[1])), Capability: p.size(w[2]), RelaxLocality: true}
	var more []Ask
	for _, word := range w[3:] {
		switch k, v, _ := strings.Cut(word, "="); k {
		case "at":
			more = append(more, Ask{Name: v})
		case "strict":
			ask.RelaxLocality = false
		case "key":
			ask.Priority = int32(p.number(v))
		case "work":
			ask.Work = Work(p.number(v))
		}
	}
	asks := []Ask{ask}
	for _, m := range more {
		row := ask
		row.Name, row.RelaxLocality = m.Name, true
		asks = append(asks, row)
	}
	p.s.UpdateAsks(p.apps[w[0]], asks)
}

// decisions are told in their order, equal ones that follow each other together.
func (p *script) decisions(list []Decision) (out []string) {
	count := 0
	for i, d := range list {
		text := ""
		switch d.Kind {
		case Activate:
			text = p.names[d.App] + " may start"
		case Allocate:
			p.held[d.App] = append(p.held[d.App], d.Container)
			text = fmt.Sprintf("%s gets %d GB on %s", p.names[d.App], d.Resource[0]>>10, p.s.core.Nodes.Name(p.s.core.Nodes.At[d.Node].Host))
		case Reserve:
			text = fmt.Sprintf("%s is reserved for %s", p.s.core.Nodes.Name(p.s.core.Nodes.At[d.Node].Host), p.names[d.App])
		case Unreserve:
			text = fmt.Sprintf("%s is no longer reserved for %s", p.s.core.Nodes.Name(p.s.core.Nodes.At[d.Node].Host), p.names[d.App])
		case Kill:
			text = fmt.Sprintf("%s loses %d GB on %s", p.names[d.App], d.Resource[0]>>10, p.s.core.Nodes.Name(p.s.core.Nodes.At[d.Node].Host))
		}
		count++
		same := func(o Decision) bool {
			return o.Kind == d.Kind && o.App == d.App && o.Node == d.Node && o.Resource == d.Resource
		}
		if i+1 < len(list) && same(list[i+1]) {
			continue
		}
		if count > 1 {
			text = fmt.Sprintf("%s (%d times)", text, count)
		}
		out, count = append(out, text), 0
	}
	return out
}
