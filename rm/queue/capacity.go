package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"heddle/conf"
	"heddle/rm/queue/label"
	"heddle/rm/queue/leafpolicy"
	"heddle/rm/queue/suspension"
	"heddle/rm/queue/template"
	"heddle/yarn/records"
)

// FromConf reads the queues of a configuration: those of capacity-scheduler.xml or of fair-scheduler.xml, as
// yarn.resourcemanager.scheduler.class says. Without these files there is one queue, root.default. The error joins
// all mistakes, each with file, key, value and reason. Tree.Problems has what is merely odd.
func FromConf(c *conf.Config) (*Tree, error) {
	kind, err := KindOf(c)
	if err != nil {
		return nil, err
	}
	switch kind {
	case FIFO:
		return Default(FIFO), nil
	case Fair:
		return fairFromConf(c)
	}
	d, err := WithCapacityFile(c)
	if err != nil {
		return nil, err
	}
	return CapacityFromConf(d)
}

// SchedulerClass is the key that names the scheduler.
const SchedulerClass = "yarn.resourcemanager.scheduler.class"

// kinds are the schedulers that there are, by the names that SchedulerClass may have: YARN's classes, and short ones.
var kinds = map[string]Kind{"capacity": Capacity, "fair": Fair, "fifo": FIFO}

func init() {
	const schedulers = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."
	kinds[schedulers+"capacity.CapacityScheduler"] = Capacity
	kinds[schedulers+"fair.FairScheduler"] = Fair
	kinds[schedulers+"fifo.FifoScheduler"] = FIFO
}

// KindOf returns the scheduler that a configuration names. The error of an unknown name lists those that are known.
func KindOf(c *conf.Config) (Kind, error) {
	name, _ := c.Get(SchedulerClass)
	kind, ok := kinds[name]
	if !ok {
		return 0, fmt.Errorf("%s = %q: there is no such scheduler; set it to one of %s", SchedulerClass, name,
			strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	return kind, nil
}

// CapacityFile is where YARN's CapacityScheduler has its queues.
const CapacityFile = "capacity-scheduler.xml"

// WithCapacityFile returns a configuration with CapacityFile on top, if that file exists.
func WithCapacityFile(c *conf.Config) (*conf.Config, error) {
	d, err := c.With(CapacityFile)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	return d, err
}

// CapacityFromConf reads the queues of YARN's CapacityScheduler from a configuration that has its keys.
func CapacityFromConf(c *conf.Config) (*Tree, error) {
	types, err := c.ResourceTypes()
	if err != nil {
		return nil, err
	}
	p := parser{settings: c.VerbatimWithPrefix(Prefix), types: types, conf: c}
	if strings.TrimSpace(p.settings["root.queues"]) != "" {
		return p.tree()
	}
	if len(p.settings) == 0 && !c.IsSet(placementEngines) {
		t := Default(Capacity)
		t.types = types
		for _, q := range t.queues {
			q.StagePolicy = leafpolicy.StageOf(c)
		}
		return t, nil
	}
	return p.defaultQueue()
}

// defaultQueue returns the tree of settings that name no queues. It has root.default, to which the settings for it and for all
// queues apply. If they set the capacity of another queue, the name of root.queues must be misspelt, or forgotten.
func (p *parser) defaultQueue() (*Tree, error) {
	p.settings = maps.Clone(p.settings)
	const only = "root.default"
	p.settings["root.queues"] = "default"
	if p.text(only+".capacity", "") == "" {
		p.settings[only+".capacity"] = "100"
	}
	t, _ := p.tree()
	for _, key := range slices.Sorted(maps.Keys(p.settings)) {
		path, found := strings.CutSuffix(key, ".capacity")
		if found && strings.HasPrefix(path, "root.") && path != only && !strings.Contains(path, "."+label.AccessKey+".") {
			p.fail(key, p.settings[key], "there is no queue "+path+", as "+Prefix+"root.queues, which names the queues below root, isn't set")
		}
	}
	return t, p.err()
}

// Prefix begins the keys of YARN's CapacityScheduler.
const Prefix = "yarn.scheduler.capacity."

// ParseCapacity reads the queues of YARN's CapacityScheduler from its settings alone. Their keys lack Prefix.
func ParseCapacity(settings map[string]string) (*Tree, error) {
	c, err := conf.Load(conf.Options{})
	if err != nil {
		return nil, err
	}
	for key, value := range settings {
		c.Set(Prefix+key, value)
	}
	p := parser{settings: settings, conf: c}
	return p.tree()
}

// parser reads settings. It continues after an error, to find all of them at once.
//
// It has many methods because each setting of a queue is one.
type parser struct {
	settings map[string]string
	types    records.ResourceTypes
	conf     *conf.Config
	problems []conf.Problem
	failed   map[string]bool
	words    string // Hadoop's wording of the first error
	depth    int
	count    int
	vector   bool     // mixed capacities
	weights  []string // keys of users' weights, once collected
	label    string   // whose partition's shares are read
	preempt  bool     // preemption is on
	intra    bool

	// Of queues that are created: the settings of the configuration alone, and whether templates name labels.
	base     map[string]string
	labelled bool
	// The settings of templates, once collected.
	templates map[string]string

	suspension suspension.Settings // what queues inherit
	stages     string              // likewise: the stage policy
}

// Limits of a tree. Only mistakes reach them: a queue named as its own child, a file pasted into a name.
const (
	maxDepth  = 32
	maxQueues = 20000
	maxName   = 512 // bytes of a queue's path
)

func (p *parser) tree() (*Tree, error) {
	p.failed = map[string]bool{}
	p.vector = !p.truth("legacy-queue-mode.enabled", true)
	settings := p.global()
	root := p.queue("root", nil)
	if p.ok() {
		p.shares(root)
	}
	t := newTree(Capacity, root)
	t.types, t.vector, t.Settings, t.from = p.types, p.vector, settings, p
	t.Dominant = p.dominant()
	t.stoppedGone = p.stoppedGone(t)
	p.partitions(t)
	if p.ok() {
		t.Settings.Placement = p.placement(t)
	}
	p.unknownKeys(t) // a misspelt queue may be why capacities don't add up
	t.Problems = p.warnings()
	return t, p.err()
}

// stoppedGone returns paths whose state is STOPPED but that name no queues.
func (p *parser) stoppedGone(t *Tree) map[string]bool {
	gone := map[string]bool{}
	for key, v := range p.settings {
		path, ok := strings.CutSuffix(key, ".state")
		if ok && t.byPath[path] == nil && strings.EqualFold(strings.TrimSpace(v), "STOPPED") {
			gone[path] = true
		}
	}
	return gone
}

// dominant reads whether all resources count, or memory alone.
func (p *parser) dominant() bool {
	v := p.text("resource-calculator", "DefaultResourceCalculator")
	switch {
	case strings.HasSuffix(v, "DominantResourceCalculator"):
		return true
	case !strings.HasSuffix(v, "DefaultResourceCalculator"):
		p.fail("resource-calculator", v, "it must be DefaultResourceCalculator or DominantResourceCalculator, with its package")
	}
	return false
}

// problem records a problem with a key, and cuts a long value.
func (p *parser) problem(severity conf.Severity, key, value, reason string) {
	source, _ := p.conf.Where(key)
	p.problems = append(p.problems, conf.Problem{
		Severity: severity, Source: source, Key: conf.Shorten(key), Value: conf.Shorten(value), Message: reason,
	})
}

// failWith records an error for which Hadoop has a wording.
func (p *parser) failWith(words, key, value, reason string) {
	if p.ok() {
		p.words = words
	}
	p.fail(key, value, reason)
}

// failNumber records a value that isn't a number, with the wording of Java's parsers.
func (p *parser) failNumber(key, value, reason string) {
	p.failWith(fmt.Sprintf("For input string: \"%s\"", conf.Shorten(value)), key, value, reason)
}

// fail records an error about a key.
func (p *parser) fail(key, value, reason string) {
	key = Prefix + key
	if !p.failed[key] {
		p.failed[key] = true
		p.problem(conf.Error, key, value, reason)
	}
}

func (p *parser) warn(key, value, reason string) { p.problem(conf.Warning, Prefix+key, value, reason) }

func (p *parser) ok() bool { return len(p.failed) == 0 }

func (p *parser) err() error {
	if p.ok() {
		return nil
	}
	return &Invalid{p.problems, p.words}
}

func (p *parser) warnings() []conf.Problem {
	return slices.DeleteFunc(slices.Clone(p.problems), func(x conf.Problem) bool { return x.Severity == conf.Error })
}

func (p *parser) queue(name string, parent *Queue) *Queue {
	q := openQueue(name, parent)
	q.Submit, q.Administer = none, none
	p.depth++
	p.count++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		p.fail(parent.Path+".queues", p.settings[parent.Path+".queues"],
			fmt.Sprintf("queues are nested more than %d deep; is one its own child?", maxDepth))
		return q
	}
	p.capacities(q)
	names := p.children(q)
	p.limits(q)
	p.lists(q)
	for _, name := range names {
		if p.count == maxQueues {
			p.fail(q.Path+".queues", p.settings[q.Path+".queues"], fmt.Sprintf("there are more than %d queues", maxQueues))
			return q
		}
		q.Children = append(q.Children, p.queue(name, q))
	}
	return q
}

// children reads the names of a queue's children, and whether the queue is reservable or, in YARN, creates children on demand.
func (p *parser) children(q *Queue) (names []string) {
	key := q.Path + ".queues"
	text := p.settings[key]
	for _, name := range conf.ParseList(text) {
		switch {
		case slices.Contains(names, name):
			p.fail(key, text, fmt.Sprintf("%q is named twice", conf.Shorten(name)))
		case strings.ContainsAny(name, ". \t[]") || name != strings.TrimSpace(name):
			p.fail(key, text, fmt.Sprintf("%q can't name a queue: names have no dots, blanks or brackets", conf.Shorten(name)))
		case len(name) > maxName:
			p.fail(key, text, fmt.Sprintf("%q can't name a queue: names have at most %d bytes", conf.Shorten(name), maxName))
		default:
			names = append(names, name)
		}
	}
	q.Reservable = p.truth(q.Path+".reservable", false)
	if q.Reservable && len(names) > 0 {
		p.fail(q.Path+".reservable", "true", "only a queue without children can be reservable")
	}
	p.creation(q, p.truth(q.Path+"."+template.LegacyKey, false), p.truth(q.Path+"."+template.FlexibleKey, false))
	if q.Reservable && q.managed {
		p.failWith("Only Leaf Queues can be reservable for "+q.Path, q.Path+".reservable", "true", "a queue below which queues are created can't be reservable")
	} else if q.Reservable {
		p.settings, names = template.Plan(p.settings, q.Path, q.Name)
		p.warn(q.Path+".reservable", "true", "reservations aren't supported: its applications share the whole queue, in "+q.Path+"."+names[0])
	}
	return names
}
