package policy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRandomConstraints does it with requests that have constraints.
func TestRandomConstraints(t *testing.T) { playRandom(t, "constraints", randomConstraints) }

// randomConstraints makes up a scenario of requests with constraints, for the handler scheduler. How many containers fit should not depend on
// which of the equal nodes are taken: so a tag is in the constraints of one kind of request only.
func randomConstraints(seed uint64) string {
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 3)), home: map[string]string{}}
	d.say("set yarn.resourcemanager.placement-constraints.handler scheduler")
	d.say("cs root.queues a\ncs root.a.capacity 100\ncs root.a.user-limit-factor 10\ncs maximum-am-resource-percent 1")
	if d.chance(50) {
		d.say("cs resource-calculator org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	}
	nodes := 3 + d.IntN(4)
	for i := range nodes {
		d.say("node n%d 16384,16 rack=/r%d", i+1, i%2)
	}
	d.say("attributes add n1:gpu=a100 n2:gpu=v100 n3:os=x")
	for i := range 2 + d.IntN(2) {
		name := string(rune('A' + i))
		d.apps = append(d.apps, name)
		registered := ""
		if d.chance(40) {
			registered = fmt.Sprintf(" constraints=t%s:%s", name, d.constraint("t"+name))
		}
		d.say("submit %s queue=root.a user=%s%s", name, one(d, "ann", "bob"), registered)
	}
	d.say("settle")
	priority := map[string]int{}
	for range 7 + d.IntN(5) {
		app := one(d, d.apps...)
		switch n := d.IntN(10); {
		case n < 7:
			priority[app]++
			tag := fmt.Sprint("t", one(d, "A", "B", "C", "D", "E"))
			constraint := ""
			if d.chance(85) {
				constraint = " constraint=" + d.constraint(tag)
			}
			d.say("schedule %s %d %s priority=%d tag=%s%s", app, 1+d.IntN(12), one(d, "512,1", "1024,1"), priority[app], tag, constraint)
		case n < 9:
			d.say("try release %s %d", app, 1+d.IntN(3))
		default:
			d.say("node n%d 16384,16 rack=/r%d", nodes+1, nodes%2)
			nodes++
		}
		d.say("settle")
		d.say("rejected %s", app)
	}
	return d.out.String()
}

// constraint draws one of a request with a tag.
func (d *dice) constraint(tag string) string {
	space := one(d, "", "", "all/", "not-self/")
	other := one(d, "tA", "tB", "tC", "nobody")
	simple := func() string {
		switch d.IntN(8) {
		case 0, 1:
			return fmt.Sprintf("notin,%s,%s%s", one(d, "node", "node", "rack"), space, tag)
		case 2:
			return fmt.Sprintf("in,%s,%s%s", one(d, "node", "rack"), space, other)
		case 3:
			return fmt.Sprintf("notin,%s,%s%s", one(d, "node", "rack"), space, other)
		case 4, 5:
			return fmt.Sprintf("cardinality,%s,%s,0,%d", one(d, "node", "node", "rack"), space+tag, d.IntN(4))
		case 6:
			return one(d, "gpu=a100", "gpu=v100", "os=x", "os=y")
		}
		return fmt.Sprintf("cardinality,node,%s,%d,%d", space+tag, d.IntN(2), 1+d.IntN(3))
	}
	if d.chance(30) {
		return fmt.Sprintf("%s(%s)", one(d, "and", "or"), strings.Join([]string{simple(), simple()}, ":"))
	}
	return simple()
}
