package drive_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/internal/golden"
	"heddle/rm/queue"
	"heddle/rm/queue/suspension"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// A script begins with what it proves, as comments. Its commands stand one to a line, what they answered below them, behind
// two spaces. Amounts are GB and as many cores.
//
//	capacity | fair      the lines up to "end" are capacity settings key=value, or an allocation file
//	preemption …         settings of rounds: every=1s wait=2s per-round=PERCENT ignored=PERCENT lazy underused periodic observe off
//	node NAME SIZE       a node joins; more: suspends shrinks reclaims out=MB/S in=MB/S pressure=PERCENT. able NAME …: it can do that now. close NAME
//	resize NAME SIZE     a node is made larger or smaller
//	cost                 those go first that cost least, and answers have quotes
//	uses NAME/N MB       how much memory a container uses. took NAME/N TIME: how long its suspension took
//	done NAME PERCENT    how far an application is
//	return NAME/N        somebody lets a container go on; more: forced. refused NAME/N: its node can't suspend it
//	unbegun NAME/N       it was to be suspended, and its node doesn't know it yet
//	stopped NAME/N       its ApplicationMaster has it stand still; off: it goes on
//	swap NAME/N          it is to stand still, so that a request of its application gets its room; more: priority=N, any. unswap NAME/N
//	held NAME            what its containers hold that hold less than they claim
//	bounds …             settings of suspension: tries=N most=N longest=TIME age=TIME
//	lead                 a new leader takes over what it knows from the ledger; asks are gone. past NAME/N TIMES TIME: and what was before
//	app NAME QUEUE       an application comes; more: am=SIZE spared never (it isn't suspended). end NAME
//	ask NAME COUNT SIZE  more: at=HOST strict priority=N cores (it asks for no memory)
//	free NAME [COUNT]    its oldest containers end. fail NAME: its oldest one ends without success. leave NODE: it goes, empty
//	again NAME           its two newest containers are freed and entered anew, as when their node's rack has changed
//	shun NAME HOST       an application wants no containers there
//	grow NAME/N SIZE     a container is to grow; growing NAME lists those of an application that wait for that
//	step TIME            decides; what is killed is freed, and decided again. Containers are called NAME/NUMBER
//	losses NAME          which of its containers are to go
//	due                  when the next round is due. suspends: whether containers are suspended at all
func TestScripts(t *testing.T) { golden.Scripts(t, play) }

type script struct {
	t     *testing.T
	d     *drive.Driver
	tree  *queue.Tree
	apps  map[string]scheduler.AppHandle
	names map[scheduler.AppHandle]string
	nodes map[string]scheduler.NodeHandle
	held  map[scheduler.AppHandle][]drive.Decision
	last  map[scheduler.AppHandle]int64 // number of its last container
	since map[records.ContainerID]int64
	by    map[records.ContainerID]string // for which queue it was suspended
	byApp map[records.ContainerID]records.ApplicationID
	now   int64
	cost  bool
	gone  map[string]bool // applications

	specs     []drive.AppSpec
	hosts     []scheduler.NodeSpec
	abilities map[string]drive.Ability
}

func play(t *testing.T, text string) string {
	p := &script{
		t: t, apps: map[string]scheduler.AppHandle{}, names: map[scheduler.AppHandle]string{}, nodes: map[string]scheduler.NodeHandle{},
		held: map[scheduler.AppHandle][]drive.Decision{}, last: map[scheduler.AppHandle]int64{},
		since: map[records.ContainerID]int64{}, by: map[records.ContainerID]string{}, byApp: map[records.ContainerID]records.ApplicationID{}, abilities: map[string]drive.Ability{}, gone: map[string]bool{},
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
	}
	p.end()
	return out.String()
}

// end has everything go. Nothing is remembered of it then.
func (p *script) end() {
	for name, h := range p.apps {
		for len(p.held[h]) > 0 {
			p.free(p.held[h][0].Container)
		}
		if !p.gone[name] {
			p.d.RemoveApp(h)
		}
	}
	for _, n := range p.hosts {
		p.d.RemoveNode(p.nodes[n.Host])
	}
	p.d.Step(p.now)
	if left := p.d.Remembered(); len(left) > 0 {
		p.t.Errorf("when all have gone it remembers %v", left)
	}
}

func (p *script) configure(kind string, lines []string) {
	var err error
	if kind == "fair" {
		p.tree, err = queue.ParseFair([]byte(strings.Join(lines, "\n")))
	} else {
		settings := map[string]string{}
		for _, l := range lines {
			k, v, _ := strings.Cut(l, "=")
			settings[k] = v
		}
		p.tree, err = queue.ParseCapacity(settings)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if p.d == nil {
		p.d = drive.New(scheduler.Config{Tree: p.tree, Minimum: gb(1), Heartbeat: time.Second})
	} else if err := p.d.SetTree(p.tree); err != nil {
		p.t.Fatal(err)
	}
}

// preempt has rounds run by settings that are gentle with nobody: whatever is due goes in one round.
func preempt(t *queue.Tree, every, wait time.Duration, lazy bool) {
	s := &t.Settings
	if t.Kind == queue.Fair {
		f := &s.Fair
		f.Preemption, f.UtilizationThreshold, f.Wait, f.StarvationInterval = true, 0, wait, 0
		return
	}
	s.Preemption.Enabled, s.Preemption.Interval, s.Preemption.Wait, s.Preemption.Lazy = true, every, wait, lazy
	s.Preemption.PerRound, s.Preemption.Natural, s.Preemption.Ignored = 1, 1, 0
	for _, q := range t.Queues() {
		q.NoPreemption = false
	}
}

func (p *script) preemption(w []string) {
	if slices.Contains(w, "off") {
		p.tree.Settings.Preemption.Enabled, p.tree.Settings.Fair.Preemption = false, false
		return
	}
	preempt(p.tree, p.duration(option(w, "every", "1s")), p.duration(option(w, "wait", "2s")), slices.Contains(w, "lazy"))
	round := &p.tree.Settings.Preemption
	round.PerRound, round.Ignored = float64(p.number(option(w, "per-round", "100")))/100, float64(p.number(option(w, "ignored", "0")))/100
	p.tree.Settings.Suspension.Periodic = slices.Contains(w, "periodic")
	p.tree.Settings.Preemption.ObserveOnly = slices.Contains(w, "observe")
	u := &p.tree.Settings.Preemption.Underused
	u.Enabled = slices.Contains(w, "underused")
	u.Move, u.Delay = u.Enabled, 0
}

func gb(n int64) records.Resource { return records.NewResource(1024*n, n) }

func (p *script) number(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *script) duration(word string) time.Duration {
	d, err := time.ParseDuration(word)
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

// option is the value of a word key=value.
func option(w []string, key, otherwise string) string {
	for _, word := range w {
		if v, ok := strings.CutPrefix(word, key+"="); ok {
			return v
		}
	}
	return otherwise
}

func (p *script) command(w []string) []string {
	switch w[0] {
	case "preemption":
		p.preemption(w)
	case "node":
		p.hosts = append(p.hosts, scheduler.NodeSpec{Host: w[1], Rack: "/r", Capability: gb(p.number(w[2]))})
		p.abilities[w[1]] = p.ability(w)
		p.join(p.hosts[len(p.hosts)-1])
	case "able":
		p.abilities[w[1]] = p.ability(w)
		p.d.SetAbility(p.nodes[w[1]], p.abilities[w[1]])
	case "resize":
		p.d.At(p.nodes[w[1]]).SetCapability(p.nodes[w[1]], gb(p.number(w[2])))
		for i := range p.hosts {
			if p.hosts[i].Host == w[1] {
				p.hosts[i].Capability = gb(p.number(w[2]))
			}
		}
	case "leave":
		p.d.RemoveNode(p.nodes[w[1]])
		p.hosts = slices.DeleteFunc(p.hosts, func(n scheduler.NodeSpec) bool { return n.Host == w[1] })
	case "bounds":
		b := &p.tree.Settings.Suspension
		b.Tries, b.Most = int(p.number(option(w, "tries", "3"))), int(p.number(option(w, "most", "0")))
		b.Longest, b.MinimumAge = p.duration(option(w, "longest", "0s")), p.duration(option(w, "age", "0s"))
		if err := p.d.SetTree(p.tree); err != nil {
			p.t.Fatal(err)
		}
	case "lead":
		p.lead()
	case "past":
		p.d.SetPast(p.container(w[1]).Container, int(p.number(w[2])), p.duration(w[3]).Milliseconds())
	case "cost":
		p.cost, p.tree.Settings.Suspension.Ranking = true, suspension.ByCost
	case "uses":
		p.d.SetMemory(p.container(w[1]).Container, p.number(w[2])<<20)
	case "took":
		p.d.Took(p.container(w[1]).Container, p.duration(w[2]).Milliseconds())
	case "done":
		p.d.SetProgress(p.apps[w[1]], float64(p.number(w[2]))/100)
	case "return":
		if !p.d.Return(p.container(w[1]).Container, slices.Contains(w, "forced")) {
			return []string{"no"}
		}
	case "stopped":
		p.d.SetStopped(p.container(w[1]).Container, !slices.Contains(w, "off"))
	case "refused":
		p.d.Refused(p.container(w[1]).Container, true)
	case "unbegun":
		p.d.Refused(p.container(w[1]).Container, false)
	case "swap":
		request := int64(0)
		if slices.Contains(w, "any") {
			request = drive.AnyRequest
		}
		if err := p.d.Swap(p.container(w[1]).Container, int32(p.number(option(w, "priority", "1"))), request); err != nil {
			return []string{err.Error()}
		}
	case "unswap":
		p.d.Unswap(p.container(w[1]).Container)
	case "held":
		return p.heldBy(p.apps[w[1]])
	case "close":
		p.d.At(p.nodes[w[1]]).SetOpen(p.nodes[w[1]], scheduler.NoWork)
	case "app":
		n := int64(len(p.specs) + 1) // handles, and so names, are used again
		p.specs = append(p.specs, drive.AppSpec{
			AppSpec: scheduler.AppSpec{Seq: n, Queue: w[2], User: "u", AM: gb(p.number(option(w, "am", "1")))},
			ID:      records.ApplicationID{ClusterTimestamp: 1, ID: int32(n)}, SpareMaster: slices.Contains(w, "spared"), NeverSuspend: slices.Contains(w, "never"),
		})
		h := p.d.AddApp(p.specs[n-1])
		p.apps[w[1]], p.names[h] = h, w[1]
	case "end":
		h := p.apps[w[1]]
		for _, c := range p.held[h] {
			p.d.Free(c.Container)
		}
		delete(p.held, h)
		p.d.RemoveApp(h)
		p.gone[w[1]] = true
	case "ask":
		p.ask(w)
	case "free":
		h, n := p.apps[w[1]], int64(1)
		if len(w) > 2 {
			n = p.number(w[2])
		}
		for range n {
			p.free(p.held[h][0].Container)
		}
	case "fail":
		c := p.held[p.apps[w[1]]][0].Container
		p.d.Fail(c)
		p.ended(c)
	case "shun":
		p.d.UpdateBlacklist(p.apps[w[1]], []string{w[2]}, nil)
	case "again":
		p.again(p.apps[w[1]])
	case "step":
		return p.step(p.duration(w[1]).Milliseconds())
	case "losses":
		return p.losses(p.apps[w[1]])
	case "grow":
		if !p.d.Grow(p.container(w[1]).Container, gb(p.number(w[2]))) {
			return []string{"no"}
		}
	case "growing":
		var names []string
		for _, c := range p.held[p.apps[w[1]]] {
			if p.d.Growing(c.Container) {
				names = append(names, p.name(c))
			}
		}
		return []string{cmp.Or(strings.Join(names, " "), "none")}
	case "due":
		return []string{(time.Duration(p.d.NextRound()) * time.Millisecond).String()}
	case "suspends":
		return []string{fmt.Sprint(p.d.Suspends())}
	default:
		p.t.Fatalf("what is %s?", w[0])
	}
	return nil
}

func (p *script) ability(w []string) drive.Ability {
	return drive.Ability{
		Suspend: slices.Contains(w, "suspends"), Shrink: slices.Contains(w, "shrinks"), Reclaim: slices.Contains(w, "reclaims"),
		Out: p.number(option(w, "out", "0")) << 20, In: p.number(option(w, "in", "0")) << 20,
		Pressure: float64(p.number(option(w, "pressure", "0"))),
	}
}

func (p *script) ask(w []string) {
	anywhere := scheduler.Ask{
		Priority: int32(p.number(option(w, "priority", "1"))), Name: scheduler.Any, Capability: gb(p.number(w[3])), Count: int32(p.number(w[2])),
		RelaxLocality: !slices.Contains(w, "strict"),
	}
	if slices.Contains(w, "cores") {
		anywhere.Capability[records.Memory] = 0
	}
	rows := []scheduler.Ask{anywhere}
	if host := option(w, "at", ""); host != "" {
		at := anywhere
		at.Name, at.RelaxLocality = host, true
		rows = append(rows, at)
	}
	p.d.UpdateAsks(p.apps[w[1]], rows)
}

func (p *script) join(spec scheduler.NodeSpec) {
	p.nodes[spec.Host] = p.d.AddNode(spec)
	p.d.SetAbility(p.nodes[spec.Host], p.abilities[spec.Host])
}

// lead has another Driver take over what a ledger holds: nodes, applications, containers, and which of them are suspended since when.
func (p *script) lead() {
	old, was := p.d, p.held
	names := map[scheduler.NodeHandle]string{}
	for name, h := range p.nodes {
		names[h] = name
	}
	p.d, p.held = drive.New(scheduler.Config{Tree: p.tree, Minimum: gb(1), Heartbeat: time.Second}), map[scheduler.AppHandle][]drive.Decision{}
	for _, spec := range p.hosts {
		p.join(spec)
	}
	for i, spec := range p.specs {
		a := scheduler.AppHandle(i)
		if h := p.d.AddApp(spec); h != a {
			p.t.Fatalf("application %d has handle %d now", a, h)
		}
		for _, c := range was[a] {
			id := old.ContainerID(c.Container)
			then := c.Container
			c.Node = p.nodes[names[c.Node]]
			c.Container = p.d.Restore(a, c.Node, c.Resource, drive.Container{Attempt: 1, ID: id.ID, Priority: c.Priority, AM: id.ID == 1, Since: p.since[id]})
			p.held[a] = append(p.held[a], c)
			since, by, suspended := old.Suspended(then)
			p.byApp[id] = records.ApplicationID{}
			if p.d.WasSuspended(c.Container, old.Held(then), since, by) != suspended || p.d.WasSuspended(c.Container, old.Held(then), since, by) {
				p.t.Errorf("%s was suspended: %v", p.name(c), suspended)
			}
		}
	}
	p.d.Step(p.now)
}

func (p *script) free(h scheduler.ContainerHandle) {
	p.d.Free(h)
	p.ended(h)
}

func (p *script) ended(h scheduler.ContainerHandle) {
	for a, list := range p.held {
		p.held[a] = slices.DeleteFunc(list, func(d drive.Decision) bool { return d.Container == h })
	}
}

// again frees the two newest containers of an application and enters them anew, so that each gets the handle of the other.
func (p *script) again(h scheduler.AppHandle) {
	two := slices.Clone(p.held[h][len(p.held[h])-2:])
	ids := []records.ContainerID{p.d.ContainerID(two[0].Container), p.d.ContainerID(two[1].Container)}
	for i := range two {
		p.free(two[i].Container)
	}
	for i, c := range two {
		c.Container = p.d.Restore(h, c.Node, c.Resource, drive.Container{Attempt: 1, ID: ids[i].ID, Priority: c.Priority})
		p.held[h] = append(p.held[h], c)
	}
}

// step decides until nobody has to end any more.
func (p *script) step(now int64) (out []string) {
	p.now = now
	for again := true; again; {
		var kill []drive.Decision
		for _, d := range p.d.Step(now) {
			if d.Kind == drive.Kill {
				kill = append(kill, d)
			}
			out = append(out, p.tell(d)...)
		}
		for _, d := range kill {
			p.free(d.Container)
		}
		again = len(kill) > 0
	}
	return out
}

// tell says what was decided, and why.
func (p *script) tell(d drive.Decision) (out []string) {
	name := p.names[d.App]
	switch d.Kind {
	case drive.Allocate:
		p.last[d.App]++
		p.held[d.App] = append(p.held[d.App], d)
		first := p.last[d.App] == 1
		p.d.Identify(1, p.last[d.App], first, d.Container)
		p.since[p.d.ContainerID(d.Container)] = p.now
		out = append(out, fmt.Sprintf("%s gets %d GB on %s as %s", name, d.Resource.MemoryMB()/1024, p.node(d.Node), p.name(d)))
	case drive.Activate:
		return nil
	case drive.Reserve:
		out = append(out, fmt.Sprintf("%s is reserved for %s", p.node(d.Node), name))
	case drive.Unreserve:
		out = append(out, fmt.Sprintf("%s is reserved no more for %s", p.node(d.Node), name))
	case drive.Grow:
		out = append(out, fmt.Sprintf("%s grows to %d GB", p.name(d), d.Resource.MemoryMB()/1024))
	case drive.Suspend:
		out = append(out, fmt.Sprintf("%s is suspended for %s with %v", p.name(d), d.For, d.Resource))
	case drive.Shrink:
		out = append(out, fmt.Sprintf("%s is to hold %v for %s", p.name(d), d.Resource, d.For))
	case drive.Charge:
		out = append(out, fmt.Sprintf("%s is charged %v", p.name(d), d.Resource))
	case drive.Resume:
		out = append(out, fmt.Sprintf("%s resumes", p.name(d)))
	case drive.Tell:
		out = append(out, fmt.Sprintf("%s is told of", p.name(d)))
	case drive.Killable:
		out = append(out, fmt.Sprintf("%s is killable", p.name(d)))
	case drive.Kill:
		out = append(out, fmt.Sprintf("%s is killed", p.name(d)))
	}
	if d.Kind > drive.Kill {
		p.check(d, out)
	}
	if d.Reason != "" {
		out = append(out, "  "+d.Reason)
	}
	if p.cost && d.Quote != nil {
		out = append(out, "  "+d.Quote.String())
	}
	return out
}

// check holds a decision on a container against what was decided on it before.
func (p *script) check(d drive.Decision, said []string) {
	id := p.d.ContainerID(d.Container)
	if c := p.container(p.name(d)); c.Priority != d.Priority {
		p.t.Errorf("%v: priority %d, and it was granted for %d", said, d.Priority, c.Priority)
	}
	if d.Kind == drive.Resume && d.For != p.by[id] {
		p.t.Errorf("%v for %q, and it was suspended for %s", said, d.For, p.by[id])
	}
	if d.Kind == drive.Suspend || d.Kind == drive.Shrink || d.Kind == drive.Charge || d.Kind == drive.Resume {
		p.checkFor(d, said)
		p.by[id], p.byApp[id] = d.For, d.ForApp
	}
}

// checkFor verifies that a container is suspended for an application of the queue that is named, and goes on as it was suspended. What an earlier
// leader has suspended names none.
func (p *script) checkFor(d drive.Decision, said []string) {
	if was, known := p.byApp[p.d.ContainerID(d.Container)]; known && d.Kind != drive.Suspend && was == d.ForApp {
		return
	}
	if !slices.ContainsFunc(p.specs, func(s drive.AppSpec) bool { return s.ID == d.ForApp && s.Queue == d.For }) {
		p.t.Errorf("%v for %v, which isn't in %s", said, d.ForApp, d.For)
	}
}

// container finds one by its name.
func (p *script) container(name string) *drive.Decision {
	for _, list := range p.held {
		for i := range list {
			if p.name(list[i]) == name {
				return &list[i]
			}
		}
	}
	p.t.Fatalf("which container is %s?", name)
	return nil
}

func (p *script) name(d drive.Decision) string {
	return fmt.Sprintf("%s/%d", p.names[d.App], p.d.ContainerID(d.Container).ID)
}

func (p *script) node(h scheduler.NodeHandle) string {
	for name, at := range p.nodes {
		if at == h {
			return name
		}
	}
	return "?"
}

// heldBy lists what containers of an application hold that don't hold their claims, and since when.
func (p *script) heldBy(h scheduler.AppHandle) (out []string) {
	for _, c := range p.held[h] {
		if since, by, ok := p.d.Suspended(c.Container); ok {
			out = append(out, fmt.Sprintf("%s %v since %v for %s", p.name(c), p.d.Held(c.Container), time.Duration(since)*time.Millisecond, by))
		}
	}
	if len(out) == 0 {
		return []string{"all"}
	}
	return out
}

func (p *script) losses(h scheduler.AppHandle) (out []string) {
	for _, c := range p.held[h] {
		until, reason, ok := p.d.Loss(c.Container)
		switch {
		case !ok:
		case until == 0:
			out = append(out, p.name(c)+" as soon as its room is needed: "+reason)
		default:
			out = append(out, fmt.Sprintf("%s at %v: %s", p.name(c), time.Duration(until)*time.Millisecond, reason))
		}
	}
	if len(out) == 0 {
		return []string{"none"}
	}
	return out
}
