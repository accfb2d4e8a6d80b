// Package nodeattributes finds out which attributes this node has: the configuration names them, or a script prints them (Hadoop:
// ConfigurationNodeAttributesProvider, ScriptBasedNodeAttributesProvider).
package nodeattributes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/nm/scripts"
	"heddle/yarn/pb"
)

const prefix = "yarn.nodemanager.node-attributes."

// Options say where attributes come from.
type Options struct {
	Attributes []Attribute // without a script
	Script     string      // path of a program
	Args       []string
	// Interval is the time between two runs of the script; 0: it runs once. Timeout is what one may take.
	Interval, Timeout time.Duration
	// Resync is the time after which the ResourceManager is told again; 0: never.
	Resync  time.Duration
	Changed func() // called when there is something to tell
	Log     *logrus.Entry
}

// Attribute is an attribute of the node. Its type is a string, the only one that YARN has.
type Attribute struct{ Name, Value string }

// FromConf reads the configuration. ok is false if the node says nothing of attributes.
func FromConf(c *conf.Config) (o Options, ok bool, err error) {
	o = Options{Timeout: c.Duration(prefix + "provider.fetch-timeout-ms")}
	if every := c.Duration(prefix + "provider.fetch-interval-ms"); every > 0 {
		o.Interval = every
	}
	if every := c.Duration(prefix + "resync-interval-ms"); every > 0 {
		o.Resync = every
	}
	switch c.Text(prefix + "provider") {
	case "config":
		const key = prefix + "provider.configured-node-attributes"
		var all []string
		if text := strings.TrimSpace(c.Text(key)); text != "" {
			all = strings.Split(text, ":")
		}
		if o.Attributes, err = Parse(all); err != nil {
			err = fmt.Errorf("%s: %w", key, err)
		}
	case "script":
		o.Script, o.Args = c.Text(prefix+"provider.script.path"), c.Strings(prefix+"provider.script.opts")
	default:
		return o, false, nil
	}
	return o, true, err
}

// Of makes a provider as the configuration says; nil if the node says nothing of attributes. changed is called when there is something to tell.
func Of(c *conf.Config, changed func(), log *logrus.Entry) (*Provider, error) {
	o, says, err := FromConf(c)
	if err != nil || !says {
		return nil, err
	}
	o.Changed, o.Log = changed, log
	return New(o)
}

// maxAttributes is how many attributes a node may report: what a ResourceManager takes.
const maxAttributes = 256

// Parse reads attributes, each as NAME,TYPE,VALUE, and returns them by name.
func Parse(texts []string) (all []Attribute, err error) {
	for _, text := range texts {
		fields := strings.Split(text, ",")
		if len(fields) != 3 {
			return nil, fmt.Errorf("%.300q is not NAME,TYPE,VALUE", text)
		}
		a := Attribute{strings.TrimSpace(fields[0]), strings.TrimSpace(fields[2])}
		if kind := strings.TrimSpace(fields[1]); kind != "STRING" {
			return nil, fmt.Errorf("attribute %.300q has type %.300q: STRING is the only one", a.Name, kind)
		}
		if a.Name == "" {
			return nil, fmt.Errorf("%.300q has no name", text)
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(all); i++ {
		if all[i].Name == all[i-1].Name {
			return nil, fmt.Errorf("attribute %.300q is there twice", all[i].Name)
		}
	}
	if len(all) > maxAttributes {
		return nil, fmt.Errorf("%d attributes: a node can have %d", len(all), maxAttributes)
	}
	return all, nil
}

// Provider knows the node's attributes. It is safe for concurrent use.
type Provider struct {
	o Options

	mu         sync.Mutex
	known      bool
	attributes []Attribute
	told       bool // since they last changed
	at         time.Time
}

// New makes a provider. Attributes that the configuration names are known at once.
func New(o Options) (*Provider, error) {
	if o.Script != "" {
		if _, err := exec.LookPath(o.Script); err != nil {
			return nil, fmt.Errorf("%sprovider.script.path: %w", prefix, err)
		}
	}
	return &Provider{o: o, attributes: o.Attributes, known: o.Script == ""}, nil
}

// Run runs the script until ctx ends, if there is one.
func (p *Provider) Run(ctx context.Context) {
	if p == nil || p.o.Script == "" {
		return
	}
	p.fetch(ctx)
	if p.o.Interval == 0 {
		return
	}
	tick := time.NewTicker(p.o.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.fetch(ctx)
		}
	}
}

// fetch runs the script. If it fails, or prints what is no attribute, the attributes stay as they were.
func (p *Provider) fetch(ctx context.Context) {
	out := &output{}
	err := scripts.Run(ctx, p.o.Timeout, out, p.o.Script, p.o.Args...)
	var found []Attribute
	if err == nil {
		found, err = out.attributes()
	}
	if err != nil {
		if ctx.Err() == nil {
			p.o.Log.WithError(err).WithField("script", p.o.Script).Warn("The script of the node's attributes has failed; the node keeps those that it has")
		}
		return
	}
	p.mu.Lock()
	changed := !p.known || !slices.Equal(found, p.attributes)
	if changed {
		p.known, p.attributes, p.told = true, found, false
	}
	p.mu.Unlock()
	if changed && p.o.Changed != nil {
		p.o.Changed()
	}
}

// mark begins a line with an attribute.
const mark = "NODE_ATTRIBUTE:"

// maxLine bounds what is kept of a line.
const maxLine = 1 << 10

// output keeps the lines with the mark. Endless output takes no memory.
type output struct {
	line  []byte
	found []string
	more  bool // lines than are kept
}

func (o *output) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ends := bytes.Cut(rest, []byte("\n"))
		o.line = append(o.line, line[:min(len(line), maxLine-len(o.line))]...)
		if ends {
			o.end()
		}
		rest = after
	}
	return len(p), nil
}

func (o *output) end() {
	if text, is := strings.CutPrefix(string(o.line), mark); is {
		if o.more = len(o.found) > maxAttributes; !o.more {
			o.found = append(o.found, text)
		}
	}
	o.line = o.line[:0]
}

// attributes are those that the output names.
func (o *output) attributes() ([]Attribute, error) {
	o.end()
	if o.more {
		return nil, errors.New("it prints too many attributes")
	}
	return Parse(o.found)
}

// Register returns the attributes for a registration; nil if they aren't known yet, or there is no provider.
func (p *Provider) Register() *pb.NodeAttributes { return p.say(time.Now(), true) }

// Beat returns them for a heartbeat; nil if the ResourceManager knows, and was told a short while ago.
func (p *Provider) Beat() *pb.NodeAttributes { return p.say(time.Now(), false) }

func (p *Provider) say(now time.Time, always bool) *pb.NodeAttributes {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known || !always && p.told && (p.o.Resync <= 0 || now.Sub(p.at) < p.o.Resync) {
		return nil
	}
	m := &pb.NodeAttributes{}
	var all []*pb.NodeAttribute
	for _, a := range p.attributes {
		key, one := &pb.NodeAttributeKey{}, &pb.NodeAttribute{}
		key.SetAttributePrefix("nm.yarn.io")
		key.SetAttributeName(a.Name)
		one.SetAttributeKey(key)
		one.SetAttributeType(pb.NodeAttributeType_STRING)
		one.SetAttributeValue(a.Value)
		all = append(all, one)
	}
	m.SetNodeAttributes(all)
	return m
}

// Told takes the answer to what was said. said comes from Register or Beat.
func (p *Provider) Told(said *pb.NodeAttributes, accepted bool, why string) {
	if said == nil {
		return
	}
	p.mu.Lock()
	p.told, p.at = true, time.Now()
	p.mu.Unlock()
	if !accepted {
		p.o.Log.WithField("attributes", len(said.GetNodeAttributes())).WithField("reason", why).Error("The ResourceManager doesn't accept the node's attributes")
	}
}
