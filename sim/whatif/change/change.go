// Package change reads what is to be other than when a load was recorded: files of queues, policies, keys, nodes, their speed, and jobs.
package change

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"heddle/conf"
	"heddle/rm/queue"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim/whatif/load"
	"heddle/sim/whatif/play"
)

// Request holds what a command line asks for.
type Request struct {
	Scheduler string   // file: YARN's capacity-scheduler.xml or fair-scheduler.xml; empty: as recorded
	Policies  []string // [QUEUE:]WHAT=VALUE
	Set       []string // KEY=VALUE
	Nodes     []string // +N or -N, with @LABEL
	Speed     string   // such as 2x
	Map       []string // QUEUE=QUEUE
}

// Options are the request as it is played, and in words.
func (r *Request) Options(l *load.Load) (o play.Options, words []string, err error) {
	source, said, err := r.queues(l.Queues)
	if err != nil {
		return o, nil, err
	}
	o.Queues, words = source, said
	if o.More, err = parseNodes(r.Nodes); err != nil {
		return o, nil, err
	}
	for _, label := range slices.Sorted(maps.Keys(o.More)) {
		at := ""
		if label != "" {
			at = " with the label " + label
		}
		words = append(words, fmt.Sprintf("%+d nodes%s", o.More[label], at))
	}
	if r.Speed != "" {
		if o.Speed, err = parseSpeed(r.Speed); err != nil {
			return o, nil, err
		}
		words = append(words, fmt.Sprintf("nodes %g times as fast", o.Speed))
	}
	if o.Moved, err = parseMap(r.Map); err != nil {
		return o, nil, err
	}
	for _, from := range slices.Sorted(maps.Keys(o.Moved)) {
		words = append(words, fmt.Sprintf("applications of %s go to %s", from, o.Moved[from]))
	}
	return o, words, nil
}

// queues makes the configuration of queues; nil: as recorded.
func (r *Request) queues(then *eventlog.Source) (*eventlog.Source, []string, error) {
	if r.Scheduler == "" && len(r.Policies) == 0 && len(r.Set) == 0 {
		return nil, nil, nil
	}
	if then == nil {
		then = &eventlog.Source{}
	}
	next := &eventlog.Source{Keys: maps.Clone(then.Keys), Allocation: then.Allocation}
	if next.Keys == nil {
		next.Keys = map[string]string{}
	}
	var words []string
	var err error
	if r.Scheduler != "" {
		if next, err = fromFile(next, r.Scheduler); err != nil {
			return nil, nil, err
		}
		words = append(words, "queues of "+r.Scheduler)
	}
	for _, s := range r.Set {
		key, value, ok := strings.Cut(s, "=")
		if !ok || !eventlog.Heeds(key) {
			return nil, nil, fmt.Errorf("--set %s: give KEY=VALUE with a key that schedulers heed (yarn.scheduler.…, yarn.resourcemanager.monitor.…, heddle.scheduler.…)", s)
		}
		next.Keys[key] = value
		words = append(words, key+" = "+value)
	}
	for _, p := range r.Policies {
		if err := policy(next, p); err != nil {
			return nil, nil, fmt.Errorf("--policy %s: %w", p, err)
		}
		words = append(words, "policy "+p)
	}
	if _, _, err := next.Tree(); err != nil {
		return nil, nil, fmt.Errorf("the changed configuration doesn't load: %w", err)
	}
	return next, words, nil
}

// maxBytes bounds a file of queues.
const maxBytes = 16 << 20

// fromFile takes the queues of a file. Errors name its lines.
func fromFile(then *eventlog.Source, file string) (*eventlog.Source, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("--scheduler: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxBytes {
		return nil, fmt.Errorf("--scheduler %s: it isn't a file of at most %d bytes", file, maxBytes)
	}
	root, err := conf.ReadXML(file)
	if err != nil {
		return nil, fmt.Errorf("--scheduler: %w", err)
	}
	if root.Name == "allocations" {
		return fairFile(then, file)
	}
	props, err := conf.LoadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--scheduler: %w", err)
	}
	settings := map[string]string{}
	for p := range props.All() {
		settings[p.Name] = p.Value
	}
	bare := &eventlog.Source{Keys: maps.Clone(then.Keys)}
	maps.DeleteFunc(bare.Keys, func(key, _ string) bool { return strings.HasPrefix(key, queue.Prefix) })
	bare.Keys[queue.SchedulerClass] = "capacity"
	if err := loads(bare, file); err != nil {
		return nil, fmt.Errorf("--scheduler: %w", err)
	}
	next := bare.With(settings)
	return next, nil
}

// loads checks a file of capacity queues on top of other keys, as errors of settings in files name the lines.
func loads(bare *eventlog.Source, file string) error {
	c, err := bare.Conf()
	if err != nil {
		return err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if c, err = c.With(path); err != nil {
		return err
	}
	_, err = queue.CapacityFromConf(c)
	return err
}

func fairFile(then *eventlog.Source, file string) (*eventlog.Source, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--scheduler: %w", err)
	}
	next := then.With(map[string]string{queue.FairFileKey: string(text)})
	next.Keys[queue.SchedulerClass] = "fair"
	if _, _, err := next.Tree(); err != nil {
		return nil, fmt.Errorf("--scheduler %s: %w", file, err)
	}
	return next, nil
}

// policy enters a policy.
func policy(s *eventlog.Source, text string) error {
	what, value, ok := strings.Cut(text, "=")
	path := ""
	if i := strings.LastIndexByte(what, ':'); i >= 0 {
		path, what = what[:i], what[i+1:]
	}
	switch {
	case !ok || value == "":
	case what == "scheduler" && path == "":
		s.Keys[queue.SchedulerClass] = value
		return nil
	case what == "preemption" && path == "" && (value == "on" || value == "off"):
		on := strconv.FormatBool(value == "on")
		s.Keys["yarn.resourcemanager.scheduler.monitor.enable"] = on
		s.Keys["yarn.scheduler.fair.preemption"] = on
		return nil
	case what == "order":
		return ofLeaves(s, path, "ordering-policy", value)
	case what == "stage":
		return ofLeaves(s, path, "heddle-stage-policy", value)
	}
	return errors.New("give scheduler=capacity|fair|fifo, preemption=on|off, or [QUEUE:]order=NAME or [QUEUE:]stage=NAME, such as root.prod:order=fair")
}

// ofLeaves sets a property of a leaf, or of all.
func ofLeaves(s *eventlog.Source, path, property, value string) error {
	tree, _, err := s.Tree()
	if err != nil {
		return err
	}
	if tree.Kind != queue.Capacity {
		return errors.New("only capacity queues have it: a fair-scheduler.xml has it in its elements")
	}
	found := false
	for _, q := range tree.Queues() {
		if len(q.Children) == 0 && (path == "" || q.Path == path) {
			found = true
			s.Keys[queue.Prefix+q.Path+"."+property] = value
		}
	}
	if !found {
		return fmt.Errorf("there is no leaf queue %s", path)
	}
	_, _, err = s.Tree()
	return err
}

// parseNodes reads how many nodes come or go, by label.
func parseNodes(texts []string) (map[string]int, error) {
	more := map[string]int{}
	for _, text := range texts {
		number, label, _ := strings.Cut(text, "@")
		n, err := strconv.Atoi(number)
		if err != nil || n == 0 || number[0] != '+' && number[0] != '-' {
			return nil, fmt.Errorf("--nodes %s: give +N or -N, with @LABEL for nodes with a label", text)
		}
		if _, twice := more[label]; twice {
			return nil, fmt.Errorf("--nodes %s: nodes with the label %q are changed twice", text, label)
		}
		more[label] = n
	}
	return more, nil
}

// parseSpeed reads how fast nodes are.
func parseSpeed(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "x"), 64)
	if err != nil || !(v >= 0.01 && v <= 100) {
		return 0, fmt.Errorf("--speed %s: give a factor from 0.01x to 100x, such as 2x", text)
	}
	return v, nil
}

// parseMap reads where applications of queues go.
func parseMap(texts []string) (map[string]string, error) {
	to := map[string]string{}
	for _, text := range texts {
		from, there, ok := strings.Cut(text, "=")
		if !ok || from == "" || there == "" || to[from] != "" {
			return nil, fmt.Errorf("--map %s: give QUEUE=QUEUE, each queue of the record once", text)
		}
		to[from] = there
	}
	return to, nil
}
