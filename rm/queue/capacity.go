package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"heddle/conf"
	"heddle/yarn/acl"
)

// FromConf reads the queues that a configuration asks for: those of capacity-scheduler.xml where the scheduler is YARN's
// CapacityScheduler or none of YARN's. Without that file there is one queue, root.default.
func FromConf(c *conf.Config) (*Tree, error) {
	class := strings.ToLower(c.Text("yarn.resourcemanager.scheduler.class"))
	switch {
	case strings.Contains(class, "fifo"):
		return Default(FIFO), nil
	case strings.Contains(class, "fair"):
		return fairFromConf(c)
	}
	d, err := c.With("capacity-scheduler.xml")
	if errors.Is(err, fs.ErrNotExist) {
		d, err = c, nil
	}
	if err != nil {
		return nil, err
	}
	settings := d.VerbatimWithPrefix(capacityPrefix)
	if strings.TrimSpace(settings["root.queues"]) == "" {
		return Default(Capacity), nil
	}
	return ParseCapacity(settings)
}

const capacityPrefix = "yarn.scheduler.capacity."

// ParseCapacity reads the queues of YARN's CapacityScheduler from its settings, by what follows yarn.scheduler.capacity. in
// their keys.
func ParseCapacity(settings map[string]string) (*Tree, error) {
	p := parser{settings: settings}
	root := p.queue("root", nil)
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	t := newTree(Capacity, root)
	t.Dominant = strings.Contains(settings["resource-calculator"], "DominantResourceCalculator")
	for path, q := range t.byPath {
		if !strings.HasPrefix(path, "root") || q.Name == "" {
			return nil, fmt.Errorf("%squeue %q has no proper name", capacityPrefix, path)
		}
	}
	return t, nil
}

type parser struct {
	settings map[string]string
	errs     []error
	depth    int
}

// maxDepth bounds the nesting of queues, so that a queue named as its own child is found out.
const maxDepth = 32

func (p *parser) fail(key, value, allowed string) {
	p.errs = append(p.errs, fmt.Errorf("%s%s is %q: it must be %s", capacityPrefix, key, value, allowed))
}

// of returns a setting of a queue, else the one for all queues.
func (p *parser) of(path, key, def string) (name, value string) {
	for _, name := range []string{path + "." + key, key} {
		if v := strings.TrimSpace(p.settings[name]); v != "" {
			return name, v
		}
	}
	return path + "." + key, def
}

func (p *parser) number(path, key, def string, least float64) float64 {
	name, v := p.of(path, key, def)
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(f) || f < least {
		p.fail(name, v, fmt.Sprintf("a number, at least %g", least))
		return 0
	}
	return f
}

func (p *parser) queue(name string, parent *Queue) *Queue {
	q := &Queue{Name: name, Path: name, Parent: parent}
	if parent != nil {
		q.Path = parent.Path + "." + name
	}
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		p.fail(q.Path+".queues", p.settings[q.Path+".queues"], "nested less deep")
		return q
	}
	p.capacities(q)
	p.limits(q)
	p.lists(q)
	p.children(q)
	return q
}

func (p *parser) children(q *Queue) {
	seen := map[string]bool{}
	for _, name := range conf.ParseList(p.settings[q.Path+".queues"]) {
		if seen[name] || strings.Contains(name, ".") {
			p.fail(q.Path+".queues", p.settings[q.Path+".queues"], "a list of different names without dots")
			return
		}
		seen[name] = true
		q.Children = append(q.Children, p.queue(name, q))
	}
	if len(q.Children) > 0 || q.Reservable {
		_, q.OrderingPolicy = p.own(q.Path, "ordering-policy", "utilization")
		q.MaxAMShare = 0
	}
}

// own returns a setting of a queue that there is none for all of.
func (p *parser) own(path, key, def string) (name, value string) {
	name = path + "." + key
	if v := strings.TrimSpace(p.settings[name]); v != "" {
		return name, v
	}
	return name, def
}

func (p *parser) capacities(q *Queue) {
	q.Capacity, q.Percent, q.Maximum = 1, 100, 1
	if q.Parent != nil {
		q.Capacity = p.share(q.Path, "capacity", "0")
		q.Percent = 100 * float64(q.Capacity)
		if f, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(p.settings[q.Path+".capacity"]), "%"), 64); err == nil {
			q.Percent = f
		}
		q.Maximum = p.share(q.Path, "maximum-capacity", "100")
	}
	q.AbsoluteCapacity, q.AbsoluteMaximum = q.Capacity, q.Maximum
	if q.Parent != nil {
		q.AbsoluteCapacity *= q.Parent.AbsoluteCapacity
		q.AbsoluteMaximum *= q.Parent.AbsoluteMaximum
	}
}

// share reads a percentage. Weights and absolute resources are left to the policy; they count as nothing promised here.
func (p *parser) share(path, key, def string) float32 {
	name, v := p.own(path, key, def)
	if strings.HasPrefix(v, "[") || strings.HasSuffix(v, "w") {
		return 0
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(v, "%"), 32)
	switch {
	case err != nil || math.IsNaN(f) || f > 100 || f < -1:
		p.fail(name, v, "a percentage of 0 to 100, a weight such as 2w, or [memory=…,vcores=…]")
		return 0
	case f < 0: // -1 is undefined
		return 1
	}
	return float32(f) / 100
}

func (p *parser) limits(q *Queue) {
	q.MaxAMShare = float32(p.number(q.Path, "maximum-am-resource-percent", "0.1", 0))
	q.UserLimit = float32(p.number(q.Path, "minimum-user-limit-percent", "100", 0))
	q.UserLimitFactor = float32(p.number(q.Path, "user-limit-factor", "1", -1))
	q.MaxParallelApps = int32(min(p.number(q.Path, "max-parallel-apps", "2147483647", 0), math.MaxInt32))
	q.Priority = int32(p.number(q.Path, "priority", "0", math.MinInt32))
	q.DefaultPriority = int32(p.number(q.Path, "default-application-priority", "0", math.MinInt32))
	q.MaxLifetime = int64(p.number(q.Path, "maximum-application-lifetime", "-1", -1))
	q.DefaultLifetime = int64(p.number(q.Path, "default-application-lifetime", "-1", -1))
	_, q.OrderingPolicy = p.own(q.Path, "ordering-policy", "fifo")
	_, reservable := p.own(q.Path, "reservable", "false")
	q.Reservable = reservable == "true"
	p.applications(q)

	name, state := p.own(q.Path, "state", "RUNNING")
	switch strings.ToUpper(state) {
	case "RUNNING":
	case "STOPPED", "DRAINING":
		q.Stopped = true
	default:
		p.fail(name, state, "RUNNING or STOPPED")
	}
	q.Stopped = q.Stopped || q.Parent != nil && q.Parent.Stopped
	q.Labels = conf.ParseList(p.settings[q.Path+".accessible-node-labels"])
	if len(q.Labels) == 0 {
		q.Labels = []string{"*"}
		if q.Parent != nil {
			q.Labels = q.Parent.Labels
		}
	}
}

// applications reads how many applications the queue holds: by default its share of what the cluster holds.
func (p *parser) applications(q *Queue) {
	if name, v := p.own(q.Path, "maximum-applications", ""); v != "" {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < 0 {
			p.fail(name, v, "a number, at least 0")
		}
		q.MaxApplications = int32(n)
	} else {
		all := p.number("", "maximum-applications", strconv.Itoa(maxApplications), 0)
		q.MaxApplications = int32(float32(all) * q.AbsoluteCapacity)
	}
	q.MaxApplicationsPerUser = q.MaxApplications
	if perUser := float32(q.MaxApplications) * q.UserLimit / 100 * q.UserLimitFactor; q.UserLimitFactor >= 0 && perUser < float32(q.MaxApplications) {
		q.MaxApplicationsPerUser = int32(perUser)
	}
}

func (p *parser) lists(q *Queue) {
	def := " "
	if q.Parent == nil {
		def = "*"
	}
	list := func(key, def string) acl.List {
		if v, ok := p.settings[q.Path+"."+key]; ok && v != "" {
			return acl.Parse(v)
		}
		return acl.Parse(def)
	}
	q.Submit = list("acl_submit_applications", def)
	q.Administer = list("acl_administer_queue", def)
	q.MaxPriority = list("acl_application_max_priority", "*")
}
