package queue

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"heddle/conf"
	"heddle/yarn/acl"
	"heddle/yarn/records"
)

// FairShares are what the queues of YARN's FairScheduler have instead of capacities.
type FairShares struct {
	Weight   float64
	Min, Max Limit
	Policy   string // fair, DRF or FIFO
	Parent   bool   // it holds queues and no applications, even if it has none
}

// Limit is an amount of resources, of which some may be shares of the cluster.
type Limit struct {
	set    bool
	values [len(records.Resource{})]float64 // less than 0: no limit of that resource
	share  [len(records.Resource{})]bool    // the value is a share, 0 to 1
}

// Set reports whether there is a limit.
func (l *Limit) Set() bool { return l.set }

// Of is the amount in a cluster of some size; unset stands where there is no limit.
func (l *Limit) Of(cluster, unset records.Resource) records.Resource {
	if !l.set {
		return unset
	}
	out := unset
	for i, v := range l.values {
		switch {
		case v < 0:
		case l.share[i]:
			out[i] = int64(v * float64(cluster[i]))
		default:
			out[i] = int64(v)
		}
	}
	return out
}

// allocations is the allocation file of YARN's FairScheduler.
type allocations struct {
	XMLName      xml.Name    `xml:"allocations"`
	Policy       string      `xml:"defaultQueueSchedulingPolicy"`
	OldPolicy    string      `xml:"defaultQueueSchedulingMode"`
	MaxAMShare   string      `xml:"queueMaxAMShareDefault"`
	MaxApps      string      `xml:"queueMaxAppsDefault"`
	MaxResources string      `xml:"queueMaxResourcesDefault"`
	Queues       []fairQueue `xml:"queue"`
	Pools        []fairQueue `xml:"pool"`
}

type fairQueue struct {
	Name        string      `xml:"name,attr"`
	Type        string      `xml:"type,attr"`
	Min         string      `xml:"minResources"`
	Max         string      `xml:"maxResources"`
	MaxApps     string      `xml:"maxRunningApps"`
	MaxAMShare  string      `xml:"maxAMShare"`
	Weight      string      `xml:"weight"`
	Policy      string      `xml:"schedulingPolicy"`
	OldPolicy   string      `xml:"schedulingMode"`
	Submit      string      `xml:"aclSubmitApps"`
	Administer  string      `xml:"aclAdministerApps"`
	Reservation *struct{}   `xml:"reservation"`
	Queues      []fairQueue `xml:"queue"`
	Pools       []fairQueue `xml:"pool"`
}

// fairFromConf reads the allocation file that the configuration names. Without one there is root.default.
func fairFromConf(c *conf.Config) (*Tree, error) {
	file := c.Text("yarn.scheduler.fair.allocation.file")
	if !filepath.IsAbs(file) {
		file = filepath.Join(c.Dir(), file)
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		b, err = []byte("<allocations/>"), nil
	}
	if err != nil {
		return nil, fmt.Errorf("yarn.scheduler.fair.allocation.file: %w", err)
	}
	t, err := ParseFair(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	t.UserQueues = c.Bool("yarn.scheduler.fair.user-as-default-queue")
	t.Undeclared = c.Bool("yarn.scheduler.fair.allow-undeclared-pools")
	return t, nil
}

// ParseFair reads an allocation file.
func ParseFair(b []byte) (*Tree, error) {
	var file allocations
	if err := xml.NewDecoder(bytes.NewReader(b)).Decode(&file); err != nil {
		return nil, err
	}
	p := fairParser{file: &file}
	root := openQueue("root", nil)
	top := append(file.Queues, file.Pools...)
	for _, q := range top {
		if q.Name == "root" { // what is said of the root may be said in a queue of its name
			p.settings(root, &q)
			top = append(append(q.Queues, q.Pools...), without(top, "root")...)
			break
		}
	}
	if root.Fair.Policy == "" {
		p.settings(root, &fairQueue{Submit: "*", Administer: "*"})
	}
	p.children(root, top, 0)
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	if !root.has("default") {
		d := openQueue("default", root)
		p.settings(d, &fairQueue{})
		root.Children = append(root.Children, d)
	}
	t := newTree(Fair, root)
	t.UserQueues, t.Undeclared = true, true
	return t, nil
}

func without(queues []fairQueue, name string) (out []fairQueue) {
	for _, q := range queues {
		if q.Name != name {
			out = append(out, q)
		}
	}
	return out
}

func (q *Queue) has(name string) bool {
	for _, c := range q.Children {
		if c.Name == name {
			return true
		}
	}
	return false
}

type fairParser struct {
	file *allocations
	errs []error
}

func (p *fairParser) fail(q *Queue, what, value, allowed string) {
	p.errs = append(p.errs, fmt.Errorf("queue %s: %s is %q: it must be %s", q.Path, what, value, allowed))
}

func (p *fairParser) children(parent *Queue, list []fairQueue, depth int) {
	if depth > maxDepth {
		p.errs = append(p.errs, fmt.Errorf("queue %s is nested deeper than %d", parent.Path, maxDepth))
		return
	}
	for i := range list {
		given := &list[i]
		name := strings.TrimSpace(given.Name)
		if name == "" || strings.Contains(name, ".") || parent.has(name) {
			p.errs = append(p.errs, fmt.Errorf("queue %s has a child named %q: names are not empty, without dots, and different",
				parent.Path, given.Name))
			continue
		}
		q := openQueue(name, parent)
		parent.Children = append(parent.Children, q)
		p.settings(q, given)
		q.Fair.Parent = given.Type == "parent" || len(given.Queues)+len(given.Pools) > 0
		q.Reservable = given.Reservation != nil
		p.children(q, append(given.Queues, given.Pools...), depth+1)
	}
}

func (p *fairParser) settings(q *Queue, given *fairQueue) {
	nobody := " "
	if q.Parent == nil {
		nobody = "*"
	}
	q.Submit, q.Administer = acl.Parse(either(given.Submit, nobody)), acl.Parse(either(given.Administer, nobody))
	q.Fair.Weight = p.number(q, "weight", either(given.Weight, "1"), 0)
	q.Fair.Policy = p.policy(q, either(given.Policy, given.OldPolicy, p.file.Policy, p.file.OldPolicy, "fair"))
	q.Fair.Min = p.limit(q, "minResources", given.Min)
	q.Fair.Max = p.limit(q, "maxResources", given.Max)
	if q.Parent != nil && !q.Fair.Max.set {
		q.Fair.Max = p.limit(q, "queueMaxResourcesDefault", p.file.MaxResources)
	}
	q.MaxAMShare = float32(p.number(q, "maxAMShare", either(given.MaxAMShare, p.file.MaxAMShare, "0.5"), -1))
	q.MaxParallelApps = int32(min(math.MaxInt32, p.number(q, "maxRunningApps", either(given.MaxApps, p.file.MaxApps, "2147483647"), 0)))
	q.OrderingPolicy = q.Fair.Policy
}

// either is the first text that says something.
func either(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func (p *fairParser) number(q *Queue, what, text string, least float64) float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(f) || f < least {
		p.fail(q, what, text, fmt.Sprintf("a number, at least %g", least))
		return 0
	}
	return f
}

// policy is how the scheduler calls a policy, which may be given as the name of its class.
func (p *fairParser) policy(q *Queue, text string) string {
	name := strings.ToLower(strings.TrimSpace(text))
	switch {
	case name == "fair", strings.HasSuffix(name, ".fairsharepolicy"):
		return "fair"
	case name == "drf", strings.HasSuffix(name, ".dominantresourcefairnesspolicy"):
		return "DRF"
	case name == "fifo", strings.HasSuffix(name, ".fifopolicy"):
		return "FIFO"
	}
	p.fail(q, "schedulingPolicy", text, "fair, drf or fifo")
	return "fair"
}

// limit reads "X mb, Y vcores", "memory-mb=X, vcores=Y", "P%" or "P% memory, Q% cpu".
func (p *fairParser) limit(q *Queue, what, text string) (l Limit) {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" {
		return l
	}
	l.set = true
	for i := range l.values {
		l.values[i] = -1
	}
	for part := range strings.SplitSeq(text, ",") {
		amount, name := cutAmount(strings.TrimSpace(part))
		share := strings.HasSuffix(amount, "%")
		f, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(amount, "%")), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
			p.fail(q, what, text, "such as 1024 mb, 2 vcores")
			return Limit{}
		}
		if share {
			f /= 100
		}
		for _, i := range limited(name, share) {
			l.values[i], l.share[i] = f, share
		}
	}
	return l
}

// cutAmount takes "1024 mb", "mb=1024" or "50% cpu" apart.
func cutAmount(part string) (amount, name string) {
	if name, amount, ok := strings.Cut(part, "="); ok {
		return strings.TrimSpace(amount), strings.TrimSpace(name)
	}
	i := strings.IndexFunc(part, func(r rune) bool { return r == '%' || r != '.' && (r < '0' || r > '9') })
	switch {
	case i < 0:
		return part, ""
	case part[i] == '%':
		i++
	}
	return part[:i], strings.TrimSpace(part[i:])
}

// limited are the resources that a name stands for; a share without one is of all.
func limited(name string, share bool) []int {
	switch {
	case strings.HasPrefix(name, "mb"), strings.HasPrefix(name, "memory"):
		return []int{records.Memory}
	case strings.HasPrefix(name, "vcore"), strings.HasPrefix(name, "cpu"):
		return []int{records.VCores}
	case name == "" && share:
		all := make([]int, len(records.Resource{}))
		for i := range all {
			all[i] = i
		}
		return all
	}
	return nil // of a resource that isn't known here
}
