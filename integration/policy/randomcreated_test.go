package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRandomQueues does it with queues on demand and rules of placement.
func TestRandomQueues(t *testing.T) { playRandom(t, "queues", randomQueues) }

// randomQueues makes up a scenario of YARN's CapacityScheduler with queues that submissions create.
func randomQueues(seed uint64) string {
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 2)), home: map[string]string{}}
	if d.chance(50) {
		d.say("cs resource-calculator org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	}
	d.say("cs maximum-am-resource-percent 1\ncs root.queues fix,dyn,wild")
	unit := one(d, "w", "")
	shares := []string{"20", "50", "30"}
	for i, name := range []string{"fix", "dyn", "wild"} {
		d.say("cs root.%s.capacity %s%s", name, shares[i], unit)
		if d.chance(25) {
			d.say("cs root.%s.maximum-capacity %d", name, 50+10*d.IntN(6))
		}
	}
	d.say("cs root.fix.user-limit-factor 10")
	for _, parent := range []string{"root.dyn", "root.wild"} {
		d.say("cs %s.auto-queue-creation-v2.enabled true", parent)
		if d.chance(20) {
			d.say("cs %s.auto-queue-creation-v2.max-queues %d", parent, 1+d.IntN(3))
		}
		if d.chance(30) {
			d.say("cs %s.auto-queue-creation-v2.maximum-queue-depth %d", parent, 1+d.IntN(3))
		}
	}
	if unit == "w" && d.chance(40) {
		d.say("cs root.dyn.queues stat\ncs root.dyn.stat.capacity 2w")
		d.leaves = append(d.leaves, "root.dyn.stat")
	}
	d.templates()
	groups := d.rules()
	d.say("groups ann dev ops\ngroups bob ops\ngroups cid solo dev%s", groups)
	d.leaves = append(d.leaves, "root.fix")
	d.node()
	if d.chance(50) {
		d.node()
	}
	for range 3 + d.IntN(3) {
		d.submitCreated()
		d.settle()
	}
	d.say("queues")
	for range 6 + d.IntN(6) {
		d.eventOfQueues()
		d.settle()
	}
	d.say("queues")
	return d.out.String()
}

// templates draws those of the queues that create.
func (d *dice) templates() {
	for _, path := range []string{"root.dyn", "root.wild", "root.wild.*", "root.*", "root.dyn.team"} {
		for _, kind := range []string{"template", "leaf-template", "parent-template"} {
			if !d.chance(30) {
				continue
			}
			key := fmt.Sprintf("cs %s.auto-queue-creation-v2.%s", path, kind)
			switch d.IntN(6) {
			case 0, 1:
				d.say("%s.capacity %dw", key, 1+d.IntN(5))
			case 2:
				d.say("%s.maximum-capacity %d", key, 30+10*d.IntN(7))
			case 3:
				d.say("%s.user-limit-factor %v", key, one(d, "0.5", "1", "3"))
			case 4:
				d.say("%s.max-parallel-apps %d", key, 1+d.IntN(2))
			case 5:
				d.say("%s.maximum-applications %d", key, 1+d.IntN(3))
			}
		}
	}
}

// rules draws rules in JSON that place submissions, or none. It returns what is to be said of groups.
func (d *dice) rules() string {
	if d.chance(50) {
		return ""
	}
	var rules []string
	for range 1 + d.IntN(3) {
		kind := one(d, "user", "user", "group", "application")
		matches := map[string][]string{"user": {"*", "ann", "bob"}, "group": {"dev", "ops", "solo"}, "application": {"*", "nightly"}}[kind]
		policy := one(d, "user", "primaryGroup", "primaryGroupUser", "secondaryGroup", "secondaryGroupUser", "applicationName", "specified", "reject",
			"defaultQueue", "setDefaultQueue", "custom")
		rule := fmt.Sprintf(`"type": %q, "matches": %q, "policy": %q, "fallbackResult": %q`, kind, one(d, matches...), policy, one(d, "skip", "placeDefault", "reject"))
		switch policy {
		case "custom":
			rule += fmt.Sprintf(`, "customPlacement": %q`, one(d, "root.dyn.%user", "root.wild.%primary_group.%user", "root.fix", "root.wild.%application", "%specified", "root.%default"))
		case "setDefaultQueue":
			rule += fmt.Sprintf(`, "value": %q`, one(d, "root.fix", "root.dyn.x"))
		case "user", "primaryGroup", "primaryGroupUser", "secondaryGroup", "secondaryGroupUser", "applicationName":
			if d.chance(80) {
				rule += fmt.Sprintf(`, "parentQueue": %q`, one(d, "root.dyn", "root.wild"))
			}
		}
		if d.chance(50) {
			rule += `, "create": ` + one(d, "true", "true", "false")
		}
		rules = append(rules, "{"+rule+"}")
	}
	d.say(`cs mapping-rule-format json`)
	d.say(`cs mapping-rule-json {"rules": [%s]}`, strings.Join(rules, ", "))
	return ""
}

// submitCreated submits to a queue that is there or not, or to none.
func (d *dice) submitCreated() {
	name := string(rune('A' + d.named))
	d.named++
	parent := one(d, "root.dyn", "root.wild")
	queue := one(d, "", "", " queue="+parent+"."+one(d, "u", "v", "w"), " queue="+parent+"."+one(d, "u", "v"), " queue="+parent+".team."+one(d, "p", "q"), " queue="+parent+".a.b.c",
		" queue="+one(d, d.leaves...), " queue="+parent, " queue=u", " queue=team.p", " queue=root.none.such", " queue=fix")
	d.apps = append(d.apps, name)
	d.say("submit %s%s user=%s%s", name, queue, one(d, "ann", "bob", "cid"), one(d, "", "", " name=nightly", " name=a.b", " name=x"))
	d.settle()
	d.ask(name)
}

func (d *dice) eventOfQueues() {
	app := one(d, d.apps...)
	switch n := d.IntN(100); {
	case n < 30 && d.named < 12:
		d.submitCreated()
	case n < 55:
		d.ask(app)
	case n < 70:
		d.say("try release %s %d", app, 1+d.IntN(4))
	case n < 78:
		d.say("try kill %s", app)
		if d.apps = slices.DeleteFunc(d.apps, func(a string) bool { return a == app }); len(d.apps) == 0 {
			d.submitCreated()
		}
	case n < 86:
		d.templates()
		d.say("refresh")
	case n < 92:
		d.say("cs %s.state %s\nrefresh", one(d, "root.dyn", "root.wild", "root.fix"), one(d, "STOPPED", "RUNNING"))
	default:
		d.node()
	}
}
