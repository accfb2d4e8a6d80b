// Package nodelabels finds out which label of nodes this node has, where nodes say so themselves (yarn.node-labels.configuration-type is
// distributed): the configuration names it, or a script prints it (Hadoop: NodeLabelsProvider).
package nodelabels

import (
	"bytes"
	"context"
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

const prefix = "yarn.nodemanager.node-labels."

// Options say where the label comes from.
type Options struct {
	Label  string // without a script: the label; empty is none
	Script string // path of a program
	Args   []string
	// Interval is the time between two runs of the script; 0: it runs once. Timeout is what one may take.
	Interval, Timeout time.Duration
	// Resync is the time after which the ResourceManager is told again.
	Resync  time.Duration
	Changed func() // called when there is something to tell
	Log     *logrus.Entry
}

// FromConf reads the configuration. ok is false if the node says nothing of labels.
func FromConf(c *conf.Config) (o Options, ok bool) {
	if !c.Bool("yarn.node-labels.enabled") || c.Text("yarn.node-labels.configuration-type") != "distributed" {
		return o, false
	}
	o = Options{Resync: c.Duration(prefix + "resync-interval-ms"), Timeout: c.Duration(prefix + "provider.fetch-timeout-ms")}
	if every := c.Duration(prefix + "provider.fetch-interval-ms"); every > 0 {
		o.Interval = every
	}
	switch c.Text(prefix + "provider") {
	case "config":
		o.Label = strings.TrimSpace(c.Text(prefix + "provider.configured-node-partition"))
	case "script":
		o.Script, o.Args = c.Text(prefix+"provider.script.path"), c.Strings(prefix+"provider.script.opts")
	default:
		return o, false
	}
	return o, true
}

// Of makes a provider as the configuration says; nil if the node says nothing of labels. changed is called when there is something to tell.
func Of(c *conf.Config, changed func(), log *logrus.Entry) (*Provider, error) {
	o, says := FromConf(c)
	if !says {
		return nil, nil
	}
	o.Changed, o.Log = changed, log
	return New(o)
}

// Provider knows the node's label. It is safe for concurrent use.
type Provider struct {
	o Options

	mu    sync.Mutex
	known bool
	label string
	told  bool // since it last changed
	at    time.Time
}

// New makes a provider. A label that the configuration names is known at once.
func New(o Options) (*Provider, error) {
	if o.Script != "" {
		if _, err := exec.LookPath(o.Script); err != nil {
			return nil, fmt.Errorf("%sprovider.script.path: %w", prefix, err)
		}
	}
	return &Provider{o: o, label: o.Label, known: o.Script == ""}, nil
}

// Run runs the script until ctx ends.
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

// fetch runs the script. If it fails, the label stays as it was.
func (p *Provider) fetch(ctx context.Context) {
	out := &lines{}
	if err := scripts.Run(ctx, p.o.Timeout, out, p.o.Script, p.o.Args...); err != nil {
		if ctx.Err() == nil {
			p.o.Log.WithError(err).WithField("script", p.o.Script).Warn("the script of the node's label has failed; the node keeps the label that it has")
		}
		return
	}
	label := out.label()
	p.mu.Lock()
	changed := !p.known || label != p.label
	if changed {
		p.known, p.label, p.told = true, label, false
	}
	p.mu.Unlock()
	if changed && p.o.Changed != nil {
		p.o.Changed()
	}
}

// mark begins a line with a label. The last such line counts.
const mark = "NODE_PARTITION:"

// maxLine bounds what is kept of a line.
const maxLine = 1 << 10

// lines keeps the last line with the mark. Endless output takes no memory.
type lines struct{ line, last []byte }

func (l *lines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ends := bytes.Cut(rest, []byte("\n"))
		l.line = append(l.line, line[:min(len(line), maxLine-len(l.line))]...)
		if ends {
			l.end()
		}
		rest = after
	}
	return len(p), nil
}

func (l *lines) end() {
	if bytes.HasPrefix(l.line, []byte(mark)) {
		l.last = slices.Clone(l.line[len(mark):])
	}
	l.line = l.line[:0]
}

// label returns what the output says.
func (l *lines) label() string {
	l.end()
	return strings.TrimSpace(string(l.last))
}

// Register returns what a registration says of the label; nil if it isn't known yet.
func (p *Provider) Register() *pb.NodeLabels { return p.say(time.Now(), true) }

// Beat returns what a heartbeat says of it; nil if the ResourceManager knows, and was told a short while ago.
func (p *Provider) Beat() *pb.NodeLabels { return p.say(time.Now(), false) }

func (p *Provider) say(now time.Time, always bool) *pb.NodeLabels {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known || !always && p.told && (p.o.Resync <= 0 || now.Sub(p.at) < p.o.Resync) {
		return nil
	}
	m := &pb.NodeLabels{}
	if p.label != "" {
		l := &pb.NodeLabel{}
		l.SetName(p.label)
		m.SetNodeLabels([]*pb.NodeLabel{l})
	}
	return m
}

// Told takes the answer to what was said. said is what Register or Beat has returned.
func (p *Provider) Told(said *pb.NodeLabels, accepted bool, why string) {
	if said == nil {
		return
	}
	p.mu.Lock()
	p.told, p.at = true, time.Now()
	label := p.label
	p.mu.Unlock()
	if !accepted {
		p.o.Log.WithField("label", label).WithField("reason", why).Error("the ResourceManager doesn't accept the node's label")
	}
}
