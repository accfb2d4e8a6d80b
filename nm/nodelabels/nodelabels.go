// Package nodelabels finds out which label of nodes this node has, where nodes say so themselves (yarn.node-labels.configuration-type is
// distributed): the configuration names it, or a script prints it (Hadoop: NodeLabelsProvider).
package nodelabels

import (
	"context"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/nm/reported"
	"heddle/yarn/pb"
)

const prefix = "yarn.nodemanager.node-labels."

// Options say where the label comes from; "" is none.
type Options = reported.Options[string]

// FromConf reads the configuration. ok is false if the node says nothing of labels.
func FromConf(c *conf.Config) (o Options, ok bool) {
	if !c.Bool("yarn.node-labels.enabled") || c.Text("yarn.node-labels.configuration-type") != "distributed" {
		return o, false
	}
	o = reported.FromConf[string](c, prefix)
	switch c.Text(prefix + "provider") {
	case "config":
		o.Value = strings.TrimSpace(c.Text(prefix + "provider.configured-node-partition"))
	case "script":
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
type Provider struct{ label *reported.Value[string] }

// marked are the lines of a script with a label. The last such line counts.
var marked = reported.Lines{Mark: "NODE_PARTITION:", Max: 1}

// read returns the label of a script's output.
func read(lines []string) (string, error) {
	return strings.TrimSpace(strings.Join(lines, "")), nil
}

// New makes a provider. A label that the configuration names is known at once.
func New(o Options) (*Provider, error) {
	label, err := reported.New(reported.Kind[string]{
		Prefix: prefix, Name: "label", Lines: marked, Read: read, Equal: func(a, b string) bool { return a == b },
	}, o)
	if err != nil {
		return nil, err
	}
	return &Provider{label}, nil
}

// Run runs the script until ctx ends, if there is one.
func (p *Provider) Run(ctx context.Context) {
	if p != nil {
		p.label.Run(ctx)
	}
}

// Register returns what a registration says of the label; nil if it isn't known yet.
func (p *Provider) Register() *pb.NodeLabels { return p.say(time.Now(), true) }

// Beat returns what a heartbeat says of it; nil if the ResourceManager knows, and was told a short while ago.
func (p *Provider) Beat() *pb.NodeLabels { return p.say(time.Now(), false) }

func (p *Provider) say(now time.Time, registers bool) *pb.NodeLabels {
	label, due := p.label.Due(now, registers)
	if !due {
		return nil
	}
	m := &pb.NodeLabels{}
	if label != "" {
		l := &pb.NodeLabel{}
		l.SetName(label)
		m.SetNodeLabels([]*pb.NodeLabel{l})
	}
	return m
}

// Told takes the answer to what was said. said is what Register or Beat has returned.
func (p *Provider) Told(said *pb.NodeLabels, accepted bool, why string) {
	if said == nil {
		return
	}
	label := ""
	for _, l := range said.GetNodeLabels() {
		label = l.GetName()
	}
	p.label.Told(accepted, label, why)
}
