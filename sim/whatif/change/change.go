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

	// Notes say what of the file has no effect, with its lines. Options fills them.
	Notes []string
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
		if !slices.ContainsFunc(l.Apps, func(a load.App) bool { return a.Queue == from }) {
			return o, nil, fmt.Errorf("--map %s=%s: the record has no application in %s", from, o.Moved[from], from)
		}
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
		if next, r.Notes, err = fromFile(next, r.Scheduler); err != nil {
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
	tree, _, err := next.Tree()
	if err != nil {
		return nil, nil, fmt.Errorf("the changed configuration doesn't load: %w", err)
	}
	return next, words, r.heeded(next, tree)
}

// heeded returns an error if a key of Set has a value that is wrong, or no effect: an answer would seem to say that it changes nothing.
func (r *Request) heeded(s *eventlog.Source, tree *queue.Tree) error {
	c, err := s.Conf()
	if err != nil {
		return err
	}
	for _, p := range slices.Concat(c.Validate().Problems, tree.Problems) {
		if p.Severity == conf.Info {
			continue
		}
		for _, text := range r.Set {
			if key, _, _ := strings.Cut(text, "="); key == p.Key {
				p.Source, p.Key, p.Value = conf.Source{}, "", ""
				return fmt.Errorf("--set %s: %v", conf.Shorten(text), p)
			}
		}
	}
	return nil
}

// maxBytes bounds a file of queues.
const maxBytes = 16 << 20

// fromFile takes the queues of a file, and says what of it has no effect. Errors and notes name its lines.
func fromFile(then *eventlog.Source, file string) (next *eventlog.Source, notes []string, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, nil, fmt.Errorf("--scheduler: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxBytes {
		return nil, nil, fmt.Errorf("--scheduler %s: it isn't a file of at most %d bytes", file, maxBytes)
	}
	root, err := conf.ReadXML(file)
	if err != nil {
		return nil, nil, fmt.Errorf("--scheduler: %w", err)
	}
	if root.Name == "allocations" {
		return fairFile(then, file)
	}
	props, err := conf.LoadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("--scheduler: %w", err)
	}
	settings := map[string]string{}
	for p := range props.All() {
		settings[p.Name] = p.Value
	}
	bare := &eventlog.Source{Keys: maps.Clone(then.Keys)}
	maps.DeleteFunc(bare.Keys, func(key, _ string) bool { return strings.HasPrefix(key, queue.Prefix) })
	bare.Keys[queue.SchedulerClass] = "capacity"
	tree, err := loads(bare, file)
	if err != nil {
		return nil, nil, fmt.Errorf("--scheduler: %w", err)
	}
	return bare.With(settings), odd(tree), nil
}

// loads reads a file of capacity queues on top of other keys, as what is wrong with settings in files has their lines.
func loads(bare *eventlog.Source, file string) (*queue.Tree, error) {
	c, err := bare.Conf()
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if c, err = c.With(path); err != nil {
		return nil, err
	}
	return queue.CapacityFromConf(c)
}

// maxNotes bounds what is said of a file.
const maxNotes = 20

// odd says what of a tree's configuration has no effect.
func odd(t *queue.Tree) (notes []string) {
	for _, p := range t.Problems {
		if p.Severity == conf.Warning && len(notes) < maxNotes {
			notes = append(notes, p.String())
		}
	}
	return notes
}

func fairFile(then *eventlog.Source, file string) (*eventlog.Source, []string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("--scheduler: %w", err)
	}
	next := then.With(map[string]string{queue.FairFileKey: string(text)})
	next.Keys[queue.SchedulerClass] = "fair"
	tree, _, err := next.Tree()
	if err != nil {
		return nil, nil, fmt.Errorf("--scheduler %s: %w", file, err)
	}
	return next, odd(tree), nil
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
