package policy

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/yarn/records"
)

var (
	seeds = flag.String("seeds", "1-4", "FIRST-LAST of the random scenarios that are played on stock and on Heddle with HEDDLE_TEST_FULL=1")
	keep  = flag.String("keep", "", "folder for random scenarios; what is recorded in it already isn't played on stock again")
)

// TestRandomScenarios plays scenarios that nobody thought of, one change at a time, on stock and on Heddle. What differs for
// a reason is worth a scenario of its own in testdata; where one change has many ways to settle, stock may differ from itself.
func TestRandomScenarios(t *testing.T) { playRandom(t, "random", randomScenario) }

// TestRandomPartitions does it with labels.
func TestRandomPartitions(t *testing.T) { playRandom(t, "labels", randomPartitions) }

func playRandom(t *testing.T, kind string, scenario func(seed uint64) string) {
	if !full || stock {
		t.Skip("HEDDLE_TEST_FULL=1 plays random scenarios on a stock ResourceManager")
	}
	first, last, _ := strings.Cut(*seeds, "-")
	from, err := strconv.ParseUint(first, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	to, err := strconv.ParseUint(last, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	for seed := from; seed <= to; seed++ {
		name := fmt.Sprintf("%s-%d", kind, seed)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := scenario(seed)
			parse := func() *Scenario {
				sc, err := Parse(name, text)
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				return sc
			}
			want := recorded(t, name, text, parse)
			got, err := parse().OnHeddle(t.Context(), t.TempDir(), log(t))
			if err != nil {
				t.Fatalf("%v\nuntil then:\n%v\n%s", err, got, text)
			}
			if sc := parse(); !compareFirst(t, sc, want, got) {
				t.Logf("%s\nin full:\n%v\nstock:\n%v", text, got, want)
			}
		})
	}
}

// compareFirst tells of the first step that differs: what comes later differs because of it. Of equal nodes a ResourceManager may take any.
func compareFirst(t *testing.T, sc *Scenario, want, got Outcome) bool {
	for i := range min(len(want), len(got)) {
		if all := sc.Compare(want[:i+1], got[:i+1], records.ResourceTypes{}); len(all) > 0 {
			if len(sc.Compare(placeless(want[:i+1]), placeless(got[:i+1]), records.ResourceTypes{})) == 0 {
				t.Logf("step %d of %d: containers are on other nodes; what comes later isn't compared", i, len(want))
				return true
			}
			t.Errorf("differs from stock: %s", strings.Join(all, "\n"))
			return false
		}
	}
	return true
}

// placeless is an outcome that doesn't say where containers are.
func placeless(o Outcome) Outcome {
	out := slices.Clone(o)
	for i := range out {
		out[i].Apps = slices.Clone(out[i].Apps)
		for j := range out[i].Apps {
			out[i].Apps[j].Nodes = nil
		}
	}
	return out
}

// recorded is what stock makes of a scenario, or made of it.
func recorded(t *testing.T, name, text string, parse func() *Scenario) Outcome {
	script, golden := filepath.Join(*keep, name+".txt"), filepath.Join(*keep, name+".golden")
	if *keep != "" {
		was, _ := os.ReadFile(script)
		if b, err := os.ReadFile(golden); err == nil && string(was) == text {
			o, err := ParseOutcome(string(b))
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
	}
	o, err := parse().OnStock(t.Context(), t.TempDir(), log(t))
	if err != nil {
		t.Fatalf("stock: %v\n%v", err, o)
	}
	if *keep != "" {
		for file, text := range map[string]string{script: text, golden: o.String()} {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return o
}

// dice make up a scenario.
type dice struct {
	*rand.Rand
	out    strings.Builder
	fair   bool
	sizes  bool              // one node with containers of several sizes, else several nodes for equal ones
	leaves []string          // paths without root
	apps   []string          // that live
	home   map[string]string // where they were submitted to
	named  int
	nodes  []string
	joined int
	below  map[string][]string // names of queues by the path of their parent
	policy string              // of fair queues
	master bool                // some ApplicationMaster runs in a container
	labels []string            // of nodes; "" is none
	shared bool                // some label isn't exclusive, so that containers without a label have many nodes to be on
}

func randomScenario(seed uint64) string {
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 0)), home: map[string]string{}}
	d.fair, d.sizes = d.chance(40), d.chance(60)
	if d.fair {
		d.say("scheduler fair")
		if d.chance(15) {
			d.say("set yarn.scheduler.fair.sizebasedweight true")
		}
		d.policy = one(d, "fair", "drf", "drf")
		d.shape()
		d.allocations()
	} else {
		d.say("scheduler capacity")
		d.capacity()
	}
	d.node()
	d.submit()
	d.say("settle")
	for range 7 + d.IntN(5) {
		d.event()
		d.say("settle")
	}
	return d.out.String()
}

func (d *dice) say(format string, args ...any) { fmt.Fprintf(&d.out, format+"\n", args...) }

func (d *dice) settle() {
	if d.shared {
		d.say("settle nodes")
		return
	}
	d.say("settle")
}

func (d *dice) chance(percent int) bool { return d.IntN(100) < percent }

func one[T any](d *dice, of ...T) T { return of[d.IntN(len(of))] }

// shape draws which queues there are.
func (d *dice) shape() {
	below := map[string][]string{"root": {"a", "b"}}
	if d.chance(40) {
		below["root"] = append(below["root"], "c")
	}
	if d.chance(60) {
		below["root.a"] = []string{"d", "e"}
		if d.chance(40) {
			below["root.a.d"] = []string{"f", "g"}
		}
	}
	if d.chance(30) {
		below["root.b"] = []string{"h", "i"}
	}
	var walk func(string)
	walk = func(path string) {
		if below[path] == nil {
			d.leaves = append(d.leaves, path)
		}
		for _, name := range below[path] {
			walk(path + "." + name)
		}
	}
	walk("root")
	d.below = below
}

func (d *dice) capacity() {
	if d.chance(50) {
		d.say("cs resource-calculator org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	}
	d.say("set yarn.cluster.max-application-priority 5")
	if d.chance(30) {
		d.say("cs root.ordering-policy priority-utilization")
	}
	d.shape()
	for _, path := range parents {
		if names := d.below[path]; names != nil {
			d.say("cs %s.queues %s", path, strings.Join(names, ","))
		}
	}
	d.shares()
	for _, leaf := range d.leaves {
		d.say("cs %s.user-limit-factor %v", leaf, one(d, "1", "2", "4", "0.5"))
		if d.chance(50) {
			d.say("cs %s.minimum-user-limit-percent %v", leaf, one(d, 25, 50))
		}
		if d.chance(30) {
			d.say("cs %s.ordering-policy fair", leaf)
		}
		if d.chance(20) {
			d.say("cs %s.maximum-am-resource-percent %v", leaf, one(d, 0.2, 0.5))
		}
		if d.chance(15) {
			d.say("cs %s.max-parallel-apps 2", leaf)
		}
		if d.chance(30) {
			d.say("cs %s.priority %d", leaf, d.IntN(3))
		}
	}
}

// parents are the queues that may have others below them.
var parents = []string{"root", "root.a", "root.a.d", "root.b"}

// shares draws the capacities of queues.
func (d *dice) shares() {
	for _, path := range parents {
		left := 100
		for i, name := range d.below[path] {
			share := left
			if rest := len(d.below[path]) - 1 - i; rest > 0 {
				share = 10 * (1 + d.IntN(left/10-rest))
			}
			left -= share
			d.say("cs %s.%s.capacity %d", path, name, share)
			most := 100
			if d.chance(40) {
				most = min(100, share+10*d.IntN(5))
			}
			d.say("cs %s.%s.maximum-capacity %d", path, name, most)
		}
	}
}

func (d *dice) allocations() {
	d.say("allocations\n\t<allocations>\n\t<defaultQueueSchedulingPolicy>%s</defaultQueueSchedulingPolicy>", d.policy)
	d.fairQueues("root")
	d.say("\t</allocations>")
}

func (d *dice) fairQueues(path string) {
	for _, name := range d.below[path] {
		p := path + "." + name
		d.say("\t<queue name=%q><weight>%v</weight>", name, one(d, 0.5, 1, 2, 3))
		if d.chance(25) {
			d.say("\t<minResources>%d mb, %d vcores</minResources>", 1024*(1+d.IntN(6)), 1+d.IntN(6))
		}
		if d.chance(25) {
			d.say("\t<maxResources>%d mb, %d vcores</maxResources>", 1024*(4+d.IntN(8)), 4+d.IntN(8))
		}
		if d.below[p] == nil {
			d.say("\t<maxAMShare>%v</maxAMShare>", one(d, -1, 0.5, 1))
			if d.chance(15) {
				d.say("\t<maxRunningApps>2</maxRunningApps>")
			}
			if d.chance(40) {
				d.say("\t<schedulingPolicy>%s</schedulingPolicy>", one(d, "fifo", "fair", d.policy))
			}
		}
		d.fairQueues(p)
		d.say("\t</queue>")
	}
}

func (d *dice) node() {
	d.joined++
	name := fmt.Sprintf("N%d", d.joined)
	d.nodes = append(d.nodes, name)
	d.say("node %s %s", name, d.capability())
}

// capability is what a node has. Of small ones there are several.
func (d *dice) capability() string {
	if d.sizes {
		return fmt.Sprintf("%d,%d", 1024*(12+d.IntN(9)), 12+d.IntN(9))
	}
	return fmt.Sprintf("%d,%d", 1024*(6+d.IntN(5)), 6+d.IntN(5))
}

// size is that of what an application asks for at a priority.
func (d *dice) size(app string, priority int) string {
	if !d.sizes {
		return "1024,1"
	}
	x := int(app[0])*7 + priority*5
	return fmt.Sprintf("%d,%d", 1024*(1+x%3), 1+x%4)
}

func (d *dice) submit() {
	name := string(rune('A' + d.named))
	d.named++
	d.apps = append(d.apps, name)
	more := ""
	if !d.fair && d.chance(40) {
		more = fmt.Sprintf(" priority=%d", d.IntN(4))
	}
	if d.chance(25) {
		more += " am=1024,1"
		d.master = true
	}
	d.home[name] = d.queue()
	d.say("submit %s queue=%s user=%s%s", name, d.home[name], one(d, "ann", "bob", "cid"), more)
	d.settle()
	d.ask(name)
}

func (d *dice) queue() string { return one(d, d.leaves...) }

func (d *dice) ask(app string) {
	priority := one(d, 1, 1, 2)
	label := ""
	if d.labels != nil {
		label = d.askedLabel(app, priority)
	}
	d.say("try ask %s %d %s priority=%d%s", app, 1+d.IntN(14), d.size(app, priority), priority, label)
}

func (d *dice) event() {
	if len(d.apps) == 0 {
		d.submit()
		return
	}
	app := one(d, d.apps...)
	switch n := d.IntN(100); {
	case n < 30 && d.named < 9:
		d.submit()
	case n < 50:
		d.ask(app)
	case n < 70:
		d.say("try release %s %d", app, 1+d.IntN(4))
	case n < 75 && !d.fair:
		d.say("priority %s %d", app, d.IntN(5))
	case n < 81:
		if to := d.queue(); to != d.home[app] { // YARN forgets what users have when one stays
			d.say("move %s %s", app, to)
		}
	case n < 86:
		d.say("kill %s", app)
		d.apps = slices.DeleteFunc(d.apps, func(a string) bool { return a == app })
	case n < 91 && d.sizes:
		d.say("resize %s %s", d.nodes[0], d.capability())
	case n < 94 && !d.sizes && len(d.nodes) < 4:
		d.node()
	case n < 97 && d.sizes && !d.master && d.labels == nil: // ApplicationMasters in containers would have to be started anew
		d.say("leave %s", d.nodes[0])
		d.settle()
		d.nodes = nil
		d.node()
	default:
		d.refresh()
	}
}

// refresh changes how much queues get.
func (d *dice) refresh() {
	switch {
	case d.fair:
		d.allocations()
	case d.chance(50):
		d.shares()
	default:
		leaf := d.queue()
		d.say("cs %s.user-limit-factor %v", leaf, one(d, "1", "3"))
		d.say("cs %s.minimum-user-limit-percent %v", leaf, one(d, 20, 100))
	}
	d.say("refresh")
}
