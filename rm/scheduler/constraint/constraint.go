// Package constraint has placement constraints: where containers may go, by what else runs there and by attributes of hosts (Hadoop: PlacementConstraint,
// PlacementConstraintsUtil). It is pure.
//
// Containers have allocation tags. A constraint compares how many containers with some tags a node or rack has with a least and a most number, before
// the container is placed. A Table counts the tags of all containers, of all partitions, and knows the attributes of hosts.
package constraint

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Request holds what a request says of its containers. It never changes.
type Request struct {
	Tags       []string    `json:"tags,omitempty"` // that its containers have; each once
	Constraint *Constraint `json:"constraint,omitempty"`
}

// Bounds of what a request may say. Tags of containers are in the ledger, and a search compares all targets of a constraint with each node.
const (
	MaxTags     = 64   // of containers
	MaxTagBytes = 1024 // of all of them
	MaxParts    = 64   // of a constraint, with the tags that it counts
	MaxDepth    = 16
	MaxBytes    = 4096 // of names, values and tags in a constraint
)

// Check refuses a request that says more than may be, or what makes no sense.
func (r *Request) Check() error {
	if len(r.Tags) > MaxTags {
		return fmt.Errorf("its containers would have %d allocation tags, and may have %d", len(r.Tags), MaxTags)
	}
	size := 0
	for _, tag := range r.Tags {
		if tag == "" {
			return fmt.Errorf("an allocation tag is empty")
		}
		size += len(tag)
	}
	if size > MaxTagBytes {
		return fmt.Errorf("the allocation tags of its containers have %d bytes, and may have %d", size, MaxTagBytes)
	}
	if r.Constraint == nil {
		return nil
	}
	var sum extent
	return r.Constraint.check(1, &sum)
}

// extent is how large a constraint is.
type extent struct{ parts, bytes int }

// add counts a part, and refuses it where the constraint gets too large.
func (e *extent) add(depth, parts int, texts ...string) error {
	e.parts += parts
	for _, text := range texts {
		e.bytes += len(text)
	}
	switch {
	case e.parts > MaxParts || depth > MaxDepth:
		return fmt.Errorf("its placement constraint has too many parts: at most %d are possible, at most %d in each other", MaxParts, MaxDepth)
	case e.bytes > MaxBytes:
		return fmt.Errorf("the names, values and tags in its placement constraint have more than %d bytes", MaxBytes)
	}
	return nil
}

func (c *Constraint) check(depth int, sum *extent) error {
	if c == nil {
		return fmt.Errorf("a part of its placement constraint is empty")
	}
	if err := sum.add(depth, 1+len(c.Tags), append([]string{c.App, c.Name, c.Value}, c.Tags...)...); err != nil {
		return err
	}
	switch c.Op {
	case Count:
		if len(c.Tags) == 0 || c.Min > c.Max || c.Max < 0 || c.Scope != Node && c.Scope != Rack {
			return fmt.Errorf("its placement constraint counts containers with %d tags in scope %.100q, from %d to %d: it needs a tag, scope node or rack, and bounds in this order",
				len(c.Tags), c.Scope, c.Min, c.Max)
		}
	case And, Or:
		for _, x := range c.Of {
			if err := x.check(depth+1, sum); err != nil {
				return err
			}
		}
	case Attribute, Never:
	default:
		return fmt.Errorf("its placement constraint is of a kind that isn't known: %.100q", c.Op)
	}
	return nil
}

// Cost is how many things a search looks up to compare a constraint with a node, at most; nil has none.
func (c *Constraint) Cost() int64 {
	if c == nil {
		return 0
	}
	n := int64(1 + len(c.Tags))
	for _, x := range c.Of {
		n += x.Cost()
	}
	return n
}

// Equal reports whether two requests say the same; both may be nil.
func (r *Request) Equal(o *Request) bool {
	if r == nil || o == nil || r == o {
		return r == o
	}
	return slices.Equal(r.Tags, o.Tags) && r.Constraint.Equal(o.Constraint)
}

// Equal reports whether two constraints say the same; both may be nil.
func (c *Constraint) Equal(o *Constraint) bool {
	if c == nil || o == nil || c == o {
		return c == o
	}
	return c.Op == o.Op && c.Scope == o.Scope && c.Space == o.Space && c.App == o.App && c.Min == o.Min && c.Max == o.Max && c.Name == o.Name &&
		c.Value == o.Value && c.Differs == o.Differs && c.Why == o.Why && slices.Equal(c.Tags, o.Tags) && slices.EqualFunc(c.Of, o.Of, (*Constraint).Equal)
}

// Op says what a constraint is.
type Op string

// Kinds of constraints.
const (
	Count     Op = "count"     // of containers with tags, in a scope
	Attribute Op = "attribute" // of the host
	And       Op = "and"       // of all others that it has
	Or        Op = "or"        // of any of them
	Never     Op = "never"     // nothing satisfies it
)

// Scope is where containers are counted.
type Scope string

// Scopes.
const (
	Node Scope = "node"
	Rack Scope = "rack"
)

// Namespace says whose containers count.
type Namespace string

// Namespaces, in Hadoop's words.
const (
	Self     Namespace = "self" // the application's own
	NotSelf  Namespace = "not-self"
	All      Namespace = "all"
	AppID    Namespace = "app-id"
	AppTag   Namespace = "app-tag"   // of applications with a tag
	AppLabel Namespace = "app-label" // its former name
)

// Constraint is one constraint, or a tree of them. It never changes.
type Constraint struct {
	Op Op `json:"op"`

	// Of Count: Min and Max are the bounds, Max none if it is math.MaxInt32. Of several tags one has to have the least number, and one at most the most one
	// (Hadoop: AllocationTagsManager.getNodeCardinalityByOp with max and min).
	Scope Scope     `json:"scope,omitempty"`
	Tags  []string  `json:"tags,omitempty"`
	Space Namespace `json:"space,omitempty"`
	App   string    `json:"app,omitempty"` // id or tag
	Min   int32     `json:"min,omitempty"`
	Max   int32     `json:"max,omitempty"`

	// Of Attribute: its name with prefix, and its value. Differs is satisfied by hosts that lack it, too.
	Name    string `json:"name,omitempty"`
	Value   string `json:"value,omitempty"`
	Differs bool   `json:"differs,omitempty"`

	Of []*Constraint `json:"of,omitempty"` // of And and Or
	// Why says why nothing satisfies it.
	Why string `json:"why,omitempty"`
}

// String is the constraint in the words of distributed shell's -placement_spec.
func (c *Constraint) String() string {
	switch c.Op {
	case Attribute:
		if c.Differs {
			return c.Name + "!=" + c.Value
		}
		return c.Name + "=" + c.Value
	case And, Or:
		var all []string
		for _, x := range c.Of {
			all = append(all, x.String())
		}
		return fmt.Sprintf("%s(%s)", c.Op, strings.Join(all, ":"))
	case Never:
		return c.Why
	}
	tags := strings.Join(c.Tags, ",")
	switch c.Space {
	case NotSelf, All:
		tags = string(c.Space) + "/" + tags
	case AppID, AppTag, AppLabel:
		tags = string(c.Space) + "/" + c.App + "/" + tags
	}
	switch {
	case c.Max == 0:
		return fmt.Sprintf("notin,%s,%s", c.Scope, tags)
	case c.Min == 1 && c.Max == math.MaxInt32:
		return fmt.Sprintf("in,%s,%s", c.Scope, tags)
	}
	return fmt.Sprintf("cardinality,%s,%s,%d,%d", c.Scope, tags, c.Min, c.Max)
}
