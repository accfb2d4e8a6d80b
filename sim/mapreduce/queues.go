package mapreduce

import (
	"fmt"
	"regexp"
	"strings"

	"heddle/rm/queue"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// queues are what the scheduler is made from.
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

// defaultQueue is that of jobs that name none.
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

// inFile is what errors call the text of allocations: it is in a file while it is read.
var inFile = regexp.MustCompile(`(yarn\.scheduler\.fair\.allocation\.file: )?\S*/fair-scheduler\.xml(:(\d+))?: `)

// wrongQueues says what is wrong with properties or allocations.
func (s *Scenario) wrongQueues(err error) *flaw {
	text := strings.TrimPrefix(err.Error(), "<program>: ")
	if m := inFile.FindStringSubmatchIndex(text); m != nil {
		what := text[:m[0]] + text[m[1]:]
		if m[6] >= 0 {
			what = "line " + text[m[6]:m[7]] + " of its text: " + what
		}
		return &flaw{"allocations", what}
	}
	path := "properties"
	for key := range s.Properties {
		if strings.Contains(text, key) && len(key) > len(path)-len("properties.") {
			path = "properties." + key
		}
	}
	return &flaw{path, text}
}
