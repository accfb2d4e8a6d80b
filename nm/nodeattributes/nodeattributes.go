// Package nodeattributes finds out which attributes this node has: the configuration names them, or a script prints them (Hadoop:
// ConfigurationNodeAttributesProvider, ScriptBasedNodeAttributesProvider).
package nodeattributes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/nm/reported"
	"heddle/yarn/pb"
)

const prefix = "yarn.nodemanager.node-attributes."

// Options say where attributes come from.
type Options = reported.Options[[]Attribute]

// Attribute is an attribute of the node. Its type is a string, the only one that YARN has.
type Attribute struct{ Name, Value string }

// FromConf reads the configuration. ok is false if the node says nothing of attributes.
func FromConf(c *conf.Config) (o Options, ok bool, err error) {
	o = reported.FromConf[[]Attribute](c, prefix)
	switch c.Text(prefix + "provider") {
	case "config":
		const key = prefix + "provider.configured-node-attributes"
		var all []string
		if text := strings.TrimSpace(c.Text(key)); text != "" {
			all = strings.Split(text, ":")
		}
		if o.Value, err = Parse(all); err != nil {
			err = fmt.Errorf("%s: %w", key, err)
		}
	case "script":
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
type Provider struct{ attributes *reported.Value[[]Attribute] }

// marked are the lines of a script with an attribute. One more than a node can have is kept, for Parse to refuse.
var marked = reported.Lines{Mark: "NODE_ATTRIBUTE:", Max: maxAttributes + 1}

// New makes a provider. Attributes that the configuration names are known at once.
func New(o Options) (*Provider, error) {
	attributes, err := reported.New(reported.Kind[[]Attribute]{
		Prefix: prefix, Name: "attributes", Lines: marked, Read: Parse, Equal: slices.Equal[[]Attribute],
	}, o)
	if err != nil {
		return nil, err
	}
	return &Provider{attributes}, nil
}

// Run runs the script until ctx ends, if there is one.
func (p *Provider) Run(ctx context.Context) {
	if p != nil {
		p.attributes.Run(ctx)
	}
}

// Register returns the attributes for a registration; nil if they aren't known yet, or there is no provider.
func (p *Provider) Register() *pb.NodeAttributes { return p.say(time.Now(), true) }

// Beat returns them for a heartbeat; nil if the ResourceManager knows, and was told a short while ago.
func (p *Provider) Beat() *pb.NodeAttributes { return p.say(time.Now(), false) }

func (p *Provider) say(now time.Time, registers bool) *pb.NodeAttributes {
	if p == nil {
		return nil
	}
	attributes, due := p.attributes.Due(now, registers)
	if !due {
		return nil
	}
	m := &pb.NodeAttributes{}
	var all []*pb.NodeAttribute
	for _, a := range attributes {
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
	if said != nil {
		p.attributes.Told(accepted, len(said.GetNodeAttributes()), why)
	}
}
