package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/conf"
	"heddle/rm/queue/leafpolicy"
	"heddle/rm/queue/quantity"
	"heddle/rm/queue/settings"
	"heddle/rm/queue/suspension"
	"heddle/yarn/acl"
	"heddle/yarn/records"
)

// FairShares are the settings of a queue of YARN's FairScheduler, which has no capacities.
type FairShares struct {
	Weight   float64
	Min, Max quantity.Limit
	MaxChild quantity.Limit // Max of children that the scheduler creates
	// MaxContainer is the largest container (maxContainerAllocation).
	MaxContainer quantity.Limit
	Policy       string // fair, DRF or FIFO
	Parent       bool   // it holds queues and no applications, even without children
	NoPreemption bool   // allowPreemptionFrom is false, here or in an ancestor

	// MinTimeout is how long the queue may stay below its minimum share before it preempts, FairTimeout how long below
	// FairThreshold of its fair share. Never disables it.
	MinTimeout, FairTimeout time.Duration
	FairThreshold           float64
}

// Never is a timeout that never expires.
const Never = time.Duration(math.MaxInt64)

// FairFileKey is the setting under which the text of an allocation file is kept.
const FairFileKey = "fair-scheduler.xml"

// FairFile returns the path of the allocation file that a configuration names.
func FairFile(c *conf.Config) string {
	file := c.Text("yarn.scheduler.fair.allocation.file")
	if !filepath.IsAbs(file) {
		file = filepath.Join(c.Dir(), file)
	}
	return file
}

// fairFromConf reads the allocation file that the configuration names. Without one there is root.default.
func fairFromConf(c *conf.Config) (*Tree, error) {
	root, err := conf.ReadXML(FairFile(c))
	if errors.Is(err, fs.ErrNotExist) {
		root, err = &conf.Element{Name: "allocations"}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("yarn.scheduler.fair.allocation.file: %w", err)
	}
	return fairTree(c, root)
}

// FairFromText makes a tree of the text of an allocation file, and of the other keys of a configuration. An empty text means that
// there is no file.
func FairFromText(c *conf.Config, text string) (*Tree, error) {
	root := &conf.Element{Name: "allocations"}
	if text != "" {
		var err error
		if root, err = conf.ParseXML(FairFile(c), []byte(text)); err != nil {
			return nil, err
		}
	}
	return fairTree(c, root)
}

func fairTree(c *conf.Config, root *conf.Element) (*Tree, error) {
	types, err := c.ResourceTypes()
	if err != nil {
		return nil, err
	}
	p := fairParser{types: types, undeclared: c.Bool(settings.FairPrefix + "allow-undeclared-pools"), userQueues: c.Bool(settings.FairPrefix + "user-as-default-queue")}
	p.suspension, p.stages = suspension.Of(c), leafpolicy.StageOf(c)
	t, err := p.tree(root)
	if err != nil {
		return nil, err
	}
	t.Settings.Fair = settings.Fair(c, types)
	return t, nil
}

// ParseFair reads an allocation file, with the defaults of yarn-site.xml's keys. The file may not define entities, and its names and
// sizes are limited as in conf.ReadXML.
func ParseFair(b []byte) (*Tree, error) {
	root, err := conf.ParseXML("fair-scheduler.xml", b)
	if err != nil {
		return nil, err
	}
	p := fairParser{undeclared: true, userQueues: true, suspension: suspension.Default()}
	return p.tree(root)
}

type fairParser struct {
	types                  records.ResourceTypes
	undeclared, userQueues bool
	defaults               map[string]*conf.Element // defaults of queues, by their names in the file
	suspension             suspension.Settings      // what queues inherit
	stages                 string                   // likewise: the stage policy
	settings               Settings
	problems               []conf.Problem
	failed                 bool
	count                  int
}

// fail records that an element is wrong; q is its queue, or nil.
func (p *fairParser) fail(e *conf.Element, q *Queue, reason string) {
	p.failed = true
	p.note(conf.Error, e, q, reason)
}

func (p *fairParser) note(severity conf.Severity, e *conf.Element, q *Queue, reason string) {
	if q != nil {
		reason = "queue " + conf.Shorten(q.Path) + ": " + reason
	}
	value := strings.TrimSpace(e.Text())
	if len(e.Children) > 0 {
		value = e.Attrs["name"]
	}
	p.problems = append(p.problems, conf.Problem{Severity: severity, Source: e.Source, Key: "<" + conf.Shorten(e.Name) + ">", Value: conf.Shorten(value), Message: reason})
}

// fairDefaults are elements of the file with the defaults of all queues.
var fairDefaults = []string{
	"queueMaxAMShareDefault", "queueMaxAppsDefault", "queueMaxResourcesDefault", "defaultQueueSchedulingPolicy", "defaultQueueSchedulingMode",
	"defaultMinSharePreemptionTimeout", "defaultFairSharePreemptionTimeout", "fairSharePreemptionTimeout", "defaultFairSharePreemptionThreshold",
	"userMaxAppsDefault",
}

func (p *fairParser) tree(file *conf.Element) (*Tree, error) {
	if file.Name != "allocations" {
		p.fail(file, nil, "the outermost element of an allocation file is <allocations>")
		return nil, conf.Report{Problems: p.problems}.Err()
	}
	p.defaults = map[string]*conf.Element{}
	p.settings = defaultSettings()
	p.settings.Suspension, p.settings.StagePolicy = p.suspension, p.stages
	var queues []*conf.Element
	var placement *conf.Element
	for _, e := range file.Children {
		switch {
		case e.Name == "queue" || e.Name == "pool":
			queues = append(queues, e)
		case e.Name == "user":
			p.user(e)
		case e.Name == "queuePlacementPolicy":
			placement = e
		case slices.Contains(fairDefaults, e.Name):
			p.defaults[e.Name] = e
		case strings.HasPrefix(e.Name, "reservation-"):
			p.note(conf.Warning, e, nil, "has no effect: reservations aren't supported")
		default:
			p.note(conf.Warning, e, nil, "is unknown to YARN's FairScheduler, and has no effect")
		}
	}
	root := p.root(file, queues)
	p.policies(file, root)
	if p.failed {
		return nil, conf.Report{Problems: p.problems}.Err()
	}
	t := newTree(Fair, root)
	t.types, t.Settings = p.types, p.settings
	t.undeclared = openQueue("", root)
	p.read(t.undeclared, &conf.Element{Name: "queue", Source: file.Source})
	t.Settings.Placement = p.placement(placement, t)
	t.Problems = p.problems
	if p.failed {
		return nil, conf.Report{Problems: p.problems}.Err()
	}
	return t, nil
}

// root reads all queues: those of the file, or those inside the one named root.
func (p *fairParser) root(file *conf.Element, queues []*conf.Element) *Queue {
	root := openQueue("root", nil)
	given := &conf.Element{Name: "queue", Source: file.Source}
	for _, e := range queues {
		if strings.EqualFold(strings.TrimSpace(e.Attrs["name"]), "root") {
			if len(queues) > 1 {
				p.fail(e, root, "if the file has a queue named root, all other queues must be inside it")
			}
			given, queues = e, queuesIn(e)
			break
		}
	}
	p.read(root, given)
	root.Fair.Parent = true
	p.children(root, queues, 1)
	return root
}

// queuesIn returns the queues within an element.
func queuesIn(e *conf.Element) (queues []*conf.Element) {
	for _, c := range e.Children {
		if c.Name == "queue" || c.Name == "pool" {
			queues = append(queues, c)
		}
	}
	return queues
}

func (q *Queue) has(name string) bool {
	return slices.ContainsFunc(q.Children, func(c *Queue) bool { return c.Name == name })
}

func (p *fairParser) children(parent *Queue, list []*conf.Element, depth int) {
	for _, given := range list {
		name := strings.TrimSpace(given.Attrs["name"])
		switch {
		case depth > maxDepth:
			p.fail(given, parent, fmt.Sprintf("queues are nested deeper than %d", maxDepth))
			return
		case name == "" || strings.Contains(name, ".") || len(name) > maxName:
			p.fail(given, parent, fmt.Sprintf("it has a child named %q: names must not be empty, have no dots, and at most %d bytes", conf.Shorten(given.Attrs["name"]), maxName))
			continue
		case parent.has(name):
			p.fail(given, parent, fmt.Sprintf("it has two children named %q", name))
			continue
		case p.count == maxQueues:
			p.fail(given, parent, fmt.Sprintf("there are more than %d queues", maxQueues))
			return
		}
		p.count++
		q := openQueue(name, parent)
		parent.Children = append(parent.Children, q)
		p.read(q, given)
		below := queuesIn(given)
		q.Fair.Parent = given.Attrs["type"] == "parent" || len(below) > 0
		if q.Fair.Parent && q.Reservable {
			p.fail(given, q, "a queue that holds queues can't have a <reservation>")
		}
		p.children(q, below, depth+1)
	}
}

// read reads a queue's own settings, after the defaults (Hadoop: AllocationFileQueueParser).
func (p *fairParser) read(q *Queue, given *conf.Element) {
	q.Submit, q.Administer = none, none
	if q.Parent == nil {
		q.Submit, q.Administer = everybody, everybody
	}
	q.MaxAMShare, q.MaxApplications, q.MaxApplicationsPerUser = 0.5, math.MaxInt32, math.MaxInt32
	q.NoPreemption, q.NoIntraPreemption = false, false
	f := &q.Fair
	*f = FairShares{Weight: 1, Policy: "fair", MinTimeout: Never, FairTimeout: Never, FairThreshold: 0.5}
	p.fromDefaults(q)
	inheritMeans(q, &p.suspension)
	inheritStagePolicy(q, p.stages)
	for _, e := range given.Children {
		p.setting(e, q)
	}
	if least, most := f.Min, f.Max; least.Set() && most.Set() && !most.Holds(&least) {
		p.note(conf.Warning, given, q, "maxResources are less than minResources, which take precedence")
	}
	q.OrderingPolicy = f.Policy
	inheritNoPreemption(q)
}

// setting reads one element of a queue.
func (p *fairParser) setting(e *conf.Element, q *Queue) {
	f := &q.Fair
	text := strings.TrimSpace(e.Text())
	switch e.Name {
	case "queue", "pool":
	case "minResources":
		if f.Min = p.limit(e, q); f.Min.OfCluster() {
			p.note(conf.Warning, e, q, "minResources in percent have no effect, as in YARN")
			f.Min = quantity.Limit{}
		}
	case "maxResources":
		f.Max = p.limit(e, q)
	case "maxChildResources":
		f.MaxChild = p.limit(e, q)
	case "maxContainerAllocation":
		f.MaxContainer = p.limit(e, q)
	case "maxRunningApps":
		q.MaxParallelApps = p.integer(e, q)
	case "maxAMShare":
		q.MaxAMShare = float32(min(1, p.number(e, q, -1)))
	case "weight":
		f.Weight = p.number(e, q, 0)
	case "minSharePreemptionTimeout":
		f.MinTimeout = p.seconds(e, q)
	case "fairSharePreemptionTimeout":
		f.FairTimeout = p.seconds(e, q)
	case "fairSharePreemptionThreshold":
		f.FairThreshold = min(1, p.number(e, q, 0))
	case "schedulingPolicy", "schedulingMode":
		f.Policy = p.policy(e, q)
	case "aclSubmitApps":
		q.Submit = acl.Parse(e.Text())
	case "aclAdministerApps":
		q.Administer = acl.Parse(e.Text())
	case "reservation":
		q.Reservable = true
		p.note(conf.Warning, e, q, "reservations aren't supported: the queue takes no applications")
	case "allowPreemptionFrom":
		f.NoPreemption = !strings.EqualFold(text, "true")
		if f.NoPreemption && !strings.EqualFold(text, "false") {
			p.note(conf.Warning, e, q, "it must be true or false, and counts as false")
		}
	case leafpolicy.StageKey:
		var err error
		if q.StagePolicy, err = leafpolicy.ParseStage(text); err != nil {
			p.fail(e, q, err.Error())
		}
	case suspension.MeansKey:
		q.Means = p.means(e, q)
	case suspension.UnableKey:
		q.Unable = p.means(e, q)
	case "aclAdministerReservations", "aclListReservations", "aclSubmitReservations":
		p.note(conf.Warning, e, q, "has no effect: reservations aren't supported")
	default:
		p.note(conf.Warning, e, q, "is unknown to YARN's FairScheduler, and has no effect")
	}
}

// fromDefaults sets the file's defaults of all queues.
func (p *fairParser) fromDefaults(q *Queue) {
	f := &q.Fair
	for _, name := range fairDefaults {
		e := p.defaults[name]
		if e == nil {
			continue
		}
		switch name {
		case "queueMaxAMShareDefault":
			q.MaxAMShare = float32(min(1, p.number(e, nil, -1)))
		case "queueMaxAppsDefault":
			q.MaxParallelApps = p.integer(e, nil)
		case "queueMaxResourcesDefault":
			f.Max = p.limit(e, nil) // of the root too, as in YARN
		case "defaultQueueSchedulingPolicy", "defaultQueueSchedulingMode":
			if f.Policy = p.policy(e, nil); f.Policy == "FIFO" {
				p.fail(e, nil, "it can't be fifo: only queues without children can")
			}
		case "userMaxAppsDefault":
			p.settings.UserMaxParallel = p.integer(e, nil)
		}
		if q.Parent != nil {
			continue
		}
		switch name { // queues inherit these from the root
		case "defaultMinSharePreemptionTimeout":
			f.MinTimeout = p.seconds(e, nil)
		case "defaultFairSharePreemptionTimeout":
			f.FairTimeout = p.seconds(e, nil)
		case "fairSharePreemptionTimeout":
			if p.defaults["defaultFairSharePreemptionTimeout"] == nil {
				f.FairTimeout = p.seconds(e, nil)
			}
		case "defaultFairSharePreemptionThreshold":
			f.FairThreshold = min(1, p.number(e, nil, 0))
		}
	}
	if q.Parent != nil {
		inheritFair(q)
	}
}

// inheritFair makes a queue inherit its parent's settings, unless the file sets them.
func inheritFair(q *Queue) {
	f, above := &q.Fair, &q.Parent.Fair
	f.MinTimeout, f.FairTimeout, f.FairThreshold = above.MinTimeout, above.FairTimeout, above.FairThreshold
	f.MaxContainer = above.MaxContainer
	if above.MaxChild.Set() && !f.Max.Set() {
		f.MaxChild = above.MaxChild
	}
}

// inheritNoPreemption protects a queue from preemption if an ancestor is protected, whatever the file says.
func inheritNoPreemption(q *Queue) {
	if q.Parent != nil && q.Parent.Fair.NoPreemption {
		q.Fair.NoPreemption = true
	}
	q.NoPreemption = q.Fair.NoPreemption
}

func (p *fairParser) user(e *conf.Element) {
	name := strings.TrimSpace(e.Attrs["name"])
	for _, c := range e.Children {
		if c.Name != "maxRunningApps" {
			p.note(conf.Warning, c, nil, "has no effect on a user")
			continue
		}
		if p.settings.UsersMaxParallel == nil {
			p.settings.UsersMaxParallel = map[string]int32{}
		}
		p.settings.UsersMaxParallel[name] = p.integer(c, nil)
	}
}

// policies checks that parents allow their children's policies (Hadoop: SchedulingPolicy.isChildPolicyAllowed).
func (p *fairParser) policies(file *conf.Element, root *Queue) {
	root.All(func(q *Queue) {
		switch above := q.Parent; {
		case q.Fair.Policy == "FIFO" && q.Fair.Parent:
			p.fail(file, q, "its policy is fifo, which only queues that hold applications can have")
		case above != nil && above.Fair.Policy == "fair" && q.Fair.Policy == "DRF":
			p.fail(file, q, fmt.Sprintf("its policy is drf, but the policy of %s above it is fair", above.Path))
		}
	})
}

// limit reads an amount of resources, or a share of the cluster.
func (p *fairParser) limit(e *conf.Element, q *Queue) quantity.Limit {
	l, err := quantity.ParseLimit(e.Text(), p.types)
	if err != nil {
		p.fail(e, q, err.Error())
	}
	return l
}

func (p *fairParser) number(e *conf.Element, q *Queue, least float64) float64 {
	f, err := quantity.ParseNumber(strings.TrimSpace(e.Text()))
	if err != nil || f < least {
		p.fail(e, q, fmt.Sprintf("it must be a number, at least %g", least))
		return 0
	}
	return f
}

func (p *fairParser) means(e *conf.Element, q *Queue) suspension.Means {
	m, err := suspension.Parse(e.Name, strings.TrimSpace(e.Text()))
	if err != nil {
		p.fail(e, q, err.Error())
	}
	return m
}

func (p *fairParser) integer(e *conf.Element, q *Queue) int32 {
	n, err := strconv.ParseInt(strings.TrimSpace(e.Text()), 10, 32)
	if err != nil || n < 0 {
		p.fail(e, q, fmt.Sprintf("it must be an integer from 0 to %d", math.MaxInt32))
		return 0
	}
	return int32(n)
}

func (p *fairParser) seconds(e *conf.Element, q *Queue) time.Duration {
	n, err := strconv.ParseInt(strings.TrimSpace(e.Text()), 10, 64)
	if err != nil || n < 0 {
		p.fail(e, q, "it must be a number of seconds")
		return Never
	}
	if n > int64(Never/time.Second) {
		return Never
	}
	return time.Duration(n) * time.Second
}

// policy returns the scheduler's name of a policy, which the file may give as the name of its class.
func (p *fairParser) policy(e *conf.Element, q *Queue) string {
	name := strings.ToLower(strings.TrimSpace(e.Text()))
	switch {
	case name == "fair", strings.HasSuffix(name, ".fairsharepolicy"):
		return "fair"
	case name == "drf", strings.HasSuffix(name, ".dominantresourcefairnesspolicy"):
		return "DRF"
	case name == "fifo", strings.HasSuffix(name, ".fifopolicy"):
		return "FIFO"
	}
	p.fail(e, q, "it must be fair, drf or fifo")
	return "fair"
}
