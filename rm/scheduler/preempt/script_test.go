package preempt_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/internal/golden"
	"heddle/rm/scheduler/fairshare"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/records"
)

// TestScripts plays the scripts of testdata. A script says in comments what it proves, describes a cluster, and has rounds;
// the lines between ---- and the next blank line are what a round answers:
//
//	cluster 100,100 [dominant] [minimum=1]        resources are memory,vcores
//	fair [spare-masters] [masters-of=root.a]      the policy and its settings
//	capacity key=value …                          likewise
//	node n1 [free=10,10] [closed]
//	queue root.a guaranteed=40 max=100 …          or weight=1 min=… for fair queues
//	app 1 root.a user=u priority=1
//	run 1 30 x 1 on n1 [priority=10] [at=15s] [am] [spared] [killable]
//	run 1 1 x 8 on n1 reserved [at=15s] [strict]  a node is reserved; what for is asked for, too
//	ask 1 5 x 1 [on n1] [strict]
//	end 1/3                                       container 3 of application 1 is gone
//	round 15s
func TestScripts(t *testing.T) {
	golden.Scripts(t, func(t *testing.T, script string) string {
		answered, err := play(script)
		if err != nil {
			t.Fatal(err)
		}
		return answered
	})
}

type stage struct {
	snapshot preempt.Snapshot
	capacity preempt.Capacity
	fair     *preempt.Fair
	queues   map[string]int
	nodes    map[string]int
	apps     map[int]int
	last     map[int]int64
}

// play returns the script with the answers that the rounds give.
func play(script string) (string, error) {
	s := &stage{queues: map[string]int{}, nodes: map[string]int{}, apps: map[int]int{}, last: map[int]int64{}}
	s.capacity.Settings = preempt.DefaultCapacity()
	var out strings.Builder
	lines := strings.Split(script, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		out.WriteString(line)
		if i < len(lines)-1 {
			out.WriteString("\n")
		}
		answer, err := s.do(line)
		if err != nil {
			return "", fmt.Errorf("line %d: %q: %w", i+1, line, err)
		}
		if answer == nil {
			continue
		}
		for i+1 < len(lines) && lines[i+1] != "" {
			i++
		}
		out.WriteString("----\n")
		for _, a := range answer {
			out.WriteString(a + "\n")
		}
	}
	return out.String(), nil
}

func (s *stage) do(line string) ([]string, error) {
	words := strings.Fields(line)
	if len(words) == 0 || strings.HasPrefix(line, "#") {
		return nil, nil
	}
	options, err := parse(words)
	if err != nil {
		return nil, err
	}
	switch words[0] {
	case "cluster":
		s.snapshot.Cluster, s.snapshot.Dominant = amount(words[1]), slices.Contains(words, "dominant")
		s.snapshot.Minimum = options.amount("minimum")
		s.snapshot.Others, s.snapshot.Chosen = options.amount("others"), options.amount("chosen")
	case "capacity":
		s.settings(options)
	case "fair":
		s.fair = &preempt.Fair{Settings: preempt.DefaultFair()}
		s.fair.Settings.SpareMasters = slices.Contains(words, "spare-masters")
		if leaf := options.text("masters-of", ""); leaf != "" {
			s.fair.Settings.Masters = map[string]bool{leaf: true}
		}
	case "node":
		s.nodes[words[1]] = len(s.snapshot.Nodes)
		s.snapshot.Nodes = append(s.snapshot.Nodes, preempt.Node{
			Host: words[1], Rack: "/" + options.text("rack", "r"), Free: options.amount("free"),
			Closed: slices.Contains(words, "closed"), Handle: int32(len(s.snapshot.Nodes)),
		})
	case "queue":
		s.queue(words[1], options)
	case "app":
		id, _ := strconv.Atoi(words[1])
		queue, ok := s.queues[words[2]]
		if !ok {
			return nil, fmt.Errorf("no queue %s", words[2])
		}
		s.apps[id] = len(s.snapshot.Apps)
		s.snapshot.Apps = append(s.snapshot.Apps, preempt.App{
			ID: records.ApplicationID{ClusterTimestamp: 1, ID: int32(id)}, Queue: queue, User: options.text("user", "u"),
			Priority: int32(options.number("priority", 0)), Seq: int64(id), Fair: options.amount("fair"), UserLimit: options.amount("limit"),
		})
	case "run":
		return nil, s.run(words, options)
	case "ask":
		return nil, s.ask(words)
	case "end":
		return nil, s.end(words[1])
	case "round":
		at, err := time.ParseDuration(words[1])
		return s.round(at.Milliseconds()), err
	default:
		return nil, fmt.Errorf("what is %s?", words[0])
	}
	return nil, nil
}

func (s *stage) settings(o options) {
	c := &s.capacity.Settings
	for key, at := range map[string]*float64{
		"per-round": &c.PerRound, "ignored": &c.IgnoredOver, "termination": &c.Termination,
		"most": &c.Intra.MostOfQueue, "threshold": &c.Intra.Threshold,
	} {
		*at = o.number(key, *at)
	}
	for key, at := range map[string]*bool{
		"observe": &c.ObserveOnly, "balance": &c.Balance, "conservative": &c.Conservative, "intra": &c.Intra.Enabled, "priority-first": &c.Intra.PriorityFirst,
		"for-reserved": &c.ForReserved, "add-reserved": &c.AddReserved, "underused": &c.Underused.Enabled, "move": &c.Underused.Move,
	} {
		*at = o.text(key, "false") == "true"
	}
	c.Underused.Delay = o.duration("delay")
}

func (s *stage) queue(path string, o options) {
	parent := -1
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		parent = s.queues[path[:i]]
	}
	s.queues[path] = len(s.snapshot.Queues)
	q := preempt.Queue{
		Path: path, Parent: parent, Guaranteed: o.amount("guaranteed"), Maximum: o.amount("max"), MaxAM: o.amount("max-am"),
		Priority: int32(o.number("priority", 0)), Disabled: o.text("disabled", "false") == "true", IntraOff: o.text("intra-off", "false") == "true",
		FairRanking: o.text("order", "fifo") == "fair",
		MinTimeout:  int64(o.number("min-timeout", -1)), FairTimeout: int64(o.number("fair-timeout", -1)), Threshold: o.number("threshold", 0.5),
	}
	if q.Maximum.IsZero() {
		q.Maximum = s.snapshot.Cluster
	}
	q.Share = fairshare.Queue{Kind: fairshare.KindOf(o.text("policy", "fair")), Min: o.amount("min"), Max: fairshare.NoLimit()}
	s.snapshot.Queues = append(s.snapshot.Queues, q)
}

// run understands "run APP N x AMOUNT on NODE".
func (s *stage) run(words []string, o options) error {
	id, _ := strconv.Atoi(words[1])
	n, _ := strconv.Atoi(words[2])
	each, node := amount(words[4]), s.nodes[words[6]]
	a := &s.snapshot.Apps[s.apps[id]]
	all := each.Times(int64(n))
	for range n {
		s.last[id]++
		a.Containers = append(a.Containers, preempt.Container{
			ID:   records.ContainerID{Attempt: records.AttemptID{App: a.ID, Attempt: 1}, ID: s.last[id]},
			Node: node, Resource: each, Priority: int32(o.number("priority", 0)), Since: o.duration("at").Milliseconds(),
			AM: slices.Contains(words, "am"), Spared: slices.Contains(words, "spared"), Reserved: slices.Contains(words, "reserved"),
			Killable: slices.Contains(words, "killable"), Relax: !slices.Contains(words, "strict"),
		})
		s.use(a, each, 1)
	}
	for q := a.Queue; q >= 0; q = s.snapshot.Queues[q].Parent {
		at := &s.snapshot.Queues[q]
		switch {
		case slices.Contains(words, "reserved"):
			at.Reserved = at.Reserved.Add(all)
			if q == a.Queue {
				at.Asked = at.Asked.Add(all)
			}
		case slices.Contains(words, "killable"):
			at.Killable = at.Killable.Add(all)
		}
	}
	return nil
}

func (s *stage) use(a *preempt.App, r records.Resource, sign int64) {
	a.Used = a.Used.Add(r.Times(sign))
	for q := a.Queue; q >= 0; q = s.snapshot.Queues[q].Parent {
		s.snapshot.Queues[q].Used = s.snapshot.Queues[q].Used.Add(r.Times(sign))
	}
}

func (s *stage) ask(words []string) error {
	id, _ := strconv.Atoi(words[1])
	n, _ := strconv.ParseInt(words[2], 10, 64)
	a := &s.snapshot.Apps[s.apps[id]]
	ask := preempt.Ask{Name: "*", Relax: !slices.Contains(words, "strict"), Capability: amount(words[4]), Count: n}
	if len(words) > 6 {
		ask.Name = words[6]
	}
	a.Asks = append(a.Asks, ask)
	q := &s.snapshot.Queues[a.Queue]
	q.Pending = q.Pending.Add(ask.Capability.Times(n))
	q.Asked = q.Asked.Add(ask.Capability.Times(n))
	return nil
}

func (s *stage) end(name string) error {
	app, number, _ := strings.Cut(name, "/")
	id, _ := strconv.Atoi(app)
	n, _ := strconv.ParseInt(number, 10, 64)
	a := &s.snapshot.Apps[s.apps[id]]
	for i, c := range a.Containers {
		if c.ID.ID == n {
			a.Containers = slices.Delete(a.Containers, i, i+1)
			s.use(a, c.Resource, -1)
			return nil
		}
	}
	return fmt.Errorf("no container %s", name)
}

func (s *stage) round(now int64) []string {
	var r preempt.Round
	if s.fair != nil {
		r = s.fair.Round(now, &s.snapshot)
	} else {
		r = s.capacity.Round(now, &s.snapshot)
	}
	out := slices.Concat(list("undo", r.Undo), list("tell", r.Tell), list("kill", r.Kill))
	for _, m := range r.Move {
		out = append(out, fmt.Sprintf("move a reservation of %d of %s to %s", m.App.ID, m.Queue, s.snapshot.Nodes[m.To].Host), "  "+m.Reason)
	}
	if len(out) == 0 {
		out = []string{"nothing"}
	}
	return out
}

// list names victims, a line for each run of the same application with the same reason.
func list(verb string, victims []preempt.Victim) (out []string) {
	for i := 0; i < len(victims); {
		v := victims[i]
		line := fmt.Sprintf("%s %d of %s:", verb, v.App.ID, v.Queue)
		for ; i < len(victims) && victims[i].App == v.App && victims[i].Reason == v.Reason; i++ {
			line += fmt.Sprintf(" %d", victims[i].ID.ID)
			if victims[i].AM {
				line += "(AM)"
			}
			if victims[i].Reserved {
				line += "(reserved)"
			}
		}
		out = append(out, line, "  "+v.Reason)
	}
	return out
}

type options map[string]string

func parse(words []string) (options, error) {
	o := options{}
	for _, w := range words {
		if key, value, ok := strings.Cut(w, "="); ok {
			if value == "" {
				return nil, fmt.Errorf("%s has no value", key)
			}
			o[key] = value
		}
	}
	return o, nil
}

func (o options) text(key, def string) string {
	if v, ok := o[key]; ok {
		return v
	}
	return def
}

func (o options) number(key string, def float64) float64 {
	if v, err := strconv.ParseFloat(o[key], 64); err == nil {
		return v
	}
	return def
}

func (o options) duration(key string) time.Duration {
	d, _ := time.ParseDuration(o[key])
	return d
}

func (o options) amount(key string) records.Resource { return amount(o[key]) }

// amount reads memory,vcores; one number is both.
func amount(text string) records.Resource {
	memory, vcores, two := strings.Cut(text, ",")
	if !two {
		vcores = memory
	}
	m, _ := strconv.ParseInt(memory, 10, 64)
	v, _ := strconv.ParseInt(vcores, 10, 64)
	return records.NewResource(m, v)
}
