package mapreduce

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/conf"
	"heddle/rm/queue"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// queues returns what the scheduler is made from.
func (s *Scenario) queues() *eventlog.Source {
	kind := s.Scheduler
	if kind == "" {
		kind = "fair"
	}
	src := &eventlog.Source{Keys: map[string]string{queue.SchedulerClass: kind}, Allocation: s.Allocations}
	if kind == "fair" && src.Allocation == "" {
		src.Allocation = "<allocations><queue name=\"default\"/></allocations>"
	}
	if s.Settings.StagePolicy != "" {
		src.Keys["heddle.scheduler.stage-policy"] = s.Settings.StagePolicy
	}
	if s.Settings.Freezes {
		src.Keys["heddle.scheduler.preemption"] = "suspend"
		src.Keys["yarn.resourcemanager.scheduler.monitor.enable"] = "true"
		src.Keys["yarn.scheduler.fair.preemption"] = "true"
	}
	for k, v := range s.Properties {
		src.Keys[k] = v
	}
	return src
}

// tree makes the queues, and the types of resources. It returns what is wrong with them, or with the queue of a job.
func (s *Scenario) tree() (*queue.Tree, records.ResourceTypes, *flaw) {
	if wrong, _ := s.properties(); wrong != nil {
		return nil, records.ResourceTypes{}, wrong
	}
	tree, types, err := s.queues().Tree()
	if err != nil {
		return nil, types, s.wrongQueues(err)
	}
	for i := range s.Jobs {
		if name := s.Jobs[i].Queue; name != "" {
			if what := notALeaf(tree, name); what != "" {
				return nil, types, &flaw{fmt.Sprintf("jobs[%d].queue", i), what}
			}
		} else if what := notALeaf(tree, defaultQueue); what != "" {
			return nil, types, &flaw{fmt.Sprintf("jobs[%d]", i), "it names no queue: " + what}
		}
	}
	return tree, types, nil
}

// defaultQueue is the queue of jobs that name none.
const defaultQueue = "root.default"

// notALeaf says why jobs can't have a queue; "" if they can. A scheduler of the kind fair makes queues that it doesn't know.
func notALeaf(t *queue.Tree, name string) string {
	if t.Kind == queue.FIFO {
		return ""
	}
	q, there := t.Find(name)
	switch {
	case there && q.Leaf():
		return ""
	case there:
		return fmt.Sprintf("%s holds other queues: give one of these", name)
	case t.Kind != queue.Fair:
		return fmt.Sprintf("there is no queue %s", name)
	}
	path := t.Path(name)
	for part := range strings.SplitSeq(path, ".") {
		if part == "" || strings.TrimSpace(part) != part {
			return fmt.Sprintf("%q is no name of a queue", name)
		}
	}
	if above := t.Above(path); above != t.Root && above.Leaf() {
		return fmt.Sprintf("%s can't be below %s, which has jobs of its own", name, above.Path)
	}
	return ""
}

// wrongQueues says what is wrong with properties or allocations.
func (s *Scenario) wrongQueues(err error) *flaw {
	f := s.about(conf.Problems(err)[0])
	return &f
}

// about says what a problem is, and of which part of the scenario.
func (s *Scenario) about(p conf.Problem) flaw {
	if p.Source.File == queue.FairFileKey {
		where := ""
		if p.Source.Line > 0 {
			where = fmt.Sprintf("line %d of its text: ", p.Source.Line)
		}
		p.Source = conf.Source{}
		return flaw{"allocations", where + p.String()}
	}
	p.Source = conf.Source{}
	path, text := "properties", p.String()
	for key := range s.Properties {
		if key == p.Key || p.Key == "" && strings.Contains(text, key) && len(key) > len(path)-len("properties.") {
			path = "properties." + key
		}
	}
	return flaw{path, text}
}

// properties returns what keeps the ResourceManager from starting with the properties, and what it would warn of.
func (s *Scenario) properties() (wrong *flaw, odd []flaw) {
	if len(s.Properties) == 0 {
		return nil, nil
	}
	c, err := s.queues().Conf()
	if err != nil {
		return &flaw{"properties", err.Error()}, nil
	}
	for _, p := range c.Validate().Problems { // errors come first
		f := s.about(p)
		if p.Severity == conf.Error {
			return &f, nil
		}
		if _, given := s.Properties[p.Key]; given && eventlog.Heeds(p.Key) {
			odd = append(odd, f)
		}
	}
	return nil, odd
}

// odd returns probable mistakes: warnings of the ResourceManager at its start, and settings without effect.
func (s *Scenario) odd(t *queue.Tree) []flaw {
	_, odd := s.properties()
	for _, p := range t.Problems {
		odd = append(odd, s.about(p))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		if why := unused(key, t.Kind); why != "" {
			odd = append(odd, flaw{"properties." + key, "it has no effect: " + why})
		}
	}
	if s.Allocations != "" && t.Kind != queue.Fair {
		odd = append(odd, flaw{"allocations", "it has no effect: only the scheduler fair heeds it"})
	}
	return odd
}

// instead is what scenarios have in place of some keys.
var instead = map[string]string{
	"yarn.scheduler.fair.allocation.file":      "the text of that file belongs in allocations",
	"yarn.scheduler.minimum-allocation-mb":     sizes,
	"yarn.scheduler.minimum-allocation-vcores": sizes,
	"yarn.scheduler.maximum-allocation-mb":     sizes,
	"yarn.scheduler.maximum-allocation-vcores": sizes,
}

const sizes = "containers have the sizes that jobs give"

// unused says why a property has no effect in a simulation; "" if it may have one.
func unused(key string, kind queue.Kind) string {
	switch {
	case instead[key] != "":
		return instead[key]
	case !eventlog.Heeds(key):
		return "only those of the scheduler have one"
	case strings.HasPrefix(key, queue.Prefix) && kind != queue.Capacity:
		return "it is one of the scheduler capacity"
	case strings.HasPrefix(key, "yarn.scheduler.fair.") && kind != queue.Fair:
		return "it is one of the scheduler fair"
	}
	return ""
}
